/** Runs pipelines: a task for each partition, results in order, as many tasks at a time as there are workers and memory for. */

import { setMaxListeners } from 'node:events'
import { MemoryError } from '../../../core/errors.ts'
import { fallbackOf } from '../../../core/ir/functionUse.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import { functionsIn, rowsOfFilesEvent } from '../../kernels/fallbacks.ts'
import {
  batchesOf,
  bytesToRead,
  type Dataset,
  type How,
  type Input,
  narrowTask,
  type Partition,
  type Pipeline,
  type Results,
  rowsIn,
  rowsOf,
  stepless,
} from '../dataset.ts'
import { beforeDistinct, scanToLoad, withoutPartialStep } from '../loadedScan.ts'
import { isFree } from '../operators/freeSteps.ts'
import { SMALL_ROWS } from '../operators/partitions.ts'
import { among, asRowFailure, taskErrorOf } from '../operators/rows/rowFailure.ts'
import { inOrder } from '../scheduler.ts'
import type { StageResult, StageTask } from '../stage.ts'
import { mapPartitionsError, tooLargeError } from './runErrors.ts'
import { readsNothing, runsOnCaller, runsTogether, stageName, stepMayNotEnd } from './runPlans.ts'
import type { RunState } from './runState.ts'

export class Pipelines {
  private readonly state: RunState
  /** The files that tasks of the run spilled to. */
  readonly files: string[] = []

  constructor(state: RunState) {
    this.state = state
  }

  /** The results of a pipeline's tasks, in order. `streamed` says that each is consumed before the next is asked for. */
  async *pipeline(plan: Pipeline, given: Input, how: How = {}): AsyncGenerator<StageResult, void, undefined> {
    const input = plan.numbered ? this.counted(given, plan.input) : given
    const rowsBefore = new Array<number>(plan.steps.length).fill(0)
    const name = stageName(plan)
    const started = performance.now()
    this.state.emit({ kind: 'stage', phase: 'started', stage: name })
    for (const step of plan.steps) this.state.emitFallbacks(step)
    if (plan.input.kind === 'ScanExec' && plan.input.source.kind !== 'memory') this.emitRowsOfFiles(plan)
    this.state.record?.beginPipeline(plan)
    let rows = 0
    let done = 0
    const total = input.kind === 'stored' ? { total: input.partitions.length } : {}
    try {
      for await (const result of input.kind === 'stored'
        ? this.overPartitions(plan, input, how)
        : this.overResults(plan, input.results, how)) {
        for (const [step, count] of result.rowsIn.entries()) rowsBefore[step] = (rowsBefore[step] ?? 0) + count
        rows += result.spilled?.rows ?? rowsIn(result.batches)
        this.state.record?.addPartition(plan, result)
        this.state.record?.addMade(plan, rowsIn(result.batches))
        yield result
        done++
        this.state.emit({ kind: 'progress', job: name, done, total: total.total ?? done })
      }
    } catch (error) {
      const failure = asRowFailure(error)
      if (failure === undefined) throw error
      if (failure.method === 'mapPartitions') throw mapPartitionsError(failure.message, failure.cause, done)
      throw taskErrorOf(among(failure, how.rowsBefore), rowsBefore[failure.step] ?? 0)
    }
    this.state.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
  }

  /** The input; where a partition's number of rows is not known before it is read, as a stream of read partitions, which count themselves. */
  private counted(input: Input, plan: PhysicalPlan): Input {
    if (input.kind === 'streamed' || input.partitions.slice(0, -1).every((one) => rowsOf(one) !== undefined)) return input
    return { kind: 'streamed', results: this.pipeline(stepless(plan), input, { streamed: true }) }
  }

