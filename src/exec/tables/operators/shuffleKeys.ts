/** Renames the indices of some axes by a permutation fixed by the seed and the axis, and sorts by the new keys. */
import { sortOrder } from '../../arrays/sortKeys.ts'
import { type ExecBatch, takeBatch } from './batches.ts'
import type { RunWide } from './operator.ts'
import { permutationOf } from './permutation.ts'

export const shuffleKeysExec: RunWide<'ShuffleKeysExec'> = ({ axes, seed, shape }, [input]) => {
  const batch = input as ExecBatch
  const keys = batch.keys ?? [Int32Array.from({ length: batch.length }, (_, i) => i)]
  const renamed = keys.map((axis, a) => {
    if (!axes.includes(a)) return axis
    const permutation = permutationOf(shape?.[a] ?? extentOf(axis), seed + a)
    return axis.map((index) => permutation[index] as number)
  })
  const order = sortOrder(renamed, batch.length)
  const shuffled = order === undefined ? { ...batch, keys: renamed } : takeBatch({ ...batch, keys: renamed }, order)
  if (batch.keys !== undefined) return shuffled
  const { keys: _, ...table } = shuffled
  return table
}

function extentOf(axis: Int32Array): number {
  let extent = 0
  for (const index of axis) extent = Math.max(extent, index + 1)
  return extent
}
