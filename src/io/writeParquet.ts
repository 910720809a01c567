/**
 * Writes batches as a Parquet file, one row group after another.
 *
 *     group 0 --> parquet-wasm --> a file of one row group --+
 *     group 1 --> parquet-wasm --> a file of one row group --+--> bodies one after another, one footer
 *
 * Memory holds a row group for each of those that encode, and the next. The footer carries checksums (`parquet/checksums.ts`) and the types Parquet
 * has no word for (`parquet/ownSchema.ts`).
 */
import { type Batch, type Column, isValid } from '../core/data/column.ts'
import { emptyColumn } from '../core/data/columnSlices.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, mapLeaves, typeText } from '../core/data/schema.ts'
import type { ParquetCompression } from '../core/engine.ts'
import { Bug, PlanError } from '../core/errors.ts'
import type { WriteAccess } from '../core/ports.ts'
import { writeAtomically } from './bytes/atomicFile.ts'
import { type Encoder, type EncodeTask, type Encoding, encodedInOrder } from './encode.ts'
import { fileType } from './int64.ts'
import { unitRatio } from './parquet/ownSchema.ts'
import { loadParquet } from './parquet/parquetLibrary.ts'
import type { GroupEncoding } from './parquet/writing/encodeGroup.ts'
import { FileUnderWay } from './parquet/writing/fileUnderWay.ts'
import { groupsOf, rowsOf } from './regroup.ts'

export interface WriteParquetOptions {
  /** Default 'snappy'. */
  readonly compression?: ParquetCompression
  /** Rows of a row group, the piece that is read alone. Default 131,072. */
  readonly rowGroupRows?: number
  /** 'v1': plain encodings and first-version pages only, for readers like parquetjs-lite. */
  readonly compatibility?: 'v1'
}

export interface WriteRequest<Options> extends WriteAccess {
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  readonly element: ElementType
  readonly path: string
  readonly options?: Options
  /** The encoder that makes bytes of batches. Default: the thread that asks. */
  readonly encoder?: Encoder
}
export interface Written {
  readonly rows: number
  readonly bytes: number
  /** The number of files, where folders were written. */
  readonly files?: number
}

const DEFAULT_GROUP_ROWS = 131_072

export async function writeParquet({
  batches,
  element,
  path,
  options = {},
  encoder,
  ...access
}: WriteRequest<WriteParquetOptions>): Promise<Written> {
  const form = await parquetForm(element, path, options)
  let rows = 0
  const bytes = await writeAtomically(
    path,
    async (append) => {
      const file = new FileUnderWay(append)
      await file.begin()
      const encodings = async function* (): AsyncGenerator<Encoding> {
        for await (const { parts, ended } of groupsOf(batches, form.groupRows)) {
          rows += rowsOf(parts)
          yield { task: form.taskOf(parts), ended }
        }
        if (rows === 0) yield { task: form.taskOf([form.none]), ended: [] }
      }
      for await (const group of encodedInOrder(encodings(), encoder)) await file.add(group)
      await file.end(rows, form.fields, form.arrowFields)
    },
    access,
  )
  return { rows, bytes }
}

/** The form in which the rows of an element are kept in a file. */
export interface ParquetForm {
  readonly groupRows: number
  readonly fields: readonly Field[]
  /** The fields with the units of time that they have in the file. */
  readonly arrowFields: readonly Field[]
  /** A batch without rows. */
  readonly none: Batch
  /** Makes a row group of batches. */
  readonly taskOf: (parts: readonly Batch[]) => EncodeTask
}

/** The error of a table whose columns nobody knows. */
export function noColumns(file: string): PlanError {
  return new PlanError(
    `${file} needs at least one column, and this table has no rows that would tell its columns. Name them first, as in select('id', 'price'), or give fromRows() a { schema }.`,
  )
}

