/** Builds the indexes of an array store and answers its queries: by plans that go through the optimizer, as all others do. */

import type { Storage } from '../core/arrays/storage.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import type { Executor } from '../exec/tables/executor.ts'
import type { ArrayStoreOptions } from '../exec/tables/store/storedPlans.ts'
import { optimize } from '../planner/optimize.ts'
import { withSharedRuns } from './sharedRuns.ts'

/** The optimized query plan of each storage; queries of one storage differ only in their selectors. */
const lookups = new WeakMap<Storage, LogicalPlan>()

export function queriesBy(executor: Executor): Pick<ArrayStoreOptions, 'index' | 'lookup'> {
  return {
    index: async (plan, form) => await withSharedRuns(plan, executor, async (ready) => await executor.index(optimize(ready).plan, form)),
    lookup: (plan, index, answer) => executor.lookup(optimizedLookup(plan), index, answer),
  }
}

function optimizedLookup(plan: LogicalPlan): LogicalPlan {
  if (plan.kind !== 'IndexLookup' || plan.input.kind !== 'Stored') return optimize(plan).plan
  const { storage } = plan.input
  const known = lookups.get(storage)
  if (known?.kind === 'IndexLookup') return { ...known, selectors: plan.selectors }
  const optimized = optimize(plan).plan
  lookups.set(storage, optimized)
  return optimized
}
