/**
 * Runs plans: partitions in parallel through pipelines, wide operators by tasks that share the work (`sharedWork.ts`) or
 * as one task over whole inputs.
 *
 *     ScanExec -> FilterExec -> EvaluateExec      a task per split, results in order
 *       | exchange: the results lie in the arena
 *     HashAggregateExec                           tasks that share rows or groups
 *
 * Small inputs, and functions that cannot leave it, run on the caller's thread. The result does not depend on where or in how
 * many pieces a task ran.
 */
import type { Storage } from '../../core/arrays/storage.ts'
import type { Batch } from '../../core/data/column.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import type { Folded, FoldKind } from '../../core/engine.ts'
import { Bug, MemoryError, TaskError } from '../../core/errors.ts'
import type { ExplainedColumns, ExplainedFunction, ExplainedGroups } from '../../core/ir/kernelCode.ts'
import { isKnown } from '../../core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { mapInputs, planText } from '../../core/plan/tree.ts'
import type { FewRows, PhysicalPlan, WideOperator } from '../../planner/physical/physicalPlan.ts'
import { type StorageForm, storageFromBatches } from '../arrays/fromBatches.ts'
import { hasKeysInOrder } from '../arrays/keysInOrder.ts'
import { ownBlocks } from '../arrays/storageBlocks.ts'
import { isAdded } from '../kernels/columns/columnLower.ts'
import type { NotColumns, ProgramOutput } from '../kernels/columns/programShape.ts'
import { foldColumns } from './columns/columnFold.ts'
import { columnProgramOf, isProgram } from './columns/columnProgram.ts'
import type { ColumnRun } from './columns/columnRun.ts'
import { programTable } from './columns/columnTable.ts'
import { overColumns } from './columns/overColumns.ts'
import { isRefused, refused } from './columns/refused.ts'
import { type KeySet, keySetOf, namedColumns, type SemiJoin, semiJoinOf } from './columns/semiJoin.ts'
import { textsJoined } from './columns/texts/codesOnDemand.ts'
import type { Pipeline } from './dataset.ts'
import type { ExecutorOptions, RunOptions } from './executorOptions.ts'
import { explainedColumns, explainedGroups } from './explainColumns.ts'
import { explainedFunctions } from './explainFunctions.ts'
import { areFew, sampleOf } from './fewRows.ts'
import { isFree } from './operators/freeSteps.ts'
import { SMALL_ROWS } from './operators/partitions.ts'
import { readsStorage } from './planInputs.ts'
import type { LoadedPlan } from './run/columnInputs.ts'
import { type Keeper, Run } from './run/run.ts'
import { askFilters, bytesIn } from './scanSplits.ts'
import { externalOf } from './spill/external.ts'

/** Rows that are kept while a plan runs may take the free memory divided by this. */
const ROOM_SHARED = 4

export class Executor {
  private readonly options: ExecutorOptions
  /** The plans that run, held so that their sources, and with these the memory of tables, are not garbage. */
  private readonly running = new Set<object>()
  constructor(options: ExecutorOptions) {
    this.options = options
  }

  /**
   * All batches of the result, in element order; at least one. Columns that only pass through from storage are that
   * storage itself, all others lie in ordinary buffers.
   */
  async execute(plan: LogicalPlan, options: RunOptions = {}): Promise<readonly Batch[]> {
    const physical = await this.planToRun(plan, { all: true })
    options.record?.begin(physical)
    const few = physical.kind === 'PipelineExec' && physical.ofFewRows && (await this.ofFewRows(physical, physical.ofFewRows, options))
    if (few) return few
    const columns = isBare(physical) ? refused('nothing is computed') : await this.overColumns(physical, options, ordinaryTable)
    if (!isRefused(columns)) return [columns]
    options.record?.begin(physical)
    try {
      return await this.batchesOf(physical, options)
    } catch (error) {
      const exact = withoutPredicates(plan)
      if (exact === plan || !(error instanceof TaskError)) throw error
      // row numbers do not count rows that the source skipped: it runs again without skipping, for the failed row's number
      return await this.execute(exact, options)
    }
  }

  /** The physical plan to run, once filters of its files were asked. */
  private async planToRun(plan: LogicalPlan, how?: { readonly first?: boolean; readonly all?: boolean }): Promise<PhysicalPlan> {
    const physical = this.options.lower(plan, how)
    const { filters } = this.options
    if (filters !== undefined) await askFilters(physical, filters)
    if (filters !== undefined && physical.kind === 'PipelineExec' && physical.ofFewRows)
      await askFilters(physical.ofFewRows.filters, filters)
    return physical
  }

