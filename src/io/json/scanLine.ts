/**
 * Lines of JSON, gone through byte by byte where they hold what is known already.
 *
 *     {"id":7,"tags":["a"]}      the fields, their kinds and the place of each value, without a string or an object
 *
 * A line is taken only as a whole: with a field that is not known yet, a value of another kind, a name that comes twice, half of a
 * surrogate pair, or anything that is no JSON, it is declined, and the caller parses it. So what is taken has one meaning, that of
 * `JSON.parse`, and all that is new and all that is wrong is found in one place.
 */
import { MOST_I64, type Seen } from './seenValues.ts'

/** A place in the objects of the lines, beside what was seen there. */
export interface Place {
  readonly seen: Seen
  /** Whether any value may stand here, of which nothing is noted. */
  readonly free: boolean
  readonly name: string
  /** The name in UTF-8. */
  readonly key: Uint8Array
  readonly fields: Place[]
  readonly byName: Map<string, Place>
  item: Place | undefined
  /** The number of the place among the fields of its object. */
  readonly index: number
  /** The object, by its number, in which the field was found last; the value's first byte there, and the one behind it. */
  object: number
  from: number
  to: number
}

export function placeOf(seen: Seen, { name = '', index = 0, free = false }: Partial<Pick<Place, 'name' | 'index' | 'free'>> = {}): Place {
  const key = new TextEncoder().encode(name)
  return { seen, free, name, key, fields: [], byName: new Map(), item: undefined, index, object: 0, from: 0, to: 0 }
}

/** The names compared byte by byte before one is looked up: the next fields, in the order in which they were found first. */
export const NEAR = 8
/** Deeper values are left to the parser, which has a limit of its own. */
const DEEPEST = 64
/** Digits of integers that numbers may not hold exactly. */
const LONG = 16
/** Digits of integers that numbers may be too small for altogether. */
const LONGEST = 300

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const ZERO = 0x30

/** Goes through the lines of one piece of a file; positions are those of its bytes. */
export class LineScanner {
  private readonly root: Place
  private readonly bytes: Buffer
  /** Columns that are taken as they come, whatever they hold. */
  private readonly free: (name: string) => boolean
  /** The number of the object that is gone through, counted over all pieces. */
  private objects: number
  private top = 0
  /** Where values were found in this line, and how many of these are in use. */
  private readonly found: Seen[] = []
  private used = 0

  constructor(root: Place, bytes: Buffer, free: (name: string) => boolean) {
    this.root = root
    this.bytes = bytes
    this.free = free
    this.objects = root.object
  }

  /** The position behind the object of a line, and behind the blanks there; -1 where the line is declined. Counts what it has taken. */
  scan(start: number): number {
    this.used = 0
    const at = blanksEnd(this.bytes, start)
    if (this.bytes[at] !== 0x7b) return -1
    this.top = this.objects + 1
    const end = this.objectEnd(at + 1, this.root, 0)
    this.root.object = this.objects
    if (end < 0) return -1
    const behind = blanksEnd(this.bytes, end)
    if (behind < this.bytes.length && this.bytes[behind] !== 0x0a) return -1
    for (let i = 0; i < this.used; i++) (this.found[i] as Seen).count++ // as many were noted
    this.root.seen.count++
    return behind
  }

  /** Whether the line that was taken last has the field. */
  has(field: Place): boolean {
    return field.object === this.top
  }

