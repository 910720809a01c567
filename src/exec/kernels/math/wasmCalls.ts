/**
 * Functions of the platform as WebAssembly: instructions where there are any with JavaScript's result, and JavaScript's
 * own function elsewhere.
 */
import type { Builtin, Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import {
  asF64,
  asI64,
  BOOL,
  F64,
  HIGHEST,
  type IntegerType,
  integerType,
  isInteger,
  known,
  LOWEST,
  literalValue,
  NotCompiled,
  number,
  type Value,
} from '../loops/wasmTypes.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { bigintCall } from './wasmBigints.ts'
import { exponential, isEngineExponential } from './wasmExponential.ts'
import { logOf } from './wasmLogarithm.ts'
import { roundedQuotient } from './wholeNumbers.ts'

export function called(w: KernelWriter, callee: Builtin, given: readonly Expr[], span: Span): Value {
  const rounding = callee === 'Math.floor' ? 'floor' : callee === 'Math.trunc' ? 'trunc' : undefined
  const quotient = rounding && roundedQuotient(w, rounding, given[0])
  if (quotient?.isWhole === true) return quotient.value
  const raw = given.map((arg, i) => (i === 0 ? quotient?.value : undefined) ?? w.expr(arg))
  const bigint = callee === 'Boolean' ? undefined : bigintCall(w, callee, raw, span)
  if (bigint !== undefined) return bigint
  const args = raw.map(number)
  const [x, y] = args
  const one = (...code: Code): Value => ({ type: F64, code: [asF64(first()), code] })
  const first = (): Value => {
    if (x === undefined) throw new NotCompiled(`${callee} is called without an argument`, span)
    return x
  }
  switch (callee) {
    case 'Math.abs':
      return x !== undefined && isInteger(x.type) ? absolute(w, x, x.type) : one(OP.f64Abs)
    case 'Math.ceil':
      return x !== undefined && isInteger(x.type) ? x : one(OP.f64Ceil)
    case 'Math.floor':
      return x !== undefined && isInteger(x.type) ? x : one(OP.f64Floor)
    case 'Math.trunc':
      return x !== undefined && isInteger(x.type) ? x : one(OP.f64Trunc)
    case 'Math.sqrt':
      return one(OP.f64Sqrt)
    case 'Math.fround':
      return one(OP.f32DemoteF64, OP.f64PromoteF32)
    case 'Math.round': {
      if (x !== undefined && isInteger(x.type)) return x
      const [given1, up] = [w.declare('f64'), w.declare('f64')]
      const whole = one(I.localTee(given1), OP.f64Ceil, I.localTee(up)).code
      const below = [I.localGet(up), I.f64Const(1), OP.f64Sub]
      const isAbove = [I.localGet(up), I.f64Const(0.5), OP.f64Sub, I.localGet(given1), OP.f64Gt]
      return { type: F64, code: [...whole, OP.drop, ...below, I.localGet(up), ...isAbove, OP.select] }
    }
    case 'Math.min':
    case 'Math.max': {
      const start = callee === 'Math.min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
      if (x === undefined) return { type: F64, code: I.f64Const(start) }
      return args.slice(1).reduce((a, b) => extreme(w, callee, a, b), known(x))
    }
    case 'Math.sign': {
      const kept = w.declare('f64')
      const isBelow = [I.localGet(kept), I.f64Const(0), OP.f64Lt]
      const isAbove = [I.localGet(kept), I.f64Const(0), OP.f64Gt]
      // NaN, 0 and -0 are what they are.
      const notAbove = [I.f64Const(-1), I.localGet(kept), isBelow, OP.select]
      return { type: F64, code: [asF64(first()), I.localSet(kept), I.f64Const(1), notAbove, isAbove, OP.select] }
    }
    case 'Math.exp': {
      if (x === undefined || !isEngineExponential()) return w.imported(callee, args)
      const itself = (argument: Code): Code => w.imported(callee, [{ type: F64, code: argument }]).code
      return { type: F64, code: exponential(w.declare.bind(w), asF64(x), itself) }
    }
    case 'Math.log':
      return x === undefined ? w.imported(callee, args) : logOf(w, x)
    case 'Math.imul':
      if (x === undefined || y === undefined) throw new NotCompiled('Math.imul needs two arguments', span)
      return { type: { kind: 'i32', low: LOWEST, high: HIGHEST }, code: [w.int32(x), w.int32(y), OP.i32Mul] }
    case 'Math.clz32':
      return { type: { kind: 'i32', low: 0, high: 32 }, code: [w.int32(first()), OP.i32Clz] }
    case 'Number':
      return raw[0] === undefined ? literalValue(0, span) : known(first())
    case 'Boolean':
      return given[0] === undefined ? literalValue(false, span) : { type: BOOL, code: w.condition(given[0]) }
    case 'Number.isNaN':
    case 'isNaN': {
      const [value] = raw
      if (value === undefined || (callee === 'Number.isNaN' && value.type.kind === 'f64' && value.type.maybe)) break
      const kept = w.declare('f64')
      return { type: BOOL, code: [asF64(number(value)), I.localTee(kept), I.localGet(kept), OP.f64Ne] }
    }
    case 'Number.isFinite':
    case 'isFinite':
      if (raw[0] === undefined || (callee === 'Number.isFinite' && raw[0].type.kind === 'bool')) break
      return { type: BOOL, code: [asF64(first()), OP.f64Abs, I.f64Const(Number.POSITIVE_INFINITY), OP.f64Lt] }
    case 'Number.isInteger':
    case 'Number.isSafeInteger':
      if (raw[0] === undefined || raw[0].type.kind === 'bool') break
      return w.imported(callee, [raw[0]], 'truth')
    case 'Object.is':
      if (raw.length !== 2 || raw.some(({ type }) => type.kind === 'bool' || (type.kind === 'f64' && type.maybe))) break
      return w.imported(callee, raw, 'truth')
    case 'Math.acos':
    case 'Math.acosh':
    case 'Math.asin':
    case 'Math.asinh':
    case 'Math.atan':
    case 'Math.atan2':
    case 'Math.atanh':
    case 'Math.cbrt':
    case 'Math.cos':
    case 'Math.cosh':
    case 'Math.expm1':
    case 'Math.hypot':
    case 'Math.log10':
    case 'Math.log1p':
    case 'Math.log2':
    case 'Math.pow':
    case 'Math.sin':
    case 'Math.sinh':
    case 'Math.tan':
    case 'Math.tanh':
      return w.imported(callee, args)
    case 'String':
    case 'BigInt':
    case 'BigInt.asIntN':
    case 'BigInt.asUintN':
    case 'Number.parseFloat':
    case 'Number.parseInt':
    case 'parseFloat':
    case 'parseInt':
    case 'Date.UTC':
      break
  }
  throw new NotCompiled(`it calls ${callee}`, span)
}

/** The larger or smaller of two. */
function extreme(w: KernelWriter, callee: 'Math.min' | 'Math.max', a: Value, b: Value): Value {
  const isMin = callee === 'Math.min'
  if (!isInteger(a.type) || !isInteger(b.type)) return { type: F64, code: [asF64(a), asF64(b), isMin ? OP.f64Min : OP.f64Max] }
  const of = isMin ? Math.min : Math.max
  const type = integerType(of(a.type.low, b.type.low), of(a.type.high, b.type.high))
  if (type === undefined) throw new NotCompiled('an integer is too large') // between two that are not
  const isWide = a.type.kind === 'i64' || b.type.kind === 'i64'
  const [one, other] = [w.declare(isWide ? 'i64' : 'i32'), w.declare(isWide ? 'i64' : 'i32')]
  const compare = isWide ? (isMin ? OP.i64LtS : OP.i64GtS) : isMin ? OP.i32LtS : OP.i32GtS
  const [left, right] = isWide ? [asI64(a), asI64(b)] : [a.code, b.code]
  const code = [...[...left, I.localTee(one), ...right, I.localTee(other)], ...[I.localGet(one), I.localGet(other), compare, OP.select]]
  return { type, code: isWide && type.kind === 'i32' ? [code, OP.i32WrapI64] : code }
}

function absolute(w: KernelWriter, value: Value, range: IntegerType): Value {
  if (range.low >= 0) return value
  const type = integerType(Math.max(0, -range.high), Math.max(-range.low, range.high))
  if (type === undefined) return { type: F64, code: [asF64(value), OP.f64Abs] }
  const kept = w.declare('i64')
  const code = [
    ...[I.i64Const(0), asI64(value), I.localTee(kept), OP.i64Sub, I.localGet(kept)],
    ...[I.localGet(kept), I.i64Const(0), OP.i64LtS, OP.select],
  ]
  return { type, code: type.kind === 'i32' ? [code, OP.i32WrapI64] : code }
}
