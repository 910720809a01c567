/**
 * Compiles expressions to vector lanes: arithmetic, comparisons as masks, selections between lanes, and the functions of `Math`
 * with vector code. An expression without vector code keeps its loop scalar.
 */

import type { DType } from '../../../core/data/schema.ts'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import type { BitOperation, Comparison, Emitter, FloatOperation, IntegerOperation, Kept, Leaf } from '../expressions/emitter.ts'
import { BITS, COMPARE, FLOAT, INTEGER_LANES } from '../expressions/instructions.ts'
import { exactInverse } from '../expressions/operators.ts'
import { withoutValue } from '../expressions/scalars.ts'
import { BOOL, F64, HIGHEST, type IntegerType, integerType, LOWEST, literalValue, number, type WasmType } from '../expressions/types.ts'
import { LOG2_BYTES, shifted } from '../loops/wasmCode.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { LaneMath } from '../math/wasmLaneMath.ts'
import { type LaneFunction, laneFunction } from '../math/wasmVectorMath.ts'
import type { Contraction } from '../passes/contraction.ts'
import type { Regrouping } from '../passes/reassociation.ts'
import { asFloat, asIntegers, boundsOf, type Constants, integers, isTruth, masked, Scalar, type Vector } from './wasmLanes.ts'

/** The interface of a vector loop to its expressions. */
export interface VectorScope extends Constants {
  readonly w: KernelWriter
  readonly maskBits: 32 | 64
  /** Contraction of products and sums; undefined where every operation rounds. */
  readonly contraction: Contraction | undefined
  /** Reassociation; undefined where expressions are computed as written. */
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

/** The emitter for a loop's expressions in lanes; throws `Scalar` where there is no vector code. */
export class LaneEmitter implements Emitter<Vector> {
  readonly #s: VectorScope

  constructor(scope: VectorScope) {
    this.#s = scope
  }

  get #float(): 'f64' | 'f32' {
    return this.#s.mode === 'f32' ? 'f32' : 'f64'
  }

  // ---------------------------------------------------------------- expressions

  whole(expr: Expr): Vector | undefined {
    const s = this.#s
    const steady = s.steady(expr)
    if (steady !== undefined) return steady
    if (s.isIndex(expr)) return s.index()
    const fewer = expr.kind === 'Binary' ? s.regrouping?.regrouped(expr) : undefined
    return fewer && s.expr(fewer)
  }

