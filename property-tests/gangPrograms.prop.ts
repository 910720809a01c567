/**
 * A program on several processes, some of which are lost on the way, ends as it does alone: what it read, its accumulators, its arrays. And
 * so it does when rank 0 is killed at any moment and the program started again with its checkpoint, on another number of processes.
 */
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { type Course, course, killedAfter, kills, type Step, sharedSteps, started, withFolder } from './courses.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('gangPrograms.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let [lost, shared] = [0, 0]
let [ran, skipped] = [0, 0]
afterAll(async () => {
  await stopPlaces()
  expect(shared, 'passes of several processes').toBeGreaterThan(RUN.numRuns)
  expect(lost, `processes lost in ${shared} passes`).toBeGreaterThan(shared / 40)
  expect(skipped, `${ran} passes ran`).toBeGreaterThan(ran / 40)
})

/** Nothing takes so long but processes that wait for each other. */
const LONGEST_MS = process.env.LAW_FAULT === undefined ? 20_000 : 5_000

interface Processes {
  readonly world: number
  readonly list: readonly Mishap[]
  readonly seed: number
}
const processes: fc.Arbitrary<Processes> = fc
  .constantFrom(1, 2, 3, 3, 5)
  .chain((world) => fc.record({ world: fc.constant(world), list: mishaps(world, 150), seed: fc.nat() }))

async function inGang<T>({ world, list, seed }: Processes, run: (options: object) => Promise<T>): Promise<T> {
  const { gang, losses, stop } = memoryGang(world, list, seed)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Processes wait for each other.')), LONGEST_MS)
  })
  try {
    return await Promise.race([run({ ...runningWith(gang), ...shortPassesOnWorkers }), late])
  } finally {
    clearTimeout(timer)
    lost += losses()
    shared += gang.members.passes
    await stop()
  }
}

test('a program ends as it does alone, whichever processes are lost', async () => {
  await fc.assert(
    fc.asyncProperty(sharedSteps, processes, async (list: readonly Step[], many) => {
      const expected = await course(list, {})
      const found = await inGang(many, (options) => course(list, options))
      expect(found.seen).toEqual(expected.seen)
    }),
    RUN,
  )
})

test('a program that is killed and started again on another number of processes ends as one that never was', async () => {
  await fc.assert(
    fc.asyncProperty(
      sharedSteps,
      kills,
      fc.array(processes, { minLength: 4, maxLength: 4 }),
      async (list: readonly Step[], moments, starts) => {
        const expected = await course(list, {})
        await withFolder(async (checkpoint) => {
          let before: Course | undefined
          for (const [i, moment] of [...moments, Number.POSITIVE_INFINITY].entries()) {
            const many = starts[i] as Processes // one more than there are moments at most
            const found = await inGang(many, (options) => started(list, { checkpoint, ...killedAfter(moment), ...options }))
            if (found === undefined) continue
            expect(found.seen).toEqual(expected.seen)
            ran += found.times.length
            skipped += found.times.filter((time, at) => time === before?.times[at]).length
            before = found
          }
        })
      },
    ),
    RUN,
  )
})
