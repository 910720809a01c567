/**
 * The estimated nanoseconds of an iteration of a body on one thread, before it has run: from its operations, the kernel that
 * computes them, the trip counts of its loops, the latency of carried chains, and the memory it walks through.
 *
 *     an iteration of a loop = max(its work / lanes, its carried chain) + its memory
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

/** The properties of a body's kernel that change the cost of an iteration. */
export interface CostedKernel {
  readonly target: 'wasm-simd' | 'wasm' | 'js'
  /** The number of iterations in the lanes of a vector; `nested`: with the loops inside (outer-loop vectorization). */
  readonly lanes: number
  readonly nested: boolean
  /** Whether the first loop overlaps with the last one of the iteration before (software pipelining). */
  readonly isOverlapped?: boolean
  /** The number of lanes of each vectorized innermost loop, by the place of its `for`. */
  readonly inner: ReadonlyMap<string, number>
}

export interface CostedBody {
  readonly ir: FunctionIr
  /** The extents of the iteration space. */
  readonly extents: readonly number[]
  /** Whether the last index counts up from iteration to iteration; otherwise the key of each iteration is looked up. */
  readonly isRun: boolean
  /** The iterations of a run along the last axis, where blocks cut it short. Default: the last extent. */
  readonly run?: number
  readonly kernel: CostedKernel
  readonly arrayOf: (name: string) => CostedArray | undefined
}

export interface IterationCost {
  readonly ns: number
  /** The additional cost of each run of iterations along the last axis. */
  readonly runNs: number
}

/** The cost of an instruction: of a scalar kernel, of a vectorized one for all lanes together, and of JavaScript with its checks. */
const WORK_NS = { wasm: 0.2, lanes: 0.13, js: 0.9 } as const
/** The cost of finding an iteration's key: along a run, by looking it up, or in JavaScript. */
const ITERATION_NS = { run: 0.2, places: 3, js: 6 } as const
/** The cost of beginning a loop: its checks, its vectors' set-up and its remainder; then that of beginning a run. */
const LOOP_START_NS = 7
const RUN_START_NS = 5
/** The fraction of the shorter of two overlapped loops that is still paid: its instructions, without its latency. */
const BESIDE = 0.4
/** The cost of a branch that is predicted most of the time. */
const BRANCH_NS = 0.6
/** The cost of adding to an accumulator's chunk of the fixed tree. */
const ACCUMULATE_NS = 3
/** The instructions of an iteration's index and loop test. */
const TURN_WORK = 1
/** The instructions of a subscript that is no index: its address and its bounds check. */
const SUBSCRIPT_WORK = 1

interface Level {
  readonly body: CostedBody
  readonly means: Means
  readonly lanes: number
  /** Whether the lanes are iterations of the body, each with carried chains of its own. */
  readonly nested: boolean
  /** The loop that is estimated, and those around it, innermost first. */
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

/** The nanoseconds that the first and the last loop of a body save by overlapping. */
function overlapNs(stmts: readonly Stmt[], level: Level): number {
  const loops = stmts.filter((stmt) => stmt.kind === 'For')
  const [first, last] = [loops[0], loops.at(-1)]
  return first === undefined || last === undefined ? 0 : (1 - BESIDE) * Math.min(loopNs(first, level), loopNs(last, level))
}

/** The cost of an iteration of a loop, and of beginning the loop. */
function turnNs(stmts: readonly Stmt[], level: Level): { readonly ns: number; readonly startNs: number } {
  const { body, lanes, nested, loops } = level
  const [own, outer] = loops
  if (own === undefined) return { ns: 0, startNs: 0 }
  const memory = turnMemory(stmts, { ...own, outer, isRun: body.isRun }, body.arrayOf)
  const waits = body.kernel.target !== 'js' && (lanes === 1 || nested)
  const chain = waits ? chainNs(stmts, own.turning, (array) => body.arrayOf(array)?.isInteger === true) : 0
  // vectorized loops compute two vectors at a time
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
  // the update of a counted loop's index, and its test, are paid by TURN_WORK
  const index = counted?.local ?? countedUp(stmt)
  const isIndex = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === index
  const stmts = index === undefined ? [...stmt.body, ...stmt.update] : stmt.body
  const deeper: Level = { ...level, means: inside, lanes, loops: [{ turning: turningOf(stmts, isIndex), turns }, ...level.loops] }
  const turn = turnNs(stmts, deeper)
  const test = counted === undefined && stmt.test !== undefined ? exprNs(stmt.test, deeper) + BRANCH_NS : 0
  const around = (level.nested ? 1 / level.lanes : 1) * LOOP_START_NS
  return stmtsNs(stmt.init, level) + around + turn.startNs + finiteNs(turns * (turn.ns + test + TURN_WORK * workNs(deeper)))
}

/** The local that a loop without a known bound adds a constant to; undefined where there is none. */
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
  // the cost of a call is divided by the lanes: it has vectors of its own
  return work * workNs(level) + callNs / level.lanes + operands
}

/** The cost of subscripts: affine ones are part of the address, and invariant ones are computed before the loop. */
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

/** The name of a loop in the kernel's report: the place of its `for`. */
export function placeOf(span: Span): string {
  return placeText(span)
}
