/**
 * Law 4 on loops that are split into parts: running all iterations of one part before any of the next has the bits of the whole
 * body in key order, on 1, 2, 3 and 8 workers alike, sums and exceptions too. `verify` and the race checker agree.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { apart } from '../src/planner/loop/apart.ts'
import { dividedLoop } from './arbitraries/dividedLoop.ts'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { withScratch } from './arbitraries/scratchLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { elementsOf, Holding, inputsOf, type Machine, type Outcome, runRandomLoop, startMachine } from './loopRuns.ts'
import { expectPlain } from './plainOutcome.ts'

const RUN = announcedRun('divided.prop.ts')
const RUNS = RUN.numRuns
// Far above what a run takes, for machines under load.

const WORKERS = [1, 2, 3, 8]
let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

const partitions = fc.integer({ min: 1, max: 6 })

test('loops in parts have the bits of plain JavaScript in key order on any number of workers', async () => {
  let inParts = 0
  let takenApart = 0
  // A scratch array that all statements read keeps together what it would otherwise be wrong to split.
  const loops = fc.oneof({ weight: 3, arbitrary: dividedLoop() }, { weight: 1, arbitrary: dividedLoop().map(withScratch) })
  await fc.assert(
    fc.asyncProperty(loops, partitions, fc.constantFrom(2, 3, 8), async (loop, count, several) => {
      const { parts, writtenArrays } = analyzeLoop(loop.spec)
      if (parts !== undefined) inParts++
      if (parts !== undefined && apart(loop.spec, loop.ir, new Set(writtenArrays)) !== loop.ir) takenApart++
      for (const workers of [1, several]) expectSerial(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
  if (RUNS >= 100) expect(inParts).toBeGreaterThan(RUNS / 10)
  if (RUNS >= 100) expect(takenApart).toBeGreaterThan(RUNS / 50)
})

test('the exception of a loop in parts is the one that key order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(dividedLoop({ throws: true }), partitions, async (loop, count) => {
      for (const workers of [1, 3]) expectSerial(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
})

test('verify finds no difference, the race checker no race, and both leave the arrays as they were', async () => {
  await fc.assert(
    fc.asyncProperty(dividedLoop(), async (loop) => {
      const holding = new Holding(machine.arena)
      const pool = machine.pools.get(2)
      if (pool === undefined) throw new Error('No pool.')
      const { inputs, storages } = inputsOf(loop, {}, holding)
      fc.pre(inputs.analyzed.parts !== undefined)
      const prepared = prepareLoop(inputs, { pool, arena: machine.arena })
      try {
        const before = storages.map(elementsOf)
        expect(await prepared.verify(0)).toMatchObject({ identical: true, iterations: loop.iterations.length })
        expect(await prepared.checkRaces(0, { automatic: false })).toEqual({ kind: 'checked', iterations: loop.iterations.length })
        expect(storages.map(elementsOf)).toEqual(before)
      } finally {
        prepared.dispose()
        holding.free()
      }
    }),
    { ...RUN, numRuns: Math.ceil(RUNS / 4), maxSkipsPerRun: 100 },
  )
})

/** Parts have the order of keys, whatever was asked for. */
function expectSerial(loop: RandomLoop, outcome: Outcome, workers: number): void {
  expectPlain(loop, outcome, workers, loop.spec.options.order !== 'any' || analyzeLoop(loop.spec).parts !== undefined)
}
