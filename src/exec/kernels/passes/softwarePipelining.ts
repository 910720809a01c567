/**
 * Software pipelining.
 *
 * Runs the end of an iteration beside the beginning of the next one, in exact precision: a loop that updates rows, and the sum in
 * order with which the next iteration begins, become one loop over their common index. The sum's additions form a chain of latencies;
 * meanwhile the update's lanes compute.
 *
 *     for t: p = 0;  for k: p += w[k] * h[k];  e = x - p;  for k: w[k] = f(w[k], e, h[k])
 *
 *     becomes   p of the first;  for t: e = x - p;  p' = 0;  for k: w[k] = f(w[k], e, h[k]);  p' += w'[k] * h'[k]
 *
 * where w' and h' are the rows of iteration t + 1. `softwarePipeliningLegality.ts` says where that is legal. The bounds of the next
 * iteration's accesses are checked before the two run together; where a check fails, this iteration ends by itself, and
 * the next one begins by itself, and fails as it always did.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn } from '../../../core/ir/irFacts.ts'
import { placeText } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { countedRange } from '../loops/wasmCounted.ts'
import { elementStart, type NextIteration, stepped } from '../loops/wasmIteration.ts'
import { type Access, accessesOf, hoistedAccesses, type LoopIndex, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { HandedOver, LaneTurns } from '../vectors/vectorLoop.ts'
import { LANES, Scalar } from '../vectors/wasmLanes.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'
import { laneTurns } from '../vectors/wasmVectors.ts'
import { type KeptRows, keptRows } from './keptRows.ts'
import { type Ahead, asAhead, headCode, knowing } from './softwarePipelinedStart.ts'
import { type CountedFor, meetAtIndex, type Parts, partsOf } from './softwarePipeliningLegality.ts'

/** The vectors of iterations that an iteration of the unrolled loop covers. */
const UNROLLED = 4
/** The most statements and operations of both loops that are unrolled; more would exceed the registers. */
const MOST_UNROLLED = 60
/** The most coincidences of a row of the next iteration with one of this iteration that have code of their own. */
const MOST_SHARED = 2

/** Writes the body of an iteration; where possible, as a loop that ends each iteration while it begins the next. */
export function overlappedBody(w: KernelWriter, body: readonly Stmt[], next: NextIteration): Code {
  const parts = w.isDraft || w.keepsOrder || w.precision !== 'exact' ? undefined : partsOf(w, body)
  if (parts === undefined) return w.block(body)
  const { head, sum, middle, update, tail } = parts
  const begin = w.block([...head, sum, ...middle])
  const end = w.block([update, ...tail])
  const { length } = w.loops
  const { vectorized } = w
  const inside = { kind: 'other' } as const
  w.control.push(inside, inside)
  const isKept = w.declare('i32')
  const found = attempted(() => steadyState(w, parts, next, isKept))
  w.control.length -= 2
  w.loops.length = length
  w.vectorized = vectorized
  if (found === undefined) return [begin, end]
  w.simd = true
  const place = placeText(sum.span)
  const at = w.loops.findIndex((fate) => fate.place === place)
  const fate = w.loops[at]
  const text = `, beside the update of the iteration before${found.keepsRows ? ', rows kept as doubles' : ''}`
  if (fate !== undefined) w.loops[at] = { ...fate, text: `${fate.text}${text}`, isBeside: true }
  return [begin, I.i32Const(0), I.localSet(isKept), I.loop, I.block(), found.code, I.br(1), OP.end, OP.end, end]
}

/** Runs `write`; undefined where it finds that vectors do not apply. */
function attempted<T>(write: () => T | undefined): T | undefined {
  try {
    return write()
  } catch (error) {
    if (error instanceof Scalar) return undefined
    throw error
  }
}

interface SteadyState {
  readonly code: Code
  readonly keepsRows: boolean
}

/**
 * Code from the end of this iteration up to the next one's update; it leaves its block where the two must run one after the other.
 * `isKept`: the local that says whether this iteration's sum has kept its rows, as sums in this code do.
 */
