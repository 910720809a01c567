/**
 * A gang that loses processes has the bits of one process: killed, frozen and back for a while, slow, or started again, at any moment of
 * any pass, with messages in any order that links allow. Processes are objects here; `programs/gang.test.ts` has real ones.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { NextFormed } from '../src/exec/gang/newcomers.ts'
import { SpareLoop } from '../src/exec/gang/spareLoop.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { reductions, runReduction } from './arbitraries/reduction.ts'
import { buildScheduled, type Part, scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runSteps, startMachine } from './loopRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'
import { expectSame } from './plainOutcome.ts'

const RUN = announcedRun('gangLosses.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let alone: Machine
let [lost, shared] = [0, 0]
/** How often a process went on with a loop that it had, for other blocks. */
let again = 0
/** How often a loop was placed on processes of which one had been prepared for it. */
let ready = 0
beforeAll(() => {
  const { takenOver } = SpareLoop.prototype
  vi.spyOn(SpareLoop.prototype, 'takenOver').mockImplementation(function (this: SpareLoop, ...inputs) {
    const loop = takenOver.apply(this, inputs)
    if (loop !== undefined) again++
    return loop
  })
  const { take } = NextFormed.prototype
  vi.spyOn(NextFormed.prototype, 'take').mockImplementation(function (this: NextFormed, ...of) {
    const formed = take.apply(this, of)
    if (formed !== undefined) ready++
    return formed
  })
  alone = startMachine([1, 2])
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  expect(lost).toBeGreaterThan(shared / 20) // otherwise the law has looked at something else
})

/** Nothing takes so long but processes that wait for each other. */
const LONGEST_MS = process.env.LAW_FAULT === undefined ? 20_000 : 5_000

interface Case {
  readonly world: number
  readonly list: readonly Mishap[]
  readonly seed: number
}
const cases: fc.Arbitrary<Case> = fc
  .constantFrom(1, 2, 3, 3, 5)
  .chain((world) => fc.record({ world: fc.constant(world), list: mishaps(world), seed: fc.nat() }))
/** Threads are dear where they are waited for. */
const workers = fc.constantFrom(1, 1, 1, 2)

async function together<T>({ world, list, seed }: Case, run: (machine: Machine) => Promise<T>): Promise<T> {
  const { gang, losses, stop } = memoryGang(world, list, seed)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Processes wait for each other.')), LONGEST_MS)
  })
  try {
    return await Promise.race([run({ ...alone, gang }), late])
  } finally {
    clearTimeout(timer)
    lost += losses()
    shared += gang.members.passes
    await stop()
  }
}

const loops = fc.oneof(
  { weight: 2, arbitrary: randomLoop({ inside: true }) },
  { weight: 3, arbitrary: scheduledLoop() },
  { weight: 1, arbitrary: scheduledLoop({ largest: 60 }) },
)
const partitions = fc.oneof(
  fc.constant({}),
  fc.integer({ min: 2, max: 8 }).map((partitions) => ({ partitions })),
)
const steps = fc.array(fc.constantFrom('pass' as const, 'pass' as const, 'other' as const, 'write' as const), {
  minLength: 1,
  maxLength: 5,
})

test('whoever is lost on the way, passes give the bits of one process', async () => {
  await fc.assert(
    fc.asyncProperty(loops, partitions, steps, workers, cases, async (loop: RandomLoop, count, list, threads, many) => {
      const options = { ...count, steps: [...list, 'pass' as const] }
      const one = await runSteps(alone, 1, loop, options)
      const several = await together(many, (machine) => runSteps(machine, threads, loop, options))
      expectSame(one, several, loop, `One process and ${many.world}`)
    }),
    RUN,
  )
  if (process.env.LAW_FAULT === undefined) expect(again).toBeGreaterThan(0)
  if (process.env.LAW_FAULT === undefined && RUN.numRuns >= 500) expect(ready).toBeGreaterThan(RUN.numRuns / 100)
})

test('accumulators, arrays that are only added to, and buffers have the bits of one process, whoever is lost', async () => {
  await fc.assert(
    fc.asyncProperty(reductions, workers, cases, async (loop, threads, many) => {
      const one = await runReduction(alone, 1, loop, loop.partitions)
      const several = await together(many, (machine) => runReduction(machine, threads, loop, loop.partitions))
      const isSame = (left: readonly unknown[], right: readonly unknown[]) => left.every((value, i) => Object.is(value, right[i]))
      expect(isSame(several.values, one.values) && isSame(several.bins, one.bins), JSON.stringify([several, one])).toBe(true)
    }),
    RUN,
  )
})

/** Bodies that are likely to be split: what a part writes others read and write, in the same pass and the next. */
const split = fc
  .record({
    extents: fc.tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 3 })),
    parts: fc.array(fc.constantFrom<Part[]>('rows', 'front', 'own', 'columns'), { minLength: 2, maxLength: 5 }),
    seed: fc.nat(),
  })
  .map((raw) => buildScheduled({ ...raw, over: 'range', order: 'serial' }))

test('a loop that runs as several, one after another, has the bits of one process, whoever is lost', async () => {
  await fc.assert(
    fc.asyncProperty(split, steps, cases, async (loop, list, many) => {
      const options = { partitions: 2, steps: ['pass' as const, ...list, 'pass' as const] }
      const one = await runSteps(alone, 1, loop, options)
      const several = await together(many, (machine) => runSteps(machine, 1, loop, options))
      expectSame(one, several, loop, `One process and ${many.world}`)
    }),
    RUN,
  )
})
