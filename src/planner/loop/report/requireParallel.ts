/** Makes the error for `require: 'parallel'` where the analysis found a serial loop: the accesses or refusals in the way, and the cure. */
import { LoopError } from '../../../core/errors.ts'
import type { Dependence, LoopPlan } from '../../../core/loop/loopPlan.ts'
import type { AnalyzedLoop } from '../../../core/loop/loopSpec.ts'
import { placeText, type Refusal } from '../../../core/span.ts'
import { vectorText } from '../dependence/stepBounds.ts'

/** Returns the LoopError; undefined where the loop is parallel. */
export function notParallelError({ plan, spec, notes }: AnalyzedLoop): LoopError | undefined {
  if (plan.schedule.kind !== 'serial') return undefined
  const tried = plan.rejected.filter(({ kind }) => kind !== 'colored' && kind !== 'scan')
  const refusals = (tried.at(-1)?.because ?? []).filter((reason) => 'code' in reason)
  const head = `The loop over ${spec.over.label} cannot run in parallel.`
  if (refusals.length > 0) {
    const lines = refusals.flatMap((refusal) => [`  ${placeOf(refusal)}${refusal.message}`, `       ${refusal.cure}`])
    return new LoopError([head, ...lines].join('\n'), refusals)
  }
  const shown = blockingDependence(plan)
  const dependence = plan.dependences[shown]
  const edits = editsOf(tried)
  const uninspected = plan.rejected.flatMap(({ kind, because }) => (kind === 'colored' ? because : [])).filter((reason) => 'code' in reason)
  const lines = dependence === undefined ? [plan.schedule.reason] : dependenceLines(dependence, notes[shown]?.sentence)
  const cure = edits.length === 0 ? [] : [`To free it: ${edits.join('; or ')}.`]
  const blocking: Refusal[] = plan.dependences.map((one) => ({
    code: 'dependence',
    message: `${one.array} has a ${one.kind} dependence ${vectorText(one)}`,
    cure: edits[0] ?? 'write to another array',
    span: one.to,
  }))
  const reasons = uninspected.flatMap((refusal) => [
    `  ${placeOf(refusal)}The first run cannot inspect which iterations depend on each other: ${lowered(refusal.message)}.`,
    `       ${refusal.cure}`,
  ])
  return new LoopError([head, ...lines, ...reasons, ...cure].join('\n'), [...blocking, ...uninspected])
}

/** Returns the LoopError for a loop whose first run found that its data leaves nothing to run in parallel. */
export function nothingFoundError({ plan, spec }: AnalyzedLoop, found: string): LoopError {
  const edits = editsOf(plan.rejected)
  const cure = edits.length === 0 ? 'Other data may leave more to run together.' : `To free it: ${edits.join('; or ')}.`
  const message = [`The loop over ${spec.over.label} cannot run in parallel with this data.`, `  ${found}`, cure].join('\n')
  return new LoopError(message, [{ code: 'nothing-found', message: found, cure }])
}

function editsOf(rejected: LoopPlan['rejected']): string[] {
  return [...new Set(rejected.flatMap(({ edit }) => (edit === undefined ? [] : [edit])))]
}

function lowered(text: string): string {
  return `${text[0]?.toLowerCase()}${text.slice(1)}`
}

/** Returns the index in the plan of the dependence that stands in the way of the most ordered schedule tried. */
function blockingDependence({ rejected, dependences }: LoopPlan): number {
  const reasons = rejected.filter(({ kind }) => kind !== 'colored' && kind !== 'scan').at(-1)?.because ?? []
  const blocker = reasons.find((reason): reason is Dependence => 'vector' in reason)
  const same = (one: Dependence) =>
    one.array === blocker?.array && one.kind === blocker.kind && String(one.vector) === String(blocker.vector)
  return Math.max(0, dependences.findIndex(same))
}

function dependenceLines(dependence: Dependence, sentence: string | undefined): string[] {
  const { array, kind, from, to } = dependence
  const places = [from, to].map((span) => placeText(span))
  const width = Math.max(...places.map((place) => place.length))
  const texts = [from.text, to.text].map((text, i) => `  ${(places[i] ?? '').padEnd(width)}  ${text}`)
  return [
    `  ${array} has a ${kind} dependence ${vectorText(dependence)} between`,
    ...texts,
    ...(sentence === undefined ? [] : [`  ${sentence}`]),
  ]
}

function placeOf({ span }: Refusal): string {
  return span === undefined ? '' : `${placeText(span)}  `
}
