/**
 * Bigints as WebAssembly. JavaScript's have no bounds; here each is held modulo 2 ** 64, with its range where 64 bits hold
 * all of it, with a sign or without one:
 *
 *     a.get(i)                              -(2n ** 63n) to 2n ** 63n - 1n
 *     a.get(i) * 31n + 7n                   no range: some bigint with these lowest 64 bits
 *     BigInt.asUintN(64, a.get(i) * 31n)    0n to 2n ** 64n - 1n
 *
 * Sums, products, bits, shifts to the left and stores need the lowest 64 bits only, as those of the result depend on no
 * others. What asks which bigint it is needs a range, and has instructions for either sign.
 */
import type { BinaryOperator, Builtin, UnaryOperator } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP, SATURATE } from '../../kir/instructions.ts'
import {
  asF64,
  asI64,
  type BigintRange,
  type BigintType,
  BOOL,
  bigintType,
  F64,
  GROWING,
  integerType,
  isSigned,
  isUnsigned,
  LEAVES_64_BITS,
  literalValue,
  NotCompiled,
  number,
  type Value,
} from '../loops/wasmTypes.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

type Range = BigintRange | undefined

const LOWEST = -(2n ** 63n)
const SIGNED: BigintType = bigintType(LOWEST, 2n ** 63n - 1n)
/** Powers are written out, factor by factor. */
const LARGEST_POWER = 16n
const FARTHEST_SHIFT = 128n

/** Of what multiplies a bigint that grows. */
const FEW_BITS = 128
/** Of a bigint that does not grow. */
const MOST_BITS = 4096

/** The type of some bigint of which JavaScript needs so many bits. */
export function unknownBigint(bits: number, span?: Span): BigintType {
  if (bits <= MOST_BITS || (bits >= GROWING && bits <= GROWING + FEW_BITS)) return { kind: 'bigint', range: undefined, bits }
  throw new NotCompiled('it multiplies bigints that may grow without end, before BigInt.asIntN(64, …) brings them back', span)
}

function bitsOf({ type }: Value): number {
  return type.kind === 'bigint' ? type.bits : 0
}

function rangeOf({ type }: Value): Range {
  return type.kind === 'bigint' ? type.range : undefined
}

/** Bounds of what all corners give, where 64 bits hold them. */
function spanned(corners: readonly bigint[]): BigintType {
  if (corners.length === 0) return bigintType(0n, 0n)
  return bigintType(
    corners.reduce((a, b) => (a < b ? a : b)),
    corners.reduce((a, b) => (a > b ? a : b)),
  )
}

export function corners(a: Range, b: Range, of: (x: bigint, y: bigint) => bigint, otherwise: () => BigintType): BigintType {
  if (a === undefined || b === undefined) return otherwise()
  return spanned([of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)])
}

// ------------------------------------------------------------------ operators

export function bigintUnary(operator: Exclude<UnaryOperator, '!' | 'typeof'>, { type, code }: Value, range: Range, span: Span): Value {
  switch (operator) {
    case '-':
      return { type: range === undefined ? type : bigintType(-range.high, -range.low), code: [I.i64Const(0), code, OP.i64Sub] }
    case '~':
      return { type: range === undefined ? type : bigintType(~range.high, ~range.low), code: [code, I.i64Const(-1), OP.i64Xor] }
    case '+':
      throw new NotCompiled('it uses + of a bigint, which is an error', span)
  }
}

