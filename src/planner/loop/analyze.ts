/**
 * Analyzes a loop as the session received it, and plans it: what it accesses, what depends on what, how it may run.
 *
 *     accesses  ->  conflicts  ->  schedule  ->  variables, prefetch, advice
 *
 * Everything here follows from the body, the options, the known extents and, once a run has it, the data; never from the number
 * of workers.
 */

import { sizeOfShape } from '../../core/arrays/indexSpace.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { AnalyzedLoop, LoopSpec, Scan, SubscriptSlice } from '../../core/loop/loopSpec.ts'
import { blockCounts } from '../../core/loop/partitioning.ts'
import type { Schedule } from '../../core/loop/schedules.ts'
import { plannedKind } from '../../core/loop/schedules.ts'
import { once } from '../../core/once.ts'
import type { Refusal } from '../../core/span.ts'
import { type Access, accessesOf, returnsValue } from './accesses/accesses.ts'
import { axisNames, subscriptTexts, symbolically } from './accesses/accessText.ts'
import { footprintsOf } from './accesses/footprints.ts'
import { apart } from './apart.ts'
import { type Considered, cheapestSchedule } from './cheapest.ts'
import { costedLoop, type LoopData } from './costedLoop.ts'
import { type Context, decided, spaceOf, withCopies } from './decision.ts'
import { type Conflict, conflictsOf, dependenceOf } from './dependence/dependence.ts'
import { withOwnReaches } from './dependence/reach.ts'
import { delayedBuffers, orderedAccesses, reducedArraysOf } from './dependence/sharing.ts'
import { vectorsDescribed } from './dependence/stepBounds.ts'
import { partsOf } from './distribute.ts'
import { kernelOf } from './kernelTarget.ts'
import { ownReadsOf } from './ownWrites.ts'
import { inParts, specOfPart } from './parts.ts'
import { prefetchOf, variablesOf } from './placement.ts'
import { isOwn, privateArraysOf } from './privateArrays.ts'
import { asIsReason, copiesReason, fullReason } from './report/reasonText.ts'
import { rejectedOf } from './report/rejected.ts'
import { conflictSentence } from './report/witnessText.ts'
import { type ScanSpec, scanOf } from './scan/scanOf.ts'
import { scanSchedule } from './scan/scanText.ts'
import { axesOf, distinctVectors, stepAxes } from './schedule.ts'
import { servedSlice } from './slices/servedSlice.ts'
import type { NoSlice } from './slices/slice.ts'

/** A loop with its plan, and what its schedule is chosen from again once its data is there. */
export interface Study {
  readonly loop: AnalyzedLoop
  /** The results of the analysis; absent where the body was refused. */
  readonly found?: Found
  /** The loop before it was split, and the loops that run instead; absent where it stays whole. */
  readonly split?: { readonly whole: AnalyzedLoop; readonly parts: readonly Study[] }
}

/** The results of the analysis of a body that was not refused. */
interface Found extends Context {
  readonly kernel: LoopPlan['kernel']
  readonly names: readonly string[]
  readonly accesses: readonly Access[]
  readonly reducedArrays: readonly number[]
  readonly decision: ReturnType<typeof withCopies>
  /** The scan that the loop runs as; `noScan` is the reason why it is none though it looks like one. */
  readonly scan?: Scan
  readonly noScan?: Refusal
}

/** Returns the plan of a loop and what its runtime needs. Never throws for what a body does: a refused one is serial. */
export function analyzeLoop(spec: LoopSpec): AnalyzedLoop {
  return studyLoop(spec).loop
}

/** Analyzes as `analyzeLoop` does, and returns what `loopWithData` needs to choose the schedule again. */
export function studyLoop(spec: LoopSpec): Study {
  return studied(spec, { isPart: false })
}

/**
 * Plans the loop again with its data. The dependences, and so which schedules are legal, stay as they were found; which of these is taken
 * follows from what only the data knew: its kind from the extents, its axes from the keys as well.
 */