  /** The result by the plan for few rows; undefined where the filters keep more, of a sample or of all rows. */
  private async ofFewRows(
    plan: Pipeline,
    { filters, fetch, plan: ofFew }: FewRows,
    options: RunOptions,
  ): Promise<readonly Batch[] | undefined> {
    if (this.options.filters !== undefined) await askFilters(filters, this.options.filters)
    const sample = sampleOf(filters, this.options.smallRows ?? SMALL_ROWS)
    if (sample === undefined) return undefined
    const { record, ...unrecorded } = options
    const first = await this.overColumns(sample, unrecorded, ordinaryTable)
    if (isRefused(first) || !areFew(sample, first, fetch.rows)) return undefined
    const started = performance.now()
    const kept = await this.overColumns(filters, options, ordinaryTable)
    if (!isRefused(kept) && areFew(filters, kept, fetch.rows)) {
      record?.ranAs(plan, ofFew)
      record?.addWait(ofFew, performance.now() - started)
      return await this.batchesOf(ofFew, options, new Map([[filters, [kept]]]))
    }
    record?.begin(plan)
    return undefined
  }

  /** The result's batches; `known`: results of nodes of the plan. */
  private async batchesOf(
    plan: PhysicalPlan,
    options: RunOptions,
    known: ReadonlyMap<PhysicalPlan, readonly Batch[]> = new Map(),
  ): Promise<readonly Batch[]> {
    const run = new Run(this.options, options)
    this.running.add(plan)
    try {
      for (const [node, batches] of known) run.state.ready.set(node, run.state.inMemory(batches))
      return await run.batches(plan)
    } finally {
      this.running.delete(plan)
      run.end()
    }
  }

  /** The fold by one pass over columns, without materialising elements; undefined where the plan is no column program, or kernels cannot fold it. */
  async fold(plan: LogicalPlan, kind: FoldKind, options: RunOptions = {}): Promise<Folded | undefined> {
    const physical = await this.planToRun(plan)
    const semi = semiJoinOf(physical)
    const folded = async (run: ColumnRun) => (await foldColumns(run, kind)) ?? refused('its kernels do not fold such values')
    const keySet = semi && (await this.keySet(semi, options))
    if (semi !== undefined && keySet === undefined) return undefined
    const sets = { keySets: keySet === undefined ? [] : [keySet], textSets: true }
    const found = await this.overColumns(semi?.plan ?? physical, options, folded, sets)
    return isRefused(found) ? undefined : found
  }

  /** The right side's keys of a semi-join; undefined where the left side is no column program of enough rows, or the right side fails. */
  private async keySet(semi: SemiJoin, options: RunOptions): Promise<KeySet | undefined> {
    const program = columnProgramOf(semi.plan)
    if (!isProgram(program) || program.rows < (this.options.smallRows ?? SMALL_ROWS)) return undefined
    const key = program.columns[fieldsOf(program.element).findIndex((field) => field.name === semi.on)]
    if (key === undefined) return undefined
    textsJoined(key, program, this.options.arena)
    try {
      const keys = namedColumns(await this.batchesOf(semi.right, options), semi.on)
      return keys && keySetOf(semi, keys, key)
    } catch (error) {
      if (error instanceof TaskError) return undefined // the join runs again, and its error has the row
      throw error
    }
  }

  /** Answers a point or range query by its plan: from storage, or from an index, which `index` has or makes. */
  async lookup<T>(plan: LogicalPlan, index: (build: LogicalPlan) => Promise<Storage>, answer: (storage: Storage) => T): Promise<T> {
    const input = plan.kind === 'IndexLookup' ? plan.input : plan
    if (input.kind === 'Stored') return answer(input.storage)
    if (input.kind !== 'IndexBuild') throw new Bug(`A query has neither storage nor an index:\n${planText(plan)}`)
    return answer(await index(input))
  }

  /** The storage that an `IndexBuild` makes of its input, in blocks of its own. */
  async index(plan: LogicalPlan, form: StorageForm, options: RunOptions = {}): Promise<Storage> {
    const { arena } = this.options
    const input = plan.kind === 'IndexBuild' ? plan.input : plan
    const table = form.keys.kind === 'rowNumber' ? await this.table(input, options) : undefined
    if (table === undefined && hasKeysInOrder(input)) return await this.keyed(input, { ...form, isInOrder: true }, options)
    if (table === undefined) return storageFromBatches(await this.execute(input, options), form, arena)
    return ownBlocks({ kind: 'table', element: table.element, length: table.length, columns: table.columns }, arena)
  }

