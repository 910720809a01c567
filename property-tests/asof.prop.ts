/** As-of joins: each row of the left side has the row of the right side that is nearest of all, looked for one by one. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { asofRows } from '../src/exec/tables/asof/asofRun.ts'
import type { AsofOperator } from '../src/exec/tables/asof/matches.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { concatBatches, type ExecBatch, rowBatch } from '../src/exec/tables/operators/batches.ts'
import { runWide } from '../src/exec/tables/operators/index.ts'
import { withWholeNulls } from '../src/exec/tables/operators/join/nullKeys.ts'
import type { StageTask } from '../src/exec/tables/stage.ts'
import { runStageTask } from '../src/exec/tables/stageTask.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { bothEqual, nearestOf } from './reference.ts'

const LAW = announcedRun('asof.prop.ts')

interface Order {
  readonly type: ColumnType
  readonly values: fc.Arbitrary<unknown>
  readonly tolerances: readonly (number | bigint | undefined)[]
}

const dates = (step: number): fc.Arbitrary<Date> => fc.integer({ min: -9, max: 9 }).map((k) => new Date(k * step))
const DAY = 86_400_000

const ORDERS: readonly Order[] = [
  {
    type: { kind: 'f64' },
    values: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom(0, -0, 0.5, NaN, Infinity, -Infinity)),
    tolerances: [undefined, 0, 1, 2.5, Infinity],
  },
  { type: { kind: 'i32' }, values: fc.integer({ min: -20, max: 20 }), tolerances: [undefined, 0, 1, 3n] },
  { type: { kind: 'date' }, values: dates(DAY), tolerances: [undefined, 0, DAY, 2.5 * DAY] },
  { type: { kind: 'timestamp', unit: 'ms' }, values: dates(1), tolerances: [undefined, 0, 1, 2] },
  { type: { kind: 'timestamp', unit: 's' }, values: dates(1000), tolerances: [undefined, 999, 1000, 2000] },
  { type: { kind: 'timestamp', unit: 'ns' }, values: dates(1), tolerances: [undefined, 0, 1, 2] },
  {
    type: { kind: 'i64' },
    values: fc.oneof(fc.bigInt({ min: -5n, max: 5n }), fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n)),
    tolerances: [undefined, 0, 1, 2n, 3.5],
  },
  { type: { kind: 'utf8' }, values: fc.constantFrom('', 'a', 'ab', 'b', 'ž', '\u{1F600}', '\uFFFF'), tolerances: [undefined] },
]

const asof = fc.constantFrom(...ORDERS).chain(({ type, values, tolerances }) => {
  const side = fc.record({
    values: fc.array(fc.option(values, { freq: 9, nil: null }), { maxLength: 60 }),
    isSorted: fc.boolean(),
    hasNulls: fc.boolean(),
  })
  return fc.record({
    type: fc.constant(type),
    left: side,
    right: side,
    by: fc.option(fc.record({ keys, offset: fc.nat(5) }), { freq: 2, nil: undefined }),
    direction: type.kind === 'utf8' ? fc.constantFrom('backward', 'forward') : fc.constantFrom('backward', 'forward', 'nearest'),
    tolerance: fc.constantFrom(...tolerances),
    cuts,
    room: fc.constantFrom('enough', 'enough', 'none'),
  })
})

const arena = lawArena(2 ** 26)
/** Has no room for anything. */
const full = createArena({ budgetBytes: 64 })

test('each row has the nearest row of the other side, whoever finds it', async () => {
  const found = { sorted: 0, ties: 0, none: 0, matched: 0 }
  await fc.assert(
    fc.asyncProperty(asof, async (drawn) => {
      const { type, by, direction, tolerance, room } = drawn
      const [left, right] = [drawn.left, drawn.right].map((side) => ordersOf(side)) as [readonly unknown[], readonly unknown[]]
      const keysOf = (side: readonly unknown[], offset: number): readonly unknown[] => side.map((_, i) => by?.keys.at(i + offset) ?? null)
      const [leftKeys, rightKeys] = [keysOf(left, 0), keysOf(right, by?.offset ?? 0)]
      const batchesOf = (orders: readonly unknown[], ks: readonly unknown[], name: string): readonly ExecBatch[] => {
        const hidden = [...(by === undefined ? [] : [withWholeNulls(columnFromValues(ks, by.keys.type))]), columnFromValues(orders, type)]
        const row = columnFromValues([...orders.keys()], { kind: 'i32' })
        const cut =
          orders.length === 0
            ? [[0, 0] as const]
            : pieces(
                orders.length,
                drawn.cuts.map((size) => 1 + (size % 25)),
              )
        return cut.map(([from, to]) => ({
          ...rowBatch([name], [sliceColumn(row, from, to)], to - from),
          hidden: hidden.map((column) => sliceColumn(column, from, to)),
        }))
      }
      const operator: AsofOperator = {
        ...{ kind: 'AsofJoinExec', by: by !== undefined, direction, ...(tolerance === undefined ? {} : { tolerance }) },
        ...{ shared: [], suffix: '_b', names: ['a', 'b'], element: { kind: 'unknown' } },
      }
      const expected = left.map((own, a) => {
        const others = right.map((_, b) => b).filter((b) => by === undefined || bothEqual(leftKeys[a], rightKeys[b]))
        const at = nearestOf(
          own,
          others.map((b) => right[b]),
          { direction, ...(tolerance === undefined ? {} : { tolerance }) },
        )
        return { a, b: at === undefined ? null : (others[at] ?? null) }
      })
      const memory = room === 'none' ? full : arena
      const sides = [batchesOf(left, leftKeys, 'a'), batchesOf(right, rightKeys, 'b')] as const
      const blocks: Block[] = []
      const shared = await asofRows(operator, ...sides, {
        arena: memory,
        run: async (task: StageTask) => {
          const result = await runStageTask(structuredClone(task), { arena: memory, readSplit: async () => [] })
          blocks.push(...result.blocks)
          return result.batches
        },
      })
      expect(shared.flatMap(rowsOf)).toEqual(expected)
      for (const { offset } of blocks) memory.free(offset)
      const alone = runWide(
        operator,
        sides.map((batches) => batches.reduce(joinedBatches)),
      )
      expect(alone.flatMap(rowsOf)).toEqual(expected)
      if (drawn.left.isSorted && drawn.right.isSorted) found.sorted++
      for (const { b } of expected) found[b === null ? 'none' : 'matched']++
      if (new Set(right.map(String)).size < right.length) found.ties++
    }),
    LAW,
  )
  console.log(`asof: ${JSON.stringify(found)}`)
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(LAW.numRuns / 10)
})

/** The values of a side, perhaps as times come: in order. */
function ordersOf({
  values,
  isSorted,
  hasNulls,
}: {
  readonly values: readonly unknown[]
  readonly isSorted: boolean
  readonly hasNulls: boolean
}): readonly unknown[] {
  const kept = hasNulls ? values : values.filter((value) => value !== null && !Number.isNaN(value))
  if (!isSorted) return kept
  return [...kept].sort((a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
  })
}

function rowsOf(batch: ExecBatch): readonly unknown[] {
  const read = rowReader(batch)
  return Array.from({ length: batch.length }, (_, i) => read(i))
}

function joinedBatches(a: ExecBatch, b: ExecBatch): ExecBatch {
  return concatBatches([a, b])
}
