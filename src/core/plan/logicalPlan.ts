/**
 * Logical plans: one node per operation, as plain readonly data told apart by `kind`.
 *
 * A node says *what*; the optimizer rewrites it and `exec` decides *how*. Every node carries the element it yields and
 * how its elements are keyed, so that rules can be checked: the schema of a plan never changes under a rule.
 *
 * Keys are of two sorts. In a *table* (`keys.kind === 'rowNumber'`) the key of an element is its row number in that
 * table, so a filtered table is numbered anew. Arrays with *explicit* keys (made by `index`, `zeros`, `sparse`, …)
 * keep their keys through `map` and `filter`.
 *
 * Storage hangs on the identity of a node: when an array was materialised or written in place, the session holds its
 * storage for that node object, and every plan that contains the node reads it (see `exec/tables/store/arrayStore.ts`).
 */

import type { Shape } from '../arrays/indexSpace.ts'
import type { Storage } from '../arrays/storage.ts'
import type { Column } from '../data/column.ts'
import type { DType, ElementType, Field } from '../data/schema.ts'
import { type Folding, functionsOfFolding } from '../ir/folding.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import type { GivenFiles, S3Options, SourceSplit } from '../sourceParts.ts'
import type { ColumnPredicate } from './predicate.ts'

export type Keys =
  | { readonly kind: 'rowNumber' }
  /** `shape` is absent where only the data can tell; `dense`: an element at every key of the shape. */
  | { readonly kind: 'explicit'; readonly rank: number; readonly shape?: Shape; readonly dense: boolean }

export type AggregateKind =
  | 'sum'
  | 'mean'
  | 'min'
  | 'max'
  | 'count'
  | 'countDistinct'
  | 'first'
  | 'last'
  | 'variance'
  | 'stddev'
  | 'quantile'
  | 'collect'
  | 'mode'
  | 'skew'
  | 'kurtosis'
  | 'any'
  | 'all'
  | 'argMin'
  | 'argMax'
  | 'covariance'
  | 'correlation'
  | 'aggregate'
  | 'approxCountDistinct'
  | 'approxQuantile'

export interface AggregateCall {
  readonly name: string
  readonly kind: AggregateKind
  readonly of?: UserFunction
  /** The values that argMin and argMax compare, or the second numbers of a covariance or correlation. */
  readonly second?: UserFunction
  /** The fraction of a quantile, from 0 to 1. */
  readonly q?: number
  readonly folding?: Folding<UserFunction>
}

/** The functions of a call, in their order. */
export function functionsOfCall({ of, second, folding }: Pick<AggregateCall, 'of' | 'second' | 'folding'>): readonly UserFunction[] {
  return [of ?? [], second ?? [], folding === undefined ? [] : functionsOfFolding(folding)].flat()
}

/** The functions of `window` over the rows around a row, beside the aggregates `sum mean min max count any all`. */
export type WindowKind = 'rowNumber' | 'rank' | 'denseRank' | 'percentRank' | 'ntile' | 'lag' | 'lead' | 'firstValue' | 'lastValue'

export interface WindowCall {
  readonly name: string
  readonly kind: WindowKind | 'sum' | 'mean' | 'min' | 'max' | 'count' | 'any' | 'all'
  readonly of?: UserFunction
  /** The number of rows away for lag and lead, of parts for ntile. */
  readonly n?: number
  /** Whether firstValue and lastValue pass over rows whose value is null. */
  readonly ignoresNulls?: true
}

/** The frame of rows that a call sees, relative to its row: by row counts, or by distances of the order's value. null: to the end of the partition. */
export interface WindowFrame {
  readonly kind: 'rows' | 'range'
  readonly from: number | null
  readonly to: number | null
}

export type GroupKey = { readonly kind: 'function'; readonly f: UserFunction } | { readonly kind: 'axis'; readonly axis: number }

export type JoinHow = 'inner' | 'left' | 'right' | 'full' | 'semi' | 'anti' | 'cross'

/** A function of each side's row. */
export interface SidesBy {
  readonly left: UserFunction
  readonly right: UserFunction
}

/** Whether an order descends: one answer for all, or one for each item of a key that is an array. */
export type Directions = boolean | readonly boolean[]

/** The choice of the right side's row for one of the left: the last at or before it, the first at or behind it, or the nearer of the two. */
export type AsofDirection = 'backward' | 'forward' | 'nearest'

export type JoinKey =
  | { readonly kind: 'column'; readonly column: string }
  /** `shared`: columns of the key that both sides have by name, and that are in the result once. */
  | { readonly kind: 'functions'; readonly left: UserFunction; readonly right: UserFunction; readonly shared?: readonly string[] }
  | { readonly kind: 'none' }

/** The first content of an array made by the session. */
export type ArrayInit =
  | { readonly kind: 'zeros' }
  | { readonly kind: 'fill'; readonly value: unknown }
  | { readonly kind: 'random'; readonly distribution: 'uniform' | 'normal'; readonly scale: number; readonly seed: number }
  | { readonly kind: 'sparse' }
  /** The elements come from the program or a file: they are in the array's storage from the start, and nothing can compute them again. */
  | { readonly kind: 'given' }

