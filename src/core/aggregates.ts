/**
 * Aggregates for `groupBy(…).agg({ … })`: descriptions of what to compute for each group.
 *
 * Nulls (and undefined) are skipped, but by `first`, `last` and `collect`. Of no values `sum` is 0 and `count` 0, the others are null. Sums and means add by
 * the fixed tree of reductions over the group's values in row order, so that any number of workers gives the same bits. All functions take
 * `{ env }` after their other arguments.
 */
import { PlanError } from './errors.ts'
import type { AggregateKind, WindowKind } from './logicalPlan.ts'
import { checkOptions } from './options.ts'
import type { Stored, SumOf } from './rowTypes.ts'
import { withEnv } from './withEnv.ts'

/** A table column: an aggregate to be computed for each group. */
export interface Aggregate<Row, Out> {
  readonly kind: AggregateKind
  readonly of?: (row: Row) => unknown
  /** Of aggregates of two functions, the other one. */
  readonly second?: (row: Row) => unknown
  /** For quantile: from 0 to 1. */
  readonly q?: number
  /** Never set: carries the type. */
  readonly out?: Out
}

/** Values that the function takes after the row. They are read when an action is called, as captured ones. */
export interface WithEnv<E extends object> {
  readonly env?: E
}

/** Marks what these functions return, so that anything else given to `agg` is recognised. */
const AGGREGATE: unique symbol = Symbol('aggregate')

function aggregate<Row, Out>(
  kind: AggregateKind,
  of: ((row: Row, env: never) => unknown) | undefined,
  options: { readonly env?: object },
  q?: number,
): Aggregate<Row, Out> {
  const given = of === undefined && kind === 'count' ? noArgument(kind, options) : argumentOf<Row>(kind, of, options)
  return marked({ kind, ...given, ...(q === undefined ? {} : { q }) })
}

function marked<Row, Out>(plain: Aggregate<Row, Out>): Aggregate<Row, Out> {
  return Object.freeze(Object.defineProperty(plain, AGGREGATE, { value: true }))
}

function noArgument(kind: AggregateKind, options: object): object {
  checkOptions(`${kind}()`, options, ['env'])
  return {}
}

/** What is computed of each row. */
export function argumentOf<Row>(
  kind: AggregateKind | WindowKind,
  of: ((row: Row, env: never) => unknown) | undefined,
  options: { readonly env?: object },
): { readonly of: (row: Row) => unknown } {
  const verb = of === undefined ? 'needs' : 'takes'
  if (typeof of !== 'function') throw new PlanError(`${kind}() ${verb} a function of (row), as in ${kind}((row) => row.price).`)
  checkOptions(`${kind}()`, options, ['env'])
  return { of: withEnv(kind, of, options, 1) as (row: Row) => unknown } // with the row alone
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
  return aggregate('sum', of, options)
}

/** The arithmetic mean; null of nothing. */
export function mean<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return aggregate('mean', of, options)
}

/** The smallest value: numbers as `Math.min` (NaN wins, -0 < 0), others by `<`; null of nothing. */
export function min<Row, V extends number | bigint | string | Date | null | undefined, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<V> | null> {
  return aggregate('min', of, options)
}

/** The largest value: numbers as `Math.max` (NaN wins, -0 < 0), others by `<`; null of nothing. */
export function max<Row, V extends number | bigint | string | Date | null | undefined, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<V> | null> {
  return aggregate('max', of, options)
}

/** Without a function the rows of the group; with one its results that are not null. */
export function count<Row, E extends object = object>(
  of?: (row: Row, env: E) => unknown,
  options: WithEnv<E> = {},
): Aggregate<Row, number> {
  return aggregate('count', of, options)
}

/** How many different values there are, nulls not counted; NaN equals NaN and -0 equals 0. Keeps them in memory. */
export function countDistinct<Row, E extends object = object>(
  of: (row: Row, env: E) => unknown,
  options: WithEnv<E> = {},
): Aggregate<Row, number> {
  return aggregate('countDistinct', of, options)
}

/** The value of the group's first row, null if it is that. */
export function first<Row, V, E extends object = object>(of: (row: Row, env: E) => V, options: WithEnv<E> = {}): Aggregate<Row, Stored<V>> {
  return aggregate('first', of, options)
}

/** The value of the group's last row, null if it is that. */
export function last<Row, V, E extends object = object>(of: (row: Row, env: E) => V, options: WithEnv<E> = {}): Aggregate<Row, Stored<V>> {
  return aggregate('last', of, options)
}

/** The value that most rows have, of as frequent ones that which comes first; NaN equals NaN and -0 equals 0. Null of nothing. Keeps the values in memory. */
export function mode<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, NonNullable<Stored<V>> | null> {
  return aggregate('mode', of, options)
}

type Comparable = number | bigint | string | Date | null | undefined

/** What `of` gives of the first row where `by` is least, as `min` has it: NaN is. Rows whose `by` is null are passed over; null of nothing, and where the row's value is that. */
export function argMin<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  by: (row: Row, env: E) => Comparable,
  options: WithEnv<E> = {},
): Aggregate<Row, Stored<V> | null> {
  return pairAggregate('argMin', of, by, options)
}

/** What `of` gives of the first row where `by` is greatest, as `max` has it: NaN is. Rows whose `by` is null are passed over; null of nothing, and where the row's value is that. */
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
  return aggregate('any', of, options)
}

/** Whether the function is true of all rows for which it is not null; null of nothing. */
export function all<Row, E extends object = object>(
  of: (row: Row, env: E) => boolean | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, boolean | null> {
  return aggregate('all', of, options)
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
  return aggregate('skew', of, options)
}

/** The excess kurtosis of a sample: 0 of a normal distribution, above where more lies far from the mean. Null of fewer than four, NaN of values that are all the same. */
export function kurtosis<Row, E extends object = object>(
  of: (row: Row, env: E) => Numeric,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return aggregate('kurtosis', of, options)
}

/** The sample variance (divided by n - 1), in two passes; null of fewer than two values. */
export function variance<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return aggregate('variance', of, options)
}

/** The sample standard deviation: the square root of `variance`. */
export function stddev<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  return aggregate('stddev', of, options)
}

/** The value at the fraction `q` of the sorted values, interpolated linearly: 0.5 is the median. Keeps the group in memory. */
export function quantile<Row, E extends object = object>(
  of: (row: Row, env: E) => number | null | undefined,
  q: number,
  options: WithEnv<E> = {},
): Aggregate<Row, number | null> {
  if (typeof q !== 'number' || !(q >= 0 && q <= 1))
    throw new PlanError(`The q of quantile() is a number from 0 to 1; it was given ${String(q)}.`)
  return aggregate('quantile', of, options, q)
}

/** All values of the group in row order, as an array, nulls included. */
export function collect<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> = {},
): Aggregate<Row, Stored<V>[]> {
  return aggregate('collect', of, options)
}