  private valueEnd(at: number, place: Place | undefined, depth: number): number {
    const { bytes } = this
    switch (bytes[at]) {
      case QUOTE:
        return this.note(place, 'a text') ? textEnd(bytes, at + 1) : -1
      case 0x7b:
        return depth < DEEPEST && this.note(place, 'an object') ? this.objectEnd(at + 1, place, depth) : -1
      case 0x5b:
        return depth < DEEPEST && this.note(place, 'a list') ? this.listEnd(at + 1, place, depth) : -1
      case 0x6e:
        return isWord(bytes, at, 'null') ? at + 4 : -1
      case 0x74:
        return isWord(bytes, at, 'true') && this.note(place, 'a truth value') ? at + 4 : -1
      case 0x66:
        return isWord(bytes, at, 'false') && this.note(place, 'a truth value') ? at + 5 : -1
      default: {
        const end = numberEnd(bytes, at)
        if (end < 0 || !this.note(place, 'a number')) return -1
        return place === undefined || isKnownNumber(bytes, at, end, place.seen) ? end : -1
      }
    }
  }

  /** Whether a value of the kind is no news at the place, which has one value more then. */
  private note(place: Place | undefined, kind: NonNullable<Seen['kind']>): boolean {
    if (place === undefined) return true
    if (place.seen.kind !== kind) return false
    this.found[this.used++] = place.seen
    return true
  }

  private objectEnd(from: number, place: Place | undefined, depth: number): number {
    const { bytes } = this
    const object = ++this.objects
    let at = blanksEnd(bytes, from)
    if (bytes[at] === 0x7d) return at + 1
    for (let next = 0; ; ) {
      if (bytes[at] !== QUOTE) return -1
      let field: Place | undefined
      if (place === undefined) {
        at = textEnd(bytes, at + 1)
        if (at < 0) return -1
      } else {
        field = this.fieldAt(at + 1, place, next, depth)
        if (field === undefined || field.object === object) return -1 // new, or twice in one object
        field.object = object
        next = field.index + 1
        at += field.key.length + 2
      }
      at = blanksEnd(bytes, at)
      if (bytes[at] !== 0x3a) return -1
      at = blanksEnd(bytes, at + 1)
      if (field !== undefined) field.from = at
      at = this.valueEnd(at, field?.free === true ? undefined : field, depth + 1)
      if (at < 0) return -1
      if (field !== undefined) field.to = at
      at = blanksEnd(bytes, at)
      if (bytes[at] === 0x7d) return at + 1
      if (bytes[at] !== 0x2c) return -1
      at = blanksEnd(bytes, at + 1)
    }
  }

  private listEnd(from: number, place: Place | undefined, depth: number): number {
    const { bytes } = this
    let at = blanksEnd(bytes, from)
    let item: Place | undefined
    if (place !== undefined) {
      const { seen } = place
      if (seen.item === undefined) return -1
      item = place.item ??= placeOf(seen.item)
    }
    if (bytes[at] === 0x5d) return at + 1
    for (;;) {
      at = this.valueEnd(at, item, depth + 1)
      if (at < 0) return -1
      at = blanksEnd(bytes, at)
      if (bytes[at] === 0x5d) return at + 1
      if (bytes[at] !== 0x2c) return -1
      at = blanksEnd(bytes, at + 1)
    }
  }

  /** The field whose name begins at the byte; undefined where it is not known, or written with escapes. */
  private fieldAt(from: number, { fields, byName, seen }: Place, next: number, depth: number): Place | undefined {
    const { bytes } = this
    for (let i = next, end = Math.min(next + NEAR, fields.length); i < end; i++) {
      const field = fields[i] as Place // below the length
      if (isKey(bytes, from, field.key)) return field
    }
    const end = textEnd(bytes, from)
    if (end < 0) return undefined
    const name = bytes.toString('utf8', from, end - 1)
    if (name.includes('\\')) return undefined
    const known = byName.get(name)
    if (known !== undefined) return known
    const found = seen.fields.get(name)
    if (found === undefined) return undefined
    const field = placeOf(found, { name, index: fields.length, free: depth === 0 && this.free(name) })
    byName.set(name, field)
    fields.push(field)
    return field
  }
}

export function blanksEnd(bytes: Buffer, from: number): number {
  let at = from
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x09 || byte === 0x0d; ) byte = bytes[++at]
  return at
}

