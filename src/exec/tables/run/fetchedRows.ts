/** Reads columns of a file for few of its rows, which come by their numbers in any order (`planner/physical/fetchRows.ts`). */
import type { Column } from '../../../core/data/column.ts'
import { type Field, fieldsOf } from '../../../core/data/schema.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import { batchesOf, type Dataset } from '../dataset.ts'
import { concatBatches, type ExecBatch, takeBatch } from '../operators/batches.ts'
import { inOrder } from '../scheduler.ts'
import type { StageResult, StageTask } from '../stage.ts'
import type { RunState } from './runState.ts'

type Fetch = Extract<PhysicalPlan, { kind: 'FetchExec' }>

/** Rows of one split, ascending. */
interface SplitRows {
  readonly split: SourceSplit
  readonly rows: Int32Array
}

/** The input's rows with the columns of the scan's rows that they tell, as one batch. */
export async function fetchedRows(plan: Fetch, { partitions, blocks }: Dataset, state: RunState): Promise<Dataset> {
  const input = concatBatches(batchesOf(partitions))
  const at = fieldsOf(input.element).findIndex(({ name }) => name === plan.rows)
  const numbers = input.columns[at]?.values as Uint32Array // as the scan below made it
  const order = Int32Array.from({ length: input.length }, (_, i) => i)
  if (!isAscending(numbers)) order.sort((a, b) => (numbers[a] as number) - (numbers[b] as number))
  const wanted = rowsOfSplits(plan, numbers, order)
  state.record?.addFetched(plan, wanted.length)
  const read: ExecBatch[] = []
  const held = [...blocks]
  for await (const result of tasksOf(plan, wanted, state)) {
    read.push(...result.batches)
    held.push(...result.blocks)
  }
  const places = new Int32Array(order.length)
  for (const [i, row] of order.entries()) places[row] = i
  const batch = input.length === 0 ? undefined : joined(plan, input, takeBatch(concatBatches(read), places))
  return { kind: 'stored', partitions: [{ kind: 'batches', batches: batch === undefined ? [] : [batch] }], blocks: held }
}

function isAscending(numbers: Uint32Array): boolean {
  return numbers.every((row, i) => i === 0 || row > (numbers[i - 1] as number))
}

function rowsOfSplits({ scan }: Fetch, numbers: Uint32Array, order: Int32Array): readonly SplitRows[] {
  const found: SplitRows[] = []
  let from = 0
  let first = 0
  for (const split of scan.source.splits) {
    const end = from + (split.rows ?? 0)
    let last = first
    while (last < order.length && (numbers[order[last] as number] as number) < end) last++
    if (last > first) found.push({ split, rows: order.slice(first, last).map((i) => (numbers[i] as number) - from) })
    ;[from, first] = [end, last]
  }
  return found
}

function tasksOf({ scan, columns }: Fetch, wanted: readonly SplitRows[], state: RunState): AsyncGenerator<StageResult, void, undefined> {
  const { source } = scan
  let next = 0
  return inOrder<StageResult>({
    next: () => {
      const own = wanted[next]
      const input = own && ({ kind: 'split', source, split: own.split, columns, rows: own.rows } as const)
      const task: StageTask | undefined = input && { kind: 'narrow', steps: [], partition: next++, firstRow: 0, input }
      return task && (() => state.task(task, false))
    },
    window: 2 * state.options.pool.size,
    drop: (result) => state.blocks.free(result.blocks),
  })
}

/** The rows with the columns of both batches, in the order of the plan. */
function joined({ element }: Fetch, input: ExecBatch, fetched: ExecBatch): ExecBatch {
  const parts = new Map<string, { readonly field: Field; readonly column: Column }>()
  for (const batch of [input, fetched])
    for (const [i, field] of fieldsOf(batch.element).entries()) parts.set(field.name, { field, column: batch.columns[i] as Column }) // one a field
  const own = fieldsOf(element).flatMap(({ name }) => parts.get(name) ?? [])
  return { element: { kind: 'row', fields: own.map(({ field }) => field) }, length: input.length, columns: own.map(({ column }) => column) }
}
