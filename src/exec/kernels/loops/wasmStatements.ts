/**
 * Compiles the statements of a loop body to WebAssembly: locals, stores, adds, accumulators, and jumps out of blocks.
 */

import type { DType } from '../../../core/data/schema.ts'
import type { CountedLoop, Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, isEmpty, OP } from '../../kir/instructions.ts'
import {
  asBigint,
  asBool,
  asF64,
  F64,
  type Facts,
  HIGHEST,
  integerResult,
  isMaybe,
  LOWEST,
  literalValue,
  NO_FACTS,
  NotCompiled,
  number as numberOf,
  type Value,
  type WasmType,
} from '../expressions/types.ts'
import { singleOf } from '../passes/singleSums.ts'
import { jammedFor } from '../passes/unrollAndJam.ts'
import type { Turns } from './innerLoop.ts'
import { accessCode, isSteady } from './wasmAccess.ts'
import { loadBits, loadOf, reloaded, storeOf } from './wasmCode.ts'
import { countedRange, isCostly, isCounter } from './wasmCounted.ts'
import { isStep, restored } from './wasmCounters.ts'
import { noteStored } from './wasmElements.ts'
import { messageOf } from './wasmErrors.ts'
import { factsWhen, given, inOrder, noteInside, noteLeft, noteValue, without } from './wasmFacts.ts'
import { columnAddress, LOG_CAPACITY, logOffset, stepped, turning } from './wasmIteration.ts'
import { fastFor } from './wasmLoops.ts'
import { type For, type KernelWriter, SCRATCH } from './wasmWriter.ts'

export function block(w: KernelWriter, stmts: readonly Stmt[]): Code {
  const outer = w.facts
  const code = stmts.map((stmt) => statement(w, stmt))
  w.facts = without(outer, stmts)
  return code
}

function statement(w: KernelWriter, stmt: Stmt): Code {
  return inOrder(w, stmt.kind !== 'For', () => written(w, stmt))
}

function written(w: KernelWriter, stmt: Stmt): Code {
  switch (stmt.kind) {
    case 'Let':
      w.singles.delete(stmt.local)
      if (stmt.init !== undefined) return [assigned(w, stmt.local, stmt.init, stmt.span), narrow(w, stmt.local, stmt.init)]
      return w.unset.has(stmt.local) ? w.assign(stmt.local, literalValue(undefined, stmt.span), stmt.span) : []
    case 'Assign':
      return assigned(w, stmt.local, stmt.value, stmt.span)
    case 'Write':
      return stored(w, stmt)
    case 'Add':
      return added(w, stmt)
    case 'Accumulate':
      return accumulated(w, stmt.accumulator, w.expr(stmt.value), stmt.span)
    case 'If': {
      const test = w.condition(stmt.test)
      w.control.push({ kind: 'other' })
      const then = given(w, factsWhen(w, stmt.test, true), () => w.block(stmt.then))
      const otherwise = given(w, factsWhen(w, stmt.test, false), () => w.block(stmt.else))
      w.control.pop()
      noteLeft(w, stmt)
      return [test, I.if(), then, isEmpty(otherwise) ? [] : [OP.else, otherwise], OP.end]
    }
    case 'For': {
      const code = loop(w, stmt)
      w.facts = without(w.facts, [stmt])
      return code
    }
    case 'Labeled': {
      const body = w.within({ kind: 'label', label: stmt.label }, () => w.block(stmt.body))
      return [I.block(), body, OP.end]
    }
    case 'Break': {
      const { label } = stmt
      return w.leave((c) => (label === undefined ? c.kind === 'exit' : c.label === label && c.kind !== 'next'), stmt.span)
    }
    case 'Continue': {
      const { label } = stmt
      return w.leave((c) => c.kind === 'next' && (label === undefined || c.label === label), stmt.span)
    }
    case 'Return':
      return returned(w, stmt.value, stmt.span)
    case 'Throw':
      return thrown(w, stmt)
    case 'Evaluate':
      return [...w.expr(stmt.value).code, OP.drop]
  }
}

function assigned(w: KernelWriter, local: string, expr: Expr, span: Span): Code {
  const value = w.expr(expr)
  if (expr.kind === 'Read' && w.keeps.get(expr.array)?.includes(local) === true) {
    const code = restored(w, local, value, span)
    noteValue(w, local, w.locals.get(local) ?? value.type, expr)
    return code
  }
  const code = isStep(w, local, expr) ? w.step(local, value, span) : w.assign(local, value, span)
  noteValue(w, local, value.type, expr)
  return code
}

/** Keeps, beside a double that is computed from an f32 sum, the f32 for later lanes (`singleSums.ts`). */
function narrow(w: KernelWriter, local: string, init: Expr): Code {
  const single = w.isChanged(local) ? undefined : singleOf(w, init)
  if (single === undefined) return []
  const slot = w.declare('f32')
  w.singles.set(local, slot)
  return [single, I.localSet(slot)]
}

