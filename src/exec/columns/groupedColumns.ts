/**
 * A group-by over the columns of a table in one pass (`groupPass.ts`): where keys are whole numbers that lie together, or
 * codes of texts, and all aggregates are folds of numbers without nulls. Else, or when a key turns out to lie elsewhere,
 * there is another way (`groupRun.ts`), which gives the same bits.
 */
import type { Column } from '../../core/column.ts'
import { combinePairwise } from '../../core/fixedTree.ts'
import type { WideOperator } from '../../planner/physical/physicalPlan.ts'
import { BLOCK_ROWS } from '../kernels/wasmColumns.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { extremesColumn, numbersColumn } from '../operators/groupStatistics.ts'
import { groupRows } from '../operators/hashAggregate.ts'
import type { CodedKeys } from './columnProgram.ts'
import type { ColumnRun } from './columnRun.ts'
import { groupKeys, passKey, passWindows } from './groupKeys.ts'
import { type PassSizes, type Records, recordsOf } from './groupRecords.ts'
import { type FoldOfCall, PassSources, passFolds } from './groupSources.ts'

/**
 * The lists of a unit, and the values they are made of, lie in the near caches. Records of few groups do not leave those
 * of their adder, and reading what is added takes longer than adding it. One worker that adds is the bound of all.
 */
const SIZES: PassSizes = { unitRows: 2 * BLOCK_ROWS, splitBytes: 2 ** 22, mostWorkers: 3, keysLookedAt: 2 ** 16 }

export interface GroupedColumns {
  readonly batch: ExecBatch
  readonly coded: CodedKeys
}

/** The groups in order of first appearance, with their aggregates; undefined where one pass cannot give them. */
export async function groupedColumns(
  run: ColumnRun,
  { aggregates, method }: Pick<Extract<WideOperator, { kind: 'HashAggregateExec' }>, 'aggregates' | 'method'>,
  sizes: PassSizes = SIZES,
): Promise<GroupedColumns | undefined> {
  if (run.workers > sizes.mostWorkers) return undefined
  const key = passKey(run)
  const sources = new PassSources(run)
  const folds = passFolds(run, aggregates, sources)
  if (key === undefined || folds === undefined) return undefined
  const windows = passWindows(run, key, sizes.keysLookedAt)
  if (windows === undefined) return undefined
  const records = await recordsOf(run, { key, windows, folds, sources, sizes })
  if (records === undefined || records.places.length === 0) return undefined
  const columns = folds.of.map((fold) => folded(fold, records))
  const keys = groupKeys(key, windows, records.places)
  return { batch: groupRows(keys, { method: method ?? 'agg', named: aggregates, columns }), coded: key.coded }
}

function folded({ kind, fold, type }: FoldOfCall, { places, counts, values, chunks }: Records): Column {
  const found = values[fold] ?? counts
  switch (kind) {
    case 'count':
      return numbersColumn(counts)
    case 'min':
    case 'max':
      return extremesColumn(found, type)
    case 'sum':
    case 'mean': {
      const full = chunks[fold]
      const sums =
        full === undefined
          ? found
          : found.map((open, group) => {
              const list = full.get(places[group] as number) // a place for each group
              return list === undefined ? open : (combinePairwise([...list, open], (a, b) => a + b) as number) // it is not empty
            })
      return numbersColumn(kind === 'sum' ? sums : sums.map((sum, group) => sum / (counts[group] as number)))
    }
  }
}
