/** Emitter of scalars: a value is code that leaves one number. Column kernels use it row by row where lanes have no instruction. */
import type { Span } from '../../../core/span.ts'
import { type Code, flat, I, type Instruction, OP, SATURATE, type ValueType } from '../../kir/instructions.ts'
import { exponential, isEngineExponential } from '../math/wasmExponential.ts'
import { isEngineLogarithm, logarithm } from '../math/wasmLogarithm.ts'
import { remainder, wholeQuotient, wholeRemainder } from '../math/wholeNumbers.ts'
import type {
  BigintOperation,
  BitOperation,
  Comparison,
  FloatOperation,
  IntegerOperation,
  Kept,
  NumberEmitter,
  Rounding,
} from './emitter.ts'
import { BIGINT, BITS, COMPARE, FLOAT, INTEGER } from './instructions.ts'
import { exactInverse } from './operators.ts'
import {
  areUnsigned,
  asF64,
  asI64,
  asType,
  type BigintType,
  BOOL,
  F64,
  HIGHEST,
  heldAs,
  type IntegerType,
  isInteger,
  joinTypes,
  known,
  LOWEST,
  literalValue,
  NotCompiled,
  number,
  refuseBigint,
  type Value,
  wholeResult,
} from './types.ts'

/** The kernel into which the code is written. */
export interface ScalarScope {
  declare(type: ValueType): number
  /** Returns the number of an imported function; imports it if necessary. */
  function(name: string, parameters: readonly ValueType[], results: readonly ValueType[]): number
}

export class ScalarEmitter<Scope extends ScalarScope = ScalarScope> implements NumberEmitter<Value> {
  readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  typeOf({ type }: Value): Value['type'] {
    return type
  }

  literalOf({ literal }: Value): number | undefined {
    return literal
  }

  constant(value: number | boolean | bigint): Value {
    return literalValue(value)
  }

  toNumber(value: Value): Value {
    return known(number(value))
  }

  toFloat(value: Value): Value {
    return { type: F64, code: asF64(value) }
  }

  toInt32(value: Value): Value {
    if (value.type.kind === 'i32') return value
    return { type: { kind: 'i32', low: LOWEST, high: HIGHEST }, code: this.int32(value) }
  }

  /** ToInt32; where a signed 64-bit integer does not hold the double, or for NaN, JavaScript's own is called. */
  int32({ type, code }: Value): Code {
    if (type.kind === 'i64') return [code, OP.i32WrapI64]
    refuseBigint(type)
    if (type.kind !== 'f64') return code
    const [t, itself] = [this.scope.declare('f64'), this.scope.function('int32', ['f64'], ['i32'])]
    return [
      ...[code, I.localTee(t), OP.f64Abs, I.f64Const(2 ** 63), OP.f64Lt, I.if('i32')],
      ...[I.localGet(t), SATURATE.i64S, OP.i32WrapI64, OP.else, I.localGet(t), I.call(itself), OP.end],
    ]
  }

  float(operation: FloatOperation, ...operands: readonly Value[]): Value {
    const [a, b] = operands
    const inverse = operation === '/' ? exactInverse(b?.literal) : undefined
    if (a !== undefined && inverse !== undefined) return { type: F64, code: [asF64(a), I.f64Const(inverse), ...FLOAT['*'].f64] }
    const whole = a && b && wholeResult(operation, a.type, b.type)
    const type: Value['type'] = whole === undefined ? F64 : { kind: 'f64', maybe: false, whole }
    return { type, code: [...operands.map(asF64), ...FLOAT[operation].f64] }
  }

  integer(operation: IntegerOperation, type: IntegerType, left: Value, right: Value): Value {
    const of = left.type.kind === 'i32' && right.type.kind === 'i32' ? 'i32' : 'i64'
    if (operation === 'min' || operation === 'max') return this.#extreme(operation, of, type, left, right)
    const { i32, i64 } = INTEGER[operation]
    if (type.kind === 'i32' && of === 'i32') return { type, code: [left.code, right.code, i32] }
    return { type, code: [asI64(left), asI64(right), i64, ...(type.kind === 'i32' ? [OP.i32WrapI64] : [])] }
  }

