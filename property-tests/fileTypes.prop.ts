/**
 * Law: 64-bit integers of files are numbers to a program, and what only hands them on writes them as the integers they
 * were: through any chain, however it runs, into any form of file. What is computed of them, or put together with other
 * numbers, is f64.
 *
 * Which columns are handed on is said here beside each step. All numbers are whole, so that values would not tell.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Schema } from 'apache-arrow'
import fc from 'fast-check'
import { Subject } from 'rxjs'
import { afterAll, expect, test } from 'vitest'
import { DistArray, planOf } from '../src/core/arrays/distArray.ts'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { type ColumnType, type ElementType, fieldsOf, typeText } from '../src/core/data/schema.ts'
import { collect, count, first, last, max, mean, min, sum } from '../src/core/plan/aggregates.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import type { SessionEvent } from '../src/core/sessionEvent.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { ArrayStore } from '../src/exec/tables/store/arrayStore.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { toArrowTable } from '../src/io/arrow/arrowBatches.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { sourceFromArrow, sourceFromColumns } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { RowFunctions } from '../src/planner/function/rowFunctions.ts'
import { retyped } from '../src/planner/retype.ts'
import { queriesBy } from '../src/session/arrayQueries.ts'
import { SessionEngine } from '../src/session/engine.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const RUN = announcedRun('fileTypes.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-file-types-'))
const arena = createArena({ budgetBytes: 2 ** 27 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
  rmSync(folder, { recursive: true })
})

interface Machine {
  readonly where: keyof typeof pools
  readonly smallRows: number
  readonly partitionRows: number
}

function engineOf({ where, ...options }: Machine): SessionEngine {
  const pool = pools[where]
  const executor = new Executor({ pool, arena, readSplit, lower, ...options })
  const functions = new RowFunctions()
  const store = new ArrayStore({
    arena,
    moment: (used) => functions.moment(used),
    ...queriesBy(executor),
    retype: retyped,
  })
  const runtime = {
    ...{ arena, pool, store, executor, checkRaces: false, worthThreadsMs: undefined, checkOpen: () => undefined },
    ...{ events: new Subject<SessionEvent>(), passes: new Set<Promise<unknown>>(), stopped: new AbortController().signal },
  }
  return new SessionEngine(runtime, { seed: 1, functions })
}

interface Row {
  readonly i: number | null
  readonly u: number
  readonly x: number
  readonly l: readonly number[] | null
}
type Rows = DistArray<Row>

const I64: ColumnType = { kind: 'i64' }
const U64: ColumnType = { kind: 'u64' }
const F64: ColumnType = { kind: 'f64' }
/** The types that the columns of files have there, by name. */
const TYPES: Readonly<Record<keyof Row, ColumnType>> = { i: I64, u: U64, x: F64, l: { kind: 'list', item: I64 } }

const integer = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 32, 2 ** 53 - 1))
const row: fc.Arbitrary<Row> = fc.record({
  i: fc.option(integer, { freq: 4, nil: null }),
  u: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 6 }) }, { weight: 1, arbitrary: fc.constant(2 ** 53) }),
  x: fc.integer({ min: -2, max: 5 }),
  l: fc.option(fc.array(integer, { maxLength: 3 }), { freq: 4, nil: null }),
})

function batchOf(rows: readonly Row[]): Batch {
  const names = Object.keys(TYPES) as (keyof Row)[]
  const columns = names.map((name) => {
    const exact = (value: unknown): unknown => (typeof value === 'number' ? BigInt(value) : Array.isArray(value) ? value.map(exact) : value)
    return columnFromValues(
      rows.map((one) => (name === 'x' ? one.x : exact(one[name]))),
      TYPES[name],
      name,
    )
  })
  const element: ElementType = {
    kind: 'row',
    fields: names.map((name) => ({ name, type: TYPES[name], nullable: name === 'i' || name === 'l' })),
  }
  return { element, length: rows.length, columns }
}

type Form = 'parquet' | 'arrow' | 'memory'

