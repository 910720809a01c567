/**
 * The loads of blocks as the cost model sees them, against the blocks that the runtime cuts: whatever the keys and the schedule, what
 * the model expects on the longest way is what a clock would count that has workers take one element a tick.
 */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { sampleOf } from '../src/core/cost/loads.ts'
import { weightIn } from '../src/core/cost/nominal.ts'
import { type CostedLoop, NOMINAL_WORKERS, scheduleCost } from '../src/core/cost/scheduleCost.ts'
import type { InnerSchedule, Schedule } from '../src/core/loop/schedules.ts'
import { cutBlocks } from '../src/exec/loops/blocks/cutBlocks.ts'
import { type BlockSchedule, type IterationSpace, iterationsOf } from '../src/exec/loops/blocks/schedule.ts'
import { keysOf } from './arbitraries/loopBody.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('scheduleLoads.prop.ts', 2_000)
vi.setConfig({ testTimeout: 30 * RUN.numRuns + 60_000 })

type Static = Exclude<Schedule, { readonly kind: 'colored' }>
type Sparse = Extract<IterationSpace, { readonly kind: 'sparse' }>

/** Keys that crowd: at each axis some indices are much more likely than others, or all lie along a diagonal. */
const spaces: fc.Arbitrary<Sparse> = fc.constantFrom(2, 3).chain((rank) =>
  fc
    .record({
      extents: fc.array(fc.integer({ min: 1, max: rank === 2 ? 12 : 6 }), { minLength: rank, maxLength: rank }),
      crowd: fc.array(fc.nat(12), { minLength: rank, maxLength: rank }),
      chance: fc.array(fc.nat(99), { minLength: 12 ** 2 * 2, maxLength: 12 ** 2 * 2 }),
      shape: fc.constantFrom('all', 'crowds', 'diagonal', 'antidiagonal'),
      share: fc.integer({ min: 5, max: 100 }),
    })
    .map(({ extents, crowd, chance, shape, share }): Sparse => {
      const kept = keysOf(extents).filter((key, at) => {
        if (shape === 'diagonal') return Math.abs((key[0] ?? 0) - (key[1] ?? 0)) <= 1
        if (shape === 'antidiagonal') return Math.abs((key[0] ?? 0) + (key[1] ?? 0) - (extents[0] ?? 0)) <= 1
        const isCrowded = shape === 'crowds' && key.some((k, axis) => k === (crowd[axis] ?? 0) % (extents[axis] ?? 1))
        return isCrowded || (chance[at % chance.length] ?? 0) < share
      })
      const keys = extents.map((_, axis) => Int32Array.from(kept, (key) => key[axis] ?? 0))
      return { kind: 'sparse', extents, keys, length: kept.length }
    }),
)

const innerOf = (rank: number, outer: number): fc.Arbitrary<InnerSchedule> => {
  const axis = fc.integer({ min: outer, max: rank - 1 })
  const pair = fc.tuple(axis, axis).filter(([a, b]) => a < b)
  const form = fc
    .array(fc.integer({ min: -2, max: 2 }), { minLength: rank, maxLength: rank })
    .map((factors) => factors.map((factor, at) => (at < outer ? 0 : factor)))
    .filter((factors) => factors.some((factor) => factor !== 0))
  const one = fc.oneof(
    axis.map((axis): InnerSchedule => ({ kind: '1d', axis })),
    form.map((form): InnerSchedule => ({ kind: '1d', form })),
  )
  if (rank - outer < 2) return one
  return fc.oneof(
    one,
    fc.tuple(fc.constantFrom('2d', 'wavefront'), pair).map(([kind, axes]): InnerSchedule => ({ kind, axes })),
    fc.tuple(form, form).map((forms): InnerSchedule => ({ kind: 'skewed', forms })),
  )
}

const scheduleOf = (rank: number): fc.Arbitrary<Static> =>
  fc.oneof(
    { weight: 2, arbitrary: innerOf(rank, 0) },
    {
      weight: 1,
      arbitrary: fc
        .integer({ min: 1, max: rank - 1 })
        .chain((outer) =>
          fc
            .oneof(innerOf(rank, outer), fc.constant<InnerSchedule>({ kind: 'independent' }))
            .map((inner): Static => ({ kind: 'stepped', outer, inner })),
        ),
    },
  )

const cuts = fc.record({
  partitions: fc.option(
    fc.oneof(fc.integer({ min: 1, max: 9 }), fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }))),
    {
      nil: undefined,
    },
  ),
  balance: fc.constantFrom('histogram' as const, 'equal' as const),
  nominalNs: fc.constantFrom(1, 60, 5_000, 1_000_000),
})

const costed = (
  space: Sparse,
  { partitions, balance, nominalNs }: Pick<CostedLoop, 'partitions' | 'balance' | 'nominalNs'>,
): CostedLoop => ({
  extents: space.extents,
  iterations: iterationsOf(space),
  isBox: false,
  partitions,
  balance,
  nominalNs,
  iterationNs: () => nominalNs,
  sample: sampleOf(space.keys),
})

