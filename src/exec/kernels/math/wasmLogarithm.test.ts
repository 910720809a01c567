import { expect, test } from 'vitest'
import { isEngineLogarithm, logarithmHasBitsOf, logarithms } from './wasmLogarithm.ts'

const COUNT = 8192

/** Results that are not those of `Math.log`, as texts. */
function differences(given: Float64Array): string[] {
  return [...logarithms(given)].flatMap((result, i) => {
    const x = given[i] as number // as many as results
    return Object.is(result, Math.log(x)) ? [] : [`log(${x}) is ${Math.log(x)}, not ${result}`]
  })
}

test('logarithms have the bits of Math.log, around powers of 2 and their roots, at the ends of the middle, and of all sizes', () => {
  expect(isEngineLogarithm()).toBe(true)
  let state = 1
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const around = (x: number): number => x * (1 + (random() - 0.5) * 2 ** -(4 + Math.floor(30 * random())))
  const power = (): number => 2 ** Math.floor(2040 * random() - 1020)
  const forms: readonly (() => number)[] = [
    () => random(),
    () => 4 * random(),
    () => around(1),
    () => around(Math.SQRT2),
    () => around(Math.SQRT1_2),
    () => around(1 + 0x6147a / 2 ** 20),
    () => around(1 + 0x6b851 / 2 ** 20),
    () => around(power()),
    () => around(power() * Math.SQRT2),
    () => (1 + random()) * power(),
    () => 2 ** -1022 * random(),
    () => 1000 * (random() - 0.5),
  ]
  for (const form of forms)
    for (let round = 0; round < 4; round++) expect(differences(Float64Array.from({ length: COUNT }, form))).toEqual([])
  const special = [0, -0, 1, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 2 ** -1022, 1e308, Math.E]
  expect(differences(Float64Array.from(special))).toEqual([])
})

test('an engine with another logarithm is noticed', () => {
  expect(logarithmHasBitsOf((x) => Math.log(x))).toBe(true)
  expect(logarithmHasBitsOf((x) => Math.log2(x) * Math.LN2)).toBe(false)
  expect(logarithmHasBitsOf((x) => 2 * Math.log(Math.sqrt(x)))).toBe(false)
})
