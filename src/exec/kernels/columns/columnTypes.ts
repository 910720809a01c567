/** What column kernels compute with: columns, values of four rows, and slots of the frame that addresses and captured numbers lie in. */
import type { ColumnType } from '../../../core/data/schema.ts'
import type { BigintType } from '../expressions/types.ts'

/** What the kernel finds in a slot of its frame. */
export type FrameSlot =
  | { readonly kind: 'values' | 'validity' | 'offsets'; readonly column: number }
  | { readonly kind: 'codes'; readonly column: number }
  /** How many bytes the values of a column have. */
  | { readonly kind: 'size'; readonly column: number }
  /** The code of a text in the column, -1 where no row has it. */
  | { readonly kind: 'code'; readonly column: number; readonly text: string }
  /** Where the texts of a column begin behind the constants of the dictionary that texts are chosen from. */
  | { readonly kind: 'firstText'; readonly column: number }
  | { readonly kind: 'number'; readonly value: number }
  /** What is copied for the run: elements of captured lists, keys and values of collections. */
  | { readonly kind: 'table'; readonly data: Float64Array | Int32Array }
  | { readonly kind: 'bitmap' | 'counts' }
  /** Of a word that becomes 1 where a double that was to be had as an integer is none, or a date that is stored is invalid. */
  | { readonly kind: 'inexact' }
  | { readonly kind: 'output' | 'outputValidity' | 'outputCounts'; readonly output: number }

/** A column as kernels see it. */
export interface KernelColumn {
  readonly type: ColumnType
  readonly nullable: boolean
  /** Of text that has codes: what they are. */
  readonly codes?: 'u8' | 'u16' | 'i32'
  /** Whether it has codes alone: there are no bytes to look at. */
  readonly unspelled?: boolean
}

/**
 * What an expression is for four rows. Numbers in the fields are wasm locals. `valid` has ones where the value is not
 * null; where it is null the value itself is 0 or false, which is what JavaScript makes of null in arithmetic.
 * `column` is set when the value is that column and nothing else.
 */
export type ColumnValue =
  | {
      readonly kind: 'f64' | 'i64'
      readonly lo: number
      readonly hi: number
      readonly valid?: number
      readonly column?: number
      /** Of computed bigints, what is known; those of a column are any of 64 bits. */
      readonly bigint?: BigintType
      /** What is not there is undefined, which is NaN to arithmetic and equals no null. */
      readonly missing?: true
    }
  | {
      readonly kind: 'i32'
      readonly at: number
      readonly low: number
      readonly high: number
      /** The same number in every lane. */
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
      /** What is not there is undefined, which equals no null and is no 0. */
      readonly missing?: true
    }
  /** Dates that were made: whole milliseconds since 1970 as doubles, NaN for an invalid one, 0 where there is none. */
  | { readonly kind: 'date'; readonly lo: number; readonly hi: number; readonly valid?: number; readonly column?: undefined }
  /** One of several texts: the number of its entry, of constants or of texts of columns (`textPlaces.ts`). */
  | {
      readonly kind: 'text'
      readonly at: number
      /** Which columns it may be of. */
      readonly columns: readonly number[]
      readonly valid?: number
      readonly missing?: true
      readonly column?: undefined
    }
  /** A column that is only passed on, or compared as text. */
  | { readonly kind: 'other'; readonly column: number }
  | { readonly kind: 'constant'; readonly value: string | bigint | null | undefined }
  | { readonly kind: 'row'; readonly names: readonly string[]; readonly of: (name: string) => ColumnValue }
