/** Reads scans whole for column programs, puts tables together for them, and runs those below wide operators. */

import type { Storage } from '../../../core/arrays/storage.ts'
import type { Batch, Column } from '../../../core/data/column.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import { blocksAdded, shareBatch } from '../../memory/shareColumns.ts'
import type { Block } from '../block.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { type ProgramTable, programTable } from '../columns/columnTable.ts'
import { withKeys } from '../columns/groups/codedKeys.ts'
import { elementGroups } from '../columns/groups/elementGroups.ts'
import { type GroupedColumns, groupedColumns } from '../columns/groups/groupedColumns.ts'
import { isFolded } from '../columns/groups/groupSources.ts'
import { keyFilters } from '../columns/joinFilter.ts'
import { overColumns } from '../columns/overColumns.ts'
import { isRefused, refused, SHORT_OF_MEMORY } from '../columns/refused.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import type { KeySet } from '../columns/semiJoin.ts'
import { askedTexts } from '../columns/texts/askedTexts.ts'
import { textsGrouped } from '../columns/texts/codesOnDemand.ts'
import { repeatedlyRead } from '../columns/texts/encodedTexts.ts'
import { isUnspelled, spelled } from '../columns/texts/spelledTexts.ts'
import { codesOf, giveCodes } from '../columns/texts/textCodes.ts'
import { plannedTextColumns } from '../columns/texts/textColumns.ts'
import type { Dataset, Partition, Scan, Wide } from '../dataset.ts'
import {
  beforeDistinct,
  type LoadedScan,
  type LoadServices,
  loadedScan,
  ofParsed,
  programRefused,
  scanToLoad,
  type TextsWanted,
  withHiddenKeys,
  withoutPartialStep,
} from '../loadedScan.ts'
import { LoadsAhead, type TimedLoad } from '../loadsAhead.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { isFree } from '../operators/freeSteps.ts'
import { withoutKeys } from '../operators/operator.ts'
import { cutPartitions, PARTITION_ROWS } from '../operators/partitions.ts'
import { projected } from '../operators/project.ts'
import { isCounted, splitsRead } from '../scanSplits.ts'
import { inOrder } from '../scheduler.ts'
import type { StageTask } from '../stage.ts'
import { type WholeTable, wholeTable } from '../wholeTable.ts'
import { countsOnce, onceInRanges } from './rangedDistinct.ts'
import { groupsInRanges, inRanges, type Ranges } from './rangedInputs.ts'
import { topInRanges } from './rangedTop.ts'
import { overStored, rangedScan, withAxes, withComparedKeys } from './runPlans.ts'
import type { RunState } from './runState.ts'

/** Makes the filters of a program's rows by keys of joins. */
type KeySetsOf = (program: ColumnProgram) => readonly KeySet[]

export interface LoadedPlan {
  readonly plan: PhysicalPlan
  /** The blocks of columns that were read for the plan. */
  readonly blocks: readonly Block[]
}

export class ColumnInputs {
  private readonly state: RunState
  /** Scans that are read ahead of their turn. */
  readonly loads: LoadsAhead

  constructor(state: RunState) {
    this.state = state
    this.loads = new LoadsAhead(state.options.arena, (scan, isWaitedFor) => this.load(scan, undefined, isWaitedFor))
  }