  /** The storage of a plan whose elements come in the order of their keys, made of its result where that lies. */
  private async keyed(plan: LogicalPlan, form: StorageForm, options: RunOptions): Promise<Storage> {
    const physical = await this.planToRun(plan, { all: true })
    options.record?.begin(physical)
    const run = new Run(this.options, options)
    this.running.add(physical)
    try {
      return await run.made(physical, (batches) => storageFromBatches(batches, form, this.options.arena))
    } catch (error) {
      const exact = withoutPredicates(plan)
      if (exact === plan || !(error instanceof TaskError)) throw error
      return await this.keyed(exact, form, options) // for the failed row's number, as `execute` does
    } finally {
      this.running.delete(physical)
      run.end()
    }
  }

  /** A table written by workers into blocks of the arena, which the caller owns; undefined where neither a column program nor a wide operator makes it. */
  async table(plan: LogicalPlan, options: RunOptions = {}): Promise<Batch | undefined> {
    const physical = await this.planToRun(plan)
    options.record?.begin(physical)
    if (physical.kind === 'WideExec' && isStoredWhole(physical.operator)) return await this.wideTable(physical, options)
    const found = await this.overColumns(physical, options, async (columns, run, { blocks }) => {
      const table = await programTable(columns)
      if (isRefused(table)) return table
      const own = [...table.blocks.handedOver(), ...blocks]
      run.state.blocks.add(own)
      return run.state.blocks.handedOver(table.batch, own) // columns that were read whole among them, as they are
    })
    return isRefused(found) ? undefined : found
  }

  /** A wide operator's result as a table; undefined where a function fails (`execute` tells the row) or memory is short. */
  private async wideTable(plan: Extract<PhysicalPlan, { kind: 'WideExec' }>, options: RunOptions): Promise<Batch | undefined> {
    const run = new Run(this.options, options)
    this.running.add(plan)
    try {
      return await run.table(plan)
    } catch (error) {
      if (error instanceof TaskError || error instanceof MemoryError) return undefined
      throw error
    } finally {
      this.running.delete(plan)
      run.end()
    }
  }

  /** Whether memory has room for the columns that a plan reads of files, and for rows made of them. */
  hasRoomFor(plan: LogicalPlan): boolean {
    const { budgetBytes, usedBytes } = this.options.arena
    let bytes = 0
    const seen = new Set<LogicalPlan>()
    const visit = (node: LogicalPlan): void => {
      if (seen.has(node)) return
      seen.add(node)
      if (node.kind === 'Scan' && node.source.kind !== 'memory') bytes += bytesIn({ ...node, kind: 'ScanExec' })
      inputsOf(node).forEach(visit)
    }
    visit(plan)
    return bytes * ROOM_SHARED <= budgetBytes - usedBytes
  }

  /** The kernels with which `fold` and `index` run the plan, or why there are none; undefined for what is no pipeline over a table in memory. */
  explainColumns(plan: LogicalPlan): ExplainedColumns | undefined {
    if (!isChainOverTable(plan)) return undefined
    return explainedColumns(this.options.lower(plan), this.options)
  }

  /** How the groups of the plan's last `groupBy` are found; undefined where it has none, or reads an array that has yet to be made. */
  explainGroups(plan: LogicalPlan): ExplainedGroups | undefined {
    if (!isStored(plan)) return undefined
    return explainedGroups(this.options.lower(plan), this.options)
  }

  /** How each function of the plan runs; undefined where it reads an array that has yet to be made. */
  explainFunctions(plan: LogicalPlan): readonly ExplainedFunction[] | undefined {
    return isStored(plan) ? explainedFunctions(this.options.lower(plan), this.options) : undefined
  }

  /** Runs a plan as a column program, and `work` on it; the plan is held in `running` meanwhile. */
  private async overColumns<T extends object>(
    plan: PhysicalPlan,
    options: RunOptions,
    work: (columns: ColumnRun, run: Run, loaded: LoadedPlan) => Promise<T | NotColumns>,
    sets: { readonly keySets?: readonly KeySet[]; readonly textSets?: boolean } = {},
  ): Promise<T | NotColumns> {
    this.running.add(plan)
    const run = new Run(this.options, options)
    try {
      const loaded = await run.columns.loaded(plan)
      const found = await run.state.waitedFor(plan, () =>
        overColumns(
          loaded.plan,
          { ...this.options, ...options, keep: (own) => run.state.blocks.add(own) },
          (columns) => work(columns, run, loaded),
          sets,
        ),
      )
      if (isRefused(found)) options.record?.refuse(plan, found.because)
      return found
    } finally {
      this.running.delete(plan)
      run.end()
    }
  }

