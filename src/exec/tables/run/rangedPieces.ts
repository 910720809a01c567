/**
 * What an operator leaves of each range of a file whose columns memory has no room for, where the same operator over what is left of all
 * ranges gives what it gives of the file: the first of equal rows, or the first rows by an order.
 *
 *     range 1  ->  a b c
 *     range 2  ->  b d      the operator over both pieces finds a b c d
 */
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import type { Block } from '../block.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { type ProgramTable, programTable } from '../columns/columnTable.ts'
import { isRefused, SHORT_OF_MEMORY } from '../columns/refused.ts'
import { agreed, type Dataset, type Partition, rowsIn } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { bytesOfBatches } from '../planRecord.ts'
import type { GroupsSeen, Progress } from '../spill/expected.ts'
import type { StageTask } from '../stage.ts'
import { sharedWork } from '../wide/sharedWork.ts'
import { overRanges, type Ranges } from './rangedInputs.ts'
import type { RunState } from './runState.ts'

/** The operator goes over the pieces again when their rows are more than it left the last time by this factor. */
const GROWTH = 2

/** How many rows are left of all ranges, and how many of a range are new on average. */
type PiecesSeen = Pick<GroupsSeen, 'groups' | 'fresh' | 'last'>

interface RangeWork {
  readonly how: Parameters<typeof overRanges>[3]
  /** Adds what is left of a range to the pieces; returns what the plan made of it, or why kernels do not work on that. */
  readonly add: (table: ProgramTable) => Promise<ExecBatch | NotColumns>
  /** Is called after each range. */
  readonly after?: (seen: PiecesSeen | undefined, progress: Progress) => void
  /** The rows of the operator's input that a piece is; the piece itself where left out. */
  readonly rows?: (piece: ExecBatch) => ExecBatch
}

/** What the operator leaves of the ranges, as its input; undefined where no column program makes the rows of `plan`, kernels do not work on them, or memory is short. */
export async function leftOfRanges(
  { input, plan, pieces }: { readonly input: PhysicalPlan; readonly plan: PhysicalPlan; readonly pieces: RangedPieces },
  ranges: Ranges,
  { how, add, after, rows = (piece) => piece }: RangeWork,
): Promise<Dataset | undefined> {
  const { scan, state } = ranges
  const work = async (run: ColumnRun): Promise<{ readonly run: ColumnRun; readonly batch: ExecBatch } | NotColumns> => {
    const table = await programTable(run)
    if (isRefused(table)) return table
    pieces.hold(table.blocks.handedOver())
    const batch = await add(table)
    return isRefused(batch) ? batch : { run, batch }
  }
  try {
    for await (const { made, blocks, milliseconds, ...progress } of overRanges(plan, ranges, work, how)) {
      pieces.hold(blocks)
      if (isRefused(made)) {
        state.record?.refuse(input, made.because)
        pieces.free()
        return undefined
      }
      state.record?.addRange(plan, made.run, { batch: made.batch, scan, milliseconds })
      const seen = await pieces.shrink()
      after?.(seen, progress)
    }
    state.record?.ranAs(input, plan)
    return pieces.result(rows)
  } catch (error) {
    pieces.free()
    if (!(error instanceof MemoryError)) throw error
    state.record?.refuse(input, SHORT_OF_MEMORY.because)
    return undefined
  }
}

/** The pieces that an operator left, in the order of the ranges, and the blocks that they lie in. */
export class RangedPieces {
  private readonly state: RunState
  private readonly operator: WideOperator
  private pieces: readonly ExecBatch[] = []
  private blocks: readonly Block[] = []
  private held: Block[] = []
  /** The rows that the operator left of all pieces the last time. */
  private left = 0

  constructor(state: RunState, operator: WideOperator) {
    this.state = state
    this.operator = operator
  }

  get bytes(): number {
    return bytesOfBatches(this.pieces)
  }

  hold(blocks: readonly Block[]): void {
    this.state.blocks.add(blocks)
    this.held.push(...blocks)
  }

  free(): void {
    this.state.blocks.free([...this.held, ...this.blocks])
  }

  /** Adds what is left of a range. */
  add(pieces: readonly ExecBatch[]): void {
    this.pieces = [...this.pieces, ...pieces]
  }

  /** Keeps what the operator leaves of all pieces, where these have many more rows than after the last time; returns what is seen then. */
  async shrink(): Promise<PiecesSeen | undefined> {
    const rows = rowsIn(this.pieces)
    const before = this.left
    const ranges = this.pieces.length - 1
    const isLarger = ranges > 0 && rows >= GROWTH * before
    if (isLarger) {
      this.pieces = (await this.leaves(this.pieces)) ?? this.pieces
      this.left = rowsIn(this.pieces)
    } else if (ranges === 0) this.left = rows
    this.blocks = this.state.blocks.keep([...this.blocks, ...this.held.splice(0)], this.pieces)
    if (!isLarger || this.left === 0) return undefined
    return { groups: this.left, fresh: (this.left - before) / ranges, last: (rows - before) / ranges }
  }

  /** The pieces, as rows of the operator's input, and the blocks that they lie in. */
  result(rows: (piece: ExecBatch) => ExecBatch): Dataset {
    const filled = this.pieces.filter(({ length }) => length > 0)
    const kept = filled.length === 0 ? this.pieces.slice(0, 1) : filled
    const partitions = kept.map((piece): Partition => ({ kind: 'batches', batches: [rows(piece)] }))
    return { kind: 'stored', partitions: agreed(partitions), blocks: this.blocks }
  }

  /** What the operator leaves of batches; undefined where kernels do not work on them. */
  async leaves(batches: readonly ExecBatch[]): Promise<readonly ExecBatch[] | undefined> {
    if (rowsIn(batches) === 0) return batches.slice(0, 1)
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