function thrown(w: KernelWriter, stmt: Extract<Stmt, { kind: 'Throw' }>): Code {
  const { message } = stmt
  if (message === undefined) return w.thrown({ error: stmt.error, message })
  if (message.kind === 'Literal' && typeof message.value === 'string') return w.thrown({ error: stmt.error, message: message.value })
  const { code, parts } = messageOf(w, message, stmt.span)
  return [...code, w.thrown({ error: stmt.error, message: parts })]
}

function loop(w: KernelWriter, stmt: For): Code {
  const { counted } = stmt
  const init = w.block(stmt.init)
  w.facts = without(w.facts, [stmt])
  if (counted === undefined || stmt.doWhile) return [init, plainLoop(w, stmt)]
  const range = countedRange(w, counted)
  if (range === undefined && isCounter(w, counted)) return [init, plainLoop(w, stmt)]
  // the local holds the value that ends the loop as well, which the body does not see
  const slot = w.slotFor(counted.local, range?.held ?? F64, stmt.span)
  if (range === undefined || w.locals.get(counted.local)?.kind !== 'i32') return [init, plainLoop(w, stmt)]
  const is = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === counted.local
  const turns = (known: Turns): Code => plainLoop(w, stmt, known.seen ?? range.seen, known)
  const fast = fastFor(w, stmt, { slot, is, ...range }, turns) ?? jammedFor(w, stmt, { slot, range }, () => turns({}))
  return [init, fast ?? turns({})]
}

/** Writes a loop without vectorization. `seen` is the range of a counted loop's integer index in the body. */
function plainLoop(w: KernelWriter, stmt: For, seen?: WasmType, known: Turns = {}): Code {
  const { label, counted } = stmt
  const test = (): Code => known.test ?? (stmt.test === undefined ? I.i32Const(1) : w.condition(stmt.test))
  const isFirstTested = !stmt.doWhile && stmt.test !== undefined
  if (counted === undefined || seen === undefined) {
    const tested = (): Facts => (stmt.doWhile || stmt.test === undefined ? NO_FACTS : factsWhen(w, stmt.test, true))
    const body = (): Code => given(w, tested(), () => w.block(stmt.body))
    // the test held when the body began
    const update = (): Code => given(w, without(tested(), stmt.body), () => w.block(stmt.update))
    const parts = { first: isFirstTested, test, body, update }
    return turning(w, { kind: 'next', label }, parts)
  }
  const slot = w.slotOf(counted.local)
  const bound = known.test === undefined && !stmt.doWhile ? costlyBound(w, slot, counted) : undefined
  const body = (): Code => {
    const held = w.locals.get(counted.local)
    w.locals.set(counted.local, seen)
    const code = w.block(known.body ?? stmt.body)
    if (held !== undefined) w.locals.set(counted.local, held)
    return code
  }
  const update = (): Code => [known.after ?? [], stepped(slot, counted.step)]
  const parts = { first: isFirstTested, test: (): Code => bound?.test ?? test(), body, update }
  return [known.before ?? [], bound?.before ?? [], turning(w, { kind: 'next', label }, parts)]
}

/** Computes a bound once that takes long: no iteration changes it. */
function costlyBound(w: KernelWriter, slot: number, counted: CountedLoop): { readonly before: Code; readonly test: Code } | undefined {
  if (!isCostly(counted)) return undefined
  const bound = w.declare('i32')
  const before = [w.expr(counted.to).code, I.localSet(bound)]
  return { before, test: [I.localGet(slot), I.localGet(bound), counted.step > 0 ? OP.i32LtS : OP.i32GtS] }
}

function stored(w: KernelWriter, stmt: Extract<Stmt, { kind: 'Write' }>): Code {
  const { number, shape } = w.array(stmt.array)
  const placed = (): ReturnType<typeof accessCode> => accessCode(w, stmt, stmt.array, stmt.subscripts, `A${number}`, shape.dtype)
  // the value is computed before the place is checked, and after its subscripts
  const isFirst = !stmt.subscripts.every(isSteady)
  const before = isFirst ? placed() : undefined
  const value = w.expr(stmt.value)
  const place = before ?? placed()
  noteInside(w, stmt.subscripts, shape.extents)
  noteStored(w, stmt.array, value.type)
  const kept = w.declare(shape.dtype === 'f64' || shape.dtype === 'f32' ? 'f64' : shape.dtype === 'i64' ? 'i64' : 'i32')
  return [
    ...[place.evaluate, converted(w, value, shape.dtype), I.localSet(kept), place.check],
    ...[place.address, I.localGet(kept), storeOf(shape.dtype, place.offset)],
    carriedOn(w, stmt, kept, shape.dtype),
  ]
}

