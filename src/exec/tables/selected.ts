/** Elements whose keys lie inside selectors: an index, a half-open range, or null for a whole axis. */
import { type ExecBatch, takeBatch } from './operators/batches.ts'

type Selectors = readonly (number | readonly [number, number] | null)[]

/** The batches with those elements only. A table's keys are its row numbers. */
export function selected(batches: readonly ExecBatch[], selectors: Selectors): readonly ExecBatch[] {
  let firstRow = 0
  return batches.map((batch) => {
    const first = firstRow
    firstRow += batch.length
    const keyOf = (axis: number, i: number): number => (batch.keys === undefined ? first + i : (batch.keys[axis]?.[i] ?? -1))
    const kept = Int32Array.from({ length: batch.length }, (_, i) => i).filter((i) =>
      selectors.every((selector, axis) => isInside(selector, keyOf(axis, i))),
    )
    return takeBatch(batch, kept)
  })
}

function isInside(selector: Selectors[number], index: number): boolean {
  if (selector === null) return true
  return typeof selector === 'number' ? index === selector : index >= selector[0] && index < selector[1]
}
