/**
 * Law: a loop whose body meets a limit of what it was compiled to - a list, a Set, objects or an array of more places than there are - in
 * any pass and any iteration gives what plain JavaScript gives: elements, accumulators, passes, and the event that says so.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('limits.prop.ts', 60)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

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

test('a body that meets a limit gives what plain JavaScript gives', async () => {
  const met = { times: 0 }
  const draws = fc.record({
    kind: fc.constantFrom(...Object.keys(BODIES)),
    passes: fc.integer({ min: 1, max: 4 }),
    pass: fc.integer({ min: 1, max: 5 }),
    at: fc.integer({ min: 0, max: ROWS }),
    isAtomic: fc.boolean(),
    oneByOne: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(draws, async ({ kind, passes, pass, at, isAtomic, oneByOne }) => {
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
      const reports = []
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
      if (meets) met.times++
    }),
    RUN,
  )
  if (RUN.numRuns >= 50) expect(met.times).toBeGreaterThan(10)
}, 600_000)
