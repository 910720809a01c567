/**
 * Expressions in the lanes of a vector: arithmetic, comparisons as masks, choices between lanes, and the functions of `Math`
 * that have instructions. What has none keeps its loop scalar.
 */

import type { DType } from '../../../core/data/schema.ts'
import type { BinaryOperator, Expr } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, type Plain, SIMD } from '../../kir/instructions.ts'
import { LOG2_BYTES, shifted } from '../loops/wasmCode.ts'
import { BOOL, F64, HIGHEST, integerResult, integerType, LOWEST } from '../loops/wasmTypes.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { LaneMath } from '../math/wasmLaneMath.ts'
import { type LaneFunction, laneFunction } from '../math/wasmVectorMath.ts'
import type { Contraction } from '../passes/contraction.ts'
import type { Regrouping } from '../passes/reassociation.ts'
import { asFloat, asIntegers, boundsOf, type Constants, integers, isTruth, masked, Scalar, type Vector } from './wasmLanes.ts'

/** What expressions ask of the loop around them. */
export interface VectorScope extends Constants {
  readonly w: KernelWriter
  readonly maskBits: 32 | 64
  /** Undefined where every operation rounds. */
  readonly contraction: Contraction | undefined
  /** Undefined where expressions are computed as they stand. */
  readonly regrouping: Regrouping | undefined
  expr(expr: Expr): Vector
  steady(expr: Expr): Vector | undefined
  local(name: string): Vector
  index(): Vector
  isIndex(expr: Expr): boolean
  read(node: object): Vector
  element(column: number): Vector
  contiguous(dtype: DType, address: Code, offset: number): Vector
  both(a: Vector, b: Vector): Vector
  negated(mask: Vector): Vector
  choice(mask: Vector, yes: Vector, no: Vector): Vector
}

export function vectorExpr(s: VectorScope, expr: Expr): Vector {
  const steady = s.steady(expr)
  if (steady !== undefined) return steady
  if (s.isIndex(expr)) return s.index()
  switch (expr.kind) {
    case 'Local':
      return s.local(expr.name)
    case 'Read':
      return s.read(expr)
    case 'Lookup':
      return lookup(s, expr)
    case 'Input':
    case 'Field':
      return element(s, expr)
    case 'Unary':
      return unary(s, expr)
    case 'Binary':
      return binary(s, expr)
    case 'Logical':
      return logical(s, expr)
    case 'Conditional':
      return s.choice(vectorCondition(s, expr.test), s.expr(expr.then), s.expr(expr.else))
    case 'Call':
      return call(s, expr)
    case 'Literal':
    case 'Parameter':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
    case 'Find':
    case 'MethodCall':
    case 'Matches':
    case 'Has':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      throw new Scalar('it is more than arithmetic')
  }
}

/** Truth of an expression. */
export function vectorCondition(s: VectorScope, expr: Expr): Vector {
  if (s.steady(expr) === undefined) {
    if (expr.kind === 'Unary' && expr.operator === '!') return s.negated(vectorCondition(s, expr.operand))
    if (expr.kind === 'Logical' && expr.operator !== '??') {
      const [left, right] = [vectorCondition(s, expr.left), vectorCondition(s, expr.right)]
      return expr.operator === '&&' ? s.both(left, right) : s.negated(s.both(s.negated(left), s.negated(right)))
    }
  }
  return truth(s, s.expr(expr))
}

function truth(s: VectorScope, vector: Vector): Vector {
  return { kind: 'mask', bits: s.maskBits, code: masked(s, vector, s.maskBits) }
}

/** An instruction for each of f64 and f32. */
type Pair = readonly [f64: Plain, f32: Plain]

function floats(s: VectorScope, [double, single]: Pair, ...operands: readonly Vector[]): Vector {
  const kind = s.mode === 'f32' ? 'f32' : 'f64'
  return { kind, code: [...operands.map((operand) => asFloat(s, operand)), kind === 'f32' ? single : double] }
}

