/**
 * Tables in memory as sources: rows, columns, Arrow tables.
 *
 * What the user hands over is copied once into shared buffers, so that later edits do not show and worker threads see
 * the columns without another copy.
 */
import type { Field as ArrowField, DataType, RecordBatch, Schema } from 'apache-arrow'
import { checkOneOf } from '../../core/arguments.ts'
import type { Batch, Column, TypedArray } from '../../core/data/column.ts'
import { columnFromValues, createBuilder } from '../../core/data/columnBuilder.ts'
import { concatColumns } from '../../core/data/columnConcat.ts'
import { castColumn } from '../../core/data/columnConversions.ts'
import { emptyColumn, sliceColumn } from '../../core/data/columnSlices.ts'
import { fieldsByName, positionsOf } from '../../core/data/fieldPositions.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, VALUE_COLUMN } from '../../core/data/schema.ts'
import { fromIndices, joinedIndices } from '../../core/data/textIndices.ts'
import { kindOfValue, valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { ReadSplit, TableMemory } from '../../core/ports.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { batchesOfTable } from '../arrow/arrowColumns.ts'
import { Table } from '../arrow/arrowLibrary.ts'
import { columnTypeOfArrow, elementOfArrowSchema } from '../arrow/arrowTypes.ts'
import { INT64_OPTIONS, type Int64, readColumn, readElement, readType } from '../int64.ts'

/** Rows of a split: enough work for a task, and a whole number of chunks of the fixed tree. */
export const MEMORY_SPLIT_ROWS = 65_536

export interface MemoryOptions {
  readonly schema?: Schema
  /** Default: shared buffers of the table's own. */
  readonly memory?: TableMemory
}

/** A table of rows: plain objects, or single values. Fields are those of all rows in order of appearance; what a row lacks is null. */
export function sourceFromRows(rows: Iterable<unknown>, options: MemoryOptions = {}): ArraySource {
  if (typeof (rows as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] !== 'function') {
    throw new PlanError(`fromRows() takes an array of rows, or another iterable; it was given ${valueText(rows)}.`)
  }
  const wanted = options.schema === undefined ? undefined : wantedFields(options.schema, 'fromRows')
  const values = [...rows]
  if (values.length === 0 && wanted === undefined) return sourceOf('fromRows', { kind: 'unknown' }, [], 0, options)
  const first = values.find((value) => value !== null && value !== undefined)
  if (wanted !== undefined ? first === undefined || isRow(first) : isRow(first))
    return sourceOfColumns('fromRows', rowColumns(values, wanted), values.length, options)
  if (wanted !== undefined && wanted.length !== 1) {
    throw new PlanError(`{ schema } has ${wanted.length} fields, and the elements of fromRows are single values. Give one field, or rows.`)
  }
  const column = builtColumn(VALUE_COLUMN, values, wanted?.[0]?.type)
  const element: ElementType = { kind: 'scalar', type: column.type, nullable: column.validity !== undefined || column.type.kind === 'null' }
  return sourceOf('fromRows', element, [column], values.length, options)
}

function rowColumns(rows: readonly unknown[], wanted: readonly Field[] | undefined): Map<string, Column> {
  const names = new Set(wanted?.map((field) => field.name))
  rows.forEach((row, i) => {
    if (!isRow(row))
      throw new PlanError(`Row ${i} of fromRows is ${valueText(row)}, and the first row is an object. Give rows of one kind.`)
    for (const name of Object.keys(row)) {
      if (names.has(name)) continue
      if (wanted !== undefined)
        throw new PlanError(
          `Row ${i} of fromRows has a field "${name}" that { schema } has not. Add it to the schema, or leave it out of the rows.`,
        )
      names.add(name)
    }
  })
  const columns = new Map<string, Column>()
  const types = fieldsByName(wanted ?? [])
  for (const name of names) {
    const type = types.get(name)
    const values = rows.map((row) => (Object.hasOwn(row as object, name) ? (row as Record<string, unknown>)[name] : null))
    const column = builtColumn(name, values, type?.type)
    if (type?.nullable === false) checkNotNull(name, column)
    columns.set(name, column)
  }
  return columns
}

function checkNotNull(name: string, column: Column): void {
  const bits = column.validity
  if (bits === undefined) return
  for (let i = 0; i < column.length; i++) {
    if ((((bits[i >> 3] ?? 0) >> (i & 7)) & 1) === 0)
      throw new PlanError(`Column "${name}" is not nullable in { schema }, and row ${i} has no value.`)
  }
}

/** Whether a value is a row: a plain object or an instance of a class with fields of its own, no collection, date or buffer. */
function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  const kind = kindOfValue(value)
  if (kind !== undefined) return kind === 'object'
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value) && Object.keys(value).length > 0
}

