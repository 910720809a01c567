/**
 * How the functions of the library are written: arithmetic of doubles in postfix code, with values that are named once and used often.
 *
 *     const t = c.kept('f64', expm1(c, x))          t is in a local from here on
 *     c.chosen(less(x, 1), () => …, () => …)        only one of the two is computed
 */
import { type Code, type GrowingCode, I, OP, type ValueType } from '../../../kir/instructions.ts'

export type LibraryName =
  | '%'
  | `Math.${'acosh' | 'asinh' | 'atanh' | 'cbrt' | 'cosh' | 'expm1' | 'log10' | 'log1p' | 'log2' | 'sinh' | 'tanh'}`

/** What the code of the library may call of the engine. */
export type BuiltinName = LibraryName | 'Math.exp' | 'Math.log'

export class DoubleCode {
  readonly locals: ValueType[] = []
  /** The engine's functions that are called, in the order of their numbers, and how many numbers each takes. */
  readonly imported: { readonly name: BuiltinName; readonly takes: number }[] = []
  readonly #parameters: number
  #statements: GrowingCode = []

  constructor(parameters: number) {
    this.#parameters = parameters
  }

  readonly declare = (type: ValueType): number => this.#parameters + this.locals.push(type) - 1

  /** Computes a value here, and returns code that reads it. */
  kept(type: ValueType, value: Code): Code {
    const slot = this.declare(type)
    this.#statements.push(value, I.localSet(slot))
    return I.localGet(slot)
  }

  /** Leaves one of two values, with all that is kept for it alone. */
  chosen(test: Code, yes: () => Code, no: () => Code): Code {
    return [test, I.if('f64'), this.#apart(yes), OP.else, this.#apart(no), OP.end]
  }

  /** Leaves what the engine's own function gives. */
  called(name: BuiltinName, ...args: readonly Code[]): Code {
    const known = this.imported.findIndex((one) => one.name === name)
    const number = known < 0 ? this.imported.push({ name, takes: args.length }) - 1 : known
    return [...args, I.call(number)]
  }

  /** The statements so far, and a value behind them. */
  finished(value: Code): Code {
    return [this.#statements, value]
  }

  #apart(write: () => Code): Code {
    const outer = this.#statements
    this.#statements = []
    const code = this.finished(write())
    this.#statements = outer
    return code
  }
}

const operand = (value: Code | number): Code => (typeof value === 'number' ? I.f64Const(value) : value)
const binary =
  (operation: Code[number]) =>
  (a: Code | number, b: Code | number): Code => [operand(a), operand(b), operation]

type Binary = (a: Code | number, b: Code | number) => Code

export const add: Binary = binary(OP.f64Add)
export const sub: Binary = binary(OP.f64Sub)
export const mul: Binary = binary(OP.f64Mul)
export const div: Binary = binary(OP.f64Div)
export const less: Binary = binary(OP.f64Lt)
export const equal: Binary = binary(OP.f64Eq)
export const withSignOf: Binary = binary(OP.f64Copysign)

export const abs = (a: Code): Code => [a, OP.f64Abs]
export const sqrt = (a: Code): Code => [a, OP.f64Sqrt]
export const trunc = (a: Code): Code => [a, OP.f64Trunc]
export const either = (test: Code, yes: Code | number, no: Code | number): Code => [operand(yes), operand(no), test, OP.select]

/** `c[0] + z (c[1] + z (c[2] + …))` */
export function polynomial(z: Code, coefficients: readonly number[]): Code {
  return coefficients.slice(0, -1).reduceRight<Code>((sum, c) => add(c, mul(z, sum)), I.f64Const(coefficients.at(-1) as number)) // there is one
}

// ---------------------------------------------------------------- the halves of a double, as fdlibm has them

/** The upper 32 bits, as a signed integer. */
export const upper = (a: Code): Code => [a, OP.i64ReinterpretF64, I.i64Const(32), OP.i64ShrS, OP.i32WrapI64]
/** The upper 32 bits without the sign. */
export const upperOfAbs = (a: Code): Code => [upper(a), I.i32Const(0x7fffffff), OP.i32And]
/** Whether an integer is below a number, both signed. */
export const below = (a: Code, limit: number): Code => [a, I.i32Const(limit), OP.i32LtS]

/** The double with these upper 32 bits and the lower ones of another. */
export function withUpper(half: Code, of: Code): Code {
  return [shifted(half), of, OP.i64ReinterpretF64, I.i64Const(0xffffffff), OP.i64And, OP.i64Or, OP.f64ReinterpretI64]
}

/** The double with these upper 32 bits, and none below. */
export const ofUpper = (half: Code): Code => [shifted(half), OP.f64ReinterpretI64]

/** The double without its lower 32 bits. */
export const withoutLower = (of: Code): Code => [of, OP.i64ReinterpretF64, I.i64Const(-(2 ** 32)), OP.i64And, OP.f64ReinterpretI64]

/** 2^k, of an integer k. */
export const powerOf2 = (k: Code): Code => ofUpper([k, I.i32Const(1023), OP.i32Add, I.i32Const(20), OP.i32Shl])

const shifted = (half: Code): Code => [half, OP.i64ExtendI32U, I.i64Const(32), OP.i64Shl]
