/**
 * Aggregates for `groupBy(…).agg({ … })`: descriptions of what to compute for each group.
 *
 * Nulls (and undefined) are skipped, except by `first`, `last` and `collect`. Without values `sum` and `count` are 0, the others null. Sums and means add by
 * the fixed tree of reductions over the group's values in row order, so that any number of workers gives the same bits. All functions take
 * `{ env }` after their other arguments.
 */

import type { Stored, SumOf } from '../data/rowTypes.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { type Folding, mapFolding } from '../ir/folding.ts'
import { withEnv } from '../ir/withEnv.ts'
import { checkOptions } from '../options.ts'
import type { AggregateKind, WindowKind } from './logicalPlan.ts'

/** A table column: an aggregate to be computed for each group. */
export interface Aggregate<Row, Out> {
  readonly kind: AggregateKind
  readonly of?: (row: Row) => unknown
  /** The second function, of aggregates that take two. */
  readonly second?: (row: Row) => unknown
  /** The fraction of a quantile, from 0 to 1. */
  readonly q?: number
  /** The function's name where the program called a quantile by another, for messages. */
  readonly called?: 'median' | 'approxMedian'
  /** The functions of `aggregate`. */
  readonly folding?: Folding<(...args: never[]) => unknown>
  /** Never set: carries the type. */
  readonly out?: Out
}

/** Values that the function takes after the row, read when an action is called, as captured values are. */
export interface WithEnv<E extends object> {
  readonly env?: E
}

/** Marks what these functions return, so that anything else given to `agg` is recognised. */
const AGGREGATE: unique symbol = Symbol('aggregate')

function ofKind<Row, Out>(
  kind: AggregateKind,
  of: ((row: Row, env: never) => unknown) | undefined,
  options: { readonly env?: object },
  { q, called }: Pick<Aggregate<Row, Out>, 'q' | 'called'> = {},
): Aggregate<Row, Out> {
  const given = of === undefined && kind === 'count' ? noArgument(kind, options) : argumentOf<Row>(kind, of, options)
  return marked({ kind, ...given, ...(q === undefined ? {} : { q }), ...(called === undefined ? {} : { called }) })
}

function marked<Row, Out>(plain: Aggregate<Row, Out>): Aggregate<Row, Out> {
  return Object.freeze(Object.defineProperty(plain, AGGREGATE, { value: true }))
}

function noArgument(kind: AggregateKind, options: object): object {
  checkOptions(`${kind}()`, options, ['env'])
  return {}
}

/** The checked function whose values of the rows are aggregated, with its `env`. */
export function argumentOf<Row>(
  kind: AggregateKind | WindowKind | 'median' | 'approxMedian',
  of: ((row: Row, env: never) => unknown) | undefined,
  options: { readonly env?: object },
): { readonly of: (row: Row) => unknown } {
  const verb = of === undefined ? 'needs' : 'takes'
  if (typeof of !== 'function') throw new PlanError(`${kind}() ${verb} a function of (row), as in ${kind}((row) => row.price).`)
  checkOptions(`${kind}()`, options, ['env'])
  return { of: withEnv(kind, of, options, 1) as (row: Row) => unknown } // its env is bound: it takes the row alone
}

type Given<Row> = (row: Row, env: never) => unknown

function pairAggregate<Row, Out>(
  kind: AggregateKind,
  of: Given<Row>,
  second: Given<Row>,
  options: { readonly env?: object },
): Aggregate<Row, Out> {
  if (typeof of !== 'function' || typeof second !== 'function') {
    const as = kind === 'argMin' || kind === 'argMax' ? '(row) => row.name' : '(row) => row.age'
    throw new PlanError(`${kind}() takes two functions of (row), as in ${kind}(${as}, (row) => row.price).`)
  }
  return marked({ kind, ...argumentOf<Row>(kind, of, options), second: argumentOf<Row>(kind, second, options).of })
}

/** Whether a value was made by one of the functions below. */
export function isAggregate(value: unknown): value is Aggregate<never, unknown> {
  return typeof value === 'object' && value !== null && AGGREGATE in value
}

/** The sum of numbers (a number) or bigints (a bigint; an error beyond 64 bits); 0 of nothing. */
export function sum<Row, V extends number | bigint | null | undefined, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, SumOf<V>> {
  return ofKind('sum', of, options)
}

/** The arithmetic mean; null of nothing. */
export function mean<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('mean', of, options)
}

/** The smallest value: numbers as `Math.min` (NaN wins, -0 < 0), others by `<`; null of nothing. */
export function min<Row, V extends number | bigint | string | Date | null | undefined, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<V> | null> {
  return ofKind('min', of, options)
}

