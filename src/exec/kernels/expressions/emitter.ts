/**
 * What expressions are compiled with: how values of one shape are held, and what computes with them.
 *
 *     loops/wasmExpressions.ts            a value is code that leaves one number
 *     vectors/wasmVectorExpressions.ts    a value is code that leaves the lanes of a vector
 *     columns/columnNumbers.ts            a value is four rows, in one or two vectors, and which of them are null
 *
 * `expressions.ts`, `operators.ts` and `calls.ts` know JavaScript: what is evaluated when, which operation gives an integer and within
 * what bounds, what becomes of -0 and NaN. An emitter knows instructions, and what its leaves are. What it has no code for it declines
 * by an error with the reason, which whoever asked for the kernel hands on.
 */
import type { BinaryOperator, Callee, Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { BigintOperation, BitOperation, Comparison, FloatOperation, IntegerOperation } from './instructions.ts'
import type { BigintType, IntegerType, WasmType } from './types.ts'

/** A value that is used more than once: it is computed where `first` is written, which leaves it; `again` leaves it behind that. */
export interface Kept<V> {
  readonly first: V
  readonly again: V
}

/** What becomes of a quotient: `bits` are 32 of it, which make -0 and 0 one. */
export type Rounding = 'floor' | 'trunc' | 'bits'

/** Numbers and truth values. */
export interface NumberEmitter<V> {
  /** What is known of a number, a truth value or a bigint; undefined of anything else. */
  typeOf(value: V): WasmType | undefined
  /** The number, where it is always the same. */
  literalOf(value: V): number | undefined
  constant(value: number | boolean | bigint): V
  /** Where a value may be null or undefined: whether it is there, so that 0 and false, which stand for null, are told from it. */
  present?(value: V): V | undefined
  /** ToNumber; bigints stay. */
  toNumber(value: V): V
  /** ToNumber, as a double. */
  toFloat(value: V): V
  toInt32(value: V): V
  float(operation: FloatOperation, ...operands: readonly V[]): V
  /** Of two integers, where the result is exact and of this type. */
  integer(operation: IntegerOperation, type: IntegerType, a: V, b: V): V
  /** Of what `toInt32` gave. */
  bits(operation: BitOperation, type: IntegerType, ...operands: readonly V[]): V
  /** Of what `toInt32` gave, by any number. */
  shifted(operation: '<<' | '>>' | '>>>', type: IntegerType, a: V, count: V): V
  /** Of two numbers, or of two bigints of which 64 bits hold both with a sign, or both without. */
  compared(operator: Comparison, a: V, b: V): V
  /** The rounded quotient of two integers, by an instruction for integers; undefined where there is none, or it may be -0. */
  quotient?(rounding: Rounding, a: V, b: V): V | undefined
  /** A function of doubles that is no instruction, `%` among them. */
  called(name: string, args: readonly V[], span: Span | undefined): V
  kept(value: V): Kept<V>
  /** `value`, after others have been computed for what they keep, and for their failures. */
  after(others: readonly V[], value: V): V
  /** Both are computed and one is taken. */
  selected(test: V, yes: V, no: V): V
  /** Of truth values, all of which are computed. */
  truths(operation: 'not' | 'and' | 'or', ...tests: readonly V[]): V
  /** The error that says why there is no such code. */
  declined(because: string, span: Span | undefined): Error
}

export interface Emitter<V> extends NumberEmitter<V> {
  /** What has a value without looking at its parts; undefined where it is compiled from those. */
  whole?(expr: Expr): V | undefined
  /** What is neither an operator nor a call. */
  leaf(expr: Leaf): V
  /** Compiles what is evaluated where the test came out so, of which more is known. */
  where?<T>(test: Expr, outcome: boolean, work: () => T): T
  truth(value: V): V
  /** `&&` and `||` of truth values. */
  logicalTruth(operator: '&&' | '||', left: V, right: () => V): V
  logical(operator: '&&' | '||' | '??', left: V, right: () => V, span: Span): V
  chosen(test: () => V, then: () => V, otherwise: () => V, span: Span): V
  /** Operators on what is neither a number nor a truth value; undefined where it is one. */
  own?(operator: BinaryOperator, left: V, right: V, span: Span | undefined): V | undefined
  /** Calls that are not those of numbers. */
  ownCall?(callee: Callee, args: readonly V[], span: Span): V | undefined
  /** Undefined where there are none. */
  readonly bigints?: BigintEmitter<V>
}

/** Bigints, held modulo 2 ** 64. */
export interface BigintEmitter<V> extends NumberEmitter<V> {
  /** The same 64 bits, of which more is known. */
  ofType(type: BigintType, value: V): V
  bigint(operation: BigintOperation, type: BigintType, a: V, b: V): V
  /** A quotient or remainder that may fail, or may be too large for the instruction. */
  checkedDivision?(operator: '/' | '%', type: BigintType, a: V, b: V, may: Pitfalls): V
  /** An integer as a bigint. */
  toBigint(type: BigintType, value: V): V
  /** `BigInt(x)` of any number, which is an error where it is no integer. */
  bigintOf?(type: BigintType, value: V, span: Span): V
  /** As an integer of this type; undefined: as the nearest double. */
  numberOfBigint(type: IntegerType | undefined, value: V, isSigned: boolean): V
}

export interface Pitfalls {
  readonly mayBeZero: boolean
  readonly mayOverflow: boolean
  readonly isSigned: boolean
}

export type { BigintOperation, BitOperation, Comparison, FloatOperation, IntegerOperation }

export type Leaf = Exclude<Expr, { readonly kind: 'Unary' | 'Binary' | 'Logical' | 'Conditional' | 'Call' }>
