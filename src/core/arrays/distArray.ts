/**
 * The handle a user holds: elements of type `T` under integer keys `K`, described by a plan and computed when asked.
 *
 * A transformation checks its arguments, adds a node to the plan and gives a new handle; `core/plan` makes the nodes. Actions,
 * which hand the plan to the session, are in `arrayActions.ts`, reads and writes of single
 * elements in `arrayElements.ts`.
 */
import { checkNoMore } from '../arguments.ts'
import type {
  AllColumns,
  AsofJoined,
  AsofOptions,
  CastTo,
  Filled,
  Flat,
  IfTold,
  InferredRow,
  Joined,
  JoinFunctions,
  JoinOn,
  KeyColumns,
  PivotCell,
  Pivoted,
  PivotedByAll,
  PivotOptions,
  Renamed,
  SameColumns,
  SharedBy,
  SharedColumn,
  Unpivoted,
} from '../data/rowTypes.ts'
import type { DType } from '../data/schema.ts'
import type { Engine } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { type EnvOptions, withEnvOnly } from '../ir/withEnv.ts'
import { type BufferOptions, checkBufferOptions, UpdateBuffer } from '../loop/updateBuffer.ts'
import { checkOptions } from '../options.ts'
import type { Aggregate } from '../plan/aggregates.ts'
import { type AsofOptionsAny, asofPlan } from '../plan/asofPlan.ts'
import { dropPlan, fillNullPlan, renamePlan, unionOfPlan } from '../plan/columnPlans.ts'
import { joinPlan } from '../plan/combinations.ts'
import { distinctByPlan } from '../plan/distinctPlan.ts'
import { elementText, valueClassOf } from '../plan/elements.ts'
import { groupingOf, wholeAggPlan } from '../plan/groupPlan.ts'
import type { JoinHow, LogicalPlan } from '../plan/logicalPlan.ts'
import { foundPivotPlan, type PivotAggregate, type PivotAny, pivotNamesPlan, pivotPlan } from '../plan/pivotPlan.ts'
import { sortByPlan } from '../plan/sortKeys.ts'
import {
  type Callback,
  castPlan,
  distinctPlan,
  filterPlan,
  flatMapPlan,
  indexPlan,
  mapPartitionsPlan,
  mapPlan,
  materializePlan,
  repartitionPlan,
  type SampleGiven,
  samplePlan,
  selectPlan,
  shuffleKeysPlan,
  slicePlan,
  tailPlan,
  withColumnsPlan,
} from '../plan/transformations.ts'
import { unpivotPlan } from '../plan/unpivotPlan.ts'
import { windowPlan } from '../plan/windowPlan.ts'
import type { Windowed, WindowFunction, WindowOver } from '../plan/windows.ts'
import { showAs } from '../show/shown.ts'
import { shownArray } from '../show/shownArray.ts'
import { ArrayActions } from './arrayActions.ts'
import { insideOf, isHandle, planOfOther } from './arrayElements.ts'
import { groupedOf } from './grouped.ts'
import { actInBodies } from './handlesInBodies.ts'
import type { Shape } from './indexSpace.ts'
import type { Key } from './keys.ts'
import type { SortBy, SortKey } from './sortKey.ts'

export type { ExplainOptions, Written } from './arrayActions.ts'
export { engineOf, planOf } from './arrayElements.ts'
export type { SortBy } from './sortKey.ts'

/** The groups that `groupBy` gives, in order of first appearance. */
export interface Grouped<T, G> {
  /** One row a group: the key's columns and the aggregates. PlanError when an aggregate is named like a key column. */
  agg<A extends Readonly<Record<string, Aggregate<T, unknown>>>>(
    aggregates: A,
  ): DistArray<Flat<KeyColumns<G> & { -readonly [N in keyof A]: A[N] extends Aggregate<T, infer V> ? V : never }>>
  /** Folds the elements of each group by the fixed tree of reductions: `f` must be associative. */
  reduce<E extends object = object>(
    f: (a: T, b: T, env: E) => T,
    options?: Partial<EnvOptions<E>>,
  ): DistArray<Flat<KeyColumns<G> & { value: T }>>
  /** One element a group, from all its elements in row order. Keeps a whole group in memory. */
  map<U, E extends object = object>(f: (key: G, values: readonly T[], env: E) => U, options?: Partial<EnvOptions<E>>): DistArray<U>
  /** One row a group: the key's columns and the number of elements. */
  count(): DistArray<Flat<KeyColumns<G> & { count: number }>>
}

