/**
 * Groups in one pass over the rows: however long groups are, wherever units end, and however many workers list and add,
 * what comes out is what the dullest grouping gives, sums with the bits of the fixed tree over each group's own rows. A
 * pass that fails or is aborted ends on all workers.
 */

import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ElementType } from '../src/core/data/schema.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { type Code, I, OP } from '../src/exec/kir/instructions.ts'
import { columnProgramOf, isProgram } from '../src/exec/tables/columns/columnProgram.ts'
import { ColumnRun } from '../src/exec/tables/columns/columnRun.ts'
import type { ColumnTask } from '../src/exec/tables/columns/columnTask.ts'
import { groupedColumns } from '../src/exec/tables/columns/groups/groupedColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { moduleOf } from '../src/exec/wasm/moduleCache.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { expectedGroups } from './expectedGroups.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const LAW = announcedRun('groupPass.prop.ts')
const arena = lawArena(2 ** 29)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = [1, 2, 3, 4].map((workers) => createPool({ workers, arena, handlers }))
afterAll(async () => {
  for (const pool of pools) await pool.stop()
})

interface Row {
  readonly small: number
  readonly signed: number
  readonly maybe: number | null
  readonly text: string
  readonly id: number
  readonly big: bigint
  readonly keep: number
  readonly x: number
  readonly y: number
  readonly z: number
}
type RowFunction = (row: Row) => unknown

const KEYS: readonly RowFunction[] = [
  (r) => r.small,
  (r) => r.maybe,
  (r) => r.text,
  (r) => r.id, // a double: whole or not, and -0
  (r) => r.big,
  (r) => ({ id: r.id, big: r.big }),
  (r) => ({ small: r.small, maybe: r.maybe }),
  (r) => r.signed % 5, // -0 where a negative number is a multiple
  (r) => r.small % 7,
  (r) => r.signed / 2, // whole, or not
  (r) => Math.floor(r.x / 10), // NaN and infinities too
  (r) => (r.keep === 63 && r.z === 7 ? r.small + 0.5 : r.small), // few are no whole numbers, which a sample may not show
  (r) => r.small > 3,
  (r) => ({ half: r.small / 2, text: r.text }),
  (r) => ({ odd: r.small % 2, signed: r.signed }),
  (r) => ({ odd: r.small % 2, big: r.small > 3, maybe: r.maybe }),
]
const FILTERS: readonly RowFunction[] = [(r) => r.keep < 40, (r) => r.keep > 60, (r) => r.keep % 2 === 0 && r.signed >= 0]
const VALUES: readonly ((row: Row) => number)[] = [(r) => r.x, (r) => r.y, (r) => r.z, (r) => r.x * r.z]
const AGGREGATES: readonly Aggregate[] = [
  ...(['sum', 'mean', 'variance', 'stddev', 'min', 'max', 'count'] as const).flatMap((kind) =>
    VALUES.map((_, column): Aggregate => ({ name: `${kind}${column}`, kind, column })),
  ),
  { name: 'rows', kind: 'count' },
]

const SPECIAL = [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, 1e16, -1e16, 0.1, 1e-300]

const ODD_IDS = [-0, -0, 0.5, 2 ** 40, Number.NaN]

const shapes = fc.record({
  rows: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 700 }) },
    { weight: 2, arbitrary: fc.integer({ min: 4_000, max: 9_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 12_000, max: 40_000 }) },
  ),
  groups: fc.constantFrom(1, 2, 3, 9, 50, 400),
  base: fc.constantFrom(0, -7, 2 ** 31 - 401, -(2 ** 31)),
  /** Of 64 values so many are special. */
  special: fc.constantFrom(0, 0, 1, 9),
  even: fc.boolean(),
  /** Of a key that lies far from the others, where keys are not looked at. */
  far: fc.constantFrom(undefined, undefined, undefined, 0.3),
  nulls: fc.boolean(),
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
})
type Shape = typeof shapes extends fc.Arbitrary<infer S> ? S : never

