/** Runs wide operators, which take all rows of their inputs: groups, joins, sorts and the like. */

import type { Batch, Column } from '../../../core/data/column.ts'
import { fieldsOf } from '../../../core/data/schema.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import { Charge } from '../../memory/charge.ts'
import type { Block } from '../block.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from '../columns/columnProgram.ts'
import { withKeys } from '../columns/groups/codedKeys.ts'
import { type ElementGroups, elementGroups } from '../columns/groups/elementGroups.ts'
import { isFolded } from '../columns/groups/groupSources.ts'
import { keysOfSide } from '../columns/joinFilter.ts'
import { codesForGroups } from '../columns/texts/codesOnDemand.ts'
import { codesOf } from '../columns/texts/textCodes.ts'
import { plannedTextColumns } from '../columns/texts/textColumns.ts'
import {
  agreed,
  batchesOf,
  type Dataset,
  filledOr,
  finished,
  type Pipeline,
  type Result,
  type Results,
  rowsIn,
  type Union,
  type Wide,
} from '../dataset.ts'
import { withoutPartialStep } from '../loadedScan.ts'
import { plannedLoads } from '../loadsAhead.ts'
import { asDeclared, concatBatches, type ExecBatch, rowBatch } from '../operators/batches.ts'
import { isFree } from '../operators/freeSteps.ts'
import { FoldedGroups } from '../operators/groupBy/foldedGroups.ts'
import { rowOfNothing } from '../operators/groupBy/rowOfNothing.ts'
import { withoutKeys } from '../operators/operator.ts'
import { SMALL_ROWS } from '../operators/partitions.ts'
import { groupsBeyond } from '../spill/expected.ts'
import type { StageResult, StageTask } from '../stage.ts'
import { sharedWork } from '../wide/sharedWork.ts'
import type { ColumnInputs } from './columnInputs.ts'
import { RangedJoins } from './rangedJoins.ts'
import { isHandedOn, isOverUnion, isOverWide, keepsPieces, overRows, partitionsRead, wholeTaskBecause, withoutTopK } from './runPlans.ts'
import type { RunState } from './runState.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

/** `isWhole`: the result stays in the pieces it is made in, uncut. `isBounded`: a MemoryError is thrown at once, as disk is the other way. */
interface Whole {
  readonly isWhole?: boolean
  readonly isBounded?: boolean
}

/** The functions that run inputs. */
interface Inputs {
  /** Returns the whole result, with splits of files read. */
  wholeOf(plan: PhysicalPlan): Promise<Dataset>
  /** Streams the result, partition after partition. */
  results(plan: PhysicalPlan): Results
}

export class WideOperators {
  private readonly state: RunState
  private readonly columns: ColumnInputs
  private readonly plans: Inputs
  readonly rangedJoins: RangedJoins

  constructor(state: RunState, columns: ColumnInputs, plans: Inputs) {
    this.state = state
    this.columns = columns
    this.plans = plans
    this.rangedJoins = new RangedJoins(state, columns, this)
  }

  /**
   * The pipeline between two wide operators, as a column program over the table that results from the one below; where it is no such
   * program, the plan itself, with that result in `ready`.
   */
  private async overTable(plan: PhysicalPlan, above: WideOperator, held: Block[]): Promise<PhysicalPlan> {
    const bare = withoutPartialStep(plan)
    if (isOverUnion(bare, above)) return await this.state.waitedFor(plan, () => this.overUnion(plan, bare, held))
    if (!isOverWide(bare) || this.state.isBeyond(bare.input) || (bare.steps.every(isFree) && above.kind !== 'HashAggregateExec'))
      return plan
    return await this.state.waitedFor(plan, () =>
      this.overTableOf(plan, bare, { held, isGrouped: above.kind === 'HashAggregateExec' || above.kind === 'DistinctExec' }),
    )
  }