  /** The plan over columns that are read whole, where it reads files of `smallRows` rows or more and a column program can run over them; else the plan itself. */
  async loaded(plan: PhysicalPlan, smallRows: number | undefined = this.state.options.smallRows): Promise<LoadedPlan> {
    const distinct = beforeDistinct(plan)
    const keyed = withHiddenKeys(plan)
    const bare = distinct ?? keyed ?? withoutPartialStep(plan)
    const begun = await this.loads.taken(plan)
    const scan = begun?.scan ?? scanToLoad(bare, { ...this.state.options, ...(smallRows === undefined ? {} : { smallRows }) })
    const because = scan === undefined ? this.state.record && programRefused(bare) : 'because' in scan ? scan.because : undefined
    if (because !== undefined) this.state.record?.refuse(plan, because)
    if (scan === undefined || 'because' in scan) return { plan, blocks: [] }
    const own: Block[] = []
    try {
      const wanted = { asked: askedTexts(bare), encoded: repeatedlyRead(distinct === undefined ? bare : plan) }
      const { plan: stored, blocks, milliseconds } = begun?.loaded ?? (await this.load(scan, wanted))
      own.push(...blocks)
      this.state.record?.addLoaded({ scan, stored, milliseconds, isShared: begun?.isShared === true })
      const { edge: _, ...pipeline } = distinct === undefined && keyed === undefined ? bare : plan
      const coded = overStored(pipeline, stored)
      const other =
        distinct === undefined ? await this.withTexts(coded, overStored(keyed ?? pipeline, stored)) : await this.ofElements(coded)
      this.state.record?.ranAs(plan, other)
      if (other !== stored) this.state.record?.addWait(other, milliseconds)
      return { plan: other, blocks }
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
      this.state.blocks.free(own)
      this.state.record?.refuse(plan, SHORT_OF_MEMORY.because)
      return { plan, blocks: [] } // split by split there may be enough
    }
  }

  /** Reads the columns of a scan into blocks of the run. Of texts in `asked` only the answers to the questions about them are read. */
  async load(scan: Scan, wanted?: TextsWanted, isWaitedFor: () => boolean = () => true): Promise<TimedLoad> {
    const name = `ScanExec ${scan.source.name}`
    this.state.emit({ kind: 'stage', phase: 'started', stage: name })
    const loaded = await this.read(scan, wanted, (done, total) => {
      if (isWaitedFor()) this.state.emit({ kind: 'progress', job: name, done, total })
    })
    const { milliseconds } = loaded
    this.state.emit({ kind: 'stage', phase: 'finished', stage: name, rows: loaded.plan.storage.length, milliseconds })
    return loaded
  }

  private async read(scan: Scan, wanted: TextsWanted | undefined, onProgress: LoadServices['onProgress']): Promise<TimedLoad> {
    const { arena, pool } = this.state.options
    const started = performance.now()
    const services = {
      arena,
      workers: pool.size,
      run: (task: StageTask) => this.state.task(task, false),
      free: (done: readonly Block[]) => this.state.blocks.free(done),
      onProgress,
    }
    const loaded = isCounted(scan)
      ? await loadedScan(scan, services, wanted)
      : await this.loadParsed(scan, services, wanted?.encoded ?? new Set())
    this.state.blocks.add(loaded.blocks)
    return { ...loaded, milliseconds: performance.now() - started }
  }

  /** Reads a scan whose splits do not tell their numbers of rows: split by split, and then as splits in memory, which do. */
  private async loadParsed(scan: Scan, services: LoadServices, encoded: ReadonlySet<string>): Promise<LoadedScan> {
    const { source, columns } = scan
    const splits = splitsRead(scan)
    const parsed: SourceSplit[] = []
    const blocks: Block[] = []
    let begun = 0
    const read = (split: SourceSplit, partition: number): StageTask => {
      return { kind: 'narrow', steps: [], partition, firstRow: 0, input: { kind: 'split', source, split, columns } }
    }
    const tasks = inOrder({
      next: () => {
        const split = splits[begun]
        const task = split && read(split, begun++)
        return task && (() => services.run(task))
      },
      window: 2 * services.workers,
      drop: (result) => services.free(result.blocks),
    })
    try {
      for await (const result of tasks) {
        blocks.push(...result.blocks)
        parsed.push(...result.batches.map((batch): SourceSplit => ({ rows: batch.length, detail: batch.columns })))
        services.onProgress(parsed.length, splits.length)
      }
      return await loadedScan(ofParsed(scan, parsed), { ...services, onProgress: () => undefined }, { asked: new Map(), encoded })
    } finally {
      services.free(blocks)
    }
  }

