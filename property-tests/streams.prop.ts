/**
 * Law: a table of files that is larger than the memory of its session gives every action what plain arrays give, whatever
 * the format, the partitions and the workers.
 *
 * All results of tasks lie in the arena here, so that its budget, which it never passes, bounds what is kept at once:
 * less than the table. A reader that stops has read no more partitions than it took and the few that are computed ahead,
 * and leaves nothing in the arena.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RecordBatchStreamWriter } from 'apache-arrow'
import fc from 'fast-check'
import { Subject } from 'rxjs'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { combinePairwise } from '../src/core/arrays/fixedTree.ts'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ElementType } from '../src/core/data/schema.ts'
import { count, first, last, max, mean, min, sum } from '../src/core/plan/aggregates.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import type { SessionEvent } from '../src/core/sessionEvent.ts'
import { createArena, type SharedArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import type { ExecBatch } from '../src/exec/tables/operators/batches.ts'
import { FoldedGroups } from '../src/exec/tables/operators/groupBy/foldedGroups.ts'
import { openNarrow } from '../src/exec/tables/operators/index.ts'
import { ArrayStore } from '../src/exec/tables/store/arrayStore.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { toRecordBatch } from '../src/io/arrow/arrowBatches.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { RowFunctions } from '../src/planner/function/rowFunctions.ts'
import { lower } from '../src/planner/physical/lower.ts'
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { retyped } from '../src/planner/retype.ts'
import { queriesBy } from '../src/session/arrayQueries.ts'
import { SessionEngine } from '../src/session/engine.ts'
import { announcedRun } from './lawRuns.ts'
import { treeSum } from './reference.ts'
import { HANDLERS, reads } from './streamHandlers.ts'

const RUN = announcedRun('streams.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'streams-'))

interface Row {
  readonly g: number | null
  readonly a: number
  readonly s: string | null
  readonly n: number
}

interface Machine {
  readonly workers: number
  readonly arena: SharedArena
  readonly pool: WorkerPool
  readonly executor: Executor
  readonly engine: SessionEngine
}

/** A session without its sources: with a budget below what a session takes, and the handlers of this law. */
function machineOf(workers: number, budgetBytes: number): Machine {
  const arena = createArena({ budgetBytes })
  const url = new URL('./streamThreadHandlers.ts', import.meta.url).href
  const pool = createPool({ workers, arena, handlers: { url, table: HANDLERS } })
  const executor = new Executor({ pool, arena, readSplit, lower })
  const functions = new RowFunctions()
  const store = new ArrayStore({
    arena,
    moment: (used) => functions.moment(used),
    ...queriesBy(executor),
    retype: retyped,
  })
  const runtime = {
    arena,
    pool,
    store,
    executor,
    events: new Subject<SessionEvent>(),
    checkRaces: false,
    worthThreadsMs: undefined,
    passes: new Set<Promise<unknown>>(),
    stopped: new AbortController().signal,
    checkOpen: () => undefined,
  }
  return { workers, arena, pool, executor, engine: new SessionEngine(runtime, { seed: 1, functions }) }
}

const BUDGET_BYTES = 20 * 2 ** 10
const MACHINES = [machineOf(1, BUDGET_BYTES), machineOf(2, BUDGET_BYTES), machineOf(3, BUDGET_BYTES)] as const
const [alone] = MACHINES

afterAll(async () => {
  for (const { pool } of MACHINES) await pool.stop()
  rmSync(folder, { recursive: true })
})

const NUMBERS = [0.1, 1e16, -1e16, -0, 1, Number.NaN, 3.3, -7, 1e-300]
const TEXTS = ['', 'a', 'some text', 'ü, "quoted"', 'x']

/** Lengths from 1 to 75. */
function partitionsOf([count, step]: readonly [number, number]): readonly number[] {
  return Array.from({ length: count }, (_, i) => 1 + ((i * step + 40) % 75))
}

/** Rows out of few drawn numbers: any length costs the same to draw. */
const table = fc.record({
  partitions: fc.tuple(fc.constantFrom(1, 4, 11, 24), fc.constantFrom(0, 7, 37)).map(partitionsOf),
  format: fc.constantFrom('parquet', 'parquet', 'arrow', 'csv'),
  groups: fc.constantFrom(1, 3, 7),
  step: fc.constantFrom(1, 17),
  special: fc.constantFrom(3, 40),
})
type Drawn = typeof table extends fc.Arbitrary<infer T> ? T : never

