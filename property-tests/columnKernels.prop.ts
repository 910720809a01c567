/**
 * Law 5 for columns: a column kernel gives what the JavaScript kernel gives and what the function gives as it stands, by
 * Object.is, with nulls, -0, infinities and extremes of every type; and law 9 for its folds: sums have the bits of the
 * fixed tree over the values kept, whatever the number of workers.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bool, Field, Float32, Float64, Int8, Int16, Int32, Int64, Null, Schema, Uint8, Uint16, Uint32, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ElementType } from '../src/core/data/schema.ts'
import type { FunctionIr, UserFunction } from '../src/core/ir/functionIr.ts'
import { isKnown } from '../src/core/plan/elements.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { columnProgramOf, isProgram } from '../src/exec/tables/columns/columnProgram.ts'
import { hasCodedKeys, withCodedKeys } from '../src/exec/tables/columns/groups/codedKeys.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { returnedElement } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { COLUMN_TYPES, columnFunction, keyFunction, numberFunction, TEXTS, truthFunction } from './arbitraries/columnFunction.ts'
import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { expectedGroups } from './expectedGroups.ts'
import { interpretIr } from './functions/interpretIr.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const run = announcedRun('columnKernels.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const arena = lawArena(2 ** 28)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = [1, 2, 3, 4].map((workers) => createPool({ workers, arena, handlers }))
const folder = mkdtempSync(join(tmpdir(), 'distarray-column-kernels-'))
afterAll(async () => {
  for (const pool of pools) await pool.stop()
  rmSync(folder, { recursive: true })
})

type Row = Readonly<Record<string, unknown>>
type Scan = Extract<LogicalPlan, { kind: 'Scan' }>
interface Table {
  readonly rows: readonly Row[]
  readonly scan: Scan
  /** Whether texts have codes. */
  readonly coded: boolean
}

const ARROW = {
  ...{ f64: new Float64(), f32: new Float32(), i32: new Int32(), u32: new Uint32(), i16: new Int16(), u16: new Uint16() },
  ...{ i8: new Int8(), u8: new Uint8(), bool: new Bool(), i64: new Int64(), utf8: new Utf8(), null: new Null() },
}
const LIMITS: Readonly<Record<string, readonly number[]>> = {
  ...{ i32: [0, 1, -1, 7, 2 ** 31 - 1, -(2 ** 31)], u32: [0, 1, 2 ** 31, 2 ** 32 - 1], i16: [0, 5, -(2 ** 15), 2 ** 15 - 1] },
  ...{ u16: [0, 3, 2 ** 16 - 1], i8: [0, 2, -128, 127], u8: [0, 9, 255] },
}

function elementOf(type: string, pick: number): unknown {
  const of = <T>(values: readonly T[]): T => values[pick % values.length] as T
  switch (type) {
    case 'f64':
      return pick % 3 === 0 ? of(SPECIAL_NUMBERS) : pick % 4 === 1 ? (pick % 41) - 20.5 : (pick % 1009) / 7 - 50
    case 'f32':
      return Math.fround(pick % 3 === 0 ? of(SPECIAL_NUMBERS) : (pick % 1009) / 7 - 50)
    case 'bool':
      return pick % 2 === 0
    case 'i64':
      return of([0n, 5n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 5n])
    case 'utf8':
      return of(TEXTS)
    case 'null':
      return null
    default:
      return of(LIMITS[type] ?? [])
  }
}

