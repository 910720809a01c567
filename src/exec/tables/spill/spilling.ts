/** The implementation of the services for operators by way of disk (`externalServices.ts`): exchanges run as pipelines of the plan's run. */
import type { Column } from '../../../core/data/column.ts'
import { Bug } from '../../../core/errors.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Blocks } from '../blocks.ts'
import {
  batchesOf,
  bytesToRead,
  type Dataset,
  datasetOf,
  filledOr,
  type How,
  type Input,
  narrowTask,
  type Partition,
  type Pipeline,
  type Result,
  type Results,
  rowsOf,
  stepless,
  type Wide,
} from '../dataset.ts'
import type { ExecutorOptions } from '../executorOptions.ts'
import { beforeDistinct, withoutPartialGroups } from '../loadedScan.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { asRowFailure } from '../operators/rows/rowFailure.ts'
import { inputsOf } from '../planInputs.ts'
import { bytesOfBatches, type PlanRecord } from '../planRecord.ts'
import { splitsRead } from '../scanSplits.ts'
import type { StageResult, StageTask } from '../stage.ts'
import type { ExternalServices, Source } from './externalServices.ts'
import { bytesOf, partsIn, piecesOf, type SpilledPart, segmentsIn } from './parts.ts'
import type { SegmentsOfFile } from './segments.ts'
import { placesIn, type Spilled, type SpillKey, shapeOfAll } from './spillTask.ts'

/** The parts of a run that the services use. */
export interface SpillingRun {
  readonly spill: ExecutorOptions['spill']
  readonly budgetBytes: number
  readonly blocks: Blocks
  readonly record: PlanRecord | undefined
  readonly emit: NonNullable<ExecutorOptions['onEvent']>
  readonly pipeline: (plan: Pipeline, input: Input, how: How) => AsyncGenerator<StageResult, void, undefined>
  readonly results: (plan: PhysicalPlan) => Results
  readonly inputOf: (plan: Pipeline) => Promise<Input>
  /** The whole result of a plan, or its stream of results where it runs by way of disk itself. */
  readonly resultOf: (plan: PhysicalPlan) => Promise<Input>
  /** The whole result of a plan. */
  readonly runOf: (plan: PhysicalPlan) => Promise<Dataset>
  readonly collected: (plan: Pipeline, input: Dataset) => Promise<Dataset>
  readonly wideResult: (plan: Wide, operator: WideOperator, inputs: readonly (readonly ExecBatch[])[], inline: boolean) => Promise<Result>
  readonly task: (task: StageTask) => Promise<StageResult>
  readonly isSmall: (partitions: readonly Partition[]) => boolean
}

/** Bytes of spilled rows that one task reads. */
const PIECE_BYTES = 2 ** 22
/** The budget divided by this may be held in memory while others are joined with it. */
const BUDGET_PER_HELD = 8
/** The budget divided by this is the size of a part: each worker has its rows, scratch memory and its result. */
const BUDGET_PER_PART = 16
/** The budget divided by this is the size of a part in order: each worker reads one while others wait to be taken, and are encoded. */
const BUDGET_PER_ORDERED = 32
/** The budget divided by this is the most that a worker may read of a window's partition to compute a piece of it. */
const BUDGET_PER_REACHED = 4
/** The most bytes of a part: each worker has its rows once or twice outside of the budget, and its decoder a few times. */
const MOST_PART_BYTES = 2 ** 24
/** The partitions whose keys are sampled to cut a sort into parts, and the rows sampled in each. */
const SAMPLED_PARTITIONS = 16
const SAMPLED_ROWS = 512

/** A plan node that stands for rows read back from disk; it is in no plan. */
const SPILLED: Extract<PhysicalPlan, { kind: 'StoredExec' }> = {
  ...{ kind: 'StoredExec', name: 'spilled rows', element: { kind: 'unknown' }, keys: { kind: 'explicit', rank: 1, dense: false } },
  storage: { kind: 'table', element: { kind: 'unknown' }, length: 0, columns: [] },
}

