/**
 * Methods of Sets and Maps that a body makes, written out where it calls them: a hash table with open addressing whose entries lie in
 * the order in which they were put in. They name nothing that is not their own (`listMethods.ts` says why).
 *
 *     slots     for the hash of a key, and those behind it: the number of an entry plus one, or 0
 *     keys, values, alive     of each entry; what was removed stays, dead, so that loops over entries go on where they are
 *
 * Keys that are codes of a few texts need no search: `slots` has a place for each, that of undefined first.
 *
 * Half of the slots in use are free, so that a search ends. Counters are kept as integers of 32 bits, so that no index is converted.
 */

export interface Collection {
  readonly keys: number[]
  readonly values: number[]
  readonly alive: number[]
  readonly slots: number[]
  /** Number of entries, dead ones included. */
  used: number
  size: number
  /** Number of slots in use, less one: a power of two less one. */
  mask: number
}

type Hash = (key: number) => number
/** Returns the slot of a key: that of its entry, or the free one where the search ends. */
type Place = (map: Collection, key: number, hash: Hash) => number
/** Makes room for one more entry. */
type Grow = (map: Collection, hash: Hash) => void

/**
 * Keys that are equal have one hash: 0 and -0 are both 0 as integers, and so is NaN. Whole numbers that lie together have slots that do. Of
 * others the bits beside the integer count: twenty behind the point, twenty more, and those above the 32nd.
 */
export const hash: Hash = (key) => {
  const whole = key | 0
  const rest = key - whole
  const mixed = whole === key ? whole : whole ^ ((rest * 1048576) | 0) ^ ((rest * 1099511627776) | 0) ^ ((rest / 4294967296) | 0)
  return mixed ^ (mixed >>> 16) ^ (mixed >>> 9)
}

/** Texts that are made of numbers have large keys: the low 25 bits, and those above, which count in each place. */
export const hashOfBuilt: Hash = (key) => {
  const high = (key / 33554432) | 0
  const mixed = (key - high * 33554432) ^ ((high * 40503) | 0)
  return mixed ^ (mixed >>> 15)
}

export const place: Place = (map, key, hash) => {
  let at = hash(key) & map.mask
  for (let entry = map.slots[at] as number; entry !== 0; entry = map.slots[at] as number) {
    const held = map.keys[entry - 1] as number
    // biome-ignore lint/suspicious/noSelfCompare: Number.isNaN is a name of the platform's
    if (held === key || (held !== held && key !== key)) break
    at = (at + 1) & map.mask
  }
  return at
}

/** Returns the slot of a key that is the code of a text, of which each has its own. */
export const slotOfCode = (_map: Collection, key: number): number => (key + 1) | 0

/** Has more slots where half of those in use are taken, and the entries in them. */
export const moreSlots: Grow = (map, hash) => {
  if (map.used * 2 > map.mask + 1) {
    map.mask = (map.mask << 1) | 1
    for (let s = 0; s <= map.mask; s++) map.slots[s] = 0
    for (let e = 0; e < map.used; e++) {
      if (map.alive[e] === 1) {
        let free = hash(map.keys[e] as number) & map.mask
        while (map.slots[free] !== 0) free = (free + 1) & map.mask
        map.slots[free] = e + 1
      }
    }
  }
}

/** Codes of texts have all of their slots from the start. */
export const enoughSlots: Grow = () => {}

export const METHODS: { readonly [name: string]: (map: Collection, ...args: never[]) => unknown } = {
  has: (map: Collection, key: number, place: Place, hash: Hash) => {
    const entry = map.slots[place(map, key, hash)] as number
    return entry !== 0 && map.alive[entry - 1] === 1
  },
  get: (map: Collection, key: number, place: Place, hash: Hash) => {
    const entry = map.slots[place(map, key, hash)] as number
    if (entry !== 0 && map.alive[entry - 1] === 1) return map.values[entry - 1] as number
    return void 0
  },
  /** That of a Map of lists or objects, of which each has a number. */
  getHeld: (map: Collection, key: number, place: Place, hash: Hash) => {
    const entry = map.slots[place(map, key, hash)] as number
    if (entry === 0 || map.alive[entry - 1] !== 1) return -1
    return map.values[entry - 1] as number
  },
  set: (map: Collection, key: number, place: Place, hash: Hash, value: number, room: number, isFull: string, grow: Grow) => {
    const at = place(map, key, hash)
    const entry = map.slots[at] as number
    if (entry !== 0 && map.alive[entry - 1] === 1) map.values[entry - 1] = value
    else {
      if (map.used >= room) throw new RangeError(isFull)
      map.keys[map.used] = key + 0 // a Map keeps -0 as 0
      map.values[map.used] = value
      map.alive[map.used] = 1
      map.used = (map.used + 1) | 0
      map.size = (map.size + 1) | 0
      map.slots[at] = map.used
      grow(map, hash)
    }
  },
  delete: (map: Collection, key: number, place: Place, hash: Hash) => {
    const entry = map.slots[place(map, key, hash)] as number
    if (entry === 0 || map.alive[entry - 1] !== 1) return false
    map.alive[entry - 1] = 0
    map.size = (map.size - 1) | 0
    return true
  },
  clear: (map: Collection) => {
    for (let e = 0; e < map.used; e++) map.alive[e] = 0
    map.size = 0
  },
}

/** Returns the keys of a Map with their values, in the order in which they were put in. */
export const pairsOf = (map: ReadonlyMap<number, number>): (readonly [number, number])[] => {
  const all: [number, number][] = []
  for (const [key, value] of map) all.push([key, value])
  return all
}