function lookup(s: VectorScope, expr: Extract<Expr, { kind: 'Lookup' }>): Vector {
  const table = s.w.target.ir.tables.findIndex(({ name }) => name === expr.table)
  const dtype = s.w.target.tableTypes[table]
  const isNext = s.isIndex(expr.index) || (expr.index.kind === 'Binary' && isShiftedIndex(s, expr.index))
  if (!isNext) throw new Scalar(`${expr.table} is not read at the index`) // of which lanes may have values of their own
  const { type, code } = s.w.expr(expr.index)
  if (dtype === undefined || type.kind !== 'i32') throw new Scalar(`${expr.table} is not read at the index`)
  if (type.low < 0 || type.high >= (s.w.target.tableLengths[table] ?? 0)) throw new Scalar(`${expr.table} may end before the loop`)
  return s.contiguous(dtype, [...s.w.address(`T${table}`), code, shifted(LOG2_BYTES[dtype]), OP.i32Add], 0)
}

function isShiftedIndex(s: VectorScope, { operator, left, right }: Extract<Expr, { kind: 'Binary' }>): boolean {
  return (operator === '+' || operator === '-') && s.isIndex(left) && right.kind === 'Literal'
}

function element(s: VectorScope, expr: Extract<Expr, { kind: 'Input' | 'Field' }>): Vector {
  const { element } = s.w.target.shape
  if (element.kind === 'dense') return s.element(0)
  const columns = element.kind === 'row' ? element.columns : element.kind === 'scalar' ? [element.column] : []
  const i = element.kind === 'row' && expr.kind === 'Field' ? columns.findIndex(({ name }) => name === expr.name) : 0
  const column = columns[i]
  if (column === undefined || column.nullable || column.dtype === undefined) throw new Scalar('its elements are no plain numbers')
  const vector = s.element(i)
  return column.form === 'bool' ? truth(s, vector) : vector
}

function unary(s: VectorScope, { operator, operand }: Extract<Expr, { kind: 'Unary' }>): Vector {
  if (operator === '!') return s.negated(vectorCondition(s, operand))
  const vector = s.expr(operand)
  switch (operator) {
    case '+':
      return number(s, vector)
    case '-': {
      const bounds = boundsOf(vector)
      const negative = (): Vector => floats(s, [SIMD.f64Neg, SIMD.f32Neg], vector)
      if (bounds === undefined || (bounds.low <= 0 && bounds.high >= 0)) return negative()
      const narrow = (): Code => [s.number('i32', 0), asIntegers(s, vector), SIMD.i32Sub]
      return integers(s, -bounds.high, -bounds.low, narrow, () => codeOf(negative()))
    }
    case '~':
      return { kind: 'i32', low: LOWEST, high: HIGHEST, code: [asIntegers(s, vector), SIMD.not] }
    case 'typeof':
      throw new Scalar('it asks for a type')
  }
}

function codeOf(vector: Vector): Code {
  return vector.kind === 'steady' ? [] : vector.code
}

/** ToNumber. */
function number(s: VectorScope, vector: Vector): Vector {
  return isTruth(vector) ? { kind: 'i32', low: 0, high: 1, code: asIntegers(s, vector) } : vector
}

const ARITHMETIC: { readonly [O in '+' | '-' | '*']: { readonly floats: Pair; readonly narrow: Plain } } = {
  '+': { floats: [SIMD.f64Add, SIMD.f32Add], narrow: SIMD.i32Add },
  '-': { floats: [SIMD.f64Sub, SIMD.f32Sub], narrow: SIMD.i32Sub },
  '*': { floats: [SIMD.f64Mul, SIMD.f32Mul], narrow: SIMD.i32Mul },
}
const BITS = { '&': SIMD.and, '|': SIMD.or, '^': SIMD.xor } as const
const COMPARE: { readonly [O in '<' | '<=' | '>' | '>=' | '==' | '!=']: { readonly floats: Pair; readonly narrow: Plain } } = {
  '<': { floats: [SIMD.f64Lt, SIMD.f32Lt], narrow: SIMD.i32Lt },
  '<=': { floats: [SIMD.f64Le, SIMD.f32Le], narrow: SIMD.i32Le },
  '>': { floats: [SIMD.f64Gt, SIMD.f32Gt], narrow: SIMD.i32Gt },
  '>=': { floats: [SIMD.f64Ge, SIMD.f32Ge], narrow: SIMD.i32Ge },
  '==': { floats: [SIMD.f64Eq, SIMD.f32Eq], narrow: SIMD.i32Eq },
  '!=': { floats: [SIMD.f64Ne, SIMD.f32Ne], narrow: SIMD.i32Ne },
}