export function loopWithData({ loop, found, split }: Study, data: LoopData): AnalyzedLoop {
  if (split !== undefined) {
    const parts = split.parts.map((part) => loopWithData(part, data))
    return parts.every((part, at) => part === split.parts[at]?.loop) ? loop : inParts(split.whole, parts)
  }
  if (found === undefined || !isOpen(loop)) return loop
  const { spec, ir, decision } = found
  const { extents, isBox, keys, shapeOf } = data
  const byExtents = cheapestSchedule(decision.vectors, spaceOf(spec), costedLoop(spec, ir, { extents, isBox, shapeOf }))
  const kind = plannedKind(byExtents.schedule.kind)
  const choice = keys === undefined ? byExtents : cheapestSchedule(decision.vectors, spaceOf(spec), costedLoop(spec, ir, data), kind)
  return planned({ ...found, decision: { ...decision, choice, schedule: choice.schedule } }, data)
}

/** Whether there was a choice of schedules, made without knowing all extents and how the iterations spread over them. */
function isOpen({ spec, schedule }: AnalyzedLoop): boolean {
  if (schedule.kind === 'independent' || schedule.kind === 'colored' || schedule.kind === 'serial') return false
  const shapes = Object.values(spec.env).flatMap((binding) =>
    binding.kind === 'array' || binding.kind === 'buffer' ? [binding.shape ?? [undefined]] : [],
  )
  return !isKnownBox(spec.over) || shapes.some((shape) => shape.includes(undefined))
}

/** Analyzes a loop, or one part of a split loop; a part is neither inspected nor split again. */
function studied(spec: LoopSpec, { isPart }: { readonly isPart: boolean }): Study {
  const kernel = kernelOf(spec)
  const { ir } = spec.body
  if (ir === undefined) return { loop: refusedLoop(spec, kernel, kernel.because ?? []) }

  const accesses = accessesOf(spec, ir)
  const ownReads = ownReadsOf(spec, accesses)
  const asIs = kernel.target === 'as-is'
  const reducedArrays = reducedArraysOf(accesses)
  const obstacles = asIs ? (kernel.because ?? []) : delayedBuffers(spec, accesses)
  const context = { spec, ir, obstacles, isPart }
  const shared = decided(context, conflictsOf(spec, orderedAccesses(accesses, reducedArrays, ownReads)))
  const scratch = obstacles.length > 0 ? [] : privateArraysOf(spec, accesses, ownReads)
  const decision = withCopies(context, shared, scratch)
  const names = axisNames(spec.over.rank, ir, spec.body.text)
  const found = { ...context, kernel, names, accesses, reducedArrays: asIs ? [] : reducedArrays, decision }
  const isOrdered = (decision.schedule.kind === 'serial' || decision.schedule.kind === 'colored') && obstacles.length === 0
  const scan = isOrdered ? scanOf(spec, ir, accesses, decision.conflicts) : undefined
  if (scan?.kind === 'scan') return { loop: asScan(found, scan) }
  const loop = planned(scan === undefined ? found : { ...found, noScan: scan.because })
  if (isPart || loop.schedule.kind !== 'serial' || obstacles.length > 0) return { loop, found }
  // A split depends on what statements do to one another, so reads of what the same iteration wrote count too.
  const dividable = apart(spec, ir, new Set(loop.writtenArrays))
  const own = dividable === ir ? accesses : accessesOf(spec, dividable)
  const bodies = partsOf({ spec, ir: dividable, accesses: own, conflicts: conflictsOf(spec, orderedAccesses(own, reducedArrays)) })
  if (bodies === undefined) return { loop, found }
  const parts = bodies.map((body) => studied(specOfPart(loop, body), { isPart: true }))
  return {
    loop: inParts(
      loop,
      parts.map((part) => part.loop),
    ),
    found,
    split: { whole: loop, parts },
  }
}

/** Returns the loop as a scan, whose two loops are independent: what one chunk hands on to the next is known before they begin. */
function asScan(found: Found, { chunk, chunks, carries, partial, replay }: ScanSpec): AnalyzedLoop {
  const scan = { chunk, chunks, carries, partial: freeLoop(partial), replay: freeLoop(replay) }
  const { inspection: _, ...decision } = found.decision
  return { ...planned({ ...found, decision: { ...decision, inspection: undefined, schedule: { kind: 'serial' } }, scan }), scan }
}

function freeLoop(spec: LoopSpec): AnalyzedLoop {
  const kernel = kernelOf(spec)
  const { ir } = spec.body
  if (ir === undefined) return refusedLoop(spec, kernel, [])
  const context = { spec, ir, obstacles: [], isPart: true }
  const decision = { ...decided(context, []), privateArrays: [], tooLarge: [] }
  return planned({
    ...context,
    kernel,
    names: axisNames(1, ir, spec.body.text),
    accesses: accessesOf(spec, ir),
    reducedArrays: [],
    decision,
  })
}

