/** The functions of single rows in steps. */
import type { ExecFunction, Step } from '../../../planner/physical/physicalPlan.ts'

/** The step with other functions of single rows; undefined for a step without such. */
export function withRowFunctions(step: Step, change: (f: ExecFunction) => ExecFunction): Step | undefined {
  switch (step.kind) {
    case 'FilterExec':
    case 'MapExec':
    case 'WithColumnsExec':
      return { ...step, f: change(step.f) }
    case 'EvaluateExec':
      return { ...step, columns: step.columns.map((column) => ({ ...column, f: change(column.f) })) }
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'ProjectExec':
    case 'CastExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'KeysExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'TopKExec':
    case 'PartialDrawExec':
    case 'PartialDistinctExec':
      return undefined
  }
}
