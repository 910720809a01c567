/**
 * A window on all workers; rows stay where they are.
 *
 *     sort       the numbers of the rows in the order of key and order, stable (`sortRun.ts`)
 *     marks      each worker, a range of the places: where partitions and peers begin
 *     compute    each worker, whole partitions: every call, to the places of its rows
 *     columns    a task for each batch: the columns of results that are values of other rows, or may be null
 *
 * A partition is computed by one worker, from its first row to its last, so that nothing depends on how many there are.
 */
import type { Column } from '../../../core/data/column.ts'
import { MemoryError } from '../../../core/errors.ts'
import { mapBuffers } from '../../memory/shareColumns.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { directionOf } from '../operators/sort/order.ts'
import { orderParts, type SortPart, sortParts } from '../operators/sort/sortParts.ts'
import { allOf } from '../scheduler.ts'
import { hiddenColumns } from '../wide/groupRun.ts'
import type { SortedServices } from '../wide/sortedBatches.ts'
import { directionsOf, rangesOf, SortRun } from '../wide/sortRun.ts'
import { PARTITION } from './boundaries.ts'
import { asksPeers, resultColumn, resultKind, type WindowOperator, type WindowResult, withResults } from './windowColumns.ts'
import { isHandedOn, type WindowTask } from './windowTask.ts'

/** The batches with their new columns; undefined where kernels cannot sort by the keys, or memory is short. */
export async function windowedBatches(
  operator: WindowOperator,
  batches: readonly ExecBatch[],
  services: SortedServices,
): Promise<readonly ExecBatch[] | undefined> {
  const filled = batches.filter((batch) => batch.length > 0)
  if (!filled.every((batch) => keyOf(operator, batch.hidden ?? []) !== undefined)) return undefined
  const hidden = await hiddenColumns(filled, services)
  const key = keyOf(operator, hidden)
  if (key === undefined) return undefined
  const length = filled.reduce((sum, batch) => sum + batch.length, 0)
  const sort = new SortRun(services)
  const blocks = new ResultBlocks(services.arena, operator.kind)
  try {
    const sorted = await sort.rowsBy(key.parts, length, { descending: key.descending, limit: length })
    if (sorted === undefined) return undefined
    const rows = sort.memory.integers(sorted.address, length)
    const marks = sort.memory.bytes(sort.memory.room(length), length)
    const shared = hidden.map((column) => mapBuffers(column, (buffer) => sort.memory.copied(buffer)))
    const marking = { kind: 'marks', rows, marks, ...keysOf(operator, shared) } as const
    await together(
      rangesOf(length, services.workers).map((range) => ({ kind: 'window', work: marking, ...range })),
      services,
    )
    const results = operator.calls.map((call) => resultOf(resultKind(call, shared, operator.frame), length, { blocks, sort }))
    const work = { kind: 'compute', operator, rows, marks, hidden: shared, results } as const
    await together(
      wholePartitions(marks, services.workers).map((range) => ({ kind: 'window', work, ...range })),
      services,
    )
    const added = await columnsOf(operator, filled, { results, shared }, services)
    const out = filled.map((batch, b) => withResults(operator, batch, added[b] as readonly Column[])) // one of each
    services.hold(blocks.handedOver())
    return out
  } catch (error) {
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    blocks.freeAll()
    sort.end()
  }
}

/** The sort key of the rows; undefined where kernels cannot sort by it. */
function keyOf(
  { by, ordered, descending }: WindowOperator,
  hidden: readonly Column[],
): { readonly parts: readonly SortPart[]; readonly descending: readonly boolean[] } | undefined {
  const key = by ? sortParts(hidden[0] as Column) : [] // as many hidden columns as the operator has
  const column = ordered ? (hidden[by ? 1 : 0] as Column) : undefined
  const order = column === undefined ? [] : orderParts(column)
  if (key === undefined || order === undefined) return undefined
  const directions = column === undefined ? [] : directionsOf(column, descending)
  return { parts: [...key, ...order], descending: [...key.map(() => false), ...order.map((_, p) => directionOf(directions, p))] }
}

/** The columns that tell partitions apart, and peers where a call depends on them. */
function keysOf(operator: WindowOperator, hidden: readonly Column[]): { by?: Column | undefined; order?: Column | undefined } {
  const { by, ordered } = operator
  return { ...(by ? { by: hidden[0] } : {}), ...(ordered && asksPeers(operator) ? { order: hidden[by ? 1 : 0] } : {}) }
}

/** Arrays in the arena for the results of a call: in the result's blocks where they are the column, else freed with the sort. */
function resultOf(
  kind: ReturnType<typeof resultKind>,
  length: number,
  { blocks, sort: { memory } }: { readonly blocks: ResultBlocks; readonly sort: SortRun },
): WindowResult {
  switch (kind) {
    case 'numbers':
      return { kind: 'numbers', values: blocks.like(new Float64Array(), length) }
    case 'nullable numbers':
      return { kind: 'numbers', values: blocks.like(new Float64Array(), length), present: memory.bytes(memory.room(length), length) }
    case 'bigints':
      return { kind: 'bigints', values: blocks.like(new BigInt64Array(), length) }
    case 'rows':
      return { kind: 'rows', rows: memory.integers(memory.room(4 * length), length) }
  }
}

/** Ranges of places that begin and end with partitions, of about equal length. */
function wholePartitions(marks: Uint8Array, workers: number): readonly { readonly from: number; readonly to: number }[] {
  const ranges: { readonly from: number; readonly to: number }[] = []
  let from = 0
  for (const { to } of rangesOf(marks.length, workers)) {
    let end = Math.max(to, from)
    while (end < marks.length && marks[end] !== PARTITION) end++
    if (end > from) ranges.push({ from, to: end })
    from = end
  }
  return ranges
}

/** The new columns of each batch: views of results, or columns that tasks make from them. */
async function columnsOf(
  { calls }: WindowOperator,
  batches: readonly ExecBatch[],
  { results, shared }: { readonly results: readonly WindowResult[]; readonly shared: readonly Column[] },
  services: SortedServices,
): Promise<readonly (readonly Column[])[]> {
  const all = results.map((result, c) => {
    const at = calls[c]?.column
    return { result, ...(at === undefined ? {} : { argument: shared[at] }) }
  })
  const made = all.filter(({ result }) => !isHandedOn(result))
  let from = 0
  const pending = batches.map(async ({ length }) => {
    const range = { from, to: from + length }
    from = range.to
    const [rest] = made.length === 0 ? [] : await services.run({ kind: 'window', work: { kind: 'columns', results: made }, ...range })
    const others = [...(rest?.hidden ?? [])]
    // one of each
    return all.map(({ result }) =>
      isHandedOn(result) ? resultColumn(result, undefined, range.from, range.to) : (others.shift() as Column),
    )
  })
  return await allOf(pending)
}

async function together(tasks: readonly WindowTask[], { run }: SortedServices): Promise<void> {
  await allOf(tasks.map((task) => run(task)))
}
