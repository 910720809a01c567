/** Aggregates of groups and windows as Spark's, with JavaScript's answers for nothing, NaN, and the order of texts. */
import type { AggregateKind } from '../../core/logicalPlan.ts'
import type { Span } from '../../core/span.ts'
import { call, cast, distinctCall, double, NULL, when } from './build.ts'
import type { Expression } from './messages.ts'
import { Untranslated } from './untranslated.ts'
import { codeUnits, DOUBLE, equalForm, isIntegral, type Value } from './values.ts'

/** Of what is computed of the rows of a group; `over` puts each of Spark's aggregates over a window. */
export interface Aggregated {
  readonly kind: AggregateKind
  /** Absent of a count of rows. It is cheap to use several times. */
  readonly value?: Value
  readonly q?: number | undefined
  readonly span: Span | undefined
  readonly over: (aggregate: Expression) => Expression
}

export function aggregate({ kind, value, q, span, over }: Aggregated): Expression {
  if (value === undefined) return cast(over(call('count', { literal: { integer: 1 } })), 'DOUBLE')
  const { is } = value
  switch (kind) {
    case 'count':
      return cast(over(call('count', value.expr)), 'DOUBLE')
    case 'countDistinct':
      return cast(over(distinctCall('count', equalForm(value))), 'DOUBLE')
    case 'sum':
      return call('coalesce', over(call('sum', doubleOf(value, span))), double(0))
    case 'mean':
      return over(call('avg', doubleOf(value, span)))
    case 'variance':
    case 'stddev': {
      const number = doubleOf(value, span)
      const spread = over(call(kind === 'variance' ? 'var_samp' : 'stddev_samp', number))
      return when([[call('>', over(call('count', number)), { literal: { long: 1n } }), spread]], cast(NULL, 'DOUBLE'))
    }
    case 'quantile':
      return over(call('percentile', doubleOf(value, span), double(q ?? 0)))
    case 'min':
    case 'max': {
      if (is === 'string') return over(call(kind === 'min' ? 'min_by' : 'max_by', value.expr, codeUnits(value.expr)))
      const found = over(call(kind, value.expr))
      // NaN is Spark's largest number, and JavaScript's answer to both questions
      if (kind === 'max' || is !== 'number' || isIntegral(value)) return found
      const anyNaN = call('coalesce', over(call('bool_or', call('isnan', value.expr))), { literal: { boolean: false } })
      return when([[anyNaN, cast(double(Number.NaN), value.type.kind === 'f32' ? 'FLOAT' : 'DOUBLE')]], found)
    }
    case 'any':
    case 'all':
      return over(call(kind === 'any' ? 'bool_or' : 'bool_and', value.expr))
    case 'mode':
    case 'argMin':
    case 'argMax':
    case 'skew':
    case 'kurtosis':
    case 'covariance':
    case 'correlation':
    case 'aggregate':
    case 'approxCountDistinct':
    case 'approxQuantile':
      throw new Untranslated(`computes a ${kind}, which is not translated`, span, 'Use fallback: "local".')
    case 'first':
    case 'last':
    case 'collect':
      throw new Untranslated(
        `takes the ${kind === 'collect' ? 'values' : kind} of a group in the order of its rows, which Spark does not keep`,
        span,
        kind === 'collect' ? 'Use fallback: "local".' : `Use window() with an orderBy and ${kind}Value().`,
      )
  }
}

/** A number as DOUBLE; null stays, and is not counted. */
function doubleOf(value: Value, span: Span | undefined): Expression {
  if (value.is === 'null') return cast(NULL, 'DOUBLE')
  if (value.is === 'bigint') throw new Untranslated('adds bigints, which Spark does with 64 bits', span, 'Read the column as numbers.')
  return value.type.kind === DOUBLE.kind && !isIntegral(value) ? value.expr : cast(value.expr, 'DOUBLE')
}
