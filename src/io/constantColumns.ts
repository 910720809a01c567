/** Columns that have one value in all rows of a file, among those that are read of it. */
import type { Batch, Column } from '../core/data/column.ts'
import { columnFromValues } from '../core/data/columnBuilder.ts'
import { nullColumn, takeColumn } from '../core/data/columnSlices.ts'
import { type ColumnType, type Field, fieldsOf } from '../core/data/schema.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { Access, ReadSplit } from '../core/ports.ts'
import type { Constant, SourceSplit } from '../core/sourceParts.ts'

/** Reads the columns that are in the file with `read`, and puts the constant ones between. */
export function readWithConstants(read: ReadSplit): ReadSplit {
  return async (source, split, columns, predicate, access) => {
    const { constants } = split
    if (constants === undefined) return await read(source, split, columns, predicate, access)
    const inFile = columns.flatMap((name, i) => (constants.has(name) ? [] : [{ name, i }]))
    const into = access?.into && ((column: number) => access.into?.(inFile[column]?.i ?? -1))
    const names = inFile.map(({ name }) => name)
    const batches = await read(fileOf(source, split), split, names, predicate, { ...access, into })
    return batches.map((batch) => withConstants(batch, { source, columns, constants, access }))
  }
}

/** The table without the columns that are no part of the file: readers may go by the places of columns. */
function fileOf(source: ArraySource, { constants }: SourceSplit): ArraySource {
  return { ...source, element: { kind: 'row', fields: fieldsOf(source.element).filter(({ name }) => constants?.has(name) !== true) } }
}

interface Wanted {
  readonly source: ArraySource
  readonly columns: readonly string[]
  readonly constants: ReadonlyMap<string, Constant>
  readonly access: Access | undefined
}

function withConstants(batch: Batch, { source, columns, constants, access }: Wanted): Batch {
  const known = new Map(fieldsOf(source.element).map((field) => [field.name, field]))
  const read = new Map(fieldsOf(batch.element).map((field, i) => [field.name, { field, column: batch.columns[i] as Column }])) // one a field
  const parts = columns.map((name): { readonly field: Field; readonly column: Column } => {
    const value = constants.get(name)
    const field = known.get(name)
    if (value === undefined || field === undefined) return read.get(name) as { field: Field; column: Column } // it was asked for
    return { field, column: constantColumn(value, { type: field.type, length: batch.length, coded: access?.dictionaries === true }) }
  })
  return {
    element: { kind: 'row', fields: parts.map(({ field }) => field) },
    length: batch.length,
    columns: parts.map(({ column }) => column),
  }
}

interface Shape {
  readonly type: ColumnType
  readonly length: number
  /** Whether texts may be dictionary codes. */
  readonly coded: boolean
}

function constantColumn(value: Constant, { type, length, coded }: Shape): Column {
  if (coded && type.kind === 'utf8') {
    const dictionary = columnFromValues([value ?? ''], type)
    const nulls = value === null ? { validity: new Uint8Array((length + 7) >> 3) } : {}
    return { type, length, values: new Int32Array(length), dictionary, ...nulls }
  }
  if (value === null) return nullColumn(type, length)
  return takeColumn(columnFromValues([value], type), new Int32Array(length))
}
