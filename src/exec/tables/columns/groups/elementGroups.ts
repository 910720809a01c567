/**
 * Finds equal elements (`distinct`) as groups without aggregates, where the elements are the result of a column program: texts by
 * their codes, whole numbers in dense ranges by direct index, all else by hash on all workers.
 *
 *     DistinctExec  of  PipelineExec [steps, PartialDistinctExec]
 *       as  HashAggregateExec []  of  PipelineExec [steps, EvaluateExec element => element]
 */

import { type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import type { FunctionIr } from '../../../../core/ir/functionIr.ts'
import type { PhysicalPlan, WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch, scalarBatch } from '../../operators/batches.ts'
import { isFinerThanMilliseconds } from '../../operators/sort/wholeMilliseconds.ts'
import { columnProgramOf, isProgram } from '../columnProgram.ts'

type Wide = Extract<PhysicalPlan, { kind: 'WideExec' }>
type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>

export interface ElementGroups {
  readonly input: Pipeline
  readonly operator: Extract<WideOperator, { kind: 'HashAggregateExec' }>
  /** Converts groups to elements. */
  readonly elements: (groups: ExecBatch) => ExecBatch
}

/** The group-by that a DistinctExec is run as; undefined for another operator, and where the elements are no program's result. */
export function elementGroups({ operator, inputs }: Pick<Wide, 'operator' | 'inputs'>): ElementGroups | undefined {
  const [input] = inputs
  if (operator.kind !== 'DistinctExec' || input?.kind !== 'PipelineExec') return undefined
  const steps = input.steps.slice(0, -1)
  if (input.steps.at(-1)?.kind !== 'PartialDistinctExec') return undefined
  const program = columnProgramOf({ ...input, steps })
  if (!isProgram(program) || program.shape.hidden !== undefined) return undefined
  // finer timestamps are equal by their milliseconds, and the key would lose the digits below
  const types = program.shape.outputs.map((output) => (output.kind === 'column' ? program.columns[output.column]?.type : undefined))
  if (types.some((type) => type !== undefined && isFinerThanMilliseconds(type))) return undefined
  const names = program.shape.outputs.map(({ name }) => name)
  const { scalar } = program.shape
  return {
    input: { ...input, steps: [...steps, { kind: 'EvaluateExec', columns: [ELEMENT], payload: false }], element: NO_ELEMENT },
    operator: { kind: 'HashAggregateExec', aggregates: [], element: input.element },
    elements: (groups) => {
      const [first] = groups.columns
      if (scalar && first !== undefined) return scalarBatch(first)
      const found = fieldsOf(groups.element).map(({ name }) => name)
      const columns = names.flatMap((name) => groups.columns[found.indexOf(name)] ?? [])
      return rowBatch(names, columns, groups.length)
    },
  }
}

const NO_ELEMENT: ElementType = { kind: 'row', fields: [] }
const SPAN = { line: 1, column: 1, text: '' }
const ir: FunctionIr = {
  ...{ name: 'element => element', span: SPAN, keyRank: 0, parameters: [], tables: [], uses: [] },
  body: [{ kind: 'Return', value: { kind: 'Input', argument: 0, span: SPAN }, span: SPAN }],
}
const ELEMENT = { f: { text: ir.name, span: SPAN, ir, refusals: [] }, method: 'distinct', use: 'group' } as const
