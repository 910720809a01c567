/** Bytes that the codecs are given at once, at most; one piece may be longer. */
const TOGETHER_BYTES = 16 * 2 ** 20

/** Groups consecutive pieces: each group has at most TOGETHER_BYTES, or is one piece that is longer. */
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
