/**
 * The corpus compiled by every tool chain, into a folder of its own from which Node loads it as it is.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build, type TransformOptions, transform } from 'esbuild'
import { minify } from 'terser'
import type { CanonicalForm } from './canonicalIr.ts'
import { type Corpus, loweredCorpus } from './corpusContexts.ts'

const HERE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(HERE, '..', '..')
const TSX = join(ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs')
const SOURCES = ['helpers.ts', 'functions.ts']

/** A new folder that Node treats as the package type says. It lies in node_modules, so that test runners leave it alone. */
function newFolder(name: string, type: 'module' | 'commonjs'): string {
  const cache = join(ROOT, 'node_modules', '.cache', 'distarray-functions')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, `${name}-`))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
  return folder
}

const load = async (file: string): Promise<Corpus> => (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Corpus // what the corpus exports

/** Each file by itself, as test runners and loaders do. */
async function transformed(name: string, options: TransformOptions): Promise<Corpus> {
  const folder = newFolder(name, 'module')
  for (const source of SOURCES) {
    const { code } = await transform(readFileSync(join(HERE, 'corpus', source), 'utf8'), {
      loader: 'ts',
      format: 'esm',
      target: 'node20',
      ...options,
    })
    const file = join(folder, source.replace(/\.ts$/, '.js'))
    writeFileSync(file, code.replaceAll('./helpers.ts', './helpers.js'))
  }
  return await load(join(folder, 'functions.js'))
}

/** All files in one, as bundlers do. */
async function bundled(
  name: string,
  options: BuildOptions,
  after: (code: string) => Promise<string> = (code) => Promise.resolve(code),
): Promise<Corpus> {
  const folder = newFolder(name, 'module')
  const { outputFiles } = await build({
    entryPoints: [join(HERE, 'corpus', 'functions.ts')],
    bundle: true,
    format: 'esm',
    target: 'node20',
    write: false,
    tsconfigRaw: '{}',
    ...options,
  })
  const file = join(folder, 'functions.js')
  writeFileSync(file, await after(outputFiles?.[0]?.text ?? ''))
  return await load(file)
}

/** TypeScript's own compiler. */
async function compiled(name: string, target: string, type: 'module' | 'commonjs'): Promise<Corpus> {
  const folder = newFolder(name, type)
  cpSync(join(HERE, 'corpus'), join(folder, 'src'), { recursive: true })
  const options = [
    '--ignoreConfig',
    '--target',
    target,
    '--module',
    'nodenext',
    '--rewriteRelativeImportExtensions',
    '--skipLibCheck',
    '--strict',
    '--noUncheckedIndexedAccess',
    '--types',
    'node',
    '--lib',
    'es2023',
  ]
  const files = SOURCES.map((source) => join(folder, 'src', source))
  const run = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), ...options, '--outDir', join(folder, 'out'), ...files],
    { cwd: folder, encoding: 'utf8' },
  )
  if (run.status !== 0) throw new Error(`tsc: ${run.stdout}${run.stderr}`)
  return await load(join(folder, 'out', 'functions.js'))
}

/** Programs that lower the corpus in a process of their own and write the result to a file. */
function inChild(
  name: string,
  args: (folder: string) => readonly string[],
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const folder = newFolder(name, 'module')
  const out = join(folder, 'lowered.json')
  const run = spawnSync(process.execPath, args(folder), {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, CORPUS_OUT: out, VITEST_REPORT: undefined, ...more },
  })
  if (run.status !== 0) throw new Error(`${name}: ${run.stdout}${run.stderr}`)
  return JSON.parse(readFileSync(out, 'utf8')) as Record<string, string> // what corpusPrint.ts wrote
}

/** The test runner itself, counting coverage with istanbul. */
function withCoverage(folder: string): readonly string[] {
  const config = {
    root: ROOT,
    test: {
      include: ['property-tests/functions/corpusPrint.ts'],
      pool: 'forks',
      coverage: {
        enabled: true,
        provider: 'istanbul',
        include: ['property-tests/functions/corpus/**'],
        reporter: ['json'],
        reportsDirectory: join(folder, 'coverage'),
      },
    },
  }
  const file = join(folder, 'vitest.config.mjs')
  writeFileSync(file, `export default ${JSON.stringify(config)}`)
  return [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--config', file]
}

async function terse(code: string): Promise<string> {
  return (await minify(code, { module: true, compress: true, mangle: true })).code ?? ''
}

/** The IRs of the corpus under each tool chain. */
export const TOOL_CHAINS: Readonly<Record<string, (form: CanonicalForm) => Promise<Record<string, string>>>> = {
  'types stripped': lowered(() => transformed('plain', {})),
  'keep-names, no whitespace, as tsx does': lowered(() =>
    transformed('tsx', { keepNames: true, minifyWhitespace: true, minifySyntax: true }),
  ),
  'tsc ES2022': lowered(() => compiled('tsc-es2022', 'es2022', 'module')),
  'tsc CommonJS': lowered(() => compiled('tsc-commonjs', 'es2022', 'commonjs')),
  'tsc CommonJS ES2017': lowered(() => compiled('tsc-commonjs-es2017', 'es2017', 'commonjs')),
  'esbuild bundle': lowered(() => bundled('esbuild', {})),
  'esbuild bundle ES2019': lowered(() => bundled('esbuild-es2019', { target: 'es2019' })),
  'esbuild bundle, keep-names': lowered(() => bundled('esbuild-names', { keepNames: true })),
  'esbuild --minify': lowered(() => bundled('esbuild-minify', { minify: true })),
  'esbuild --minify --keep-names': lowered(() => bundled('esbuild-minify-names', { minify: true, keepNames: true })),
  terser: lowered(() => bundled('terser', {}, terse)),
  tsx: () => Promise.resolve(inChild('tsx', () => [TSX, join(HERE, 'corpusPrint.ts')])),
  'tsx, in a worker thread': () => Promise.resolve(inChild('tsx-worker', () => [TSX, join(HERE, 'corpusPrint.ts'), '--worker'])),
  'the test runner with istanbul': () => Promise.resolve(inChild('istanbul', withCoverage, { CORPUS_COVERAGE: '1' })),
}

function lowered(compile: () => Promise<Corpus>): (form: CanonicalForm) => Promise<Record<string, string>> {
  return async (form) => loweredCorpus(await compile(), form)
}
