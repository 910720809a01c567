/**
 * Systems of difference constraints: x - y <= c over the integers.
 *
 * The system is kept closed: `bound(x, y)` is always the least c with x - y <= c (shortest paths, the potential method
 * of Bellman). Closed systems of this kind are exact: each finite bound is reached by an integer solution, and a
 * variable may be fixed at any value between its bounds. Subscripts `index + constant`, their ranges and most guards
 * are of this kind, so for them the dependence test is exact.
 *
 * Variable 0 is the constant 0.
 */
export class Differences {
  readonly size: number
  private readonly bounds: Float64Array
  /** False once the constraints contradict each other. */
  feasible = true

  constructor(size: number, bounds?: Float64Array) {
    this.size = size
    this.bounds = bounds ?? new Float64Array(size * size).fill(Infinity)
    if (bounds === undefined) for (let x = 0; x < size; x++) this.bounds[x * size + x] = 0
  }

  copy(): Differences {
    const copy = new Differences(this.size, this.bounds.slice())
    copy.feasible = this.feasible
    return copy
  }

  /** The least c with x - y <= c. */
  bound(x: number, y: number): number {
    return this.bounds[x * this.size + y] ?? Infinity
  }

  /** Adds x - y <= c; O(size^2). */
  atMost(x: number, y: number, c: number): this {
    if (!this.feasible || this.bound(x, y) <= c) return this
    if (this.bound(y, x) + c < 0) {
      this.feasible = false
      return this
    }
    const { size, bounds } = this
    for (let a = 0; a < size; a++) {
      const toX = this.bound(a, x)
      if (toX === Infinity) continue
      for (let b = 0; b < size; b++) {
        const path = toX + c + this.bound(y, b)
        if (path < this.bound(a, b)) bounds[a * size + b] = path
      }
    }
    return this
  }

  /** Adds x - y = c. */
  equal(x: number, y: number, c: number): this {
    return this.atMost(x, y, c).atMost(y, x, -c)
  }
}
