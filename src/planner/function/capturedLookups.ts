/**
 * Constants of several parts that a loop's body captures, as tables that it looks numbers up in.
 *
 *     grid[r][c]       a list of lists of as many primitives each     -->  its rows end to end, at r * columns + c
 *     centers[k].x     a list of objects with the same fields       -->  a table of each field, at k
 *     rates.get(k)     a Map of whole numbers to numbers              -->  whether there is a k, and its value, at k - least
 *     stops.has(k)     a Set of whole numbers                         -->  whether there is a k, at k - least
 *
 * What is captured is read when a run begins: such constants are lowered anew whenever what they hold has changed
 * (`capturedNow.ts`), or cannot be compared, as that of a Map.
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { Expr, Primitive } from '../../core/functionIr.ts'
import { binary, conditional, literal, logical, makeIf, unary } from './build.ts'
import { isExactly, keyedByRow } from './capturedKeys.ts'
import { isWithin, rangeOf } from './indexRanges.ts'
import type { Lowering } from './lowering.ts'
import { addTable, isTable } from './outside.ts'
import { hasTraps } from './traps.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

type Data = Value & { readonly kind: 'data' }
type TableRow = Value & { readonly kind: 'tableRow' }

/** Elements of a table made here, and how many places it may have for each key there is. */
const MOST_ELEMENTS = 2 ** 20
const PLACES_A_KEY = 8
const FEW_PLACES = 1_024

/** A row of a list of lists, by a computed index; undefined for other data. */
export function nestedRow(l: Lowering, data: Data, index: Expr, node: AnyNode): Value | undefined {
  const { value, name } = data
  if (l.context.kind !== 'loop' || !Array.isArray(value)) return undefined
  const rows: readonly unknown[] = value
  const [first] = rows
  if (isPlainRecord(first)) return recordRow(l, data, rows, index, node)
  const columns = Array.isArray(first) ? first.length : 0
  if (columns === 0 || rows.length * columns > MOST_ELEMENTS) return undefined
  if (!rows.every((row) => Array.isArray(row) && row.length === columns && isTable(row))) return undefined
  const table = tableFor(l, data, 'values', () => numbersOf(rows.flat() as Primitive[]))
  return { kind: 'tableRow', table, columns, row: rowOf(l, index, rows.length, node), name }
}

/** The index of a row, which is one: JavaScript finds undefined elsewhere, of which it cannot take a part. */
function rowOf(l: Lowering, index: Expr, length: number, node: AnyNode): Expr {
  const span = l.span(node)
  const row = l.stabilized(index, 'row')
  if (isWithin(l, row, length)) return row
  const isOutside = outside(l, row, length, { whole: true })
  const message = literal('Cannot read properties of undefined', span)
  l.emit(...makeIf(isOutside, [{ kind: 'Throw', error: 'TypeError', message, span }], [], span))
  return row
}

/** An object of a list whose objects have the same fields, all of them numbers; undefined for other lists. */
function recordRow(l: Lowering, data: Data, rows: readonly unknown[], index: Expr, node: AnyNode): Value | undefined {
  const names = Object.keys(rows[0] as object)
  if (names.length === 0 || names.includes('__proto__') || rows.length * names.length > MOST_ELEMENTS) return undefined
  const isAlike = (row: unknown): boolean => {
    if (!isPlainRecord(row) || Reflect.ownKeys(row).length !== names.length) return false
    return names.every((name) => typeof Object.getOwnPropertyDescriptor(row, name)?.value === 'number')
  }
  if (!rows.every(isAlike)) return undefined
  const tables = names.map((name): [string, string] => {
    const values = (): Float64Array => Float64Array.from(rows, (row) => (row as Record<string, number>)[name] as number) // as looked at above
    return [name, tableFor(l, data, name, values)]
  })
  return { kind: 'recordRow', tables: new Map(tables), row: rowOf(l, index, rows.length, node), name: data.name }
}

function isPlainRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && !hasTraps(value)
}

/** A field of an object of the list. */
export function fieldOfRow({ tables, row, name }: Value & { kind: 'recordRow' }, field: string, l: Lowering, node: AnyNode): Value {
  const table = tables.get(field)
  if (table !== undefined) return exprValue(unary('+', { kind: 'Lookup', table, index: row, span: l.span(node) }, l.span(node)))
  return field in Object.prototype ? l.refuse('captured-object', node, name) : exprValue(literal(undefined, l.span(node)))
}