interface NodeBase {
  readonly element: ElementType
  readonly keys: Keys
  /**
   * Set by the optimizer: the array is streamed into the node above, partition after partition, and never stored as a whole.
   * 'first': only where perhaps just the first elements of the result are wanted; else all are stored, since only all of them tell their types.
   */
  readonly pipelined?: true | 'first'
}

export type LogicalPlan =
  /** Rows of a file or of tables in memory. `columns` are those read, in order; `predicate` skips what cannot match (the Filter stays). */
  | (NodeBase & {
      readonly kind: 'Scan'
      readonly source: ArraySource
      /** The source with all of its files, where this scan leaves some out. */
      readonly whole?: ArraySource
      readonly columns: readonly string[]
      readonly predicate?: ColumnPredicate
    })
  /** An array with storage of its own from the start. `name` is for messages, as `zeros([3, 4])`. */
  | (NodeBase & {
      readonly kind: 'Array'
      readonly name: string
      readonly shape: Shape
      readonly dtype: DType | 'object'
      readonly init: ArrayInit
    })
  /** Storage that exists now: what `Array`, `Materialize` and written nodes become when a plan is about to run. */
  | (NodeBase & {
      readonly kind: 'Stored'
      readonly name: string
      readonly storage: Storage
      /** The columns that are read of a table, in the table's order; all when absent. */
      readonly columns?: readonly string[]
    })
  | (NodeBase & { readonly kind: 'Map'; readonly input: LogicalPlan; readonly f: UserFunction })
  | (NodeBase & {
      readonly kind: 'Filter'
      readonly input: LogicalPlan
      readonly f: UserFunction
      /** Whether the sides of the join below are asked what the filter says of them alone. */
      readonly isNarrowed?: true
    })
  | (NodeBase & { readonly kind: 'WithColumns'; readonly input: LogicalPlan; readonly f: UserFunction })
  | (NodeBase & { readonly kind: 'FlatMap'; readonly input: LogicalPlan; readonly f: UserFunction })
  | (NodeBase & { readonly kind: 'MapPartitions'; readonly input: LogicalPlan; readonly f: UserFunction })
  | (NodeBase & { readonly kind: 'Project'; readonly input: LogicalPlan; readonly columns: readonly string[] })
  | (NodeBase & { readonly kind: 'Cast'; readonly input: LogicalPlan; readonly dtype: DType })
  | (NodeBase & {
      readonly kind: 'Index'
      readonly input: LogicalPlan
      readonly f: UserFunction
      readonly combine?: UserFunction
      readonly shape?: Shape
      readonly storage?: 'dense' | 'sparse'
    })
  | (NodeBase & { readonly kind: 'GroupBy'; readonly input: LogicalPlan; readonly by: GroupKey; readonly how: GroupHow })
  | (NodeBase & {
      readonly kind: 'Join'
      readonly left: LogicalPlan
      readonly right: LogicalPlan
      readonly on: JoinKey
      readonly how: JoinHow
      readonly suffix: string
      /** Set by the optimizer where a left join gives its matches alone, as rows without one are dropped above it; its columns stay nullable. */
      readonly matchesAlone?: true
    })
  /** Each row of the left side with the row of the right side that is nearest in the order, among those that are equal by `by`. */
  | (NodeBase & {
      readonly kind: 'AsofJoin'
      readonly left: LogicalPlan
      readonly right: LogicalPlan
      readonly on: SidesBy
      readonly by?: SidesBy
      readonly direction: AsofDirection
      /** The greatest distance of a match; milliseconds for dates. */
      readonly tolerance?: number | bigint
      readonly suffix: string
      /** The key columns that both sides have by name, and that are in the result once. */
      readonly shared: readonly string[]
    })
  /** `limit` is set by the optimizer: only the first rows of the order are wanted (top-k). */
  | (NodeBase & {
      readonly kind: 'Sort'
      readonly input: LogicalPlan
      readonly by: UserFunction
      readonly descending: Directions
      readonly limit?: number
    })
  /** The input's rows in their order, with a column for each call. */
  | (NodeBase & {
      readonly kind: 'Window'
      readonly input: LogicalPlan
      readonly by?: UserFunction
      readonly orderBy?: UserFunction
      readonly descending: Directions
      readonly frame: WindowFrame
      readonly calls: readonly WindowCall[]
    })
  | (NodeBase & { readonly kind: 'Distinct'; readonly input: LogicalPlan })
  | (NodeBase & { readonly kind: 'Union'; readonly inputs: readonly LogicalPlan[] })
  | (NodeBase & { readonly kind: 'Sample'; readonly input: LogicalPlan; readonly fraction: number; readonly seed: number })
  /** A random choice of `count` elements, in their order. */
  | (NodeBase & { readonly kind: 'Draw'; readonly input: LogicalPlan; readonly count: number; readonly seed: number })
  | (NodeBase & { readonly kind: 'Limit'; readonly input: LogicalPlan; readonly count: number })
  /** All elements but the first `offset`; for a negative number only the last `-offset`. */
  | (NodeBase & { readonly kind: 'Offset'; readonly input: LogicalPlan; readonly offset: number })
  | (NodeBase & { readonly kind: 'Repartition'; readonly input: LogicalPlan; readonly partitions?: number; readonly by?: UserFunction })
  | (NodeBase & { readonly kind: 'ShuffleKeys'; readonly input: LogicalPlan; readonly axes: readonly number[]; readonly seed: number })
  | (NodeBase & { readonly kind: 'Materialize'; readonly input: LogicalPlan })
  /** Inserted by the optimizer under a point or range query: a sorted index over the keys, built once and kept. */
  | (NodeBase & { readonly kind: 'IndexBuild'; readonly input: LogicalPlan })
  | (NodeBase & {
      readonly kind: 'IndexLookup'
      readonly input: LogicalPlan
      readonly selectors: readonly (number | readonly [number, number] | null)[]
    })

