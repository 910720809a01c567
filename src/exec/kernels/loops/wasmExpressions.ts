/**
 * Expressions as WebAssembly, with what is known of their values.
 */
import { type BinaryOperator, type Expr, isBuiltin } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, flat, I, OP } from '../../kir/instructions.ts'
import { bigintBinary, bigintCompared, bigintUnary } from '../math/wasmBigints.ts'
import { called } from '../math/wasmCalls.ts'
import { drawn } from '../math/wasmDraws.ts'
import { remainder, roundedQuotient } from '../math/wholeNumbers.ts'
import { accessCode } from './wasmAccess.ts'
import { loadOf } from './wasmCode.ts'
import { factsWhen, given, keyName, narrowedType } from './wasmFacts.ts'
import { columnValue } from './wasmIteration.ts'
import { lookup, tableNumber } from './wasmLookups.ts'
import {
  asBool,
  asF64,
  asI64,
  asType,
  BOOL,
  bigintType,
  F64,
  HIGHEST,
  heldAs,
  integerOperation,
  integerResult,
  integerType,
  isInteger,
  isMaybe,
  joinTypes,
  known,
  LOWEST,
  literalValue,
  NotCompiled,
  number,
  type Value,
  type WasmType,
} from './wasmTypes.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** Truth of an expression, as 0 or 1. */
export function condition(w: KernelWriter, expr: Expr): Code {
  switch (expr.kind) {
    case 'Logical':
      if (expr.operator === '??') return asBool(w.expr(expr))
      return expr.operator === '&&'
        ? [...w.condition(expr.left), I.if('i32'), ...second(w, expr, () => w.condition(expr.right)), OP.else, I.i32Const(0), OP.end]
        : [...w.condition(expr.left), I.if('i32'), I.i32Const(1), OP.else, ...second(w, expr, () => w.condition(expr.right)), OP.end]
    case 'Unary':
      if (expr.operator === '!') return [...w.condition(expr.operand), OP.i32Eqz]
      return asBool(w.expr(expr))
    case 'Conditional': {
      const [then, otherwise] = branches(w, expr, (branch) => w.condition(branch))
      return [...w.condition(expr.test), I.if('i32'), then, OP.else, otherwise, OP.end]
    }
    case 'Literal':
      return I.i32Const(expr.value ? 1 : 0)
    default:
      return asBool(w.expr(expr))
  }
}

/** What is evaluated where the first part of `&&` is true, or that of `||` is not. */
function second<T>(w: KernelWriter, { operator, left }: Extract<Expr, { kind: 'Logical' }>, work: () => T): T {
  return given(w, factsWhen(w, left, operator === '&&'), work)
}

function branches<T>(w: KernelWriter, { test, ...expr }: Extract<Expr, { kind: 'Conditional' }>, work: (branch: Expr) => T): [T, T] {
  return [given(w, factsWhen(w, test, true), () => work(expr.then)), given(w, factsWhen(w, test, false), () => work(expr.else))]
}