  #extreme(operation: 'min' | 'max', of: 'i32' | 'i64', type: IntegerType, left: Value, right: Value): Value {
    const [one, other] = [this.scope.declare(of), this.scope.declare(of)]
    const [a, b] = of === 'i64' ? [asI64(left), asI64(right)] : [left.code, right.code]
    const code = [a, I.localTee(one), b, I.localTee(other), I.localGet(one), I.localGet(other), INTEGER[operation][of], OP.select]
    return { type, code: of === 'i64' && type.kind === 'i32' ? [code, OP.i32WrapI64] : code }
  }

  bits(operation: BitOperation, type: IntegerType, ...operands: readonly Value[]): Value {
    return { type, code: [...operands.map(({ code }) => code), BITS[operation].i32] }
  }

  shifted(operation: '<<' | '>>' | '>>>', type: IntegerType, a: Value, count: Value): Value {
    return { type, code: [a.code, this.int32(count), BITS[operation].i32, ...(type.kind === 'i64' ? [OP.i64ExtendI32U] : [])] }
  }

  compared(operator: Comparison, left: Value, right: Value): Value {
    const known = outcomeOf(operator, left, right)
    if (known !== undefined) return literalValue(known)
    const { i32, i64, u64, f64 } = COMPARE[operator]
    const [one, other] = [left.type.kind, right.type.kind]
    if (one === 'bigint') return { type: BOOL, code: [left.code, right.code, areUnsigned([left.type, right.type]) ? u64 : i64] }
    if (one === 'f64' || other === 'f64') return { type: BOOL, code: [asF64(left), asF64(right), f64] }
    if (one === 'i64' || other === 'i64') return { type: BOOL, code: [asI64(left), asI64(right), i64] }
    return { type: BOOL, code: [left.code, right.code, i32] }
  }

  quotient(rounding: Rounding, a: Value, b: Value): Value | undefined {
    return wholeQuotient((type) => this.scope.declare(type), rounding, a, b)
  }

  /** Calls JavaScript's own function, or inlines code with the same bits where there is such. */
  called(name: string, args: readonly Value[]): Value {
    const declare = (type: ValueType): number => this.scope.declare(type)
    const [x, y] = args
    const whole = name === '%' && x !== undefined && y !== undefined ? wholeRemainder(declare, x, y) : undefined
    if (whole !== undefined) return whole
    if (name === '%' && x !== undefined && y !== undefined) return remainder(declare, x, y, (a, b) => this.imported(name, [a, b]))
    const write = args.length === 1 ? WRITTEN_OUT.get(name)?.() : undefined
    if (write === undefined || x === undefined) return this.imported(name, args)
    return { type: F64, code: write(declare, asF64(x), (code) => this.imported(name, [{ type: F64, code }]).code) }
  }

  imported(name: string, args: readonly Value[]): Value {
    const parameters = args.map(() => 'f64' as const)
    const called = this.scope.function(`${name}/${args.length}`, parameters, ['f64'])
    return { type: F64, code: [...args.map(asF64), I.call(called)] }
  }

  kept(value: Value): Kept<Value> {
    const slot = this.scope.declare(heldAs(value.type))
    return { first: { type: value.type, code: [value.code, I.localTee(slot)] }, again: { type: value.type, code: I.localGet(slot) } }
  }

  after(others: readonly Value[], value: Value): Value {
    return { type: value.type, code: [...others.map(({ code }) => withoutValue(code)), value.code] }
  }

  selected(test: Value, yes: Value, no: Value): Value {
    const type = joinTypes(yes.type, no.type)
    if (type === undefined) throw this.declined('a value is of two kinds: a number, a truth value, a bigint', undefined)
    return { type, code: [asType(yes, type), asType(no, type), test.code, OP.select] }
  }

  truths(operation: 'not' | 'and' | 'or', ...tests: readonly Value[]): Value {
    return { type: BOOL, code: [...tests.map(({ code }) => code), TRUTHS[operation]] }
  }

  // ---------------------------------------------------------------- bigints

  ofType(type: BigintType, { code }: Value): Value {
    return { type, code }
  }

  bigint(operation: BigintOperation, type: BigintType, a: Value, b: Value): Value {
    return { type, code: [a.code, b.code, BIGINT[operation].i64] }
  }

  toBigint(type: BigintType, value: Value): Value {
    return { type, code: asI64(value) }
  }

  numberOfBigint(type: IntegerType | undefined, { code }: Value, isSigned: boolean): Value {
    if (type !== undefined) return { type, code: type.kind === 'i32' ? [code, OP.i32WrapI64] : code }
    return { type: F64, code: [code, isSigned ? OP.f64ConvertI64S : OP.f64ConvertI64U] }
  }

  declined(because: string, span: Span | undefined): Error {
    return new NotCompiled(because, span)
  }
}

/** The outcome of a comparison of integers that their bounds decide; undefined where they do not, or where an operand does more than compute. */
function outcomeOf(operator: Comparison, left: Value, right: Value): boolean | undefined {
  const [a, b] = [left.type, right.type]
  if (!isInteger(a) || !isInteger(b) || ![left, right].every(({ code }) => flat(code).every(isPure))) return undefined
  switch (operator) {
    case '<':
      return a.high < b.low ? true : a.low >= b.high ? false : undefined
    case '<=':
      return a.high <= b.low ? true : a.low > b.high ? false : undefined
    case '>':
      return a.low > b.high ? true : a.high <= b.low ? false : undefined
    case '>=':
      return a.low >= b.high ? true : a.high < b.low ? false : undefined
    case '==':
    case '!=':
      return a.high < b.low || a.low > b.high ? operator === '!=' : undefined
  }
}

/** Whether an instruction neither fails, nor changes anything. */
function isPure(one: Instruction): boolean {
  if (one.kind === 'const') return true
  return one.kind === 'local' ? one.name === 'local.get' : one.kind === 'plain' && PURE.has(one.operation.name)
}

const PURE: ReadonlySet<string> = new Set(
  ['add', 'sub', 'mul', 'and', 'or', 'xor', 'shl', 'shr_s', 'shr_u', 'extend_i32_s', 'extend_i32_u'].flatMap((name) => [
    `i32.${name}`,
    `i64.${name}`,
  ]),
).add('i32.wrap_i64')

const TRUTHS = { not: OP.i32Eqz, and: OP.i32And, or: OP.i32Or } as const

/** Functions that are inlined, where the engine computes them by the same algorithm. */
const WRITTEN_OUT: ReadonlyMap<string, () => typeof exponential | undefined> = new Map([
  ['Math.exp', () => (isEngineExponential() ? exponential : undefined)],
  ['Math.log', () => (isEngineLogarithm() ? logarithm : undefined)],
])

/** Drops the value that the code leaves; a final tee becomes a set. */
export function withoutValue(code: Code): Code {
  const all = flat(code)
  const last = all.at(-1)
  const isKept = last?.kind === 'local' && last.name === 'local.tee'
  return isKept ? [...all.slice(0, -1), I.localSet(last.index)] : [code, OP.drop]
}
