/** Runs the nodes of a physical plan: their results whole, or partition after partition. */

import type { Batch } from '../../../core/data/column.ts'
import { MemoryError } from '../../../core/errors.ts'
import { isKnown } from '../../../core/plan/elements.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import {
  agreed,
  batchesOf,
  type Dataset,
  type How,
  type Input,
  type Partition,
  type Pipeline,
  type Result,
  type Results,
  rowsIn,
  rowsOf,
  type Scan,
  stepless,
  withoutFirst,
  withoutPartitionKeys,
} from '../dataset.ts'
import { asDeclared, emptyBatch, sliceBatch } from '../operators/batches.ts'
import { withoutKeys } from '../operators/operator.ts'
import { splitsRead } from '../scanSplits.ts'
import { selected } from '../selected.ts'
import { partitionsBeyond } from '../spill/expected.ts'
import { storedBatches } from '../storedBatches.ts'
import { checkUnion } from '../unionCheck.ts'
import type { ColumnInputs } from './columnInputs.ts'
import { fetchedRows } from './fetchedRows.ts'
import type { Pipelines } from './pipelines.ts'
import { keptError } from './runErrors.ts'
import { inputOf, isStreamed, limitedPipeline, runsTogether, stageName } from './runPlans.ts'
import type { RunState } from './runState.ts'
import { SpilledOperators } from './spilledOperators.ts'
import { WideOperators } from './wideOperators.ts'

/** How a consumer takes results: perhaps only the first of them, and texts as dictionary codes where they have these. */
type Wanted = Pick<How, 'limited' | 'coded'>

export class PlanResults {
  private readonly state: RunState
  private readonly pipelines: Pipelines
  private readonly columns: ColumnInputs
  private readonly spilled: SpilledOperators
  readonly wideOperators: WideOperators

  constructor(state: RunState, pipelines: Pipelines, columns: ColumnInputs) {
    this.state = state
    this.pipelines = pipelines
    this.columns = columns
    this.wideOperators = new WideOperators(state, columns, this)
    this.spilled = new SpilledOperators(state, { pipelines, columns, wideOperators: this.wideOperators, plans: this })
  }

  /** The partitions of a result, as the consumer wants them. It frees a partition's blocks before it asks for the next. */
  results(plan: PhysicalPlan, wanted: Wanted = {}): AsyncGenerator<Result, void, undefined> {
    const results = this.resultsOf(plan, wanted)
    return this.state.record === undefined ? results : this.state.record.waitedForEach(plan, results)
  }

  private async *resultsOf(plan: PhysicalPlan, { limited = false, coded = false }: Wanted): AsyncGenerator<Result, void, undefined> {
    switch (plan.kind) {
      case 'ScanExec':
        yield* this.pipelines.pipeline(stepless(plan), await this.runOf(plan), { streamed: true, limited, coded })
        return
      case 'PipelineExec':
        yield* this.pipelines.pipeline(plan, await this.inputOf(plan, limited), { streamed: true, limited, coded })
        return
      case 'LimitExec': {
        const pipeline = limitedPipeline(plan)
        let left = plan.count
        if (left === 0) return
        for await (const result of this.results(pipeline, { limited: true })) {
          const batches = result.batches.map((batch) => {
            const taken = sliceBatch(batch, 0, Math.min(batch.length, left))
            left -= taken.length
            return taken
          })
          this.state.record?.addMade(plan, rowsIn(batches))
          yield { ...result, batches }
          this.state.record?.addTaken(pipeline, rowsIn(result.batches))
          if (left === 0) return
        }
        return
      }
      case 'UnionExec':
        for (const input of plan.inputs)
          for await (const result of this.results(input, { limited })) {
            const batches = result.batches.map((batch) => asDeclared(withoutKeys(batch), plan.element))
            this.state.record?.addMade(plan, rowsIn(batches))
            yield { ...result, batches }
            this.state.record?.addTaken(input, rowsIn(batches))
          }
        return
      case 'WideExec': {
        const result = await this.resultOf(plan)
        if (result.kind === 'streamed') yield* result.results
        else yield { batches: batchesOf(result.partitions), blocks: result.blocks }
        return
      }
      case 'StoredExec':
      case 'OffsetExec':
      case 'FetchExec':
      case 'IndexBuildExec':
      case 'IndexLookupExec': {
        const { partitions, blocks } = await this.wholeOf(plan)
        yield { batches: batchesOf(partitions), blocks }
      }
    }
  }

