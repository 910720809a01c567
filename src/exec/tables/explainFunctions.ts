/**
 * Explains how each function of a plan runs, by the decisions that the executor itself makes.
 *
 *     FilterExec r => r.price > 9        WebAssembly, over columns
 *     MapExec r => /a/g.test(r.name)     the function itself, as a copy in the workers: It uses a regular expression.
 */
import { type Fallback, fallbackOf } from '../../core/ir/functionUse.ts'
import type { ExplainedFunction } from '../../core/ir/kernelCode.ts'
import type { ExecFunction, PhysicalPlan, Step, WideOperator } from '../../planner/physical/physicalPlan.ts'
import { fallbacksOf, functionsIn } from '../kernels/fallbacks.ts'
import { columnProgramOf, isProgram } from './columns/columnProgram.ts'
import { plannedTextColumns } from './columns/texts/textColumns.ts'
import { explainedColumns } from './explainColumns.ts'
import { beforeDistinct, scanToLoad, withoutPartialStep } from './loadedScan.ts'
import { isOverUnion, overRows, rangedScan } from './run/runPlans.ts'

type Options = Parameters<typeof explainedColumns>[1]

/** The functions of the plan, as `collect()` and `materialize()` run it, in the order in which rows meet them. */
export function explainedFunctions(plan: PhysicalPlan, options: Options): readonly ExplainedFunction[] {
  return functionsOf(plan, options, undefined)
}

/** `not` is the reason why a pipeline at this place never runs over columns; undefined where it may. */
function functionsOf(plan: PhysicalPlan, options: Options, not: string | undefined): readonly ExplainedFunction[] {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return []
    case 'PipelineExec':
      return [
        ...functionsOf(plan.input, options, 'what is above it takes partition after partition'),
        ...pipelineFunctions(plan.steps, () => columnsOf(plan, options, not)),
      ]
    case 'LimitExec':
      return functionsOf(plan.input, options, 'a limit takes partition after partition')
    case 'OffsetExec':
      return functionsOf(plan.input, options, 'an offset takes partition after partition')
    case 'FetchExec':
    case 'IndexBuildExec':
      return functionsOf(plan.input, options, undefined)
    case 'IndexLookupExec':
      return functionsOf(plan.input, options, 'an index is looked up in its rows')
    case 'UnionExec':
      return plan.inputs.flatMap((input) => functionsOf(input, options, 'a union takes partition after partition'))
    case 'WideExec':
      return [
        ...plan.inputs.flatMap(
          (input) =>
            functionsOverUnion(input, plan.operator, options) ??
            functionsOfRanges(input, plan.operator, options) ??
            functionsOf(input, options, undefined),
        ),
        ...functionsIn(plan.operator).map((f) =>
          told(plan.operator, f, { runs: 'JavaScript', because: 'it is called with pairs or groups of rows' }),
        ),
      ]
  }
}

type How = Pick<ExplainedFunction, 'runs' | 'because'>

function pipelineFunctions(steps: readonly Step[], columns: () => How): readonly ExplainedFunction[] {
  const isMixed = steps.some((step) => fallbacksOf(step).length > 0)
  const compiled: How = isMixed ? { runs: 'JavaScript', because: 'another function of its stage is not compiled' } : columns()
  return steps.flatMap((step) => functionsIn(step).map((f) => told(step, f, compiled)))
}

/** The functions of an input that runs over the rows of a union, put together; undefined for others. */
function functionsOverUnion(plan: PhysicalPlan, above: WideOperator, options: Options): readonly ExplainedFunction[] | undefined {
  const bare = withoutPartialStep(plan)
  if (!isOverUnion(bare, above) || !isProgram(columnProgramOf(overRows(bare), plannedTextColumns))) return undefined
  const below = bare.input.inputs.flatMap((input) => functionsOf(input, options, undefined))
  return [
    ...below,
    ...pipelineFunctions(bare.steps, () => ({ runs: 'WebAssembly', because: 'the rows of the union are put together first' })),
  ]
}

/** The functions of an input that a join, or groups, take range after range; undefined for others. */
function functionsOfRanges(plan: PhysicalPlan, above: WideOperator, options: Options): readonly ExplainedFunction[] | undefined {
  if (plan.kind !== 'PipelineExec' || rangedScan(plan, above, options, plan.filteredBy !== undefined) === undefined) return undefined
  return pipelineFunctions(plan.steps, () => ({ runs: 'WebAssembly', because: 'they are read range after range' }))
}

function columnsOf(plan: PhysicalPlan, options: Options, not: string | undefined): How {
  if (not !== undefined) return { runs: 'JavaScript', because: not }
  const scan = scanToLoad(beforeDistinct(plan) ?? withoutPartialStep(plan), options)
  if (scan !== undefined)
    return 'because' in scan ? { runs: 'JavaScript', because: scan.because } : { runs: 'WebAssembly', because: 'they are read whole first' }
  const columns = explainedColumns(plan, options)
  if ('because' in columns) return { runs: 'JavaScript', because: columns.because }
  if (columns.besides !== undefined) return { runs: 'WebAssembly', because: columns.besides }
  return columns.kernels.length === 0 ? { runs: 'nothing', because: 'columns are handed on as they are' } : { runs: 'WebAssembly' }
}

function told({ kind }: Step | WideOperator, f: ExecFunction, compiled: How): ExplainedFunction {
  const fallback = fallbackOf(f)
  return { step: kind, text: f.text, ...(fallback === undefined ? compiled : ownFunction(fallback)) }
}

function ownFunction({ runs, reason }: Fallback): How {
  return { runs: runs === 'workers' ? 'copy' : 'as it stands', because: reason.message }
}
