/**
 * The program of a thread that runs modules of the sources: a file, or where Node cannot read TypeScript one text of all that it loads,
 * which esbuild makes in a fifth of a second. Loading hundreds of files by themselves takes each thread a second.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PlanError } from '../../core/errors.ts'

/** Whether Node reads TypeScript, which it tells since 22.10. */
export const READS_TYPESCRIPT: boolean = Boolean((process.features as { readonly typescript?: unknown }).typescript)

/** The texts by their folder and main module: who starts one thread starts more. */
const texts = new Map<string, string>()
/** The package that gRPC loads for services that nobody here asks for. */
const UNUSED = '@grpc/proto-loader'

/** The text of all that `main` loads, the source of a module whose imports are those of a file beside `place`. */
export function sourceText(main: string, place: URL): string {
  const folder = fileURLToPath(new URL('.', place))
  const key = `${folder} ${main}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const { outputFiles } = bundler().buildSync({
    stdin: { contents: main, resolveDir: folder, loader: 'ts' },
    absWorkingDir: folder, // the text has no path of this machine
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    external: [UNUSED],
    define: { 'import.meta.url': '"package"' }, // as in the package, where nothing asks for files
    logLevel: 'silent',
  })
  const text = outputFiles[0]?.text ?? ''
  texts.set(key, text)
  return text
}

function bundler(): typeof import('esbuild') {
  try {
    return createRequire(import.meta.url)('esbuild') as typeof import('esbuild')
  } catch (cause) {
    throw new PlanError('Worker threads run from TypeScript sources need esbuild on this version of Node: install it, or use Node 24.', {
      cause,
    })
  }
}
