/**
 * Arrays as keys: where a function returns them they are objects with a field for each item, `{ 0: …, 1: … }`, so that items
 * may be of different kinds; a column of lists that is only handed on stays one. Where one side of a join has these and the
 * other those, objects become lists.
 */
import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { unifyTypes } from '../../../../core/data/columnConversions.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { holdsNull } from '../join/nullKeys.ts'

/** What becomes of an array that a function returns. */
export type ArrayForm =
  /** A list. */
  | 'list'
  /** A field for each item; null for items that a shorter array has not. For keys of axes. */
  | 'items'
  /** The same for orders. Of a list that is handed on: a list. */
  | 'order'
  /** The same, but nothing where it holds a null, as no key that does matches another. Of a list that is handed on: a list. */
  | 'match'
  /** The same as `items`, and how many there are. Of a list that is handed on: a list. */
  | 'counted'

/** A returned value in this form. */
export function inForm(value: unknown, form: ArrayForm): unknown {
  if (form === 'match' && holdsNull(value)) return null
  if (form === 'list' || !Array.isArray(value)) return value
  return Object.fromEntries(form === 'counted' ? [...value.entries(), ['length', value.length]] : value.entries())
}

/** Whether objects of a type are arrays. */
export function isTuple(type: ColumnType): type is Extract<ColumnType, { kind: 'struct' }> {
  return type.kind === 'struct' && type.fields.every((field, i) => field.name === String(i))
}

/** The type of the lists that a column of arrays as objects becomes beside a column of lists; otherwise the type it has. PlanError for items of several kinds. */
export function listType(type: ColumnType, other: ColumnType): ColumnType {
  if (other.kind !== 'list' || !isTuple(type)) return type
  return { kind: 'list', item: type.fields.reduce<ColumnType>((item, field) => unifyTypes(item, field.type, 'key'), { kind: 'null' }) }
}

/** The column as lists where those are wanted. A key holds no null, so that what follows the last item is null. */
export function asList(column: Column, type: ColumnType): Column {
  if (type.kind !== 'list' || column.type.kind !== 'struct') return column
  const read = valueReader(column)
  const lists = Array.from({ length: column.length }, (_, i) => {
    const value = read(i)
    return value === null ? null : Object.values(value as object).filter((item) => item !== null)
  })
  return columnFromValues(lists, type)
}
