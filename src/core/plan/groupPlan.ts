/**
 * The nodes behind `groupBy`: the columns of the key, the aggregates, and what each yields.
 *
 *     groupBy((o) => o.shop).agg({ n: count() })                  { key, n }
 *     groupBy((o) => ({ shop: o.shop })).agg({ n: count() })      { shop, n }
 */

import { checkAxis } from '../arguments.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, namesText } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { type Folding, mapFolding } from '../ir/folding.ts'
import type { Expr, UserFunction } from '../ir/functionIr.ts'
import { literalOf, madeFunction, objectOf } from '../ir/madeFunctions.ts'
import { checkOptions } from '../options.ts'
import { type Aggregate, isAggregate } from './aggregates.ts'
import {
  asColumnType,
  elementText,
  F64,
  ROW_NUMBERS,
  rankOf,
  sameElement,
  UNKNOWN_ELEMENT,
  unifyElements,
  valueClassOf,
} from './elements.ts'
import type { AggregateCall, AggregateKind, GroupHow, GroupKey, LogicalPlan } from './logicalPlan.ts'
import { type Callback, lowerFunction, lowerRowFunction, selectPlan } from './transformations.ts'

/** The name of the column that holds a key which is a single value. */
export const KEY_COLUMN = 'key'

/** The column of a key that all rows share, which no program names. */
export const ALL_ROWS = ' all rows'

/** The key that all rows share. */
export function keyOfAllRows(): Callback {
  return madeFunction(objectOf([{ name: ALL_ROWS, value: literalOf(0) }]), 'all rows', () => ({ [ALL_ROWS]: 0 })).original
}

/** A `groupBy` before its method says what to compute of each group. */
export interface Grouping {
  readonly engine: Lowering
  readonly input: LogicalPlan
  readonly by: GroupKey
  /** The key's type: a single value, or an object whose fields become columns. */
  readonly key: ElementType
}

export type GroupByAny = Callback | { readonly axis: number }

export function groupingOf(engine: Lowering, input: LogicalPlan, by: GroupByAny): Grouping {
  if (typeof by === 'object' && by !== null && 'axis' in by) {
    checkOptions('groupBy()', by, ['axis'])
    checkAxis('groupBy()', by.axis, rankOf(input.keys))
    return { engine, input, by: { kind: 'axis', axis: by.axis }, key: { kind: 'scalar', type: F64, nullable: false } }
  }
  const { f, returned } = lowerRowFunction(engine, input, 'groupBy', by)
  return { engine, input, by: { kind: 'function', f }, key: evaluated(f, returned) }
}

export function aggPlan(
  grouping: Grouping,
  aggregates: Readonly<Record<string, Aggregate<never, unknown>>>,
  options: { readonly whole?: true } = {},
): LogicalPlan {
  if (typeof aggregates !== 'object' || aggregates === null) {
    throw new PlanError(
      `agg() takes an object of aggregates, as { total: sum((row) => row.price) }; it was given ${valueText(aggregates)}.`,
    )
  }
  const entries = Object.entries(aggregates)
  if (entries.length === 0) throw new PlanError('agg() needs at least one aggregate, as in agg({ n: count() }).')
  return aggregatesPlan(
    grouping,
    entries.map(([name, aggregate]) => ({ name, ...checked(name, aggregate) })),
    options,
  )
}

/** A checked aggregate and the name of its column. */
export interface NamedAggregate {
  readonly name: string
  readonly kind: AggregateKind
  readonly of?: Callback
  readonly second?: Callback
  readonly q?: number
  readonly called?: Aggregate<never, unknown>['called']
  readonly folding?: Folding<Callback>
}

/** Aggregates all rows as one group, whose key column is projected away. */
export function wholeAggPlan(
  engine: Lowering,
  input: LogicalPlan,
  aggregates: Readonly<Record<string, Aggregate<never, unknown>>>,
): LogicalPlan {
  const plan = aggPlan(groupingOf(engine, input, keyOfAllRows()), aggregates, { whole: true })
  return selectPlan(plan, Object.keys(aggregates))
}

export function aggregatesPlan(
  grouping: Grouping,
  aggregates: readonly NamedAggregate[],
  options: { readonly whole?: true } = {},
): LogicalPlan {
  const calls = aggregates.map((aggregate) => callOf(grouping, aggregate))
  const fields = calls.map(({ call, type, nullable }): Field => ({ name: call.name, type, nullable }))
  return groupNode(grouping, { kind: 'agg', aggregates: calls.map(({ call }) => call), ...options }, rowWithKey(grouping, 'agg', fields))
}

