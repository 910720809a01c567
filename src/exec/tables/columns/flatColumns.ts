/**
 * Structs beside their fields: a list of columns in which each struct stands before its fields, so that all have values or texts alone.
 *
 *     id  geo { cc, at { x } }  v    -->    id  geo  geo.cc  geo.at  geo.at.x  v
 */
import type { Column } from '../../../core/data/column.ts'
import type { ColumnType, Field } from '../../../core/data/schema.ts'

/** A column of a list in which structs stand beside their fields. */
export interface FlatField extends Field {
  /** Whether it is a field of a struct. */
  readonly isInside: boolean
}

export function flatFields(fields: readonly Field[], isInside: boolean = false): readonly FlatField[] {
  return fields.flatMap((field) => {
    const own = { ...field, isInside }
    return field.type.kind === 'struct' ? [own, ...flatFields(field.type.fields, true)] : [own]
  })
}

/** The columns of such a list; structs in it have no fields. Of structs in `columns` only the fields of `types` are taken. */
export function flatColumns(columns: readonly Column[], types: readonly ColumnType[]): readonly Column[] {
  return columns.flatMap((column, i) => {
    const type = types[i]
    if (column.type.kind !== 'struct' || type?.kind !== 'struct') return [column]
    const { children = [], ...own } = column
    const names = column.type.fields.map((field) => field.name)
    const wanted = type.fields.map((field) => children[names.indexOf(field.name)] as Column) // a part of the column's type
    return [
      own,
      ...flatColumns(
        wanted,
        type.fields.map((field) => field.type),
      ),
    ]
  })
}

/** The columns of these types out of such a list. */
export function nestedColumns(types: readonly ColumnType[], flat: readonly Column[]): readonly Column[] {
  let at = 0
  const next = (type: ColumnType): Column => {
    const own = flat[at++] as Column // one for each type
    return type.kind === 'struct' ? { ...own, children: type.fields.map((field) => next(field.type)) } : own
  }
  return types.map(next)
}

/** The indices in such a list of the columns that are no fields of structs. */
export function outerPlaces(flat: readonly Column[]): readonly number[] {
  const places: number[] = []
  for (let at = 0; at < flat.length; at += sizeOf((flat[at] as Column).type)) places.push(at) // at < length
  return places
}

function sizeOf(type: ColumnType): number {
  return type.kind === 'struct' ? type.fields.reduce((sum, field) => sum + sizeOf(field.type), 1) : 1
}
