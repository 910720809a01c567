/** Law 1 for joins: however many workers share the left side, the rows are those of two nested loops, in their order. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch, Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import type { UserFunction } from '../src/core/ir/functionIr.ts'
import type { JoinHow, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareColumn } from '../src/exec/memory/shareColumns.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { codeTexts } from '../src/exec/tables/columns/texts/textCodes.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { type ExecBatch, rowBatch } from '../src/exec/tables/operators/batches.ts'
import { GroupMemory } from '../src/exec/tables/operators/groupBy/groupMemory.ts'
import { joinKeys } from '../src/exec/tables/operators/join/joinKeys.ts'
import { runJoinTask } from '../src/exec/tables/operators/join/joinTask.ts'
import { joinedRows } from '../src/exec/tables/wide/joinRun.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { equal, treeSum } from './reference.ts'

const LAW = announcedRun('joins.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const HOWS: readonly JoinHow[] = ['inner', 'left', 'right', 'full', 'semi', 'anti', 'cross']

/** A row number is beside each key, so that rows with equal keys are told apart. */
function batchesOf(values: readonly unknown[], type: ColumnType, name: string, sizes: readonly number[]): readonly ExecBatch[] {
  const columns = [
    columnFromValues(values, type),
    columnFromValues(
      values.map((_, i) => i),
      { kind: 'i32' },
    ),
  ]
  const cut = values.length === 0 ? [[0, 0] as const] : pieces(values.length, sizes)
  return cut.map(([from, to]) =>
    rowBatch(
      ['key', name],
      columns.map((column) => sliceColumn(column, from, to)),
      to - from,
    ),
  )
}

interface Side {
  readonly key: unknown
  readonly row: number
}

function expectedRows(how: JoinHow, left: readonly Side[], right: readonly Side[]): readonly unknown[] {
  const matches = (l: Side, r: Side): boolean => how === 'cross' || (!hasNull(l.key) && !hasNull(r.key) && equal(l.key, r.key))
  if (how === 'semi' || how === 'anti') {
    return left.filter((l) => right.some((r) => matches(l, r)) === (how === 'semi')).map((l) => ({ key: l.key, a: l.row }))
  }
  const rows: unknown[] = []
  for (const l of left) {
    const found = right.filter((r) => matches(l, r))
    if (found.length === 0 && (how === 'left' || how === 'full')) rows.push({ key: l.key, a: l.row, b: null })
    for (const r of found) rows.push({ key: l.key, a: l.row, b: r.row })
  }
  if (how === 'right' || how === 'full') {
    for (const r of right) if (!left.some((l) => matches(l, r))) rows.push({ key: r.key, a: null, b: r.row })
  }
  return rows
}

/** A key matches nothing when it is null, or holds a null at any depth. */
function hasNull(key: unknown): boolean {
  return key === null || (typeof key === 'object' && Object.values(key as object).some(hasNull))
}

const arena = lawArena(2 ** 28)
const held = arena.usedBytes
/** Has no room for a table. */
const full = createArena({ budgetBytes: 64 })

test('joins, however many workers share them', async () => {
  let [shared, inArena] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      keys,
      fc.record({ left: fc.nat(60), right: fc.nat(40), offset: fc.nat(20), workers: fc.integer({ min: 1, max: 3 }) }),
      cuts,
      fc.constantFrom(...HOWS),
      fc.constantFrom(arena, arena, full),
      async ({ type, at }, { left, right, offset, workers }, sizes, how, memory) => {
        const leftKeys = Array.from({ length: left }, (_, i) => at(i))
        const rightKeys = Array.from({ length: right }, (_, i) => at(i + offset))
        const small = sizes.map((size) => 1 + (size % 25))
        // the key of a cross join is a column like the others
        const on = how === 'cross' ? { shared: [] } : { on: 'key', shared: ['key'] }
        const join = { kind: 'HashJoinExec', how, suffix: '_b', names: ['a', 'b'], element: { kind: 'unknown' }, ...on } as const
        let tasks = 0
        const results: Block[] = []
        const joined = await joinedRows(join, batchesOf(leftKeys, type, 'a', small), batchesOf(rightKeys, type, 'b', small), {
          workers,
          arena: memory,
          run: async (task) => {
            tasks++
            const { batches, blocks } = runJoinTask(structuredClone(task), memory)
            results.push(...blocks)
            return batches
          },
        })
        if (tasks > 1) shared++
        const actual = joined.flatMap((batch) => {
          const read = rowReader(batch)
          return Array.from({ length: batch.length }, (_, i) => {
            const { key_b: ignored, ...row } = read(i) as Record<string, unknown> // these are rows
            expect(ignored === undefined || how === 'cross').toBe(true)
            return row
          })
        })
        const sides = [leftKeys, rightKeys].map((side) => side.map((key, row) => ({ key, row }))) as [Side[], Side[]]
        expect(actual).toEqual(expectedRows(how, ...sides))
        if (results.length > 0) inArena++
        for (const { offset: block } of results) memory.free(block)
        expect([arena.usedBytes, full.usedBytes]).toEqual([held, 0])
      },
    ),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(inArena).toBeGreaterThan(LAW.numRuns / 4)
  if (LAW.numRuns >= FEW_RUNS) expect(shared).toBeGreaterThan(LAW.numRuns / 10)
})

