/**
 * Connected components: iterations that touch a written element together are in one, and so are those connected through others.
 *
 * A union-find forest over the iterations, whose roots are the first iterations of their components; elements that nobody
 * writes join nobody.
 */
import { sizesOf } from './finding.ts'

export class Components {
  readonly #parent: Int32Array
  /** The first iteration that touched each element, plus 1; 0 where none did. */
  readonly #toucher: Int32Array
  readonly #isWritten: Int32Array

  /** `isWritten` has a number other than 0 for each element that some iteration writes. */
  constructor(iterations: number, isWritten: Int32Array) {
    this.#parent = Int32Array.from({ length: iterations }, (_, position) => position)
    this.#toucher = new Int32Array(isWritten.length)
    this.#isWritten = isWritten
  }

  take(log: Float64Array, length: number, position: number): void {
    const toucher = this.#toucher
    const isWritten = this.#isWritten
    const end = 2 * toucher.length
    for (let i = 0; i < length; position++) {
      for (i++; i < length; i++) {
        const touch = log[i]!
        if (touch < 0) break
        if (touch >= end) continue
        const element = touch >> 1
        if (isWritten[element] === 0) continue
        const other = toucher[element]!
        if (other === 0) toucher[element] = position + 1
        else this.#join(position, other - 1)
      }
    }
  }

  /** The component of each iteration, numbered by their first iterations, and how many iterations each has. */
  result(): { readonly of: Int32Array; readonly sizes: Int32Array } {
    const parent = this.#parent
    const of = new Int32Array(parent.length)
    let count = 0
    // A root is the first of its component, so that its number is known when the others come.
    for (let position = 0; position < parent.length; position++) {
      const root = this.#root(position)
      of[position] = root === position ? count++ : of[root]!
    }
    return { of, sizes: sizesOf(of, count) }
  }

  #root(position: number): number {
    const parent = this.#parent
    while (parent[position] !== position) {
      parent[position] = parent[parent[position]!]!
      position = parent[position]!
    }
    return position
  }

  #join(a: number, b: number): void {
    const [left, right] = [this.#root(a), this.#root(b)]
    if (left < right) this.#parent[right] = left
    else this.#parent[left] = right
  }
}