  /** The pipeline as it is where it, as `whole`, is a column program, which can read texts as dictionary codes alone; else over texts with their bytes. */
  private async withTexts(plan: PhysicalPlan, whole: PhysicalPlan): Promise<PhysicalPlan> {
    if (whole.kind !== 'PipelineExec' || whole.input.kind !== 'StoredExec' || isProgram(columnProgramOf(whole, plannedTextColumns)))
      return plan
    const { input } = whole
    const storage = await this.spelled(input.storage)
    return storage === input.storage ? plan : overStored(plan, { ...input, storage })
  }

  /** The pipeline of a distinct over a table: with the bytes of texts, where it does not run as groups. */
  private async ofElements(plan: PhysicalPlan): Promise<PhysicalPlan> {
    if (plan.kind !== 'PipelineExec' || plan.input.kind !== 'StoredExec') return plan
    if (elementGroups({ operator: { kind: 'DistinctExec' }, inputs: [plan] }) !== undefined) return plan
    return { ...plan, input: { ...plan.input, storage: await this.spelled(plan.input.storage) } }
  }

  /** The storage with the bytes of texts that it has as dictionary codes alone. */
  async spelled(storage: Storage): Promise<Storage> {
    if (storage.kind !== 'table' || !storage.columns.some(isUnspelled)) return storage
    const known = this.state.tables.get(storage)
    if (known !== undefined) return known
    const blocks = new ResultBlocks(this.state.options.arena, 'texts of files')
    try {
      const columns: Column[] = []
      for (const column of storage.columns) {
        const whole = isUnspelled(column)
          ? await spelled(column, blocks, (placed) => this.state.task({ kind: 'place', columns: placed }, false))
          : column
        const codes = codesOf(column)
        if (whole !== column && codes !== undefined) giveCodes(whole, codes)
        columns.push(whole)
      }
      this.state.blocks.add(blocks.handedOver())
      const table = { ...storage, columns }
      this.state.tables.set(storage, table)
      return table
    } catch (error) {
      blocks.freeAll()
      throw error
    }
  }

  /** Puts pieces together as one table in the run's memory; undefined where they are of types that cannot be joined there, or there is no room. */
  async together(given: readonly Batch[], blocks: readonly Block[]): Promise<WholeTable | undefined> {
    const { arena } = this.state.options
    const added: Block[] = []
    try {
      // columns of few values, and validity bitmaps, may lie outside of the arena
      const pieces = given.map((batch) => {
        const shared = shareBatch(batch, arena, 'materialize')
        added.push(...blocksAdded(batch, shared))
        return shared
      })
      this.state.blocks.add(added)
      const [only, another] = pieces
      if (only !== undefined && another === undefined) return { batch: only, blocks: [...blocks, ...added] }
      const whole = await wholeTable(pieces, { arena, run: (task) => this.state.task(task, false) })
      this.state.blocks.free(whole === undefined ? added : [...blocks, ...added])
      if (whole !== undefined) this.state.blocks.add(whole.blocks)
      return whole
    } catch (error) {
      this.state.blocks.add(added)
      this.state.blocks.free(added)
      if (error instanceof MemoryError) return undefined
      throw error
    }
  }

