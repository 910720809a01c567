/**
 * Law 4 where iterations fill a scratch array: a loop has the bits of plain JavaScript run in its serial order, on 1, 2, 3 and 8
 * workers alike, whatever its schedule, however it is cut and whatever the kernel; the scratch array, of which each
 * worker has a copy, holds what the serially last iteration left, after every pass.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { indexedLoop } from './arbitraries/indexedLoop.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { withScratch } from './arbitraries/scratchLoop.ts'
import { stencil } from './arbitraries/stencil.ts'
import { steppedLoop } from './arbitraries/steppedLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, type Outcome, runRandomLoop, runSeveralPasses, startMachine } from './loopRuns.ts'
import { plainOutcome } from './plainOutcome.ts'

const RUN = announcedRun('privateArrays.prop.ts')
// Far above what a run takes, for machines under load.
const WORKERS = [1, 2, 3, 8]

let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

const partitions = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })))
const kernels = fc.constantFrom<(undefined | 'js')[]>(undefined, undefined, 'js')

/** Every kind of schedule, some with exceptions. */
function anyLoop(throws: boolean): fc.Arbitrary<RandomLoop> {
  return fc.oneof(scheduledLoop({ throws }), steppedLoop({ throws }), stencil({ throws }), indexedLoop({ throws })).map(withScratch)
}

test('a scratch array changes neither the schedule nor the bits of the serial order', async () => {
  const kinds = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(anyLoop(false), partitions, kernels, fc.constantFrom(...WORKERS), async (loop, count, kernel, workers) => {
      const { schedule, privateArrays } = analyzeLoop(loop.spec)
      if (privateArrays.length > 0) kinds.set(schedule.kind, (kinds.get(schedule.kind) ?? 0) + 1)
      expectPlain(loop, await runRandomLoop(withKernel(kernel), workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
  const all = ['independent', '1d', '2d', 'wavefront', 'skewed', 'stepped', 'colored']
  console.log(`privateArrays.prop.ts: ${JSON.stringify([...kinds])}`)
  if (RUN.numRuns >= 1_000) expect([...kinds.keys()]).toEqual(expect.arrayContaining(all))
})

test('the exception of a body is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(anyLoop(true), partitions, kernels, fc.constantFrom(...WORKERS), async (loop, count, kernel, workers) => {
      expectPlain(loop, await runRandomLoop(withKernel(kernel), workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
})

test('loops that fill and read an array in any way have the bits of the serial order', async () => {
  await fc.assert(
    fc.asyncProperty(
      randomLoop({ inside: true, scratch: true }),
      partitions,
      kernels,
      fc.constantFrom(2, 3),
      async (loop, count, kernel, workers) => {
        const with1 = await runRandomLoop(withKernel(kernel), 1, loop, { partitions: count })
        expectPlain(loop, with1, 1)
        expectPlain(loop, await runRandomLoop(withKernel(kernel), workers, loop, { partitions: count }), workers)
      },
    ),
    RUN,
  )
})

test('passes in a row leave what as many single ones do', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyLoop(false),
      partitions,
      fc.constantFrom(2, 3),
      fc.integer({ min: 2, max: 4 }),
      async (loop, count, workers, passes) => {
        const options = { partitions: count, passes }
        const single = await runSeveralPasses(machine, 1, loop, { ...options, inARow: false })
        const inARow = await runSeveralPasses(machine, workers, loop, { ...options, inARow: true })
        expectSame(single, inARow, loop, `single passes of one worker and passes of ${workers} in a row`)
      },
    ),
    RUN,
  )
})

function withKernel(kernel: 'js' | undefined): Machine {
  return kernel === undefined ? machine : { ...machine, kernel }
}

function expectPlain(loop: RandomLoop, outcome: Outcome, workers: number): void {
  if (loop.spec.options.order !== 'any') expect(outcome.order).toEqual(loop.iterations.flat())
  expect(outcome.order.length).toBe(loop.iterations.flat().length)
  expectSame(outcome, plainOutcome(loop, outcome.order), loop, `${workers} workers and plain JavaScript`)
}

function expectSame(left: Outcome, right: Outcome, loop: RandomLoop, what: string): void {
  const same =
    JSON.stringify(left.error) === JSON.stringify(right.error) &&
    JSON.stringify(left.total) === JSON.stringify(right.total) &&
    left.arrays.length === right.arrays.length &&
    left.arrays.every((array, i) => array.every((value, k) => Object.is(value, right.arrays[i]?.[k])))
  if (!same) throw new Error(`${what} differ:\n${JSON.stringify(left)}\n${JSON.stringify(right)}\n${loop.source}`)
}
