/** Tables: rows of a schema with nulls in them, as rows and as sources. */
import fc from 'fast-check'
import type { Column } from '../../src/core/data/column.ts'
import { nullColumn } from '../../src/core/data/columnSlices.ts'
import { type ColumnType, type Field, fieldsOf } from '../../src/core/data/schema.ts'
import type { ArraySource } from '../../src/core/plan/logicalPlan.ts'
import { sourceFromColumns } from '../../src/io/memory/memory.ts'
import { COLUMNS, type ColumnName, NANOSECONDS, schema } from './schema.ts'

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
  const source = sourceFromColumns(
    Object.fromEntries(
      columns.map((name) => [name, name === 'u' ? Int32Array.from(rows, (row) => row.u as number) : rows.map((row) => row[name])]),
    ),
  )
  const finer = columns.includes('m') ? withTypes(source, columns.indexOf('m'), NS, inNanoseconds) : source
  // of every second table k is a column of 64-bit integers, or of decimals, in a file
  const inFile = rows.length % 4 === 1 ? WHOLE : DECIMAL
  return columns.includes('k') && rows.length % 2 === 1 ? withTypes(finer, columns.indexOf('k'), inFile, asInFile) : finer
}

const NS: ColumnType = { kind: 'timestamp', unit: 'ns' }
const WHOLE: ColumnType = { kind: 'f64', integers: 'i64' }
const DECIMAL: ColumnType = { kind: 'f64', decimal: { precision: 12, scale: 2 } }

function asInFile(column: Column, type: ColumnType): Column {
  return column.type.kind === 'f64' ? { ...column, type } : nullColumn(type, column.length)
}

/** The source with another type for one of its columns: Dates counted in nanoseconds, with digits that no Date shows; whole numbers. */
function withTypes(source: ArraySource, at: number, type: ColumnType, change: (column: Column, type: ColumnType) => Column): ArraySource {
  const changed = (columns: readonly Column[]): readonly Column[] => columns.map((column, i) => (i === at ? change(column, type) : column))
  const fields = fieldsOf(source.element).map((field, i): Field => (i === at ? { ...field, type } : field))
  return {
    ...source,
    element: { kind: 'row', fields },
    ...(source.columns === undefined ? {} : { columns: changed(source.columns) }),
    splits: source.splits.map((split) => ({ ...split, detail: changed(split.detail as readonly Column[]) })), // a table in memory
  }
}

/** One after another the digits differ, so that equal Dates seldom have the same. */
function inNanoseconds(column: Column, type: ColumnType): Column {
  if (column.type.kind !== 'timestamp') return nullColumn(type, column.length)
  const ms = column.values as BigInt64Array // of timestamps
  const values = BigInt64Array.from(ms, (value, i) => value * 1_000_000n + (NANOSECONDS[i % NANOSECONDS.length] as bigint))
  return { ...column, type, values }
}