  /** A plan over a table, or over a file, as one batch in the arena; undefined where it is no column program, or there is no room. The blocks are the caller's. */
  async tableOf(given: PhysicalPlan): Promise<WholeTable | undefined> {
    const { plan, blocks } = await this.loaded(given, 0)
    if (plan.kind === 'StoredExec' && plan.storage.kind === 'table') {
      const { columns, length, element } = (await this.spelled(plan.storage)) as typeof plan.storage // of a table
      const whole = { element, length, columns }
      return { batch: plan.columns === undefined ? whole : projected(whole, plan.columns), blocks }
    }
    const keep = (own: readonly Block[]): void => this.state.blocks.add(own)
    const options = { ...this.state.options, smallRows: 0, signal: this.state.signal, keep }
    const table = await overColumns(plan, options, async (run) => {
      const found = await programTable(run)
      if (!isRefused(found)) this.state.record?.addProgram(plan, run, found.batch)
      return found
    })
    if (isRefused(table)) {
      this.state.record?.refuse(given, table.because)
      this.state.blocks.free(blocks)
      return undefined
    }
    const own = table.blocks.handedOver()
    this.state.blocks.add(own)
    return { batch: table.batch, blocks: [...blocks, ...own] }
  }

  /** The input of a wide operator as a column program's result in the arena; undefined where it is no program, or better stays in partitions. */
  async programmed(given: PhysicalPlan, operator: WideOperator): Promise<Dataset | undefined> {
    const { kind } = operator
    const keyed = withHiddenKeys(given)
    const plan = keyed ?? given
    const keySets = this.keySetsOf(plan)
    const ranged = kind === 'HashJoinExec' ? rangedScan(plan, operator, this.state.options, keySets !== undefined) : undefined
    if (ranged !== undefined) {
      return await inRanges(plan, operator, this.ranges(ranged), keySets)
    }
    const codedKeys = kind === 'HashAggregateExec'
    const isWhole = kind === 'SortExec' || kind === 'WindowExec' || kind === 'AsofJoinExec' || kind === 'IndexExec'
    if (plan.kind !== 'PipelineExec' && keySets === undefined) return undefined
    const isBare = plan.kind !== 'PipelineExec' || plan.steps.every(isFree)
    if (isBare && !codedKeys && !isWhole && keySets === undefined) return undefined
    const options = { ...this.state.options, signal: this.state.signal, keep: (own: readonly Block[]) => this.state.blocks.add(own) }
    let matched: readonly number[] = []
    const grouped = async (run: ColumnRun): Promise<ProgramTable | NotColumns> => {
      matched = run.keySets.flatMap(({ keys = [] }) => keys)
      if (isBare && !codedKeys && !isWhole && run.keySets.length === 0) return refused('nothing is computed')
      const table = await programTable(run)
      if (codedKeys) textsGrouped(run.program, isRefused(table) ? 0 : table.batch.length)
      if (!isRefused(table)) this.state.record?.addProgram(plan, run, table.batch)
      return table
    }
    const table = await overColumns(plan, options, grouped, { codedKeys, ...(keySets === undefined ? {} : { keySets }) })
    if (isRefused(table)) {
      this.state.record?.refuse(given, table.because)
      return undefined
    }
    const blocks = table.blocks.handedOver()
    this.state.blocks.add(blocks)
    const made = kind === 'IndexExec' ? withAxes(table.batch, operator) : withComparedKeys(table.batch, operator)
    if (made === undefined) {
      this.state.blocks.free(blocks)
      this.state.record?.refuse(given, 'a key is no whole number')
      return undefined
    }
    if (keyed !== undefined) this.state.record?.ranAs(given, keyed)
    const { pool, partitionRows = PARTITION_ROWS } = this.state.options
    // at least as many pieces as workers, of about equal numbers of whole partitions
    const share = Math.max(partitionRows, Math.ceil(table.batch.length / pool.size / PARTITION_ROWS) * PARTITION_ROWS)
    const rows = isWhole ? table.batch.length : share // sorts and windows take it whole
    const partitions = cutPartitions([made], rows).map((batches): Partition => ({ kind: 'batches', batches }))
    return { kind: 'stored', partitions, blocks, matched, ...(table.coded === undefined ? {} : { coded: table.coded }) }
  }

  ranges(scan: Scan): Ranges {
    return { scan, state: this.state, read: (range, wanted, onProgress) => this.read(range, wanted, onProgress) }
  }