function binary(s: VectorScope, expr: Extract<Expr, { kind: 'Binary' }>): Vector {
  const fewer = s.regrouping?.regrouped(expr)
  if (fewer !== undefined) return s.expr(fewer)
  const { operator } = expr
  const [left, right] = [s.expr(expr.left), s.expr(expr.right)]
  switch (operator) {
    case '+':
    case '-':
    case '*':
      return arithmetic(s, operator, left, right)
    case '/': {
      const inverse = exactInverse(right)
      if (inverse !== undefined) return floats(s, ARITHMETIC['*'].floats, left, inverse)
      return floats(s, [SIMD.f64Div, SIMD.f32Div], left, right)
    }
    case '&':
    case '|':
    case '^': {
      const highs = operator === '&' ? [left, right].flatMap((side) => nonNegative(side)) : []
      const bounds = highs.length > 0 ? { low: 0, high: Math.min(...highs) } : { low: LOWEST, high: HIGHEST }
      return { kind: 'i32', ...bounds, code: [asIntegers(s, left), asIntegers(s, right), BITS[operator]] }
    }
    case '<<':
    case '>>':
    case '>>>':
      return shift(s, operator, left, right)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compared(s, operator, left, right)
    case '==':
    case '!=':
      return compared(s, operator, left, right)
    case '===':
    case '!==':
      // A number is never a truth value.
      if (isTruth(left) !== isTruth(right)) return { kind: 'steady', value: { type: BOOL, code: I.i32Const(operator === '===' ? 0 : 1) } }
      return compared(s, operator === '===' ? '==' : '!=', left, right)
    case '**': {
      if (right.kind !== 'steady' || right.value.literal !== 2) return ofLanes(s, 'Math.pow', left, right, 'it uses **')
      const base = s.w.declare('v128')
      const kind = s.mode === 'f32' ? 'f32' : 'f64'
      const mul = [kind === 'f32' ? SIMD.f32Mul : SIMD.f64Mul]
      const factors = [[asFloat(s, left), I.localTee(base)], I.localGet(base)] as const
      const code = [...factors, mul]
      s.contraction?.noteProduct(code, ...factors)
      return { kind, code }
    }
    case '%':
      throw new Scalar(`it uses ${operator}`)
  }
}

/** Of a power of two as a literal: dividing by it and multiplying by its inverse give the same bits, the one in eight times the time. */
function exactInverse(vector: Vector): Vector | undefined {
  const { literal } = vector.kind === 'steady' ? vector.value : {}
  if (literal === undefined || literal === 0) return undefined
  const exponent = Math.round(Math.log2(Math.abs(literal)))
  // An f32 holds the inverse as well, with all of its digits.
  if (Math.abs(exponent) > 126 || 2 ** exponent !== Math.abs(literal)) return undefined
  return { kind: 'steady', value: { type: F64, code: I.f64Const(1 / literal), literal: 1 / literal } }
}

function nonNegative(vector: Vector): number[] {
  const bounds = boundsOf(vector)
  return bounds !== undefined && bounds.low >= 0 && bounds.high <= HIGHEST ? [bounds.high] : []
}

/** Whether 32-bit lanes hold a vector's values as they are. */
function isNarrow(vector: Vector): boolean {
  const bounds = boundsOf(vector)
  return bounds !== undefined && bounds.low >= LOWEST && bounds.high <= HIGHEST
}

