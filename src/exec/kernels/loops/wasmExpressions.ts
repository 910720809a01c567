/**
 * Compiles expressions of loop bodies to WebAssembly scalars, with the facts about their values.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, flat, I, OP, SATURATE } from '../../kir/instructions.ts'
import type { BigintEmitter, Emitter, Leaf, Pitfalls } from '../expressions/emitter.ts'
import { BIGINT } from '../expressions/instructions.ts'
import { ScalarEmitter } from '../expressions/scalars.ts'
import {
  asBool,
  asF64,
  asType,
  type BigintType,
  BOOL,
  bigintType,
  F64,
  heldAs,
  isInteger,
  isMaybe,
  joinTypes,
  literalValue,
  NotCompiled,
  type Value,
  type WasmType,
} from '../expressions/types.ts'
import { drawn } from '../math/wasmDraws.ts'
import { wholeRoot } from '../math/wholeNumbers.ts'
import { accessCode } from './wasmAccess.ts'
import { loadOf } from './wasmCode.ts'
import { known } from './wasmElements.ts'
import { factsWhen, given, narrowedType, noteInside } from './wasmFacts.ts'
import { columnValue } from './wasmIteration.ts'
import { lookup, tableNumber } from './wasmLookups.ts'
import { exactQuotient, keyName } from './wasmMultiples.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** `Math.floor(Math.sqrt(n))` of an integer; undefined for other expressions. */
function rootOf(w: KernelWriter, expr: Expr): Value | undefined {
  if (expr.kind !== 'Call' || (expr.callee !== 'Math.floor' && expr.callee !== 'Math.trunc')) return undefined
  const [root] = expr.args
  const of = root?.kind === 'Call' && root.callee === 'Math.sqrt' ? root.args[0] : undefined
  return of?.kind === 'Local' || of?.kind === 'Key' ? wholeRoot(w.expr(of)) : undefined
}

/** The emitter for expressions of a loop's body, as scalars. */
export class LoopEmitter extends ScalarEmitter<KernelWriter> implements Emitter<Value>, BigintEmitter<Value> {
  leaf(expr: Leaf): Value {
    return leaf(this.scope, expr)
  }

  whole(expr: Expr): Value | undefined {
    return exactQuotient(this.scope, expr) ?? rootOf(this.scope, expr)
  }

  where<T>(test: Expr, outcome: boolean, work: () => T): T {
    return given(this.scope, factsWhen(this.scope, test, outcome), work)
  }

  truth(value: Value): Value {
    return { type: BOOL, code: asBool(value) }
  }

  logicalTruth(operator: '&&' | '||', left: Value, right: () => Value): Value {
    const known = truthOf(left)
    if (known !== undefined) return known === (operator === '&&') ? right() : left
    const [then, otherwise] = operator === '&&' ? [right().code, I.i32Const(0)] : [I.i32Const(1), right().code]
    return { type: BOOL, code: [left.code, I.if('i32'), then, OP.else, otherwise, OP.end] }
  }

  logical(operator: '&&' | '||' | '??', left: Value, compileRight: () => Value, span: Span): Value {
    if (operator === '??') {
      if (isMaybe(left.type)) throw new NotCompiled('it asks whether a value is undefined', span)
      return left
    }
    const right = compileRight()
    const type = this.#joined(left, right, span)
    const kept = this.scope.declare(heldAs(type))
    const held: Value = { type: type.kind === 'f64' ? F64 : type, code: I.localGet(kept) }
    const test = [asType(left, type), I.localSet(kept), asBool(held)]
    const other = asType(right, type)
    const [then, otherwise] = operator === '&&' ? [other, held.code] : [held.code, other]
    return { type, code: [test, I.if(heldAs(type)), then, OP.else, otherwise, OP.end] }
  }

  chosen(compileTest: () => Value, compileThen: () => Value, compileOther: () => Value, span: Span): Value {
    const [then, otherwise, test] = [compileThen(), compileOther(), compileTest()]
    const known = truthOf(test)
    if (known !== undefined) return known ? then : otherwise
    const type = this.#joined(then, otherwise, span)
    // a select avoids mispredicted branches; literals and locals cost nothing to evaluate
    if (isInteger(type) && isCheap(then) && isCheap(otherwise)) return this.selected(test, then, otherwise)
    return { type, code: [test.code, I.if(heldAs(type)), asType(then, type), OP.else, asType(otherwise, type), OP.end] }
  }

