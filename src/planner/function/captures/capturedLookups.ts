/**
 * Lowers constants of several parts that a loop's body captures, to tables in which it looks numbers up.
 *
 *     grid[r][c]       a list of lists of as many primitives each     -->  its rows end to end, at r * columns + c
 *     centers[k].x     a list of objects with the same fields       -->  a table of each field, at k
 *     links[v]         a list of lists of several lengths             -->  their elements end to end, where each begins, how long it is
 *     roads[v][e].to   a list of lists of objects, or of lists      -->  the same, of one list of all objects, or of all lists
 *     rates.get(k)     a Map of numbers to numbers, lists or objects  -->  whether there is a k, and its value, at k - least, or where k is
 *     stops.has(k)     a Set of numbers                               -->  whether there is a k      among the keys in their order
 *
 * What is captured is read when a run begins: such constants are lowered anew whenever what they hold has changed
 * (`capturedNow.ts`), or cannot be compared.
 */
import { types } from 'node:util'
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { Expr, Primitive } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, conditional, literal, logical, makeIf, negated, truth, unary } from '../lower/build.ts'
import { isWithin, rangeOf } from '../lower/indexRanges.ts'
import type { Lowering } from '../lower/lowering.ts'
import { type Data, type Elements, exprValue, REFUSED, type Value } from '../lower/value.ts'
import { libraryFunction } from './libraryFunctions.ts'
import { numbersOf } from './numbersOf.ts'
import { addTable, isTable, tableOf } from './outside.ts'
import { hasTraps } from './traps.ts'

type TableRow = Value & { readonly kind: 'tableRow' }

/** Most elements of a table made here. */
export const MOST_ELEMENTS: number = 2 ** 20

/** Lowers a row of a list of lists by a computed index; undefined for other data. `absent`: whether there is none, if the caller knows. */
export function nestedRow(l: Lowering, data: Data, index: Expr, node: AnyNode, known: { readonly absent?: Expr } = {}): Value | undefined {
  const { value, name } = data
  if (!Array.isArray(value)) return undefined
  const rows: readonly unknown[] = Array.from(value) // a hole is an element that is undefined
  const [first] = rows
  const { absent } = known
  const isThere = absent?.kind === 'Literal' && absent.value === false
  const rowAt = (): Row => (absent === undefined ? rowOf(l, index, rows.length) : { row: index, ...(isThere ? {} : { absent }) })
  if (isPlainRecord(first)) return recordRow(l, data, rows, rowAt)
  if (first === undefined || !areLists(rows)) return undefined
  const columns = rows[0]?.length ?? 0
  if (!rows.every((row) => row.length === columns)) return raggedRow(l, data, rows, rowAt(), node)
  if (columns === 0 || rows.length * columns > MOST_ELEMENTS) return undefined
  const table = endToEnd(l, data, rows)
  const span = l.span(node)
  const { row, ...rest } = rowAt()
  return { kind: 'tableRow', table, start: binary('*', row, literal(columns, span), span), length: literal(columns, span), name, ...rest }
}

/** Lowers `test ? a : b` of captured lists of primitives to one of the two rows of a table; undefined for other values. */
export function chosenList(l: Lowering, test: Expr, a: Value, b: Value, node: AnyNode): Value | undefined {
  if (l.context.kind !== 'loop' || a.kind !== 'data' || b.kind !== 'data' || !isList(a.value) || !isList(b.value)) return undefined
  const rows: Data = { kind: 'data', value: [a.value, b.value], name: a.name, origin: a.origin, made: true }
  const [first, second] = [0, 1].map((row) => literal(row, test.span)) as [Expr, Expr]
  return nestedRow(l, rows, conditional(test, first, second, test.span), node, { absent: literal(false, test.span) })
}

export function isList(row: unknown): row is readonly Primitive[] {
  return Array.isArray(row) && isTable(row)
}

/** Whether all are lists of primitives, or all are lists of lists and objects. */
function areLists(rows: readonly unknown[]): rows is readonly (readonly unknown[])[] {
  const areNested = rows.some((row) => Array.isArray(row) && row.length > 0 && !isPrimitiveValue(row[0]))
  return areNested ? rows.every((row) => Array.isArray(row) && !hasTraps(row) && Array.from(row).every(isPlainPart)) : rows.every(isList)
}

