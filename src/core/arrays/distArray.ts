/**
 * The handle a user holds: elements of type `T` under integer keys `K`, described by a plan and computed when asked.
 *
 * A transformation checks its arguments, adds a node to the plan and gives a new handle; an action hands the plan to
 * the session. Longer than other files because it is the one list of all methods; what they do is in
 * `transformations`, `combinations`, `groupPlan`, `folds` and `reading`.
 */

import type { Schema as ArrowSchema, DataType, RecordBatch, Table } from 'apache-arrow'
import { checkBoolean, checkFunction, checkList, checkNoMore, checkOneOf, checkSignal } from '../arguments.ts'
import type { Batch, TypedArray } from '../data/column.ts'
import { rowReader } from '../data/columnReaders.ts'
import type {
  AllColumns,
  AsofJoined,
  AsofOptions,
  CastTo,
  ExtremeOf,
  Filled,
  IfTold,
  InferredRow,
  Joined,
  JoinFunctions,
  JoinOn,
  PivotCell,
  Pivoted,
  PivotedByAll,
  PivotOptions,
  Renamed,
  SameColumns,
  SharedBy,
  SharedColumn,
  SumOf,
  Unpivoted,
} from '../data/rowTypes.ts'
import type { DType, ElementType } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import { defined } from '../defined.ts'
import type { Engine, ExecuteOptions, Folded, FoldKind, WriteForm } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { type EnvOptions, withEnvOnly } from '../ir/withEnv.ts'
import { type BufferOptions, checkBufferOptions, UpdateBuffer } from '../loop/updateBuffer.ts'
import type { Moment } from '../moment.ts'
import { checkOptions } from '../options.ts'
import type { Aggregate } from '../plan/aggregates.ts'
import { type AsofOptionsAny, asofPlan } from '../plan/asofPlan.ts'
import { dropPlan, fillNullPlan, renamePlan, withAllColumns } from '../plan/columnPlans.ts'
import { joinPlan, unionPlan } from '../plan/combinations.ts'
import { distinctByPlan } from '../plan/distinctPlan.ts'
import { elementText, isKnown, rankOf, UNKNOWN_ELEMENT, valueClassOf } from '../plan/elements.ts'
import { groupingOf, wholeAggPlan } from '../plan/groupPlan.ts'
import type { JoinHow, LogicalPlan } from '../plan/logicalPlan.ts'
import { foundPivotPlan, type PivotAggregate, type PivotAny, pivotNamesPlan, pivotPlan } from '../plan/pivotPlan.ts'
import { sortListPlan } from '../plan/sortKeys.ts'
import {
  type Callback,
  castPlan,
  countPlan,
  distinctPlan,
  filterPlan,
  flatMapPlan,
  indexPlan,
  limitPlan,
  lowerFunction,
  lowerRowFunction,
  mapPartitionsPlan,
  mapPlan,
  materializePlan,
  repartitionPlan,
  type SampleGiven,
  samplePlan,
  selectPlan,
  shuffleKeysPlan,
  slicePlan,
  sortPlan,
  tailPlan,
  withColumnsPlan,
} from '../plan/transformations.ts'
import { unpivotPlan } from '../plan/unpivotPlan.ts'
import { windowPlan } from '../plan/windowPlan.ts'
import type { Windowed, WindowFunction, WindowOver } from '../plan/windows.ts'
import {
  arrowForm,
  checkWriting,
  csvForm,
  parquetForm,
  type WriteArrowOptions,
  type WriteCsvOptions,
  type WriteOptions,
  type WriteParquetOptions,
} from '../plan/writeOptions.ts'
import { Describer, type Description } from '../show/describe.ts'
import { type Preview, previewOf } from '../show/preview.ts'
import { showAs } from '../show/shown.ts'
import { knownRows, shownArray } from '../show/shownArray.ts'
import { checkedSum, extremeOf, NumberSum, requireNumbers, TreeFold } from './folds.ts'
import { type Grouped, groupedOf } from './grouped.ts'
import { actInBodies } from './handlesInBodies.ts'
import type { Selector, Shape } from './indexSpace.ts'
import type { Key } from './keys.ts'
import { callAt, KeyReader, valuesOf } from './reading.ts'
import type { SortKey } from './sortKey.ts'