function rowsOf({ partitions, groups, step, special }: Drawn): readonly Row[] {
  return Array.from({ length: partitions.reduce((a, b) => a + b, 0) }, (_, n): Row => {
    const at = n * step
    return {
      g: at % 11 === 3 ? null : (at * at) % groups,
      a: at % special === 0 ? (NUMBERS[(at / special) % NUMBERS.length] as number) : ((at * 7919) % 1009) / 7,
      s: at % 13 === 5 ? null : (TEXTS[at % TEXTS.length] as string),
      n,
    }
  })
}

let files = 0

interface Table {
  readonly rows: readonly Row[]
  readonly source: ArraySource
}

/** Tables that were drawn before: there are few hundred. */
const known = new Map<string, Promise<Table>>()

function tableOf(drawn: Drawn): Promise<Table> {
  const name = JSON.stringify(drawn)
  const found = known.get(name)
  if (found !== undefined) return found
  const rows = rowsOf(drawn)
  const made = written(rows, drawn).then((source) => ({ rows, source }))
  known.set(name, made)
  return made
}

/** The table in files, whose partitions are those that were drawn, but Parquet's, of which all but the last of a file are as long. */
async function written(rows: readonly Row[], { partitions, format }: Drawn): Promise<ArraySource> {
  let from = 0
  const cuts = partitions.map((length) => rows.slice(from, (from += length)))
  const path = join(folder, `${files++}`)
  switch (format) {
    case 'parquet': {
      await writeParquet({
        batches: [batchOf(rows)],
        element: ELEMENT,
        path,
        options: { compression: 'none', rowGroupRows: Math.max(...partitions) },
      })
      return await openParquet(path)
    }
    case 'arrow': {
      const writer = new RecordBatchStreamWriter()
      for (const cut of cuts) writer.write(toRecordBatch(batchOf(cut), ELEMENT))
      writer.finish()
      writeFileSync(path, writer.toUint8Array(true))
      return await openArrow(path)
    }
    default: {
      const paths: string[] = []
      for (const [i, cut] of cuts.entries()) {
        paths.push(`${path}-${i}.csv`)
        await writeCsv({ batches: [batchOf(cut)], element: ELEMENT, path: `${path}-${i}.csv` })
      }
      return await openCsv(paths, { types: { g: 'f64', a: 'f64', s: 'utf8', n: 'f64' } })
    }
  }
}

const TYPES = { g: { kind: 'f64' }, a: { kind: 'f64' }, s: { kind: 'utf8' }, n: { kind: 'f64' } } as const
const ELEMENT: ElementType = { kind: 'row', fields: Object.entries(TYPES).map(([name, type]) => ({ name, type, nullable: true })) }

function batchOf(rows: readonly Row[]): Batch {
  const columns = Object.entries(TYPES).map(([name, type]) =>
    columnFromValues(
      rows.map((row) => row[name as keyof Row]),
      type,
    ),
  )
  return { element: ELEMENT, length: rows.length, columns }
}

type Handle = DistArray<Row>

/** A step on handles, and what it does to arrays. */
interface Step {
  readonly name: string
  onHandle(handle: Handle): Handle
  onRows(rows: readonly Row[]): readonly Row[]
}

