/**
 * Bigints, for any emitter that has them. JavaScript's are unbounded; kernels hold each modulo 2 ** 64, with its range where 64 bits
 * hold all of the range, signed or unsigned:
 *
 *     a.get(i)                              -(2n ** 63n) to 2n ** 63n - 1n
 *     a.get(i) * 31n + 7n                   no range: some bigint with these lowest 64 bits
 *     BigInt.asUintN(64, a.get(i) * 31n)    0n to 2n ** 64n - 1n
 *
 * Sums, products, bit operations, left shifts and stores need the lowest 64 bits only, for those of the result depend on no
 * others. Operations that depend on the whole bigint need a range, and have signed and unsigned instructions.
 */
import type { BinaryOperator, Builtin } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { BigintEmitter, Emitter, NumberEmitter } from './emitter.ts'
import { COMPARE, type Comparison } from './instructions.ts'
import {
  areUnsigned,
  type BigintRange,
  type BigintType,
  bigintType,
  GROWING,
  integerType,
  isInteger,
  isSigned,
  isUnsigned,
  LEAVES_64_BITS,
  NotCompiled,
} from './types.ts'

type Range = BigintRange | undefined

const LOWEST = -(2n ** 63n)
const SIGNED: BigintType = bigintType(LOWEST, 2n ** 63n - 1n)
const UNSIGNED: BigintType = bigintType(0n, 2n ** 64n - 1n)
/** The largest exponent of a power, which is written out factor by factor; and the farthest shift to the left. */
const LARGEST_POWER = 16n
const FARTHEST_SHIFT = 128n

/** The most bits of a factor that multiplies a growing bigint. */
const FEW_BITS = 128
/** The most bits of a bigint that does not grow. */
const MOST_BITS = 4096

/** The type of an unknown bigint, for which JavaScript needs so many bits; throws NotCompiled where these are too many. */
function unknownBigint(bits: number, span: Span | undefined): BigintType {
  if (bits <= MOST_BITS || (bits >= GROWING && bits <= GROWING + FEW_BITS)) return { kind: 'bigint', range: undefined, bits }
  throw new NotCompiled('it multiplies bigints that may grow without end, before BigInt.asIntN(64, …) brings them back', span)
}

/** Returns the emitter of bigints, for an operation with a bigint operand; declines where there is none. */
function emitterOf<V>(e: Emitter<V>, span: Span | undefined): BigintEmitter<V> {
  if (e.bigints === undefined) throw e.declined('it computes with bigints', span)
  return e.bigints
}

function typeOf<V>(e: BigintEmitter<V>, value: V): BigintType | undefined {
  const type = e.typeOf(value)
  return type?.kind === 'bigint' ? type : undefined
}

function rangeOf<V>(e: BigintEmitter<V>, value: V): Range {
  return typeOf(e, value)?.range
}

/** The type that spans these values. */
function spanned(corners: readonly bigint[]): BigintType {
  if (corners.length === 0) return bigintType(0n, 0n)
  return bigintType(
    corners.reduce((a, b) => (a < b ? a : b)),
    corners.reduce((a, b) => (a > b ? a : b)),
  )
}

function corners(a: Range, b: Range, of: (x: bigint, y: bigint) => bigint, otherwise: () => BigintType): BigintType {
  if (a === undefined || b === undefined) return otherwise()
  return spanned([of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)])
}

// ------------------------------------------------------------------ operators

export function bigintUnary<V>(emitter: Emitter<V>, operator: '-' | '~' | '+', value: V, span: Span): V {
  const e = emitterOf(emitter, span)
  if (operator === '+') throw e.declined('it uses + of a bigint, which is an error', span)
  assertPresent(e, [value], span)
  const type = typeOf(e, value) ?? SIGNED
  const ofRange = (of: (x: bigint) => bigint): BigintType =>
    type.range === undefined ? type : spanned([of(type.range.low), of(type.range.high)])
  if (operator === '-')
    return e.bigint(
      '-',
      ofRange((x) => -x),
      e.constant(0n),
      value,
    )
  return e.bigint(
    '^',
    ofRange((x) => ~x),
    value,
    e.constant(-1n),
  )
}