/** Tables of sizes around vectors, words, blocks and units. */
const tables = [1, 3, 4, 31, 33, 64, 100, 130, 4095, 4097, 9000, 70_001].map((length, t): Table => {
  const names = Object.entries(COLUMN_TYPES)
  const rows = Array.from({ length }, (_, i): Row => {
    const entries = names.map(([name, type], c) => {
      const pick = (Math.imul(i * 31 + c * 17 + t, 0x9e3779b1) >>> 7) % 100_003
      return [name, name.endsWith('0') && pick % 4 === 1 ? null : elementOf(type, pick)] as const
    })
    return Object.fromEntries(entries)
  })
  const schema = new Schema(names.map(([name, type]) => new Field(name, ARROW[type], name.endsWith('0') || type === 'null')))
  const coded = t % 2 === 0
  const source = sourceFromRows(rows, { schema, memory: tableMemory(arena, { fewestRows: 0, coded }) })
  return {
    rows,
    coded,
    scan: { kind: 'Scan', source, columns: names.map(([name]) => name), element: source.element, keys: { kind: 'rowNumber' } },
  }
})
const inMemory = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...tables.slice(0, 8)) },
  { weight: 4, arbitrary: fc.constantFrom(...tables.slice(8, 11)) },
  { weight: 2, arbitrary: fc.constantFrom(...tables.slice(11)) },
)

/** The same tables in files, of row groups that end within bytes of bitmaps: their columns are read whole. */
const files = await Promise.all(
  tables.slice(0, 10).map(async (table, t): Promise<Table> => {
    const path = join(folder, `${t}.parquet`)
    const { element } = table.scan
    const batches = (
      await Promise.all(table.scan.source.splits.map((split) => readSplit(table.scan.source, split, table.scan.columns)))
    ).flat()
    await writeParquet({ batches, element, path, options: { rowGroupRows: t < 8 ? 1 + 6 * (t % 4) : 1000 } })
    const source = await openParquet(path, { int64: 'bigint' })
    return { ...table, coded: false, scan: { ...table.scan, source, element: source.element } }
  }),
)
const table = fc.oneof({ weight: 4, arbitrary: inMemory }, { weight: 1, arbitrary: fc.constantFrom(...files) })

function userFunction(ir: FunctionIr): UserFunction {
  return { original: () => undefined, text: 'f', span: ir.span, ir, refusals: [] }
}

function filtered({ scan }: Table, filters: readonly FunctionIr[]): LogicalPlan {
  return filters.reduce<LogicalPlan>((input, filter) => ({ ...scan, kind: 'Filter', input, f: userFunction(filter) }), scan)
}

function planOf(table: Table, filters: readonly FunctionIr[], map: FunctionIr): LogicalPlan {
  const { scan } = table
  const input = filtered(table, filters)
  const f = userFunction(map)
  const element: ElementType = returnedElement(f, { kind: 'row', method: 'map', inputs: [scan.element] })
  return { kind: 'Map', input, f, element, keys: { kind: 'rowNumber' } }
}

function keptRows({ rows }: Table, filters: readonly FunctionIr[]): readonly Row[] {
  return rows.filter((row) => filters.every((filter) => interpretIr(filter, { inputs: [row], key: [0] })))
}

function filtersText(filters: readonly FunctionIr[]): string {
  return filters.map((filter) => `filter ${irListing(filter)}\n`).join('')
}

function expectedOf(table: Table, filters: readonly FunctionIr[], map: FunctionIr): readonly unknown[] {
  return keptRows(table, filters).map((row) => interpretIr(map, { inputs: [row], key: [0] }) ?? null)
}

/** Chunks of 4,096 left to right, then pairwise: written out once more. */
function sumOf(values: readonly number[]): number {
  let sums: number[] = []
  for (let i = 0; i < values.length; i += 4096) sums.push(values.slice(i, i + 4096).reduce((a, b) => a + b, 0))
  while (sums.length > 1) {
    sums = Array.from({ length: Math.ceil(sums.length / 2) }, (_, i) => {
      const [left, right] = [sums[2 * i] ?? 0, sums[2 * i + 1]]
      return right === undefined ? left : left + right
    })
  }
  return sums[0] ?? 0
}

function bigSumOf(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => a + b, 0n)
}

function least(a: number, b: number): number {
  return typeof a === 'bigint' ? (b < a ? b : a) : Math.min(a, b)
}

