/** Writes why a loop runs as it does, as a sentence. */
import type { Form, Schedule } from '../../../core/loop/schedules.ts'
import { CUT_ORDERS, cutText } from '../../../core/loop/schedules.ts'
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
  if (schedule.kind === 'colored' || schedule.kind === 'serial') return throughText(conflicts)
  if (schedule.kind === 'stepped') return `${stepsReason(stepAxes(schedule).map(nameOf))} ${reasonOf(schedule.inner, names, conflicts)}`
  const cut = cutText(schedule, nameOf, (form) => formText(form, names))
  switch (CUT_ORDERS[schedule.kind]) {
    case 'free':
      return cut === '' ? 'no two iterations depend on each other' : `no dependence crosses ${cut}`
    case 'lines':
      return `iterations that differ in both ${cut} do not depend on each other`
    case 'forward': {
      const skew = 'forms' in schedule ? skewReason(schedule.forms, names) : ''
      return `${skew}every dependence points forward, or nowhere, along ${cut}`
    }
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