async function sourceOf(rows: readonly Row[], form: Form, path: string): Promise<ArraySource> {
  const batch = batchOf(rows)
  const written = { batches: [batch], element: batch.element, path }
  switch (form) {
    case 'parquet':
      await writeParquet({ ...written, options: { rowGroupRows: 5 } })
      return await openParquet(path)
    case 'arrow':
      await writeArrow(written)
      return await openArrow(path)
    case 'memory':
      return sourceFromArrow(toArrowTable([batch], batch.element))
  }
}

function tableOf(engine: SessionEngine, source: ArraySource): Rows {
  const columns = fieldsOf(source.element).map((field) => field.name)
  return new DistArray<Row>(engine, { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } })
}

type Types = Readonly<Record<string, ColumnType>>
interface State {
  readonly array: Rows
  readonly types: Types
}
interface Sides {
  readonly file: Rows
  /** The same rows, given by the program: all numbers are f64. */
  readonly given: Rows
}

const GIVEN: Types = { i: F64, u: F64, x: F64, l: { kind: 'list', item: F64 } }
const as = (array: unknown): Rows => array as Rows // what a column is not any more, no step asks for
const low = 2

/** Steps, with the columns that they ask for, and the types of those that they give. */
const STEPS: readonly {
  readonly needs: readonly string[]
  readonly take: (array: Rows, sides: Sides) => unknown
  readonly types: (types: Types) => Types
}[] = [
  { needs: ['u'], take: (a) => a.filter((r) => r.u > low), types: (t) => t },
  { needs: ['i'], take: (a) => a.filter((r) => r.i !== null && r.i <= 2 ** 53 - 1), types: (t) => t },
  { needs: ['u'], take: (a) => a.sortBy((r) => r.u), types: (t) => t },
  { needs: ['i', 'u'], take: (a) => a.sortBy((r) => [r.i, r.u], { descending: true }), types: (t) => t },
  { needs: ['i', 'u', 'x'], take: (a) => a.select('x', 'u', 'i'), types: ({ x, u, i }) => ({ x, u, i }) as Types },
  { needs: ['u', 'x'], take: (a) => a.map((r) => ({ u: r.u, x: r.x, y: r.u })), types: ({ u, x }) => ({ u, x, y: u }) as Types },
  { needs: ['i'], take: (a) => a.withColumns((r) => ({ y: r.i })), types: (t) => ({ ...t, y: t.i }) as Types },
  { needs: ['i', 'u'], take: (a) => a.withColumns((r) => ({ y: r.u > low ? r.i : null })), types: (t) => ({ ...t, y: t.i }) as Types },
  { needs: ['u'], take: (a) => a.withColumns((r) => ({ u: r.u + 0 })), types: (t) => ({ ...t, u: F64 }) },
  { needs: ['i'], take: (a) => a.withColumns((r) => ({ i: r.i ?? 0 })), types: (t) => ({ ...t, i: F64 }) },
  { needs: ['i', 'x', 'u'], take: (a) => a.withColumns((r) => ({ i: r.u > low ? r.i : r.x })), types: (t) => ({ ...t, i: F64 }) },
  {
    needs: ['i', 'x', 'u'],
    take: (a) =>
      a.withColumns((r) => {
        let i = r.i
        if (r.u > low) i = r.x
        return { i, x: -r.x }
      }),
    types: (t) => ({ ...t, i: F64, x: F64 }),
  },
  { needs: ['u'], take: (a) => a.map((r) => r.u).map((u) => ({ u, x: u })), types: () => ({ u: F64, x: F64 }) },
  { needs: ['l', 'u'], take: (a) => a.flatMap((r) => [{ l: r.l, y: r.u }]), types: ({ l, u }) => ({ l, y: u }) as Types },
  { needs: [], take: (a) => a.limit(7), types: (t) => t },
  {
    needs: ['u', 'x'],
    take: (a) => a.select('u', 'x').index((r) => [Math.floor(Math.abs(r.x)) % 50], { combine: (p, q) => ({ u: (p.u + q.u) / 2, x: q.x }) }),
    types: () => ({ u: F64, x: F64 }),
  },
  { needs: [], take: (a) => a.distinct(), types: (t) => t },
  { needs: [], take: (a) => a.materialize(), types: (t) => t },
  { needs: [], take: (a) => a.repartition({ partitions: 3 }), types: (t) => t },
  { needs: ['i', 'u', 'x', 'l'], take: (a, { file }) => a.select('i', 'u', 'x', 'l').union(file), types: (t) => both(t, TYPES) },
  { needs: ['i', 'u', 'x', 'l'], take: (a, { given }) => a.select('i', 'u', 'x', 'l').union(given), types: (t) => both(t, GIVEN) },
  { needs: ['u'], take: (a, { file }) => a.select('u').join(file.select('u', 'i'), 'u'), types: ({ u }) => ({ u, i: I64 }) as Types },
  { needs: ['u'], take: (a, { given }) => a.join(given, 'u', { how: 'semi' }), types: (t) => t },
  {
    needs: ['u'],
    take: (a, { given }) => a.select('u').join(given.select('u', 'i'), 'u', { how: 'left' }),
    types: ({ u }) => ({ u, i: F64 }) as Types,
  },
  {
    needs: ['u', 'i'],
    take: (a, { file }) => a.select('u', 'i').join(file.select('u', 'x'), 'u', { how: 'full' }),
    types: ({ u, i }) => both({ u, i, x: F64 } as Types, { u: U64, i, x: F64 } as Types),
  },
  {
    needs: ['u', 'i'],
    take: (a, { given }) => a.select('u', 'i').join(given.select('i'), { left: (r) => r.u, right: (r) => r.i as number }),
    types: ({ u, i }) => ({ u, i, i_right: F64 }) as Types,
  },
  { needs: ['u'], take: (a) => a.groupBy((r) => r.u).count(), types: ({ u }) => ({ key: u, count: F64 }) as Types },
  {
    needs: ['u', 'i'],
    take: (a) =>
      a
        .groupBy((r) => r.u)
        .reduce((p, q) => (p.u > q.u ? p : q))
        .map((g) => ({ u: g.key, i: g.value.i })),
    types: ({ u, i }) => ({ u, i }) as Types,
  },
  {
    needs: ['u', 'x'],
    take: (a) =>
      a
        .select('u', 'x')
        .groupBy((r) => r.x)
        .reduce((p, q) => ({ u: p.u, x: p.x + q.x }))
        .map((g) => ({ u: g.value.u, x: g.value.x })),
    types: ({ u }) => ({ u, x: F64 }) as Types,
  },
  {
    needs: ['u', 'i'],
    take: (a) =>
      a
        .groupBy((r) => r.u)
        .agg({
          i: first((r) => r.i),
          u: max((r) => r.u),
          x: sum((r) => r.u),
        }),
    types: ({ u, i }) => ({ key: u, i, u, x: F64 }) as Types,
  },
  {
    needs: ['u', 'i', 'x'],
    take: (a) =>
      a
        .groupBy((r) => ({ u: r.u, x: r.x }))
        .agg({
          i: min((r) => r.i as number),
          y: last((r) => r.i),
          l: collect((r) => r.u),
          m: mean((r) => r.u),
          n: count(),
        }),
    types: ({ u, x, i }) => ({ u, x, i, y: i, l: { kind: 'list', item: u as ColumnType }, m: F64, n: F64 }) as Types,
  },
]

