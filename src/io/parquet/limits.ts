/**
 * How much of a Parquet file is decoded at once.
 *
 * A few bytes can become any size, and what they become is known only when it is decoded. So the decoder's memory has
 * an end, which follows from the session's budget: all amounts together leave the process within its budget and half a
 * GiB. A session with a GiB reads columns of 512 MiB.
 */
export interface DecodeLimits {
  /** A footer's values as objects: those of 80,000 column chunks in a small session. Its bytes may take half of it. */
  readonly footerBytes: number
  /** The decoder's memory for what is small by its pages. */
  readonly quickBytes: number
  /** The decoder's memory for what is taken over a batch of rows at a time. */
  readonly slowBytes: number
  /** One column of one row group, decoded. */
  readonly columnBytes: number
  /** All columns of one row group that are asked for, decoded. */
  readonly groupBytes: number
}

const MIB = 2 ** 20
/** WebAssembly addresses 4 GiB; its last page is left out, as an end of exactly 4 GiB overflows in some engines. */
const LARGEST_DECODER_BYTES = 2 ** 32 - 65_536

/** The limits of a session with this budget. */
export function decodeLimits(budgetBytes: number): DecodeLimits {
  return {
    footerBytes: 256 * MIB + 2 * Math.floor(budgetBytes / 4),
    quickBytes: Math.min(LARGEST_DECODER_BYTES, 96 * MIB + Math.floor(budgetBytes / 4)),
    slowBytes: Math.min(LARGEST_DECODER_BYTES, 224 * MIB + Math.floor(budgetBytes / 2)),
    columnBytes: Math.min(512 * MIB, 64 * MIB + Math.floor(budgetBytes / 2)),
    groupBytes: 128 * MIB + budgetBytes,
  }
}

/**
 * Rows that a file may claim without bytes for them: runs and dictionaries are small, but a page ends after some
 * thousand rows. Beyond this a file would take time out of all proportion to its size.
 */
export function mostRows(fileBytes: number): number {
  return 2 ** 24 + 2 ** 14 * fileBytes
}
