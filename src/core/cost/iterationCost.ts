/**
 * What an iteration of a body takes on one thread, in nanoseconds, estimated before it has run: from its operations, the
 * kernel that computes them, how often its loops turn, what a turn waits for, and the memory it walks through.
 *
 *     a turn = the longer of what it computes / lanes  and what it waits for  + its memory
 *
 * No clock is asked: an estimate is the same on every machine. The constants were calibrated with `bench/estimate.bench.ts`, over
 * the loops of bench/questions, on an AMD EPYC with Node 20; there it is right within a factor of two for most loops.
 */
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type Stmt } from '../ir/functionIr.ts'
import { hasLoop } from '../ir/irFacts.ts'
import { placeText, type Span } from '../span.ts'
import { chainNs, moves, type Turning, turningOf } from './chains.ts'
import { type CostedArray, type For, type Means, meansOf, turnsOf } from './means.ts'
import { turnMemory } from './memory.ts'
import { costOf } from './operations.ts'
import { finiteNs } from './turns.ts'

/** How a body was compiled, as far as it changes what an iteration costs. */
export interface CostedKernel {
  readonly target: 'wasm-simd' | 'wasm' | 'js'
  /** Iterations computed at a time; `nested`: with the loops inside. */
  readonly lanes: number
  readonly nested: boolean
  /** Whether the first loop runs beside the last one of the iteration before. */
  readonly isOverlapped?: boolean
  /** Turns computed at a time of the innermost loops that have lanes, by the place of their `for`. */
  readonly inner: ReadonlyMap<string, number>
}

export interface CostedBody {
  readonly ir: FunctionIr
  /** Extents of the iteration space. */
  readonly extents: readonly number[]
  /** Whether the last index runs from one iteration to the next; otherwise keys are looked up, place by place. */
  readonly isRun: boolean
  /** Iterations of a run, where blocks cut it short. Default: the last extent. */
  readonly run?: number
  readonly kernel: CostedKernel
  readonly arrayOf: (name: string) => CostedArray | undefined
}

export interface IterationCost {
  readonly ns: number
  /** What each run of iterations along the last axis costs in addition. */
  readonly runNs: number
}

/** An instruction of a scalar kernel, of one in lanes for all lanes together, and of JavaScript with its checks. */
const WORK_NS = { wasm: 0.2, lanes: 0.13, js: 0.9 } as const
/** Where an iteration finds its place: along a run, or by its keys. */
const ITERATION_NS = { run: 0.2, places: 3, js: 6 } as const
/** Checks before a loop, its vectors' beginning and its last turns. */
const LOOP_START_NS = 7
const RUN_START_NS = 5
/** What is left of the shorter of two loops that run side by side: their instructions, without the waiting. */
const BESIDE = 0.4
/** A branch that is foreseen most of the time. */
const BRANCH_NS = 0.6
/** Adding to an accumulator, to its chunk of the fixed tree. */
const ACCUMULATE_NS = 3
/** Of a turn: its index and its end. */
const TURN_WORK = 1
/** Of a subscript that is no index: where the element lies, and whether it lies inside. */
const SUBSCRIPT_WORK = 1

interface Level {
  readonly body: CostedBody
  readonly means: Means
  readonly lanes: number
  /** Whether the lanes are iterations, each of which waits for itself alone. */
  readonly nested: boolean
  /** Of the loop whose turn it is, and of those around it. */
  readonly loops: readonly { readonly turning: Turning; readonly turns: number }[]
}

export function iterationCost(body: CostedBody): IterationCost {
  const { ir, extents, kernel, isRun } = body
  const last = extents.length - 1
  const { run = extents[last] ?? 1 } = body
  const lanes = hasLoop(ir.body) && !kernel.nested ? 1 : kernel.lanes
  const isIndex = (expr: Expr): boolean => expr.kind === 'Key' && (expr.axis === last || !isRun)
  const loops = [{ turning: turningOf(ir.body, isIndex), turns: run }]
  const level: Level = { body, means: meansOf(ir, extents, body.arrayOf), lanes, nested: kernel.nested, loops }
  const turn = turnNs(ir.body, level)
  const own = kernel.target === 'js' ? ITERATION_NS.js : isRun ? ITERATION_NS.run / lanes : ITERATION_NS.places
  const saved = kernel.isOverlapped === true ? overlapNs(ir.body, level) : 0
  return { ns: own + turn.ns - saved + (isRun ? 0 : turn.startNs), runNs: isRun ? RUN_START_NS + turn.startNs : 0 }
}

/** What the first and the last loop of a body save by running side by side. */
function overlapNs(stmts: readonly Stmt[], level: Level): number {
  const loops = stmts.filter((stmt) => stmt.kind === 'For')
  const [first, last] = [loops[0], loops.at(-1)]
  return first === undefined || last === undefined ? 0 : (1 - BESIDE) * Math.min(loopNs(first, level), loopNs(last, level))
}

