/**
 * Physical plans: how a logical plan is carried out, as plain data.
 *
 * Narrow operators (a partition of the result needs one partition of the input) sit in *pipelines*: lists of steps
 * that a task runs over one partition, batch by batch. Wide operators need all partitions of their inputs; the edges
 * below them are the exchanges at which a plan is cut into stages.
 *
 *     HashAggregateExec sum(price)
 *       PipelineExec  FilterExec, EvaluateExec        in parallel over the splits of
 *         ScanExec orders.parquet
 */

import type { Storage } from '../../core/arrays/storage.ts'
import type { DType, ElementType, Field } from '../../core/data/schema.ts'
import type { Folding } from '../../core/ir/folding.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import type {
  AggregateKind,
  ArraySource,
  AsofDirection,
  Directions,
  JoinHow,
  Keys,
  WindowCall,
  WindowFrame,
} from '../../core/plan/logicalPlan.ts'
import type { ColumnPredicate } from '../../core/plan/predicate.ts'
import type { KeyFilter, KeyReach } from './keyParts.ts'

/** A user function as tasks carry it: without the closure itself when it is sent to another thread. */
export type ExecFunction = Omit<UserFunction, 'original'> & { readonly original?: UserFunction['original'] }

/** An expression whose value becomes a hidden column beside the elements, for the wide operator above. */
export interface HiddenColumn {
  readonly f: ExecFunction
  /** The method that the function was given to, for messages. */
  readonly method: string
  /**
   * The purpose of the values: an argument of an aggregate, or a key, whose timestamps are cut to whole milliseconds, as a Date has. A
   * group's key is a column of the result, and its arrays are lists; those of the parts of a window, an order, a match and a piece may have
   * items of different kinds.
   */
  readonly use: 'argument' | 'group' | 'part' | 'order' | 'match' | 'piece'
}

/** A narrow operator: batches of one partition in, batches out, in element order. */
export type Step =
  | { readonly kind: 'FilterExec'; readonly f: ExecFunction }
  | { readonly kind: 'MapExec'; readonly f: ExecFunction; readonly element: ElementType }
  | { readonly kind: 'WithColumnsExec'; readonly f: ExecFunction; readonly element: ElementType }
  | { readonly kind: 'FlatMapExec'; readonly f: ExecFunction; readonly element: ElementType }
  | { readonly kind: 'MapPartitionsExec'; readonly f: ExecFunction; readonly element: ElementType }
  /** `isAdded`: not a node of the plan; it ends columns that nothing above reads (`carried.ts`). */
  | { readonly kind: 'ProjectExec'; readonly columns: readonly string[]; readonly isAdded?: true }
  | { readonly kind: 'CastExec'; readonly dtype: DType }
  | { readonly kind: 'SampleExec'; readonly fraction: number; readonly seed: number }
  /** At most `count` elements of the partition. */
  | { readonly kind: 'LimitExec'; readonly count: number }
  /** Sets new explicit keys; drops the old ones. */
  | { readonly kind: 'KeysExec'; readonly f: ExecFunction; readonly rank: number; readonly shape?: readonly number[] }
  /** Adds hidden columns. `payload` stays beside them: all elements, none where the operator above needs none, or some columns. */
  | {
      readonly kind: 'EvaluateExec'
      readonly columns: readonly HiddenColumn[]
      readonly axis?: number
      readonly payload: boolean | readonly string[]
    }
  /** Groups the partition by the first hidden column; its aggregates are hidden columns, which `HashAggregateExec` combines. */
  | { readonly kind: 'PartialAggregateExec'; readonly aggregates: readonly Aggregate[] }
  /** Groups the partition by the first hidden column; `HashAggregateExec` merges these partial groups in the order of the partitions. */
  | { readonly kind: 'PartialGroupsExec'; readonly aggregates: readonly Aggregate[] }
  /** Keeps the first `count` elements of the partition in the order of the hidden key column. */
  | { readonly kind: 'TopKExec'; readonly descending: Directions; readonly count: number }
  /** Keeps the elements of the partition that can be among the `count` with the least draws; the draws are a hidden column. */
  | { readonly kind: 'PartialDrawExec'; readonly count: number; readonly seed: number }
  /** Keeps the first of equal elements of the partition. */
  | { readonly kind: 'PartialDistinctExec' }

