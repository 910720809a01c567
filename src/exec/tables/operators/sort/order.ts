/**
 * The order of sort keys: numbers ascending and NaN after them, strings by UTF-16 code units, false before true,
 * earlier dates first; null last in both directions. Descending reverses everything but the nulls.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { type ColumnType, typeText } from '../../../../core/data/schema.ts'
import { PlanError } from '../../../../core/errors.ts'
import type { Directions } from '../../../../core/plan/logicalPlan.ts'
import { radixRows } from '../../../kernels/js/radixSort.ts'
import { isTuple } from '../hashing/tupleKeys.ts'
import { textComparator } from './textOrder.ts'

export type Compare = (a: number, b: number) => number

/** Positions of the elements in the order of `key`, equal ones in their old order; the first `limit` only. */
export function sortedRows(key: Column, options: { readonly descending: Directions; readonly limit?: number }): Int32Array {
  const sorted = radixRows(key, directionOf(options.descending, 0))
  if (sorted !== undefined) return options.limit === undefined ? sorted : sorted.slice(0, options.limit)
  const compare = comparatorOf(key, options.descending)
  const rows = Int32Array.from({ length: key.length }, (_, i) => i)
  rows.sort((a, b) => compare(a, b) || a - b)
  return options.limit === undefined ? rows : rows.slice(0, options.limit)
}

/** Whether the order of an item of the key is descending. */
export function directionOf(descending: Directions, item: number): boolean {
  return typeof descending === 'boolean' ? descending : descending[item] === true
}

/** A function that compares two elements of the key, given their positions. */
export function comparatorOf(key: Column, descending: Directions): Compare {
  const validity = key.validity
  const present = presentComparator(key, descending)
  if (validity === undefined) return present
  const isNull = (i: number): boolean => ((validity[i >> 3] as number) & (1 << (i & 7))) === 0
  return (a, b) => {
    if (isNull(a)) return isNull(b) ? 0 : 1
    return isNull(b) ? -1 : present(a, b)
  }
}

function presentComparator(key: Column, directions: Directions): Compare {
  const { type } = key
  const descending = directionOf(directions, 0)
  switch (type.kind) {
    case 'struct': {
      if (!isTuple(type)) return orderless(type)
      const parts = (key.children ?? []).map((child, item) => comparatorOf(child, directionOf(directions, item)))
      return (a, b) => {
        for (const part of parts) {
          const order = part(a, b)
          if (order !== 0) return order
        }
        return 0
      }
    }
    case 'null':
    case 'unknown':
      return () => 0
    case 'list':
      return listComparator(key, descending)
    case 'binary':
    case 'object':
      return orderless(type)
    case 'utf8':
      return directed(textComparator(key), descending)
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'bool':
    case 'date': {
      const values = key.values as Float64Array // these kinds hold numbers; the class only matters for speed
      return directed((a, b) => compareNumbers(values[a] as number, values[b] as number), descending)
    }
    case 'i64':
    case 'u64':
    case 'time':
    case 'timestamp': {
      const values = key.values as BigInt64Array
      return directed((a, b) => compareBigints(values[a] as bigint, values[b] as bigint), descending)
    }
  }
}

function orderless(type: ColumnType): never {
  throw new PlanError(
    `sortBy cannot order values of type ${typeText(type)}. Sort by numbers, bigints, strings, booleans, dates, or an array of these.`,
  )
}

/** Compares lists item by item; an item that a shorter list lacks counts as null, which comes last. */
function listComparator({ offsets = new Int32Array(1), children }: Column, descending: boolean): Compare {
  const items = children?.[0] ?? { type: { kind: 'null' }, length: 0 }
  const compare = presentComparator(items, descending)
  return (a, b) => {
    const [fromA, toA, fromB, toB] = [offsets[a] as number, offsets[a + 1] as number, offsets[b] as number, offsets[b + 1] as number]
    for (let p = 0; fromA + p < toA || fromB + p < toB; p++) {
      const hasA = fromA + p < toA && isPresent(items, fromA + p)
      const hasB = fromB + p < toB && isPresent(items, fromB + p)
      const order = hasA && hasB ? compare(fromA + p, fromB + p) : Number(hasB) - Number(hasA)
      if (order !== 0) return order
    }
    return 0
  }
}

function isPresent(column: Column, index: number): boolean {
  return column.type.kind !== 'null' && isValid(column, index)
}

function directed(compare: Compare, descending: boolean): Compare {
  return descending ? (a, b) => compare(b, a) : compare
}

function compareNumbers(a: number, b: number): number {
  if (a < b) return -1
  if (a > b) return 1
  if (a === b) return 0
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
