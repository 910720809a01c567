/**
 * Range facts from tests: the bounds within which a local, or a component of the key, lies at a place in the code.
 *
 *     while (at > 0 && sorted[at - 1] > value) { sorted[at] = sorted[at - 1]; at-- }      at - 1 is at least 0
 *
 * So a counter that is counted down to a bound stays an integer, whose bounds do not grow with each iteration, and its subscripts are
 * in bounds without a check. Facts follow control flow: an assignment replaces the facts of its local,
 * a loop begins with the facts that no iteration changes, and after a block those hold that held before it and are unchanged.
 */
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn } from '../../../core/ir/irFacts.ts'
import { type Bounds, type Facts, HIGHEST, integerType, isInteger, NO_FACTS, type WasmType } from '../expressions/types.ts'
import { isAbout, keyName, multiplesWhen, multipleWithout } from './wasmMultiples.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** Narrows a type by bounds; the type itself where there are none, or where control never arrives. */
export function narrowedType(type: WasmType, bounds: Bounds | undefined): WasmType {
  if (bounds === undefined || !isInteger(type)) return type
  const [low, high] = [Math.max(type.low, bounds.low), Math.min(type.high, bounds.high)]
  return low > high ? type : (integerType(low, high) ?? type)
}

/** Runs `work`, which writes code where more facts hold. */
export function given<T>(w: KernelWriter, more: Facts, work: () => T): T {
  const outer = w.facts
  w.facts = joined(outer, more)
  const written = work()
  w.facts = outer
  return written
}

function joined(facts: Facts, more: Facts): Facts {
  if (more.size === 0) return facts
  const all = new Map(facts)
  for (const [name, { low, high }] of more) {
    const known = all.get(name)
    all.set(name, known === undefined ? { low, high } : { low: Math.max(low, known.low), high: Math.min(high, known.high) })
  }
  return all
}

/** Returns the facts that the statements do not change. */
export function without(facts: Facts, stmts: readonly Stmt[]): Facts {
  if (facts.size === 0) return facts
  const changed = changedIn(stmts)
  return new Map([...facts].filter(([name]) => !isAbout(name, changed)))
}

/** Records the bounds of a value that a local is assigned, and what it leaves of another that is a multiple. */
export function noteValue(w: KernelWriter, local: string, type: WasmType, value: Expr): void {
  const names = new Set([local])
  const facts = new Map([...w.facts].filter(([name]) => !isAbout(name, names)))
  if (isInteger(type)) facts.set(local, { low: type.low, high: type.high })
  w.facts = joined(facts, multipleWithout(local, value))
}

/** Records that subscripts were found in bounds: what they are computed of lies within bounds as well. */
export function noteInside(w: KernelWriter, subscripts: readonly Expr[], extents: readonly number[]): void {
  if (!w.notesChecks) return
  for (const [axis, subscript] of subscripts.entries()) {
    const { of, times, plus } = linearOf(subscript)
    if (times !== 1 || of.kind !== 'Local') continue
    w.facts = joined(w.facts, new Map([[of.name, { low: 0 - plus, high: (extents[axis] ?? 0) - 1 - plus }]]))
  }
}

/** Runs `work`, which writes code that runs right after what was written before it. */
export function inOrder<T>(w: KernelWriter, isInOrder: boolean, work: () => T): T {
  const outer = w.notesChecks
  w.notesChecks = isInOrder
  const written = work()
  w.notesChecks = outer
  return written
}

/** Records the facts after an `if`: where one branch jumps away, those of the other branch. */
export function noteLeft(w: KernelWriter, stmt: Extract<Stmt, { kind: 'If' }>): void {
  const [then, other] = [leaves(stmt.then), leaves(stmt.else)]
  const passed = then ? stmt.else : stmt.then
  const more = then === other ? NO_FACTS : without(factsWhen(w, stmt.test, other), passed)
  w.facts = joined(without(w.facts, then === other ? [stmt] : passed), more)
}

function leaves(stmts: readonly Stmt[]): boolean {
  const last = stmts.at(-1)
  if (last?.kind === 'If') return leaves(last.then) && leaves(last.else)
  return last?.kind === 'Break' || last?.kind === 'Continue' || last?.kind === 'Return' || last?.kind === 'Throw'
}

