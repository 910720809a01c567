/**
 * A schedule that the data chose: the same for any number of workers, one of those that were legal before, with the plain loop's bits.
 * Data crowds at one index of an axis, so that blocks along the axis that would be cut without it are uneven.
 */
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { type Loop, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

/** A case is two loops, lowered and compiled: what the model makes of data is tried more often in `scheduleLoads.prop.ts`. */
const RUN = announcedRun('chosenByData.prop.ts', 300)
vi.setConfig({ testTimeout: 60 * RUN.numRuns + 60_000 })

const sessions = await Promise.all([1, 3].map(async (workers) => await Session.start({ workers })))
afterAll(async () => void (await Promise.all(sessions.map(async (session) => await session.stop()))))

interface Case {
  readonly extents: readonly [number, number, number]
  /** One axis has so many elements at one index, in hundredths; the others lie anywhere. */
  readonly axis: number
  readonly crowd: number
  readonly length: number
  readonly seed: number
  readonly order: 'serial' | 'any'
}

const extent = fc.integer({ min: 2, max: 24 })
const cases: fc.Arbitrary<Case> = fc.record({
  extents: fc.tuple(extent, extent, extent),
  axis: fc.nat(2),
  crowd: fc.constantFrom(0, 50, 90),
  length: fc.integer({ min: 1, max: 400 }),
  seed: fc.nat(),
  order: fc.constantFrom('serial' as const, 'any' as const),
})

function keysOf({ extents, axis, crowd, length, seed }: Case): number[][] {
  let state = seed >>> 0
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const keys = Array.from({ length }, () => extents.map((extent, at) => (at === axis && random(100) < crowd ? 1 : random(extent))))
  return [...new Map(keys.map((key) => [key.join(), key])).values()]
}

/** Rows and columns of one plane share nothing with those of others: cut along axis 0 or 1, or both, or some sums. */
async function ran(session: Session, { order }: Pick<Case, 'order'>, keys: readonly (readonly number[])[]): Promise<Ran> {
  const column = (axis: number): Int32Array => Int32Array.from(keys, (key) => key[axis] ?? 0)
  const table = session.fromColumns({ i: column(0), j: column(1), k: column(2) })
  const over = table.index(({ i, j, k }) => [i, j, k], { storage: 'sparse' }).map(({ k }) => k)
  const w = session.zeros([24, 24])
  const never = session.zeros([1])
  // turns that the model reckons with; none is made
  const body = (value: number, [i, j]: readonly number[], { w, never }: { w: View; never: View }): void => {
    if (never.get(0) > 0) for (let turn = 0; turn < 100_000; turn++) w.set(i!, j!, w.get(i!, j!) / 3 + turn)
    w.set(i!, j!, w.get(i!, j!) * 0.5 + value)
  }
  const loop = session.loop(over, { w, never }, body as never, { order, checkRaces: false }) as Loop
  const before = loop.plan
  await loop.run()
  const { plan } = loop
  const { identical } = await loop.verify()
  const values = [...((await w.toTypedArray()) as Float64Array)]
  for (const array of [over, w, never]) array.release()
  return { before, plan, identical, values }
}

test('each part of a split loop is chosen by the data', async () => {
  for (const session of sessions) {
    const keys = Array.from({ length: 2 * 24 * 24 }, (_, at) => [Math.floor(at / 576), Math.floor(at / 24) % 24, at % 24])
    const table = session.fromColumns({
      i: Int32Array.from(keys, ([i = 0]) => i),
      j: Int32Array.from(keys, ([, j = 0]) => j),
      k: Int32Array.from(keys, ([, , k = 0]) => k),
    })
    const over = table.index(({ i, j, k }) => [i, j, k], { storage: 'sparse' }).map(({ k }) => k)
    const [s, w, never] = [session.zeros([1]), session.zeros([24, 24]), session.zeros([1])]
    const body = (value: number, [i, j]: readonly number[], { s, w, never }: { s: View; w: View; never: View }): void => {
      s.set(0, s.get(0) / 2 + value)
      if (never.get(0) > 0) for (let turn = 0; turn < 100_000; turn++) w.set(i!, j!, w.get(i!, j!) / 3 + turn)
      w.set(i!, j!, w.get(i!, j!) * 0.5 + value)
    }
    const loop = session.loop(over, { s, w, never }, body as never, { checkRaces: false }) as Loop
    const partsOf = ({ parts = [] }: Loop['plan']) => parts.map(({ schedule }) => [schedule.kind, schedule.axes])
    expect(partsOf(loop.plan)).toEqual([
      ['serial', []],
      ['1d', [0]],
    ])
    await loop.run()
    expect(partsOf(loop.plan)).toEqual([
      ['serial', []],
      ['1d', [1]],
    ])
    expect((await loop.verify()).identical).toBe(true)
    for (const array of [over, s, w, never]) array.release()
  }
})

interface Ran {
  readonly before: Loop['plan']
  readonly plan: Loop['plan']
  readonly identical: boolean
  readonly values: readonly number[]
}

interface View {
  get(...key: number[]): number
  set(...keyAndValue: number[]): void
}

test('the data decides between legal schedules, the same way for any number of workers, and the bits are those of the plain loop', async () => {
  let others = 0
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const keys = keysOf(one)
      const [alone, together] = await Promise.all(sessions.map(async (session) => await ran(session, one, keys)))
      if (alone === undefined || together === undefined) throw new Error('There are two sessions.')
      expect([alone.identical, together.identical]).toEqual([true, true])
      expect(together.values).toEqual(alone.values)
      const { schedule, considered = [], rejected } = together.plan
      expect(alone.plan.schedule).toEqual(schedule)
      expect(alone.plan.considered).toEqual(considered)
      expect(alone.plan.rejected).toEqual(rejected)
      const ofKind = considered.filter(({ kind }) => kind === schedule.kind)
      const times = ofKind.map(({ predictedMilliseconds = NaN }) => predictedMilliseconds)
      const taken = ofKind.findIndex((one) => one.taken)
      expect(times.findIndex((ms) => ms <= 1.5 * Math.min(...times) + 0.5)).toBe(taken)
      expect(ofKind[taken]?.axes).toEqual(schedule.axes)
      // before, nothing is known of the keys, and the outermost axis will do
      expect(alone.before.schedule.axes).toEqual([0])
      expect(alone.before.considered?.map(({ predictedMilliseconds }) => predictedMilliseconds)).toEqual([undefined])
      if (taken > 0) others++
      const isCrowded = one.axis === 0 && one.crowd === 90 && keys.length > 100 && one.extents[0] > 4 && one.extents[1] > 12
      if (isCrowded) expect(schedule.axes).not.toEqual([0])
    }),
    RUN,
  )
  if (RUN.numRuns >= 300) expect(others).toBeGreaterThan(RUN.numRuns / 20)
})

