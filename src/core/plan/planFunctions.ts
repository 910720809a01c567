/** Parts of nodes with `now` applied to their functions; the same objects where none changed. */
import { foldingWith } from '../ir/folding.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import type { AggregateCall, GroupHow, SidesBy } from './logicalPlan.ts'

export function sidesWith(sides: SidesBy, now: (f: UserFunction) => UserFunction): SidesBy {
  const [left, right] = [now(sides.left), now(sides.right)]
  return left === sides.left && right === sides.right ? sides : { left, right }
}

export function howWithFunctions(how: GroupHow, now: (f: UserFunction) => UserFunction): GroupHow {
  switch (how.kind) {
    case 'agg': {
      const aggregates = callsWithFunctions(how.aggregates, now)
      return aggregates === how.aggregates ? how : { ...how, aggregates }
    }
    case 'reduce':
    case 'map': {
      const f = now(how.f)
      return f === how.f ? how : { ...how, f }
    }
  }
}

export function callsWithFunctions<C extends Pick<AggregateCall, 'of' | 'second' | 'folding'>>(
  calls: readonly C[],
  now: (f: UserFunction) => UserFunction,
): readonly C[] {
  const replaced = calls.map((call): C => {
    const of = call.of === undefined ? {} : { of: now(call.of) }
    const second = call.second === undefined ? {} : { second: now(call.second) }
    const folding = call.folding === undefined ? {} : { folding: foldingWith(call.folding, now) }
    const isSame = of.of === call.of && second.second === call.second && folding.folding === call.folding
    return isSame ? call : { ...call, ...of, ...second, ...folding }
  })
  return replaced.every((call, i) => call === calls[i]) ? calls : replaced
}
