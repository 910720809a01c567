/**
 * The nodes behind methods that are given names of columns: `rename`, `drop`, `fillNull`, and `union` of differing columns. They are maps
 * and projections with functions that the library writes, so all that is known of those holds for them.
 */

import { checkOneOf } from '../arguments.ts'
import { fieldsByName } from '../data/fieldPositions.ts'
import { type Field, fieldsOf, typeText } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { Expr, Primitive } from '../ir/functionIr.ts'
import { columnOf, dateOf, keyText, literalOf, madeFunction, memberText, objectOf, orElse, type Row } from '../ir/madeFunctions.ts'
import { missingColumnMessage } from '../nearestNames.ts'
import { checkOptions } from '../options.ts'
import { unionPlan } from './combinations.ts'
import { elementText, type ValueClass, valueClassOf } from './elements.ts'
import { type LogicalPlan, labelOf } from './logicalPlan.ts'
import { mapPlan, selectPlan, withColumnsPlan } from './transformations.ts'
import { type WindowGiven, windowNode } from './windowPlan.ts'

/** The plan of the rows with some columns renamed, in their old order. */
export function renamePlan(engine: Lowering, input: LogicalPlan, names: Readonly<Record<string, unknown>>): LogicalPlan {
  const fields = knownFields(input, 'rename')
  checkNames(names, 'rename', "{ old: 'new' }")
  const known = fieldsByName(fields)
  for (const [name, to] of Object.entries(names)) {
    if (!known.has(name)) throw new PlanError(missingColumnMessage(name, fields, labelOf(input)))
    if (typeof to !== 'string')
      throw new PlanError(`rename() gives a column another name, as in rename({ old: 'new' }); "${name}" was given ${valueText(to)}.`)
  }
  const nameOf = (name: string): string => (Object.hasOwn(names, name) ? String(names[name]) : name)
  const taken = new Map<string, string>()
  for (const { name } of fields) {
    const to = nameOf(name)
    const other = taken.get(to)
    if (other !== undefined)
      throw new PlanError(
        `rename() would call two columns "${to}": "${other}" and "${name}".\nGive one of them another name, or take it away first, as in drop('${other === to ? other : name}').`,
      )
    taken.set(to, name)
  }
  return mapped(engine, input, {
    fields: fields.map(({ name }) => ({ name: nameOf(name), value: columnOf(name) })),
    original: (row) => Object.fromEntries(fields.map(({ name }) => [nameOf(name), row[name]])),
  })
}

/** The plan of the rows without some columns. */
export function dropPlan(input: LogicalPlan, names: readonly string[]): LogicalPlan {
  const fields = knownFields(input, 'drop')
  if (names.length === 0) throw new PlanError("drop() needs at least one column, as in drop('id').")
  const known = fieldsByName(fields)
  for (const name of names) {
    if (typeof name !== 'string')
      throw new PlanError(`drop() takes names of columns, one after another, as in drop('id', 'price'); it was given ${valueText(name)}.`)
    if (!known.has(name)) throw new PlanError(missingColumnMessage(name, fields, labelOf(input)))
  }
  const left = fields.filter(({ name }) => !names.includes(name))
  if (left.length === 0) throw new PlanError('drop() would leave no column.\nKeep one, or count the rows with count().')
  return selectPlan(
    input,
    left.map(({ name }) => name),
  )
}

/** The window call for each of the two words: the nearest value before, or behind. */
const NEIGHBOURS = { previous: { kind: 'lastValue', from: null, to: 0 }, next: { kind: 'firstValue', from: 0, to: null } } as const

/** The plan of the rows with nulls of some columns filled. */
export function fillNullPlan(engine: Lowering, input: LogicalPlan, values: Readonly<Record<string, unknown>>): LogicalPlan {
  const fields = knownFields(input, 'fillNull')
  checkNames(values, 'fillNull', "{ amount: 0, name: 'previous' }")
  const known = fieldsByName(fields)
  const constants: Constant[] = []
  const neighbours: { readonly field: Field; readonly which: 'previous' | 'next' }[] = []
  for (const [name, value] of Object.entries(values)) {
    const field = known.get(name)
    if (field === undefined) throw new PlanError(missingColumnMessage(name, fields, labelOf(input)))
    if (value === 'previous' || value === 'next') neighbours.push({ field, which: value })
    else constants.push({ field, value: ownDate(checkedFill(field, value)) })
  }
  const filled = constants.length === 0 ? input : withConstants(engine, input, constants)
  return (['previous', 'next'] as const).reduce((plan, which) => {
    const own = neighbours.filter((one) => one.which === which).map(({ field }) => field)
    return own.length === 0 ? plan : withNeighbours(engine, plan, which, own)
  }, filled)
}

interface Constant {
  readonly field: Field
  readonly value: Primitive | Date
}

/** The values that may fill a column of each class, for messages; undefined where none may. */
const FILLS: Readonly<Record<ValueClass, string | undefined>> = {
  number: 'a number',
  bigint: 'a bigint',
  string: 'a string',
  boolean: 'true or false',
  Date: 'a Date',
  other: undefined,
  unknown: undefined,
}

