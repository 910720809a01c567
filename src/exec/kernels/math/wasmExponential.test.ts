import { expect, test } from 'vitest'
import { exponentials, hasBitsOf, isEngineExponential } from './wasmExponential.ts'

const COUNT = 8192

/** Results that are not those of `Math.exp`, as texts. */
function differences(given: Float64Array): string[] {
  return [...exponentials(given)].flatMap((result, i) => {
    const x = given[i] as number // as many as results
    return Object.is(result, Math.exp(x)) ? [] : [`exp(${x}) is ${Math.exp(x)}, not ${result}`]
  })
}

test('exponentials have the bits of Math.exp, near 0, near 1, where k changes, and where results end', () => {
  expect(isEngineExponential()).toBe(true)
  let state = 1
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5
  const around = (x: number): number => x * (1 + random() * 2 ** -20)
  const forms: readonly (() => number)[] = [
    () => random(),
    () => 4 * random(),
    () => 80 * random(),
    () => 1500 * random(),
    () => random() * 2 ** (-60 * (random() + 0.5)),
    () => around(0.5 * Math.LN2),
    () => around(-0.5 * Math.LN2),
    () => around(1.5 * Math.LN2),
    () => around(-1.5 * Math.LN2),
    () => around(Math.round(40 * random()) * Math.LN2 + 0.5 * Math.LN2),
    () => around(1),
    () => around(-1),
    () => around(2 ** -28),
    () => around(700),
    () => around(-700),
    () => around(-745),
  ]
  for (const form of forms)
    for (let round = 0; round < 4; round++) expect(differences(Float64Array.from({ length: COUNT }, form))).toEqual([])
  const special = [0, -0, 1, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, -5e-324, 710, -746, 1e308]
  expect(differences(Float64Array.from(special))).toEqual([])
})

test('an engine with another exponential is noticed', () => {
  expect(hasBitsOf((x) => Math.exp(x))).toBe(true)
  expect(hasBitsOf((x) => Math.E ** x)).toBe(false)
  expect(hasBitsOf((x) => Math.exp(x / 2) ** 2)).toBe(false)
})
