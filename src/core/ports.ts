/**
 * What the layers ask of each other: interfaces that `core` names and `io` or `exec` implement.
 */
import type { Batch, Column } from './data/column.ts'
import type { ArraySource } from './plan/logicalPlan.ts'
import type { ColumnPredicate } from './plan/predicate.ts'
import type { GivenFiles, S3Options, SourceSplit } from './sourceParts.ts'

/** Where tables in memory are put, so that kernels reach them. */
export interface TableMemory {
  /** The columns copied there, whole, each from its pieces; undefined when they stay in memory of their own. */
  place(columns: readonly (readonly Column[])[], rows: number): PlacedColumns | undefined
}

export interface PlacedColumns {
  readonly columns: readonly Column[]
  /** Ties their memory to the object that all users of the columns hold on to. */
  hold(owner: object): void
}

/** What one writing obeys. */
export interface WriteAccess {
  /** Ends it, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** How long a server may send nothing. */
  readonly timeoutMs?: number | undefined
  /** How often a request is made again that a server was too busy for. */
  readonly retries?: number | undefined
  readonly s3?: S3Options | undefined
}

/** What one read obeys. */
export interface Access extends WriteAccess {
  /** The thread has nothing else to do: files are read while it waits, which takes less of its time. */
  readonly waits?: boolean | undefined
  /** What is sent with each request to a server. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly given?: GivenFiles | undefined
  /** Who makes requests. Default: the platform. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Files that other reads of the same thread want as well. Default: each read opens its own. */
  readonly files?: OpenFiles | undefined
  /** Memory for what is read, where who reads is done with it before the next read. Default: each buffer has its own. */
  readonly scratch?: Scratch | undefined
  /** Where the values of a column go, by its number among those that are read: as many bytes as they take, and of texts one for the place of each in a dictionary of up to 256. */
  readonly into?: ((column: number) => Uint8Array | undefined) | undefined
  readonly numbers?: NumberKernels | undefined
  readonly csv?: CsvKernels | undefined
  /** What writes values of unpacked pages to the places that `into` tells. */
  readonly pages?: PageKernels | undefined
  /** The same as `scratch` for bytes that these kernels unpack: where they lie already as kernels reach them, they are not copied. */
  readonly packed?: Scratch | undefined
  /** Texts may come as places in a dictionary. */
  readonly dictionaries?: true
}

/** Kernels over memory that is not the session's, as that of a decoder. */
export interface NumberKernels {
  /** Makes f64 of integers of 64 bits where they lie, each divided by `divisor`; false where one is not between ±`limit`, and then they are lost. */
  scaled(memory: WebAssembly.Memory, integers: Integers): boolean
}

export interface Integers {
  /** A multiple of 8. */
  readonly address: number
  readonly count: number
  readonly signed: boolean
  /** At most 2^53, so that what is between is exactly a number. */
  readonly limit: number
  readonly divisor: number
}

/** Kernels over CSV. */
export interface CsvKernels {
  /** Bounds that are kept before their columns are read. A record with more is not for kernels. */
  readonly mostBounds: number
  /** What `use` gives, of a memory with room for so many bytes of a file, whose it is until then. */
  withMemory<R>(length: number, use: (memory: CsvMemory) => Promise<R>): Promise<R>
}

/** What a field of CSV is made into. */
export type CsvField = 'f64' | 'f32' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8' | 'i64' | 'u64' | 'bool' | 'date' | 'timestamp' | 'utf8'

export interface CsvMemory {
  /** The piece of a file: its owner puts it there. */
  readonly bytes: Uint8Array
  /** Two numbers a field: where it begins (`~begin` inside of quotes) and ends. */
  readonly bounds: Int32Array
  /** Puts the bounds of records of `width` fields, from the byte `at` on, to `base` and behind; where it ended, before a record that is not plain at the latest. */
  records(from: { readonly at: number; readonly base: number; readonly width: number; readonly delimiter: number }): {
    readonly at: number
    readonly base: number
  }
  /** Whether the number of quotes from one byte to another is odd. */
  oddQuotes(from: number, to: number): boolean
  /** Makes values of fields, of which the first has its bounds at `place`, and each next `step` later; the ends of texts count from `base`. */
  staged(
    field: CsvField,
    fields: { readonly place: number; readonly step: number; readonly count: number; readonly base: number },
  ): CsvStaged
}

/** Values of fields, up to the first that is not plain; they lie in a memory that the next call uses again. */
export interface CsvStaged {
  readonly done: number
  /** A byte each, 0 for a field with nothing in it; undefined where all are there. */
  readonly present: Uint8Array | undefined
  values<A>(array: new (buffer: ArrayBuffer, offset: number, length: number) => A): A
  /** Where texts end. */
  offsets(): Int32Array
  /** The bytes of texts. */
  texts(length: number): Uint8Array
}

/** Kernels that find the values of pages, in the session's memory. */
export interface PageKernels {
  /** Whether all values of the column were written: where one is not as it should be, what was is lost. `parts` are unpacked pages, one behind the other. */
  decode(parts: readonly Uint8Array[], column: PagedColumn): boolean
  /** Texts of pages that have each behind its length, in blocks of the session's memory that whoever made the kernels frees; undefined where they are not as they should be, and where memory is short. Whether their bytes are characters is not asked, but that none begins with what continues one. */
  texts(parts: readonly Uint8Array[], pages: readonly PageOfValues[]): Required<Pick<Column, 'offsets' | 'values'>> | undefined
  /** Hands what Snappy packed to `use`, unpacked, one page behind the other; undefined where a page does not unpack to as many bytes as it says, and where memory is short. */
  unpack<R>(pages: readonly PackedPage[], use: (unpacked: Uint8Array) => R): R | undefined
}

/** The bytes of a page as they are in the file, and how many they unpack to. */
export interface PackedPage {
  readonly bytes: Uint8Array
  readonly unpackedBytes: number
}

/** Values in pages. Places are those among the bytes of all parts. */
export interface PagedColumn {
  /** Where the values go: in the session's memory. */
  readonly out: Uint8Array
  /** Bytes of a value of the file, or 1 where what is written is the number of its entry in the dictionary: those of texts. */
  readonly width: 1 | 4 | 8
  /** How f64 are made of its integers; they stay as they are where it does not say. */
  readonly numbers?: Pick<Integers, 'signed' | 'limit' | 'divisor'> | undefined
  readonly dictionary?: { readonly at: number; readonly entries: number } | undefined
  /** In the order of their values. */
  readonly pages: readonly PageOfValues[]
}

export interface PageOfValues {
  readonly at: number
  readonly end: number
  readonly values: number
  /** The bits of an index of the dictionary's entries, which runs of them are made of; absent where the page has values. */
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

/** Memory that is used again. */
export interface Scratch {
  /** Room for so many bytes, whatever they hold, aligned to 8. */
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
