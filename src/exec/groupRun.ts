/**
 * A group-by on all workers.
 *
 *     codes    each worker: a range of the rows; every row gets the code of its group, groups are counted
 *     merge    here: one numbering of the ranges' groups, in order of first appearance (`groupMerge.ts`)
 *     folds    each worker: sums, extremes and counts of a range of the rows, or of a part of the groups
 *
 * Few groups with many rows each are shared by rows, many groups by group (`operators/groupFolds.ts` says why both
 * have the bits of the fixed tree). How many workers there are decides who does what, never what comes out.
 */
import type { Column } from '../core/column.ts'
import { concatColumns, isConcatFree } from '../core/columnConcat.ts'
import { unifyTypes } from '../core/columnConversions.ts'
import { takeColumn } from '../core/columnSlices.ts'
import { valueClassOf } from '../core/elements.ts'
import { MemoryError } from '../core/errors.ts'
import { CHUNK, combinePairwise } from '../core/fixedTree.ts'
import type { ColumnType } from '../core/schema.ts'
import type { Aggregate, WideOperator } from '../planner/physical/physicalPlan.ts'
import { distinctKeys } from './distinctKeys.ts'
import { type Merged, mergedIds, mergedSlots } from './groupMerge.ts'
import { groupedStatistics, isStatistic } from './groupValues.ts'
import { type ExecBatch, hiddenBatch } from './operators/batches.ts'
import type { RangeGroups } from './operators/groupCodes.ts'
import { chunksBySlot, extremesColumn, type Fold, numbersColumn, type PartialFolds } from './operators/groupFolds.ts'
import { type GroupTask, groupsFrom, partialFrom } from './operators/groupTasks.ts'
import { groupRows } from './operators/hashAggregate.ts'
import { type Window, windowsOf } from './operators/keyWindows.ts'
import { rangesOf } from './operators/partitions.ts'
import type { SortedServices } from './sortedBatches.ts'

export interface GroupServices extends SortedServices {
  /** Rows a group must have for each worker before workers share the rows rather than the groups. */
  readonly rowsPerGroup?: number
  /** Keys looked at to guess the windows of direct codes. */
  readonly keysLookedAt?: number
}

/** A worker that shares rows reads on behind its range until the chunks it began are full, so about as much again at most; one that shares groups looks at all rows. */
const ROWS_PER_GROUP = CHUNK

/** The groups in order of first appearance, with their aggregates. There is at least one batch that is not empty. */
export async function groupedRows(
  { aggregates, method }: Extract<WideOperator, { kind: 'HashAggregateExec' }>,
  batches: readonly ExecBatch[],
  services: GroupServices,
): Promise<ExecBatch> {
  const filled = batches.filter((batch) => batch.length > 0)
  const types = (filled[0]?.hidden ?? []).map((_, i) =>
    filled.map((batch) => batch.hidden?.[i]?.type ?? NULL_TYPE).reduce((a, b) => unifyTypes(a, b, 'key')),
  )
  const ranges = rangesOf(filled, services.workers).map(joinedNeighbours)
  const work = { ranges, types, services }
  const direct = await directGroups(ranges, types[0] ?? NULL_TYPE, services)
  const different = direct === undefined && aggregates.length === 0 ? await distinctKeys(filled, services) : undefined
  if (different !== undefined) return groupRows(different, { method: method ?? 'agg', named: [], columns: [] })
  const { merged, results } =
    (direct && (await whereThereIsRoom(aggregates, { ...work, merged: direct }))) ??
    (await inGroups(aggregates, { ...work, merged: await hashedGroups(ranges, types[0] ?? NULL_TYPE, services) }))
  return groupRows(merged.key, { method: method ?? 'agg', named: aggregates, columns: results })
}

const NULL_TYPE: ColumnType = { kind: 'null' }