function builtColumn(name: string, values: readonly unknown[], type: ColumnType | undefined): Column {
  const builder = createBuilder(type, name)
  for (const value of values) builder.append(value)
  return builder.finish()
}

/** The values of a column by name: a typed array, or an array of values of one kind with null for what is absent. */
export type ColumnValues = TypedArray | BigUint64Array | readonly unknown[]

/** A table of columns of one length. */
export function sourceFromColumns(columns: Readonly<Record<string, ColumnValues>>, options: MemoryOptions = {}): ArraySource {
  const wanted = new Map(
    options.schema === undefined ? [] : wantedFields(options.schema, 'fromColumns').map((field) => [field.name, field]),
  )
  if (typeof columns !== 'object' || columns === null || Symbol.iterator in columns) {
    throw new PlanError(`fromColumns() takes an object of columns, as { id: [1, 2] }; it was given ${valueText(columns)}.`)
  }
  const entries = Object.entries(columns)
  const [first] = entries
  for (const [name, values] of entries) {
    if (!isValues(values))
      throw new PlanError(`Column "${name}" of fromColumns is ${valueText(values)}. Columns are typed arrays or arrays of values.`)
    if (ArrayBuffer.isView(values) && isDetached(values)) {
      throw new PlanError(
        `Column "${name}" of fromColumns has no memory any more: its buffer was sent to another thread. Take the column before that, or send a copy.`,
      )
    }
    if (first !== undefined && values.length !== first[1].length) {
      throw new PlanError(
        `The columns of fromColumns differ in length: "${first[0]}" has ${first[1].length} values and "${name}" has ${values.length}.`,
      )
    }
  }
  for (const name of wanted.keys()) {
    if (!Object.hasOwn(columns, name))
      throw new PlanError(
        `{ schema } has a field "${name}", and fromColumns has no such column. Its columns: ${entries.map(([key]) => key).join(', ')}.`,
      )
  }
  const built = new Map<string, Column>()
  for (const [name, values] of entries) {
    const field = wanted.get(name)
    const column = columnOfValues(name, values, field?.type)
    if (field?.nullable === false) checkNotNull(name, column)
    built.set(name, column)
  }
  return sourceOfColumns('fromColumns', built, first?.[1].length ?? 0, options)
}

/** Whether the buffer of a view was transferred to another thread. */
function isDetached({ buffer }: ArrayBufferView): boolean {
  if (buffer.byteLength > 0 || buffer instanceof SharedArrayBuffer) return false
  try {
    return new Uint8Array(buffer).length > 0
  } catch {
    return true
  }
}

export function isValues(values: unknown): values is ColumnValues {
  return Array.isArray(values) || (ArrayBuffer.isView(values) && !(values instanceof DataView))
}

/** A column of values, of `type` where it is given. PlanError for a value that the type does not have. */
export function columnOfValues(name: string, values: ColumnValues, type: ColumnType | undefined): Column {
  const kind = kindOfArray(values)
  if (kind === undefined) return columnFromValues(values as Iterable<unknown>, type, name)
  const column: Column = { type: { kind }, length: values.length, values: values as TypedArray }
  if (type === undefined || type.kind === kind) return column
  try {
    return castColumn(column, type)
  } catch (error) {
    if (error instanceof PlanError) throw new PlanError(`Column "${name}": ${error.message}`)
    throw error
  }
}

