import { expect, test } from 'vitest'
import type { Column } from '../../../../core/data/column.ts'
import { dateOfTimestamp } from '../../../../core/data/fixedValues.ts'
import { inMilliseconds, wholeMilliseconds } from './wholeMilliseconds.ts'

const COUNTS = [
  0n,
  1n,
  -1n,
  999n,
  1000n,
  -1000n,
  -1001n,
  2n ** 32n,
  -(2n ** 32n),
  2n ** 32n - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  1_700_000_000_123_456_789n,
]
const ODD = Array.from({ length: 1000 }, (_, i) => BigInt(i * i * 7919) * 1_000_003n * (i % 2 === 0 ? 1n : -1n))

function columnOf(unit: 's' | 'ms' | 'us' | 'ns', counts: readonly bigint[]): Column {
  return { type: { kind: 'timestamp', unit }, length: counts.length, values: BigInt64Array.from(counts) }
}

test('counts are divided towards the past, as the Date of each is made', () => {
  for (const [unit, size] of [
    ['us', 1_000n],
    ['ns', 1_000_000n],
  ] as const) {
    const counts = [...COUNTS, ...ODD]
    const floors = counts.map((one) => (one - (((one % size) + size) % size)) / size)
    const ms = inMilliseconds(columnOf(unit, counts))
    expect(ms).toEqual(columnOf('ms', floors))
    expect(floors.map(Number).slice(0, 9)).toEqual(counts.slice(0, 9).map((one) => dateOfTimestamp(one, unit).getTime()))
    // the least count has no whole millisecond below it that 64 bits hold
    const kept = counts.filter((one) => one > -(2n ** 63n))
    expect(wholeMilliseconds(columnOf(unit, kept)).values).toEqual(BigInt64Array.from(kept, (one) => one - (((one % size) + size) % size)))
  }
})

test('columns of nothing finer are themselves; others change inside lists and objects alone', () => {
  for (const column of [
    columnOf('ms', COUNTS),
    columnOf('s', COUNTS),
    { type: { kind: 'f64' }, length: 1, values: new Float64Array(1) } as const,
  ]) {
    expect(wholeMilliseconds(column)).toBe(column)
    expect(inMilliseconds(column)).toBe(column)
  }
  const us = columnOf('us', [1_999n])
  const list: Column = { type: { kind: 'list', item: us.type }, length: 1, offsets: Int32Array.of(0, 1), children: [us] }
  const fields = [{ name: 'l', type: list.type, nullable: false }]
  const struct: Column = { type: { kind: 'struct', fields }, length: 1, children: [list] }
  expect(wholeMilliseconds(struct)).toEqual({ ...struct, children: [{ ...list, children: [columnOf('us', [1_000n])] }] })
  expect(inMilliseconds(struct).children?.[0]?.children).toEqual([columnOf('ms', [1n])])
  expect(inMilliseconds(struct).type).toEqual({
    kind: 'struct',
    fields: [{ name: 'l', type: { kind: 'list', item: { kind: 'timestamp', unit: 'ms' } }, nullable: false }],
  })
})