function most(a: number, b: number): number {
  return typeof a === 'bigint' ? (b > a ? b : a) : Math.max(a, b)
}

function firstDifference(expected: readonly unknown[], actual: readonly unknown[]): string | undefined {
  if (expected.length !== actual.length) return `${actual.length} elements, not ${expected.length}`
  const at = expected.findIndex((value, i) => !Object.is(value, actual[i]))
  return at < 0 ? undefined : `element ${at} is ${shown(actual[at])}, not ${shown(expected[at])}`
}

function shown(value: unknown): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

const filters = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 4, arbitrary: fc.tuple(truthFunction) },
  { weight: 2, arbitrary: fc.tuple(truthFunction, truthFunction) },
)

const drawn = fc.record({
  table,
  filters,
  map: fc.oneof(
    { weight: 8, arbitrary: numberFunction },
    { weight: 2, arbitrary: truthFunction },
    { weight: 1, arbitrary: columnFunction },
  ),
  workers: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 2),
})

test('a column kernel does what the JavaScript kernel and the function do', async () => {
  const counts = { compiled: 0, filtered: 0, threads: 0, folds: 0, left: 0, coded: 0, bigints: 0, files: 0 }
  const held = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(drawn, async ({ table, filters, map, workers }) => {
      const pool = pools[workers] as (typeof pools)[number]
      const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
      const plan = planOf(table, filters, map)
      const expected = expectedOf(table, filters, map)
      const made = await executor.table(plan)
      const text = () => `${filtersText(filters)}map ${irListing(map)}`
      const check = (what: string, actual: readonly unknown[], wanted: readonly unknown[] = expected): void => {
        const difference = firstDifference(wanted, actual)
        if (difference !== undefined) throw new Error(`${what}: ${difference}\n${text()}`)
      }
      if (made === undefined) counts.left++
      else {
        counts.compiled++
        if (table.scan.source.kind !== 'memory') counts.files++
        if (filters.length > 0) counts.filtered++
        if (workers > 0) counts.threads++
        if (/BigInt|\b(big|\d+n)\b [-+*/%&|^<>]+ -?\d+n/.test(text())) counts.bigints++
        if (table.coded && / (===|!==|==|!=) "|" (===|!==|==|!=) /.test(text())) counts.coded++
        const read = rowReader(made)
        check(
          'the column kernel',
          Array.from({ length: made.length }, (_, i) => read(i)),
        )
        for (const column of made.columns) freeColumn(column, arena)
      }
      const present = expected.filter((value) => value !== null)
      if (present.some((value) => typeof value === 'string')) return
      const values = present.every((value) => typeof value === 'bigint') ? (present as unknown as number[]) : present.map(Number) // added by the same +
      const add = values.length > 0 && typeof values[0] === 'bigint' ? bigSumOf(values as unknown as bigint[]) : sumOf(values)
      for (const [kind, wanted] of [
        ['count', expected.length],
        ['sum', add],
        ['min', values.length === 0 ? undefined : values.reduce(least)],
        ['max', values.length === 0 ? undefined : values.reduce(most)],
      ] as const) {
        const folded = await executor.fold(plan, kind)
        if (folded === undefined) continue
        counts.folds++
        check(kind, [folded.value, folded.count], [wanted, kind === 'count' ? expected.length : values.length])
      }
      if (table.rows.length <= 9000) {
        const batches = await executor.execute(plan)
        const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
        check('the result', actual)
      }
      if (table.rows.length <= 130) {
        const batches = await new Executor({ pool: pools[0] as (typeof pools)[number], arena, readSplit, lower }).execute(plan)
        const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
        check('the JavaScript kernel', actual)
      }
      expect(arena.usedBytes).toBe(held)
    }),
    run,
  )
  console.log(`column kernels: ${JSON.stringify(counts)}`)
  if (run.numRuns >= FEW_RUNS) expect(counts.compiled).toBeGreaterThan(run.numRuns * 0.3)
  if (run.numRuns >= FEW_RUNS) expect(counts.files).toBeGreaterThan(run.numRuns * 0.05)
  if (run.numRuns >= FEW_RUNS) expect(counts.bigints).toBeGreaterThan(run.numRuns * 0.15)
  if (run.numRuns >= FEW_RUNS) expect(counts.coded).toBeGreaterThan(run.numRuns * 0.01)
})

