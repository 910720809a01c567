import { DateDay, Dictionary, Field, Float64, Int8, Int32, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, test } from 'vitest'
import { rowReader } from '../../core/data/columnReaders.ts'
import { fieldsOf, typeText } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { readSplit } from '../readSplit.ts'
import { sourceFromArrow, sourceFromColumns, sourceFromRows } from './memory.ts'

async function rowsOf(source: ArraySource): Promise<unknown[]> {
  const rows: unknown[] = []
  for (const split of source.splits) {
    for (const batch of await readSplit(
      source,
      split,
      fieldsOf(source.element).map((field) => field.name),
    )) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return rows
}
const types = (source: ArraySource) =>
  fieldsOf(source.element).map((field) => `${field.name} ${typeText(field.type)}${field.nullable ? '?' : ''}`)

test('rows: values to types, the union of fields, null for what is absent', async () => {
  const day = new Date('2024-05-06')
  const source = sourceFromRows([
    { a: 1, b: 2n, c: true, d: 'x', e: day, f: new Uint8Array([1]), g: [1, null], h: { x: 1 } },
    { a: -0, d: null, i: undefined, h: { y: 'z' } },
  ])
  expect(types(source)).toStrictEqual([
    'a f64',
    'b i64?',
    'c bool?',
    'd utf8?',
    'e timestamp(ms)?',
    'f binary?',
    'g list<f64>?',
    'h struct<x: f64, y: utf8>',
    'i null?',
  ])
  expect(await rowsOf(source)).toStrictEqual([
    { a: 1, b: 2n, c: true, d: 'x', e: day, f: new Uint8Array([1]), g: [1, null], h: { x: 1, y: null }, i: null },
    { a: -0, b: null, c: null, d: null, e: null, f: null, g: null, h: { x: null, y: 'z' }, i: null },
  ])
})

test('single values are scalar elements; nothing is an empty table', async () => {
  const source = sourceFromRows([1, null, Number.NaN])
  expect(source.element).toStrictEqual({ kind: 'scalar', type: { kind: 'f64' }, nullable: true })
  expect(await rowsOf(source)).toStrictEqual([1, null, Number.NaN])
  expect(sourceFromRows([]).splits).toStrictEqual([])
  expect(sourceFromRows([]).rows).toBe(0)
})

test('rows that do not fit together name the row and the column', () => {
  expect(() => sourceFromRows([{ a: 1 }, { a: 'x' }])).toThrow(
    new PlanError(
      'Column "a" mixes number and string. A column holds values of one kind: convert one of them, for example with String(…).',
    ),
  )
  expect(() => sourceFromRows([{ a: 1 }, 2])).toThrow(
    new PlanError('Row 1 of fromRows is 2, and the first row is an object. Give rows of one kind.'),
  )
})

test('{ schema } says the types, and refuses what does not fit', async () => {
  const schema = new Schema([new Field('a', new Int32(), false), new Field('b', new Utf8(), true)])
  expect(types(sourceFromRows([{ a: 1 }], { schema }))).toStrictEqual(['a i32', 'b utf8?'])
  expect(await rowsOf(sourceFromRows([{ b: 'x', a: 1 }], { schema }))).toStrictEqual([{ a: 1, b: 'x' }])
  expect(() => sourceFromRows([{ a: 1 }, { a: 1.5 }], { schema })).toThrow(
    new PlanError('Column "a" is i32, and the value 1.5 at row 1 does not fit it.'),
  )
  expect(() => sourceFromRows([{ a: null }], { schema })).toThrow(
    new PlanError('Column "a" is not nullable in { schema }, and row 0 has no value.'),
  )
  expect(() => sourceFromRows([{ a: 1, c: 2 }], { schema })).toThrow(
    new PlanError('Row 0 of fromRows has a field "c" that { schema } has not. Add it to the schema, or leave it out of the rows.'),
  )
})

test('columns: typed arrays keep their type and are copied', async () => {
  const x = new Float32Array([1.5, 2.5])
  const source = sourceFromColumns({ x, id: new BigInt64Array([1n, 2n]), name: ['a', null] })
  x[0] = 9
  expect(types(source)).toStrictEqual(['x f32', 'id i64', 'name utf8?'])
  expect(await rowsOf(source)).toStrictEqual([
    { x: 1.5, id: 1n, name: 'a' },
    { x: 2.5, id: 2n, name: null },
  ])
})

test('columns of different lengths name both', () => {
  expect(() => sourceFromColumns({ a: [1, 2], b: new Int8Array(3) })).toThrow(
    new PlanError('The columns of fromColumns differ in length: "a" has 2 values and "b" has 3.'),
  )
})

test('large tables have several splits of whole reduction chunks', async () => {
  const n = 200_000
  const source = sourceFromColumns({
    i: Int32Array.from({ length: n }, (_, i) => i),
    odd: Array.from({ length: n }, (_, i) => (i % 2 === 0 ? null : `${i}`)),
  })
  expect(source.splits.map((split) => split.rows)).toStrictEqual([65_536, 65_536, 65_536, 3_392])
  const sent = structuredClone(source)
  const rows = await rowsOf(sent)
  expect(rows.length).toBe(n)
  expect(
    rows.every(
      (row, i) =>
        (row as { i: number; odd: string | null }).i === i && (row as { odd: string | null }).odd === (i % 2 === 0 ? null : `${i}`),
    ),
  ).toBe(true)
})

test('Arrow tables: chunks, dictionaries, slices with offsets', async () => {
  const table = new Table({
    d: vectorFromArray(['x', null, 'y', 'x'], new Dictionary(new Utf8(), new Int8())),
    n: vectorFromArray([1, null, 3, 4], new Float64()),
    day: vectorFromArray([new Date(0), new Date(86_400_000), null, new Date(0)], new DateDay()),
    b: vectorFromArray([true, false, null, true]),
  })
  const all = [
    { d: 'x', n: 1, day: new Date(0), b: true },
    { d: null, n: null, day: new Date(86_400_000), b: false },
    { d: 'y', n: 3, day: null, b: null },
    { d: 'x', n: 4, day: new Date(0), b: true },
  ]
  expect(await rowsOf(sourceFromArrow(table))).toStrictEqual(all)
  expect(await rowsOf(sourceFromArrow(table.slice(1, 4)))).toStrictEqual(all.slice(1))
  expect(await rowsOf(sourceFromArrow(table.slice(1, 3).concat(table.slice(3))))).toStrictEqual(all.slice(1))
})

test("a table that Arrow made of no values has no rows, and its columns' types", async () => {
  const table = new Table({ x: vectorFromArray([] as number[], new Float64()), n: vectorFromArray([] as number[], new Int32()) })
  const source = sourceFromArrow(table)
  expect(types(source)).toStrictEqual(['x f64?', 'n i32?'])
  expect(await rowsOf(source)).toStrictEqual([])
})
