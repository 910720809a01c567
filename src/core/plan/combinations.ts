/**
 * The nodes behind `union` and `join`: two arrays must go together, which is checked at the call.
 */

import { checkOneOf } from '../arguments.ts'
import { unifyTypes } from '../data/columnConversions.ts'
import { fieldsByName } from '../data/fieldPositions.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, typeText } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { columnOf, keyText, listOf, madeFunction, memberText } from '../ir/madeFunctions.ts'
import { missingColumnMessage } from '../nearestNames.ts'
import { checkOptions } from '../options.ts'
import { elementText, ROW_NUMBERS, typeOfBoth, UNKNOWN_ELEMENT, unifyElements, type ValueClass, valueClassOf } from './elements.ts'
import { type JoinHow, type JoinKey, type LogicalPlan, labelOf } from './logicalPlan.ts'
import { type Callback, lowerFunction } from './transformations.ts'

/** The node of all inputs one after another, with the columns of each in the first one's order. */
export function unionPlan(inputs: readonly LogicalPlan[]): LogicalPlan {
  const [first] = inputs
  if (first === undefined) throw new PlanError('union() needs an array.')
  const names = unionNames(inputs)
  const element = inputs.reduce<ElementType>((left, input, i) => {
    const both = unifyElements(left, input.element)
    if (both === undefined) throw cannotUnite(names, i, left, input.element)
    return both
  }, first.element)
  return { kind: 'Union', inputs: inputs.map((input) => inOrderOf(first.element, input)), element, keys: ROW_NUMBERS }
}

/** The names of a union's inputs, for messages. */
export function unionNames(inputs: readonly LogicalPlan[]): readonly string[] {
  return inputs.map((input, i) => nameOf(input, i === 0 ? 'the first array' : `array ${i}`))
}

/** The error for array `at`, whose elements do not fit those before it: thrown at the call, or by the action where only running tells the types. */
export function cannotUnite(names: readonly string[], at: number, before: ElementType, element: ElementType): PlanError {
  return new PlanError(
    `Cannot put ${names[at]} after ${names[0]} with union(): the elements are ${elementText(before)} and ${elementText(element)}.\n` +
      unionCure(before, element),
  )
}

function unionCure(before: ElementType, element: ElementType): string {
  const own = fieldsByName(fieldsOf(element))
  for (const field of before.kind === 'row' && element.kind === 'row' ? before.fields : []) {
    const other = own.get(field.name)
    if (other === undefined || typeOfBoth(field.type, other.type) !== undefined) continue
    const kinds = [valueClassOf(field.type), valueClassOf(other.type)]
    const to = kinds.includes('number') && kinds.includes('bigint') ? 'number' : 'string'
    const value = convertedText(kinds[0] === to ? other : field, to) as string // never undefined: every value converts to a string, every bigint to a number
    return `Make "${field.name}" one kind first, as in withColumns((row) => ({ ${keyText(field.name)}: ${value} })).`
  }
  return "Give both the same columns with select() or map(), or take those of all with { columns: 'all' }."
}

function inOrderOf(first: ElementType, input: LogicalPlan): LogicalPlan {
  if (first.kind !== 'row' || input.element.kind !== 'row') return input
  const columns = first.fields.map((field) => field.name)
  const own = fieldsOf(input.element)
  const byName = fieldsByName(own)
  const fields = columns.flatMap((name) => byName.get(name) ?? [])
  if (fields.every((field, i) => field === own[i])) return input
  return { kind: 'Project', input, columns, element: { kind: 'row', fields }, keys: input.keys }
}

const HOWS: readonly JoinHow[] = ['inner', 'left', 'right', 'full', 'semi', 'anti', 'cross']

export interface JoinOptions {
  readonly how?: JoinHow
  readonly suffix?: string
}
type JoinMethod = 'join' | 'joinAsof'
export type JoinOnAny = string | readonly string[] | { readonly left: Callback; readonly right: Callback }

export function joinPlan(engine: Lowering, left: LogicalPlan, right: LogicalPlan, on: JoinOnAny, options: JoinOptions): LogicalPlan {
  if (typeof on === 'function') throw notWhatToJoinOn('join') // then `options` is the function of the other side
  checkOptions('join()', options, ['how', 'suffix'])
  const { how = 'inner', suffix = '_right' } = options
  checkOneOf('The how of join()', how, HOWS)
  if (typeof suffix !== 'string') throw new PlanError(`The suffix of join() is a string; it was given ${valueText(suffix)}.`)
  const key = how === 'cross' ? ({ kind: 'none' } as const) : joinKey(engine, left, right, on)
  return { kind: 'Join', left, right, on: key, how, suffix, element: joinElement(left, right, { on: key, how, suffix }), keys: ROW_NUMBERS }
}

