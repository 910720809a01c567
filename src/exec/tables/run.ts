/** One run of a physical plan: its datasets, its memory, its tasks. */

import { setMaxListeners } from 'node:events'
import { rmSync } from 'node:fs'
import type { Storage } from '../../core/arrays/storage.ts'
import type { Batch, Column } from '../../core/data/column.ts'
import { MemoryError } from '../../core/errors.ts'
import { fallbackOf } from '../../core/ir/functionUse.ts'
import { heardByMany, joinedSignal } from '../../core/joinedSignal.ts'
import { isKnown } from '../../core/plan/elements.ts'
import type { PhysicalPlan, Step, WideOperator } from '../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../kernels/columns/programShape.ts'
import { addCost, fallbackEvent, fallbacksOf, functionsIn, rowsOfFilesEvent } from '../kernels/fallbacks.ts'
import { Charge } from '../memory/charge.ts'
import { buffersPassed } from '../memory/lease.ts'
import { blocksAdded, shareBatch } from '../memory/shareColumns.ts'
import type { Block } from './block.ts'
import { Blocks } from './blocks.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from './columns/columnProgram.ts'
import type { ColumnRun } from './columns/columnRun.ts'
import { type ProgramTable, programTable } from './columns/columnTable.ts'
import { withKeys } from './columns/groups/codedKeys.ts'
import { elementGroups } from './columns/groups/elementGroups.ts'
import { type GroupedColumns, groupedColumns } from './columns/groups/groupedColumns.ts'
import { keyFilters, keysOfSide } from './columns/joinFilter.ts'
import { overColumns } from './columns/overColumns.ts'
import { isRefused, refused } from './columns/refused.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import type { KeySet } from './columns/semiJoin.ts'
import { textsGrouped } from './columns/texts/codesOnDemand.ts'
import { isUnspelled, spelled } from './columns/texts/spelledTexts.ts'
import { codesOf, giveCodes } from './columns/texts/textCodes.ts'
import { plannedTextColumns } from './columns/texts/textColumns.ts'
import {
  agreed,
  batchesOf,
  bytesToRead,
  type Dataset,
  filledOr,
  finished,
  type How,
  type Input,
  narrowTask,
  type Partition,
  type Pipeline,
  type Result,
  type Results,
  rowsIn,
  rowsOf,
  type Scan,
  stepless,
  type Wide,
  withoutFirst,
  withoutPartitionKeys,
} from './dataset.ts'
import type { ExecutorOptions, RunOptions } from './executorOptions.ts'
import { loadedScan, scanToLoad, splitsRead, withoutPartialGroups } from './loadedScan.ts'
import { LoadsAhead, plannedLoads, type TimedLoad } from './loadsAhead.ts'
import { asDeclared, concatBatches, type ExecBatch, emptyBatch, sliceBatch, unifyElements } from './operators/batches.ts'
import { isFree } from './operators/freeSteps.ts'
import { FoldedGroups } from './operators/groupBy/foldedGroups.ts'
import { rowOfNothing } from './operators/groupBy/rowOfNothing.ts'
import { withoutKeys } from './operators/operator.ts'
import { cutPartitions, PARTITION_ROWS, SMALL_ROWS } from './operators/partitions.ts'
import { among, asRowFailure, taskErrorOf } from './operators/rows/rowFailure.ts'
import { bytesOfBatches, type PlanRecord } from './planRecord.ts'
import { keptError, mapPartitionsError, tooLargeError } from './runErrors.ts'
import {
  inputOf,
  isOverWide,
  isStreamed,
  keepsPieces,
  limitedPipeline,
  partitionsRead,
  readsNothing,
  runsOnCaller,
  runsTogether,
  stageName,
  stepMayNotEnd,
  wholeTaskBecause,
  withComparedKeys,
  withoutTopK,
} from './runPlans.ts'
import { inOrder } from './scheduler.ts'
import { selected } from './selected.ts'
import { sendable } from './sendable.ts'
import { groupsBeyond, partitionsBeyond } from './spill/expected.ts'
import { type External, externalOf } from './spill/external.ts'
import { ExternalRun } from './spill/externalRun.ts'
import { isInVain, type SpillingRun, spillingServices } from './spill/spilling.ts'
import type { StageResult, StageTask } from './stage.ts'
import { runStageTask } from './stageTask.ts'
import { storedBatches } from './storedBatches.ts'
import { checkUnion } from './unionCheck.ts'
import { type WholeTable, wholeTable } from './wholeTable.ts'
import { sharedWork } from './wide/sharedWork.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

/** Filters of a program's rows by keys. */
type KeySetsOf = (program: ColumnProgram) => readonly KeySet[]

/** `isWhole`: in pieces as it is made. `isBounded`: there is another way where memory is short. */
interface Whole {
  readonly isWhole?: boolean
  readonly isBounded?: boolean
}

/** Who has batches where they lie, until it frees them. */
export interface Keeper {
  keep(batch: Batch, free: () => void): void
  /** Hears how to free all that is left. */
  atEnd(free: () => void): void
}

export class Run {
  private readonly options: ExecutorOptions
  private readonly signal: AbortSignal | undefined
  private readonly blocks: Blocks
  /** Keys of joins whose first side is there, by their numbers. */
  private readonly joined = new Map<number, readonly Column[]>()
  /** Tables that have texts as codes alone, with their bytes. */
  private readonly tables = new Map<Storage, Storage>()
  /** What wide operators gave that somebody is about to ask for. */
  private readonly ready = new Map<PhysicalPlan, Dataset>()
  /** Scans that are read before their turn. */
  private readonly loads: LoadsAhead
  /** What was spilled to disk. */
  private readonly files: string[] = []
  /** Wide operators that memory did not hold as a whole. */
  private readonly beyond = new Set<PhysicalPlan>()
  /** Operators under way that there is another way for where memory is short. */
  private tries = 0
  /** Where what runs is measured; absent where nobody asks. */
  readonly record: PlanRecord | undefined
  constructor(options: ExecutorOptions, { signal, record }: RunOptions = {}) {
    this.options = options
    this.signal = heardByMany(signal)
    this.record = record
    this.blocks = new Blocks(options.arena)
    this.loads = new LoadsAhead(options.arena, (scan, isWaitedFor) => this.load(scan, isWaitedFor))
  }