/** An aggregate over hidden column `column`; count() has none. */
export interface Aggregate {
  readonly name: string
  readonly kind: AggregateKind
  readonly column?: number
  /** The hidden column of the second function, for aggregates of two. */
  readonly second?: number
  readonly q?: number
  readonly folding?: Folding<ExecFunction>
}

/** A window function over hidden column `column`, if it has an argument. */
export interface WindowColumn extends Omit<WindowCall, 'of'> {
  readonly column?: number
}

/** A wide operator: whole inputs in, one result out. */
export type WideOperator =
  /** `method`: for messages, where the aggregate is a `count()`. */
  | {
      readonly kind: 'HashAggregateExec'
      readonly aggregates: readonly Aggregate[]
      readonly element: ElementType
      readonly method?: 'count'
      /** Whether all rows are one group, which exists even without rows. */
      readonly whole?: true
      /** Whether some key is null, here or among rows that are grouped apart from these: keys that are objects are one column then. */
      readonly hasNullKeys?: true
    }
  | { readonly kind: 'GroupReduceExec'; readonly f: ExecFunction; readonly element: ElementType }
  | { readonly kind: 'GroupMapExec'; readonly f: ExecFunction; readonly element: ElementType }
  | {
      readonly kind: 'HashJoinExec'
      readonly how: JoinHow
      /** A column of both sides that is the key; without it the key is a hidden column. */
      readonly on?: string
      /** Columns of the key that both sides have by name, and that are in the result once. */
      readonly shared: readonly string[]
      readonly suffix: string
      readonly names: readonly [string, string]
      /** The columns that something above reads; absent, all columns under the names of the join. */
      readonly columns?: readonly JoinedColumn[]
      readonly element: ElementType
    }
  /** Hidden columns of both sides: the key for equality, where there is one, and the order. Column names as in `HashJoinExec`. */
  | {
      readonly kind: 'AsofJoinExec'
      readonly by: boolean
      readonly direction: AsofDirection
      readonly tolerance?: number | bigint
      readonly shared: readonly string[]
      readonly suffix: string
      readonly names: readonly [string, string]
      readonly element: ElementType
    }
  /** `hiddenKey`: the index of the sort key among the hidden columns, where operators above need all of these to stay. */
  | { readonly kind: 'SortExec'; readonly descending: Directions; readonly limit?: number; readonly hiddenKey?: number }
  /** Adds a column for each call; rows keep their order. Hidden columns: the partition key, the order key, the arguments. */
  | {
      readonly kind: 'WindowExec'
      readonly by: boolean
      readonly ordered: boolean
      readonly descending: Directions
      readonly frame: WindowFrame
      readonly calls: readonly WindowColumn[]
    }
  | { readonly kind: 'DistinctExec' }
  /** The `count` elements with the least draws, which are the hidden column, in element order. */
  | { readonly kind: 'DrawExec'; readonly count: number }
  /** Sorts by the explicit keys; equal keys are combined or an error. `keeps`: the row of equal ones that `combine` returns as it is. */
  | {
      readonly kind: 'IndexExec'
      readonly combine?: ExecFunction
      readonly keeps?: 'first' | 'last'
      readonly shape?: readonly number[]
      readonly rank: number
    }
  | { readonly kind: 'ShuffleKeysExec'; readonly axes: readonly number[]; readonly seed: number; readonly shape?: readonly number[] }
  /** Repartitions into `partitions` pieces, by the hidden column's hash where there is one. */
  | { readonly kind: 'RepartitionExec'; readonly partitions?: number; readonly by: boolean }

/** A column of joined rows, from the left side (0) or the right side (1). */
export interface JoinedColumn {
  readonly from: 0 | 1
  readonly name: string
  readonly as: string
}

/** The way of a result to its consumer (`edges.ts`). */
export type Edge =
  | { readonly kind: 'streamed' }
  /** `because` ends a sentence that begins with: all of them are kept at once, because. */
  | { readonly kind: 'stored'; readonly because: string }

/** `edge`: to the consumer; stored where absent. `filteredBy`: keys of joins above that filter a table, or a pipeline over one. */
export type PhysicalPlan = PhysicalNode & { readonly edge?: Edge; readonly filteredBy?: readonly KeyReach[] }

