/** Properties of plans, and changes to them, that a run decides by. */
import type { Batch } from '../../../core/data/column.ts'
import { PlanError } from '../../../core/errors.ts'
import { mayNotEnd } from '../../../core/ir/mayNotEnd.ts'
import { isKnown } from '../../../core/plan/elements.ts'
import type { PhysicalPlan, Step, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { type Partition, type Pipeline, stepless, type Union, type Wide } from '../dataset.ts'
import { beforeDistinct, scanToLoad, withoutPartialStep } from '../loadedScan.ts'
import { type ExecBatch, emptyBatch } from '../operators/batches.ts'
import { isFree } from '../operators/freeSteps.ts'
import { withWholeNulls } from '../operators/join/nullKeys.ts'
import { keysOf } from '../operators/keys.ts'
import { wholeMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { type LoadOptions, type Scan, splitsRead } from '../scanSplits.ts'

/**
 * Whether all partitions run as one task on the caller's thread, since the steps only hand columns on. Every partition is one
 * batch with elements in it, so that the batches of the result are the partitions again.
 */
export function runsTogether(plan: Pipeline, partitions: readonly Partition[]): boolean {
  return (
    plan.steps.length > 0 &&
    plan.steps.every(isFree) &&
    partitions.every((one) => one.kind === 'batches' && one.batches.length === 1 && (one.batches[0]?.length ?? 0) > 0)
  )
}

/** Whether a pipeline needs only the numbers of rows of its splits, which the file tells, so that nothing is decoded. */
export function readsNothing({ steps }: Pipeline, partitions: readonly Partition[]): boolean {
  return (
    steps.every(isFree) && partitions.every((one) => one.kind === 'split' && one.scan.columns.length === 0 && one.split.rows !== undefined)
  )
}

/** Whether the results of a node are streamed to the one above. Sources never are: they are in memory, or read on demand. */
export function isStreamed({ kind, edge }: PhysicalPlan): boolean {
  return kind !== 'ScanExec' && kind !== 'StoredExec' && edge?.kind === 'streamed'
}

/** Whether a pipeline can run over the whole table that results from a wide operator. */
export function isOverWide(plan: PhysicalPlan): plan is Pipeline & { readonly input: Wide } {
  if (plan.kind !== 'PipelineExec' || plan.where === 'caller' || plan.numbered) return false
  return plan.input.kind === 'WideExec' && !isStreamed(plan.input)
}

/** Whether a pipeline is worth running over the rows of a union put together, and can: all of its inputs are tables, or read as such. */
export function isOverUnion(plan: PhysicalPlan, above: WideOperator): plan is Pipeline & { readonly input: Union } {
  if (plan.kind !== 'PipelineExec' || plan.where === 'caller' || plan.numbered) return false
  if (plan.steps.every(isFree) && above.kind !== 'HashAggregateExec') return false
  return plan.input.kind === 'UnionExec' && isKnown(plan.input.element) && plan.input.inputs.every(isOfTable)
}

function isOfTable(plan: PhysicalPlan): boolean {
  if (plan.kind === 'PipelineExec') return plan.where === 'workers' && !plan.numbered && isOfTable(plan.input)
  return plan.kind === 'ScanExec' || plan.kind === 'StoredExec'
}

/** The pipeline over the rows of its input, put together as a table; without them, to ask what runs over such a table. */
export function overRows(
  bare: Pipeline & { readonly input: Wide | Union },
  { element, length, columns }: Batch = emptyBatch(bare.input.element),
): Pipeline {
  const { edge: _, input, ...pipeline } = bare
  const name = input.kind === 'WideExec' ? input.operator.kind : input.kind
  const stored = { kind: 'StoredExec' as const, name, element: input.element, keys: input.keys }
  return { ...pipeline, input: { ...stored, storage: { kind: 'table', element, length, columns } } }
}

/** The scan of which a join, groups, a distinct, or a sort under a limit take range after range, as it is too large to be read whole; undefined where the operator does not. `isFiltered`: keys of joins filter its rows. */
export function rangedScan(plan: PhysicalPlan, operator: WideOperator, options: LoadOptions, isFiltered: boolean): Scan | undefined {
  const steps = plan.kind === 'PipelineExec' ? plan.steps : []
  const isFirst = operator.kind === 'SortExec' && operator.limit !== undefined
  if (operator.kind === 'HashAggregateExec' || operator.kind === 'DistinctExec' || isFirst) {
    if (plan.kind !== 'PipelineExec') return undefined
  } else if (operator.kind !== 'HashJoinExec' || (steps.every(isFree) && !isFiltered)) return undefined // columns are handed on as they are
  const scan = scanToLoad(beforeDistinct(plan) ?? withoutPartialStep(plan), options)
  return scan !== undefined && 'because' in scan ? scan.tooLarge : undefined
}

/** Whether a join takes the columns of its left side as they are in a file, and no keys filter their rows. */
export function isHandedOn({ operator, inputs: [left], keyFilter }: Wide): boolean {
  if (operator.kind !== 'HashJoinExec' || left === undefined || left.filteredBy !== undefined || keyFilter !== undefined) return false
  return left.kind !== 'PipelineExec' || left.steps.every(isFree)
}

/** Whether a function of the plan runs as it stands. */
export function runsOnCaller(plan: PhysicalPlan): boolean {
  if ((plan.kind === 'PipelineExec' || plan.kind === 'WideExec') && plan.where === 'caller') return true
  if (plan.kind === 'ScanExec' || plan.kind === 'StoredExec') return false
  return plan.kind === 'WideExec' || plan.kind === 'UnionExec' ? plan.inputs.some(runsOnCaller) : runsOnCaller(plan.input)
}

/** The plan below a pipeline. Row numbers count every row of a source, so for a pipeline that reads them a scan has no predicate. */
export function inputOf(plan: Pipeline): PhysicalPlan {
  if (!plan.numbered || plan.input.kind !== 'ScanExec' || plan.input.predicate === undefined) return plan.input
  const { predicate: _, ...scan } = plan.input
  return scan
}

/** The plan over a stored table instead of the scan that it is over. */
export function overStored(plan: PhysicalPlan, stored: Extract<PhysicalPlan, { kind: 'StoredExec' }>): PhysicalPlan {
  if (plan.kind !== 'PipelineExec') return stored
  return { ...plan, input: plan.input.kind === 'PipelineExec' ? overStored(plan.input, stored) : stored }
}

/** The batch of a column program with its hidden column as explicit keys; undefined where one is no key, which the row loop tells with its row. */
export function withAxes(
  { hidden: [column] = [], ...batch }: ExecBatch,
  { rank, shape }: Extract<WideOperator, { kind: 'IndexExec' }>,
): ExecBatch | undefined {
  try {
    return column && { ...batch, keys: keysOf(column, { rank, shape, firstRow: 0, isLent: true }) }
  } catch (error) {
    if (error instanceof PlanError) return undefined
    throw error
  }
}

/** The batch of a column program with its keys, the first hidden columns, made comparable as `evaluate.ts` does for batches of other pipelines. */
export function withComparedKeys(batch: ExecBatch, operator: WideOperator): ExecBatch {
  const { hidden = [] } = batch
  if (operator.kind === 'AsofJoinExec') return { ...batch, hidden: hidden.map(wholeMilliseconds).map(withWholeNulls) }
  const keys = operator.kind === 'WindowExec' ? Number(operator.by) + Number(operator.ordered) : 1
  const compared = hidden.slice(0, keys).map(wholeMilliseconds)
  return { ...batch, hidden: [...(operator.kind === 'HashJoinExec' ? compared.map(withWholeNulls) : compared), ...hidden.slice(keys)] }
}

/** The pipeline without its last step, where that is a TopKExec: over a whole table the sort finds the first rows itself. Else undefined. */
export function withoutTopK(plan: PhysicalPlan): Pipeline | undefined {
  if (plan.kind !== 'PipelineExec' || plan.steps.at(-1)?.kind !== 'TopKExec') return undefined
  return { ...plan, steps: plan.steps.slice(0, -1) }
}

/** The pipeline under a limit, whose last step cuts every partition to `count`. */
export function limitedPipeline(plan: Extract<PhysicalPlan, { kind: 'LimitExec' }>): Pipeline {
  if (plan.input.kind === 'PipelineExec') return plan.input
  return { ...stepless(plan.input), steps: [{ kind: 'LimitExec', count: plan.count }] }
}

/** The reason why an operator runs as one task over whole inputs. */
export function wholeTaskBecause(operator: WideOperator, isSmall: boolean): string {
  if (isSmall) return 'there are few rows'
  switch (operator.kind) {
    case 'SortExec':
    case 'WindowExec':
    case 'AsofJoinExec':
      return 'its keys are compared row by row, or memory is short'
    case 'GroupReduceExec':
    case 'GroupMapExec':
      return 'its function is called with pairs or groups of rows'
    case 'IndexExec':
      return 'a function makes one element of those with one key, they hold lists, or memory is short'
    case 'DistinctExec':
      return 'its elements hold lists or objects, or memory is short'
    case 'HashAggregateExec':
    case 'HashJoinExec':
    case 'DrawExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return 'one task takes it whole'
  }
}

/** The number of partitions of a pipeline over a scan; undefined for other plans. */
export function partitionsRead(plan: PhysicalPlan): number | undefined {
  return plan.kind === 'PipelineExec' && plan.input.kind === 'ScanExec' ? splitsRead(plan.input).length : undefined
}

export function keepsPieces(operator: WideOperator): boolean {
  return operator.kind === 'RepartitionExec'
}

export function stageName(plan: Pipeline): string {
  const last = plan.steps.at(-1)
  const scan =
    plan.input.kind === 'ScanExec'
      ? [`ScanExec ${plan.input.source.name}`]
      : plan.input.kind === 'StoredExec'
        ? [`StoredExec ${plan.input.name}`]
        : []
  return [...scan, ...plan.steps.map((step) => step.kind)].join(' -> ') || (last?.kind ?? 'ExchangeExec')
}

/** Whether a function of the step may not end, so that it must run on a worker, which can be stopped, even for few rows. */
export function stepMayNotEnd(step: Step): boolean {
  if ('f' in step) return mayNotEnd(step.f)
  return step.kind === 'EvaluateExec' && step.columns.some((column) => mayNotEnd(column.f))
}
