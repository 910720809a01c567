/**
 * Paired division.
 *
 * Computes two quotients by one vector division, in a loop that adds quotients of indirectly addressed elements:
 *
 *     for e: s += x[at[e]] / d          becomes     for e by 2: q = (x[at[e]], x[at[e + 1]]) / (d, d);  s += q0;  s += q1
 *
 * Division takes most of the time of such an iteration, and two lanes are divided in the time of one. Each quotient is rounded as
 * it would be by itself, and the additions keep their order. Elements are checked iteration by iteration as before: an iteration only
 * adds to a local, so that one that fails leaves no trace of the other one that was begun with it. An odd iteration is left to
 * the plain loop.
 *
 * Not done where the loop is unrolled: there the engine overlaps the divisions of several iterations, and pairs take longer.
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

/** The facts that are established before the loop. */
export interface Checked {
  /** The accesses that are known to be in bounds. */
  readonly accesses: ReadonlyMap<object, Access>
  readonly turning: Turning
  /** Code that sets the locals which iterations hold; it runs where there is an iteration. */
  readonly before: Code
}

/** Code for pairs of iterations, while two are left; undefined where the loop is not of this form. */
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
  /** The operand of both iterations, as two lanes. */
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

/** Returns the addresses of elements in the next iteration; undefined where one is not adjacent to its own. */
function nextTurn(accesses: ReadonlyMap<object, Access>): ReadonlyMap<object, KnownAddress> | undefined {
  const ahead = new Map<object, KnownAddress>()
  for (const [node, { axis, isLast, known, dtype }] of accesses) {
    if (axis >= 0 && !isLast) return undefined
    ahead.set(node, axis < 0 ? known : { code: known.code, offset: known.offset + (1 << LOG2_BYTES[dtype]) })
  }
  return ahead
}
