/**
 * The interfaces between layers, which `core` names and `io` or `exec` implement.
 */
import type { Batch, Column } from './data/column.ts'
import type { ColumnType } from './data/schema.ts'
import type { ArraySource } from './plan/logicalPlan.ts'
import type { ColumnPredicate } from './plan/predicate.ts'
import type { GivenFiles, S3Options, SourceSplit } from './sourceParts.ts'

/** The memory into which tables of the program are copied, so that kernels reach them. */
export interface TableMemory {
  /** Copies columns of `rows` rows, each joined from its pieces; undefined when they stay in memory of their own. */
  place(columns: readonly (readonly Column[])[], rows: number): PlacedColumns | undefined
}

export interface PlacedColumns {
  readonly columns: readonly Column[]
  /** Keeps the memory of the columns for as long as `owner` lives, which all users of the columns hold on to. */
  hold(owner: object): void
}

/** The settings of one write. */
export interface WriteAccess {
  /** Ends the reading or writing when aborted, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** The longest silence of a server, before the request fails. */
  readonly timeoutMs?: number | undefined
  /** The number of times that a request is made again for which a server was too busy. */
  readonly retries?: number | undefined
  readonly s3?: S3Options | undefined
}

/** The settings and helpers of one read. */
export interface Access extends WriteAccess {
  /** Whether the thread has nothing else to do: then files are read synchronously, which costs less of its time. */
  readonly waits?: boolean | undefined
  /** The headers of each request to a server. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly given?: GivenFiles | undefined
  /** The function that makes requests. Default: the platform's fetch. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Open files that reads of the same thread share. Default: each read opens its own. */
  readonly files?: OpenFiles | undefined
  /** Memory for the bytes of a file, used again by the next read of the same reader. Default: each read has a buffer of its own. */
  readonly scratch?: Scratch | undefined
  /** The types of structs of which some fields alone are wanted, by a column's number among those that are read. Readers may give all fields. */
  readonly narrowed?: ((column: number) => ColumnType | undefined) | undefined
  /** The destination of a column's values, by its number among those that are read: room for all values, or of texts one byte each for the dictionary code, of up to 256 entries. `within`: that of a field of a struct, counted over the structs and fields that are wanted, each struct before its fields. */
  readonly into?: ((column: number, within?: number) => Uint8Array | undefined) | undefined
  readonly numbers?: NumberKernels | undefined
  readonly csv?: CsvKernels | undefined
  /** Kernels that write the values of unpacked pages to the places that `into` gives. */
  readonly pages?: PageKernels | undefined
  /** Scratch memory for bytes that the page kernels unpack, in memory that kernels reach, so that the bytes are not copied. */
  readonly packed?: Scratch | undefined
  /** Texts may come as dictionary codes. */
  readonly dictionaries?: true
  /** The rows of the split that alone are wanted, ascending; `readSplit` gives these and no others. */
  readonly rows?: Int32Array | undefined
  /** The numbers of a column's texts, by its number among those that are read. Where its pages allow it, such a column has the numbers of its rows' texts, at the place that `into` gives, and no texts. */
  readonly numbered?: ((column: number) => TextNumbers | undefined) | undefined
}

/** Leaves out splits, and rows of splits, that cannot satisfy the predicate, as far as the source knows beside statistics; the others stay in their order. */
export type RuleOut = (source: ArraySource, splits: readonly SourceSplit[], predicate: ColumnPredicate) => Promise<readonly SourceSplit[]>

/** Checks that the files of which no split is left to be read are what they were. SourceError where one has changed, or is gone. */
export type CheckUnread = (source: ArraySource, left: readonly SourceSplit[]) => Promise<void>

/** What is asked of files before a plan reads them. */
export interface FileFilters {
  readonly ruleOut: RuleOut
  readonly checkUnread: CheckUnread
}

/** Numbers for texts of which nothing else is asked. */
export interface TextNumbers {
  /** The number of each of `count` texts that lie behind their lengths, and 0 behind them; undefined where a text has none, or the bytes are no such texts. */
  ofPlain(texts: Uint8Array, count: number): Uint16Array | undefined
}

/** Kernels over a memory other than the session's, such as a decoder's. */
export interface NumberKernels {
  /** Converts 64-bit integers in place to f64, each divided by `divisor`; false where one is not between ±`limit`, and then all are lost. */
  scaled(memory: WebAssembly.Memory, integers: Integers): boolean
}

export interface Integers {
  /** Byte address of the first integer; a multiple of 8. */
  readonly address: number
  readonly count: number
  readonly signed: boolean
  /** Bound that all magnitudes stay below; at most 2^53, so that each integer is exact as f64. */
  readonly limit: number
  readonly divisor: number
}

/** Kernels that find and convert the fields of CSV. */
export interface CsvKernels {
  /** The number of field bounds that the memory holds before their columns are read. Records with more are parsed without kernels. */
  readonly mostBounds: number
  /** Calls `use` with a memory that has room for `length` bytes of a file, and takes the memory back when its promise settles. */
  withMemory<R>(length: number, use: (memory: CsvMemory) => Promise<R>): Promise<R>
}

