/**
 * Edges: the way in which the result of each part of a plan gets to its consumer.
 *
 *     streamed   partition after partition, in order: only some are in memory, and each is freed once it was consumed
 *     stored     all of it is there before the consumer begins
 *
 * Between two nodes of the logical plan the optimizer's mark decides (`rules/markPipelined.ts`). The plan carries the edges,
 * the executor obeys them, and `explain()` prints them.
 */

import { needsCaller } from '../../core/ir/functionUse.ts'
import { isKnown } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { keptFromFlowing, storedBecause, takesEach } from '../pipelining.ts'
import { functionsOfStep } from './functionsOfStep.ts'
import { type Edge, type ExecFunction, inputsOf, type PhysicalPlan, type WideOperator } from './physicalPlan.ts'

/** The edge between parts of one operator, and from sources: these are there, or are read as they are needed. */
export const STREAMED: Edge = { kind: 'streamed' }

/** Returns the edge from `input` to the functions of `plan`. `first`: perhaps only the first elements of its result are wanted. */
export function edgeBetween(plan: LogicalPlan, input: LogicalPlan, { first }: { readonly first: boolean }): Edge {
  if (input.kind === 'Scan' || input.kind === 'Stored') return STREAMED
  // sorts and joins store what their key functions return, so these functions can still be streamed to
  const stored = takesEach(plan) ? markedAs(plan, input, first) : keptFromFlowing(plan, input)
  return stored === undefined ? STREAMED : { kind: 'stored', because: stored.because }
}

function markedAs(plan: LogicalPlan, input: LogicalPlan, first: boolean): { readonly because: string } | undefined {
  if (input.pipelined === true || (input.pipelined === 'first' && first)) return undefined
  return storedBecause(plan, input) ?? { because: 'the optimizer did not mark them' }
}

/** Returns the edge to an action that takes elements in turn: iteration, batches, folds, writers. `first`: maybe only the first. */
export function edgeToAction(plan: PhysicalPlan, { first }: { readonly first: boolean }): Edge {
  // while the consumer holds a partition, it may write the arrays that the next one reads
  if (readsStorage(plan)) return { kind: 'stored', because: 'the arrays they are computed from can be written meanwhile' }
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
    case 'PipelineExec':
    case 'LimitExec':
    case 'UnionExec':
      return isKnown(plan.element) || (first && plan.kind !== 'UnionExec') ? STREAMED : UNTYPED
    case 'WideExec':
      return isKnown(plan.element) ? { kind: 'stored', because: `${plan.operator.kind} makes them together` } : UNTYPED
    case 'OffsetExec':
    case 'FetchExec':
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return isKnown(plan.element) ? { kind: 'stored', because: `${plan.kind} makes them together` } : UNTYPED
  }
}

const UNTYPED: Edge = { kind: 'stored', because: 'only running all of them tells their types' }

/** Returns the edge to a wide operator. Partial groups are folded as the partitions come. */
export function edgeToWide({ kind }: WideOperator, input: PhysicalPlan): Edge {
  const isFolded = input.kind === 'PipelineExec' && input.steps.at(-1)?.kind === 'PartialGroupsExec'
  return isFolded ? STREAMED : { kind: 'stored', because: `${kind} needs all of them` }
}

/** Returns the functions of a plan that run as they stand, row by row. */
export function callerFunctions(plan: PhysicalPlan): readonly ExecFunction[] {
  const own = plan.kind === 'PipelineExec' ? plan.steps.flatMap(functionsOfStep).filter(needsCaller) : []
  return [...own, ...inputsOf(plan).flatMap(callerFunctions)]
}

function readsStorage(plan: PhysicalPlan): boolean {
  return plan.kind === 'StoredExec' || inputsOf(plan).some(readsStorage)
}

/** Whether partitions are read from files or a remote source when they are needed. */
export function readsFiles(plan: PhysicalPlan): boolean {
  switch (plan.kind) {
    case 'ScanExec':
      return plan.source.kind !== 'memory'
    case 'PipelineExec':
    case 'LimitExec':
      return readsFiles(plan.input)
    case 'UnionExec':
      return plan.inputs.some(readsFiles)
    case 'StoredExec':
    case 'WideExec':
    case 'OffsetExec':
    case 'FetchExec':
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return false
  }
}