  #joined(a: Value, b: Value, span: Span): WasmType {
    const type = joinTypes(a.type, b.type)
    if (type === undefined) throw new NotCompiled('a value is of two kinds: a number, a truth value, a bigint', span)
    return type
  }

  get bigints(): BigintEmitter<Value> {
    return this
  }

  checkedDivision(operator: '/' | '%', type: BigintType, left: Value, right: Value, { mayBeZero, mayOverflow, isSigned }: Pitfalls): Value {
    const { scope } = this
    const [dividend, divisor] = [scope.declare('i64'), scope.declare('i64')]
    const kept = [left.code, I.localSet(dividend), right.code, I.localSet(divisor)]
    if (mayBeZero) scope.mayFail()
    const thrown = (): Code => scope.thrown({ error: 'RangeError', message: 'Division by zero' })
    const checked = mayBeZero ? [I.localGet(divisor), OP.i64Eqz, I.if(), thrown(), OP.end] : []
    const result = [I.localGet(dividend), I.localGet(divisor), BIGINT[isSigned ? operator : (`${operator}u` as const)].i64]
    if (!mayOverflow) return { type, code: [kept, checked, result] }
    const negative = [I.i64Const(0), I.localGet(dividend), OP.i64Sub]
    const isNegative = [I.localGet(divisor), I.i64Const(-1), OP.i64Eq]
    return { type, code: [kept, checked, isNegative, I.if('i64'), negative, OP.else, result, OP.end] }
  }

  bigintOf(type: BigintType, given: Value, span: Span): Value {
    const { scope } = this
    if (isMaybe(given.type)) throw new NotCompiled('it makes a bigint of what may be undefined', span)
    scope.mayFail()
    const kept = scope.declare('f64')
    const isWhole = [I.localGet(kept), OP.f64Trunc, I.localGet(kept), OP.f64Eq]
    const isNear = [I.localGet(kept), OP.f64Abs, I.f64Const(2 ** 63), OP.f64Lt]
    const itself = [I.localGet(kept), scope.place, I.call(scope.function('bigint', ['f64', 'i32'], ['i64']))]
    const near = [I.localGet(kept), SATURATE.i64S]
    return { type, code: [asF64(given), I.localSet(kept), isWhole, isNear, OP.i32And, I.if('i64'), near, OP.else, itself, OP.end] }
  }
}

function leaf(w: KernelWriter, expr: Leaf): Value {
  switch (expr.kind) {
    case 'Literal':
      return literalValue(expr.value, expr.span)
    case 'Local': {
      const literal = w.literals.get(expr.name)
      if (literal !== undefined) return literalValue(literal, expr.span)
      const type = w.locals.get(expr.name)
      if (type === undefined) throw new NotCompiled(`${expr.name} is read before it is declared`, expr.span)
      const narrow = narrowedType(type, w.facts.get(expr.name))
      const held = I.localGet(w.slotOf(expr.name))
      return { type: narrow, code: type.kind === 'i64' && narrow.kind === 'i32' ? [held, OP.i32WrapI64] : held }
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
    case 'Read': {
      const held = w.held.get(expr)
      if (held !== undefined) return held
      const { number, shape } = w.array(expr.array)
      const place = accessCode(w, expr, expr.array, expr.subscripts, `A${number}`, shape.dtype)
      const loaded = loadOf(shape.dtype, [...place.evaluate, ...place.check, ...place.address], place.offset)
      noteInside(w, expr.subscripts, shape.extents)
      return known(w, expr.array, loaded)
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
    case 'OfList':
      throw new NotCompiled('it asks a list of a row', expr.span)
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

/** The truth of a test that is known. */
function truthOf({ code }: Value): boolean | undefined {
  const [only, ...more] = flat(code)
  return only?.kind === 'const' && more.length === 0 ? Number(only.value) !== 0 : undefined
}

/** Whether a value is a constant or a local. */
function isCheap({ code, literal }: Value): boolean {
  if (literal !== undefined) return true
  const [only, ...more] = flat(code)
  return only?.kind === 'local' && only.name === 'local.get' && more.length === 0
}
