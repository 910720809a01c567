/**
 * The first rows by an order, of a file whose columns memory has no room for: those of each range are kept in order, and the sort goes
 * over those.
 *
 *     first 2 of range 1   5 3 9 3   ->  3 3
 *     first 2 of range 2   4 2 7     ->  2 4      the sort finds 2 3 among these
 *
 * Ranges follow one another, and sorts leave equal keys in their order: so it is that of the rows in the file.
 */
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import type { Block } from '../block.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { programTable } from '../columns/columnTable.ts'
import { isRefused, refused, SHORT_OF_MEMORY } from '../columns/refused.ts'
import { agreed, type Dataset, type Partition, type Pipeline, rowsIn } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import type { StageTask } from '../stage.ts'
import { sharedWork } from '../wide/sharedWork.ts'
import { overRanges, type Ranges } from './rangedInputs.ts'
import { withComparedKeys, withoutTopK } from './runPlans.ts'
import type { RunState } from './runState.ts'

type Sort = Extract<WideOperator, { kind: 'SortExec' }>

/** The first rows are looked for among those of several ranges when these are more than the limit by this factor. */
const GROWTH = 2

/** The first rows of each range, or of several, as the input of the sort; undefined where no column program makes them, kernels do not sort by the key, or memory is short. */
export async function topInRanges(input: Pipeline, operator: Sort, ranges: Ranges): Promise<Dataset | undefined> {
  const plan = withoutTopK(input)
  if (plan === undefined || operator.limit === undefined) return undefined
  const { scan, state } = ranges
  const found = new FirstRows(state, operator, operator.limit)
  const work = async (run: ColumnRun): Promise<{ readonly run: ColumnRun; readonly made: ExecBatch } | NotColumns> => {
    const table = await programTable(run)
    if (isRefused(table)) return table
    found.hold(table.blocks.handedOver())
    const made = withComparedKeys(table.batch, operator)
    return (await found.add(made)) ? { run, made } : refused('kernels do not sort by its key')
  }
  try {
    for await (const { made, blocks, milliseconds } of overRanges(plan, ranges, work, { keySets: () => [] })) {
      found.hold(blocks)
      if (isRefused(made)) {
        state.record?.refuse(input, made.because)
        found.free()
        return undefined
      }
      state.record?.addRange(plan, made.run, { batch: made.made, scan, milliseconds })
      await found.shrink()
    }
    state.record?.ranAs(input, plan)
    return found.result()
  } catch (error) {
    found.free()
    if (!(error instanceof MemoryError)) throw error
    state.record?.refuse(input, SHORT_OF_MEMORY.because)
    return undefined
  }
}

/** The first rows of ranges, each piece in order. */
class FirstRows {
  private readonly state: RunState
  private readonly operator: Sort
  private readonly limit: number
  private pieces: readonly ExecBatch[] = []
  private blocks: readonly Block[] = []
  private held: Block[] = []

  constructor(state: RunState, operator: Sort, limit: number) {
    this.state = state
    this.operator = { ...operator, hiddenKey: 0 } // later sorts need the key
    this.limit = limit
  }

  hold(blocks: readonly Block[]): void {
    this.state.blocks.add(blocks)
    this.held.push(...blocks)
  }

  free(): void {
    this.state.blocks.free([...this.held, ...this.blocks])
  }

  /** Adds the first rows of a range; false where kernels do not sort them. */
  async add(batch: ExecBatch): Promise<boolean> {
    const first = batch.length === 0 ? [batch] : await this.first([batch])
    if (first === undefined) return false
    this.pieces = [...this.pieces, ...first]
    return true
  }

  /** Keeps the first rows of all ranges so far, where these are many, and frees what is not one of them. */
  async shrink(): Promise<void> {
    if (this.pieces.length > 1 && rowsIn(this.pieces) >= GROWTH * this.limit) {
      const first = await this.first(this.pieces)
      if (first !== undefined) this.pieces = first
    }
    this.blocks = this.state.blocks.keep([...this.blocks, ...this.held.splice(0)], this.pieces)
  }

  result(): Dataset {
    const filled = this.pieces.filter(({ length }) => length > 0)
    const kept = filled.length === 0 ? this.pieces.slice(0, 1) : filled
    const partitions = kept.map((batch): Partition => ({ kind: 'batches', batches: [batch] }))
    return { kind: 'stored', partitions: agreed(partitions), blocks: this.blocks }
  }

  private async first(batches: readonly ExecBatch[]): Promise<readonly ExecBatch[] | undefined> {
    const { pool, arena } = this.state.options
    const services = {
      workers: pool.size,
      arena,
      run: async (task: StageTask): Promise<readonly ExecBatch[]> => {
        const { batches, blocks } = await this.state.wideTask(task, false)
        this.hold(blocks)
        return batches
      },
      hold: (blocks: readonly Block[]): void => this.hold(blocks),
      isBounded: true,
    }
    return await sharedWork(this.operator, [batches], services)
  }
}
