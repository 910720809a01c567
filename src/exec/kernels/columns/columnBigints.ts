/**
 * Bigints of columns, four rows at a time in two vectors, held modulo 2 ** 64 as in loops (`wasmBigints.ts`). Lanes compare,
 * shift to the right and divide with a sign only, so what is to be known exactly has to be within 64 bits with one. Nothing
 * here can fail: counts and divisors are constants, and a bigint that may be null is JavaScript's.
 */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { i64Const, shuffle32 } from '../../kir/simd.ts'
import {
  type BigintRange,
  type BigintType,
  bigintType,
  HIGHEST,
  isSigned,
  LEAVES_64_BITS,
  LOWEST,
  NotCompiled,
} from '../loops/wasmTypes.ts'
import { bitsInEither, commonBits, corners, quotients, remainders, unknownBigint } from '../math/wasmBigints.ts'
import type { ColumnValue } from './columnTypes.ts'
import { type Comparison, type Doubles, numeric } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'

/** A bigint a row that is never null. */
interface Bigints {
  readonly value: Doubles
  readonly type: BigintType
}

const ALL: BigintType = bigintType(-(2n ** 63n), 2n ** 63n - 1n)

export function isBigint(value: ColumnValue): boolean {
  return value.kind === 'i64' || (value.kind === 'constant' && typeof value.value === 'bigint')
}

/** Throws where lanes do not tell which bigints they hold. */
export function exactBigints(value: Doubles): BigintRange {
  const { range } = value.bigint ?? ALL
  if (range === undefined || !isSigned(range)) throw new NotCompiled(LEAVES_64_BITS)
  return range
}

function bigintsOf(w: ColumnWriter, value: ColumnValue): Bigints {
  if (value.kind === 'i64') {
    if (value.valid !== undefined) throw new NotCompiled('it computes with a bigint that may be null')
    return { value, type: value.bigint ?? ALL }
  }
  if (value.kind !== 'constant' || typeof value.value !== 'bigint') throw new NotCompiled('it computes with a bigint and something else')
  const lanes = w.constant([...i64Const(value.value), SIMD.i64Splat])
  const type = bigintType(value.value, value.value)
  return { value: { kind: 'i64', lo: lanes, hi: lanes, bigint: type }, type }
}

function each(w: ColumnWriter, type: BigintType, values: readonly Bigints[], ...code: Code): ColumnValue {
  const half = (part: 'lo' | 'hi'): number => w.keep([...values.flatMap(({ value }) => I.localGet(value[part])), ...code])
  return { kind: 'i64', lo: half('lo'), hi: half('hi'), bigint: type }
}

const RING = { '+': SIMD.i64Add, '-': SIMD.i64Sub, '*': SIMD.i64Mul } as const
const BITS = { '&': SIMD.and, '|': SIMD.or, '^': SIMD.xor } as const

/** The operators that give a bigint. */
export function bigintArithmetic(
  w: ColumnWriter,
  operator: Exclude<BinaryOperator, Comparison>,
  left: ColumnValue,
  right: ColumnValue,
): ColumnValue {
  const [a, b] = [bigintsOf(w, left), bigintsOf(w, right)]
  const [x, y] = [a.type.range, b.type.range]
  const longer = (): BigintType => unknownBigint(Math.max(a.type.bits, b.type.bits))
  switch (operator) {
    case '+':
      return each(
        w,
        corners(x, y, (p, q) => p + q, longer),
        [a, b],
        RING[operator],
      )
    case '-':
      return each(
        w,
        corners(x, y, (p, q) => p - q, longer),
        [a, b],
        RING[operator],
      )
    case '*':
      return each(
        w,
        corners(
          x,
          y,
          (p, q) => p * q,
          () => unknownBigint(a.type.bits + b.type.bits),
        ),
        [a, b],
        RING[operator],
      )
    case '&':
      return each(w, commonBits(x, y) ?? longer(), [a, b], BITS[operator])
    case '|':
    case '^':
      return each(w, bitsInEither(x, y) ?? longer(), [a, b], BITS[operator])
    case '<<':
    case '>>':
      return shifted(w, operator, a, constantOf(y))
    case '/':
    case '%':
      return divided(w, operator, a, constantOf(y))
    case '**':
    case '>>>':
      throw new NotCompiled(`it uses ${operator} of bigints`)
  }
}

function constantOf(range: BigintRange | undefined): bigint {
  if (range === undefined || range.low !== range.high) throw new NotCompiled('it shifts or divides a bigint by one that varies')
  return range.low
}

