/** Writes the TypeScript interface of a table's rows. */
import { DistArray, planOf } from '../arrays/distArray.ts'
import { PlanError } from '../errors.ts'
import { isKnown } from '../plan/elements.ts'
import { type ColumnType, type ElementType, typeText } from './schema.ts'
import { fieldText, keyText } from './typescriptText.ts'

/**
 * The rows of a table as a TypeScript interface, with the types of columns as comments. PlanError while only running its plan can
 * tell what they are, and for arrays of single values.
 */
export function interfaceOf(table: DistArray<never, never> | DistArray<unknown>, name: string = 'Row'): string {
  if (!(table instanceof DistArray)) throw new PlanError('interfaceOf() takes a table, as readParquet() gives it.')
  return interfaceText(planOf(table as DistArray<unknown>).element, name)
}

function interfaceText(element: ElementType, name: string): string {
  if (!isKnown(element))
    throw new PlanError(
      'What the rows are is not known before the plan runs: materialize() it first, or write its functions so that they can be analysed.',
    )
  if (element.kind !== 'row')
    throw new PlanError(
      'An array of single values has no columns, and no interface. It has for a table of them: map((value) => ({ value })).',
    )
  const lines = element.fields.map((field) => `  ${keyText(field.name)}: ${fieldText(field)}${noteText(field.type)}`)
  return [`interface ${name} {`, ...lines, '}'].join('\n')
}

/** Writes the column type as a comment, where TypeScript's type does not tell it. */
function noteText(type: ColumnType): string {
  const text = typeText(type)
  const isPlain = ['f64', 'utf8', 'bool', 'null', 'binary', 'list', 'struct'].includes(type.kind) && !/ as number|category/.test(text)
  return isPlain ? '' : ` // ${text}`
}
