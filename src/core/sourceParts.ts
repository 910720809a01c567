/** What a table to read is made of: pieces that can be read alone, where they lie, and bytes that a program gave. */
import type { Bounds } from './plan/predicate.ts'

/** Shared memory, or a file that is there as long as somebody holds this object. */
export type GivenBytes = { readonly bytes: Uint8Array } | { readonly at: string }
export type GivenFiles = Readonly<Record<string, GivenBytes>>

/** One piece of a source. `detail` is the reader's own, structured-cloneable. */
export interface SourceSplit {
  readonly rows?: number | undefined
  /** In the file. */
  readonly bytes?: number | undefined
  /** Where it is, as `row group 3 of ratings.parquet`, and how to have smaller ones; for messages. */
  readonly place?: { readonly what: string; readonly cure: string }
  /** About how many bytes of memory each column takes once it is read, where that is known. */
  readonly columnBytes?: ReadonlyMap<string, number>
  /** Smallest and largest value per column where the source knows them, for skipping. Nulls are not counted. */
  readonly statistics?: ReadonlyMap<string, Bounds>
  /** The number of its file among those that are read as one table. */
  readonly file?: number
  /** Columns that are no part of the file and have one value in all of its rows: what the folders on the way to it say. */
  readonly constants?: ReadonlyMap<string, Constant> | undefined
  /** What its reader knows of each column, beside `detail`: a read needs that of its own columns. */
  readonly columns?: ReadonlyMap<string, unknown> | undefined
  readonly detail: unknown
}

/** The value of a column in all rows of a file. */
export type Constant = number | bigint | string | Date | null

/** Where objects of S3 lie, and who asks. What is not said here the environment says: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL. */
export interface S3Options {
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly sessionToken?: string
  readonly region?: string
  /** Of another store that speaks as S3 does, as https://storage.example.com. */
  readonly endpoint?: string
}
