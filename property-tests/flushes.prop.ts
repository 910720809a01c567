/**
 * Update buffers that flush between rounds: every read sees the updates of the rounds that are due, and no others, as in a plain
 * program that goes through the iterations in their order; on any number of workers, compiled or as the body stands.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DistArray, Loop } from '../src/index.ts'
import { Session } from '../src/index.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('flushes.prop.ts')

let sessions: readonly Session[] = []
beforeAll(async () => {
  const start = (workers: number) => Session.start({ workers, progress: false, checkRaces: false, ...shortPassesOnWorkers })
  sessions = await Promise.all([1, 2, 3].map(start))
})
afterAll(() => Promise.all(sessions.map((session) => session.stop())))

/** Bodies over one axis, and what keeps their iterations apart. */
type Kind = 'independent' | 'chain' | 'as it stands'

interface Case {
  readonly kind: Kind
  readonly values: readonly number[]
  readonly elements: number
  readonly dtype: 'f64' | 'i32'
  readonly stride: number
  readonly flushes: number
  readonly staleness: number
  /** Elements that a flush may bring in. */
  readonly most: number | undefined
  readonly combine: 'sum' | 'max'
  readonly applies: boolean
  readonly order: 'serial' | 'any'
  readonly passes: number
}

const cases: fc.Arbitrary<Case> = fc.record({
  kind: fc.constantFrom<Kind>('independent', 'independent', 'independent', 'chain', 'as it stands'),
  // few, and so many that rounds are worth several blocks
  values: fc.oneof(...[0, 24, 24].map((minLength) => fc.array(fc.integer({ min: -4, max: 9 }), { minLength, maxLength: 60 }))),
  elements: fc.integer({ min: 1, max: 9 }),
  dtype: fc.constantFrom('f64', 'f64', 'i32'),
  stride: fc.integer({ min: 1, max: 7 }),
  flushes: fc.integer({ min: 1, max: 9 }),
  staleness: fc.integer({ min: 0, max: 3 }),
  most: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  combine: fc.constantFrom('sum', 'max'),
  applies: fc.boolean(),
  order: fc.constantFrom('serial', 'any'),
  passes: fc.integer({ min: 1, max: 2 }),
})

const joined = (combine: 'sum' | 'max', a: number, b: number): number => (combine === 'sum' ? a + b : Math.max(a, b))
/** Turns of an inner loop. */
const WORK = 2000

/** Integers stay integers. */
const applied = (applies: boolean, current: number, update: number): number => (applies ? 2 * update - current : current + update)

interface Outcome {
  readonly w: readonly number[]
  readonly seen: readonly number[]
  readonly total: readonly number[]
  readonly delayed: readonly (number | undefined)[]
}

/** The dullest program: a list of updates for each round that is not yet due, and one of what flushes had no room for. */
function expected({ values, elements, stride, flushes, staleness, most, combine, applies, passes }: Case): Outcome {
  const w = Array.from({ length: elements }, (_, k) => k)
  const seen = values.map(() => 0)
  const total: number[] = []
  const delayed: (number | undefined)[] = []
  const round = Math.max(1, Math.ceil(values.length / flushes))
  type Updates = Map<number, number>
  const join = (into: Updates, from: Updates): void => {
    for (const [k, update] of from) into.set(k, into.has(k) ? joined(combine, into.get(k) as number, update) : update)
  }
  const bring = (updates: Updates): void => {
    for (const [k, update] of updates) w[k] = applied(applies, w[k] as number, update)
  }
  for (let pass = 0; pass < passes; pass++) {
    let sum = 0
    let late = 0
    const waiting: Updates[] = []
    const rest: Updates = new Map()
    let added: Updates = new Map()
    for (const [i, value] of values.entries()) {
      if (i > 0 && i % round === 0) {
        waiting.push(added)
        added = new Map()
        const due = waiting.length > staleness ? (waiting.shift() as Updates) : undefined
        if (due !== undefined && most === undefined) bring(due)
        if (due !== undefined && most !== undefined) {
          join(rest, due)
          // of sums, an update of nothing is none
          if (combine === 'sum' && !applies) for (const [k, update] of rest) if (update === 0) rest.delete(k)
          const size = ([k, update]: readonly [number, number]): number => Math.abs(update) / (Math.abs(w[k] as number) + 1e-9)
          const chosen = [...rest].sort((a, b) => size(b) - size(a) || a[0] - b[0]).slice(0, most)
          bring(new Map(chosen))
          for (const [k] of chosen) rest.delete(k)
          late += rest.size
        }
      }
      const k = (i * stride) % elements
      seen[i] = w[k] as number
      sum += w[k] as number
      join(added, new Map([[k, value]]))
    }
    for (const updates of [...waiting, added])
      if (most === undefined) bring(updates)
      else join(rest, updates)
    bring(rest)
    total.push(sum)
    delayed.push(flushes > 1 && most !== undefined ? late : undefined)
  }
  return { w, seen, total, delayed }
}

type Vector = DistArray<number, readonly [number]>

