/** A GroupBy made anew over another input, as if the program had called it there. */
import type { Lowering } from '../engine.ts'
import { mapFolding } from '../ir/folding.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import { aggregatesPlan, groupCountPlan, groupingOf, groupMapPlan, groupReducePlan } from './groupPlan.ts'
import type { LogicalPlan } from './logicalPlan.ts'
import type { Callback } from './transformations.ts'

export function regrouped(plan: Extract<LogicalPlan, { kind: 'GroupBy' }>, input: LogicalPlan, again: Lowering): LogicalPlan {
  const { by, how } = plan
  const grouping = groupingOf(again, input, by.kind === 'axis' ? { axis: by.axis } : callbackOf(by.f))
  switch (how.kind) {
    case 'agg':
      if (how.method === 'count') return groupCountPlan(grouping)
      return aggregatesPlan(
        grouping,
        how.aggregates.map(({ of, second, folding, ...aggregate }) => ({
          ...aggregate,
          ...(of === undefined ? {} : { of: callbackOf(of) }),
          ...(second === undefined ? {} : { second: callbackOf(second) }),
          ...(folding === undefined ? {} : { folding: mapFolding(folding, callbackOf) }),
        })),
        how.whole === true ? { whole: true } : {},
      )
    case 'reduce':
      return groupReducePlan(grouping, callbackOf(how.f))
    case 'map':
      return groupMapPlan(grouping, callbackOf(how.f))
  }
}

/** The function that the program gave. */
export function callbackOf(f: UserFunction): Callback {
  return f.original as Callback
}