  /** The input of a pipeline: a stream where the plan says so, else stored. */
  async inputOf(plan: Pipeline, limited: boolean = false): Promise<Input> {
    const input = inputOf(plan)
    if (!isStreamed(input)) return await this.state.waitedFor(input, () => this.resultOf(input))
    return { kind: 'streamed', results: this.results(input, { limited }) }
  }

  private async run(plan: PhysicalPlan): Promise<Dataset> {
    return await this.state.waitedFor(plan, () => this.runOf(plan))
  }

  /** The whole result of a plan, with splits of files read. */
  private async whole(plan: PhysicalPlan): Promise<Dataset> {
    return await this.state.waitedFor(plan, () => this.wholeOf(plan))
  }

  async wholeOf(plan: PhysicalPlan): Promise<Dataset> {
    return await this.materialized(await this.runOf(plan), plan)
  }

  async runOf(plan: PhysicalPlan): Promise<Dataset> {
    const result = await this.resultOf(plan)
    return result.kind === 'stored' ? result : await this.gathered(result.results)
  }

  /** The result of a plan: stored, or a stream from a wide operator that runs part after part by way of disk. */
  async resultOf(plan: PhysicalPlan): Promise<Input> {
    const result =
      plan.kind === 'WideExec' && !this.state.ready.has(plan) ? await this.spilled.wideOrParts(plan) : await this.datasetOf(plan)
    // the rows of splits that are not read yet are not known
    if (plan.kind !== 'PipelineExec' && result.kind === 'stored' && result.partitions.every(({ kind }) => kind === 'batches')) {
      const batches = batchesOf(result.partitions)
      this.state.record?.addWhole(plan, batches)
      this.state.record?.addMade(plan, rowsIn(batches))
    }
    return result
  }

  /** Collects a stream of results into a dataset. */
  private async gathered(results: Results): Promise<Dataset> {
    const partitions: Partition[] = []
    const blocks: Block[] = []
    for await (const result of results) {
      partitions.push({ kind: 'batches', batches: result.batches })
      blocks.push(...result.blocks)
    }
    return { kind: 'stored', partitions: agreed(partitions), blocks }
  }

  private async datasetOf(plan: PhysicalPlan): Promise<Dataset> {
    this.state.signal?.throwIfAborted()
    const ready = this.state.ready.get(plan)
    if (ready !== undefined) {
      this.state.ready.delete(plan)
      return ready
    }
    switch (plan.kind) {
      case 'ScanExec':
        return await this.scan(plan)
      case 'StoredExec':
        return this.state.inMemory(storedBatches(await this.columns.spelled(plan.storage), plan))
      case 'PipelineExec':
        return await this.collected(plan, await this.inputOf(plan))
      case 'WideExec':
        return await this.runOf(plan)
      case 'LimitExec': {
        const pipeline = limitedPipeline(plan)
        if (plan.count === 0 && plan.keys.kind === 'rowNumber') return this.state.inMemory([emptyBatch(plan.element)])
        return await this.state.waitedFor(
          pipeline,
          async () => await this.collected(pipeline, await this.inputOf(pipeline, true), { limit: plan.count }),
        )
      }
      case 'OffsetExec':
        return await this.fromOffset(plan)
      case 'FetchExec':
        return await fetchedRows(plan, await this.whole(plan.input), this.state)
      case 'UnionExec': {
        const datasets: Dataset[] = []
        for (const input of plan.inputs) datasets.push(await (isStreamed(input) ? this.handedOn(input) : this.whole(input)))
        if (!isKnown(plan.element))
          checkUnion(
            plan,
            datasets.map(({ partitions }) => batchesOf(partitions)),
          )
        const partitions = datasets.flatMap((dataset) => dataset.partitions.map(withoutPartitionKeys))
        return { kind: 'stored', partitions: agreed(partitions), blocks: datasets.flatMap((dataset) => dataset.blocks) }
      }
      case 'IndexBuildExec':
        // a plan that runs once needs no index: its elements are in the order of their keys
        return await this.whole(plan.input)
      case 'IndexLookupExec': {
        const { partitions, blocks } = await this.whole(plan.input)
        return { kind: 'stored', partitions: [{ kind: 'batches', batches: selected(batchesOf(partitions), plan.selectors) }], blocks }
      }
    }
  }

