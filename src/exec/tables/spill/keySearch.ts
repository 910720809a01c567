/**
 * Finds the part of a key by binary search among the boundaries: compares numbers that are in the order of the keys, and the keys
 * themselves only where the numbers are equal.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import type { Directions } from '../../../core/plan/logicalPlan.ts'
import { comparatorOf, directionOf } from '../operators/sort/order.ts'
import { textWords } from '../operators/sort/textOrder.ts'

/** For each of the first `length` keys the number of boundaries, which are the other keys, before it; an equal one counts where `before` is 1. */
export function keysBefore(
  keys: Column,
  length: number,
  how: { readonly descending: Directions; readonly before: Uint8Array },
): Int32Array {
  const { descending, before } = how
  const compare = comparatorOf(keys, descending)
  const words = wordsOf(keys, length, directionOf(descending, 0))
  const parts = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const word = words[i] as number // a word for each key
    let low = 0
    let high = before.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = words[length + middle] as number
      const order = word < other ? -1 : word > other ? 1 : compare(i, length + middle)
      if (order > 0 || (order === 0 && before[middle] === 1)) low = middle + 1
      else high = middle
    }
    parts[i] = low
  }
  return parts
}

/** A number for each key, in their order; keys with equal numbers, or NaN, must be compared. Null has Infinity. Boundaries begin at `first`. */
function wordsOf(keys: Column, first: number, descending: boolean): Float64Array {
  const { type, children: [part] = [], validity, length } = keys
  const isTuple = type.kind === 'struct' && part !== undefined
  const words = isTuple ? wordsOf(part, first, descending) : presentWords(keys, first)
  if (descending && !isTuple) for (let i = 0; i < length; i++) words[i] = -(words[i] as number) // i < length
  if (validity !== undefined) for (let i = 0; i < length; i++) if (!isValid(keys, i)) words[i] = Number.POSITIVE_INFINITY
  return words
}

function presentWords(keys: Column, first: number): Float64Array {
  const { type, values, length } = keys
  if (type.kind === 'utf8') return textWords(keys, first, length)
  const words = new Float64Array(length)
  if (values instanceof BigInt64Array || values instanceof BigUint64Array)
    for (let i = 0; i < length; i++) words[i] = Number(values[i] as bigint) // rounding keeps the order
  else if (values !== undefined) words.set(values)
  return words
}