/** A value that rows are sorted by, ascending with nulls last unless it says otherwise. */
export interface SortBy<T> {
  readonly by: (value: T) => SortKey
  readonly order?: 'ascending' | 'descending'
  readonly nulls?: 'first' | 'last'
}

/** What `explain()` shows, and how. */
export interface ExplainOptions {
  readonly verbose?: boolean
  readonly format?: 'text' | 'json'
}

/** What was written. */
export interface Written {
  readonly rows: number
  readonly bytes: number
  /** Where folders were written. */
  readonly files?: number
}

/** What is behind a handle, if the value is one; set by the class, which alone can see its private fields. */
let inside: (value: unknown) => { readonly plan: LogicalPlan; readonly engine: Engine } | undefined

/** Whether a value is a handle. */
export function isDistArray(value: unknown): value is DistArray<unknown, Key> {
  return inside(value) !== undefined
}

/** The plan of a handle; for the session, not for programs. */
export function planOf<T, K extends Key>(array: DistArray<T, K>): LogicalPlan {
  return insideOf(array).plan
}

/** The engine of a handle's session; for the session, not for programs. */
export function engineOf<T, K extends Key>(array: DistArray<T, K>): Engine {
  return insideOf(array).engine
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function insideOf(array: unknown): { readonly plan: LogicalPlan; readonly engine: Engine } {
  const found = inside(array)
  if (found === undefined) throw new PlanError(`This takes a DistArray of a session; it was given ${valueText(array)}.`)
  return found
}

/** A lazy handle on an array cut into partitions; made by a session, changed by nothing but in-place writes. */
export class DistArray<T, K extends Key = readonly [number]> implements AsyncIterable<T> {
  readonly #engine: Engine
  readonly #plan: LogicalPlan

  /** Handles are made by a session, not by programs. */
  constructor(engine: Engine, plan: LogicalPlan) {
    this.#engine = engine
    this.#plan = plan
  }

  static {
    inside = (value) =>
      typeof value === 'object' && value !== null && #plan in value ? { plan: value.#plan, engine: value.#engine } : undefined
  }

  #over<U, K2 extends Key = readonly [number]>(plan: LogicalPlan): DistArray<U, K2> {
    return new DistArray<U, K2>(this.#engine, plan)
  }

  // ------------------------------------------------------------------ transformations: lazy

  /** One element for each, under the same key. A returned object gives rows of columns, `undefined` gives null. */
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

  /** Any number of elements for each, in order: a table. */
  flatMap<U>(f: (value: T, key: K) => readonly U[]): DistArray<U>
  flatMap<U, E extends object>(f: (value: T, key: K, env: E) => readonly U[], options: EnvOptions<E>): DistArray<U>
  flatMap<U>(f: (value: T, key: K, env: never) => readonly U[], options: object = {}): DistArray<U> {
    return this.#over(flatMapPlan(this.#engine, this.#plan, withEnvOnly('flatMap', f, options)))
  }

  /** A function over whole partitions, which follow the data and not the number of workers: a table. Runs as JavaScript. */
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
   * Values where columns have nulls: `fillNull({ amount: 0, name: 'previous' })`. `'previous'` and `'next'` are those of the nearest row
   * before or behind that has one, in the order of the rows, and null where none has; so columns of texts cannot be filled with these two
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
    return groupedOf(groupingOf(this.#engine, this.#plan, given), (plan) => this.#over(plan))
  }

  /** One row, of the whole table: `agg({ total: sum((r) => r.amount), n: count() })`. Of no rows `sum` and `count` are 0, as in groups. */
  agg<A extends Readonly<Record<string, Aggregate<T, unknown>>>>(
    aggregates: A,
  ): DistArray<{ -readonly [N in keyof A]: A[N] extends Aggregate<T, infer V> ? V : never }> {
    return this.#over(wholeAggPlan(this.#engine, this.#plan, aggregates))
  }

  /**
   * The values of one column as columns: a row for each different values of `rows`, in the order of their first appearance, and a column for
   * each of `names`, which are values of `columns`. What a cell holds is `agg` of the `values` that belong there; null where there are none
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
   * Columns under each other: the rows once for each of `columns`, one column after another, with what is kept of them, the column's
   * name and its value.
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
    return this.#over(joinPlan(this.#engine, this.#plan, this.#planOfOther(other, 'join'), on, options))
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
    return this.#over(asofPlan(this.#engine, this.#plan, this.#planOfOther(other, 'joinAsof'), options as AsofOptionsAny))
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
    const isNames = Array.isArray(by) && by.length > 0 && by.every((key) => typeof key === 'string')
    const isKeys = Array.isArray(by) && !isNames
    if (!isKeys) return this.#over(sortPlan(this.#engine, this.#plan, by as Callback, options))
    checkOptions('sortBy() by a list', options, [])
    return this.#over(sortListPlan(this.#engine, this.#plan, by))
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
    if (options === undefined) return this.#over(distinctPlan(this.#plan))
    if (typeof options !== 'object' || options === null || Array.isArray(options))
      throw new PlanError(
        `distinct() takes nothing, or what tells rows apart, as in distinct({ by: (row) => row.id }); it was given ${valueText(options)}. For different values of some columns write select(…).distinct().`,
      )
    return this.#over(distinctByPlan(this.#engine, this.#plan, options))
  }

  /** This array's elements, then the others': a table. PlanError when the columns differ, unless `{ columns: 'all' }` fills with null what one has not. */
  union<U extends SameColumns<T> = never>(...others: readonly DistArray<U, K>[]): DistArray<T | U>
  union<U>(other: DistArray<U, K>, options: { readonly columns: 'all' }): DistArray<AllColumns<T, U>>
  union(...given: readonly unknown[]): DistArray<never> {
    const last = given.at(-1)
    const options = given.length > 1 && isPlainObject(last) ? last : undefined
    const others = options === undefined ? given : given.slice(0, -1)
    const inputs = [this.#plan, ...others.map((other) => this.#planOfOther(other as DistArray<unknown>, 'union'))] // or an error says what it is
    if (options === undefined) return this.#over(unionPlan(inputs))
    checkOptions('union()', options, ['columns'])
    const { columns } = options as { readonly columns?: unknown }
    checkOneOf('The columns of union()', columns, ['all'])
    return this.#over(unionPlan(withAllColumns(this.#engine, inputs)))
  }

  /** So many of the elements, all where there are fewer, each at most once and in their order; the same ones for the same seed (the session's unless given). */
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

  /** The last `n` elements, in their order. Needs all of them, but of files whose footers count rows the last pieces alone. */
  tail(n: number): DistArray<T, K> {
    return this.#over(tailPlan(this.#plan, n))
  }

  /** The same elements cut anew, into so many pieces or by a value; rows may change their order. */
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

  /** Computes at first use and keeps the result, so that later actions and in-place writes share it. */
  materialize(): DistArray<T, K>
  materialize(...more: readonly unknown[]): DistArray<T, K> {
    checkNoMore('materialize() takes no arguments', more, 'It keeps all elements.')
    return this.#over(materializePlan(this.#plan))
  }

  /** Frees the storage now; later use computes it again, or throws for an array that was written in place. */
  async release(): Promise<void> {
    await this.#engine.release(this.#plan)
  }

  // ------------------------------------------------------------------ queries

  /** The element under a key. Absent: 0 for numbers of a sparse array, otherwise undefined. Outside the shape: PlanError. */
  async at(...key: K): Promise<T | undefined> {
    this.#checkRank('at', key.length)
    return (await this.#engine.at(this.#plan, key)) as T | undefined // the engine gives elements of this plan
  }

  /** The numbers under all keys that start with `prefix`, in key order, as a copy; absent ones are 0. */
  async row(...prefix: readonly number[]): Promise<TypedArray> {
    const rank = rankOf(this.#plan.keys)
    if (prefix.length >= rank) {
      throw new PlanError(
        `row() takes fewer numbers than the keys have axes: ${prefix.length} given, ${rank} ${rank === 1 ? 'axis' : 'axes'}. For one element use at(${prefix.join(', ')}).`,
      )
    }
    const selectors = Array.from({ length: rank }, (_, axis) => prefix[axis] ?? null)
    return (await this.#engine.slice(this.#plan, selectors, 'row')).data
  }

  /** The numbers that the selectors choose, row-major, as a copy; axes chosen by one index are left out of the shape. */
  async slice(selectors: readonly Selector[]): Promise<{ readonly shape: Shape; readonly data: TypedArray }> {
    checkList('The selectors of slice()', selectors)
    this.#checkRank('slice', selectors.length)
    return this.#engine.slice(this.#plan, selectors, 'slice')
  }

  /** Writes one element in place. PlanError when the value does not fit the array's type. */
  async set(key: K, value: T): Promise<void> {
    checkList('The key of set()', key)
    this.#checkRank('set', key.length)
    await this.#engine.set(this.#plan, key, value)
  }

  /** Writes the chosen elements in place: one number for all of them, or as many as are chosen, row-major. */
  async assign(selectors: readonly Selector[], data: TypedArray | readonly number[] | number): Promise<void> {
    checkList('The selectors of assign()', selectors)
    this.#checkRank('assign', selectors.length)
    await this.#engine.assign(this.#plan, selectors, data)
  }

  /** Replaces one element by what `f` makes of it. */
  async update(key: K, f: (value: T) => T): Promise<void> {
    checkList('The key of update()', key)
    this.#checkRank('update', key.length)
    checkFunction('update()', f, '(value)')
    await this.#engine.update(this.#plan, key, f)
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

  // ------------------------------------------------------------------ actions

  /** All elements in order. */
  async collect(options: { readonly signal?: AbortSignal } = {}): Promise<T[]> {
    checkOptions('collect()', options, ['signal'])
    if (options.signal !== undefined) checkSignal('The signal of collect()', options.signal)
    return this.#values(this.#plan, options.signal)
  }

  /** The first `n` elements; computes partition after partition until it has them. */
  async take(n: number): Promise<T[]>
  async take(n: number, ...more: readonly unknown[]): Promise<T[]> {
    checkNoMore('take() takes a number of elements', more, 'It begins with the first.')
    return this.#first(limitPlan(this.#plan, n, 'take'))
  }

  /** The first element, undefined of nothing. */
  async first(): Promise<T | undefined>
  async first(...more: readonly unknown[]): Promise<T | undefined> {
    checkNoMore('first() takes no arguments', more, 'Write filter((row) => …).first(), or take(n).')
    return (await this.#first(limitPlan(this.#plan, 1, 'first')))[0]
  }

  /** How many elements there are. */
  async count(): Promise<number>
  async count(...more: readonly unknown[]): Promise<number> {
    checkNoMore('count() takes no arguments', more, 'Write filter((row) => …).count().')
    const plan = countPlan(this.#plan)
    const moment = this.#engine.moment(plan)
    const folded = await this.#engine.fold(plan, 'count', moment)
    if (folded !== undefined) return folded.count
    let count = 0
    for await (const batch of this.#engine.stream(plan, { moment })) count += batch.length
    return count
  }

  /**
   * Folds the elements by the fixed tree of reductions (chunks of 4,096 left to right, chunks pairwise): `f` must be
   * associative. With `init` every chunk starts from a copy of it and `combine` joins the chunks' results.
   */
  reduce(f: (a: T, b: T) => T): Promise<T | undefined>
  reduce<A>(f: (a: A, value: T) => A, init: A, combine: (a: A, b: A) => A): Promise<A>
  async reduce<A>(...args: [(a: T, b: T) => T] | [(a: A, value: T) => A, A, (a: A, b: A) => A]): Promise<A | T | undefined> {
    if (args.length === 1) {
      const [f] = args
      this.#check('reduce', f, '(a, b)', [this.#plan.element, this.#plan.element])
      return (await this.#fold(new TreeFold<T, T>((value) => value, f), f))?.value
    }
    const [f, init, combine] = args
    this.#check('reduce', f, '(result, value)', [UNKNOWN_ELEMENT, this.#plan.element])
    checkFunction('The third argument of reduce()', combine, '(a, b), which joins two results')
    const result = await this.#fold(new TreeFold<A, T>((value) => f(structuredClone(init), value), f), combine)
    return result === undefined ? init : result.value
  }

  /** The sum by the fixed tree of reductions: the same bits for any number of workers. 0 of nothing; nulls are skipped. */
  async sum<V extends number | bigint | null>(this: DistArray<V, K>): Promise<SumOf<V>>
  async sum(...more: readonly unknown[]): Promise<number | bigint> {
    this.#noFunction('sum', more)
    return (await this.#summed('sum')).total
  }

  /** `Math.min` of all elements: NaN wins, -0 < 0; undefined of nothing, nulls are skipped. */
  async min<V extends number | bigint | null>(this: DistArray<V, K>): Promise<ExtremeOf<V> | undefined>
  async min(...more: readonly unknown[]): Promise<number | bigint | undefined> {
    this.#noFunction('min', more)
    return this.#extreme('min')
  }

  /** `Math.max` of all elements: NaN wins, -0 < 0; undefined of nothing, nulls are skipped. */
  async max<V extends number | bigint | null>(this: DistArray<V, K>): Promise<ExtremeOf<V> | undefined>
  async max(...more: readonly unknown[]): Promise<number | bigint | undefined> {
    this.#noFunction('max', more)
    return this.#extreme('max')
  }

  /** The sum divided by the number of elements that are not null; undefined of nothing. */
  async mean<V extends number | bigint | null>(this: DistArray<V, K>): Promise<number | undefined>
  async mean(...more: readonly unknown[]): Promise<number | undefined> {
    this.#noFunction('mean', more)
    const { total, count } = await this.#summed('mean')
    return count === 0 ? undefined : Number(total) / count
  }

  /** Calls `f` on the caller's thread for every element in order. What it throws comes as a TaskError with the key. */
  async forEach(f: (value: T, key: K) => void): Promise<void> {
    checkFunction('forEach()', f, '(value, key)')
    lowerRowFunction(this.#engine, this.#plan, 'forEach', f, { isAction: true })
    for await (const { value, key } of this.#entries()) callAt('forEach', key, () => f(value, key as K)) // keys of this plan
  }

  /** The extents of the keys; of a table its number of rows. */
  async shape(): Promise<K> {
    const { keys } = this.#plan
    return (keys.kind === 'rowNumber' ? [await this.count()] : await this.#engine.shape(this.#plan)) as unknown as K // as many as key axes
  }

  /** All elements as an Arrow table, copied into ordinary memory. */
  async toArrow(): Promise<Table> {
    return this.#engine.toArrowTable(this.#plan.element, await this.#engine.execute(this.#plan))
  }

  /** All numbers in key order, row-major; absent keys of a sparse array are 0. A copy. */
  async toTypedArray<V extends number | bigint>(this: DistArray<V, K>): Promise<TypedArray> {
    requireNumbers('toTypedArray', this.#plan.element)
    return this.#engine.toTypedArray(this.#plan)
  }

  /** The elements as Arrow record batches, one after another as they are computed. */
  async *batches(): AsyncGenerator<RecordBatch, void, undefined> {
    for await (const batch of this.#engine.stream(this.#plan)) yield this.#engine.toRecordBatch(this.#plan.element, batch)
  }

  /**
   * Writes a Parquet file; it appears under its name when it is complete. `compatibility: 'v1'` for old readers. A signal
   * ends the writing of any file, and leaves what was there. With `partitionBy` a folder of files, in folders named `year=2024`
   * after the values of these columns.
   */
  async writeParquet(path: string, options: WriteParquetOptions<T extends object ? keyof T & string : never> = {}): Promise<Written> {
    const form = parquetForm(options)
    return this.#write('writeParquet', path, form, options)
  }

  /** Writes an Arrow IPC file; it appears under its name when it is complete. `compression: 'zstd'` or `'lz4'` makes it smaller. */
  async writeArrow(path: string, options: WriteArrowOptions = {}): Promise<Written> {
    const form = arrowForm(options)
    return this.#write('writeArrow', path, form, options)
  }

  /** Writes a CSV file with a header line; it appears under its name when it is complete. `{ delimiter: ';', decimal: ',' }` for spreadsheets of much of Europe. */
  async writeCsv(path: string, options: WriteCsvOptions = {}): Promise<Written> {
    const form = csvForm(options)
    return this.#write('writeCsv', path, form, options)
  }

  /** Writes NDJSON, an object a line with every column in it; it appears under its name when it is complete. */
  async writeNdjson(path: string, options: WriteOptions = {}): Promise<Written> {
    return this.#write('writeNdjson', path, { kind: 'ndjson' }, checkWriting('writeNdjson', options))
  }

  /**
   * Writes the numbers as a NumPy file (.npy), row-major, under the dtype of the array; absent keys of a sparse array are 0. It appears under
   * its name when it is complete.
   */
  async writeNpy<V extends number | bigint | boolean>(this: DistArray<V, K>, path: string, options: WriteOptions = {}): Promise<Written> {
    requireNumbers('writeNpy', this.#plan.element)
    return this.#write('writeNpy', path, { kind: 'npy' }, checkWriting('writeNpy', options))
  }

  /**
   * Saves an array of numbers or booleans that has keys of its own, with its shape, its dtype and the keys that are there, bit for bit, for
   * `session.load`. The file appears under its name when it is complete; others read it as an Arrow file.
   */
  async save<V extends number | bigint | boolean>(this: DistArray<V, K>, path: string, options: WriteOptions = {}): Promise<Written> {
    requireNumbers('save', this.#plan.element)
    if (this.#plan.keys.kind === 'rowNumber')
      throw new PlanError(
        'save() keeps arrays with keys of their own, and this is a table. Write it with writeParquet() or writeArrow(), which keep all of it, or give it keys: index((value, [i]) => [i]).',
      )
    return this.#write('save', path, { kind: 'array' }, checkWriting('save', options))
  }

  /** The elements in order, computed as they are asked for, partition by partition; breaking out of the loop ends that. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { value } of this.#entries({ isUntyped: true })) yield value
  }

  // ------------------------------------------------------------------ introspection

  /** The first `n` elements as a table to print: values, text and HTML. Reads no more than `take(n)` does. */
  async preview(n: number = 10): Promise<Preview<T>> {
    const plan = limitPlan(this.#plan, n, 'preview')
    const total = knownRows(this.#plan, this.#engine.holdings())
    const batches: Batch[] = []
    for await (const batch of this.#engine.stream(plan)) batches.push(batch)
    return previewOf<T>(batches, { element: this.#plan.element, total })
  }

  /**
   * Of each column its type, nulls, extremes, mean and number of different values, in one pass over batches, so that the table
   * may be larger than the memory. Different values are counted exactly up to 100,000 a column, or 16 million characters of
   * texts; beyond that `isDistinctExact` is false. Values are read on the caller's thread.
   */
  async describe(): Promise<Description> {
    const describer = new Describer(this.#plan.element)
    for await (const batch of this.#engine.stream(this.#plan)) describer.add(batch)
    return describer.finish()
  }

  /** The columns of a row, or the type of a single value. PlanError while only running the plan can tell. */
  get schema(): ArrowSchema | DataType {
    const { element } = this.#plan
    if (isKnown(element)) return this.#engine.arrowSchema(element)
    throw new PlanError(
      'The schema is not known before the array is computed, because a function in its plan runs as JavaScript (explain() says which and why).\n' +
        'Use (await array.toArrow()).schema, or write the function so that it can be analysed.',
    )
  }

  /**
   * The plan as written, the rules that changed it, and the stages that run; lambdas that were refused, with the reason.
   * `analyze: true` runs the plan, as `collect()` does, and resolves to the plan that ran: rows, milliseconds and bytes of each operator,
   * which pieces of files were read, and whether kernels or JavaScript ran it, with the reason.
   */
  explain(options: ExplainOptions & { readonly analyze: true }): Promise<string>
  explain(options?: ExplainOptions & { readonly analyze?: false }): string
  explain(options: ExplainOptions & { readonly analyze?: boolean } = {}): string | Promise<string> {
    checkOptions('explain()', options, ['verbose', 'format', 'analyze'])
    const { verbose = false, format = 'text', analyze = false } = options
    checkBoolean('The verbose of explain()', verbose)
    checkBoolean('The analyze of explain()', analyze)
    checkOneOf('The format of explain()', format, ['text', 'json'])
    return analyze ? this.#engine.analyze(this.#plan, { verbose, format }) : this.#engine.explain(this.#plan, { verbose, format })
  }

  // ------------------------------------------------------------------ inside

  #planOfOther(other: unknown, method: string): LogicalPlan {
    const isArray = typeof other === 'object' && other !== null && #plan in other
    if (!isArray) {
      const cure = method === 'union' && Array.isArray(other) ? ' Write union(a, b), without a list.' : ''
      throw new PlanError(`${method}() takes another DistArray; it was given ${valueText(other)}.${cure}`)
    }
    if (other.#engine !== this.#engine)
      throw new PlanError(`${method}() takes a DistArray of the same session; the other array belongs to another one.`)
    return other.#plan
  }

  #noFunction(method: string, more: readonly unknown[]): void {
    checkNoMore(`${method}() takes no arguments`, more, `Write map((row) => row.price).${method}().`)
  }

  #checkRank(method: string, given: number): void {
    const rank = rankOf(this.#plan.keys)
    if (given === rank) return
    const each = method === 'slice' || method === 'assign' ? 'one selector per axis (null for a whole axis)' : 'one number per axis'
    throw new PlanError(
      `${method}() takes ${each}: this array has ${rank} ${rank === 1 ? 'axis' : 'axes'}, ${given} ${given === 1 ? 'was' : 'were'} given.`,
    )
  }

  /** Columns and async functions are checked as for lambdas of the plan; the function itself runs on this thread. */
  #check(method: string, f: (...args: never[]) => unknown, takes: string, inputs: readonly ElementType[]): void {
    lowerFunction(this.#engine, method, f, { inputs, takes, isAction: true })
  }

  async #fold<A>(fold: TreeFold<A, T>, combine: (a: A, b: A) => A): Promise<{ readonly value: A } | undefined> {
    for await (const { value, key } of this.#entries()) callAt('reduce', key, () => fold.add(value))
    return fold.finish(combine)
  }

  async #values(plan: LogicalPlan, signal?: AbortSignal): Promise<T[]> {
    const batches = await this.#engine.execute(plan, signal === undefined ? {} : { signal })
    return valuesOf(batches) as T[] // elements of this plan
  }

  /** The same one partition after another: the session's memory need not hold them. */
  async #first(plan: LogicalPlan): Promise<T[]> {
    const values: T[] = []
    for await (const batch of this.#engine.stream(plan)) for (const value of valuesOf([batch])) values.push(value as T) // elements of this plan
    return values
  }

  async *#entries(options: ExecuteOptions = {}): AsyncGenerator<{ readonly value: T; readonly key: Key }, void, undefined> {
    const keys = new KeyReader()
    for await (const batch of this.#engine.stream(this.#plan, options)) {
      const read = rowReader(batch)
      const keyOf = keys.keysOf(batch)
      for (let i = 0; i < batch.length; i++) yield { value: read(i) as T, key: keyOf(i) } // elements of this plan
    }
  }

  async #numberBatches(method: string, moment: Moment, visit: (batch: Batch) => void): Promise<void> {
    requireNumbers(method, this.#plan.element)
    for await (const batch of this.#engine.stream(this.#plan, { moment })) {
      requireNumbers(method, batch.element)
      visit(batch)
    }
  }

  async #summed(method: string): Promise<{ readonly total: number | bigint; readonly count: number }> {
    const moment = this.#engine.moment(this.#plan)
    const folded = await this.#folded(method, 'sum', moment)
    if (folded?.value !== undefined) return { total: checkedSum(folded.value), count: folded.count }
    const sum = new NumberSum()
    await this.#numberBatches(method, moment, (batch) => batch.columns[0] !== undefined && sum.addColumn(batch.columns[0]))
    return { total: sum.finish(), count: sum.count }
  }

  async #folded(method: string, kind: FoldKind, moment: Moment): Promise<Folded | undefined> {
    requireNumbers(method, this.#plan.element)
    return await this.#engine.fold(this.#plan, kind, moment)
  }

  async #extreme(which: 'min' | 'max'): Promise<number | bigint | undefined> {
    const moment = this.#engine.moment(this.#plan)
    const folded = await this.#folded(which, which, moment)
    if (folded !== undefined) return folded.value
    let result: number | bigint | undefined
    await this.#numberBatches(which, moment, (batch) => {
      if (batch.columns[0] !== undefined) result = extremeOf(batch.columns[0], which, result)
    })
    return result
  }

  async #write(method: string, path: string, form: WriteForm, { signal, timeoutMs, retries, s3 }: WriteOptions): Promise<Written> {
    if (typeof path !== 'string' || path === '') throw new PlanError(`${method}() needs the path of the file to write.`)
    if (path.includes('\0'))
      throw new PlanError(`The path of ${method}() has a character of code 0, which no file's name has: ${valueText(path)}.`)
    return this.#engine.write(this.#plan, { method, path, ...defined({ signal, timeoutMs, retries, s3 }) }, form)
  }
}

actInBodies(DistArray.prototype, (array) => inside(array)?.plan)

showAs(DistArray.prototype, (array) => {
  const { plan, engine } = insideOf(array)
  return shownArray(plan, engine.holdings())
})
