import { expect, test } from 'vitest'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { rowReader } from '../../../core/data/columnReaders.ts'
import type { AggregateKind, JoinHow } from '../../../core/plan/logicalPlan.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch, scalarBatch } from './batches.ts'
import { runWide } from './index.ts'

function table(rows: readonly Readonly<Record<string, unknown>>[]): ExecBatch {
  const names = Object.keys(rows[0] ?? {})
  return rowBatch(
    names,
    names.map((name) => columnFromValues(rows.map((row) => row[name]))),
    rows.length,
  )
}

function valuesOf(batches: readonly ExecBatch[]): unknown[] {
  return batches.flatMap((batch) => {
    const read = rowReader(batch)
    return Array.from({ length: batch.length }, (_, i) => read(i))
  })
}

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}

const left = table([
  { id: 1, name: 'a' },
  { id: null, name: 'b' },
  { id: 3, name: 'c' },
])
const right = table([
  { id: 3, name: 'x' },
  { id: 3, name: 'y' },
  { id: null, name: 'z' },
  { id: 9, name: 'w' },
])
const join = (how: JoinHow, suffix = '_right'): Extract<WideOperator, { kind: 'HashJoinExec' }> => ({
  kind: 'HashJoinExec',
  how,
  on: 'id',
  shared: ['id'],
  suffix,
  names: ['orders', 'users'],
  element: { kind: 'unknown' },
})
const joined = (how: JoinHow): unknown[] => valuesOf(runWide(join(how), [left, right]))

test('joins keep the left order; unmatched right rows come last; null matches nothing', () => {
  const matches = [
    { id: 3, name: 'c', name_right: 'x' },
    { id: 3, name: 'c', name_right: 'y' },
  ]
  const unmatchedLeft = [
    { id: 1, name: 'a', name_right: null },
    { id: null, name: 'b', name_right: null },
  ]
  const unmatchedRight = [
    { id: null, name: null, name_right: 'z' },
    { id: 9, name: null, name_right: 'w' },
  ]
  expect(joined('inner')).toEqual(matches)
  expect(joined('left')).toEqual([...unmatchedLeft, ...matches])
  expect(joined('right')).toEqual([...matches, ...unmatchedRight])
  expect(joined('full')).toEqual([...unmatchedLeft, ...matches, ...unmatchedRight])
  expect(joined('semi')).toEqual([{ id: 3, name: 'c' }])
  expect(joined('anti')).toEqual([
    { id: 1, name: 'a' },
    { id: null, name: 'b' },
  ])
})

test('keys of different kinds, and columns that collide twice, are refused', () => {
  const bigints = table([{ id: 1n, name: 'x' }])
  expect(messageOf(() => runWide(join('inner'), [left, bigints]))).toBe(
    'Cannot join orders and users on "id": f64 on the left, i64 on the right.\nConvert one side, for example with withColumns.',
  )
  const twice = table([{ id: 3, name: 'c', name_right: 'd' }])
  expect(messageOf(() => runWide(join('inner'), [twice, right]))).toBe(
    'Cannot join orders and users: both have a column "name", and "name_right" is taken too.\nChoose another suffix, as in { suffix: \'_other\' }.',
  )
})

test('an index sorts by key, and names the two rows of a repeated one', () => {
  const batch = { ...scalarBatch(columnFromValues(['a', 'b', 'c'])), keys: [Int32Array.of(2, 1, 2), Int32Array.of(0, 5, 0)] }
  expect(messageOf(() => runWide({ kind: 'IndexExec', rank: 2 }, [batch]))).toBe(
    'index: rows 0 and 2 both have the key [2, 0]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.',
  )
  const combine = { original: (a: string, b: string) => a + b, text: '', span: { line: 1, column: 1, text: '' }, refusals: [] }
  const [indexed] = runWide({ kind: 'IndexExec', rank: 2, combine }, [batch])
  expect(valuesOf(indexed === undefined ? [] : [indexed])).toEqual(['b', 'ac'])
  expect(indexed?.keys).toEqual([Int32Array.of(1, 2), Int32Array.of(5, 0)])
})

