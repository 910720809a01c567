/**
 * Compiles innermost counted loops: bounds are checked once before the loop, the addresses of rows are computed once,
 * and where iterations are independent, several are computed at once in vector lanes.
 *
 *     if (all subscripts are in bounds) { vectors while a whole one is left; then one by one, unchecked }
 *     else the unchanged loop, which fails where the source does
 *
 * Addresses are computed in `wasmLoopAccess.ts`, locals kept by `scalarReplacement.ts`, vectors written by `wasmVectors.ts`.
 */
import { type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { changedIn, hasLoop } from '../../../core/ir/irFacts.ts'
import { placeText } from '../../../core/span.ts'
import { type Code, I, OP, type Plain } from '../../kir/instructions.ts'
import { draws } from '../math/drawsApart.ts'
import { fewTurns, MOST_TURNS, writtenOut } from '../passes/fullUnrolling.ts'
import { type Borders, bordersOf } from '../passes/indexSetSplitting.ts'
import { quotientPairs } from '../passes/pairedDivision.ts'
import { carriedReads } from '../passes/scalarReplacement.ts'
import { vectorLoop, vectorNest } from '../vectors/wasmVectors.ts'
import type { InnerLoop } from './innerLoop.ts'
import { fewValues } from './wasmCounted.ts'
import { returnsValue } from './wasmLocals.ts'
import { accessesOf, hoistedAccesses, type LoopIndex, type Turning } from './wasmLoopAccess.ts'
import type { For, KernelWriter } from './wasmWriter.ts'

const NONE: ReadonlySet<string> = new Set()

/** Writes a counted loop whose index is initialized; undefined where nothing is gained over the plain loop. */
export function fastFor(w: KernelWriter, stmt: For, index: LoopIndex, turns: InnerLoop['turns']): Code | undefined {
  const { counted, body, span } = stmt
  if (counted === undefined || hasLoop(body) || changedIn(body).has(counted.local)) return undefined
  const end = w.expr(counted.to)
  if (end.type.kind !== 'i32' || index.held.kind !== 'i32') return undefined
  const limit = w.declare('i32')
  const { step } = counted
  const test = [I.localGet(index.slot), I.localGet(limit), step > 0 ? OP.i32LtS : OP.i32GtS]
  const known: InnerLoop['turns'] = (more) => turns(more.before === undefined ? more : { test, ...more })
  const name = `for ${counted.local} at ${placeText(span)}`
  const values = fewValues(w, counted, MOST_TURNS)
  const few = values && { local: counted.local, label: stmt.label, values }
  const place = placeText(span)
  const zeroSums = w.zeroSums.get(stmt) ?? NONE
  const { local } = counted
  const code = fastLoop(w, { name, local, place, body, source: body, step, index, limit, isRun: false, turns: known, few, zeroSums })
  return code === undefined ? undefined : [end.code, I.localSet(limit), code]
}

/** Writes a run whose body has loops: in lanes of iterations, of all or of those between its borders, unless most innermost loops have lanes of their own. */
export function nestedRun(w: KernelWriter, loop: InnerLoop): Code {
  const { length } = w.loops
  const before = w.vectorized
  const plain = loop.turns({})
  if (2 * (w.vectorized - before) > innermostLoops(loop.body) || w.isDraft || w.keepsOrder) return plain
  const plainLoops = w.loops.slice(length)
  const whole = nestInLanes(w, loop, length, plain)
  if (typeof whole !== 'string') return whole
  const borders = bordersOf(w, loop, { index: loop.index, isRun: true, changed: changedIn(loop.body) })
  const apart = borders && apartFromBorders(w, loop, borders, (between) => onlyCode(nestInLanes(w, between, length)))
  if (apart !== undefined) return apart
  w.loops.length = length
  w.loops.push(...plainLoops, { text: `${loop.name}: not vectorized, ${whole}`, lanes: 1 })
  return plain
}

/** Writes the iterations of a nest in lanes, and those left over one by one; a reason where there are no lanes. The kernel has `length` loops before it. */
function nestInLanes(w: KernelWriter, loop: InnerLoop, length: number, plain?: Code): Code | string {
  const vectors = vectorNest(w, loop)
  if (typeof vectors === 'string') return vectors
  const turns = w.precision === 'exact' ? (plain ?? loop.turns({})) : exactTurns(w, loop)
  w.loops.length = length
  w.loops.push({ text: `${loop.name}: ${vectors.summary}, with the loops inside`, lanes: vectors.lanes, nested: true })
  const { checks, code } = vectors
  if (checks.length === 0) return [code, turns]
  return [checks, ...checks.slice(1).map(() => OP.i32And), I.if(), code, OP.end, turns]
}

function onlyCode(code: Code | string): Code | undefined {
  return typeof code === 'string' ? undefined : code
}

function placed({ place }: InnerLoop): { readonly place?: string } {
  return place === undefined ? {} : { place }
}

/** Writes the loop in exact precision, for iterations left over by lanes, which then round nothing and add in order. */
function exactTurns(w: KernelWriter, loop: InnerLoop): Code {
  const { precision } = w
  w.precision = 'exact'
  const code = loop.turns({})
  w.precision = precision
  return code
}

function innermostLoops(body: readonly Stmt[]): number {
  let count = 0
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'For' && !hasLoop(stmt.body)) count++
  })
  return count
}

