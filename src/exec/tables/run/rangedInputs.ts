/**
 * The input of a join, or of groups, whose columns memory has no room for: they are read range after range of the file's splits, and the
 * pipeline runs over each range as a column program. What it leaves of the rows is kept for a join, and added to groups.
 *
 *     lineitem.parquet, 550 row groups      row groups 1 to 48 in the arena -> filters and keys -> some rows
 *                                           row groups 49 to 96             -> filters and keys -> some rows, ...
 */
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import { Charge } from '../../memory/charge.ts'
import type { Block } from '../block.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { programTable } from '../columns/columnTable.ts'
import { RangedGroups } from '../columns/groups/rangedGroups.ts'
import { overColumns } from '../columns/overColumns.ts'
import { isRefused, refused } from '../columns/refused.ts'
import type { KeySet } from '../columns/semiJoin.ts'
import { askedTexts } from '../columns/texts/askedTexts.ts'
import { repeatedlyRead } from '../columns/texts/encodedTexts.ts'
import { plannedTextColumns } from '../columns/texts/textColumns.ts'
import { agreed, type Dataset, type Scan, type Wide } from '../dataset.ts'
import type { TextsWanted } from '../loadedScan.ts'
import type { TimedLoad } from '../loadsAhead.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { cutPartitions, PARTITION_ROWS } from '../operators/partitions.ts'
import { scanRanges, splitsRead } from '../scanSplits.ts'
import { partitionsBeyond } from '../spill/expected.ts'
import { withComparedKeys } from './runPlans.ts'
import type { RunState } from './runState.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

/** What a run of ranges needs of the inputs that it is one of. */
interface RangeServices {
  readonly state: RunState
  load(scan: Scan, wanted: TextsWanted): Promise<TimedLoad>
  /** The filters of a program's rows by keys of joins; absent where none are known. */
  readonly keySets?: (program: ColumnProgram) => readonly KeySet[]
}

const SHORT = 'memory is short for whole columns'

/** The program of a pipeline over one range: what it made, or why it did not, with the blocks that its columns lie in. */
interface RangeResult<T> {
  readonly made: T | NotColumns
  readonly run: ColumnRun | undefined
  readonly blocks: readonly Block[]
  readonly milliseconds: number
}

async function overRange<T extends object>(
  plan: PhysicalPlan,
  range: Scan,
  { state, load, keySets, codedKeys }: RangeServices & { readonly codedKeys: boolean },
  work: (run: ColumnRun) => Promise<T | NotColumns>,
): Promise<RangeResult<T>> {
  const loaded = await load(range, { asked: askedTexts(plan), encoded: repeatedlyRead(plan) })
  const blocks: Block[] = [...loaded.blocks]
  const { milliseconds } = loaded
  const other = plan.kind === 'PipelineExec' ? { ...plan, input: loaded.plan } : loaded.plan
  const known = columnProgramOf(other, plannedTextColumns)
  if (!isProgram(known)) return { made: known, run: undefined, blocks, milliseconds }
  const keep = (added: readonly Block[]): void => {
    state.blocks.add(added)
    blocks.push(...added)
  }
  const options = { ...state.options, smallRows: 0, signal: state.signal, keep }
  let run: ColumnRun | undefined
  const made = await overColumns(
    other,
    options,
    async (one) => {
      run = one
      return await work(one)
    },
    { codedKeys, ...(keySets === undefined ? {} : { keySets }) },
  )
  return { made, run, blocks, milliseconds }
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
  const services = {
    ...{ state, load, codedKeys: false },
    ...(keySets === undefined ? {} : { keySets: (program: ColumnProgram) => keySets({ ...program, rows }) }),
  }
  const pieces: ExecBatch[] = []
  const blocks: Block[] = []
  let matched: readonly number[] | undefined
  try {
    for (const [i, range] of ranges.entries()) {
      const { made, run, blocks: own, milliseconds } = await overRange(plan, range, services, programTable)
      if (isRefused(made)) {
        state.record?.refuse(plan, made.because)
        state.blocks.free([...own, ...blocks])
        return undefined
      }
      const added = made.blocks.handedOver()
      state.blocks.add(added)
      const one = run as ColumnRun // there is a run where there is a table
      const keys = one.keySets.flatMap((set) => set.keys ?? [])
      matched = matched === undefined ? keys : matched.filter((key) => keys.includes(key))
      state.record?.addRange(plan, one, { batch: made.batch, scan, milliseconds })
      const share = Math.max(partitionRows, Math.ceil(made.batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
      pieces.push(...cutPartitions([withComparedKeys(made.batch, operator)], share).flat())
      blocks.push(...state.blocks.keep([...own, ...added], pieces))
      if (state.tries === 0) continue
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      state.checkRoom(partitionsBeyond({ done: i + 1, total: ranges.length }, bytes, arena.budgetBytes), operator.kind)
    }
  } catch (error) {
    state.blocks.free(blocks)
    if (!(error instanceof MemoryError) || state.tries > 0) throw error // what does not fit has a way by disk
    state.record?.refuse(plan, SHORT)
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

/** The groups of the rows that a pipeline leaves of a scan, read in ranges; undefined where no pass adds the rows of one of these. */
export async function groupsInRanges(
  plan: PhysicalPlan,
  wide: Wide,
  operator: Aggregation,
  { scan, state, load }: Omit<RangeServices, 'keySets'> & { readonly scan: Scan },
): Promise<ExecBatch | undefined> {
  const groups = new RangedGroups(operator, state.options.groupPass)
  const services = { state, load, codedKeys: true }
  const charge = new Charge(state.options.arena, operator.kind)
  try {
    for (const range of scanRanges(scan, state.options)) {
      const { made, run, blocks, milliseconds } = await overRange(plan, range, services, async (one) => {
        return (await groups.add(one)) ? groups : refused('no pass adds its rows to the groups of other ranges')
      })
      state.blocks.free(blocks)
      if (isRefused(made)) {
        state.record?.refuse(plan, made.because)
        return undefined
      }
      charge.raiseTo(groups.bytes)
      state.record?.addRangeOfGroups(wide, plan, run as ColumnRun, { scan, milliseconds }) // there is a run where rows were added
    }
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error
    state.record?.refuse(plan, SHORT)
    return undefined // split by split there may be enough
  } finally {
    charge.end()
  }
  return groups.finish()
}
