/**
 * Batches as operators pass them on, with hidden columns beside the elements, and functions that take, slice and concatenate them.
 */

import type { Batch, Column } from '../../../core/data/column.ts'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { convertColumn, unifyFields, unifyTypes } from '../../../core/data/columnConversions.ts'
import { type NewArray, nullColumn, ordinary, sliceColumn } from '../../../core/data/columnSlices.ts'
import { positionsOf } from '../../../core/data/fieldPositions.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, sameType, scalarType, VALUE_COLUMN } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import { isKnown } from '../../../core/plan/elements.ts'
import { mapBuffers } from '../../memory/shareColumns.ts'
import { takenColumn } from './gather/takenTexts.ts'

/** A batch with columns that are no part of its elements: keys to sort, group or join by, arguments of aggregates. */
export interface ExecBatch extends Batch {
  readonly hidden?: readonly Column[]
}

export function isNullable(column: Column): boolean {
  return column.validity !== undefined || column.type.kind === 'null' || column.type.kind === 'object'
}

/** A batch of scalar elements. */
export function scalarBatch(column: Column): Batch {
  const type = scalarType(column.type)
  const plain = type === column.type ? column : { ...column, type }
  return { element: { kind: 'scalar', type, nullable: isNullable(plain) }, length: plain.length, columns: [plain] }
}

/** A batch of rows when the column is a struct without nulls, of scalars otherwise; the element is unknown where the column is empty and of type null. */
export function structBatch(column: Column): Batch {
  if (column.type.kind === 'struct' && column.validity === undefined) {
    return { element: { kind: 'row', fields: column.type.fields }, length: column.length, columns: column.children ?? [] }
  }
  if (column.length === 0 && column.type.kind === 'null') return { element: { kind: 'unknown' }, length: 0, columns: [] }
  return scalarBatch(column)
}

/** A batch of rows. */
export function rowBatch(names: readonly string[], columns: readonly Column[], length: number): Batch {
  const fields = columns.map((column, i): Field => ({ name: names[i] ?? '', type: column.type, nullable: isNullable(column) }))
  return { element: { kind: 'row', fields }, length, columns }
}

/** A batch of hidden columns alone. */
export function hiddenBatch(hidden: readonly Column[]): ExecBatch {
  return { element: { kind: 'row', fields: [] }, length: hidden[0]?.length ?? 0, columns: [], hidden }
}

/** The elements of a batch as one column: a struct for rows. */
export function elementColumn(batch: Batch): Column {
  switch (batch.element.kind) {
    case 'row':
      return { type: { kind: 'struct', fields: batch.element.fields }, length: batch.length, children: batch.columns }
    case 'scalar':
      return batch.columns[0] ?? nullColumn({ kind: 'null' }, batch.length)
    case 'unknown':
      return nullColumn({ kind: 'null' }, batch.length)
  }
}

/** The elements at `indices`, in their order. `newArray` makes the buffers of the result. */
export function takeBatch(batch: ExecBatch, indices: Int32Array, newArray: NewArray = ordinary): ExecBatch {
  return {
    element: batch.element,
    length: indices.length,
    columns: batch.columns.map((column) => takenColumn(column, indices, newArray)),
    ...(batch.keys === undefined ? {} : { keys: batch.keys.map((axis) => takeKeys(axis, indices, newArray)) }),
    ...(batch.hidden === undefined ? {} : { hidden: batch.hidden.map((column) => takenColumn(column, indices, newArray)) }),
  }
}

function takeKeys(axis: Int32Array, indices: Int32Array, newArray: NewArray): Int32Array {
  const out = newArray(Int32Array, indices.length)
  for (let i = 0; i < indices.length; i++) out[i] = axis[indices[i] as number] as number // indices lie inside the batch
  return out
}

export function sliceBatch(batch: ExecBatch, from: number, to: number): ExecBatch {
  if (from === 0 && to === batch.length) return batch
  return {
    element: batch.element,
    length: to - from,
    columns: batch.columns.map((column) => sliceColumn(column, from, to)),
    ...(batch.keys === undefined ? {} : { keys: batch.keys.map((axis) => axis.subarray(from, to)) }),
    ...(batch.hidden === undefined ? {} : { hidden: batch.hidden.map((column) => sliceColumn(column, from, to)) }),
  }
}

/** Concatenates batches; rows with null scalars among them become scalars of structs. No batches give an empty one of `element`. `newArray` makes the buffers of the result. */
export function concatBatches(
  batches: readonly ExecBatch[],
  element: ElementType = { kind: 'unknown' },
  newArray: NewArray = ordinary,
): ExecBatch {
  const filled = batches.filter((batch) => batch.length > 0)
  const [first] = filled
  if (first === undefined) return batches[0] ?? emptyBatch(element)
  if (filled.length === 1) return first
  const length = filled.reduce((sum, batch) => sum + batch.length, 0)
  const target = unifyElements(filled.map((batch) => batch.element))
  const conformed = filled.map((batch) => columnsAs(batch, target))
  const columns = fieldsOf(target).map((field, i) =>
    concatColumns(
      conformed.map((one) => one[i] as Column),
      field.name,
      newArray,
    ),
  )
  const keys = first.keys?.map((_, axis) =>
    concatKeys(
      filled.map((batch) => batch.keys?.[axis] ?? new Int32Array(0)),
      length,
      newArray,
    ),
  )
  const hidden = first.hidden?.map((_, i) =>
    concatColumns(
      filled.map((batch) => batch.hidden?.[i] ?? nullColumn({ kind: 'null' }, batch.length)),
      'key',
      newArray,
    ),
  )
  return { element: target, length, columns, ...(keys === undefined ? {} : { keys }), ...(hidden === undefined ? {} : { hidden }) }
}