  private async overTableOf(
    plan: PhysicalPlan,
    bare: Pipeline & { readonly input: Wide },
    { held, isGrouped }: { readonly held: Block[]; readonly isGrouped: boolean },
  ): Promise<PhysicalPlan> {
    const { input } = bare
    const { partitions, blocks } = await this.state.waitedFor(input, () => this.wide(input, { isWhole: true }))
    const pieces = finished(batchesOf(partitions), input)
    const { smallRows = SMALL_ROWS } = this.state.options
    const [first] = pieces
    const program = first !== undefined && rowsIn(pieces) >= smallRows ? programOf(overRows(bare, first)) : undefined
    if (program !== undefined && !isProgram(program)) this.state.record?.refuse(plan, program.because)
    if (program !== undefined && isProgram(program)) {
      const whole = await this.columns.together(pieces, blocks)
      if (whole !== undefined) {
        held.push(...whole.blocks)
        const table = isGrouped ? this.coded(bare, whole.batch, held) : whole.batch
        return this.ranOver(plan, overRows(bare, table), input)
      }
    }
    this.state.ready.set(input, this.state.cut(batchesOf(partitions), blocks))
    return plan
  }

  /** The table of a run that is grouped, with codes for the texts of its keys, and of which its keys are functions. */
  private coded(bare: Pipeline & { readonly input: Wide }, batch: Batch, held: Block[]): Batch {
    // a window, say, hands on the columns of a stored table, whose codes would be taken for that table's
    const own = { ...batch, columns: batch.columns.map((column) => (codesOf(column) === undefined ? { ...column } : column)) }
    const program = programOf(overRows(bare, own))
    const blocks = isProgram(program) ? codesForGroups(program, own.columns, this.state.options.arena) : []
    this.state.blocks.add(blocks)
    held.push(...blocks)
    return blocks.length === 0 ? batch : own
  }

  private ranOver(plan: PhysicalPlan, other: Pipeline, input: Wide | Union): PhysicalPlan {
    this.state.record?.addTable(other.input, input)
    this.state.record?.ranAs(plan, other)
    return other
  }

  /** The pipeline as a column program over the rows of a union, put together in the arena; the plan itself where it is no program, or they are few, of other types, or too many. */
  private async overUnion(plan: PhysicalPlan, bare: Pipeline & { readonly input: Union }, held: Block[]): Promise<PhysicalPlan> {
    const { input } = bare
    const program = columnProgramOf(overRows(bare), plannedTextColumns)
    if (!isProgram(program)) {
      this.state.record?.refuse(plan, program.because)
      return plan
    }
    const pieces: Batch[] = []
    const blocks: Block[] = []
    for (const part of input.inputs) {
      const table = await this.state.waitedFor(part, () => this.columns.tableOf(part))
      if (table !== undefined) pieces.push(asDeclared(table.batch, input.element))
      blocks.push(...(table?.blocks ?? []))
      if (table === undefined) break
    }
    const isWhole = pieces.length === input.inputs.length && rowsIn(pieces) >= (this.state.options.smallRows ?? SMALL_ROWS)
    const whole = isWhole ? await this.state.waitedFor(input, () => this.columns.together(pieces, blocks)) : undefined
    if (whole === undefined) {
      this.state.blocks.free(blocks)
      this.state.record?.runsAsPlanned(plan)
      return plan
    }
    held.push(...whole.blocks)
    return this.ranOver(plan, overRows(bare, whole.batch), input)
  }

  async wide(given: Wide, how: Whole = {}): Promise<Dataset> {
    return await this.columns.loads.during(
      () => plannedLoads(given, this.state.options),
      () => this.wideWith(given, how),
    )
  }

  private async wideWith(given: Wide, how: Whole): Promise<Dataset> {
    const inputs: PhysicalPlan[] = []
    const loaded: Block[] = []
    for (const input of given.inputs) {
      const { plan, blocks } = await this.columns.loaded(input)
      inputs.push(plan === input || input.filteredBy === undefined ? plan : { ...plan, filteredBy: input.filteredBy })
      loaded.push(...blocks)
    }
    const plan = { ...given, inputs }
    this.state.record?.ranAs(given, plan)
    const found = await this.wideOver(plan, how, loaded)
    const ofNothing = rowOfNothing(plan.operator, rowsIn(batchesOf(found.partitions)))
    const dataset = ofNothing === undefined ? found : this.state.cut([ofNothing])
    this.state.record?.addWhole(plan, batchesOf(dataset.partitions))
    const used = this.state.blocks.keep(loaded, batchesOf(dataset.partitions))
    return { ...dataset, blocks: [...dataset.blocks, ...used] }
  }

