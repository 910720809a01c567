/** The values of rows, packed one behind the other for a message, and put back into their places. */
import type { DenseStorage } from '../../../../core/arrays/storage.ts'
import { roomToSend } from '../../links/sendBuffers.ts'
import { bytesOf, copyWords, type Words, wordsOf } from '../changes.ts'
import type { Rows } from './servedRows.ts'

/** The mean length up to which rows are copied element by element: short runs cost more by the ends that a processor cannot foresee. */
const SHORT_ROWS = 8

/** The extent of rows in memory, found once: rows do not change. */
interface Extent {
  readonly count: number
  readonly from: number
  readonly to: number
}

const extents = new WeakMap<Rows, Extent>()

function extentOf(rows: Rows): Extent {
  const known = extents.get(rows)
  if (known !== undefined) return known
  let [count, from, to] = [0, Number.POSITIVE_INFINITY, 0]
  for (let i = 0; i < rows.length; i += 2) {
    const [first, length] = [rows[i] as number, rows[i + 1] as number]
    count += length
    from = Math.min(from, first)
    to = Math.max(to, first + length)
  }
  const found = { count, from, to }
  extents.set(rows, found)
  return found
}

/** The number of elements in rows. */
export function countOfRows(rows: Rows): number {
  return extentOf(rows).count
}

const elementLists = new WeakMap<Rows, Int32Array>()

/** The elements of rows one by one, made for the first copy; undefined where rows are long. */
function elementsOf(rows: Rows): Int32Array | undefined {
  const count = countOfRows(rows)
  if (2 * count > SHORT_ROWS * rows.length) return undefined
  const known = elementLists.get(rows)
  if (known !== undefined) return known
  const elements = new Int32Array(count)
  let at = 0
  for (let i = 0; i < rows.length; i += 2) {
    for (let k = 0; k < (rows[i + 1] as number); k++) elements[at++] = (rows[i] as number) + k
  }
  elementLists.set(rows, elements)
  return elements
}

/** Copies the values of rows into memory for one message. */
export function packRows({ data }: DenseStorage, rows: Rows): Uint8Array {
  const elements = elementsOf(rows)
  const packed = roomToSend(countOfRows(rows) * data.BYTES_PER_ELEMENT)
  const [from, to] = [wordsOf(bytesOf(data), data), wordsOf(packed, data)]
  const width = data.BYTES_PER_ELEMENT / to.BYTES_PER_ELEMENT
  if (elements === undefined) eachRow(rows, width, (first, length, at) => copyWords(from, first, to, at, length))
  else if (width === 1) gatherWords(from, elements, to)
  else gatherPairs(from, elements, to)
  return packed
}

/** Copies packed values into their rows. Throws RangeError where there are more or fewer than the rows have, or rows lie outside of the array. */
export function unpackRows({ data }: DenseStorage, rows: Rows, packed: Uint8Array): void {
  const { count, from: least, to: end } = extentOf(rows)
  if (packed.length !== count * data.BYTES_PER_ELEMENT) throw new RangeError('Elements of an array do not fill their rows.')
  if (count > 0 && (least < 0 || end > data.length)) throw new RangeError('Rows lie outside of their array.')
  const elements = elementsOf(rows)
  const [from, to] = [wordsOf(packed, data), wordsOf(bytesOf(data), data)]
  const width = data.BYTES_PER_ELEMENT / to.BYTES_PER_ELEMENT
  if (elements === undefined) eachRow(rows, width, (first, length, at) => copyWords(from, at, to, first, length))
  else if (width === 1) scatterWords(from, elements, to)
  else scatterPairs(from, elements, to)
}

/** Visits rows in words, with the place of each among packed ones. */
function eachRow(rows: Rows, width: number, visit: (first: number, length: number, at: number) => void): void {
  let at = 0
  for (let i = 0; i < rows.length; i += 2) {
    const length = (rows[i + 1] as number) * width
    visit((rows[i] as number) * width, length, at)
    at += length
  }
}

function gatherWords(from: Words, elements: Int32Array, to: Words): void {
  for (let i = 0; i < elements.length; i++) to[i] = from[elements[i] as number] as number // within the array
}

/** The same for elements of two words. */
function gatherPairs(from: Words, elements: Int32Array, to: Words): void {
  for (let i = 0; i < elements.length; i++) {
    const first = 2 * (elements[i] as number)
    to[2 * i] = from[first] as number
    to[2 * i + 1] = from[first + 1] as number
  }
}

function scatterWords(from: Words, elements: Int32Array, to: Words): void {
  for (let i = 0; i < elements.length; i++) to[elements[i] as number] = from[i] as number // as many as elements
}

function scatterPairs(from: Words, elements: Int32Array, to: Words): void {
  for (let i = 0; i < elements.length; i++) {
    const first = 2 * (elements[i] as number)
    to[first] = from[2 * i] as number
    to[first + 1] = from[2 * i + 1] as number
  }
}