/** Loads the encoder, and chooses the form of rows. PlanError for options and columns that no file can have. */
export async function parquetForm(element: ElementType, path: string, options: WriteParquetOptions): Promise<ParquetForm> {
  const { compression = 'snappy', rowGroupRows: groupRows = DEFAULT_GROUP_ROWS, compatibility } = options
  if (!Number.isInteger(groupRows) || groupRows < 1) throw new PlanError(`rowGroupRows is ${groupRows}. It is a whole number from 1 on.`)
  if (compatibility === 'v1' && compression !== 'snappy' && compression !== 'none')
    throw new PlanError(`{ compatibility: 'v1' } has no ${compression} compression. Use 'snappy' or 'none'.`)
  const fields = fieldsOf(element).map((field): Field => ({ ...field, type: fileType(field.type) }))
  if (fields.length === 0) throw noColumns('A Parquet file')
  for (const field of fields) checkType(field.type, field.name, compatibility)
  await loadParquet()
  const arrowFields = fields.map((field) => ({ ...field, type: storedType(field.type, compatibility) }))
  const stored: ElementType = {
    kind: 'row',
    fields: arrowFields.map((field) => ({ ...field, type: mapLeaves(field.type, withoutCategory) })),
  }
  const how: GroupEncoding = { compression, ...(compatibility === undefined ? {} : { compatibility }) }
  return {
    groupRows,
    fields,
    arrowFields,
    none: { element, length: 0, columns: fields.map((field) => emptyColumn(field.type)) },
    taskOf: (parts) => ({ format: 'parquet', ...how, element: stored, parts: parts.map((part) => storedBatch(part, stored, path)) }),
  }
}

function withoutCategory(type: ColumnType): ColumnType {
  return type.kind === 'utf8' ? { kind: 'utf8' } : type
}

/** PlanError for types that the file, or a reader of the first version, cannot hold. */
function checkType(type: ColumnType, column: string, compatibility: 'v1' | undefined): void {
  if (type.kind === 'list') {
    checkType(type.item, `${column}[]`, compatibility)
    return
  }
  if (type.kind === 'struct') {
    if (type.fields.length === 0)
      throw new PlanError(`Column "${column}" is a struct without fields, which Parquet cannot hold. Leave it out with select(…).`)
    for (const field of type.fields) checkType(field.type, `${column}.${field.name}`, compatibility)
    return
  }
  if (type.kind === 'object' || type.kind === 'unknown')
    throw new PlanError(`Column "${column}" is ${type.kind}, which Parquet cannot hold. Convert it with map, for example to JSON text.`)
  if (compatibility !== 'v1') return
  const finest = (type.kind === 'timestamp' || type.kind === 'time') && type.unit === 'ns'
  if (type.kind === 'u32' || type.kind === 'u64' || finest) {
    throw new PlanError(
      `Column "${column}" is ${typeText(type)}, which files of { compatibility: 'v1' } cannot hold. Cast it, or write without the option.`,
    )
  }
}

/**
 * The type a column is written as. Parquet's units begin at milliseconds; and parquetjs-lite, for which version 1 is
 * kept, fails on every timestamp in milliseconds but reads microseconds.
 */
function storedType(type: ColumnType, compatibility: 'v1' | undefined): ColumnType {
  switch (type.kind) {
    case 'timestamp':
      if (compatibility === 'v1') return { ...type, unit: 'us' }
      return type.unit === 's' ? { ...type, unit: 'ms' } : type
    case 'time':
      return type.unit === 's' ? { ...type, unit: 'ms' } : type
    case 'list':
      return { kind: 'list', item: storedType(type.item, compatibility) }
    case 'struct':
      return { kind: 'struct', fields: type.fields.map((field) => ({ ...field, type: storedType(field.type, compatibility) })) }
    default:
      return type
  }
}

function storedBatch(batch: Batch, stored: ElementType, path: string): Batch {
  const fields = fieldsOf(stored)
  const columns = batch.columns.map((column, i) => {
    const field = fields[i]
    if (field === undefined) throw new Bug('A batch has more columns than its element.')
    return storedColumn(column, field.type, field.name, path)
  })
  return { element: stored, length: batch.length, columns }
}

function storedColumn(column: Column, type: ColumnType, name: string, path: string): Column {
  if (type.kind === 'list')
    return { ...column, type, children: (column.children ?? []).map((child) => storedColumn(child, type.item, `${name}[]`, path)) }
  if (type.kind === 'struct') {
    return {
      ...column,
      type,
      children: (column.children ?? []).map((child, i) =>
        storedColumn(child, type.fields[i]?.type ?? child.type, `${name}.${type.fields[i]?.name}`, path),
      ),
    }
  }
  const ratio = unitRatio(column.type, type)
  if (ratio === 1n) return column
  const from = column.values as BigInt64Array // timestamps and times are 64-bit
  const values = new BigInt64Array(column.length)
  for (let i = 0; i < values.length; i++) {
    const value = (from[i] ?? 0n) * ratio
    if (BigInt.asIntN(64, value) !== value && isValid(column, i)) {
      throw new PlanError(
        `Column "${name}" has a time of ${from[i]} in units of ${typeText(column.type)}, which Parquet cannot hold in its ${typeText(type)}. ${path} was not written.`,
      )
    }
    values[i] = value
  }
  return { ...column, type, values }
}
