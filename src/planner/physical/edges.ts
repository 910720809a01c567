/**
 * How the result of each part of a plan gets to what consumes it.
 *
 *     streamed   partition after partition, in order: only some are in memory, and each is freed once it was consumed
 *     stored     all of it is there before the consumer begins
 *
 * The plan carries this, the executor obeys it, and `explain()` prints it.
 */
import { isKnown } from '../../core/elements.ts'
import { needsCaller } from '../../core/functionUse.ts'
import { functionsOfStep } from './functionsOfStep.ts'
import { type Edge, type ExecFunction, inputsOf, type PhysicalPlan, type Step, type WideOperator } from './physicalPlan.ts'

type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>

const STREAMED: Edge = { kind: 'streamed' }

/** The plan with an edge above each of its parts. */
export function withEdges(plan: PhysicalPlan): PhysicalPlan {
  return under(edgeToAction(plan), plan)
}

function under(edge: Edge, plan: PhysicalPlan): PhysicalPlan {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return { ...plan, edge }
    case 'PipelineExec':
      return { ...plan, input: under(edgeToPipeline(plan), plan.input), edge }
    case 'LimitExec':
      return { ...plan, input: under(edgeToStep(plan.input), plan.input), edge }
    case 'UnionExec':
      return { ...plan, inputs: plan.inputs.map((input) => under(edgeOf(input), input)), edge }
    case 'WideExec':
      return { ...plan, inputs: plan.inputs.map((input) => under(edgeToWide(plan.operator, input), input)), edge }
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return { ...plan, input: under({ kind: 'stored', because: `${plan.kind} needs all of them` }, plan.input), edge }
  }
}

/** To an action that takes elements one after another: iteration, batches, folds and writers. */
function edgeToAction(plan: PhysicalPlan): Edge {
  // while the consumer has a partition, it may write the arrays that the next one reads
  if (readsStorage(plan)) return { kind: 'stored', because: 'the arrays they are computed from can be written meanwhile' }
  return edgeOf(plan)
}

/** A limit takes what it needs and no more: it runs no function that would have to know the types of all. */
function edgeToPipeline({ steps, input }: Pipeline): Edge {
  const [own, below] = [onCaller(steps), callerFunctions(input)]
  if (own.length > 0 && below.length > 0 && [...own, ...below].some((f) => f.sharesState === true))
    return { kind: 'stored', because: 'functions share variables, and one has all rows before the next has any' }
  if (steps.every((step) => step.kind === 'LimitExec') && isPiped(input)) return STREAMED
  const edge = edgeToStep(input)
  // a column that is asked for may be one that only later rows have
  if (edge.kind === 'streamed' || !steps.some((step) => step.kind === 'ProjectExec')) return edge
  return { kind: 'stored', because: edge.because }
}

function onCaller(steps: readonly Step[]): readonly ExecFunction[] {
  return steps.flatMap(functionsOfStep).filter(needsCaller)
}

/** The functions of a plan that run as they stand, row by row. */
export function callerFunctions(plan: PhysicalPlan): readonly ExecFunction[] {
  return [...(plan.kind === 'PipelineExec' ? onCaller(plan.steps) : []), ...inputsOf(plan).flatMap(callerFunctions)]
}

/** To a pipeline or a limit. What comes from memory is not worth it. */
function edgeToStep(plan: PhysicalPlan): Edge {
  if (readsFiles(plan)) return edgeOf(plan)
  return { kind: 'stored', because: 'they come from memory', ...(isPiped(plan) ? { isOptional: true } : {}) }
}

function isPiped(plan: PhysicalPlan): boolean {
  return plan.kind === 'PipelineExec' || plan.kind === 'LimitExec'
}

/** Groups are folded as the partitions come where those leave what that takes. */
function edgeToWide({ kind }: WideOperator, input: PhysicalPlan): Edge {
  const isFolded = input.kind === 'PipelineExec' && input.steps.at(-1)?.kind === 'PartialGroupsExec'
  return isFolded ? STREAMED : { kind: 'stored', because: `${kind} needs all of them` }
}

function edgeOf(plan: PhysicalPlan): Edge {
  if (!isKnown(plan.element)) {
    return { kind: 'stored', because: 'only running all of them tells their types', ...(isPiped(plan) ? { isOptional: true } : {}) }
  }
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
    case 'PipelineExec':
    case 'LimitExec':
    case 'UnionExec':
      return STREAMED
    case 'WideExec':
      return { kind: 'stored', because: `${plan.operator.kind} makes them together` }
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return { kind: 'stored', because: `${plan.kind} makes them together` }
  }
}

function readsStorage(plan: PhysicalPlan): boolean {
  return plan.kind === 'StoredExec' || inputsOf(plan).some(readsStorage)
}

/** Whether partitions are read when they are needed. */
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
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return false
  }
}