function shifted(w: ColumnWriter, operator: '<<' | '>>', a: Bigints, by: bigint): ColumnValue {
  if (by < 0n || by > 63n) throw new NotCompiled('it shifts a bigint by less than 0 or more than 63 bits')
  const count = { low: by, high: by }
  if (operator === '<<') {
    const type = corners(
      a.type.range,
      count,
      (x, n) => x << n,
      () => unknownBigint(a.type.bits + Number(by)),
    )
    return each(w, type, [a], ...I.i32Const(Number(by)), SIMD.i64Shl)
  }
  const range = exactBigints(a.value)
  return each(w, bigintType(range.low >> by, range.high >> by), [a], ...I.i32Const(Number(by)), SIMD.i64ShrS)
}

/** Row by row: lanes do not divide. */
function divided(w: ColumnWriter, operator: '/' | '%', a: Bigints, by: bigint): ColumnValue {
  const range = exactBigints(a.value)
  const divisor = { low: by, high: by }
  if (by === 0n || by === -1n || !isSigned(divisor)) throw new NotCompiled(`it divides a bigint by ${by}n`)
  const opcode = operator === '/' ? OP.i64DivS : OP.i64RemS
  const half = (at: number): number => {
    const lane = (i: number): Code => [...I.localGet(at), ...I.simdLane(SIMD.i64ExtractLane, i), ...i64Const(by), opcode]
    return w.keep([...lane(0), SIMD.i64Splat, ...lane(1), ...I.simdLane(SIMD.i64ReplaceLane, 1)])
  }
  const type = operator === '/' ? quotients(range, divisor) : remainders(range, divisor)
  return { kind: 'i64', lo: half(a.value.lo), hi: half(a.value.hi), bigint: type }
}

export function bigintNegated(w: ColumnWriter, operator: '-' | '~', operand: ColumnValue): ColumnValue {
  const a = bigintsOf(w, operand)
  const { range } = a.type
  if (operator === '-') return each(w, range === undefined ? a.type : bigintType(-range.high, -range.low), [a], SIMD.i64Neg)
  return each(w, range === undefined ? a.type : bigintType(~range.high, ~range.low), [a], SIMD.not)
}

/** `BigInt(x)` of what is surely an integer. */
export function madeBigint(w: ColumnWriter, given: ColumnValue): ColumnValue {
  if (isBigint(given)) return bigintsOf(w, given).value
  const valid = 'valid' in given ? given.valid : undefined
  const number = valid === undefined && given.kind !== 'constant' ? numeric(w, given) : undefined
  if (number?.kind !== 'i32') throw new NotCompiled('it makes a bigint of what need not be an integer')
  return { kind: 'i64', ...w.halves(number.at), bigint: bigintType(BigInt(number.low), BigInt(number.high)) }
}

/** `BigInt.asIntN(bits, x)` and `BigInt.asUintN(bits, x)`, of a constant width. */
export function cutBigint(
  w: ColumnWriter,
  callee: 'BigInt.asIntN' | 'BigInt.asUintN',
  width: ColumnValue,
  given: ColumnValue,
): ColumnValue {
  const bits = width.kind === 'i32' && width.low === width.high ? width.low : 0
  if (bits < 1 || bits > 64 || !isBigint(given)) throw new NotCompiled(`${callee} is not given a constant from 1 to 64 and a bigint`)
  const a = bigintsOf(w, given)
  const most = 2n ** BigInt(bits) - 1n
  const lanes = (value: bigint): Code => I.localGet(w.constant([...i64Const(value), SIMD.i64Splat]))
  if (callee === 'BigInt.asUintN') return each(w, bigintType(0n, most), [a], ...lanes(most), SIMD.and)
  const away = I.i32Const(64 - bits)
  return each(w, bigintType(-(most + 1n) / 2n, most / 2n), [a], ...away, SIMD.i64Shl, ...away, SIMD.i64ShrS)
}

/** `Number(x)` as integers where 32 bits hold all of them; undefined where they do not. */
export function smallIntegers(w: ColumnWriter, value: Doubles): ColumnValue | undefined {
  const { low, high } = exactBigints(value)
  if (low < BigInt(LOWEST) || high > BigInt(HIGHEST) || value.valid !== undefined) return undefined
  const at = w.keep([...I.localGet(value.lo), ...I.localGet(value.hi), ...shuffle32([0, 2, 4, 6])])
  return { kind: 'i32', at, low: Number(low), high: Number(high) }
}
