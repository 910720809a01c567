/**
 * Chooses among the legal schedules: the one whose pass the cost model expects to be over first. A schedule that is nearly as
 * fast and freer is taken before it, so that plans do not depend on a model's last percent.
 *
 * An independent loop has nothing to choose: no schedule has longer runs, evener shares or fewer waits. And where the freest is
 * close to what any schedule could reach, no other is looked for.
 */

import { type CostedLoop, leastMs, type ScheduleCost, scheduleCost } from '../../core/cost/scheduleCost.ts'
import type { ScheduleKind } from '../../core/loop/loopPlan.ts'
import type { Schedule } from '../../core/loop/schedules.ts'
import { plannedKind } from '../../core/loop/schedules.ts'
import type { Vector } from './dependence/reach.ts'
import { type Choice, legalSchedules, type Space } from './schedule.ts'

/** Tolerance of the choice: a schedule that takes at most NEAR times the least milliseconds plus NEAR_MS counts as equally fast. */
const NEAR = 1.5
const NEAR_MS = 0.5
/** Most cuts of one kind that are compared. */
const MOST_OF_KIND = 3

/** A legal schedule and the expected cost of a pass of it, with the workers of the nominal machine. */
export interface Considered {
  readonly schedule: Choice['schedule']
  readonly cost: ScheduleCost
}

export interface CostedChoice extends Choice {
  /** The schedules that were compared, the freest first, with the chosen one among them. */
  readonly considered: readonly Considered[]
}

/** Returns the freest of the nearly fastest schedules. `kind`, that of a legal schedule: others are compared and not taken. */
export function cheapestSchedule(vectors: readonly Vector[], space: Space, loop: CostedLoop, kind?: ScheduleKind): CostedChoice {
  const mayTake = (schedule: Schedule): boolean => kind === undefined || plannedKind(schedule.kind) === kind
  const isNear = (ms: number, best: number): boolean => ms <= NEAR * best + NEAR_MS
  const [freest] = legalSchedules(vectors, space)
  if (freest === undefined) return { schedule: { kind: 'serial' }, rejected: [], considered: [] }
  const { schedule, rejected } = freest
  const cost = scheduleCost(schedule, loop)
  const isAlone =
    freest.kind === 'independent' || freest.kind === 'serial' || (mayTake(schedule) && isNear(cost.milliseconds, leastMs(loop)))
  if (isAlone) return { schedule, rejected, considered: [{ schedule, cost }] }
  const legal = [...legalSchedules(vectors, space, MOST_OF_KIND)].filter(({ kind }) => kind !== 'serial')
  const costed = legal.map((one) => ({ ...one, cost: scheduleCost(one.schedule, loop) }))
  const open = costed.filter((one) => mayTake(one.schedule))
  const best = Math.min(...open.map((one) => one.cost.milliseconds))
  const chosen = open.find((one) => isNear(one.cost.milliseconds, best)) ?? freest
  return {
    schedule: chosen.schedule,
    rejected: chosen.rejected,
    considered: costed.map((one) => ({ schedule: one.schedule, cost: one.cost })),
  }
}