export function fastLoop(w: KernelWriter, loop: InnerLoop): Code | undefined {
  const { body, index, isRun } = loop
  if (hasLoop(body)) return undefined
  const isDrawn = w.generators.size > 0 && draws(body)
  if (w.isPlain || isDrawn) {
    const because = isDrawn ? 'random numbers are drawn' : 'a bigint may be divided by zero or made of a fraction'
    w.loops.push({ text: `${loop.name}: not vectorized, ${because}`, lanes: 1, ...placed(loop) })
    return undefined
  }
  const borders = bordersOf(w, loop, { index, isRun, changed: changedIn(body) })
  return (borders && apartFromBorders(w, loop, borders, (between) => wholeLoop(w, between))) ?? wholeLoop(w, loop)
}

/** Splits a loop at its borders, keeping the order of iterations; undefined where nothing is gained. `write` writes what is between them. */
function apartFromBorders(
  w: KernelWriter,
  loop: InnerLoop,
  { body, seen, from, to, holds, ...known }: Borders,
  write: (between: InnerLoop) => Code | undefined,
): Code | undefined {
  const { limit, index, isRun, name } = loop
  const { slot } = index
  const isApart = from.length + to.length + holds.length > 0
  const test = [I.localGet(slot), I.localGet(limit), OP.i32LtS]
  const between: InnerLoop = {
    ...loop,
    name: isApart ? `${name} between its borders` : name,
    few: undefined,
    // iterations before the borders add to these sums
    zeroSums: isApart ? NONE : loop.zeroSums,
    body,
    index: { ...index, seen },
    turns: (more) => loop.turns({ test, body, seen, ...more }),
  }
  const keys = isRun ? new Map([...known.keys, [w.runAxis ?? 0, seen] as const]) : known.keys
  const middle = (): Code | undefined => w.knowing(keys, known.locals, () => write(between))
  if (!isApart) return middle()
  const inside = { kind: 'other' } as const
  w.control.push(inside, inside, inside)
  const code = middle()
  const { length } = w.loops
  const others = code === undefined ? [] : loop.turns({ test })
  w.loops.length = length // loops inside of the few others are not told of
  w.control.length -= 3
  if (code === undefined) return undefined
  const [end, low, high] = [w.declare('i32'), w.declare('i32'), w.declare('i32')]
  const bounded = (bound: number, by: Code, opcode: Plain): Code => [
    ...[...by, I.localTee(limit), I.localGet(bound), I.localGet(limit), I.localGet(bound)],
    ...[opcode, OP.select, I.localSet(bound)],
  ]
  return [
    ...[I.localGet(limit), I.localTee(end), I.localSet(high), I.localGet(slot), I.localSet(low)],
    ...from.map((at) => bounded(low, at, OP.i32GtS)),
    ...to.map((at) => bounded(high, at, OP.i32LtS)),
    // an empty range between the borders: all iterations come before it
    ...[I.localGet(low), I.localGet(high), OP.i32LtS, ...holds.map((holding) => [holding, OP.i32And])],
    ...[OP.i32Eqz, I.if(), I.localGet(end), I.localSet(low), OP.end],
    ...[I.localGet(slot), I.localGet(end), OP.i32LtS, I.if(), I.loop],
    ...[I.localGet(slot), I.localGet(low), OP.i32GeS, I.localGet(slot), I.localGet(high), OP.i32LtS, OP.i32And],
    ...[I.if(), I.localGet(high), I.localSet(limit), code, OP.else],
    ...[I.localGet(low), I.localGet(end), I.localGet(slot), I.localGet(low), OP.i32LtS, OP.select, I.localSet(limit)],
    ...[others, OP.end, I.localGet(slot), I.localGet(end), OP.i32LtS, I.brIf(0), OP.end, OP.end],
  ]
}