function planned(found: Found, data?: LoopData): AnalyzedLoop {
  const { spec, ir, obstacles, kernel, names, accesses, reducedArrays, decision } = found
  const { choice, inspection, schedule, privateArrays, tooLarge } = decision
  // Conflicts on privatized arrays of the body order no iterations, and no edit of the program would remove them.
  const conflicts = decision.conflicts.filter(({ from }) => !isOwn(spec, from.array))
  const reported = reportedConflicts(conflicts)
  const described = vectorsDescribed(conflicts, spec.over.extents)
  const placement = { spec, ir, accesses, schedule, reducedArrays, privateArrays }
  const variables = variablesOf(placement)
  const reason =
    kernel.target === 'as-is'
      ? asIsReason(obstacles)
      : (obstacles[0]?.message ?? fullReason(schedule, names, conflicts, copiesReason(privateArrays)))
  const parallel = schedule.kind !== 'serial' && schedule.kind !== 'colored'
  // Lazy, since only readers of the plan ask for it: advice takes half as long as all the rest. No decision depends on whether it is read.
  const rejected = once((): LoopPlan['rejected'] => {
    if (obstacles.length > 0) return refusedKinds(obstacles)
    const own = withOwnReaches(conflicts)
    const context = { spec, ir, conflicts: own, vectors: distinctVectors(own), parallel: parallel || found.scan !== undefined }
    const kinds = rejectedOf(choice.rejected, context, vectorsDescribed(own, spec.over.extents))
    return [...rejectedScan(found.noScan), ...kinds, ...rejectedInspection(inspection), ...tooLarge]
  })
  const footprints = once(() => footprintsOf(spec, accesses, reducedArrays))
  const served = once(() => (parallel ? servedSlice(spec, ir, variables) : undefined))
  const table = once(() => accessTable(spec, accesses, names))
  const notes = once(() => reported.map((conflict) => ({ sentence: conflictSentence(spec, conflict, names), certain: conflict.certain })))
  const plan: LoopPlan = {
    order: spec.options.order ?? 'serial',
    schedule:
      found.scan === undefined
        ? { kind: plannedKind(schedule.kind), axes: axesOf(schedule), blocks: blocksOf(spec, schedule), reason, ...stepsOf(schedule) }
        : scanSchedule(found.scan, names[0] ?? 'i'),
    ...(obstacles.length > 0 ? {} : consideredOf(schedule, choice.considered, data !== undefined || isKnownBox(spec.over))),
    get rejected() {
      return rejected()
    },
    dependences: reported.map((conflict) => dependenceOf(conflict, described(conflict))),
    variables,
    get accesses() {
      return table()
    },
    kernel,
    execution: { where: 'caller', because: 'decided by run()' },
    prefetch: prefetchOf(placement, { variables, names, inspected: inspection?.kind === 'slice' ? inspection.touched : new Map() }),
  }
  return {
    spec,
    plan,
    schedule,
    ir,
    ...(inspection?.kind === 'slice' ? { slice: inspection } : {}),
    reducedArrays,
    privateArrays: privateArrays.map(({ array }) => array),
    writtenArrays: writtenArraysOf(accesses),
    get footprints() {
      return footprints()
    },
    get served() {
      return served()
    },
    writesElement: returnsValue(ir),
    get notes() {
      return notes()
    },
  }
}

function stepsOf(schedule: Schedule): Pick<LoopPlan['schedule'], 'steps'> {
  return schedule.kind === 'stepped' ? { steps: { axes: stepAxes(schedule), inside: schedule.inner.kind } } : {}
}

/** The schedules that the cost model compared; none where serial is all there is, or where the first run inspects the loop. */
function consideredOf(taken: Schedule, considered: readonly Considered[], isKnown: boolean): Pick<LoopPlan, 'considered'> {
  if (taken.kind === 'serial' || taken.kind === 'colored') return {}
  const best = Math.min(...considered.map(({ cost }) => cost.milliseconds))
  const listed = considered.map(({ schedule, cost: { milliseconds, blocks, run, share } }) => ({
    kind: plannedKind(schedule.kind),
    axes: axesOf(schedule),
    ...stepsOf(schedule),
    ...(isKnown ? { predictedMilliseconds: milliseconds } : {}),
    relative: best > 0 ? milliseconds / best : 1,
    blocks,
    run,
    share,
    taken: schedule === taken,
  }))
  return { considered: listed }
}

