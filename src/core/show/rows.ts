/** Grids of columns and rows, for handles that are printed and for previews. */
import type { Column } from '../data/column.ts'
import { valueReader } from '../data/columnReaders.ts'
import { type ElementType, type Field, typeText, VALUE_COLUMN } from '../data/schema.ts'
import { asColumnType, valueClassOf } from '../plan/elements.ts'
import { cellText } from './cells.ts'
import type { Grid, GridColumn } from './grid.ts'
import { clipped, printable } from './width.ts'

/** The most columns of a grid. */
const MOST_COLUMNS = 50
/** The most terminal cells of a column's name, and of its type. */
const MOST_NAME = 30
export const MOST_TYPE = 60

/** The columns of an element; one for an element that is no row. */
export function columnsOf(element: ElementType): readonly Field[] {
  return element.kind === 'row' ? element.fields : [{ name: VALUE_COLUMN, ...asColumnType(element) }]
}

/** The type of a column, with ? where it may be null. */
export function columnTypeText({ type, nullable }: Field): string {
  const text = typeText(type)
  return nullable && type.kind !== 'null' && type.kind !== 'unknown' ? `${text}?` : text
}

/** A name that fits into a column. */
export function nameText(name: string): string {
  return clipped(printable(name), MOST_NAME)
}

function gridColumn(field: Field): GridColumn {
  const valueClass = valueClassOf(field.type)
  return {
    name: nameText(field.name),
    type: clipped(columnTypeText(field), MOST_TYPE),
    side: valueClass === 'number' || valueClass === 'bigint' ? 'right' : 'left',
  }
}

/** The first `rows` rows of columns. */
export function gridOfColumns(fields: readonly Field[], columns: readonly Column[], rows: number): Grid {
  const shown = fields.slice(0, MOST_COLUMNS)
  const readers = shown.map((_, i) => {
    const column = columns[i]
    return column === undefined ? () => null : valueReader(column)
  })
  return {
    columns: shown.map(gridColumn),
    rows: Array.from({ length: rows }, (_, row) => shown.map(({ type }, i) => cellText(readers[i]?.(row), type))),
  }
}

/** A grid of the names and types of columns, one a line. */
export function gridOfFields(fields: readonly Field[]): Grid {
  return {
    columns: [
      { name: 'column', type: '', side: 'left' },
      { name: 'type', type: '', side: 'left' },
    ],
    rows: fields.slice(0, MOST_COLUMNS).map((field) => [nameText(field.name), clipped(columnTypeText(field), MOST_TYPE)]),
  }
}

/** The note for columns beyond those of a grid; empty where there are none. */
export function columnsLeftOut(fields: readonly Field[]): readonly string[] {
  return fields.length > MOST_COLUMNS ? [`and ${fields.length - MOST_COLUMNS} more of ${fields.length} columns`] : []
}