/** The largest value: numbers as `Math.max` (NaN wins, -0 < 0), others by `<`; null of nothing. */
export function max<Row, V extends number | bigint | string | Date | null | undefined, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<V> | null> {
  return ofKind('max', of, options)
}

/** The number of rows of the group; with a function, of those for which its result is not null. */
export function count<Row, E extends object = object>(
  of?: (row: Row, env: E) => unknown,
  options: WithEnv<E> = {},
): Aggregate<Row, number> {
  return ofKind('count', of, options)
}

/** The number of different values, nulls not counted; NaN equals NaN and -0 equals 0. Keeps them in memory. */
export function countDistinct<Row, E extends object = object>(
  of: (row: Row, env: E) => unknown,
  options: WithEnv<E> = {},
): Aggregate<Row, number> {
  return ofKind('countDistinct', of, options)
}

/** The value of the group's first row, even where it is null. */
export function first<Row, V, E extends object = object>(of: (row: Row, env: E) => V, options: WithEnv<E> = {}): Aggregate<Row, Stored<V>> {
  return ofKind('first', of, options)
}

/** The value of the group's last row, even where it is null. */
export function last<Row, V, E extends object = object>(of: (row: Row, env: E) => V, options: WithEnv<E> = {}): Aggregate<Row, Stored<V>> {
  return ofKind('last', of, options)
}

/** The value that most rows have, the first of equally frequent ones; NaN equals NaN and -0 equals 0. Null of nothing. Keeps the values in memory. */
export function mode<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<Stored<V>> | null> {
  return ofKind('mode', of, options)
}

type Comparable = number | bigint | string | Date | null | undefined

/** The value of `of` in the first row where `by` is least, by the order of `min`, in which NaN comes first. Rows whose `by` is null are passed over; null of nothing, and where that row's value is null. */
export function argMin<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  by: (row: Row, env: E) => Comparable,
  options: WithEnv<E> = {},
): Aggregate<Row, Stored<V> | null> {
  return pairAggregate('argMin', of, by, options)
}

/** The value of `of` in the first row where `by` is greatest, by the order of `max`, in which NaN comes last. Rows whose `by` is null are passed over; null of nothing, and where that row's value is null. */
export function argMax<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  by: (row: Row, env: E) => Comparable,
  options: WithEnv<E> = {},
): Aggregate<Row, Stored<V> | null> {
  return pairAggregate('argMax', of, by, options)
}

/** Whether the function is true of some row; null of nothing. */
export function any<Row, E extends object = object>(
  of: (row: Row, env: E) => boolean | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, boolean | null> {
  return ofKind('any', of, options)
}

/** Whether the function is true of all rows for which it is not null; null of nothing. */
export function all<Row, E extends object = object>(
  of: (row: Row, env: E) => boolean | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, boolean | null> {
  return ofKind('all', of, options)
}

type Numeric = number | null | undefined

/** The sample covariance (divided by n - 1) of the rows where both are numbers; null of fewer than two. */
export function covariance<Row, E extends object = object>(
  x: (row: Row, env: E) => Numeric,
  y: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return pairAggregate('covariance', x, y, options)
}

/** Pearson's correlation, from -1 to 1, of the rows where both are numbers; null of fewer than two, NaN where one of the two is always the same. */
export function correlation<Row, E extends object = object>(
  x: (row: Row, env: E) => Numeric,
  y: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return pairAggregate('correlation', x, y, options)
}

/** The skew of a sample: 0 where values lie alike on both sides of their mean, above where some lie far beyond it. Null of fewer than three, NaN of values that are all the same. */
export function skew<Row, E extends object = object>(
  of: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('skew', of, options)
}

/** The excess kurtosis of a sample: 0 of a normal distribution, above where more lies far from the mean. Null of fewer than four, NaN of values that are all the same. */
export function kurtosis<Row, E extends object = object>(
  of: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('kurtosis', of, options)
}

/** The sample variance (divided by n - 1), in two passes; null of fewer than two values. */
export function variance<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('variance', of, options)
}

/** The sample standard deviation: the square root of `variance`. */
export function stddev<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('stddev', of, options)
}

/** The value at the fraction `q` of the sorted values, interpolated linearly: 0.5 is the median. Keeps the group in memory. */
export function quantile<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  q: number,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('quantile', of, options, { q: fraction('quantile', q) })
}

/** `quantile` of 0.5: the value in the middle, or halfway between the two that are. Keeps the group in memory. */
export function median<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('quantile', argumentOf<Row>('median', of, options).of, {}, { q: 0.5, called: 'median' })
}

