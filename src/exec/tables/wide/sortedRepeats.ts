/** Which of the sorted rows repeat the key of the row before, found by all workers; and the rows without those. */
import type { Column } from '../../../core/data/column.ts'
import { rangesOf, type SortedRows, type SortRun } from './sortRun.ts'

export interface Repeats {
  /** A 1 for each of the sorted rows that repeats a key; one byte more than there are rows. */
  readonly flags: Uint8Array
  readonly address: number
  /** The number of repeats in each of the ranges of rows. */
  readonly found: readonly number[]
}

/** The repeats among the sorted rows; undefined where all keys differ. The keys are columns of integers without nulls. */
export async function repeatsOf(
  keys: readonly Column[],
  { address: rows }: SortedRows,
  length: number,
  { run, workers }: { readonly run: SortRun; readonly workers: number },
): Promise<Repeats | undefined> {
  const { memory } = run
  const address = memory.block(length + 1)
  const ranges = rangesOf(length, workers)
  const found = memory.block(4 * ranges.length)
  const parts = keys.map(({ values }) => memory.addressOf(values))
  await run.together(
    ranges.map((range, r) => ({ kind: 'repeats', keys: parts, length, rows, ...range, repeats: address, found: found + 4 * r })),
  )
  const counts = [...memory.integers(found, ranges.length)]
  return counts.every((count) => count === 0) ? undefined : { flags: memory.bytes(address, length + 1), address, found: counts }
}

/** The first, or the last, of the sorted rows with each key. */
export async function rowsKept(
  { flags, address, found }: Repeats,
  { address: rows }: SortedRows,
  keeps: 'first' | 'last',
  { run, workers }: { readonly run: SortRun; readonly workers: number },
): Promise<{ readonly address: number; readonly length: number }> {
  const length = flags.length - 1
  const out = run.memory.room(4 * length)
  const ranges = rangesOf(length, workers)
  let kept = 0
  const works = ranges.map((range, r) => {
    const work = { kind: 'kept', rows, length, ...range, repeats: address, keeps, out: out + 4 * kept } as const
    // the last row of a key is known by the row after it
    const moved = keeps === 'first' ? 0 : (flags[range.to] as number) - (flags[range.from] as number)
    kept += range.to - range.from - (found[r] as number) - moved // a number for each range
    return work
  })
  await run.together(works)
  return { address: out, length: kept }
}