/** The number of parts of at most `partBytes`, if rows are spread evenly, with a margin as columns take more memory than in their file. */
function partsFor(bytes: number, partBytes: number): number {
  return Math.max(FEWEST_PARTS, Math.min(MOST_PARTS, Math.ceil((1.25 * bytes) / partBytes)))
}
const FEWEST_PARTS = 16
const MOST_PARTS = 512

/** The bytes of the sources of a plan, as far as these are known. */
function bytesBelow(plan: PhysicalPlan): number {
  switch (plan.kind) {
    case 'ScanExec':
      return splitsRead(plan).reduce((sum, split) => sum + bytesToRead({ kind: 'split', scan: plan, split }), 0)
    case 'StoredExec':
      return plan.storage.kind === 'table' ? bytesOfBatches([plan.storage]) : 0
    default:
      return inputsOf(plan).reduce((sum, input) => sum + bytesBelow(input), 0)
  }
}

/** Whether the inputs' rows are more than memory holds by the sizes of their files, so that it would be in vain to read them first. */
export function isInVain({ inputs, keyFilter }: Wide, budgetBytes: number): boolean {
  // the keys of one side may leave few rows of the other
  const whole = keyFilter === undefined ? inputs : inputs.slice(...(keyFilter.side === 'left' ? [0, 1] : [1]))
  return whole.reduce((sum, input) => sum + bytesKept(input), 0) > CLEARLY * budgetBytes
}

/** The factor that the inputs must exceed the budget by: files of texts may be larger than the columns read from them. */
const CLEARLY = 2

/** The bytes of a plan's result where it hands on all rows and columns of a file; else 0, as it may have fewer. */
export function bytesKept(plan: PhysicalPlan): number {
  if (plan.filteredBy !== undefined) return 0
  if (plan.kind === 'PipelineExec')
    return plan.steps.every((step) => step.kind === 'EvaluateExec' && step.payload === true) ? bytesKept(plan.input) : 0
  return plan.kind === 'ScanExec' && plan.predicate === undefined ? bytesBelow(plan) : 0
}

/** Spilled rows as a dataset of pieces of `PIECE_BYTES`, one a task. */
function inPieces(rows: SpilledPart): Dataset {
  return datasetOf(piecesOf(rows, PIECE_BYTES))
}

export function spillingServices(plan: Wide, run: SpillingRun): ExternalServices {
  const { always } = run.spill ?? {}
  const heldBytes = always?.partBytes ?? Math.floor(run.budgetBytes / BUDGET_PER_HELD)
  const partBytes = always?.partBytes ?? Math.min(MOST_PART_BYTES, Math.floor(run.budgetBytes / BUDGET_PER_PART))
  const spilled = { ...stepless(SPILLED), input: { ...SPILLED, name: `of ${plan.operator.kind}` } }
  return {
    ...{
      partBytes,
      heldBytes,
      mostBytes: always === undefined ? Math.floor(run.budgetBytes / BUDGET_PER_REACHED) : Number.POSITIVE_INFINITY,
    },
    parts: always?.parts ?? partsFor(bytesBelow(plan), partBytes),
    partsInOrder: always?.parts ?? partsFor(bytesBelow(plan), Math.min(partBytes, run.budgetBytes / BUDGET_PER_ORDERED)),
    free: (blocks) => run.blocks.free(blocks),
    kept: (blocks, batches) => run.blocks.keep(blocks, batches),
    results: (input) => run.results(withoutPartialGroups(input)),
    read: async (rows) => {
      if (bytesOf(rows.segments) === 0) return { batches: [rows.shape], blocks: [] }
      const { partitions, blocks } = await run.collected(spilled, inPieces(rows))
      return { batches: batchesOf(partitions), blocks }
    },
    streamed: (parts, how) => run.pipeline(spilled, datasetOf(parts), { streamed: true, ...how }),
    work: async (operator, inputs) => {
      const batches = inputs.map((all, i) => filledOr(all, plan.inputs[i]))
      const inline = plan.where === 'caller' || batches.every((all) => run.isSmall([{ kind: 'batches', batches: all }]))
      return await run.wideResult(plan, operator, batches, inline)
    },
    sampled: async (source, key) => {
      if (source.kind === 'plan') return await sampledOf(run, source.plan, key)
      if (source.kind !== 'spilled') return []
      const { rows } = source
      return await sampledFrom(
        run,
        spilled,
        segmentsIn(rows.segments).map((segment) => ({ kind: 'spilled', part: { ...rows, segments: [segment] } })),
        key,
      )
    },
    exchanged: async (source, exchange) => {
      const [pipeline, input] = await exchangedInput(run, source, spilled)
      const files: SegmentsOfFile[] = []
      const tasks: Omit<Spilled, 'segments'>[] = []
      for await (const { spilled: task } of run.pipeline(pipeline, input, { streamed: true, spill: exchange })) {
        if (task === undefined) throw new Bug(`A task of ${plan.operator.kind} spilled nothing.`)
        const { segments, ...rest } = task
        tasks.push(rest)
        if (segments !== undefined) files.push(segments)
      }
      const parts = partsIn(files)
      const bytes = parts.reduce((sum, part) => sum + bytesOf(part), 0)
      if (bytes > 0) run.emit({ kind: 'spill', operator: plan.operator.kind, bytes })
      run.record?.addSpilled(plan, bytes)
      if (source.kind === 'spilled') return { parts, rowsBefore: [], shape: source.rows.shape }
      return {
        parts,
        rowsBefore: rowsBeforeEach(tasks),
        shape: shapeOfAll(tasks, source.kind === 'plan' ? pipeline.element : plan.element, exchange.numbered),
      }
    },
  }
}

