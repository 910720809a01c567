/**
 * Colors: greedy in key order, the least color that no earlier iteration in conflict has.
 *
 * Two words for each element have a bit for each color that wrote it and that read it: 32 colors a round, as OP2 does. An
 * iteration for which none of them is free waits for the next round, with 32 new colors.
 */
import { sizesOf } from './finding.ts'

const COLORS_A_ROUND = 32

export class Colors {
  /** The color of each iteration by position; -1 where it has none yet. */
  readonly of: Int32Array
  count = 0
  #waiting: number
  #first = 0
  readonly #wrote: Int32Array
  readonly #read: Int32Array

  constructor(iterations: number, elements: number) {
    this.of = new Int32Array(iterations).fill(-1)
    this.#waiting = iterations
    this.#wrote = new Int32Array(elements)
    this.#read = new Int32Array(elements)
  }

  get isDone(): boolean {
    return this.#waiting === 0
  }

  take(log: Float64Array, length: number, position: number): void {
    const { of } = this
    const [wrote, read] = [this.#wrote, this.#read]
    const end = 2 * wrote.length
    for (let i = 0; i < length; position++) {
      const start = ++i
      let taken = 0
      for (; i < length; i++) {
        const touch = log[i]!
        if (touch < 0) break
        if (touch >= end) continue
        const element = touch >> 1
        taken |= (touch & 1) === 1 ? wrote[element]! | read[element]! : wrote[element]!
      }
      if (of[position] !== -1 || taken === -1) continue
      const bit = ~taken & (taken + 1)
      for (let k = start; k < i; k++) {
        const touch = log[k]!
        if (touch >= end) continue
        const element = touch >> 1
        if ((touch & 1) === 1) wrote[element]! |= bit
        else read[element]! |= bit
      }
      const color = this.#first + 31 - Math.clz32(bit)
      of[position] = color
      this.#waiting--
      if (color >= this.count) this.count = color + 1
    }
  }

  nextRound(): void {
    this.#first += COLORS_A_ROUND
    this.#wrote.fill(0)
    this.#read.fill(0)
  }

  sizes(): Int32Array {
    return sizesOf(this.of, this.count)
  }
}