  /** Blocks of inputs, in which the result may lie, are added to `held`. */
  private async wideOver(given: Wide, how: Whole, held: Block[]): Promise<Dataset> {
    const [first, another] = given.inputs
    const isAlone = first !== undefined && another === undefined
    const plan = isAlone ? { ...given, inputs: [await this.overTable(first, given.operator, held)] } : given
    const [only] = plan.inputs
    this.state.record?.ranAs(given, plan)
    const ranged = (await this.inRanges(plan, how)) ?? (isHandedOn(plan) ? await this.rangedJoins.joinedInRanges(plan) : undefined)
    if (ranged !== undefined) return ranged
    if (plan.operator.kind === 'HashAggregateExec' && only?.edge?.kind === 'streamed')
      return await this.foldedGroups(plan.operator, plan, only, how)
    const grouped = await this.columns.groupedAtOnce(plan)
    if (grouped !== undefined) return this.state.cut([grouped])
    const distinct = elementGroups(plan)
    const elements =
      distinct && (await this.state.waitedFor(distinct.input, () => this.columns.programmed(distinct.input, distinct.operator)))
    if (distinct !== undefined && elements !== undefined && only !== undefined) this.state.record?.ranAs(only, distinct.input)
    const inputs = elements === undefined ? await this.inputsOf(plan, held) : [elements]
    return await this.over(plan, inputs, { ...how, ...(elements && distinct && { groups: distinct }) })
  }

  /** The operator over its inputs; `groups`: a distinct of the elements of groups. */
  private async over(
    plan: Wide,
    inputs: readonly Dataset[],
    { groups: distinct, ...how }: Whole & { readonly groups?: ElementGroups },
  ): Promise<Dataset> {
    const operator = distinct?.operator ?? plan.operator
    const name = plan.operator.kind
    const started = performance.now()
    this.state.emit({ kind: 'stage', phase: 'started', stage: name })
    this.state.emitFallbacks(plan.operator)
    const batches = inputs.map(({ partitions }, i) => filledOr(batchesOf(partitions), plan.inputs[i]))
    const inline = plan.where === 'caller' || inputs.every(({ partitions }) => this.state.isSmall(partitions))
    const result = this.joinedByKeys(plan, inputs) ?? (await this.wideResult(plan, operator, batches, inline, how))
    const coded = inputs[0]?.coded
    const texts = coded === undefined ? result.batches : result.batches.map((batch) => withKeys(batch, coded))
    const found = distinct === undefined ? texts : texts.map(distinct.elements)
    const out = plan.keys.kind === 'rowNumber' ? found.map(withoutKeys) : found
    const used = inputs.flatMap(({ blocks }) => this.state.blocks.keep(blocks, out))
    const rows = out.reduce((sum, batch) => sum + batch.length, 0)
    this.state.emit({ kind: 'stage', phase: 'finished', stage: name, rows, milliseconds: performance.now() - started })
    const blocks = [...result.blocks, ...used]
    if (how.isWhole !== true && !keepsPieces(plan.operator)) return this.state.cut(out, blocks)
    return { kind: 'stored', partitions: agreed(out.map((batch) => ({ kind: 'batches', batches: [batch] }))), blocks }
  }

  /** The groups, the different elements, or the first rows by an order, of a file that memory has no room for, range after range; undefined where memory has room, or no kernels make them. */
  async inRanges(plan: Wide, how: Whole = {}): Promise<Dataset | undefined> {
    const ranged = await this.columns.groupedInRanges(plan)
    if (ranged !== undefined) return this.state.cut([ranged])
    const mixed = await this.mixedInRanges(plan)
    if (mixed !== undefined) return mixed
    const rows = (await this.columns.onceInRanges(plan, plan.operator)) ?? (await this.columns.topInRanges(plan))
    return rows && (await this.over(plan, [rows], how))
  }

