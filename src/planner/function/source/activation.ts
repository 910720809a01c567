/**
 * The meaning of names in one call of a function that is written out. A function that is made there sees the names of that very call, and
 * of no other, whenever it is called:
 *
 *     const adding = (a) => (b) => a + b        f and g have an a each, since each has the call that made it around it
 *     const [f, g] = [adding(1), adding(x)]
 */
import type { Binding } from './scope.ts'

export class Activation<Bound> {
  readonly #own = new Map<Binding, Bound>()
  readonly #around: Activation<Bound> | undefined

  constructor(around?: Activation<Bound>) {
    this.#around = around
  }

  get(binding: Binding): Bound | undefined {
    return this.#own.get(binding) ?? this.#around?.get(binding)
  }

  set(binding: Binding, bound: Bound): void {
    this.#own.set(binding, bound)
  }
}
