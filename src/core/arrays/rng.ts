/** Random generators for loop bodies: a handle holds a seed, and draws only inside bodies. */
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

  /** Draws a number in [0, 1); like `normal` and `int`, only in the body of a loop. */
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
