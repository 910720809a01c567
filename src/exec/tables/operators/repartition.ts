/**
 * Cuts elements anew: into even pieces in order, or by a key, equal keys into one piece.
 *
 * The pieces depend on the data alone. By a key, the n-th different key goes to piece n modulo the number of pieces,
 * and the elements of a piece keep their order; the pieces one after another are the new element order.
 */
import { type ExecBatch, sliceBatch, takeBatch } from './batches.ts'
import { KeyIds, rowsById } from './hashing/keyIds.ts'
import type { RunWide } from './operator.ts'
import { PARTITIONS } from './partitions.ts'

export const repartitionExec: RunWide<'RepartitionExec'> = ({ partitions, by }, [input]) => {
  const count = partitions ?? PARTITIONS
  const { hidden, ...batch } = input as ExecBatch
  const [key] = hidden ?? []
  if (!by || key === undefined) return evenPieces(batch, count)
  const ids = new KeyIds(key.type).encode(key).map((id) => id % count)
  const { starts, rows } = rowsById(ids, count)
  const ordered = takeBatch(batch, rows)
  return Array.from({ length: count }, (_, p) => sliceBatch(ordered, starts[p] as number, starts[p + 1] as number))
}

function evenPieces(batch: ExecBatch, count: number): readonly ExecBatch[] {
  const bound = (piece: number): number => Math.floor((batch.length * piece) / count)
  return Array.from({ length: count }, (_, p) => sliceBatch(batch, bound(p), bound(p + 1)))
}
