/**
 * The changes of an array in a pass, found by comparing it with a copy: by these the processes of a gang merge the elements that
 * each of them wrote.
 *
 * Statement: blocks that need not wait for each other write no element in common, nor does one read what another writes. So the
 * elements that any of them changed, put into the array as it was before the pass, are the array after it, in whatever order they
 * come. Nothing smaller than an element is ever in question, and an element that nobody changed has its bits anyway.
 */

/** Signed where they have 32 bits: others would be doubles on their way from array to array. */
export type Words = Uint8Array | Uint16Array | Int32Array

/** The bytes that are compared by one call before single words are. */
const PAGE_BYTES = 4096

const MOST_SINGLE_WORDS = 64

/** Stretches of changed words: first word and length of each, and the words themselves. */
export interface Changes {
  readonly runs: Float64Array
  readonly bytes: Uint8Array
}

/** The values that an array had before: a copy of all of it, or a page of the one value that it was full of. */
export type Before = { readonly kind: 'copy'; readonly bytes: Uint8Array } | { readonly kind: 'filled'; readonly page: Uint8Array }

export function copyOf(array: ArrayBufferView): Before {
  return { kind: 'copy', bytes: Uint8Array.from(bytesOf(array)) }
}

/** The earlier values of an array in which each element was the first of `like`. */
export function filledWith(like: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }): Before {
  const page = new Uint8Array(PAGE_BYTES)
  const element = new Uint8Array(like.buffer, like.byteOffset, like.BYTES_PER_ELEMENT)
  for (let at = 0; at < PAGE_BYTES; at += element.length) page.set(element, at)
  return { kind: 'filled', page }
}

export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}

/** Bytes as words of up to 32 bits, no longer than an element: two elements of one word might be written by two processes. */
export function wordsOf(bytes: Uint8Array, { BYTES_PER_ELEMENT }: { readonly BYTES_PER_ELEMENT: number }): Words {
  const { buffer, byteOffset, byteLength } = bytes
  if (BYTES_PER_ELEMENT >= 4) return new Int32Array(buffer, byteOffset, byteLength / 4)
  return BYTES_PER_ELEMENT === 2 ? new Uint16Array(buffer, byteOffset, byteLength / 2) : bytes
}

/** Copies words, short stretches one at a time: a call takes as long as some dozens of them. */
export function copyWords(from: Words, first: number, to: Words, at: number, count: number): void {
  if (count > MOST_SINGLE_WORDS) to.set(from.subarray(first, first + count), at)
  else for (let i = 0; i < count; i++) to[at + i] = from[first + i] as number // words of the same length
}

export function changesOf(array: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }, before: Before): Changes {
  const bytes = bytesOf(array)
  const words = wordsOf(bytes, array)
  const old = wordsOf(before.kind === 'copy' ? before.bytes : before.page, array)
  const perPage = PAGE_BYTES / words.BYTES_PER_ELEMENT
  const runs: number[] = []
  let end = -1
  let count = 0
  for (let first = 0; first < words.length; first += perPage) {
    const length = Math.min(perPage, words.length - first)
    const oldFirst = before.kind === 'copy' ? first : 0
    if (sameBytes(words, first, old, oldFirst, length)) continue
    for (let i = 0; i < length; i++) {
      if (words[first + i] === old[oldFirst + i]) continue
      if (end === first + i) runs[runs.length - 1]!++
      else runs.push(first + i, 1)
      end = first + i + 1
      count++
    }
  }
  const changed = new Uint8Array(count * words.BYTES_PER_ELEMENT)
  const changedWords = wordsOf(changed, array)
  let at = 0
  for (let run = 0; run < runs.length; run += 2) {
    copyWords(words, runs[run] as number, changedWords, at, runs[run + 1] as number)
    at += runs[run + 1] as number
  }
  return { runs: Float64Array.from(runs), bytes: changed }
}

/** The changes, or all of the array where that is fewer bytes; only for an array of which nobody else has written anything. */
export function orAll(changes: Changes, array: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }): Changes {
  const bytes = bytesOf(array)
  if (changes.runs.byteLength + changes.bytes.length <= bytesOfAll(bytes)) return changes
  return { runs: Float64Array.of(0, wordsOf(bytes, array).length), bytes: bytes.slice() }
}

