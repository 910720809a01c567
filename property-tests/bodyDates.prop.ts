/**
 * Dates that bodies of loops make of numbers: their times, their parts in UTC and `Date.UTC` are those of plain JavaScript, by Object.is: before
 * 1970, at the ends of days, months, centuries and eras, with fractions, where a Date would be invalid, and for parts that are none.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { bodyOf, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('bodyDates.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const ROWS = 40
const LATEST = 864e13
const edges = fc
  .tuple(
    fc.integer({ min: -2000, max: 4000 }),
    fc.integer({ min: 0, max: 12 }),
    fc.integer({ min: 0, max: 32 }),
    fc.integer({ min: -1, max: 1 }),
  )
  .map(([year, month, day, ms]) => new Date(0).setUTCFullYear(year, month, day) + ms)
const time = fc.oneof(
  { weight: 4, arbitrary: edges },
  { weight: 2, arbitrary: fc.double({ min: -LATEST, max: LATEST, noNaN: true }).map(Math.round) },
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.constantFrom(
    LATEST,
    -LATEST,
    LATEST + 1,
    -LATEST - 1,
    LATEST - 0.5,
    Number.NaN,
    -0,
    0,
    Infinity,
    -Infinity,
    -0.5,
    951_782_399_999,
    951_868_800_000,
  ),
)
const part = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -30, max: 130 }) },
  { weight: 2, arbitrary: fc.integer({ min: -9999, max: 9999 }) },
  fc.double({ min: -100, max: 3000, noNaN: true }),
  fc.constantFrom(
    275_760,
    275_761,
    -271_821,
    1e6,
    -1e6,
    1e6 + 1,
    1e7,
    1e7 + 0.5,
    -1e7,
    1e9,
    1e15,
    1e300,
    Number.NaN,
    Infinity,
    -Infinity,
    -0,
    -0.5,
    99.5,
  ),
)

const METHODS = [
  'getTime',
  'getUTCFullYear',
  'getUTCMonth',
  'getUTCDate',
  'getUTCDay',
  'getUTCHours',
  'getUTCMinutes',
  'getUTCSeconds',
  'getUTCMilliseconds',
]
type Env = Record<'x' | 'o', { readonly get: (...key: number[]) => number; readonly set: (...args: number[]) => void }>
type Body = (key: readonly number[], env: Env) => void

const ofParts = bodyOf(
  `([i], { x, o }) => { const d = new Date(x.get(i, 0)); ${METHODS.map((method, k) => `o.set(i, ${k}, d.${method}())`).join('; ')} }`,
  {},
) as unknown as Body
const ofUtc = bodyOf(
  `([i], { x, o }) => { ${[1, 2, 3, 4, 5, 6, 7].map((count) => `o.set(i, ${count - 1}, Date.UTC(${Array.from({ length: count }, (_, k) => `x.get(i, ${k})`).join(', ')}))`).join('; ')} }`,
  {},
) as unknown as Body

/** A loop over rows of numbers, and what it makes of given ones against plain JavaScript. */
function comparedLoop(body: Body, width: number, results: number): (rows: readonly (readonly number[])[]) => Promise<void> {
  const [x, o] = [session.zeros([ROWS, width]), session.zeros([ROWS, results])]
  const loop = session.loop(session.range(ROWS), { x, o }, body as never)
  return async (rows) => {
    const given = Float64Array.from(rows.flat())
    const wanted = new Float64Array(ROWS * results)
    const env: Env = {
      x: { get: (i = 0, k = 0) => given[i * width + k] as number, set: () => undefined },
      o: { get: () => 0, set: (i = 0, k = 0, value = 0) => void (wanted[i * results + k] = value) },
    }
    for (let i = 0; i < ROWS; i++) body([i], env)
    await x.assign([null, null], given)
    await loop.run()
    expectCompiled(loop.plan, String(body))
    expect(await o.toTypedArray()).toStrictEqual(wanted)
  }
}

test('parts of times', async () => {
  const expectSame = comparedLoop(ofParts, 1, METHODS.length)
  await fc.assert(fc.asyncProperty(fc.array(fc.tuple(time), { minLength: ROWS, maxLength: ROWS }), expectSame), run)
})

test('times of parts', async () => {
  const row = fc.array(part, { minLength: 7, maxLength: 7 })
  const expectSame = comparedLoop(ofUtc, 7, 7)
  await fc.assert(fc.asyncProperty(fc.array(row, { minLength: ROWS, maxLength: ROWS }), expectSame), run)
})

test.each([
  ['differences and orders', 'const a = new Date(x.get(i) * 1e9), b = new Date(i * 864e5); out.set(i, (b - a) * (a < b ? 2 : 1) + (+a))'],
  [
    'a day after another',
    'let n = 0; for (let k = 0; k < 10; k++) { const day = new Date((i * 7 + k) * 864e5).getUTCDay(); if (day !== 0 && day !== 6) n++ } out.set(i, n)',
  ],
  [
    'a Date of a Date',
    'const a = new Date(x.get(i) * 1e12); const b = new Date(a); out.set(i, b.getUTCMonth() * 100 + new Date(a.getTime() + 1).getUTCMilliseconds())',
  ],
  [
    'a Date in a branch',
    'let y = 0; if (i % 3 > 0) { const d = new Date(Date.UTC(1999, i, 31)); y = d.getUTCFullYear() * 100 + (i % 2 ? d.getUTCMonth() : d.getUTCDate()) } out.set(i, y)',
  ],
  [
    'a Date that a function makes',
    'const day = (n) => new Date(n * 864e5); const d = day(i * 40); out.set(i, d.getUTCDate() + day(1).getUTCDate() * 100)',
  ],
  ['a Date of a truth value', 'out.set(i, new Date(i > 3).getTime() + new Date(Date.UTC(70, i > 4)).getUTCMonth())'],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, {})
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})

test.each([
  ['of the time zone', 'const d = new Date(2024, 0, 1 + i); out.set(i, d.getTime())'],
  ['parts of the time zone', 'const d = new Date(i * 864e5); out.set(i, d.getDate())'],
  ['added to a number', 'const d = new Date(i); out.set(i, (d + 1).length)'],
  ['compared as objects', 'const a = new Date(i), b = new Date(i); out.set(i, a === b ? 1 : 0)'],
  ['changed', 'const d = new Date(i); d.setUTCDate(3); out.set(i, d.getTime())'],
  ['of texts', "const t = i % 2 ? '2024' : '1999'; out.set(i, new Date(t).getTime())"],
  ['assigned again', 'let d = new Date(i * 1e9); if (i > 3) d = new Date(0); out.set(i, d.getUTCMonth())'],
])('Dates %s are those of plain JavaScript', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, {})
  const { outcome } = await looped(session, body)
  expect(outcome).toStrictEqual(plain(body))
})