/** An operator at least one of whose operands is a bigint. */
export function bigintBinary(
  w: KernelWriter,
  operator: Exclude<BinaryOperator, '==' | '!=' | '===' | '!=='>,
  left: Value,
  right: Value,
  span: Span,
): Value {
  if (operator === '<' || operator === '<=' || operator === '>' || operator === '>=') {
    return { type: BOOL, code: bigintCompared(operator, left, right, span) }
  }
  if (left.type.kind !== right.type.kind) throw new NotCompiled('it computes with a bigint and a number, which is an error', span)
  const [a, b] = [rangeOf(left), rangeOf(right)]
  const longer = (): BigintType => unknownBigint(Math.max(bitsOf(left), bitsOf(right)), span)
  const both = (): BigintType => unknownBigint(bitsOf(left) + bitsOf(right), span)
  switch (operator) {
    case '+':
      return { type: corners(a, b, (x, y) => x + y, longer), code: [left.code, right.code, OP.i64Add] }
    case '-':
      return { type: corners(a, b, (x, y) => x - y, longer), code: [left.code, right.code, OP.i64Sub] }
    case '*':
      return { type: corners(a, b, (x, y) => x * y, both), code: [left.code, right.code, OP.i64Mul] }
    case '&':
      return { type: commonBits(a, b) ?? longer(), code: [left.code, right.code, OP.i64And] }
    case '|':
      return { type: bitsInEither(a, b) ?? longer(), code: [left.code, right.code, OP.i64Or] }
    case '^':
      return { type: bitsInEither(a, b) ?? longer(), code: [left.code, right.code, OP.i64Xor] }
    case '/':
    case '%':
      return divided(w, operator, left, right, span)
    case '<<':
    case '>>':
      return shifted(w, operator, left, right, span)
    case '**':
      return power(w, left, right, span)
    case '>>>':
      throw new NotCompiled('it uses >>> of bigints, which is an error', span)
  }
}

/** What is not negative bounds what it has in common with anything. */
export function commonBits(a: Range, b: Range): BigintType | undefined {
  const highs = [a, b].flatMap((range) => (range !== undefined && range.low >= 0n ? [range.high] : []))
  if (highs.length > 0)
    return bigintType(
      0n,
      highs.reduce((x, y) => (x < y ? x : y)),
    )
  return a !== undefined && b !== undefined ? SIGNED : undefined
}

/** Of `|` and `^`. */
export function bitsInEither(a: Range, b: Range): BigintType | undefined {
  if (a === undefined || b === undefined) return undefined
  if (isSigned(a) && isSigned(b) && (a.low < 0n || b.low < 0n)) return SIGNED
  if (a.low < 0n || b.low < 0n) return undefined
  const most = a.high > b.high ? a.high : b.high
  return bigintType(0n, 2n ** BigInt(most.toString(2).length) - 1n)
}