  /** The whole result, outside of the run's memory; at least one batch. */
  async batches(plan: PhysicalPlan): Promise<readonly Batch[]> {
    const result = await this.waitedFor(plan, () => this.resultOf(plan))
    if (result.kind === 'streamed') return await this.copiedOutEach(result.results, plan)
    const { partitions } = await this.materialized(result, plan)
    return finished(batchesOf(partitions), plan).map((batch) => this.blocks.copiedOut(batch))
  }

  /** The same of what comes part after part, of which memory need not hold all. */
  private async copiedOutEach(results: Results, plan: PhysicalPlan): Promise<readonly Batch[]> {
    const partitions: Partition[] = []
    for await (const { batches, blocks } of results) {
      const filled = batches.filter((batch) => batch.length > 0)
      partitions.push({ kind: 'batches', batches: finished(filled, plan).map((batch) => this.blocks.copiedOut(batch)) })
      this.blocks.free(blocks)
    }
    return finished(batchesOf(agreed(partitions)), plan)
  }

  /**
   * The result partition after partition, outside of the run's memory, from which each is freed before it is handed over; at
   * least one batch. Where somebody keeps them, and no more than half of the memory is taken, they lie there until they are freed.
   */
  async *stream(plan: PhysicalPlan, keeper?: Keeper): AsyncGenerator<Batch, void, undefined> {
    let any = false
    let element = plan.element
    for await (const { batches, blocks } of this.results(plan)) {
      const filled = batches.filter((batch) => batch.length > 0)
      // values of different kinds are an error, whether all are there at once or not
      if (!isKnown(plan.element)) element = unifyElements([element, ...filled.map((batch) => batch.element)])
      if (keeper !== undefined && this.hasRoom() && filled.length > 0) {
        any = true
        let left = filled.length
        for (const batch of filled) {
          const [kept = batch] = finished([batch], plan)
          keeper.keep(kept, () => {
            if (--left === 0) this.blocks.free(blocks)
          })
          yield kept
        }
        continue
      }
      const last = filled.pop()
      for (const batch of filled) yield* this.outside(batch, plan)
      if (last === undefined) {
        this.blocks.free(blocks)
        continue
      }
      any = true
      const out = this.outside(last, plan)
      this.blocks.free(blocks)
      yield* out
    }
    if (!any) yield emptyBatch(plan.element)
  }

  private hasRoom(): boolean {
    const { usedBytes, budgetBytes } = this.options.arena
    return usedBytes <= budgetBytes / 2
  }

  private outside(batch: ExecBatch, plan: PhysicalPlan): readonly Batch[] {
    return finished([batch], plan).map((one) => this.blocks.copiedOut(one))
  }

  /** The partitions of a result one after another; `limited`: perhaps only the first are wanted. Who takes one frees its blocks before asking for the next. */
  private results(plan: PhysicalPlan, limited: boolean = false): AsyncGenerator<Result, void, undefined> {
    const results = this.resultsOf(plan, limited)
    return this.record === undefined ? results : this.record.waitedForEach(plan, results)
  }

