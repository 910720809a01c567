/**
 * Lowers arrays of the body's own that variables, or places of lists, hold one after another, to rows of one array, by number.
 *
 *     let a = new Float64Array(8), b = new Float64Array(8)             let a = 0, b = 1, of rows: f64 [2, 8]
 *     [a, b] = [b, a]; a[k] = b[k]                             -->     temp = b; b = a; a = temp; Write rows [a, k] = Read rows [b, k]
 *
 * All moved arrays of one type and shape are rows of one array, their bank. A variable that has the array has its number, and sees changes
 * under every name, as in JavaScript. An array that is made once has a row of its own. One that a loop makes again and again takes, each
 * time, a row that no holder has: with one row more than there are holders of rows, there is always one.
 *
 * A list of such arrays is a list of numbers: `M[r][c]` is `Read rows [Read M [r], c]`, and its places may exchange their arrays.
 */
import type { AnyNode } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, conditional, literal, logical } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Bank } from '../lower/loweringParts.ts'
import type { Bound, Value } from '../lower/value.ts'
import { makerOf } from './held/kinds.ts'
import { arrayOfBody, eachIndex, type Made, type View } from './madeArrays.ts'
import { isNamed } from './stored.ts'

/** Most holders that are asked, one by one, which row they have; with more, the body is refused. */
const MOST_HOLDERS = 24

/** Makes an array of the body; undefined where it is refused. */
export function made(l: Lowering, what: Made, shape: readonly number[]): View | undefined {
  const site = { unit: l.unit, start: what.node.start, loops: l.loops.length }
  if (l.isMoved(site)) {
    const row = bankRow(l, what, shape)
    if (row !== undefined && what.node.type === 'ArrayExpression') l.literalOfRow.set(row, site)
    if (row !== undefined && what.isList === true) l.makerOfRow.set(row, makerOf(l, what.node))
    return row
  }
  const array = arrayOfBody(l, what, shape)
  if (array === undefined) return undefined
  l.madeAt.set(array, site)
  return { kind: 'view', array, prefix: [], rank: shape.length }
}

/** Makes a moved array as a row of its bank; undefined where it is refused. */
function bankRow(l: Lowering, what: Made, shape: readonly number[]): View | undefined {
  const { dtype, isList, isBoolean, isClamped, node } = what
  const key = `${dtype} ${isList === true} ${isBoolean === true} ${isClamped === true} ${shape.join(' ')}`
  const known = l.rowsNeeded.get(key) ?? { again: 0, once: 1 }
  const rows = [known.again + known.once, ...shape]
  const array = l.banks.get(key)?.array ?? arrayOfBody(l, { ...what, name: `${what.name}_rows` }, rows)
  if (array === undefined) return undefined
  const bank = l.banks.get(key) ?? { array, again: known.again, isMadeAgain: false, once: 0, holders: [] }
  l.banks.set(key, bank)
  const row = l.loops.length === 0 ? literal(bank.again + bank.once++, l.span(node)) : freeRow(l, bank, what.name, node)
  return row && { kind: 'view', array, prefix: [row], rank: rows.length }
}

/** Emits the search of the first row that no holder has; undefined where it is refused. */
function freeRow(l: Lowering, bank: Bank, name: string, node: AnyNode): Expr | undefined {
  bank.isMadeAgain = true
  const holders = [...bank.holders]
  if (holders.length > MOST_HOLDERS) {
    l.refuse('local-arrays-held', node, name)
    return undefined
  }
  const span = l.span(node)
  const local = rowLocal(l, bank.array, name, literal(0, span))
  const row: Expr = { kind: 'Local', name: local, span }
  for (const n of holders.keys()) {
    const test = holders.map((one) => binary('===', row, one, span)).reduce((a, b) => logical('||', a, b, span))
    const next: Stmt = { kind: 'Assign', local, value: literal(n + 1, span), span }
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    l.emit({ kind: 'If', test, then: [next], else: [], span })
  }
  l.stableLocals.add(local)
  return row
}

