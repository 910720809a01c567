import { expect, test } from 'vitest'
import type { Column } from '../../../core/data/column.ts'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { valueReader } from '../../../core/data/columnReaders.ts'
import { sliceColumn } from '../../../core/data/columnSlices.ts'
import { createArena } from '../../memory/sharedArena.ts'
import { tableMemory } from './tableMemory.ts'
import { codesOf } from './texts/textCodes.ts'

const valuesOf = (column: Column): unknown[] => Array.from({ length: column.length }, (_, i) => valueReader(column)(i))

test('columns in pieces are put together where they are placed, whatever lay there before', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const block = arena.allocate(2 ** 18, 'test')
  arena.view('u8', block, 2 ** 18).fill(0xff as never)
  arena.free(block)
  const values: readonly (readonly unknown[])[] = [
    [1, null, 3, null, 5.5, 6],
    ['a', null, '', 'ö𝄞', null, 'a'],
    [true, null, false, null, null, true],
    [new Date(5), null, new Date(-7), null, null, new Date(8)],
    [[1, null], null, [], [2], null, [3, 4]],
    [{ x: 1, y: 'q' }, null, { x: null, y: 'r' }, { x: 2, y: null }, null, { x: 3, y: '' }],
  ]
  const whole = values.map((one) => columnFromValues(one))
  const cuts: readonly (readonly [number, number])[] = [
    [0, 2],
    [2, 2],
    [2, 5],
    [5, 6],
  ]
  const copied = (column: Column, from: number, to: number): Column =>
    columnFromValues(valuesOf(sliceColumn(column, from, to)), column.type)
  const pieces = whole.map((column) => cuts.map(([from, to]) => copied(column, from, to)))
  const before = arena.usedBytes
  const placed = tableMemory(arena, { fewestRows: 1 }).place([...pieces, ...whole.map((column) => [column])], 6)
  expect(placed?.columns.map((column) => valuesOf(column))).toEqual([...values, ...values])
  for (const { values: buffer } of placed?.columns ?? []) if (buffer !== undefined) expect(arena.owns(buffer)).toBe(true)
  expect(arena.usedBytes).toBeGreaterThan(before)
})

test('texts of a table and of the objects in it have codes, and texts in lists have none', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const rows = Array.from({ length: 40 }, (_, i) => ({ cc: ['DE', 'FR'][i % 2], at: { zip: `z${i % 3}` } }))
  const columns = [rows.map(({ cc }) => cc), rows, rows.map(({ cc }) => [cc])].map((values) => [columnFromValues(values)])
  const placed = tableMemory(arena, { fewestRows: 1 }).place(columns, rows.length)
  const [text, struct, list] = placed?.columns ?? []
  const [cc, at] = struct?.children ?? []
  expect(codesOf(text)?.firsts).toEqual(new Int32Array([0, 1]))
  expect(Array.from(codesOf(cc)?.codes ?? []).slice(0, 4)).toEqual([0, 1, 0, 1])
  expect(codesOf(at?.children?.[0])?.firsts).toEqual(new Int32Array([0, 1, 2]))
  expect(codesOf(list?.children?.[0])).toBeUndefined()
})