const STEPS: readonly Step[] = [
  { name: 'filter', onHandle: (t) => t.filter((r) => r.a > 10), onRows: (rows) => rows.filter((r) => r.a > 10) },
  {
    name: 'filter that no partition passes whole',
    onHandle: (t) => t.filter((r) => r.n % 97 !== 0 && r.n > 75),
    onRows: (rows) => rows.filter((r) => r.n % 97 !== 0 && r.n > 75),
  },
  {
    name: 'filter as JavaScript',
    onHandle: (t) => t.filter((r) => JSON.stringify(r.s) !== '"x"'),
    onRows: (rows) => rows.filter((r) => r.s !== 'x'),
  },
  {
    name: 'filter by row number',
    onHandle: (t) => t.filter((_, [i]) => i % 3 !== 1),
    onRows: (rows) => rows.filter((_, i) => i % 3 !== 1),
  },
  {
    name: 'map',
    onHandle: (t) => t.map((r) => ({ g: r.g, a: r.a * 3 + 1, s: r.s, n: r.n })),
    onRows: (rows) => rows.map((r) => ({ ...r, a: r.a * 3 + 1 })),
  },
  {
    name: 'map by row number',
    onHandle: (t) => t.map((r, [i]) => ({ g: r.g, a: r.a, s: r.s, n: i })),
    onRows: (rows) => rows.map((r, n) => ({ ...r, n })),
  },
  {
    name: 'withColumns',
    onHandle: (t) => t.withColumns((r) => ({ a: r.a - r.n })) as unknown as Handle, // the same columns
    onRows: (rows) => rows.map((r) => ({ ...r, a: r.a - r.n })),
  },
  { name: 'select', onHandle: (t) => t.select('n', 's', 'a', 'g') as Handle, onRows: (rows) => rows },
  { name: 'union', onHandle: (t) => t.union(t), onRows: (rows) => [...rows, ...rows] },
  { name: 'limit', onHandle: (t) => t.limit(170), onRows: (rows) => rows.slice(0, 170) },
]

/** An action, and what it gives of arrays. */
interface Action {
  readonly name: string
  onHandle(handle: Handle, machine: Machine): Promise<unknown>
  onRows(rows: readonly Row[]): unknown
}

async function taken(handle: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const row of handle) rows.push(row)
  return rows
}

async function readAgain(source: ArraySource): Promise<Row[]> {
  return await taken(handleOf(alone, source))
}

const keyed = (rows: readonly Row[]): unknown => rows.map((row, i) => [i, row])
const values = (rows: readonly Row[]): readonly number[] => rows.map((r) => r.a)

const ACTIONS: readonly Action[] = [
  { name: 'iterate', onHandle: (t) => taken(t), onRows: (rows) => rows },
  {
    name: 'forEach',
    onHandle: async (t) => {
      const seen: unknown[] = []
      await t.forEach((row, [i]) => {
        seen.push([i, row])
      })
      return seen
    },
    onRows: keyed,
  },
  {
    name: 'batches',
    onHandle: async (t) => {
      let rows = 0
      for await (const batch of t.batches()) rows += batch.numRows
      return rows
    },
    onRows: (rows) => rows.length,
  },
  { name: 'count', onHandle: (t) => t.count(), onRows: (rows) => rows.length },
  {
    name: 'reduce',
    onHandle: (t) =>
      t.reduce(
        (a: number, r) => a + r.a,
        0.5,
        (a, b) => a + b,
      ),
    onRows: (rows) => reduced(rows),
  },
  { name: 'sum', onHandle: (t) => t.map((r) => r.a).sum(), onRows: (rows) => treeSum(values(rows)) },
  {
    name: 'mean',
    onHandle: (t) => t.map((r) => r.a).mean(),
    onRows: (rows) => (rows.length === 0 ? undefined : treeSum(values(rows)) / rows.length),
  },
  {
    name: 'min',
    onHandle: (t) => t.map((r) => r.a).min(),
    onRows: (rows) => (rows.length === 0 ? undefined : values(rows).reduce((a, b) => Math.min(a, b))),
  },
  {
    name: 'max',
    onHandle: (t) => t.map((r) => r.a).max(),
    onRows: (rows) => (rows.length === 0 ? undefined : values(rows).reduce((a, b) => Math.max(a, b))),
  },
  { name: 'take', onHandle: (t) => t.take(110), onRows: (rows) => rows.slice(0, 110) },
  { name: 'first', onHandle: (t) => t.first(), onRows: (rows) => rows[0] },
  {
    name: 'writeParquet',
    onHandle: async (t) => {
      const path = join(folder, `${files++}.parquet`)
      await t.writeParquet(path, { rowGroupRows: 75 })
      return await readAgain(await openParquet(path))
    },
    onRows: (rows) => rows,
  },
  {
    name: 'writeArrow',
    onHandle: async (t) => {
      const path = join(folder, `${files++}.arrow`)
      return (await t.writeArrow(path)).rows
    },
    onRows: (rows) => rows.length,
  },
  {
    name: 'writeCsv',
    onHandle: async (t) => {
      const path = join(folder, `${files++}.csv`)
      return (await t.writeCsv(path)).rows
    },
    onRows: (rows) => rows.length,
  },
  ...[
    { name: 'numbers', by: (r: Row) => r.g },
    { name: 'texts', by: (r: Row) => r.s },
    { name: 'objects', by: (r: Row) => ({ g: r.g, t: r.s }) },
  ].map(
    ({ name, by }): Action => ({
      name: `groups by ${name}`,
      onHandle: async (t) => await taken(t.groupBy(by as (r: Row) => number).agg(AGGREGATES) as unknown as AsyncIterable<Row>),
      onRows: (rows) => grouped(rows, by),
    }),
  ),
]

