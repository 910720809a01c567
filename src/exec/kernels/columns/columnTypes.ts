/** The types of column kernels: columns, values of four rows, and the slots of the frame, which holds addresses and numbers. */
import type { ColumnType } from '../../../core/data/schema.ts'
import type { BigintType } from '../expressions/types.ts'

/** A slot of the frame: an address unless it says otherwise. */
export type FrameSlot =
  | { readonly kind: 'values' | 'validity' | 'offsets'; readonly column: number }
  | { readonly kind: 'codes'; readonly column: number }
  /** The number of bytes in the values of a column. */
  | { readonly kind: 'size'; readonly column: number }
  /** The dictionary code of a text in the column, -1 where the column does not have it. */
  | { readonly kind: 'code'; readonly column: number; readonly text: string }
  /** The number of a column's first text in the dictionary of chosen texts, counted from behind the constants. */
  | { readonly kind: 'firstText'; readonly column: number }
  | { readonly kind: 'number'; readonly value: number }
  /** The address of a table that is copied for the run: elements of captured lists, keys and values of collections. */
  | { readonly kind: 'table'; readonly data: Float64Array | Int32Array }
  | { readonly kind: 'bitmap' | 'counts' }
  /** The address of a word that becomes 1 where a double to be stored as an integer is none, or a date that is stored is invalid. */
  | { readonly kind: 'inexact' }
  | { readonly kind: 'output' | 'outputValidity' | 'outputCounts'; readonly output: number }
  /** The number of entries of the lists that a kernel appends to, and the address of a list. */
  | { readonly kind: 'listed' }
  | { readonly kind: 'list'; readonly list: number }
  /** Of a part of a group's key: the least value, the number of values from there on, and the distance of the places of two neighbors. */
  | { readonly kind: 'part'; readonly part: number; readonly what: 'base' | 'span' | 'stride' }

/** The description of a column that its kernels depend on. */
export interface KernelColumn {
  readonly type: ColumnType
  readonly nullable: boolean
  /** Whether its nulls are undefined to the program. */
  readonly missing?: true
  /** The type of the dictionary codes, where text has such. */
  readonly codes?: 'u8' | 'u16' | 'i32'
  /** Whether text has codes alone, and no bytes to read. */
  readonly unspelled?: boolean
}

/**
 * The value of an expression for four rows. Numbers in `lo`, `hi`, `at`, `valid` are wasm locals. `valid` is a mask of lanes that are not
 * null; in others the value itself is 0 or false, to which JavaScript converts null in arithmetic.
 * `column` is set where the value is that column, unchanged.
 */
export type ColumnValue =
  | {
      readonly kind: 'f64' | 'i64'
      readonly lo: number
      readonly hi: number
      readonly valid?: number
      readonly column?: number
      /** The type of a computed bigint; a column's may be any of 64 bits. */
      readonly bigint?: BigintType
      /** Absent values are undefined, not null: NaN in arithmetic, and equal to no null. */
      readonly missing?: true
    }
  | {
      readonly kind: 'i32'
      readonly at: number
      readonly low: number
      readonly high: number
      /** Every lane has the same number. */
      readonly equal?: true
      readonly valid?: number
      readonly column?: number
      readonly missing?: true
    }
  | {
      readonly kind: 'bool'
      readonly at: number
      readonly valid?: number
      readonly column?: number
      /** Absent values are undefined, not null: equal to no null, and not 0. */
      readonly missing?: true
    }
  /** Dates that were made: whole milliseconds since 1970 as doubles, NaN for an invalid one, 0 where there is none. */
  | { readonly kind: 'date'; readonly lo: number; readonly hi: number; readonly valid?: number; readonly column?: undefined }
  /** A chosen text: the number of its entry, which is a constant or a text of a column (`textPlaces.ts`). */
  | {
      readonly kind: 'text'
      readonly at: number
      /** The columns that the text may come from. */
      readonly columns: readonly number[]
      readonly valid?: number
      readonly missing?: true
      readonly column?: undefined
    }
  /** A column that is only passed on, searched, or compared as text. */
  | { readonly kind: 'other'; readonly column: number }
  /** `column`: the one that it is of, which holds nothing but null. */
  | { readonly kind: 'constant'; readonly value: string | bigint | null | undefined; readonly column?: number }
  | { readonly kind: 'row'; readonly names: readonly string[]; readonly of: (name: string) => ColumnValue }
