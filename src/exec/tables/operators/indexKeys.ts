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
  { combine, keeps, rank }: Pick<Extract<WideOperator, { kind: 'IndexExec' }>, 'combine' | 'keeps' | 'rank'>,
  batch: ExecBatch,
): { readonly batch: ExecBatch } | { readonly repeated: Repeated } {
  const keys = batch.keys ?? Array.from({ length: rank }, () => new Int32Array(0))
  if (batch.length === 0) return { batch: { ...batch, keys } }
  const sorted = sortOrder(keys, batch.length)
  const rows = sorted ?? asTheyAre(batch.length)
  const repeats = repeatsIn(keys, rows)
  if (repeats === undefined) return { batch: sorted === undefined ? batch : takeBatch(batch, rows) }
  if (keeps !== undefined) return { batch: takeBatch(batch, rows.subarray(0, keepRows(rows, repeats, keeps))) }
  if (combine === undefined) return { repeated: repeatedOf(keys, rows, repeats) }
  return { batch: combined(batch, keys, { rows, repeats }, callable(combine)) }
}

/** The rows in the order of their keys, undefined where they are in that order already; and the repeated key, if there is one. */
export function keysInOrder(
  keys: readonly Int32Array[],
  length: number,
): { readonly rows: Int32Array | undefined; readonly repeated: Repeated | undefined } {
  const rows = sortOrder(keys, length)
  const all = rows ?? asTheyAre(length)
  const repeats = repeatsIn(keys, all)
  return { rows, repeated: repeats && repeatedOf(keys, all, repeats) }
}

function asTheyAre(length: number): Int32Array {
  return Int32Array.from({ length }, (_, i) => i)
}

/** A 1 at each of the sorted rows whose key is that of the row before; undefined where all keys differ. */
export function repeatsIn(keys: readonly Int32Array[], rows: Int32Array): Uint8Array | undefined {
  let repeats: Uint8Array | undefined
  for (let i = 1; i < rows.length; i++) {
    if (compareAt(keys, rows[i - 1] as number, rows[i] as number) === 0) (repeats ??= new Uint8Array(rows.length))[i] = 1
  }
  return repeats
}

/** Moves the first, or the last, of the sorted rows with each key to the front; returns how many these are. */
export function keepRows(rows: Int32Array, repeats: Uint8Array, keeps: 'first' | 'last'): number {
  const ahead = keeps === 'first' ? 0 : 1
  let kept = 0
  for (let i = 0; i < rows.length; i++) if (repeats[i + ahead] !== 1) rows[kept++] = rows[i] as number
  return kept
}

/** Of all pairs of rows with one key, the one whose second row comes first. */
export function repeatedOf(keys: readonly Int32Array[], rows: Int32Array, repeats: Uint8Array): Repeated {
  let at = repeats.indexOf(1)
  for (let i = at + 1; i < rows.length; i++) if (repeats[i] === 1 && (rows[i] as number) < (rows[at] as number)) at = i
  const [first, second] = [rows[at - 1] as number, rows[at] as number] // there is a repeat, never the first row
  return { first, second, key: keys.map((axis) => axis[first] as number) }
}

export function repeatedKey({ first, second, key }: Repeated): PlanError {
  return new PlanError(
    `index: rows ${first} and ${second} both have the key [${key.join(', ')}]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
  )
}

function combined(
  batch: ExecBatch,
  keys: readonly Int32Array[],
  { rows, repeats }: { readonly rows: Int32Array; readonly repeats: Uint8Array },
  combine: (...args: readonly unknown[]) => unknown,
): ExecBatch {
  const read = rowReader(batch)
  const values: unknown[] = []
  let value: unknown
  for (const [i, row] of rows.entries()) {
    if (repeats[i] === 1) {
      try {
        value = combine(value, read(row))
      } catch (error) {
        throw rowFailure(error, withoutKeys(batch), { method: 'index.combine', firstRow: 0, position: 0 }, row)
      }
      continue
    }
    if (i > 0) values.push(value)
    value = read(row)
  }
  values.push(value)
  const kept = rows.subarray(0, keepRows(rows, repeats, 'first'))
  return {
    ...structBatch(fittingColumn(values, elementColumn(batch).type)),
    keys: keys.map((axis) => Int32Array.from(kept, (row) => axis[row] as number)),
  }
}