/** Makes a local with the number of a row; in a bank for arrays that loops make, it is declared at the start and readable anywhere. */
function rowLocal(l: Lowering, array: string, name: string, value: Expr): string {
  const { span } = value
  const [local, bank] = [l.newName(`${name}_row`), bankOf(l, array)]
  bank?.holders.push({ kind: 'Local', name: local, span })
  if (bank !== undefined && bank.again > 0) l.emit({ kind: 'Assign', local, value, span })
  else l.emit({ kind: 'Let', local, init: value, span })
  return local
}

/** Returns declarations of the locals that are asked for their rows before they are given one. */
export function rowDeclarations(l: Lowering): readonly Stmt[] {
  return [...l.banks.values()].flatMap(({ again, holders }) => {
    const locals = again > 0 ? holders.filter((one) => one.kind === 'Local') : []
    return locals.map(({ name, span }): Stmt => ({ kind: 'Let', local: name, init: literal(0, span), span }))
  })
}

function bankOf(l: Lowering, array: string): Bank | undefined {
  return [...l.banks.values()].find((bank) => bank.array === array)
}

/** Whether rows of the array are held by variables, one after another. */
export function isOfBank(l: Lowering, { array }: View): boolean {
  return bankOf(l, array) !== undefined
}

/** Returns the numbers of rows that a try has used. */
export function rowsUsed({ isMadeAgain, holders, once }: Bank): { readonly again: number; readonly once: number } {
  return { again: isMadeAgain ? holders.length + 1 : 0, once }
}

/** Returns the view with its present rows, which do not change any more. */
export function keptView(l: Lowering, view: View): View {
  if (view.prefix.every((row) => l.isStable(row))) return view
  const prefix = view.prefix.map((row, axis): Expr => {
    if (l.isStable(row)) return row
    if (axis > 0 || bankOf(l, view.array) === undefined) return l.temporary(row, 'row')
    const local = rowLocal(l, view.array, 'kept', row)
    l.stableLocals.add(local)
    return { kind: 'Local', name: local, span: row.span }
  })
  return { ...view, prefix }
}

/** Makes a variable for views of one array; undefined for other values, and where only a later try has the arrays in one bank. */
export function viewVariable(l: Lowering, name: string, value: Value): Bound | undefined {
  if (value.kind !== 'view' || isToCome(l, value)) return undefined
  return { kind: 'view', view: value, rows: value.prefix.map((row) => rowLocal(l, value.array, name, row)) }
}

/** Assigns another view to the variable; false where it is not of the same array. */
export function assignView(l: Lowering, { view, rows }: Bound & { readonly kind: 'view' }, value: Value): boolean {
  if (isToCome(l, value) || value.kind !== 'view') return false
  const isAlike = value.array === view.array && value.prefix.length === rows.length && value.rank === view.rank
  const given = isAlike ? value.prefix : []
  const kept = given.length === 1 ? given : given.map((row) => l.stabilized(row, 'row'))
  for (const [axis, row] of kept.entries()) {
    const local = rows[axis]
    if (local !== undefined) l.emit({ kind: 'Assign', local, value: row, span: row.span })
  }
  return isAlike
}

/** Returns the view that the variable holds now. */
export function viewIn(l: Lowering, { view, rows }: Bound & { readonly kind: 'view' }, node: AnyNode): View {
  const now: View = { ...view, prefix: rows.map((name) => ({ kind: 'Local', name, span: l.span(node) })) }
  const literal = l.literalOfRow.get(view)
  if (literal !== undefined) l.literalOfRow.set(now, literal)
  const maker = l.makerOfRow.get(view)
  if (maker !== undefined) l.makerOfRow.set(now, maker)
  return now
}

/** Chooses one of two views by its rows; undefined for views of two arrays, and where only a later try has them in one bank. */
export function chosenView(l: Lowering, test: Expr, a: Value, b: Value): View | undefined {
  const [isAToCome, isBToCome] = [isToCome(l, a), isToCome(l, b)]
  if (a.kind !== 'view' || b.kind !== 'view' || a.array !== b.array || isAToCome || isBToCome) return undefined
  if (a.prefix.length !== b.prefix.length || a.rank !== b.rank) return undefined
  const choice = test.kind === 'Literal' ? test : l.stabilized(test)
  return keptView(l, { ...a, prefix: a.prefix.map((row, axis) => conditional(choice, row, b.prefix[axis] ?? row, test.span)) })
}

