/** How data in memory is cut into partitions: by the data, never by the number of workers. */
import { type ExecBatch, sliceBatch } from './batches.ts'

/** The number of pieces where `repartition` is given none. */
export const PARTITIONS = 16
/** Elements per partition of data in memory: enough work for a task, small enough for the caches. */
export const PARTITION_ROWS = 65_536

/** Below this many elements a thread's round trip and its copies cost more than the work. */
export const SMALL_ROWS = 20_000

/** The batches cut so that no partition has more than `PARTITION_ROWS` elements. */
export function cutPartitions(batches: readonly ExecBatch[], rows: number = PARTITION_ROWS): ExecBatch[][] {
  const partitions: ExecBatch[][] = []
  for (const batch of batches) {
    for (let from = 0; from < batch.length; from += rows) partitions.push([sliceBatch(batch, from, Math.min(from + rows, batch.length))])
  }
  return partitions.length === 0 && batches[0] !== undefined ? [[batches[0]]] : partitions
}

/** Cuts the list of batches into a range for each worker, of about equal length. A result must not depend on where the cuts are. */
export function rangesOf(batches: readonly ExecBatch[], workers: number): readonly (readonly ExecBatch[])[] {
  const rows = batches.reduce((sum, batch) => sum + batch.length, 0)
  const ranges: ExecBatch[][] = [[]]
  let taken = 0
  for (const batch of batches) {
    if (taken * workers >= rows * ranges.length && taken > 0) ranges.push([])
    ranges.at(-1)?.push(batch)
    taken += batch.length
  }
  return ranges
}