  /** The partitions from an offset on. Those that end before it are not read where the file tells their numbers of rows. */
  private async fromOffset({ input, offset }: Extract<PhysicalPlan, { kind: 'OffsetExec' }>): Promise<Dataset> {
    const given = await this.run(input)
    const isCounted = given.partitions.every((one) => rowsOf(one) !== undefined)
    const { partitions, blocks } = isCounted ? given : await this.materialized(given, input)
    const rows = partitions.reduce((sum, one) => sum + (rowsOf(one) ?? 0), 0)
    let skipped = offset < 0 ? Math.max(0, rows + offset) : offset
    const left: Partition[] = []
    const own: Block[] = [...blocks]
    for (const partition of partitions) {
      const length = rowsOf(partition) ?? 0
      if (skipped === 0 && length > 0) left.push(partition)
      else if (skipped < length) {
        const read = await this.materialized({ kind: 'stored', partitions: [partition], blocks: [] }, input)
        own.push(...read.blocks)
        left.push({ kind: 'batches', batches: withoutFirst(batchesOf(read.partitions), skipped) })
      }
      skipped = Math.max(0, skipped - length)
    }
    return { kind: 'stored', partitions: agreed(left), blocks: own }
  }

  private async scan(plan: Scan): Promise<Dataset> {
    const { source, columns, predicate } = plan
    if (source.kind !== 'memory') {
      const splits = splitsRead(plan)
      return { kind: 'stored', partitions: splits.map((split) => ({ kind: 'split', scan: plan, split })), blocks: [] }
    }
    const batches: Batch[] = []
    for (const split of source.splits) batches.push(...(await this.state.options.readSplit(source, split, columns, predicate)))
    return this.state.inMemory(batches)
  }

  async materialized(dataset: Dataset, plan: PhysicalPlan): Promise<Dataset> {
    if (dataset.partitions.every((partition) => partition.kind === 'batches')) return dataset
    return await this.collected(stepless(plan), dataset)
  }

  /** Runs a pipeline to its end, or until `limit` elements have come. */
  async collected(
    plan: Pipeline,
    input: Input,
    { limit = Number.POSITIVE_INFINITY, isHandedOn = false }: { readonly limit?: number; readonly isHandedOn?: boolean } = {},
  ): Promise<Dataset> {
    const partitions: Partition[] = []
    const blocks: Block[] = []
    const together = input.kind === 'stored' && runsTogether(plan, input.partitions)
    let rows = 0
    const limited = limit < Number.POSITIVE_INFINITY
    for await (const result of this.kept(plan, input, { streamed: limited, limited })) {
      const batches = result.batches.map((batch) => {
        const taken = sliceBatch(batch, 0, Math.min(batch.length, limit - rows))
        rows += taken.length
        return plan.keys.kind === 'rowNumber' ? withoutKeys(taken) : taken
      })
      if (together) partitions.push(...batches.map((batch): Partition => ({ kind: 'batches', batches: [batch] })))
      else partitions.push({ kind: 'batches', batches })
      blocks.push(...result.blocks)
      if (isHandedOn || limited) this.state.record?.addTaken(plan, rowsIn(result.batches))
      if (rows >= limit) break
      if (this.state.tries === 0 || input.kind !== 'stored') continue
      const progress = { done: partitions.length, total: input.partitions.length }
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      this.state.checkRoom(partitionsBeyond(progress, bytes, this.state.options.arena.budgetBytes), stageName(plan))
    }
    const used = input.kind === 'stored' ? this.state.blocks.keep(input.blocks, batchesOf(partitions)) : []
    return { kind: 'stored', partitions: agreed(partitions), blocks: [...blocks, ...used] }
  }

  /** The dataset of a streamed input of a stored union, whose partitions become the union's. */
  private async handedOn(plan: PhysicalPlan): Promise<Dataset> {
    return await this.state.waitedFor(plan, async () =>
      plan.kind === 'PipelineExec'
        ? await this.collected(plan, await this.inputOf(plan), { isHandedOn: true })
        : await this.datasetOf(plan),
    )
  }

  /** The results of a pipeline for a caller that keeps all of them; the MemoryError where they do not fit says why they are kept. */
  private async *kept(plan: Pipeline, input: Input, how: How): AsyncGenerator<Result, void, undefined> {
    try {
      yield* this.pipelines.pipeline(plan, input, how)
    } catch (error) {
      throw error instanceof MemoryError && how.limited !== true ? keptError(error, plan) : error
    }
  }
}
