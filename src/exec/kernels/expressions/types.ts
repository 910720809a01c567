/**
 * What a WebAssembly kernel knows of a value before it runs: a double, an integer within bounds, a truth value, or a bigint.
 *
 * Integers are never -0. Those that 32 bits do not hold are kept in 64 as long as a double holds them exactly: below 2 ** 53
 * sums, differences, products and comparisons are the same, and faster than what doubles take. A double that `maybe` is undefined stands for it as NaN, which is what arithmetic, stores and
 * truth make of undefined; whatever could tell the two apart is not compiled, unless the value is `never` NaN itself, as an element of a table of whole numbers. Bigints are in `bigints.ts`: no number, and
 * whatever takes a number refuses them here.
 */
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'

export type WasmType =
  | { readonly kind: 'i32'; readonly low: number; readonly high: number }
  | { readonly kind: 'i64'; readonly low: number; readonly high: number }
  | { readonly kind: 'f64'; readonly maybe: boolean; readonly never?: true }
  | { readonly kind: 'bool' }
  | BigintType

/** Held modulo 2 ** 64; which bigint it is, is known where 64 bits hold all of its range, with or without a sign. */
export interface BigintType {
  readonly kind: 'bigint'
  readonly range: BigintRange | undefined
  /** So many JavaScript would need, but for what sums add: more than there may be are an error of JavaScript's. */
  readonly bits: number
}

export interface BigintRange {
  readonly low: bigint
  readonly high: bigint
}

/** Code that leaves one value, of the wasm type that `held` says. */
export interface Value {
  readonly type: WasmType
  readonly code: Code
  /** The value, where it is a literal. */
  readonly literal?: number
}

/** Between which numbers an integer lies. */
export interface Bounds {
  readonly low: number
  readonly high: number
}

/** What is known of integers where code runs (`wasmFacts.ts`), by the names of locals and of keys. */
export type Facts = ReadonlyMap<string, Bounds>

export const NO_FACTS: Facts = new Map()

export const F64: WasmType = { kind: 'f64', maybe: false }
export const MAYBE: WasmType = { kind: 'f64', maybe: true }
/** Undefined where it is NaN, and only there. */
export const ABSENT: WasmType = { kind: 'f64', maybe: true, never: true }
export const BOOL: WasmType = { kind: 'bool' }
export const LOWEST: number = -(2 ** 31)
export const HIGHEST: number = 2 ** 31 - 1
/** Above, not every integer is a double; and no bound above is rounded to this one. */
const LARGEST_EXACT = Number.MAX_SAFE_INTEGER

/** Thrown where a body cannot be compiled; caught by `wasmKernel`. */
export class NotCompiled extends Error {
  readonly span: Span | undefined
  constructor(message: string, span?: Span) {
    super(message)
    this.span = span
  }
}

export type IntegerType = Extract<WasmType, { kind: 'i32' | 'i64' }>

/** The integer type of a range; undefined when doubles do not hold all of it. */
export function integerType(low: number, high: number): IntegerType | undefined {
  if (low >= LOWEST && high <= HIGHEST) return { kind: 'i32', low, high }
  return low >= -LARGEST_EXACT && high <= LARGEST_EXACT ? { kind: 'i64', low, high } : undefined
}

export function isInteger(type: WasmType): type is IntegerType {
  return type.kind === 'i32' || type.kind === 'i64'
}

/** The wasm type of a local that holds such values. */
export function heldAs(type: WasmType): 'i32' | 'i64' | 'f64' {
  return type.kind === 'bool' ? 'i32' : type.kind === 'bigint' ? 'i64' : type.kind
}

/** The type of bigints within bounds. */
export function bigintType(low: bigint, high: bigint): BigintType {
  const range = { low, high }
  if (isSigned(range) || isUnsigned(range)) return { kind: 'bigint', range, bits: 64 }
  return { kind: 'bigint', range: undefined, bits: Math.max(low.toString(2).length, high.toString(2).length) }
}

/** Whether 64 bits with a sign hold all of them. */
export function isSigned({ low, high }: BigintRange): boolean {
  return BigInt.asIntN(64, low) === low && BigInt.asIntN(64, high) === high
}

/** Whether 64 bits without a sign hold all of them. */
export function isUnsigned({ low, high }: BigintRange): boolean {
  return BigInt.asUintN(64, low) === low && BigInt.asUintN(64, high) === high
}

/** Whether some of them is beyond what 64 bits with a sign hold, so that all are taken without. */
export function areUnsigned(types: readonly (WasmType | undefined)[]): boolean {
  return types.some((type) => type?.kind === 'bigint' && type.range !== undefined && !isSigned(type.range))
}

/**
 * Bits of a bigint that a local takes from turn to turn. Growing by a few bits a turn it would keep JavaScript busy for days
 * until there are more than it allows, 2 ** 30; of products of two such there are soon too many, and JavaScript fails.
 */
export const GROWING: number = 2 ** 20

/** What is asked of a bigint that may be any of those with the same lowest 64 bits. */
export const LEAVES_64_BITS =
  'a bigint that may leave 64 bits is compared, divided, shifted to the right or made a number, before BigInt.asIntN(64, …) or BigInt.asUintN(64, …) brings it back'

/** What a bigint is held as, for what takes nothing else: stores, sums of elements. */
export function asBigint({ type, code }: Value): Code {
  if (type.kind !== 'bigint') throw new NotCompiled('it stores a number where bigints are')
  return code
}

export function refuseBigint(type: WasmType): void {
  if (type.kind === 'bigint') throw new NotCompiled('it uses a bigint where numbers are')
}

/** A type that holds both; undefined for two of a number, a truth value and a bigint. */
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

/** Whether NaN may be undefined or itself. */
export function isUnclear(type: WasmType): boolean {
  return isMaybe(type) && !isAbsent(type)
}

/** Whether NaN is undefined. */
export function isAbsent(type: WasmType): boolean {
  return type.kind === 'f64' && type.never === true
}

/** JavaScript's ToNumber, as a double. */
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

/** Truth as 0 or 1: neither 0 nor NaN. */
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

/** The values a sum, difference, product or remainder of integers takes, if all are integers and none is -0. */
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

/** The value as a local of the type holds it. */
export function asType(value: Value, type: WasmType): Code {
  return type.kind === 'f64' ? asF64(value) : type.kind === 'i64' ? asI64(value) : value.code
}

/** ToNumber of truth values; numbers are what they are. */
export function number(value: Value): Value {
  return value.type.kind === 'bool' ? { ...value, type: { kind: 'i32', low: 0, high: 1 } } : value
}

/** What came out of ToNumber is never undefined. */
export function known(value: Value): Value {
  return value.type.kind === 'f64' ? { ...value, type: F64 } : value
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