type PhysicalNode =
  | {
      readonly kind: 'ScanExec'
      readonly source: ArraySource
      readonly columns: readonly string[]
      /** The columns with the types of what is read of them, where that is some fields of a struct alone. */
      readonly fields?: readonly Field[]
      readonly predicate?: ColumnPredicate
      readonly element: ElementType
      readonly keys: Keys
    }
  | {
      readonly kind: 'StoredExec'
      readonly name: string
      readonly storage: Storage
      /** The columns of a table that are read; all when absent. */
      readonly columns?: readonly string[]
      readonly element: ElementType
      readonly keys: Keys
    }
  /** Narrow steps over every partition of the input. */
  | {
      readonly kind: 'PipelineExec'
      readonly input: PhysicalPlan
      readonly steps: readonly Step[]
      /** 'caller' where a function cannot leave the caller's thread. */
      readonly where: 'workers' | 'caller'
      readonly because?: string
      /** Whether a step reads row numbers, so that the sizes of the partitions before its own must be known. */
      readonly numbered: boolean
      /** What runs instead where all elements are wanted and the filters turn out to keep few rows. */
      readonly ofFewRows?: FewRows
      readonly element: ElementType
      readonly keys: Keys
    }
  | {
      readonly kind: 'WideExec'
      readonly inputs: readonly PhysicalPlan[]
      readonly operator: WideOperator
      /** The side of a join that is computed first, whose keys filter the other's rows where they are few. */
      readonly keyFilter?: KeyFilter
      readonly where: 'workers' | 'caller'
      readonly because?: string
      readonly element: ElementType
      readonly keys: Keys
    }
  /** The first `count` elements; stops early. */
  | { readonly kind: 'LimitExec'; readonly input: PhysicalPlan; readonly count: number; readonly element: ElementType; readonly keys: Keys }
  /** Skips the first `offset` elements; a negative number keeps that many of the last ones. */
  | {
      readonly kind: 'OffsetExec'
      readonly input: PhysicalPlan
      readonly offset: number
      readonly element: ElementType
      readonly keys: Keys
    }
  /**
   * The input's rows with `columns` of `scan` as well, which are read now that few rows are left (late materialization). The rows of the
   * scan are told by the column `rows` of the input, which ends here.
   */
  | {
      readonly kind: 'FetchExec'
      readonly input: PhysicalPlan
      readonly scan: Extract<PhysicalPlan, { kind: 'ScanExec' }>
      readonly columns: readonly string[]
      readonly rows: string
      readonly element: ElementType
      readonly keys: Keys
    }
  /** `names`: those of the inputs, for messages. */
  | {
      readonly kind: 'UnionExec'
      readonly inputs: readonly PhysicalPlan[]
      readonly names: readonly string[]
      readonly element: ElementType
      readonly keys: Keys
    }
  /** The elements as storage sorted by key: built where the session keeps none for the plan, and kept from then on. */
  | { readonly kind: 'IndexBuildExec'; readonly input: PhysicalPlan; readonly element: ElementType; readonly keys: Keys }
  /** Elements whose explicit keys lie inside the selectors, found in storage or in an index. */
  | {
      readonly kind: 'IndexLookupExec'
      readonly input: PhysicalPlan
      readonly selectors: readonly (number | readonly [number, number] | null)[]
      readonly element: ElementType
      readonly keys: Keys
    }

/** A pipeline's filters over the columns that they read, and the rest of it over the rows that they keep, with their other columns. */
export interface FewRows {
  readonly filters: Extract<PhysicalPlan, { kind: 'PipelineExec' }>
  readonly fetch: Extract<PhysicalPlan, { kind: 'FetchExec' }>
  /** Reads `fetch`, or is it. */
  readonly plan: PhysicalPlan
}

/** Returns the nodes that a node reads, left first. */
export function inputsOf(plan: PhysicalPlan): readonly PhysicalPlan[] {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return []
    case 'PipelineExec':
    case 'LimitExec':
    case 'OffsetExec':
    case 'FetchExec':
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return [plan.input]
    case 'WideExec':
    case 'UnionExec':
      return plan.inputs
  }
}

/** Returns the node over other inputs; the node itself where none changed. */
export function withInputs(plan: PhysicalPlan, inputs: readonly PhysicalPlan[]): PhysicalPlan {
  const old = inputsOf(plan)
  const [first] = inputs
  if (first === undefined || inputs.every((input, i) => input === old[i])) return plan
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return plan
    case 'PipelineExec':
    case 'LimitExec':
    case 'OffsetExec':
    case 'FetchExec':
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return { ...plan, input: first }
    case 'WideExec':
    case 'UnionExec':
      return { ...plan, inputs }
  }
}
