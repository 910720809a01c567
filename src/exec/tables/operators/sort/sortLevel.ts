/** One of the values that rows are sorted by, and where its keys lie. */
import type { SortForm } from '../../../kernels/tables/sortWords.ts'

/** Where a column of numbers lies; `bits` is 0 where no value is null. */
export interface FixedPlace {
  readonly form: SortForm
  readonly values: number
  readonly bits: number
}

/** Where a column of texts lies. */
export interface TextPlace {
  readonly bytes: number
  readonly offsets: number
  readonly bits: number
}

export type Span =
  | ({ readonly kind: 'fixed'; readonly out: number } & FixedPlace)
  | ({ readonly kind: 'text'; readonly out: number; readonly reference: number } & TextPlace)

/** A part of a word: bits of what the column has over its base, or of what stands for null. */
export interface PackedPart extends FixedPlace {
  readonly flip: bigint
  readonly base: bigint
  readonly ofNull: bigint
  /** Lowest bits that are left out: they come in the next word. */
  readonly dropped: bigint
  /** The bits of the part. */
  readonly width: bigint
}

/** What orders rows that all before it find equal. */
export type SortLevel =
  | { readonly kind: 'words'; readonly words: number; readonly parts: readonly PackedPart[] }
  | ({ readonly kind: 'text'; readonly skip: number; readonly flip: bigint; readonly ofNull: bigint } & TextPlace)
