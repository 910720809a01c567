/**
 * Law: a loop whose body meets a limit of what it was compiled to - a list, a Set, objects or an array of more places than there are - in
 * any pass and any iteration gives what plain JavaScript gives: elements, accumulators, passes, and the event that says so.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { PassReport } from '../src/core/loop/loopReport.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { memoryGang, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('limits.prop.ts', 60)
const session = await Session.start({ workers: 2, progress: false })
afterAll(async () => {
  await session.stop()
  await stopPlaces()
})

const ROWS = 12

interface Views {
  readonly out: { get(i: number): number; set(i: number, value: number): void }
  readonly seen: { add(i: number, value: number): void; get(i: number): number }
  readonly total: { add(value: number): void }
  /** The pass and the iteration from which on more is put than there is room for. */
  readonly pass: number
  readonly at: number
}

/** Bodies by what they fill; each counts its passes in `seen`. */
const BODIES: Readonly<Record<string, (key: readonly [number], views: Views) => void>> = {
  list: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 66_000 : 5
    const list = [i]
    while (list.length < many) list.push(list.length * 0.5)
    out.set(i, out.get(i) * 0.5 + list.length + (list[4] ?? 0))
    total.add(list.length)
  },
  set: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 33_000 : 5
    const keys = new Set<number>()
    for (let k = i; keys.size < many; k++) keys.add(k * 3)
    out.set(i, out.get(i) * 0.5 + keys.size + (keys.has(i * 3 + 9) ? 1 : 0))
    total.add(keys.size)
  },
  objects: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 33_000 : 5
    let head: { readonly v: number; readonly next: unknown } | null = null
    for (let k = 0; k < many; k++) head = { v: k + i, next: head }
    out.set(i, out.get(i) * 0.5 + (head === null ? 1 : head.v))
    total.add(many)
  },
  lists: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 17_000 : 5
    const rows: number[][] = []
    for (let k = 0; k < many; k++) rows.push([k])
    rows[2]?.push(i)
    out.set(i, out.get(i) * 0.5 + rows.length + (rows[2]?.length ?? 0))
    total.add(rows.length)
  },
  array: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 66_000 : 5
    const array = new Float64Array(many)
    array[3] = i
    out.set(i, out.get(i) * 0.5 + array.length + (array[3] ?? 0))
    total.add(array.length)
  },
  caught: ([i], { out, seen, total, pass, at }) => {
    seen.add(i, 1)
    const many = seen.get(i) >= pass && i >= at ? 66_000 : 5
    const list = [i]
    try {
      for (let k = 1; list.length < many; k++) {
        if (k > 65_990 + i) throw new Error('long')
        list.push(k)
      }
      total.add(list.length)
    } catch {
      total.add(-1)
    }
    out.set(i, out.get(i) * 0.5 + list.length)
  },
}

/** The passes in plain JavaScript. */
function plainly(
  body: (key: readonly [number], views: Views) => void,
  passes: number,
  env: { readonly pass: number; readonly at: number },
) {
  const [out, seen] = [new Float64Array(ROWS), new Float64Array(ROWS)]
  const view = (array: Float64Array) => ({
    get: (i: number): number => array[i] as number,
    set: (i: number, value: number): void => void (array[i] = value),
    add: (i: number, value: number): void => void (array[i] = (array[i] as number) + value),
  })
  const totals = Array.from({ length: passes }, () => {
    let sum = 0
    for (let i = 0; i < ROWS; i++) body([i], { out: view(out), seen: view(seen), total: { add: (value) => void (sum += value) }, ...env })
    return sum
  })
  return { out, seen, totals }
}

interface Drawn {
  readonly kind: string
  readonly passes: number
  readonly pass: number
  readonly at: number
  readonly isAtomic: boolean
  readonly oneByOne: boolean
}
const draws: fc.Arbitrary<Drawn> = fc.record({
  kind: fc.constantFrom(...Object.keys(BODIES)),
  passes: fc.integer({ min: 1, max: 4 }),
  pass: fc.integer({ min: 1, max: 5 }),
  at: fc.integer({ min: 0, max: ROWS }),
  isAtomic: fc.boolean(),
  oneByOne: fc.boolean(),
})

/** Runs a case and expects what plain JavaScript gives; returns whether it met a limit. */
async function expectPlain(session: Session, { kind, passes, pass, at, isAtomic, oneByOne }: Drawn): Promise<boolean> {
  const body = BODIES[kind] as (key: readonly [number], views: Views) => void // one of them
  const [out, seen, total] = [session.zeros([ROWS]), session.zeros([ROWS]), session.accumulator('sum')]
  const env = { out, seen, total, pass, at }
  const loop = session.loop(session.range(ROWS), env, body as never, { atomic: isAtomic, name: 'limited' })
  expect(loop.plan.kernel?.target, kind).toMatch(/^wasm/)
  const expected = plainly(body, passes, { pass, at })
  const events: string[] = []
  const told = session.events.subscribe((event) => {
    if (event.kind === 'fallback') events.push(event.because)
  })
  const reports: PassReport[] = []
  if (oneByOne) for await (const report of loop.passes(passes)) reports.push(report)
  else {
    const running = loop.run({ passes })
    // what is asked for while passes run again is what they leave
    expect(await out.toTypedArray()).toStrictEqual(expected.out)
    reports.push(...(await running).passes)
  }
  told.unsubscribe()
  expect(await out.toTypedArray()).toStrictEqual(expected.out)
  expect(await seen.toTypedArray()).toStrictEqual(expected.seen)
  expect(reports.map(({ number, accumulators }) => [number, accumulators.total])).toStrictEqual(
    expected.totals.map((sum, k) => [k + 1, sum]),
  )
  const meets = pass <= passes && at < ROWS
  expect(events).toHaveLength(meets ? 1 : 0)
  expect(loop.plan.kernel?.target === 'as-is').toBe(meets)
  return meets
}

test('a body that meets a limit gives what plain JavaScript gives', async () => {
  let met = 0
  await fc.assert(
    fc.asyncProperty(draws, async (drawn) => {
      if (await expectPlain(session, drawn)) met++
    }),
    RUN,
  )
  if (RUN.numRuns >= 50) expect(met).toBeGreaterThan(10)
}, 600_000)

test('so it does on several processes', async () => {
  let shared = 0
  const numRuns = Math.ceil(RUN.numRuns / 3)
  await fc.assert(
    fc.asyncProperty(draws, fc.constantFrom(2, 3), async (drawn, world) => {
      const { gang, stop } = memoryGang(world, [], 1)
      const session = await Session.start({ workers: 1, progress: false, ...runningWith(gang), ...shortPassesOnWorkers })
      try {
        await expectPlain(session, drawn)
        shared += gang.members.passes
      } finally {
        await session.stop()
        await stop()
      }
    }),
    { ...RUN, numRuns },
  )
  expect(shared, 'passes of several processes').toBeGreaterThan(numRuns / 4)
}, 600_000)
