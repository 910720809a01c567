/**
 * Uint8ClampedArrays that bodies of loops make, as pictures are: what is written into them is rounded, halves to the even number, and lies
 * between 0 and 255, as in plain JavaScript, whatever it was and however it gets there.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('clampedArrays.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const value = fc.constantFrom(
  ...[
    'x.get(i) * 100',
    'x.get(i)',
    'x.get(i) * 2',
    'i * 20 - 60',
    'i / 2',
    'i + 0.5',
    '254.5 + i / 4',
    '-0.5',
    '0.5',
    '1.5',
    '2.5',
    '255.49',
    '255.5',
    '1e300',
  ],
  ...[
    '-1e300',
    'NaN',
    'Infinity',
    '-Infinity',
    '-0',
    '4294967297',
    '(i > 7)',
    'px[1] * 1.5',
    'px[(i + 1) % 6] + x.get(i)',
    '0 / 0 * i',
    'x.get(i) / 0',
  ],
)
const place = fc.constantFrom('0', '1', '5', 'i % 6', '(i * 5 + 2) % 6', 'k')
const statement = fc.oneof(
  fc.tuple(place, value).map(([at, v]) => `for (let k = 0; k < 3; k++) px[${at}] = ${v}`),
  fc.tuple(place, value).map(([at, v]) => `for (let k = 2; k < 6; k++) px[${at}] += ${v}`),
  fc
    .tuple(place, fc.constantFrom('*=', '/=', '-=', '**=', '|=', '>>>=', '%='), value)
    .map(([at, by, v]) => `{ const k = 3; px[${at}] ${by} ${v} }`),
  place.map((at) => `{ const k = 2; px[${at}]++; --px[${at}]; px[0]-- }`),
  value.map((v) => `px.fill(${v})`),
  value.map((v) => `s += (px[2] = ${v}) > 3 ? 1 : 0`),
  fc.constant('for (let k = 0; k < 6; k++) px[k] = 255 - px[k]'),
  fc.constant('px.sort()'),
  fc.constant('{ const t = px.slice(); t[0] = 300.5; s += t[0] + t.length; px[3] = t[1] - 9 }'),
  value.map((v) => `{ const t = px.map((v, k) => v * 1.7 + k); t[1] = ${v}; px = t }`),
  value.map((v) => `{ const t = new Uint8ClampedArray(6); t[4] = ${v}; [px, q] = [t, px] }`),
  value.map((v) => `{ const t = new Uint8Array(6); t[1] = 300; t[2] = ${v}; s += t[1] + t[2] }`),
  fc.constant('{ const t = px.subarray(2, 5); t[0] = 270.7; t[1] -= 300 }'),
  fc.constant('{ const t = Uint8ClampedArray.from(px, (v) => v * 2.5); s += t[5] + t[0] }'),
  fc.constant('{ const t = Uint8ClampedArray.of(300, -4, 2.5, x.get(i)); s += t[0] + t[1] * 3 + t[2] * 7 + t[3] }'),
  fc.constant('{ const t = Float64Array.from(px); t[0] = 300.5; s += t[0] }'),
)
const drawn: fc.Arbitrary<DrawnBody> = fc
  .tuple(
    fc.constantFrom(
      'new Uint8ClampedArray(6)',
      'new Uint8ClampedArray([1.5, 300, -7, i, x.get(i), 9])',
      'Uint8ClampedArray.from({ length: 6 }, (_, k) => k * 60.5)',
    ),
    fc.array(statement, { minLength: 1, maxLength: 5 }),
  )
  .map(([made, stmts]) => ({
    text: `([i], { x, out }) => { let s = 0; let px = ${made}; let q = new Uint8ClampedArray(6); ${stmts.join('; ')}; q[0] = 99.5; for (const p of px) s = s * 3 + p; out.set(i, s + px[0] * 7 + q[0] + q[4]) }`,
    used: new Set(stmts.map((text) => text.slice(0, 14))),
  }))

test('values of clamped arrays', async () => {
  let compiled = 0
  let all = 0
  await fc.assert(
    fc.asyncProperty(drawn, async ({ text }) => {
      const body = bodyOf(text, {})
      const { outcome, plan } = await looped(session, body)
      all++
      if (plan.kernel?.target.startsWith('wasm') === true) compiled++
      expect(outcome, text).toStrictEqual(plain(body))
    }),
    run,
  )
  expect(compiled / all).toBeGreaterThan(0.5)
})

test.each([
  [
    'a picture',
    'const px = new Uint8ClampedArray(12); for (let k = 0; k < 12; k++) px[k] = x.get((i + k) % 20) * 90 + 128; let s = 0; for (let k = 0; k < 12; k += 4) s += 0.299 * px[k] + 0.587 * px[k + 1] + 0.114 * px[k + 2]; out.set(i, s)',
  ],
  [
    'halves',
    'const px = new Uint8ClampedArray(4); px[0] = i + 0.5; px[1] = i - 0.5; px[2] = 255.5 - i; px[3] = -0.5; out.set(i, px[0] + px[1] * 256 + px[2] * 65536 + px[3])',
  ],
  [
    'rows',
    'const rows = Array.from({ length: 3 }, () => new Uint8ClampedArray(4)); for (let r = 0; r < 3; r++) for (let k = 0; k < 4; k++) rows[r][k] = (r * 4 + k) * 30.5 * (i % 4); out.set(i, rows[2][3] + rows[1][1] * 3 + rows[0][2])',
  ],
  ['captured', 'out.set(i, table[i % 5] * 2 + table.length)'],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, { table: Uint8ClampedArray.of(300, -4, 2.5, 7, 255) })
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})
