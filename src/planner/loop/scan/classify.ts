/**
 * Classifies expressions by a carried value: free of it, the value itself, or the value with something added, the greater of it
 * and something, and so on.
 *
 *     out.get(i - 1)                         same
 *     (i > 0 ? out.get(i - 1) : 0) + x.get(i)    sum, or afresh
 *     Math.max(m.get(0), x.get(i))               max
 *     0.5 * out.get(i - 1)                       opaque: something else
 */
import { integerRangeOf } from '../../../core/data/integerRanges.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr, FunctionIr } from '../../../core/ir/functionIr.ts'
import { exprId, someExpr } from '../../../core/ir/irFacts.ts'
import type { LoopSpec, ScanOperator } from '../../../core/loop/loopSpec.ts'
import type { Carried } from './carried.ts'
import { wholeRange } from './whole.ts'

export type Class =
  | { readonly kind: 'free' }
  | {
      readonly kind: 'carried'
      readonly place: number
      /** The operator applied to the value; undefined for the value itself. */
      readonly operator: ScanOperator | undefined
    }
  /** Neither free nor a carried value with an operator. `fraction`: what is added where it is not surely a whole number. */
  | { readonly kind: 'opaque'; readonly fraction?: Expr }

/** The state of the walk where an expression stands. */
export interface Here {
  /** Whether a local was computed from the current carried value, which has not been written since. */
  isFresh(local: string, place: number): boolean
  /** Whether a local depends on carried values in ways that are not followed. */
  isOpaque(local: string): boolean
  /** The class of what the iteration has written to its own element of a chain; undefined where nothing is known. */
  own(place: number): Class | undefined
}

const FREE: Class = { kind: 'free' }
const OPAQUE: Class = { kind: 'opaque' }

export interface Classifier {
  classOf(expr: Expr, here: Here): Class
  /** The comparison with a carried value in a test (`x < least`), beside tests without one; undefined for anything else. */
  pickOf(test: Expr, here: Here): Pick | undefined
  /** Whether an array of this dtype holds the number without change. */
  fits(expr: Expr, dtype: DType): boolean
  isTainted(expr: Expr): boolean
}

export interface Pick {
  readonly place: number
  readonly test: '<' | '<=' | '>' | '>='
  /** The value that replaces the carried one. */
  readonly value: Expr
}

const TURNED = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