function loopOf(
  session: Session,
  { kind, values, elements, dtype, stride, flushes, staleness, most, combine, applies, order }: Case,
): { readonly loop: Loop; readonly w: Vector; readonly seen: Vector } {
  const places = Array.from({ length: elements }, (_, k) => k)
  const own = session.fromTypedArray(dtype === 'f64' ? Float64Array.from(places) : Int32Array.from(places), [elements])
  const seen = session.zeros([Math.max(1, values.length)])
  const table = Float64Array.from(values)
  const buffer = own.buffer({
    flushes,
    staleness,
    ...(most === undefined ? {} : { budget: 12 * most }),
    ...(combine === 'sum' ? {} : { combine: (a: number, b: number) => Math.max(a, b) }),
    ...(applies ? { apply: (current: number, update: number) => 2 * update - current } : {}),
  })
  const total = session.accumulator('sum')
  // what a body is not compiled for
  const placeOf = kind === 'as it stands' ? (i: number) => structuredClone((i * stride) % elements) : (i: number) => (i * stride) % elements
  const work = kind === 'independent' ? WORK : 0
  const chains = kind === 'chain'
  const loop = session.loop(
    session.range(values.length),
    { buffer, seen, total },
    ([i], { buffer, seen, total }) => {
      const k = placeOf(i)
      const now = buffer.get(k)
      // so dear that a round is worth several blocks
      let x = 1
      for (let j = 0; j < work; j++) x = x * 0.5 + 1
      seen.set(i, now + 0 * x)
      if (chains && i > 0) seen.set(i, seen.get(i) + 0 * seen.get(i - 1))
      total.add(now)
      buffer.add(k, table[i] as number)
    },
    { order },
  )
  return { loop, w: own, seen }
}

test('each read sees the rounds that are due, on any number of workers', async () => {
  const ways = new Set<string>()
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const wanted = expected(one)
      for (const session of sessions) {
        const { loop, w, seen } = loopOf(session, one)
        const { passes } = await loop.run({ passes: one.passes })
        const { kernel, schedule, execution } = loop.plan
        ways.add(`${kernel.target}, ${schedule.kind}, ${execution.where}`)
        expect({
          w: [...(await w.toTypedArray())].map(Number),
          seen: [...(await seen.toTypedArray())].slice(0, one.values.length),
          total: passes.map(({ accumulators }) => accumulators.total),
          delayed: passes.map(({ delayed }) => delayed),
        }).toEqual(wanted)
      }
    }),
    RUN,
  )
  expect([...ways]).toEqual(expect.arrayContaining(['wasm, independent, workers', 'wasm, serial, caller', 'as-is, serial, caller']))
})

const gridCases = fc.record({
  rows: fc.integer({ min: 1, max: 40 }),
  columns: fc.integer({ min: 1, max: 12 }),
  elements: fc.integer({ min: 1, max: 9 }),
  flushes: fc.integer({ min: 2, max: 9 }),
  staleness: fc.integer({ min: 0, max: 2 }),
  most: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  order: fc.constantFrom<'serial' | 'any'>('serial', 'any', 'any'),
  /** Iterations of a row wait for each other, those of a column, or both. */
  chains: fc.constantFrom<'rows' | 'columns' | 'both'>('rows', 'columns', 'both', 'both'),
  partitions: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
})

test('1d and 2d schedules, sums of fractions: the bits of the serial program that flushes where rounds end', async () => {
  const kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(gridCases, async ({ rows, columns, elements, flushes, staleness, most, order, chains, partitions }) => {
      const outcomes: unknown[] = []
      for (const session of sessions) {
        const w = session.random([elements], { seed: 3 })
        const ofRow = session.zeros([rows])
        const ofColumn = session.zeros([columns])
        const buffer = w.buffer({ flushes, staleness, ...(most === undefined ? {} : { budget: 12 * most }) })
        const total = session.accumulator('sum')
        const [byRow, byColumn] = [chains !== 'columns', chains !== 'rows']
        const loop = session.loop(
          session.range(rows, columns),
          { buffer, ofRow, ofColumn, total },
          ([i, j], { buffer, ofRow, ofColumn, total }) => {
            let x = 1
            for (let k = 0; k < WORK; k++) x = x * 0.5 + 1
            x = buffer.get((i * 5 + j) % elements) + 0 * x
            if (byRow) ofRow.set(i, ofRow.get(i) * 0.9 + x)
            if (byColumn) ofColumn.set(j, ofColumn.get(j) * 0.7 + x)
            total.add(x)
            buffer.add((i + 3 * j) % elements, (byRow ? ofRow.get(i) : ofColumn.get(j)) * 0.01)
          },
          { order, ...(partitions === undefined ? {} : { partitions }) },
        )
        const { passes } = await loop.run({ passes: 2 })
        if (loop.plan.execution.where === 'workers') kinds.add(loop.plan.schedule.kind)
        const arrays = await Promise.all([w, ofRow, ofColumn].map(async (array) => [...(await array.toTypedArray())]))
        outcomes.push([arrays, passes.map(({ delayed, accumulators }) => [delayed, accumulators.total])])
        expect(await loop.verify()).toMatchObject({ identical: true })
      }
      for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0])
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 4) },
  )
  expect([...kinds]).toEqual(expect.arrayContaining(['1d', '2d']))
})