/** Of two tables one after the other, which have the columns of the second. */
function both(a: Types, b: Types): Types {
  return Object.fromEntries(
    Object.entries(b).map(([name, type]) => [name, typeText(a[name] ?? type) === typeText(type) ? type : asNumbers(type)]),
  )
}

function asNumbers(type: ColumnType): ColumnType {
  return type.kind === 'list' ? { kind: 'list', item: F64 } : F64
}

function stateAfter(state: State, picks: readonly number[], sides: Sides): State {
  return picks.reduce((now, pick) => {
    const fitting = STEPS.filter(({ needs }) =>
      needs.every((name) => now.types[name] !== undefined && (name === 'l') === (now.types[name]?.kind === 'list')),
    )
    const step = fitting[pick % fitting.length]
    return step === undefined ? now : { array: as(step.take(now.array, sides)), types: step.types(now.types) }
  }, state)
}

/** Names and types of an Arrow schema, as those of columns are written here. */
function typesOf(schema: Schema): Readonly<Record<string, string>> {
  return Object.fromEntries(schema.fields.map((field) => [field.name, String(field.type)]))
}
const ARROW: Readonly<Record<string, string>> = {
  i64: 'Int64',
  u64: 'Uint64',
  f64: 'Float64',
  'list<i64>': 'List<Int64>',
  'list<u64>': 'List<Uint64>',
  'list<f64>': 'List<Float64>',
}

