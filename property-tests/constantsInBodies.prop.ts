/**
 * Law: a body that goes through captured objects, Maps, Sets and lists (`for … in`, `Object.entries`, `entries()`), and looks things up in
 * Maps whose keys lie anywhere, Maps of lists, lists of lists of any lengths, and by captured texts, is compiled, runs in parallel, gives the
 * bits that it gives as plain JavaScript, or throws where that does; and reads what is captured anew in each run.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('constantsInBodies.prop.ts')
const sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const ROWS = 12
const START = Float64Array.from({ length: ROWS }, (_, i) => [0, 1, 2.5, -1, 3, 1e9, 7, 0.5, 2, -0, 4, 1e-17][i] as number)
const MATRIX = Float64Array.from({ length: ROWS * 3 }, (_, i) => ((i * 7919) % 13) - 4.5)

const number = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constantFrom(0.5, 1e9, -0, 7, 1e-9))
const name = fc.constantFrom('a', 'b', 'long', 'x1', '7', '10')
const keys = fc.oneof(
  fc.uniqueArray(fc.integer({ min: -2, max: 9 }), { minLength: 1, maxLength: 8 }),
  fc.uniqueArray(number, { minLength: 1, maxLength: 8 }),
)
const list = fc.array(number, { minLength: 1, maxLength: 4 })
const mapOf = <T>(from: fc.Arbitrary<number[]>, value: fc.Arbitrary<T>): fc.Arbitrary<Map<number, T>> =>
  fc.tuple(from, fc.array(value, { minLength: 8, maxLength: 8 })).map(([all, to]) => new Map(all.map((one, i) => [one, to[i] as T])))
const held = fc.record(
  {
    weights: fc.dictionary(name, number, { minKeys: 1, noNullPrototype: true }),
    codes: fc.dictionary(name, number, { noNullPrototype: true }),
    rates: mapOf(keys, number),
    near: keys.map((all) => new Set(all)),
    ragged: fc.array(list, { minLength: 2, maxLength: 5 }),
    lists: mapOf(fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { minLength: 1 }), list),
    names: fc.array(name, { minLength: 1, maxLength: 5 }),
    byName: fc.dictionary(name, number).map((one) => new Map(Object.entries(one))),
  },
  { noNullPrototype: true },
)
type Held = typeof held extends fc.Arbitrary<infer T> ? T : never
const NAMES = ['weights', 'codes', 'rates', 'near', 'ragged', 'lists', 'names', 'byName'] as const

const index = fc.constantFrom('i', 'i - 1', 'i % 3', '(i * 2) % 7', 'x.get(i)', 'x.get(i)', '0', '1')
/** Statements that add something of the index `#` to `s`. */
const STATEMENTS = [
  'for (const k in weights) s += weights[k] * x.get(i) + k.length',
  'for (const [k, w] of Object.entries(weights)) s += w * 2 + k.length',
  'for (const w of Object.values(weights)) s = s * 0.5 + w',
  's += Object.keys(weights).length * 0.5',
  'for (const [k, v] of rates) s += k * 2 + v * i',
  'for (const v of rates.values()) { if (v > 5) break; s += v }',
  'for (const id of near) { if (id === i) continue; s += id }',
  'for (const [k, v] of ragged[i % ragged.length].entries()) s += (k + 1) * v',
  'for (const v of ragged[i % ragged.length]) s += v',
  'for (const row of ragged) for (const v of row) s = s * 0.75 + v',
  's += ragged[#]?.[0] ?? 0.25',
  's += ragged[#]?.length ?? 0.25',
  'if (ragged[0].length > 1) s += ragged[0][1]',
  'const above = ragged[i - 1]; if (i > 0 && i <= ragged.length) s += above[0]',
  's += ragged[#][0]',
  's += rates.get(#) ?? -1',
  's += rates.get(#) === undefined ? 1 : 2',
  'if (near.has(#)) s += 1',
  'if (lists.has(#)) { for (const v of lists.get(#)) s += v }',
  'for (const v of lists.get(#)) s += v',
  's += lists.get(#)?.[1] ?? 3',
  's += byName.get(names[i % names.length]) ?? 0.5',
  's += codes[names[i % names.length]] ?? 2',
  's += byName.has(names[i % names.length]) ? 1 : 0',
  'for (const one of names) s += (codes[one] ?? 1) * one.length',
  'for (const [k, v] of M.row(i).entries()) s += k * v',
] as const

const body = fc
  .array(fc.tuple(fc.constantFrom(...STATEMENTS), index), { minLength: 1, maxLength: 3 })
  .map(
    (parts) =>
      `([i], { x, y, M }) => { let s = 0; ${parts.map(([text, at]) => `{ ${text.replaceAll('#', at)} }`).join('; ')}; y.set(i, s) }`,
  )

type Body = (key: readonly number[], env: Record<string, unknown>) => void

/** What plain JavaScript computes; undefined where it throws. */
function plain(body: Body): Float64Array | undefined {
  const y = new Float64Array(ROWS)
  const row = (i: number): Float64Array => MATRIX.subarray(i * 3, (i + 1) * 3)
  const env = { x: { get: (i: number) => START[i] }, y: { set: (i: number, value: number) => void (y[i] = value) }, M: { row } }
  try {
    for (let i = 0; i < ROWS; i++) body([i], env)
    return y
  } catch {
    return undefined
  }
}

/** Changes what is captured, in place. */
function change(all: Held): void {
  const [first] = Object.keys(all.weights)
  all.weights[first as string] = 17 // there is one
  all.rates.set(3, 0.125)
  all.near.add(4)
  ;(all.ragged[0] as number[]).push(-6)
  all.lists.set(2, [5])
  all.names[0] = 'b'
  all.byName.set('b', 4)
  all.codes.b = 9
}

test('bodies that go through captured constants are compiled and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(held, body, fc.nat(2), async (captured, text, which) => {
      const f = new Function(...NAMES, `return ${text}`)(...NAMES.map((one) => captured[one])) as Body
      const session = sessions[which] as Session
      const [x, M, y] = [session.fromTypedArray(START, [ROWS]), session.fromTypedArray(MATRIX, [ROWS, 3]), session.zeros([ROWS])]
      const loop = session.loop(session.range(ROWS), { x, y, M }, f as never)
      const target = loop.plan.kernel?.target ?? ''
      expect(target, `${text}\n${JSON.stringify(loop.plan.kernel?.because)}`).not.toBe('as-is')
      for (const again of [false, true]) {
        if (again) change(captured)
        const expected = plain(f)
        if (expected === undefined) {
          await expect(loop.run(), text).rejects.toThrow()
          await y.assign([null], 0) // which holds a part of the pass that failed
        } else {
          await loop.run()
          expect(await y.toTypedArray(), text).toStrictEqual(expected)
        }
        const outcome = expected === undefined ? 'thrown' : target
        counts[outcome] = (counts[outcome] ?? 0) + 1
      }
      for (const array of [x, y, M]) await array.release()
    }),
    RUN,
  )
  console.log(`constants in bodies: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(counts.wasm ?? 0, counts.thrown ?? 0)).toBeGreaterThan(RUN.numRuns / 20)
}, 300_000)
