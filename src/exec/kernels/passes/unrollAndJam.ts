/**
 * Unroll-and-jam.
 *
 * Several iterations of a loop in one pass over the loop inside it, where each adds to the same row: the row is loaded and
 * stored once for all of them.
 *
 *     for k: { const a = A[i][k];  for j: C[i][j] = C[i][j] + a * B[k][j] }
 *
 *     becomes   for k by 4: { const a = A[i][k], a' = A[i][k + 1], …
 *                             for j: c = C[i][j] + a * B[k][j];  c' = c + a' * B[k + 1][j];  …  C[i][j] = c''' }
 *
 * Iteration j of the inner loop runs for k + 1 before the iterations after j run for k. It is legal where those access no element
 * that one of them writes: where all accesses to memory that the inner loop writes are at one place, which depends only on its
 * index. Nothing else that an outer iteration reads is written in it. Nothing may fail in the inner loop, which
 * checks ensure ahead of it, nor before it, where subscripts must be in bounds for all k; so the changed order
 * cannot be observed. Where a check fails the original loop continues, as it does with the remaining iterations.
 */
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, hasLoop, someExpr } from '../../../core/ir/irFacts.ts'
import { rewriteExpr, rewriteStmts, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import { placeText } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import { integerType, type WasmType } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { type CountedRange, countedRange } from '../loops/wasmCounted.ts'
import { stepped, turning } from '../loops/wasmIteration.ts'
import { readsIn } from '../loops/wasmLocals.ts'
import { accessesOf, hoistedAccesses, isSteady, type LoopIndex, memoryOf, type Turning } from '../loops/wasmLoopAccess.ts'
import type { For, KernelWriter } from '../loops/wasmWriter.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'
import { vectorLoop } from '../vectors/wasmVectors.ts'
import { bordersOf } from './indexSetSplitting.ts'

/** The numbers of outer iterations to jam, best first. */
const TURNS = [4, 2] as const
/** The most statements and operations of all jammed iterations: more values would exceed the registers. */
const MOST = 80
/** The vectors of the inner loop that an iteration covers: beside four jammed iterations, which save loads and stores, more gain none. */
const VECTORS = 2
/** The fewest inner iterations for which jamming pays. */
const SHORTEST = 8
/** The bound of both ends of a range, so that its length is a 32-bit integer. */
const FAR = 2 ** 30

/** The outer and the inner loop. */
interface Pair {
  readonly outer: For
  readonly lets: readonly Let[]
  readonly inner: For
}

type Let = Extract<Stmt, { kind: 'Let' }> & { readonly init: Expr }

/** The index of the outer loop. */
interface OuterIndex {
  readonly slot: number
  readonly range: CountedRange
}

/** Writes the loop jammed, and its remainder; undefined where that is not legal, or gains nothing. `plain` writes the unchanged loop. */
export function jammedFor(w: KernelWriter, outer: For, index: OuterIndex, plain: () => Code): Code | undefined {
  const pair = w.isDraft || w.keepsOrder ? undefined : pairOf(w, outer)
  if (pair === undefined) return undefined
  for (const turns of TURNS) {
    const jammed = jammedLoop(w, pair, index, turns)
    if (jammed === undefined) continue
    const rest = plain()
    const place = placeText(pair.inner.span)
    const at = w.loops.findLastIndex((fate) => fate.place === place)
    const fate = w.loops[at]
    const { local } = outer.counted ?? { local: '' }
    if (fate !== undefined) w.loops[at] = { ...fate, text: `${fate.text}, for ${turns} iterations of ${local} at a time` }
    return [jammed, rest]
  }
  return undefined
}

/** Matches a loop with an inner loop of the right form; else undefined. */
function pairOf(w: KernelWriter, outer: For): Pair | undefined {
  const inner = outer.body.at(-1)
  const lets = outer.body.slice(0, -1)
  if (inner?.kind !== 'For' || !lets.every(isLet) || outer.counted?.step !== 1) return undefined
  const { counted, body, init, update, doWhile } = inner
  if (counted?.step !== 1 || doWhile || init.length !== 1 || update.length !== 1 || hasLoop(body)) return undefined
  const { local } = outer.counted
  if ([outer.body, body].some((stmts) => changedIn(stmts).has(local)) || changedIn(body).has(counted.local)) return undefined
  if (w.readsOf(counted.local) !== readsIn([inner], counted.local)) return undefined
  const isPlain = body.every((stmt) => (isLet(stmt) && !w.isChanged(stmt.local)) || stmt.kind === 'Write' || stmt.kind === 'Add')
  if (!isPlain || lets.some((stmt) => w.isChanged(stmt.local))) return undefined
  const changed = changedIn(outer.body)
  changed.add(local)
  const shared: Turning = { index: NO_INDEX, isRun: false, changed }
  return isSteady(counted.from, shared) && isSteady(counted.to, shared) ? { outer, lets, inner } : undefined
}

const NO_INDEX: LoopIndex = { slot: 0, seen: { kind: 'bool' }, held: { kind: 'bool' }, is: () => false }

function isLet(stmt: Stmt): stmt is Let {
  return stmt.kind === 'Let' && stmt.init !== undefined
}

function jammedLoop(w: KernelWriter, { outer, lets, inner }: Pair, { slot, range }: OuterIndex, turns: number): Code | undefined {
  const { counted } = outer
  const within = inner.counted
  if (counted === undefined || within === undefined || turns * sizeOf(inner.body) > MOST) return undefined
  const seen = firstOf(range, turns)
  const to = w.expr(counted.to)
  if (seen === undefined || to.type.kind !== 'i32' || Math.abs(to.type.low) > FAR || to.type.high > FAR) return undefined
  const copies = Array.from({ length: turns }, (_, turn) => copyOf(outer, lets, inner, turn))
  const body = forwarded(
    w,
    copies.flatMap((copy) => copy.body),
  )
  if (body === undefined || readsWritten(w, lets, body)) return undefined
  const before = w.locals.get(counted.local)
  w.locals.set(counted.local, seen)
  const code = turnsOf(w, { lets: copies.flatMap((copy) => copy.lets), inner, body })
  if (before !== undefined) w.locals.set(counted.local, before)
  if (code === undefined) return undefined
  const limit = w.declare('i32')
  const enough = [I.localGet(limit), I.localGet(slot), OP.i32Sub, I.i32Const(turns), OP.i32GeS]
  return [
    ...[to.code, I.localSet(limit), I.block(), I.loop, enough, OP.i32Eqz, I.brIf(1)],
    ...[code, stepped(slot, turns), I.br(0), OP.end, OP.end],
  ]
}

/** The range of the index where so many iterations are left; undefined where they never are. */
function firstOf({ seen, held }: CountedRange, turns: number): WasmType | undefined {
  if (seen.kind !== 'i32' || held.kind !== 'i32' || held.low < -FAR || held.high > FAR) return undefined
  const high = seen.high - (turns - 1)
  return high < seen.low ? undefined : integerType(seen.low, high)
}

/** Copies an outer iteration, `turn` after the first, with locals of its own. */
function copyOf(
  { counted }: For,
  lets: readonly Let[],
  { body }: For,
  turn: number,
): { readonly lets: readonly Let[]; readonly body: readonly Stmt[] } {
  const own = changedIn([...lets, ...body])
  const by = {
    ...UNCHANGED,
    expr: (expr: Expr): Expr => {
      if (expr.kind !== 'Local' || expr.name !== counted?.local || turn === 0) return expr
      return { kind: 'Binary', operator: '+', left: expr, right: { kind: 'Literal', value: turn, span: expr.span }, span: expr.span }
    },
    local: (name: string): string => (own.has(name) ? `${name}:${turn}` : name),
  }
  return { lets: rewriteStmts(lets, by).filter(isLet), body: rewriteStmts(body, by) }
}

/**
 * Forwards written values through locals and writes them at the end of the body; undefined where not all accesses to written memory
 * are at one place, or a local would not hold the same value as the array.
 */
function forwarded(w: KernelWriter, body: readonly Stmt[]): readonly Stmt[] | undefined {
  const places = new Map<string, string>()
  const found = accessesOf(body)
  for (const access of found) if (access.kind !== 'read') places.set(memoryOf(w, access), placeOf(access))
  if (found.some((access) => (places.get(memoryOf(w, access)) ?? placeOf(access)) !== placeOf(access))) return undefined
  const last = new Map<string, { readonly local: string; readonly write: Extract<Stmt, { kind: 'Write' | 'Add' }> }>()
  const read = (expr: Expr): Expr => {
    const held = expr.kind === 'Read' ? last.get(memoryOf(w, { kind: 'read', array: expr.array })) : undefined
    return held === undefined ? expr : { kind: 'Local', name: held.local, span: expr.span }
  }
  const stmts: Stmt[] = []
  for (const [number, stmt] of body.entries()) {
    if (stmt.kind !== 'Write' && stmt.kind !== 'Add') {
      stmts.push(...rewriteStmts([stmt], { ...UNCHANGED, expr: read }))
      continue
    }
    const { array, span } = stmt
    const { shape } = w.array(array)
    if (stmt.kind === 'Add' && shape.adds !== 'direct') return undefined
    const value = rewriteExpr(stmt.value, { ...UNCHANGED, expr: read })
    const before = read({ kind: 'Read', array, subscripts: stmt.subscripts, span })
    const kept = stored(shape.dtype, stmt.kind === 'Write' ? value : { kind: 'Binary', operator: '+', left: before, right: value, span })
    if (kept === undefined) return undefined
    const local = `${array}:=${number}`
    stmts.push({ kind: 'Let', local, init: kept, span })
    last.set(memoryOf(w, { kind: 'write', array }), { local, write: stmt })
  }
  for (const { local, write } of last.values()) {
    const { array, subscripts, span } = write
    stmts.push({ kind: 'Write', array, subscripts, value: { kind: 'Local', name: local, span }, span })
  }
  return stmts
}

function placeOf({ array, subscripts }: { readonly array: string; readonly subscripts: readonly Expr[] }): string {
  return `${array} ${exprId(subscripts)}`
}

/** The expression for what a load returns after `value` was stored; undefined where the IR has none. */
function stored(dtype: string, value: Expr): Expr | undefined {
  // arithmetic always gives a number
  if (value.kind !== 'Binary' || !['+', '-', '*', '/'].includes(value.operator)) return undefined
  if (dtype === 'f64') return value
  return dtype === 'f32' ? { kind: 'Call', callee: 'Math.fround', args: [value], span: value.span } : undefined
}

/** Whether an outer iteration reads, before the inner loop, memory that the inner loop writes. */
function readsWritten(w: KernelWriter, lets: readonly Let[], body: readonly Stmt[]): boolean {
  const written = new Set(accessesOf(body).flatMap((access) => (access.kind === 'read' ? [] : [memoryOf(w, access)])))
  return accessesOf(lets).some((access) => written.has(memoryOf(w, access)))
}

/** Code of jammed outer iterations. They have no effects before the checks, after which they run to their end. */
function turnsOf(
  w: KernelWriter,
  { lets, inner, body }: { readonly lets: readonly Let[]; readonly inner: For; readonly body: readonly Stmt[] },
): Code | undefined {
  const { counted } = inner
  if (counted === undefined) return undefined
  const first: Code[] = []
  for (const one of lets) {
    if (!cannotFail(w, one.init)) return undefined
    first.push(w.block([one]))
  }
  const start = w.block(inner.init)
  const range = countedRange(w, counted)
  if (range === undefined || range.seen.kind !== 'i32' || range.seen.high - range.seen.low < SHORTEST) return undefined
  const { local } = counted
  const slot = w.slotFor(local, range.held, inner.span)
  const end = w.expr(counted.to)
  const held = w.locals.get(local)
  if (held?.kind !== 'i32' || end.type.kind !== 'i32') return undefined
  const index: LoopIndex = { slot, is: (expr) => expr.kind === 'Local' && expr.name === local, ...range }
  const limit = w.declare('i32')
  const changes: Turning = { index, isRun: false, changed: changedIn(body) }
  const found = accessesOf(body)
  w.locals.set(local, range.seen)
  const { accesses, setup, checks } = hoistedAccesses(w, found, changes, { limit, step: 1 })
  const turns = (): Code => {
    const test = (): Code => [I.localGet(slot), I.localGet(limit), OP.i32LtS]
    return turning(w, { kind: 'next' }, { first: true, test, body: () => w.block(body), update: () => stepped(slot, 1) })
  }
  const loop: InnerLoop = {
    name: '',
    body,
    source: inner.body,
    step: 1,
    index,
    limit,
    isRun: false,
    turns,
    zeroSums: new Set(),
    vectors: VECTORS,
  }
  const isChecked = found.every(({ node }) => accesses.has(node)) && bordersOf(w, loop, changes) === undefined
  const vectors = isChecked ? vectorLoop(w, loop, accesses, changes, checks.length > 0) : undefined
  const outer = w.known
  w.known = new Map([...outer, ...[...accesses].map(([node, { known }]) => [node, known] as const)])
  const rest = vectors === undefined || vectors.lanes === 1 ? undefined : turns()
  w.known = outer
  w.locals.set(local, held)
  if (vectors === undefined || rest === undefined) return undefined
  const leave = checks.map((check) => [check, OP.i32Eqz, I.brIf(1)])
  return [first, start, end.code, I.localSet(limit), setup, leave, vectors.code, rest]
}

/** Whether an expression has a value in every iteration of the outer loop, and no effect. */
function cannotFail(w: KernelWriter, expr: Expr): boolean {
  const mayFail = (one: Expr): boolean => {
    if (one.kind === 'Draw' || one.kind === 'Has' || one.kind === 'MethodCall') return true
    if (one.kind !== 'Read') return false
    const { shape } = w.array(one.array)
    return one.subscripts.some((subscript, axis) => {
      const { type } = w.expr(subscript)
      return type.kind !== 'i32' || type.low < 0 || type.high >= (shape.extents[axis] ?? 0)
    })
  }
  return !someExpr(expr, mayFail)
}
