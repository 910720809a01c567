/**
 * Types of values in WebAssembly kernels: a double, an integer within bounds, a truth value, or a bigint.
 *
 * Integers are never -0. As long as doubles hold them exactly, up to 2 ** 53, they are held in 32 or 64 bits, where sums, differences,
 * products and comparisons are the same, and faster. A double that `maybe` is undefined holds NaN for it, as arithmetic, stores and truth
 * convert it; code that could tell the two apart is not compiled, unless the value is `never` NaN itself, such as an element of a table
 * of integers. A double that is `whole` is an integer within bounds beyond those that are exact, and not -0: what arithmetic of integers has rounded.
 * Bigints (`bigints.ts`) are no numbers; whatever takes a number refuses them here.
 */
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'

export type WasmType =
  | { readonly kind: 'i32'; readonly low: number; readonly high: number }
  | { readonly kind: 'i64'; readonly low: number; readonly high: number }
  | { readonly kind: 'f64'; readonly maybe: boolean; readonly never?: true; readonly whole?: Bounds }
  | { readonly kind: 'bool' }
  | BigintType

/** A bigint, held modulo 2 ** 64. Its range is known where 64 bits hold all of it, signed or unsigned. */
export interface BigintType {
  readonly kind: 'bigint'
  readonly range: BigintRange | undefined
  /** The bits that JavaScript would need, without carries of sums; beyond a limit of its own, JavaScript throws. */
  readonly bits: number
}

export interface BigintRange {
  readonly low: bigint
  readonly high: bigint
}

/** Code that leaves one value, of the wasm type that `heldAs` returns. */
export interface Value {
  readonly type: WasmType
  readonly code: Code
  /** The value, where it is a literal. */
  readonly literal?: number
}

/** The bounds of an integer, both inclusive. */
export interface Bounds {
  readonly low: number
  readonly high: number
}

/** Bounds of integers that hold at a place in the code (`wasmFacts.ts`), by the names of locals and of keys. */
export type Facts = ReadonlyMap<string, Bounds>

export const NO_FACTS: Facts = new Map()

export const F64: WasmType = { kind: 'f64', maybe: false }
export const MAYBE: WasmType = { kind: 'f64', maybe: true }
/** A double that is NaN exactly where it is undefined. */
export const ABSENT: WasmType = { kind: 'f64', maybe: true, never: true }
export const BOOL: WasmType = { kind: 'bool' }
export const LOWEST: number = -(2 ** 31)
export const HIGHEST: number = 2 ** 31 - 1
/** The largest bound of integers: above it not every integer is a double, and a bound may have been rounded. */
const LARGEST_EXACT = Number.MAX_SAFE_INTEGER

/** Thrown where code cannot be compiled, with the reason; `wasmKernel` catches it. */
export class NotCompiled extends Error {
  readonly span: Span | undefined
  constructor(message: string, span?: Span) {
    super(message)
    this.span = span
  }
}

export type IntegerType = Extract<WasmType, { kind: 'i32' | 'i64' }>

/** The integer type of a range; undefined where doubles do not hold all of it exactly. */
export function integerType(low: number, high: number): IntegerType | undefined {
  if (low >= LOWEST && high <= HIGHEST) return { kind: 'i32', low, high }
  return low >= -LARGEST_EXACT && high <= LARGEST_EXACT ? { kind: 'i64', low, high } : undefined
}

export function isInteger(type: WasmType): type is IntegerType {
  return type.kind === 'i32' || type.kind === 'i64'
}

/** The wasm type of a local that holds values of the type. */
export function heldAs(type: WasmType): 'i32' | 'i64' | 'f64' {
  return type.kind === 'bool' ? 'i32' : type.kind === 'bigint' ? 'i64' : type.kind
}

/** The type of bigints within bounds; without range where 64 bits do not hold them all. */
export function bigintType(low: bigint, high: bigint): BigintType {
  const range = { low, high }
  if (isSigned(range) || isUnsigned(range)) return { kind: 'bigint', range, bits: 64 }
  return { kind: 'bigint', range: undefined, bits: Math.max(low.toString(2).length, high.toString(2).length) }
}