  private async *resultsOf(plan: PhysicalPlan, limited: boolean): AsyncGenerator<Result, void, undefined> {
    switch (plan.kind) {
      case 'ScanExec':
        yield* this.pipeline(stepless(plan), await this.runOf(plan), { streamed: true, limited })
        return
      case 'PipelineExec':
        yield* this.pipeline(plan, await this.inputOf(plan, limited), { streamed: true, limited })
        return
      case 'LimitExec': {
        const pipeline = limitedPipeline(plan)
        let left = plan.count
        if (left === 0) return
        for await (const result of this.results(pipeline, true)) {
          const batches = result.batches.map((batch) => {
            const taken = sliceBatch(batch, 0, Math.min(batch.length, left))
            left -= taken.length
            return taken
          })
          this.record?.addMade(plan, rowsIn(batches))
          yield { ...result, batches }
          this.record?.addTaken(pipeline, rowsIn(result.batches))
          if (left === 0) return
        }
        return
      }
      case 'UnionExec':
        for (const input of plan.inputs)
          for await (const result of this.results(input, limited)) {
            const batches = result.batches.map((batch) => asDeclared(withoutKeys(batch), plan.element))
            this.record?.addMade(plan, rowsIn(batches))
            yield { ...result, batches }
            this.record?.addTaken(input, rowsIn(batches))
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
      case 'IndexBuildExec':
      case 'IndexLookupExec': {
        const { partitions, blocks } = await this.wholeOf(plan)
        yield { batches: batchesOf(partitions), blocks }
      }
    }
  }

  /** What a pipeline reads: as it comes where the plan says so. */
  private async inputOf(plan: Pipeline, limited: boolean = false): Promise<Input> {
    const input = inputOf(plan)
    if (!isStreamed(input)) return await this.waitedFor(input, () => this.resultOf(input))
    return { kind: 'streamed', results: this.results(input, limited) }
  }

  /** The plan over columns that are read whole, where it reads files and kernels can run over them; else the plan itself. `blocks`: what the columns lie in. */
  async loaded(plan: PhysicalPlan): Promise<{ readonly plan: PhysicalPlan; readonly blocks: readonly Block[] }> {
    const bare = withoutPartialGroups(plan)
    const begun = await this.loads.taken(plan)
    const scan = begun?.scan ?? scanToLoad(bare, this.options)
    if (scan !== undefined && 'because' in scan) this.record?.refuse(plan, scan.because)
    if (scan === undefined || 'because' in scan) return { plan, blocks: [] }
    const own: Block[] = []
    try {
      const { plan: stored, blocks, milliseconds } = begun?.loaded ?? (await this.load(scan))
      own.push(...blocks)
      this.record?.addLoaded({ scan, stored, milliseconds, isShared: begun?.isShared === true })
      const { edge: _, ...pipeline } = bare
      const coded = pipeline.kind === 'PipelineExec' ? { ...pipeline, input: stored } : stored
      const other = await this.withTexts(coded)
      this.record?.ranAs(plan, other)
      if (other !== stored) this.record?.addWait(other, milliseconds)
      return { plan: other, blocks }
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
      this.blocks.free(own)
      this.record?.refuse(plan, 'memory is short for whole columns')
      return { plan, blocks: [] } // split by split there may be enough
    }
  }

  /** Reads the columns of a scan; what they lie in is the run's. */
  private async load(scan: Scan, isWaitedFor: () => boolean = () => true): Promise<TimedLoad> {
    const { arena, pool } = this.options
    const name = `ScanExec ${scan.source.name}`
    const started = performance.now()
    this.emit({ kind: 'stage', phase: 'started', stage: name })
    const loaded = await loadedScan(scan, {
      arena,
      workers: pool.size,
      run: (task) => this.task(task, false),
      free: (done) => this.blocks.free(done),
      onProgress: (done, total) => {
        if (isWaitedFor()) this.emit({ kind: 'progress', job: name, done, total })
      },
    })
    this.blocks.add(loaded.blocks)
    const milliseconds = performance.now() - started
    this.emit({ kind: 'stage', phase: 'finished', stage: name, rows: loaded.plan.storage.length, milliseconds })
    return { ...loaded, milliseconds }
  }

  /** The pipeline over its columns as they were read, or over texts with their bytes where no kernels run over codes alone. */
  private async withTexts(plan: PhysicalPlan): Promise<PhysicalPlan> {
    if (plan.kind !== 'PipelineExec' || plan.input.kind !== 'StoredExec' || isProgram(columnProgramOf(plan, plannedTextColumns)))
      return plan
    const storage = await this.spelled(plan.input.storage)
    return storage === plan.input.storage ? plan : { ...plan, input: { ...plan.input, storage } }
  }

  /** The storage with bytes for all texts. */
  private async spelled(storage: Storage): Promise<Storage> {
    if (storage.kind !== 'table' || !storage.columns.some(isUnspelled)) return storage
    const known = this.tables.get(storage)
    if (known !== undefined) return known
    const blocks = new ResultBlocks(this.options.arena, 'texts of files')
    try {
      const columns: Column[] = []
      for (const column of storage.columns) {
        const whole = isUnspelled(column)
          ? await spelled(column, blocks, (placed) => this.task({ kind: 'place', columns: placed }, false))
          : column
        const codes = codesOf(column)
        if (whole !== column && codes !== undefined) giveCodes(whole, codes)
        columns.push(whole)
      }
      this.blocks.add(blocks.handedOver())
      const table = { ...storage, columns }
      this.tables.set(storage, table)
      return table
    } catch (error) {
      blocks.freeAll()
      throw error
    }
  }

  /**
   * A pipeline over the table that a wide operator gives, where kernels run over its columns, for the operator above; else the
   * pipeline as it is, whose input is ready.
   */
  private async overTable(plan: PhysicalPlan, above: WideOperator, held: Block[]): Promise<PhysicalPlan> {
    const bare = withoutPartialGroups(plan)
    if (!isOverWide(bare) || this.isBeyond(bare.input) || (bare.steps.every(isFree) && above.kind !== 'HashAggregateExec')) return plan
    return await this.waitedFor(plan, () => this.overTableOf(plan, bare, held))
  }

  private async overTableOf(plan: PhysicalPlan, bare: Pipeline & { readonly input: Wide }, held: Block[]): Promise<PhysicalPlan> {
    const { input } = bare
    const { partitions, blocks } = await this.waitedFor(input, () => this.wide(input, { isWhole: true }))
    const pieces = finished(batchesOf(partitions), input)
    const { smallRows = SMALL_ROWS } = this.options
    const pipelineOver = ({ element, length, columns }: Batch): Pipeline => {
      const { edge: _, ...pipeline } = bare
      const { element: declared, keys } = input
      const stored = { kind: 'StoredExec' as const, name: input.operator.kind, element: declared, keys }
      return { ...pipeline, input: { ...stored, storage: { kind: 'table', element, length, columns } } }
    }
    const [first] = pieces
    const program =
      first !== undefined && rowsIn(pieces) >= smallRows ? columnProgramOf(pipelineOver(first), plannedTextColumns) : undefined
    if (program !== undefined && !isProgram(program)) this.record?.refuse(plan, program.because)
    if (program !== undefined && isProgram(program)) {
      const whole = await this.together(pieces, blocks)
      if (whole !== undefined) {
        held.push(...whole.blocks)
        const other = pipelineOver(whole.batch)
        this.record?.addTable(other.input, input)
        this.record?.ranAs(plan, other)
        return other
      }
    }
    this.ready.set(input, this.cut(batchesOf(partitions), blocks))
    return plan
  }

  /** The pieces as one table in the run's memory; undefined where they cannot be, or there is no room. */
  private async together(given: readonly Batch[], blocks: readonly Block[]): Promise<WholeTable | undefined> {
    const { arena } = this.options
    const added: Block[] = []
    try {
      // what tasks leave of few values, and masks of nulls, lie elsewhere
      const pieces = given.map((batch) => {
        const shared = shareBatch(batch, arena, 'materialize')
        added.push(...blocksAdded(batch, shared, arena))
        return shared
      })
      this.blocks.add(added)
      const [only, another] = pieces
      if (only !== undefined && another === undefined) return { batch: only, blocks: [...blocks, ...added] }
      const whole = await wholeTable(pieces, { arena, run: (task) => this.task(task, false) })
      this.blocks.free(whole === undefined ? added : [...blocks, ...added])
      if (whole !== undefined) this.blocks.add(whole.blocks)
      return whole
    } catch (error) {
      this.blocks.add(added)
      this.blocks.free(added)
      if (error instanceof MemoryError) return undefined
      throw error
    }
  }

  /** Takes blocks that are freed with the run. */
  keep(blocks: readonly Block[]): void {
    this.blocks.add(blocks)
  }

  /** The batch with what lies in the run's memory copied out of it. */
  copiedOut(batch: Batch): Batch {
    return this.blocks.copiedOut(batch)
  }

  /** Frees everything the run still holds. */
  end(): void {
    this.blocks.freeAll()
    for (const file of this.files.splice(0)) rmSync(file, { force: true })
  }

  /** The result with the time that is waited for it, where somebody asks for that. */
  async waitedFor<T>(plan: PhysicalPlan, result: () => Promise<T>): Promise<T> {
    return await (this.record === undefined ? result() : this.record.waitedFor(plan, result))
  }

  private async run(plan: PhysicalPlan): Promise<Dataset> {
    return await this.waitedFor(plan, () => this.runOf(plan))
  }

  /** The result with its splits read. */
  private async whole(plan: PhysicalPlan): Promise<Dataset> {
    return await this.waitedFor(plan, () => this.wholeOf(plan))
  }

  private async wholeOf(plan: PhysicalPlan): Promise<Dataset> {
    return await this.materialized(await this.runOf(plan), plan)
  }

  private async runOf(plan: PhysicalPlan): Promise<Dataset> {
    const result = await this.resultOf(plan)
    return result.kind === 'stored' ? result : await this.gathered(result.results)
  }

  /** The result of a plan: there as a whole, or what a wide operator gives part after part where memory holds no more. */
  private async resultOf(plan: PhysicalPlan): Promise<Input> {
    const result = plan.kind === 'WideExec' && !this.ready.has(plan) ? await this.wideOrParts(plan) : await this.datasetOf(plan)
    // of splits that are still to be read nothing is known
    if (plan.kind !== 'PipelineExec' && result.kind === 'stored' && result.partitions.every(({ kind }) => kind === 'batches')) {
      const batches = batchesOf(result.partitions)
      this.record?.addWhole(plan, batches)
      this.record?.addMade(plan, rowsIn(batches))
    }
    return result
  }

  /** What comes part after part as a whole. */
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
    this.signal?.throwIfAborted()
    const ready = this.ready.get(plan)
    if (ready !== undefined) {
      this.ready.delete(plan)
      return ready
    }
    switch (plan.kind) {
      case 'ScanExec':
        return await this.scan(plan)
      case 'StoredExec':
        return this.inMemory(storedBatches(await this.spelled(plan.storage), plan))
      case 'PipelineExec':
        return await this.collected(plan, await this.inputOf(plan))
      case 'WideExec':
        return await this.runOf(plan)
      case 'LimitExec': {
        const pipeline = limitedPipeline(plan)
        if (plan.count === 0 && plan.keys.kind === 'rowNumber') return this.inMemory([emptyBatch(plan.element)])
        return await this.waitedFor(
          pipeline,
          async () => await this.collected(pipeline, await this.inputOf(pipeline, true), { limit: plan.count }),
        )
      }
      case 'OffsetExec':
        return await this.fromOffset(plan)
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
        // what is asked once needs no index: elements are in the order of their keys
        return await this.whole(plan.input)
      case 'IndexLookupExec': {
        const { partitions, blocks } = await this.whole(plan.input)
        return { kind: 'stored', partitions: [{ kind: 'batches', batches: selected(batchesOf(partitions), plan.selectors) }], blocks }
      }
    }
  }

