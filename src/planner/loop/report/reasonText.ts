/** Writes why a loop runs as it does, as a sentence. */
import type { Form, Schedule } from '../../../core/loop/loopSpec.ts'
import type { Refusal } from '../../../core/span.ts'
import type { Conflict } from '../dependence/dependence.ts'
import { formText, skewOf } from '../dependence/forms.ts'
import type { PrivateArray } from '../privateArrays.ts'
import { stepAxes } from '../schedule.ts'

export function asIsReason(refusals: readonly Refusal[]): string {
  const [first] = refusals
  return `the body runs as it stands, on the caller's thread${first === undefined ? '' : `: ${first.message}`}`
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

/** Returns the reason of the schedule, with what is said of copies, and of the inspection at the end. */
export function fullReason(schedule: Schedule, names: readonly string[], conflicts: readonly Conflict[], copies: string): string {
  const reason = reasonOf(schedule, names, conflicts)
  return schedule.kind === 'colored' ? `${reason}${copies}; the first run inspects which` : `${reason}${copies}`
}

/** Returns ", once each worker has a copy of tmp". */
export function copiesReason(copied: readonly PrivateArray[]): string {
  return copied.length === 0 ? '' : `, once each worker has a copy of ${copied.map(({ name }) => name).join(' and ')}`
}

function throughText(conflicts: readonly Conflict[]): string {
  return `iterations depend on each other through ${[...new Set(conflicts.map((conflict) => conflict.from.name))].join(', ') || 'nothing'}`
}

/** Returns "t runs in order; within one t", which comes before the reason of the inner schedule. */
function stepsReason(names: readonly string[]): string {
  const [name] = names
  return names.length === 1 ? `${name} runs in order; within one ${name}` : `${names.join(' and ')} run in order; within one of each`
}

/** Returns "skewed by i + t, ", or that an axis is read backwards. */
function skewReason(forms: readonly Form[], names: readonly string[]): string {
  const skewed = forms.filter((form) => skewOf(form) > 1)
  if (skewed.length === 0) return 'read backwards, '
  return `skewed by ${skewed.map((form) => formText(form, names)).join(' and by ')}, `
}
