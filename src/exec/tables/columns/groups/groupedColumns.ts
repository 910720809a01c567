/**
 * A group-by over the columns of a table in one pass (`groupPass.ts`), where keys are whole numbers in dense ranges, or codes of texts,
 * and all aggregates are folds of numbers without nulls; in two passes where variances need the means first. Else, or where a key turns
 * out to lie outside its window, the caller uses `groupRun.ts`, which gives the same bits.
 */

import { combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Column } from '../../../../core/data/column.ts'
import type { Aggregate, WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { BLOCK_ROWS } from '../../../kernels/columns/wasmColumns.ts'
import type { ExecBatch } from '../../operators/batches.ts'
import { extremesColumn, numbersColumn } from '../../operators/groupBy/groupStatistics.ts'
import { groupRows } from '../../operators/groupBy/hashAggregate.ts'
import type { CodedKeys } from '../columnProgram.ts'
import type { ColumnRun } from '../columnRun.ts'
import { groupKeys, passKey, passWindows } from './groupKeys.ts'
import { type Pass, type PassSizes, type Records, recordsOf } from './groupRecords.ts'
import { type FoldOfCall, isSpread, type PassFolds, PassSources, passFolds } from './groupSources.ts'

/**
 * The lists of a unit, and the values copied to them, fit the core's caches. Records of few groups stay in those of their adder, and
 * reading the lists takes longer than adding them. The speed of an adder bounds that of all workers.
 */
export const SIZES: PassSizes = {
  unitRows: 2 * BLOCK_ROWS,
  splitBytes: 2 ** 22,
  nearBytes: 2 ** 15,
  rowsBytes: 2 ** 15,
  mostWorkers: 3,
  keysLookedAt: 2 ** 16,
}

export interface GroupedColumns {
  readonly batch: ExecBatch
  readonly coded: CodedKeys
  /** The number of passes over the rows: a second one for variances. */
  readonly passes: 1 | 2
}

/** The groups in order of first appearance, with their aggregates; undefined where the pass cannot compute them, or there are no groups. */
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
  const squares = await squaresOf(run, { key, windows, folds, sizes, aggregates }, records)
  if (squares === undefined) return undefined
  const columns = groupColumns(folds, records, squares)
  const keys = groupKeys(key, windows, records.places)
  return {
    batch: groupRows(keys, { method: method ?? 'agg', named: aggregates, columns }),
    coded: key.coded,
    passes: squares.size > 0 ? 2 : 1,
  }
}

/** The columns of the aggregates, by group; `squares` where there are variances. */
export function groupColumns({ of }: PassFolds, records: Records, squares: Squares = new Map()): readonly Column[] {
  return of.map((fold) => folded(fold, records, squares))
}

/** By fold: the sums of squared differences from the mean of each group, for variances; computed by a second pass. */
type Squares = ReadonlyMap<number, Float64Array>

async function squaresOf(
  run: ColumnRun,
  { aggregates, ...pass }: Pick<Pass, 'key' | 'windows' | 'folds' | 'sizes'> & { readonly aggregates: readonly Aggregate[] },
  records: Records,
): Promise<Squares | undefined> {
  const spread = [...new Set(pass.folds.of.filter(isSpread).map(({ fold }) => fold))]
  if (spread.length === 0) return new Map()
  const sources = new PassSources(run)
  const sums = passFolds(run, aggregates.filter(isSpread), sources) // in the order of `spread`
  if (sums === undefined) return undefined
  const folds = { ...sums, kinds: spread.map(() => 'squares' as const) }
  const means = { places: records.places, of: spread.map((fold) => meansOf(fold, records)) }
  const found = await recordsOf(run, { ...pass, folds, sources, means })
  return found && new Map(spread.map((fold, i) => [fold, sumsOf(i, found)]))
}

/** The sums of a fold by group: its full chunks and then the open one, combined pairwise. */
export function sumsOf(fold: number, { places, values, chunks }: Records): Float64Array {
  const found = values[fold] ?? new Float64Array(places.length)
  const full = chunks[fold]
  if (full === undefined) return found
  return found.map((open, group) => {
    const list = full.get(places[group] as number) // a place for each group
    return list === undefined ? open : (combinePairwise([...list, open], (a, b) => a + b) as number) // it is not empty
  })
}

/** The means of a sum's values by group. */
export function meansOf(fold: number, records: Records): Float64Array {
  return sumsOf(fold, records).map((sum, group) => sum / (records.counts[group] as number)) // a count for each group
}

function folded({ kind, fold, type }: FoldOfCall, records: Records, squares: Squares): Column {
  const { counts, values } = records
  switch (kind) {
    case 'count':
      return numbersColumn(counts)
    case 'min':
    case 'max':
      return extremesColumn(values[fold] ?? counts, type)
    case 'sum':
      return numbersColumn(sumsOf(fold, records))
    case 'mean':
      return numbersColumn(meansOf(fold, records))
    case 'variance':
    case 'stddev': {
      const variances = (squares.get(fold) ?? counts).map((sum, group) => sum / ((counts[group] as number) - 1)) // a fold of squares for each
      const values = kind === 'variance' ? variances : variances.map(Math.sqrt)
      const present = Int32Array.from(counts, (count) => (count < 2 ? 0 : 1))
      return numbersColumn(
        values.map((value, group) => (present[group] === 0 ? 0 : value)),
        present,
      )
    }
  }
}
