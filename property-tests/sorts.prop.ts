/**
 * Sorting by the bits of numbers gives the order of the numbers: NaN after all others, zeros equal, nulls last, equal keys as they came.
 * Keys of several axes are sorted axis by axis.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/column.ts'
import { columnFromValues } from '../src/core/columnBuilder.ts'
import type { ColumnType } from '../src/core/schema.ts'
import { sortOrder } from '../src/exec/arrays/sortKeys.ts'
import { scalarBatch } from '../src/exec/operators/batches.ts'
import { sortedRows } from '../src/exec/operators/order.ts'
import { radixRows } from '../src/exec/operators/radixSort.ts'
import { isCuttable, runSortTask } from '../src/exec/operators/sortTask.ts'
import { sortedPieces } from '../src/exec/sortRun.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('sorts.prop.ts')

const NUMBERS: readonly { readonly type: ColumnType; readonly values: fc.Arbitrary<number | bigint | boolean> }[] = [
  {
    type: { kind: 'f64' },
    values: fc.oneof(fc.double(), fc.constantFrom(0, -0, NaN, Infinity, -Infinity, 5e-324, -5e-324), fc.integer({ min: -3, max: 3 })),
  },
  { type: { kind: 'f32' }, values: fc.oneof(fc.float(), fc.constantFrom(0, -0, NaN, Infinity, -Infinity)) },
  { type: { kind: 'i32' }, values: fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 }), fc.constantFrom(2 ** 31 - 1, -(2 ** 31))) },
  { type: { kind: 'u32' }, values: fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 31, 2 ** 31 - 1)) },
  { type: { kind: 'i16' }, values: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }) },
  { type: { kind: 'u8' }, values: fc.integer({ min: 0, max: 255 }) },
  { type: { kind: 'bool' }, values: fc.boolean() },
  { type: { kind: 'i64' }, values: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -3n, max: 3n })) },
  { type: { kind: 'u64' }, values: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 3n })) },
]

/** Many values out of few drawn ones. */
const column = fc.constantFrom(...NUMBERS).chain(({ type, values }) =>
  fc
    .record({
      some: fc.array(fc.option<number | bigint | boolean>(values, { freq: 10, nil: null }), { minLength: 1, maxLength: 60, size: 'max' }),
      length: fc.nat(400),
      step: fc.integer({ min: 1, max: 59 }),
    })
    .map(({ some, length, step }) => ({
      type,
      drawn: Array.from({ length }, (_, i) => some[((i * step) ^ (i >> 4)) % some.length] ?? null),
    })),
)

type Value = number | bigint | boolean | null

function compare(a: Value, b: Value, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [x, y] = descending ? [b, a] : [a, b]
  if (x < y) return -1
  if (x > y) return 1
  return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
}

test('rows sorted by the bits of their keys are in the order of the keys', () => {
  let bits = 0
  fc.assert(
    fc.property(column, fc.boolean(), fc.option(fc.nat(100), { nil: undefined }), ({ type, drawn }, descending, limit) => {
      const key = columnFromValues(drawn, type)
      const expected = [...drawn.keys()].sort((a, b) => compare(drawn[a] as Value, drawn[b] as Value, descending)).slice(0, limit)
      expect([...sortedRows(key, limit === undefined ? { descending } : { descending, limit })]).toEqual(expected)
      if (radixRows(key, descending) !== undefined) bits++
    }),
    LAW,
  )
  expect(bits).toBeGreaterThan(LAW.numRuns / 4)
})

test('a sort that workers share, each a part of the order, gives the sorted table', async () => {
  let shared = 0
  await fc.assert(
    fc.asyncProperty(column, fc.boolean(), fc.integer({ min: 1, max: 4 }), async ({ type, drawn }, descending, workers) => {
      const key = columnFromValues(drawn, type)
      if (!isCuttable(key)) return
      const rows = columnFromValues([...drawn.keys()], { kind: 'i32' })
      const batch = { ...scalarBatch(rows), hidden: [key] }
      const pieces = await sortedPieces(batch, descending, { workers, run: async (task) => [runSortTask(structuredClone(task))] })
      if (pieces.length > 1) shared++
      const expected = [...drawn.keys()].sort((a, b) => compare(drawn[a] as Value, drawn[b] as Value, descending))
      expect(pieces.flatMap((piece) => Array.from((piece.columns[0] as Column).values as Int32Array))).toEqual(expected)
    }),
    LAW,
  )
  expect(shared).toBeGreaterThan(LAW.numRuns / 4)
})

/** Axes of keys below an extent each, many of them the same. */
const axes = fc
  .record({
    length: fc.nat(300),
    extents: fc.array(fc.constantFrom(1, 2, 7, 300, 5000, 2 ** 16, 2 ** 31 - 1), { minLength: 1, maxLength: 4 }),
  })
  .chain(({ length, extents }) =>
    fc.tuple(
      ...extents.map((extent) =>
        fc
          .array(fc.oneof(fc.nat(extent - 1), fc.constantFrom(0, extent - 1)), { minLength: 1, maxLength: 20, size: 'max' })
          .map((some) => Int32Array.from({ length }, (_, i) => some[(i * 7 + (i >> 3)) % some.length] as number)),
      ),
    ),
  )

test('keys of several axes are sorted axis by axis, equal ones as they came', () => {
  const found = { words: 0, sorted: 0 }
  fc.assert(
    fc.property(axes, (keys) => {
      const length = keys[0]?.length ?? 0
      const expected = [...Array(length).keys()].sort((a, b) => {
        const axis = keys.find((column) => column[a] !== column[b])
        return axis === undefined ? a - b : (axis[a] as number) - (axis[b] as number)
      })
      const order = sortOrder(keys, length)
      expect([...(order ?? Array(length).keys())]).toEqual(expected)
      if (order === undefined) found.sorted++
      else if (length > 64 && keys.reduce((product, column) => product * (1 + Math.max(...column)), 1) > 2 ** 32) found.words++
    }),
    LAW,
  )
  expect(Math.min(found.words, found.sorted), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 50)
})
