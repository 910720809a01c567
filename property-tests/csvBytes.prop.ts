/** Records of CSV made as bytes: the texts that `String`, `toISOString` and the rules of quotes give, field by field. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { ownColumn, sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { type CsvForm, csvRecords } from '../src/io/csv/csvBytes.ts'
import { dayText, timestampText } from '../src/io/timeTexts.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('csvBytes.prop.ts')

/** Numbers as tables have them, and numbers near to those. */
const number = fc.oneof(
  fc.tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 7 })).map(([digits, places]) => digits / 10 ** places),
  fc
    .tuple(fc.integer(), fc.integer({ min: 0, max: 5 }), fc.integer({ min: -2, max: 2 }))
    .map(([digits, places, off]) => nextTo(digits / 10 ** places, off)),
  // of as many digits as doubles have, near decimals, near powers of two and ten, and halfway between decimals
  fc.tuple(fc.double({ min: 1, max: 10, noNaN: true }), fc.integer({ min: -8, max: 16 })).map(([x, ten]) => x * 10 ** ten),
  fc
    .tuple(fc.constantFrom(2, 10), fc.integer({ min: -22, max: 50 }), fc.integer({ min: -9, max: 9 }))
    .map(([base, power, off]) => nextTo(base ** power, off)),
  fc.tuple(fc.bigInt(-(2n ** 52n), 2n ** 52n), fc.integer({ min: 0, max: 60 })).map(([digits, bits]) => Number(digits) / 2 ** bits),
  fc.double(),
  fc.constantFrom(0, -0, 1e15, 999999999999999.9, 1e21, 1e-7, 0.1 + 0.2, 2 ** 53, -1e9, 4294967296, Number.NaN, Number.POSITIVE_INFINITY),
)

const bits = new BigInt64Array(1)
const double = new Float64Array(bits.buffer)

function nextTo(value: number, off: number): number {
  double[0] = value
  bits[0] = (bits[0] as bigint) + BigInt(off)
  return double[0] as number
}

const text = fc
  .array(fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '\t', '\u00a0', '\u2003', '\ufeff', 'é', '😀', ';', '1'), { maxLength: 5 })
  .map((all) => all.join(''))

const NEEDS_QUOTES = /["\r\n]|^\s|\s$/
const form: fc.Arbitrary<CsvForm> = fc.constantFrom(
  { delimiter: ',', decimal: '.' },
  { delimiter: ';', decimal: ',' },
  { delimiter: '\t', decimal: '.' },
)

function fieldOf(value: unknown, { delimiter, decimal }: CsvForm): string {
  if (value === null) return ''
  if (typeof value === 'string')
    return value === '' || value.includes(delimiter) || NEEDS_QUOTES.test(value) ? `"${value.replaceAll('"', '""')}"` : value
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) >= 2 ** 53 && Math.abs(value) < 1e21)
    return `${BigInt(value)}`
  return Object.is(value, -0) ? '-0' : String(value).replace('.', decimal)
}

function recordsOf(
  values: readonly unknown[],
  type: ColumnType,
  form: CsvForm,
  [before, behind]: readonly [number, number] = [0, 0],
): string {
  const whole = columnFromValues([...values.slice(0, before), ...values, ...values.slice(0, behind)], type)
  const column = sliceColumn(whole, Math.min(before, values.length), Math.min(before, values.length) + values.length)
  const batch: Batch = {
    element: { kind: 'row', fields: [{ name: 'x', type, nullable: true }] },
    length: values.length,
    columns: [ownColumn(column)],
  }
  const seen = new TextDecoder('utf-8', { ignoreBOM: true }).decode(csvRecords(batch, form))
  expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(csvRecords({ ...batch, columns: [column] }, form))).toBe(seen)
  return seen
}

const lines = (fields: readonly string[]): string => fields.map((field) => `${field}\n`).join('')
const cut = fc.tuple(fc.nat(9), fc.nat(9))

test('numbers and texts', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(number, { freq: 9 }), { maxLength: 30 }),
      fc.array(fc.option(text, { freq: 9 }), { maxLength: 20 }),
      form,
      cut,
      (numbers, texts, form, sliced) => {
        expect(recordsOf(numbers, { kind: 'f64' }, form, sliced)).toBe(lines(numbers.map((value) => fieldOf(value, form))))
        expect(recordsOf(texts, { kind: 'utf8' }, form, sliced)).toBe(lines(texts.map((value) => fieldOf(value, form))))
      },
    ),
    settings,
  )
})

test('powers of two, which have a nearer neighbour below', () => {
  const powers = Array.from({ length: 75 }, (_, i) => 2 ** (i - 22))
  expect(recordsOf(powers, { kind: 'f64' }, { delimiter: ',', decimal: '.' })).toBe(lines(powers.map(String)))
})

test('days and times', () => {
  const day = fc.oneof(
    fc.integer({ min: -800_000, max: 3_000_000 }),
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fc.constantFrom(-719_528, -719_468, 2_932_896, 2_932_897, 0, 11_016),
  )
  const unit = fc.constantFrom('s', 'ms', 'us', 'ns')
  const time = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.bigInt({ min: -(2n ** 40n), max: 2n ** 53n }),
    fc.bigInt({ min: 0n, max: 2n ** 34n }),
  )
  fc.assert(
    fc.property(fc.array(day, { maxLength: 20 }), unit, fc.array(time, { maxLength: 20 }), (days, of, times) => {
      const batchOf = (type: ColumnType, values: Int32Array | BigInt64Array): string =>
        new TextDecoder().decode(
          csvRecords({
            element: { kind: 'row', fields: [{ name: 'x', type, nullable: false }] },
            length: values.length,
            columns: [{ type, length: values.length, values }],
          }),
        )
      expect(batchOf({ kind: 'date' }, Int32Array.from(days))).toBe(lines(days.map(dayText)))
      expect(batchOf({ kind: 'timestamp', unit: of }, BigInt64Array.from(times))).toBe(
        lines(times.map((value) => timestampText(value, of))),
      )
    }),
    settings,
  )
})
