/**
 * Two shadow words for each element of an array: the iteration that wrote it last and the one that read it last, each
 * with the place in the body.
 *
 *     0        nobody yet
 *     n > 0    an access: its iteration and its place, see `AccessWords`
 *     n < 0    several, none of which stands for the others: list -n - 1
 */
import type { RaceOrder } from './raceCheckOrder.ts'

/** Accesses as numbers: `position * sites + site + 1`. */
export class AccessWords {
  readonly #sites: number
  constructor(sites: number) {
    this.#sites = sites
  }
  word(position: number, site: number): number {
    return position * this.#sites + site + 1
  }
  position(word: number): number {
    return Math.floor((word - 1) / this.#sites)
  }
  site(word: number): number {
    return (word - 1) % this.#sites
  }
}

/** Bytes of an element's two words. */
export const SHADOW_BYTES = 16

export class Shadow {
  #writes: Float64Array
  #reads: Float64Array
  readonly #several: number[][] = []
  readonly #words: AccessWords
  readonly #order: RaceOrder

  constructor(elements: number, words: AccessWords, order: RaceOrder) {
    this.#writes = new Float64Array(elements)
    this.#reads = new Float64Array(elements)
    this.#words = words
    this.#order = order
  }

  get length(): number {
    return this.#writes.length
  }

  grow(elements: number): void {
    const [writes, reads] = [this.#writes, this.#reads]
    this.#writes = new Float64Array(elements)
    this.#reads = new Float64Array(elements)
    this.#writes.set(writes)
    this.#reads.set(reads)
  }

  /** Notes a shared access, or returns the word of an earlier exclusive access that is in no order with it. */
  read(element: number, word: number): number | undefined {
    const writer = this.#outOfOrder(this.#writes[element] as number, word)
    if (writer === undefined) this.#reads[element] = this.#kept(this.#reads[element] as number, word)
    return writer
  }

  /** Notes an exclusive access, or returns the word of any earlier access that is in no order with it. */
  write(element: number, word: number): number | undefined {
    const [writes, reads] = [this.#writes[element] as number, this.#reads[element] as number]
    const other = this.#outOfOrder(writes, word) ?? this.#outOfOrder(reads, word)
    if (other !== undefined) return other
    if (this.#order.transitive) {
      // What is in order with this write is in order with all before it.
      this.#writes[element] = word
      this.#reads[element] = 0
    } else this.#writes[element] = this.#kept(writes, word)
    return undefined
  }

  #outOfOrder(shadow: number, word: number): number | undefined {
    if (shadow === 0) return undefined
    const position = this.#words.position(word)
    if (shadow > 0) return this.#isOpen(shadow, position) ? shadow : undefined
    for (const other of this.#several[-shadow - 1] ?? []) if (this.#isOpen(other, position)) return other
    return undefined
  }

  #isOpen(earlier: number, position: number): boolean {
    const before = this.#words.position(earlier)
    return before !== position && !this.#order.ordered(before, position)
  }

  /** The shadow word for all that `shadow` stands for and this access. */
  #kept(shadow: number, word: number): number {
    if (shadow === 0) return word
    const position = this.#words.position(word)
    if (shadow > 0 && this.#words.position(shadow) === position) return shadow
    const old = shadow > 0 ? [shadow] : (this.#several[-shadow - 1] ?? [])
    const positions = old.map((other) => this.#words.position(other))
    if (positions.includes(position)) return shadow
    const few = this.#order.keep(positions, position)
    if (few === positions) return shadow
    const kept = few.map((one) => (one === position ? word : (old[positions.indexOf(one)] ?? word)))
    const [only] = kept
    if (kept.length === 1 && only !== undefined && shadow > 0) return only
    if (shadow > 0) return -this.#several.push(kept)
    this.#several[-shadow - 1] = kept
    return shadow
  }
}