export function classifier(
  spec: LoopSpec,
  ir: FunctionIr,
  carried: Carried,
  isTaintedLocal: (local: string) => boolean,
  dtypeOf: (place: number) => DType,
): Classifier {
  const rangeOf = wholeRange(spec, ir, carried.definitions)
  const isTainted = (expr: Expr): boolean =>
    someExpr(
      expr,
      (one) => (one.kind === 'Local' && isTaintedLocal(one.name)) || (one.kind === 'Read' && carried.roleOf(one) !== undefined),
    )

  const fits = (expr: Expr, dtype: DType): boolean => {
    if (dtype === 'f64') return true
    const range = rangeOf(expr)
    const held = dtype === 'f32' ? { low: -(2 ** 24), high: 2 ** 24 } : integerRangeOf(dtype)
    if (range !== undefined && held !== undefined && range.low >= held.low && range.high <= held.high) return true
    if (dtype !== 'f32') return false
    const binding = expr.kind === 'Read' ? spec.env[expr.array] : undefined
    if (binding?.kind === 'array' && binding.dtype === 'f32') return true
    if (expr.kind === 'Local') {
      const value = carried.definitions.get(expr.name)
      return value !== undefined && fits(value, dtype)
    }
    return expr.kind === 'Call' && expr.callee === 'Math.fround'
  }

  const withOperator = (of: Class, operator: ScanOperator): Class => {
    if (of.kind !== 'carried') return OPAQUE
    if (of.operator === undefined || of.operator.kind === operator.kind) return { ...of, operator }
    return OPAQUE
  }

  const classOf = (expr: Expr, here: Here): Class => {
    if (!isTainted(expr)) return FREE
    switch (expr.kind) {
      case 'Read': {
        const role = carried.roleOf(expr)
        if (role === undefined) return OPAQUE
        if (role.isBefore || carried.places[role.place]?.kind === 'cell') return { kind: 'carried', place: role.place, operator: undefined }
        return here.own(role.place) ?? OPAQUE
      }
      case 'Local': {
        const value = carried.definitions.get(expr.name)
        if (value === undefined || here.isOpaque(expr.name)) return OPAQUE
        const of = classOf(value, here)
        return of.kind === 'carried' && !here.isFresh(expr.name, of.place) ? OPAQUE : of
      }
      case 'Binary':
        return binary(expr, here)
      case 'Call': {
        if (expr.callee !== 'Math.max' && expr.callee !== 'Math.min') return OPAQUE
        const tainted = expr.args.filter(isTainted)
        const [of] = tainted
        if (of === undefined || tainted.length > 1) return OPAQUE
        const found = withOperator(classOf(of, here), { kind: expr.callee === 'Math.max' ? 'max' : 'min' })
        if (found.kind !== 'carried') return found
        return expr.args.every((one) => one === of || fits(one, dtypeOf(found.place))) ? found : OPAQUE
      }
      case 'Conditional': {
        if (isTainted(expr.test)) {
          const pick = pickOf(expr.test, here)
          const isIt = pick !== undefined && exprId(expr.then) === exprId(pick.value) && fits(pick.value, dtypeOf(pick.place))
          const other = isIt ? classOf(expr.else, here) : OPAQUE
          if (!isIt || other.kind !== 'carried' || other.place !== pick.place || other.operator !== undefined) return OPAQUE
          return { kind: 'carried', place: pick.place, operator: { kind: 'pick', test: pick.test } }
        }
        const [a, b] = [classOf(expr.then, here), classOf(expr.else, here)]
        if (a.kind === 'opaque' || b.kind === 'opaque') return a.kind === 'opaque' ? a : b
        if (a.kind === 'free') return b
        if (b.kind === 'free') return a
        if (a.place !== b.place) return OPAQUE
        if (a.operator === undefined) return b
        return b.operator === undefined || sameOperator(a.operator, b.operator) ? a : OPAQUE
      }
      default:
        return OPAQUE
    }
  }

  const binary = (expr: Extract<Expr, { kind: 'Binary' }>, here: Here): Class => {
    const { operator, left, right } = expr
    const [isLeft, isRight] = [isTainted(left), isTainted(right)]
    if (isLeft && isRight) return OPAQUE
    const [carriedSide, other] = isLeft ? [left, right] : [right, left]
    const of = classOf(carriedSide, here)
    if (of.kind !== 'carried') return of
    switch (operator) {
      case '+':
      case '-': {
        if (operator === '-' && isRight) return OPAQUE
        const sum = withOperator(of, { kind: 'sum' })
        if (sum.kind !== 'carried') return OPAQUE
        return rangeOf(other) === undefined ? { kind: 'opaque', fraction: other } : sum
      }
      case '|':
        if (other.kind === 'Literal' && other.value === 0 && of.operator?.kind === 'sum') return { ...of, operator: { kind: 'wrap' } }
        return withOperator(of, { kind: 'or' })
      case '>>>':
        return isLeft && other.kind === 'Literal' && other.value === 0 && of.operator?.kind === 'sum'
          ? { ...of, operator: { kind: 'unsigned' } }
          : OPAQUE
      case '&':
        return withOperator(of, { kind: 'and' })
      case '^':
        return withOperator(of, { kind: 'xor' })
      default:
        return OPAQUE
    }
  }

  const pickOf = (test: Expr, here: Here): Pick | undefined => {
    if (test.kind === 'Logical' && test.operator === '&&') {
      if (!isTainted(test.left)) return pickOf(test.right, here)
      return isTainted(test.right) ? undefined : pickOf(test.left, here)
    }
    if (test.kind !== 'Binary') return undefined
    const { operator, left, right } = test
    if (operator !== '<' && operator !== '<=' && operator !== '>' && operator !== '>=') return undefined
    if (isTainted(left) === isTainted(right)) return undefined
    const [side, value] = isTainted(left) ? [left, right] : [right, left]
    const of = classOf(side, here)
    if (of.kind !== 'carried' || of.operator !== undefined) return undefined
    return { place: of.place, test: isTainted(left) ? TURNED[operator] : operator, value }
  }

  return { classOf, pickOf, fits, isTainted }
}

export function sameOperator(a: ScanOperator, b: ScanOperator): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
