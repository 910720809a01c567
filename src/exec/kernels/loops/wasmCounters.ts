/**
 * Counters: integers that a body changes by small steps, without a bound of their own.
 *
 *     let row = 0                             row is an integer of 64 bits, never farther than 2 ** 51 from 0;
 *     while (…) if (…) row++; else row--      within the tests that bound it one of 32, whose subscripts need no check
 *
 * Statement: all values that a local is assigned are integers within bounds, or its own value and a step of at most 4. Each step is an
 * assignment that runs, and an iteration that ran 2 ** 49 of them would take more than a day, at four in a nanosecond. So the local
 * is never farther from these bounds than 2 ** 51, where doubles hold every integer: it is exact, and 64 bits hold it.
 */
import { type Expr, type FunctionIr, visitStmts } from '../../../core/ir/functionIr.ts'
import { someExpr } from '../../../core/ir/irFacts.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, SATURATE } from '../../kir/instructions.ts'
import {
  asType,
  type Bounds,
  F64,
  integerType,
  isInteger,
  joinTypes,
  number,
  sameType,
  type Value,
  type WasmType,
} from '../expressions/types.ts'
import { changing, LATE_ROUND, ROUNDS_OF_INTEGERS, WIDENING_ROUND } from './wasmRounds.ts'

/** The largest step of a counter. */
export const LARGEST_STEP = 4

/** How far a counter gets from the values that it is assigned otherwise. */
const FARTHEST: number = LARGEST_STEP * 2 ** 49

/** Bounds are kept so far below the largest exact integer that a step beyond them is exact as well. */
const MOST = Number.MAX_SAFE_INTEGER - LARGEST_STEP

/** What is asked of the kernel being written. */
interface CounterScope {
  /** Locals that hold what another local held, by name. */
  readonly copies: ReadonlyMap<string, string>
  expr(expr: Expr): Value
}

/** What is asked of it to assign a local. */
interface RestoreScope {
  readonly locals: ReadonlyMap<string, WasmType>
  slotOf(name: string): number
  assign(name: string, value: Value, span: Span): Code
}

/** Whether an assignment of this value is a step of the local: its own value, or one that it had before, and a small integer. */
export function isStep(w: CounterScope, local: string, value: Expr): boolean {
  if (value.kind === 'Conditional') {
    const isOwnOrStep = (side: Expr): boolean => (side.kind === 'Local' && side.name === local) || isStep(w, local, side)
    return isOwnOrStep(value.then) && isOwnOrStep(value.else)
  }
  if (value.kind !== 'Binary' || (value.operator !== '+' && value.operator !== '-')) return false
  const isOwn = (expr: Expr): boolean => expr.kind === 'Local' && (expr.name === local || w.copies.get(expr.name) === local)
  const by = isOwn(value.left) ? value.right : value.operator === '+' && isOwn(value.right) ? value.left : undefined
  if (by === undefined || someExpr(by, ({ kind }) => kind === 'Draw')) return false
  const { type } = number(w.expr(by))
  return type.kind === 'i32' && type.low >= -LARGEST_STEP && type.high <= LARGEST_STEP
}

/** The locals that are declared once, as the value that another local has then, and never assigned, with that other local: `let temp = k`. */
export function copiesOf({ body }: Pick<FunctionIr, 'body'>): ReadonlyMap<string, string> {
  const copies = new Map<string, string>()
  const others = new Set<string>()
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Assign') others.add(stmt.local)
    if (stmt.kind !== 'Let') return
    if (stmt.init?.kind !== 'Local' || copies.has(stmt.local)) others.add(stmt.local)
    else copies.set(stmt.local, stmt.init.name)
  })
  return new Map([...copies].filter(([name]) => !others.has(name)))
}

/** The locals that arrays of a function keep while others have their names, by array. */
export function keptLocals({ uses }: Pick<FunctionIr, 'uses'>): ReadonlyMap<string, readonly string[]> {
  return new Map(uses.flatMap(({ name, keeps }) => (keeps === undefined ? [] : [[name, keeps] as const])))
}

/** Assigns a local a value that it had before, which an array has kept: an integer if the local holds nothing else. */
export function restored(w: RestoreScope, name: string, value: Value, span: Span): Code {
  const held = w.locals.get(name)
  if (held === undefined || !isInteger(held) || value.type.kind === 'bool') return w.assign(name, value, span)
  const truncated = held.kind === 'i32' ? SATURATE.i32S : SATURATE.i64S
  return [value.type.kind === 'f64' ? [value.code, truncated] : asType(value, held), I.localSet(w.slotOf(name))]
}

/** The wider type of a counter whose steps lead out of its type `held`, in which they are of the type `steps`; `others` has its other values. */
export function grownCounter(held: WasmType, steps: WasmType, others: WasmType | undefined, round: number): WasmType | undefined {
  if (!isInteger(held)) return undefined
  const needed = counterType(steps, others)
  const joined = joinTypes(held, needed) ?? F64
  if (sameType(joined, held)) return undefined
  const isFar = round > WIDENING_ROUND && round < ROUNDS_OF_INTEGERS
  if (isFar && isInteger(needed) && others !== undefined && isInteger(others)) return farCounter(held, needed, others, round >= LATE_ROUND)
  return joinTypes(held, changing(joined, held, round)) ?? F64
}

function counterType(steps: WasmType, others: WasmType | undefined): WasmType {
  if (!isInteger(steps) || others === undefined || !isInteger(others)) return F64
  const [low, high] = [Math.max(steps.low, others.low - FARTHEST), Math.min(steps.high, others.high + FARTHEST)]
  return low < -MOST || high > MOST ? F64 : (joinTypes(others, integerType(low, high) ?? F64) ?? F64)
}

/** The bounds of a counter that has left those of `held`: as far as it gets in that direction, or, late, as far as any does. */
function farCounter(held: Bounds, needed: Bounds, others: Bounds, isLate: boolean): WasmType {
  const [least, most] = isLate ? [-MOST, MOST] : [others.low - FARTHEST, others.high + FARTHEST]
  const low = needed.low < held.low ? least : held.low
  const high = needed.high > held.high ? most : held.high
  return low < -MOST || high > MOST ? F64 : (integerType(low, high) ?? F64)
}