  /** The batches of the result, partition after partition as they are asked for; with a keeper, they lie in the arena until they are freed. */
  async *stream(plan: LogicalPlan, options: RunOptions = {}, keeper?: Keeper): AsyncGenerator<Batch, void, undefined> {
    const physical = await this.planToRun(plan, { first: options.isUntyped === true })
    if (!comesInPieces(physical) && !this.maySpill(physical)) {
      yield* await this.execute(plan, options)
      return
    }
    const run = new Run(this.options, options)
    this.running.add(physical)
    try {
      keeper?.atEnd(() => run.end())
      yield* run.stream(physical, keeper)
    } catch (error) {
      const exact = withoutPredicates(plan)
      if (exact === plan || !(error instanceof TaskError)) throw error
      for await (const _ of this.stream(exact, options)); // fails with the number of the row, as `execute` does
      throw error
    } finally {
      this.running.delete(physical)
      if (keeper === undefined) run.end()
    }
  }

  /** Whether the result comes part after part if memory does not hold the plan's inputs. */
  private maySpill(plan: PhysicalPlan): boolean {
    if (this.options.spill === undefined || plan.kind !== 'WideExec') return false
    return isKnown(plan.element) && externalOf(plan) !== undefined && !readsStorage(plan)
  }

  /** Whether `stream` yields partition after partition, rather than all of them once they are computed. */
  streams(plan: LogicalPlan, options: RunOptions = {}): boolean {
    const physical = this.options.lower(plan, { first: options.isUntyped === true })
    return comesInPieces(physical) || this.maySpill(physical)
  }
}

/** Whether the operator's result is one table in the arena, or pieces of one type. */
function isStoredWhole({ kind }: WideOperator): boolean {
  return (
    kind === 'SortExec' ||
    kind === 'WindowExec' ||
    kind === 'AsofJoinExec' ||
    kind === 'DistinctExec' ||
    kind === 'HashJoinExec' ||
    kind === 'HashAggregateExec'
  )
}

/** Whether a plan only hands on the columns of a source, so that there is nothing for kernels. */
function isBare(plan: PhysicalPlan): boolean {
  if (plan.kind === 'PipelineExec') return plan.steps.every(isFree) && isBare(plan.input)
  return plan.kind === 'ScanExec' || plan.kind === 'StoredExec'
}

function comesInPieces({ edge }: PhysicalPlan): boolean {
  return edge?.kind === 'streamed'
}

/** The result of a column program in ordinary memory, but for columns that it only hands on. */
async function ordinaryTable(columns: ColumnRun, run: Run, { plan }: LoadedPlan): Promise<Batch | NotColumns> {
  const { steps, shape, ofTexts = 0, element } = columns.program
  const fields = fieldsOf(element)
  const isMade = (output: ProgramOutput): boolean => output.kind === 'computed' || isAdded(fields[output.column]?.name ?? '')
  if (steps.length === 0 || !(shape.filters || ofTexts > 0 || shape.outputs.some(isMade))) return refused('nothing is computed')
  const table = await programTable(columns)
  if (isRefused(table)) return table
  run.state.record?.addProgram(plan, columns, table.batch)
  try {
    return run.state.blocks.copiedOut(table.blocks.copiedOut(table.batch))
  } finally {
    table.blocks.freeAll()
  }
}

function isChainOverTable(plan: LogicalPlan): boolean {
  switch (plan.kind) {
    case 'Scan':
      return plan.source.columns !== undefined
    case 'Stored':
      return plan.storage.kind === 'table'
    default: {
      const [input, other] = inputsOf(plan)
      return input !== undefined && other === undefined && isChainOverTable(input)
    }
  }
}

/** Whether all arrays that the plan reads have storage. */
function isStored(plan: LogicalPlan): boolean {
  return plan.kind !== 'Array' && inputsOf(plan).every(isStored)
}

function withoutPredicates(plan: LogicalPlan): LogicalPlan {
  const below = mapInputs(plan, withoutPredicates)
  if (below.kind !== 'Scan' || below.predicate === undefined) return below
  const { predicate: _, ...scan } = below
  return scan
}
