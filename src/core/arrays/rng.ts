/** Generators for loop bodies: a handle is a seed, and draws in the bodies of loops. */
import type { Rng } from '../loop/loopViews.ts'
import { viewInBody } from '../loop/runningLoop.ts'
import { showAs } from '../show/shown.ts'

type Draws = { uniform(): number; normal(): number; int(below: number): number }

export class RngHandle implements Rng {
  readonly kind = 'Rng' as const
  readonly seed: number

  constructor(seed: number) {
    this.seed = seed
  }

  /** In the body of a loop, as the other two: a number in [0, 1). */
  uniform(): number {
    return this.#draws('uniform').uniform()
  }

  normal(): number {
    return this.#draws('normal').normal()
  }

  int(below: number): number {
    return this.#draws('int').int(below)
  }

  #draws(method: string): Draws {
    return viewInBody(this, 'a generator', method, 'Elsewhere use session.random().') as Draws // a generator's view
  }
}

showAs<RngHandle>(RngHandle.prototype, ({ seed }) => ({ what: 'Rng', title: `seed ${seed}` }))