function wholeLoop(w: KernelWriter, loop: InnerLoop): Code | undefined {
  const { body, index, limit, step, isRun } = loop
  const turning: Turning = { index, isRun, changed: changedIn(body) }
  const { accesses, setup, checks } = hoistedAccesses(w, accessesOf(body), turning, { limit, step })
  const outer = { known: w.known, held: w.held, carried: w.carried }
  if (accesses.size === 0 && !(isRun && returnsValue(body))) return undefined
  const vectors = vectorLoop(w, loop, accesses, turning, checks.length > 0)
  if (vectors.isBest) w.vectorized++
  const unchecked = (): Code => {
    w.known = new Map([...outer.known, ...[...accesses].map(([node, { known }]) => [node, known] as const)])
    const { reads, writes, before, after, count } = carriedReads(w, loop, accesses, turning)
    w.held = new Map([...outer.held, ...reads])
    w.carried = writes
    const few = vectors.code.length === 0 ? fewTurns(loop, accesses) : undefined
    const isPlain = vectors.code.length === 0 && few === undefined && count === 0
    const pairs = isPlain ? quotientPairs(w, loop, { accesses, turning, before }) : undefined
    const turns = few === undefined ? loop.turns({ before, after }) : [before, writtenOut(w, few, loop, accesses, after)]
    const code = pairs === undefined ? turns : [pairs, turns]
    const carried = count === 0 ? '' : `, ${count} ${count === 1 ? 'read' : 'reads'} carried from turn to turn`
    const short = few === undefined ? '' : ', written out'
    const paired = pairs === undefined ? '' : ', two quotients at a time'
    w.loops.push({ text: `${loop.name}: ${vectors.summary}${carried}${short}${paired}`, lanes: vectors.lanes, ...placed(loop) })
    Object.assign(w, outer)
    return code
  }
  const { singles } = vectors
  const narrowed = [...singles].map(([local, slot]) => [I.localGet(w.slotOf(local)), OP.f32DemoteF64, I.localSet(slot)])
  /** Writes the iterations left over, if any, which add doubles to the sums of lanes. */
  const left = (): Code => {
    if (singles.size === 0) return unchecked()
    const code = w.within({ kind: 'other' }, unchecked)
    return [I.localGet(index.slot), I.localGet(limit), OP.i32LtS, I.if(), code, narrowed, OP.end]
  }
  const finish = (code: Code): Code => {
    for (const [local, slot] of singles) w.singles.set(local, slot)
    return code
  }
  if (checks.length === 0) return finish([setup, vectors.code, left()])
  const inside = [checks, ...checks.slice(1).map(() => OP.i32And)]
  const fast = w.within({ kind: 'other' }, left)
  const checked = w.within({ kind: 'other' }, () => loop.turns({}))
  return finish([setup, inside, I.if(), vectors.code, fast, OP.else, checked, narrowed, OP.end])
}