export function expression(w: KernelWriter, expr: Expr): Value {
  switch (expr.kind) {
    case 'Literal':
      return literalValue(expr.value, expr.span)
    case 'Local': {
      const literal = w.literals.get(expr.name)
      if (literal !== undefined) return literalValue(literal, expr.span)
      const type = w.locals.get(expr.name)
      if (type === undefined) throw new NotCompiled(`${expr.name} is read before it is declared`, expr.span)
      return { type: narrowedType(type, w.facts.get(expr.name)), code: I.localGet(w.slotOf(expr.name)) }
    }
    case 'Parameter':
      return parameter(w, expr.name, expr.span)
    case 'Input':
      return input(w, expr.span)
    case 'Field':
      return field(w, expr)
    case 'Key': {
      const extent = w.target.shape.extents[expr.axis]
      const slot = w.keys[expr.axis]
      if (extent === undefined || slot === undefined) throw new NotCompiled('it reads a key that is not there', expr.span)
      const range = w.keyRanges.get(expr.axis) ?? { low: 0, high: Math.max(0, extent - 1) }
      return { type: narrowedType({ kind: 'i32', ...range }, w.facts.get(keyName(expr.axis))), code: I.localGet(slot) }
    }
    case 'Unary':
      return unary(w, expr)
    case 'Binary':
      return binary(w, expr)
    case 'Logical':
      return logical(w, expr)
    case 'Conditional': {
      const [then, otherwise] = branches(w, expr, (branch) => w.expr(branch))
      return choice(w.condition(expr.test), then, otherwise, expr.span)
    }
    case 'Call':
      if (!isBuiltin(expr.callee)) throw new NotCompiled(`it calls ${expr.callee}`, expr.span)
      return called(w, expr.callee, expr.args, expr.span)
    case 'Read': {
      const held = w.held.get(expr)
      if (held !== undefined) return held
      const { number, shape } = w.array(expr.array)
      const place = accessCode(w, expr, expr.array, expr.subscripts, `A${number}`, shape.dtype)
      const loaded = loadOf(shape.dtype, [...place.evaluate, ...place.check, ...place.address], place.offset)
      return loaded
    }
    case 'Extent': {
      const { number, shape } = w.array(expr.array)
      const extent = shape.extents[expr.axis]
      if (extent === undefined) throw new NotCompiled('it asks for an axis that is not there', expr.span)
      return { type: { kind: 'i32', low: extent, high: extent }, code: w.global(`A${number}n${expr.axis}`) }
    }
    case 'Lookup':
      return lookup(w, expr)
    case 'LookupLength': {
      const length = w.target.tableLengths[tableNumber(w, expr.table)] ?? 0
      return { type: { kind: 'i32', low: length, high: length }, code: w.global(`T${tableNumber(w, expr.table)}n`) }
    }
    case 'Find':
      throw new NotCompiled('it looks for a key', expr.span)
    case 'Has':
      throw new NotCompiled('it asks which keys are present', expr.span)
    case 'Draw':
      return drawn(w, expr)
    case 'MethodCall':
      throw new NotCompiled(`it calls ${expr.method}`, expr.span)
    case 'Matches':
      throw new NotCompiled('it uses a regular expression', expr.span)
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      throw new NotCompiled('it makes arrays or objects', expr.span)
  }
}

function parameter(w: KernelWriter, name: string, span: Span): Value {
  const slot = w.parameterSlots.get(name)
  const value = w.target.shape.parameters.get(name)
  if (slot === undefined) throw new NotCompiled(`${name} is not known`, span)
  if (typeof value === 'boolean') return { type: BOOL, code: I.localGet(slot) }
  if (typeof value === 'bigint') return { type: bigintType(value, value), code: I.localGet(slot) }
  if (typeof value !== 'number') throw new NotCompiled(`${name} is no number`, span)
  if (!w.isIntegerParameter(name, value)) return { type: F64, code: I.localGet(slot) }
  return { type: { kind: 'i32', low: value, high: value }, code: I.localGet(slot) }
}

function input(w: KernelWriter, span: Span): Value {
  const { element } = w.target.shape
  if (element.kind === 'dense') return columnValue(w, 0, false, false, span)
  if (element.kind === 'scalar') return columnValue(w, 0, element.column.nullable, element.column.form === 'bool', span)
  throw new NotCompiled('it uses the whole row', span)
}

function field(w: KernelWriter, expr: Extract<Expr, { kind: 'Field' }>): Value {
  const { element } = w.target.shape
  if (expr.of.kind !== 'Input' || element.kind !== 'row')
    throw new NotCompiled('it reads a field of something else than its row', expr.span)
  const i = element.columns.findIndex((column) => column.name === expr.name)
  const column = element.columns[i]
  if (column === undefined) throw new NotCompiled(`the rows have no column ${expr.name}`, expr.span)
  return columnValue(w, i, column.nullable, column.form === 'bool', expr.span)
}

