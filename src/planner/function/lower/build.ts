/**
 * Makes IR expressions in one form: constants folded, literals on the right, negations pushed to the leaves, so that
 * what minifiers reorder comes out the same.
 *
 * Every rewrite gives what JavaScript gives, for any operands: literals have no effects, and tests look only at
 * whether a value is truthy.
 */
import type { BinaryOperator, Expr, Primitive, Stmt, UnaryOperator } from '../../../core/ir/functionIr.ts'
import { applyBinary } from '../../../core/ir/operators.ts'
import type { Span } from '../../../core/span.ts'

export function literal(value: Primitive, span: Span): Expr {
  return { kind: 'Literal', value, span }
}

export function unary(operator: UnaryOperator, operand: Expr, span: Span): Expr {
  if (operand.kind === 'Literal') {
    const { value } = operand
    if (operator === '!') return literal(!value, span)
    if (typeof value === 'number') {
      if (operator === '-') return literal(-value, span)
      if (operator === '+') return literal(value, span)
      if (operator === '~') return literal(~value, span)
    }
    if (typeof value === 'bigint' && operator === '-') return literal(-value, span)
  }
  return { kind: 'Unary', operator, operand, span }
}

/** Operators whose operands may change places when one of them is a literal. */
const COMMUTATIVE: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>(['*', '&', '|', '^', '===', '!==', '==', '!='])

/** Returns true or false for what memory has as 1 or 0. */
export function truth(expr: Expr): Expr {
  const { span } = expr
  return { kind: 'Unary', operator: '!', operand: { kind: 'Unary', operator: '!', operand: expr, span }, span }
}

export function binary(operator: BinaryOperator, left: Expr, right: Expr, span: Span): Expr {
  if (left.kind === 'Literal' && right.kind === 'Literal') {
    const folded = fold(operator, left.value, right.value)
    if (folded !== undefined) return literal(folded, span)
  }
  if (left.kind === 'Literal' && right.kind !== 'Literal' && COMMUTATIVE.has(operator))
    return { kind: 'Binary', operator, left: right, right: left, span }
  return { kind: 'Binary', operator, left, right, span }
}

function fold(operator: BinaryOperator, a: Primitive, b: Primitive): Primitive | undefined {
  if (typeof a === 'string' && typeof b === 'string' && operator === '+') return a + b
  if (typeof a !== 'number' || typeof b !== 'number') return undefined
  return applyBinary(operator, a, b) as number | boolean // of two numbers
}

/** Builds a logical expression; chains of one operator lean to the left. */
export function logical(operator: '&&' | '||' | '??', left: Expr, right: Expr, span: Span): Expr {
  if (right.kind === 'Logical' && right.operator === operator)
    return logical(operator, logical(operator, left, right.left, span), right.right, span)
  if (left.kind === 'Literal') {
    const goesOn =
      operator === '&&' ? Boolean(left.value) : operator === '||' ? !left.value : left.value === null || left.value === undefined
    return goesOn ? right : left
  }
  return { kind: 'Logical', operator, left, right, span }
}

/** Whether an expression is a power that takes a call, which costs more than to keep what it gives; squares are products. */
export function isPower(expr: Expr): boolean {
  return expr.kind === 'Binary' && expr.operator === '**' && !(expr.right.kind === 'Literal' && expr.right.value === 2)
}

/** From here on doubles are whole numbers: a sum with it is rounded to one, halves to the even one. */
const WHOLE_FROM = 2 ** 52

/** Returns a write into a Uint8ClampedArray with the value that it keeps; other statements as they are. */
export function withClamped(stmt: Stmt, clamped: ReadonlySet<string>): Stmt {
  if (stmt.kind !== 'Write' || !clamped.has(stmt.array) || clampedWrites.has(stmt)) return stmt
  const { span } = stmt
  const least: Expr = { kind: 'Call', callee: 'Math.max', args: [stmt.value, literal(0, span)], span }
  const within: Expr = { kind: 'Call', callee: 'Math.min', args: [least, literal(255, span)], span }
  const whole = literal(WHOLE_FROM, span)
  const write: Stmt = { ...stmt, value: binary('-', binary('+', within, whole, span), whole, span) }
  clampedWrites.add(write)
  return write
}

/** Writes with the value that is kept, which are emitted again where they stand in a block. */
const clampedWrites = new WeakSet<Stmt>()

const INVERSE: Readonly<Partial<Record<BinaryOperator, BinaryOperator>>> = { '===': '!==', '!==': '===', '==': '!=', '!=': '==' }