export type GroupHow =
  /**
   * `partial` is set by the optimizer: groups are formed within each partition first, then combined. `method`: of `count()`, for messages.
   * `whole`: all rows are one group, which is there even if there are none.
   */
  | {
      readonly kind: 'agg'
      readonly aggregates: readonly AggregateCall[]
      readonly partial?: boolean
      readonly method?: 'count'
      readonly whole?: true
    }
  | { readonly kind: 'reduce'; readonly f: UserFunction }
  | { readonly kind: 'map'; readonly f: UserFunction }

/** The nodes a node reads, left first. */
export function inputsOf(plan: LogicalPlan): readonly LogicalPlan[] {
  if ('input' in plan) return [plan.input]
  if ('left' in plan) return [plan.left, plan.right]
  return 'inputs' in plan ? plan.inputs : []
}

/** The same node over other inputs; the node itself when none changed, so that identity tells change. */
export function withInputs(plan: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
  const old = inputsOf(plan)
  const [first, second] = inputs
  if (first === undefined || (inputs.length === old.length && inputs.every((input, i) => input === old[i]))) return plan
  if ('input' in plan) return { ...plan, input: first }
  if ('left' in plan) return second === undefined ? plan : { ...plan, left: first, right: second }
  return 'inputs' in plan ? { ...plan, inputs } : plan
}

/** The name of the file or array that a plan reads, for messages; undefined where it reads several. */
export function labelOf(plan: LogicalPlan): string | undefined {
  if (plan.kind === 'Scan') return plan.source.name
  if (plan.kind === 'Array' || plan.kind === 'Stored') return plan.name
  const [input, other] = inputsOf(plan)
  return input === undefined || other !== undefined ? undefined : labelOf(input)
}

/** The columns of a node's element; a scalar is the column `value`. */
export function columnsOf(plan: LogicalPlan): readonly Field[] {
  switch (plan.element.kind) {
    case 'row':
      return plan.element.fields
    case 'scalar':
      return [{ name: 'value', type: plan.element.type, nullable: plan.element.nullable }]
    case 'unknown':
      return []
  }
}

/**
 * A table to read: files or tables in memory. Plain data but for `format`, so that it can be sent to a worker; `io/readSplit.ts`
 * reads every kind.
 */
export interface ArraySource {
  /** The reader, by its key in the table of `io/readSplit.ts`. */
  readonly kind: 'parquet' | 'arrow' | 'csv' | 'ndjson' | 'text' | 'format' | 'memory' | 'spark'
  /** The name in messages and plans, as `ratings.parquet` or `fromColumns`. */
  readonly name: string
  readonly element: ElementType
  /** The number of rows where the source knows it without reading the data (footers, memory). */
  readonly rows?: number
  /** Pieces that can be read alone, in row order; cut by the data (row groups, record batches, byte ranges), never by the worker count. */
  readonly splits: readonly SourceSplit[]
  /** Whether the reading thread has nothing else to do: then files are read synchronously, which costs less of its time. */
  readonly waits?: boolean | undefined
  /** The longest silence of a server before reading ends, where the program sets it. */
  readonly timeoutMs?: number
  /** The headers of each request to a server. */
  readonly headers?: Readonly<Record<string, string>>
  /** The number of times that a request is made again for which a server was too busy. */
  readonly retries?: number
  readonly s3?: S3Options
  /** Bytes that the program gave instead of files, under the names that stand for their paths. */
  readonly given?: GivenFiles
  /** The number of files read and of all files, for hive-partitioned folders. */
  readonly files?: { readonly read: number; readonly all: number }
  /** The whole columns of a table in memory, of which the splits are slices. */
  readonly columns?: readonly Column[]
  /** The functions of a format that the program defines; they cannot be sent to other threads. */
  readonly format?: unknown
  /** The table on a server, which has no splits: the server is asked before a plan runs, and its answer is a table in memory. */
  readonly remote?: RemoteTable
}

/** The request to a server. */
export type RemoteTable =
  /** A table that the server reads. `detail` is its client's own. */
  | { readonly kind: 'table'; readonly detail: unknown }
  /** A table of this process, which is sent to the server before the query. */
  | { readonly kind: 'sent'; readonly plan: LogicalPlan }
  /** The result of a plan that the server runs over its tables. */
  | { readonly kind: 'query'; readonly plan: LogicalPlan }