  /** Groups of a file that memory has no room for with counts of different values and other aggregates: these in ranges of their own. */
  private async mixedInRanges(plan: Wide): Promise<Dataset | undefined> {
    const { operator } = plan
    if (operator.kind !== 'HashAggregateExec') return undefined
    const isCounted = ({ kind }: { readonly kind: string }): boolean => kind === 'countDistinct'
    const countsOf = { ...operator, aggregates: operator.aggregates.filter(isCounted) }
    const others = { ...operator, aggregates: operator.aggregates.filter((call) => !isCounted(call)) }
    if (countsOf.aggregates.length === 0 || others.aggregates.length === 0 || !others.aggregates.every(({ kind }) => isFolded(kind)))
      return undefined
    const groups = await this.columns.groupedInRanges(plan, others)
    const once = groups && (await this.columns.onceInRanges(plan, countsOf))
    if (groups === undefined || once === undefined) return undefined
    if (groups.length === 0) return this.state.cut([groups], once.blocks)
    const { partitions, blocks } = await this.over({ ...plan, operator: countsOf }, [once], { isWhole: true })
    // both have the groups in order of first appearance
    return this.state.cut([withAggregates(operator, [groups, concatBatches(batchesOf(partitions))])], blocks)
  }

  /** The result of a semi-join whose left rows were filtered by the right side's keys already; undefined for any other operator. */
  private joinedByKeys(plan: Wide, [left]: readonly Dataset[]): Result | undefined {
    const { operator, keyFilter } = plan
    if (operator.kind !== 'HashJoinExec' || operator.how !== 'semi' || keyFilter?.side !== 'right') return undefined
    if (left?.matched?.includes(keyFilter.keys) !== true) return undefined
    this.state.record?.add(plan, { ran: 'with the rows that its keys keep' })
    return { batches: batchesOf(left.partitions).map(({ hidden: _, ...batch }) => batch), blocks: [] }
  }

  /** Runs the inputs of a wide operator. For a join with a key filter, the side it names runs first, and its keys filter the other side's rows. */
  private async inputsOf(plan: Wide, held: Block[]): Promise<Dataset[]> {
    const { inputs, operator, keyFilter: from } = plan
    const ready = (given: PhysicalPlan): Promise<Dataset> => this.sideOf(given, plan, held)
    const [left, right] = inputs
    const unlimited = operator.kind === 'SortExec' && left !== undefined ? withoutTopK(left) : undefined
    const table = unlimited && (await this.state.waitedFor(unlimited, () => this.columns.programmed(unlimited, operator)))
    if (table !== undefined && left !== undefined && unlimited !== undefined) this.state.record?.ranAs(left, unlimited)
    if (table !== undefined) return [table]
    if (operator.kind !== 'HashJoinExec' || from === undefined || left === undefined || right === undefined) {
      const datasets: Dataset[] = []
      for (const input of inputs) datasets.push(await ready(input))
      return datasets
    }
    const first = await ready(from.side === 'left' ? left : right)
    const keys = keysOfSide(operator, batchesOf(first.partitions))
    if (keys !== undefined) this.state.joined.set(from.keys, keys)
    const second = await ready(from.side === 'left' ? right : left)
    return from.side === 'left' ? [first, second] : [second, first]
  }

  /** An input of a wide operator. */
  async sideOf(given: PhysicalPlan, { inputs, operator }: Wide, held: Block[]): Promise<Dataset> {
    const input = inputs.length === 1 ? given : await this.overTable(given, operator, held)
    return await this.state.waitedFor(
      input,
      async () => (await this.columns.programmed(input, operator)) ?? (await this.plans.wholeOf(input)),
    )
  }

