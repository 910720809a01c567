/**
 * The files of the package, made of the sources by rolldown:
 *
 *     index.js  testing.js     the entries, which take what they share from
 *     library.js               the copy of the code that was loaded first in this process, be it
 *     implementation.js        this one or that of the CommonJS form
 *     threadText.js            what threads run, as text      loaded by the first session
 *     linkText.js              what the thread of a gang's links runs, gRPC with it       loaded where there is a gang
 *     parquetText.js           parquet-wasm, compressed       loaded by the first use of Parquet
 *     sparkTables.js           the client of Spark, gRPC with it       loaded by a session whose tables are there
 *     cli.js                   `distarray run`, which needs none of the others
 *
 * and the same once more as `.cjs`. Declarations of both forms' entries take what they share from `library.d.cts`, so that a class
 * is one type.
 */
import { createHash } from 'node:crypto'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'
import { dts } from 'rolldown-plugin-dts'
import { parquetFiles, parquetPath } from '../src/io/parquet/parquetFiles.ts'
import { ROOT } from './repository.ts'

export interface PackageFile {
  readonly name: string
  readonly text: string
}

/** Programs that are in the package as text, which nobody reads there, go without white space, and keep their names, which stacks show. */
const DENSE = { compress: false, mangle: false, codegen: true }
/** What is installed beside the library: Arrow's classes are in its public types, fast-check makes the cases of a program's tests. */
const EXTERNAL = /^(apache-arrow|fast-check)(\/|$)/
/** What gRPC loads for services that nobody here asks for; a package with a script of its own would come along. */
const UNUSED = /^@grpc\/proto-loader$/
const ENTRIES = { index: 'src/index.ts', testing: 'src/testing.ts' }
/** Modules that find files among the sources, and what the package has instead. */
const INSTEAD = new Map([
  ['src/exec/workers/threadProgram.ts', 'src/packaged/threadProgram.ts'],
  ['src/exec/gang/links/linkProgram.ts', 'src/packaged/linkProgram.ts'],
  ['src/io/parquet/parquetFiles.ts', 'src/packaged/parquetFiles.ts'],
])
/** A module without anything. */
const NOTHING = '\0unused.cjs'
/** What is loaded on demand, and stays out of the code that all programs load. */
const ON_DEMAND = /sparkTables|\/io\/spark\/|node_modules\/(@grpc|@js-sdsl)\/|external-require|unused/
/** Its modules for bundlers, of which only what is used is taken. */
const RXJS = join(ROOT, 'node_modules/rxjs/dist/esm/index.js')

/** The files, and the paths of all modules of other packages that went into them. */
export async function packageFiles(
  version: string,
): Promise<{ readonly files: readonly PackageFile[]; readonly foreign: readonly string[] }> {
  const asText = { format: 'cjs', codeSplitting: false, minify: DENSE } as const
  const [thread] = await bundle({ thread: 'src/packaged/thread.ts' }, new Map(), asText)
  const [link] = await bundle({ link: 'src/exec/gang/links/linkMain.ts' }, new Map(), asText)
  const [cli] = await bundle({ cli: 'src/cli.ts' }, new Map(), { format: 'es', codeSplitting: false, banner: '#!/usr/bin/env node' })
  if (thread === undefined || link === undefined || cli === undefined) throw new Error('There is no program of threads.')
  const texts = new Map([
    ['src/packaged/threadText.ts', moduleOf({ threadText: threadText(thread.code, 'thread') })],
    ['src/packaged/linkText.ts', moduleOf({ linkText: threadText(link.code, 'links') })],
    ['src/packaged/parquetText.ts', moduleOf(packed(parquetFiles()))],
  ])
  const forms = {
    js: await bundle(ENTRIES, texts, { format: 'es' }),
    cjs: await bundle(ENTRIES, texts, { format: 'cjs', dynamicImportInCjs: false }),
  }
  const implementation = forms.js.find((chunk) => chunk.name === 'implementation')
  if (implementation === undefined) throw new Error('The entries share no code.')
  const hash = createHash('sha256').update(implementation.code).digest('hex').slice(0, 12)
  const key = `distarray ${version} ${hash}`
  const chunks = Object.entries(forms).flatMap(([suffix, made]) =>
    made.map((chunk) => ({ name: `${chunk.name}.${suffix}`, text: chunk.isEntry ? throughLibrary(chunk.code) : chunk.code })),
  )
  return {
    files: [
      ...chunks,
      { name: 'cli.js', text: cli.code },
      { name: 'library.js', text: libraryModule(key, implementation.exports) },
      { name: 'library.cjs', text: libraryCommonJs(key) },
      ...(await declarations()),
    ],
    foreign: [
      ...[thread, link, cli, ...forms.js].flatMap((chunk) => chunk.moduleIds).filter((id) => id.includes('node_modules')),
      parquetPath(),
    ],
  }
}

