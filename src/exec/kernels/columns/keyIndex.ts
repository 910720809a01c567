/**
 * Index of the keys of a captured collection, for look-ups in kernels: each key has a slot.
 *
 *     keys 10 12 13     direct addressing: slots from the least key on       10 · 12 13
 *     keys 0.5 7 1e9    anything else: open addressing, linear probing       · 1e9 0.5 · · 7 · ·
 */

/** The slots of keys, for code that looks keys up. */
export type KeyIndex = {
  /** The place of the key in each slot, -1 in empty ones. NaN has a slot of its own, the last. */
  readonly places: Int32Array
  readonly hasNaN: boolean
} & (
  | { readonly kind: 'direct'; readonly least: number; readonly isFull: boolean }
  /** `keys` are those in the slots; NaN marks an empty one. */
  | { readonly kind: 'hashed'; readonly keys: Float64Array }
)

/** The slots that direct addressing may use: so many a key, or in all for few keys; and the most slots of any index. */
const SLOTS_A_KEY = 8
const FEW_SLOTS = 1_024
export const MOST_SLOTS: number = 2 ** 22

/** Builds the index of keys with their places; undefined where there are too many keys. */
export function keyIndexOf(keys: ReadonlyMap<number, number>): KeyIndex | undefined {
  const ofNaN = keys.get(Number.NaN)
  const others = ofNaN === undefined ? keys : new Map([...keys].filter(([key]) => !Number.isNaN(key)))
  const index = indexOf(others)
  if (index === undefined || ofNaN === undefined) return index
  const places = new Int32Array(index.places.length + 1).fill(ofNaN)
  places.set(index.places)
  return { ...index, places, hasNaN: true }
}

function indexOf(keys: ReadonlyMap<number, number>): KeyIndex | undefined {
  if (keys.size === 0) return { kind: 'direct', least: 0, isFull: false, hasNaN: false, places: new Int32Array() }
  let [least, most, isWhole] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, true]
  for (const key of keys.keys()) {
    if (key < least) least = key
    if (key > most) most = key
    isWhole &&= key === (key | 0)
  }
  const span = most - least + 1
  if (isWhole && span <= Math.max(FEW_SLOTS, SLOTS_A_KEY * keys.size) && span <= MOST_SLOTS) {
    const places = new Int32Array(span).fill(-1)
    for (const [key, place] of keys) places[key - least] = place
    return { kind: 'direct', least: least | 0, isFull: keys.size === span, hasNaN: false, places }
  }
  return keys.size > MOST_SLOTS / 4 ? undefined : hashed(keys)
}

function hashed(keys: ReadonlyMap<number, number>): KeyIndex {
  const slots = 2 ** Math.ceil(Math.log2(2 * keys.size + 2))
  const [places, inSlots] = [new Int32Array(slots).fill(-1), new Float64Array(slots).fill(Number.NaN)]
  const word = new Int32Array(2)
  const double = new Float64Array(word.buffer)
  for (const [key, place] of keys) {
    double[0] = key + 0 // -0 is the same key as 0
    let slot = hashOf(word[0] as number, word[1] as number) & (slots - 1)
    while (places[slot] !== -1) slot = (slot + 1) & (slots - 1)
    places[slot] = place
    inSlots[slot] = key
  }
  return { kind: 'hashed', keys: inSlots, hasNaN: false, places }
}

/** Multipliers of the hash of a double's two words, from MurmurHash3. */
export const HASH: Readonly<Record<'high' | 'first' | 'second', number>> = { high: -0x3361d2af, first: -0x7a143595, second: -0x3d4d51cb }

function hashOf(low: number, high: number): number {
  let hash = (low + Math.imul(high, HASH.high)) | 0
  hash = Math.imul(hash ^ (hash >>> 16), HASH.first)
  hash = Math.imul(hash ^ (hash >>> 13), HASH.second)
  return hash ^ (hash >>> 16)
}

/** Moves the values of keys to their slots in `to`; empty slots stay as they are. */
export function inSlots<T extends Float64Array | Int32Array>(values: ArrayLike<number>, places: Int32Array, to: T): T {
  for (let slot = 0; slot < places.length; slot++) {
    const place = places[slot] as number // below the length
    if (place >= 0) to[slot] = values[place] as number // a key has a value
  }
  return to
}