const AGGREGATES = {
  total: sum((r: Row) => r.a),
  mid: mean((r: Row) => r.g as number),
  rows: count(),
  present: count((r: Row) => r.g),
  least: min((r: Row) => r.a),
  most: max((r: Row) => r.s as string),
  head: first((r: Row) => r.n),
  tail: last((r: Row) => r.s),
}

/** By the fixed tree: every chunk begins with the 0.5. */
function reduced(rows: readonly Row[]): number {
  const chunks = Array.from({ length: Math.ceil(rows.length / 4096) }, (_, i) => rows.slice(i * 4096, (i + 1) * 4096))
  const parts = chunks.map((chunk) => chunk.reduce((a, r) => a + r.a, 0.5))
  return combinePairwise(parts, (a, b) => a + b) ?? 0.5
}

function grouped(rows: readonly Row[], by: (row: Row) => unknown): readonly unknown[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const key = JSON.stringify(by(row))
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()].map((group) => {
    const key = by(group[0] as Row)
    const numbers = group.flatMap((r) => (r.g === null ? [] : [r.g]))
    const texts = group.flatMap((r) => (r.s === null ? [] : [r.s]))
    return {
      ...(typeof key === 'object' && key !== null ? key : { key }),
      total: treeSum(values(group)),
      mid: numbers.length === 0 ? null : treeSum(numbers) / numbers.length,
      rows: group.length,
      present: numbers.length,
      least: values(group).reduce((a, b) => Math.min(a, b)),
      most: texts.length === 0 ? null : texts.reduce((a, b) => (a < b ? b : a)),
      head: group[0]?.n,
      tail: group.at(-1)?.s,
    }
  })
}

function scanOf(source: ArraySource): LogicalPlan {
  return { kind: 'Scan', source, columns: ['g', 'a', 's', 'n'], element: source.element, keys: { kind: 'rowNumber' } }
}

function handleOf({ engine }: Machine, source: ArraySource): Handle {
  return new DistArray<Row>(engine, scanOf(source))
}

let larger = 0

test('every action over a table larger than the memory gives what plain arrays give', async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.array(fc.constantFrom(...STEPS), { maxLength: 3 }),
      fc.constantFrom(...ACTIONS),
      fc.nat(MACHINES.length - 1),
      async (drawn, steps, action, on) => {
        const machine = MACHINES[on] as Machine
        const { rows: all, source } = await tableOf(drawn)
        const handle = steps.reduce((t, step) => step.onHandle(t), handleOf(machine, source))
        const rows = steps.reduce((some, step) => step.onRows(some), all)
        expect(await action.onHandle(handle, machine)).toEqual(action.onRows(rows))
        expect(machine.arena.usedBytes).toBe(0)
        if (all.length * 36 > BUDGET_BYTES) larger++
      },
    ),
    RUN,
  )
  // few cases say nothing about shares
  if (RUN.numRuns >= 300) expect(larger).toBeGreaterThan(RUN.numRuns / 10)
})

test('a reader that stops, throws or is aborted reads no more than is computed ahead, and leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.nat(1000),
      fc.constantFrom('break', 'throw', 'abort', 'take'),
      fc.nat(MACHINES.length - 1),
      async (drawn, wanted, how, on) => {
        const machine = MACHINES[on] as Machine
        const { rows: all, source } = await tableOf(drawn)
        const starts = source.splits.map(({ rows }, i) => rows ?? drawn.partitions[i] ?? 0)
        const until = Math.min(wanted, all.length - 1)
        const before = reads.count
        const seen = await stopped(source, until, how, machine)
        expect(seen).toEqual(all.slice(0, until + 1))
        if (machine.workers === 1)
          expect(reads.count - before).toBeLessThanOrEqual(partitionsFor(starts, until + 1) + (how === 'take' ? 3 : 2))
        expect(machine.arena.usedBytes).toBe(0)
      },
    ),
    RUN,
  )
})