export function isKey(bytes: Buffer, from: number, key: Uint8Array): boolean {
  const { length } = key
  if (bytes[from + length] !== QUOTE) return false
  for (let i = 0; i < length; i++) if (bytes[from + i] !== key[i]) return false
  return true
}

function isWord(bytes: Buffer, at: number, word: string): boolean {
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return false
  return true
}

/** The position behind the quote that ends a text; -1 for what is no text of JSON, and for escapes of surrogates. */
export function textEnd(bytes: Buffer, from: number): number {
  for (let at = from, end = bytes.length; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) return at + 1
    if (byte < 0x20) return -1
    if (byte !== BACKSLASH) continue
    switch (bytes[++at]) {
      case QUOTE:
      case BACKSLASH:
      case 0x2f: // /
      case 0x62: // b
      case 0x66: // f
      case 0x6e: // n
      case 0x72: // r
      case 0x74: // t
        break
      case 0x75: {
        const digits = bytes.toString('latin1', at + 1, at + 5)
        if (!/^(?![dD][89a-fA-F])[\da-fA-F]{4}$/.test(digits)) return -1
        at += 4
        break
      }
      default:
        return -1
    }
  }
  return -1
}

function digitsEnd(bytes: Buffer, from: number): number {
  let at = from
  for (let byte = bytes[at] ?? 0; byte >= ZERO && byte <= 0x39; ) byte = bytes[++at] ?? 0
  return at
}

/** The position behind a number; -1 for what is none. */
export function numberEnd(bytes: Buffer, from: number): number {
  const start = bytes[from] === MINUS ? from + 1 : from
  let at = digitsEnd(bytes, start)
  if (at === start || (bytes[start] === ZERO && at > start + 1)) return -1
  if (bytes[at] === 0x2e) {
    const fraction = at + 1
    at = digitsEnd(bytes, fraction)
    if (at === fraction) return -1
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const sign = bytes[at + 1]
    const exponent = sign === 0x2b || sign === MINUS ? at + 2 : at + 1
    at = digitsEnd(bytes, exponent)
    if (at === exponent) return -1
  }
  return at
}

/** Whether a number changes nothing of what was seen beside its count: it is exact, or others before it were not. */
function isKnownNumber(bytes: Buffer, from: number, end: number, seen: Seen): boolean {
  const isInteger = isIntegerToken(bytes, from, end)
  if (isInteger && end - from < LONG) return true
  if (isInteger) {
    if (end - from > LONGEST) return false
    const text = bytes.toString('latin1', from, end)
    const exact = BigInt(text)
    if (BigInt(Number(text)) !== exact && seen.wide === undefined) return false
    return !seen.integers || (exact >= -MOST_I64 && exact < MOST_I64)
  }
  if (!seen.integers) return true
  const value = numberAt(bytes, from, end)
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63
}

/** Whether the bytes of a number are digits alone, behind a sign. */
export function isIntegerToken(bytes: Buffer, from: number, end: number): boolean {
  return digitsEnd(bytes, bytes[from] === MINUS ? from + 1 : from) === end
}

/** Powers of ten that numbers hold exactly. */
const POWERS = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`))

/**
 * The number that the bytes are. Up to 15 digits and a power of ten up to 22 are both exact, so that their quotient is rounded
 * once, as the number is (Clinger, How to read floating point numbers accurately, 1990); others the engine reads.
 */
export function numberAt(bytes: Buffer, from: number, end: number): number {
  let digits = 0
  let behind = -1
  let value = 0
  for (let at = bytes[from] === MINUS ? from + 1 : from; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0x2e) behind = 0
    else if (byte < ZERO || byte > 0x39 || ++digits > 15) return Number(bytes.toString('latin1', from, end))
    else {
      value = value * 10 + (byte - ZERO)
      if (behind >= 0) behind++
    }
  }
  const size = behind > 0 ? value / (POWERS[behind] ?? 1) : value
  return bytes[from] === MINUS ? -size : size
}