function fraction(kind: AggregateKind, q: number): number {
  if (typeof q === 'number' && q >= 0 && q <= 1) return q
  throw new PlanError(`The q of ${kind}() is a number from 0 to 1; it was given ${String(q)}.`)
}

/**
 * The approximate number of different values, by HyperLogLog: exact up to 256, beyond with a standard error of 1.6 %. It keeps 4 KiB a group at
 * most, and gives the same for the same set of values, in whatever order and on any number of workers.
 */
export function approxCountDistinct<Row, E extends object = object>(
  of: (row: Row, env: E) => unknown,
  options: WithEnv<E> = {},
): Aggregate<Row, number> {
  return ofKind('approxCountDistinct', of, options)
}

/**
 * The approximate quantile: of up to 128 values, and at both ends, exactly that of `quantile`; of more, each of the two values that it lies between is at most 1/128 of
 * itself off (0.8 %). It keeps a count for each 1/64 that values differ by, and gives the same for the same values, in whatever order and on any number of workers.
 */
export function approxQuantile<Row, E extends object = object>(
  of: (row: Row, env: E) => Numeric,
  q: number,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('approxQuantile', of, options, { q: fraction('approxQuantile', q) })
}

/** `approxQuantile` of 0.5. */
export function approxMedian<Row, E extends object = object>(
  of: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return ofKind('approxQuantile', argumentOf<Row>('approxMedian', of, options).of, {}, { q: 0.5, called: 'approxMedian' })
}

/** All values of the group in row order, as an array, nulls included. */
export function collect<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, Stored<V>[]> {
  return ofKind('collect', of, options)
}

/** The functions of an `aggregate`: it folds a group's values into a state. */
export interface FoldOptions<V, State, Out, E extends object> {
  /** The state that a group begins with: a new one at each call. */
  readonly init: (env: E) => State
  /** The state after another value: null where the function gives null. It may change the state that it is given, and returns it. */
  readonly step: (state: State, value: V, env: E) => State
  /** Joins two states into one; the values of `a` come before those of `b`. */
  readonly merge?: (a: State, b: State, env: E) => State
  /** Makes the column's value from the last state. Without it the state is the value. */
  readonly finish?: (state: State, env: E) => Out
  readonly env?: E
}

/**
 * An aggregate of your own, over the values of `of`. Without `merge` all values of a group go through `step`, in row order; with it, 4,096 at a
 * time do, and their states through `merge` by the fixed tree of sums, so that the result is the same on any number of workers. Keeps the values in memory.
 */
export function aggregate<Row, V, State, Out, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: FoldOptions<Stored<V>, State, Out, E> & { readonly finish: (state: State, env: E) => Out },
): Aggregate<Row, Stored<Out> | null>
export function aggregate<Row, V, State, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: FoldOptions<Stored<V>, State, State, E> & { readonly finish?: never },
): Aggregate<Row, Stored<State> | null>
export function aggregate<Row, E extends object>(
  of: (row: Row, env: E) => unknown,
  options: FoldOptions<never, unknown, unknown, E>,
): Aggregate<Row, unknown> {
  if (typeof of !== 'function' || typeof options !== 'object' || options === null)
    throw new PlanError(
      'aggregate() takes a function of (row) and { init, step }, as in aggregate((row) => row.price, { init: () => 0, step: (sum, price) => sum + price }).',
    )
  checkOptions('aggregate()', options, ['init', 'step', 'merge', 'finish', 'env'])
  const { init, step, merge, finish, env } = options
  const given: Folding<Callback> = { init, step, ...(merge === undefined ? {} : { merge }), ...(finish === undefined ? {} : { finish }) }
  const takes = { init: 0, step: 2, merge: 2, finish: 1 } as const
  const folding = mapFolding(given, (f, part) => {
    if (typeof f !== 'function')
      throw new PlanError(`The ${part} of aggregate() is a function ${TAKES[part]}; it was given ${valueText(f)}.`)
    return withEnv('aggregate', f, { env }, takes[part])
  })
  return marked({ kind: 'aggregate', of: withEnv('aggregate', of, { env }, 1) as (row: Row) => unknown, folding }) // its env is bound: it takes the row alone
}

type Callback = (...args: never[]) => unknown

const TAKES: { readonly [Part in keyof Folding<unknown>]-?: string } = {
  init: 'without arguments, as in () => 0',
  step: 'of (state, value), as in (sum, price) => sum + price',
  merge: 'of (a, b), as in (a, b) => a + b',
  finish: 'of (state), as in (state) => state.sum / state.count',
}
