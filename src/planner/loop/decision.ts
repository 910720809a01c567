/** Decides on the schedule by the conflicts, with scratch arrays privatized for each worker where that frees the loop. */

import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { LoopSpec, SubscriptSlice } from '../../core/loop/loopSpec.ts'
import type { Schedule } from '../../core/loop/schedules.ts'
import { plannedKind } from '../../core/loop/schedules.ts'
import type { Refusal } from '../../core/span.ts'
import { type CostedChoice, cheapestSchedule } from './cheapest.ts'
import { costedLoop } from './costedLoop.ts'
import type { Conflict } from './dependence/dependence.ts'
import type { Vector } from './dependence/reach.ts'
import { isSmall, type PrivateArray, tooLargeRefusal } from './privateArrays.ts'
import { distinctVectors, type Space } from './schedule.ts'
import { inspectionOf } from './slices/inspection.ts'
import type { NoSlice } from './slices/slice.ts'

/** The schedule of a loop with these conflicts, and whether its first run inspects something. */
export interface Decision {
  readonly conflicts: readonly Conflict[]
  readonly vectors: readonly Vector[]
  readonly choice: CostedChoice
  readonly inspection: SubscriptSlice | NoSlice | undefined
  readonly schedule: Schedule
}

/** The inputs of a decision beside the conflicts. */
export interface Context {
  readonly spec: LoopSpec
  readonly ir: FunctionIr
  /** The reasons why the loop is serial, whatever its dependences. */
  readonly obstacles: readonly Refusal[]
  readonly isPart: boolean
}

/** Returns the cheapest schedule without privatized arrays. */
export function decided({ spec, ir, obstacles, isPart }: Context, conflicts: readonly Conflict[]): Decision {
  const vectors = distinctVectors(conflicts)
  const choice = cheapestSchedule(vectors, spaceOf(spec), costedLoop(spec, ir))
  const inspection = obstacles.length === 0 && !isPart ? openInspection(spec, ir, conflicts, choice.schedule) : undefined
  const schedule: Schedule = obstacles.length > 0 ? { kind: 'serial' } : scheduleWith(inspection, choice.schedule)
  return { conflicts, vectors, choice, inspection, schedule }
}

/** Returns the space in which legal schedules are looked for, with the extents as far as they are known before a run. */
export function spaceOf({ over, options }: LoopSpec): Space {
  return { extents: over.extents, order: options.order ?? 'serial' }
}

/** Privatizes scratch arrays where that makes a freer schedule, and returns the refusals of those that are too large for it. */
export function withCopies(
  context: Context,
  shared: Decision,
  scratch: readonly PrivateArray[],
): Decision & { readonly privateArrays: readonly PrivateArray[]; readonly tooLarge: LoopPlan['rejected'] } {
  const [small, large] = [scratch.filter(isSmall), scratch.filter((one) => !isSmall(one))]
  const copied = withoutArrays(context, shared, small)
  const best = copied ?? shared
  const freed = withoutArrays(context, best, large)
  const tooLarge = freed === undefined ? [] : [{ kind: plannedKind(freed.schedule.kind), because: large.map(tooLargeRefusal) }]
  return { ...best, privateArrays: copied === undefined ? [] : small, tooLarge }
}

/** Decides without the conflicts of some arrays; undefined where the schedule stays the same. */
function withoutArrays(context: Context, decision: Decision, arrays: readonly PrivateArray[]): Decision | undefined {
  const conflicts = decision.conflicts.filter(({ from }) => arrays.every(({ array }) => array !== from.array))
  if (conflicts.length === decision.conflicts.length) return undefined
  const freed = decided(context, conflicts)
  // A colored loop counts as another: the fewer arrays the inspector looks at, the freer the order it finds.
  return freed.schedule.kind === 'colored' || JSON.stringify(freed.schedule) !== JSON.stringify(decision.schedule) ? freed : undefined
}

/** Fewest iterations of a step that leave something to cut. */
const LEAST_IN_STEP = 8

/** Returns the slice of a loop without a static schedule; if steps have a handful of iterations, only a slice that can be inspected. */
function openInspection(
  spec: LoopSpec,
  ir: FunctionIr,
  conflicts: readonly Conflict[],
  schedule: Schedule,
): SubscriptSlice | NoSlice | undefined {
  if (schedule.kind === 'serial') return inspectionOf(spec, ir, conflicts)
  if (schedule.kind !== 'stepped') return undefined
  const inStep = spec.over.extents.slice(schedule.outer).reduce<number>((size, extent) => size * (extent ?? LEAST_IN_STEP), 1)
  const inspection = inStep < LEAST_IN_STEP ? inspectionOf(spec, ir, conflicts) : undefined
  return inspection?.kind === 'slice' ? inspection : undefined
}

/** Returns `colored` where there is a slice, since the first run then finds out what no static schedule could know. */
function scheduleWith(inspection: SubscriptSlice | NoSlice | undefined, schedule: Schedule): Schedule {
  return inspection?.kind === 'slice' ? { kind: 'colored' } : schedule
}