function aggregate(kind: AggregateKind, values: readonly unknown[], q?: number): unknown[] {
  const hidden = [columnFromValues(values.map(() => 0)), columnFromValues(values)]
  const batch: ExecBatch = { element: { kind: 'row', fields: [] }, length: values.length, columns: [], hidden }
  const aggregates = [{ name: 'out', kind, column: 0, ...(q === undefined ? {} : { q }) }]
  return valuesOf(runWide({ kind: 'HashAggregateExec', aggregates, element: { kind: 'unknown' } }, [batch])).map(
    (row) => (row as { out: unknown }).out,
  )
}

test('aggregates skip nulls, but first, last and collect; of nothing sum and count are 0 and the others null', () => {
  const kinds = [
    'sum',
    'count',
    'countDistinct',
    'mean',
    'min',
    'max',
    'first',
    'last',
    'variance',
    'stddev',
    'quantile',
    'collect',
  ] as const
  expect(kinds.map((kind) => aggregate(kind, [null, null], 0.5)[0])).toEqual([
    0,
    0,
    0,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    [null, null],
  ])
  expect(kinds.map((kind) => aggregate(kind, [4, null, 1, 4], 0.25)[0])).toEqual([
    9,
    3,
    2,
    3,
    1,
    4,
    4,
    4,
    3,
    Math.sqrt(3),
    2.5,
    [4, null, 1, 4],
  ])
})

test('extremes are those of Math.min and Math.max for numbers, and of < for all else', () => {
  expect(aggregate('min', [0, -0, 1])[0]).toBe(-0)
  expect(aggregate('max', [-0, 0, -1])[0]).toBe(0)
  expect(aggregate('max', [1, NaN, 2])[0]).toBe(NaN)
  expect(aggregate('min', ['b', 'a', 'ž'])[0]).toBe('a')
  expect(aggregate('max', [1n, 3n, -2n])[0]).toBe(3n)
  expect(aggregate('min', [new Date(5), new Date(-5)])[0]).toEqual(new Date(-5))
})

test('sums of bigints are exact or an error, and sums need numbers', () => {
  expect(aggregate('sum', [2n ** 62n, -1n, 2n ** 62n])[0]).toBe(2n ** 63n - 1n)
  expect(messageOf(() => aggregate('sum', [2n ** 62n, 2n ** 62n]))).toBe(
    'The sum "out" is 9223372036854775808n, which does not fit 64 bits. Sum numbers instead, for example with Number(…).',
  )
  expect(messageOf(() => aggregate('mean', ['a']))).toBe(
    'mean needs numbers, and the values of "out" are utf8. Convert them in the function given to mean.',
  )
})

test('sort keys that have no order are refused', () => {
  const batch = { ...scalarBatch(columnFromValues([1])), hidden: [columnFromValues([Uint8Array.of(1)])] }
  expect(messageOf(() => runWide({ kind: 'SortExec', descending: false }, [batch]))).toBe(
    'sortBy cannot order values of type binary. Sort by numbers, bigints, strings, booleans, dates, or an array of these.',
  )
})

test('a repartition cuts evenly in order, or by key with equal keys together', () => {
  const batch = { ...scalarBatch(columnFromValues([0, 1, 2, 3, 4])), hidden: [columnFromValues(['x', 'y', 'z', 'y', 'x'])] }
  const pieces = (by: boolean) => runWide({ kind: 'RepartitionExec', partitions: 2, by }, [batch]).map((piece) => valuesOf([piece]))
  expect(pieces(false)).toEqual([
    [0, 1],
    [2, 3, 4],
  ])
  expect(pieces(true)).toEqual([
    [0, 2, 4],
    [1, 3],
  ])
})
