/** Sorts a table by its hidden key, by all workers. Where kernels cannot gather a column, tasks take the rows, a range of the order each. */
import type { Column } from '../../../core/data/column.ts'
import { isConcatFree } from '../../../core/data/columnConcat.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { concatBatches, type ExecBatch } from '../operators/batches.ts'
import { withoutKeys } from '../operators/operator.ts'
import { allOf } from '../scheduler.ts'
import type { StageTask } from '../stage.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { isSortable, SortRun, type SortServices } from './sortRun.ts'

export interface SortedServices extends Omit<SortServices, 'run'> {
  readonly run: (task: StageTask) => Promise<readonly ExecBatch[]>
  /** Takes over the blocks of the result. */
  readonly hold: (blocks: readonly Block[]) => void
  /** Whether a MemoryError is thrown on, since the operator can go by way of disk; else it runs as one task. */
  readonly isBounded?: boolean
}

/** The sorted rows in pieces, at least one; undefined for keys that are compared row by row, or where memory is short. */
export async function sortedBatches(
  { descending, limit, hiddenKey }: Extract<WideOperator, { kind: 'SortExec' }>,
  batches: readonly ExecBatch[],
  services: SortedServices,
): Promise<readonly ExecBatch[] | undefined> {
  const filled = batches.filter((batch) => batch.length > 0).map((batch) => (hiddenKey === undefined ? withoutKeys(batch) : batch))
  const keyOf = ({ hidden }: ExecBatch): Column | undefined => hidden?.[hiddenKey ?? 0]
  const isKeySortable = (key: Column | undefined): boolean => key !== undefined && isSortable(key)
  if (!filled.every((batch) => isKeySortable(keyOf(batch)))) return undefined
  const whole = await together(filled, services)
  const key = whole && keyOf(whole)
  if (whole === undefined || key === undefined || !isSortable(key)) return undefined
  const run = new SortRun(services)
  try {
    const length = Math.min(limit ?? whole.length, whole.length)
    const rows = await run.rowsInOrder(key, { descending, limit: length })
    if (rows === undefined) return undefined
    const { hidden: _, ...payload } = whole
    return await inOrder(hiddenKey !== undefined ? whole : payload, { ...rows, length }, run, services)
  } catch (error) {
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    run.end()
  }
}

/** Concatenates batches, on a worker where that copies; undefined for none. */
export async function together(batches: readonly ExecBatch[], { run }: SortedServices): Promise<ExecBatch | undefined> {
  const [first] = batches
  if (first === undefined || batches.length === 1) return first
  const isFree = (list: (batch: ExecBatch) => readonly Column[]): boolean =>
    list(first).every((_, i) => isConcatFree(batches.flatMap((batch) => list(batch)[i] ?? [])))
  if (isFree((batch) => batch.columns) && isFree((batch) => batch.hidden ?? [])) return concatBatches(batches)
  const [whole] = await run({ kind: 'together', batches })
  return whole
}

async function inOrder(
  batch: ExecBatch,
  rows: { readonly address: number; readonly length: number },
  run: SortRun,
  { workers, arena, hold, run: runTask }: SortedServices,
): Promise<readonly ExecBatch[]> {
  const { columns, hidden = [] } = batch
  const keys = (batch.keys ?? []).map((values): Column => ({ type: { kind: 'i32' }, length: batch.length, values }))
  if (![...columns, ...hidden].every(isGatherable)) {
    const order = run.memory.integers(rows.address, rows.length)
    const cuts = Array.from({ length: workers + 1 }, (_, i) => Math.floor((rows.length * i) / workers))
    const tasks = cuts.slice(1).map((to, i) => runTask({ kind: 'take', batch, rows: order.subarray(cuts[i], to) }))
    return (await allOf(tasks)).flat()
  }
  const blocks = new ResultBlocks(arena, 'SortExec')
  try {
    const taken = [...(await gatheredColumns([...keys, ...columns, ...hidden], rows, run, { workers, blocks }))]
    hold(blocks.handedOver())
    const axes = taken.splice(0, keys.length).map(({ values }) => values as Int32Array) // as they were
    const shown = { element: batch.element, length: rows.length, columns: taken.splice(0, columns.length) }
    return [{ ...shown, ...(batch.keys && { keys: axes }), ...(hidden.length > 0 && { hidden: taken }) }]
  } catch (error) {
    blocks.freeAll()
    throw error
  }
}
