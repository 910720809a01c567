/**
 * Bigints of columns, four rows at a time in two vectors; operations without vector instruction are computed row by row. No code here
 * can fail, so a divisor is never 0n, and functions with bigints that may be null are left to JavaScript.
 */
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { i64Const, shuffle32 } from '../../kir/simd.ts'
import type { BigintEmitter } from '../expressions/emitter.ts'
import { BIGINT, type BigintOperation } from '../expressions/instructions.ts'
import { type BigintType, type IntegerType, NotCompiled } from '../expressions/types.ts'
import { ColumnNumbers } from './columnNumbers.ts'
import type { ColumnValue } from './columnTypes.ts'
import { numeric } from './columnValues.ts'

export class ColumnBigints extends ColumnNumbers implements BigintEmitter<ColumnValue> {
  ofType(type: BigintType, value: ColumnValue): ColumnValue {
    const { lo, hi } = bigintsOf(value)
    return { kind: 'i64', lo, hi, bigint: type }
  }

  bigint(operation: BigintOperation, type: BigintType, a: ColumnValue, b: ColumnValue): ColumnValue {
    const [x, y] = [bigintsOf(a), bigintsOf(b)]
    const { i64x2 } = BIGINT[operation]
    const count = literalOf(y)
    const byConstant = count !== undefined && (operation === '<<' || operation === '>>' || operation === '>>>')
    const lanes = (part: 'lo' | 'hi'): number => {
      if (byConstant) return this.w.keep([I.localGet(x[part]), I.i32Const(Number(count)), SHIFT[operation]])
      if (i64x2 !== undefined) return this.w.keep([I.localGet(x[part]), I.localGet(y[part]), i64x2])
      // engines turn division by a literal into multiplication
      const of = (operand: Bigints, lane: number): Code => {
        const literal = literalOf(operand)
        return literal !== undefined ? i64Const(literal) : [I.localGet(operand[part]), I.simdLane(SIMD.i64ExtractLane, lane)]
      }
      const row = (lane: number): Code => [of(x, lane), of(y, lane), BIGINT[operation].i64]
      return this.w.keep([row(0), SIMD.i64Splat, row(1), I.simdLane(SIMD.i64ReplaceLane, 1)])
    }
    return { kind: 'i64', lo: lanes('lo'), hi: lanes('hi'), bigint: type }
  }

  toBigint(type: BigintType, value: ColumnValue): ColumnValue {
    const number = numeric(this.w, value)
    if (number.kind !== 'i32') throw new NotCompiled('it makes a bigint of what need not be an integer')
    return { kind: 'i64', ...this.w.halves(number.at), bigint: type }
  }

  numberOfBigint(type: IntegerType | undefined, value: ColumnValue, isSigned: boolean): ColumnValue {
    const { w } = this
    const { lo, hi, valid } = bigintsOf(value)
    if (type?.kind === 'i32' && valid === undefined) {
      const at = w.keep([I.localGet(lo), I.localGet(hi), shuffle32([0, 2, 4, 6])])
      return { kind: 'i32', at, low: type.low, high: type.high }
    }
    const convert = isSigned ? OP.f64ConvertI64S : OP.f64ConvertI64U
    const half = (at: number): number => {
      const row = (lane: number): Code => [I.localGet(at), I.simdLane(SIMD.i64ExtractLane, lane), convert]
      return w.keep([row(0), SIMD.f64Splat, row(1), I.simdLane(SIMD.f64ReplaceLane, 1)])
    }
    return { kind: 'f64', lo: half(lo), hi: half(hi) }
  }
}

type Bigints = Extract<ColumnValue, { kind: 'f64' | 'i64' }>

const SHIFT = { '<<': SIMD.i64Shl, '>>': SIMD.i64ShrS, '>>>': SIMD.i64ShrU } as const

function bigintsOf(value: ColumnValue): Bigints {
  if (value.kind !== 'i64') throw new NotCompiled('it computes with a bigint and something else')
  return value
}

function literalOf({ bigint }: Bigints): bigint | undefined {
  const range = bigint?.range
  return range?.low === range?.high ? range?.low : undefined
}
