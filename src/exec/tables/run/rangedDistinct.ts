/**
 * The input of an operator to which equal rows are one row, where memory has no room for its columns: the first of equal rows of each
 * range is kept, and the operator goes over those.
 *
 *     range 1   a b a c   ->  a b c
 *     range 2   b d b     ->  b d      the operator finds a b c d among these
 */
import type { Column } from '../../../core/data/column.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import { Charge } from '../../memory/charge.ts'
import type { Block } from '../block.ts'
import type { CodedKeys } from '../columns/columnProgram.ts'
import type { ColumnRun } from '../columns/columnRun.ts'
import { programTable } from '../columns/columnTable.ts'
import { withKeys } from '../columns/groups/codedKeys.ts'
import { elementGroups } from '../columns/groups/elementGroups.ts'
import { isRefused, refused, SHORT_OF_MEMORY } from '../columns/refused.ts'
import { agreed, type Dataset, type Partition, type Pipeline } from '../dataset.ts'
import { beforeDistinct, withoutPartialStep } from '../loadedScan.ts'
import { type ExecBatch, emptyBatch, hiddenBatch, rowBatch } from '../operators/batches.ts'
import { structColumn } from '../operators/rows/rowKernel.ts'
import { isFinerThanMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { bytesOfBatches } from '../planRecord.ts'
import { type GroupsSeen, groupsBeyond } from '../spill/expected.ts'
import type { StageTask } from '../stage.ts'
import { sharedWork } from '../wide/sharedWork.ts'
import { overRanges, type Ranges } from './rangedInputs.ts'
import type { RunState } from './runState.ts'

/** Rows are searched for equal ones again when they are more than after the last search by this factor. */
const GROWTH = 2

/** A pipeline whose hidden columns are compared, and the rows of the operator's input that these are. */
interface Compared {
  readonly plan: Pipeline
  readonly rows: (hidden: readonly Column[]) => ExecBatch
}

/** Whether equal rows are one row to the operator: to a distinct, and to groups of which different values are counted. */
export function countsOnce(operator: WideOperator): boolean {
  if (operator.kind === 'DistinctExec') return true
  const { aggregates } = operator.kind === 'HashAggregateExec' ? operator : { aggregates: [] }
  return aggregates.length > 0 && aggregates.every(({ kind }) => kind === 'countDistinct')
}

/** The first of equal rows of each range; undefined where no column program makes the rows, kernels do not compare them, or memory is short. */
export async function onceInRanges(input: PhysicalPlan, operator: WideOperator, ranges: Ranges): Promise<Dataset | undefined> {
  const compared = comparedRows(input, operator)
  if (compared === undefined) return undefined
  const { plan, rows } = compared
  const { scan, state } = ranges
  const { arena } = state.options
  const charge = new Charge(arena, operator.kind)
  const found = new RowsOnce(state, valuesOf(operator))
  const work = async (run: ColumnRun): Promise<{ readonly run: ColumnRun; readonly made: ExecBatch } | NotColumns> => {
    const table = await programTable(run)
    if (isRefused(table)) return table
    found.hold(table.blocks.handedOver())
    const made = await found.add(table.batch, table.coded ?? [])
    return made === undefined ? refused('kernels do not compare its rows') : { run, made }
  }
  try {
    for await (const { made, blocks, milliseconds, ...progress } of overRanges(plan, ranges, work, { codedKeys: true })) {
      found.hold(blocks)
      if (isRefused(made)) {
        state.record?.refuse(input, made.because)
        found.free()
        return undefined
      }
      state.record?.addRange(plan, made.run, { batch: made.made, scan, milliseconds })
      const seen = await found.shrink()
      charge.raiseTo(found.bytes)
      if (seen !== undefined && state.tries > 0)
        state.checkRoom(groupsBeyond({ ...seen, ...progress }, found.bytes, arena.budgetBytes), operator.kind)
    }
    state.record?.ranAs(input, plan)
    return found.result(rows)
  } catch (error) {
    found.free()
    if (!(error instanceof MemoryError)) throw error
    state.record?.refuse(input, SHORT_OF_MEMORY.because)
    return undefined
  } finally {
    charge.end()
  }
}

/** The hidden columns whose values are counted, beside the key. */
function valuesOf(operator: WideOperator): readonly number[] {
  if (operator.kind !== 'HashAggregateExec') return []
  return [...new Set(operator.aggregates.flatMap(({ column }) => (column === undefined ? [] : [column + 1])))]
}

/** The pipeline whose hidden columns are compared: of a distinct the element, of groups the key and the values; undefined where no program makes them. */
function comparedRows(input: PhysicalPlan, operator: WideOperator): Compared | undefined {
  if (input.kind !== 'PipelineExec') return undefined
  if (operator.kind !== 'DistinctExec') {
    const plan = withoutPartialStep(input)
    return plan.kind === 'PipelineExec' ? { plan, rows: hiddenBatch } : undefined
  }
  const { element } = input.input
  const empty = { kind: 'table', element, length: 0, columns: emptyBatch(element).columns } as const
  const stored = { kind: 'StoredExec', name: 'no rows', element, keys: input.input.keys, storage: empty } as const
  const groups = elementGroups({ operator, inputs: [{ ...input, input: stored }] })
  if (groups === undefined || beforeDistinct(input) === undefined) return undefined
  const { elements } = groups
  return {
    plan: { ...groups.input, input: input.input },
    rows: ([whole]) => {
      const column = whole as Column // the element
      const { type, children } = column
      if (type.kind !== 'struct' || children === undefined) return elements(rowBatch(['key'], [column], column.length))
      return elements(
        rowBatch(
          type.fields.map(({ name }) => name),
          children,
          column.length,
        ),
      )
    },
  }
}

/** Rows of hidden columns, of which equal ones are kept once. */
class RowsOnce {
  private readonly state: RunState
  private readonly values: readonly number[]
  private pieces: readonly ExecBatch[] = []
  private blocks: readonly Block[] = []
  private held: Block[] = []
  /** The names of the key's fields; undefined where the key is a value. */
  private names: readonly string[] | undefined
  private hidden = 1
  private rowsOnce = 0

  /** `values`: the hidden columns that are compared, beside the first. */
  constructor(state: RunState, values: readonly number[]) {
    this.state = state
    this.values = values
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

  /** Adds the first of equal rows of a range; returns them, or undefined where kernels do not compare the rows. */
  async add({ hidden = [], length }: ExecBatch, coded: CodedKeys): Promise<ExecBatch | undefined> {
    const [key] = hidden
    const values = this.values.flatMap((at) => hidden[at] ?? [])
    if (key === undefined || [key, ...values].some(({ type }) => isFinerThanMilliseconds(type))) return undefined
    const { type, children } = key
    this.hidden = hidden.length
    const parts = type.kind === 'struct' && children !== undefined ? children : [key]
    this.names = type.kind === 'struct' ? type.fields.map(({ name }) => name) : undefined
    const columns = [...parts, ...values]
    const names = columns.map((_, i) => `${i}`)
    const once = await this.once([rowBatch(names, columns, length)])
    if (once === undefined) return undefined
    const added = withKeys(once, coded)
    this.pieces = [...this.pieces, added]
    return added
  }

  /** Keeps the first of equal rows of all ranges so far, where there are many more than after the last time; returns how many there are then, and how many of a range are new on average. */
  async shrink(): Promise<Pick<GroupsSeen, 'groups' | 'fresh' | 'last'> | undefined> {
    const rows = this.pieces.reduce((sum, { length }) => sum + length, 0)
    const before = this.rowsOnce
    const ranges = this.pieces.length - 1
    const isLarger = ranges > 0 && rows >= GROWTH * before
    if (isLarger) {
      const once = await this.once(this.pieces)
      if (once !== undefined) this.pieces = [once]
      this.rowsOnce = once?.length ?? rows
    } else if (ranges === 0) this.rowsOnce = rows
    this.blocks = this.state.blocks.keep([...this.blocks, ...this.held.splice(0)], this.pieces)
    if (!isLarger || this.rowsOnce === 0) return undefined
    return { groups: this.rowsOnce, fresh: (this.rowsOnce - before) / ranges, last: (rows - before) / ranges }
  }

  /** The rows, as hidden columns of the operator's input, and the blocks that they lie in. */
  result(rows: Compared['rows']): Dataset {
    const filled = this.pieces.filter(({ length }) => length > 0)
    const kept = filled.length === 0 ? this.pieces.slice(0, 1) : filled
    const partitions = kept.map(({ columns, length }): Partition => {
      const { names } = this
      const of = names?.length ?? 1
      const key = names === undefined ? (columns[0] as Column) : structColumn(names, columns.slice(0, of), length)
      const others = Array.from({ length: this.hidden - 1 }, (_, i): Column => {
        const at = this.values.indexOf(i + 1)
        return at < 0 ? { type: { kind: 'null' }, length } : (columns[of + at] as Column) // one for each of the values
      })
      return { kind: 'batches', batches: [rows([key, ...others])] }
    })
    return { kind: 'stored', partitions: agreed(partitions), blocks: this.blocks }
  }

  private async once(batches: readonly ExecBatch[]): Promise<ExecBatch | undefined> {
    if (batches.every(({ length }) => length === 0)) return batches[0]
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
    const found = await sharedWork({ kind: 'DistinctExec' }, [batches], services)
    return found?.[0]
  }
}