function arithmetic(s: VectorScope, operator: BinaryOperator & keyof typeof ARITHMETIC, left: Vector, right: Vector): Vector {
  const { floats: pair, narrow } = ARITHMETIC[operator]
  const [a, b] = [boundsOf(left), boundsOf(right)]
  const [one, two] = [a && integerType(a.low, a.high), b && integerType(b.low, b.high)]
  const result = one && two && integerResult(operator, one, two)
  if (result === undefined) return fractions(s, operator, left, right)
  const wide = (): Code => codeOf(floats(s, pair, left, right))
  if (isNarrow(left) && isNarrow(right)) {
    return integers(s, result.low, result.high, () => [asIntegers(s, left), asIntegers(s, right), narrow], wide)
  }
  return s.mode === 'f64' ? { kind: 'f64', low: result.low, high: result.high, code: wide() } : floats(s, pair, left, right)
}

function fractions(s: VectorScope, operator: keyof typeof ARITHMETIC, left: Vector, right: Vector): Vector {
  const apart = floats(s, ARITHMETIC[operator].floats, left, right)
  const { contraction } = s
  if (contraction === undefined || apart.kind === 'steady' || s.mode === 'i32') return apart
  const [a, b] = [asFloat(s, left), asFloat(s, right)]
  if (operator === '*') contraction.noteProduct(apart.code, a, b)
  const sum = operator === '*' ? undefined : contraction.sum(s.mode, operator, a, b)
  return sum === undefined ? apart : { kind: s.mode, code: sum }
}

function shift(s: VectorScope, operator: '<<' | '>>' | '>>>', left: Vector, right: Vector): Vector {
  if (right.kind !== 'steady') throw new Scalar('lanes are shifted by different counts')
  const { literal } = right.value
  const opcode = { '<<': SIMD.i32Shl, '>>': SIMD.i32ShrS, '>>>': SIMD.i32ShrU }[operator]
  const code = [asIntegers(s, left), ...s.w.int32(right.value), opcode]
  const bounds = boundsOf(left)
  const isPositive = bounds !== undefined && bounds.low >= 0 && bounds.high <= HIGHEST
  if (operator === '>>>' && !(literal !== undefined && (literal & 31) > 0)) {
    if (s.mode !== 'f64') throw new Scalar('32 bits do not hold its integers')
    return { kind: 'f64', low: 0, high: 2 ** 32 - 1, code: [code, SIMD.f64ConvertI32U] }
  }
  const low = operator === '>>>' || (operator === '>>' && isPositive) ? 0 : LOWEST
  return { kind: 'i32', low, high: operator === '>>' && isPositive ? bounds.high : HIGHEST, code }
}

function compared(s: VectorScope, operator: keyof typeof COMPARE, left: Vector, right: Vector): Vector {
  const { floats: pair, narrow } = COMPARE[operator]
  if (isNarrow(left) && isNarrow(right)) {
    return { kind: 'mask', bits: 32, code: [asIntegers(s, left), asIntegers(s, right), narrow] }
  }
  return { kind: 'mask', bits: s.maskBits, code: codeOf(floats(s, pair, left, right)) }
}

function logical(s: VectorScope, expr: Extract<Expr, { kind: 'Logical' }>): Vector {
  const left = s.expr(expr.left)
  if (expr.operator === '??') return left
  const right = s.expr(expr.right)
  if (isTruth(left) && isTruth(right)) {
    const both = expr.operator === '&&'
    return both ? s.both(left, right) : s.negated(s.both(s.negated(truth(s, left)), s.negated(truth(s, right))))
  }
  if (left.kind === 'steady') return expr.operator === '&&' ? s.choice(left, right, left) : s.choice(left, left, right)
  // Computed once: a choice evaluates its sides first, then its mask.
  const slot = s.w.declare('v128')
  const first: Vector = { ...left, code: [left.code, I.localTee(slot)] }
  const test = truth(s, { ...left, code: I.localGet(slot) })
  return expr.operator === '&&' ? s.choice(test, right, first) : s.choice(test, first, right)
}

