/**
 * From a loop as the session received it to its plan: what it accesses, what depends on what, how it may run.
 *
 *     accesses  ->  conflicts  ->  schedule  ->  variables, prefetch, advice
 *
 * Everything here follows from the body, the options and the known extents, never from the number of workers.
 */
import { sizeOfShape } from '../../core/indexSpace.ts'
import type { LoopPlan } from '../../core/loopPlan.ts'
import type { AnalyzedLoop, Form, LoopSpec, Schedule, SubscriptSlice } from '../../core/loopSpec.ts'
import { blockCounts } from '../../core/partitioning.ts'
import type { Refusal } from '../../core/span.ts'
import { type Access, accessesOf, returnsValue } from './accesses.ts'
import { axisNames, subscriptTexts, symbolically } from './accessText.ts'
import { apart } from './apart.ts'
import type { Considered } from './cheapest.ts'
import { decided, withCopies } from './decision.ts'
import { type Conflict, conflictsOf, dependenceOf } from './dependence.ts'
import { partsOf } from './distribute.ts'
import { formText, skewOf } from './forms.ts'
import { kernelOf } from './kernelTarget.ts'
import { ownReadsOf } from './ownWrites.ts'
import { inParts } from './parts.ts'
import { prefetchOf, variablesOf } from './placement.ts'
import { type PrivateArray, privateArraysOf } from './privateArrays.ts'
import { rejectedOf } from './rejected.ts'
import { axesOf, plannedKind, stepAxes } from './schedule.ts'
import { delayedBuffers, orderedAccesses, reducedArraysOf } from './sharing.ts'
import type { NoSlice } from './slice.ts'
import { conflictSentence } from './witnessText.ts'

/** The plan of a loop and what its runtime needs to know. Never throws for what a body does: a refused one is serial. */
export function analyzeLoop(spec: LoopSpec): AnalyzedLoop {
  return analyzed(spec, { isPart: false })
}

/** A part is neither inspected nor split again. */
function analyzed(spec: LoopSpec, { isPart }: { readonly isPart: boolean }): AnalyzedLoop {
  const kernel = kernelOf(spec)
  const { ir } = spec.body
  if (ir === undefined) return refusedLoop(spec, kernel, kernel.because ?? [])

  const names = axisNames(spec.over.rank, ir, spec.body.text)
  const accesses = accessesOf(spec, ir)
  const reducedArrays = reducedArraysOf(accesses)
  const ownReads = ownReadsOf(spec, accesses)
  const order = spec.options.order ?? 'serial'
  const asIs = kernel.target === 'as-is'
  const obstacles = asIs ? (kernel.because ?? []) : delayedBuffers(spec, accesses)
  const context = { spec, ir, obstacles, isPart }
  const shared = decided(context, conflictsOf(spec, orderedAccesses(accesses, reducedArrays, ownReads)))
  const scratch = obstacles.length > 0 ? [] : privateArraysOf(spec, accesses, ownReads)
  const { conflicts, vectors, choice, inspection, schedule, privateArrays, tooLarge } = withCopies(context, shared, scratch)
  const reported = reportedConflicts(conflicts)
  const placement = { spec, ir, accesses, schedule, reducedArrays: asIs ? [] : reducedArrays, privateArrays }
  const variables = variablesOf(placement)

  const plan: LoopPlan = {
    order,
    schedule: {
      kind: plannedKind(schedule.kind),
      axes: axesOf(schedule),
      blocks: blocksOf(spec, schedule),
      reason: asIs ? asIsReason(obstacles) : (obstacles[0]?.message ?? fullReason(schedule, names, conflicts, copiesReason(privateArrays))),
      ...stepsOf(schedule),
    },
    ...(obstacles.length > 0 ? {} : consideredOf(spec, schedule, choice.considered)),
    rejected:
      obstacles.length > 0
        ? refusedKinds(obstacles)
        : [
            ...rejectedOf(choice.rejected, {
              spec,
              ir,
              conflicts,
              vectors,
              parallel: schedule.kind !== 'serial' && schedule.kind !== 'colored',
            }),
            ...rejectedInspection(inspection),
            ...tooLarge,
          ],
    dependences: reported.map(dependenceOf),
    variables,
    accesses: accessTable(spec, accesses, names),
    kernel,
    execution: { where: 'caller', because: 'decided by run()' },
    prefetch: prefetchOf(placement, { variables, names, inspected: inspection?.kind === 'slice' ? inspection.touched : new Map() }),
  }
  const loop: AnalyzedLoop = {
    spec,
    plan,
    schedule,
    ir,
    ...(inspection?.kind === 'slice' ? { slice: inspection } : {}),
    reducedArrays: asIs ? [] : reducedArrays,
    privateArrays: privateArrays.map(({ array }) => array),
    writtenArrays: writtenArraysOf(accesses),
    writesElement: returnsValue(ir),
    notes: reported.map((conflict) => ({ sentence: conflictSentence(spec, conflict, names), certain: conflict.certain })),
  }
  if (isPart || schedule.kind !== 'serial' || obstacles.length > 0) return loop
  // What statements do to one another counts here, reads of what the same iteration wrote too.
  const dividable = apart(spec, ir, new Set(loop.writtenArrays))
  const own = dividable === ir ? accesses : accessesOf(spec, dividable)
  const bodies = partsOf({ spec, ir: dividable, accesses: own, conflicts: conflictsOf(spec, orderedAccesses(own, reducedArrays)) })
  return bodies === undefined ? loop : inParts(loop, bodies, (part) => analyzed(part, { isPart: true }))
}