function isPlainPart(value: unknown): boolean {
  return (Array.isArray(value) && !hasTraps(value)) || isPlainRecord(value)
}

/** Returns the elements of all rows, end to end. */
function endToEnd(l: Lowering, data: Data, rows: readonly (readonly unknown[])[]): Elements {
  const areNested = rows.some((row) => row.length > 0 && !isPrimitiveValue(row[0]))
  if (areNested) return partFor(l, data, 'elements', () => rows.flat())
  return tableFor(l, data, 'values', () => numbersOf(rows.flat() as Primitive[])) // as just asked
}

/** Lowers a row of lists of several lengths, whose starts and lengths are tables; undefined where the tables are too large, or empty. */
export function raggedRow(
  l: Lowering,
  data: Data,
  rows: readonly (readonly unknown[])[],
  { row, ...rest }: Row,
  node: AnyNode,
): Value | undefined {
  const starts = new Int32Array(rows.length)
  let end = 0
  for (const [i, one] of rows.entries()) {
    starts[i] = end
    end += one.length
  }
  if (end === 0 || end > MOST_ELEMENTS) return undefined
  const span = l.span(node)
  const at = (part: string, held: () => Int32Array): Expr =>
    l.stabilized(unary('+', { kind: 'Lookup', table: tableFor(l, data, part, held), index: row, span }, span), part)
  const table = endToEnd(l, data, rows)
  const start = at('starts', () => starts)
  return {
    kind: 'tableRow',
    table,
    start,
    length: at('lengths', () => Int32Array.from(rows, (one) => one.length)),
    name: data.name,
    ...rest,
  }
}

/** The index of a row; `absent` is true where there is no such row, which has no parts. */
export interface Row {
  readonly row: Expr
  readonly absent?: Expr
}

function rowOf(l: Lowering, index: Expr, length: number): Row {
  const row = l.stabilized(index, 'row')
  return isWithin(l, row, length) ? { row } : { row, absent: outside(l, row, length, { whole: true }) }
}

/** Returns a row after a check that it exists: JavaScript reads no part of undefined. */
export function rowThatIsThere<V extends Value & { readonly kind: 'tableRow' | 'recordRow' }>(l: Lowering, of: V, node: AnyNode): V {
  const { absent, ...rest } = of
  if (absent === undefined) return of
  const span = l.span(node)
  const message = literal('Cannot read properties of undefined', span)
  l.emit(...makeIf(absent, [{ kind: 'Throw', error: 'TypeError', message, span }], [], span))
  return rest as unknown as V // the value without `absent`
}

/** Lowers an object of a list whose objects have the same fields, each with primitives, or with lists and objects; undefined for others. */
export function recordRow(l: Lowering, data: Data, rows: readonly unknown[], rowAt: () => Row): Value | undefined {
  const names = Object.keys(rows[0] as object)
  if (names.length === 0 || names.includes('__proto__') || rows.length * names.length > MOST_ELEMENTS) return undefined
  const isAlike = (row: unknown): boolean => {
    if (!isPlainRecord(row) || Reflect.ownKeys(row).length !== names.length) return false
    return names.every((name) => 'value' in (Object.getOwnPropertyDescriptor(row, name) ?? {}))
  }
  if (!rows.every(isAlike)) return undefined
  const tables = names.flatMap((name): [string, Elements][] => {
    const values = rows.map((row) => (row as Record<string, unknown>)[name]) // as looked at above
    if (values.every(isPrimitiveValue)) return [[name, tableFor(l, data, name, () => numbersOf(values), `field ${name}`)]]
    return values.every(isPlainPart) ? [[name, partFor(l, data, name, () => values, `field ${name}`)]] : []
  })
  if (tables.length < names.length) return undefined
  return { kind: 'recordRow', tables: new Map(tables), name: data.name, ...rowAt() }
}

function isPrimitiveValue(value: unknown): value is Primitive {
  return value === null || (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol')
}

export function isPlainRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && !hasTraps(value)
}

