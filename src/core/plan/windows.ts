/**
 * Window functions for `window({ by, orderBy, frame }, { … })`: what to compute for each row from the rows around it. The aggregates
 * `sum mean min max count any all` of `aggregates.ts` are window functions too, over the frame of each row.
 *
 * All functions take `{ env }` after their other arguments.
 */

import { checkBoolean, checkCount } from '../arguments.ts'
import type { SortBy, SortKey } from '../arrays/sortKey.ts'
import type { Stored } from '../data/rowTypes.ts'
import { checkOptions } from '../options.ts'
import { argumentOf, isAggregate, type WithEnv } from './aggregates.ts'
import type { AggregateKind, WindowKind } from './logicalPlan.ts'

/** A column that `window` adds. */
export interface WindowFunction<Row, Out> {
  readonly kind: WindowKind | AggregateKind
  readonly of?: (row: Row) => unknown
  /** The number of rows away for lag and lead, of parts for ntile. */
  readonly n?: number
  readonly ignoresNulls?: true
  /** Never set: carries the type. */
  readonly out?: Out
}

/** The first and the last row of a frame, relative to its row, or the first and the last value of the order; null is the end of the partition. */
export type FrameEnds = readonly [from: number | null, to: number | null]

/**
 * The rows that a window function sees: `{ rows: [-6, 0] }` the row and six before it, `{ range: [-60_000, 0] }` rows whose value of the
 * order is at most 60,000 less (of dates: milliseconds). In a descending order both count along the order.
 */
export type Frame = { readonly rows: FrameEnds; readonly range?: never } | { readonly range: FrameEnds; readonly rows?: never }

export interface WindowOver<Row, E extends object = object> {
  /** Rows with equal values are a partition, as in `groupBy`; without it all rows are one. */
  readonly by?: (row: Row, env: E) => unknown
  /** The order inside a partition, as in `sortBy`: a function, or a list of values that have an order each; without it that of the table. Equal rows are peers, and stay in their order. */
  readonly orderBy?: ((row: Row, env: E) => SortKey | readonly SortKey[]) | readonly (SortBy<Row, E> | ((row: Row, env: E) => SortKey))[]
  /** Whether an order by one function descends. */
  readonly descending?: boolean
  /** The frame. Default: with `orderBy` from the partition's first row to the last peer of the row, else the whole partition, as in SQL. */
  readonly frame?: Frame
  readonly env?: E
}

/** The row with the columns that window functions add. */
export type Windowed<T, W> = T extends unknown
  ? Omit<T, keyof W> & { -readonly [N in keyof W]: W[N] extends WindowFunction<never, infer V> ? V : never }
  : never

/** Marks what these functions return, so that anything else given to `window` is recognised. */
const WINDOW: unique symbol = Symbol('window function')

function windowFunction<Row, Out>(
  kind: WindowKind,
  n?: number,
  given: { readonly of?: (row: Row) => unknown; readonly ignoresNulls?: true } = {},
): WindowFunction<Row, Out> {
  const plain: WindowFunction<Row, Out> = { kind, ...given, ...(n === undefined ? {} : { n }) }
  return Object.freeze(Object.defineProperty(plain, WINDOW, { value: true }))
}

/** Whether a value was made by one of the functions below, or is an aggregate. */
export function isWindowFunction(value: unknown): value is WindowFunction<never, unknown> {
  return isAggregate(value) || (typeof value === 'object' && value !== null && WINDOW in value)
}

/** The number of the row in its partition, from 1 on; peers are numbered as they come. */
export function rowNumber<Row>(): WindowFunction<Row, number> {
  return windowFunction('rowNumber')
}

/** The rank of the row: one more than the rows before it that are no peers, as 1, 1, 3. */
export function rank<Row>(): WindowFunction<Row, number> {
  return windowFunction('rank')
}

/** The dense rank of the row: one more than the different values of the order before it, as 1, 1, 2. */
export function denseRank<Row>(): WindowFunction<Row, number> {
  return windowFunction('denseRank')
}

/** The rank from 0 to 1: `(rank - 1) / (rows - 1)`, 0 in a partition of one row. */
export function percentRank<Row>(): WindowFunction<Row, number> {
  return windowFunction('percentRank')
}

/** The number of the row's part, from 1 on, where the partition is cut into `n` parts in order, the first ones a row larger. */
export function ntile<Row>(n: number): WindowFunction<Row, number> {
  checkCount('The number of parts of ntile()', n, 1)
  return windowFunction('ntile', n)
}

/** The value of the row `n` rows before; null where there is no such row, or its value is null. */
export function lag<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  n: number = 1,
  options: WithEnv<E> = {},
): WindowFunction<Row, Stored<V> | null> {
  checkCount('The number of rows of lag()', n, 0)
  return windowFunction('lag', n, argumentOf<Row>('lag', of, options))
}

/** The value of the row `n` rows behind; null where there is no such row, or its value is null. */
export function lead<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  n: number = 1,
  options: WithEnv<E> = {},
): WindowFunction<Row, Stored<V> | null> {
  checkCount('The number of rows of lead()', n, 0)
  return windowFunction('lead', n, argumentOf<Row>('lead', of, options))
}

/** The value of the frame's first row, even where it is null; null of a frame without rows. `ignoreNulls`: of the first row whose value is not null. */
export function firstValue<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> & { readonly ignoreNulls?: boolean } = {},
): WindowFunction<Row, Stored<V> | null> {
  return windowFunction('firstValue', undefined, ofFrame<Row>('firstValue', of, options))
}

/** The value of the frame's last row, even where it is null; null of a frame without rows. `ignoreNulls`: of the last row whose value is not null. */
export function lastValue<Row, V, E extends object = object>(
  of: (row: Row, env: E) => V,
  options: WithEnv<E> & { readonly ignoreNulls?: boolean } = {},
): WindowFunction<Row, Stored<V> | null> {
  return windowFunction('lastValue', undefined, ofFrame<Row>('lastValue', of, options))
}

/** The checked arguments of firstValue and lastValue. */
function ofFrame<Row>(
  kind: 'firstValue' | 'lastValue',
  of: (row: Row, env: never) => unknown,
  options: { readonly env?: object; readonly ignoreNulls?: boolean },
): { readonly of: (row: Row) => unknown; readonly ignoresNulls?: true } {
  checkOptions(`${kind}()`, options, ['env', 'ignoreNulls'])
  const { ignoreNulls = false, ...rest } = options
  checkBoolean(`The ignoreNulls of ${kind}()`, ignoreNulls)
  return { ...argumentOf<Row>(kind, of, rest), ...(ignoreNulls ? { ignoresNulls: true } : {}) }
}