export function groupCountPlan(grouping: Grouping): LogicalPlan {
  const fields = [{ name: 'count', type: F64, nullable: false }]
  const how: GroupHow = { kind: 'agg', aggregates: [{ name: 'count', kind: 'count' }], method: 'count' }
  return groupNode(grouping, how, rowWithKey(grouping, 'count', fields))
}

export function groupReducePlan(grouping: Grouping, callback: Callback): LogicalPlan {
  const { element } = grouping.input
  const { f, returned } = lowerFunction(grouping.engine, 'reduce', callback, { inputs: [element, element], takes: '(a, b)' })
  const reduced = reducedElement(element, returned)
  return groupNode(grouping, { kind: 'reduce', f }, rowWithKey(grouping, 'reduce', [{ name: 'value', ...asColumnType(reduced) }]))
}

/** The type of a reduced group: it holds the element, which a group of one gives, and what the function returns for larger ones. */
function reducedElement(element: ElementType, returned: ElementType): ElementType {
  return sameElement(element, returned) ? element : (unifyElements(element, returned) ?? UNKNOWN_ELEMENT)
}

export function groupMapPlan(grouping: Grouping, callback: Callback): LogicalPlan {
  const { type } = asColumnType(grouping.input.element)
  const values: ElementType = { kind: 'scalar', type: { kind: 'list', item: type }, nullable: false }
  const { f, returned } = lowerFunction(grouping.engine, 'map', callback, { inputs: [grouping.key, values], takes: '(key, values)' })
  return groupNode(grouping, { kind: 'map', f }, returned)
}

function groupNode(grouping: Grouping, how: GroupHow, element: ElementType): LogicalPlan {
  return { kind: 'GroupBy', input: grouping.input, by: grouping.by, how, element, keys: ROW_NUMBERS }
}

/** The key's columns followed by others, whose names must be free. */
function rowWithKey(grouping: Grouping, method: GroupMethod, others: readonly Field[]): ElementType {
  const { key } = grouping
  // the key's columns are not known yet: the action checks the names
  if (key.kind === 'unknown' || (key.kind === 'scalar' && key.type.kind === 'unknown')) return UNKNOWN_ELEMENT
  const keyFields = key.kind === 'row' ? fieldsOf(key) : [{ name: KEY_COLUMN, type: key.type, nullable: key.nullable }]
  checkGroupNames(method, keyFields, others)
  return { kind: 'row', fields: [...keyFields, ...others] }
}

/** A method that adds columns beside those of the key. */
export type GroupMethod = 'agg' | 'count' | 'reduce'
type Named = readonly { readonly name: string }[]

/** Throws PlanError where a name is a key column's: called at the call, or by the action where only running tells the key's columns. */
export function checkGroupNames(method: GroupMethod, key: Named, others: Named): void {
  const taken = others.find(({ name }) => key.some((field) => field.name === name))
  if (taken === undefined) return
  throw new PlanError(
    `${method}() names a column "${taken.name}", which is a column of the group key already. The key's columns: ${namesText(key)}.\n` +
      (method === 'agg' ? 'Give the aggregate another name.' : 'Give the field of the key another name in groupBy().'),
  )
}

function checked(name: string, aggregate: unknown): Aggregate<never, unknown> {
  if (!isAggregate(aggregate)) {
    throw new PlanError(
      `agg() was given ${valueText(aggregate)} as "${name}", which is not an aggregate.\n` +
        'Use sum, mean, min, max, count, countDistinct, first, last, mode, argMin, argMax, any, all, variance, stddev, covariance, correlation, skew, kurtosis, quantile, median, approxCountDistinct, approxQuantile, approxMedian, collect or aggregate, as in agg({ total: sum((row) => row.price) }).',
    )
  }
  return aggregate
}

function callOf(
  grouping: Grouping,
  { name, kind, of, second, q, called, folding }: NamedAggregate,
): { call: AggregateCall; type: ColumnType; nullable: boolean } {
  if (of === undefined) return { call: { name, kind }, type: F64, nullable: false }
  const lowered = (given: Callback) =>
    lowerFunction(grouping.engine, called ?? kind, given, { inputs: [grouping.input.element], takes: '(row)' })
  const { f, returned } = lowered(of)
  if (folding !== undefined) return foldingCall(grouping, { name, kind, of: f }, folding)
  const type = aggregateType(kind, evaluated(f, returned), f, called)
  if (second === undefined) return { call: { name, kind, of: f, ...(q === undefined ? {} : { q }) }, ...type }
  const other = lowered(second)
  const isPair = kind === 'covariance' || kind === 'correlation'
  requireClass(kind, evaluated(other.f, other.returned), other.f, isPair ? ['number'] : COMPARED)
  return { call: { name, kind, of: f, second: other.f }, ...type }
}

