/**
 * A join whose left side memory has no room for, with a right side that it holds: each range of the left side is joined by itself.
 *
 *     lineitem.parquet, row groups 1 to 9     joined with orders  ->  rows 1 to 1,100,000 of the result
 *                       row groups 10 to 18   joined with orders  ->  the rows after these, ...
 *
 * Legal where each row of the result comes of one left row, or of none of the right side alone, in the order of the left side: in
 * inner, left, semi and anti joins.
 */
import { isKnown } from '../../../core/plan/elements.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import type { Block } from '../block.ts'
import type { ColumnProgram } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { type ProgramTable, programTable } from '../columns/columnTable.ts'
import { isRefused } from '../columns/refused.ts'
import type { KeySet } from '../columns/semiJoin.ts'
import type { Result, Scan, Wide } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { withoutKeys } from '../operators/operator.ts'
import { cutPartitions, PARTITION_ROWS } from '../operators/partitions.ts'
import { type LoadOptions, splitsRead } from '../scanSplits.ts'
import type { Progress } from '../spill/expected.ts'
import { overRanges, type Ranges } from './rangedInputs.ts'
import { rangedScan, withComparedKeys } from './runPlans.ts'

/** The right side may take the memory divided by this: its table of keys, the ranges and their results lie there, too. */
const ROOM = 3

/** The rows that a range was joined to; `rest`: the splits of the ranges after it. */
export interface JoinedRange extends Result, Progress {
  readonly rest: readonly SourceSplit[]
}

interface JoinServices {
  readonly keySets: (program: ColumnProgram) => readonly KeySet[]
  /** The rows of the left side, joined. */
  readonly joined: (left: readonly ExecBatch[]) => Promise<Result>
}

/** The scan of the left side, where ranges of it can be joined one after another; else undefined. */
export function joinedByRanges({ operator, inputs, where, keyFilter }: Wide, options: LoadOptions): Scan | undefined {
  const [left] = inputs
  if (operator.kind !== 'HashJoinExec' || left === undefined || where === 'caller' || !isKnown(left.element)) return undefined
  if (!['inner', 'left', 'semi', 'anti'].includes(operator.how) || keyFilter?.side === 'left') return undefined
  if (left.kind === 'PipelineExec' && left.numbered) return undefined
  return rangedScan(left, operator, options, true)
}

/** Whether memory holds so many bytes of the right side, with room for the ranges of the left. */
export function isHeld(bytes: number, { budgetBytes }: LoadOptions['arena']): boolean {
  return bytes * ROOM <= budgetBytes
}

/** The rows of each range of the left side, joined; ends early, before a range that no column program makes the rows of. */
export async function* joinedRanges(
  left: PhysicalPlan,
  operator: WideOperator,
  ranges: Ranges,
  { keySets, joined }: JoinServices,
): AsyncGenerator<JoinedRange, void, undefined> {
  const { scan, state } = ranges
  const { pool, partitionRows = PARTITION_ROWS } = state.options
  const rows = splitsRead(scan).reduce((sum, split) => sum + (split.rows ?? 0), 0)
  const how = { keySets: (program: ColumnProgram) => keySets({ ...program, rows: Math.max(rows, program.rows) }) }
  const work = async (run: ColumnRun): Promise<(ProgramTable & { readonly run: ColumnRun }) | NotColumns> => {
    const table = await programTable(run)
    return isRefused(table) ? table : { ...table, run }
  }
  let rest = splitsRead(scan)
  for await (const { made, blocks: own, milliseconds, splits, ...progress } of overRanges(left, ranges, work, how)) {
    if (isRefused(made)) {
      state.record?.refuse(left, made.because)
      state.blocks.free(own)
      return
    }
    const { batch, run } = made
    const blocks: readonly Block[] = [...own, ...made.blocks.handedOver()]
    state.blocks.add(blocks)
    state.record?.addRange(left, run, { batch, scan, milliseconds })
    const share = Math.max(partitionRows, Math.ceil(batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
    const result = await joined(cutPartitions([withComparedKeys(batch, operator)], share).flat())
    const batches = result.batches.map(withoutKeys)
    rest = rest.slice(splits)
    const used = state.blocks.keep(blocks, batches)
    yield { ...progress, batches, blocks: [...result.blocks, ...used], rest }
  }
}

/** The join of the left rows in `rest` alone. */
export function overRest(plan: Wide, rest: readonly SourceSplit[]): Wide {
  const [left, ...others] = plan.inputs
  if (left === undefined) return plan
  const over = (scan: Scan): Scan => ({ ...scan, source: { ...scan.source, splits: rest } })
  if (left.kind === 'ScanExec') return { ...plan, inputs: [over(left), ...others] }
  if (left.kind !== 'PipelineExec' || left.input.kind !== 'ScanExec') return plan
  return { ...plan, inputs: [{ ...left, input: over(left.input) }, ...others] }
}