function rowsOf({ rows, groups, base, special, even, far, nulls, seed }: Shape): readonly Row[] {
  let bits = seed
  const drawn = (below: number): number => {
    bits ^= bits << 13
    bits ^= bits >>> 17
    bits ^= bits << 5
    return (bits >>> 0) % below
  }
  const value = (): number => (drawn(64) < special ? (SPECIAL[drawn(SPECIAL.length)] as number) : (drawn(2 ** 20) - 2 ** 19) / 64)
  return Array.from({ length: rows }, (_, i): Row => {
    const group = drawn(3) === 0 ? 0 : drawn(groups) // one is longer than the others
    return {
      small: far !== undefined && i === Math.floor(far * rows) ? base + 2 ** 30 * (base < 0 ? 1 : -1) : base + group,
      signed: (drawn(21) - (drawn(8) === 0 ? 10 : 0)) * (even ? 2 : 1),
      maybe: nulls && drawn(5) === 0 ? null : group,
      text: `text ${group % 40}`,
      id: drawn(64) < special ? (ODD_IDS[drawn(ODD_IDS.length)] as number) : group - 3,
      big: drawn(640) < special ? 2n ** 40n : BigInt(group) - 3n,
      keep: drawn(64),
      x: value(),
      y: Math.fround(value()),
      z: drawn(300) - 150,
    }
  })
}

