/**
 * Arrays as keys: an array that a function returns becomes an object (a tuple) with a field for each item, `{ 0: …, 1: … }`, so that
 * items may differ in type; a column of lists that is only handed on stays one. Where one side of a join has tuples and the other
 * lists, tuples become lists.
 */
import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { unifyTypes } from '../../../../core/data/columnConversions.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { holdsNull } from '../join/nullKeys.ts'

/** The representation of an array that a function returns. */
export type ArrayForm =
  /** A list. */
  | 'list'
  /** A tuple: a field for each item, null for items that a shorter array lacks. For keys of axes. */
  | 'items'
  /** As `items`, for orders; a list that is handed on stays a list. */
  | 'order'
  /** As `order`, for keys of joins; null where the array holds a null, since such a key matches nothing. */
  | 'match'
  /** As `order`, with the number of items as one more field where a function may return arrays of several lengths. */
  | 'counted'

/** A value that a function returned, with an array in this form. */
export function inForm(value: unknown, form: ArrayForm): unknown {
  if (form === 'match' && holdsNull(value)) return null
  if (form === 'list' || !Array.isArray(value)) return value
  return Object.fromEntries(form === 'counted' ? [...value.entries(), ['length', value.length]] : value.entries())
}

/** Whether a struct type is that of arrays: its fields are named 0, 1, … */
export function isTuple(type: ColumnType): type is Extract<ColumnType, { kind: 'struct' }> {
  return type.kind === 'struct' && type.fields.every((field, i) => field.name === String(i))
}

/** The list type that a column of tuples is converted to where `other` has lists; else the type itself. PlanError for items of types that do not unify. */
export function listType(type: ColumnType, other: ColumnType): ColumnType {
  if (other.kind !== 'list' || !isTuple(type)) return type
  return { kind: 'list', item: type.fields.reduce<ColumnType>((item, field) => unifyTypes(item, field.type, 'key'), { kind: 'null' }) }
}

/** Converts tuples to lists if `type` is a list. Keys hold no nulls, so nulls in a tuple only stand for items that a shorter array lacks. */
export function asList(column: Column, type: ColumnType): Column {
  if (type.kind !== 'list' || column.type.kind !== 'struct') return column
  const read = valueReader(column)
  const lists = Array.from({ length: column.length }, (_, i) => {
    const value = read(i)
    return value === null ? null : Object.values(value as object).filter((item) => item !== null)
  })
  return columnFromValues(lists, type)
}