function steadyState(w: KernelWriter, parts: Parts, next: NextIteration, isKept: number): SteadyState | undefined {
  const { head, sum, middle, update, tail } = parts
  const slot = w.slotOf(update.counted.local)
  const limit = w.declare('i32')
  const [ofUpdate, ofSum] = [indexOf(w, update, slot), indexOf(w, sum, slot)]
  const count = turnsOf(w, update)
  if (ofUpdate === undefined || ofSum === undefined || count === undefined) return undefined
  const own = new Set(changedIn(head))
  const ahead: Ahead = {
    ...{ keys: next.keys, position: next.position, columns: new Map() },
    slots: new Map([...[...w.slots].filter(([name]) => !own.has(name)), [sum.counted.local, slot]]),
  }
  const ended = loopParts(w, update, ofUpdate, limit)
  const begun = asAhead(w, ahead, () => {
    const code = headCode(w, head)
    const loop = loopParts(w, sum, ofSum, limit)
    return code && loop && { ...loop, head: code }
  })
  if (ended === undefined || begun === undefined || !meetAtIndex(begun.accesses, ended.accesses)) return undefined
  const length = lengthOf(w, update)
  const kept = length === undefined ? undefined : keptRows(w, parts, { begun: begun.accesses, ended: ended.accesses, slot, length })
  const together: Together = { w, ahead, slot, limit, count, ended, begun, kept }
  const vectors = sideBySide(together, sizeOf([...update.body, ...sum.body]) <= MOST_UNROLLED ? UNROLLED : 1)
  const checks = [...ended.checks, ...begun.checks]
  const from = w.expr(update.counted.from).code
  const to = w.expr(update.counted.to).code
  const last = count % LANES.f64 === 0 ? [] : lastTurn(together, update, sum)
  // which elements are used is known when all code that uses them is written
  const start = asAhead(w, ahead, () => [next.start(), elementStart(w)])
  const finish = w.block(tail)
  const taken = [...own].flatMap((name) => {
    const [to, from] = [w.slots.get(name), ahead.slots.get(name)]
    return to === undefined || from === undefined ? [] : [I.localGet(from), I.localSet(to)]
  })
  const resumed = w.block(middle)
  const code = [
    ...[next.exists, OP.i32Eqz, I.brIf(0), start, begun.head],
    ...[from, I.localSet(slot), to, I.localSet(limit), ended.setup, begun.setup],
    ...checks.map((check) => [check, OP.i32Eqz, I.brIf(0)]),
    kept === undefined
      ? []
      : [
          ...[I.localGet(isKept), OP.i32Eqz, I.if(), kept.start(limit), I.i32Const(1), I.localSet(isKept)],
          ...[from, I.localSet(slot), OP.end],
        ],
    ...[ended.turns.before, begun.turns.before, vectors, last],
    ...[finish, next.step(), columnsTaken(w, ahead), taken, resumed],
  ]
  return { code, keepsRows: kept !== undefined }
}

/** Moves the next iteration's elements to their locals, and loads those that were not read early. */
function columnsTaken(w: KernelWriter, ahead: Ahead): Code {
  const { columns } = w
  const isAhead = ([column]: readonly [number, unknown]): boolean => ahead.columns.has(column)
  const taken = [...columns].flatMap(([column, { slot }]) => {
    const from = ahead.columns.get(column)
    return from === undefined ? [] : [I.localGet(from.slot), I.localSet(slot)]
  })
  w.columns = new Map([...columns].filter((column) => !isAhead(column)))
  const loaded = elementStart(w)
  w.columns = columns
  return [loaded, taken]
}

/** Returns the trip count of a loop that is the same in every iteration; else undefined. */
function turnsOf(w: KernelWriter, { counted }: CountedFor): number | undefined {
  const [from, to] = [w.expr(counted.from).type, w.expr(counted.to).type]
  if (from.kind !== 'i32' || to.kind !== 'i32' || from.low !== from.high || to.low !== to.high) return undefined
  return Math.max(0, to.low - from.low)
}

function indexOf(w: KernelWriter, { counted }: CountedFor, slot: number): LoopIndex | undefined {
  const range = countedRange(w, counted)
  if (range === undefined || w.locals.get(counted.local)?.kind !== 'i32') return undefined
  return { slot, ...range, is: (expr) => expr.kind === 'Local' && expr.name === counted.local }
}

/** Returns the number of elements of its rows that the loop may reach; undefined where its index may be negative. */
function lengthOf(w: KernelWriter, { counted }: CountedFor): number | undefined {
  const [from, to] = [w.expr(counted.from).type, w.expr(counted.to).type]
  return from.kind === 'i32' && from.low >= 0 && to.kind === 'i32' ? to.high : undefined
}

interface LoopParts {
  readonly index: LoopIndex
  readonly accesses: ReadonlyMap<object, Access>
  readonly setup: Code
  readonly checks: readonly Code[]
  readonly turns: LaneTurns
}

