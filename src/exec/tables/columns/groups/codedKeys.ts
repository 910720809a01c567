/**
 * Encodes the keys of groups: a key, or a field of one, that is a column of text with dictionary codes is grouped by the codes, and
 * the groups' texts are looked up at the end; one that is computed and surely a whole number of 32 bits is grouped as an
 * integer, and the groups' keys become doubles again.
 *
 *     groupBy(r => r.name)       by the codes of name, then the text of each group's code
 *     groupBy(r => r.id % 10)    by integers of 32 bits, then the double of each group's
 */
import type { Column } from '../../../../core/data/column.ts'
import { convertColumn } from '../../../../core/data/columnConversions.ts'
import { fieldsOf } from '../../../../core/data/schema.ts'
import type { PhysicalPlan } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch } from '../../operators/batches.ts'
import { type CodedKeys, type ColumnProgram, columnProgramOf, isProgram } from '../columnProgram.ts'
import { codedConstants } from '../texts/chosenTexts.ts'
import { codeColumn, codesOf, decoded } from '../texts/textCodes.ts'

/** The program with codes in place of texts, and integers in place of doubles, in the first hidden column; undefined where no part can be encoded. */
export function withCodedKeys(program: ColumnProgram): ColumnProgram | undefined {
  const { shape } = program
  const [key] = shape.hidden ?? []
  if (key === undefined) return undefined
  const columns = [...program.columns]
  const kernelColumns = [...program.kernelColumns]
  const outputs = [...shape.outputs]
  const parts = key.kind === 'value' ? [key.output] : key.fields.map(({ output }) => output)
  const coded = parts.map((name): CodedKeys[number] => {
    const at = outputs.findIndex((output) => output.name === name)
    const output = outputs[at]
    if (output?.kind === 'computed' && output.whole === true) {
      outputs[at] = { ...output, type: 'i32' }
      return 'doubles'
    }
    if (output?.kind === 'computed' && output.type === 'utf8' && output.ofColumns !== true) {
      outputs[at] = { ...output, type: 'i32' }
      return codedConstants(program)
    }
    const text = output?.kind === 'column' ? program.columns[output.column] : undefined
    const codes = codesOf(text)
    if (output?.kind !== 'column' || text === undefined || codes === undefined) return undefined
    const column = codeColumn(text, codes)
    outputs[at] = { ...output, column: columns.length }
    columns.push(column)
    kernelColumns.push({ type: column.type, nullable: column.validity !== undefined })
    return text
  })
  if (coded.every((part) => part === undefined)) return undefined
  return { ...program, columns, kernelColumns, shape: { ...shape, outputs }, coded }
}

/** The columns of text without codes that are keys of groups, or fields of them. */
export function uncodedKeys({ shape, columns }: ColumnProgram): readonly Column[] {
  const [key] = shape.hidden ?? []
  if (key === undefined) return []
  const parts = key.kind === 'value' ? [key.output] : key.fields.map(({ output }) => output)
  return parts.flatMap((name) => {
    const output = shape.outputs.find((one) => one.name === name)
    const column = output?.kind === 'column' ? columns[output.column] : undefined
    return column?.type.kind === 'utf8' && codesOf(column) === undefined ? [column] : []
  })
}

/** Whether the plan groups by a text that has codes. */
export function hasCodedKeys(plan: PhysicalPlan): boolean {
  const program = columnProgramOf(plan)
  return isProgram(program) && withCodedKeys(program)?.coded?.some((part) => typeof part === 'object') === true
}

/** Decodes the keys of groups, whose first columns are the parts of the key: codes become texts, and integers doubles. */
export function withKeys(batch: ExecBatch, coded: CodedKeys): ExecBatch {
  const columns = batch.columns.map((column, p) => {
    const text = coded[p]
    if (text === 'doubles') return convertColumn(column, { kind: 'f64' })
    const codes = codesOf(text)
    return text === undefined || codes === undefined ? column : decoded(column, text, codes)
  })
  return rowBatch(
    fieldsOf(batch.element).map(({ name }) => name),
    columns,
    batch.length,
  )
}
