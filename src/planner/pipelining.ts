/**
 * Decides whether the array between two nodes is streamed from one to the other, or stored before the other begins.
 *
 *     GroupBy r.shop                  takes one row after another, and keeps none
 *       Filter r.price > 0              computes one after another: streamed
 *         Sort r.price                    makes all together: stored
 *
 * A stream comes partition after partition, in order, and each partition is freed once it was used. The rule
 * `markPipelined` marks arrays by this, and `physical/lower.ts` obeys the mark.
 */

import type { UserFunction } from '../core/ir/functionIr.ts'
import { needsCaller } from '../core/ir/functionUse.ts'
import { isKnown } from '../core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../core/plan/logicalPlan.ts'
import { traitsOf } from '../core/plan/nodeTraits.ts'
import { functionsOf } from '../core/plan/tree.ts'

/** The reason why an array is stored. `because` ends a sentence that begins with: all of them are kept at once, because. */
export interface Stored {
  readonly because: string
  /** Whether only the types keep it: a consumer of the first elements takes them as they come, with the types seen so far. */
  readonly isForTypes?: boolean
}

/** Returns why the array `input` is not streamed into `plan`; undefined where it is. */
export function storedBecause(plan: LogicalPlan, input: LogicalPlan): Stored | undefined {
  return takesEach(plan) ? keptFromFlowing(plan, input) : { because: `${plan.kind} needs all of them` }
}

/**
 * Returns why the functions of `plan` cannot have the elements of `input` as they come, whatever becomes of the elements then; undefined
 * where they can.
 */
export function keptFromFlowing(plan: LogicalPlan, input: LogicalPlan): Stored | undefined {
  if (traitsOf(input).flows !== true) return { because: `${input.kind} makes them together` }
  if (sharesState(plan, input)) return { because: 'functions share variables, and one has all rows before the next has any' }
  if (!isUnsettled(input, plan)) return undefined
  // a limit runs no function that needs the types of all; a union of several kinds is an error whoever reads it
  if (plan.kind === 'Limit' && input.kind !== 'Union') return undefined
  // only later rows may have the column that is asked for
  const waits = plan.kind === 'Project' || input.kind === 'Union'
  return { because: 'only running all of them tells their types', ...(waits ? {} : { isForTypes: true }) }
}

/** Whether a node takes one element after another and keeps none: it never needs its input as a whole. */
export function takesEach(plan: LogicalPlan): boolean {
  return traitsOf(plan).takesEach?.(plan) === true
}

/** Whether partitions may come with types of their own: only the values tell the types, and nothing below waits for all of them. */
function isUnsettled(input: LogicalPlan, plan: LogicalPlan): boolean {
  if (isKnown(input.element)) return false
  switch (input.kind) {
    case 'Map':
    case 'WithColumns':
    case 'FlatMap':
    case 'MapPartitions':
    case 'Union':
      return true
    default: {
      const isStreamed = (below: LogicalPlan): boolean =>
        below.pipelined === true || (below.pipelined === 'first' && plan.kind === 'Project')
      return inputsOf(input).some((below) => isStreamed(below) && isUnsettled(below, plan))
    }
  }
}

/** Whether a function of `plan` would see side effects of one below it if their rows took turns. */
function sharesState(plan: LogicalPlan, input: LogicalPlan): boolean {
  const own = functionsOf(plan).filter(needsCaller)
  if (own.length === 0) return false
  const below = runningBelow(input)
  return below.any && (below.share || own.some(mayShare))
}

/** The functions that run as they stand while an array is computed. */
interface Running {
  readonly any: boolean
  /** Whether one of them shares variables with another function. */
  readonly share: boolean
}

/** Cached per node, since an array appended to itself forty times has 2^40 paths to its functions. */
const known = new WeakMap<LogicalPlan, Running>()

/** Returns whether functions of the node, and of the streamed nodes below it, run as they stand. */
function runningBelow(plan: LogicalPlan): Running {
  const found = known.get(plan)
  if (found !== undefined) return found
  const own = functionsOf(plan).filter(needsCaller)
  const below = inputsOf(plan).flatMap((input) => (input.pipelined === undefined ? [] : [runningBelow(input)]))
  const running = {
    any: own.length > 0 || below.some(({ any }) => any),
    share: own.some(mayShare) || below.some(({ share }) => share),
  }
  known.set(plan, running)
  return running
}

function mayShare({ sharesState }: UserFunction): boolean {
  return sharesState === true
}