/** Whether a value is an array of the body that cannot be moved yet; it is noted: the next try puts it in memory, then in a bank. */
function isToCome(l: Lowering, value: Value): boolean {
  if (value.kind === 'expr') return (l.chosenFrom.get(value.expr) ?? []).filter((one) => isToCome(l, one)).length > 0
  const isLiteral = value.kind === 'tuple' || value.kind === 'stored'
  const literal = isLiteral ? value.site : undefined
  const made = value.kind === 'view' && value.prefix.length === 0 ? l.madeAt.get(value.array) : undefined
  if (literal !== undefined) l.foundIndexed.push(literal)
  if (made !== undefined) l.foundMoved.push(made)
  return literal !== undefined || made !== undefined
}

/** Makes a list of the rows of an array, each in its place; returns the array itself where no place is given another. */
export function listOfRows(l: Lowering, rows: View, node: AnyNode): View | undefined {
  const length = l.locals.get(rows.array)?.[rows.prefix.length]
  const isPlaced = l.isPlaced({ unit: l.unit, start: node.start })
  if (!isPlaced || length === undefined || rows.prefix.length > 0 || rows.rank !== 2) return rows
  const numbers = arrayOfBody(l, { name: rows.array, dtype: 'i32', node }, [length])
  if (numbers === undefined) return undefined
  const span = l.span(node)
  eachIndex(l, length, node, (at) => l.emit({ kind: 'Write', array: numbers, subscripts: [at], value: at, span }))
  return listIn(l, numbers, rows.array)
}

/** Makes a list of the rows of arrays; undefined for other items. It is refused until a later try has all arrays in one bank. */
export function listOfArrays(l: Lowering, name: string, items: readonly Value[], node: AnyNode): Value | undefined {
  if (!items.some((item) => item.kind === 'view' || isNamed(item))) return undefined
  for (const item of items) isToCome(l, item)
  const views = items.flatMap((item) => (item.kind === 'view' ? [item] : []))
  const bank = bankOf(l, views[0]?.array ?? '')
  const isOfBank = ({ array, prefix, rank }: View): boolean => array === bank?.array && prefix.length === 1 && rank === 2
  if (bank === undefined || views.length < items.length || !views.every(isOfBank)) return l.refuse('computed-name', node)
  const numbers = arrayOfBody(l, { name, dtype: 'i32', node }, [views.length])
  if (numbers === undefined) return undefined
  const span = l.span(node)
  for (const [k, { prefix }] of views.entries()) {
    const subscripts = [literal(k, span)]
    bank.holders.push({ kind: 'Read', array: numbers, subscripts, span })
    l.emit({ kind: 'Write', array: numbers, subscripts, value: prefix[0] ?? literal(0, span), span })
  }
  return listIn(l, numbers, bank.array)
}

function listIn(l: Lowering, numbers: string, rows: string): View {
  l.rowsOf.set(numbers, rows)
  return { kind: 'view', array: numbers, prefix: [], rank: 1 }
}

/** Emits the write of an array to a place of a list of rows; false where it is no row of the same bank. */
export function placeRow(
  l: Lowering,
  { rows, array, subscripts }: { readonly rows: string; readonly array: string; readonly subscripts: readonly Expr[] },
  given: Value,
  span: Span,
): boolean {
  const row = isToCome(l, given) || given.kind !== 'view' || given.array !== rows ? undefined : given.prefix[0]
  if (row !== undefined) l.emit({ kind: 'Write', array, subscripts, value: row, span })
  return row !== undefined
}

/** Returns the array in a place of a list of rows; undefined for other lists. */
export function rowInList(l: Lowering, list: View, at: Expr): View | undefined {
  const rows = list.prefix.length === 0 ? l.rowsOf.get(list.array) : undefined
  return rows === undefined
    ? undefined
    : { kind: 'view', array: rows, prefix: [{ kind: 'Read', array: list.array, subscripts: [at], span: at.span }], rank: 2 }
}
