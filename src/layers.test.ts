/**
 * The map of the code, kept true: who may import whom, no two files that need each other, and no folder or file too large to
 * look through.
 *
 *     core  <-  planner  <-  exec        core  <-  io        session joins them
 *     in exec:  kir  <-  wasm  <-  memory  <-  kernels  <-  arrays  <-  tables, loops  <-  gang
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SRC = dirname(fileURLToPath(import.meta.url))
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(file))
  .map((file) => file.replaceAll('\\', '/'))

/** What each layer may import from the rest of `src`; a layer is the folder, and '' the files of `src` itself. */
const MAY_IMPORT: Readonly<Record<string, RegExp>> = {
  core: /^core\//,
  planner: /^(core|planner)\//,
  io: /^(core|io)\//,
  exec: /^(core|exec)\/|^planner\/physical\//,
  packaged: /./,
  session: /./,
  testing: /^(core|session|testing)\/|^[^/]+$/,
  '': /./,
}
/** Packages that `core` may name: types at the edge of the public surface. */
const CORE_PACKAGES = /^(apache-arrow|rxjs|node:[a-z_/]+)$/

/** The folders of `exec` by what they need, and last its own files: each imports from those before it and from its own row. Types count. */
const EXEC: readonly (readonly string[])[] = [
  ['kir'],
  ['wasm'],
  ['memory'],
  ['kernels', 'workers'],
  ['arrays', 'ledger'],
  ['tables', 'loops'],
  ['gang'],
  [''],
]
/** The table of all tasks, which workers run that are not given another one. */
const TABLE_OF_TASKS = 'exec/handlers.ts'

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}
const STATEMENT = /^(?:import|export)\s+(type\b)?[^'";]*?from\s*'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm
const imports: readonly Import[] = files.flatMap((from) =>
  [
    ...readFileSync(join(SRC, from), 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .matchAll(STATEMENT),
  ].map(([, type, named, bare, called]) => {
    const target = named ?? bare ?? called ?? ''
    const to = target.startsWith('.') ? relative(SRC, join(SRC, dirname(from), target)).replaceAll('\\', '/') : target
    return { from, to, typeOnly: type !== undefined }
  }),
)
const layerOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : '')
const inSource = ({ to }: Import): boolean => files.includes(to)

test('every layer imports only what lies below it', () => {
  const wrong = imports.filter((one) => inSource(one) && MAY_IMPORT[layerOf(one.from)]?.test(one.to) !== true)
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('inside exec a folder imports only what comes before it, and tables and loops know nothing of each other', () => {
  const folderOf = (file: string): string | undefined => (file.startsWith('exec/') ? (/^exec\/(\w+)\//.exec(file)?.[1] ?? '') : undefined)
  const rowOf = (folder: string): number => EXEC.findIndex((row) => row.includes(folder))
  const wrong = imports.filter(({ from, to }) => {
    const [mine, other] = [folderOf(from), folderOf(to)]
    if (mine === undefined || other === undefined || mine === other) return false
    if (mine === 'workers' && to === TABLE_OF_TASKS) return false
    const apart = ['tables', 'loops']
    return rowOf(other) > rowOf(mine) || (apart.includes(mine) && apart.includes(other))
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
  const folders = new Set(files.map(folderOf).filter((folder) => folder !== undefined))
  expect([...folders].filter((folder) => rowOf(folder) < 0)).toEqual([])
})

test('core names no packages but those of its public types, and exec takes only types from the planner', () => {
  const packages = imports.filter((one) => layerOf(one.from) === 'core' && !inSource(one) && !CORE_PACKAGES.test(one.to))
  const values = imports.filter((one) => layerOf(one.from) === 'exec' && layerOf(one.to) === 'planner' && !one.typeOnly)
  expect([...packages, ...values].map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('importing the library loads neither Arrow nor parquet-wasm', () => {
  const late = /^(apache-arrow|parquet-wasm)(\/|$)/
  const early = imports.filter(
    (one) => late.test(one.to) && !one.typeOnly && layerOf(one.from) !== 'testing' && one.from !== 'io/arrow/arrowLibrary.ts',
  )
  expect(early.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('every relative import names a file with its suffix', () => {
  const wrong = imports.filter((one) => !inSource(one) && /^\.\.?\/|\.ts$|^[a-z]+\/.*\.js$/.test(one.to))
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('no file needs itself, however far around, be it for types', () => {
  const needs = new Map(files.map((file) => [file, imports.filter((one) => one.from === file).map((one) => one.to)]))
  const done = new Set<string>()
  const cycleFrom = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const next of needs.get(file) ?? []) {
      const cycle = cycleFrom(next, [...path, file])
      if (cycle !== undefined) return cycle
    }
    done.add(file)
    return undefined
  }
  expect(files.map((file) => cycleFrom(file, [])?.join(' -> ')).filter((cycle) => cycle !== undefined)).toEqual([])
})

/** Nobody reads it: it is generated. */
const GENERATED = 'io/spark/messages.ts'

test('a file has at most 400 lines, not counting tests', () => {
  const longer = files.filter((file) => readFileSync(join(SRC, file), 'utf8').trimEnd().split('\n').length > 400)
  expect(longer.filter((file) => file !== GENERATED)).toEqual([])
})

test('a folder has at most 25 files, not counting tests', () => {
  const folders = new Map<string, number>()
  for (const file of files) folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + 1)
  expect([...folders].filter(([, count]) => count > 25)).toEqual([])
})
