/**
 * Windows that workers share, and those that one task computes, have the columns that the definition gives, whatever the keys, ties, nulls
 * and frames: row by row, from the partition and the frame of each.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { concatBatches, type ExecBatch, rowBatch, sliceBatch } from '../src/exec/tables/operators/batches.ts'
import { runWide } from '../src/exec/tables/operators/index.ts'
import { isComputedInPieces } from '../src/exec/tables/spill/external.ts'
import type { StageTask } from '../src/exec/tables/stage.ts'
import { runStageTask } from '../src/exec/tables/stageTask.ts'
import { markBoundaries, placesTo } from '../src/exec/tables/windows/boundaries.ts'
import { sumsFromStart } from '../src/exec/tables/windows/frameSums.ts'
import type { WindowOperator } from '../src/exec/tables/windows/windowColumns.ts'
import { WindowFold } from '../src/exec/tables/windows/windowFold.ts'
import { windowPiece } from '../src/exec/tables/windows/windowPiece.ts'
import { windowedBatches } from '../src/exec/tables/windows/windowRun.ts'
import { type DrawnWindow, window, windowCase } from './arbitraries/window.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { treeSum } from './reference.ts'

const LAW = announcedRun('windows.prop.ts')

test('the columns of a window are those of its definition, whoever computes them', async () => {
  const found = { shared: 0, long: 0, measured: 0, ties: 0 }
  const arena = lawArena(2 ** 26)
  await fc.assert(
    fc.asyncProperty(window, async (one) => {
      const empty = arena.usedBytes
      const { rows, by, order, workers } = one
      const { operator, batches, expected, isMeasured } = windowCase(one)
      const blocks: Block[] = []
      const services = {
        ...{ workers, arena },
        run: async (task: StageTask) => {
          const result = await runStageTask(task, { arena, readSplit: () => Promise.resolve([]) })
          blocks.push(...result.blocks)
          return result.batches
        },
        hold: (made: readonly Block[]) => void blocks.push(...made),
      }
      const shared = rows === 0 ? undefined : await windowedBatches(operator, batches, services)
      if (shared !== undefined) {
        found.shared++
        if (rows > 60 && operator.frame.from !== null) found.long++
        if (isMeasured) found.measured++
        if (expected.some((row, i) => i > 0 && (row as { w0?: unknown }).w0 === (expected[i - 1] as { w0?: unknown }).w0)) found.ties++
        expect(valuesOf(shared)).toEqual(expected)
      } else {
        const ordered = order === null ? undefined : order.isMeasured ? order.measured : order.any
        expect(rows === 0 || [by, ordered].some((key) => key?.type.kind === 'i64' || key?.type.kind === 'timestamp')).toBe(true)
      }
      for (const { offset } of blocks) arena.free(offset)
      expect(arena.usedBytes).toBe(empty)
      const alone = runWide(operator, [concatBatches(batches)])
      expect(rows === 0 ? [] : valuesOf(alone)).toEqual(expected)
    }),
    LAW,
  )
  expect(Math.min(found.shared, found.long, found.measured, found.ties), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 50)
})

/** The rows in order, cut so that rows of one order are in one piece, or in pieces that have no others. */
function orderedPieces(sorted: ExecBatch, isOrdered: boolean, cuts: readonly number[]): readonly ExecBatch[] {
  const [order] = sorted.hidden ?? []
  const marks = new Uint8Array(sorted.length)
  if (isOrdered) markBoundaries(placesTo(sorted.length), { from: 0, to: sorted.length }, { order }, marks)
  const at = new Set<number>([0, sorted.length])
  let place = 0
  for (const cut of cuts) {
    place += 1 + (cut % 40)
    if (place >= sorted.length) break
    at.add(place)
    if (!isOrdered) continue
    let [first, end] = [place, place + 1]
    while (marks[first] === 0) first--
    while (end < sorted.length && marks[end] === 0) end++
    if (first < place) at.add(first).add(end)
  }
  const places = [...at].sort((a, b) => a - b)
  return places.slice(1).map((to, i) => sliceBatch(sorted, places[i] as number, to))
}

/** What comes of the pieces one by one, each with those that it reaches. */
function inPieces(operator: WindowOperator, pieces: readonly ExecBatch[]): readonly ExecBatch[] {
  const fold = new WindowFold(operator)
  for (const piece of pieces) fold.add(piece)
  return fold
    .reached()
    .map(({ from, to, wanted, carried }) => windowPiece(operator, concatBatches(pieces.slice(from, to)), { ...wanted, carried }))
}

