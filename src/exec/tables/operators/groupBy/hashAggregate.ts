/** Groups by the first hidden column, in order of first appearance, and computes aggregates of the others. */
import type { Column } from '../../../../core/data/column.ts'
import { checkGroupNames, type GroupMethod } from '../../../../core/plan/groupPlan.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { concatBatches, type ExecBatch, emptyBatch, rowBatch } from '../batches.ts'
import { takenColumn } from '../gather/takenTexts.ts'
import { firstRows, KeyIds, rowsById, startsById } from '../hashing/keyIds.ts'
import type { OpenNarrow, RunWide } from '../operator.ts'
import { aggregateColumn } from './aggregates.ts'

export const hashAggregateExec: RunWide<'HashAggregateExec'> = ({ aggregates, element, method, hasNullKeys }, [input]) => {
  const groups = groupsOf(input as ExecBatch, aggregates)
  if (groups === undefined) return emptyBatch(element)
  return groupRows(groups.key, { method: method ?? 'agg', named: aggregates, columns: groups.results, hasNullKeys })
}

/** A row for each group: the key's columns and then `columns`. PlanError where two of them have one name. */
export function groupRows(
  key: Column,
  {
    method,
    named,
    columns,
    hasNullKeys = key.validity !== undefined,
  }: {
    readonly method: GroupMethod
    readonly named: readonly { readonly name: string }[]
    readonly columns: readonly Column[]
    /** Whether some key is null, here or among other rows of the same result. */
    readonly hasNullKeys?: boolean | undefined
  },
): ExecBatch {
  const keys = keyColumns(key, hasNullKeys)
  checkGroupNames(
    method,
    keys.map(([name]) => ({ name })),
    named,
  )
  const names = [...keys.map(([name]) => name), ...named.map(({ name }) => name)]
  return rowBatch(names, [...keys.map(([, column]) => column), ...columns], key.length)
}

/** Groups one partition; its keys and results are hidden columns for the operator that combines the partitions. */
export const partialAggregateExec: OpenNarrow<'PartialAggregateExec'> = ({ aggregates }) => {
  const batches: ExecBatch[] = []
  return {
    next(batch) {
      batches.push(batch)
      return undefined
    },
    end() {
      const groups = groupsOf(concatBatches(batches), aggregates)
      if (groups === undefined) return undefined
      return { element: { kind: 'row', fields: [] }, length: groups.key.length, columns: [], hidden: [groups.key, ...groups.results] }
    },
  }
}

/** Keys and results of the groups in order of first appearance; undefined for no rows. */
function groupsOf(
  batch: ExecBatch,
  aggregates: readonly Aggregate[],
): { readonly key: Column; readonly results: readonly Column[] } | undefined {
  const [key, ...columns] = batch.hidden ?? []
  if (key === undefined || batch.length === 0) return undefined
  const ids = new KeyIds(key.type)
  const encoded = ids.encode(key)
  const areCounts = aggregates.every(({ kind, column }) => kind === 'count' && column === undefined)
  const groups = areCounts ? { starts: startsById(encoded, ids.size), rows: NO_ROWS } : rowsById(encoded, ids.size)
  const at = (place: number | undefined): Column | undefined => (place === undefined ? undefined : columns[place])
  const results = aggregates.map((call) => aggregateColumn(call, at(call.column), groups, at(call.second)))
  return { key: takenColumn(key, firstRows(encoded, ids.size)), results }
}

/** Counts of rows ask for none of them. */
const NO_ROWS = new Int32Array(0)

/** The columns that name a group: an object's own fields where all keys are objects, else one called `key`. */
function keyColumns(key: Column, hasNullKeys: boolean): readonly (readonly [string, Column])[] {
  if (key.type.kind !== 'struct' || hasNullKeys) return [['key', key]]
  return key.type.fields.map((field, i) => [field.name, key.children?.[i] as Column] as const)
}
