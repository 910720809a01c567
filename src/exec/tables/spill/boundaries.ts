/**
 * The boundaries between the parts of an external sort, taken from a sample of the keys.
 *
 *     sample, in order   1 2 4 7 7 7 7 9      four parts are wanted, so at quarters: 4 7 7
 *     parts              ≤ 4    (4, 7)    = 7    > 7
 *
 * A key that is found at two boundaries is frequent: it gets a part of its own, which needs no sorting however long it is.
 */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { convertColumn, unifyTypes } from '../../../core/data/columnConversions.ts'
import { takeColumn } from '../../../core/data/columnSlices.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import type { Directions } from '../../../core/plan/logicalPlan.ts'
import { comparatorOf, sortedRows } from '../operators/sort/order.ts'
import { keysBefore } from './keySearch.ts'

export interface Boundaries {
  readonly descending: Directions
  /** The keys at the boundaries, in order. */
  readonly keys: Column
  /** 1 where the boundary lies before its key, which then begins a part of its own; 0 where it lies behind it. */
  readonly before: Uint8Array
}

/** The boundaries of `parts` parts of about equal length, or fewer; undefined where the sample is empty, or `parts` is 1. */
export function boundariesOf(sample: readonly Column[], descending: Directions, parts: number): Boundaries | undefined {
  const keys = together(sample)
  if (keys === undefined || keys.length === 0) return undefined
  const rows = sortedRows(keys, { descending })
  const compare = comparatorOf(keys, descending)
  const at: number[] = []
  const before: number[] = []
  for (let p = 1; p < parts; p++) {
    const row = rows[Math.floor((p * rows.length) / parts)] as number // p < parts
    const last = at.at(-1)
    if (last === undefined || compare(last, row) !== 0) {
      at.push(row)
      before.push(0)
    } else if (before.at(-2) !== 1 || compare(at.at(-2) as number, row) !== 0) {
      // a key found again gets a boundary before it too
      before.splice(-1, 0, 1)
      at.push(row)
    }
  }
  return at.length === 0 ? undefined : { descending, keys: takeColumn(keys, Int32Array.from(at)), before: Uint8Array.from(before) }
}

/**
 * The boundaries of keys in their own ascending order, for an exchange that has to bring equal keys to one part. Undefined also for keys
 * without an order, for lists, and for keys without a common type.
 */
export function boundariesIfOrdered(sample: readonly Column[], parts: number): Boundaries | undefined {
  if (sample.some(({ type }) => hasList(type))) return undefined
  try {
    return boundariesOf(sample, false, parts)
  } catch (error) {
    if (error instanceof PlanError) return undefined
    throw error
  }
}

/** Whether a type has lists, of which [1] and [1, null] are not equal although neither comes before the other. */
function hasList(type: ColumnType): boolean {
  return type.kind === 'list' || (type.kind === 'struct' && type.fields.some((field) => hasList(field.type)))
}

/** The number of parts. */
export function partsBetween({ keys }: Boundaries): number {
  return keys.length + 1
}

/** Whether all rows of a part have one key. */
export function isOneKey({ before }: Boundaries, part: number): boolean {
  return part > 0 && before[part - 1] === 1
}

/** The part of each key: the number of boundaries before it. */
export function partsByKey(column: Column, { keys, before, descending }: Boundaries): Int32Array {
  const both = together([column, keys]) as Column // there are two
  return keysBefore(both, column.length, { before, descending })
}

/** Concatenates columns, converted to their common type; undefined for no columns. */
function together(columns: readonly Column[]): Column | undefined {
  const [first] = columns
  if (first === undefined) return undefined
  const type = columns.map((column) => column.type).reduce((a, b) => unifyTypes(a, b, 'key'))
  return concatColumns(
    columns.map((column) => convertColumn(column, type)),
    'key',
  )
}
