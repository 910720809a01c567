/** Steps that only hand columns on: running them anywhere but here costs more than running them. */
import type { Expr } from '../../core/functionIr.ts'
import { rowIrOf } from '../../core/functionUse.ts'
import type { ExecFunction, Step } from '../../planner/physical/physicalPlan.ts'

/** Whether the step computes nothing, keeps every element, and does not care about partitions. */
export function isFree(step: Step): boolean {
  switch (step.kind) {
    case 'ProjectExec':
      return true
    case 'MapExec':
      return handsOn(step.f)
    case 'EvaluateExec':
      return step.axis === undefined && step.columns.every(({ f }) => handsOn(f))
    case 'FilterExec':
    case 'WithColumnsExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'CastExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'KeysExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'TopKExec':
    case 'PartialDistinctExec':
      return false
  }
}

/** Functions like r => r.price, and r => ({ a: r.a, b: r.b }). */
function handsOn(f: ExecFunction): boolean {
  const [only, ...rest] = rowIrOf(f)?.body ?? []
  return rest.length === 0 && only?.kind === 'Return' && only.value !== undefined && isColumns(only.value)
}

function isColumns(expr: Expr): boolean {
  if (expr.kind === 'ObjectLiteral') return expr.fields.every((field) => isColumn(field.value))
  return isColumn(expr)
}

function isColumn(expr: Expr): boolean {
  return expr.kind === 'Field' ? expr.of.kind === 'Input' && expr.of.argument === 0 : expr.kind === 'Input' && expr.argument === 0
}
