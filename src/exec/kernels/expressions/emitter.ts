/**
 * The interface between the compiler of expressions and its emitters, which hold values of one shape and compute with them.
 *
 *     loops/wasmExpressions.ts            a value is code that leaves one number
 *     vectors/wasmVectorExpressions.ts    a value is code that leaves the lanes of a vector
 *     columns/columnNumbers.ts            a value is four rows, in one or two vectors, and which of them are null
 *
 * `expressions.ts`, `operators.ts` and `calls.ts` know JavaScript: the order of evaluation, which operations give an integer and within
 * what bounds, the treatment of -0 and NaN. An emitter knows instructions, and compiles leaves. Where it has no code it declines
 * by an error with the reason, which is passed on to the caller that asked for the kernel.
 */
import type { BinaryOperator, Callee, Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { BigintOperation, BitOperation, Comparison, FloatOperation, IntegerOperation } from './instructions.ts'
import type { BigintType, IntegerType, WasmType } from './types.ts'

/** A value that is used more than once: `first` computes it, leaves it and keeps it; `again` reads it, after `first` has run. */
export interface Kept<V> {
  readonly first: V
  readonly again: V
}

/** The rounding of a quotient: `bits` are its lowest 32 as an integer, for which -0 and 0 are the same. */
export type Rounding = 'floor' | 'trunc' | 'bits'

/** The emitter of numbers and truth values. */
export interface NumberEmitter<V> {
  /** The type of a number, a truth value or a bigint; undefined for any other value. */
  typeOf(value: V): WasmType | undefined
  /** The number, where the value is constant; else undefined. */
  literalOf(value: V): number | undefined
  constant(value: number | boolean | bigint): V
  /** Whether the value is neither null nor undefined, which arithmetic holds as 0 or false; undefined where it never is. */
  present?(value: V): V | undefined
  /** ToNumber; bigints stay bigints. */
  toNumber(value: V): V
  /** ToNumber, as a double. */
  toFloat(value: V): V
  toInt32(value: V): V
  float(operation: FloatOperation, ...operands: readonly V[]): V
  /** An operation on two integers whose result is exact and of this type. */
  integer(operation: IntegerOperation, type: IntegerType, a: V, b: V): V
  /** An operation on the results of `toInt32`. */
  bits(operation: BitOperation, type: IntegerType, ...operands: readonly V[]): V
  /** A shift of the result of `toInt32` by any number. */
  shifted(operation: '<<' | '>>' | '>>>', type: IntegerType, a: V, count: V): V
  /** A comparison of two numbers, or of two bigints that are both signed, or both unsigned, within 64 bits. */
  compared(operator: Comparison, a: V, b: V): V
  /** The rounded quotient of two integers by an integer instruction; undefined where the emitter has none, or the result may be -0. */
  quotient?(rounding: Rounding, a: V, b: V): V | undefined
  /** A call of a function of doubles that has no instruction, `%` among them. */
  called(name: string, args: readonly V[], span: Span | undefined): V
  kept(value: V): Kept<V>
  /** `value`, computed after others whose effects are needed: the values that they keep, and their failures. */
  after(others: readonly V[], value: V): V
  /** A selection between two values, both of which are computed. */
  selected(test: V, yes: V, no: V): V
  /** An operation on truth values, all of which are computed. */
  truths(operation: 'not' | 'and' | 'or', ...tests: readonly V[]): V
  /** Makes the error that states why there is no code. */
  declined(because: string, span: Span | undefined): { readonly message: string }
}

export interface Emitter<V> extends NumberEmitter<V> {
  /** Compiles an expression that the emitter knows as a whole; undefined where it is compiled from its parts. */
  whole?(expr: Expr): V | undefined
  /** Compiles an expression that is neither an operator nor a call. */
  leaf(expr: Leaf): V
  /** Runs `work`, which compiles code that runs only where the test has this outcome; the emitter may use that fact. */
  where?<T>(test: Expr, outcome: boolean, work: () => T): T
  truth(value: V): V
  /** `&&` and `||` of which only the truth is needed. */
  logicalTruth(operator: '&&' | '||', left: V, right: () => V): V
  logical(operator: '&&' | '||' | '??', left: V, right: () => V, span: Span): V
  chosen(test: () => V, then: () => V, otherwise: () => V, span: Span): V
  /** An operator on operands of other kinds; undefined where they are numbers, truth values or bigints. */
  own?(operator: BinaryOperator, left: V, right: V, span: Span | undefined): V | undefined
  /** Calls of other functions than the numeric ones; undefined for those. */
  ownCall?(callee: Callee, args: readonly V[], span: Span): V | undefined
  /** The emitter of bigints; undefined where it has none. */
  readonly bigints?: BigintEmitter<V>
}

/** The emitter of bigints, held modulo 2 ** 64. */
export interface BigintEmitter<V> extends NumberEmitter<V> {
  /** The same 64 bits with another type. */
  ofType(type: BigintType, value: V): V
  bigint(operation: BigintOperation, type: BigintType, a: V, b: V): V
  /** A quotient or remainder that may divide by zero, or overflow the instruction. */
  checkedDivision?(operator: '/' | '%', type: BigintType, a: V, b: V, may: Pitfalls): V
  /** Converts an integer to a bigint. */
  toBigint(type: BigintType, value: V): V
  /** `BigInt(x)` of any number, which throws where it is no integer. */
  bigintOf?(type: BigintType, value: V, span: Span): V
  /** Converts a bigint to an integer of this type; where that is undefined, to the nearest double. */
  numberOfBigint(type: IntegerType | undefined, value: V, isSigned: boolean): V
}

export interface Pitfalls {
  readonly mayBeZero: boolean
  readonly mayOverflow: boolean
  readonly isSigned: boolean
}

export type { BigintOperation, BitOperation, Comparison, FloatOperation, IntegerOperation }

export type Leaf = Exclude<Expr, { readonly kind: 'Unary' | 'Binary' | 'Logical' | 'Conditional' | 'Call' }>