/** The type that the text of a CSV field is converted to. */
export type CsvField =
  | 'f64'
  | 'f32'
  | 'i32'
  | 'u32'
  | 'i16'
  | 'u16'
  | 'i8'
  | 'u8'
  | 'i64'
  | 'u64'
  | 'bool'
  | 'date'
  | 'timestamp'
  | 'timestamp(us)'
  | 'timestamp(ns)'
  | 'utf8'

export interface CsvMemory {
  /** The bytes of a piece of the file, filled in by the caller. */
  readonly bytes: Uint8Array
  /** The bounds of fields, two numbers each: where it begins (`~begin` inside of quotes) and ends. */
  readonly bounds: Int32Array
  /** Writes bounds of records of `width` fields, from the byte `at` on, into `bounds` from `base` on; returns both ends. It stops before a record that is not plain. */
  records(from: { readonly at: number; readonly base: number; readonly width: number; readonly delimiter: number }): {
    readonly at: number
    readonly base: number
  }
  /** Whether the number of quotes from one byte to another is odd. */
  oddQuotes(from: number, to: number): boolean
  /** Converts `count` fields, whose bounds lie at `place`, `place + step`, …; the end offsets of texts count from `base`. */
  staged(
    field: CsvField,
    fields: { readonly place: number; readonly step: number; readonly count: number; readonly base: number },
  ): CsvStaged
}

/** The values of fields, up to the first that is not plain; the next call overwrites their memory. */
export interface CsvStaged {
  readonly done: number
  /** A byte for each field, 0 where it is empty; undefined where none is. */
  readonly present: Uint8Array | undefined
  values<A>(array: new (buffer: ArrayBuffer, offset: number, length: number) => A): A
  /** The end offset of each text. */
  offsets(): Int32Array
  /** The bytes of all texts, `length` in number. */
  texts(length: number): Uint8Array
}

/** Kernels that decode the values of pages into the session's memory. */
export interface PageKernels {
  /** Writes all values of a column from `parts`, the unpacked pages in order; false where a page is malformed, and then the destination holds garbage. */
  decode(parts: readonly Uint8Array[], column: PagedColumn): boolean
  /** Reads texts of pages, each stored behind its length, into blocks of the session's memory that the maker of the kernels frees; undefined where a page is malformed or memory is short. Of UTF-8 only one thing is checked: no text begins with a continuation byte. */
  texts(parts: readonly Uint8Array[], pages: readonly PageOfValues[]): Required<Pick<Column, 'offsets' | 'values'>> | undefined
  /** Writes the number of each value of a page of dictionary indices, a byte each; false where the page is malformed, or not in the kernels' memory. */
  numbers(page: NumberedPage, out: Uint8Array): boolean
  /** Unpacks pages that Snappy packed, one behind the other, and hands the bytes to `use`; undefined where a page does not unpack to its stated size, or memory is short. */
  unpack<R>(pages: readonly PackedPage[], use: (unpacked: Uint8Array) => R): R | undefined
}

/** The bytes of a page as they are in the file, and how many they unpack to. */
export interface PackedPage {
  readonly bytes: Uint8Array
  readonly unpackedBytes: number
}

/** A page of dictionary indices without levels: their bit width in the first byte, and behind it runs. */
export interface NumberedPage {
  readonly bytes: Uint8Array
  readonly values: number
  /** The number of each entry of the dictionary, and that of null behind them. */
  readonly numbers: Uint16Array
}

/** A column's values in pages. Positions (`at`, `end`) count over the bytes of all parts. */
export interface PagedColumn {
  /** The destination of the values, in the session's memory. */
  readonly out: Uint8Array
  /** Bytes of a value in the file; 1 for texts, of which the dictionary code is written. */
  readonly width: 1 | 4 | 8
  /** The conversion of integers to f64; absent where they stay integers. */
  readonly numbers?: Pick<Integers, 'signed' | 'limit' | 'divisor'> | undefined
  readonly dictionary?: { readonly at: number; readonly entries: number } | undefined
  /** The pages, in row order. */
  readonly pages: readonly PageOfValues[]
}

export interface PageOfValues {
  readonly at: number
  readonly end: number
  readonly values: number
  /** The bit width of dictionary codes in the page's runs (RLE and bit-packed); absent where the page holds plain values. */
  readonly indexBits?: number | undefined
}

export interface OpenFile {
  close(): Promise<void>
}

/** Files that stay open between reads, and are closed by whoever lends them. */
export interface OpenFiles {
  /** The open file of this path, which `make` opens where none is yet. */
  opened<F extends OpenFile>(path: string, make: () => Promise<F>): Promise<F>
}

/** A buffer that each call may use again, so that the bytes of the call before are lost. */
export interface Scratch {
  /** Room for `length` bytes of any content, aligned to 8. */
  bytes(length: number): Uint8Array
}

/**
 * Reads some columns of one split, as batches in row order. Runs in any thread. `predicate` may be used to skip pages.
 */
export type ReadSplit = (
  source: ArraySource,
  split: SourceSplit,
  columns: readonly string[],
  predicate?: ColumnPredicate,
  access?: Access,
) => Promise<readonly Batch[]>
