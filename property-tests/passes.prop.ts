/**
 * Short passes run in a row, without the driver in between: arrays, accumulators and errors are those of passes one by one,
 * for every number of workers.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { steppedLoop } from './arbitraries/steppedLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, type Outcome, runSeveralPasses, startMachine } from './loopRuns.ts'

const RUN = announcedRun('passes.prop.ts')

const WORKERS = [2, 3, 8]
let machine: Machine
beforeAll(() => {
  machine = startMachine([1, ...WORKERS])
})
afterAll(() => machine.stop())

test('passes in a row have the bits of passes one by one', async () => {
  const loops = fc.oneof(
    { weight: 2, arbitrary: scheduledLoop() },
    { weight: 1, arbitrary: scheduledLoop({ throws: true }) },
    { weight: 1, arbitrary: steppedLoop() },
    { weight: 1, arbitrary: randomLoop({ inside: true }) },
  )
  await fc.assert(
    fc.asyncProperty(
      loops,
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(...WORKERS),
      async (loop, passes, partitions, workers) => {
        const alone = await runSeveralPasses(machine, 1, loop, { partitions, passes, inARow: false })
        const inARow = await runSeveralPasses(machine, workers, loop, { partitions, passes, inARow: true })
        if (isSame(inARow, alone)) return
        throw new Error(`${workers} workers differ:\n${JSON.stringify(alone)}\n${JSON.stringify(inARow)}\n${loop.source}`)
      },
    ),
    RUN,
  )
})

function isSame(a: Outcome, b: Outcome): boolean {
  const lists = (outcome: Outcome): (readonly unknown[])[] => [...outcome.arrays, outcome.total as unknown[]] // of the passes
  const others = lists(b)
  return (
    JSON.stringify([a.order, a.error]) === JSON.stringify([b.order, b.error]) &&
    lists(a).every((list, i) => list.length === others[i]?.length && list.every((value, k) => Object.is(value, others[i]?.[k])))
  )
}
