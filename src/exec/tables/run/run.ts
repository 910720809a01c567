/** One run of a physical plan (a plan execution). Its parts: pipelines, column programs, wide operators, spilling, and the walk over the plan. */

import { rmSync } from 'node:fs'
import type { Batch } from '../../../core/data/column.ts'
import { isKnown } from '../../../core/plan/elements.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import { agreed, batchesOf, finished, type Partition, type Results, type Wide } from '../dataset.ts'
import type { ExecutorOptions, RunOptions } from '../executorOptions.ts'
import { concatBatches, type ExecBatch, emptyBatch, unifyElements } from '../operators/batches.ts'
import { wholeTable } from '../wholeTable.ts'
import { ColumnInputs } from './columnInputs.ts'
import { Pipelines } from './pipelines.ts'
import { PlanResults } from './planResults.ts'
import { RunState } from './runState.ts'

/** A consumer that uses batches in the run's memory, without a copy, until it frees them. */
export interface Keeper {
  keep(batch: Batch, free: () => void): void
  /** Whether texts may be dictionary codes. */
  readonly takesCodes: boolean
  /** Is given a function that frees all batches it still keeps. */
  atEnd(free: () => void): void
}

export class Run {
  readonly state: RunState
  readonly columns: ColumnInputs
  private readonly pipelines: Pipelines
  private readonly plans: PlanResults

  constructor(options: ExecutorOptions, runOptions: RunOptions = {}) {
    this.state = new RunState(options, runOptions)
    this.pipelines = new Pipelines(this.state)
    this.columns = new ColumnInputs(this.state)
    this.plans = new PlanResults(this.state, this.pipelines, this.columns)
  }

  /** The whole result, outside of the run's memory; at least one batch. */
  async batches(plan: PhysicalPlan): Promise<readonly Batch[]> {
    const result = await this.state.waitedFor(plan, () => this.plans.resultOf(plan))
    if (result.kind === 'streamed') return await this.copiedOutEach(result.results, plan)
    const { partitions } = await this.plans.materialized(result, plan)
    return finished(batchesOf(partitions), plan).map((batch) => this.state.blocks.copiedOut(batch))
  }

  /** What `make` makes of the whole result: of batches in the run's memory, where it has room for both. */
  async made<T>(plan: PhysicalPlan, make: (batches: readonly Batch[]) => T): Promise<T> {
    const result = await this.state.waitedFor(plan, () => this.plans.resultOf(plan))
    if (result.kind === 'streamed') return make(await this.copiedOutEach(result.results, plan))
    const { partitions } = await this.plans.materialized(result, plan)
    const batches = finished(batchesOf(partitions), plan)
    if (this.state.hasRoom()) return make(batches)
    const outside = batches.map((batch) => this.state.blocks.copiedOut(batch))
    this.state.blocks.freeAll()
    return make(outside)
  }

  /** The batches of a stream, copied out of the run's memory one after another, since that need not hold all. */
  private async copiedOutEach(results: Results, plan: PhysicalPlan): Promise<readonly Batch[]> {
    const partitions: Partition[] = []
    for await (const { batches, blocks } of results) {
      const filled = batches.filter((batch) => batch.length > 0)
      partitions.push({ kind: 'batches', batches: finished(filled, plan).map((batch) => this.state.blocks.copiedOut(batch)) })
      this.state.blocks.free(blocks)
    }
    return finished(batchesOf(agreed(partitions)), plan)
  }

  /**
   * The result partition after partition, outside of the run's memory, from which each is freed before it is handed over; at
   * least one batch. With a keeper, and while no more than half of the memory is taken, they stay there until the keeper frees them.
   */
  async *stream(plan: PhysicalPlan, keeper?: Keeper): AsyncGenerator<Batch, void, undefined> {
    let any = false
    let element = plan.element
    for await (const { batches, blocks } of this.plans.results(plan, { coded: keeper?.takesCodes === true })) {
      const filled = batches.filter((batch) => batch.length > 0)
      // values of types that do not unify are an error, as where all are collected
      if (!isKnown(plan.element)) element = unifyElements([element, ...filled.map((batch) => batch.element)])
      if (keeper !== undefined && this.state.hasRoom() && filled.length > 0) {
        any = true
        let left = filled.length
        for (const batch of filled) {
          const [kept = batch] = finished([batch], plan)
          keeper.keep(kept, () => {
            if (--left === 0) this.state.blocks.free(blocks)
          })
          yield kept
        }
        continue
      }
      const last = filled.pop()
      for (const batch of filled) yield* this.outside(batch, plan)
      if (last === undefined) {
        this.state.blocks.free(blocks)
        continue
      }
      any = true
      const out = this.outside(last, plan)
      this.state.blocks.free(blocks)
      yield* out
    }
    if (!any) yield emptyBatch(plan.element)
  }

  private outside(batch: ExecBatch, plan: PhysicalPlan): readonly Batch[] {
    return finished([batch], plan).map((one) => this.state.blocks.copiedOut(one))
  }

  /** Frees everything the run still holds. */
  end(): void {
    this.state.blocks.freeAll()
    for (const file of this.pipelines.files.splice(0)) rmSync(file, { force: true })
  }

  /** The result of a wide operator as one table, all of whose buffers are whole blocks of the arena that are the caller's from now on. */
  async table(plan: Wide): Promise<Batch> {
    const { partitions, blocks } = await this.plans.wideOperators.wide(plan, { isWhole: true })
    const pieces = finished(batchesOf(partitions), plan)
    const whole = await wholeTable(pieces, { arena: this.state.options.arena, run: (task) => this.state.task(task, false) })
    if (whole === undefined) return this.state.blocks.handedOver(concatBatches(pieces), blocks)
    this.state.blocks.free(blocks)
    return whole.batch
  }
}
