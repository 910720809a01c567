/**
 * Skewed schedules against the definition: whatever the vectors, and wherever bands are cut, no two iterations that may
 * conflict are left unordered; blocks of a skewed space hold every iteration once, in key order; and no loop is serial
 * that a small skew would free.
 */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type CostedLoop, scheduleCost } from '../src/core/cost/scheduleCost.ts'
import type { Distance } from '../src/core/loop/loopPlan.ts'
import type { Form, Schedule } from '../src/core/loop/schedules.ts'
import { plannedKind } from '../src/core/loop/schedules.ts'
import { cutBlocks } from '../src/exec/loops/blocks/cutBlocks.ts'
import { iterationsBefore, placeOfBounds, slantedBoxes } from '../src/exec/loops/blocks/pieces.ts'
import type { BlockSchedule, IterationSpace } from '../src/exec/loops/blocks/schedule.ts'
import { serialOrderOf, visitSerially } from '../src/exec/loops/blocks/space.ts'
import { cheapestSchedule } from '../src/planner/loop/cheapest.ts'
import { chooseSchedule, legalSchedules } from '../src/planner/loop/schedule.ts'
import { keysOf } from './arbitraries/loopBody.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('schedules.prop.ts', 2_000)
const RUNS = RUN.numRuns
vi.setConfig({ testTimeout: 30 * RUNS + 60_000 })

type Vector = readonly Distance[]

/** Vectors in normal form: the first entry that is not 0 is positive. A few have `*` there: nothing may be built on it. */
const vectorOf = (rank: number): fc.Arbitrary<Vector> => {
  const later = fc.constantFrom<Distance[]>(0, 0, 1, 2, 3, -1, -2, -3, '+', '-', '*')
  return fc
    .tuple(
      fc.nat(rank - 1),
      fc.constantFrom<Distance[]>(1, 1, 1, 2, 2, 2, '+', '+', '+', '*'),
      fc.array(later, { minLength: rank, maxLength: rank }),
    )
    .map(([zeros, first, rest]) => rest.map((distance, axis) => (axis < zeros ? 0 : axis === zeros ? first : distance)))
}

interface Case {
  readonly vectors: readonly Vector[]
  readonly extents: readonly number[]
  readonly order: 'serial' | 'any'
  readonly partitions: readonly [number, number]
  /** Which of the legal schedules: the freest is 0. */
  readonly pick: number
}

/** Vectors that only the first axis makes up for, and some that it leaves to the others. */
const inSteps: fc.Arbitrary<readonly Vector[]> = fc
  .tuple(fc.constantFrom<Distance[]>(1, 2, '+'), fc.array(vectorOf(2), { maxLength: 3 }))
  .map(([first, others]) => [[first, '*', '*'], ...others.map((vector) => [0, ...vector])])

const cases: fc.Arbitrary<Case> = fc.constantFrom(2, 2, 3, 3).chain((rank) =>
  fc.record({
    vectors:
      rank === 3
        ? fc.oneof(fc.array(vectorOf(3), { minLength: 1, maxLength: 4 }), inSteps)
        : fc.array(vectorOf(2), { minLength: 1, maxLength: 4 }),
    extents: fc.array(fc.integer({ min: 1, max: rank === 2 ? 7 : 4 }), { minLength: rank, maxLength: rank }),
    order: fc.constantFrom('serial' as const, 'any' as const),
    partitions: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
    pick: fc.oneof(fc.constant(0), fc.nat(20)),
  }),
)

const formOf = (rank: number): fc.Arbitrary<Form> =>
  fc.array(fc.integer({ min: -3, max: 3 }), { minLength: rank, maxLength: rank }).filter((form) => form.some((c) => c !== 0))

const valueAt = (form: Form, key: readonly number[]) => form.reduce((sum, c, axis) => sum + c * (key[axis] ?? 0), 0)

test('no two iterations that may conflict are left unordered by the blocks that run', () => {
  const found = new Map<string, number>()
  fc.assert(
    fc.property(cases, fc.boolean(), (one, sparse) => {
      const kind = ordersEveryPair(one, sparse)
      found.set(kind, (found.get(kind) ?? 0) + 1)
    }),
    RUN,
  )
  // Each of them is some hundredths of the cases; fewer runs are for trying things out.
  if (RUNS < 1000) return
  for (const kind of ['independent', '1d', '2d', 'wavefront', 'skewed'])
    expect(found.get(`stepped, ${kind} inside`) ?? 0).toBeGreaterThan(0)
})

