/**
 * Two columns of one type as numbers that are ordered as their values are: numbers and dates themselves, values of other types as their rank
 * among the values of both columns. Null and NaN, which have no place in an order, are NaN.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import { sortedRows } from '../operators/sort/order.ts'
import { markBoundaries } from '../windows/boundaries.ts'

export interface ComparedNumbers {
  readonly left: Float64Array
  readonly right: Float64Array
}

export function comparedNumbers(left: Column, right: Column): ComparedNumbers {
  const [ofLeft, ofRight] = [numbersOf(left), numbersOf(right)]
  return ofLeft === undefined || ofRight === undefined ? ranked(left, right) : { left: ofLeft, right: ofRight }
}

/** The values as doubles; undefined for types other than numbers and dates, and where a 64-bit integer is no double. */
function numbersOf(column: Column): Float64Array | undefined {
  const { type, values, length } = column
  if (type.kind === 'null' || type.kind === 'unknown') return new Float64Array(length).fill(Number.NaN)
  const is = valueClassOf(type)
  if ((is !== 'number' && is !== 'Date') || values === undefined) return undefined
  if (values instanceof Float64Array && column.validity === undefined) return values.subarray(0, length)
  const numbers = values instanceof BigInt64Array ? ofLongs(values, length) : Float64Array.from(values as Float64Array) // of a fixed width
  if (numbers !== undefined && column.validity !== undefined)
    for (let i = 0; i < length; i++) if (!isValid(column, i)) numbers[i] = Number.NaN
  return numbers
}

/** The bound of the high word of 64-bit integers that doubles hold exactly: below 2^53 in size. */
const MOST_HIGH = 2 ** 21

function ofLongs(values: BigInt64Array, length: number): Float64Array | undefined {
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * length)
  const numbers = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    const high = words[2 * i + 1] as number // two words a value
    if (high >= MOST_HIGH || high < -MOST_HIGH) return undefined
    numbers[i] = high * 2 ** 32 + ((words[2 * i] as number) >>> 0)
  }
  return numbers
}

function ranked(left: Column, right: Column): ComparedNumbers {
  const both = concatColumns([left, right], 'on')
  const rows = sortedRows(both, { descending: false })
  const marks = new Uint8Array(rows.length)
  markBoundaries(rows, { from: 0, to: rows.length }, { order: both }, marks)
  const ranks = new Float64Array(rows.length)
  let rank = 0
  for (let i = 0; i < rows.length; i++) {
    if (marks[i] !== 0) rank++
    const row = rows[i] as number // i < length
    ranks[row] = isValid(both, row) ? rank : Number.NaN
  }
  return { left: ranks.subarray(0, left.length), right: ranks.subarray(left.length) }
}