/** One batch where all columns lie end to end in their buffers, so that joining them copies nothing; else the batches as they are. */
function joinedNeighbours(batches: readonly ExecBatch[]): readonly ExecBatch[] {
  const [first] = batches
  const columns = first?.hidden?.map((_, i) => batches.map((batch) => batch.hidden?.[i] ?? { type: NULL_TYPE, length: batch.length }))
  if (first === undefined || columns === undefined || batches.length === 1 || !columns.every(isConcatFree)) return batches
  return [hiddenBatch(columns.map((parts) => concatColumns(parts, 'key')))]
}

interface Grouped {
  readonly merged: Merged
  readonly results: readonly Column[]
}

async function inGroups(aggregates: readonly Aggregate[], work: Work): Promise<Grouped> {
  return { merged: work.merged, results: await aggregated(aggregates, work) }
}

/** Undefined where places, of which there may be many more than groups, take more memory than there is. */
async function whereThereIsRoom(aggregates: readonly Aggregate[], work: Work): Promise<Grouped | undefined> {
  try {
    return await inGroups(aggregates, work)
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

/** Undefined where keys have no codes of their own. */
async function directGroups(
  ranges: readonly (readonly ExecBatch[])[],
  type: ColumnType,
  services: GroupServices,
): Promise<Merged | undefined> {
  const keys = ranges.flatMap((batches) => batches.flatMap((batch) => batch.hidden?.[0] ?? []))
  const windows = windowsOf(keys, type, { lookedAt: services.keysLookedAt, wide: true })
  if (windows === undefined) return undefined
  const found = await rangeGroupsOf(ranges, type, services, windows)
  return found.every((one) => one !== undefined) ? mergedSlots(ranges, type, found, windows) : undefined
}

async function hashedGroups(ranges: readonly (readonly ExecBatch[])[], type: ColumnType, services: GroupServices): Promise<Merged> {
  const found = await rangeGroupsOf(ranges, type, services)
  return mergedIds(
    ranges,
    type,
    found.filter((one) => one !== undefined), // without windows there is none
  )
}

async function rangeGroupsOf(
  ranges: readonly (readonly ExecBatch[])[],
  type: ColumnType,
  { run }: GroupServices,
  windows?: readonly Window[],
): Promise<readonly (RangeGroups | undefined)[]> {
  const tasks = ranges.map((batches): GroupTask => {
    const keys = batches.map((batch) => hiddenBatch((batch.hidden ?? []).slice(0, 1)))
    return { kind: 'groupCodes', batches: keys, type, ...(windows === undefined ? {} : { windows }) }
  })
  return (await allOf(tasks.map(run))).map(groupsFrom)
}

/** All results, or the first failure in order once nothing runs any more. */
async function allOf<T>(running: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(running)
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

interface Work {
  readonly ranges: readonly (readonly ExecBatch[])[]
  /** Of the hidden columns. */
  readonly types: readonly ColumnType[]
  readonly merged: Merged
  readonly services: GroupServices
}

async function aggregated(aggregates: readonly Aggregate[], work: Work): Promise<readonly Column[]> {
  const folds = aggregates.map((call) => foldOf(call, work))
  const wanted = folds.filter((fold) => fold !== undefined)
  const folding = folded(wanted, work)
  const others = aggregates.map((call, i) => (folds[i] === undefined ? call : undefined))
  const [columns, values] = await allOf<readonly (Column | undefined)[]>([folding, valuesOf(others, work)])
  let next = 0
  return aggregates.map((_, i) => (folds[i] === undefined ? values?.[i] : columns?.[next++]) as Column) // one of the two, by construction
}

/** The fold that computes an aggregate of numbers; undefined for those that need the group's rows. */
function foldOf({ kind, column }: Aggregate, { types, ranges }: Work): Fold | undefined {
  if (kind !== 'sum' && kind !== 'mean' && kind !== 'min' && kind !== 'max' && kind !== 'count') return undefined
  if (column === undefined) return { kind: 'count', column: 0, type: NULL_TYPE, nullable: false }
  const hidden = column + 1
  const type = types[hidden] ?? NULL_TYPE
  const isNumber = valueClassOf(type) === 'number' || type.kind === 'bool'
  if (!isNumber) return undefined
  const nullable = ranges.some((batches) =>
    batches.some((batch) => batch.hidden?.[hidden]?.validity !== undefined || batch.hidden?.[hidden]?.type.kind === 'null'),
  )
  return { kind, column: hidden, type, nullable }
}

/** Those that need the numbers of a group alone, and all others, one a task. */
async function valuesOf(calls: readonly (Aggregate | undefined)[], work: Work): Promise<readonly (Column | undefined)[]> {
  const { types, merged, services } = work
  const byColumn = new Map<number, number[]>()
  for (const [i, call] of calls.entries()) {
    if (call?.column === undefined || !isStatistic(call, types[call.column + 1])) continue
    byColumn.set(call.column, [...(byColumn.get(call.column) ?? []), i])
  }
  const found = new Map<number, Column>()
  await allOf(
    [...byColumn].map(async ([column, places]) => {
      const coded = withHidden(merged, [column + 1])
      const numbers = {
        calls: places.map((i) => calls[i] as Aggregate),
        type: types[column + 1] as ColumnType,
        merged: coded,
        cutsOf: evenCuts,
      } // aggregates of a column
      const results = await groupedStatistics(numbers, services)
      for (const [p, i] of places.entries()) if (results?.[p] !== undefined) found.set(i, results[p])
    }),
  )
  return await allOf(calls.map(async (call, i) => (call === undefined || found.has(i) ? found.get(i) : await valuesOfOne(call, work))))
}

/** The groups with these hidden columns beside the codes, and no others. */
function withHidden(merged: Merged, hidden: readonly number[]): Merged {
  return {
    ...merged,
    coded: merged.coded.map((range) => ({ ...range, batches: range.batches.map((batch) => withArguments(batch, hidden)) })),
  }
}

async function valuesOfOne(call: Aggregate, { types, merged, services }: Work): Promise<Column> {
  const { coding, key, slotOf } = merged
  const hidden = call.column === undefined ? undefined : call.column + 1
  const ranges = withHidden(merged, hidden === undefined ? [] : [hidden]).coded
  const groupOf = slotOf === undefined ? {} : { groupOf: inverse(slotOf, coding.slots) }
  const type = hidden === undefined ? undefined : types[hidden]
  const [batch] = await services.run({ kind: 'groupValues', ranges, coding, call, type, groups: key.length, ...groupOf })
  return batch?.hidden?.[0] as Column // a task of this kind gives one column
}

function inverse(slotOf: Int32Array, slots: number): Int32Array {
  const groupOf = new Int32Array(slots)
  for (const [group, slot] of slotOf.entries()) groupOf[slot] = group
  return groupOf
}

function withArguments(batch: ExecBatch, hidden: readonly number[]): ExecBatch {
  return { ...batch, hidden: [0, ...hidden].map((i) => batch.hidden?.[i] ?? { type: NULL_TYPE, length: batch.length }) }
}

/** A column per fold, in the order of the groups. */
async function folded(folds: readonly Fold[], work: Work): Promise<readonly Column[]> {
  const { merged } = work
  const { coding, slotOf } = merged
  if (folds.length === 0) return []
  const counts = sumOf(merged.counts, coding.slots)
  const bySlot = folds.every((fold) => fold.kind === 'count' && !fold.nullable)
    ? folds.map(() => numbersColumn(Float64Array.from(counts)))
    : await foldedBySlot(folds, counts, work)
  return slotOf === undefined ? bySlot : bySlot.map((column) => takeColumn(column, slotOf))
}

function sumOf(counts: readonly Int32Array[], slots: number): Int32Array {
  const sums = new Int32Array(new SharedArrayBuffer(4 * slots)) // sent to several tasks
  for (const one of counts) for (let slot = 0; slot < slots; slot++) sums[slot] = (sums[slot] as number) + (one[slot] as number) // slot < slots
  return sums
}

async function foldedBySlot(folds: readonly Fold[], counts: Int32Array, { merged, services }: Work): Promise<readonly Column[]> {
  const { coding, coded } = merged
  const used = [...new Set(folds.filter((fold) => fold.column > 0).map((fold) => fold.column))]
  const narrow = folds.map((fold) => ({ ...fold, column: used.indexOf(fold.column) + 1 }))
  const ranges = coded.map((range) => ({ ...range, batches: range.batches.map((batch) => withArguments(batch, used)) }))
  const task = { kind: 'groupFold', ranges, coding, folds: narrow } as const
  const workers = Math.min(services.workers, coding.slots)
  if (services.workers === 1) return columnsFrom(await services.run({ ...task, counts, part: { kind: 'all' } }))
  const rows = counts.reduce((sum, count) => sum + count, 0)
  const byRows = !folds.some((fold) => fold.nullable) && rows >= coding.slots * services.workers * (services.rowsPerGroup ?? ROWS_PER_GROUP)
  if (byRows) {
    const before = beforeEach(merged.counts, coding.slots)
    const parts = await allOf(before.map((starts, range) => services.run({ ...task, part: { kind: 'rows', range, before: starts } })))
    const partials = parts.map((batches) => partialFrom(batches, folds.length))
    return folds.map((fold, f) => joined(fold, f, partials, counts))
  }
  const cuts = evenCuts(counts, workers)
  const parts = await allOf(
    cuts.slice(1).map((to, i) => services.run({ ...task, counts, part: { kind: 'slots', from: cuts[i] as number, to } })), // one cut more than parts
  )
  const columns = parts.map(columnsFrom)
  return folds.map((_, f) =>
    concatColumns(
      columns.map((one) => one[f] as Column), // a column per fold
      'value',
    ),
  )
}

function columnsFrom(batches: readonly ExecBatch[]): readonly Column[] {
  return batches[0]?.hidden ?? []
}

/** Rows of each slot in the ranges before each. */
function beforeEach(counts: readonly Int32Array[], slots: number): readonly Int32Array[] {
  const sums = new Int32Array(slots)
  return counts.map((one) => {
    const before = sums.slice()
    for (let slot = 0; slot < slots; slot++) sums[slot] = (sums[slot] as number) + (one[slot] as number) // slot < slots
    return before
  })
}

/** Cuts of the slots into parts with about equally many rows. */
function evenCuts(counts: Int32Array, parts: number): readonly number[] {
  const rows = counts.reduce((sum, count) => sum + count, 0)
  const cuts = [0]
  let before = 0
  for (let slot = 0; slot < counts.length && cuts.length < parts; slot++) {
    before += counts[slot] as number // slot < length
    if (before * parts >= rows * cuts.length) cuts.push(slot + 1)
  }
  return cuts.at(-1) === counts.length ? cuts : [...cuts, counts.length]
}

/** What the ranges of the rows left, as one: chunks pairwise, in the order of the ranges. */
function joined({ kind, type }: Fold, f: number, parts: readonly PartialFolds[], counts: Int32Array): Column {
  switch (kind) {
    case 'count':
      return numbersColumn(Float64Array.from(counts))
    case 'sum':
    case 'mean': {
      const chunks = new Map<number, number[]>()
      for (const part of parts) chunksBySlot(part.slots, part.sums[f] as Float64Array, chunks) // a list per fold
      const sums = new Float64Array(counts.length)
      for (const [slot, list] of chunks) sums[slot] = combinePairwise(list, (a, b) => a + b) ?? 0
      return numbersColumn(kind === 'sum' ? sums : sums.map((sum, slot) => sum / (counts[slot] as number)))
    }
    case 'min':
    case 'max': {
      const better = kind === 'min' ? Math.min : Math.max
      const best = parts
        .map((part) => part.extremes[f] as Float64Array)
        .reduce((a, b) => a.map((value, slot) => better(value, b[slot] as number)))
      return extremesColumn(best, type)
    }
  }
}