/** Whether the index is none of a list of so many, as far as that is not known before; `whole`: nor what is no whole number. */
function outside(l: Lowering, index: Expr, length: number, { whole }: { readonly whole: boolean }): Expr {
  const { span } = index
  const range = rangeOf(l, index)
  const tests = [
    ...((range?.low ?? -1) >= 0 ? [] : [binary('<', index, literal(0, span), span)]),
    ...((range?.high ?? length) < length ? [] : [binary('>=', index, literal(length, span), span)]),
    ...(whole && range === undefined ? [binary('!==', binary('%', index, literal(1, span), span), literal(0, span), span)] : []),
  ]
  return tests.reduce((a, b) => logical('||', a, b, span))
}

/** An element of the row: undefined outside of it. */
export function elementOfRow({ table, columns, row }: TableRow, index: Expr, l: Lowering, node: AnyNode): Value {
  const span = l.span(node)
  const column = l.stabilized(index, 'column')
  const at = binary('+', binary('*', row, literal(columns, span), span), column, span)
  const lookup: Expr = { kind: 'Lookup', table, index: at, span }
  // inside of a table of numbers there is a number
  const found = l.tables.find((one) => one.name === table)?.value instanceof Float64Array ? unary('+', lookup, span) : lookup
  if (isWithin(l, column, columns)) return exprValue(found)
  return exprValue(conditional(outside(l, column, columns, { whole: false }), literal(undefined, span), found, span))
}

/** Doubles where all are numbers, which is what kernels read. */
function numbersOf(values: readonly Primitive[]): ArrayLike<Primitive> {
  return values.every((value) => typeof value === 'number') ? Float64Array.from(values) : values
}

/** `map.get(k)`, `map.has(k)`, `set.has(k)`; undefined for other data and methods, and other keys than whole numbers that lie together. */
export function keyedMethod(l: Lowering, data: Data, name: string, node: CallExpression): Value | undefined {
  const { value } = data
  const [argument, another] = node.arguments
  if (l.context.kind === 'row') return keyedByRow(l, data, name, node)
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const isMap = isExactly(value, Map)
  if ((!isMap && !isExactly(value, Set)) || (name !== 'has' && !(isMap && name === 'get'))) return undefined
  const keys = [...value.keys()]
  const least = keys.reduce<number>((sofar, key) => (typeof key === 'number' ? Math.min(sofar, key) : Number.NaN), Number.POSITIVE_INFINITY)
  const most = keys.reduce<number>((sofar, key) => (typeof key === 'number' ? Math.max(sofar, key) : Number.NaN), Number.NEGATIVE_INFINITY)
  const places = most - least + 1
  if (
    keys.length > 0 &&
    !(keys.every(Number.isSafeInteger) && places <= Math.max(FEW_PLACES, PLACES_A_KEY * keys.length) && places <= MOST_ELEMENTS)
  )
    return undefined
  const key = l.scalarOrNothing(l.verbs.value(l, argument as Expression), argument)
  if (key === undefined) return REFUSED
  const span = l.span(node)
  if (keys.length === 0) return exprValue(literal(name === 'has' ? false : undefined, span))
  const at = l.stabilized(binary('-', key, literal(least, span), span), 'place')
  const present = new Uint8Array(places)
  for (const one of keys) present[(one as number) - least] = 1
  const isThere = binary('>', { kind: 'Lookup', table: tableFor(l, data, 'keys', () => present), index: at, span }, literal(0, span), span)
  if (name === 'has') return exprValue(isThere)
  const values = [...(value as Map<unknown, unknown>).values()]
  if (!values.every((one) => typeof one === 'number')) return undefined
  const held = new Float64Array(places)
  for (const [i, one] of keys.entries()) held[(one as number) - least] = values[i] as number
  const found = unary('+', { kind: 'Lookup', table: tableFor(l, data, 'values', () => held), index: at, span }, span)
  return exprValue(conditional(isThere, found, literal(undefined, span), span))
}

/** A table made of a constant, once. */
function tableFor(l: Lowering, { value, name }: Data, part: string, held: () => ArrayLike<Primitive>): string {
  const of = l.partsOfConstants.get(value) ?? {}
  l.partsOfConstants.set(value, of)
  return (of[part] ??= addTable(l, `${name}_${part}`, held(), 'capture', undefined, { made: true }))
}
