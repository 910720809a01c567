import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Decimal, makeData, Table, Vector } from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lawRuns } from '../../property-tests/lawRuns.ts'
import { PlanError } from '../core/errors.ts'
import { Session } from '../session/session.ts'
import { float64OfDecimals } from './decimals.ts'

const place = { source: 'file', column: 'price' }

function dataOf(unscaled: readonly bigint[], bits: number, scale: number) {
  const width = bits / 32
  const words = Uint32Array.from(
    unscaled.flatMap((value) => Array.from({ length: width }, (_, i) => Number((value >> BigInt(32 * i)) & 0xffffffffn))),
  )
  const nullBitmap = Uint8Array.of(0b01111111)
  return makeData({
    type: new Decimal(scale, 38, bits),
    length: unscaled.length,
    nullCount: 0,
    data: words,
    ...(unscaled.length === 8 ? { nullBitmap, nullCount: 1 } : {}),
  })
}

const unscaled = (bits: number) =>
  fc.oneof(
    fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }),
    fc.bigInt({ min: -(10n ** 4n), max: 10n ** 4n }),
    fc
      .tuple(
        fc.constantFrom(2n ** 31n, 2n ** 32n, 2n ** 53n, 10n ** 15n, 2n ** 63n, 2n ** 64n),
        fc.bigInt({ min: -2n, max: 2n }),
        fc.boolean(),
      )
      .map(([edge, off, negative]) => BigInt.asIntN(bits, negative ? -edge + off : edge + off)),
  )
const decimals = fc
  .tuple(fc.constantFrom(32, 64, 128, 256), fc.integer({ min: -3, max: 30 }))
  .chain(([bits, scale]) =>
    fc.record({ bits: fc.constant(bits), scale: fc.constant(scale), values: fc.array(unscaled(bits), { minLength: 1, maxLength: 8 }) }),
  )

test('law: a decimal is the double nearest to what its digits say, or refused where there are more than 15', () => {
  fc.assert(
    fc.property(decimals, ({ bits, scale, values }) => {
      const isLong = (value: bigint): boolean => String(value).replace('-', '').replace(/0+$/, '').length > 15
      const present = values.map((value, i) => (values.length === 8 && i === 7 ? undefined : value))
      const convert = () => float64OfDecimals(dataOf(values, bits, scale), place)
      if (present.some((value) => value !== undefined && isLong(value))) expect(convert).toThrow('has more digits than f64 keeps')
      else expect([...convert()]).toEqual(present.map((value) => (value === undefined ? 0 : Number(`${value}e${-scale}`))))
    }),
    { numRuns: lawRuns() },
  )
})

test('a decimal of too many digits is named', () => {
  expect(() => float64OfDecimals(dataOf([1n, -(10n ** 20n) - 7n], 128, 4), place)).toThrow(
    'file, column "price": the decimal -10000000000000000.0007 at row 1 has more digits than f64 keeps, and wider decimals are not read. Write the column as text, or with at most 15 digits.',
  )
})

test('decimals of more digits than their own type has are read, and written once they are plain numbers', async () => {
  const type = new Decimal(2, 4, 128)
  const table = new Table({ price: new Vector([makeData({ type, length: 1, data: Uint32Array.of(1234567, 0, 0, 0) })]) })
  const folder = mkdtempSync(join(tmpdir(), 'distarray-decimals-'))
  await using session = await Session.start({ workers: 1, progress: false })
  const rows = session.fromArrow<{ price: number }>(table)
  expect(await rows.collect()).toEqual([{ price: 12345.67 }])
  const message =
    'Column "price" holds 12345.67, which its decimal(4, 2) has no digits for: where it was read from breaks its own type.\n' +
    'Make it a plain number first, as in withColumns((row) => ({ price: +row.price })).'
  for (const write of ['writeArrow', 'writeParquet'] as const)
    await expect(rows[write](join(folder, 'prices'))).rejects.toThrow(new PlanError(message))
  const plain = rows.withColumns((r) => ({ price: +r.price }))
  await plain.writeParquet(join(folder, 'prices.parquet'))
  expect(await (await session.readParquet(join(folder, 'prices.parquet'))).collect()).toEqual([{ price: 12345.67 }])
  rmSync(folder, { recursive: true })
})