/** Returns an expression that is truthy exactly where `expr` is, for tests only. */
export function asTest(expr: Expr): Expr {
  if (expr.kind === 'Unary' && expr.operator === '!') return negated(expr.operand, expr.span)
  if (expr.kind === 'Logical' && expr.operator !== '??') {
    const [left, right] = [asTest(expr.left), asTest(expr.right)]
    return left === expr.left && right === expr.right ? expr : { ...expr, left, right }
  }
  if (expr.kind === 'Conditional' && expr.else.kind === 'Literal' && expr.else.value === undefined)
    return logical('&&', asTest(expr.test), asTest(expr.then), expr.span)
  return expr
}

/** Returns an expression that is truthy exactly where `expr` is falsy, for tests only; comparisons with < are not inverted, for NaN. */
export function negated(expr: Expr, span: Span): Expr {
  if (expr.kind === 'Literal') return literal(!expr.value, span)
  if (expr.kind === 'Unary' && expr.operator === '!') return asTest(expr.operand)
  if (expr.kind === 'Binary') {
    const operator = INVERSE[expr.operator]
    if (operator !== undefined) return { ...expr, operator }
  }
  if (expr.kind === 'Logical' && expr.operator !== '??') {
    const operator = expr.operator === '&&' ? '||' : '&&'
    return { ...expr, operator, left: negated(expr.left, span), right: negated(expr.right, span) }
  }
  return { kind: 'Unary', operator: '!', operand: expr, span }
}

export function conditional(test: Expr, then: Expr, other: Expr, span: Span): Expr {
  const tested = asTest(test)
  if (tested.kind === 'Literal') return tested.value ? then : other
  return isNegative(tested) ? choose(negated(tested, tested.span), other, then, span) : choose(tested, then, other, span)
}

function choose(test: Expr, then: Expr, other: Expr, span: Span): Expr {
  return { kind: 'Conditional', test, then, else: other, span }
}

function branch(test: Expr, then: readonly Stmt[], other: readonly Stmt[], span: Span): Stmt {
  return { kind: 'If', test, then, else: other, span }
}

/** Whether a test reads better inverted: `!x`, `a !== b`, or a chain of such tests only. */
function isNegative(test: Expr): boolean {
  if (test.kind === 'Unary') return test.operator === '!'
  if (test.kind === 'Binary') return test.operator === '!==' || test.operator === '!='
  if (test.kind === 'Logical' && test.operator !== '??') return isNegative(test.left) && isNegative(test.right)
  return false
}

/** Builds an if in one form: positive tests for two branches, no empty first branch, nested ifs joined, `x = c ? a : b`. */
export function makeIf(test: Expr, then: readonly Stmt[], other: readonly Stmt[], span: Span): Stmt[] {
  const tested = asTest(test)
  if (tested.kind === 'Literal') return [...(tested.value ? then : other)]
  if (then.length === 0 && other.length === 0) return isPlain(tested) ? [] : [{ kind: 'Evaluate', value: tested, span }]
  if (then.length === 0) return makeIf(negated(tested, tested.span), other, [], span)
  const [inner] = then
  const [outer] = other
  if (then.length === 1 && other.length === 1 && inner?.kind === 'Assign' && outer?.kind === 'Assign' && inner.local === outer.local) {
    return [{ kind: 'Assign', local: inner.local, value: conditional(tested, inner.value, outer.value, span), span }]
  }
  if (other.length === 0 && then.length === 1 && inner?.kind === 'If' && inner.else.length === 0) {
    return [{ ...inner, test: logical('&&', tested, inner.test, span), span }]
  }
  if (other.length > 0 && isNegative(tested)) return [branch(negated(tested, tested.span), other, then, span)]
  return [branch(tested, then, other, span)]
}

/** Whether an expression can be left out without a trace: it cannot fail and has no effect. */
export function isPlain(expr: Expr): boolean {
  switch (expr.kind) {
    case 'Literal':
    case 'Local':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return true
    case 'Unary':
      return (expr.operator === '!' || expr.operator === 'typeof') && isPlain(expr.operand)
    case 'Logical':
      return isPlain(expr.left) && isPlain(expr.right)
    case 'Binary':
      return (expr.operator === '===' || expr.operator === '!==') && isPlain(expr.left) && isPlain(expr.right)
    case 'Field':
    case 'Conditional':
    case 'Call':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Read':
    case 'Has':
    case 'Lookup':
    case 'Find':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

/** Whether an expression is surely true or false. */
export function isBoolean(expr: Expr): boolean {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'boolean'
    case 'Unary':
      return expr.operator === '!'
    case 'Binary':
      return /^[<>]=?$|^[=!]==?$/.test(expr.operator)
    case 'Logical':
      return isBoolean(expr.left) && isBoolean(expr.right)
    case 'Matches':
    case 'Has':
      return true
    default:
      return false
  }
}
