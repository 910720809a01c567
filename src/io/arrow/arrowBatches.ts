/**
 * Batches as Arrow tables, in ordinary buffers of their own: what a user is handed stays valid when the session's
 * memory is used again.
 */
import type { Field as ArrowField, Data, Schema } from 'apache-arrow'
import type { Batch, Column } from '../../core/data/column.ts'
import { sliceColumn } from '../../core/data/columnSlices.ts'
import type { ElementType } from '../../core/data/schema.ts'
import { Bug } from '../../core/errors.ts'
import { wordsOfDecimals } from '../decimals.ts'
import { integersOf } from '../int64.ts'
import { bitsFrom } from './arrowColumns.ts'
import { DataType, makeData, RecordBatch, Struct, Table } from './arrowLibrary.ts'
import { arrowSchemaOf } from './arrowTypes.ts'

/** The table of batches of one element, one record batch each. PlanError for columns of JavaScript objects. */
export function toArrowTable(batches: readonly Batch[], element: ElementType): Table {
  const schema = arrowSchemaOf(element)
  return new Table(
    schema,
    batches.map((batch) => recordBatchWith(schema, batch)),
  )
}

/** A batch as a table in the batch's own buffers, as far as they can be Arrow's: for what is done with it before they change. */
export function toSharedArrowTable(batch: Batch): Table {
  const schema = arrowSchemaOf(batch.element)
  const own = sameOnce()
  return new Table(schema, [recordBatchOf(schema, batch, (column, field) => dataOf(column, field as Named, own))])
}

/** One batch as a record batch. */
export function toRecordBatch(batch: Batch, element: ElementType): RecordBatch {
  return recordBatchWith(arrowSchemaOf(element), batch)
}

export function recordBatchWith(schema: Schema, batch: Batch): RecordBatch {
  return recordBatchOf(schema, batch, (column, field) => dataOf(column, field as Named))
}

/** A batch as a record batch, with the data of each column made by `dataOfColumn`. */
export function recordBatchOf(schema: Schema, batch: Batch, dataOfColumn: (column: Column, field: ArrowField) => Data): RecordBatch {
  const children = schema.fields.map((field: ArrowField, i: number) => {
    const column = batch.columns[i]
    if (column === undefined) throw new Bug(`A batch lacks the column "${field.name}".`)
    return dataOfColumn(column, field)
  })
  // a record batch is a struct of its columns
  const struct = makeData({ type: new Struct(schema.fields), length: batch.length, nullCount: 0, children })
  return new RecordBatch(schema, struct)
}

/** A column as Arrow data; buffers become what `own` makes of them, by default copies. PlanError for what its type has no room for. */
export function dataOf(column: Column, field: Named, own: Own = copied): Data {
  const { type } = field
  const { length } = column
  const kind = column.type.kind
  const base = { type, length, ...validityOf(column) }
  if (kind === 'null' || kind === 'unknown') return nullsOf(type, length)
  if (kind === 'struct') {
    const children = (column.children ?? []).map((child, i) => dataOf(child, childOf(field, i), own))
    return makeData({ ...base, children } as never)
  }
  if (kind === 'list') {
    const { offsets, start, end } = offsetsOf(column)
    const child = column.children?.[0]
    if (child === undefined) throw new Bug('A list column has no child.')
    return makeData({ ...base, valueOffsets: offsets, child: dataOf(sliceColumn(child, start, end), childOf(field, 0), own) } as never)
  }
  if (kind === 'utf8' || kind === 'binary') {
    const { offsets, start, end } = offsetsOf(column)
    return makeData({ ...base, valueOffsets: offsets, data: own((column.values as Uint8Array).subarray(start, end)) } as never)
  }
  if (column.values === undefined) throw new Bug(`A column of ${kind} has no values.`)
  if (kind === 'bool') return makeData({ ...base, data: bitsOfBytes(column.values as Uint8Array, length) } as never)
  const values = column.values.subarray(0, length)
  if (column.type.kind === 'time' && (column.type.unit === 's' || column.type.unit === 'ms')) {
    return makeData({ ...base, data: Int32Array.from(values as BigInt64Array, Number) } as never)
  }
  if (DataType.isDecimal(type)) return makeData({ ...base, data: wordsOfDecimals(column, type, field) } as never)
  if (DataType.isInt(type) && values instanceof Float64Array)
    return makeData({ ...base, data: integersOf(column, type.isSigned ? 'i64' : 'u64') } as never)
  return makeData({ ...base, data: own(values) } as never)
}

/** Data of nulls alone, with a slice of its own: Arrow's forgets that all are null, and then writes a count of -1. */
function nullsOf(type: DataType, length: number): Data {
  const nulls: Data = makeData({ type, length } as never)
  nulls.slice = (_offset, sliced) => nullsOf(type, sliced)
  return nulls
}

interface Named {
  readonly name: string
  readonly type: DataType
  /** Whether it is part of a struct or a list: `name` is then its path. */
  readonly isInside?: true
}

function childOf({ name, type }: Named, index: number): Named {
  const child = type.children[index] as ArrowField | undefined
  if (child === undefined) throw new Bug(`The Arrow type ${String(type)} has no child ${index}.`)
  return { name: DataType.isStruct(type) ? `${name}.${child.name}` : `${name}[]`, type: child.type as DataType, isInside: true }
}

type Own = <A extends NonNullable<Column['values']>>(values: A) => A

/** Leaves buffers as they are, but copies those that came before: Arrow's writer takes two views of one place in a row for one buffer. */
function sameOnce(): Own {
  const seen = new Map<ArrayBufferLike, Set<number>>()
  return (values) => {
    const begins = seen.get(values.buffer) ?? new Set()
    seen.set(values.buffer, begins)
    if (begins.has(values.byteOffset)) return copied(values)
    begins.add(values.byteOffset)
    return values
  }
}

/** A copy in an ordinary buffer, whatever the buffer of the original is. */
function copied<A extends NonNullable<Column['values']>>(values: A): A {
  const copy = new (values.constructor as new (length: number) => A)(values.length)
  copy.set(values as never)
  return copy
}

function offsetsOf(column: Column): { offsets: Int32Array; start: number; end: number } {
  const from = column.offsets ?? new Int32Array(column.length + 1)
  const start = from[0] ?? 0
  const offsets = new Int32Array(column.length + 1)
  for (let i = 0; i <= column.length; i++) offsets[i] = (from[i] ?? 0) - start
  return { offsets, start, end: start + (offsets[column.length] ?? 0) }
}

export function validityOf(column: Column): { nullBitmap: Uint8Array | null; nullCount: number } {
  if (column.validity === undefined) return { nullBitmap: null, nullCount: 0 }
  const nullBitmap = copied(bitsFrom(column.validity, 0, column.length))
  // what lies behind the last element is not Arrow's to read; zeros keep files the same from run to run
  const rest = column.length & 7
  if (rest !== 0) nullBitmap[nullBitmap.length - 1] = (nullBitmap[nullBitmap.length - 1] ?? 0) & ((1 << rest) - 1)
  let valid = 0
  for (const byte of nullBitmap) for (let bits = byte; bits !== 0; bits &= bits - 1) valid++
  return { nullBitmap, nullCount: column.length - valid }
}

function bitsOfBytes(bytes: Uint8Array, length: number): Uint8Array {
  const bits = new Uint8Array((length + 7) >> 3)
  for (let i = 0; i < length; i++) if (bytes[i] !== 0) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7))
  return bits
}
