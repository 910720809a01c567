/** The functions of an aggregate of the program's own, in whatever form they are at the time. */
import type { UserFunction } from './functionIr.ts'

/** The program's own aggregate: what a group's values are folded into, by its functions. */
export interface Folding<F> {
  readonly init: F
  readonly step: F
  readonly merge?: F
  readonly finish?: F
}

/** In the order in which a call has them. */
export function functionsOfFolding<F>({ init, step, merge, finish }: Folding<F>): readonly F[] {
  return [init, step, ...(merge === undefined ? [] : [merge]), ...(finish === undefined ? [] : [finish])]
}

/** The same with other functions. */
export function mapFolding<F, G>({ init, step, merge, finish }: Folding<F>, to: (f: F, part: keyof Folding<F>) => G): Folding<G> {
  return {
    init: to(init, 'init'),
    step: to(step, 'step'),
    ...(merge === undefined ? {} : { merge: to(merge, 'merge') }),
    ...(finish === undefined ? {} : { finish: to(finish, 'finish') }),
  }
}

export function foldingWith(folding: Folding<UserFunction>, now: (f: UserFunction) => UserFunction): Folding<UserFunction> {
  const replaced = mapFolding(folding, now)
  const functions = functionsOfFolding(folding)
  return functionsOfFolding(replaced).every((f, i) => f === functions[i]) ? folding : replaced
}