/** Lowers a field of an object of the list. */
export function fieldOfRow(of: Value & { kind: 'recordRow' }, field: string, l: Lowering, node: AnyNode): Value {
  const { tables, row, name } = rowThatIsThere(l, of, node)
  const table = tables.get(field)
  if (table !== undefined) return elementAt(l, table, row, node)
  return field in Object.prototype ? l.refuse('captured-object', node, name) : exprValue(literal(undefined, l.span(node)))
}

/** Returns a test that the index is outside of a list of this length, without what is known already; `whole`: or no whole number. */
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

/** Lowers an element at an index from 0 on, below the length of a row that exists. */
export function elementBelow(l: Lowering, { table, start }: TableRow, index: Expr, node: AnyNode): Value {
  return elementAt(l, table, binary('+', start, index, l.span(node)), node)
}

/** Lowers an element of captured values at a place that they have. */
function elementAt(l: Lowering, of: Elements, index: Expr, node: AnyNode): Value {
  if (typeof of === 'string') return exprValue(inTable(l, { kind: 'Lookup', table: of, index, span: l.span(node) }))
  return nestedAt(l, of, index, literal(false, index.span), node)
}

/** Lowers a list or an object of a captured list of these; `absent`: whether there is none. */
function nestedAt(l: Lowering, of: Data, index: Expr, absent: Expr, node: AnyNode): Value {
  return nestedRow(l, of, l.stabilized(index, 'row'), node, { absent }) ?? l.refuse('captured-object', node, of.name)
}

/** Types a lookup inside its table: as a number, or as a truth value where the table has 1 and 0 for it. */
function inTable(l: Lowering, lookup: Expr & { readonly kind: 'Lookup' }): Expr {
  const held = l.tables.find((one) => one.name === lookup.table)
  if (held?.made === true && held.value instanceof Uint8Array) return truth(lookup)
  const holdsNumbers = ArrayBuffer.isView(held?.value) && !types.isBigInt64Array(held.value) && !types.isBigUint64Array(held.value)
  return holdsNumbers ? unary('+', lookup, lookup.span) : lookup
}

/** Lowers an element of the row, which is undefined outside of it. */
export function elementOfRow(of: TableRow, index: Expr, l: Lowering, node: AnyNode): Value {
  const { table, start, length } = rowThatIsThere(l, of, node)
  const span = l.span(node)
  const column = l.stabilized(index, 'column')
  const at = binary('+', start, column, span)
  if (typeof table !== 'string') {
    if (l.frame.isLibrary === true) return elementAt(l, table, at, node) // which asks for elements that there are
    const isThere = logical(
      '&&',
      isInside(l, column, length),
      binary('===', binary('%', column, literal(1, span), span), literal(0, span), span),
      span,
    )
    return nestedAt(l, table, at, l.stabilized(negated(isThere, span), 'absent'), node)
  }
  const found = inTable(l, { kind: 'Lookup', table, index: at, span })
  const columns = length.kind === 'Literal' ? Number(length.value) : undefined
  if (columns !== undefined && isWithin(l, column, columns)) return exprValue(found)
  const within = (there: Expr, nothing: Expr): Expr =>
    columns === undefined
      ? conditional(isInside(l, column, length), there, nothing, span)
      : conditional(outside(l, column, columns, { whole: false }), nothing, there, span)
  // a text outside of its row is one outside of the table, so that it stays a captured text
  if (l.context.kind === 'loop' && found.kind === 'Lookup' && l.textsOf(found) !== undefined) {
    l.textTables.add(table)
    return exprValue({ ...found, index: l.stabilized(within(at, literal(-1, span)), 'at') })
  }
  const element = within(found, literal(undefined, span))
  l.lookups.add(element)
  return exprValue(element)
}

/** Returns a test that the index is inside a list of a length that only the run tells. */
function isInside(l: Lowering, index: Expr, length: Expr): Expr {
  const { span } = index
  const isBelow = binary('<', index, length, span)
  return (rangeOf(l, index)?.low ?? -1) >= 0 ? isBelow : logical('&&', binary('>=', index, literal(0, span), span), isBelow, span)
}