function rowsBeforeEach(tasks: readonly Pick<Spilled, 'rows'>[]): readonly number[] {
  let before = 0
  return tasks.map(({ rows }) => {
    before += rows
    return before - rows
  })
}

/** The pipeline whose results are exchanged, and its input. */
async function exchangedInput(run: SpillingRun, source: Source, spilled: Pipeline): Promise<readonly [Pipeline, Input]> {
  if (source.kind === 'spilled') return [spilled, inPieces(source.rows)]
  if (source.kind === 'parts') return [spilled, datasetOf(source.parts)]
  if (source.kind === 'results') return [spilled, { kind: 'streamed', results: source.results }]
  // where memory does not hold the different elements, a partial distinct drops few, and its work is done again
  const plan = beforeDistinct(source.plan) ?? withoutPartialGroups(source.plan)
  if (plan.kind === 'PipelineExec') return [plan, await run.inputOf(plan)]
  return [stepless(plan), await run.resultOf(plan)]
}

/** A sample of a plan's keys, where it is a pipeline over a file or a table; else none. */
async function sampledOf(run: SpillingRun, plan: PhysicalPlan, key: SpillKey): Promise<readonly Column[]> {
  if (plan.kind !== 'PipelineExec' || plan.where === 'caller') return []
  const { kind } = plan.input
  if (kind !== 'ScanExec' && kind !== 'StoredExec') return []
  const { partitions } = await run.runOf(plan.input)
  // row numbers, which its functions see, are known only if all partitions before have known lengths
  if (plan.numbered && partitions.some((one) => rowsOf(one) === undefined)) return []
  return await sampledFrom(run, plan, partitions, key)
}

async function sampledFrom(run: SpillingRun, plan: Pipeline, partitions: readonly Partition[], key: SpillKey): Promise<readonly Column[]> {
  const keys: Column[] = []
  for (const place of placesIn(partitions.length, SAMPLED_PARTITIONS)) {
    const partition = partitions[place] as Partition // below the length
    try {
      const firstRow = partitions.slice(0, place).reduce((sum, one) => sum + (rowsOf(one) ?? 0), 0)
      const sample = { key, rows: SAMPLED_ROWS }
      const { batches } = await run.task(narrowTask(plan, partition, 0, firstRow, { sample }))
      keys.push(...batches.flatMap(({ columns }) => columns))
    } catch (error) {
      if (asRowFailure(error) === undefined) throw error // the rows themselves fail in their turn
    }
  }
  return keys
}