/** Whether 64 bits hold both with a sign, or both without. */
function signOf(a: Range, b: Range, span: Span): 'signed' | 'unsigned' {
  if (a === undefined || b === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  if (isSigned(a) && isSigned(b)) return 'signed'
  if (isUnsigned(a) && isUnsigned(b)) return 'unsigned'
  throw new NotCompiled('a bigint that may be negative meets one that may be 2n ** 63n or more', span)
}

// ------------------------------------------------------------------ quotients

function divided(w: KernelWriter, operator: '/' | '%', left: Value, right: Value, span: Span): Value {
  const [a, b] = [rangeOf(left), rangeOf(right)]
  const sign = signOf(a, b, span)
  if (a === undefined || b === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  const type = operator === '/' ? quotients(a, b) : remainders(a, b)
  const opcode = operator === '/' ? (sign === 'signed' ? OP.i64DivS : OP.i64DivU) : sign === 'signed' ? OP.i64RemS : OP.i64RemU
  const mayBeZero = b.low <= 0n && b.high >= 0n
  // The quotient of these two is 2n ** 63n, at which the instruction stops.
  const mayOverflow = operator === '/' && a.low === LOWEST && b.low <= -1n && b.high >= -1n
  if (!mayBeZero && !mayOverflow) return { type, code: [left.code, right.code, opcode] }
  const [dividend, divisor] = [w.declare('i64'), w.declare('i64')]
  const kept = [left.code, I.localSet(dividend), right.code, I.localSet(divisor)]
  if (mayBeZero) w.mayFail()
  const checked = mayBeZero
    ? [I.localGet(divisor), OP.i64Eqz, I.if(), w.thrown({ error: 'RangeError', message: 'Division by zero' }), OP.end]
    : []
  const result = [I.localGet(dividend), I.localGet(divisor), opcode]
  if (!mayOverflow) return { type, code: [kept, checked, result] }
  const negative = [I.i64Const(0), I.localGet(dividend), OP.i64Sub]
  const isNegative = [I.localGet(divisor), I.i64Const(-1), OP.i64Eq]
  return { type, code: [kept, checked, isNegative, I.if('i64'), negative, OP.else, result, OP.end] }
}

/** Quotients grow towards the divisors next to zero. */
export function quotients(a: BigintRange, b: BigintRange): BigintType {
  const divisors = [b.low, b.high, -1n, 1n].filter((divisor) => divisor !== 0n && divisor >= b.low && divisor <= b.high)
  return spanned(divisors.flatMap((divisor) => [a.low / divisor, a.high / divisor]))
}

/** A remainder has the sign of what is divided, and is nearer to zero than both. */
export function remainders(a: BigintRange, b: BigintRange): BigintType {
  const farthest = -b.low > b.high ? -b.low : b.high
  const most = farthest > 0n ? farthest - 1n : 0n
  const low = a.low >= 0n ? 0n : a.low > -most ? a.low : -most
  const high = a.high <= 0n ? 0n : a.high < most ? a.high : most
  return bigintType(low, high)
}

// ------------------------------------------------------------------ shifts and powers

/** `x << n`, where a negative n shifts to the right, as a positive n does in `x >> n`. */
function shifted(w: KernelWriter, operator: '<<' | '>>', left: Value, right: Value, span: Span): Value {
  const [range, count] = [rangeOf(left), rangeOf(right)]
  if (count === undefined || !isSigned(count)) throw new NotCompiled(LEAVES_64_BITS, span)
  const steps = operator === '<<' ? count : { low: -count.high, high: -count.low }
  if (steps.high > FARTHEST_SHIFT) throw new NotCompiled(`it may shift a bigint to the left by more than ${FARTHEST_SHIFT} bits`, span)
  if (steps.low < 0n && range === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  const nearest = steps.low < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : steps.low
  const farthest = steps.high < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : steps.high
  const longest = (): BigintType => unknownBigint(bitsOf(left) + Math.max(0, Number(farthest)), span)
  const type = corners(range, { low: nearest, high: farthest }, (x, by) => x << by, longest)
  if (steps.low === steps.high) return { type, code: [left.code, right.code, OP.drop, shiftedBy(steps.low, range)] }
  const [value, by] = [w.declare('i64'), w.declare('i64')]
  const kept = [left.code, I.localSet(value), right.code, I.localSet(by)]
  const backwards = [I.i64Const(0), I.localGet(by), OP.i64Sub]
  const toLeft = leftBy(w, value, operator === '<<' ? I.localGet(by) : backwards)
  if (steps.low >= 0n) return { type, code: [kept, toLeft] }
  const toRight = rightBy(w, value, operator === '<<' ? backwards : I.localGet(by), !hasSign(range))
  if (steps.high < 0n) return { type, code: [kept, toRight] }
  const isLeft = [I.localGet(by), I.i64Const(0), operator === '<<' ? OP.i64GeS : OP.i64LeS]
  return { type, code: [kept, toLeft, toRight, isLeft, OP.select] }
}

/** Whether the highest of the 64 bits is a sign. */
function hasSign(range: Range): boolean {
  return range !== undefined && isSigned(range)
}

/** What is on the stack, shifted to the left by a constant; to the right by a negative one. */
function shiftedBy(steps: bigint, range: Range): Code {
  const isGone = steps >= 64n || (steps <= -64n && !hasSign(range))
  if (isGone) return [OP.drop, I.i64Const(0)]
  if (steps >= 0n) return [I.i64Const(steps), OP.i64Shl]
  return [I.i64Const(steps <= -64n ? 63 : -steps), hasSign(range) ? OP.i64ShrS : OP.i64ShrU]
}

/** To the left by a count from 0 on, of which the instruction sees the lowest 6 bits. */
function leftBy(w: KernelWriter, value: number, count: Code): Code {
  const by = w.declare('i64')
  const all = [I.localGet(value), count, I.localTee(by), OP.i64Shl]
  return [all, I.i64Const(0), I.localGet(by), I.i64Const(64), OP.i64LtU, OP.select]
}

/** To the right by a count from 0 on, up to 2 ** 63: what is shifted out altogether leaves its sign. */
function rightBy(w: KernelWriter, value: number, count: Code, isUnsignedOnly: boolean): Code {
  const by = w.declare('i64')
  const isNear = [I.localGet(by), I.i64Const(64), OP.i64LtU, OP.select]
  if (isUnsignedOnly) return [I.localGet(value), count, I.localTee(by), OP.i64ShrU, I.i64Const(0), isNear]
  return [I.localGet(value), count, I.localTee(by), I.i64Const(63), isNear, OP.i64ShrS]
}

function power(w: KernelWriter, left: Value, right: Value, span: Span): Value {
  const [range, exponent] = [rangeOf(left), rangeOf(right)]
  if (exponent === undefined || exponent.low !== exponent.high || exponent.low < 0n || exponent.low > LARGEST_POWER) {
    throw new NotCompiled(`it raises a bigint to a power that is not one of 0n to ${LARGEST_POWER}n`, span)
  }
  const times = Number(exponent.low)
  const base = w.declare('i64')
  const of = (x: bigint): bigint => x ** exponent.low
  const around = range !== undefined && range.low <= 0n && range.high >= 0n ? [of(0n)] : []
  const type =
    times === 0
      ? bigintType(1n, 1n)
      : range === undefined
        ? unknownBigint(times * bitsOf(left), span)
        : spanned([of(range.low), of(range.high), ...around])
  const factors = Array.from({ length: times }, () => [I.localGet(base), OP.i64Mul])
  return { type, code: [left.code, I.localSet(base), right.code, OP.drop, I.i64Const(1), factors] }
}

// ------------------------------------------------------------------ comparisons

type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!='

const COMPARE = {
  '<': { signed: OP.i64LtS, unsigned: OP.i64LtU, doubles: OP.f64Lt },
  '<=': { signed: OP.i64LeS, unsigned: OP.i64LeU, doubles: OP.f64Le },
  '>': { signed: OP.i64GtS, unsigned: OP.i64GtU, doubles: OP.f64Gt },
  '>=': { signed: OP.i64GeS, unsigned: OP.i64GeU, doubles: OP.f64Ge },
  '==': { signed: OP.i64Eq, unsigned: OP.i64Eq, doubles: OP.f64Eq },
  '!=': { signed: OP.i64Ne, unsigned: OP.i64Ne, doubles: OP.f64Ne },
} as const

/** Compared by value, a bigint with a number too. */
export function bigintCompared(operator: Comparison, left: Value, right: Value, span: Span): Code {
  const [a, b] = [wholeOf(left), wholeOf(right)]
  const opcodes = COMPARE[operator]
  if (a !== undefined && b !== undefined) return [a.code, b.code, opcodes[signOf(rangeOf(a), rangeOf(b), span)]]
  const doubles = [left, right].map((value) => (value.type.kind === 'bigint' ? numberOf(value, span) : value))
  const isExact = doubles.every(({ type }, i) => type.kind !== 'f64' || (i === 0 ? left : right).type.kind !== 'bigint')
  if (!isExact) throw new NotCompiled('it compares a bigint with a number that need not be an integer', span)
  return [...doubles.map(asF64), opcodes.doubles]
}

/** A bigint, or an integer as one; undefined for what need not be an integer. */
function wholeOf(value: Value): Value | undefined {
  const { type, literal } = value
  if (type.kind === 'bigint') return value
  if (type.kind === 'i32' || type.kind === 'i64') return { type: bigintType(BigInt(type.low), BigInt(type.high)), code: asI64(value) }
  if (literal === undefined || !Number.isInteger(literal)) return undefined
  return { type: bigintType(BigInt(literal), BigInt(literal)), code: I.i64Const(BigInt.asIntN(64, BigInt(literal))) }
}

// ------------------------------------------------------------------ conversions

/** Calls that give bigints or take them; undefined for those that do neither. */
export function bigintCall(w: KernelWriter, callee: Builtin, args: readonly Value[], span: Span): Value | undefined {
  const [first, second] = args
  switch (callee) {
    case 'BigInt':
      if (first === undefined) throw new NotCompiled('BigInt is called without an argument', span)
      return madeBigint(w, first, span)
    case 'BigInt.asIntN':
    case 'BigInt.asUintN': {
      const width = first?.literal
      if (width === undefined || !Number.isInteger(width) || width < 0) throw new NotCompiled(`${callee} is not given a constant`, span)
      if (second?.type.kind !== 'bigint') throw new NotCompiled(`${callee} is not given a bigint`, span)
      return callee === 'BigInt.asIntN' ? asSigned(width, second, span) : asUnsigned(width, second, span)
    }
    case 'Number':
      return first?.type.kind === 'bigint' ? numberOf(first, span) : undefined
    default:
      if (args.some(({ type }) => type.kind === 'bigint')) throw new NotCompiled(`it calls ${callee} of a bigint`, span)
      return undefined
  }
}

/** Rounded to the nearest double, where doubles do not hold it. */
function numberOf(value: Value, span: Span): Value {
  const range = rangeOf(value)
  if (range === undefined) throw new NotCompiled(LEAVES_64_BITS, span)
  const type = integerType(Number(range.low), Number(range.high))
  if (type !== undefined) return { type, code: type.kind === 'i32' ? [value.code, OP.i32WrapI64] : value.code }
  return { type: F64, code: [value.code, isSigned(range) ? OP.f64ConvertI64S : OP.f64ConvertI64U] }
}

/** `BigInt(x)`. Of a double that is no integer it is an error. */
function madeBigint(w: KernelWriter, given: Value, span: Span): Value {
  const whole = wholeOf(number(given))
  if (whole !== undefined) return whole
  if (given.type.kind === 'f64' && given.type.maybe) throw new NotCompiled('it makes a bigint of what may be undefined', span)
  w.mayFail()
  const kept = w.declare('f64')
  const isWhole = [I.localGet(kept), OP.f64Trunc, I.localGet(kept), OP.f64Eq]
  const isNear = [I.localGet(kept), OP.f64Abs, I.f64Const(2 ** 63), OP.f64Lt]
  const itself = [I.localGet(kept), w.place, I.call(w.function('bigint', ['f64', 'i32'], ['i64']))]
  const near = [I.localGet(kept), SATURATE.i64S]
  return {
    type: unknownBigint(1024, span),
    code: [asF64(given), I.localSet(kept), isWhole, isNear, OP.i32And, I.if('i64'), near, OP.else, itself, OP.end],
  }
}

function asSigned(width: number, value: Value, span: Span): Value {
  const range = rangeOf(value)
  const isWithin = (bound: bigint): boolean => BigInt.asIntN(width, bound) === bound
  if (range !== undefined && isWithin(range.low) && isWithin(range.high)) return value
  if (width > 64) throw new NotCompiled(LEAVES_64_BITS, span)
  if (width === 0) return { ...literalValue(0n, span), code: [value.code, OP.drop, I.i64Const(0)] }
  const half = 2n ** BigInt(width - 1)
  const away = [I.i64Const(64 - width), OP.i64Shl, I.i64Const(64 - width), OP.i64ShrS]
  return { type: bigintType(-half, half - 1n), code: width === 64 ? value.code : [value.code, away] }
}

function asUnsigned(width: number, value: Value, span: Span): Value {
  const range = rangeOf(value)
  const isWithin = (bound: bigint): boolean => BigInt.asUintN(width, bound) === bound
  if (range !== undefined && isWithin(range.low) && isWithin(range.high)) return value
  if (width > 64) throw new NotCompiled(LEAVES_64_BITS, span)
  const most = 2n ** BigInt(width) - 1n
  return { type: bigintType(0n, most), code: width === 64 ? value.code : [value.code, I.i64Const(most), OP.i64And] }
}