function checkedFill({ name, type }: Field, value: unknown): Primitive | Date {
  const wanted = valueClassOf(type)
  const is = value instanceof Date ? 'Date' : typeof value
  if (is === wanted || (wanted === 'unknown' && (is === 'Date' || FILLS[is as ValueClass] !== undefined))) return value as Primitive | Date
  const takes = FILLS[wanted]
  if (takes === undefined)
    throw new PlanError(
      `fillNull() has no value for "${name}", whose values are ${typeText(type)}; it was given ${valueText(value)}.\n` +
        `Write withColumns((row) => ({ ${keyText(name)}: ${memberText(name)} ?? … })).`,
    )
  throw new PlanError(
    `fillNull() takes ${takes}, 'previous' or 'next' for "${name}", whose values are ${typeText(type)}; it was given ${valueText(value)}.`,
  )
}

/** Copies a Date, which the program may change before anything runs. */
function ownDate(value: Primitive | Date): Primitive | Date {
  return value instanceof Date ? new Date(value) : value
}

function withConstants(engine: Lowering, input: LogicalPlan, constants: readonly Constant[]): LogicalPlan {
  const text = `(row) => ({ ${constants.map(({ field, value }) => `${keyText(field.name)}: ${memberText(field.name)} ?? ${valueText(value)}`).join(', ')} })`
  const values = Object.fromEntries(constants.map(({ field, value }) => [field.name, value]))
  const original = (row: Row): unknown => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, row[name] ?? value]))
  const filled = constants.map(({ field: { name }, value }) => {
    const instead = value instanceof Date ? dateOf(literalOf(value.getTime())) : literalOf(value)
    return { name, value: orElse(columnOf(name), instead) }
  })
  return withColumnsPlan(engine, input, madeFunction(objectOf(filled), text, original).original)
}

/** Fills nulls with the last value before that is not null, or the first behind, by a window over the rows in their order. */
function withNeighbours(engine: Lowering, input: LogicalPlan, which: 'previous' | 'next', fields: readonly Field[]): LogicalPlan {
  const { kind, from, to } = NEIGHBOURS[which]
  const over: WindowGiven = { descending: false, frame: { kind: 'rows', from, to } }
  return windowNode(
    engine,
    input,
    over,
    fields.map(({ name }) => {
      const { original } = madeFunction(columnOf(name), `(row) => ${memberText(name)}`, (row) => row[name])
      return { name, kind, of: original, ignoresNulls: true }
    }),
  )
}

/** The union of the input and the arrays of `given`, whose last may be options instead; `planOf` tells their plans. */
export function unionOfPlan(
  engine: Lowering,
  input: LogicalPlan,
  given: readonly unknown[],
  planOf: (other: unknown) => LogicalPlan,
): LogicalPlan {
  const last = given.at(-1)
  const isOptions = given.length > 1 && typeof last === 'object' && last !== null && Object.getPrototypeOf(last) === Object.prototype
  const inputs = [input, ...(isOptions ? given.slice(0, -1) : given).map(planOf)]
  if (!isOptions) return unionPlan(inputs)
  checkOptions('union()', last, ['columns'])
  checkOneOf('The columns of union()', Reflect.get(last, 'columns'), ['all'])
  return unionPlan(withAllColumns(engine, inputs))
}

/** The inputs with the columns of all of them, null where an input has none of that name. */
export function withAllColumns(engine: Lowering, inputs: readonly LogicalPlan[]): readonly LogicalPlan[] {
  const names = [...new Set(inputs.flatMap((input) => knownFields(input, 'union').map(({ name }) => name)))]
  return inputs.map((input) => {
    const own = fieldsByName(fieldsOf(input.element))
    if (own.size === names.length) return input
    return mapped(engine, input, {
      fields: names.map((name) => ({ name, value: own.has(name) ? columnOf(name) : literalOf(null) })),
      original: (row) => Object.fromEntries(names.map((name) => [name, own.has(name) ? row[name] : null])),
    })
  })
}

interface Mapped {
  readonly fields: readonly { readonly name: string; readonly value: Expr }[]
  readonly original: (row: Row) => unknown
}

function mapped(engine: Lowering, input: LogicalPlan, { fields, original }: Mapped): LogicalPlan {
  const text = `(row) => ({ ${fields.map(({ name, value }) => `${keyText(name)}: ${value.kind === 'Literal' ? String(value.value) : value.span.text}`).join(', ')} })`
  return mapPlan(engine, input, madeFunction(objectOf(fields), text, original).original)
}

/** The columns of the rows; throws PlanError for elements that are no rows, and where only running the plan tells the columns. */
export function knownFields(input: LogicalPlan, method: string): readonly Field[] {
  const { element } = input
  if (element.kind === 'row') return element.fields
  if (element.kind === 'scalar' && element.type.kind !== 'unknown')
    throw new PlanError(
      `${method}() works on rows with columns; the elements of this array are ${elementText(element)}.\n` +
        'Make rows of them first, as in map((value) => ({ value })).',
    )
  throw new PlanError(
    `${method}() has to know the columns, and neither what a function returns that runs as JavaScript nor what fromRows() has without rows is known before the run.\n` +
      "Name the columns first, as in select('id', 'price').",
  )
}

function checkNames(given: unknown, method: string, as: string): void {
  if (typeof given === 'object' && given !== null && !Array.isArray(given) && Object.keys(given).length > 0) return
  throw new PlanError(`${method}() takes an object of columns, as in ${method}(${as}); it was given ${valueText(given)}.`)
}
