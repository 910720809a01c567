/**
 * What a DistArray handle asks of its session. `session.ts` joins planner, executor and array store behind it.
 */
import type { Schema as ArrowSchema, DataType, RecordBatch, Table } from 'apache-arrow'
import type { Selector, Shape } from './arrays/indexSpace.ts'
import type { Key } from './arrays/keys.ts'
import type { Storage } from './arrays/storage.ts'
import type { Batch, TypedArray } from './data/column.ts'
import type { ElementType } from './data/schema.ts'
import type { UserFunction } from './ir/functionIr.ts'
import type { Moment } from './moment.ts'
import type { LogicalPlan } from './plan/logicalPlan.ts'
import type { WriteAccess } from './ports.ts'

/** What a row lambda's arguments are. */
export interface RowLambdaContext {
  /** The method, for messages, as `filter`. */
  readonly method: string
  /** The element types of the leading arguments: one for `(value, key)`, two for `(a, b)`. */
  readonly inputs: readonly ElementType[]
  /** Position of the key argument, if the callback takes one, and the rank of the keys. */
  readonly key?: { readonly argument: number; readonly rank: number }
  /** Of an action, which calls the function itself on the caller's thread. */
  readonly isAction?: boolean
  /** Of an update buffer, whose kernels call the function itself, on any thread. */
  readonly isCalled?: boolean
}

export type FoldKind = 'sum' | 'min' | 'max' | 'count'

/** `count` values that are not null; `value` is undefined of nothing but a sum, and a bigint of 64-bit integers, of any size for a sum. */
export interface Folded {
  readonly value: number | bigint | undefined
  readonly count: number
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal
  /** Of a stream: batches may have columns of their own where only running the functions tells them, rather than wait for all. */
  readonly isUntyped?: boolean
  readonly moment?: Moment
}

/** What a plan is made with. */
export interface Lowering {
  readonly seed: number
  /** Source, captures, IR or refusals. Throws PlanError for a column that does not exist and for async functions. */
  lowerRowLambda(f: (...args: never[]) => unknown, context: RowLambdaContext): UserFunction
  /** What a lowered function returns; `unknown` when only running it can tell. */
  returnedElement(f: UserFunction, context: RowLambdaContext): ElementType
}

/** What lies in memory, to be looked at: nothing is computed, waited for or locked. */
export interface Holdings {
  /** Not after the session was stopped. */
  readonly isOpen: boolean
  /** What a node holds of its own; undefined where it is still to be computed, or made. 'elsewhere': in other processes. */
  of(node: LogicalPlan): Storage | 'gone' | 'being written' | 'elsewhere' | undefined
}

export interface Engine extends Lowering {
  /** What the arrays of the session hold at the moment. */
  holdings(): Holdings
  /** Reads what the plan's functions capture: for an action that asks several of the following, which else read it themselves at the call. */
  moment(plan: LogicalPlan): Moment
  /** Runs the plan; batches come in element order. */
  execute(plan: LogicalPlan, options?: ExecuteOptions): Promise<readonly Batch[]>
  /** The same, one partition after another as they are asked for. */
  stream(plan: LogicalPlan, options?: ExecuteOptions): AsyncIterable<Batch>
  /** A reduction of the plan's numbers (`count`: of its elements) in one pass over columns; undefined where batches are needed. */
  fold(plan: LogicalPlan, kind: FoldKind, moment?: Moment): Promise<Folded | undefined>
  explain(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): string
  /** Runs the plan, keeps nothing of its result, and explains what ran. */
  analyze(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): Promise<string>
  /** Columns of a plan whose element is not known before it runs: runs it once. */
  shape(plan: LogicalPlan): Promise<readonly number[]>
  /** What Arrow calls the element: a schema for rows, a data type for scalars. Never called with an unknown element. */
  arrowSchema(element: ElementType): ArrowSchema | DataType
  /** Batches as one Arrow table over ordinary memory; `element` is the plan's, for a result without batches. */
  toArrowTable(element: ElementType, batches: readonly Batch[]): Table
  /** One batch as Arrow's, over ordinary memory; `element` is the plan's. */
  toRecordBatch(element: ElementType, batch: Batch): RecordBatch

  // queries over keyed storage; they build and keep an index where there is none
  at(plan: LogicalPlan, key: Key): Promise<unknown>
  slice(plan: LogicalPlan, selectors: readonly Selector[], method: string): Promise<{ readonly shape: Shape; readonly data: TypedArray }>
  toTypedArray(plan: LogicalPlan): Promise<TypedArray>
  // in place; the array owns its storage from then on
  set(plan: LogicalPlan, key: Key, value: unknown): Promise<void>
  assign(plan: LogicalPlan, selectors: readonly Selector[], data: TypedArray | readonly number[] | number): Promise<void>
  update(plan: LogicalPlan, key: Key, f: (value: never) => unknown): Promise<void>
  release(plan: LogicalPlan): Promise<void>

  write(
    plan: LogicalPlan,
    target: WriteTarget,
    form: WriteForm,
  ): Promise<{ readonly rows: number; readonly bytes: number; readonly files?: number }>
}

export type ParquetCompression = 'snappy' | 'zstd' | 'gzip' | 'brotli' | 'lz4' | 'none'

/** Of the buffers of Arrow files. */
export type ArrowCompression = 'zstd' | 'lz4'

/** What becomes of files in the folder that is written: the folder is refused, new files lie beside them, or in their place. */
export type Existing = 'refuse' | 'add' | 'replace'

/** Where something is written to. */
export interface WriteTarget extends WriteAccess {
  readonly path: string
  /** That the program called. */
  readonly method: string
}

export type WriteForm =
  | {
      readonly kind: 'parquet'
      readonly compression: ParquetCompression
      readonly rowGroupRows?: number
      readonly compatibility?: 'v1'
      /** Columns that become folders. */
      readonly partitionBy?: readonly string[]
      readonly existing?: Existing
    }
  | { readonly kind: 'arrow'; readonly compression?: ArrowCompression }
  /** Characters: what stands between fields, and before decimals. */
  | { readonly kind: 'csv'; readonly delimiter?: string; readonly decimal?: '.' | ',' }
  | { readonly kind: 'ndjson' }
  /** The numbers, for NumPy. */
  | { readonly kind: 'npy' }
  /** The numbers, for readers of Arrow. */
  | { readonly kind: 'tensor' }
  /** The array, for `load`. */
  | { readonly kind: 'array' }
