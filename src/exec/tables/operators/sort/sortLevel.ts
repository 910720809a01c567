/** Sort levels: a sort key as 64-bit words (normalized keys), one level for the words that decide where all before are equal. */
import type { SortForm } from '../../../kernels/tables/sortWords.ts'

/** The addresses of a column of numbers; `bits`, its validity bitmap, is 0 where no value is null. */
export interface FixedPlace {
  readonly form: SortForm
  readonly values: number
  readonly bits: number
}

/** The addresses of a column of texts. */
export interface TextPlace {
  readonly bytes: number
  readonly offsets: number
  readonly bits: number
}

export type Span =
  | ({ readonly kind: 'fixed'; readonly out: number } & FixedPlace)
  | ({ readonly kind: 'text'; readonly out: number; readonly reference: number } & TextPlace)

/** A field of a normalized key's word: the low bits of value - base, or `ofNull`. */
export interface PackedPart extends FixedPlace {
  readonly flip: bigint
  readonly base: bigint
  readonly ofNull: bigint
  /** The number of lowest bits that are left out here, and come in the next word. */
  readonly dropped: bigint
  /** The width of the field, in bits. */
  readonly width: bigint
}

/** A part of the sort key, which orders the rows that are equal by all levels before it. */
export type SortLevel =
  | { readonly kind: 'words'; readonly words: number; readonly parts: readonly PackedPart[] }
  | ({ readonly kind: 'text'; readonly skip: number; readonly flip: bigint; readonly ofNull: bigint } & TextPlace)
