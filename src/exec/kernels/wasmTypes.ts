/**
 * What a WebAssembly kernel knows of a value before it runs: a double, an integer within bounds, or a truth value.
 *
 * Integers are never -0. A double that `maybe` is undefined stands for it as NaN, which is what arithmetic, stores and
 * truth make of undefined; whatever could tell the two apart is not compiled.
 */
import { type Expr, expressionsOf, type FunctionIr, nestedOf, type Stmt, visitExpr } from '../../core/functionIr.ts'
import type { Span } from '../../core/span.ts'
import { type Code, I, OP, SATURATE } from './wasmEncoder.ts'

export type WasmType =
  | { readonly kind: 'i32'; readonly low: number; readonly high: number }
  | { readonly kind: 'f64'; readonly maybe: boolean }
  | { readonly kind: 'bool' }

/** Code that leaves one value, of wasm type f64 or (integers, truth) i32. */
export interface Value {
  readonly type: WasmType
  readonly code: Code
  /** The value, where it is a literal. */
  readonly literal?: number
}

export const F64: WasmType = { kind: 'f64', maybe: false }
export const MAYBE: WasmType = { kind: 'f64', maybe: true }
export const BOOL: WasmType = { kind: 'bool' }
export const LOWEST: number = -(2 ** 31)
export const HIGHEST: number = 2 ** 31 - 1

/** Thrown where a body cannot be compiled; caught by `wasmKernel`. */
export class NotCompiled extends Error {
  readonly span: Span | undefined
  constructor(message: string, span?: Span) {
    super(message)
    this.span = span
  }
}

/** The integer type of a range; undefined when 32 bits do not hold it. */
export function integerType(low: number, high: number): WasmType | undefined {
  return low >= LOWEST && high <= HIGHEST ? { kind: 'i32', low, high } : undefined
}

/** A type that holds both; undefined for a number and a truth value. */
export function joinTypes(a: WasmType, b: WasmType): WasmType | undefined {
  if (a.kind === 'bool' || b.kind === 'bool') return a.kind === b.kind ? BOOL : undefined
  if (a.kind === 'i32' && b.kind === 'i32') return { kind: 'i32', low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) }
  return (a.kind === 'f64' && a.maybe) || (b.kind === 'f64' && b.maybe) ? MAYBE : F64
}

/** JavaScript's ToNumber, as a double. */
export function asF64(value: Value): Code {
  if (value.type.kind === 'f64') return value.code
  if (value.literal !== undefined) return I.f64Const(value.literal)
  return [...value.code, value.type.kind === 'i32' ? OP.f64ConvertI32S : OP.f64ConvertI32U]
}

/** Truth as 0 or 1: neither 0 nor NaN. */
export function asBool(value: Value): Code {
  if (value.type.kind === 'bool') return value.code
  if (value.type.kind === 'i32') return [...value.code, ...I.i32Const(0), OP.i32Ne]
  return [...value.code, OP.f64Abs, ...I.f64Const(0), OP.f64Gt]
}

/** JavaScript's ToInt32. `temporary` is a local of type f64; `slow` a function for what 63 bits do not hold, and NaN. */
export function asInt32(value: Value, temporary: () => number, slow: () => number): Code {
  if (value.type.kind !== 'f64') return value.code
  const t = temporary()
  return [
    ...[...value.code, ...I.localTee(t), OP.f64Abs, ...I.f64Const(2 ** 63), OP.f64Lt, ...I.if('i32')],
    ...[...I.localGet(t), ...SATURATE.i64S, OP.i32WrapI64, OP.else, ...I.localGet(t), ...I.call(slow()), OP.end],
  ]
}

/** The values a sum, difference, product or remainder of integers takes, if all are integers and none is -0. */
export function integerResult(operator: string, a: WasmType, b: WasmType): WasmType | undefined {
  if (a.kind !== 'i32' || b.kind !== 'i32') return undefined
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
      return a.low >= 0 && b.low > 0 ? integerType(0, Math.min(a.high, b.high - 1)) : undefined
    default:
      return undefined
  }
}

/** Locals that some path reads before it gives them a value. */
export function readUnset(ir: FunctionIr): ReadonlySet<string> {
  const found = new Set<string>()
  /** Locals that may be unset; undefined where control never arrives. */
  type State = ReadonlySet<string> | undefined
  const exits: { readonly label: string | undefined; readonly loop: boolean; broken: State; continued: State }[] = []
  const join = (a: State, b: State): State => (a === undefined ? b : b === undefined ? a : new Set([...a, ...b]))
  const read = (expr: Expr, state: State): void =>
    visitExpr(expr, (e) => {
      if (e.kind === 'Local' && state?.has(e.name) === true) found.add(e.name)
    })
  const leave = (label: string | undefined, loopOnly: boolean) =>
    exits.findLast((exit) => (label === undefined ? exit.loop : exit.label === label && (exit.loop || !loopOnly)))
  const all = (stmts: readonly Stmt[], state: State): State => stmts.reduce<State>((s, stmt) => one(stmt, s), state)
  const one = (stmt: Stmt, state: State): State => {
    if (stmt.kind !== 'For') for (const expr of expressionsOf(stmt)) read(expr, state)
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init === undefined) return state === undefined ? state : new Set([...state, stmt.local])
        return without(state, stmt.local)
      case 'Assign':
        return without(state, stmt.local)
      case 'If':
        return join(all(stmt.then, state), all(stmt.else, state))
      case 'Labeled': {
        exits.push({ label: stmt.label, loop: false, broken: undefined, continued: undefined })
        const end = all(stmt.body, state)
        return join(end, exits.pop()?.broken)
      }
      case 'For': {
        let head = all(stmt.init, state)
        for (;;) {
          exits.push({ label: stmt.label, loop: true, broken: undefined, continued: undefined })
          if (stmt.test !== undefined && !stmt.doWhile) read(stmt.test, head)
          const end = all(stmt.body, head)
          const exit = exits.pop()
          const updated = all(stmt.update, join(end, exit?.continued))
          if (stmt.test !== undefined && stmt.doWhile) read(stmt.test, updated)
          const next = join(head, updated)
          if ((next?.size ?? 0) === (head?.size ?? 0)) return join(join(head, updated), exit?.broken)
          head = next
        }
      }
      case 'Break': {
        const exit = leave(stmt.label, false)
        if (exit !== undefined) exit.broken = join(exit.broken, state)
        return undefined
      }
      case 'Continue': {
        const exit = leave(stmt.label, true)
        if (exit !== undefined) exit.continued = join(exit.continued, state)
        return undefined
      }
      case 'Return':
      case 'Throw':
        return undefined
      case 'Write':
      case 'Add':
      case 'Accumulate':
      case 'Evaluate':
        return state
    }
  }
  all(ir.body, new Set())
  return found

  function without(state: State, local: string): State {
    if (state?.has(local) !== true) return state
    return new Set([...state].filter((name) => name !== local))
  }
}

/** Names of locals that the statements declare or assign. */
export function changedIn(stmts: readonly Stmt[]): Set<string> {
  const names = new Set<string>()
  const visit = (stmt: Stmt): void => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') names.add(stmt.local)
    nestedOf(stmt).forEach(visit)
  }
  stmts.forEach(visit)
  return names
}

/** How often the statements read a local. */
export function readsIn(stmts: readonly Stmt[], name: string): number {
  let count = 0
  const visit = (stmt: Stmt): void => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Local' && e.name === name) count++
      })
    }
    nestedOf(stmt).forEach(visit)
  }
  stmts.forEach(visit)
  return count
}