  leaf(expr: Leaf): Vector {
    const s = this.#s
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
      case 'Literal':
      case 'Parameter':
      case 'Key':
      case 'Extent':
      case 'LookupLength':
      case 'Find':
      case 'MethodCall':
      case 'OfList':
      case 'Matches':
      case 'Has':
      case 'Draw':
      case 'ArrayLiteral':
      case 'ObjectLiteral':
        throw new Scalar('it is more than arithmetic')
    }
  }

  truth(vector: Vector): Vector {
    return truth(this.#s, vector)
  }

  logicalTruth(operator: '&&' | '||', left: Vector, right: () => Vector): Vector {
    return this.truths(operator === '&&' ? 'and' : 'or', left, right())
  }

  logical(operator: '&&' | '||' | '??', left: Vector, compileRight: () => Vector): Vector {
    if (operator === '??') return left
    const s = this.#s
    const right = compileRight()
    const isAnd = operator === '&&'
    if (isTruth(left) && isTruth(right)) return this.truths(isAnd ? 'and' : 'or', left, right)
    if (left.kind === 'steady') return isAnd ? s.choice(left, right, left) : s.choice(left, left, right)
    // kept once: a selection evaluates its sides first, then its mask
    const { first, again } = this.kept(left)
    return isAnd ? s.choice(this.truth(again), right, first) : s.choice(this.truth(again), first, right)
  }

  chosen(test: () => Vector, then: () => Vector, otherwise: () => Vector): Vector {
    return this.#s.choice(test(), then(), otherwise())
  }

  declined(because: string): Scalar {
    return new Scalar(because)
  }

  // ---------------------------------------------------------------- numbers

  typeOf(vector: Vector): WasmType {
    if (isTruth(vector)) return BOOL
    const bounds = boundsOf(vector)
    return (bounds && integerType(bounds.low, bounds.high)) ?? F64
  }

  literalOf(vector: Vector): number | undefined {
    return vector.kind === 'steady' ? vector.value.literal : undefined
  }

  constant(value: number | boolean | bigint): Vector {
    return { kind: 'steady', value: literalValue(value) }
  }

  /** A mask remains a mask; arithmetic on it converts it to 1 and 0 in lanes of the width that it needs. */
  toNumber(vector: Vector): Vector {
    if (!isTruth(vector)) return vector
    if (vector.kind === 'steady') return { kind: 'steady', value: number(vector.value) }
    return { ...vector, kind: 'mask', isNumber: true } as Vector
  }

  toFloat(vector: Vector): Vector {
    return { kind: this.#float, code: asFloat(this.#s, vector) }
  }

  toInt32(vector: Vector): Vector {
    const bounds = boundsOf(vector)
    const known = isNarrow(vector) && bounds !== undefined ? bounds : { low: LOWEST, high: HIGHEST }
    return { kind: 'i32', low: known.low, high: known.high, code: asIntegers(this.#s, vector) }
  }

  float(operation: FloatOperation, ...operands: readonly Vector[]): Vector {
    const [x, y] = operands
    const inverse = operation === '/' && y !== undefined ? exactInverse(this.literalOf(y)) : undefined
    if (inverse !== undefined && x !== undefined) return this.#floats('*', [x, this.constant(inverse)])
    const vector = this.#floats(operation, operands)
    const { contraction } = this.#s
    if (contraction === undefined || x === undefined || y === undefined || this.#s.mode === 'i32') return vector
    if (operation !== '+' && operation !== '-' && operation !== '*') return vector
    const [a, b] = [asFloat(this.#s, x), asFloat(this.#s, y)]
    if (operation === '*') contraction.noteProduct(vector.code, a, b)
    const sum = operation === '*' ? undefined : contraction.sum(this.#float, operation, a, b)
    return sum === undefined ? vector : { kind: this.#float, code: sum }
  }

  #floats(operation: FloatOperation, operands: readonly Vector[]): { readonly kind: 'f64' | 'f32'; readonly code: Code } {
    const kind = this.#float
    const code = FLOAT[operation][kind === 'f32' ? 'f32x4' : 'f64x2']
    return { kind, code: [...operands.map((operand) => asFloat(this.#s, operand)), ...code] }
  }

  integer(operation: IntegerOperation, { low, high }: IntegerType, a: Vector, b: Vector): Vector {
    const s = this.#s
    if (operation === '%') throw new Scalar('it uses %')
    const wide = (): Code => this.#floats(operation, [a, b]).code
    if (!isNarrow(a) || !isNarrow(b)) return s.mode === 'f64' ? { kind: 'f64', low, high, code: wide() } : this.#floats(operation, [a, b])
    return integers(s, low, high, () => [asIntegers(s, a), asIntegers(s, b), INTEGER_LANES[operation]], wide)
  }

  bits(operation: BitOperation, { low, high }: IntegerType, ...operands: readonly Vector[]): Vector {
    const s = this.#s
    const [a, b] = operands
    if (operation === '^' && a !== undefined && b !== undefined && this.literalOf(b) === -1)
      return { kind: 'i32', low, high, code: [asIntegers(s, a), SIMD.not] }
    const instruction = BITS[operation].i32x4
    if (instruction === undefined) throw new Scalar('it calls Math.clz32')
    return { kind: 'i32', low, high, code: [...operands.map((operand) => asIntegers(s, operand)), instruction] }
  }

  shifted(operation: '<<' | '>>' | '>>>', type: IntegerType, a: Vector, count: Vector): Vector {
    if (count.kind !== 'steady') throw new Scalar('lanes are shifted by different counts')
    const { low, high } = type
    const code = [asIntegers(this.#s, a), this.#s.w.emitter.int32(count.value), SHIFT[operation]]
    if (type.kind === 'i32') return { kind: 'i32', low, high, code }
    if (this.#s.mode !== 'f64') throw new Scalar('32 bits do not hold its integers')
    return { kind: 'f64', low, high, code: [code, SIMD.f64ConvertI32U] }
  }

  compared(operator: Comparison, a: Vector, b: Vector): Vector {
    const s = this.#s
    const opcodes = COMPARE[operator]
    if (isNarrow(a) && isNarrow(b)) return { kind: 'mask', bits: 32, code: [asIntegers(s, a), asIntegers(s, b), opcodes.i32x4] }
    return { kind: 'mask', bits: s.maskBits, code: [asFloat(s, a), asFloat(s, b), opcodes[this.#float === 'f32' ? 'f32x4' : 'f64x2']] }
  }

  /** Calls a function that f32 lanes have. */
  called(name: string, [x, y]: readonly Vector[]): Vector {
    const s = this.#s
    if (s.mode !== 'f32' || x === undefined || !isLaneFunction(name)) throw new Scalar(name === '%' ? 'it uses %' : `it calls ${name}`)
    const { contraction } = s
    if (contraction !== undefined) contraction.isUsed = true
    const m: LaneMath = {
      isRelaxed: contraction !== undefined,
      number: s.number.bind(s),
      declare: s.w.declare.bind(s.w),
      itself: (function_, code) => s.w.emitter.imported(function_, [{ type: F64, code }]).code,
    }
    return { kind: 'f32', code: laneFunction(m, name, asFloat(s, x), y && asFloat(s, y)) }
  }

  kept(vector: Vector): Kept<Vector> {
    if (vector.kind === 'steady') return { first: vector, again: vector }
    const slot = this.#s.w.declare('v128')
    return { first: { ...vector, code: [vector.code, I.localTee(slot)] }, again: { ...vector, code: I.localGet(slot) } }
  }

  after(others: readonly Vector[], vector: Vector): Vector {
    const kept = others.flatMap((other) => (other.kind === 'steady' ? [] : [withoutValue(other.code)]))
    return vector.kind === 'steady' ? vector : { ...vector, code: [kept, vector.code] }
  }

  selected(test: Vector, yes: Vector, no: Vector): Vector {
    return this.#s.choice(test, yes, no)
  }

  truths(operation: 'not' | 'and' | 'or', a: Vector, b: Vector = a): Vector {
    const s = this.#s
    if (operation === 'not') return s.negated(a)
    return operation === 'and' ? s.both(a, b) : s.negated(s.both(s.negated(a), s.negated(b)))
  }
}

const SHIFT = { '<<': SIMD.i32Shl, '>>': SIMD.i32ShrS, '>>>': SIMD.i32ShrU } as const

const LANE_FUNCTIONS: ReadonlySet<string> = new Set<LaneFunction>(['Math.cos', 'Math.exp', 'Math.log', 'Math.pow', 'Math.sin', 'Math.tanh'])

function isLaneFunction(name: string): name is LaneFunction {
  return LANE_FUNCTIONS.has(name)
}

function truth(s: VectorScope, vector: Vector): Vector {
  return { kind: 'mask', bits: s.maskBits, code: masked(s, vector, s.maskBits) }
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

/** Whether 32-bit lanes hold all values of the vector exactly. */
function isNarrow(vector: Vector): boolean {
  const bounds = boundsOf(vector)
  return bounds !== undefined && bounds.low >= LOWEST && bounds.high <= HIGHEST
}
