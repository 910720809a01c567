/** Functions over a selection's bitmap: a bit a row, the lowest first. */

/** The row of the block beginning at `first` before which exactly `bits` bits of the block are set. There must be so many. */
export function rowAfter(words: Uint32Array, first: number, bits: number): number {
  let row = first
  let left = bits
  while (left > 0) {
    const word = words[row >> 5] as number // the block has `bits` bits
    const count = popcount(word)
    if (count >= left) return row + placeOf(word, left)
    left -= count
    row += 32
  }
  return row
}

/** The position behind the set bit number `bits` of the word, counted from 1. */
function placeOf(word: number, bits: number): number {
  let rest = word
  for (let i = 1; i < bits; i++) rest &= rest - 1
  return 32 - Math.clz32(rest & -rest)
}

/** The number of bits set in a word. */
export function popcount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