/** The call of `aggregate`, with its functions lowered; only running it tells the type of its value. */
function foldingCall(
  { engine, input }: Grouping,
  call: AggregateCall & { readonly of: UserFunction },
  given: Folding<Callback>,
): { call: AggregateCall; type: ColumnType; nullable: boolean } {
  const value = engine.returnedElement(call.of, { method: call.kind, inputs: [input.element] })
  const takes = {
    init: { inputs: [], takes: '()' },
    step: { inputs: [UNKNOWN_ELEMENT, value], takes: '(state, value)' },
    merge: { inputs: [UNKNOWN_ELEMENT, UNKNOWN_ELEMENT], takes: '(a, b)' },
    finish: { inputs: [UNKNOWN_ELEMENT], takes: '(state)' },
  }
  const folding = mapFolding(given, (f, part) => lowerFunction(engine, `aggregate.${part}`, f, takes[part]).f)
  return { call: { ...call, folding }, type: UNKNOWN_TYPE, nullable: true }
}

/** The value classes that extremes are taken of. */
const COMPARED: readonly string[] = ['number', 'bigint', 'string', 'Date']

/** The type of a key or of an aggregate's argument: a column that is only handed on keeps its type, computed numbers are f64. */
export function evaluated(f: UserFunction, returned: ElementType): ElementType {
  const last = f.ir?.body.at(-1)
  const value = last?.kind === 'Return' ? last.value : undefined
  const isComputed = (expr: Expr | undefined): boolean => expr?.kind !== 'Field' && expr?.kind !== 'Input'
  if (returned.kind === 'scalar') return isComputed(value) ? { ...returned, type: widened(returned.type) } : returned
  if (returned.kind === 'unknown' || value?.kind !== 'ObjectLiteral') return returned
  const fields = returned.fields.map((field): Field => {
    const of = value.fields.findLast((one) => one.name === field.name)?.value
    return isComputed(of) ? { ...field, type: widened(field.type) } : field
  })
  return { kind: 'row', fields }
}

function widened(type: ColumnType): ColumnType {
  return valueClassOf(type) === 'number' ? F64 : type
}

const UNKNOWN_TYPE: ColumnType = { kind: 'unknown' }

export function aggregateType(
  kind: AggregateKind,
  returned: ElementType,
  f: UserFunction,
  called: string = kind,
): { readonly type: ColumnType; readonly nullable: boolean } {
  const { type } = asColumnType(returned)
  const valueClass = valueClassOf(type)
  switch (kind) {
    case 'count':
    case 'countDistinct':
    case 'approxCountDistinct':
      return { type: F64, nullable: false }
    case 'sum':
      requireClass(kind, returned, f, ['number', 'bigint'])
      if (valueClass === 'unknown') return { type: type.kind === 'null' ? F64 : UNKNOWN_TYPE, nullable: false }
      return { type: valueClass === 'bigint' ? { kind: 'i64' } : F64, nullable: false }
    case 'mean':
    case 'variance':
    case 'stddev':
    case 'quantile':
    case 'approxQuantile':
    case 'skew':
    case 'kurtosis':
    case 'covariance':
    case 'correlation':
      requireClass(called, returned, f, ['number'])
      return { type: F64, nullable: true }
    case 'min':
    case 'max':
      requireClass(kind, returned, f, COMPARED)
      return { type, nullable: true }
    case 'any':
    case 'all':
      requireClass(kind, returned, f, ['boolean'])
      return { type: { kind: 'bool' }, nullable: true }
    case 'first':
    case 'last':
    case 'mode':
    case 'argMin':
    case 'argMax':
      return { type, nullable: true }
    case 'collect':
      return { type: { kind: 'list', item: type }, nullable: false }
    case 'aggregate':
      return { type: UNKNOWN_TYPE, nullable: true }
  }
}

function requireClass(kind: string, returned: ElementType, f: UserFunction, allowed: readonly string[]): void {
  const { type } = asColumnType(returned)
  const valueClass = valueClassOf(type)
  if (valueClass === 'unknown' || allowed.includes(valueClass)) return
  const wanted = { boolean: 'booleans', number: 'numbers', bigint: 'bigints', string: 'strings', Date: 'dates' }
  const names = allowed.map((one) => wanted[one as keyof typeof wanted])
  const list = names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  const cure = allowed.includes('boolean')
    ? `\nCompare the value, as in ${kind}((row) => row.price > 0).`
    : valueClass === 'bigint' || valueClass === 'boolean' || valueClass === 'string'
      ? `\nConvert the value, as in ${kind}((row) => Number(…)).`
      : valueClass === 'Date'
        ? `\nTake its milliseconds, as in ${kind}((row) => row.at?.getTime()).`
        : ''
  throw new PlanError(`${kind}() takes ${list}; this function returns ${elementText(returned)}: ${f.text}${cure}`, { span: f.span })
}