const grouping = fc.record({
  table,
  filters,
  key: keyFunction,
  arguments: fc.tuple(numberFunction, numberFunction),
  workers: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3),
  last: fc.boolean(),
  groupPass: fc.record({
    unitRows: fc.constantFrom(32, 96, 8192),
    splitBytes: fc.constantFrom(0, Number.POSITIVE_INFINITY),
    nearBytes: fc.constant(0),
    rowsBytes: fc.constantFrom(0, Number.POSITIVE_INFINITY),
    mostWorkers: fc.constantFrom(4, 4, 4, 0),
    keysLookedAt: fc.constant(2 ** 16),
  }),
})

const FOLDS = [
  ...[...(['sum', 'mean', 'min', 'max', 'count'] as const).map((kind) => ({ name: kind, kind, column: 0 }))],
  { name: 'other', kind: 'sum', column: 1 } as const,
]
/** Needs the rows of each group: the folds then take the way for which rows are counted first. */
const LAST = { name: 'last', kind: 'last', column: 0 } as const

test('groups by computed keys of computed values of filtered rows are those of the rows', async () => {
  const counts = { compiled: 0, filtered: 0, groups: 0, coded: 0, integers: 0, onePass: 0 }
  const held = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(grouping, async ({ table, filters, key, arguments: args, workers, last, groupPass }) => {
      const pool = pools[workers] as (typeof pools)[number]
      let inRows = false
      let inTwoPasses = false
      const onEvent = (event: { readonly kind: string; readonly stage?: string }): void => {
        inRows ||= event.kind === 'progress' // of tasks over partitions
        inTwoPasses ||= event.stage === 'HashAggregateExec'
      }
      const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0, onEvent, groupPass })
      const input = filtered(table, filters)
      const wanted = last ? [...FOLDS, LAST] : FOLDS
      const aggregates = wanted.map(({ name, kind, column }) => ({ name, kind, of: userFunction(args[column] as FunctionIr) }))
      const plan: LogicalPlan = {
        kind: 'GroupBy',
        input,
        by: { kind: 'function', f: userFunction(key) },
        how: { kind: 'agg', aggregates },
        element: { kind: 'unknown' },
        keys: { kind: 'rowNumber' },
      }
      const kept = keptRows(table, filters)
      const valuesOf = (f: FunctionIr) => kept.map((row) => interpretIr(f, { inputs: [row], key: [0] }) ?? null)
      const expected = expectedGroups(valuesOf(key), args.map(valuesOf) as (number | null)[][], wanted)
      const batches = await executor.execute(plan)
      const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
      expect(actual, `${filtersText(filters)}by ${irListing(key)}\n${args.map(irListing).join('\n')}`).toEqual(expected)
      if (!inTwoPasses) counts.onePass++
      if (!inRows) counts.compiled++
      if (!inRows && filters.length > 0 && kept.length > 0) counts.filtered++
      counts.groups += expected.length
      const physical = lower(plan)
      if (physical.kind === 'WideExec' && physical.inputs.some(hasCodedKeys) && kept.length > 0) counts.coded++
      const program = physical.kind === 'WideExec' && physical.inputs[0] !== undefined ? columnProgramOf(physical.inputs[0]) : undefined
      if (program !== undefined && isProgram(program) && withCodedKeys(program)?.coded?.includes('doubles') === true) counts.integers++
      expect(arena.usedBytes).toBe(held)
    }),
    run,
  )
  console.log(`groups over column kernels: ${JSON.stringify(counts)}`)
  if (run.numRuns >= FEW_RUNS) expect(counts.compiled).toBeGreaterThan(run.numRuns * 0.3)
  if (run.numRuns >= FEW_RUNS) expect(counts.filtered).toBeGreaterThan(run.numRuns * 0.1)
  if (run.numRuns >= FEW_RUNS) expect(counts.coded).toBeGreaterThan(run.numRuns * 0.02)
  if (run.numRuns >= FEW_RUNS) expect(counts.onePass).toBeGreaterThan(run.numRuns * 0.03)
  if (run.numRuns >= FEW_RUNS) expect(counts.integers).toBeGreaterThan(run.numRuns * 0.02)
})