function stepsOf(schedule: Schedule): Pick<LoopPlan['schedule'], 'steps'> {
  return schedule.kind === 'stepped' ? { steps: { axes: stepAxes(schedule), inside: schedule.inner.kind } } : {}
}

/** What the cost model compared; nothing where serial is all there is, or what the first run finds. */
function consideredOf(spec: LoopSpec, taken: Schedule, considered: readonly Considered[]): Pick<LoopPlan, 'considered'> {
  if (taken.kind === 'serial' || taken.kind === 'colored') return {}
  const isKnown = (spec.over.kind === 'range' || spec.over.kind === 'dense') && !spec.over.extents.includes(undefined)
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

/** Chains have nothing to inspect, and no refusal: their dependences say it all. */
function rejectedInspection(inspection: SubscriptSlice | NoSlice | undefined): LoopPlan['rejected'] {
  return inspection?.kind === 'none' ? [{ kind: 'colored', because: [inspection.because], edit: inspection.because.cure }] : []
}

/** A body that could not be lowered runs as it stands: what it touches is unknown, so it may write every array it is given. */
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

function asIsReason(refusals: readonly Refusal[]): string {
  const [first] = refusals
  return `the body runs as it stands, on the caller's thread${first === undefined ? '' : `: ${first.message}`}`
}

function refusedKinds(refusals: readonly Refusal[]): LoopPlan['rejected'] {
  const [first] = refusals
  return [{ kind: 'independent', because: refusals, ...(first === undefined ? {} : { edit: first.cure }) }]
}

function reasonOf(schedule: Schedule, names: readonly string[], conflicts: readonly Conflict[]): string {
  const nameOf = (axis: number) => names[axis] ?? `i${axis}`
  switch (schedule.kind) {
    case 'independent':
      return 'no two iterations depend on each other'
    case '1d':
      return `no dependence crosses ${'form' in schedule ? formText(schedule.form, names) : nameOf(schedule.axis)}`
    case '2d':
      return `iterations that differ in both ${schedule.axes.map(nameOf).join(' and ')} do not depend on each other`
    case 'wavefront':
      return `every dependence points forward, or nowhere, along ${schedule.axes.map(nameOf).join(' and ')}`
    case 'skewed':
      return `${skewReason(schedule.forms, names)}every dependence points forward, or nowhere, along ${schedule.forms.map((form) => formText(form, names)).join(' and ')}`
    case 'stepped':
      return `${stepsReason(stepAxes(schedule).map(nameOf))} ${reasonOf(schedule.inner, names, conflicts)}`
    case 'colored':
    case 'serial':
      return throughText(conflicts)
  }
}

/** The reason of the schedule, with what is said of copies; what the first run finds stands at the end. */
function fullReason(schedule: Schedule, names: readonly string[], conflicts: readonly Conflict[], copies: string): string {
  const reason = reasonOf(schedule, names, conflicts)
  return schedule.kind === 'colored' ? `${reason}${copies}; the first run inspects which` : `${reason}${copies}`
}

/** "…, once each worker has a copy of tmp" */
function copiesReason(copied: readonly PrivateArray[]): string {
  return copied.length === 0 ? '' : `, once each worker has a copy of ${copied.map(({ name }) => name).join(' and ')}`
}

function throughText(conflicts: readonly Conflict[]): string {
  return `iterations depend on each other through ${[...new Set(conflicts.map((conflict) => conflict.from.name))].join(', ') || 'nothing'}`
}

/** "t runs in order, and within one t": what comes before the reason of the schedule inside. */
function stepsReason(names: readonly string[]): string {
  const [name] = names
  return names.length === 1 ? `${name} runs in order; within one ${name}` : `${names.join(' and ')} run in order; within one of each`
}

/** "i by i + t: ": which index is replaced by what. */
function skewReason(forms: readonly Form[], names: readonly string[]): string {
  const skewed = forms.filter((form) => skewOf(form) > 1)
  if (skewed.length === 0) return 'read backwards, '
  return `skewed by ${skewed.map((form) => formText(form, names)).join(' and by ')}, `
}

/** Block counts where all extents are known; otherwise, and where they follow from what a step costs, they are known from the first run on. */
function blocksOf(spec: LoopSpec, schedule: Schedule): number[] {
  const extents = spec.over.extents.filter((extent) => extent !== undefined)
  const isBox = spec.over.kind === 'range' || spec.over.kind === 'dense'
  if (!isBox || extents.length < spec.over.extents.length) return []
  if (schedule.kind === 'stepped' && spec.options.partitions === undefined) return []
  return blockCounts(schedule, extents, spec.options.partitions, sizeOfShape(extents))
}

/**
 * One dependence for each array, kind and vector, between the first pair of accesses that has it and, if there is one, whose
 * witness is certain; flow dependences first, which say most.
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
