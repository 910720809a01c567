/**
 * Finds values that are surely numbers, where types say less: an element of a table may be read outside of it; and lists that were made.
 */
import type { Expr, Primitive } from '../../core/ir/functionIr.ts'
import { makesList } from '../../core/ir/listQuestions.ts'
import { type Counters, isWithin } from './lower/indexRanges.ts'

/** The state of a lowering, as far as it concerns locals and tables. */
interface Known extends Counters {
  /** Locals that are surely numbers. */
  readonly numbers: Set<string>
  /** Elements of captured lists, undefined outside of these, and the constant locals that hold one, or what a list gave up. */
  readonly lookups: WeakSet<Expr>
  readonly lookedUp: Set<string>
  /** Constant locals that are a list made of a text, or of another list. */
  readonly madeLists: Set<string>
  readonly tables: readonly { readonly name: string; readonly value: ArrayLike<Primitive> }[]
}

/** Whether an expression is surely a number; of a lookup, whether its index is inside a table of numbers. */
export function isNumber(l: Known, expr: Expr): boolean {
  if (expr.kind === 'Local') return l.numbers.has(expr.name)
  if (expr.kind === 'Conditional') return isNumber(l, expr.then) && isNumber(l, expr.else)
  if (expr.kind === 'Literal') return typeof expr.value === 'number'
  const table = expr.kind === 'Lookup' ? l.tables.find(({ name }) => name === expr.table)?.value : undefined
  return table !== undefined && expr.kind === 'Lookup' && holdsNumbers(table) && isWithin(l, expr.index, table.length)
}

/** Records that a constant local is a number, an element of a captured list, or a list that was made, if its initial value is one. */
export function noteLocal(l: Known, local: string, init: Expr | undefined): void {
  if (init !== undefined && isNumber(l, init)) l.numbers.add(local)
  if (init !== undefined && isLookedUp(l, init)) l.lookedUp.add(local)
  if (init !== undefined && makesList(init)) l.madeLists.add(local)
}

/** Whether an expression is an element of a captured list, which is undefined only where its index is outside. */
export function isLookedUp(l: Known, expr: Expr): boolean {
  return expr.kind === 'Lookup' || l.lookups.has(expr) || (expr.kind === 'Local' && l.lookedUp.has(expr.name))
}

function holdsNumbers(table: ArrayLike<Primitive>): boolean {
  if (ArrayBuffer.isView(table)) return !(table instanceof BigInt64Array || table instanceof BigUint64Array)
  return Array.from(table).every((value) => typeof value === 'number')
}
