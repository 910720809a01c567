/**
 * Hash tables from keys to ids, over typed arrays; ids count up from 0 in the order of first appearance.
 *
 *     WordTable   keys of two 32-bit words: numbers, 64-bit integers, pairs of ids
 *     ByteTable   keys of bytes: texts, binary values
 *
 * Open addressing with linear probing, at most half full; a slot holds id + 1, 0 is free. Small whole numbers need no
 * hashing: within a window fixed by the first values a word table is an array indexed by the value. Which ids come out
 * depends on the order of the keys alone, never on the window or the hashes.
 *
 * All accesses lie inside their arrays: slots are masked, ids are below `size`.
 */
import { PlanError } from '../../../../core/errors.ts'
import { typedLoop } from '../../../kernels/js/typedLoops.ts'

/** Keys between two checks whether the table must grow. */
const STRIDE = 4096
/** The number of slots that a table begins with. */
const FIRST_SLOTS = 16
/** The widest window of small integers, in values. */
const WIDEST_WINDOW = 2 ** 20

/** The handling of an unknown key: it gets the next id, or -1. */
export type Unknown = 'add' | 'missing'

/** A range of rows to encode. */
export interface Piece {
  readonly begin: number
  readonly end: number
  readonly unknown: Unknown
  readonly validity?: Uint8Array | undefined
}

/** The keys of a `WordTable`. */
export type Words =
  /** Whole numbers of at most 32 bits. */
  | { readonly kind: 'integer'; readonly values: ArrayLike<number> }
  /** Floats, compared by their bits: two words each, one for f32. */
  | { readonly kind: 'float'; readonly values: Float64Array | Float32Array }
  | { readonly kind: 'long'; readonly values: BigInt64Array | BigUint64Array }
  /** Pairs of ids; a negative one is an unknown part, which makes the key unknown. */
  | { readonly kind: 'pair'; readonly first: Int32Array; readonly second: Int32Array }

/** A table from keys of two words to ids. */
export interface WordIds {
  readonly size: number
  /** Writes the ids of the words from `begin` to `end` into `out`; where a bit of `validity` is 0, `out` is left as it is. */
  encode(words: Words, out: Int32Array, piece: Piece): void
  /** Gives the next id to a key that is in no slot: null. */
  addOutside(): number
}

/** A table from texts, compared by their bytes, to ids. */
export interface TextIds {
  readonly size: number
  /** Writes the ids of the texts values[offsets[i]] to values[offsets[i + 1]], as `WordIds.encode` does. */
  encode(values: Uint8Array, offsets: Int32Array, out: Int32Array, piece: Piece): void
  addOutside(): number
}

/** The state of a table that its generated loops read and write. */
interface WordState {
  size: number
  base: number
  direct: Int32Array
  slots: Int32Array
  low: Int32Array
  high: Int32Array
}

type WordLoop = (state: WordState, out: Int32Array, from: number, to: number, a: unknown, b: unknown, validity: unknown) => void

export class WordTable implements WordIds {
  private readonly state: WordState = {
    size: 0,
    base: 0,
    direct: new Int32Array(0),
    slots: new Int32Array(FIRST_SLOTS),
    low: new Int32Array(FIRST_SLOTS / 2),
    high: new Int32Array(FIRST_SLOTS / 2),
  }
  private hasWindow = false

  get size(): number {
    return this.state.size
  }

  encode(words: Words, out: Int32Array, { begin, end, unknown, validity }: Piece): void {
    const loop = wordLoop(words, { adds: unknown === 'add', nullable: validity !== undefined })
    if (!this.hasWindow && out.length > 0) this.openWindow(words, out.length, validity)
    const [a, b] = arraysOf(words)
    for (let from = begin; from < end; from += STRIDE) {
      const to = Math.min(from + STRIDE, end)
      if (unknown === 'add') this.makeRoom(to - from)
      loop(this.state, out, from, to, a, b, validity)
    }
  }

  addOutside(): number {
    this.makeRoom(1)
    return this.state.size++
  }

  /** Makes the array that is indexed by value, around the first values, where these are whole numbers close together. */
  private openWindow(words: Words, length: number, validity: Uint8Array | undefined): void {
    this.hasWindow = true
    if (words.kind === 'pair') return
    const range = rangeOf(words, length, validity)
    if (range === undefined) return
    const width = range.most - range.least + 1
    if (width > Math.max(1 << 16, 4 * length)) return
    // as much again on both sides: later values often go a little further
    const span = Math.min(3 * width, WIDEST_WINDOW)
    if (width > span) return
    this.state.base = range.least - Math.floor((span - width) / 2)
    this.state.direct = new Int32Array(span)
  }

