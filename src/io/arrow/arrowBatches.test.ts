import { tableFromIPC, tableToIPC } from 'apache-arrow'
import { expect, test } from 'vitest'
import { toSharedArrowTable } from './arrowBatches.ts'

test('columns that share a buffer are written as two', () => {
  const values = Float64Array.of(1, 2.5, -3, 4)
  const column = { type: { kind: 'f64' }, length: values.length, values } as const
  const type = { type: { kind: 'f64' }, nullable: false } as const
  const element = {
    kind: 'row',
    fields: [
      { name: 'a', ...type },
      { name: 'b', ...type },
    ],
  } as const
  const table = toSharedArrowTable({ element, length: values.length, columns: [column, column] })
  const rows = tableFromIPC(tableToIPC(table)).toArray()
  expect(rows.map((row) => ({ ...row }))).toEqual(Array.from(values, (value) => ({ a: value, b: value })))
})