  /** Partitions that end before the offset are not read where the file says how many rows they have. */
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
    for (const split of source.splits) batches.push(...(await this.options.readSplit(source, split, columns, predicate)))
    return this.inMemory(batches)
  }

  private inMemory(batches: readonly ExecBatch[]): Dataset {
    const pieces = cutPartitions(batches, this.options.partitionRows ?? PARTITION_ROWS)
    return { kind: 'stored', partitions: pieces.map((piece) => ({ kind: 'batches', batches: piece })), blocks: [] }
  }

  private async materialized(dataset: Dataset, plan: PhysicalPlan): Promise<Dataset> {
    if (dataset.partitions.every((partition) => partition.kind === 'batches')) return dataset
    return await this.collected(stepless(plan), dataset)
  }

  /** Runs a pipeline to its end, or until `limit` elements have come. */
  private async collected(
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
      if (isHandedOn || limited) this.record?.addTaken(plan, rowsIn(result.batches))
      if (rows >= limit) break
      if (this.tries === 0 || input.kind !== 'stored') continue
      const progress = { done: partitions.length, total: input.partitions.length }
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      this.checkRoom(partitionsBeyond(progress, bytes, this.options.arena.budgetBytes), stageName(plan))
    }
    const used = input.kind === 'stored' ? this.blocks.keep(input.blocks, batchesOf(partitions)) : []
    return { kind: 'stored', partitions: agreed(partitions), blocks: [...blocks, ...used] }
  }

  /** The results of a streamed input for a union that is stored: they are the union's, partition by partition. */
  private async handedOn(plan: PhysicalPlan): Promise<Dataset> {
    return await this.waitedFor(plan, async () =>
      plan.kind === 'PipelineExec'
        ? await this.collected(plan, await this.inputOf(plan), { isHandedOn: true })
        : await this.datasetOf(plan),
    )
  }

  /** The results of a pipeline for who keeps them all: where memory is short for that, the error says why they are kept. */
  private async *kept(plan: Pipeline, input: Input, how: How): AsyncGenerator<Result, void, undefined> {
    try {
      yield* this.pipeline(plan, input, how)
    } catch (error) {
      throw error instanceof MemoryError && how.limited !== true ? keptError(error, plan) : error
    }
  }

  /** The input of a wide operator as what a column program leaves in the arena; undefined where steps are no program, or only hand columns on to what needs them in partitions. */
  private async programmed(plan: PhysicalPlan, operator: WideOperator): Promise<Dataset | undefined> {
    const { kind } = operator
    const keySets = this.keySetsOf(plan)
    const codedKeys = kind === 'HashAggregateExec'
    const isWhole = kind === 'SortExec' || kind === 'WindowExec' || kind === 'AsofJoinExec'
    if (plan.kind !== 'PipelineExec' && keySets === undefined) return undefined
    const isBare = plan.kind !== 'PipelineExec' || plan.steps.every(isFree)
    if (isBare && !codedKeys && !isWhole && keySets === undefined) return undefined
    const options = { ...this.options, signal: this.signal, keep: (own: readonly Block[]) => this.blocks.add(own) }
    let matched: readonly number[] = []
    const grouped = async (run: ColumnRun): Promise<ProgramTable | NotColumns> => {
      matched = run.keySets.flatMap(({ keys = [] }) => keys)
      if (isBare && !codedKeys && !isWhole && run.keySets.length === 0) return refused('nothing is computed')
      const table = await programTable(run, 'shared')
      if (codedKeys) textsGrouped(run.program, isRefused(table) ? 0 : table.batch.length)
      if (!isRefused(table)) this.record?.addProgram(plan, run, table.batch)
      return table
    }
    const table = await overColumns(plan, options, grouped, { codedKeys, ...(keySets === undefined ? {} : { keySets }) })
    if (isRefused(table)) {
      this.record?.refuse(plan, table.because)
      return undefined
    }
    const blocks = table.blocks.handedOver()
    this.blocks.add(blocks)
    const { pool, partitionRows = PARTITION_ROWS } = this.options
    // as many pieces as there are workers at least, as even as whole partitions make them
    const share = Math.max(partitionRows, Math.ceil(table.batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
    const rows = isWhole ? table.batch.length : share // sorts and windows take it whole
    const partitions = cutPartitions([withComparedKeys(table.batch, operator)], rows).map(
      (batches): Partition => ({ kind: 'batches', batches }),
    )
    return { kind: 'stored', partitions, blocks, matched, ...(table.coded === undefined ? {} : { coded: table.coded }) }
  }

  /** The results of a pipeline's tasks, in order. `streamed`: each is consumed before the next is asked for. */
  private async *pipeline(plan: Pipeline, given: Input, how: How = {}): AsyncGenerator<StageResult, void, undefined> {
    const input = plan.numbered ? this.counted(given, plan.input) : given
    const rowsBefore = new Array<number>(plan.steps.length).fill(0)
    const name = stageName(plan)
    const started = performance.now()
    this.emit({ kind: 'stage', phase: 'started', stage: name })
    for (const step of plan.steps) this.emitFallbacks(step)
    if (plan.input.kind === 'ScanExec' && plan.input.source.kind !== 'memory') this.emitRowsOfFiles(plan)
    this.record?.beginPipeline(plan)
    let rows = 0
    let done = 0
    const total = input.kind === 'stored' ? { total: input.partitions.length } : {}
    try {
      for await (const result of input.kind === 'stored'
        ? this.overPartitions(plan, input, how)
        : this.overResults(plan, input.results, how)) {
        for (const [step, count] of result.rowsIn.entries()) rowsBefore[step] = (rowsBefore[step] ?? 0) + count
        rows += result.spilled?.rows ?? rowsIn(result.batches)
        this.record?.addPartition(plan, result)
        this.record?.addMade(plan, rowsIn(result.batches))
        yield result
        done++
        this.emit({ kind: 'progress', job: name, done, total: total.total ?? done })
      }
    } catch (error) {
      const failure = asRowFailure(error)
      if (failure === undefined) throw error
      if (failure.method === 'mapPartitions') throw mapPartitionsError(failure.message, failure.cause, done)
      throw taskErrorOf(among(failure, how.rowsBefore), rowsBefore[failure.step] ?? 0)
    }
    this.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
  }

  /** The input, read where it cannot say how many rows are before each of its partitions. */
  private counted(input: Input, plan: PhysicalPlan): Input {
    if (input.kind === 'streamed' || input.partitions.slice(0, -1).every((one) => rowsOf(one) !== undefined)) return input
    return { kind: 'streamed', results: this.pipeline(stepless(plan), input, { streamed: true }) }
  }

  private async *overPartitions(plan: Pipeline, input: Dataset, how: How): AsyncGenerator<StageResult, void, undefined> {
    const { streamed, limited } = how
    const together = runsTogether(plan, input.partitions)
    const partitions: readonly Partition[] = together ? [{ kind: 'batches', batches: batchesOf(input.partitions) }] : input.partitions
    const isLittle = together || this.isSmall(partitions) || readsNothing(plan, partitions)
    const inline = plan.where === 'caller' || (isLittle && !plan.steps.some(stepMayNotEnd))
    this.record?.addPlace(plan, inline ? 'caller' : 'workers')
    const unwanted = givenUp()
    let index = 0
    let firstRow = 0
    let taken = 0
    const tasks = inOrder({
      next: () => {
        const partition = partitions[index]
        if (partition === undefined) return undefined
        const task = this.narrow(plan, partition, index++, firstRow, how)
        firstRow += rowsOf(partition) ?? 0
        return () => this.task(task, inline, unwanted.signal)
      },
      window: inline ? 1 : streamed === true ? this.partitionsAhead(partitions) : this.options.pool.size * 2,
      ...(limited === true ? { firstWindow: 1 } : {}),
      isRoom: () => streamed !== true || this.isRoom(1 / 2),
      mayGoAlone: (error) => streamed === true && error instanceof MemoryError,
      giveUp: () => unwanted.abort(),
      drop: (result) => this.blocks.free(result.blocks),
    })
    try {
      for await (const result of tasks) {
        yield result
        taken++
      }
    } catch (error) {
      throw streamed === true && error instanceof MemoryError ? tooLargeError(error, partitions[taken]) : error
    }
  }

  /** The same over partitions that come one after another; each is kept until what came of it is taken. */
  private async *overResults(plan: Pipeline, input: Results, how: How): AsyncGenerator<StageResult, void, undefined> {
    const { streamed, limited } = how
    // how far a function is ahead that the program can see at work must not follow from the number of workers
    const oneByOne = plan.where === 'caller' || (streamed === true && runsOnCaller(plan.input))
    const isEndless = plan.steps.some(stepMayNotEnd)
    this.record?.addPlace(plan, plan.where) // perhaps no partition comes
    const unwanted = givenUp()
    let index = 0
    let firstRow = 0
    try {
      const tasks = inOrder({
        next: async () => {
          const next = await input.next()
          if (next.done === true) return undefined
          const partition = { kind: 'batches', batches: next.value.batches } as const
          const task = this.narrow(plan, partition, index++, firstRow, how)
          firstRow += rowsIn(partition.batches)
          // of few rows nobody knows whether they are the last
          const inline = plan.where === 'caller' || (firstRow < (this.options.smallRows ?? SMALL_ROWS) && !isEndless)
          this.record?.addPlace(plan, inline ? 'caller' : 'workers')
          return async () => ({ result: await this.task(task, inline, unwanted.signal), read: next.value })
        },
        window: oneByOne ? 1 : this.options.pool.size,
        ...(limited === true ? { firstWindow: 1 } : {}),
        isRoom: () => this.isRoom(1 / 8), // beside what the stage below computes ahead
        mayGoAlone: (error) => error instanceof MemoryError,
        giveUp: () => unwanted.abort(),
        drop: ({ result }) => this.blocks.free(result.blocks),
      })
      for await (const { result, read } of tasks) {
        const used = this.blocks.keep(read.blocks, result.batches)
        yield { ...result, blocks: [...result.blocks, ...used] }
        this.record?.addTaken(plan.input, rowsIn(read.batches))
      }
    } finally {
      await input.return(undefined)
    }
  }

  /** Whether what is used leaves enough to compute another partition ahead of its turn: no more than this share of the budget. */
  private isRoom(share: number): boolean {
    const { arena } = this.options
    return arena.usedBytes < arena.budgetBytes * share
  }

  /** Partitions that may be computed or wait at a time: enough for all workers, fewer where memory is short. */
  private partitionsAhead(partitions: readonly Partition[]): number {
    const { pool, arena } = this.options
    const largest = partitions.reduce((most, partition) => Math.max(most, bytesToRead(partition)), 1)
    const fitting = Math.floor((arena.budgetBytes - arena.usedBytes) / 2 / largest)
    return Math.max(1, Math.min(pool.size + 2, fitting))
  }

  /** The result of a wide operator as one table, all of whose buffers are whole blocks of the arena that are the caller's from now on. */
  async table(plan: Wide): Promise<Batch> {
    const { partitions, blocks } = await this.wide(plan, { isWhole: true })
    const pieces = finished(batchesOf(partitions), plan)
    const whole = await wholeTable(pieces, { arena: this.options.arena, run: (task) => this.task(task, false) })
    if (whole === undefined) return this.blocks.handedOver(concatBatches(pieces), blocks)
    this.blocks.free(blocks)
    return whole.batch
  }

  /** A wide operator's result: as a whole, or part after part by way of disk where memory does not hold what it takes. */
  private async wideOrParts(plan: Wide): Promise<Input> {
    const { spill } = this.options
    const external = spill && externalOf(plan)
    if (external === undefined) {
      try {
        return await this.wide(plan)
      } catch (error) {
        throw spill !== undefined && error instanceof MemoryError ? wholeError(error, plan.operator) : error
      }
    }
    if (isInVain(plan, this.options.arena.budgetBytes)) this.beyond.add(plan)
    if (!this.isBeyond(plan)) {
      const undo = this.marked()
      this.tries++
      try {
        return await this.wide(plan, { isBounded: true })
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error
        undo()
        this.record?.runsAsPlanned(plan)
        this.beyond.add(plan)
      } finally {
        this.tries--
      }
    }
    return { kind: 'streamed', results: this.parts(plan, external) }
  }

  /** What frees all that is made from now on, and forgets it, but for scans that are read for others. */
  private marked(): () => void {
    const before = this.blocks.all()
    const known = [new Map(this.ready), new Map(this.tables), new Map(this.joined)] as const
    return () => {
      this.blocks.freeOthers(before, this.loads.waiting())
      restore(this.ready, known[0])
      restore(this.tables, known[1])
      restore(this.joined, known[2])
    }
  }

  private isBeyond(plan: Wide): boolean {
    return this.beyond.has(plan) || (this.options.spill?.always !== undefined && externalOf(plan) !== undefined)
  }

  private async *parts(plan: Wide, external: External): Results {
    const name = plan.operator.kind
    const started = performance.now()
    this.emit({ kind: 'stage', phase: 'started', stage: name })
    let rows = 0
    for await (const result of new ExternalRun(plan, spillingServices(plan, this.spillingRun())).results(external)) {
      const batches = plan.keys.kind === 'rowNumber' ? result.batches.map(withoutKeys) : result.batches
      rows += rowsIn(batches)
      this.record?.addResult(plan, batches)
      this.record?.addMade(plan, rowsIn(batches))
      yield { batches, blocks: result.blocks }
      this.record?.addTaken(plan, rowsIn(batches))
      buffersPassed(bytesOfBatches(batches))
    }
    this.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
  }

  private spillingRun(): SpillingRun {
    const { spill, arena } = this.options
    return {
      ...{ spill, budgetBytes: arena.budgetBytes, blocks: this.blocks, record: this.record },
      emit: (event) => this.emit(event),
      pipeline: (plan, input, how) => this.pipeline(plan, input, how),
      results: (plan) => this.results(plan),
      inputOf: (plan) => this.inputOf(plan),
      resultOf: (plan) => this.waitedFor(plan, () => this.resultOf(plan)),
      runOf: (plan) => this.runOf(plan),
      collected: (plan, input) => this.collected(plan, input),
      wideResult: (plan, operator, inputs, inline) => this.wideResult(plan, operator, inputs, inline),
      task: (task) => this.task(task, false),
      isSmall: (partitions) => this.isSmall(partitions),
    }
  }

  private narrow(plan: Pipeline, partition: Partition, index: number, firstRow: number, { spill }: How): StageTask {
    if (spill === undefined || this.options.spill === undefined) return narrowTask(plan, partition, index, firstRow)
    const file = this.options.spill.file()
    this.files.push(file)
    return narrowTask(plan, partition, index, firstRow, { ...spill, file })
  }

  private async wide(given: Wide, how: Whole = {}): Promise<Dataset> {
    return await this.loads.during(
      () => plannedLoads(given, this.options),
      () => this.wideWith(given, how),
    )
  }

  private async wideWith(given: Wide, how: Whole): Promise<Dataset> {
    const inputs: PhysicalPlan[] = []
    const loaded: Block[] = []
    for (const input of given.inputs) {
      const { plan, blocks } = await this.loaded(input)
      inputs.push(plan === input || input.filteredBy === undefined ? plan : { ...plan, filteredBy: input.filteredBy })
      loaded.push(...blocks)
    }
    const plan = { ...given, inputs }
    this.record?.ranAs(given, plan)
    const found = await this.wideOver(plan, how, loaded)
    const ofNothing = rowOfNothing(plan.operator, rowsIn(batchesOf(found.partitions)))
    const dataset = ofNothing === undefined ? found : this.cut([ofNothing])
    this.record?.addWhole(plan, batchesOf(dataset.partitions))
    const used = this.blocks.keep(loaded, batchesOf(dataset.partitions))
    return { ...dataset, blocks: [...dataset.blocks, ...used] }
  }

  /** `held`: takes blocks that inputs lie in, which the result may lie in. */
  private async wideOver(given: Wide, how: Whole, held: Block[]): Promise<Dataset> {
    const [first, another] = given.inputs
    const isAlone = first !== undefined && another === undefined
    const plan = isAlone ? { ...given, inputs: [await this.overTable(first, given.operator, held)] } : given
    const [only] = plan.inputs
    this.record?.ranAs(given, plan)
    if (plan.operator.kind === 'HashAggregateExec' && only?.edge?.kind === 'streamed')
      return await this.foldedGroups(plan.operator, plan, only, how)
    const grouped = await this.groupedAtOnce(plan)
    if (grouped !== undefined) return this.cut([grouped])
    const distinct = elementGroups(plan)
    const elements = distinct && (await this.waitedFor(distinct.input, () => this.programmed(distinct.input, distinct.operator)))
    if (distinct !== undefined && elements !== undefined && only !== undefined) this.record?.ranAs(only, distinct.input)
    const operator = distinct === undefined || elements === undefined ? plan.operator : distinct.operator
    const inputs = elements === undefined ? await this.inputsOf(plan, held) : [elements]
    const name = plan.operator.kind
    const started = performance.now()
    this.emit({ kind: 'stage', phase: 'started', stage: name })
    this.emitFallbacks(plan.operator)
    const batches = inputs.map(({ partitions }, i) => filledOr(batchesOf(partitions), plan.inputs[i]))
    const inline = plan.where === 'caller' || inputs.every(({ partitions }) => this.isSmall(partitions))
    const result = this.joinedByKeys(plan, inputs) ?? (await this.wideResult(plan, operator, batches, inline, how))
    const coded = inputs[0]?.coded
    const texts = coded === undefined ? result.batches : result.batches.map((batch) => withKeys(batch, coded))
    const found = distinct === undefined || elements === undefined ? texts : texts.map(distinct.elements)
    const out = plan.keys.kind === 'rowNumber' ? found.map(withoutKeys) : found
    const used = inputs.flatMap(({ blocks }) => this.blocks.keep(blocks, out))
    const rows = out.reduce((sum, batch) => sum + batch.length, 0)
    this.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
    const blocks = [...result.blocks, ...used]
    if (how.isWhole !== true && !keepsPieces(plan.operator)) return this.cut(out, blocks)
    return { kind: 'stored', partitions: agreed(out.map((batch) => ({ kind: 'batches', batches: [batch] }))), blocks }
  }

  /** A semi-join whose left rows have all been looked up among the right side's keys. */
  private joinedByKeys(plan: Wide, [left]: readonly Dataset[]): Result | undefined {
    const { operator, keyFilter } = plan
    if (operator.kind !== 'HashJoinExec' || operator.how !== 'semi' || keyFilter?.side !== 'right') return undefined
    if (left?.matched?.includes(keyFilter.keys) !== true) return undefined
    this.record?.add(plan, { ran: 'with the rows that its keys keep' })
    return { batches: batchesOf(left.partitions).map(({ hidden: _, ...batch }) => batch), blocks: [] }
  }

  /** What filters the rows of a table, or of a pipeline over one, by keys of joins above. */
  private keySetsOf({ filteredBy = [] }: PhysicalPlan): KeySetsOf | undefined {
    const isThere = filteredBy.some(({ keys }) => this.joined.has(keys))
    return isThere ? (program) => keyFilters(filteredBy, this.joined, program) : undefined
  }

  /** The inputs of a wide operator. Of a join, the side that the plan names comes first, and its keys filter the other's rows. */
  private async inputsOf({ inputs, operator, keyFilter: from }: Wide, held: Block[]): Promise<Dataset[]> {
    const ready = async (given: PhysicalPlan): Promise<Dataset> => {
      const input = inputs.length === 1 ? given : await this.overTable(given, operator, held)
      return await this.waitedFor(input, async () => (await this.programmed(input, operator)) ?? (await this.wholeOf(input)))
    }
    const [left, right] = inputs
    const unlimited = operator.kind === 'SortExec' && left !== undefined ? withoutTopK(left) : undefined
    const table = unlimited && (await this.waitedFor(unlimited, () => this.programmed(unlimited, operator)))
    if (table !== undefined && left !== undefined && unlimited !== undefined) this.record?.ranAs(left, unlimited)
    if (table !== undefined) return [table]
    if (operator.kind !== 'HashJoinExec' || from === undefined || left === undefined || right === undefined) {
      const datasets: Dataset[] = []
      for (const input of inputs) datasets.push(await ready(input))
      return datasets
    }
    const first = await ready(from.side === 'left' ? left : right)
    const keys = keysOfSide(operator, batchesOf(first.partitions))
    if (keys !== undefined) this.joined.set(from.keys, keys)
    const second = await ready(from.side === 'left' ? right : left)
    return from.side === 'left' ? [first, second] : [second, first]
  }

  /** The groups of partitions that are taken as they come. What is kept of them counts as used memory. */
  private async foldedGroups(operator: Aggregation, plan: Wide, input: PhysicalPlan, { isBounded }: Whole): Promise<Dataset> {
    const started = performance.now()
    this.emit({ kind: 'stage', phase: 'started', stage: operator.kind })
    this.record?.addPlace(plan, 'caller')
    const groups = new FoldedGroups(operator.aggregates)
    const charge = new Charge(this.options.arena, operator.kind)
    const total = partitionsRead(input)
    let done = 0
    try {
      for await (const { batches, blocks } of this.results(input)) {
        const before = groups.size
        let last = 0
        for (const batch of batches) if (batch.length > 0) last += groups.add(batch)
        this.blocks.free(blocks)
        this.record?.addTaken(input, rowsIn(batches))
        charge.raiseTo(groups.bytes)
        done++
        if (isBounded !== true) continue // there is no other way
        const seen = { groups: groups.size, fresh: groups.size - before, last, done, total: total ?? done }
        this.checkRoom(groupsBeyond(seen, groups.bytes, this.options.arena.budgetBytes), operator.kind)
      }
      const result = groups.finish(operator)
      this.emit({ kind: 'stage', phase: 'finished', stage: operator.kind, rows: result.length, milliseconds: performance.now() - started })
      return this.cut([plan.keys.kind === 'rowNumber' ? withoutKeys(result) : result])
    } finally {
      charge.end()
    }
  }

  /** MemoryError where so many bytes are expected that there is no room for them. */
  private checkRoom(expected: number | undefined, operator: string): void {
    const { arena } = this.options
    if (expected !== undefined) arena.free(arena.reserve(expected, operator))
  }

  private cut(batches: readonly ExecBatch[], blocks: readonly Block[] = []): Dataset {
    const pieces = cutPartitions(batches, this.options.partitionRows ?? PARTITION_ROWS)
    return { kind: 'stored', partitions: agreed(pieces.map((piece) => ({ kind: 'batches', batches: piece }))), blocks }
  }

  /** Groups of a table in memory in one pass over its columns; undefined where there is none, or where two are faster. */
  private async groupedAtOnce(plan: Wide): Promise<ExecBatch | undefined> {
    const { operator, inputs, where, keys } = plan
    const [input] = inputs
    if (operator.kind !== 'HashAggregateExec' || input?.kind !== 'PipelineExec' || where === 'caller') return undefined
    const options = { ...this.options, signal: this.signal, keep: (own: readonly Block[]) => this.blocks.add(own) }
    const keySets = this.keySetsOf(input)
    const work = async (run: ColumnRun): Promise<GroupedColumns | NotColumns> => {
      if (run.keySets.length > 0) return refused('keys of a join filter the rows first')
      const grouped = (await groupedColumns(run, operator, this.options.groupPass)) ?? refused('two passes are taken')
      if (!isRefused(grouped)) this.record?.addGroupPass(plan, input, run.program, grouped.passes)
      return grouped
    }
    const found = await overColumns(input, options, work, { codedKeys: true, ...(keySets === undefined ? {} : { keySets }) })
    if (isRefused(found)) return undefined
    const batch = withKeys(found.batch, found.coded)
    return keys.kind === 'rowNumber' ? withoutKeys(batch) : batch
  }

  /** By tasks that share the work where the operator has such, else by one. */
  private async wideResult(
    plan: Wide,
    operator: WideOperator,
    inputs: readonly (readonly ExecBatch[])[],
    inline: boolean,
    { isBounded = false }: Whole = {},
  ): Promise<Pick<StageResult, 'batches' | 'blocks'>> {
    const { pool, arena } = this.options
    const blocks: Block[] = []
    const run = async (task: StageTask): Promise<readonly ExecBatch[]> => {
      const result = await this.wideTask(task, false)
      this.record?.addTask(plan, result)
      blocks.push(...result.blocks)
      return result.batches
    }
    const hold = (made: readonly Block[]): void => {
      this.blocks.add(made)
      blocks.push(...made)
    }
    const services = { workers: pool.size, arena, run, hold, isBounded }
    const batches = inline ? undefined : await sharedWork(operator, inputs, services)
    if (batches !== undefined) return { batches, blocks: this.blocks.keep(blocks, batches) }
    this.record?.addPlace(plan, inline ? 'caller' : 'workers')
    this.record?.refuse(plan, wholeTaskBecause(operator, inline && plan.where !== 'caller'))
    return await this.wideTask({ kind: 'wide', inputs, operator }, inline)
  }

  private async wideTask(task: StageTask, inline: boolean): Promise<StageResult> {
    try {
      return await this.task(task, inline)
    } catch (error) {
      const failure = asRowFailure(error)
      throw failure === undefined ? error : taskErrorOf(failure, 0)
    }
  }

  private async task(task: StageTask, inline: boolean, unwanted?: AbortSignal): Promise<StageResult> {
    const { pool, arena, readSplit } = this.options
    this.signal?.throwIfAborted()
    if (inline) {
      const result = await runStageTask(task, { readSplit, arena, signal: this.readingEnds() })
      this.blocks.add(result.blocks)
      addCosts(task, result)
      // the event loop gets a turn between tasks, in which an abort may arrive
      await new Promise((resolve) => setImmediate(resolve))
      return result
    }
    // a stage changes nothing but what it returns: short of memory, it may run again once garbage was freed
    const options = {
      repeatable: true,
      ...(this.signal === undefined ? {} : { signal: this.signal }),
      ...(unwanted === undefined ? {} : { unwanted }),
    }
    const result = (await pool.run('stage', sendable(task), options)) as StageResult // what `stageHandler` returns
    this.blocks.add(result.blocks)
    addCosts(task, result)
    return result
  }

  /** What ends a read on the caller's thread. */
  private readingEnds(): AbortSignal | undefined {
    const { stopped } = this.options
    return this.signal === undefined || stopped === undefined ? (this.signal ?? stopped) : joinedSignal([this.signal, stopped])
  }

  private isSmall(partitions: readonly Partition[]): boolean {
    let rows = 0
    for (const partition of partitions) {
      if (partition.kind !== 'batches') return false
      rows += rowsOf(partition) ?? 0
    }
    return rows < (this.options.smallRows ?? SMALL_ROWS)
  }

  private emitFallbacks(operator: Step | WideOperator): void {
    for (const fallback of fallbacksOf(operator)) this.emit(fallbackEvent(operator.kind, fallback))
  }

  private emitRowsOfFiles(plan: Pipeline): void {
    const compiled = plan.steps
      .flatMap((step) => functionsIn(step).map((f) => [step.kind, f] as const))
      .filter(([, f]) => fallbackOf(f) === undefined)
    const scan = compiled.length === 0 ? undefined : scanToLoad(withoutPartialGroups(plan), this.options)
    if (scan === undefined) return
    const because = 'because' in scan ? scan.because : 'what comes of them is taken partition after partition'
    for (const [kind, f] of compiled) this.emit(rowsOfFilesEvent(kind, f, because))
  }

  private emit(event: Parameters<NonNullable<ExecutorOptions['onEvent']>>[0]): void {
    this.options.onEvent?.(event)
  }
}

/** What the task's functions took that are not compiled; of several in one step, the first is told of. */
function addCosts(task: StageTask, { spentMs = [] }: StageResult): void {
  const operators = task.kind === 'narrow' ? task.steps : task.kind === 'wide' ? [task.operator] : []
  for (const [at, milliseconds] of spentMs.entries()) {
    const operator = operators[at]
    const [fallback] = operator === undefined ? [] : fallbacksOf(operator)
    if (fallback !== undefined) addCost(fallback, milliseconds)
  }
}

function restore<K, V>(map: Map<K, V>, before: ReadonlyMap<K, V>): void {
  map.clear()
  for (const [key, value] of before) map.set(key, value)
}

/** What tells queued tasks that nobody waits for them; all of them listen, which is no leak. */
function givenUp(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** Memory was short for an operator that has no way but memory: why it has none. */
function wholeError(error: MemoryError, operator: WideOperator): MemoryError {
  const lines = error.message.split('\n')
  if (lines.some((line) => line.endsWith(NOT_SPILLED))) return error // the operator below said so
  const because = notSpilledBecause(operator)
  if (because === undefined) return error
  return new MemoryError([...lines.slice(0, -1), `${operator.kind} ${because}, ${NOT_SPILLED}`, ...lines.slice(-1)].join('\n'), error)
}

const NOT_SPILLED = 'and does not go by way of disk.'

function notSpilledBecause(operator: WideOperator): string | undefined {
  switch (operator.kind) {
    case 'GroupReduceExec':
    case 'GroupMapExec':
      return 'has a function that sees the rows of a group'
    case 'WindowExec':
    case 'AsofJoinExec':
      return operator.by ? undefined : 'has no { by } that could cut its rows into parts'
    case 'HashAggregateExec':
    case 'HashJoinExec':
    case 'SortExec':
    case 'IndexExec':
    case 'DistinctExec':
    case 'DrawExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return undefined
  }
}