async function bundle(
  input: Readonly<Record<string, string>>,
  texts: ReadonlyMap<string, string>,
  output: OutputOptions,
): Promise<readonly OutputChunk[]> {
  const isAlone = !('index' in input)
  const build = await rolldown({
    cwd: ROOT,
    input,
    platform: 'node',
    tsconfig: false,
    external: isAlone ? [UNUSED] : [EXTERNAL],
    resolve: { alias: { rxjs: RXJS } },
    // an application's bundler would put something of its own there
    transform: { define: { 'import.meta.url': '"package"' } },
    plugins: [replaced(texts), esmExternalRequirePlugin({ external: [...builtinModules, /^node:/] })],
  })
  const suffix = output.format === 'cjs' ? 'cjs' : 'js'
  const { output: made } = await build.generate({
    ...output,
    minifyInternalExports: false,
    comments: { legal: true, annotation: true, jsdoc: false },
    entryFileNames: `[name].${suffix}`,
    chunkFileNames: `[name].${suffix}`,
    ...(isAlone
      ? {}
      : {
          codeSplitting: {
            groups: [
              { name: 'implementation', test: (id: string) => !/packaged|\/testing[/.]|src\/index/.test(id) && !ON_DEMAND.test(id) },
            ],
          },
        }),
  })
  await build.close()
  return made.flatMap((file) => (file.type === 'chunk' ? [{ ...file, code: inAscii(file.code) }] : []))
}

/** Engines keep two bytes for each character of a text that has one beyond Latin: of the code of every thread, as long as it runs. */
function inAscii(code: string): string {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function replaced(texts: ReadonlyMap<string, string>): Plugin {
  const at = (path: string): string => join(ROOT, path)
  const instead = new Map([...INSTEAD].map(([from, to]) => [at(from), at(to)]))
  const loaded = new Map([...texts].map(([path, text]) => [at(path), text]))
  return {
    name: 'packaged',
    async resolveId(source, importer) {
      // a call of require() that no bundler of an application could follow
      if (UNUSED.test(source) && importer !== undefined) return NOTHING
      if (!source.startsWith('.') || importer === undefined) return null
      const found = await this.resolve(source, importer, { skipSelf: true })
      return instead.get(found?.id ?? '') ?? null
    },
    load: (id) => (id === NOTHING ? 'module.exports = {}' : (loaded.get(id) ?? null)),
  }
}

function moduleOf(constants: Readonly<Record<string, string>>): string {
  return Object.entries(constants)
    .map(([name, text]) => `export const ${name} = ${JSON.stringify(text)}\n`)
    .join('')
}

/** As a script or as a module, whatever the process takes text for; the name is what stacks and debuggers show. */
function threadText(code: string, name: string): string {
  return `((require) => {\n${code}\n})(typeof require === 'function' ? require : (id) => process.getBuiltinModule(id))\n//# sourceURL=distarray-${name}.cjs\n`
}

function packed(files: { readonly glue: Uint8Array; readonly wasm: Uint8Array }): { readonly glue: string; readonly wasm: string } {
  // of the last two degrees of quality one takes ten times as long, for a tenth less
  const pack = (bytes: Uint8Array): string =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }).toString('base64')
  return { glue: pack(files.glue), wasm: pack(files.wasm) }
}

function throughLibrary(code: string): string {
  return code.replaceAll(/(["'])\.\/implementation\.(c?js)\1/g, '"./library.$2"')
}

/** Two copies of the classes in one process would not know each other; whichever is loaded first is everybody's. */
function libraryModule(key: string, names: readonly string[]): string {
  return `import * as own from './implementation.js';
const key = Symbol.for(${JSON.stringify(key)});
if (globalThis[key] === undefined && Object.isExtensible(globalThis)) globalThis[key] = own;
const library = globalThis[key] ?? own;
export const { ${names.join(', ')} } = library;
`
}

function libraryCommonJs(key: string): string {
  return `'use strict';
const key = Symbol.for(${JSON.stringify(key)});
const library = globalThis[key] ?? require('./implementation.cjs');
if (globalThis[key] === undefined && Object.isExtensible(globalThis)) globalThis[key] = library;
module.exports = library;
`
}

async function declarations(): Promise<readonly PackageFile[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: ENTRIES,
    external: [EXTERNAL, /^rxjs$/, /^node:/],
    plugins: dts({ tsconfig: 'tsconfig.build.json', oxc: true, emitDtsOnly: true }),
  })
  const { output } = await build.generate({ format: 'es', entryFileNames: '[name].ts', chunkFileNames: 'library.d.ts' })
  await build.close()
  const made = output.filter((file) => file.type === 'chunk')
  return made.flatMap((chunk) => {
    const name = chunk.fileName.replace(/(\.d)?\.ts$/, '')
    const text = chunk.code.replaceAll(/(from ["']\.\/[^"']+?)(\.d)?(\.[cm]?[jt]s)?(["'])/g, '$1.cjs$4')
    return [{ name: `${name}.d.cts`, text }, ...(chunk.isEntry ? [{ name: `${name}.d.ts`, text }] : [])]
  })
}