/** A lazy handle on an array cut into partitions; made by a session, changed by nothing but in-place writes. */
export class DistArray<T, K extends Key = readonly [number]> extends ArrayActions<T, K> {
  get #engine(): Engine {
    return insideOf(this).engine
  }

  get #plan(): LogicalPlan {
    return insideOf(this).plan
  }

  #over<U, K2 extends Key = readonly [number]>(plan: LogicalPlan): DistArray<U, K2> {
    return new DistArray<U, K2>(this.#engine, plan)
  }

  // ------------------------------------------------------------------ transformations: lazy

  /** One element for each element, under the same key. A returned object gives rows of columns, `undefined` gives null. */
  map<U>(f: (value: T, key: K) => U): DistArray<U, K>
  map<U, E extends object>(f: (value: T, key: K, env: E) => U, options: EnvOptions<E>): DistArray<U, K>
  map<U>(f: (value: T, key: K, env: never) => U, options: object = {}): DistArray<U, K> {
    return this.#over(mapPlan(this.#engine, this.#plan, withEnvOnly('map', f, options)))
  }

  /** The elements for which `f` is true. A table is numbered anew; arrays with keys of their own keep them. */
  filter<S extends T>(f: (value: T, key: K) => value is S): DistArray<S, K>
  filter(f: (value: T, key: K) => boolean): DistArray<T, K>
  filter<S extends T, E extends object>(f: (value: T, key: K, env: E) => value is S, options: EnvOptions<E>): DistArray<S, K>
  filter<E extends object>(f: (value: T, key: K, env: E) => boolean, options: EnvOptions<E>): DistArray<T, K>
  filter(f: (value: T, key: K, env: never) => boolean, options: object = {}): DistArray<T, K> {
    return this.#over(filterPlan(this.#engine, this.#plan, withEnvOnly('filter', f, options)))
  }

  /** Any number of elements for each element, in order: a table. */
  flatMap<U>(f: (value: T, key: K) => readonly U[]): DistArray<U>
  flatMap<U, E extends object>(f: (value: T, key: K, env: E) => readonly U[], options: EnvOptions<E>): DistArray<U>
  flatMap<U>(f: (value: T, key: K, env: never) => readonly U[], options: object = {}): DistArray<U> {
    return this.#over(flatMapPlan(this.#engine, this.#plan, withEnvOnly('flatMap', f, options)))
  }

  /** Calls a function with whole partitions, which follow the data and not the number of workers: a table. Runs as JavaScript. */
  mapPartitions<U>(f: (values: Iterable<T>, partition: number) => Iterable<U>): DistArray<U> {
    return this.#over(mapPartitionsPlan(this.#engine, this.#plan, f))
  }

  /** Rows with the returned object's fields as columns, added or replaced. */
  withColumns<N>(f: (value: T, key: K) => N): DistArray<T extends unknown ? Omit<T, keyof N> & N : never, K>
  withColumns<N, E extends object>(
    f: (value: T, key: K, env: E) => N,
    options: EnvOptions<E>,
  ): DistArray<T extends unknown ? Omit<T, keyof N> & N : never, K>
  withColumns<N>(
    f: (value: T, key: K, env: never) => N,
    options: object = {},
  ): DistArray<T extends unknown ? Omit<T, keyof N> & N : never, K> {
    return this.#over(withColumnsPlan(this.#engine, this.#plan, withEnvOnly('withColumns', f, options)))
  }

  /** Only these columns, in this order. PlanError with the nearest names for a column that does not exist. */
  select<C extends keyof T & string>(...columns: readonly C[]): DistArray<Pick<T, C>, K> {
    return this.#over(selectPlan(this.#plan, columns))
  }

  /** The columns under other names, at their places: `rename({ old: 'new' })`. PlanError where two would have the same. */
  rename<const N extends { readonly [C in keyof T & string]?: string }>(names: N): DistArray<Renamed<T, N>, K> {
    return this.#over(renamePlan(this.#engine, this.#plan, names))
  }

  /** All columns but these. */
  drop<C extends keyof T & string>(...columns: readonly C[]): DistArray<Omit<T, C>, K> {
    return this.#over(dropPlan(this.#plan, columns))
  }

  /**
   * Fills the nulls of columns: `fillNull({ amount: 0, name: 'previous' })`. `'previous'` and `'next'` take the value of the nearest row
   * before or behind that has one, in the order of the rows, and leave null where none has; so columns of texts cannot be filled with these two
   * words. Numbers become f64 where they are filled with a number.
   */
  fillNull<const V extends { readonly [C in keyof T]?: NonNullable<T[C]> | 'previous' | 'next' }>(values: V): DistArray<Filled<T, V>, K> {
    return this.#over(fillNullPlan(this.#engine, this.#plan, values as Readonly<Record<string, unknown>>))
  }

  /**
   * New keys for the elements: a matrix out of a table. Duplicate keys are an error unless `combine` says how two
   * elements become one. Without `shape` the largest key says it. `storage: 'dense'` fills absent keys with 0.
   */
  index<const K2 extends Key, E extends object = object>(
    f: (value: T, key: K, env: E) => K2,
    options: { combine?(a: T, b: T): T; readonly shape?: Shape; readonly storage?: 'dense' | 'sparse'; readonly env?: E } = {},
  ): DistArray<T, { readonly [A in keyof K2]: number }> {
    return this.#over(indexPlan(this.#engine, this.#plan, f, options))
  }

  /** Groups by the returned value (an object's fields become columns), or by a key axis. */
  groupBy<G>(f: (value: T, key: K) => G): Grouped<T, G>
  groupBy<G, E extends object>(f: (value: T, key: K, env: E) => G, options: EnvOptions<E>): Grouped<T, G>
  groupBy(by: { readonly axis: number }): Grouped<T, number>
  groupBy<G>(by: ((value: T, key: K, env: never) => G) | { readonly axis: number }, options: object = {}): Grouped<T, G> {
    if (typeof by !== 'function') checkOptions('groupBy() by an axis', options, [])
    const given = typeof by === 'function' ? withEnvOnly('groupBy', by, options) : by
    return groupedOf(groupingOf(this.#engine, this.#plan, given), (plan) => this.#over(plan)) as Grouped<T, G> // its methods
  }

  /** One row, of the whole table: `agg({ total: sum((r) => r.amount), n: count() })`. Of no rows `sum` and `count` are 0, as in groups. */
  agg<A extends Readonly<Record<string, Aggregate<T, unknown>>>>(
    aggregates: A,
  ): DistArray<{ -readonly [N in keyof A]: A[N] extends Aggregate<T, infer V> ? V : never }> {
    return this.#over(wholeAggPlan(this.#engine, this.#plan, aggregates))
  }

  /**
   * The values of one column as columns: a row for each different values of `rows`, in the order of their first appearance, and a column for
   * each of `names`, which are values of `columns`. A cell holds `agg` of the `values` that belong there; null where there are none
   * (a count is 0). Without `names` the columns are all values that there are, which a run of the chain finds first: hence the promise.
   */
  pivot<
    const R extends readonly (keyof T & string)[],
    C extends keyof T & string,
    A extends PivotAggregate,
    const N extends readonly T[C][],
    V extends keyof T & string = never,
  >(options: PivotOptions<R, C, A, V> & { readonly names: N }): DistArray<Pivoted<T, R, N, PivotCell<T, V, A>>>
  pivot<
    const R extends readonly (keyof T & string)[],
    C extends keyof T & string,
    A extends PivotAggregate,
    V extends keyof T & string = never,
  >(options: PivotOptions<R, C, A, V> & { readonly names?: undefined }): Promise<DistArray<PivotedByAll<T, R, PivotCell<T, V, A>>>>
  pivot(options: PivotAny): unknown {
    const { names } = options
    if (names !== undefined) return this.#over(pivotPlan(this.#engine, this.#plan, { ...options, names }))
    const found = this.#over<Record<string, unknown>>(pivotNamesPlan(this.#plan, options))
    return found.collect().then((rows) => this.#over(foundPivotPlan(this.#engine, this.#plan, options, rows)))
  }

  /**
   * Puts columns under each other: the rows once for each of `columns`, one column after another, with their `keep` columns, the
   * column's name and its value.
   */
  unpivot<
    const C extends readonly (keyof T & string)[],
    const P extends readonly (keyof T & string)[] = readonly [],
    const N extends string = 'column',
    const V extends string = 'value',
  >(options: { readonly columns: C; readonly keep?: P; readonly name?: N; readonly value?: V }): DistArray<Unpivoted<T, P, C, N, V>> {
    return this.#over(unpivotPlan(this.#engine, this.#plan, options))
  }

  /**
   * Rows of both sides whose keys are equal, in the order of the left side: columns of the same names, or what two functions return. Null matches nothing. A right column whose
   * name is taken gets the suffix, `_right` unless said otherwise. Columns of a side that may have no match may be null: see
   * `Joined`. `join<U, R>` says the row instead.
   */
  join<
    U,
    R = InferredRow,
    K2 extends Key = Key,
    const On extends SharedColumn<T, U> | readonly SharedColumn<T, U>[] | JoinFunctions<T, U> = JoinOn<T, U>,
    How extends JoinHow = 'inner',
    Suffix extends string = '_right',
  >(
    other: DistArray<U, K2>,
    on: On,
    options: { readonly how?: How | IfTold<R, JoinHow>; readonly suffix?: Suffix | IfTold<R, string> } = {},
  ): DistArray<[R] extends [InferredRow] ? Joined<T, U, SharedBy<On>, How, Suffix> : R> {
    return this.#over(joinPlan(this.#engine, this.#plan, planOfOther(this, other, 'join'), on, options))
  }

  /**
   * Each row, in its order, with the row of `other` that is nearest in the order `on`, among those that are equal by `by`: the last at or
   * before it, with `direction: 'forward'` the first at or behind it, with `'nearest'` the nearer of the two. Its columns are null where there
   * is none, or none within `tolerance` (of dates in milliseconds). Neither side has to be sorted; null and NaN match nothing. Columns given by
   * name are in the result once, as in `join`.
   */
  joinAsof<U, const O extends AsofOptions<T, U>, K2 extends Key = Key>(
    other: DistArray<U, K2>,
    options: O,
  ): DistArray<AsofJoined<T, U, O>> {
    return this.#over(asofPlan(this.#engine, this.#plan, planOfOther(this, other, 'joinAsof'), options as AsofOptionsAny))
  }

  /**
   * Ascending unless `descending`, stable, nulls last; an array sorts by its first item, then by the next. A list of `{ by, order, nulls }`
   * has an order for each value: `sortBy([{ by: (r) => r.shop }, { by: (r) => r.total, order: 'descending', nulls: 'first' }])`.
   */
  sortBy<E extends object = object>(
    f: (value: T, env: E) => SortKey | readonly SortKey[],
    options?: { readonly descending?: boolean; readonly env?: E },
  ): DistArray<T>
  sortBy(keys: readonly (SortBy<T> | ((value: T) => SortKey))[]): DistArray<T>
  sortBy(
    by: Callback | readonly (SortBy<T> | Callback)[],
    options: { readonly descending?: boolean; readonly env?: object } = {},
  ): DistArray<T> {
    return this.#over(sortByPlan(this.#engine, this.#plan, by, options))
  }

  /**
   * Rows with a column for each window function, computed over rows of the same partition; rows keep their order. With `orderBy`, and
   * without `frame`, aggregates run from the partition's first row to the last peer of the row, as in SQL.
   */
  window<W extends Readonly<Record<string, WindowFunction<T, unknown>>>, E extends object = object>(
    over: WindowOver<T, E>,
    functions: W,
  ): DistArray<Windowed<T, W>, K> {
    return this.#over(windowPlan(this.#engine, this.#plan, over, functions))
  }

  /** The first of equal elements, by content; `{ by }`: of rows for which it returns equal values, the first or the last of them. */
  distinct<E extends object = object>(options?: {
    readonly by: (row: T, env: E) => unknown
    readonly keep?: 'first' | 'last'
    readonly env?: E
  }): DistArray<T> {
    return this.#over(options === undefined ? distinctPlan(this.#plan) : distinctByPlan(this.#engine, this.#plan, options))
  }

  /** This array's elements, then the others': a table. PlanError when the columns differ, unless `{ columns: 'all' }` fills the columns that an array lacks with null. */
  union<U extends readonly SameColumns<T>[]>(...others: { readonly [I in keyof U]: DistArray<U[I], K> }): DistArray<T | U[number]>
  union<U>(other: DistArray<U, K>, options: { readonly columns: 'all' }): DistArray<AllColumns<T, U>>
  union(...given: readonly unknown[]): DistArray<never> {
    const planOf = (other: unknown): LogicalPlan => planOfOther(this, other, 'union')
    return this.#over(unionOfPlan(this.#engine, this.#plan, given, planOf))
  }

  /** `n` of the elements, or all where there are fewer, each at most once and in their order; the same ones for the same seed (the session's unless given). */
  sample(options: { readonly n: number; readonly seed?: number }): DistArray<T, K>
  /** About this fraction of the elements. */
  sample(fraction: number, options?: { readonly seed?: number }): DistArray<T, K>
  sample(given: SampleGiven, options?: { readonly seed?: number }): DistArray<T, K> {
    return this.#over(samplePlan(this.#engine, this.#plan, given, options))
  }

  /** The first `n` elements; with an offset those behind the first `offset`. */
  limit(n: number, options: { readonly offset?: number } = {}): DistArray<T, K> {
    return this.#over(slicePlan(this.#plan, n, options))
  }

  /** The last `n` elements, in their order. Computes all of them, but reads only the last pieces of files whose footers count rows. */
  tail(n: number): DistArray<T, K> {
    return this.#over(tailPlan(this.#plan, n))
  }

  /** The same elements cut into other partitions, by number or by a value; rows may change their order. */
  repartition(options: { readonly partitions?: number; readonly by?: (value: T, key: K) => unknown }): DistArray<T, K> {
    return this.#over(repartitionPlan(this.#engine, this.#plan, options))
  }

  /** Permutes the keys of some axes, to balance load; the same permutation for the same seed. */
  shuffleKeys(options: { readonly axes: readonly number[]; readonly seed: number }): DistArray<T, K> {
    return this.#over(shuffleKeysPlan(this.#plan, options))
  }

  /** Numbers of another type; a value that does not fit is an error when it is computed. */
  cast<D extends DType>(dtype: D): DistArray<CastTo<D> | Extract<T, null>, K> {
    return this.#over(castPlan(this.#plan, dtype))
  }

  /**
   * Computes at first use and keeps the result, so that later actions and in-place writes share it. Elements that have keys of their own
   * come in the order of these from then on, also where `repartition` had given them another.
   */
  materialize(): DistArray<T, K>
  materialize(...more: readonly unknown[]): DistArray<T, K> {
    checkNoMore('materialize() takes no arguments', more, 'It keeps all elements.')
    return this.#over(materializePlan(this.#plan))
  }

  /** A view for loop bodies whose `add` collects updates and causes no dependence; see `core/loop/updateBuffer.ts`. */
  buffer(options: BufferOptions = {}): UpdateBuffer<K> {
    const { element } = this.#plan
    if (element.kind === 'row' || (element.kind === 'scalar' && !['number', 'unknown'].includes(valueClassOf(element.type)))) {
      throw new PlanError(`buffer() works on arrays of numbers; the elements of this array are ${elementText(element)}.`)
    }
    checkBufferOptions(options)
    return new UpdateBuffer<K>(this, options)
  }
}

/** Whether a value is a handle. */
export function isDistArray(value: unknown): value is DistArray<unknown, Key> {
  return isHandle(value)
}

actInBodies(DistArray.prototype, (array) => (isHandle(array) ? insideOf(array).plan : undefined))

showAs(DistArray.prototype, (array) => {
  const { plan, engine } = insideOf(array)
  return shownArray(plan, engine.holdings())
})
