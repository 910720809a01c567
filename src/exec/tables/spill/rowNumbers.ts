/**
 * The order of the numbers that rows get before they are spilled: that of its partition, and within that its own.
 *
 *     number   partition * 2 ** 31 + row
 *
 * What comes of a range of them lies close together in few partitions, so that each number has a place of its own.
 */
import { sortedRows } from '../operators/sort/order.ts'

/** Where the number of a row is kept: beside its columns, as one of them by this name, or among the hidden ones as the last. */
export type NumberPlace = { readonly in: 'columns'; readonly name: string } | { readonly in: 'hidden' }

/** Rows of a partition are fewer than this. */
export const MOST_ROWS: number = 2 ** 31
/** Places for each number, beside some, that are looked through sooner than numbers are sorted. */
const MOST_PLACES = 8
const FREE_PLACES = 2 ** 16

/** Positions of the numbers in their order; of equal ones the first comes first. */
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

/** Where the numbers of a partition lie. */
interface Range {
  least: number
  most: number
  /** What takes a number to its place. */
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

/** Numbers of one partition that lie side by side. */
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
