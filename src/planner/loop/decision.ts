/** From conflicts to the schedule: with a copy of scratch arrays for each worker where that frees the loop. */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { LoopSpec, Schedule, SubscriptSlice } from '../../core/loop/loopSpec.ts'
import type { Refusal } from '../../core/span.ts'
import { type CostedChoice, cheapestSchedule } from './cheapest.ts'
import { costedLoop } from './costedLoop.ts'
import type { Conflict } from './dependence/dependence.ts'
import type { Vector } from './dependence/reach.ts'
import { isSmall, type PrivateArray, tooLargeRefusal } from './privateArrays.ts'
import { distinctVectors, plannedKind, type Space } from './schedule.ts'
import { inspectionOf } from './slices/inspection.ts'
import type { NoSlice } from './slices/slice.ts'

/** How a loop with these conflicts runs, and whether its first run is to inspect something. */
export interface Decision {
  readonly conflicts: readonly Conflict[]
  readonly vectors: readonly Vector[]
  readonly choice: CostedChoice
  readonly inspection: SubscriptSlice | NoSlice | undefined
  readonly schedule: Schedule
}

/** What decides beside the conflicts. */
export interface Context {
  readonly spec: LoopSpec
  readonly ir: FunctionIr
  /** Why the loop is serial, whatever depends on what. */
  readonly obstacles: readonly Refusal[]
  readonly isPart: boolean
}

/** The cheapest schedule without copies. */
export function decided({ spec, ir, obstacles, isPart }: Context, conflicts: readonly Conflict[]): Decision {
  const vectors = distinctVectors(conflicts)
  const choice = cheapestSchedule(vectors, spaceOf(spec), costedLoop(spec, ir))
  const inspection = obstacles.length === 0 && !isPart ? openInspection(spec, ir, conflicts, choice.schedule) : undefined
  const schedule: Schedule = obstacles.length > 0 ? { kind: 'serial' } : scheduleWith(inspection, choice.schedule)
  return { conflicts, vectors, choice, inspection, schedule }
}

/** What legal schedules are looked for in: the extents as far as they are known before a run. */
export function spaceOf({ over, options }: LoopSpec): Space {
  return { extents: over.extents, order: options.order ?? 'serial' }
}

/** Copies of scratch arrays for each worker, where they make a freer schedule, and what to say of those that are too large for it. */
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

/** The decision without the conflicts of some arrays, if it is another. */
function withoutArrays(context: Context, decision: Decision, arrays: readonly PrivateArray[]): Decision | undefined {
  const conflicts = decision.conflicts.filter(({ from }) => arrays.every(({ array }) => array !== from.array))
  if (conflicts.length === decision.conflicts.length) return undefined
  const freed = decided(context, conflicts)
  // What the inspector finds is freer the less it looks at.
  return freed.schedule.kind === 'colored' || JSON.stringify(freed.schedule) !== JSON.stringify(decision.schedule) ? freed : undefined
}

/** Iterations of a step that leave something to cut. */
const LEAST_IN_STEP = 8

/** For loops without a static schedule; of those whose steps have a handful of iterations, only if there is something to inspect. */
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

/** With a slice, the first run finds out what no static schedule could know. */
function scheduleWith(inspection: SubscriptSlice | NoSlice | undefined, schedule: Schedule): Schedule {
  return inspection?.kind === 'slice' ? { kind: 'colored' } : schedule
}
