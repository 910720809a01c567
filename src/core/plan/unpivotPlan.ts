/**
 * The nodes behind `unpivot`: the rows once for each column that becomes a value, one after another.
 *
 *     unpivot({ keep: ['id'], columns: ['a', 'b'] })       Union
 *                                                            Map { id, column: "a", value: row.a }
 *                                                            Map { id, column: "b", value: row.b }
 */
import { checkList } from '../arguments.ts'
import { fieldsByName } from '../data/fieldPositions.ts'
import type { ElementType, Field } from '../data/schema.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { columnOf, keyText, literalOf, madeFunction, memberText, objectOf } from '../ir/madeFunctions.ts'
import { missingColumnMessage } from '../nearestNames.ts'
import { checkOptions } from '../options.ts'
import { knownFields } from './columnPlans.ts'
import { unionPlan } from './combinations.ts'
import { elementText, unifyElements } from './elements.ts'
import { type LogicalPlan, labelOf } from './logicalPlan.ts'
import { mapPlan } from './transformations.ts'

export interface UnpivotAny {
  readonly keep?: readonly string[]
  readonly columns: readonly string[]
  readonly name?: string
  readonly value?: string
}

export function unpivotPlan(engine: Lowering, input: LogicalPlan, options: UnpivotAny): LogicalPlan {
  checkOptions('unpivot()', options, ['keep', 'columns', 'name', 'value'])
  const fields = knownFields(input, 'unpivot')
  const { columns, keep = [], name = 'column', value = 'value' } = options
  checkList('The columns of unpivot()', columns)
  checkList('The keep of unpivot()', keep)
  if (columns.length === 0)
    throw new PlanError("unpivot() needs at least one column, as in unpivot({ keep: ['id'], columns: ['a', 'b'] }).")
  const known = fieldsByName(fields)
  for (const one of [...keep, ...columns])
    if (!known.has(one)) throw new PlanError(missingColumnMessage(String(one), fields, labelOf(input)))
  checkOwnNames([...keep, name, value])
  checkTypes(columns.map((one) => known.get(one) as Field)) // looked up above
  return unionPlan(columns.map((column) => mapPlan(engine, input, piece(keep, { name, value }, column))))
}

function piece(keep: readonly string[], { name, value }: { readonly name: string; readonly value: string }, column: string) {
  const kept = keep.map((one) => ({ name: one, value: columnOf(one) }))
  const fields = [...kept, { name, value: literalOf(column) }, { name: value, value: columnOf(column) }]
  const parts = [
    ...keep.map((one) => `${keyText(one)}: ${memberText(one)}`),
    `${keyText(name)}: ${JSON.stringify(column)}`,
    `${keyText(value)}: ${memberText(column)}`,
  ]
  const text = `(row) => ({ ${parts.join(', ')} })`
  return madeFunction(objectOf(fields), text, (row) => ({
    ...Object.fromEntries(keep.map((one) => [one, row[one]])),
    [name]: column,
    [value]: row[column],
  })).original
}

function checkOwnNames(names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice === undefined) return
  throw new PlanError(
    `unpivot() would call two columns "${twice}".\nGive those that it makes other names, as in unpivot({ …, name: 'measure', value: 'reading' }).`,
  )
}

function checkTypes(fields: readonly Field[]): void {
  let before: { readonly element: ElementType; readonly name: string } | undefined
  for (const { name, type, nullable } of fields) {
    const element: ElementType = { kind: 'scalar', type, nullable }
    const both = before === undefined ? element : unifyElements(before.element, element)
    if (both === undefined && before !== undefined)
      throw new PlanError(
        `unpivot() puts values of one kind under each other; those of "${before.name}" are ${elementText(before.element)}, those of "${name}" ${elementText(element)}.\n` +
          'Make them one kind first, as with withColumns().',
      )
    before ??= { element, name }
    if (both !== undefined) before = { ...before, element: both }
  }
}
