import { expect, test } from 'vitest'
import type { Column } from './data/column.ts'
import { columnFromValues } from './data/columnBuilder.ts'
import { concatColumns } from './data/columnConcat.ts'
import { castColumn, convertColumn } from './data/columnConversions.ts'
import { rowReader, valueReader } from './data/columnReaders.ts'
import { nullColumn, sliceColumn, takeColumn } from './data/columnSlices.ts'

function valuesOf(column: Column): unknown[] {
  const read = valueReader(column)
  return Array.from({ length: column.length }, (_, i) => read(i))
}

const SAMPLES: readonly (readonly unknown[])[] = [
  [1.5, NaN, -0, null, Infinity],
  [1n, null, -(2n ** 63n)],
  [true, false, null],
  ['a', '', null, 'žluť😀', 'x'.repeat(50)],
  [new Date(0), null, new Date(-1), new Date(8.64e15)],
  [Uint8Array.of(1, 2), Uint8Array.of(), null],
  [[1, 2], [], null, [null, 3]],
  [{ a: 1, b: 'x' }, { a: null, b: 'y' }, null],
  [null, null],
  [[{ k: [1n] }], null],
]

test('what is built reads back, taken and sliced as well', () => {
  for (const sample of SAMPLES) {
    const column = columnFromValues(sample)
    expect(valuesOf(column)).toEqual(sample)
    expect(valuesOf(takeColumn(column, Int32Array.of(1, -1, 0, 1)))).toEqual([sample[1], null, sample[0], sample[1]])
    expect(valuesOf(sliceColumn(column, 1, 2))).toEqual([sample[1]])
    expect(valuesOf(takeColumn(sliceColumn(column, 1, 2), Int32Array.of(0, 0)))).toEqual([sample[1], sample[1]])
    expect(valuesOf(concatColumns([sliceColumn(column, 1, 2), column, nullColumn({ kind: 'null' }, 2)]))).toEqual([
      sample[1],
      ...sample,
      null,
      null,
    ])
    expect(valuesOf(concatColumns([column, columnFromValues(sample, column.type)]))).toEqual([...sample, ...sample])
  }
})

test('a column of one ASCII text reads the same before and after it is decoded whole', () => {
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`)
  const read = valueReader(sliceColumn(columnFromValues(texts), 10, 100))
  for (let i = 0; i < 90; i++) expect(read(i)).toBe(texts[i + 10])
})

test('mixed kinds, misfits and half surrogates are named', () => {
  const message = (run: () => unknown) => {
    try {
      run()
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  expect(message(() => columnFromValues([1, 'a'], undefined, 'price'))).toBe(
    'Column "price" mixes number and string. A column holds values of one kind: convert one of them, for example with String(…).',
  )
  expect(message(() => columnFromValues([{ a: 1 }, { a: 1n }], undefined, 'row'))).toBe(
    'Column "row.a" mixes number and bigint. A column holds values of one kind: convert one of them, for example with String(…).',
  )
  expect(message(() => columnFromValues([['x', 1]], undefined, 'key'))).toBe(
    'Column "key[]" mixes string and number. A column holds values of one kind, and so does an array in it: convert one of them, for example with String(…), or return an object, whose fields may differ, as ({ name: r.name, size: r.size }).',
  )
  expect(message(() => columnFromValues([300], { kind: 'u8' }, 'n'))).toBe('Column "n" is u8, and the value 300 at row 0 does not fit it.')
  expect(message(() => columnFromValues(['a\ud800'], undefined, 't'))).toBe(
    'Column "t" cannot hold the string "a\\ud800" at row 0: it has half a surrogate pair, which UTF-8 cannot write.',
  )
  expect(message(() => columnFromValues([new Map()], undefined, 't'))).toBe(
    'Column "t" cannot hold an instance of Map. Columns hold numbers, bigints, booleans, strings, dates, Uint8Arrays, arrays and plain objects.',
  )
  expect(message(() => concatColumns([columnFromValues([1]), columnFromValues(['a'])], 'x'))).toBe(
    'Column "x" mixes number and string. A column holds values of one kind: convert one of them, for example with String(…).',
  )
})

test('casts keep every digit or name the value and its row', () => {
  expect(valuesOf(castColumn(columnFromValues([1, null, -3]), { kind: 'i8' }))).toEqual([1, null, -3])
  expect(valuesOf(castColumn(columnFromValues([1, 0]), { kind: 'bool' }))).toEqual([true, false])
  expect(valuesOf(castColumn(columnFromValues([5, -1]), { kind: 'i64' }))).toEqual([5n, -1n])
  expect(valuesOf(castColumn(columnFromValues([5n]), { kind: 'f64' }))).toEqual([5])
  expect(() => castColumn(columnFromValues([1, 300]), { kind: 'u8' }, (i) => `row ${10 + i}`)).toThrow(
    'Cannot cast 300 at row 11 to u8. Values of u8 are integers from 0 to 255.',
  )
  expect(() => castColumn(columnFromValues([2n ** 53n + 1n]), { kind: 'f64' })).toThrow(
    'Cannot cast 9007199254740993n at row 0 to f64. Values of f64 are numbers.',
  )
  expect(() => castColumn(columnFromValues(['1']), { kind: 'f64' })).toThrow(
    'Cannot cast utf8 to f64. Convert the values with map, for example (v) => Number(v).',
  )
})

test('timestamps keep digits below a millisecond, and widen to the finer unit', () => {
  const ns: Column = { type: { kind: 'timestamp', unit: 'ns' }, length: 2, values: BigInt64Array.of(1n, -1n) }
  expect(valuesOf(ns)).toEqual([new Date(0), new Date(-1)])
  const joined = concatColumns([columnFromValues([new Date(5)]), ns])
  expect(joined.values).toEqual(BigInt64Array.of(5_000_000n, 1n, -1n))
})

test('structs gain the fields they lack as nulls', () => {
  const joined = concatColumns([columnFromValues([{ a: 1 }]), columnFromValues([{ b: 'x' }])])
  expect(valuesOf(joined)).toEqual([
    { a: 1, b: null },
    { a: null, b: 'x' },
  ])
  expect(valuesOf(convertColumn(columnFromValues([[]]), { kind: 'list', item: { kind: 'utf8' } }))).toEqual([[]])
})

test('rows are objects with their fields, scalars the value', () => {
  const column = columnFromValues([1, 2])
  expect(
    rowReader({ element: { kind: 'row', fields: [{ name: 'a', type: column.type, nullable: false }] }, length: 2, columns: [column] })(1),
  ).toEqual({ a: 2 })
  expect(rowReader({ element: { kind: 'scalar', type: column.type, nullable: false }, length: 2, columns: [column] })(1)).toBe(2)
})
