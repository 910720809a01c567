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
import type { ColumnProgram } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { type ProgramTable, programTable } from '../columns/columnTable.ts'
import { RangedGroups } from '../columns/groups/rangedGroups.ts'
import { overColumns } from '../columns/overColumns.ts'
import { isRefused, refused, SHORT_OF_MEMORY } from '../columns/refused.ts'
import type { KeySet } from '../columns/semiJoin.ts'
import { askedTexts } from '../columns/texts/askedTexts.ts'
import { repeatedlyRead } from '../columns/texts/encodedTexts.ts'
import { agreed, type Dataset, type Scan, type Wide } from '../dataset.ts'
import type { LoadServices, TextsWanted } from '../loadedScan.ts'
import type { TimedLoad } from '../loadsAhead.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { cutPartitions, PARTITION_ROWS } from '../operators/partitions.ts'
import { scanRanges, splitsRead } from '../scanSplits.ts'
import { groupsBeyond, partitionsBeyond } from '../spill/expected.ts'
import { withComparedKeys } from './runPlans.ts'
import type { RunState } from './runState.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

/** A scan that is read in ranges. */
export interface Ranges {
  readonly scan: Scan
  readonly state: RunState
  read(range: Scan, wanted: TextsWanted, onProgress: LoadServices['onProgress']): Promise<TimedLoad>
}

type KeySetsOf = (program: ColumnProgram) => readonly KeySet[]

/** What the program of a pipeline made of one range, or why it made nothing, with the blocks that its columns lie in. */
interface RangeResult<T> {
  readonly made: T | NotColumns
  readonly blocks: readonly Block[]
  readonly milliseconds: number
  /** The number of its splits. */
  readonly splits: number
}

/** What `work` makes of the columns of each range. */
export async function* overRanges<T extends object>(
  plan: PhysicalPlan,
  { scan, state, read }: Ranges,
  work: (run: ColumnRun) => Promise<T | NotColumns>,
  how: { readonly codedKeys: true } | { readonly keySets: KeySetsOf },
): AsyncGenerator<RangeResult<T> & { readonly done: number; readonly total: number }, void, undefined> {
  const name = `ScanExec ${scan.source.name}`
  const started = performance.now()
  state.emit({ kind: 'stage', phase: 'started', stage: name })
  const ranges = scanRanges(scan, state.options)
  const total = splitsRead(scan).length
  const wanted = { asked: askedTexts(plan), encoded: repeatedlyRead(plan) }
  let [rows, before] = [0, 0]
  for (const [i, range] of ranges.entries()) {
    const loaded = await read(range, wanted, (done) => state.emit({ kind: 'progress', job: name, done: before + done, total }))
    before += range.source.splits.length
    rows += loaded.plan.storage.length
    const blocks: Block[] = [...loaded.blocks]
    const keep = (added: readonly Block[]): void => {
      state.blocks.add(added)
      blocks.push(...added)
    }
    const over = plan.kind === 'PipelineExec' ? { ...plan, input: loaded.plan } : loaded.plan
    const made = await overColumns(over, { ...state.options, smallRows: 0, signal: state.signal, keep }, work, how)
    yield { made, blocks, milliseconds: loaded.milliseconds, splits: range.source.splits.length, done: i + 1, total: ranges.length }
  }
  state.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
}

/** The rows that a pipeline leaves of a scan, read in ranges; undefined where no column program makes them of one of these. MemoryError where memory is short and the join has another way. */
export async function inRanges(
  plan: PhysicalPlan,
  operator: WideOperator,
  ranges: Ranges,
  keySets: KeySetsOf = () => [],
): Promise<Dataset | undefined> {
  const { scan, state } = ranges
  const { arena, pool, partitionRows = PARTITION_ROWS } = state.options
  // a set that has fewer keys than all of the rows is worth it for a few of them as well
  const rows = splitsRead(scan).reduce((sum, split) => sum + (split.rows ?? 0), 0)
  const how = { keySets: (program: ColumnProgram) => keySets({ ...program, rows: Math.max(rows, program.rows) }) }
  const pieces: ExecBatch[] = []
  const blocks: Block[] = []
  let matched: readonly number[] | undefined
  const work = async (run: ColumnRun): Promise<(ProgramTable & { readonly run: ColumnRun }) | NotColumns> => {
    const table = await programTable(run)
    return isRefused(table) ? table : { ...table, run }
  }
  try {
    for await (const { made, blocks: own, milliseconds, ...progress } of overRanges(plan, ranges, work, how)) {
      if (isRefused(made)) {
        state.record?.refuse(plan, made.because)
        state.blocks.free([...own, ...blocks])
        return undefined
      }
      const { batch, run } = made
      const added = made.blocks.handedOver()
      state.blocks.add(added)
      const keys = run.keySets.flatMap((set) => set.keys ?? [])
      matched = matched === undefined ? keys : matched.filter((key) => keys.includes(key))
      state.record?.addRange(plan, run, { batch, scan, milliseconds })
      const share = Math.max(partitionRows, Math.ceil(batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
      const ownPieces = cutPartitions([withComparedKeys(batch, operator)], share).flat()
      pieces.push(...ownPieces)
      blocks.push(...state.blocks.keep([...own, ...added], ownPieces))
      if (state.tries === 0) continue
      const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0)
      state.checkRoom(partitionsBeyond(progress, bytes, arena.budgetBytes), operator.kind)
    }
  } catch (error) {
    state.blocks.free(blocks)
    if (!(error instanceof MemoryError) || state.tries > 0) throw error // what does not fit has a way by disk
    state.record?.refuse(plan, SHORT_OF_MEMORY.because)
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

/** The groups of the rows that a pipeline leaves of a scan, read in ranges, a second time where there are variances; undefined where no pass adds the rows of one of these, or memory is short. */
export async function groupsInRanges(
  plan: PhysicalPlan,
  wide: Wide,
  operator: Aggregation,
  ranges: Ranges,
): Promise<ExecBatch | undefined> {
  const { scan, state } = ranges
  const { arena } = state.options
  const groups = new RangedGroups(operator, state.options.groupPass)
  const charge = new Charge(arena, operator.kind)
  const added = async (to: RangedGroups, before: number): Promise<boolean> => {
    const work = async (run: ColumnRun): Promise<{ readonly run: ColumnRun } | NotColumns> => {
      return (await to.add(run)) ? { run } : refused('no pass adds its rows to the groups of other ranges')
    }
    let size = 0
    for await (const { made, blocks, milliseconds, ...progress } of overRanges(plan, ranges, work, { codedKeys: true })) {
      state.blocks.free(blocks)
      if (isRefused(made)) {
        state.record?.refuse(plan, made.because)
        return false
      }
      charge.raiseTo(before + to.bytes)
      const fresh = to.size - size
      size = to.size
      if (state.tries > 0 && size > 0)
        state.checkRoom(groupsBeyond({ groups: size, fresh, last: fresh, ...progress }, to.bytes, arena.budgetBytes), operator.kind)
      if (to === groups) state.record?.addRangeOfGroups(wide, plan, made.run, { scan, milliseconds })
    }
    return true
  }
  try {
    if (!(await added(groups, 0))) return undefined
    const squares = groups.squares()
    if (squares === undefined) return groups.finish()
    return (await added(squares, groups.bytes)) ? groups.finish(squares) : undefined
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error
    state.record?.refuse(plan, SHORT_OF_MEMORY.because)
    return undefined
  } finally {
    charge.end()
  }
}
