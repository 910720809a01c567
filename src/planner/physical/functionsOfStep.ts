import type { ExecFunction, Step } from './physicalPlan.ts'

/** The user functions of a step. */
export function functionsOfStep(step: Step): readonly ExecFunction[] {
  switch (step.kind) {
    case 'MapExec':
    case 'FilterExec':
    case 'WithColumnsExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'KeysExec':
      return [step.f]
    case 'EvaluateExec':
      return step.columns.map(({ f }) => f)
    case 'ProjectExec':
    case 'CastExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'TopKExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'PartialDistinctExec':
      return []
  }
}
