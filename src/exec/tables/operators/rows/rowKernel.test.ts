import { expect, test } from 'vitest'
import type { Batch } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { rowReader, valueReader } from '../../../../core/data/columnReaders.ts'
import type { Callback } from '../../../../core/plan/transformations.ts'
import { lowerFunction, returnedElement } from '../../../../planner/function/userFunction.ts'
import { rowBatch, scalarBatch } from '../batches.ts'
import type { RowContext } from './rowFailure.ts'
import { callable, columnOf, mapRows, selectRows } from './rowKernel.ts'

const context: RowContext = { method: 'map', firstRow: 100, position: 0 }
const ROWS = [
  { n: 1.5, s: 'a', b: 1n, t: true, d: new Date(5), o: { x: 1 } },
  { n: null, s: null, b: null, t: null, d: null, o: null },
  { n: NaN, s: 'žlutý', b: -(2n ** 63n), t: false, d: new Date(-1), o: { x: null } },
  { n: -0, s: '', b: 0n, t: true, d: new Date(0), o: { x: 7 } },
]
type Row = (typeof ROWS)[number]
const NAMES = ['n', 's', 'b', 't', 'd', 'o'] as const
const batch: Batch = rowBatch(
  NAMES,
  NAMES.map((name) => columnFromValues(ROWS.map((row) => row[name]))),
  ROWS.length,
)

function lowered(f: Callback, over: Batch = batch) {
  const at = { kind: 'row' as const, method: 'map', inputs: [over.element], key: { argument: 1, rank: 1 } }
  const { fn } = lowerFunction(f, at)
  expect(fn.refusals.map((refusal) => refusal.message)).toEqual([])
  return { fn, returned: returnedElement(fn, at) }
}

/** The kernel gives what calling the function gives. */
function agrees(f: (row: Row, key: [number]) => unknown): void {
  const { fn, returned } = lowered(f)
  const mapped = mapRows(fn, batch, context, returned)
  const read = rowReader(mapped)
  const expected = ROWS.map((row, i) => f(row, [100 + i]) ?? null)
  expect(Array.from({ length: mapped.length }, (_, i) => read(i))).toEqual(expected)
  const column = columnOf(fn, batch, context, { arrays: 'list' })
  const value = valueReader(column)
  expect(Array.from({ length: column.length }, (_, i) => value(i))).toEqual(expected)
  const selection = selectRows(fn, batch, context)
  expect([...selection]).toEqual(ROWS.flatMap((row, i) => (f(row, [100 + i]) ? [i] : [])))
}

test('kernels give what the function gives, on nulls, NaN, -0, bigints, dates, nested fields and keys', () => {
  agrees((r) => r.n)
  agrees((r) => (r.n ?? 3) * 2)
  agrees((r) => (r.n as number) + 1)
  agrees((r) => r.s === 'a')
  agrees((r) => r.s?.length)
  agrees((r) => (r.b === null ? null : r.b + 1n))
  agrees((r) => !r.t)
  agrees((r) => r.d?.getTime() ?? -7)
  agrees((r) => r.o?.x)
  agrees((_, [i]) => i * 2)
  agrees((r) => ({ n: r.n, twice: r.s === null ? null : r.s + r.s, big: r.b }))
  agrees((r) => (r.t ? { n: r.n, k: 1 } : { n: 0, k: 2 }))
  agrees((r) => {
    let count = 0
    for (let i = 0; i < 10; i++) {
      if (i === 3) continue
      if (i > 6) break
      count += r.t ? i : 1
    }
    if (count > 10) return count
    return -count
  })
})

test('a column that is only passed on keeps its type and every digit', () => {
  const ns = { type: { kind: 'timestamp', unit: 'ns' }, length: 2, values: BigInt64Array.of(1n, 2n) } as const
  const table = rowBatch(['when', 'n'], [ns, columnFromValues([1, 2])], 2)
  const { fn, returned } = lowered((r: { when: Date; n: number }) => ({ at: r.when, m: r.n + 1 }), table)
  expect(mapRows(fn, table, context, returned).columns[0]).toBe(ns)
})

test('single values and tuples', () => {
  const values = scalarBatch(columnFromValues([3, null, 1]))
  const { fn } = lowered((v: number) => [v, 'x'], values)
  const column = columnOf(fn, values, context, { arrays: 'items' })
  const read = valueReader(column)
  expect([0, 1, 2].map((i) => read(i))).toEqual([
    { 0: 3, 1: 'x' },
    { 0: null, 1: 'x' },
    { 0: 1, 1: 'x' },
  ])
})

test('what a function throws names the position and keeps the cause', () => {
  const { fn } = lowered((r: Row) => (r.n as number) > 0 || (r.s as string).length > 0)
  expect(() => selectRows(fn, batch, { ...context, position: 40 })).toThrowError(
    expect.objectContaining({ name: 'RowFailure', position: 41, message: "Cannot read properties of null (reading 'length')" }),
  )
})

test('a map that returns its element runs for what it may throw', () => {
  const { fn, returned } = lowered((r: Row) => {
    if (r.n === null) throw new Error('none')
    return r
  }, batch)
  expect(() => mapRows(fn, batch, context, returned)).toThrowError(expect.objectContaining({ name: 'RowFailure', message: 'none' }))
  const tested = lowered((r: Row) => ((r.s as string).length > 0 ? r : r), batch)
  expect(() => mapRows(tested.fn, batch, context, tested.returned)).toThrowError(
    expect.objectContaining({ message: "Cannot read properties of null (reading 'length')" }),
  )
})

test('functions of two elements are called with values', () => {
  const at = { kind: 'row' as const, method: 'reduce', inputs: [batch.element, batch.element] }
  const { fn } = lowerFunction((a: Row, b: Row) => ({ n: (a.n ?? 0) + (b.n ?? 0), s: a.s }), at)
  expect(callable(fn)(ROWS[0], ROWS[3])).toEqual({ n: 1.5, s: 'a' })
})
