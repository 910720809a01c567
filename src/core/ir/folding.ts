/** The functions of `aggregate(…)`, the program's own aggregate, as closures or lowered. */
import type { UserFunction } from './functionIr.ts'

/** The functions that fold a group's values into a state, join states, and make the result. */
export interface Folding<F> {
  readonly init: F
  readonly step: F
  readonly merge?: F
  readonly finish?: F
}

/** The functions in the order of the call's options. */
export function functionsOfFolding<F>({ init, step, merge, finish }: Folding<F>): readonly F[] {
  return [init, step, ...(merge === undefined ? [] : [merge]), ...(finish === undefined ? [] : [finish])]
}

/** The folding with each function replaced by the result of `to`. */
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
