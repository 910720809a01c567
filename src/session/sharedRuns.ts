/** Runs the parts of a plan that several places read, each once, before the plan: their rows lie in the session's memory until the plan has run. */
import type { Storage } from '../core/arrays/storage.ts'
import { defined } from '../core/defined.ts'
import { MemoryError } from '../core/errors.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import { freeStorage } from '../exec/arrays/storageBlocks.ts'
import type { Executor } from '../exec/tables/executor.ts'
import { PlanRecord } from '../exec/tables/planRecord.ts'
import type { SharedPlan } from '../planner/explain.ts'
import { type SharedSubplan, sharedSubplan, withLeaf } from '../planner/sharedSubplans.ts'

/** A part that ran, with what was measured of it. */
export interface SharedRun {
  readonly shared: SharedSubplan
  readonly record?: PlanRecord
}

interface SharedOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether the runs of the parts are measured. */
  readonly isMeasured?: true
}

/** The shared parts of a plan that ran, whose rows lie in memory until they are freed. */
export class SharedRuns {
  private readonly executor: Executor
  private readonly options: SharedOptions
  private readonly storages: Storage[] = []
  readonly runs: SharedRun[] = []

  constructor(executor: Executor, options: SharedOptions = {}) {
    this.executor = executor
    this.options = options
  }

  /** Runs the parts of a plan, and returns the plan over their rows. */
  async run(plan: LogicalPlan): Promise<LogicalPlan> {
    const { signal, isMeasured } = this.options
    let current = plan
    for (;;) {
      const shared = sharedSubplan(current, this.runs.length + 1)
      if (shared === undefined || !this.executor.hasRoomFor(shared.plan)) return current
      const record = isMeasured && new PlanRecord()
      const storage = await storedRows(shared, this.executor, defined({ signal, record }))
      if (storage === undefined) return current
      this.storages.push(storage)
      this.runs.push({ shared, ...defined({ record }) })
      current = withLeaf(current, shared.node, { ...shared.leaf, storage })
    }
  }

  /** Frees the rows: nothing of them, nor what lies in their memory, may be used afterwards. */
  free(): void {
    for (const storage of this.storages.splice(0)) freeStorage(storage)
  }
}

/** Calls `run` with the plan over the rows of its shared parts, of which nothing may be used afterwards. */
export async function withSharedRuns<T>(
  plan: LogicalPlan,
  executor: Executor,
  run: (plan: LogicalPlan, runs: readonly SharedRun[]) => Promise<T>,
  options: SharedOptions = {},
): Promise<T> {
  const shares = new SharedRuns(executor, options)
  try {
    return await run(await shares.run(plan), shares.runs)
  } finally {
    shares.free()
  }
}

/** The rows of a part; undefined where memory has no room for them, which the plan runs without. */
async function storedRows(
  { leaf, plan }: SharedSubplan,
  executor: Executor,
  options: { readonly signal?: AbortSignal; readonly record?: PlanRecord },
): Promise<Storage | undefined> {
  const { name, element, keys } = leaf
  try {
    return await executor.index(plan, { name, element, keys }, options)
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

interface PlannedShares {
  readonly plan: LogicalPlan
  readonly shared: readonly SharedSubplan[]
}

/** The shared parts of a plan, as they will run, and the plan over them. */
export function plannedShares(plan: LogicalPlan, executor: Pick<Executor, 'hasRoomFor'>): PlannedShares {
  const found: SharedSubplan[] = []
  let current = plan
  for (;;) {
    const shared = sharedSubplan(current, found.length + 1)
    if (shared === undefined || !executor.hasRoomFor(shared.plan)) return { plan: current, shared: found }
    found.push(shared)
    current = withLeaf(current, shared.node, shared.leaf)
  }
}

/** The parts for `explain()`, each with what was measured of its run. */
export function sharesOf({ plan, shared }: PlannedShares, runs: readonly SharedRun[] = []): SharedPlan {
  return { plan, parts: shared.map((one, i) => ({ shared: one, ...defined({ ran: runs[i]?.record?.ran() }) })) }
}