test('keys of the same extents never choose another kind of schedule', async () => {
  const [alone] = sessions
  if (alone === undefined) throw new Error('There are two sessions.')
  let faster = 0
  await fc.assert(
    fc.asyncProperty(cases, fc.nat(), async (one, seed) => {
      const corner = one.extents.map((extent) => extent - 1)
      const withCorner = (keys: number[][]) => [...keys.filter((key) => key.join() !== corner.join()), corner]
      const crowded = await planOfPlanes(alone, withCorner(keysOf({ ...one, axis: 2, crowd: 90 })))
      const even = await planOfPlanes(alone, withCorner(keysOf({ ...one, crowd: 0, length: 400, seed })))
      expect(crowded.schedule.kind).toBe(even.schedule.kind)
      if ((crowded.considered?.find(({ taken }) => taken)?.relative ?? 1) > 1.5) faster++
    }),
    RUN,
  )
  if (RUN.numRuns >= 300) expect(faster).toBeGreaterThan(0) // another kind would have been
})

/** Iterations depend on those before them in their own plane: cut along axis 2, or each plane as a wavefront. */
async function planOfPlanes(session: Session, keys: readonly (readonly number[])[]): Promise<Loop['plan']> {
  const column = (axis: number): Int32Array => Int32Array.from(keys, (key) => key[axis] ?? 0)
  const table = session.fromColumns({ i: column(0), j: column(1), k: column(2) })
  const over = table.index(({ i, j, k }) => [i, j, k], { storage: 'sparse' }).map(({ k }) => k)
  const c = session.zeros([25, 25, 25])
  const never = session.zeros([1])
  const body = (_: number, [i, j, k]: readonly number[], { c, never }: { c: View; never: View }): void => {
    let sum = c.get(i!, j! + 1, k!) + c.get(i! + 1, j!, k!)
    if (never.get(0) > 0) for (let turn = 0; turn < 100_000; turn++) sum = sum / 3 + turn
    c.set(i! + 1, j! + 1, k!, sum)
  }
  const loop = session.loop(over, { c, never }, body as never, { checkRaces: false }) as Loop
  await loop.run()
  const { plan } = loop
  for (const array of [over, c, never]) array.release()
  return plan
}

test('extents that were not known before a run decide in it', async () => {
  for (const session of sessions) {
    // two full planes, of which nothing is known until they are stored
    const keys = Array.from({ length: 2 * 24 * 24 }, (_, at) => [Math.floor(at / 576), Math.floor(at / 24) % 24, at % 24])
    const { before, plan, identical } = await ran(session, { order: 'serial' }, keys)
    expect([before.schedule.axes, plan.schedule.axes, identical]).toEqual([[0], [1], true])
    expect(plan.considered?.[0]).toMatchObject({ kind: '1d', axes: [0], blocks: 2, share: 0.5, taken: false })
    expect(plan.considered?.[1]).toMatchObject({ kind: '1d', axes: [1], blocks: 24, share: 0.25, taken: true })
  }
})