/** The rows that a reader got before it stopped behind row `until`. */
async function stopped(source: ArraySource, until: number, how: string, machine: Machine): Promise<readonly unknown[]> {
  if (how === 'take') return await handleOf(machine, source).take(until + 1)
  const seen: unknown[] = []
  const reason = new Error('enough')
  const controller = new AbortController()
  const aborted = async (): Promise<void> => {
    for await (const batch of machine.executor.stream(scanOf(source), { signal: controller.signal })) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length && seen.length <= until; i++) seen.push(read(i))
      if (seen.length > until) controller.abort(reason)
    }
    throw controller.signal.reason // the last partition was the one
  }
  const read = async (): Promise<void> => {
    for await (const row of handleOf(machine, source)) {
      seen.push(row)
      if (seen.length <= until) continue
      if (how === 'throw') throw reason
      break
    }
  }
  if (how === 'break') await read()
  else await expect(how === 'abort' ? aborted() : read()).rejects.toBe(reason)
  return seen
}

const chunky = fc.record({
  length: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 8_000, max: 17_000 })),
  groups: fc.constantFrom(1, 1, 2, 3),
  cut: fc.integer({ min: 300, max: 9_000 }),
  step: fc.integer({ min: 1, max: 97 }),
  nulls: fc.boolean(),
})

test('chunks of sums go on from partition to partition: groups have the bits of the fixed tree', () => {
  fc.assert(
    fc.property(chunky, ({ length, groups, cut, step, nulls }) => {
      const isNull = (i: number): boolean => nulls && (i * step) % 7 === 2
      const x = Float64Array.from({ length }, (_, i) => (NUMBERS[(i * step) % 5] as number) * (1 + (i % 97) / 3))
      const aggregates: readonly Aggregate[] = [
        { name: 'total', kind: 'sum', column: 0 },
        { name: 'mid', kind: 'mean', column: 0 },
        { name: 'n', kind: 'sum', column: 1 },
      ]
      const folded = new FoldedGroups(aggregates)
      for (let from = 0; from < length; from += cut) {
        const rows = Array.from({ length: Math.min(cut, length - from) }, (_, i) => from + i)
        const hidden = [
          columnFromValues(rows.map((i) => (i * i) % groups)),
          columnFromValues(
            rows.map((i) => (isNull(i) ? null : x[i])),
            { kind: 'f64' },
          ),
          columnFromValues(rows.map((i) => BigInt(i) << 30n)),
        ]
        const task = openNarrow({ kind: 'PartialGroupsExec', aggregates }, { partition: 0, firstRow: 0 })
        task.next({ element: { kind: 'row', fields: [] }, length: rows.length, columns: [], hidden })
        folded.add(task.end?.() as ExecBatch)
      }
      const expected = Array.from({ length: Math.min(groups, length) }, (_, first) => {
        const key = (first * first) % groups
        const rows = Array.from({ length }, (_, i) => i).filter((i) => (i * i) % groups === key)
        const numbers = rows.filter((i) => !isNull(i)).map((i) => x[i] as number)
        const total = treeSum(numbers)
        const n = rows.reduce((sum, i) => sum + (BigInt(i) << 30n), 0n)
        return { key, total, mid: numbers.length === 0 ? null : total / numbers.length, n }
      })
      const batch = folded.finish({ element: { kind: 'unknown' } })
      const distinct = expected.filter(({ key }, i) => expected.findIndex((one) => one.key === key) === i)
      expect(Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i))).toEqual(distinct)
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 4) },
  )
})

/** How many of the partitions hold so many rows. */
function partitionsFor(lengths: readonly number[], rows: number): number {
  let partitions = 0
  for (let sum = 0; sum < rows && partitions < lengths.length; partitions++) sum += lengths[partitions] as number
  return partitions
}