const ROUNDED = {
  'Math.ceil': [SIMD.f64Ceil, SIMD.f32Ceil],
  'Math.floor': [SIMD.f64Floor, SIMD.f32Floor],
  'Math.trunc': [SIMD.f64Trunc, SIMD.f32Trunc],
} as const

function call(s: VectorScope, { callee, args }: Extract<Expr, { kind: 'Call' }>): Vector {
  const values = args.map((arg) => number(s, s.expr(arg)))
  const [x, y] = values
  if (x === undefined) throw new Scalar(`it calls ${callee}`)
  const bounds = boundsOf(x)
  switch (callee) {
    case 'Number':
      return x
    case 'Boolean':
      return truth(s, x)
    case 'Math.sqrt':
      return floats(s, [SIMD.f64Sqrt, SIMD.f32Sqrt], x)
    case 'Math.abs': {
      if (bounds !== undefined && bounds.low >= 0) return x
      const wide = (): Vector => floats(s, [SIMD.f64Abs, SIMD.f32Abs], x)
      if (bounds === undefined || !isNarrow(x)) return wide()
      const narrow = (): Code => [asIntegers(s, x), SIMD.i32Abs]
      return integers(s, Math.max(0, -bounds.high), Math.max(-bounds.low, bounds.high), narrow, () => codeOf(wide()))
    }
    case 'Math.ceil':
    case 'Math.floor':
    case 'Math.trunc':
      return bounds === undefined ? floats(s, ROUNDED[callee], x) : x
    case 'Math.round':
      if (bounds !== undefined) return x
      break
    case 'Math.fround':
      if (s.mode === 'f32') return x
      return { kind: 'f64', code: [asFloat(s, x), SIMD.demoteF64, SIMD.promoteF32] }
    case 'Math.min':
    case 'Math.max':
      return values.slice(1).reduce((a, b) => extreme(s, callee, a, b), x)
    case 'Math.imul':
      if (y === undefined) break
      return { kind: 'i32', low: LOWEST, high: HIGHEST, code: [asIntegers(s, x), asIntegers(s, y), SIMD.i32Mul] }
    case 'Math.cos':
    case 'Math.exp':
    case 'Math.log':
    case 'Math.sin':
    case 'Math.tanh':
      return ofLanes(s, callee, x, undefined, `it calls ${callee}`)
    case 'Math.pow':
      if (y === undefined) break
      return ofLanes(s, callee, x, y, `it calls ${callee}`)
    default:
  }
  throw new Scalar(`it calls ${callee}`)
}

/** A function that only f32 lanes have. */
function ofLanes(s: VectorScope, name: LaneFunction, x: Vector, y: Vector | undefined, because: string): Vector {
  if (s.mode !== 'f32') throw new Scalar(because)
  const { contraction } = s
  if (contraction !== undefined) contraction.isUsed = true
  const m: LaneMath = {
    isRelaxed: contraction !== undefined,
    number: s.number.bind(s),
    declare: s.w.declare.bind(s.w),
    itself: (function_, code) => s.w.imported(function_, [{ type: F64, code }]).code,
  }
  return { kind: 'f32', code: laneFunction(m, name, asFloat(s, x), y && asFloat(s, y)) }
}

function extreme(s: VectorScope, callee: 'Math.min' | 'Math.max', a: Vector, b: Vector): Vector {
  const isMin = callee === 'Math.min'
  const wide = floats.bind(undefined, s, isMin ? [SIMD.f64Min, SIMD.f32Min] : [SIMD.f64Max, SIMD.f32Max])
  const [one, two] = [boundsOf(a), boundsOf(b)]
  if (one === undefined || two === undefined || !isNarrow(a) || !isNarrow(b)) return wide(a, b)
  const of = isMin ? Math.min : Math.max
  const code = [asIntegers(s, a), asIntegers(s, b), isMin ? SIMD.i32Min : SIMD.i32Max]
  return { kind: 'i32', low: of(one.low, two.low), high: of(one.high, two.high), code }
}
