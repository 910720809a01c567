/**
 * Sorts rows by the numbers that they got before they were spilled, which order them by partition and by row in the partition.
 *
 *     number   partition * 2 ** 31 + row
 *
 * A range of numbers lies close together in few partitions, so that a counting sort over all numbers between is possible.
 */
import { sortedRows } from '../operators/sort/order.ts'

/** The place of a row's number: a column of this name behind the others, or the last hidden column. */
export type NumberPlace = { readonly in: 'columns'; readonly name: string } | { readonly in: 'hidden' }

/** The bound of rows in a partition. */
export const MOST_ROWS: number = 2 ** 31
/** The most counters for each number, beside `FREE_PLACES`, with which a counting sort is faster than another sort. */
const MOST_PLACES = 8
const FREE_PLACES = 2 ** 16

/** The positions of the numbers in ascending order, equal ones in their old order. */
export function rowsInOrder(numbers: Float64Array): Int32Array {
  const ranges = rangesOf(numbers)
  let places = 0
  for (const range of [...ranges.values()].sort((a, b) => a.least - b.least)) {
    range.shift = places - range.least
    places += range.most - range.least + 1
  }
  if (places > MOST_PLACES * numbers.length + FREE_PLACES)
    return sortedRows({ type: { kind: 'f64' }, length: numbers.length, values: numbers }, { descending: false })
  const next = new Int32Array(places + 1)
  const placeOf = new Int32Array(numbers.length)
  eachRange(numbers, ranges, ({ shift }, from, to) => {
    for (let i = from; i < to; i++) {
      const place = (numbers[i] as number) + shift // i < length
      placeOf[i] = place
      next[place + 1] = (next[place + 1] as number) + 1 // a place is below `places`
    }
  })
  for (let p = 1; p < next.length; p++) next[p] = (next[p] as number) + (next[p - 1] as number) // p < length
  const rows = new Int32Array(numbers.length)
  for (let i = 0; i < rows.length; i++) {
    const place = placeOf[i] as number // i < length
    const at = next[place] as number
    rows[at] = i
    next[place] = at + 1
  }
  return rows
}

/** The range of one partition's numbers. */
interface Range {
  least: number
  most: number
  /** The amount to add to a number for the index of its counter. */
  shift: number
}

type Ranges = Map<number, Range>

function rangesOf(numbers: Float64Array): Ranges {
  const ranges: Ranges = new Map()
  eachRun(numbers, (partition, from, to) => {
    let { least, most } = ranges.get(partition) ?? { least: Number.POSITIVE_INFINITY, most: 0 }
    for (let i = from; i < to; i++) {
      const number = numbers[i] as number // i < length
      if (number < least) least = number
      if (number > most) most = number
    }
    ranges.set(partition, { least, most, shift: 0 })
  })
  return ranges
}

function eachRange(numbers: Float64Array, ranges: Ranges, use: (range: Range, from: number, to: number) => void): void {
  eachRun(numbers, (partition, from, to) => use(ranges.get(partition) as Range, from, to)) // each has one
}

/** Calls `use` for each run of adjacent numbers of one partition. */
function eachRun(numbers: Float64Array, use: (partition: number, from: number, to: number) => void): void {
  for (let from = 0; from < numbers.length; ) {
    const partition = Math.floor((numbers[from] as number) / MOST_ROWS) // from < length
    const [first, after] = [partition * MOST_ROWS, (partition + 1) * MOST_ROWS]
    let to = from + 1
    while (to < numbers.length && (numbers[to] as number) >= first && (numbers[to] as number) < after) to++
    use(partition, from, to)
    from = to
  }
}