/** Compiles an operator with at least one bigint operand. */
export function bigintBinary<V>(
  emitter: Emitter<V>,
  operator: Exclude<BinaryOperator, '===' | '!=='>,
  left: V,
  right: V,
  span: Span | undefined,
): V {
  const e = emitterOf(emitter, span)
  if (isComparison(operator)) return compared(e, operator, left, right, span)
  const [one, other] = [typeOf(e, left), typeOf(e, right)]
  if (one === undefined || other === undefined) throw e.declined('it computes with a bigint and a number, which is an error', span)
  assertPresent(e, [left, right], span)
  const [a, b] = [one.range, other.range]
  const longer = (): BigintType => unknownBigint(Math.max(one.bits, other.bits), span)
  switch (operator) {
    case '+':
      return e.bigint(
        operator,
        corners(a, b, (x, y) => x + y, longer),
        left,
        right,
      )
    case '-':
      return e.bigint(
        operator,
        corners(a, b, (x, y) => x - y, longer),
        left,
        right,
      )
    case '*':
      return e.bigint(
        operator,
        corners(
          a,
          b,
          (x, y) => x * y,
          () => unknownBigint(one.bits + other.bits, span),
        ),
        left,
        right,
      )
    case '&':
      return e.bigint(operator, commonBits(a, b) ?? longer(), left, right)
    case '|':
    case '^':
      return e.bigint(operator, bitsInEither(a, b) ?? longer(), left, right)
    case '/':
    case '%':
      return divided(e, operator, left, right, span)
    case '<<':
    case '>>':
      return shifted(e, operator, left, right, span)
    case '**':
      return power(e, left, right, span)
    case '>>>':
      throw e.declined('it uses >>> of bigints, which is an error', span)
  }
}

export function isComparison(operator: BinaryOperator): operator is Comparison {
  return operator in COMPARE
}

/** Declines values that may be null or undefined, for which JavaScript throws. */
function assertPresent<V>(e: NumberEmitter<V>, values: readonly V[], span: Span | undefined): void {
  if (values.some((value) => e.present?.(value) !== undefined)) throw e.declined('it computes with a bigint that may be null', span)
}

/** The range of `&`: an operand that is not negative bounds the result. Undefined where nothing does. */
function commonBits(a: Range, b: Range): BigintType | undefined {
  const highs = [a, b].flatMap((range) => (range !== undefined && range.low >= 0n ? [range.high] : []))
  if (highs.length > 0)
    return bigintType(
      0n,
      highs.reduce((x, y) => (x < y ? x : y)),
    )
  return a !== undefined && b !== undefined ? SIGNED : undefined
}

/** The range of `|` and `^`; undefined where 64 bits may not hold the result, signed or unsigned. */
function bitsInEither(a: Range, b: Range): BigintType | undefined {
  if (a === undefined || b === undefined) return undefined
  if (isSigned(a) && isSigned(b) && (a.low < 0n || b.low < 0n)) return SIGNED
  if (a.low < 0n || b.low < 0n) return undefined
  const most = a.high > b.high ? a.high : b.high
  return bigintType(0n, 2n ** BigInt(most.toString(2).length) - 1n)
}