  /** Groups partitions as they come. The memory of the groups is charged to the arena. */
  private async foldedGroups(operator: Aggregation, plan: Wide, input: PhysicalPlan, { isBounded }: Whole): Promise<Dataset> {
    const started = performance.now()
    this.state.emit({ kind: 'stage', phase: 'started', stage: operator.kind })
    this.state.record?.addPlace(plan, 'caller')
    const groups = new FoldedGroups(operator.aggregates)
    const charge = new Charge(this.state.options.arena, operator.kind)
    const total = partitionsRead(input)
    let done = 0
    try {
      for await (const { batches, blocks } of this.plans.results(input)) {
        const before = groups.size
        let last = 0
        for (const batch of batches) if (batch.length > 0) last += groups.add(batch)
        this.state.blocks.free(blocks)
        this.state.record?.addTaken(input, rowsIn(batches))
        charge.raiseTo(groups.bytes)
        done++
        if (isBounded !== true) continue // there is no way by disk
        const seen = { groups: groups.size, fresh: groups.size - before, last, done, total: total ?? done }
        this.state.checkRoom(groupsBeyond(seen, groups.bytes, this.state.options.arena.budgetBytes), operator.kind)
      }
      const result = groups.finish(operator)
      this.state.emit({
        kind: 'stage',
        phase: 'finished',
        stage: operator.kind,
        rows: result.length,
        milliseconds: performance.now() - started,
      })
      return this.state.cut([plan.keys.kind === 'rowNumber' ? withoutKeys(result) : result])
    } finally {
      charge.end()
    }
  }

  /** Runs a wide operator over whole inputs: by all workers where the operator can (`sharedWork.ts`), else as one task. */
  async wideResult(
    plan: Wide,
    operator: WideOperator,
    inputs: readonly (readonly ExecBatch[])[],
    inline: boolean,
    { isBounded = false }: Whole = {},
  ): Promise<Pick<StageResult, 'batches' | 'blocks'>> {
    const { pool, arena } = this.state.options
    const blocks: Block[] = []
    const run = async (task: StageTask): Promise<readonly ExecBatch[]> => {
      const result = await this.state.wideTask(task, false)
      // a wide operator's own task calls a function
      this.state.record?.addTask(plan, task.kind === 'wide' ? { ...result, refused: wholeTaskBecause(operator, false) } : result)
      blocks.push(...result.blocks)
      return result.batches
    }
    const hold = (made: readonly Block[]): void => {
      this.state.blocks.add(made)
      blocks.push(...made)
    }
    const services = { workers: pool.size, arena, run, hold, isBounded }
    let batches: readonly ExecBatch[] | undefined
    try {
      batches = inline ? undefined : await sharedWork(operator, inputs, services)
    } catch (error) {
      this.state.blocks.free(blocks) // nobody has them
      throw error
    }
    if (batches !== undefined) return { batches, blocks: this.state.blocks.keep(blocks, batches) }
    this.state.blocks.free(blocks)
    this.state.record?.addPlace(plan, inline ? 'caller' : 'workers')
    this.state.record?.refuse(plan, wholeTaskBecause(operator, inline && plan.where !== 'caller'))
    return await this.state.wideTask({ kind: 'wide', inputs, operator }, inline)
  }
}

/** The groups with the aggregates of the operator, each of which is in one of `parts`, whose rows are the same groups. */
function withAggregates({ aggregates }: Aggregation, parts: readonly ExecBatch[]): ExecBatch {
  const named = parts.map((batch) => new Map(fieldsOf(batch.element).map(({ name }, i) => [name, batch.columns[i] as Column]))) // a column for each field
  const isKey = (name: string): boolean => aggregates.every((call) => call.name !== name)
  const [first] = named
  const keys = [...(first?.keys() ?? [])].filter(isKey)
  const names = [...keys, ...aggregates.map(({ name }) => name)]
  const columns = names.flatMap((name) => named.find((one) => one.has(name))?.get(name) ?? [])
  return rowBatch(names, columns, columns[0]?.length ?? 0)
}

/** The program of a pipeline over the rows of a wide operator; of one below a distinct, that of the groups which it runs as. */
function programOf(plan: Pipeline): ColumnProgram | NotColumns {
  return columnProgramOf(elementGroups({ operator: { kind: 'DistinctExec' }, inputs: [plan] })?.input ?? plan, plannedTextColumns)
}