/** Whether signed 64 bits hold the range. */
export function isSigned({ low, high }: BigintRange): boolean {
  return BigInt.asIntN(64, low) === low && BigInt.asIntN(64, high) === high
}

/** Whether unsigned 64 bits hold the range. */
export function isUnsigned({ low, high }: BigintRange): boolean {
  return BigInt.asUintN(64, low) === low && BigInt.asUintN(64, high) === high
}

/** Whether one of the types exceeds signed 64 bits, so that all are taken as unsigned. */
export function areUnsigned(types: readonly (WasmType | undefined)[]): boolean {
  return types.some((type) => type?.kind === 'bigint' && type.range !== undefined && !isSigned(type.range))
}

/**
 * The bits assumed of a bigint that a loop carries. Growing by a few bits an iteration, it would keep JavaScript busy for days until it
 * exceeds 2 ** 30 bits, the limit; products of two such exceed it soon, and JavaScript throws.
 */
export const GROWING: number = 2 ** 20

/** The reason against uses that depend on more than the lowest 64 bits of a bigint without range. */
export const LEAVES_64_BITS =
  'a bigint that may leave 64 bits is compared, divided, shifted to the right or made a number, before BigInt.asIntN(64, …) or BigInt.asUintN(64, …) brings it back'

/** The code of a bigint, for uses that accept nothing else: stores, sums of elements. */
export function asBigint({ type, code }: Value): Code {
  if (type.kind !== 'bigint') throw new NotCompiled('it stores a number where bigints are')
  return code
}

export function refuseBigint(type: WasmType): void {
  if (type.kind === 'bigint') throw new NotCompiled('it uses a bigint where numbers are')
}

/** The type that holds values of both; undefined for a mixture of numbers, truth values and bigints. */
export function joinTypes(a: WasmType, b: WasmType): WasmType | undefined {
  if (a.kind === 'bigint' || b.kind === 'bigint') {
    if (a.kind !== 'bigint' || b.kind !== 'bigint') return undefined
    if (a.range === undefined || b.range === undefined) return { kind: 'bigint', range: undefined, bits: Math.max(a.bits, b.bits) }
    const [low, high] = [a.range.low < b.range.low ? a.range.low : b.range.low, a.range.high > b.range.high ? a.range.high : b.range.high]
    return bigintType(low, high)
  }
  if (a.kind === 'bool' || b.kind === 'bool') return a.kind === b.kind ? BOOL : undefined
  if (isInteger(a) && isInteger(b)) return integerType(Math.min(a.low, b.low), Math.max(a.high, b.high))
  if (!isMaybe(a) && !isMaybe(b)) return F64
  return [a, b].every((type) => isInteger(type) || isAbsent(type)) ? ABSENT : MAYBE
}

export function isMaybe(type: WasmType): boolean {
  return type.kind === 'f64' && type.maybe
}

/** Whether NaN may mean undefined or itself. */
export function isUnclear(type: WasmType): boolean {
  return isMaybe(type) && !isAbsent(type)
}

/** Whether NaN always means undefined. */
export function isAbsent(type: WasmType): boolean {
  return type.kind === 'f64' && type.never === true
}

/** ToNumber, as a double. */
export function asF64(value: Value): Code {
  if (value.type.kind === 'f64') return value.code
  refuseBigint(value.type)
  if (value.literal !== undefined) return I.f64Const(value.literal)
  if (value.type.kind === 'i64') return [value.code, OP.f64ConvertI64S]
  return [value.code, value.type.kind === 'i32' ? OP.f64ConvertI32S : OP.f64ConvertI32U]
}

/** An integer in 64 bits. */
export function asI64(value: Value): Code {
  if (value.type.kind === 'i64') return value.code
  refuseBigint(value.type)
  return value.literal === undefined ? [value.code, OP.i64ExtendI32S] : I.i64Const(value.literal)
}

/** The truth of a value as 0 or 1: false for 0 and NaN. */
export function asBool(value: Value): Code {
  if (value.type.kind === 'bool') return value.code
  if (value.type.kind === 'i32') return [value.code, I.i32Const(0), OP.i32Ne]
  if (value.type.kind === 'i64') return [value.code, I.i64Const(0), OP.i64Ne]
  if (value.type.kind === 'bigint') {
    if (value.type.range === undefined) throw new NotCompiled(LEAVES_64_BITS)
    return [value.code, I.i64Const(0), OP.i64Ne]
  }
  return [value.code, OP.f64Abs, I.f64Const(0), OP.f64Gt]
}