  /** The filters by keys of joins above of a plan's rows; undefined where no join's keys are known yet. */
  keySetsOf({ filteredBy = [] }: PhysicalPlan): KeySetsOf | undefined {
    const isThere = filteredBy.some(({ keys }) => this.state.joined.has(keys))
    return isThere ? (program) => keyFilters(filteredBy, this.state.joined, program, this.state.options.arena) : undefined
  }

  /** Whether memory has no room for the columns of the operator's input, so that it was tried range after range. */
  isInRanges({ operator, inputs: [input] }: Wide): boolean {
    return input !== undefined && rangedScan(input, operator, this.state.options, false) !== undefined
  }

  /** The groups of a file that memory has no room for, range after range; undefined where memory has room, or no passes add the rows. */
  async groupedInRanges(wide: Wide, operator: WideOperator = wide.operator): Promise<ExecBatch | undefined> {
    const { inputs, where, keys } = wide
    const [input] = inputs
    if (operator.kind !== 'HashAggregateExec' || input === undefined || where === 'caller') return undefined
    const ranged = operator.aggregates.every(({ kind }) => isFolded(kind))
      ? rangedScan(input, operator, this.state.options, false)
      : undefined
    if (ranged === undefined) return undefined
    const bare = withoutPartialStep(input)
    const found = await groupsInRanges(bare, wide, operator, this.ranges(ranged))
    if (found !== undefined) this.state.record?.ranAs(input, bare)
    return found !== undefined && keys.kind === 'rowNumber' ? withoutKeys(found) : found
  }

  /** Rows of a file that memory has no room for, of which equal ones are kept once; undefined where they are not one row to the operator, memory has room, or kernels do not compare them. */
  async onceInRanges({ inputs: [input], where }: Wide, operator: WideOperator): Promise<Dataset | undefined> {
    if (!countsOnce(operator) || input === undefined || where === 'caller') return undefined
    const ranged = rangedScan(input, operator, this.state.options, false)
    return ranged && (await onceInRanges(input, operator, this.ranges(ranged)))
  }

  /** The first rows by an order of a file that memory has no room for; undefined where the operator wants all rows, memory has room, or kernels do not sort them. */
  async topInRanges({ inputs: [input], where, operator }: Wide): Promise<Dataset | undefined> {
    if (operator.kind !== 'SortExec' || input?.kind !== 'PipelineExec' || where === 'caller') return undefined
    const ranged = rangedScan(input, operator, this.state.options, false)
    return ranged && (await topInRanges(input, operator, this.ranges(ranged)))
  }

  /** The groups of a table in memory by one pass over its columns; undefined where no program makes it, or two passes are faster. */
  async groupedAtOnce(plan: Wide): Promise<ExecBatch | undefined> {
    const { operator, inputs, where, keys } = plan
    const [input] = inputs
    if (operator.kind !== 'HashAggregateExec' || input?.kind !== 'PipelineExec' || where === 'caller') return undefined
    const options = { ...this.state.options, signal: this.state.signal, keep: (own: readonly Block[]) => this.state.blocks.add(own) }
    const keySets = this.keySetsOf(input)
    const work = async (run: ColumnRun): Promise<GroupedColumns | NotColumns> => {
      if (run.keySets.length > 0) return refused('keys of a join filter the rows first')
      const grouped = (await groupedColumns(run, operator, this.state.options.groupPass)) ?? refused('two passes are taken')
      if (!isRefused(grouped)) this.state.record?.addGroupPass(plan, input, run.program, grouped.passes)
      return grouped
    }
    const found = await overColumns(input, options, work, { codedKeys: true, ...(keySets === undefined ? {} : { keySets }) })
    if (isRefused(found)) return undefined
    const batch = withKeys(found.batch, found.coded)
    return keys.kind === 'rowNumber' ? withoutKeys(batch) : batch
  }
}