/** The changes of a piece as changes of the array, in which the piece begins at element `from`. */
export function shifted({ runs, bytes }: Changes, from: number, { BYTES_PER_ELEMENT }: { readonly BYTES_PER_ELEMENT: number }): Changes {
  const words = from * (BYTES_PER_ELEMENT / Math.min(4, BYTES_PER_ELEMENT))
  return { runs: runs.map((value, i) => (i % 2 === 0 ? value + words : value)), bytes }
}

/** The values that reduction copies hold before anything is added: see resetLanes. */
export function emptyOf(region: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }): Before {
  return filledWith(region instanceof BigInt64Array ? BigInt64Array.of(0n) : (region.constructor as typeof Float64Array).of(-0)) // a typed array's own class
}

/** The changes of some elements: `stretches` are pairs of a first element and a length, in ascending order. */
export function changesWithin(
  { runs, bytes }: Changes,
  stretches: ArrayLike<number>,
  { BYTES_PER_ELEMENT }: { readonly BYTES_PER_ELEMENT: number },
): Changes {
  const width = Math.min(4, BYTES_PER_ELEMENT)
  const perElement = BYTES_PER_ELEMENT / width
  const found: number[] = []
  /** The position of each found run's words in `bytes`. */
  const places: number[] = []
  let [run, at, stretch, count] = [0, 0, 0, 0]
  while (run < runs.length && stretch < stretches.length) {
    const [first, end] = [runs[run] as number, (runs[run] as number) + (runs[run + 1] as number)]
    const [low, high] = [stretches[stretch] as number, (stretches[stretch] as number) + (stretches[stretch + 1] as number)]
    const [from, to] = [Math.max(first, low * perElement), Math.min(end, high * perElement)]
    if (from < to) {
      found.push(from, to - from)
      places.push(at + from - first)
      count += to - from
    }
    if (high * perElement < end) stretch += 2
    else {
      run += 2
      at += end - first
    }
  }
  const own = new Uint8Array(count * width)
  const [words, ownWords] = [wordsOf(bytes, { BYTES_PER_ELEMENT }), wordsOf(own, { BYTES_PER_ELEMENT })]
  for (let [i, to] = [0, 0]; i < places.length; i++) {
    const length = found[2 * i + 1] as number
    copyWords(words, places[i] as number, ownWords, to, length)
    to += length
  }
  return { runs: Float64Array.from(found), bytes: own }
}

function sameBytes(a: Words, aFirst: number, b: Words, bFirst: number, length: number): boolean {
  const width = a.BYTES_PER_ELEMENT
  const view = (words: Words, first: number) => Buffer.from(words.buffer as ArrayBuffer, words.byteOffset + first * width, length * width)
  return view(a, aFirst).equals(view(b, bFirst))
}

/** The size of an array that is sent as one run. */
export function bytesOfAll({ byteLength }: { readonly byteLength: number }): number {
  return byteLength + 16
}

/** The most bytes that changes of an array take: every second word is changed, and each run has two numbers. */
export function mostBytes({ byteLength, BYTES_PER_ELEMENT }: { readonly byteLength: number; readonly BYTES_PER_ELEMENT: number }): number {
  const width = Math.min(4, BYTES_PER_ELEMENT)
  return byteLength + Math.ceil(byteLength / width / 2) * 16
}

/** Copies changed words into the array. Throws RangeError for runs that leave the array, before anything is written. */
export function applyChanges(array: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }, { runs, bytes }: Changes): void {
  const [from, to] = [wordsOf(bytes, array), wordsOf(bytesOf(array), array)]
  let total = 0
  for (let run = 0; run < runs.length; run += 2) {
    const [first, length] = [runs[run] as number, runs[run + 1] as number]
    const isInside = Number.isInteger(first) && Number.isInteger(length) && first >= 0 && length > 0 && first + length <= to.length
    if (!isInside) throw new RangeError('Changes of an array lie outside of it.')
    total += length
  }
  if (runs.length % 2 !== 0 || total * to.BYTES_PER_ELEMENT !== bytes.length)
    throw new RangeError('Changes of an array do not have as many bytes as they say.')
  let at = 0
  for (let run = 0; run < runs.length; run += 2) {
    copyWords(from, at, to, runs[run] as number, runs[run + 1] as number)
    at += runs[run + 1] as number
  }
}