test('the longest way that the cost model expects of sparse data is that through the blocks that are cut', () => {
  const uneven = new Set<string>()
  fc.assert(
    fc.property(
      spaces.chain((space) => fc.record({ space: fc.constant(space), schedule: scheduleOf(space.extents.length), cut: cuts })),
      ({ space, schedule, cut }) => {
        if (space.length === 0) return
        const loop = costed(space, cut)
        const { share, blocks } = scheduleCost(schedule, loop)
        const { partitions, balance, nominalNs } = cut
        const real = cutBlocks(schedule, space, { order: 'any', partitions, balance, weight: weightIn(schedule, nominalNs) })
        expect(blocks).toBe(Math.max(1, real.count))
        expect(Math.round(share * space.length * 1e6) / 1e6).toBe(ticks(real, NOMINAL_WORKERS))
        if (share !== scheduleCost(schedule, { ...loop, sample: undefined }).share) uneven.add(schedule.kind)
      },
    ),
    RUN,
  )
  if (RUN.numRuns >= 1000) expect([...uneven].sort()).toEqual(['1d', '2d', 'skewed', 'stepped', 'wavefront'])
})

/** Each worker does an element a tick; those that are free take the first blocks in plan order that wait for nobody. */
function ticks({ count, steps, from, to, waitsFor, successorStart, successors }: BlockSchedule, workers: number): number {
  const inStep = steps?.blocks ?? count
  let now = 0
  for (let first = 0; first < count; first += inStep) {
    const left = Array.from({ length: inStep }, (_, block) => (to[first + block] ?? 0) - (from[first + block] ?? 0))
    const waits = Array.from({ length: inStep }, (_, block) => waitsFor[block] ?? 0)
    const state = new Array<'waiting' | 'running' | 'done'>(inStep).fill('waiting')
    while (state.some((one) => one !== 'done')) {
      for (let isNew = true; isNew; ) {
        isNew = false
        for (const [block, one] of state.entries()) {
          if (one !== 'running' || (left[block] ?? 0) > 0) continue
          state[block] = 'done'
          isNew = true
          for (let i = successorStart[block] ?? 0; i < (successorStart[block + 1] ?? 0); i++) waits[successors[i] ?? 0]!--
        }
        for (const [block, one] of state.entries()) {
          if (one !== 'waiting' || waits[block] !== 0 || state.filter((other) => other === 'running').length === workers) continue
          state[block] = 'running'
          isNew = true
        }
      }
      const running = state.flatMap((one, block) => (one === 'running' ? [block] : []))
      for (const block of running) left[block]!--
      if (running.length > 0) now++
    }
  }
  return now
}

test('of much data a sample tells the longest way within some hundredths, in rows of any length', () => {
  const extents = [1000, 512]
  for (const width of [256, 300, 512]) {
    // row 3 is full, of every other the first columns are
    const rows: number[] = []
    const columns: number[] = []
    for (let i = 0; i < 1000; i++) {
      for (let j = 0; j < (i === 3 ? 512 : width); j++) {
        rows.push(i)
        columns.push(j)
      }
    }
    const keys = [rows, columns].map((column) => Int32Array.from(column))
    const space: Sparse = { kind: 'sparse', extents, keys, length: rows.length }
    for (const schedule of [
      { kind: '1d', axis: 0 },
      { kind: '1d', axis: 1 },
      { kind: '2d', axes: [0, 1] },
      { kind: 'wavefront', axes: [0, 1] },
    ] as const) {
      const all = costed(space, { partitions: undefined, balance: 'equal', nominalNs: 1 })
      const some = sampleOf(keys, 2 ** 14)
      expect(sampleOf(keys, 2 ** 14)).toBe(some)
      const whole = sampleOf(keys, 2 ** 30)
      expect([some.isWhole, some.length, whole.isWhole]).toEqual([false, 2 ** 14, true])
      const share = (sample: CostedLoop['sample']): number => scheduleCost(schedule, { ...all, sample }).share
      expect(Math.abs(share(some) - share(whole))).toBeLessThan(0.03)
    }
  }
})

test('a sample of rows that are as long as its stretches has elements of all columns', () => {
  const [rows, columns] = [1024, 256]
  const keys = [0, 1].map((axis) =>
    Int32Array.from({ length: rows * columns }, (_, at) => (axis === 0 ? Math.floor(at / columns) : at % columns)),
  )
  const space: Sparse = { kind: 'sparse', extents: [rows, columns], keys, length: rows * columns }
  const loop = { ...costed(space, { partitions: 4, balance: 'equal', nominalNs: 1 }), sample: sampleOf(keys, rows) }
  expect(scheduleCost({ kind: '1d', axis: 1 }, loop).share).toBeLessThan(0.3)
})
