/**
 * Compacts the texts of selected rows. The place of a text is known when the bytes of all texts before it are counted:
 *
 *     1  ends     the end of each text in its block, and the bytes of each block
 *     2  texts    the bytes, and the ends moved by what lies before their block
 *
 * Between the two passes the caller turns the bytes of blocks into prefix sums.
 */
import type { Arena } from '../../../memory/arena.ts'

/** The addresses of a column of text or bytes, and of its result. */
export interface CompactedText {
  readonly offsets: number
  readonly values: number
  /** The result's offsets: one more than selected rows, the first of them 0. */
  readonly ends: number
  /** A word for each block: its bytes, or in the second pass the bytes of all blocks before it. */
  readonly blockBytes: number
  /** The result's bytes; not used in the first pass. */
  readonly to: number
}

/** The rows of a block, `from` to `to`, of which `count` are selected; the blocks before it have `before` selected rows. */
export interface SelectedBlock {
  readonly bitmap: number
  readonly block: number
  readonly from: number
  readonly to: number
  readonly before: number
  readonly count: number
}

export function textEnds(arena: Arena, { offsets, ends, blockBytes }: CompactedText, selected: SelectedBlock): void {
  const { from, to, before, count } = selected
  const starts = arena.view('i32', offsets + 4 * from, to - from + 1) as Int32Array
  const out = arena.view('i32', ends + 4 * (before + 1), count) as Int32Array
  let next = 0
  let end = 0
  eachRun(arena, selected, (first, after) => {
    for (let row = first; row < after; row++) {
      end += (starts[row + 1] as number) - (starts[row] as number) // row < to - from
      out[next++] = end
    }
  })
  ;(arena.view('i32', blockBytes + 4 * selected.block, 1) as Int32Array)[0] = end
}

/** Up to so many bytes are copied one by one, since a call costs as much. */
const SHORT = 24

export function textBytes(arena: Arena, { offsets, values, ends, blockBytes, to: target }: CompactedText, selected: SelectedBlock): void {
  const { from, to, before, block, count } = selected
  const starts = arena.view('i32', offsets + 4 * from, to - from + 1) as Int32Array
  const out = arena.view('i32', ends + 4 * (before + 1), count) as Int32Array
  const moved = (arena.view('i32', blockBytes + 4 * block, 1) as Int32Array)[0] as number // one of one
  // one array over source and target, so that copyWithin needs no array for each text
  const sourceEnd = values + (starts[to - from] as number)
  const targetEnd = target + moved + (out[count - 1] as number) // some row is selected
  const bytes = arena.view('u8', 0, Math.max(sourceEnd, targetEnd)) as Uint8Array
  for (let i = 0; i < count; i++) out[i] = (out[i] as number) + moved // i < count
  let at = target + moved
  eachRun(arena, selected, (first, after) => {
    let source = values + (starts[first] as number)
    const end = values + (starts[after] as number) // after <= to - from
    if (end - source > SHORT) {
      bytes.copyWithin(at, source, end)
      at += end - source
    } else while (source < end) bytes[at++] = bytes[source++] as number // both inside of the memory
  })
}

/** Calls `run` for each run of adjacent selected rows, numbered from the block's first. */
function eachRun(arena: Arena, { bitmap, from, to }: SelectedBlock, run: (first: number, after: number) => void): void {
  const words = arena.view('u32', bitmap + from / 8, Math.ceil((to - from) / 32)) as Uint32Array
  let first = -1
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number // i < length
    if (word === 0 ? first < 0 : word === 0xffffffff && first >= 0) continue
    for (let bit = 0; bit < 32; bit++) {
      const isSelected = ((word >>> bit) & 1) !== 0
      if (isSelected === first >= 0) continue
      if (isSelected) first = 32 * i + bit
      else {
        run(first, 32 * i + bit)
        first = -1
      }
    }
  }
  if (first >= 0) run(first, to - from)
}
