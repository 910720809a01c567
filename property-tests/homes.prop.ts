/**
 * The law of arrays that are made where they are needed: loops of all kinds over arrays of zeros, of one value and of random numbers have
 * the bits of one process, on any number of them, whoever is lost and whatever the program does in between.
 */
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { Session } from '../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const ANNOUNCED = announcedRun('homes.prop.ts', 600)
/** Two sessions a case are dear. */
const RUN = { ...ANNOUNCED, numRuns: Math.ceil(ANNOUNCED.numRuns / 2) }
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let [shared, made, cases] = [0, 0, 0]
afterAll(async () => {
  await stopPlaces()
  expect(shared, `passes of several processes in ${cases} cases`).toBeGreaterThan(cases)
  expect(made, `messages in ${cases} cases`).toBeGreaterThan(cases)
})

type Made = 'zeros' | 'fill' | 'uniform' | 'normal' | 'f32' | 'i32' | 'u8' | 'bool'
const made_ = fc.constantFrom<Made[]>('zeros', 'fill', 'uniform', 'uniform', 'normal', 'f32', 'f32', 'i32', 'u8', 'bool')
const real = fc.constantFrom<Made[]>('zeros', 'fill', 'uniform', 'normal', 'f32')
const STEPS = [
  'parts',
  'parts',
  'grow',
  'grow',
  'rotate',
  'rotate',
  'smooth',
  'columns',
  'pick',
  'count',
  'add',
  'total',
  'total',
  'set',
  'get',
  'read',
] as const
type Step = (typeof STEPS)[number]

interface Case {
  readonly rows: number
  readonly columns: number
  readonly kinds: { readonly w: Made; readonly h: Made; readonly x: Made; readonly y: Made; readonly f: Made }
  readonly steps: readonly { readonly step: Step; readonly passes: number }[]
  readonly world: number
  readonly list: readonly Mishap[]
  readonly seed: number
}
const oneCase: fc.Arbitrary<Case> = fc
  .record({
    rows: fc.integer({ min: 3, max: 24 }),
    columns: fc.integer({ min: 3, max: 12 }),
    kinds: fc.record({ w: real, h: real, x: real, y: made_, f: made_ }),
    steps: fc.array(fc.record({ step: fc.constantFrom(...STEPS), passes: fc.integer({ min: 1, max: 2 }) }), { minLength: 2, maxLength: 8 }),
    world: fc.constantFrom(2, 3, 3, 5),
    seed: fc.nat(),
  })
  .chain((one) => fc.oneof(fc.constant([]), mishaps(one.world)).map((list) => ({ ...one, list })))

const RANK = 3

async function course({ rows, columns, kinds, steps, seed }: Case, options: object): Promise<readonly unknown[]> {
  await using session = await Session.start({ workers: 1, memory: '64MB', progress: false, checkRaces: false, ...options })
  let made = seed % 100
  const array = (kind: Made, shape: readonly number[]) => {
    switch (kind) {
      case 'zeros':
        return session.zeros(shape)
      case 'fill':
        return session.fill(shape, 0.75)
      case 'uniform':
        return session.random(shape, { seed: ++made })
      case 'normal':
        return session.random(shape, { seed: ++made, distribution: 'normal', scale: 0.5 })
      case 'f32':
        return session.random(shape, { seed: ++made, dtype: 'f32' })
      case 'i32':
      case 'u8':
        return session.fill(shape, 2, { dtype: kind })
      case 'bool':
        return session.zeros(shape, { dtype: kind })
    }
  }
  const [w, h] = [array(kinds.w, [rows, RANK]), array(kinds.h, [columns, RANK])]
  const z = array(kinds.x, [rows + 2, 8])
  const [x, y, f] = [array(kinds.x, [rows]), array(kinds.y, [rows, columns]), array(kinds.f, [rows])]
  const total = session.accumulator('sum')
  const [range, both] = [session.range(rows), session.range(rows, columns)]
  const loops = {
    grow: session.loop(range, { w, x }, ([i], { w, x }) => {
      for (let k = 0; k < 3; k++) w.set(i, k, w.get(i, k) * 0.5 + x.get(i))
    }),
    rotate: session.loop(
      both,
      { w, h },
      ([i, j], { w, h }) => {
        for (let k = 0; k < 3; k++) {
          w.set(i, k, w.get(i, k) * 0.75 + h.get(j, k))
          h.set(j, k, h.get(j, k) * 0.75 + w.get(i, k))
        }
      },
      { order: 'any' },
    ),
    // borders of each process go by way of the first
    smooth: session.loop(
      session.range(rows, 6),
      { z },
      ([i, j], { z }) =>
        z.set(i + 1, j + 1, z.get(i, j + 1) * 0.25 + z.get(i + 2, j + 1) * 0.5 + z.get(i + 1, j) * 0.125 + z.get(i + 1, j + 2)),
      { partitions: 4 },
    ),
    // several loops, one after another, of which a later one reads what an earlier one has written
    parts: session.loop(range, { w, x, z }, ([i], { w, x, z }) => {
      w.set(i, 0, w.get(i, 0) * 0.5 + 1)
      if (i > 0) x.set(i, x.get(i - 1) * 0.5 + x.get(i))
      if (i > 0) z.set(i, 1, w.get(i - 1, 0) + w.get(i, 0))
    }),
    columns: session.loop(session.range(columns), { h, y, total }, ([j], { h, y, total }) => {
      for (let i = 0; i < rows; i++) total.add(y.get(i, j) as never)
      h.set(j, 1, h.get(j, 1) + 1)
    }),
    pick: session.loop(range, { f, w, x }, ([i], { f, w, x }) =>
      x.set(i, w.get(Math.floor(Math.abs(f.get(i) as number) * 2) % 3, 0) + x.get(i) * 0.5),
    ),
    count: session.loop(both, { y }, ([i, j], { y }) => y.set(i, j, ((i + j) % 2) as never)),
    add: session.loop(both, { x, h }, ([i, j], { x, h }) => x.add(i, h.get(j, 2))),
    total: session.loop(range, { w, x, total }, ([i], { w, x, total }) => total.add(w.get(i, 0) + x.get(i))),
  }
  const seen: unknown[] = []
  for (const { step, passes } of steps) {
    if (step === 'set') await x.set([1], 5)
    else if (step === 'get') seen.push(await w.at(rows - 1, 1), await w.row(0), await z.slice([null, [1, 5]]))
    else if (step === 'read') seen.push(await h.toTypedArray())
    else {
      const report = await loops[step].run({ passes })
      seen.push(report.passes.map(({ accumulators }) => accumulators.total))
    }
  }
  for (const one of [w, h, x, y, z, f]) seen.push(await one.toTypedArray())
  return seen
}

test('loops over arrays that processes make by themselves have the bits of one process', async () => {
  await fc.assert(
    fc.asyncProperty(oneCase, async (one) => {
      const expected = await course(one, {})
      const { gang, made: messages, stop } = memoryGang(one.world, one.list, one.seed)
      try {
        expect(await course(one, { ...runningWith(gang), ...shortPassesOnWorkers })).toEqual(expected)
        shared += gang.members.passes
        made += messages()
        cases++
      } finally {
        await stop()
      }
    }),
    RUN,
  )
})
