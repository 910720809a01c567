/**
 * The input of a join whose columns memory has no room for: they are read range after range of the file's splits, the pipeline runs over
 * each range as a column program, and what it leaves of the rows is kept.
 *
 *     lineitem.parquet, 550 row groups      row groups 1 to 48 in the arena -> filters and keys -> some rows
 *                                           row groups 49 to 96             -> filters and keys -> some rows, ...
 */
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { programTable } from '../columns/columnTable.ts'
import { overColumns } from '../columns/overColumns.ts'
import { isRefused } from '../columns/refused.ts'
import type { KeySet } from '../columns/semiJoin.ts'
import { askedTexts } from '../columns/texts/askedTexts.ts'
import { repeatedlyRead } from '../columns/texts/encodedTexts.ts'
import { plannedTextColumns } from '../columns/texts/textColumns.ts'
import { agreed, type Dataset, type Scan } from '../dataset.ts'
import type { TextsWanted } from '../loadedScan.ts'
import type { TimedLoad } from '../loadsAhead.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { cutPartitions, PARTITION_ROWS } from '../operators/partitions.ts'
import { scanRanges, splitsRead } from '../scanSplits.ts'
import { partitionsBeyond } from '../spill/expected.ts'
import { withComparedKeys } from './runPlans.ts'
import type { RunState } from './runState.ts'

/** What a run of ranges needs of the inputs that it is one of. */
interface RangeServices {
  readonly state: RunState
  load(scan: Scan, wanted: TextsWanted): Promise<TimedLoad>
  /** The filters of a program's rows by keys of joins; absent where none are known. */
  readonly keySets?: (program: ColumnProgram) => readonly KeySet[]
}

/** The rows that a pipeline leaves of a scan, read in ranges; undefined where no column program makes them of one of these. MemoryError where memory is short and the join has another way. */
export async function inRanges(
  plan: PhysicalPlan,
  operator: WideOperator,
  scan: Scan,
  { state, load, keySets }: RangeServices,
): Promise<Dataset | undefined> {
  const { arena, pool, partitionRows = PARTITION_ROWS } = state.options
  const ranges = scanRanges(scan, state.options)
  const rows = splitsRead(scan).reduce((sum, split) => sum + (split.rows ?? 0), 0)
  const wanted = { asked: askedTexts(plan), encoded: repeatedlyRead(plan) }
  const pieces: ExecBatch[] = []
  const blocks: Block[] = []
  let matched: readonly number[] | undefined
  const programmed = async (range: Scan): Promise<string | undefined> => {
    const loaded = await load(range, wanted)
    const own: Block[] = [...loaded.blocks]
    try {
      const other = plan.kind === 'PipelineExec' ? { ...plan, input: loaded.plan } : loaded.plan
      const known = columnProgramOf(other, plannedTextColumns)
      if (!isProgram(known)) return known.because
      const options = { ...state.options, smallRows: 0, signal: state.signal, keep: (added: readonly Block[]) => void own.push(...added) }
      const sets = keySets === undefined ? {} : { keySets: (program: ColumnProgram) => keySets({ ...program, rows }) }
      let run: ColumnRun | undefined
      const table = await overColumns(
        other,
        options,
        async (one) => {
          run = one
          return await programTable(one)
        },
        sets,
      )
      if (isRefused(table)) return table.because
      own.push(...table.blocks.handedOver())
      const keys = (run as ColumnRun).keySets.flatMap((set) => set.keys ?? []) // there is a run where there is a table
      matched = matched === undefined ? keys : matched.filter((key) => keys.includes(key))
      state.record?.addRange(plan, run as ColumnRun, { batch: table.batch, scan, milliseconds: loaded.milliseconds })
      const share = Math.max(partitionRows, Math.ceil(table.batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
      pieces.push(...cutPartitions([withComparedKeys(table.batch, operator)], share).flat())
      return undefined
    } finally {
      state.blocks.add(own)
      blocks.push(...state.blocks.keep(own, pieces))
    }
  }
  try {
    for (const [i, range] of ranges.entries()) {
      const because = await programmed(range)
      if (because !== undefined) {
        state.record?.refuse(plan, because)
        state.blocks.free(blocks)
        return undefined
      }
      if (state.tries === 0) continue
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      state.checkRoom(partitionsBeyond({ done: i + 1, total: ranges.length }, bytes, arena.budgetBytes), operator.kind)
    }
  } catch (error) {
    state.blocks.free(blocks)
    if (!(error instanceof MemoryError) || state.tries > 0) throw error // what does not fit has a way by disk
    state.record?.refuse(plan, 'memory is short for whole columns')
    return undefined
  }
  const filled = pieces.filter(({ length }) => length > 0)
  const kept = filled.length === 0 ? pieces.slice(0, 1) : filled
  return {
    kind: 'stored',
    partitions: agreed(kept.map((batch) => ({ kind: 'batches', batches: [batch] }))),
    blocks,
    matched: matched ?? [],
  }
}