/** The types of what is written in any form, and its rows read back. */
async function writtenAs(
  form: Form,
  engine: SessionEngine,
  { array }: State,
): Promise<{ readonly schema: Schema; readonly back: unknown }> {
  const path = join(folder, `out.${form}`)
  switch (form) {
    case 'parquet': {
      await array.writeParquet(path)
      const exact = tableOf(engine, await openParquet(path, { int64: 'bigint' }))
      return { schema: exact.schema as Schema, back: await tableOf(engine, await openParquet(path)).collect() }
    }
    case 'arrow': {
      await array.writeArrow(path)
      const exact = tableOf(engine, await openArrow(path, { int64: 'bigint' }))
      return { schema: exact.schema as Schema, back: await tableOf(engine, await openArrow(path)).collect() }
    }
    case 'memory': {
      const table = await array.toArrow()
      for await (const batch of array.batches()) expect(typesOf(batch.schema)).toStrictEqual(typesOf(table.schema))
      return { schema: table.schema, back: await tableOf(engine, sourceFromArrow(table)).collect() }
    }
  }
}

const form = fc.constantFrom<Form>('memory', 'memory', 'memory', 'parquet', 'arrow')

test('64-bit integers of a file that are only handed on are written as such', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        ...{ rows: fc.array(row, { maxLength: 30 }), others: fc.array(row, { minLength: 1, maxLength: 8 }) },
        ...{ picks: fc.array(fc.nat(999), { minLength: 1, maxLength: 5 }), from: form, into: form },
      }),
      fc.record({
        where: fc.constantFrom<Machine['where']>('inline', 'inline', 'inline', 'threads'),
        smallRows: fc.constantFrom(0, 0, 20_000),
        partitionRows: fc.constantFrom(4, 65_536),
      }),
      async ({ rows, others, picks, from, into }, machine) => {
        const engine = engineOf(machine)
        const given = sourceFromColumns({
          i: Float64Array.from(others, (one) => one.i ?? 0),
          u: Float64Array.from(others, (one) => one.u),
          x: Float64Array.from(others, (one) => one.x),
          l: others.map((one, at) => (at === 0 ? [1] : one.l)), // not nothing but nulls
        })
        const sides: Sides = {
          file: tableOf(engine, await sourceOf(others, from, join(folder, 'others'))),
          given: tableOf(engine, given),
        }
        const state = stateAfter({ array: tableOf(engine, await sourceOf(rows, from, join(folder, 'rows'))), types: TYPES }, picks, sides)
        const wanted = Object.fromEntries(Object.entries(state.types).map(([name, type]) => [name, ARROW[typeText(type)]]))
        const said = planText(planOf(state.array))
        expect(typesOf(state.array.schema as Schema), said).toStrictEqual(wanted)
        const collected = await state.array.collect()
        const { schema, back } = await writtenAs(into, engine, state)
        expect(typesOf(schema), said).toStrictEqual(wanted)
        expect(back, said).toStrictEqual(collected)
      },
    ),
    RUN,
  )
})
