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
  const plain: Aggregate<Row, Out> = { kind, ...given, ...(q === undefined ? {} : { q }) }
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
