/** The pieces of a window that is one partition, by way of disk: the pass over its rows on their way there, and the input of each piece. */
import { MemoryError } from '../../../core/errors.ts'
import type { Results } from '../dataset.ts'
import { concatBatches } from '../operators/batches.ts'
import type { WindowOperator } from '../windows/windowColumns.ts'
import type { WindowFold } from '../windows/windowFold.ts'
import { bytesOf, type Part, type SpilledPart, segmentsIn } from './parts.ts'
import { MOST_ROWS } from './rowNumbers.ts'

/** A part for each piece, with the pieces that its frames reach. MemoryError where these take more than `mostBytes`. */
export function windowParts(
  operator: WindowOperator,
  fold: WindowFold,
  pieces: readonly SpilledPart[],
  mostBytes: number,
): readonly Part[] {
  return fold.reached().map(({ from, to, wanted, carried }): Part => {
    const reached = pieces.slice(from, to)
    const bytes = reached.reduce((sum, { segments }) => sum + bytesOf(segments), 0)
    if (bytes > mostBytes) throw reachedTooFar(operator, bytes)
    const rows = { ...(reached[0] as SpilledPart), segments: reached.flatMap(({ segments }) => segmentsIn(segments)) } // at least its own
    return { kind: 'worked', operator, sides: [rows], piece: { ...wanted, carried } }
  })
}

/** Passes results on, each as one batch, and adds them to the fold. */
export async function* folded(results: Results, fold: WindowFold): Results {
  for await (const { batches, blocks } of results) {
    const batch = concatBatches(batches)
    if (batch.length > 0) fold.add(batch)
    yield { batches: [batch], blocks }
  }
}

/** The row numbers at which `parts` parts of equally many rows begin, but for the first part. */
export function startsBetween(rowsBefore: readonly number[], rows: number, parts: number): Float64Array {
  const starts = new Set<number>()
  let partition = 0
  for (let p = 1; p < parts; p++) {
    const row = Math.floor((p * rows) / parts)
    while ((rowsBefore[partition + 1] ?? Number.POSITIVE_INFINITY) <= row) partition++
    starts.add(partition * MOST_ROWS + row - (rowsBefore[partition] ?? 0))
  }
  return Float64Array.from(starts)
}

function reachedTooFar({ kind, frame: { kind: unit, from, to } }: WindowOperator, bytes: number): MemoryError {
  const size = `${Math.ceil(bytes / 2 ** 20)} MiB`
  return new MemoryError(
    `${kind} computes a piece of its one partition with ${size} of rows around it, which is more than a fourth of the memory: it has a frame of ${unit} [${from}, ${to}], or a lag or lead of many rows.\nMake those shorter, give the window a { by }, or raise { memory } in Session.start.`,
    { operator: kind, bytes },
  )
}
