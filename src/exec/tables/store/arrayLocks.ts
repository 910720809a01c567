/** The locks of runs, which are taken all at once: those of arrays and, for arrays without storage, of the arrays they are computed from. */

import type { Moment } from '../../../core/moment.ts'
import { inputsOf, type LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import type { Cell } from '../../arrays/cell.ts'
import type { LockMode } from '../../arrays/rwLock.ts'
import type { StoredPlans } from './storedPlans.ts'

/** The use of one array by a loop or a query. */
export interface Access {
  readonly node: LogicalPlan
  /** 'write' makes the array own its storage. */
  readonly mode: LockMode
}

export class ArrayLocks {
  private readonly plans: StoredPlans

  constructor(plans: StoredPlans) {
    this.plans = plans
  }

  /** Adds the locks for using an array to `locks`: its own and, while it has no storage, those of the arrays it is computed from. */
  ask(node: LogicalPlan, mode: LockMode, locks: Map<Cell, LockMode>, moment: Moment): void {
    if (node.kind === 'Stored') return
    const cell = this.plans.cellOf(node)
    if (locks.get(cell) !== 'write') locks.set(cell, mode)
    if (!this.plans.hasStorage(node, moment)) for (const input of inputsOf(node)) this.askBelow(input, locks, moment)
  }

  /** Adds the locks for running a plan to `locks`. */
  askBelow(plan: LogicalPlan, locks: Map<Cell, LockMode>, moment: Moment): void {
    const seen = new Set<LogicalPlan>()
    const walk = (node: LogicalPlan): void => {
      if (seen.has(node)) return
      seen.add(node)
      if (this.plans.isLeaf(node, moment)) this.ask(node, 'read', locks, moment)
      else for (const input of inputsOf(node)) walk(input)
    }
    walk(plan)
  }

  /** Takes all locks that `ask` adds; starts again where other ones are needed by the time they are granted. Returns the function that unlocks. */
  async lock(ask: (locks: Map<Cell, LockMode>) => void): Promise<() => void> {
    for (;;) {
      const locks = new Map<Cell, LockMode>()
      ask(locks)
      // all are queued for without an await between: two runs stand in the same order in all queues they share
      const unlock = takeFree(locks)
      if (unlock !== undefined) return unlock
      const leave = unlocking(await Promise.all([...locks].map(([cell, mode]) => cell.lock.acquire(mode))))
      const needed = new Map<Cell, LockMode>()
      ask(needed)
      if ([...needed].every(([cell, mode]) => locks.get(cell) === 'write' || locks.get(cell) === mode)) return leave
      leave()
    }
  }
}

/** Takes the locks at once if all are free, so that nothing can change before they are held; else undefined. */
function takeFree(locks: ReadonlyMap<Cell, LockMode>): (() => void) | undefined {
  for (const [{ lock }, mode] of locks) if (!lock.isFree(mode)) return undefined
  const leavers: (() => void)[] = []
  for (const [{ lock }, mode] of locks) leavers.push(lock.take(mode))
  return unlocking(leavers)
}

function unlocking(leavers: readonly (() => void)[]): () => void {
  return () => {
    for (const leave of leavers) leave()
  }
}
