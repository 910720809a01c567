/** Aggregates that are functions of a group's numbers, and columns of aggregates' results. */
import type { Column } from '../../../../core/data/column.ts'
import { FIXED_FORMS, isFixedKind } from '../../../../core/data/fixedValues.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { deviationOf, varianceOf } from './aggregates.ts'
import { kurtosisOf, skewOf } from './moments.ts'
import { quantileOf } from './selection.ts'
import { quantileSketchOf } from './sketches.ts'

/** The aggregate as a function of a group's numbers in row order, which it may reorder; undefined for an aggregate that is none. */
export function statisticOf(call: Aggregate): ((values: Float64Array) => number | null) | undefined {
  switch (call.kind) {
    case 'variance':
      return varianceOf
    case 'stddev':
      return deviationOf
    case 'skew':
      return skewOf
    case 'kurtosis':
      return kurtosisOf
    case 'quantile':
      return (values) => quantileOf(values, call.q ?? 0.5)
    case 'approxQuantile':
      return (values) => quantileSketchOf(values).quantile(call.q ?? 0.5)
    case 'countDistinct':
    case 'approxCountDistinct':
    case 'count':
    case 'sum':
    case 'mean':
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'collect':
    case 'mode':
    case 'any':
    case 'all':
    case 'argMin':
    case 'argMax':
    case 'covariance':
    case 'correlation':
    case 'aggregate':
      return undefined
  }
}

/** A column of numbers, null where `counts` says there was no value. */
export function numbersColumn(values: Float64Array, counts?: Int32Array): Column {
  return { type: { kind: 'f64' }, length: values.length, values, ...validityOf(counts) }
}

/** A column of extremes in the type of their column; null where `counts` says there was no value. */
export function extremesColumn(best: Float64Array, type: ColumnType, counts?: Int32Array): Column {
  const values = isFixedKind(type.kind) ? new FIXED_FORMS[type.kind].array(best.length) : new Float64Array(best.length)
  for (let i = 0; i < best.length; i++) values[i] = best[i] as number // folds are of types that hold numbers
  return { type, length: best.length, values, ...validityOf(counts) }
}

function validityOf(counts: Int32Array | undefined): { readonly validity?: Uint8Array } {
  if (counts === undefined || !counts.includes(0)) return {}
  const validity = new Uint8Array((counts.length + 7) >> 3)
  for (let i = 0; i < counts.length; i++) if ((counts[i] as number) > 0) validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7))
  return { validity }
}
