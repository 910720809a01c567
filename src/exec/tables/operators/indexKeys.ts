/** Sorts elements by their explicit keys; equal keys are combined in row order, or an error naming both rows. */
import { rowReader } from '../../../core/data/columnReaders.ts'
import { PlanError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { compareAt, sortOrder } from '../../arrays/sortKeys.ts'
import { type ExecBatch, elementColumn, fittingColumn, structBatch, takeBatch } from './batches.ts'
import { type RunWide, withoutKeys } from './operator.ts'
import { rowFailure } from './rows/rowFailure.ts'
import { callable } from './rows/rowKernel.ts'

/** Two rows of a batch with the same key: of all such pairs, the one whose second row comes first. */
export interface Repeated {
  readonly first: number
  readonly second: number
  readonly key: readonly number[]
}

export const indexExec: RunWide<'IndexExec'> = (operator, [input]) => {
  const indexed = indexedBatch(operator, input as ExecBatch)
  if ('batch' in indexed) return indexed.batch
  throw repeatedKey(indexed.repeated)
}

/** The elements in the order of their keys; the repeated key where there is one and no `combine`. */
export function indexedBatch(
  { combine, rank }: Pick<Extract<WideOperator, { kind: 'IndexExec' }>, 'combine' | 'rank'>,
  batch: ExecBatch,
): { readonly batch: ExecBatch } | { readonly repeated: Repeated } {
  const keys = batch.keys ?? Array.from({ length: rank }, () => new Int32Array(0))
  if (batch.length === 0) return { batch: { ...batch, keys } }
  const { rows, repeated } = keysInOrder(keys, batch.length)
  if (repeated === undefined) return { batch: rows === undefined ? batch : takeBatch(batch, rows) }
  if (combine === undefined) return { repeated }
  return { batch: combined(batch, keys, rows ?? asTheyAre(batch.length), callable(combine)) }
}

/** The rows in the order of their keys, undefined where they are in that order already; and the repeated key, if there is one. */
export function keysInOrder(
  keys: readonly Int32Array[],
  length: number,
): { readonly rows: Int32Array | undefined; readonly repeated: Repeated | undefined } {
  const rows = sortOrder(keys, length)
  const all = rows ?? asTheyAre(length)
  const place = repeatedFrom(keys, all)
  if (place === undefined) return { rows, repeated: undefined }
  const [first, second] = [all[place - 1] as number, all[place] as number] // behind the first place
  return { rows, repeated: { first, second, key: keys.map((axis) => axis[first] as number) } }
}

function asTheyAre(length: number): Int32Array {
  return Int32Array.from({ length }, (_, i) => i)
}

/** The position in `rows` whose key is that of the position before; of several, the one whose row comes first; undefined where all keys differ. */
function repeatedFrom(keys: readonly Int32Array[], rows: Int32Array): number | undefined {
  let found: number | undefined
  for (let i = 1; i < rows.length; i++) {
    if (compareAt(keys, rows[i - 1] as number, rows[i] as number) !== 0) continue
    if (found === undefined || (rows[i] as number) < (rows[found] as number)) found = i
  }
  return found
}

export function repeatedKey({ first, second, key }: Repeated): PlanError {
  return new PlanError(
    `index: rows ${first} and ${second} both have the key [${key.join(', ')}]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
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