function sourceOf(rows: readonly Row[]): LogicalPlan {
  const column = <T>(of: (row: Row) => T): T[] => rows.map(of)
  const source = sourceFromColumns(
    {
      small: Int32Array.from(column((r) => r.small)),
      signed: Int16Array.from(column((r) => r.signed)),
      maybe: column((r) => r.maybe),
      text: column((r) => r.text),
      id: Float64Array.from(column((r) => r.id)),
      big: BigInt64Array.from(column((r) => r.big)),
      keep: Uint8Array.from(column((r) => r.keep)),
      x: Float64Array.from(column((r) => r.x)),
      y: Float32Array.from(column((r) => r.y)),
      z: Int16Array.from(column((r) => r.z)),
    },
    { memory: tableMemory(arena, { fewestRows: 0 }) },
  )
  const columns = ['small', 'signed', 'maybe', 'text', 'id', 'big', 'keep', 'x', 'y', 'z']
  return { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
}

function planOf(rows: readonly Row[], filters: readonly RowFunction[], key: RowFunction, aggregates: readonly Aggregate[]): LogicalPlan {
  const scan = sourceOf(rows)
  const lowered = (f: RowFunction, method: string, element: ElementType = scan.element) =>
    lowerFunction(f, { kind: 'row', method, inputs: [element] }).fn
  const input = filters.reduce<LogicalPlan>(
    (before, f) => ({ kind: 'Filter', input: before, f: lowered(f, 'filter'), element: scan.element, keys: scan.keys }),
    scan,
  )
  const calls = aggregates.map(({ name, kind, column }) => ({
    name,
    kind,
    ...(column === undefined ? {} : { of: lowered(VALUES[column] as RowFunction, 'agg') }),
  }))
  return {
    kind: 'GroupBy',
    input,
    by: { kind: 'function', f: lowered(key, 'groupBy') },
    how: { kind: 'agg', aggregates: calls },
    element: { kind: 'unknown' },
    keys: { kind: 'rowNumber' },
  }
}

test('groups in one pass are those of the rows', async () => {
  const counts = { onePass: 0, filtered: 0, chunks: 0, several: 0, parted: 0, left: 0, none: 0 }
  await fc.assert(
    fc.asyncProperty(
      shapes,
      fc.record({
        key: fc.constantFrom(...KEYS),
        filters: fc.oneof(
          { weight: 6, arbitrary: fc.constant<readonly RowFunction[]>([]) },
          { weight: 6, arbitrary: fc.constantFrom(...FILTERS).map((filter): readonly RowFunction[] => [filter]) },
          { weight: 1, arbitrary: fc.constant<readonly RowFunction[]>([(r) => r.keep < 0]) },
        ),
        aggregates: fc.subarray([...AGGREGATES], { minLength: 1, maxLength: 9 }),
        pool: fc.constantFrom(...pools),
        unitRows: fc.constantFrom(32, 64, 992, 8192),
        splitBytes: fc.constantFrom(0, Number.POSITIVE_INFINITY),
        rowsBytes: fc.constantFrom(0, Number.POSITIVE_INFINITY),
        keysLookedAt: fc.constantFrom(64, 2 ** 16),
      }),
      async (shape, { key, filters, aggregates, pool, unitRows, splitBytes, rowsBytes, keysLookedAt }) => {
        const rows = rowsOf(shape)
        const stages = new Set<string>()
        const executor = new Executor({
          ...{
            pool,
            arena,
            readSplit,
            lower,
            smallRows: 0,
            groupPass: { unitRows, splitBytes, nearBytes: 0, rowsBytes, mostWorkers: 4, keysLookedAt },
          },
          onEvent: (event) => {
            if (event.kind === 'stage') stages.add(event.stage)
          },
        })
        const kept = rows.filter((row) => filters.every((filter) => filter(row)))
        const expected = expectedGroups(
          kept.map(key),
          VALUES.map((f) => kept.map(f)),
          aggregates,
        )
        const batches = await executor.execute(planOf(rows, filters, key, aggregates))
        const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
        expect(actual).toEqual(expected)
        if (kept.length === 0) counts.none++
        else if (stages.has('HashAggregateExec')) counts.left++
        else {
          counts.onePass++
          if (filters.length > 0) counts.filtered++
          if (kept.length > 4096 * 2 && expected.length < 4) counts.chunks++
          if (pool.size > 1 && rows.length > unitRows) counts.several++
          if (pool.size > 1 && rows.length > unitRows && splitBytes === 0 && aggregates.length > 3) counts.parted++
        }
      },
    ),
    LAW,
  )
  console.log(`groups in one pass: ${JSON.stringify(counts)}`)
  // the law means nothing for what no case was
  for (const [what, share] of [
    ['onePass', 0.2],
    ['filtered', 0.05],
    ['chunks', 0.005],
    ['several', 0.08],
    ['parted', 0.01],
    ['left', 0.05],
    ['none', 0.02],
  ] as const) {
    expect(counts[what], what).toBeGreaterThanOrEqual(Math.floor(share * LAW.numRuns))
  }
})

const MANY: Shape = { rows: 20_000, groups: 9, base: 0, special: 0, even: true, far: undefined, nulls: false, seed: 7 }

/** One pass where the second worker's `places` is another kernel, once it has claimed a unit. */
async function passWith(body: Code, signal?: AbortSignal): Promise<unknown> {
  const [physical] = [lower(planOf(rowsOf(MANY), [], KEYS[0] as RowFunction, AGGREGATES.slice(0, 2)))]
  const program = physical.kind === 'WideExec' && physical.inputs[0] !== undefined ? columnProgramOf(physical.inputs[0]) : undefined
  if (program === undefined || !isProgram(program) || physical.kind !== 'WideExec' || physical.operator.kind !== 'HashAggregateExec')
    throw new Error('no program')
  const { key, module } = moduleOf({ imports: [], parameters: ['address', 'i32', 'i32'], locals: [], body }, arena.addresses)
  const pool = pools[1] as WorkerPool
  const faulty: WorkerPool = {
    size: 2,
    run: (...args) => pool.run(...args),
    runTogether: (kind, payloads, options) => {
      const tasks = payloads as readonly ColumnTask[]
      const changed = tasks.map((task) =>
        task.number === 1 && task.work.kind === 'groups' && task.work.placing !== undefined
          ? { ...task, work: { ...task.work, placing: { ...task.work.placing, places: { key: `faulty ${key}`, module, functions: [] } } } }
          : task,
      )
      return pool.runTogether(kind, changed, options)
    },
    stop: () => pool.stop(),
  }
  const run = new ColumnRun(program, { pool: faulty, arena, ...(signal === undefined ? {} : { signal }) })
  try {
    return await groupedColumns(run, physical.operator, {
      unitRows: 32,
      splitBytes: 0,
      nearBytes: 0,
      rowsBytes: 0,
      mostWorkers: 4,
      keysLookedAt: 64,
    })
  } finally {
    run.end()
  }
}

test('a worker that fails ends the pass of all', async () => {
  const held = arena.usedBytes
  for (let again = 0; again < 5; again++) await expect(passWith([OP.unreachable])).rejects.toThrow('unreachable')
  expect(arena.usedBytes).toBeLessThanOrEqual(held + 2 ** 23) // of tables that wait to be collected
}, 20_000)

test('a pass that is aborted ends on all workers, also where one waits for another', async () => {
  const abort = new AbortController()
  const running = passWith([I.loop, I.br(0), OP.end], abort.signal) // a loop without end
  setTimeout(() => abort.abort(new Error('enough')), 100)
  await expect(running).rejects.toThrow('enough')
  // the workers are there for the next pass
  const executor = new Executor({ pool: pools[1] as WorkerPool, arena, readSplit, lower, smallRows: 0 })
  const batches = await executor.execute(planOf(rowsOf(MANY), [], KEYS[0] as RowFunction, AGGREGATES.slice(0, 2)))
  expect(batches[0]?.length).toBe(9)
}, 20_000)
