/** Aggregates of groups and windows as Spark's, with JavaScript's answers for nothing, NaN, and the order of texts. */
import type { AggregateKind } from '../../core/plan/logicalPlan.ts'
import type { Span } from '../../core/span.ts'
import { sumOfBigints } from './expressions/bigints.ts'
import { and, call, cast, distinctCall, double, int, long, NULL, not, or, text, when } from './expressions/build.ts'
import { codeUnits, DOUBLE, equalForm, isIntegral, type Value } from './expressions/values.ts'
import type { Expression } from './messages.ts'
import { Untranslated } from './untranslated.ts'

/** Ranks that an approximate quantile tells apart. */
const RANKS = 10_000

/** An aggregate of the rows of a group; `over` puts each of Spark's aggregates over a window. */
export interface Aggregated {
  readonly kind: AggregateKind
  /** The value that is aggregated, cheap to use several times; absent for a count of rows. */
  readonly value?: Value
  /** The value by which extremes are taken, or the other number of a pair. */
  readonly second?: Value
  readonly q?: number | undefined
  readonly span: Span | undefined
  readonly over: (aggregate: Expression) => Expression
  /** Whether it is over windows that rows leave again. */
  readonly moves?: boolean
}

export function aggregate({ kind, value, second, q, span, over, moves = false }: Aggregated): Expression {
  if (value === undefined) return cast(over(call('count', { literal: { integer: 1 } })), 'DOUBLE')
  const { is } = value
  switch (kind) {
    case 'count':
      return cast(over(call('count', value.expr)), 'DOUBLE')
    case 'countDistinct':
      return cast(over(distinctCall('count', equalForm(value))), 'DOUBLE')
    case 'sum':
    case 'mean': {
      if (is === 'bigint' && kind === 'sum') return call('coalesce', sumOfBigints(value.expr, over), long(0n))
      const number = doubleOf(value, span)
      const found = (of: Expression): Expression => over(call(kind === 'sum' ? 'sum' : 'avg', of))
      const total = moves && is === 'number' && !isIntegral(value) ? ofMovingFrame(number, found, over) : found(number)
      return kind === 'sum' ? call('coalesce', total, double(0)) : total
    }
    case 'variance':
    case 'stddev': {
      const number = doubleOf(value, span)
      const spread = over(call(kind === 'variance' ? 'var_samp' : 'stddev_samp', number))
      return when([[call('>', over(call('count', number)), { literal: { long: 1n } }), spread]], cast(NULL, 'DOUBLE'))
    }
    case 'quantile':
      return quantile({ number: doubleOf(value, span), isWhole: is !== 'number' || isIntegral(value), q: q ?? 0, over })
    case 'min':
    case 'max': {
      if (is === 'string') return over(call(kind === 'min' ? 'min_by' : 'max_by', value.expr, codeUnits(value.expr)))
      if (is !== 'number' || isIntegral(value)) return over(call(kind, value.expr))
      return extreme({ kind, number: value.expr, type: value.type.kind === 'f32' ? 'FLOAT' : 'DOUBLE', over })
    }
    case 'any':
    case 'all':
      // numbers, since Sail has no truths in frames that move
      return call('=', over(call(kind === 'any' ? 'max' : 'min', cast(value.expr, 'INT'))), int(1))
    case 'mode':
      // Sail has none of truths
      if (is === 'boolean') return call('=', over(call('mode', cast(value.expr, 'INT'))), int(1))
      return over(call('mode', equalForm(value)))
    case 'argMin':
    case 'argMax':
      return over(call(kind === 'argMin' ? 'min_by' : 'max_by', value.expr, extremesOrder(second ?? value, kind)))
    case 'skew':
    case 'kurtosis':
      return moment(kind, doubleOf(value, span), over)
    case 'covariance':
    case 'correlation':
      return ofPairs(kind, doubleOf(value, span), doubleOf(second ?? value, span), over)
    case 'approxCountDistinct':
      // Sail takes no doubles; their texts are as many
      return cast(over(call('approx_count_distinct', cast(equalForm(value), 'STRING'))), 'DOUBLE')
    case 'approxQuantile':
      return over(call('approx_percentile', doubleOf(value, span), double(q ?? 0), int(RANKS)))
    case 'aggregate':
      throw new Untranslated('calls functions of your own for each row', span, 'Use fallback: "local".')
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

/** The expression that orders rows by a value as `min` or `max` do, for which NaN is the answer; null is none. */
function extremesOrder(value: Value, kind: 'argMin' | 'argMax'): Expression {
  const { expr, is } = value
  if (is === 'string') return codeUnits(expr)
  if (is !== 'number' || isIntegral(value)) return expr
  const isNone = call('isnan', expr)
  const place = cast(kind === 'argMin' ? not(isNone) : isNone, 'INT')
  const none = cast(NULL, 'STRUCT<nan: INT, value: DOUBLE>')
  const number = when([[isNone, double(0)]], cast(expr, 'DOUBLE'))
  return when([[call('isnotnull', expr), call('named_struct', text('nan'), place, text('value'), number)]], none)
}

/** The moment of a sample, from that of a population which Spark has; Spark has null where all are the same. */
function moment(kind: 'skew' | 'kurtosis', number: Expression, over: Aggregated['over']): Expression {
  const n = cast(over(call('count', number)), 'DOUBLE')
  const of = over(call(kind === 'skew' ? 'skewness' : 'kurtosis', number))
  const less = (by: number): Expression => call('-', n, double(by))
  const skewed = call('/', call('*', of, call('sqrt', call('*', n, less(1)))), less(2))
  const heavy = call('/', call('*', less(1), call('+', call('*', call('+', n, double(1)), of), double(6))), call('*', less(2), less(3)))
  const least = kind === 'skew' ? 3 : 4
  const known = call('coalesce', kind === 'skew' ? skewed : heavy, double(Number.NaN))
  return when([[call('>=', n, double(least)), known]], cast(NULL, 'DOUBLE'))
}

/** The covariance or correlation over rows where both are numbers; Spark has null where one of the two is always the same. */
function ofPairs(kind: 'covariance' | 'correlation', x: Expression, y: Expression, over: Aggregated['over']): Expression {
  const pairs = over(call('count', call('+', x, y)))
  const found = over(call(kind === 'covariance' ? 'covar_samp' : 'corr', x, y))
  return when([[call('>', pairs, int(1)), call('coalesce', found, double(Number.NaN))]], cast(NULL, 'DOUBLE'))
}

interface Extreme {
  readonly kind: 'min' | 'max'
  readonly number: Expression
  readonly type: 'FLOAT' | 'DOUBLE'
  readonly over: Aggregated['over']
}

/**
 * The least or largest number. NaN is JavaScript's answer to both, Spark's largest number, and none for Sail where others are. Sail
 * begins with the largest finite number, which infinity is no less than: the number farthest from what is asked is left out.
 */
function extreme({ kind, number, type, over }: Extreme): Expression {
  const farthest = cast(double(kind === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY), type)
  const found = over(call(kind, when([[call('=', number, farthest), cast(NULL, type)]], number)))
  return when(
    [
      [call('>', countOfNaN(number, over), int(0)), cast(double(Number.NaN), type)],
      [and(call('isnull', found), call('>', over(call('count', number)), int(0))), farthest],
    ],
    found,
  )
}

interface Quantile {
  readonly number: Expression
  /** Whether the numbers are never NaN. */
  readonly isWhole: boolean
  readonly q: number
  readonly over: Aggregated['over']
}

/**
 * The value at `q` of those in order, or between the two around it, as it is here: NaN is the largest number, and has no
 * place in the order of Sail; what lies between infinities is computed by each engine in its way. They are counted, and
 * both engines asked for the others alone.
 */
function quantile({ number, isWhole, q, over }: Quantile): Expression {
  if (isWhole) return over(call('percentile', number, double(q)))
  const known = over(call('count', number))
  const place = call('*', double(q), cast(call('-', known, int(1)), 'DOUBLE'))
  const [below, above] = [call('floor', place), call('ceil', place)]
  const [most, least] = [double(Number.POSITIVE_INFINITY), double(Number.NEGATIVE_INFINITY)]
  const leasts = countOf(call('=', number, least), over)
  const numbers = call('-', known, countOfNaN(number, over))
  const behind = call('-', numbers, countOf(call('=', number, most), over))
  const some = call('>', known, int(0))
  return when(
    [
      [and(some, call('>=', above, numbers)), double(Number.NaN)],
      [and(some, call('<', below, leasts), call('>=', above, leasts)), double(Number.NaN)],
      [and(some, call('<', above, leasts)), least],
      [and(some, call('>=', below, behind)), most],
    ],
    over(call('percentile', when([[call('isnan', number), most]], number), double(q))),
  )
}

function countOfNaN(number: Expression, over: Aggregated['over']): Expression {
  return countOf(call('isnan', number), over)
}

function countOf(test: Expression, over: Aggregated['over']): Expression {
  return call('coalesce', over(call('sum', when([[test, int(1)]], int(0)))), int(0))
}

/**
 * An aggregate over a moving frame. Sail subtracts what leaves a frame, and infinity less infinity is NaN for all rows to come:
 * numbers that are not finite are counted instead.
 */
function ofMovingFrame(number: Expression, found: (of: Expression) => Expression, over: Aggregated['over']): Expression {
  const [most, least] = [double(Number.POSITIVE_INFINITY), double(Number.NEGATIVE_INFINITY)]
  const isMost = call('=', number, most)
  const isLeast = call('=', number, least)
  const has = (test: Expression): Expression => call('>', countOf(test, over), int(0))
  const finite = found(when([[or(call('isnan', number), isMost, isLeast), double(0)]], number))
  return when(
    [
      [or(has(call('isnan', number)), and(has(isMost), has(isLeast))), double(Number.NaN)],
      [has(isMost), most],
      [has(isLeast), least],
    ],
    finite,
  )
}

/** A number as DOUBLE; null stays, and is not counted. */
function doubleOf(value: Value, span: Span | undefined): Expression {
  if (value.is === 'null') return cast(NULL, 'DOUBLE')
  if (value.is === 'bigint') throw new Untranslated('adds bigints, which Spark does with 64 bits', span, 'Read the column as numbers.')
  return value.type.kind === DOUBLE.kind && !isIntegral(value) ? value.expr : cast(value.expr, 'DOUBLE')
}