/** Lowers `array.subarray(from, to)` and `list.slice(from, to)` of captured data to a part of its table: nobody changes either. */
export function windowOf(l: Lowering, of: Data | TableRow, name: string, node: CallExpression): Value | undefined {
  const [from, to, another] = node.arguments
  const isTyped = of.kind === 'data' && ArrayBuffer.isView(of.value)
  if (l.context.kind !== 'loop' || from === undefined || another !== undefined || (name !== 'slice' && !(name === 'subarray' && isTyped)))
    return undefined
  if (from.type === 'SpreadElement' || to?.type === 'SpreadElement') return undefined
  const span = l.span(node)
  const table = of.kind === 'data' ? tableOf(l, of) : of.table
  if (typeof table !== 'string') return undefined
  const row = of.kind === 'data' ? { start: literal(0, span), length: lengthOfTable(l, table, span) } : rowThatIsThere(l, of, node)
  const part = partBetween(l, row.length, [from, ...(to === undefined ? [] : [to])], name, node)
  if (part === undefined) return REFUSED
  return {
    kind: 'tableRow',
    table,
    start: l.stabilized(binary('+', row.start, part.first, span)),
    length: part.count,
    name: of.name,
    ...(name === 'slice' ? { isCopy: true as const } : {}),
  }
}

/** Lowers the arguments of `slice` to the first index of a part and the number of its elements; undefined where one is refused. */
export function partBetween(
  l: Lowering,
  given: Expr,
  args: readonly Expression[],
  name: string,
  node: CallExpression,
): { readonly first: Expr; readonly count: Expr } | undefined {
  const span = l.span(node)
  const ends = l.inOrder(args.map((one) => () => l.verbs.value(l, one)))
  const length = l.stabilized(given, 'length') // what is evaluated for the ends may change it
  const place = (value: Value | undefined, unsaid: Expr): Expr | undefined => {
    if (value === undefined) return length
    const found = l.verbs.inline(l, libraryFunction(l, endOf as never, name, node), [value, exprValue(length), exprValue(unsaid)], node)
    const at = l.scalarOrNothing(found, node)
    return at && l.stabilized(at, 'end')
  }
  const [first, last] = [place(ends[0], literal(0, span)), place(ends[1], length)]
  if (first === undefined || last === undefined) return undefined
  const count: Expr = { kind: 'Call', callee: 'Math.max', args: [literal(0, span), binary('-', last, first, span)], span }
  return { first, count: l.stabilized(count, 'count') }
}

function lengthOfTable(l: Lowering, table: string, span: Span): Expr {
  const held = l.tables.find((one) => one.name === table)
  return held === undefined || held.made === true ? literal(held?.value.length ?? 0, span) : { kind: 'LookupLength', table, span }
}

/** Returns the index at which a part of a list begins or ends; negative numbers count from the end of the list. */
export function endOf(at: number | undefined, length: number, unsaid: number): number {
  if (at === undefined) return unsaid
  const whole = Math.trunc(at)
  if (whole < 0) return Math.max(0, length + whole)
  return whole < length ? whole : whole >= length ? length : 0
}

/** Returns the table made of a part of a constant, made once. `key` tells the parts apart. */
export function tableFor(l: Lowering, { value, name }: Data, part: string, held: () => ArrayLike<Primitive>, key: string = part): string {
  const of = l.partsOfConstants.get(value) ?? {}
  l.partsOfConstants.set(value, of)
  return (of[key] ??= made(l, `${name}_${part}`, held()))
}

/** Returns a list that is made of a part of a constant, made once. */
function partFor(l: Lowering, { value, name, origin }: Data, part: string, held: () => readonly unknown[], key: string = part): Data {
  const of = l.listsOfConstants.get(value) ?? {}
  l.listsOfConstants.set(value, of)
  return { kind: 'data', value: (of[key] ??= held()), name, origin, made: true }
}

/** Adds a table that can be found again as the list that it is. */
function made(l: Lowering, name: string, held: ArrayLike<Primitive>): string {
  return addTable(l, name, held, 'capture', held, { made: true })
}
