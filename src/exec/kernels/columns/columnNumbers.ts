/**
 * Emitter for numbers and truth values of four rows: vector instructions where they exist, else scalar code row by row.
 *
 * Integers stay integers while 32 bits are known to hold them. Null converts to the number 0, undefined to NaN.
 */
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { i64Const, lanesConst, shuffle32 } from '../../kir/simd.ts'
import type { BitOperation, Comparison, FloatOperation, IntegerOperation, Kept, NumberEmitter } from '../expressions/emitter.ts'
import { BITS, COMPARE, FLOAT, INTEGER_LANES } from '../expressions/instructions.ts'
import { exactInverse } from '../expressions/operators.ts'
import { ScalarEmitter } from '../expressions/scalars.ts'
import {
  areUnsigned,
  BOOL,
  bigintType,
  F64,
  HIGHEST,
  type IntegerType,
  LOWEST,
  NotCompiled,
  type Value,
  type WasmType,
} from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import {
  and,
  bigintConstant,
  bigintTypeOf,
  bool,
  both,
  choose,
  type Doubles,
  doubles,
  type Integers,
  not,
  numeric,
  or,
  present,
  validOf,
} from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'

type Bool = Extract<ColumnValue, { kind: 'bool' }>

export class ColumnNumbers implements NumberEmitter<ColumnValue> {
  readonly w: ColumnWriter
  /** The emitter for scalar code, which computes a row at a time. */
  readonly rows: ScalarEmitter

  constructor(w: ColumnWriter) {
    this.w = w
    this.rows = new ScalarEmitter(w)
  }

  typeOf(value: ColumnValue): WasmType | undefined {
    switch (value.kind) {
      case 'f64':
        return F64
      case 'i32':
        return { kind: 'i32', low: value.low, high: value.high }
      case 'bool':
        return BOOL
      case 'i64':
        return bigintTypeOf(value)
      case 'constant':
        return typeof value.value === 'bigint' ? bigintType(value.value, value.value) : undefined
      case 'date':
      case 'text':
      case 'other':
      case 'row':
        return undefined
    }
  }

  literalOf(value: ColumnValue): number | undefined {
    return value.kind === 'i32' && value.low === value.high && value.valid === undefined ? value.low : undefined
  }

  constant(value: number | boolean | bigint): ColumnValue {
    if (typeof value === 'number') return this.w.number(value)
    return typeof value === 'boolean' ? this.w.truth(value) : bigintConstant(this.w, value)
  }

  present(value: ColumnValue): ColumnValue | undefined {
    const at = validOf(this.w, value)
    return at === undefined ? undefined : { kind: 'bool', at }
  }

  toNumber(value: ColumnValue): ColumnValue {
    if (value.kind === 'constant' && typeof value.value === 'bigint') return this.constant(value.value)
    return value.kind === 'i64' ? value : numeric(this.w, value)
  }

  toFloat(value: ColumnValue): Doubles {
    return doubles(this.w, value)
  }

  /** Undefined is converted like null here, to 0: the bits of NaN are 0, too. */
  toInt32(value: ColumnValue): Integers {
    const number = numeric(this.w, present(value))
    if (number.kind === 'i32') return number
    const row = (lane: number): Code => this.rows.int32({ type: F64, code: doubleOf(number, lane) })
    return { kind: 'i32', at: this.w.eachInteger(row), low: LOWEST, high: HIGHEST }
  }

  float(operation: FloatOperation, ...operands: readonly ColumnValue[]): Doubles {
    const [x, y] = operands
    const inverse = operation === '/' && y !== undefined ? exactInverse(this.literalOf(y)) : undefined
    if (inverse !== undefined && x !== undefined) return this.float('*', x, this.constant(inverse))
    return both(
      this.w,
      operands.map((operand) => doubles(this.w, operand)),
      ...FLOAT[operation].f64x2,
    )
  }

  integer(operation: IntegerOperation, type: IntegerType, a: ColumnValue, b: ColumnValue): ColumnValue {
    if (operation !== '%') {
      if (type.kind !== 'i32' || a.kind !== 'i32' || b.kind !== 'i32') return this.float(operation, a, b)
      return this.#integers(type, [I.localGet(a.at), I.localGet(b.at), INTEGER_LANES[operation]])
    }
    const [dividend, divisor] = [this.toInt32(a), this.toInt32(b)]
    return { kind: 'i32', at: this.#eachInteger(dividend, divisor, OP.i32RemU), low: type.low, high: type.high }
  }

  #integers({ low, high }: IntegerType, code: Code): Integers {
    return { kind: 'i32', at: this.w.keep(code), low, high }
  }