/** Whether every key of known extents is an iteration. */
function isKnownBox({ kind, extents }: LoopSpec['over']): boolean {
  return (kind === 'range' || kind === 'dense') && !extents.includes(undefined)
}

/** Returns the refusal of a slice. Chains have nothing to inspect and so no refusal: their dependences say it all. */
function rejectedInspection(inspection: SubscriptSlice | NoSlice | undefined): LoopPlan['rejected'] {
  return inspection?.kind === 'none' ? [{ kind: 'colored', because: [inspection.because], edit: inspection.because.cure }] : []
}

/** Returns the refusal of a scan, without an edit: what keeps a chain from being a scan is what the program computes. */
function rejectedScan(because: Refusal | undefined): LoopPlan['rejected'] {
  return because === undefined ? [] : [{ kind: 'scan', because: [because] }]
}

/** Plans a body that could not be lowered, and so runs as it stands: its accesses are unknown, so it may write every array it is given. */
function refusedLoop(spec: LoopSpec, kernel: LoopPlan['kernel'], refusals: readonly Refusal[]): AnalyzedLoop {
  const schedule: Schedule = { kind: 'serial' }
  const arrays = Object.values(spec.env).flatMap((binding) =>
    binding.kind === 'array' || binding.kind === 'buffer' ? [binding.array] : [],
  )
  const iterated = spec.over.array === undefined ? [] : [spec.over.array]
  const plan: LoopPlan = {
    order: spec.options.order ?? 'serial',
    schedule: { kind: 'serial', axes: [], blocks: [], reason: asIsReason(refusals) },
    rejected: refusedKinds(refusals),
    dependences: [],
    variables: variablesOf({ spec, ir: undefined, accesses: [], schedule, reducedArrays: [], privateArrays: [] }),
    accesses: [],
    kernel,
    execution: { where: 'caller', because: 'decided by run()' },
    prefetch: [],
  }
  const writtenArrays = [...new Set([...arrays, ...iterated])].sort((a, b) => a - b)
  return {
    spec,
    plan,
    schedule,
    reducedArrays: [],
    privateArrays: [],
    writtenArrays,
    writesElement: spec.over.array !== undefined,
    notes: [],
  }
}

function refusedKinds(refusals: readonly Refusal[]): LoopPlan['rejected'] {
  const [first] = refusals
  return [{ kind: 'independent', because: refusals, ...(first === undefined ? {} : { edit: first.cure }) }]
}

/** Returns block counts; none where the run decides: extents are not all known, or the counts follow from what a step costs. */
function blocksOf(spec: LoopSpec, schedule: Schedule): number[] {
  const extents = spec.over.extents.filter((extent) => extent !== undefined)
  const isBox = spec.over.kind === 'range' || spec.over.kind === 'dense'
  if (!isBox || extents.length < spec.over.extents.length) return []
  if (schedule.kind === 'stepped' && spec.options.partitions === undefined) return []
  return blockCounts(schedule, extents, spec.options.partitions, sizeOfShape(extents))
}

/**
 * Selects one conflict for each array, kind and vector to report: the surest pair of accesses that has it (see `sureness`). Flow
 * dependences come first, which say most.
 */
function reportedConflicts(conflicts: readonly Conflict[]): Conflict[] {
  const best = new Map<string, Conflict>()
  for (const conflict of conflicts) {
    const id = `${conflict.from.array} ${conflict.kind} ${conflict.vector.join()}`
    const known = best.get(id)
    if (known === undefined || sureness(conflict) > sureness(known)) best.set(id, conflict)
  }
  const order = { flow: 0, output: 1, anti: 2 }
  return [...best.values()].sort((a, b) => order[a.kind] - order[b.kind])
}

function sureness({ certain, decided, witness }: Conflict): number {
  return certain ? 3 : decided ? 2 : witness === undefined ? 0 : 1
}

function accessTable(spec: LoopSpec, accesses: readonly Access[], names: readonly string[]): LoopPlan['accesses'] {
  const rows = accesses.map((access) => ({
    array: access.name,
    kind: access.mode,
    subscripts: subscriptTexts(spec, access, symbolically(names)),
    span: access.span,
  }))
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

function writtenArraysOf(accesses: readonly Access[]): number[] {
  const written = accesses.filter((access) => access.mode !== 'read').map((access) => access.array)
  return [...new Set(written)].sort((a, b) => a - b)
}
