/**
 * Equality of arrays and tables in tests: in memory or behind a handle, exact or within a tolerance, in order or not.
 */
import { Table } from 'apache-arrow'
import { checkOneOf } from '../core/arguments.ts'
import { DistArray } from '../core/arrays/distArray.ts'
import type { TypedArray } from '../core/data/column.ts'
import { checkOptions } from '../core/options.ts'
import { differenceBetween, valueText } from './difference.ts'

/** The plain values that `arrayEquals` compares. */
export type ArrayValues = TypedArray | readonly unknown[]
// biome-ignore lint/suspicious/noExplicitAny: any element and any key: equality looks at the values only.
export type AnyDistArray = DistArray<any, any>

export interface ArrayEqualsOptions {
  /** The largest difference of numbers that are equal: |a - b| <= tolerance * max(1, |a|, |b|). Default 0: the same bits, all NaNs alike, 0 and -0 apart. */
  readonly tolerance?: number
}
export interface TableEqualsOptions extends ArrayEqualsOptions {
  /** 'any': the rows may come in any order. Default: in the same order. */
  readonly order?: 'same' | 'any'
}
export type TableRows = AnyDistArray | Table | readonly unknown[]

/**
 * Whether two arrays hold the same values in the same order. Plain and typed arrays are compared at once; with a
 * DistArray on either side the answer is a promise, and keys count as well when both sides are DistArrays.
 */
export function arrayEquals(a: ArrayValues, b: ArrayValues, options?: ArrayEqualsOptions): boolean
export function arrayEquals(a: ArrayValues | AnyDistArray, b: ArrayValues | AnyDistArray, options?: ArrayEqualsOptions): Promise<boolean>
export function arrayEquals(
  a: ArrayValues | AnyDistArray,
  b: ArrayValues | AnyDistArray,
  options: ArrayEqualsOptions = {},
): boolean | Promise<boolean> {
  checkOptions('arrayEquals()', options, ['tolerance'])
  const { tolerance = 0 } = options
  const same = (left: unknown, right: unknown): boolean => differenceBetween(left, right, tolerance) === undefined
  if (a instanceof DistArray && b instanceof DistArray) return Promise.all([entriesOf(a), entriesOf(b)]).then(([x, y]) => same(x, y))
  if (a instanceof DistArray) return a.collect().then((x) => same(x, [...plain(b)]))
  if (b instanceof DistArray) return b.collect().then((y) => same([...plain(a)], y))
  return same([...a], [...b])
}

/** Whether two tables have the same columns and rows. Accepts DistArrays, Arrow tables and arrays of row objects. */
export async function tableEquals(a: TableRows, b: TableRows, options: TableEqualsOptions = {}): Promise<boolean> {
  checkOptions('tableEquals()', options, ['tolerance', 'order'])
  const { order = 'same', tolerance = 0 } = options
  checkOneOf('The order of tableEquals()', order, ['same', 'any'])
  const [left, right] = await Promise.all([rowsOf(a), rowsOf(b)])
  if (left.length !== right.length) return false
  if (order === 'same') return differenceBetween(left, right, tolerance) === undefined
  const x = sortedRows(left)
  const y = sortedRows(right)
  if (differenceBetween(x, y, tolerance) === undefined) return true
  return tolerance > 0 && canBeMatched(x, y, tolerance)
}

/** The keys and values of an array, in key order. */
export async function entriesOf(array: AnyDistArray): Promise<readonly { readonly key: readonly number[]; readonly value: unknown }[]> {
  const entries: { key: readonly number[]; value: unknown }[] = []
  await array.forEach((value: unknown, key: readonly number[]) => {
    entries.push({ key: [...key], value })
  })
  return entries
}

function plain(values: ArrayValues | AnyDistArray): ArrayValues {
  return values as ArrayValues
}

async function rowsOf(table: TableRows): Promise<readonly unknown[]> {
  if (table instanceof DistArray) return table.collect()
  if (!(table instanceof Table)) return table
  const names = table.schema.fields.map((field) => field.name)
  const columns = names.map((name) => table.getChild(name))
  return Array.from({ length: table.numRows }, (_, row) =>
    Object.fromEntries(names.map((name, i) => [name, plainValue(columns[i]?.get(row))])),
  )
}

/** Converts Arrow's vectors and rows to lists and objects. */
function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || ArrayBuffer.isView(value)) return value
  if (Symbol.iterator in value && 'length' in value) return Array.from(value as Iterable<unknown>, plainValue)
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON()
  return value
}

function sortedRows(rows: readonly unknown[]): readonly unknown[] {
  const texts = new Map(rows.map((row) => [row, valueText(row)]))
  return [...rows].sort((p, q) => {
    const [a = '', b = ''] = [texts.get(p) ?? valueText(p), texts.get(q) ?? valueText(q)]
    return a < b ? -1 : a > b ? 1 : 0
  })
}

/** Whether the rows of both sides can be paired within the tolerance: a bipartite matching by augmenting paths; slow, for tests. */
function canBeMatched(left: readonly unknown[], right: readonly unknown[], tolerance: number): boolean {
  const partner = new Array<number | undefined>(right.length).fill(undefined)
  const findPartner = (i: number, tried: Set<number>): boolean => {
    for (let j = 0; j < right.length; j++) {
      if (tried.has(j) || differenceBetween(left[i], right[j], tolerance) !== undefined) continue
      tried.add(j)
      const taken = partner[j]
      if (taken === undefined || findPartner(taken, tried)) {
        partner[j] = i
        return true
      }
    }
    return false
  }
  return left.every((_, i) => findPartner(i, new Set()))
}
