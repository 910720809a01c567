/** Runs wide operators that may go by way of disk: first in memory, then part after part where that was short. */

import { MemoryError } from '../../../core/errors.ts'
import { buffersPassed } from '../../memory/lease.ts'
import { type Dataset, type Input, type Results, rowsIn, type Wide } from '../dataset.ts'
import { withoutKeys } from '../operators/operator.ts'
import { bytesOfBatches } from '../planRecord.ts'
import { type External, externalOf } from '../spill/external.ts'
import { ExternalRun } from '../spill/externalRun.ts'
import { isInVain, type SpillingRun, spillingServices } from '../spill/spilling.ts'
import type { ColumnInputs } from './columnInputs.ts'
import type { Pipelines } from './pipelines.ts'
import { type JoinedRange, overRest } from './rangedJoin.ts'
import { wholeError } from './runErrors.ts'
import type { RunState } from './runState.ts'
import type { WideOperators } from './wideOperators.ts'

/** The functions that run inputs. */
type Inputs = Pick<SpillingRun, 'results' | 'inputOf' | 'resultOf' | 'runOf' | 'collected'>

export class SpilledOperators {
  private readonly state: RunState
  private readonly pipelines: Pipelines
  private readonly columns: ColumnInputs
  private readonly wideOperators: WideOperators
  private readonly plans: Inputs

  constructor(
    state: RunState,
    {
      pipelines,
      columns,
      wideOperators,
      plans,
    }: { readonly pipelines: Pipelines; readonly columns: ColumnInputs; readonly wideOperators: WideOperators; readonly plans: Inputs },
  ) {
    this.state = state
    this.pipelines = pipelines
    this.columns = columns
    this.wideOperators = wideOperators
    this.plans = plans
  }

  /** A wide operator's result: stored, or a stream of parts by way of disk where it does not fit memory. */
  async wideOrParts(plan: Wide): Promise<Input> {
    const { spill } = this.state.options
    const external = spill && externalOf(plan)
    if (external === undefined) {
      try {
        return await this.wideOperators.wide(plan)
      } catch (error) {
        throw spill !== undefined && error instanceof MemoryError ? wholeError(error, plan.operator) : error
      }
    }
    if (isInVain(plan, this.state.options.arena.budgetBytes)) this.state.beyond.add(plan)
    if (!this.state.isBeyond(plan)) {
      const undo = this.marked()
      this.state.tries++
      try {
        return await this.wideOperators.wide(plan, { isBounded: true })
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error
        undo()
        this.state.record?.runsAsPlanned(plan)
        const ranged = await this.inRanges(plan, undo)
        if (ranged !== undefined) return ranged
        this.state.beyond.add(plan)
      } finally {
        this.state.tries--
      }
    }
    return { kind: 'streamed', results: this.parts(plan, external) }
  }

  /** The result by ranges of an input whose columns memory has room for, but not for what the operator makes of all of them at once; undefined where there is none, or it has no room either. */
  private async inRanges(plan: Wide, undo: () => void): Promise<Dataset | undefined> {
    if (this.columns.isInRanges(plan)) return undefined // that was in vain
    try {
      const found = await this.state.withSmallRanges(() => this.wideOperators.inRanges(plan, { isBounded: true }))
      return found ?? (await this.wideOperators.rangedJoins.joinedInRanges(plan, this.state.ofSmallRanges))
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
      undo()
      this.state.record?.runsAsPlanned(plan)
      return undefined
    }
  }

  /** Returns a function that frees and forgets everything made since this call, but for scans that are read ahead for other nodes. */
  private marked(): () => void {
    const before = this.state.blocks.all()
    const known = [new Map(this.state.ready), new Map(this.state.tables), new Map(this.state.joined)] as const
    return () => {
      this.state.blocks.freeOthers(before, this.columns.loads.waiting())
      restore(this.state.ready, known[0])
      restore(this.state.tables, known[1])
      restore(this.state.joined, known[2])
    }
  }

  private async *parts(plan: Wide, external: External): Results {
    const name = plan.operator.kind
    const started = performance.now()
    this.state.emit({ kind: 'stage', phase: 'started', stage: name })
    let rows = 0
    for await (const result of this.rangesOrParts(plan, external)) {
      const batches = plan.keys.kind === 'rowNumber' ? result.batches.map(withoutKeys) : result.batches
      rows += rowsIn(batches)
      this.state.record?.addResult(plan, batches)
      this.state.record?.addMade(plan, rowsIn(batches))
      yield { batches, blocks: result.blocks }
      this.state.record?.addTaken(plan, rowsIn(batches))
      buffersPassed(bytesOfBatches(batches))
    }
    this.state.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
  }

  /** The ranges of a join with a right side that memory holds, and by way of disk what these leave. */
  private async *rangesOrParts(plan: Wide, external: External): Results {
    const most = this.state.options.spill?.always?.ranges
    let left: Wide | undefined = plan
    try {
      for await (const { rest, done, total: _, ...result } of await this.joinedRanges(plan)) {
        left = rest.length === 0 ? undefined : overRest(plan, rest)
        yield result
        if (done === most) break
      }
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
    }
    if (left !== undefined) yield* new ExternalRun(left, spillingServices(plan, this.spillingRun())).results(external)
  }

  private async joinedRanges(plan: Wide): Promise<AsyncGenerator<JoinedRange, void, undefined> | readonly JoinedRange[]> {
    const { always } = this.state.options.spill ?? {}
    if (always !== undefined && always.ranges === undefined) return []
    const undo = this.marked()
    try {
      return (await this.wideOperators.rangedJoins.joinedRanges(plan, this.state.ofSmallRanges)) ?? []
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
      undo()
      return []
    }
  }

  private spillingRun(): SpillingRun {
    const { spill, arena } = this.state.options
    return {
      ...{ spill, budgetBytes: arena.budgetBytes, blocks: this.state.blocks, record: this.state.record },
      emit: (event) => this.state.emit(event),
      pipeline: (plan, input, how) => this.pipelines.pipeline(plan, input, how),
      results: (plan) => this.plans.results(plan),
      inputOf: (plan) => this.plans.inputOf(plan),
      resultOf: (plan) => this.state.waitedFor(plan, () => this.plans.resultOf(plan)),
      runOf: (plan) => this.plans.runOf(plan),
      collected: (plan, input) => this.plans.collected(plan, input),
      wideResult: (plan, operator, inputs, inline) => this.wideOperators.wideResult(plan, operator, inputs, inline),
      task: (task) => this.state.task(task, false),
      isSmall: (partitions) => this.state.isSmall(partitions),
    }
  }
}

function restore<K, V>(map: Map<K, V>, before: ReadonlyMap<K, V>): void {
  map.clear()
  for (const [key, value] of before) map.set(key, value)
}
