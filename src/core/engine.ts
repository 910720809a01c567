/**
 * The interface through which a DistArray handle asks its session for work; `session/engine.ts` implements it over planner, executor and array store.
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

/** The arguments of a row lambda, and who will call it. */
export interface RowLambdaContext {
  /** The method, for messages, as `filter`. */
  readonly method: string
  /** The element types of the leading arguments: one for `(value, key)`, two for `(a, b)`. */
  readonly inputs: readonly ElementType[]
  /** Position of the key argument, if the callback takes one, and the rank of the keys. */
  readonly key?: { readonly argument: number; readonly rank: number }
  /** Whether the method is an action, which calls the function itself on the caller's thread. */
  readonly isAction?: boolean
  /** Whether an update buffer takes the function: its kernels call the function itself, on any thread. */
  readonly isCalled?: boolean
}

export type FoldKind = 'sum' | 'min' | 'max' | 'count'

/** The result of a reduction over `count` values that are not null. `value` is undefined without values, except for a sum; of 64-bit integers it is a bigint, and a sum of any size. */
export interface Folded {
  readonly value: number | bigint | undefined
  readonly count: number
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal
  /** Batches of a stream may differ in their columns where only running the functions tells them; else all are computed before the first is given. */
  readonly isUntyped?: boolean
  readonly moment?: Moment
}

/** The part of the engine that makes nodes: it lowers functions and tells their result types. */
export interface Lowering {
  readonly seed: number
  /** Reads a function: its source, captures, and IR or refusals. Throws PlanError for a column that does not exist and for async functions. */
  lowerRowLambda(f: (...args: never[]) => unknown, context: RowLambdaContext): UserFunction
  /** The element type that a lowered function returns; `unknown` when only running it can tell. */
  returnedElement(f: UserFunction, context: RowLambdaContext): ElementType
}

/** A look at the arrays in memory: nothing is computed, waited for or locked. */
export interface Holdings {
  /** Whether the session still runs; false after it was stopped. */
  readonly isOpen: boolean
  /** The storage that a node owns; undefined where it is still to be computed, or made. 'elsewhere': it lies in other processes. */
  of(node: LogicalPlan): Storage | 'gone' | 'being written' | 'elsewhere' | undefined
}

export interface Engine extends Lowering {
  /** A look at the storage that the session's arrays hold. */
  holdings(): Holdings
  /** Reads the captures of the plan's functions, for an action that calls several of the methods below; without it each reads them at its call. */
  moment(plan: LogicalPlan): Moment
  /** Runs the plan; batches come in element order. */
  execute(plan: LogicalPlan, options?: ExecuteOptions): Promise<readonly Batch[]>
  /** Runs the plan partition after partition, as batches are asked for, in element order. */
  stream(plan: LogicalPlan, options?: ExecuteOptions): AsyncIterable<Batch>
  /** A reduction of the plan's numbers (`count`: of its elements) in one pass over columns; undefined where batches are needed. */
  fold(plan: LogicalPlan, kind: FoldKind, moment?: Moment): Promise<Folded | undefined>
  explain(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): string
  /** Runs the plan, keeps nothing of its result, and explains what ran. */
  analyze(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): Promise<string>
  /** The extents of the plan's keys; runs the plan where only its result tells them. */
  shape(plan: LogicalPlan): Promise<readonly number[]>
  /** The Arrow type of an element: a schema for rows, a data type for scalars. Never called with an unknown element. */
  arrowSchema(element: ElementType): ArrowSchema | DataType
  /** Batches as one Arrow table over ordinary memory; `element` is the plan's, for a result without batches. */
  toArrowTable(element: ElementType, batches: readonly Batch[]): Table
  /** One batch as an Arrow record batch over ordinary memory; `element` is the plan's. */
  toRecordBatch(element: ElementType, batch: Batch): RecordBatch

  // queries over keyed storage; they build and keep an index where there is none
  at(plan: LogicalPlan, key: Key): Promise<unknown>
  slice(plan: LogicalPlan, selectors: readonly Selector[], method: string): Promise<{ readonly shape: Shape; readonly data: TypedArray }>
  toTypedArray(plan: LogicalPlan): Promise<TypedArray>
  // writes in place; the array owns its storage from then on
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

/** The codec of the buffers in Arrow files. */
export type ArrowCompression = 'zstd' | 'lz4'

/** The treatment of files that are already in the folder to be written: refuse the folder, add new files beside them, or replace them. */
export type Existing = 'refuse' | 'add' | 'replace'

/** The place that a writer writes to. */
export interface WriteTarget extends WriteAccess {
  readonly path: string
  /** The method that the program called, for messages. */
  readonly method: string
}

export type WriteForm =
  | {
      readonly kind: 'parquet'
      readonly compression: ParquetCompression
      readonly rowGroupRows?: number
      readonly compatibility?: 'v1'
      /** The columns whose values become folders, outermost first. */
      readonly partitionBy?: readonly string[]
      readonly existing?: Existing
    }
  | { readonly kind: 'arrow'; readonly compression?: ArrowCompression }
  /** `delimiter` stands between fields, `decimal` before decimals. */
  | { readonly kind: 'csv'; readonly delimiter?: string; readonly decimal?: '.' | ',' }
  | { readonly kind: 'ndjson' }
  /** A NumPy file of the numbers. */
  | { readonly kind: 'npy' }
  /** An Arrow tensor of the numbers, for readers of Arrow. */
  | { readonly kind: 'tensor' }
  /** The library's own file of an array with its keys, for `load`. */
  | { readonly kind: 'array' }