  /** Applies an operation to two integers, row by row. Engines turn division by a literal into multiplication. */
  #eachInteger(a: Integers, b: Integers, operation: Code[number]): number {
    const second = (lane: number): Code => (b.low === b.high ? I.i32Const(b.low) : integerOf(b, lane))
    return this.w.eachInteger((lane) => [integerOf(a, lane), second(lane), operation])
  }

  bits(operation: BitOperation, type: IntegerType, ...operands: readonly ColumnValue[]): ColumnValue {
    const integers = operands.map((operand) => this.toInt32(operand))
    const { i32, i32x4 } = BITS[operation]
    if (i32x4 !== undefined) return this.#integers(type, [integers.map(({ at }) => I.localGet(at)), i32x4])
    const at = this.w.eachInteger((lane) => [integers.map((one) => integerOf(one, lane)), i32])
    return { kind: 'i32', at, low: type.low, high: type.high }
  }

  shifted(operation: '<<' | '>>' | '>>>', type: IntegerType, a: ColumnValue, count: ColumnValue): ColumnValue {
    const [value, by] = [this.toInt32(a), this.toInt32(count)]
    const amount = by.low === by.high ? I.i32Const(by.low & 31) : by.equal === true ? integerOf(by, 0) : undefined
    const [rows, lanes] = SHIFT[operation]
    const at = amount === undefined ? this.#eachInteger(value, by, rows) : this.w.keep([I.localGet(value.at), amount, lanes])
    if (type.kind === 'i32') return { kind: 'i32', at, low: type.low, high: type.high }
    const high = [I.localGet(at), I.localGet(at), shuffle32([2, 3, 2, 3])]
    return { kind: 'f64', lo: this.w.keep([I.localGet(at), SIMD.f64ConvertI32U]), hi: this.w.keep([high, SIMD.f64ConvertI32U]) }
  }

  compared(operator: Comparison, left: ColumnValue, right: ColumnValue): Bool {
    const { w } = this
    if (left.kind === 'i64' && right.kind === 'i64') {
      // unsigned order is signed order with the sign bits inverted
      const isUnsigned = areUnsigned([this.typeOf(left), this.typeOf(right)])
      const turned = isUnsigned ? [I.localGet(w.constant([i64Const(-(2n ** 63n)), SIMD.i64Splat])), SIMD.xor] : []
      const half = (part: 'lo' | 'hi'): Code => [I.localGet(left[part]), turned, I.localGet(right[part]), turned, COMPARE[operator].i64x2]
      return { kind: 'bool', at: w.joined(half('lo'), half('hi')) }
    }
    const [a, b] = [numeric(w, left), numeric(w, right)]
    const { i32x4, f64x2 } = COMPARE[operator]
    if (a.kind === 'i32' && b.kind === 'i32') return { kind: 'bool', at: w.keep([I.localGet(a.at), I.localGet(b.at), i32x4]) }
    const [x, y] = [doubles(w, a), doubles(w, b)]
    const half = (part: 'lo' | 'hi'): Code => [I.localGet(x[part]), I.localGet(y[part]), f64x2]
    return { kind: 'bool', at: w.joined(half('lo'), half('hi')) }
  }

  /** The remainder of 32-bit integers by an integer instruction; undefined where an operand is none, or the divisor may be 0 or less. */
  #remainder(left: ColumnValue, right: ColumnValue): Doubles | undefined {
    const { w } = this
    const [a, b] = [numeric(w, left), numeric(w, right)]
    if (a.kind !== 'i32' || b.kind !== 'i32' || b.low <= 0) return undefined
    // a remainder has the sign of the dividend, -0 included
    const size = doubles(w, { kind: 'i32', at: this.#eachInteger(a, b, OP.i32RemS), low: LOWEST, high: HIGHEST })
    const from = doubles(w, a)
    const sign = w.constant(lanesConst([0, LOWEST, 0, LOWEST]))
    const half = (part: 'lo' | 'hi'): number =>
      w.keep([I.localGet(size[part]), SIMD.f64Abs, I.localGet(from[part]), I.localGet(sign), SIMD.and, SIMD.or])
    return { kind: 'f64', lo: half('lo'), hi: half('hi') }
  }

  called(name: string, args: readonly ColumnValue[]): Doubles {
    const [x, y] = args
    const whole = name === '%' && x !== undefined && y !== undefined ? this.#remainder(x, y) : undefined
    if (whole !== undefined) return whole
    const numbers = args.map((arg) => doubles(this.w, arg))
    const row = (lane: (number: Doubles) => Code): Value =>
      this.rows.called(
        name,
        numbers.map((number) => ({ type: F64, code: lane(number) })),
      )
    return this.w.eachDouble((lane) => row(lane).code)
  }

  kept(value: ColumnValue): Kept<ColumnValue> {
    return { first: value, again: value }
  }

  after(_others: readonly ColumnValue[], value: ColumnValue): ColumnValue {
    return value
  }

  selected(test: ColumnValue, yes: ColumnValue, no: ColumnValue): ColumnValue {
    return choose(this.w, bool(test), yes, no)
  }

  truths(operation: 'not' | 'and' | 'or', ...tests: readonly ColumnValue[]): Bool {
    const [a = 0, b = a] = tests.map(bool)
    return {
      kind: 'bool',
      at: operation === 'not' ? not(this.w, a) : operation === 'or' ? or(this.w, a, b) : (and(this.w, a, b) as number),
    } // of two
  }

  declined(because: string, span?: Span): NotCompiled {
    return new NotCompiled(because, span)
  }
}

const SHIFT = { '<<': [OP.i32Shl, SIMD.i32Shl], '>>': [OP.i32ShrS, SIMD.i32ShrS], '>>>': [OP.i32ShrU, SIMD.i32ShrU] } as const

function integerOf({ at }: Integers, lane: number): Code {
  return [I.localGet(at), I.simdLane(SIMD.i32ExtractLane, lane)]
}

function doubleOf({ lo, hi }: Doubles, lane: number): Code {
  return [I.localGet(lane < 2 ? lo : hi), I.simdLane(SIMD.f64ExtractLane, lane % 2)]
}
