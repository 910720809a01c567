/**
 * Rows of tables in `env`: each column that a body reads is an array of its own.
 *
 *     const q = quotes.get(i); q.strike * q.rate       -->   quotes_strike[i] * quotes_rate[i]
 *
 * Columns of numbers and of truth values without nulls are read so, and numbers with nulls as two arrays (`isNull ? null : orZero`); a body that wants others, or a row as a whole, keeps its table, and
 * runs as it stands. A row that is kept in a variable is read where it is taken, so that a key outside of the table fails there.
 */
import type { AnyNode } from 'acorn'
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { Field } from '../../../core/data/schema.ts'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { capturedHandleName, handleOf } from '../captures/outside.ts'
import { conditional, literal, negated, truth, unary } from './build.ts'
import type { ColumnPart } from './context.ts'
import type { Lowering } from './lowering.ts'
import { exprValue, REFUSED, type RecordField, type Value } from './value.ts'

export type ElementRow = Value & { readonly kind: 'elementRow' }

/** Returns the row of a table at a key; undefined for an array of other elements. */
export function rowOfTable(l: Lowering, table: string, keys: readonly Expr[]): ElementRow | undefined {
  const [row, another] = keys
  if (!l.tablesOfRows.has(table) || row === undefined || another !== undefined) return undefined
  return { kind: 'elementRow', table, row: l.stabilized(row, 'row') }
}

/** Returns a column's value in the row. */
export function fieldOfElementRow(l: Lowering, { table, row }: ElementRow, name: string, node: AnyNode): Value {
  const span = l.span(node)
  const fields = l.tablesOfRows.get(table)?.fields ?? []
  const field = fields.find((one) => one.name === name)
  if (field === undefined) {
    if (name in Object.prototype) return l.refuse('unknown-method', node, name)
    l.missing.push({ name, span, array: { name: table, fields } })
    return REFUSED
  }
  const array = arrayOfColumn(l, table, field)
  if (array === undefined) return numberOrNull(l, table, field, row, span) ?? l.refuse('row-column', node, `${table}.${name}`, table)
  if (!l.columnsRead.has(table)) l.columnsRead.set(table, name)
  const read: Expr = { kind: 'Read', array, subscripts: [row], span }
  return exprValue(l.booleans.has(array) ? truth(read) : read)
}

/** Returns an element of a column of numbers with nulls; undefined for other columns. */
function numberOrNull(l: Lowering, table: string, field: Field, row: Expr, span: Span): Value | undefined {
  if (field.type.kind !== 'f64') return undefined
  const [isNull, orZero] = [arrayOfColumn(l, table, field, 'isNull'), arrayOfColumn(l, table, field, 'orZero')]
  if (isNull === undefined || orZero === undefined) return undefined
  const read = (array: string): Expr => ({ kind: 'Read', array, subscripts: [row], span })
  return exprValue(conditional(negated(truth(read(isNull)), span), unary('+', read(orZero), span), literal(null, span), span))
}

/** Returns all columns of the row; undefined where one is refused. */
export function fieldsOfElementRow(l: Lowering, of: ElementRow, node: AnyNode): readonly RecordField[] | undefined {
  const fields = (l.tablesOfRows.get(of.table)?.fields ?? []).map(({ name }) => ({ name, value: fieldOfElementRow(l, of, name, node) }))
  return fields.some(({ value }) => value.kind === 'refused') ? undefined : fields
}

/** Emits a read of the row, so that a key outside of the table fails, and returns the row as existing. */
export function keptRow(l: Lowering, of: ElementRow): ElementRow {
  const array = of.isThere === true ? undefined : arrayOfRows(l, of.table)
  if (array === undefined) return of
  const { row } = of
  l.emit({ kind: 'Evaluate', value: { kind: 'Read', array, subscripts: [row], span: row.span }, span: row.span })
  return { ...of, isThere: true }
}

/** Returns an array with an element for each row of the table, preferably a column that is read anyhow; undefined where there is none. */
export function arrayOfRows(l: Lowering, table: string): string | undefined {
  const fields = l.tablesOfRows.get(table)?.fields ?? []
  const read = l.checkedColumns.get(table)
  const field = fields.find((one) => one.name === read) ?? fields.find(isPlain)
  return field && arrayOfColumn(l, table, field)
}

function arrayOfColumn(l: Lowering, table: string, field: Field, part?: ColumnPart): string | undefined {
  const known = l.tablesOfRows.get(table)
  if (l.context.kind !== 'loop' || known === undefined || (part === undefined && !isPlain(field))) return undefined
  const column = l.context.columnArray?.(known.handle, field.name, part)
  const value = column && l.context.classify?.(column)
  if (column === undefined || value === undefined || value.kind === 'constant') return undefined
  const name = capturedHandleName(l, column, `${table}_${field.name.replaceAll(/\W/g, '_')}${part === undefined ? '' : `_${part}`}`)
  handleOf(l, value, name, 'capture')
  return name
}

/** Whether one array has the column's values; numbers with nulls are two, so that they stay numbers. */
function isPlain({ type, nullable }: Field): boolean {
  return (!nullable || type.kind === 'bool') && type.kind in ARRAY_OF_DTYPE
}
