/**
 * A loop on several processes has the bits of one: arrays, sums, and the exception that the serial order meets first. Processes are
 * started by the first case that needs them, once for all; each case runs on two or on three.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Schedule } from '../src/core/loop/schedules.ts'
import { deepFront } from './arbitraries/deepFront.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { reductions, runReduction } from './arbitraries/reduction.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { type LawGang, startGang } from './gangNode.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runPlainly, runRandomLoop, runSteps, startMachine } from './loopRuns.ts'
import { expectSame, plainOutcome } from './plainOutcome.ts'

const RUN = announcedRun('gang.prop.ts', 300)
const WORLDS = [2, 3]

let alone: Machine
const gangs = new Map<number, Promise<LawGang>>()
beforeAll(() => {
  alone = startMachine([1, 2])
})
afterAll(async () => {
  for (const started of gangs.values()) {
    const { gang, stop } = await started
    shared += gang.members.passes
    await stop()
  }
  await alone.stop()
  expect(shared).toBeGreaterThan(RUN.numRuns / 4) // otherwise the law has looked at something else
})
let shared = 0

const partitions = fc.oneof(
  fc.constant({}),
  fc.integer({ min: 1, max: 8 }).map((partitions) => ({ partitions })),
)
const balance = fc.constantFrom('histogram' as const, 'equal' as const)
const workers = fc.constantFrom(1, 2)
const loops = fc.oneof(
  { weight: 4, arbitrary: randomLoop({ inside: true }) },
  { weight: 4, arbitrary: scheduledLoop() },
  { weight: 1, arbitrary: scheduledLoop({ largest: 110 }) },
)

const throwing = fc.oneof({ weight: 2, arbitrary: scheduledLoop({ throws: true }) }, { weight: 1, arbitrary: deepFront() })

/** Loops with several private copies: of sums there is one up to a chunk of iterations. */
const sharedReductions = fc
  .record({
    any: reductions,
    rows: fc.integer({ min: 70, max: 160 }),
    columns: fc.integer({ min: 70, max: 120 }),
    schedule: fc.constantFrom<Schedule[]>({ kind: 'independent' }, { kind: '1d', axis: 0 }, { kind: '1d', axis: 1 }),
  })
  .map(({ any, rows, columns, schedule }) => ({ ...any, extents: [rows, columns], schedule }))

const worlds = fc.constantFrom(...WORLDS)

/** A case takes some milliseconds; where processes wait for each other for ever, the law says so, and the next case has others. */
const LONGEST_MS = process.env.LAW_FAULT === undefined ? 30_000 : 8_000

async function together<T>(world: number, run: (machine: Machine) => Promise<T>): Promise<T> {
  const starting = gangs.get(world) ?? startGang(world)
  gangs.set(world, starting)
  const started = await starting
  const running = run({ ...alone, gang: started.gang })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, LONGEST_MS, 'late')))
  const first = await Promise.race([running, late]).finally(() => clearTimeout(timer))
  if (first !== 'late') return first as T
  gangs.delete(world)
  shared += started.gang.members.passes
  started.kill()
  await running.catch(() => undefined) // a process is lost now, and nobody waits any longer
  throw new Error(`${world} processes did not end a case within ${LONGEST_MS / 1_000} seconds: they wait for each other.`)
}

test('any number of processes gives the bits of one, and of plain JavaScript in the serial order', async () => {
  await fc.assert(
    fc.asyncProperty(loops, partitions, balance, workers, worlds, async (loop: RandomLoop, count, how, threads, world) => {
      const options = { ...count, balance: how }
      const one = await runRandomLoop(alone, 1, loop, options)
      expectSame(one, runPlainly(loop, one.order), loop, 'One process and plain JavaScript')
      const several = await together(world, (machine) => runRandomLoop(machine, threads, loop, options))
      expectSame(one, several, loop, `One process and ${world}`)
    }),
    RUN,
  )
})

test('the same after several passes, with what the processes kept of those before, and of writes in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      loops,
      partitions,
      fc.array(fc.constantFrom('pass' as const, 'other' as const, 'write' as const), { minLength: 2, maxLength: 5 }),
      worlds,
      async (loop, count, steps, world) => {
        const options = { ...count, steps: [...steps, 'pass' as const] }
        const one = await runSteps(alone, 1, loop, options)
        const several = await together(world, (machine) => runSteps(machine, 1, loop, options))
        expectSame(one, several, loop, `One process and ${world}`)
      },
    ),
    RUN,
  )
})

test('accumulators of all kinds, arrays that are only added to and update buffers have the bits of one process', async () => {
  await fc.assert(
    fc.asyncProperty(sharedReductions, workers, worlds, async (loop, threads, world) => {
      const one = await runReduction(alone, 1, loop, loop.partitions)
      const several = await together(world, (machine) => runReduction(machine, threads, loop, loop.partitions))
      const isSame = (left: readonly unknown[], right: readonly unknown[]) => left.every((value, i) => Object.is(value, right[i]))
      expect(isSame(several.values, one.values) && isSame(several.bins, one.bins), JSON.stringify([several, one])).toBe(true)
    }),
    RUN,
  )
})

test('the exception of a body is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(throwing, partitions, workers, worlds, async (loop, count, threads, world) => {
      const outcome = await together(world, (machine) => runRandomLoop(machine, threads, loop, count))
      expectSame(outcome, plainOutcome(loop, outcome.order), loop, `${world} processes and plain JavaScript`)
    }),
    RUN,
  )
})