function loopParts(w: KernelWriter, stmt: CountedFor, index: LoopIndex, limit: number): LoopParts | undefined {
  const { body } = stmt
  const turning: Turning = { index, isRun: false, changed: changedIn(body) }
  const found = accessesOf(body)
  const { accesses, setup, checks } = hoistedAccesses(w, found, turning, { limit, step: 1 })
  // Lanes of doubles are the widest where elements are fractions.
  const isOfFractions = [...accesses.values()].some(({ dtype }) => dtype === 'f64' || dtype === 'f32')
  if (accesses.size < found.length || !isOfFractions) return undefined
  const loop: InnerLoop = {
    ...{ name: '', body, source: [stmt], step: 1, index, limit, isRun: false },
    turns: () => [],
    zeroSums: new Set(),
  }
  return { index, accesses, setup, checks, turns: laneTurns(w, loop, accesses, turning) }
}

interface Together {
  readonly w: KernelWriter
  readonly ahead: Ahead
  readonly slot: number
  readonly limit: number
  /** The trip count of both loops. */
  readonly count: number
  readonly ended: LoopParts
  readonly begun: LoopParts
  readonly kept: KeptRows | undefined
}

/**
 * Iterations of both loops, in whole vectors. The unrolled loop's remainder is written out: with more loops after it the engine
 * keeps the sums in memory between them, and each iteration takes some 8 cycles longer.
 */
function sideBySide({ w, ahead, slot, limit, count, ended, begun, kept }: Together, copies: number): Code {
  const turns = (vectors: number, handed?: HandedOver): Code =>
    Array.from({ length: vectors }, (_, copy) => [
      ended.turns.turn(copy, { handed, kept }),
      asAhead(w, ahead, () => begun.turns.turn(copy, { handed, kept })),
    ])
  const loop = (vectors: number, handed?: HandedOver): Code => {
    const step = vectors * LANES.f64
    const enough = [I.localGet(limit), I.localGet(slot), OP.i32Sub, I.i32Const(step), OP.i32GeS]
    return [enough, I.if(), I.loop, turns(vectors, handed), stepped(slot, step), enough, I.brIf(0), OP.end, OP.end]
  }
  const left = Math.floor((count % (copies * LANES.f64)) / LANES.f64)
  const all = (handed?: HandedOver): Code => [
    count < copies * LANES.f64 ? [] : loop(copies, handed),
    left === 0 ? [] : [turns(left, handed), stepped(slot, left * LANES.f64)],
  ]
  return sharedRows(ended.accesses, begun.accesses).reduceRight<Code>(
    (otherwise, { isShared, handed }) => [isShared, I.if(), all(handed), OP.else, otherwise, OP.end],
    all(),
  )
}

/** Where a row of the next iteration is one that this iteration writes, its elements are passed in registers instead of memory. */
function sharedRows(
  ended: ReadonlyMap<object, Access>,
  begun: ReadonlyMap<object, Access>,
): readonly { readonly isShared: Code; readonly handed: HandedOver }[] {
  const writes = [...ended.values()].filter(({ kind }) => kind !== 'read')
  const single = writes.filter(({ memory }) => writes.filter((write) => write.memory === memory).length === 1)
  const reads = [...begun.values()]
  const shared = single.flatMap((write) => {
    const rows = new Set(reads.flatMap(({ memory, row }) => (memory === write.memory ? [row] : [])))
    return [...rows].flatMap((row) => {
      const same = reads.filter((read) => read.memory === write.memory && read.row === row)
      const [one] = same
      if (one === undefined) return []
      return [
        {
          isShared: [firstAddress(one), firstAddress(write), OP.i32Eq],
          handed: { write: write.node, reads: new Set(same.map(({ node }) => node)) },
        },
      ]
    })
  })
  return shared.slice(0, MOST_SHARED)
}

/** The address of the element at index 0. */
function firstAddress({ at }: Access): Code {
  const { code, offset } = at(0)
  return offset === 0 ? code() : [code(), I.i32Const(offset), OP.i32Add]
}

/** Code of the last iteration, where the trip count is odd. */
function lastTurn({ w, ahead, ended, begun }: Together, update: CountedFor, sum: CountedFor): Code {
  const turnOf = ({ counted, body }: CountedFor, { index, accesses }: LoopParts): Code => {
    const held = w.locals.get(counted.local)
    w.locals.set(counted.local, index.seen)
    const code = knowing(w, accesses, () => w.block(body))
    if (held !== undefined) w.locals.set(counted.local, held)
    return code
  }
  const { label } = update
  const updated = w.within({ kind: 'exit', label }, () => w.within({ kind: 'next', label }, () => turnOf(update, ended)))
  return [I.block(), I.block(), updated, OP.end, OP.end, asAhead(w, ahead, () => turnOf(sum, begun))]
}