/** Throws unless both are signed, or both unsigned, within 64 bits. */
function assertOneSign(a: Range, b: Range, span: Span | undefined): void {
  if (a === undefined || b === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  if (!(isSigned(a) && isSigned(b)) && !(isUnsigned(a) && isUnsigned(b)))
    throw new NotCompiled('a bigint that may be negative meets one that may be 2n ** 63n or more', span)
}

// ------------------------------------------------------------------ quotients

function divided<V>(e: BigintEmitter<V>, operator: '/' | '%', left: V, right: V, span: Span | undefined): V {
  const [a, b] = [rangeOf(e, left), rangeOf(e, right)]
  assertOneSign(a, b, span)
  if (a === undefined || b === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  const type = operator === '/' ? quotients(a, b) : remainders(a, b)
  const mayBeZero = b.low <= 0n && b.high >= 0n
  // The lowest bigint divided by -1n is 2n ** 63n, for which the instruction traps.
  const mayOverflow = operator === '/' && a.low === LOWEST && b.low <= -1n && b.high >= -1n
  const isSigned = !areUnsigned([typeOf(e, left), typeOf(e, right)])
  if (!mayBeZero && !mayOverflow) return e.bigint(isSigned ? operator : `${operator}u`, type, left, right)
  if (e.checkedDivision === undefined) throw e.declined('it divides a bigint by one that may be 0n or -1n', span)
  return e.checkedDivision(operator, type, left, right, { mayBeZero, mayOverflow, isSigned })
}

/** The range of quotients: the extremes lie at divisors next to zero and at the divisor's bounds. */
function quotients(a: BigintRange, b: BigintRange): BigintType {
  const divisors = [b.low, b.high, -1n, 1n].filter((divisor) => divisor !== 0n && divisor >= b.low && divisor <= b.high)
  return spanned(divisors.flatMap((divisor) => [a.low / divisor, a.high / divisor]))
}

/** The range of remainders: each has the sign of the dividend, and is nearer to zero than both operands. */
function remainders(a: BigintRange, b: BigintRange): BigintType {
  const farthest = -b.low > b.high ? -b.low : b.high
  const most = farthest > 0n ? farthest - 1n : 0n
  const low = a.low >= 0n ? 0n : a.low > -most ? a.low : -most
  const high = a.high <= 0n ? 0n : a.high < most ? a.high : most
  return bigintType(low, high)
}

// ------------------------------------------------------------------ shifts and powers

/** Compiles `x << n` and `x >> n`; a negative n shifts the other way. */
function shifted<V>(e: BigintEmitter<V>, operator: '<<' | '>>', left: V, right: V, span: Span | undefined): V {
  const [range, count] = [rangeOf(e, left), rangeOf(e, right)]
  if (count === undefined || !isSigned(count)) throw new NotCompiled(LEAVES_64_BITS, span)
  const steps = operator === '<<' ? count : { low: -count.high, high: -count.low }
  if (steps.high > FARTHEST_SHIFT) throw e.declined(`it may shift a bigint to the left by more than ${FARTHEST_SHIFT} bits`, span)
  if (steps.low < 0n && range === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  const nearest = steps.low < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : steps.low
  const farthest = steps.high < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : steps.high
  const longest = (): BigintType => unknownBigint((typeOf(e, left)?.bits ?? 0) + Math.max(0, Number(farthest)), span)
  const type = corners(range, { low: nearest, high: farthest }, (x, by) => x << by, longest)
  const hasSign = range !== undefined && isSigned(range)
  if (steps.low !== steps.high) return shiftedByAny(e, operator, type, left, right, { steps, hasSign })
  const [by, isGone] = [steps.low < 0n ? -steps.low : steps.low, steps.low >= 64n || (steps.low <= -64n && !hasSign)]
  if (isGone) return e.after([left, right], e.ofType(type, e.constant(0n)))
  const operation = steps.low >= 0n ? '<<' : hasSign ? '>>' : '>>>'
  if (count.low === by && by < 64n) return e.bigint(operation, type, left, right)
  const { first, again } = e.kept(left)
  return e.after([first, right], e.bigint(operation, type, again, e.constant(by < 64n ? by : 63n)))
}

/** Shifts by a variable count. The instruction uses its lowest 6 bits only, so from 64 on the result is the value's sign, or 0. */
function shiftedByAny<V>(
  e: BigintEmitter<V>,
  operator: '<<' | '>>',
  type: BigintType,
  left: V,
  right: V,
  { steps, hasSign }: { readonly steps: BigintRange; readonly hasSign: boolean },
): V {
  const [value, count] = [e.kept(left), e.kept(right)]
  const [own, backwards] = [count.again, e.bigint('-', SIGNED, e.constant(0n), count.again)]
  const [toLeft, toRight] = operator === '<<' ? [own, backwards] : [backwards, own]
  const isNear = (by: V): V => e.compared('<', e.ofType(UNSIGNED, by), e.constant(64n))
  const shiftedOut = (operation: '<<' | '>>>', by: V): V =>
    e.selected(isNear(by), e.bigint(operation, type, value.again, by), e.constant(0n))
  const onLeft = (): V => shiftedOut('<<', toLeft)
  const onRight = (): V => {
    if (!hasSign) return shiftedOut('>>>', toRight)
    return e.bigint('>>', type, value.again, e.selected(isNear(toRight), toRight, e.constant(63n)))
  }
  const isLeft = (): V => e.compared(operator === '<<' ? '>=' : '<=', count.again, e.constant(0n))
  const shifted = steps.low >= 0n ? onLeft() : steps.high < 0n ? onRight() : e.selected(isLeft(), onLeft(), onRight())
  return e.after([value.first, count.first], e.ofType(type, shifted))
}

function power<V>(e: BigintEmitter<V>, left: V, right: V, span: Span | undefined): V {
  const [range, exponent] = [rangeOf(e, left), rangeOf(e, right)]
  if (exponent === undefined || exponent.low !== exponent.high || exponent.low < 0n || exponent.low > LARGEST_POWER) {
    throw e.declined(`it raises a bigint to a power that is not one of 0n to ${LARGEST_POWER}n`, span)
  }
  const times = Number(exponent.low)
  const of = (x: bigint): bigint => x ** exponent.low
  const around = range !== undefined && range.low <= 0n && range.high >= 0n ? [of(0n)] : []
  const { first, again } = e.kept(left)
  if (times === 0) return e.after([first, right], e.constant(1n))
  const type =
    range === undefined ? unknownBigint(times * (typeOf(e, left)?.bits ?? 0), span) : spanned([of(range.low), of(range.high), ...around])
  const product = Array.from({ length: times }, () => again).reduce((a, b) => e.bigint('*', type, a, b))
  return e.after([first, right], product)
}

// ------------------------------------------------------------------ comparisons and conversions

/** Compares by value, also a bigint with a number. */
function compared<V>(e: BigintEmitter<V>, operator: Comparison, left: V, right: V, span: Span | undefined): V {
  const [a, b] = [wholeOf(e, left), wholeOf(e, right)]
  if (a !== undefined && b !== undefined) {
    assertOneSign(rangeOf(e, a), rangeOf(e, b), span)
    return e.compared(operator, a, b)
  }
  const [x, y] = [left, right].map((value) => {
    const number = typeOf(e, value) === undefined ? value : numberOf(e, value, span)
    const type = e.typeOf(number)
    const isExact = number === value || (type !== undefined && isInteger(type))
    if (!isExact) throw e.declined('it compares a bigint with a number that need not be an integer', span)
    return number
  }) as [V, V]
  return e.compared(operator, x, y)
}

/** Converts an integer to a bigint; a bigint stays. Undefined for a number that may be no integer. */
function wholeOf<V>(e: BigintEmitter<V>, value: V): V | undefined {
  const [type, literal] = [e.typeOf(value), e.literalOf(value)]
  if (type?.kind === 'bigint') return value
  if (type !== undefined && isInteger(type)) return e.toBigint(bigintType(BigInt(type.low), BigInt(type.high)), value)
  return literal === undefined || !Number.isInteger(literal) ? undefined : e.constant(BigInt(literal))
}

/** Compiles calls that return bigints or take them; undefined for other calls. */
export function bigintCall<V>(emitter: Emitter<V>, callee: Builtin, args: readonly V[], span: Span): V | undefined {
  const [first, second] = args
  const isOfBigints = args.some((arg) => emitter.typeOf(arg)?.kind === 'bigint')
  if (callee === 'BigInt') {
    if (first === undefined) throw emitter.declined('BigInt is called without an argument', span)
    const e = emitterOf(emitter, span)
    assertPresent(e, [first], span)
    const whole = wholeOf(e, e.toNumber(first))
    if (whole === undefined && e.bigintOf === undefined) throw e.declined('it makes a bigint of what need not be an integer', span)
    return whole ?? e.bigintOf?.(unknownBigint(1024, span), first, span)
  }
  if (callee === 'BigInt.asIntN' || callee === 'BigInt.asUintN') {
    const width = first === undefined ? undefined : emitter.literalOf(first)
    if (width === undefined || !Number.isInteger(width) || width < 0) throw emitter.declined(`${callee} is not given a constant`, span)
    if (second === undefined || emitter.typeOf(second)?.kind !== 'bigint') throw emitter.declined(`${callee} is not given a bigint`, span)
    assertPresent(emitter, [second], span)
    return cut(emitterOf(emitter, span), callee, width, second, span)
  }
  if (!isOfBigints) return undefined
  if (callee !== 'Number' || first === undefined) throw emitter.declined(`it calls ${callee} of a bigint`, span)
  return numberOf(emitterOf(emitter, span), first, span)
}

/** Converts a bigint to a number, rounded to the nearest double where doubles do not hold it. */
function numberOf<V>(e: BigintEmitter<V>, value: V, span: Span | undefined): V {
  const range = rangeOf(e, value)
  if (range === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  return e.numberOfBigint(integerType(Number(range.low), Number(range.high)), value, isSigned(range))
}

/** Compiles `BigInt.asIntN` and `BigInt.asUintN`, which keep the lowest bits. */
function cut<V>(e: BigintEmitter<V>, callee: 'BigInt.asIntN' | 'BigInt.asUintN', width: number, value: V, span: Span): V {
  const [range, isWithSign] = [rangeOf(e, value), callee === 'BigInt.asIntN']
  const same = (bound: bigint): boolean => BigInt[isWithSign ? 'asIntN' : 'asUintN'](width, bound) === bound
  if (range !== undefined && same(range.low) && same(range.high)) return value
  if (width > 64) throw new NotCompiled(LEAVES_64_BITS, span)
  if (width === 0) return e.after([value], e.constant(0n))
  const most = 2n ** BigInt(width) - 1n
  const type = isWithSign ? bigintType(-(most + 1n) / 2n, most / 2n) : bigintType(0n, most)
  if (width === 64) return e.ofType(type, value)
  if (!isWithSign) return e.bigint('&', type, value, e.constant(most))
  const away = e.constant(BigInt(64 - width))
  return e.bigint('>>', type, e.bigint('<<', SIGNED, value, away), away)
}
