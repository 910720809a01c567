/** Sorts elements by their explicit keys; equal keys are combined in row order, or an error naming both rows. */
import { rowReader } from '../../../core/data/columnReaders.ts'
import { PlanError } from '../../../core/errors.ts'
import { compareAt, sortOrder } from '../../arrays/sortKeys.ts'
import { type ExecBatch, elementColumn, fittingColumn, structBatch, takeBatch } from './batches.ts'
import { type RunWide, withoutKeys } from './operator.ts'
import { rowFailure } from './rows/rowFailure.ts'
import { callable } from './rows/rowKernel.ts'

export const indexExec: RunWide<'IndexExec'> = ({ combine, rank }, [input]) => {
  const batch = input as ExecBatch
  const keys = batch.keys ?? Array.from({ length: rank }, () => new Int32Array(0))
  if (batch.length === 0) return { ...batch, keys }
  const order = sortOrder(keys, batch.length)
  const rows = order ?? Int32Array.from({ length: batch.length }, (_, i) => i)
  const repeated = repeatedFrom(keys, rows)
  if (repeated === undefined) return order === undefined ? batch : takeBatch(batch, order)
  if (combine === undefined) throw duplicateKey(keys, rows[repeated - 1] as number, rows[repeated] as number)
  return combined(batch, keys, rows, callable(combine))
}

/** The first position whose key is that of the position before; of several, the one that comes first in row order. */
function repeatedFrom(keys: readonly Int32Array[], rows: Int32Array): number | undefined {
  let found: number | undefined
  for (let i = 1; i < rows.length; i++) {
    if (compareAt(keys, rows[i - 1] as number, rows[i] as number) !== 0) continue
    if (found === undefined || (rows[i] as number) < (rows[found] as number)) found = i
  }
  return found
}

function duplicateKey(keys: readonly Int32Array[], first: number, second: number): PlanError {
  const key = `[${keys.map((axis) => axis[first]).join(', ')}]`
  return new PlanError(
    `index: rows ${first} and ${second} both have the key ${key}. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
  )
}

function combined(
  batch: ExecBatch,
  keys: readonly Int32Array[],
  rows: Int32Array,
  combine: (...args: readonly unknown[]) => unknown,
): ExecBatch {
  const read = rowReader(batch)
  const first: number[] = []
  const values: unknown[] = []
  let value: unknown
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number // i < length
    const last = first.at(-1)
    if (last !== undefined && compareAt(keys, last, row) === 0) {
      try {
        value = combine(value, read(row))
      } catch (error) {
        throw rowFailure(error, withoutKeys(batch), { method: 'index.combine', firstRow: 0, position: 0 }, row)
      }
      continue
    }
    if (last !== undefined) values.push(value)
    first.push(row)
    value = read(row)
  }
  values.push(value)
  const kept = Int32Array.from(first)
  return {
    ...structBatch(fittingColumn(values, elementColumn(batch).type)),
    keys: keys.map((axis) => Int32Array.from(kept, (row) => axis[row] as number)),
  }
}
