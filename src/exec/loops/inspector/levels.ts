/**
 * Levels, as sparse triangular solves have them (Saltz, "Aggregation methods for solving sparse triangular systems", 1990):
 * an iteration is one level above the highest of the earlier iterations that it is in conflict with.
 *
 * Two words for each element remember the highest level that wrote it and that read it. An earlier writer or reader of one
 * element that is not the highest was itself ordered below a later writer, or is a reader among readers.
 *
 *     level(q) = 1 + max( wrote[e] for e read or written by q, read[e] for e written by q )
 *
 * Statement: p before q in key order, both touch e, one writes it: level(p) < level(q). For when q is met, wrote[e] or read[e]
 * is at least level(p).
 */

export class Levels {
  /** The level of each iteration by position, from 0. */
  readonly of: Int32Array
  /** The highest level that wrote each element, plus 1; 0 where nobody did. */
  readonly wrote: Int32Array
  count = 0
  readonly #read: Int32Array

  constructor(iterations: number, elements: number) {
    this.of = new Int32Array(iterations)
    this.wrote = new Int32Array(elements)
    this.#read = new Int32Array(elements)
  }

  /** Takes in the touches of the iterations from `position` on; see `touchKernel.ts` for their form. */
  take(log: Float64Array, length: number, position: number): void {
    const { of, wrote } = this
    const read = this.#read
    const end = 2 * wrote.length
    for (let i = 0; i < length; position++) {
      const start = ++i
      let below = 0
      for (; i < length; i++) {
        const touch = log[i]!
        if (touch < 0) break
        if (touch >= end) continue // outside: the iteration will throw there
        const element = touch >> 1
        if (wrote[element]! > below) below = wrote[element]!
        if ((touch & 1) === 1 && read[element]! > below) below = read[element]!
      }
      const level = below + 1
      for (let k = start; k < i; k++) {
        const touch = log[k]!
        if (touch >= end) continue
        const element = touch >> 1
        if ((touch & 1) === 1) wrote[element] = level
        else if (read[element]! < level) read[element] = level
      }
      of[position] = below
      if (level > this.count) this.count = level
    }
  }
}
