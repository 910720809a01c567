/**
 * Keys of groups as codes: a key, or a field of one, that is a column of text with codes is grouped by the codes, and the
 * groups' texts are looked up at the end.
 *
 *     groupBy(r => r.name)       by the codes of name, then the text of each group's code
 */
import { fieldsOf } from '../../core/schema.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch } from '../operators/batches.ts'
import { type CodedKeys, type ColumnProgram, columnProgramOf, isProgram } from './columnProgram.ts'
import { codeColumn, codesOf, decoded } from './textCodes.ts'

/** The program with codes in place of texts in the first hidden column; undefined where it has no such. */
export function withCodedKeys(program: ColumnProgram): ColumnProgram | undefined {
  const { shape } = program
  const [key] = shape.hidden ?? []
  if (key === undefined) return undefined
  const columns = [...program.columns]
  const kernelColumns = [...program.kernelColumns]
  const outputs = [...shape.outputs]
  const parts = key.kind === 'value' ? [key.output] : key.fields.map(({ output }) => output)
  const coded = parts.map((name) => {
    const at = outputs.findIndex((output) => output.name === name)
    const output = outputs[at]
    const text = output?.kind === 'column' ? program.columns[output.column] : undefined
    const codes = codesOf(text)
    if (output?.kind !== 'column' || text === undefined || codes === undefined) return undefined
    const column = codeColumn(text, codes)
    outputs[at] = { ...output, column: columns.length }
    columns.push(column)
    kernelColumns.push({ type: column.type, nullable: column.validity !== undefined })
    return text
  })
  if (coded.every((text) => text === undefined)) return undefined
  return { ...program, columns, kernelColumns, shape: { ...shape, outputs }, coded }
}

/** Whether some text that the plan groups by has codes. */
export function hasCodedKeys(plan: PhysicalPlan): boolean {
  const program = columnProgramOf(plan)
  return isProgram(program) && withCodedKeys(program) !== undefined
}

/** Groups, whose first columns are the parts of the key, with texts for codes. */
export function withTexts(batch: ExecBatch, coded: CodedKeys): ExecBatch {
  const columns = batch.columns.map((column, p) => {
    const text = coded[p]
    const codes = codesOf(text)
    return text === undefined || codes === undefined ? column : decoded(column, text, codes)
  })
  return rowBatch(
    fieldsOf(batch.element).map(({ name }) => name),
    columns,
    batch.length,
  )
}