function unary(w: KernelWriter, expr: Extract<Expr, { kind: 'Unary' }>): Value {
  if (expr.operator !== '!' && expr.operator !== 'typeof') {
    const value = w.expr(expr.operand)
    if (value.type.kind === 'bigint') return bigintUnary(expr.operator, value, value.type.range, expr.span)
  }
  switch (expr.operator) {
    case '!':
      return { type: BOOL, code: w.condition(expr) }
    case '+': {
      const value = w.expr(expr.operand)
      return value.type.kind === 'bool' ? { type: { kind: 'i32', low: 0, high: 1 }, code: value.code } : known(value)
    }
    case '-': {
      const value = w.expr(expr.operand)
      const type =
        isInteger(value.type) && (value.type.low > 0 || value.type.high < 0) ? integerType(-value.type.high, -value.type.low) : undefined
      if (type !== undefined) return integerOperation(type, [ZERO, value], INTEGER['-'])
      return { type: F64, code: [asF64(value), OP.f64Neg] }
    }
    case '~':
      return {
        type: { kind: 'i32', low: LOWEST, high: HIGHEST },
        code: [w.int32(roundedQuotient(w, 'bits', expr.operand)?.value ?? w.expr(expr.operand)), I.i32Const(-1), OP.i32Xor],
      }
    case 'typeof':
      throw new NotCompiled('it asks for a type', expr.span)
  }
}

function binary(w: KernelWriter, expr: Extract<Expr, { kind: 'Binary' }>): Value {
  const { operator } = expr
  const bits = operator in BITS || operator === '>>>' ? roundedQuotient(w, 'bits', expr.left)?.value : undefined
  const left = bits ?? number(w.expr(expr.left))
  const right = number(w.expr(expr.right))
  const isOfBigints = left.type.kind === 'bigint' || right.type.kind === 'bigint'
  if (isOfBigints && !isEquality(operator)) return bigintBinary(w, operator, left, right, expr.span)
  switch (operator) {
    case '+':
    case '-':
    case '*':
    case '%': {
      const type = integerResult(operator, left.type, right.type)
      if (type !== undefined) return integerOperation(type, [left, right], INTEGER[operator])
      if (operator !== '%') return { type: F64, code: [asF64(left), asF64(right), DOUBLE[operator]] }
      return remainder(w, left, right)
    }
    case '/':
      return { type: F64, code: [asF64(left), asF64(right), OP.f64Div] }
    case '**':
      // x ** 2 is x * x to the last bit in every tier of the engine.
      if (right.literal === 2) {
        const base = w.declare('f64')
        return { type: F64, code: [asF64(left), I.localTee(base), I.localGet(base), OP.f64Mul] }
      }
      return w.imported('Math.pow', [left, right])
    case '&':
    case '|':
    case '^':
    case '<<':
    case '>>':
      return { type: bitRange(operator, left, right), code: [w.int32(left), w.int32(right), BITS[operator]] }
    case '>>>': {
      const code = [w.int32(left), w.int32(right), OP.i32ShrU]
      if (right.literal !== undefined && (right.literal & 31) > 0) return { type: { kind: 'i32', low: 0, high: HIGHEST }, code }
      return { type: { kind: 'i64', low: 0, high: 2 ** 32 - 1 }, code: [code, OP.i64ExtendI32U] }
    }
    case '<':
    case '<=':
    case '>':
    case '>=':
      return { type: BOOL, code: compared(left, right, operator) }
    case '==':
    case '!=':
    case '===':
    case '!==':
      return equal(w, expr)
  }
}

function isEquality(operator: BinaryOperator): operator is '==' | '!=' | '===' | '!==' {
  return operator === '==' || operator === '!=' || operator === '===' || operator === '!=='
}

function equal(w: KernelWriter, expr: Extract<Expr, { kind: 'Binary' }>): Value {
  const [left, right] = [w.expr(expr.left), w.expr(expr.right)]
  if (isMaybe(left.type) || isMaybe(right.type)) throw new NotCompiled('it compares what may be undefined', expr.span)
  const negated = expr.operator === '!=' || expr.operator === '!=='
  const [one, other] = [left.type.kind, right.type.kind]
  if (one === 'bigint' || other === 'bigint') {
    const never = (expr.operator === '===' || expr.operator === '!==') && one !== other
    if (never) return { type: BOOL, code: [left.code, OP.drop, right.code, OP.drop, I.i32Const(negated ? 1 : 0)] }
    return { type: BOOL, code: bigintCompared(negated ? '!=' : '==', number(left), number(right), expr.span) }
  }
  const strict = expr.operator === '===' || expr.operator === '!=='
  if (strict && (left.type.kind === 'bool') !== (right.type.kind === 'bool')) {
    return { type: BOOL, code: [left.code, OP.drop, right.code, OP.drop, I.i32Const(negated ? 1 : 0)] }
  }
  return { type: BOOL, code: compared(number(left), number(right), negated ? '!=' : '==') }
}

