/**
 * A program with the library as one file: a process that runs it starts in a tenth of the time that loading each file of the sources takes.
 * The file is made anew by each test, of the sources as they are, beside the packages that it imports.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll } from 'vitest'
import { linkProgram } from '../src/exec/gang/links/linkProgram.ts'
import { threadProgram } from '../src/exec/workers/threadProgram.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SESSION_HANDLERS = '../../session/threadHandlers.ts'
let folder = ''
afterAll(() => {
  if (folder !== '') rmSync(folder, { recursive: true, force: true })
})

/** What threads of the program run, made once for all processes. */
async function textsOfThreads(): Promise<{ readonly [file: string]: string }> {
  const [threads, session, links] = [threadProgram(), threadProgram(SESSION_HANDLERS), await linkProgram()].map((text) =>
    JSON.stringify(text),
  )
  return {
    threadProgram: `export async function loadThreadProgram() {}\nexport const threadProgram = (handlers) => handlers === undefined ? ${threads} : ${session}`,
    linkProgram: `export const linkProgram = async () => ${links}`,
  }
}

/** The path of the file. A program is a file, or text that imports files by their paths below the repository. */
export async function bundledProgram(name: string, program: { readonly file: string } | { readonly text: string }): Promise<string> {
  if (folder === '') folder = mkdtempSync(join(ROOT, 'node_modules', '.distarray-'))
  const outfile = join(folder, `${name}.mjs`)
  const texts = await textsOfThreads()
  await build({
    ...('file' in program
      ? { entryPoints: [program.file] }
      : { stdin: { contents: program.text, resolveDir: ROOT, sourcefile: join(ROOT, `${name}.ts`), loader: 'ts' as const } }),
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
    plugins: [
      {
        // each file of the sources asks for others beside it, but not for the programs of threads, which are made once here
        name: 'places of files',
        setup({ onLoad }) {
          onLoad({ filter: /(threadProgram|linkProgram)\.ts$/ }, ({ path }) => ({ contents: texts[basename(path, '.ts')] as string }))
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const url = JSON.stringify(pathToFileURL(path).href)
            const contents = readFileSync(path, 'utf8').replaceAll('import.meta.url', url)
            return { contents, loader: 'ts', resolveDir: dirname(path) }
          })
        },
      },
    ],
  })
  return outfile
}
