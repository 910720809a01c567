/** Steps that only hand columns on: sending them to another thread costs more than running them here. */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import type { ExecFunction, Step } from '../../../planner/physical/physicalPlan.ts'

/** Whether the step computes nothing, keeps every element, and does not care about partitions. */
export function isFree(step: Step): boolean {
  switch (step.kind) {
    case 'ProjectExec':
      return true
    case 'MapExec':
      return handsOn(step.f, { inArrays: false })
    case 'EvaluateExec':
      return step.axis === undefined && step.columns.every(({ f, use }) => handsOn(f, { inArrays: use === 'match' || use === 'part' }))
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
    case 'PartialDrawExec':
    case 'PartialDistinctExec':
      return false
  }
}

/** Whether the function only picks columns, as r => r.price and r => ({ a: r.a, b: r.b }); with `inArrays` also as r => [r.a, r.b]. */
function handsOn(f: ExecFunction, how: { readonly inArrays: boolean }): boolean {
  const [only, ...rest] = rowIrOf(f)?.body ?? []
  return rest.length === 0 && only?.kind === 'Return' && only.value !== undefined && isColumns(only.value, how)
}

function isColumns(expr: Expr, { inArrays }: { readonly inArrays: boolean }): boolean {
  if (expr.kind === 'ArrayLiteral' && inArrays) return expr.items.every(isColumn)
  if (expr.kind === 'ObjectLiteral') return expr.fields.every((field) => isColumn(field.value))
  return isColumn(expr)
}

function isColumn(expr: Expr): boolean {
  return expr.kind === 'Field' ? expr.of.kind === 'Input' && expr.of.argument === 0 : expr.kind === 'Input' && expr.argument === 0
}