function kindOfArray(values: ColumnValues): 'f64' | 'f32' | 'i64' | 'u64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8' | undefined {
  if (values instanceof Float64Array) return 'f64'
  if (values instanceof Float32Array) return 'f32'
  if (values instanceof BigInt64Array) return 'i64'
  if (values instanceof BigUint64Array) return 'u64'
  if (values instanceof Int32Array) return 'i32'
  if (values instanceof Uint32Array) return 'u32'
  if (values instanceof Int16Array) return 'i16'
  if (values instanceof Uint16Array) return 'u16'
  if (values instanceof Int8Array) return 'i8'
  if (values instanceof Uint8Array || values instanceof Uint8ClampedArray) return 'u8'
  return undefined
}

/** A source with the rows of an Arrow table or record batch. */
export function sourceFromArrow(
  table: Table | RecordBatch,
  options: Pick<MemoryOptions, 'memory'> & { readonly int64?: Int64 } = {},
): ArraySource {
  const { int64 = 'number' } = options
  checkOneOf('The int64 of fromArrow()', int64, INT64_OPTIONS)
  if (!isTable(table) && !isRecordBatch(table)) {
    throw new PlanError(`fromArrow() takes an Arrow table or record batch; it was given ${valueText(table)}.`)
  }
  const whole = isTable(table) ? table : new Table([table])
  const element = elementOfArrowSchema(whole.schema, 'fromArrow')
  const batches = batchesOfTable(whole, element, 'fromArrow')
  const columns = element.fields.map((field, i) => {
    const parts = batches.flatMap((batch) => batch.columns[i] ?? [])
    const [first] = parts
    const column =
      first === undefined
        ? emptyColumn(field.type)
        : parts.length === 1
          ? first
          : fromIndices(concatColumns(parts, field.name), joinedIndices(parts))
    return readColumn(column, readType(field.type, int64), { source: 'fromArrow', column: field.name })
  })
  return sourceOf('fromArrow', readElement(element, int64), columns, whole.numRows, options)
}

/** A source with the rows of batches of one element, put together. */
export function sourceFromBatches(
  name: string,
  element: ElementType,
  batches: readonly Batch[],
  { memory }: Pick<MemoryOptions, 'memory'> = {},
): ArraySource {
  const rows = batches.reduce((sum, { length }) => sum + length, 0)
  const columns = fieldsOf(element).map((field, i) => {
    const pieces = batches.flatMap((batch) => batch.columns[i] ?? [])
    return pieces.length === 0 ? [emptyColumn(field.type)] : pieces
  })
  return sourceOfPieces(name, element, columns, rows, memory === undefined ? {} : { memory })
}

/** Whether a value is a table or a record batch of Arrow, of whatever copy of the library: programs may have several. */
export function isArrow(value: unknown): value is Table | RecordBatch {
  return typeof value === 'object' && value !== null && (isTable(value) || isRecordBatch(value))
}

/** The batches of an Arrow table, or the one of a record batch. */
export function batchesOfArrow(table: Table | RecordBatch): readonly Batch[] {
  const whole = isTable(table) ? table : new Table([table])
  return batchesOfTable(whole, elementOfArrowSchema(whole.schema, 'fromBatches'), 'fromBatches')
}

function isTable(table: unknown): table is Table {
  return hasSchema(table) && 'batches' in table && Array.isArray(table.batches) && 'numRows' in table
}

function isRecordBatch(table: unknown): table is RecordBatch {
  return hasSchema(table) && 'data' in table && 'numRows' in table
}

function hasSchema(table: unknown): table is { readonly schema: Schema } {
  return typeof table === 'object' && table !== null && 'schema' in table && isSchema(table.schema)
}

export function isSchema(schema: unknown): schema is Schema {
  return typeof schema === 'object' && schema !== null && 'fields' in schema && Array.isArray(schema.fields)
}