/** How a join runs: a left one that gives its matches alone is an inner one. */
export function howRun({ how, matchesAlone }: Pick<Extract<LogicalPlan, { kind: 'Join' }>, 'how' | 'matchesAlone'>): JoinHow {
  return matchesAlone === true ? 'inner' : how
}

/** The key columns that both sides have by name, and that are in the result once. */
export function sharedColumns(on: JoinKey): readonly string[] {
  switch (on.kind) {
    case 'column':
      return [on.column]
    case 'functions':
      return on.shared ?? []
    case 'none':
      return []
  }
}

/** Checks and lowers what to join on. `method` is for messages. */
export function joinKey(engine: Lowering, left: LogicalPlan, right: LogicalPlan, on: JoinOnAny, method: JoinMethod = 'join'): JoinKey {
  if (typeof on === 'string') {
    checkShared(left, right, on)
    return { kind: 'column', column: on }
  }
  if (isList(on)) return keyOfColumns(engine, left, right, on, method)
  if (typeof on !== 'object' || on === null || typeof on.left !== 'function' || typeof on.right !== 'function') {
    throw notWhatToJoinOn(method)
  }
  const ours = lowerFunction(engine, method, on.left, { inputs: [left.element], takes: '(row)' })
  const theirs = lowerFunction(engine, method, on.right, { inputs: [right.element], takes: '(row)' })
  if (ours.returned.kind === 'scalar' && theirs.returned.kind === 'scalar') {
    checkComparable(left, right, { leftType: ours.returned.type, rightType: theirs.returned.type })
  } else if (ours.returned.kind !== theirs.returned.kind && !isAnything(ours.returned) && !isAnything(theirs.returned)) {
    throw new PlanError(
      `${cannotJoin(left, right)}: the functions return ${elementText(ours.returned)} on the left, ${elementText(theirs.returned)} on the right.\n` +
        'Return values of one kind from both.',
    )
  }
  return { kind: 'functions', left: ours.f, right: theirs.f }
}

function isList(on: JoinOnAny): on is readonly string[] {
  return Array.isArray(on)
}

/** The key of several common columns: rows match where all are equal. */
function keyOfColumns(engine: Lowering, left: LogicalPlan, right: LogicalPlan, on: readonly string[], method: JoinMethod): JoinKey {
  const [only, ...others] = on
  if (only === undefined || !on.every((name) => typeof name === 'string')) throw notWhatToJoinOn(method)
  if (others.length === 0) return joinKey(engine, left, right, only, method)
  for (const [i, name] of on.entries()) {
    if (on.indexOf(name) !== i) throw new PlanError(`${method}() was given the column "${name}" twice.`)
    checkShared(left, right, name)
  }
  const text = `(row) => [${on.map(memberText).join(', ')}]`
  const key = (): Callback => madeFunction(listOf(on.map(columnOf)), text, (row) => on.map((name) => row[name])).original
  const ours = lowerFunction(engine, method, key(), { inputs: [left.element], takes: '(row)' })
  const theirs = lowerFunction(engine, method, key(), { inputs: [right.element], takes: '(row)' })
  return { kind: 'functions', left: ours.f, right: theirs.f, shared: [...on] }
}

function checkShared(left: LogicalPlan, right: LogicalPlan, column: string): void {
  const leftField = joinField(left, column, 'the left side')
  const rightField = joinField(right, column, 'the right side')
  if (leftField !== undefined && rightField !== undefined)
    checkComparable(left, right, { leftType: leftField.type, rightType: rightField.type, field: leftField })
}

function notWhatToJoinOn(method: JoinMethod): PlanError {
  if (method === 'joinAsof')
    return new PlanError(
      "joinAsof() takes names of columns of both sides, or functions, as in { on: 'at', by: ['shop', 'symbol'] } or { on: { left: (row) => row.at, right: (row) => row.time } }.",
    )
  return new PlanError(
    "join() takes the name of a column of both sides, a list of such, or two functions, as in join(other, 'id'), join(other, ['shop', 'day']) or join(other, { left: (row) => row.id, right: (row) => row.userId }).",
  )
}

/** Whether an element may go with any kind of value: its type is not known, or it has nothing but nulls. */
function isAnything(element: ElementType): boolean {
  return element.kind === 'unknown' || (element.kind === 'scalar' && valueClassOf(element.type) === 'unknown')
}

