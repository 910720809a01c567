/**
 * The task of a parallel sort: one part of the *order*, not of the rows. A part has all rows whose key lies between two
 * keys of the table itself, so the parts one after another are the sorted table, and nothing has to be merged.
 */
import type { Column } from '../../core/column.ts'
import { takeColumn } from '../../core/columnSlices.ts'
import { type ExecBatch, takeBatch } from './batches.ts'
import { sortedRows } from './order.ts'
import { typedLoop, wordsOf } from './typedLoops.ts'

export interface SortTask {
  readonly kind: 'sortPart'
  /** The whole table; the key is its hidden column. */
  readonly batch: ExecBatch
  readonly descending: boolean
  /** The row whose key is the first of the part; undefined: the part begins with the first of all. */
  readonly from?: number
  /** The row whose key is the first of the next part; undefined: the part ends with the last of all, nulls included. */
  readonly to?: number
}

/** Keys that parts can be cut by. */
export function isCuttable(key: Column): boolean {
  const kind = wordsOf(key.type.kind)
  return kind === 'integer' || kind === 'float'
}

export function runSortTask({ batch, descending, from, to }: SortTask): ExecBatch {
  const { hidden, keys: _, ...payload } = batch
  const [key] = hidden ?? []
  if (key === undefined) return payload
  const rows = rowsBetween(key, descending, from, to)
  const order = sortedRows(takeColumn(key, rows), { descending })
  return takeBatch(
    payload,
    order.map((position) => rows[position] as number), // positions among the rows
  )
}

/** Rows, in their order, whose key does not come before that of row `from`, but before that of row `to`. */
function rowsBetween(key: Column, descending: boolean, from: number | undefined, to: number | undefined): Int32Array {
  const [before, unordered] = descending ? ['>', 'x !== x && s === s'] : ['<', 'x === x && s !== s']
  const comesBefore = (bound: string): string => `(x ${before} ${bound} || (${unordered.replaceAll('s', bound)}))`
  const inside = [...(from === undefined ? [] : [`!${comesBefore('first')}`]), ...(to === undefined ? [] : [comesBefore('next')])]
  const isNull = '(validity[i >> 3] & (1 << (i & 7))) === 0'
  const nulls = key.validity === undefined ? '' : `if (${isNull}) { ${to === undefined ? 'rows[n++] = i;' : ''} continue; }`
  const loop = typedLoop<(...args: readonly unknown[]) => number>(
    ['k', 'validity', 'length', 'first', 'next', 'rows'],
    `let n = 0; // ${key.type.kind}
for (let i = 0; i < length; i++) {
${nulls}
const x = k[i];
if (${inside.length === 0 ? 'true' : inside.join(' && ')}) rows[n++] = i;
}
return n;`,
  )
  const rows = new Int32Array(key.length)
  const bound = (row: number | undefined): unknown => (row === undefined ? undefined : key.values?.[row])
  return rows.slice(0, loop(key.values, key.validity, key.length, bound(from), bound(to), rows))
}
