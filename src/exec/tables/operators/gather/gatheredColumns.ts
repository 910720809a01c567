/**
 * Gathers columns at rows in any order, by chunks of rows that workers claim: as `takeColumn` does, over addresses of the arena.
 *
 *     values, bits    in one pass
 *     texts           in two: `ends` finds where each text ends in its chunk, and the bytes of each chunk; `texts` has
 *                     what lies before each chunk in their place, and copies
 */
import { endsKernel, gatherBitsKernel, gatherKernel, textsKernel } from '../../../kernels/tables/gatherKernels.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../arenaKernels.ts'

/** One column to gather: the addresses of its buffers and of the result's. */
export type Gathered =
  | { readonly kind: 'values'; readonly log2Bytes: number; readonly source: number; readonly out: number }
  | { readonly kind: 'bits'; readonly source: number; readonly out: number }
  /** `bits` is 0 where no text is null. `totals` has a word for each chunk: its bytes here, the bytes of all chunks before it for `texts`. */
  | {
      readonly kind: 'ends'
      readonly offsets: number
      readonly bits: number
      readonly ends: number
      readonly totals: number
    }
  | {
      readonly kind: 'texts'
      readonly bytes: number
      readonly offsets: number
      readonly ends: number
      readonly totals: number
      readonly out: number
    }

export interface GatherWork {
  readonly kind: 'gather'
  readonly columns: readonly Gathered[]
  readonly rows: number
  readonly length: number
  /** The address of the counter of the next chunk, from which workers claim. */
  readonly claims: number
}

/** Rows of a chunk: a multiple of 32. */
export const CHUNK_ROWS = 4096

export function gatherChunks({ columns, rows, length, claims }: GatherWork, arena: Arena): void {
  const claimed = arena.view('i32', claims, 1) as Int32Array
  const gather = columns.map((column) => gathererOf(column, { rows, chunks: Math.ceil(length / CHUNK_ROWS) }, arena))
  for (;;) {
    const chunk = Atomics.add(claimed, 0, 1)
    const from = chunk * CHUNK_ROWS
    if (from >= length) return
    for (const run of gather) run(from, Math.min(from + CHUNK_ROWS, length), chunk)
  }
}

function gathererOf(
  column: Gathered,
  { rows, chunks }: { readonly rows: number; readonly chunks: number },
  arena: Arena,
): (from: number, to: number, chunk: number) => void {
  switch (column.kind) {
    case 'values': {
      const { log2Bytes, source, out } = column
      const run = arenaKernel(arena, `gather ${log2Bytes}`, () => gatherKernel(log2Bytes))
      return (from, to) => run(source, rows, from, to, out)
    }
    case 'bits': {
      const { source, out } = column
      const run = arenaKernel(arena, 'gather bits', gatherBitsKernel)
      return (from, to) => run(source, rows, from, to, out)
    }
    case 'ends': {
      const { offsets, bits, ends, totals } = column
      const run = arenaKernel(arena, `gather ends ${bits !== 0}`, () => endsKernel(bits !== 0))
      return (from, to, chunk) => run(offsets, bits, rows, from, to, ends, totals + 4 * chunk)
    }
    case 'texts': {
      const { bytes, offsets, ends, totals, out } = column
      const run = arenaKernel(arena, 'gather texts', textsKernel)
      const before = arena.view('i32', totals, chunks) as Int32Array
      return (from, to, chunk) => run(bytes, offsets, rows, from, to, ends, before[chunk] as number, out) // one for each chunk
    }
  }
}
