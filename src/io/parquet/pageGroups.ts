/** What the codecs are given at once, where one piece is not more. */
const TOGETHER_BYTES = 16 * 2 ** 20

/** Pieces that follow one another as groups of at most so many bytes, or of one piece that is longer. */
export function pageGroups<T>(pieces: readonly T[], bytesOf: (piece: T) => number): readonly (readonly T[])[] {
  const groups: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const piece of pieces) {
    if (bytes + bytesOf(piece) > TOGETHER_BYTES) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)?.push(piece)
    bytes += bytesOf(piece)
  }
  return groups
}