function inItsOrder({ ordered, descending }: WindowOperator, batch: ExecBatch): ExecBatch {
  return ordered && batch.length > 0 ? (runWide({ kind: 'SortExec', descending, hiddenKey: 0 }, [batch])[0] as ExecBatch) : batch
}

/** Windows as they are drawn, and such that frames measure the order, or begin where the partition does. */
const PIECEWISE: readonly ((drawn: DrawnWindow) => Partial<DrawnWindow>)[] = [
  () => ({}),
  ({ order }) => ({ kind: 'range', second: null, order: order && { ...order, isMeasured: true } }),
  ({ ends: [, to] }) => ({ ends: [null, to] }),
]

test('a partition that is computed in pieces, each told of those before it, has the columns of its definition', () => {
  const found = { pieces: 0, running: 0, reaching: 0, measured: 0 }
  fc.assert(
    fc.property(window, fc.constantFrom(...PIECEWISE), (drawn, as) => {
      const one = { ...drawn, by: null, ...as(drawn) }
      const { operator, batches, expected, isMeasured } = windowCase(one)
      fc.pre(isComputedInPieces(operator) && one.rows > 0)
      const pieces = orderedPieces(inItsOrder(operator, concatBatches(batches)), operator.ordered, one.cuts)
      const rows = valuesOf(inPieces(operator, pieces)) as readonly { readonly row: number }[]
      expect([...rows].sort((a, b) => a.row - b.row)).toEqual(expected)
      if (pieces.length < 2) return
      found.pieces++
      if (operator.frame.from === null) found.running++
      else found.reaching++
      if (isMeasured) found.measured++
    }),
    LAW,
  )
  expect(Math.min(...Object.values(found)), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 50)
})

/** Numbers of very different sizes, so that any other order of additions has other bits. */
function rough(seed: number, length: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => Math.sin(seed + i * 7.3) * 10 ** ((i * 5 + seed) % 9))
}

test('running sums of long partitions are the sums of their beginnings by the fixed tree', () => {
  fc.assert(
    fc.property(fc.nat(999), fc.integer({ min: 4000, max: 40_000 }), fc.integer({ min: 1, max: 3000 }), (seed, length, step) => {
      const values = rough(seed, length)
      const ends = Int32Array.from({ length: Math.floor(length / step) }, (_, i) => (i + 1) * step)
      const sums = new Float64Array(ends.length)
      sumsFromStart(values, { ends }, ends.length, sums)
      for (const i of [0, ends.length >> 1, ends.length - 1])
        if (ends.length > 0) expect(sums[i]).toBe(treeSum([...values.subarray(0, ends[i])]))
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 10) },
  )
})

test('sums of a long partition that is computed in pieces have the bits that they have as a whole', () => {
  fc.assert(
    fc.property(
      fc.record({
        ...{ seed: fc.nat(999), length: fc.integer({ min: 4000, max: 30_000 }), nulls: fc.integer({ min: 2, max: 50 }) },
        cuts: fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 8 }),
        frame: fc.constantFrom([null, 0] as const, [null, null] as const, [null, -5000] as const, [-5000, 100] as const, [-40, 0] as const),
        isNullable: fc.boolean(),
      }),
      ({ seed, length, nulls, cuts, frame: [from, to], isNullable }) => {
        const values = [...rough(seed, length)].map((value, i) => (isNullable && i % nulls === 0 ? null : value))
        const calls = (['sum', 'mean'] as const).map((kind) => ({ name: kind, kind, column: 0 }))
        const frame = { kind: 'rows', from, to } as const
        const operator: WindowOperator = { kind: 'WindowExec', by: false, ordered: false, descending: false, frame, calls }
        const batch: ExecBatch = { ...rowBatch([], [], length), hidden: [columnFromValues(values, { kind: 'f64' })] }
        const places = [...new Set([0, ...cuts.map((_, i) => cuts.slice(0, i + 1).reduce((a, b) => a + b)), length])].filter(
          (p) => p <= length,
        )
        const pieces = places.slice(1).map((end, i) => sliceBatch(batch, places[i] as number, end))
        const bytes = (all: readonly ExecBatch[]) =>
          concatBatches(all).columns.map(({ values: sums }) => Buffer.from((sums as Float64Array).slice().buffer).toString('latin1'))
        expect(bytes(inPieces(operator, pieces)).map((of, c) => of === bytes(runWide(operator, [batch]))[c])).toEqual([true, true])
      },
    ),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 10) },
  )
})

function valuesOf(batches: readonly ExecBatch[]): readonly unknown[] {
  return batches.flatMap((batch) => {
    const read = rowReader(batch)
    return Array.from({ length: batch.length }, (_, i) => read(i))
  })
}