const elements = fc.record({
  table,
  filters,
  of: fc.oneof(
    { weight: 3, arbitrary: fc.oneof(numberFunction, truthFunction, columnFunction) },
    { weight: 4, arbitrary: fc.uniqueArray(fc.constantFrom(...Object.keys(COLUMN_TYPES)), { minLength: 1, maxLength: 3 }) },
  ),
  workers: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 2),
})

test('distinct elements of chains over columns are the first of equal ones', async () => {
  const counts = { compiled: 0, filtered: 0, coded: 0, rows: 0, zeros: 0 }
  const held = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(elements, async ({ table, filters, of, workers }) => {
      const pool = pools[workers] as (typeof pools)[number]
      let inRows = false
      const onEvent = ({ kind }: { readonly kind: string }): void => {
        inRows ||= kind === 'progress' // of tasks over partitions
      }
      const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0, onEvent })
      const fields = table.scan.element.kind === 'row' ? table.scan.element.fields : []
      const projected = (columns: readonly string[]): LogicalPlan => ({
        kind: 'Project',
        input: filtered(table, filters),
        columns,
        element: { kind: 'row', fields: columns.flatMap((name) => fields.filter((field) => field.name === name)) },
        keys: { kind: 'rowNumber' },
      })
      const input = 'body' in of ? planOf(table, filters, of) : projected(of)
      const values =
        'body' in of
          ? expectedOf(table, filters, of)
          : keptRows(table, filters).map((row) => Object.fromEntries(of.map((name) => [name, row[name]])))
      const expected = expectedGroups(
        values.map((value) => [value]),
        [],
        [],
      ).map((group) => (group as { readonly key: readonly unknown[] }).key[0])
      const batches = await executor.execute({ kind: 'Distinct', input, element: input.element, keys: { kind: 'rowNumber' } })
      const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
      expect(actual, `${filtersText(filters)}${'body' in of ? irListing(of) : of.join(', ')}`).toEqual(expected)
      const compiled = !inRows
      const plain = await executor.execute(input)
      if (expected.length > 0 || isKnown(input.element)) expect(batches[0]?.element.kind).toEqual(plain[0]?.element.kind)
      if (expected.length > 0) expect(batches[0]?.columns.map(({ type }) => type)).toEqual(plain[0]?.columns.map(({ type }) => type))
      if (compiled) counts.compiled++
      if (compiled && filters.length > 0 && expected.length > 0) counts.filtered++
      if (compiled && table.coded && !('body' in of) && of.some((name) => COLUMN_TYPES[name as keyof typeof COLUMN_TYPES] === 'utf8'))
        counts.coded++
      if (!('body' in of)) counts.rows++
      if (compiled && values.some((value) => Object.values({ value, ...(value as object | null) }).some((part) => Object.is(part, -0))))
        counts.zeros++
      expect(arena.usedBytes).toBe(held)
    }),
    run,
  )
  console.log(`distinct over column kernels: ${JSON.stringify(counts)}`)
  if (run.numRuns < FEW_RUNS) return
  for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(run.numRuns * (what === 'zeros' ? 0 : 0.01))
})
