/**
 * Numbers and truth values that may be absent, as `c ? x : undefined`. A constant is kept as two locals, whether it is there and what it
 * is: WebAssembly has NaN for undefined, and a number may be NaN itself.
 *
 *     const top = stack.pop()                                  let top_there = stack.length > 0, top = 0; if (top_there) top = …
 *     if (top !== undefined) s += top           -->            if (top_there) s += top
 */
import type { BinaryOperator, Expr, Stmt } from '../../core/ir/functionIr.ts'
import type { Span } from '../../core/span.ts'
import { binary, conditional, isBoolean, isPlain, literal, logical, makeIf, negated, truth } from './lower/build.ts'
import type { Lowering } from './lower/lowering.ts'
import { exprValue, type Value } from './lower/value.ts'
import { isNumber } from './surelyNumbers.ts'

/** Where it is there, and what it is then. */
export interface MaybeScalar {
  readonly there: Expr
  readonly value: Expr
}

/** Returns the parts of such an expression; undefined for others. */
export function maybeScalar(l: Lowering, expr: Expr): MaybeScalar | undefined {
  if (expr.kind !== 'Conditional' || expr.else.kind !== 'Literal' || expr.else.value !== undefined) return undefined
  return isSure(l, expr.then) ? { there: expr.test, value: expr.then } : undefined
}

/** Whether an expression is surely a number or truth value. */
function isSure(l: Lowering, expr: Expr): boolean {
  switch (expr.kind) {
    case 'Unary':
      return expr.operator === '+' || expr.operator === '!'
    case 'Binary':
      return isBoolean(expr) || (expr.operator === '-' && isSure(l, expr.left) && isSure(l, expr.right))
    case 'Conditional':
      return isSure(l, expr.then) && isSure(l, expr.else) && isTruth(expr.then) === isTruth(expr.else)
    case 'Read':
      return l.locals.has(expr.array)
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return true
    default:
      return isBoolean(expr) || isNumber(l, expr)
  }
}

/** Whether an expression is a truth value. */
function isTruth(expr: Expr): boolean {
  return isBoolean(expr) || (expr.kind === 'Conditional' && isTruth(expr.then) && isTruth(expr.else))
}

/** Returns what is evaluated where a test holds, and undefined elsewhere; `emitted`: statements that it needs. */
export function whereHolding(
  l: Lowering,
  there: Expr,
  { value, emitted }: { readonly value: Expr; readonly emitted: readonly Stmt[] },
): Value {
  const { span } = value
  const inner = maybeScalar(l, value)
  if (emitted.length === 0) {
    if (value.kind === 'Literal' && value.value === undefined) return exprValue(value)
    if (inner === undefined) return exprValue(conditional(there, value, literal(undefined, span), span))
    return exprValue(conditional(logical('&&', there, inner.there, span), inner.value, literal(undefined, span), span))
  }
  if (inner === undefined && !isSure(l, value)) {
    const local = l.newName('temp')
    l.emit({ kind: 'Let', local, span }, ...makeIf(there, [...emitted, { kind: 'Assign', local, value, span }], [], span))
    return exprValue({ kind: 'Local', name: local, span })
  }
  const { there: isThere, value: found } = inner ?? { there: literal(true, span), value }
  const [mark, local] = [l.newName('there'), l.newName('temp')]
  const none = literal(isTruth(found) ? false : 0, span)
  const set = makeIf(
    isThere,
    [
      { kind: 'Assign', local, value: found, span },
      { kind: 'Assign', local: mark, value: literal(true, span), span },
    ],
    [],
    span,
  )
  l.emit({ kind: 'Let', local: mark, init: literal(false, span), span }, { kind: 'Let', local, init: none, span })
  l.emit(...makeIf(there, [...emitted, ...set], [], span))
  return maybeLocal(l, { there: mark, local, isTruth: isTruth(found) }, span)
}