/** The key column of one side; undefined when its columns are not known before it runs. */
function joinField(plan: LogicalPlan, name: string, side: string): Field | undefined {
  if (plan.element.kind === 'unknown') return undefined
  const field = fieldsOf(plan.element).find((one) => one.name === name)
  if (field === undefined) throw new PlanError(missingColumnMessage(name, fieldsOf(plan.element), nameOf(plan, side)))
  return field
}

function checkComparable(
  left: LogicalPlan,
  right: LogicalPlan,
  { leftType, rightType, field }: { readonly leftType: ColumnType; readonly rightType: ColumnType; readonly field?: Field },
): void {
  const ours = valueClassOf(leftType)
  const theirs = valueClassOf(rightType)
  if (ours === 'unknown' || theirs === 'unknown' || (ours === theirs && (ours !== 'other' || leftType.kind === rightType.kind))) return
  const where = field === undefined ? ' by the given functions' : ` on "${field.name}"`
  throw new PlanError(
    `${cannotJoin(left, right)}${where}: ${typeText(leftType)} on the left, ${typeText(rightType)} on the right.\n${cure(left, field, rightType)}`,
  )
}

function cure(left: LogicalPlan, field: Field | undefined, rightType: ColumnType): string {
  const value = field && convertedText(field, valueClassOf(rightType))
  if (field === undefined || value === undefined) return 'Convert one side, so that both are of one kind.'
  const name = nameOf(left, 'left').replace(/\.[^.]*$/, '')
  // a file's name without its ending is taken for the variable's, the name of a method is not
  const array = /^(?!from(?:Rows|Columns|Arrow)$)[A-Za-z_$][\w$]*$/.test(name) ? name : 'left'
  return `Convert one side, for example ${array}.withColumns((row) => ({ ${keyText(field.name)}: ${value} })).`
}

/** Source code that converts a row's value to another class, and leaves null as it is; undefined where no function does. */
function convertedText({ name, type, nullable }: Field, to: ValueClass): string | undefined {
  const value = memberText(name)
  const from = valueClassOf(type)
  if (from === 'Date' && to === 'string') return `formatTime(${value}, '%Y-%m-%d')`
  if (from === 'string' && to === 'Date') return `parseTime(${value}, '%Y-%m-%d')`
  const convert = { number: 'Number', bigint: 'BigInt', string: 'String', boolean: 'Boolean' }[to as string]
  if (convert === undefined) return undefined
  return nullable ? `${value} === null ? null : ${convert}(${value})` : `${convert}(${value})`
}

function cannotJoin(left: LogicalPlan, right: LogicalPlan): string {
  return `Cannot join ${nameOf(left, 'the left side')} and ${nameOf(right, 'the right side')}`
}

function nameOf(plan: LogicalPlan, otherwise: string): string {
  return labelOf(plan) ?? otherwise
}

/**
 * The row that a join yields: the left columns, then the right ones without the key column that both share. A right
 * column whose name is taken gets the suffix. Sides that may have no match are nullable.
 */
export function joinElement(
  left: LogicalPlan,
  right: LogicalPlan,
  { on, how, suffix }: { readonly on: JoinKey; readonly how: JoinHow; readonly suffix: string },
): ElementType {
  if (how === 'semi' || how === 'anti') return left.element
  if (left.element.kind === 'unknown' || right.element.kind === 'unknown') return UNKNOWN_ELEMENT
  const shared = sharedColumns(on)
  const others = fieldsByName(fieldsOf(right.element))
  const leftFields = fieldsOf(left.element).map((field): Field => {
    if (how !== 'right' && how !== 'full') return field
    const { name } = field
    const rightKey = shared.includes(name) ? others.get(name) : undefined
    if (rightKey === undefined) return { ...field, nullable: true }
    // the key column of an unmatched right row holds the right key
    return { name, type: unifyTypes(field.type, rightKey.type, name), nullable: field.nullable || rightKey.nullable }
  })
  const names = new Set(leftFields.map((field) => field.name))
  const rightFields = fieldsOf(right.element)
    .filter((field) => !shared.includes(field.name))
    .map((field): Field => {
      const name = names.has(field.name) ? `${field.name}${suffix}` : field.name
      if (names.has(name)) {
        throw new PlanError(
          `${cannotJoin(left, right)}: both have a column "${field.name}", and "${name}" is taken too.\nChoose another suffix, as in { suffix: '_other' }.`,
        )
      }
      names.add(name)
      return { name, type: field.type, nullable: field.nullable || how === 'left' || how === 'full' }
    })
  return { kind: 'row', fields: [...leftFields, ...rightFields] }
}
