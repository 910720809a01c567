/**
 * Numbers out of bytes: those of `Number(text)`, to the bit, whatever digits there are; and most that files hold are read
 * without a text.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainNumber } from '../src/io/csv/csvNumbers.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('csvNumbers.prop.ts')

/** What `plainNumber` says it reads, but for numbers of more than 19 digits. */
const PLAIN = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,22})?$/

const digits = (least: number, most: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...'0123456789', '0', '9', '5'), { minLength: least, maxLength: most, size: 'max' }).map((all) => all.join(''))

/** A number half way between two doubles, or next to it, with as many digits as can be read. */
const nearlyHalfWay = fc
  .tuple(fc.integer({ min: 1, max: 2 ** 22 }), fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: -2, max: 2 }))
  .map(([high, low, off]) => {
    const double = high + low / 2 ** 31 // with room for the bit behind it
    const ulp = 2 ** (Math.floor(Math.log2(double)) - 52)
    const places = Math.min(22, 19 - Math.floor(Math.log10(double)) - 1)
    const scaled =
      BigInt(Math.round(double * 2 ** 31)) * 10n ** BigInt(places) * 2n ** 60n +
      BigInt(Math.round((ulp / 2) * 2 ** 91)) * 10n ** BigInt(places)
    const text = String(scaled / 2n ** 91n + BigInt(off)).padStart(places + 1, '0')
    return `${text.slice(0, -places)}.${text.slice(-places)}`
  })

const anything = fc.oneof(
  {
    arbitrary: fc.tuple(fc.constantFrom('', '-'), digits(1, 5), digits(1, 22)).map(([sign, whole, part]) => `${sign}${whole}.${part}`),
    weight: 6,
  },
  { arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String), weight: 2 },
  { arbitrary: fc.double({ min: -1000, max: 1000, noNaN: true }).map(String), weight: 4 },
  { arbitrary: digits(1, 18), weight: 2 },
  { arbitrary: nearlyHalfWay, weight: 4 },
  {
    arbitrary: fc.array(fc.constantFrom(...'0123456789', '-', '+', '.', 'e', ' ', 'a', ','), { maxLength: 8 }).map((all) => all.join('')),
    weight: 2,
  },
)

test('a number read from bytes is that of its text', () => {
  let read = 0
  let plain = 0
  fc.assert(
    fc.property(anything, digits(0, 3), (text, before) => {
      const bytes = new TextEncoder().encode(`${before}${text}1`)
      const found = plainNumber(bytes, before.length, before.length + text.length)
      if (PLAIN.test(text)) plain++
      else expect(found).toBeNaN()
      if (Number.isNaN(found)) return
      read++
      expect(Object.is(found, Number(text)), `${text} is ${found}`).toBe(true)
    }),
    { ...settings, numRuns: 20 * (settings.numRuns ?? 1000) },
  )
  expect(read / plain).toBeGreaterThan(0.5) // or texts are made of most after all
})