/** A loop of so many of each index, whose rows cost something to begin. */
function costedLoop(extents: readonly number[], nominalNs: number, rowNs: number): CostedLoop {
  const iterations = extents.reduce((product, extent) => product * extent, 1)
  return { extents, iterations, isBox: true, partitions: undefined, nominalNs, iterationNs: (run) => nominalNs / 5 + rowNs / run }
}

const spaces = fc.record({ scale: fc.constantFrom(1, 10, 100, 400), nominalNs: fc.integer({ min: 1, max: 500 }), rowNs: fc.nat(300) })

test('the cost model takes a legal schedule, the same each time: the freest of those that are nearly as fast as the fastest', () => {
  let others = 0
  fc.assert(
    fc.property(cases, spaces, ({ vectors, extents, order }, { scale, nominalNs, rowNs }) => {
      const space = { extents: extents.map((extent) => extent * scale), order }
      const loop = costedLoop(space.extents, nominalNs, rowNs)
      const choice = cheapestSchedule(vectors, space, loop)
      expect(cheapestSchedule(vectors, space, loop)).toEqual(choice)
      const legal = [...legalSchedules(vectors, space, 3)]
      const at = legal.findIndex(({ schedule }) => JSON.stringify(schedule) === JSON.stringify(choice.schedule))
      expect(at).toBeGreaterThanOrEqual(0)
      if (at > 0) others++
      if (choice.schedule.kind === 'serial') expect(legal).toHaveLength(1)
      const costs = legal.filter(({ kind }) => kind !== 'serial').map(({ schedule }) => scheduleCost(schedule, loop).milliseconds)
      const near = 1.5 * Math.min(...costs) + 0.5
      if (choice.schedule.kind !== 'serial') expect(costs.findIndex((ms) => ms <= near)).toBe(at)
    }),
    RUN,
  )
  if (RUNS >= 1000) expect(others).toBeGreaterThan(RUNS / 100)
})

test('asked for one kind of legal schedule, the cost model takes the freest of it that is nearly as fast as the fastest of it', () => {
  fc.assert(
    fc.property(cases, spaces, ({ vectors, extents, order, pick }, { scale, nominalNs, rowNs }) => {
      const space = { extents: extents.map((extent) => extent * scale), order }
      const loop = costedLoop(space.extents, nominalNs, rowNs)
      const legal = [...legalSchedules(vectors, space, 3)].map(({ schedule }) => schedule)
      const kind = plannedKind((legal[pick % legal.length] as (typeof legal)[number]).kind) // one of them
      const ofKind = legal.filter((schedule) => plannedKind(schedule.kind) === kind)
      const costs = ofKind.map((schedule) => scheduleCost(schedule, loop).milliseconds)
      const near = 1.5 * Math.min(...costs) + 0.5
      const { schedule } = cheapestSchedule(vectors, space, loop, kind)
      if (kind !== 'serial') expect(schedule).toEqual(ofKind[costs.findIndex((ms) => ms <= near)])
    }),
    RUN,
  )
})

test('under every schedule more iterations, dearer ones and fewer workers take longer, and never less than an even share', () => {
  fc.assert(
    fc.property(cases, spaces, ({ vectors, extents, order, pick }, { nominalNs, rowNs }) => {
      const scaled = extents.map((extent) => extent * 30)
      const legal = [...legalSchedules(vectors, { extents: scaled, order }, 3)]
      const schedule = legal[pick % legal.length]?.schedule ?? ({ kind: 'serial' } as const)
      const loop = costedLoop(scaled, nominalNs, rowNs)
      const ms = (of: CostedLoop, workers?: number): number => scheduleCost(schedule, of, workers).milliseconds
      expect(ms({ ...loop, iterationNs: (run) => 2 * loop.iterationNs(run) })).toBeGreaterThan(ms(loop))
      expect(ms({ ...loop, iterations: 2 * loop.iterations, nominalNs: nominalNs / 2 })).toBeGreaterThan(ms(loop))
      expect(ms(loop, 2)).toBeGreaterThanOrEqual(ms(loop, 4))
      expect(ms(loop, 4)).toBeGreaterThanOrEqual((loop.iterations * loop.iterationNs(scaled[scaled.length - 1] ?? 1)) / 4e6 - 1e-9)
    }),
    RUN,
  )
})