/** Returns the first of two that is there; `emitted`: statements that the second needs, which may be absent, too. */
export function firstThere(
  l: Lowering,
  first: MaybeScalar,
  { value, emitted }: { readonly value: Expr; readonly emitted: readonly Stmt[] },
  span: Span,
): Value {
  const [local, second] = [l.newName('temp'), maybeScalar(l, value)]
  const set = (to: string, given: Expr): Stmt => ({ kind: 'Assign', local: to, value: given, span })
  if (second === undefined) {
    l.emit({ kind: 'Let', local, span }, ...makeIf(first.there, [set(local, first.value)], [...emitted, set(local, value)], span))
    return exprValue({ kind: 'Local', name: local, span })
  }
  const there = l.newName('there')
  const none = literal(isTruth(first.value) ? false : 0, span)
  l.emit({ kind: 'Let', local: there, init: literal(true, span), span }, { kind: 'Let', local, init: none, span })
  const other = makeIf(second.there, [set(local, second.value)], [set(there, literal(false, span))], span)
  l.emit(...makeIf(first.there, [set(local, first.value)], [...emitted, ...other], span))
  return maybeLocal(l, { there, local, isTruth: isTruth(first.value) }, span)
}

/** Declares a constant that may be absent as two: whether it is there, and its value. So NaN is told from what is not there. */
export function declaredMaybe(l: Lowering, name: string, { there, value }: MaybeScalar, span: Span): Value {
  const [isThere, local] = [l.newName(`${name}_there`), l.newName(name)]
  const test: Expr = { kind: 'Local', name: isThere, span }
  const none = literal(isTruth(value) ? false : 0, span)
  l.emit({ kind: 'Let', local: isThere, init: there, span }, { kind: 'Let', local, init: conditional(test, value, none, span), span })
  return maybeLocal(l, { there: isThere, local, isTruth: isTruth(value) }, span)
}

/** Returns an expression that may be absent as it is now; undefined for others. */
export function keptMaybe(l: Lowering, expr: Expr): Expr | undefined {
  const maybe = l.context.kind === 'loop' ? maybeScalar(l, expr) : undefined
  const kept = maybe && declaredMaybe(l, 'temp', maybe, expr.span)
  return kept?.kind === 'expr' ? kept.expr : undefined
}

/** Returns the value of two locals that do not change any more: whether it is there, and what it is. */
export function maybeLocal(
  l: Lowering,
  of: { readonly there: string; readonly local: string; readonly isTruth: boolean },
  span: Span,
): Value {
  l.stableLocals.add(of.there).add(of.local)
  if (!of.isTruth) l.numbers.add(of.local)
  const value: Expr = { kind: 'Local', name: of.local, span }
  const expr = conditional({ kind: 'Local', name: of.there, span }, of.isTruth ? truth(value) : value, literal(undefined, span), span)
  l.lookups.add(expr) // like an element outside of a captured list
  return exprValue(expr)
}

/** Lowers `===` and its like where a side may be absent; undefined where none may be, or the other is not surely a number or truth value. */
export function comparedMaybe(l: Lowering, operator: string, [left, right]: readonly [Expr, Expr], span: Span): Expr | undefined {
  const isEqual = operator.startsWith('=')
  const [a, b] = [maybeScalar(l, left), maybeScalar(l, right)]
  const maybe = a ?? b
  if (maybe === undefined || !/^[!=]==?$/.test(operator)) return undefined
  const other = a === undefined ? left : right
  const as = (test: Expr): Expr => (isEqual ? test : negated(test, span))
  if (other.kind === 'Literal' && (other.value === undefined || (other.value === null && operator.length === 2)))
    return as(negated(maybe.there, span))
  const same = (one: Expr, two: Expr): Expr => binary(operator.replace('!', '=') as BinaryOperator, one, two, span)
  if (a !== undefined && b !== undefined)
    return as(conditional(a.there, logical('&&', b.there, same(a.value, b.value), span), negated(b.there, span), span))
  return isSure(l, other)
    ? as(logical('&&', maybe.there, same(maybe.value, isPlain(other) ? other : l.stabilized(other)), span))
    : undefined
}