export function wantedFields(schema: Schema, source: string): Field[] {
  if (!isSchema(schema)) throw new PlanError(`The schema of ${source}() is one of Arrow's; it was given ${valueText(schema)}.`)
  return schema.fields.map((field: ArrowField) => ({
    name: field.name,
    type: columnTypeOfArrow(field.type as DataType, { source, column: field.name }),
    nullable: field.nullable,
  }))
}

/** A source of columns; `rows` counts, as there may be rows of no columns. */
function sourceOfColumns(
  name: string,
  columns: ReadonlyMap<string, Column>,
  rows: number,
  options: Pick<MemoryOptions, 'memory'>,
): ArraySource {
  const fields = [...columns].map(
    ([field, column]): Field => ({
      name: field,
      type: column.type,
      nullable: column.validity !== undefined || column.type.kind === 'null',
    }),
  )
  for (const { name: field } of fields) {
    // ES2024, present in Node 20
    if (!(field as string & { isWellFormed(): boolean }).isWellFormed())
      throw new PlanError(`The column name ${valueText(field)} of ${name} has half a surrogate pair, which no file can hold.`)
  }
  return sourceOf(name, { kind: 'row', fields }, [...columns.values()], rows, options)
}

function sourceOf(
  name: string,
  element: ElementType,
  columns: readonly Column[],
  rows: number,
  options: Pick<MemoryOptions, 'memory'>,
): ArraySource {
  return sourceOfPieces(
    name,
    element,
    columns.map((column) => [column]),
    rows,
    options,
  )
}

/** A source of columns in pieces, which are copied once, to where the whole column is. */
function sourceOfPieces(
  name: string,
  element: ElementType,
  columns: readonly (readonly Column[])[],
  rows: number,
  { memory }: Pick<MemoryOptions, 'memory'>,
): ArraySource {
  const placed = memory?.place(columns, rows)
  const shared = placed?.columns ?? columns.map((pieces) => sharedColumn(concatColumns(pieces)))
  const splits: SourceSplit[] = []
  for (let from = 0; from < rows; from += MEMORY_SPLIT_ROWS) {
    const to = Math.min(rows, from + MEMORY_SPLIT_ROWS)
    const detail: readonly Column[] = shared.map((column) => sliceColumn(column, from, to))
    splits.push({ rows: to - from, detail })
  }
  const source: ArraySource = { kind: 'memory', name, element, rows, splits, columns: shared }
  placed?.hold(source)
  return source
}

/** A copy of a column in shared buffers, of exactly its length. */
export function sharedColumn(column: Column): Column {
  return {
    type: column.type,
    length: column.length,
    ...(column.validity === undefined ? {} : { validity: sharedArray(column.validity) }),
    ...(column.values === undefined ? {} : { values: sharedArray(column.values) }),
    ...(column.offsets === undefined ? {} : { offsets: sharedArray(column.offsets) }),
    ...(column.children === undefined ? {} : { children: column.children.map(sharedColumn) }),
    ...(column.objects === undefined ? {} : { objects: column.objects }),
  }
}

function sharedArray<A extends TypedArray | BigUint64Array>(array: A): A {
  // Each typed array class makes one of its own kind over a shared buffer.
  const copy = new (array.constructor as new (buffer: SharedArrayBuffer) => A)(new SharedArrayBuffer(array.byteLength))
  copy.set(array as never)
  return copy
}

export const readMemorySplit: ReadSplit = (source, split, columns) => {
  const held = split.detail as readonly Column[] // made by `sourceOf`
  const fields = fieldsOf(source.element)
  const positions = positionsOf(fields)
  const picked = columns.map((name) => {
    const index = positions.get(name) ?? -1
    const field = fields[index]
    const column = held[index]
    if (field === undefined || column === undefined) throw new PlanError(`${source.name} has no column "${name}".`)
    return { field, column }
  })
  const element: ElementType = source.element.kind === 'row' ? { kind: 'row', fields: picked.map(({ field }) => field) } : source.element
  const batch: Batch = { element, length: split.rows ?? held[0]?.length ?? 0, columns: picked.map(({ column }) => column) }
  return Promise.resolve([batch])
}