  private async *overPartitions(plan: Pipeline, input: Dataset, how: How): AsyncGenerator<StageResult, void, undefined> {
    const { streamed, limited } = how
    const together = runsTogether(plan, input.partitions)
    const partitions: readonly Partition[] = together ? [{ kind: 'batches', batches: batchesOf(input.partitions) }] : input.partitions
    const isLittle = together || this.state.isSmall(partitions) || readsNothing(plan, partitions)
    const inline = plan.where === 'caller' || (isLittle && !plan.steps.some(stepMayNotEnd))
    this.state.record?.addPlace(plan, inline ? 'caller' : 'workers')
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
        return () => this.state.task(task, inline, unwanted.signal)
      },
      window: inline ? 1 : streamed === true ? this.partitionsAhead(partitions) : this.state.options.pool.size * 2,
      ...(limited === true ? { firstWindow: 1 } : {}),
      isRoom: () => streamed !== true || this.state.isRoom(1 / 2),
      mayGoAlone: (error) => streamed === true && error instanceof MemoryError,
      giveUp: () => unwanted.abort(),
      drop: (result) => this.state.blocks.free(result.blocks),
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

  /** The tasks' results over a stream of partitions; each partition is kept until its result is taken. */
  private async *overResults(plan: Pipeline, input: Results, how: How): AsyncGenerator<StageResult, void, undefined> {
    const { streamed, limited } = how
    // a function on the caller's thread may have visible effects: how far it runs ahead must not depend on the number of workers
    const oneByOne = plan.where === 'caller' || (streamed === true && runsOnCaller(plan.input))
    const isEndless = plan.steps.some(stepMayNotEnd)
    this.state.record?.addPlace(plan, plan.where) // there may be no partition
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
          // the first rows may be all rows: few run on the caller's thread
          const inline = plan.where === 'caller' || (firstRow < (this.state.options.smallRows ?? SMALL_ROWS) && !isEndless)
          this.state.record?.addPlace(plan, inline ? 'caller' : 'workers')
          return async () => ({ result: await this.state.task(task, inline, unwanted.signal), read: next.value })
        },
        window: oneByOne ? 1 : this.state.options.pool.size,
        ...(limited === true ? { firstWindow: 1 } : {}),
        isRoom: () => this.state.isRoom(1 / 8), // the stage below computes ahead too
        mayGoAlone: (error) => error instanceof MemoryError,
        giveUp: () => unwanted.abort(),
        drop: ({ result }) => this.state.blocks.free(result.blocks),
      })
      for await (const { result, read } of tasks) {
        const used = this.state.blocks.keep(read.blocks, result.batches)
        yield { ...result, blocks: [...result.blocks, ...used] }
        this.state.record?.addTaken(plan.input, rowsIn(read.batches))
      }
    } finally {
      await input.return(undefined)
    }
  }

  /** The number of partitions that may be computed or wait at a time: enough for all workers, fewer where memory is short. */
  private partitionsAhead(partitions: readonly Partition[]): number {
    const { pool, arena } = this.state.options
    const largest = partitions.reduce((most, partition) => Math.max(most, bytesToRead(partition)), 1)
    const fitting = Math.floor((arena.budgetBytes - arena.usedBytes) / 2 / largest)
    return Math.max(1, Math.min(pool.size + 2, fitting))
  }

  private narrow(plan: Pipeline, partition: Partition, index: number, firstRow: number, { spill, coded = false }: How): StageTask {
    if (spill === undefined || this.state.options.spill === undefined) return narrowTask(plan, partition, index, firstRow, { coded })
    const file = this.state.options.spill.file()
    this.files.push(file)
    return narrowTask(plan, partition, index, firstRow, { spill: { ...spill, file } })
  }

  private emitRowsOfFiles(plan: Pipeline): void {
    // steps that hand columns on compute nothing, in kernels or over rows
    const compiled = plan.steps
      .filter((step) => !isFree(step))
      .flatMap((step) => functionsIn(step).map((f) => [step.kind, f] as const))
      .filter(([, f]) => fallbackOf(f) === undefined)
    const scan = compiled.length === 0 ? undefined : scanToLoad(beforeDistinct(plan) ?? withoutPartialStep(plan), this.state.options)
    if (scan === undefined || 'isSmall' in scan) return
    const because = 'because' in scan ? scan.because : 'what comes of them is taken partition after partition'
    for (const [kind, f] of compiled) this.state.emit(rowsOfFilesEvent(kind, f, because))
  }
}

/** The controller that tells queued tasks that they are not wanted any more. All of them listen, so Node's warning of a leak is off. */
function givenUp(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
