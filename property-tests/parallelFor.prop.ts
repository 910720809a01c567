/**
 * Law 4: a loop has the bits of plain JavaScript run in its serial order, on 1, 2, 3 and 8 workers alike, wherever its
 * blocks are cut; with order 'serial' that is key order.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LoopOptions } from '../src/core/loop/loopSpec.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runPlainly, runRandomLoop, startMachine } from './loopRuns.ts'
import { expectSame, plainOutcome } from './plainOutcome.ts'

const RUN = announcedRun('parallelFor.prop.ts')

const WORKERS = [1, 2, 3, 8]
let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

const partitions = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })))
const balance = fc.constantFrom('histogram' as const, 'equal' as const)

/** The run on one worker, on several, and plain JavaScript in the serial order have the same bits. */
async function hasTheBitsOfTheSerialOrder(loop: RandomLoop, options: LoopOptions): Promise<void> {
  const alone = await runRandomLoop(machine, 1, loop, options)
  expectSame(alone, runPlainly(loop, alone.order), loop, 'One worker and plain JavaScript')
  if (loop.spec.options.order !== 'any') expect(alone.order).toEqual(loop.iterations.flat())
  else expect(alone.order.length).toBe(loop.iterations.flat().length)
  for (const workers of WORKERS.slice(1)) {
    expectSame(alone, await runRandomLoop(machine, workers, loop, options), loop, `One worker and ${workers}`)
  }
}

test('any number of workers gives the bits of plain JavaScript in the serial order', async () => {
  await fc.assert(
    fc.asyncProperty(randomLoop({ inside: true }), partitions, balance, (loop, count, how) =>
      hasTheBitsOfTheSerialOrder(loop, { partitions: count, balance: how }),
    ),
    RUN,
  )
})

test('the same for loops of every schedule, with blocks of several rows and chunks', async () => {
  const loops = fc.oneof({ weight: 9, arbitrary: scheduledLoop() }, { weight: 1, arbitrary: scheduledLoop({ largest: 110 }) })
  await fc.assert(
    fc.asyncProperty(loops, partitions, balance, (loop, count, how) =>
      hasTheBitsOfTheSerialOrder(loop, { partitions: count, balance: how }),
    ),
    RUN,
  )
})

test('the exception of a body is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(scheduledLoop({ throws: true }), partitions, async (loop, count) => {
      for (const workers of WORKERS) {
        const outcome = await runRandomLoop(machine, workers, loop, { partitions: count })
        expectSame(outcome, plainOutcome(loop, outcome.order), loop, `${workers} workers and plain JavaScript`)
      }
    }),
    RUN,
  )
})
