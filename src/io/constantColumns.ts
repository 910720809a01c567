/** Columns that are not read of a file, among those that are: with one value in all of its rows, or the numbers of these. */
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
    const { constants = NONE, rowNumbers } = split
    if (constants.size === 0 && rowNumbers === undefined) return await read(source, split, columns, predicate, access)
    const inFile = columns.flatMap((name, i) => (constants.has(name) || name === rowNumbers?.column ? [] : [{ name, i }]))
    const into = access?.into && ((column: number) => access.into?.(inFile[column]?.i ?? -1))
    const numbered = access?.numbered && ((column: number) => access.numbered?.(inFile[column]?.i ?? -1))
    const names = inFile.map(({ name }) => name)
    const batches = await read(fileOf(source, split), split, names, predicate, { ...access, into, numbered })
    let from = rowNumbers?.from ?? 0
    return batches.map((batch) => {
      const numbers = rowNumbers && { ...rowNumbers, from }
      from += batch.length
      return withConstants(batch, { source, columns, constants, rowNumbers: numbers, access })
    })
  }
}

/** The table without the columns that are no part of the file: readers may go by the places of columns. */
function fileOf(source: ArraySource, { constants, rowNumbers }: SourceSplit): ArraySource {
  const fields = fieldsOf(source.element).filter(({ name }) => constants?.has(name) !== true && name !== rowNumbers?.column)
  return { ...source, element: { kind: 'row', fields } }
}

const NONE: ReadonlyMap<string, Constant> = new Map()

interface Wanted {
  readonly source: ArraySource
  readonly columns: readonly string[]
  readonly constants: ReadonlyMap<string, Constant>
  readonly rowNumbers: SourceSplit['rowNumbers']
  readonly access: Access | undefined
}

function withConstants(batch: Batch, { source, columns, constants, rowNumbers, access }: Wanted): Batch {
  const known = new Map(fieldsOf(source.element).map((field) => [field.name, field]))
  const read = new Map(fieldsOf(batch.element).map((field, i) => [field.name, { field, column: batch.columns[i] as Column }])) // one a field
  const parts = columns.map((name): { readonly field: Field; readonly column: Column } => {
    const value = constants.get(name)
    const field = known.get(name)
    if (name === rowNumbers?.column && field !== undefined) return { field, column: numbersFrom(rowNumbers.from, batch.length, field.type) }
    if (value === undefined || field === undefined) return read.get(name) as { field: Field; column: Column } // it was asked for
    return { field, column: constantColumn(value, { type: field.type, length: batch.length, coded: access?.dictionaries === true }) }
  })
  return {
    element: { kind: 'row', fields: parts.map(({ field }) => field) },
    length: batch.length,
    columns: parts.map(({ column }) => column),
  }
}

function numbersFrom(from: number, length: number, type: ColumnType): Column {
  const values = new Uint32Array(length)
  for (let i = 0; i < length; i++) values[i] = from + i
  return { type, length, values }
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
