import { expect, test } from 'vitest'
import { checkSeed, fillNormal, fillUniform, IterationRng, intAt, loopUniform, normalAt, philox, uniformAt } from './random.ts'

const hex = (words: Int32Array): string => Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ')

test('the known answers of the authors of Philox4x32-10 (Random123, kat_vectors)', () => {
  expect(hex(philox(0, 0, 0, 0, 0, 0))).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8')
  expect(hex(philox(-1, -1, -1, -1, -1, -1))).toBe('408f276d 41c83b0e a20bc7c6 6d5451fd')
  const pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0] as const
  expect(hex(philox(...pi))).toBe('d16cfe09 94fdcceb 5001e420 24126ea1')
})

test('golden values: these are part of what a seed promises', () => {
  expect([0, 1, 2, 1e10].map((i) => uniformAt(1, i))).toMatchInlineSnapshot(`
    [
      0.6137000925790626,
      0.9785978953918613,
      0.059715165198864106,
      0.7646857668485756,
    ]
  `)
  expect([0, 1, 2].map((i) => normalAt(1, i))).toMatchInlineSnapshot(`
    [
      1.3667809612811825,
      -0.18491160539805773,
      -0.34633217468036354,
    ]
  `)
  expect([0, 1, 2].map((draw) => loopUniform(7, 3, [10, 20], draw))).toMatchInlineSnapshot(`
    [
      0.4914385437641281,
      0.5607663573902392,
      0.9401258094209203,
    ]
  `)
  expect(loopUniform(7, 3, [10, 20, 30], 0)).toMatchInlineSnapshot(`0.13135814899862164`)
})

test('an array filled in pieces is the array filled at once', () => {
  for (const fill of [fillUniform, fillNormal]) {
    const whole = new Float64Array(1001)
    fill(whole, 0, 42, 0.1)
    const pieces = new Float64Array(1001)
    for (const [from, to] of [
      [0, 1],
      [1, 4],
      [4, 500],
      [500, 777],
      [777, 1001],
    ] as const)
      fill(pieces.subarray(from, to), from, 42, 0.1)
    expect(pieces).toEqual(whole)
    const single = new Float32Array(1001)
    fill(single, 0, 42, 0.1)
    expect(single).toEqual(Float32Array.from(whole))
  }
})

test('seeds, passes, keys and draws all give other numbers', () => {
  const drawn = new Set<number>()
  let count = 0
  for (const seed of [0, 1, -1, 0.5, 2 ** 40, 2 ** 40 + 1]) {
    for (const pass of [0, 1, 2]) {
      for (const key of [[0], [1], [0, 1], [1, 1], [0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]) {
        for (let draw = 0; draw < 5; draw++, count++) drawn.add(loopUniform(seed, pass, key, draw))
      }
    }
    for (let i = 0; i < 20; i++, count++) drawn.add(uniformAt(seed, i))
  }
  expect(drawn.size).toBe(count)
  expect(uniformAt(-0, 5)).toBe(uniformAt(0, 5))
})

test('the generator of loop bodies draws by iteration', () => {
  const rng = new IterationRng(5)
  rng.startPass(2)
  rng.begin(3, 4)
  const first = [rng.uniform(), rng.uniform(), rng.normal(), rng.int(10)]
  rng.begin(9, 9)
  rng.uniform()
  rng.begin(3, 4)
  expect([rng.uniform(), rng.uniform(), rng.normal(), rng.int(10)]).toEqual(first)
  expect(first[0]).toBe(loopUniform(5, 2, [3, 4], 0))
  expect(first[1]).toBe(loopUniform(5, 2, [3, 4], 1))
  expect(first[3]).toBe(Math.floor(loopUniform(5, 2, [3, 4], 4) * 10))
})

test('uniform numbers are uniform, along elements and along keys', () => {
  const n = 200_000
  const data = new Float64Array(n)
  fillUniform(data, 0, 3)
  const byKey = Float64Array.from({ length: n }, (_, i) => loopUniform(3, 0, [i], 0))
  for (const sample of [data, byKey]) {
    const bins = new Float64Array(100)
    let serial = 0
    expect(sample.every((x) => x >= 0 && x < 1)).toBe(true)
    for (const [i, x] of sample.entries()) {
      bins[Math.floor(x * 100)]!++
      serial += (x - 0.5) * ((sample[i + 1] ?? 0.5) - 0.5)
    }
    // chi-square with 99 degrees of freedom: beyond 160 with probability 1e-4
    expect(bins.reduce((sum, count) => sum + (count - n / 100) ** 2 / (n / 100), 0)).toBeLessThan(160)
    expect(Math.abs(serial / n) * 12).toBeLessThan(4 / Math.sqrt(n))
  }
})

test('normal numbers have the moments of the normal distribution', () => {
  const n = 200_000
  const data = new Float64Array(n)
  fillNormal(data, 0, 3)
  const moment = (k: number): number => data.reduce((sum, x) => sum + x ** k, 0) / n
  expect(Math.abs(moment(1))).toBeLessThan(4 / Math.sqrt(n))
  expect(Math.abs(moment(2) - 1)).toBeLessThan((4 * Math.SQRT2) / Math.sqrt(n))
  expect(Math.abs(moment(3))).toBeLessThan((4 * Math.sqrt(15)) / Math.sqrt(n))
  expect(Math.abs(moment(4) - 3)).toBeLessThan((4 * Math.sqrt(96)) / Math.sqrt(n))
})

test('integers stay below their bound', () => {
  const seen = new Set(Array.from({ length: 200 }, (_, i) => intAt(1, i, 7)))
  expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test('rounding to f32 does not reach the scale', () => {
  // with seed 1 this is the first element above 1 - 2^-25, which rounds to 1
  const first = 37623816
  expect(Math.fround(uniformAt(1, first))).toBe(1)
  for (const scale of [1, 0.1, -0.7, 3e-45, 1e38]) {
    const data = new Float32Array(2)
    fillUniform(data, first, 1, scale)
    expect(Math.abs(data[0] as number)).toBeLessThan(Math.abs(scale))
    if (Math.abs(scale) > 1e-30) expect(Math.abs(data[0] as number)).toBeGreaterThan(Math.abs(scale) * 0.9999999)
  }
})

test('a seed that is no number', () => {
  expect(() => checkSeed(Number.NaN)).toThrow('The seed is NaN. Seeds are finite numbers.')
  expect(() => checkSeed(5)).not.toThrow()
})
