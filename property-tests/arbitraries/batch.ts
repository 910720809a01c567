/** Tables: rows of a schema with nulls in them, as rows and as sources. */
import fc from 'fast-check'
import type { ArraySource } from '../../src/core/ports.ts'
import { sourceFromColumns } from '../../src/io/memory.ts'
import { COLUMNS, type ColumnName, schema } from './schema.ts'

export interface Table {
  readonly columns: readonly ColumnName[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly source: ArraySource
}

/** A table of some columns; every column a known type even when all its values are null. */
export const table: fc.Arbitrary<Table> = schema.chain((columns) =>
  fc
    .array(fc.record(Object.fromEntries(columns.map((name) => [name, cellOf(name)]))), { maxLength: 40 })
    .map((rows) => ({ columns, rows, source: sourceOf(columns, rows) })),
)

function cellOf(name: ColumnName): fc.Arbitrary<unknown> {
  return name === 'u' ? COLUMNS.u : fc.option<unknown>(COLUMNS[name], { freq: 4, nil: null })
}

function sourceOf(columns: readonly ColumnName[], rows: readonly Readonly<Record<string, unknown>>[]): ArraySource {
  return sourceFromColumns(
    Object.fromEntries(
      columns.map((name) => [name, name === 'u' ? Int32Array.from(rows, (row) => row.u as number) : rows.map((row) => row[name])]),
    ),
  )
}