const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = [1, 2, 3].map((workers) => createPool({ workers, arena, handlers }))
afterAll(async () => {
  for (const pool of pools) await pool.stop()
})

test('keys of lists of several lengths: what follows the last item is null in a key that is none', () => {
  const lists = (lengths: readonly number[]): fc.Arbitrary<(number | null)[][]> =>
    fc.array(
      fc
        .constantFrom(...lengths)
        .chain((length) =>
          fc
            .array(fc.constantFrom(0, 1, 2 ** 20), { minLength: length, maxLength: length })
            .map((items) => [...items, ...new Array<null>(3 - length).fill(null)]),
        ),
      { maxLength: 30 },
    )
  const several = fc.constantFrom([3], [2, 3]).chain(lists)
  const type: ColumnType = { kind: 'struct', fields: ['0', '1', '2'].map((name) => ({ name, type: { kind: 'f64' }, nullable: true })) }
  const columnOf = (items: readonly (number | null)[][]): Column =>
    columnFromValues(
      items.map((list) => Object.fromEntries(list.entries())),
      type,
    )
  fc.assert(
    fc.property(several, several, (left, right) => {
      const memory = new GroupMemory(arena)
      const numbers = joinKeys(columnOf(right), type, memory)
      const found = numbers.left(columnOf(left))
      for (const [l, a] of left.entries())
        for (const [r, b] of right.entries())
          expect(found[l] !== -1 && found[l] === numbers.right[r], JSON.stringify([a, b])).toBe(equal(a, b))
      memory.end()
      expect(arena.usedBytes).toBe(held)
    }),
    LAW,
  )
})

test('joins of more rows than a kernel takes at a time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        left: fc.integer({ min: 1, max: 40_000 }),
        right: fc.integer({ min: 1, max: 40_000 }),
        /** Of the keys of each side: how far they lie apart, and how many rows each has. */
        strides: fc.tuple(fc.constantFrom(1, 2, 3, 50_021), fc.constantFrom(1, 2, 3, 50_021)),
        repeats: fc.tuple(fc.constantFrom(1, 1, 2, 5), fc.constantFrom(1, 1, 2, 5)),
      }),
      fc.constantFrom(...HOWS.filter((how) => how !== 'cross')),
      async ({ left, right, strides, repeats }, how) => {
        const keysOf = (side: 0 | 1, length: number): Int32Array =>
          Int32Array.from({ length }, (_, i) => ((Math.floor((i * 7919) % length) / repeats[side]) | 0) * strides[side])
        const [a, b] = [keysOf(0, left), keysOf(1, right)]
        const batchOf = (key: Int32Array, name: string): ExecBatch =>
          rowBatch(
            ['key', name],
            [key, Int32Array.from(key.keys())].map((values) => ({ type: { kind: 'i32' }, length: key.length, values })),
            key.length,
          )
        const join = {
          kind: 'HashJoinExec',
          how,
          suffix: '_b',
          names: ['a', 'b'],
          element: { kind: 'unknown' },
          on: 'key',
          shared: ['key'],
        } as const
        const results: Block[] = []
        const joined = await joinedRows(join, [batchOf(a, 'a')], [batchOf(b, 'b')], {
          workers: 1,
          arena,
          run: async (task) => {
            const { batches, blocks } = runJoinTask(task, arena)
            results.push(...blocks)
            return batches
          },
        })
        const column = (name: string): (number | null)[] =>
          joined.flatMap((batch) => {
            const read = rowReader(batch)
            return Array.from(
              { length: batch.length },
              (_, i) => ((read(i) as Record<string, number | null>)[name] ?? null) as number | null,
            )
          })
        const byKey = new Map<number, number[]>()
        for (const [row, key] of b.entries()) byKey.set(key, [...(byKey.get(key) ?? []), row])
        const isOfLeft = how === 'semi' || how === 'anti'
        const expected = [...a].flatMap((key, row): (readonly [number | null, number | null])[] => {
          const matches = byKey.get(key) ?? []
          if (isOfLeft) return matches.length > 0 === (how === 'semi') ? [[row, null]] : []
          if (matches.length === 0) return how === 'left' || how === 'full' ? [[row, null]] : []
          return matches.map((match) => [row, match])
        })
        if (how === 'right' || how === 'full') {
          const known = new Set(a)
          for (const [row, key] of b.entries()) if (!known.has(key)) expected.push([null, row])
        }
        expect(column('a')).toEqual(expected.map(([row]) => row))
        if (!isOfLeft) expect(column('b')).toEqual(expected.map(([, row]) => row))
        for (const { offset } of results) arena.free(offset)
        expect(arena.usedBytes).toBe(held)
      },
    ),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 20) },
  )
})