function concatKeys(parts: readonly Int32Array[], length: number, newArray: NewArray): Int32Array {
  const out = newArray(Int32Array, length)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** A batch of no elements. A column whose type is known only when the plan runs has type null here. */
export function emptyBatch(element: ElementType): Batch {
  const told: ElementType =
    isKnown(element) || element.kind !== 'row' ? element : { kind: 'row', fields: element.fields.map(nullIfUnknown) }
  return { element: told, length: 0, columns: fieldsOf(told).map((field) => nullColumn(field.type, 0)) }
}

function nullIfUnknown(field: Field): Field {
  return isKnown({ kind: 'row', fields: [field] }) ? field : { ...field, type: { kind: 'null' } }
}

/** The element type that every one of `elements` can be converted to; unknown ones do not count. */
export function unifyElements(elements: readonly ElementType[]): ElementType {
  return elements.reduce((a, b) => {
    if (a.kind === 'unknown') return b
    if (b.kind === 'unknown') return a
    if (a.kind === 'row' && b.kind === 'row') return { kind: 'row', fields: unifyFields(a.fields, b.fields) }
    const [field] = unifyFields([fieldOf(a)], [fieldOf(b)])
    return { kind: 'scalar', type: field?.type ?? { kind: 'null' }, nullable: field?.nullable ?? true }
  })
}

function fieldOf(element: ElementType): Field {
  switch (element.kind) {
    case 'row':
      return { name: VALUE_COLUMN, type: { kind: 'struct', fields: element.fields }, nullable: false }
    case 'scalar':
      return { name: VALUE_COLUMN, type: element.type, nullable: element.nullable }
    case 'unknown':
      return { name: VALUE_COLUMN, type: { kind: 'null' }, nullable: true }
  }
}

/** The batch's columns converted to a unified element type. */
function columnsAs(batch: Batch, target: ElementType): readonly Column[] {
  if (target.kind === 'scalar') return [convertColumn(elementColumn(batch), target.type)]
  const { element } = batch
  if (target.kind !== 'row' || element.kind !== 'row') return batch.columns
  const positions = positionsOf(element.fields)
  return target.fields.map((field) => {
    const column = batch.columns[positions.get(field.name) ?? -1]
    return column === undefined ? nullColumn(field.type, batch.length) : convertColumn(column, field.type)
  })
}

/** The batch converted to a unified element type. */
export function batchAs(batch: ExecBatch, target: ElementType): ExecBatch {
  if (sameElement(batch.element, target)) return batch
  return { ...batch, element: target, columns: columnsAs(batch, target) }
}

function sameElement(a: ElementType, b: ElementType): boolean {
  const left = fieldsOf(a)
  const right = fieldsOf(b)
  return (
    a.kind === b.kind &&
    left.length === right.length &&
    left.every((field, i) => field.name === right[i]?.name && sameType(field.type, right[i].type))
  )
}

/** The batch with its columns in the declared order, where the declaration names the same columns. */
export function conform(batch: ExecBatch, declared: ElementType): ExecBatch {
  if (declared.kind !== 'row' || batch.element.kind !== 'row') return batch
  const actual = batch.element.fields
  if (actual.length !== declared.fields.length) return batch
  const known = positionsOf(actual)
  const positions = declared.fields.map((field) => known.get(field.name) ?? -1)
  if (positions.includes(-1) || positions.every((position, i) => position === i)) return batch
  const fields = positions.map((position) => actual[position] as Field) // none is -1
  return { ...batch, element: { kind: 'row', fields }, columns: positions.map((position) => batch.columns[position] as Column) }
}

/** A column of computed values: of `type` if all fit it, else of the type they have. */
export function fittingColumn(values: readonly unknown[], type: ColumnType): Column {
  try {
    return columnFromValues(values, type)
  } catch (error) {
    if (error instanceof PlanError) return columnFromValues(values)
    throw error
  }
}

/** The batch with the types the plan declares, where they hold every value of the actual ones: i32 as f64, all nulls as utf8. */
export function asDeclared(batch: ExecBatch, declared: ElementType): ExecBatch {
  const wanted = fieldsOf(declared)
  const actual = fieldsOf(batch.element)
  if (declared.kind !== batch.element.kind || wanted.length !== actual.length) return batch
  const fields = actual.map((field, i): Field => {
    const other = wanted[i]
    return other === undefined || other.name !== field.name ? field : { ...field, type: widerType(field.type, other.type) }
  })
  if (fields.every((field, i) => field.type === actual[i]?.type)) return batch
  const columns = batch.columns.map((column, i) => convertColumn(column, (fields[i] as Field).type)) // one field per column
  const [value] = fields
  const element: ElementType =
    declared.kind === 'scalar' && value !== undefined
      ? { kind: 'scalar', type: value.type, nullable: value.nullable }
      : { kind: 'row', fields }
  return { ...batch, element, columns }
}

function widerType(actual: ColumnType, declared: ColumnType): ColumnType {
  if (declared.kind === 'unknown' || sameType(actual, declared)) return actual
  try {
    const both = unifyTypes(actual, declared, VALUE_COLUMN)
    return sameType(both, declared) ? declared : actual
  } catch {
    return actual // the data say otherwise than the plan: they are right
  }
}

/** The batch with each of its buffers replaced by what `change` returns for it. */
export function mapBatch(batch: ExecBatch, change: <B extends NonNullable<Column['values']>>(buffer: B) => B): ExecBatch {
  return {
    ...batch,
    columns: batch.columns.map((column) => mapBuffers(column, change)),
    ...(batch.keys === undefined ? {} : { keys: batch.keys.map((axis) => change(axis)) }),
    ...(batch.hidden === undefined ? {} : { hidden: batch.hidden.map((column) => mapBuffers(column, change)) }),
  }
}
