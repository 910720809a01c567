import { expect, test } from 'vitest'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { valueReader } from '../../../core/data/columnReaders.ts'
import { ordinary } from '../../../core/data/columnSlices.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import { codesOf } from './codes.ts'

test('many distinct values have a code each, in the order in which they come first', () => {
  const numbers = Array.from({ length: 12_000 }, (_, i) => (i * 7919) % 5003)
  const forms: readonly [ColumnType, (n: number) => unknown][] = [
    [{ kind: 'f64' }, (n) => n],
    [{ kind: 'f64' }, (n) => n / 7],
    [{ kind: 'i32' }, (n) => n - 2500],
    [{ kind: 'i32' }, (n) => n * 400_000 - 1_000_000_000],
    [{ kind: 'i64' }, (n) => BigInt(n) << 40n],
    [{ kind: 'utf8' }, (n) => `text ${n}`],
  ]
  for (const [type, of] of forms) {
    const values = numbers.map((n, i) => (i % 11 === 3 ? null : of(n)))
    const parts = [columnFromValues(values.slice(0, 7000), type), columnFromValues(values.slice(7000), type)]
    const coded = codesOf(parts, 2 ** 20, ordinary)
    const distinct = [...new Set(values.filter((value) => value !== null))]
    expect(coded?.values.length).toBe(distinct.length)
    const read = valueReader(coded?.values ?? columnFromValues([]))
    expect(distinct.map((_, code) => read(code))).toStrictEqual(distinct)
    expect(Array.from(coded?.codes ?? [], (code) => distinct[code])).toStrictEqual(values.filter((value) => value !== null))
  }
})

test('values that take too much room for a dictionary have no codes', () => {
  for (const type of ['f64', 'i32'] as const) {
    const parts = [columnFromValues([1, 2, 3, 1], { kind: type })]
    expect(codesOf(parts, type === 'f64' ? 24 : 12, ordinary)).toBeUndefined()
    expect(codesOf(parts, type === 'f64' ? 25 : 13, ordinary)?.values.length).toBe(3)
  }
})