const TABLE = { kind: 'rowNumber' } as const

function scanOf(batch: Batch, columns: readonly Column[]): LogicalPlan {
  const source = {
    kind: 'memory',
    name: 'table',
    element: batch.element,
    rows: batch.length,
    columns,
    splits: [{ rows: batch.length, detail: batch }],
  } as const
  return { kind: 'Scan', source, columns: ['key', 'x'], element: batch.element, keys: TABLE }
}

const isPositive: UserFunction = lowerFunction((r: { readonly x: number }) => r.x > 0, {
  kind: 'row',
  method: 'filter',
  inputs: [rowBatch(['x'], [columnFromValues([], { kind: 'f64' })], 0).element],
}).fn

const texts: typeof keys = fc
  .record({ size: fc.constantFrom(3, 40, 300), nulls: fc.constantFrom(0, 0, 4), skip: fc.constantFrom(1, 2, 7) })
  .map(({ size, nulls, skip }) => ({
    type: { kind: 'utf8' },
    at: (i) => (nulls > 0 && i % nulls === 1 ? null : ['', 'ž', 'text '][i % 3] + String((i * skip) % size)),
  }))

test('folds of semi-joins and anti-joins, with filters on both sides of the join', async () => {
  let folded = 0
  let byCodes = 0
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ weight: 6, arbitrary: keys }, { weight: 1, arbitrary: texts }),
      fc.record({
        left: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 4_000, max: 13_000 })),
        right: fc.nat(40),
        offset: fc.nat(60),
      }),
      fc.record({
        anti: fc.boolean(),
        below: fc.boolean(),
        above: fc.boolean(),
        coded: fc.boolean(),
        workers: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
      }),
      async ({ type, at }, { left, right, offset }, { anti, below, above, coded, workers }) => {
        const leftKeys = Array.from({ length: left }, (_, i) => at(i))
        const rightKeys = Array.from({ length: right }, (_, i) => at(i * 3 + offset))
        const x = leftKeys.map((_, i) => ((i * 7919) % 1013) / 7 - 60)
        const leftColumns = [columnFromValues(leftKeys, type), columnFromValues(x, { kind: 'f64' })].map((column) =>
          shareColumn(column, arena, 'law'),
        )
        const [keyColumn] = leftColumns
        const codes = coded && keyColumn !== undefined ? codeTexts(keyColumn, arena) : undefined
        const rightColumn = columnFromValues(rightKeys, type)
        const leftBatch = rowBatch(['key', 'x'], leftColumns, left)
        const rightBatch = rowBatch(['key', 'x'], [rightColumn, columnFromValues(rightKeys.map(() => 0))], right)
        const filtered = (input: LogicalPlan): LogicalPlan => ({
          kind: 'Filter',
          input,
          f: isPositive,
          element: input.element,
          keys: TABLE,
        })
        const scan = scanOf(leftBatch, leftColumns)
        const join: LogicalPlan = {
          kind: 'Join',
          left: below ? filtered(scan) : scan,
          right: scanOf(rightBatch, rightBatch.columns),
          on: { kind: 'column', column: 'key' },
          how: anti ? 'anti' : 'semi',
          suffix: '',
          element: leftBatch.element,
          keys: TABLE,
        }
        const kept = above ? filtered(join) : join
        const f = lowerFunction((r: { readonly x: number }) => r.x, { kind: 'row', method: 'map', inputs: [leftBatch.element] }).fn
        const plan: LogicalPlan = {
          kind: 'Map',
          input: kept,
          f,
          element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
          keys: TABLE,
        }
        const executor = new Executor({
          pool: pools[workers] as (typeof pools)[number],
          arena,
          lower,
          smallRows: 0,
          readSplit: async (_, split) => [split.detail as Batch],
        })
        const values = leftKeys.flatMap((key, i) => {
          const found = !hasNull(key) && rightKeys.some((other) => !hasNull(other) && equal(key, other))
          const value = x[i] as number
          return found === anti || ((below || above) && !(value > 0)) ? [] : [value]
        })
        try {
          const sum = await executor.fold(plan, 'sum')
          const count = await executor.fold(plan, 'count')
          const least = await executor.fold(plan, 'min')
          if (sum === undefined || count === undefined || least === undefined) return
          folded++
          if (codes !== undefined) byCodes++
          expect(sum).toEqual({ value: treeSum(values), count: values.length })
          expect(count.count).toBe(values.length)
          expect(least.value).toBe(values.length === 0 ? undefined : Math.min(...values))
        } finally {
          for (const column of leftColumns) freeColumn(column, arena)
          if (codes !== undefined) arena.free(codes)
          expect(arena.usedBytes).toBe(held)
        }
      },
    ),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(folded).toBeGreaterThan(LAW.numRuns / 4)
  if (LAW.numRuns >= FEW_RUNS) expect(byCodes).toBeGreaterThan(LAW.numRuns / 50)
})
