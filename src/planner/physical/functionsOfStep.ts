/** The user functions of a step, which decide where it runs. */
import type { ExecFunction, Step } from './physicalPlan.ts'

export function functionsOfStep(step: Step): readonly ExecFunction[] {
  if ('f' in step) return [step.f]
  return step.kind === 'EvaluateExec' ? step.columns.map(({ f }) => f) : []
}
