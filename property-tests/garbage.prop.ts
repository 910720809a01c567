/**
 * A program whose arrays fit in the session's memory one after another runs in it, however many it makes and drops, and though it
 * only awaits what is settled, so that the event loop never turns: what nobody holds is free.
 *
 * Each case makes arrays of about the budget, in an order and of sizes that it draws, and asks each something.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

/** Of some twenty arrays and several runs of the collector each. */
const RUN = announcedRun('garbage.prop.ts', 100)

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: 2 ** 20, progress: false })
})
afterAll(() => session.stop())

/** Makes an array or a table of n numbers, asks it something, and drops it; what was asked, and what there is to say. */
const STEPS = {
  zeros: async (n: number) => [await session.zeros([n]).sum(), 0],
  fill: async (n: number) => [await session.fill([n], 2).sum(), 2 * n],
  random: async (n: number) => [((await session.random([n]).max()) ?? 1) < 1, true],
  written: async (n: number) => {
    const array = session.zeros([n], { dtype: 'i32' })
    await array.set([n - 1], 7)
    return [await array.at(n - 1), 7]
  },
  columns: async (n: number) => [
    await session
      .fromColumns({ v: new Float64Array(n).fill(1) })
      .map((row) => row.v + 1)
      .sum(),
    2 * n,
  ],
  materialized: async (n: number) => {
    const table = session
      .fromColumns({ v: new Float64Array(n).fill(1) })
      .filter((row) => row.v > 0)
      .materialize()
    return [await table.count(), n]
  },
  seen: async (n: number) => {
    const array = session.zeros([n])
    const shown = (row: { readonly v: number }): number => row.v + (array as never) // which the inspector looks up
    session.fromColumns({ v: [1] }).map(shown)
    return [await array.sum(), 0]
  },
  loop: async (n: number) => {
    const array = session.zeros([n])
    const total = session.accumulator('sum')
    await session.parallelFor(
      session.range(n),
      { array, total },
      ([i], env) => {
        env.array.set(i, 3)
        env.total.add(1)
      },
      { checkRaces: false },
    )
    return [
      [total.value, await array.at(n - 1)],
      [n, 3],
    ]
  },
  failed: async (n: number) => {
    const array = session.zeros([n])
    const run = session.parallelFor(
      session.range(n),
      { array },
      ([i], env) => {
        if (i === 100) throw new Error('stop here')
        env.array.set(i, 3)
      },
      { checkRaces: false },
    )
    return [await run.catch((error: Error) => (error.cause as Error).message), 'stop here']
  },
}

const step = fc.record({
  kind: fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[])),
  n: fc.integer({ min: 2 ** 14, max: 2 ** 15 }),
})

async function answers(steps: readonly { readonly kind: keyof typeof STEPS; readonly n: number }[]): Promise<void> {
  for (const { kind, n } of steps) {
    const [found, expected] = await STEPS[kind](n)
    expect([kind, found]).toEqual([kind, expected])
  }
}

test('arrays that nobody holds are no reason to run out of memory', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), answers), RUN)
})

test('nor are arrays that functions hold which nobody holds', async () => {
  const seen = step.map(({ n }) => ({ kind: 'seen' as const, n }))
  await fc.assert(fc.asyncProperty(fc.array(seen, { minLength: 4, maxLength: 8 }), answers), RUN)
})
