/**
 * Promises of `assume.distinct`: values that different iterations read at different places of an index array differ.
 *
 * Iterations that read one place read one value; that they then depend on each other is what the analysis says too.
 */
export interface PromisedRead {
  readonly value: unknown
  /** The row-major position of the element. */
  readonly place: number
  /** The position of the iteration. */
  readonly position: number
}

/** Most different values that are remembered: what a Map holds. */
export const MOST_VALUES: number = 2 ** 24 - 1

export class DistinctPromise {
  readonly #reads = new Map<unknown, PromisedRead[]>()

  get size(): number {
    return this.#reads.size
  }

  /** Notes a read; one that breaks the promise is not noted, and the earlier read of the same value is returned. */
  note(read: PromisedRead): PromisedRead | undefined {
    const known = this.#reads.get(read.value)
    if (known === undefined) {
      this.#reads.set(read.value, [read])
      return undefined
    }
    const broken = known.find(({ place, position }) => place !== read.place && position !== read.position)
    if (broken !== undefined) return broken
    // Iterations come one after another, so the first reader of a place stands for all.
    if (known.every(({ place }) => place !== read.place)) known.push(read)
    return undefined
  }
}