  private makeRoom(more: number): void {
    const { state } = this
    const wanted = state.size + more
    if (wanted > state.low.length) {
      const length = Math.max(wanted, state.low.length * 2)
      state.low = longer(state.low, length)
      state.high = longer(state.high, length)
    }
    if (2 * wanted <= state.slots.length) return
    let slots = state.slots.length
    while (slots < 2 * wanted) slots *= 2
    const table = new Int32Array(slots)
    const { low, high, slots: old } = state
    const mask = slots - 1
    for (let s = 0; s < old.length; s++) {
      const id = old[s] as number
      if (id === 0) continue
      let p = hashOf(low[id - 1] as number, high[id - 1] as number) & mask
      while (table[p] !== 0) p = (p + 1) & mask
      table[p] = id
    }
    state.slots = table
  }
}

function longer(words: Int32Array, length: number): Int32Array {
  const out = new Int32Array(length)
  out.set(words)
  return out
}

const HASH = `(h = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b), h ^= h >>> 15, h = Math.imul(h, 0xc2b2ae35), h ^ (h >>> 13))`
/** The hash of a key's two words. */
export const hashOf: (low: number, high: number) => number = typedLoop<(low: number, high: number) => number>(
  ['low', 'high'],
  `let h = 0;\nreturn ${HASH};`,
)

/** The least and the greatest value; undefined where one is no whole number of 32 bits, or all are null. */
function rangeOf(
  words: Exclude<Words, { kind: 'pair' }>,
  length: number,
  validity: Uint8Array | undefined,
): { readonly least: number; readonly most: number } | undefined {
  const { small, value } = SMALL[words.kind]
  const skip = validity === undefined ? '' : SKIP_NULLS
  const [a, b] = arraysOf(words)
  const loop = typedLoop<(a: unknown, b: unknown, length: number, validity: unknown) => { least: number; most: number } | undefined>(
    ['a', 'b', 'length', 'validity'],
    `let least = Infinity, most = -Infinity; // range of ${classOf(a)}
for (let i = 0; i < length; i++) {
${skip}
const value = ${value};
if (!(${small})) return undefined;
if (value < least) least = value;
if (value > most) most = value;
}
return least <= most ? { least, most } : undefined;`,
  )
  return loop(a, b, length, validity)
}

const SKIP_NULLS = 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'

/** Source text for the value as a number, and for whether it is a whole number of 32 bits. */
const SMALL = {
  integer: { value: 'a[i]', small: 'true' },
  float: { value: 'a[i]', small: '(value | 0) === value' },
  long: { value: 'b[2 * i]', small: 'b[2 * i + 1] === value >> 31' },
} as const

/** Source text for the two words of a key, which are equal exactly when the values are. 0 and -0 are one value, and so are all NaNs. */
const WORDS = {
  integer: 'const low = a[i] | 0, high = 0;',
  f64: `let low = b[2 * i], high = b[2 * i + 1];
if (value === 0) { low = 0; high = 0; } else if (value !== value) { low = 0; high = 0x7ff80000; }`,
  f32: 'let low = b[i], high = 0;\nif (value === 0) low = 0; else if (value !== value) low = 0x7fc00000;',
  long: 'const low = b[2 * i], high = b[2 * i + 1];',
  pair: 'const low = a[i], high = b[i];\nif (low < 0 || high < 0) { out[i] = -1; continue; }',
} as const

function arraysOf(words: Words): readonly [unknown, unknown] {
  switch (words.kind) {
    case 'integer':
      return [words.values, undefined]
    case 'pair':
      return [words.first, words.second]
    case 'float':
    case 'long': {
      const { buffer, byteOffset, byteLength } = words.values
      return [words.values, new Int32Array(buffer, byteOffset, byteLength / 4)]
    }
  }
}

function classOf(array: unknown): string {
  return Object.prototype.toString.call(array)
}

