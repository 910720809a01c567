/**
 * Paired division.
 *
 * Two quotients by one division, where a loop adds quotients of elements named by data:
 *
 *     for e: s += x[at[e]] / d          becomes     for e by 2: q = (x[at[e]], x[at[e + 1]]) / (d, d);  s += q0;  s += q1
 *
 * Divisions are what such a turn takes longest for, and two lanes are divided in the time of one. Each quotient is rounded as
 * it would be by itself, and the additions keep their order. Elements are checked turn by turn as before: a turn does nothing
 * but add to a local, so that one that fails leaves nothing behind of those that it was begun together with. The turn left
 * over is the loop's own.
 *
 * Not where the loop is written out: there the engine has divisions of several turns under way at once, and it takes longer.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { someExpr } from '../../../core/ir/irFacts.ts'
import { type Code, type GrowingCode, I, OP, SIMD } from '../../kir/instructions.ts'
import { asF64 } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { type KnownAddress, LOG2_BYTES } from '../loops/wasmCode.ts'
import { stepped } from '../loops/wasmIteration.ts'
import { type Access, accessesOf, isSteady, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { addedInOrder, termOf } from '../vectors/wasmVectorSums.ts'

/** What is known before the loop. */
export interface Checked {
  /** Accesses that are surely inside. */
  readonly accesses: ReadonlyMap<object, Access>
  readonly turning: Turning
  /** Code that what turns hold in locals takes, where there is a turn. */
  readonly before: Code
}

/** The turns by two, while two are left; undefined where the loop is none of these. */
export function quotientPairs(
  w: KernelWriter,
  { body, index, limit, local, step }: InnerLoop,
  { accesses, turning, before }: Checked,
): Code | undefined {
  const [stmt] = body
  if (w.isDraft || local === undefined || step !== 1 || body.length !== 1 || stmt?.kind !== 'Assign') return undefined
  const term = termOf(stmt)
  if (term?.value.kind !== 'Binary' || term.value.operator !== '/') return undefined
  const { left, right } = term.value
  const isItself = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === stmt.local
  if (someExpr(term.value, isItself) || w.locals.get(stmt.local)?.kind !== 'f64') return undefined
  const found = accessesOf(body)
  const areNamedByData = found.some(({ node }) => !accesses.has(node))
  const ahead = nextTurn(accesses)
  if (!areNamedByData || ahead === undefined) return undefined
  const next = w.declare('i32')
  const outer = { known: w.known, slots: w.slots }
  const held = w.locals.get(local)
  w.locals.set(local, index.seen)
  const steady: GrowingCode = []
  /** An operand of both turns. */
  const pair = (expr: Expr): Code => {
    const first = asF64(w.expr(expr))
    if (isSteady(expr, turning)) {
      const both = w.declare('v128')
      steady.push(first, [SIMD.f64Splat], I.localSet(both))
      return I.localGet(both)
    }
    w.known = new Map([...outer.known, ...ahead])
    w.slots = new Map([...outer.slots, [local, next]])
    const second = asF64(w.expr(expr))
    Object.assign(w, outer)
    return [first, SIMD.f64Splat, second, I.simdLane(SIMD.f64ReplaceLane, 1)]
  }
  const quotients = [pair(left), pair(right), SIMD.f64Div]
  if (held !== undefined) w.locals.set(local, held)
  w.simd = true
  const enough = [I.localGet(limit), I.localGet(index.slot), OP.i32Sub, I.i32Const(2), OP.i32GeS]
  return [
    ...[enough, I.if(), before, steady, I.loop, I.localGet(index.slot), I.i32Const(1), OP.i32Add, I.localSet(next)],
    ...[addedInOrder(w, stmt.local, term.operator, quotients), stepped(index.slot, 2), enough, I.brIf(0), OP.end, OP.end],
  ]
}

/** Where elements lie in the turn after; undefined where one does not lie next to its own. */
function nextTurn(accesses: ReadonlyMap<object, Access>): ReadonlyMap<object, KnownAddress> | undefined {
  const ahead = new Map<object, KnownAddress>()
  for (const [node, { axis, isLast, known, dtype }] of accesses) {
    if (axis >= 0 && !isLast) return undefined
    ahead.set(node, axis < 0 ? known : { code: known.code, offset: known.offset + (1 << LOG2_BYTES[dtype]) })
  }
  return ahead
}
