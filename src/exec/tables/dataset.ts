/** The results that nodes of a plan hand to each other: partitions, all stored or streamed one after another. */
import type { Batch } from '../../core/data/column.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Block } from './block.ts'
import type { CodedKeys } from './columns/columnProgram.ts'
import { asDeclared, batchAs, type ExecBatch, emptyBatch, sliceBatch, unifyElements } from './operators/batches.ts'
import { withoutKeys } from './operators/operator.ts'
import { bytesOfPart, type Exchange, inputOf, type Part, rowsOfSegments } from './spill/parts.ts'
import type { StageResult, StageTask } from './stage.ts'

export type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>
export type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>
export type Wide = Extract<PhysicalPlan, { kind: 'WideExec' }>
export type Union = Extract<PhysicalPlan, { kind: 'UnionExec' }>

export type Partition =
  | { readonly kind: 'split'; readonly scan: Scan; readonly split: Scan['source']['splits'][number] }
  | { readonly kind: 'batches'; readonly batches: readonly ExecBatch[] }
  | { readonly kind: 'spilled'; readonly part: Part }

/** Partitions in element order, and the run's blocks that they lie in. */
export interface Dataset {
  readonly kind: 'stored'
  readonly partitions: readonly Partition[]
  readonly blocks: readonly Block[]
  /** Present where keys of groups are dictionary codes of texts. */
  readonly coded?: CodedKeys
  /** The key filters, by number, that were applied to the rows: none without a match on the other side of that join is left. */
  readonly matched?: readonly number[]
}

/** A partition of a result, and the run's blocks that it lies in. */
export type Result = Pick<StageResult, 'batches' | 'blocks'>

/** The input of a pipeline: stored partitions, or a stream of them. */
export type Input = Dataset | { readonly kind: 'streamed'; readonly results: Results }

export type Results = AsyncGenerator<Result, void, undefined>

export interface How {
  readonly streamed?: boolean
  /** Whether perhaps only the first results are wanted. */
  readonly limited?: boolean
  /** Whether the consumer takes texts as dictionary codes. */
  readonly coded?: boolean
  /** The exchange by which results are written to disk instead of being returned. */
  readonly spill?: Exchange
  /** For spilled parts whose failures are told by row: the number of rows before each partition. */
  readonly rowsBefore?: readonly number[]
}

export function datasetOf(parts: readonly Part[]): Dataset {
  return { kind: 'stored', partitions: parts.map((part): Partition => ({ kind: 'spilled', part })), blocks: [] }
}

export function stepless(input: PhysicalPlan): Pipeline {
  return { kind: 'PipelineExec', input, steps: [], where: 'workers', numbered: false, element: input.element, keys: input.keys }
}

/** The fields of a task whose steps' output is spilled or sampled, and so not its result. */
type InsteadOfResult = Pick<Extract<StageTask, { kind: 'narrow' }>, 'spill' | 'sample'>

export function narrowTask(
  plan: Pipeline,
  partition: Partition,
  index: number,
  firstRow: number,
  { coded, ...to }: InsteadOfResult & Pick<How, 'coded'> = {},
): StageTask {
  const base = { kind: 'narrow', steps: plan.steps, partition: index, firstRow, ...to } as const
  if (partition.kind === 'batches') return { ...base, input: partition }
  if (partition.kind === 'spilled') return { ...base, input: inputOf(partition.part) }
  const { source, columns, predicate } = partition.scan
  const skips = predicate === undefined ? {} : { predicate }
  const texts = coded === true && plan.steps.every(({ kind }) => kind === 'ProjectExec') ? ({ coded } as const) : {}
  return { ...base, input: { kind: 'split', source, split: partition.split, columns, ...skips, ...texts } }
}

/** The approximate bytes of the partition's columns that have to be read; 0 for those in memory. */
export function bytesToRead(partition: Partition): number {
  if (partition.kind === 'batches') return 0
  if (partition.kind === 'spilled') return bytesOfPart(partition.part)
  const { split, scan } = partition
  if (split.columnBytes === undefined) return split.bytes ?? 0
  return scan.columns.reduce((sum, column) => sum + (split.columnBytes?.get(column) ?? 0), 0)
}

export function rowsOf(partition: Partition): number | undefined {
  if (partition.kind === 'spilled') return partition.part.kind === 'spilled' ? rowsOfSegments(partition.part.segments) : undefined
  if (partition.kind === 'split') return partition.scan.predicate === undefined ? partition.split.rows : undefined
  return rowsIn(partition.batches)
}

export function withoutFirst(batches: readonly ExecBatch[], count: number): readonly ExecBatch[] {
  let skipped = count
  return batches.flatMap((batch) => {
    const from = Math.min(skipped, batch.length)
    skipped -= from
    return from === batch.length ? [] : [sliceBatch(batch, from, batch.length)]
  })
}

export function rowsIn(batches: readonly ExecBatch[]): number {
  return batches.reduce((sum, batch) => sum + batch.length, 0)
}

export function batchesOf(partitions: readonly Partition[]): readonly ExecBatch[] {
  return partitions.flatMap((partition) => (partition.kind === 'batches' ? partition.batches : []))
}

export function withoutPartitionKeys(partition: Partition): Partition {
  return partition.kind === 'batches' ? { ...partition, batches: partition.batches.map(withoutKeys) } : partition
}

/** The partitions converted to their common element type. */
export function agreed(partitions: readonly Partition[]): readonly Partition[] {
  const filled = batchesOf(partitions).filter((batch) => batch.length > 0)
  if (filled.length < 2) return partitions
  const element = unifyElements(filled.map((batch) => batch.element))
  return partitions.map((partition) =>
    partition.kind === 'batches'
      ? { ...partition, batches: partition.batches.map((batch) => (batch.length === 0 ? batch : batchAs(batch, element))) }
      : partition,
  )
}

/** The batches of a result: no empty ones unless there is nothing else, no hidden columns. */
export function finished(batches: readonly ExecBatch[], plan: PhysicalPlan): readonly Batch[] {
  const filled = batches.filter((batch) => batch.length > 0)
  const [empty = emptyBatch(plan.element)] = batches
  const rest: readonly ExecBatch[] = filled.length > 0 ? filled : [empty.element.kind === 'unknown' ? emptyBatch(plan.element) : empty]
  return rest.map(({ hidden: _, ...batch }) => {
    const typed = asDeclared(batch, plan.element)
    return plan.keys.kind === 'rowNumber' ? withoutKeys(typed) : typed
  })
}

/** The batches of an input; without any elements, an empty batch of the type that the plan declares. */
export function filledOr(batches: readonly ExecBatch[], plan: PhysicalPlan | undefined): readonly ExecBatch[] {
  const isUnknown = batches.every((batch) => batch.length === 0) && (batches[0]?.element.kind ?? 'unknown') === 'unknown'
  return isUnknown ? [emptyBatch(plan?.element ?? { kind: 'unknown' })] : batches
}