/** What a turn of a loop takes, and what it takes to begin the loop. */
function turnNs(stmts: readonly Stmt[], level: Level): { readonly ns: number; readonly startNs: number } {
  const { body, lanes, nested, loops } = level
  const [own, outer] = loops
  if (own === undefined) return { ns: 0, startNs: 0 }
  const memory = turnMemory(stmts, { ...own, outer, isRun: body.isRun }, body.arrayOf)
  const waits = body.kernel.target !== 'js' && (lanes === 1 || nested)
  const chain = waits ? chainNs(stmts, own.turning, (array) => body.arrayOf(array)?.isInteger === true) : 0
  // lanes are computed two vectors at a time
  return { ns: Math.max(stmtsNs(stmts, level), lanes === 1 ? chain : chain / (2 * lanes)) + memory.ns, startNs: memory.startNs }
}

function stmtsNs(stmts: readonly Stmt[], level: Level): number {
  return stmts.reduce((sum, stmt) => sum + stmtNs(stmt, level), 0)
}

function stmtNs(stmt: Stmt, level: Level): number {
  switch (stmt.kind) {
    case 'For':
      return loopNs(stmt, level)
    case 'If': {
      const [yes, no] = [stmtsNs(stmt.then, level), stmtsNs(stmt.else, level)]
      return exprNs(stmt.test, level) + (level.lanes > 1 ? yes + no : Math.max(yes, no) + BRANCH_NS)
    }
    case 'Labeled':
      return stmtsNs(stmt.body, level)
    case 'Write':
      return storeNs(stmt, 1, level)
    case 'Add':
      return storeNs(stmt, 3, level)
    case 'Accumulate':
      return exprNs(stmt.value, level) + ACCUMULATE_NS
    default:
      return expressionsOf(stmt).reduce((sum, expr) => sum + exprNs(expr, level), 0)
  }
}

function storeNs({ subscripts, value }: Extract<Stmt, { kind: 'Write' | 'Add' }>, work: number, level: Level): number {
  return exprNs(value, level) + work * workNs(level) + subscriptsNs(subscripts, level)
}

function loopNs(stmt: For, level: Level): number {
  const { body, means } = level
  const { turns, inside } = turnsOf(stmt, means)
  const lanes = level.nested ? level.lanes : (body.kernel.inner.get(placeOf(stmt.span)) ?? 1)
  const { counted } = stmt
  // the index of a counted loop moves with its vectors, and its test is part of its end
  const index = counted?.local ?? countedUp(stmt)
  const isIndex = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === index
  const stmts = index === undefined ? [...stmt.body, ...stmt.update] : stmt.body
  const deeper: Level = { ...level, means: inside, lanes, loops: [{ turning: turningOf(stmts, isIndex), turns }, ...level.loops] }
  const turn = turnNs(stmts, deeper)
  const test = counted === undefined && stmt.test !== undefined ? exprNs(stmt.test, deeper) + BRANCH_NS : 0
  const around = (level.nested ? 1 / level.lanes : 1) * LOOP_START_NS
  return stmtsNs(stmt.init, level) + around + turn.startNs + finiteNs(turns * (turn.ns + test + TURN_WORK * workNs(deeper)))
}

/** The local that a loop without a known end counts with. */
function countedUp({ update }: For): string | undefined {
  const [step] = update
  if (update.length !== 1 || step?.kind !== 'Assign' || step.value.kind !== 'Binary' || step.value.operator !== '+') return undefined
  const { left, right } = step.value
  return left.kind === 'Local' && left.name === step.local && right.kind === 'Literal' ? step.local : undefined
}

function exprNs(expr: Expr, level: Level): number {
  if (expr.kind === 'Read') {
    return workNs(level) + subscriptsNs(expr.subscripts, level)
  }
  const { work, callNs } = costOf(expr)
  const operands = childrenOf(expr).reduce((sum, child) => sum + exprNs(child, level), 0)
  // of several lanes a call is vectors of its own
  return work * workNs(level) + callNs / level.lanes + operands
}

/** Sums of indices and constants are part of the address, and what is the same in all turns is found before them. */
function subscriptsNs(subscripts: readonly Expr[], level: Level): number {
  const own = level.loops[0]?.turning
  const found = subscripts.filter((subscript) => !isAddress(subscript) && (own === undefined || moves(subscript, own)))
  return found.reduce((sum, subscript) => sum + SUBSCRIPT_WORK * workNs(level) + exprNs(subscript, level), 0)
}

function isAddress(expr: Expr): boolean {
  switch (expr.kind) {
    case 'Key':
    case 'Literal':
    case 'Parameter':
    case 'Local':
      return true
    case 'Binary':
      return (expr.operator === '+' || expr.operator === '-' || expr.operator === '*') && isAddress(expr.left) && isAddress(expr.right)
    default:
      return false
  }
}

function workNs({ body, lanes }: Level): number {
  if (body.kernel.target === 'js') return WORK_NS.js
  return lanes === 1 ? WORK_NS.wasm : WORK_NS.lanes / lanes
}

/** How the kernel's report names a loop. */
export function placeOf(span: Span): string {
  return placeText(span)
}
