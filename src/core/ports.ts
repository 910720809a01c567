/**
 * What the layers ask of each other: interfaces that `core` names and `io` or `exec` implement.
 */
import type { Batch } from './column.ts'
import type { ColumnPredicate } from './predicate.ts'
import type { ElementType } from './schema.ts'

/**
 * A table to read: files or tables in memory. Plain data, so that it can be sent to a worker; `io/readSplit.ts` reads
 * every kind.
 */
export interface ArraySource {
  /** Which reader: the keys of the table in `io/readSplit.ts`. */
  readonly kind: 'parquet' | 'arrow' | 'csv' | 'text' | 'memory'
  /** For messages and plans, as `ratings.parquet` or `fromColumns`. */
  readonly name: string
  readonly element: ElementType
  /** Rows when the source knows without reading the data (footers, memory). */
  readonly rows?: number
  /** Pieces that can be read alone, in row order; cut by the data (row groups, record batches, byte ranges), never by the worker count. */
  readonly splits: readonly SourceSplit[]
}

/** One piece of a source. `detail` is the reader's own, structured-cloneable. */
export interface SourceSplit {
  readonly rows?: number
  readonly bytes?: number
  /** Smallest and largest value per column where the source knows them, for skipping. Nulls are not counted. */
  readonly statistics?: Readonly<
    Record<string, { readonly min: number | bigint | string | boolean; readonly max: number | bigint | string | boolean }>
  >
  readonly detail: unknown
}

/** Reads some columns of one split, as batches in row order. Runs in any thread. `predicate` may be used to skip pages. */
export type ReadSplit = (
  source: ArraySource,
  split: SourceSplit,
  columns: readonly string[],
  predicate?: ColumnPredicate,
) => Promise<readonly Batch[]>