/** Keeps a stored value in a local where the next iteration reads it. */
function carriedOn(w: KernelWriter, stmt: Stmt, stored: number, dtype: DType): Code {
  const next = w.carried.get(stmt)
  return next === undefined ? [] : [...reloaded(dtype, I.localGet(stored)), I.localSet(next)]
}

function converted(w: KernelWriter, value: Value, dtype: DType): Code {
  if (dtype === 'f64' || dtype === 'f32') return asF64(value)
  if (dtype === 'i64') return asBigint(value)
  return dtype === 'bool' ? asBool(value) : w.emitter.int32(value)
}

function added(w: KernelWriter, stmt: Extract<Stmt, { kind: 'Add' }>): Code {
  const { number, shape } = w.array(stmt.array)
  const { adds } = shape
  noteStored(w, stmt.array, F64)
  if (adds !== 'direct' && adds !== 'lane') throw new NotCompiled('an update buffer has a function of its own', stmt.span)
  const dtype = adds === 'direct' ? shape.dtype : w.target.laneTypes[number]
  if (dtype === undefined) throw new NotCompiled(`${stmt.array} has no memory of its own for what is added`, stmt.span)
  const base = adds === 'direct' ? `A${number}` : `D${number}`
  const place = accessCode(w, stmt, stmt.array, stmt.subscripts, base, dtype)
  const delta = w.expr(stmt.value)
  const address = w.declare('i32')
  const before = loadOf(dtype, I.localGet(address), place.offset)
  if (dtype === 'i64') {
    const kept = w.declare('i64')
    return [
      ...[place.evaluate, asBigint(delta), I.localSet(kept), place.check],
      ...[place.address, I.localTee(address), before.code, I.localGet(kept), OP.i64Add, storeOf(dtype, place.offset)],
    ]
  }
  // doubles add such integers exactly, so the sum's lowest 32 bits are those of a 32-bit addition; beyond, doubles round
  const isInteger = dtype !== 'bool' && integerResult('+', before.type, numberOf(delta).type) !== undefined
  const kept = w.declare(isInteger ? 'i32' : 'f64')
  const sum: Value = isInteger
    ? {
        type: { kind: 'i32', low: LOWEST, high: HIGHEST },
        code: [...loadBits(dtype, I.localGet(address), place.offset), I.localGet(kept), OP.i32Add],
      }
    : { type: F64, code: [asF64(before), I.localGet(kept), OP.f64Add] }
  return [
    ...[place.evaluate, isInteger ? w.emitter.int32(delta) : asF64(delta), I.localSet(kept), place.check],
    ...[place.address, I.localTee(address), converted(w, sum, dtype), storeOf(dtype, place.offset)],
  ]
}

function accumulated(w: KernelWriter, accumulator: string, value: Value, span: Span): Code {
  const i = w.accumulators.indexOf(accumulator)
  const slot = w.accumulatorSlots[i] ?? 0
  const form = w.target.shape.accumulators.get(accumulator)
  switch (form) {
    case 'sum': {
      const base = logOffset(w, accumulator)
      const start = [I.localGet(SCRATCH), I.i32Const(base), OP.i32Add]
      const kept = w.declare('f64')
      return [
        ...[asF64(value), I.localSet(kept), I.localGet(slot), I.localGet(kept), I.memory(OP.f64Store)],
        ...[I.localGet(slot), I.i32Const(8), OP.i32Add, I.localTee(slot)],
        ...[I.localGet(SCRATCH), I.i32Const(base + 8 * LOG_CAPACITY), OP.i32Add, OP.i32Eq, I.if()],
        ...[I.i32Const(i), I.call(w.function('grow', ['i32'], [])), start, I.localSet(slot), OP.end],
      ]
    }
    case 'min':
    case 'max':
      return [I.localGet(slot), asF64(value), form === 'min' ? OP.f64Min : OP.f64Max, I.localSet(slot)]
    case 'count':
      return [value.code, OP.drop, I.localGet(slot), I.f64Const(1), OP.f64Add, I.localSet(slot)]
    case 'custom':
    case undefined:
      throw new NotCompiled(`${accumulator} combines with a function of the program`, span)
  }
}

function returned(w: KernelWriter, value: Expr | undefined, span: Span): Code {
  const leave = w.leave((control) => control.kind === 'iteration', span)
  if (value === undefined) return leave
  const { element } = w.target.shape
  const result = w.expr(value)
  if (isMaybe(result.type)) throw new NotCompiled('what it returns may be undefined', span)
  if (element.kind === 'none') return [result.code, OP.drop, ...leave]
  if (element.kind === 'row') throw new NotCompiled('it replaces rows', span)
  if (element.kind === 'scalar' && element.column.nullable) throw new NotCompiled('the elements may be null', span)
  const dtype = element.kind === 'dense' ? element.dtype : w.target.columnTypes[0]
  if (dtype === undefined) throw new NotCompiled('the elements are no plain numbers', span)
  return [...columnAddress(w, 0), ...converted(w, result, dtype), ...storeOf(dtype), ...leave]
}