test('the forms of a skewed schedule are rows of a unimodular matrix, and no vector goes back along them', () => {
  fc.assert(
    fc.property(cases, ({ vectors, extents }) => {
      const { schedule } = chooseSchedule(vectors, { extents, order: 'serial' })
      if (schedule.kind !== 'skewed') return
      const [a, b] = schedule.forms
      if (!canBeUnimodular(a, b)) throw new Error(`${JSON.stringify(schedule)} of ${JSON.stringify(vectors)} is not unimodular`)
      for (const vector of vectors) {
        for (const step of stepsIn(vector, extents.length)) {
          if ([a, b].some((form) => valueAt(form, step) < 0)) throw new Error(`${step.join()} goes back along ${JSON.stringify(schedule)}`)
        }
      }
    }),
    RUN,
  )
})

test('a loop is serial, or runs in steps, only if no small skew would do', () => {
  fc.assert(
    fc.property(cases, ({ vectors, extents }) => {
      const { schedule } = chooseSchedule(vectors, { extents, order: 'serial' })
      if (schedule.kind !== 'serial' && schedule.kind !== 'stepped') return
      const rank = extents.length
      const forms = keysOf(new Array<number>(rank).fill(5))
        .map((key) => key.map((k, axis) => (extents[axis] === 1 ? 0 : k - 2)))
        .filter((form) => vectors.every((vector) => stepsIn(vector, rank).every((step) => valueAt(form, step) >= 0)))
      const pair = forms.flatMap((a) => forms.filter((b) => canBeUnimodular(a, b)).map((b) => [a, b]))[0]
      if (pair !== undefined) throw new Error(`${JSON.stringify(pair)} would do for ${JSON.stringify(vectors)}`)
    }),
    RUN,
  )
})

test('boxes with slanted sides hold exactly the iterations between the bounds, in key order', () => {
  const bands = fc.constantFrom(1, 2, 3, 4).chain((rank) =>
    fc.record({
      extents: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: rank, maxLength: rank }),
      bounded: fc.array(fc.tuple(formOf(rank), fc.integer({ min: -12, max: 12 }), fc.nat(9)), { minLength: 1, maxLength: 2 }),
    }),
  )
  fc.assert(
    fc.property(bands, ({ extents, bounded }) => {
      const bounds = bounded.map(([, low, width]) => [low, low + width] as const)
      const forms = bounded.map(([form]) => form)
      const found: string[] = []
      for (const box of slantedBoxes(forms, bounds, extents)) {
        const widths = extents.map((_, axis) => (box[2 * axis + 1] ?? 0) - (box[2 * axis] ?? 0))
        for (const key of keysOf(widths)) found.push(key.map((k, axis) => k + (box[2 * axis] ?? 0)).join())
      }
      const inside = (key: readonly number[]) =>
        forms.every((form, i) => valueAt(form, key) >= (bounds[i]?.[0] ?? 0) && valueAt(form, key) < (bounds[i]?.[1] ?? 0))
      const wanted = keysOf(extents).filter(inside)
      if (found.join(' ') !== wanted.map((key) => key.join()).join(' ')) throw new Error(`${found.join(' ')}\nnot ${wanted.join(' ')}`)
    }),
    RUN,
  )
})

/** A legal schedule, cut as the runtime cuts it: every pair in conflict is in one block or in blocks that wait. */
function ordersEveryPair({ vectors, extents, order, partitions, pick }: Case, sparse: boolean): string {
  const legal = [...legalSchedules(vectors, { extents, order }, 3)]
  const schedule: Schedule = legal[pick % legal.length]?.schedule ?? { kind: 'serial' }
  const keys = keysOf(extents)
  const space: IterationSpace = sparse ? sparseSpace(extents, keys) : { kind: 'box', extents }
  const blocks = cutBlocks(schedule, space, { order, partitions })
  const blockOf = blocksOf(space, blocks, schedule, keys)
  const reached = reachable(blocks)
  const rank = ranksOf(space, blocks)
  for (const [i, p] of keys.entries()) {
    for (const q of keys.slice(i + 1)) {
      const step = q.map((k, axis) => k - (p[axis] ?? 0))
      if (!vectors.some((vector) => contains(vector, step))) continue
      const [a, b] = [blockOf.get(p.join()) ?? -1, blockOf.get(q.join()) ?? -1]
      const forward = (rank.get(p.join()) ?? 0) < (rank.get(q.join()) ?? 0)
      const [first, second] = forward ? [a, b] : [b, a]
      if (first === second ? forward : reached[first]?.has(second) && (order === 'any' || forward)) continue
      throw new Error(`(${p}) in block ${a} and (${q}) in block ${b} of ${JSON.stringify(schedule)} are not ordered`)
    }
  }
  return schedule.kind === 'stepped' ? `stepped, ${schedule.inner.kind} inside` : schedule.kind
}

