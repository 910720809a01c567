/**
 * Law: the functions of Math that kernels have code for, and the remainder of doubles, give the bits that the engine gives: of numbers of
 * all sizes, close to those at which the code takes another path, and of special ones; by themselves, in lanes of loops, behind
 * conditions, and over columns.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { hypotHasBitsOf, isEngineHypot } from '../src/exec/kernels/math/hypot.ts'
import { LIBRARY_NAMES, libraryFunction, sameAs } from '../src/exec/kernels/math/library/mathLibrary.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('mathFunctions.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** At which the functions take another path, or end. */
const PLACES = [
  ...[0, -0, 1, -1, 0.5, 2, 22, -22, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, -5e-324, 2 ** -1022],
  ...[
    Number.MAX_VALUE,
    -Number.MAX_VALUE,
    2 ** -54,
    2 ** -55,
    2 ** -28,
    -(2 ** -28),
    2 ** -29,
    2 ** 28,
    -(2 ** 28),
    2 ** 53,
    2 ** 26,
    2 ** 32,
  ],
  ...[Math.LN2 / 2, 1.5 * Math.LN2, 56 * Math.LN2, 20 * Math.LN2, -56 * Math.LN2, 709.78, -745, 710.47, Math.SQRT2, Math.SQRT1_2],
  ...[Math.SQRT2 - 1, Math.SQRT1_2 - 1, 2 ** 1023, 2 ** 995, 2 * Math.PI, 360, 1e-7, 12.5, 7, 3, 10, 1000, -0.3, 0.25],
]

const NUMBER: fc.Arbitrary<number> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...PLACES) },
  { weight: 2, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.integer({ min: -40, max: 40 }) },
  { weight: 3, arbitrary: fc.double({ min: -2, max: 2, noNaN: true }) },
  { weight: 3, arbitrary: fc.double({ min: -45, max: 45, noNaN: true }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...PLACES), fc.double({ min: -1, max: 1, noNaN: true }), fc.integer({ min: 2, max: 50 }))
      .map(([at, by, digits]) => at * (1 + by * 2 ** -digits)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.integer({ min: -80, max: 80 })).map(([x, power]) => x * 2 ** power),
  },
)
const COUNT = 96
const NUMBERS = fc.array(NUMBER, { minLength: COUNT, maxLength: COUNT, size: 'max' })

type Numeric = (...args: number[]) => number

function engineOf(name: string): Numeric {
  return name === '%' ? (a, b) => (a as number) % (b as number) : ((Math as unknown as Record<string, Numeric>)[name.slice(5)] as Numeric)
}

for (const name of LIBRARY_NAMES) {
  test(`${name} has the bits of the engine's`, () => {
    const [own, engine] = [libraryFunction(name) as Numeric, engineOf(name)]
    expect(own).toBeDefined()
    fc.assert(
      fc.property(NUMBERS, (numbers) => {
        const differences = numbers.flatMap((x, i) => {
          const y = numbers[(7 * i + 3) % COUNT] as number // inside
          const [ours, theirs] = [own(x, y), engine(x, y)]
          return Object.is(ours, theirs) ? [] : [`${name}(${x}, ${y}) is ${theirs}, not ${ours}`]
        })
        expect(differences).toEqual([])
      }),
      RUN,
    )
  })
}

test('an engine with other functions is noticed', () => {
  for (const name of LIBRARY_NAMES) {
    const engine = engineOf(name)
    expect(sameAs(name, engine)).toBeDefined()
    expect(sameAs(name, (x, y) => engine(x as number, y as number) * (1 + 2 ** -52))).toBe(undefined)
  }
  expect(isEngineHypot()).toBe(true)
  expect(hypotHasBitsOf(Math.hypot)).toBe(true)
  expect(hypotHasBitsOf((...numbers) => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0)))).toBe(false)
})

const FUNCTIONS = [
  ...['Math.hypot(x, y)', 'Math.hypot(y, x, z)', 'Math.hypot(x, y, z, x - y, 0.5)', 'Math.hypot(x)', 'Math.hypot(z, 3)'],
  ...['x % y', 'y % x', 'x % 1', 'x % (2 * Math.PI)', 'y % 7', '-x % 360', 'Math.floor(x) % Math.floor(y)', 'x % 0', '(x - y) % 0.1'],
  ...['Math.tanh(x)', 'Math.sinh(x)', 'Math.cosh(y)', 'Math.expm1(x)', 'Math.log1p(x)', 'Math.log2(y)', 'Math.log10(x)', 'Math.cbrt(x)'],
  ...['Math.asinh(x)', 'Math.acosh(y)', 'Math.atanh(x)', 'Math.tanh(Math.hypot(x, y)) * Math.cbrt(y % 3)'],
]

type Loop = ReturnType<typeof session.loop>
const [a, b, out] = [session.zeros([COUNT]), session.zeros([COUNT]), session.zeros([COUNT])]
const loops: readonly { readonly text: string; readonly loop: Loop; readonly serial: (x: number, y: number, z: number) => number }[] =
  FUNCTIONS.flatMap((text) => {
    const serial = new Function('x', 'y', 'z', `return ${text}`) as (x: number, y: number, z: number) => number
    const values = 'const x = a.get(i), y = b.get(i), z = a.get(0)'
    const always = new Function('[i]', '{ a, b, out }', `${values}; out.set(i, ${text})`)
    const sometimes = new Function(
      '[i]',
      '{ a, b, out }',
      `${values}; if (x > y || x <= y || x !== y) { let r = 0; for (let k = 0; k < 1; k++) r = ${text}; out.set(i, r) }`,
    )
    return [always, sometimes].map((body) => ({ text, serial, loop: session.loop(session.range(COUNT), { a, b, out }, body as never) }))
  })

test('loops have the bits of plain JavaScript', async () => {
  const targets = new Set<string | undefined>()
  await fc.assert(
    fc.asyncProperty(NUMBERS, fc.nat({ max: loops.length - 1 }), async (numbers, from) => {
      await a.assign([null], Float64Array.from(numbers))
      await b.assign([null], Float64Array.from(numbers).reverse())
      for (const { text, loop, serial } of loops.slice(from, from + 4)) {
        await loop.run()
        targets.add(loop.plan.kernel?.target)
        const results = await out.collect()
        const differences = numbers.flatMap((x, i) => {
          const [y, z] = [numbers[COUNT - 1 - i] as number, numbers[0] as number] // inside
          return Object.is(results[i], serial(x, y, z)) ? [] : [`${text} of ${x}, ${y}, ${z} is ${serial(x, y, z)}, not ${results[i]}`]
        })
        expect(differences).toEqual([])
      }
    }),
    RUN,
  )
  expect([...targets].sort()).toEqual(['wasm', 'wasm-simd'])
})

test('columns have the bits of plain JavaScript', async () => {
  await fc.assert(
    fc.asyncProperty(NUMBERS, async (numbers) => {
      const rows = numbers.map((x, i) => ({ x, y: numbers[COUNT - 1 - i] as number })) // inside
      const table = session.fromRows(rows).map((r) => ({ h: Math.hypot(r.x, r.y), m: r.x % r.y, t: Math.tanh(r.x), l: Math.log1p(r.y) }))
      const results = await table.collect()
      expect(results).toEqual(rows.map(({ x, y }) => ({ h: Math.hypot(x, y), m: x % y, t: Math.tanh(x), l: Math.log1p(y) })))
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 4) },
  )
})
