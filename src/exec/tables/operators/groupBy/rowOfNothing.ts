/** Aggregates of a whole table without rows: one row all the same, as in SQL. */
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import { type ColumnType, fieldsOf } from '../../../../core/data/schema.ts'
import { asColumnType } from '../../../../core/plan/elements.ts'
import { ALL_ROWS } from '../../../../core/plan/groupPlan.ts'
import type { Aggregate, WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, structBatch } from '../batches.ts'
import { foldOfNothing } from './foldedValues.ts'

/** The row of aggregates of no values; undefined where there are rows, or the operator groups by a key. */
export function rowOfNothing(operator: WideOperator, rows: number): ExecBatch | undefined {
  if (operator.kind !== 'HashAggregateExec' || operator.whole !== true || rows > 0) return undefined
  const { aggregates, element } = operator
  const types = new Map(fieldsOf(element).map(({ name, type }) => [name, type]))
  const builder = createBuilder(element.kind === 'unknown' ? undefined : asColumnType(element).type)
  builder.append({ [ALL_ROWS]: 0, ...Object.fromEntries(aggregates.map((one) => [one.name, ofNothing(one, types.get(one.name))])) })
  return structBatch(builder.finish())
}

function ofNothing({ kind, folding }: Aggregate, type: ColumnType | undefined): unknown {
  switch (kind) {
    case 'count':
    case 'countDistinct':
    case 'approxCountDistinct':
      return 0
    case 'sum':
      return type?.kind === 'i64' ? 0n : 0
    case 'collect':
      return []
    case 'mean':
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'variance':
    case 'stddev':
    case 'quantile':
    case 'approxQuantile':
    case 'any':
    case 'all':
    case 'mode':
    case 'skew':
    case 'kurtosis':
    case 'argMin':
    case 'argMax':
    case 'covariance':
    case 'correlation':
      return null
    case 'aggregate':
      return folding === undefined ? null : foldOfNothing(folding)
  }
}
