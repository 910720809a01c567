/** The tasks of a parallel group-by: what a worker is sent, and what it sends back, as batches of hidden columns. */
import type { Column } from '../../core/column.ts'
import { concatColumns } from '../../core/columnConcat.ts'
import { convertColumn } from '../../core/columnConversions.ts'
import type { ColumnType } from '../../core/schema.ts'
import type { Aggregate } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { aggregateColumn } from './aggregates.ts'
import { type ExecBatch, hiddenBatch } from './batches.ts'
import { type CodesTask, type RangeGroups, rangeGroups } from './groupCodes.ts'
import { type PlaceTask, placedEnds, type StatisticsTask, statisticColumns } from './groupedValues.ts'
import { type CodedRange, type Coding, type FoldTask, foldedColumns, foldedRows, type PartialFolds, writeSlots } from './groupFolds.ts'
import { rowsById } from './keyIds.ts'

/** One aggregate by the rows of each group: for those that no fold computes. */
export interface ValuesTask {
  readonly kind: 'groupValues'
  /** Hidden columns: the code, and the argument if there is one. */
  readonly ranges: readonly CodedRange[]
  readonly coding: Coding
  readonly call: Aggregate
  readonly type: ColumnType | undefined
  readonly groups: number
  /** The group of each slot, unless slots are groups. */
  readonly groupOf?: Int32Array
}

export type GroupTask = CodesTask | (FoldTask & { readonly counts?: Int32Array }) | ValuesTask | PlaceTask | StatisticsTask

export function runGroupTask(task: GroupTask, arena: Arena): readonly ExecBatch[] {
  switch (task.kind) {
    case 'groupCodes': {
      const found = rangeGroups(task, arena)
      if (found === undefined) return []
      const slots = found.slots === undefined ? [] : [integers(found.slots)]
      return [
        hiddenBatch([found.key, integers(found.counts), ...slots]),
        ...(found.codes ?? []).map((codes) => hiddenBatch([integers(codes)])),
      ]
    }
    case 'groupFold': {
      const { part } = task
      if (part.kind !== 'rows') return [hiddenBatch(foldedColumns(task, task.counts ?? new Int32Array(task.coding.slots), arena))]
      const { slots, sums, extremes } = foldedRows({ ...task, part }, arena)
      return [
        ...sums.map((values) => hiddenBatch(values.length === 0 ? [] : [integers(slots), floats(values)])),
        ...extremes.map((values) => hiddenBatch(values.length === 0 ? [] : [floats(values)])),
      ]
    }
    case 'groupValues':
      return [hiddenBatch([valuesColumn(task)])]
    case 'groupPlace':
      return [hiddenBatch([integers(placedEnds(task))])]
    case 'groupStatistics':
      return [hiddenBatch(statisticColumns(task))]
  }
}

/** What `groupCodes` sent back: undefined when a key lay outside of the window. */
export function groupsFrom(batches: readonly ExecBatch[]): RangeGroups | undefined {
  const [first, ...codes] = batches
  const [key, counts, slots] = first?.hidden ?? []
  if (key === undefined) return undefined
  return {
    key,
    counts: counts?.values as Int32Array,
    ...(slots === undefined
      ? { codes: codes.map((batch) => batch.hidden?.[0]?.values as Int32Array) }
      : { slots: slots.values as Int32Array }),
  }
}

/** What `groupFold` of a range of rows sent back. */
export function partialFrom(batches: readonly ExecBatch[], folds: number): PartialFolds {
  const values = (batch: ExecBatch | undefined, column: number) => (batch?.hidden?.[column]?.values ?? new Float64Array(0)) as Float64Array
  const sums = batches.slice(0, folds)
  const logged = sums.find((batch) => batch.length > 0)
  return {
    slots: (logged?.hidden?.[0]?.values ?? new Int32Array(0)) as Int32Array,
    sums: sums.map((batch) => values(batch, 1)),
    extremes: batches.slice(folds).map((batch) => values(batch, 0)),
  }
}

function valuesColumn({ ranges, coding, call, type, groups, groupOf }: ValuesTask): Column {
  const batches = ranges.flatMap((range) => range.batches.map((batch) => ({ range, batch })))
  const ids = new Int32Array(batches.reduce((sum, { batch }) => sum + batch.length, 0))
  let at = 0
  for (const { range, batch } of batches) {
    writeSlots(coding, range, batch, groupOf, ids.subarray(at, at + batch.length))
    at += batch.length
  }
  const argument =
    type === undefined
      ? undefined
      : concatColumns(
          batches.map(({ batch }) => convertColumn(batch.hidden?.[1] ?? { type: { kind: 'null' }, length: batch.length }, type)),
          'key',
        )
  return aggregateColumn(call, argument, rowsById(ids, groups))
}

function integers(values: Int32Array): Column {
  return { type: { kind: 'i32' }, length: values.length, values }
}

function floats(values: Float64Array): Column {
  return { type: { kind: 'f64' }, length: values.length, values }
}