/** The type of a sum, difference, product or remainder of integers; undefined where an operand may be none, or the result -0 or inexact. */
export function integerResult(operator: string, a: WasmType, b: WasmType): IntegerType | undefined {
  if (!isInteger(a) || !isInteger(b)) return undefined
  switch (operator) {
    case '+':
      return integerType(a.low + b.low, a.high + b.high)
    case '-':
      return integerType(a.low - b.high, a.high - b.low)
    case '*': {
      const zero = (x: typeof a) => x.low <= 0 && x.high >= 0
      if ((zero(a) && b.low < 0) || (zero(b) && a.low < 0)) return undefined
      const products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
      return integerType(Math.min(...products), Math.max(...products))
    }
    case '%':
      return a.kind === 'i32' && b.kind === 'i32' && a.low >= 0 && b.low > 0 ? integerType(0, Math.min(a.high, b.high - 1)) : undefined
    default:
      return undefined
  }
}

/** The bounds up to which 64 bits hold a double that is whole. */
const LARGEST_WHOLE = 2 ** 62

/** The bounds of a sum, difference or product of integers that is computed in doubles, where it surely is an integer that is not -0; rounding keeps the order. */
export function wholeResult(operator: string, a: WasmType, b: WasmType): Bounds | undefined {
  const [left, right] = [boundsOf(a), boundsOf(b)]
  if (left === undefined || right === undefined) return undefined
  const bounds = (of: readonly number[]): Bounds | undefined => {
    const [low, high] = [Math.min(...of), Math.max(...of)]
    return low > -LARGEST_WHOLE && high < LARGEST_WHOLE ? { low, high } : undefined
  }
  if (operator === '+') return bounds([left.low + right.low, left.high + right.high])
  if (operator === '-') return bounds([left.low - right.high, left.high - right.low])
  const mayBeZero = ({ low, high }: Bounds): boolean => low <= 0 && high >= 0
  if (operator !== '*' || (mayBeZero(left) && right.low < 0) || (mayBeZero(right) && left.low < 0)) return undefined
  return bounds([left.low * right.low, left.low * right.high, left.high * right.low, left.high * right.high])
}

/** The bounds of a number that is an integer and not -0; undefined where it may be none. */
export function boundsOf(type: WasmType): Bounds | undefined {
  return isInteger(type) ? type : type.kind === 'f64' ? type.whole : undefined
}

/** Converts the value to the representation of a local of the type. */
export function asType(value: Value, type: WasmType): Code {
  return type.kind === 'f64' ? asF64(value) : type.kind === 'i64' ? asI64(value) : value.code
}

/** ToNumber of truth values; numbers are unchanged. */
export function number(value: Value): Value {
  return value.type.kind === 'bool' ? { ...value, type: { kind: 'i32', low: 0, high: 1 } } : value
}

/** Marks a double as never undefined, as ToNumber makes it. */
export function known(value: Value): Value {
  return isMaybe(value.type) ? { ...value, type: F64 } : value
}

export function literalValue(value: unknown, span?: Span): Value {
  if (typeof value === 'boolean') return { type: BOOL, code: I.i32Const(value ? 1 : 0) }
  if (value === undefined) return { type: ABSENT, code: I.f64Const(Number.NaN) }
  if (typeof value === 'bigint') return { type: bigintType(value, value), code: I.i64Const(BigInt.asIntN(64, value)) }
  if (typeof value !== 'number') throw new NotCompiled(`it uses ${value === null ? 'null' : `a ${typeof value}`}`, span)
  const type = Number.isInteger(value) && !Object.is(value, -0) ? integerType(value, value) : undefined
  if (type === undefined) return { type: F64, code: I.f64Const(value), literal: value }
  return { type, code: type.kind === 'i32' ? I.i32Const(value) : I.i64Const(value), literal: value }
}

export function sameType(a: WasmType, b: WasmType): boolean {
  const text = (type: WasmType): string => JSON.stringify(type, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
  return text(a) === text(b)
}
