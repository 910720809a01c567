/** The parts of a table to read: splits, which can be read alone, bytes that the program gave instead of files, and S3 settings. */
import type { Bounds } from './plan/predicate.ts'

/** Bytes in shared memory, or the path of a file that exists as long as somebody holds this object. */
export type GivenBytes = { readonly bytes: Uint8Array } | { readonly at: string }
export type GivenFiles = Readonly<Record<string, GivenBytes>>

/** One piece of a source. `detail` is the reader's own, structured-cloneable. */
export interface SourceSplit {
  readonly rows?: number | undefined
  /** Size of the piece in the file, before it is unpacked. */
  readonly bytes?: number | undefined
  /** The piece's name for messages, as `row group 3 of ratings.parquet`, and how to get smaller ones. */
  readonly place?: { readonly what: string; readonly cure: string }
  /** The estimated bytes of memory of each column once it is read, where that is known. */
  readonly columnBytes?: ReadonlyMap<string, number>
  /** Smallest and largest value per column where the source knows them, for skipping. Nulls are not counted. */
  readonly statistics?: ReadonlyMap<string, Bounds>
  /** The split of which this one has some rows. */
  readonly partOf?: SourceSplit
  /** The reader's own data for filters that tell whether, and where, a column may have a value, by column. */
  readonly filters?: ReadonlyMap<string, unknown>
  /** Columns of which a value may be null; all of them where it is not said. What is read decides: a file may be wrong. */
  readonly mayBeNull?: ReadonlySet<string>
  /** The number of its file among those that are read as one table. */
  readonly file?: number
  /** Columns with one value in all rows: those that the names of the file's folders give (hive partitioning), and those that hold nothing but null. */
  readonly constants?: ReadonlyMap<string, Constant> | undefined
  /** A column of the numbers of its rows, the first of which is `from`: no part of the file, but made for a plan (`fetchRows.ts`). */
  readonly rowNumbers?: { readonly column: string; readonly from: number } | undefined
  /** The reader's own data for each column, beside `detail`; a read is sent that of its columns only. */
  readonly columns?: ReadonlyMap<string, unknown> | undefined
  readonly detail: unknown
}

/** The one value of a column in all rows of a file. */
export type Constant = number | bigint | string | Date | null

/** The credentials, region and endpoint for S3. A field left out is taken from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL. */
export interface S3Options {
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly sessionToken?: string
  readonly region?: string
  /** The address of another store with S3's protocol, as https://storage.example.com. */
  readonly endpoint?: string
}
