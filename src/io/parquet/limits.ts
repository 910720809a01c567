/**
 * Limits on the parts of a Parquet file that are decoded at once.
 *
 * A few bytes can become any size, which is known only when they are decoded. So the decoder's memory has a limit that
 * follows from the session's budget: all amounts together leave the process within its budget and half a GiB. A session
 * with a GiB reads columns of 512 MiB.
 */
export interface DecodeLimits {
  /** Memory for a footer's values as objects: those of 80,000 column chunks in a small session. The footer's bytes may be half as many. */
  readonly footerBytes: number
  /** The decoder's memory for columns that are small by what their pages declare. */
  readonly quickBytes: number
  /** The decoder's memory for columns that are taken over a batch of rows at a time. */
  readonly slowBytes: number
  /** Size of one decoded column of one row group. */
  readonly columnBytes: number
  /** Size of all decoded columns of one row group that are asked for. */
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
 * The most rows that a file of so many bytes may claim: runs and dictionaries are small, but a page ends after some
 * thousand rows. Beyond this a file would take time out of all proportion to its size.
 */
export function mostRows(fileBytes: number): number {
  return 2 ** 24 + 2 ** 14 * fileBytes
}
