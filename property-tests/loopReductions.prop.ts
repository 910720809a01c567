/**
 * Law 9 for loops: accumulators, arrays that are only added to, and update buffers have the same bits for any number
 * of workers; accumulators also for any partitions, and those of the fixed tree over the serial order.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { CHUNK, combinePairwise } from '../src/core/arrays/fixedTree.ts'
import { combineOwn, type Reduction, reductions, runReduction, valueAt } from './arbitraries/reduction.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, startMachine } from './loopRuns.ts'

const RUN = announcedRun('loopReductions.prop.ts')
const WORKERS = [1, 2, 8]

let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

function sameBits(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((value, i) => Object.is(value, right[i]))
}

function expectSameBits(what: string, left: readonly unknown[], right: readonly unknown[]): void {
  if (!sameBits(left, right)) throw new Error(`${what}:\n${left.map(String).join(', ')}\n${right.map(String).join(', ')}`)
}

/** The tree, from its definition: chunks of iterations in serial order, left to right, then pairwise. */
function byTheTree(loop: Reduction, order: Int32Array): unknown[] {
  const values: number[] = []
  for (let at = 0; at < order.length; at += 2) values.push(valueAt(loop, [order[at] ?? 0, order[at + 1] ?? 0]))
  const combine = combineOwn[loop.custom]
  const sums: number[] = []
  const owns: number[] = []
  for (let from = 0; from < values.length; from += CHUNK) {
    const chunk = values.slice(from, from + CHUNK)
    sums.push(chunk.reduce((a, b) => a + b, 0))
    owns.push(chunk.reduce(combine))
  }
  const own = combinePairwise(owns, combine)
  return [
    combinePairwise(sums, (a, b) => a + b) ?? 0,
    values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    values.length,
    own === undefined ? 0.25 : combine(0.25, own),
  ]
}

test('reductions have the same bits for any number of workers, and accumulators those of the tree', async () => {
  const law = fc.asyncProperty(reductions, async (loop) => {
    const alone = await runReduction(machine, 1, loop, loop.partitions)
    expectSameBits('accumulators and the tree', alone.values, byTheTree(loop, alone.order))
    for (const workers of WORKERS.slice(1)) {
      const outcome = await runReduction(machine, workers, loop, loop.partitions)
      expectSameBits(`accumulators on ${workers} workers`, outcome.values, alone.values)
      expectSameBits(`arrays on ${workers} workers`, outcome.bins, alone.bins)
    }
  })
  await fc.assert(law, RUN)
})

test('accumulators have the same bits wherever blocks are cut, in key order', async () => {
  const law = fc.asyncProperty(reductions, fc.integer({ min: 1, max: 30 }), async (loop, partitions) => {
    const inKeyOrder: Reduction =
      loop.schedule.kind === '2d' ? { ...loop, schedule: { kind: 'independent' }, order: 'serial' } : { ...loop, order: 'serial' }
    expectSameBits(
      'accumulators',
      (await runReduction(machine, 2, inKeyOrder, partitions)).values,
      (await runReduction(machine, 1, inKeyOrder, loop.partitions)).values,
    )
  })
  await fc.assert(law, RUN)
})