function logical(w: KernelWriter, expr: Extract<Expr, { kind: 'Logical' }>): Value {
  const left = w.expr(expr.left)
  if (expr.operator === '??') {
    if (isMaybe(left.type)) throw new NotCompiled('it asks whether a value is undefined', expr.span)
    return left
  }
  const right = second(w, expr, () => w.expr(expr.right))
  const type = joinTypes(left.type, right.type)
  if (type === undefined) {
    throw new NotCompiled('a value is of two kinds: a number, a truth value, a bigint', expr.span)
  }
  const kept = w.declare(heldAs(type))
  const held: Value = { type: type.kind === 'f64' ? F64 : type, code: I.localGet(kept) }
  const test = [asType(left, type), I.localSet(kept), asBool(held)]
  const other = asType(right, type)
  const [then, otherwise] = expr.operator === '&&' ? [other, held.code] : [held.code, other]
  return { type, code: [test, I.if(heldAs(type)), then, OP.else, otherwise, OP.end] }
}

function choice(test: Code, then: Value, otherwise: Value, span: Span): Value {
  const type = joinTypes(then.type, otherwise.type)
  if (type === undefined) throw new NotCompiled('a value is of two kinds: a number, a truth value, a bigint', span)
  // Without a branch that could be foretold wrongly: literals and variables cost nothing.
  if (isInteger(type) && isCheap(then) && isCheap(otherwise)) {
    return { type, code: [asType(then, type), asType(otherwise, type), test, OP.select] }
  }
  return { type, code: [test, I.if(heldAs(type)), asType(then, type), OP.else, asType(otherwise, type), OP.end] }
}

/** A constant or a local. */
function isCheap({ code, literal }: Value): boolean {
  if (literal !== undefined) return true
  const [only, ...more] = flat(code)
  return only?.kind === 'local' && only.name === 'local.get' && more.length === 0
}

const ZERO: Value = { type: { kind: 'i32', low: 0, high: 0 }, code: I.i32Const(0), literal: 0 }
const INTEGER = {
  '+': [OP.i32Add, OP.i64Add],
  '-': [OP.i32Sub, OP.i64Sub],
  '*': [OP.i32Mul, OP.i64Mul],
  '%': [OP.i32RemU, OP.i64RemU],
} as const
const DOUBLE = { '+': OP.f64Add, '-': OP.f64Sub, '*': OP.f64Mul } as const
const BITS = { '&': OP.i32And, '|': OP.i32Or, '^': OP.i32Xor, '<<': OP.i32Shl, '>>': OP.i32ShrS } as const
const COMPARE = {
  '<': [OP.i32LtS, OP.f64Lt, OP.i64LtS],
  '<=': [OP.i32LeS, OP.f64Le, OP.i64LeS],
  '>': [OP.i32GtS, OP.f64Gt, OP.i64GtS],
  '>=': [OP.i32GeS, OP.f64Ge, OP.i64GeS],
  '==': [OP.i32Eq, OP.f64Eq, OP.i64Eq],
  '!=': [OP.i32Ne, OP.f64Ne, OP.i64Ne],
} as const

function compared(left: Value, right: Value, operator: keyof typeof COMPARE): Code {
  const [integers, doubles, wide] = COMPARE[operator]
  if (left.type.kind === 'f64' || right.type.kind === 'f64') return [asF64(left), asF64(right), doubles]
  if (left.type.kind === 'i64' || right.type.kind === 'i64') return [asI64(left), asI64(right), wide]
  return [left.code, right.code, integers]
}

function bitRange(operator: keyof typeof BITS, left: Value, right: Value): WasmType {
  if (operator === '&') {
    const highs = [left, right].flatMap(({ type }) => (type.kind === 'i32' && type.low >= 0 ? [type.high] : []))
    if (highs.length > 0) return { kind: 'i32', low: 0, high: Math.min(...highs) }
  }
  if (operator === '>>' && left.type.kind === 'i32') {
    const count = right.literal
    if (count !== undefined) return { kind: 'i32', low: left.type.low >> count, high: left.type.high >> count }
    if (left.type.low >= 0) return { kind: 'i32', low: 0, high: left.type.high }
  }
  return { kind: 'i32', low: LOWEST, high: HIGHEST }
}