function sparseSpace(extents: readonly number[], keys: readonly (readonly number[])[]): IterationSpace {
  const columns = extents.map((_, axis) => Int32Array.from(keys, (key) => key[axis] ?? 0))
  return { kind: 'sparse', extents, length: keys.length, keys: columns }
}

/** Which block each iteration is in, blocks being run one by one. */
function blocksOf(
  space: IterationSpace,
  blocks: BlockSchedule,
  schedule: Schedule,
  keys: readonly (readonly number[])[],
): Map<string, number> {
  const found = new Map<string, number>()
  let at = 0
  visitSerially(space, { ...blocks, keyOrder: false }, (_, key) => {
    let block = 0
    while (block + 1 < blocks.count && baseOf(blocks, block + 1) <= at) block++
    if (found.has(key.join())) throw new Error(`(${key}) runs twice in ${JSON.stringify(schedule)}`)
    found.set(key.join(), block)
    at++
  })
  if (found.size !== keys.length) throw new Error(`${found.size} of ${keys.length} iterations run in ${JSON.stringify(schedule)}`)
  return found
}

function baseOf(blocks: BlockSchedule, block: number): number {
  return iterationsBefore(blocks, block) + (blocks.base[placeOfBounds(blocks, block)] ?? 0)
}

/** The place of each iteration in the serial order the schedule states. */
function ranksOf(space: IterationSpace, blocks: BlockSchedule): Map<string, number> {
  const order = serialOrderOf(space, blocks)
  const width = order.length / Math.max(1, blocks.iterations)
  return new Map(Array.from({ length: blocks.iterations }, (_, i) => [order.slice(i * width, (i + 1) * width).join(), i]))
}

/** The blocks that wait for each block, through any number of others: among them all of later steps. */
function reachable({ count, successorStart, successors, steps }: BlockSchedule): Set<number>[] {
  const sets = Array.from({ length: count }, () => new Set<number>())
  const inStep = steps?.blocks ?? count
  for (let block = count - 1; block >= 0; block--) {
    const at = block % inStep
    for (let later = block - at + inStep; later < count; later++) sets[block]?.add(later)
    for (let i = successorStart[at] ?? 0; i < (successorStart[at + 1] ?? 0); i++) {
      const next = block - at + (successors[i] ?? 0)
      sets[block]?.add(next)
      for (const further of sets[next] ?? []) sets[block]?.add(further)
    }
  }
  return sets
}

function contains(vector: Vector, step: readonly number[]): boolean {
  return vector.every((distance, axis) => {
    const d = step[axis] ?? 0
    return distance === '*' || (distance === '+' ? d > 0 : distance === '-' ? d < 0 : d === distance)
  })
}

/** Steps a vector stands for, those of a direction near and far. */
function stepsIn(vector: Vector, rank: number): number[][] {
  const values: readonly (readonly number[])[] = vector
    .slice(0, rank)
    .map((d) => (typeof d === 'number' ? [d] : d === '+' ? [1, 1000] : d === '-' ? [-1, -1000] : [-1000, 0, 1000]))
  return values.reduce<number[][]>((steps, choices) => steps.flatMap((step) => choices.map((d) => [...step, d])), [[]])
}

/** Two rows can be completed to a matrix of determinant 1 when their minors have no common divisor. */
function canBeUnimodular(a: Form, b: Form): boolean {
  const [a0 = 0, a1 = 0, a2 = 0] = a
  const [b0 = 0, b1 = 0, b2 = 0] = b
  const gcd = (x: number, y: number): number => (y === 0 ? Math.abs(x) : gcd(y, x % y))
  return gcd(gcd(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2), a0 * b1 - a1 * b0) === 1
}