/** Returns the bounds that follow from this outcome of a test. */
export function factsWhen(w: KernelWriter, test: Expr, truth: boolean): Facts {
  if (test.kind === 'Unary' && test.operator === '!') return factsWhen(w, test.operand, !truth)
  if (test.kind === 'Logical' && test.operator === (truth ? '&&' : '||')) {
    const left = factsWhen(w, test.left, truth)
    return joined(
      left,
      given(w, left, () => factsWhen(w, test.right, truth)),
    )
  }
  if (test.kind === 'Local') return bounded(w, test, truth ? '!==' : '===', { kind: 'Literal', value: 0, span: test.span })
  if (test.kind !== 'Binary') return NO_FACTS
  const multiples = multiplesWhen(test, truth)
  const operator = truth ? test.operator : NEGATED[test.operator]
  const mirrored = operator === undefined ? undefined : MIRRORED[operator]
  if (operator === undefined || mirrored === undefined) return multiples
  return joined(joined(bounded(w, test.left, operator, test.right), bounded(w, test.right, mirrored, test.left)), multiples)
}

const NEGATED: { readonly [operator: string]: string } = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
}
const MIRRORED: { readonly [operator: string]: string } = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '===': '===',
  '!==': '!==',
  '==': '==',
  '!=': '!=',
}

/** Returns the bounds of i that follow from `i + c < e`, or from `i * i < e`. */
function bounded(w: KernelWriter, expr: Expr, operator: string, by: Expr): Facts {
  const root = rootOf(expr)
  if (root !== undefined) return ofSquare(w, root, operator, by)
  const { of, times, plus } = linearOf(expr)
  const name = of.kind === 'Local' ? of.name : of.kind === 'Key' ? keyName(of.axis) : undefined
  const [own, other] = name === undefined ? [] : [integerOf(w, of), integerOf(w, by)]
  if (name === undefined || own === undefined || other === undefined) return NO_FACTS
  const [below, above] = operator === '<' || operator === '>' ? [Math.floor, Math.ceil] : [Math.ceil, Math.floor]
  const [low, high] = [below((other.low - plus) / times), above((other.high - plus) / times)]
  const fact = (bounds: Partial<Bounds>): Facts =>
    new Map([[name, { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, ...bounds }]])
  switch (operator) {
    case '<':
      return fact({ high: high - 1 })
    case '<=':
      return fact({ high })
    case '>':
      return fact({ low: low + 1 })
    case '>=':
      return fact({ low })
    case '==':
    case '===':
      return fact({ low, high })
    default:
      // an integer that differs from its least or greatest value, where the other side has one value alone
      if (low !== high || other.low !== other.high) return NO_FACTS
      return own.low === low ? fact({ low: low + 1 }) : own.high === low ? fact({ high: low - 1 }) : NO_FACTS
  }
}

/** Returns the name of the local whose square the expression is; else undefined. */
function rootOf(expr: Expr): string | undefined {
  if (expr.kind !== 'Binary' || expr.operator !== '*' || expr.left.kind !== 'Local' || expr.right.kind !== 'Local') return undefined
  return expr.left.name === expr.right.name ? expr.left.name : undefined
}

/** A number whose square is at most a 32-bit number has 16 bits: `for (let d = 2; d * d <= n; d++)`. */
function ofSquare(w: KernelWriter, root: string, operator: string, by: Expr): Facts {
  const other = integerOf(w, by)
  const isBelow = operator === '<' || operator === '<=' || operator === '===' || operator === '=='
  if (!isBelow || other === undefined || other.high < 0) return NO_FACTS
  const most = Math.floor(Math.sqrt(other.high))
  return new Map([[root, { low: -most, high: most }]])
}

/** The parts of `2 * i + 1`. */
function linearOf(expr: Expr): { readonly of: Expr; readonly times: number; readonly plus: number } {
  const itself = { of: expr, times: 1, plus: 0 }
  if (expr.kind !== 'Binary') return itself
  const { operator, left, right } = expr
  const [of, by] = right.kind === 'Literal' ? [left, right.value] : [right, left.kind === 'Literal' ? left.value : undefined]
  if (typeof by !== 'number' || !Number.isSafeInteger(by) || Math.abs(by) > HIGHEST) return itself
  const { times, plus } = linearOf(of)
  if (operator === '+') return { of: linearOf(of).of, times, plus: plus + by }
  if (operator === '-' && of === left) return { of: linearOf(of).of, times, plus: plus - by }
  return operator === '*' && by > 0 && of.kind === 'Local' ? { of, times: by, plus: 0 } : itself
}

/** Returns the bounds of an integer expression that can be typed without writing code; else undefined. */
function integerOf(w: KernelWriter, expr: Expr): Bounds | undefined {
  const isSimple = (one: Expr): boolean =>
    ['Literal', 'Local', 'Key', 'Parameter', 'Extent', 'LookupLength'].includes(one.kind) ||
    (one.kind === 'Binary' && (one.operator === '+' || one.operator === '-') && isSimple(one.left) && isSimple(one.right))
  if (!isSimple(expr) || (expr.kind === 'Literal' && typeof expr.value !== 'number')) return undefined
  const { type } = w.expr(expr)
  return isInteger(type) ? type : undefined
}
