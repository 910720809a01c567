import type { Storage } from '../../../core/arrays/storage.ts'
import type { Column } from '../../../core/data/column.ts'
import { heardByMany, joinedSignal } from '../../../core/joinedSignal.ts'
import type { ArraySource } from '../../../core/plan/logicalPlan.ts'
import type { PhysicalPlan, Step, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { addCost, fallbackEvent, fallbacksOf } from '../../kernels/fallbacks.ts'
import type { Block } from '../block.ts'
import { Blocks } from '../blocks.ts'
import { agreed, type Dataset, type Partition, rowsOf, type Wide } from '../dataset.ts'
import type { ExecutorOptions, RunOptions } from '../executorOptions.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { cutPartitions, PARTITION_ROWS, SMALL_ROWS } from '../operators/partitions.ts'
import { asRowFailure, taskErrorOf } from '../operators/rows/rowFailure.ts'
import type { PlanRecord } from '../planRecord.ts'
import { sendable } from '../sendable.ts'
import { externalOf } from '../spill/external.ts'
import type { StageResult, StageTask } from '../stage.ts'
import { runStageTask } from '../stageTask.ts'

/** The part of the budget that a range of a file takes where the operator had no room for all at once. */
const SMALL_RANGES = 8

export class RunState {
  options: ExecutorOptions

  readonly signal: AbortSignal | undefined
  readonly blocks: Blocks

  /** The keys of the side that was computed first, for each join, by the number of its key filter. */
  readonly joined: Map<number, readonly Column[]> = new Map()
  /** Tables with texts as dictionary codes alone, each with the same table with the texts' bytes. */
  readonly tables: Map<Storage, Storage> = new Map()
  /** Results of wide operators that were computed before the plan asks for them. */
  readonly ready: Map<PhysicalPlan, Dataset> = new Map()
  /** Wide operators whose inputs or result memory did not hold. */
  readonly beyond: Set<PhysicalPlan> = new Set()
  /** The number of operators under way that will run by way of disk if memory is short. */
  tries = 0

  /** The record of what the run measures; undefined unless explain({ analyze: true }) asks for it. */
  readonly record: PlanRecord | undefined

  constructor(options: ExecutorOptions, { signal, record }: RunOptions) {
    this.options = options
    this.signal = heardByMany(signal)
    this.record = record
    this.blocks = new Blocks(options.arena)
  }

  hasRoom(): boolean {
    const { usedBytes, budgetBytes } = this.options.arena
    return usedBytes <= budgetBytes / 2
  }

  /** Waits for a result, and records the time where the run is measured. */
  async waitedFor<T>(plan: PhysicalPlan, result: () => Promise<T>): Promise<T> {
    return await (this.record === undefined ? result() : this.record.waitedFor(plan, result))
  }

  inMemory(batches: readonly ExecBatch[]): Dataset {
    const pieces = cutPartitions(batches, this.options.partitionRows ?? PARTITION_ROWS)
    return { kind: 'stored', partitions: pieces.map((piece) => ({ kind: 'batches', batches: piece })), blocks: [] }
  }

  /** Whether used memory is below this share of the budget, so that another partition may be computed ahead of its turn. */
  isRoom(share: number): boolean {
    const { arena } = this.options
    return arena.usedBytes < arena.budgetBytes * share
  }

  isBeyond(plan: Wide): boolean {
    return this.beyond.has(plan) || (this.options.spill?.always !== undefined && externalOf(plan) !== undefined)
  }

  /** Throws MemoryError where there is no room for `expected` bytes, if any are expected. */
  checkRoom(expected: number | undefined, operator: string): void {
    const { arena } = this.options
    if (expected !== undefined) arena.free(arena.reserve(expected, operator))
  }

  cut(batches: readonly ExecBatch[], blocks: readonly Block[] = []): Dataset {
    const pieces = cutPartitions(batches, this.options.partitionRows ?? PARTITION_ROWS)
    return { kind: 'stored', partitions: agreed(pieces.map((piece) => ({ kind: 'batches', batches: piece }))), blocks }
  }

  async wideTask(task: StageTask, inline: boolean): Promise<StageResult> {
    try {
      return await this.task(task, inline)
    } catch (error) {
      const failure = asRowFailure(error)
      throw failure === undefined ? error : taskErrorOf(failure, 0)
    }
  }

  async task(task: StageTask, inline: boolean, unwanted?: AbortSignal): Promise<StageResult> {
    const { pool, arena, readSplit } = this.options
    this.signal?.throwIfAborted()
    if (task.kind === 'narrow' && task.input.kind === 'split' && isReadHere(task.input.source)) {
      const { source, split, columns, predicate } = task.input
      const batches = await readSplit(source, split, columns, predicate, { signal: this.readingEnds() })
      return await this.task({ ...task, input: { kind: 'batches', batches } }, inline, unwanted)
    }
    if (inline || (task.kind === 'load' && isReadHere(task.source))) {
      const result = await runStageTask(task, { readSplit, arena, signal: this.readingEnds() })
      this.blocks.add(result.blocks)
      addCosts(task, result)
      // yields to the event loop between tasks, so that an abort may arrive
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

  /** The signal that ends a read on the caller's thread. */
  private readingEnds(): AbortSignal | undefined {
    const { stopped } = this.options
    return this.signal === undefined || stopped === undefined ? (this.signal ?? stopped) : joinedSignal([this.signal, stopped])
  }

  /** Reads scans of more than a part of the budget in ranges, even where there is room for their columns. */
  async withSmallRanges<T>(work: () => Promise<T>): Promise<T> {
    const { options } = this
    this.options = this.ofSmallRanges
    try {
      return await work()
    } finally {
      this.options = options
    }
  }

  /** The options by which scans of more than a part of the budget are read in ranges. */
  get ofSmallRanges(): ExecutorOptions {
    const { options } = this
    const { arena, rangeBytes = arena.budgetBytes / SMALL_RANGES } = options
    return { ...options, rangeBytes }
  }

  isSmall(partitions: readonly Partition[]): boolean {
    let rows = 0
    for (const partition of partitions) {
      if (partition.kind !== 'batches') return false
      rows += rowsOf(partition) ?? 0
    }
    return rows < (this.options.smallRows ?? SMALL_ROWS)
  }

  emitFallbacks(operator: Step | WideOperator): void {
    for (const fallback of fallbacksOf(operator)) this.emit(fallbackEvent(operator.kind, fallback))
  }

  emit(event: Parameters<NonNullable<ExecutorOptions['onEvent']>>[0]): void {
    this.options.onEvent?.(event)
  }
}

/** Whether a source is read by functions of the user's format, which are on this thread alone. */
function isReadHere({ format }: ArraySource): boolean {
  return format !== undefined
}

/** Adds the times of the task's functions that are not compiled to their fallbacks; of several in one step, to the first. */
function addCosts(task: StageTask, { spentMs = [] }: StageResult): void {
  const operators = task.kind === 'narrow' ? task.steps : task.kind === 'wide' ? [task.operator] : []
  for (const [at, milliseconds] of spentMs.entries()) {
    const operator = operators[at]
    const [fallback] = operator === undefined ? [] : fallbacksOf(operator)
    if (fallback !== undefined) addCost(fallback, milliseconds)
  }
}
