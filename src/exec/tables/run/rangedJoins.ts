/** Joins whose left side memory has no room for, and whose right side it holds, range after range (`rangedJoin.ts`). */
import type { SourceSplit } from '../../../core/sourceParts.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import { keysOfSide } from '../columns/joinFilter.ts'
import { batchesOf, type Dataset, filledOr, type Result, type Scan, type Wide } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { bytesOfBatches } from '../planRecord.ts'
import type { LoadOptions } from '../scanSplits.ts'
import { bytesKept } from '../spill/spilling.ts'
import type { ColumnInputs } from './columnInputs.ts'
import { isHeld, type JoinedRange, joinedByRanges, joinedRanges } from './rangedJoin.ts'
import type { RunState } from './runState.ts'

/** The ranges of a join after which it is told whether memory holds the results of all. */
const RANGES_SEEN = 2

/** The functions that run an input, and a join. */
interface Operators {
  sideOf(given: PhysicalPlan, plan: Wide, held: Block[]): Promise<Dataset>
  wideResult(
    plan: Wide,
    operator: WideOperator,
    inputs: readonly (readonly ExecBatch[])[],
    inline: boolean,
    how: { readonly isBounded: true },
  ): Promise<Result>
}

export class RangedJoins {
  private readonly state: RunState
  private readonly columns: ColumnInputs
  private readonly operators: Operators

  constructor(state: RunState, columns: ColumnInputs, operators: Operators) {
    this.state = state
    this.columns = columns
    this.operators = operators
  }

  /** A join whose left side memory has no room for, and whose right side it holds, range after range; undefined where it is another. MemoryError where the result is too large. */
  async joinedInRanges(plan: Wide, options: LoadOptions = this.state.options): Promise<Dataset | undefined> {
    const joined = await this.joinedRanges(plan, options)
    if (joined === undefined) return undefined
    const batches: ExecBatch[] = []
    const blocks: Block[] = []
    let left: readonly SourceSplit[] | undefined
    for await (const { done, total, rest, ...result } of joined) {
      left = rest
      batches.push(...result.batches)
      blocks.push(...result.blocks)
      if (this.state.tries === 0 || done < RANGES_SEEN) continue
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      this.state.checkRoom((bytes / done) * (total - done), plan.operator.kind)
    }
    if (left === undefined || left.length > 0) {
      this.state.blocks.free(blocks)
      return undefined
    }
    const filled = batches.filter(({ length }) => length > 0)
    return this.state.cut(filled.length === 0 ? batches.slice(0, 1) : filled, blocks)
  }

  /** The ranges of a join's left side, each joined with the right side; undefined where it is no such join, or the right side is large. MemoryError where that is short of memory. */
  async joinedRanges(plan: Wide, options: LoadOptions): Promise<AsyncGenerator<JoinedRange, void, undefined> | undefined> {
    const { operator, keyFilter, inputs } = plan
    const [left, right] = inputs
    const { arena } = options
    const scan = joinedByRanges(plan, options)
    if (scan === undefined || left === undefined || right === undefined || !isHeld(bytesKept(right), arena)) return undefined
    const { plan: loaded, blocks } = await this.columns.loaded(right)
    const held = [...blocks]
    const dataset = await this.operators.sideOf(
      right.filteredBy === undefined ? loaded : { ...loaded, filteredBy: right.filteredBy },
      plan,
      held,
    )
    held.push(...dataset.blocks)
    const batches = filledOr(batchesOf(dataset.partitions), right)
    if (!isHeld(bytesOfBatches(batches), arena)) {
      this.state.blocks.free(held)
      return undefined
    }
    const keys = keyFilter && operator.kind === 'HashJoinExec' ? keysOfSide(operator, batches) : undefined
    if (keyFilter !== undefined && keys !== undefined) this.state.joined.set(keyFilter.keys, keys)
    return this.joinedWith(left, plan, { scan, right: batches, held })
  }

  private async *joinedWith(
    left: PhysicalPlan,
    plan: Wide,
    { scan, right, held }: { readonly scan: Scan; readonly right: readonly ExecBatch[]; readonly held: readonly Block[] },
  ): AsyncGenerator<JoinedRange, void, undefined> {
    const { operator } = plan
    const keySets = this.columns.keySetsOf(left) ?? (() => [])
    const joined = (rows: readonly ExecBatch[]): Promise<Result> =>
      this.operators.wideResult(plan, operator, [rows, right], false, { isBounded: true })
    this.state.record?.beginRanges(plan, left)
    try {
      yield* joinedRanges(left, operator, this.columns.ranges(scan), { keySets, joined })
    } finally {
      this.state.blocks.free(held)
    }
  }
}