function wordLoop(words: Words, { adds, nullable }: { readonly adds: boolean; readonly nullable: boolean }): WordLoop {
  const form = words.kind === 'float' ? (words.values instanceof Float32Array ? 'f32' : 'f64') : words.kind
  const [a] = arraysOf(words)
  const small = words.kind === 'pair' ? undefined : SMALL[words.kind]
  const direct =
    small === undefined
      ? ''
      : `const value = ${small.value};
const place = value - base;
if (place >= 0 && place < span && ${small.small}) {
let known = direct[place | 0];
${adds ? 'if (known === 0) direct[place | 0] = known = ++size;' : ''}
out[i] = known - 1;
continue;
}`
  return typedLoop<WordLoop>(
    ['state', 'out', 'from', 'to', 'a', 'b', 'validity'],
    `const { base, direct, slots, low: lows, high: highs } = state; // ids of ${classOf(a)}
const span = direct.length, mask = slots.length - 1;
let size = state.size, h = 0;
for (let i = from; i < to; i++) {
${nullable ? SKIP_NULLS : ''}
${direct}
${WORDS[form]}
let p = ${HASH} & mask;
let id = slots[p];
while (id !== 0 && (lows[id - 1] !== low || highs[id - 1] !== high)) {
p = (p + 1) & mask;
id = slots[p];
}
${adds ? 'if (id === 0) { lows[size] = low; highs[size] = high; slots[p] = id = ++size; }' : ''}
out[i] = id - 1;
}
state.size = size;`,
  )
}

export class ByteTable implements TextIds {
  size = 0
  private slots: Int32Array = new Int32Array(FIRST_SLOTS)
  private hashes: Int32Array = new Int32Array(FIRST_SLOTS / 2)
  private starts: Int32Array = new Int32Array(FIRST_SLOTS / 2 + 1)
  private bytes: Uint8Array = new Uint8Array(2 ** 16)

  encode(values: Uint8Array, offsets: Int32Array, out: Int32Array, { begin, end, unknown, validity }: Piece): void {
    for (let from = begin; from < end; from += STRIDE) {
      const to = Math.min(from + STRIDE, end)
      if (unknown === 'add') this.makeRoom(to - from, (offsets[to] as number) - (offsets[from] as number))
      this.encodeStride(values, offsets, out, { begin: from, end: to, unknown, validity })
    }
  }

  addOutside(): number {
    this.makeRoom(1, 0)
    this.starts[this.size + 1] = this.starts[this.size] as number
    return this.size++
  }

  private encodeStride(values: Uint8Array, offsets: Int32Array, out: Int32Array, { begin, end: last, unknown, validity }: Piece): void {
    const { slots, hashes, starts, bytes } = this
    const mask = slots.length - 1
    for (let i = begin; i < last; i++) {
      if (validity !== undefined && ((validity[i >> 3] as number) & (1 << (i & 7))) === 0) continue
      const start = offsets[i] as number
      const end = offsets[i + 1] as number
      let hash = end - start
      for (let k = start; k < end; k++) hash = Math.imul(hash ^ (values[k] as number), 0x01000193)
      hash ^= hash >>> 15
      let p = hash & mask
      let id = slots[p] as number
      while (
        id !== 0 &&
        !(hashes[id - 1] === hash && sameBytes(bytes, starts[id - 1] as number, starts[id] as number, values, start, end))
      ) {
        p = (p + 1) & mask
        id = slots[p] as number
      }
      if (id === 0 && unknown === 'add') {
        const at = starts[this.size] as number
        for (let k = start; k < end; k++) bytes[at + k - start] = values[k] as number
        hashes[this.size] = hash
        slots[p] = id = ++this.size
        starts[this.size] = at + end - start
      }
      out[i] = id - 1
    }
  }

  private makeRoom(more: number, moreBytes: number): void {
    const wanted = this.size + more
    if (wanted > this.hashes.length) {
      const length = Math.max(wanted, this.hashes.length * 2)
      this.hashes = longer(this.hashes, length)
      this.starts = longer(this.starts, length + 1)
    }
    const wantedBytes = (this.starts[this.size] as number) + moreBytes
    if (wantedBytes > this.bytes.length) {
      if (wantedBytes >= 2 ** 31) throw new PlanError('The different keys hold more than 2 GiB of text. Group or join by shorter keys.')
      const bytes = new Uint8Array(Math.min(2 ** 31, Math.max(wantedBytes, this.bytes.length * 2)))
      bytes.set(this.bytes.subarray(0, this.starts[this.size]))
      this.bytes = bytes
    }
    if (2 * wanted <= this.slots.length) return
    let length = this.slots.length
    while (length < 2 * wanted) length *= 2
    const slots = new Int32Array(length)
    for (const id of this.slots) {
      if (id === 0) continue
      let p = (this.hashes[id - 1] as number) & (length - 1)
      while (slots[p] !== 0) p = (p + 1) & (length - 1)
      slots[p] = id
    }
    this.slots = slots
  }
}

function sameBytes(a: Uint8Array, aStart: number, aEnd: number, b: Uint8Array, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false
  for (let k = 0; k < bEnd - bStart; k++) if (a[aStart + k] !== b[bStart + k]) return false
  return true
}
