/**
 * The nodes behind `pivot`: one group-by for the cells, and one that puts the cells of a row beside each other.
 *
 *     pivot({ rows: ['day'], columns: 'kind', values: 'amount', agg: 'sum', names: ['in', 'out'] })
 *
 *     GroupBy { day } → max(kind === "in" ? cell : null), max(kind === "out" ? cell : null)
 *       GroupBy { day, kind } → cell = sum(amount)
 *
 * Both run over columns, and the rows are in the order of their first appearance, as groups are.
 */
import { checkList, checkOneOf } from '../arguments.ts'
import { fieldsByName } from '../data/fieldPositions.ts'
import { type Field, fieldsOf, typeText } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { Expr, Primitive } from '../ir/functionIr.ts'
import {
  chosen,
  columnOf,
  equals,
  hasOtherKind,
  isNaNOf,
  keyText,
  literalOf,
  madeFunction,
  memberText,
  objectOf,
  orElse,
  type Row,
  thrownFor,
} from '../ir/madeFunctions.ts'
import { missingColumnMessage } from '../nearestNames.ts'
import { checkOptions } from '../options.ts'
import { knownFields } from './columnPlans.ts'
import { valueClassOf } from './elements.ts'
import { aggregatesPlan, groupingOf, keyOfAllRows, type NamedAggregate } from './groupPlan.ts'
import { type LogicalPlan, labelOf } from './logicalPlan.ts'
import { type Callback, distinctPlan, limitPlan, selectPlan, withColumnsPlan } from './transformations.ts'

/** The aggregates that a cell may be of its rows' values. */
export type PivotAggregate =
  | 'count'
  | 'sum'
  | 'mean'
  | 'median'
  | 'min'
  | 'max'
  | 'first'
  | 'last'
  | 'countDistinct'
  | 'variance'
  | 'stddev'
  | 'mode'
  | 'skew'
  | 'kurtosis'
  | 'any'
  | 'all'
const CELLS: Readonly<Record<PivotAggregate, Pick<NamedAggregate, 'kind' | 'q' | 'called'>>> = {
  count: { kind: 'count' },
  sum: { kind: 'sum' },
  mean: { kind: 'mean' },
  median: { kind: 'quantile', q: 0.5, called: 'median' },
  min: { kind: 'min' },
  max: { kind: 'max' },
  first: { kind: 'first' },
  last: { kind: 'last' },
  countDistinct: { kind: 'countDistinct' },
  variance: { kind: 'variance' },
  stddev: { kind: 'stddev' },
  mode: { kind: 'mode' },
  skew: { kind: 'skew' },
  kurtosis: { kind: 'kurtosis' },
  any: { kind: 'any' },
  all: { kind: 'all' },
}

export interface PivotAny {
  readonly rows: readonly string[]
  readonly columns: string
  readonly values?: string
  readonly agg: PivotAggregate
  readonly names?: readonly Primitive[] | undefined
}

/** The name of the cells' column, which errors of a run mention: that of the values, with a suffix where the rows have that name. */
function cellName({ rows, columns, values, agg }: PivotAny): string {
  let name = values ?? agg
  while (name === columns || rows.includes(name)) name += ' of the cells'
  return name
}
/** The most columns: a pivot is for people to read, and more come from a key mistaken for a category. */
const MOST_COLUMNS = 1_000

/** Checks the options and returns the table to pivot. Where only running tells the columns, the named ones are selected: a missing one is an error of the run. */
function checkedPivot(plan: LogicalPlan, options: PivotAny): LogicalPlan {
  checkOptions('pivot()', options, ['rows', 'columns', 'values', 'agg', 'names'])
  const { rows, columns, values, agg, names } = options
  checkList('The rows of pivot()', rows)
  checkOneOf('The agg of pivot()', agg, Object.keys(CELLS) as PivotAggregate[])
  const named = [...rows, columns, ...(values === undefined ? [] : [values])]
  const input = plan.element.kind === 'unknown' ? selectPlan(plan, [...new Set(named)]) : plan
  const fields = knownFields(input, 'pivot')
  const known = fieldsByName(fields)
  for (const name of named) {
    if (!known.has(name)) throw new PlanError(missingColumnMessage(String(name), fields, labelOf(input)))
  }
  const twice = rows.find((name, i) => rows.indexOf(name) !== i)
  if (twice !== undefined) throw new PlanError(`pivot() has "${twice}" twice among its rows.\nName each column once.`)
  if (rows.includes(columns))
    throw new PlanError(`pivot() has "${columns}" in its rows and as what names its columns.\nTake it out of one of them.`)
  if (values === undefined && agg !== 'count')
    throw new PlanError(
      `pivot() needs values for ${agg}, as in pivot({ …, values: 'amount', agg: '${agg}' }); without, it counts rows: agg: 'count'.`,
    )
  if (values !== undefined) checkCells(known.get(values) as Field, agg) // looked up above
  const by = known.get(columns) as Field // looked up above
  const { kind } = by.type
  if (kind !== 'null' && kind !== 'unknown' && !NAMING.includes(valueClassOf(by.type)))
    throw noNames(columns, typeText(by.type), valueClassOf(by.type) === 'Date')
  if (names !== undefined) checkNames(options, names, by)
  return input
}

/** The value classes that columns may be named after. */
const NAMING: readonly string[] = ['number', 'bigint', 'string', 'boolean']

function noNames(columns: string, type: string, isDate: boolean): PlanError {
  const text = isDate ? `${memberText(columns)}?.toISOString().slice(0, 10)` : `String(${memberText(columns)})`
  return new PlanError(
    `pivot() names columns after numbers, strings and booleans; the values of "${columns}" are ${type}.\n` +
      `Make a string of them first, as in withColumns((row) => ({ ${keyText(columns)}: ${text} })).`,
  )
}

function checkCells(values: Field, agg: PivotAggregate): void {
  if (!['first', 'last', 'min', 'max', 'mode'].includes(agg)) return
  if (['null', 'unknown'].includes(values.type.kind) || ['number', 'bigint', 'string', 'Date'].includes(valueClassOf(values.type))) return
  throw new PlanError(
    `The cells of pivot() are numbers, bigints, strings or dates; the ${agg} of "${values.name}" is ${typeText(values.type)}.\n` +
      `Make a number of it first, as in withColumns((row) => ({ ${keyText(values.name)}: Number(${memberText(values.name)}) })).`,
  )
}

function checkNames({ rows, columns }: PivotAny, names: readonly Primitive[], { type }: Field): void {
  checkList('The names of pivot()', names)
  if (names.length === 0) throw new PlanError(`The names of pivot() are values of "${columns}"; there are none.`)
  if (names.length > MOST_COLUMNS)
    throw new PlanError(
      `pivot() makes ${MOST_COLUMNS.toLocaleString('en')} columns at most, and was given ${names.length.toLocaleString('en')} names.`,
    )
  const taken = new Map<string, string>(rows.map((row) => [row, 'a column of its rows']))
  for (const value of names) {
    const name = String(value)
    const other = taken.get(name)
    if (other === `that of ${valueText(value)}`)
      throw new PlanError(`pivot() has ${valueText(value)} twice among its names.\nName each value once.`)
    if (other !== undefined)
      throw new PlanError(`pivot() would call two columns "${name}": ${other} and that of ${valueText(value)}.\nRename one of them first.`)
    taken.set(name, `that of ${valueText(value)}`)
  }
  const kind = type.kind === 'null' || type.kind === 'unknown' ? kindOf(names) : valueClassOf(type)
  const odd = names.find((value) => value != null && typeof value !== kind)
  if (odd !== undefined)
    throw new PlanError(
      `The names of pivot() are values of "${columns}"${type.kind === 'unknown' ? ', of one kind' : `, which are ${typeText(type)}`}; ${valueText(odd)} is none.`,
    )
}

/** The `typeof` that all values of the naming column must have, by the first name that is not null; undefined where none is. */
function kindOf(names: readonly Primitive[]): string | undefined {
  const first = names.find((value) => value != null)
  return first == null ? undefined : typeof first
}

function tooMany(columns: string): PlanError {
  return new PlanError(
    `pivot() makes ${MOST_COLUMNS.toLocaleString('en')} columns at most; "${columns}" has more different values.\n` +
      'Filter first, or say which ones you want, as in pivot({ …, names: [1, 2] }).',
  )
}

/** The plan of the different values that name the columns, at most one more than allowed; it runs before the pivot's plan is made. */
export function pivotNamesPlan(input: LogicalPlan, options: PivotAny): LogicalPlan {
  return limitPlan(distinctPlan(selectPlan(checkedPivot(input, options), [options.columns])), MOST_COLUMNS + 1)
}

/** The plan of the pivot with the names that were found. */
export function foundPivotPlan(engine: Lowering, input: LogicalPlan, options: PivotAny, found: readonly Row[]): LogicalPlan {
  const { rows, columns } = options
  if (found.length > MOST_COLUMNS) throw tooMany(columns)
  const odd = found.map((row) => row[columns]).find((value) => value != null && !NAMING.includes(typeof value))
  if (odd !== undefined) throw noNames(columns, valueText(odd), odd instanceof Date)
  if (found.length > 0) return pivotPlan(engine, input, { ...options, names: found.map((row) => row[columns] as Primitive) }) // scalars, as was checked
  if (rows.length > 0) return limitPlan(selectPlan(input, rows), 0)
  throw new PlanError(
    `pivot() without rows has a column for each value of "${columns}" and nothing else, and there is no value: the table has no elements.\n` +
      "Say which columns there are, as in pivot({ …, names: ['in', 'out'] }): then they hold what aggregates of nothing are.",
  )
}

export function pivotPlan(engine: Lowering, plan: LogicalPlan, options: PivotAny & { readonly names: readonly Primitive[] }): LogicalPlan {
  const input = checkedPivot(plan, options)
  const { rows, columns, values, agg, names } = options
  const name = cellName(options)
  const cell: NamedAggregate = { name, ...CELLS[agg], ...(values === undefined ? {} : { of: member(values) }) }
  const cells = aggregatesPlan(groupingOf(engine, input, members([...rows, columns])), [cell])
  const isCount = agg === 'count' || agg === 'countDistinct'
  // each row has at most one cell in a column, so any aggregate of one value would do
  const only = agg === 'any' || agg === 'all' ? 'any' : 'max'
  const by = knownFields(input, 'pivot').find((field) => field.name === columns)
  const kind = by?.type.kind === 'unknown' ? kindOf(names) : undefined
  const beside = names.map((value): NamedAggregate => ({ name: String(value), kind: only, of: cellOf(name, columns, value, kind) }))
  const whole = rows.length === 0
  const key = whole ? keyOfAllRows() : members(rows)
  const pivoted = aggregatesPlan(groupingOf(engine, cells, key), beside, whole ? { whole: true } : {})
  const filled = isCount ? withColumnsPlan(engine, pivoted, zeros(names.map(String))) : pivoted
  const order = [...rows, ...names.map(String)]
  return fieldsOf(filled.element).length === order.length ? filled : selectPlan(filled, order)
}

function member(name: string): Callback {
  return madeFunction(columnOf(name), `(row) => ${memberText(name)}`, (row) => row[name]).original
}

function members(names: readonly string[]): Callback {
  const fields = names.map((name) => ({ name, value: columnOf(name) }))
  const text = `(row) => ({ ${names.map((name) => `${keyText(name)}: ${memberText(name)}`).join(', ')} })`
  return madeFunction(objectOf(fields), text, (row) => Object.fromEntries(names.map((name) => [name, row[name]]))).original
}

/** The function that gives the cell in rows of that column, and null elsewhere. It throws where the column's value is of another kind than the names. */
function cellOf(cell: string, columns: string, value: Primitive, kind: string | undefined): Callback {
  const isNaNValue = typeof value === 'number' && Number.isNaN(value)
  const column = columnOf(columns)
  const isIts: Expr = isNaNValue ? isNaNOf(column) : equals(column, literalOf(value ?? null))
  const text = `(row) => ${memberText(columns)} is ${valueText(value)} ? cell : null`
  const same = (given: unknown): boolean => (isNaNValue ? Number.isNaN(given) : given === (value ?? null))
  const odd = `the names of pivot() are values of "${columns}", and of another kind than this one`
  const checks = kind === undefined ? [] : [thrownFor(hasOtherKind(column, kind), odd)]
  const original = (row: Row): unknown => {
    if (kind !== undefined && row[columns] != null && typeof row[columns] !== kind) throw new TypeError(odd)
    return same(row[columns]) ? row[cell] : null
  }
  return madeFunction(chosen(isIts, columnOf(cell), literalOf(null)), text, original, checks).original
}

/** The columns with null replaced by 0: the count of cells without rows. */
function zeros(names: readonly string[]): Callback {
  const text = `(row) => ({ ${names.map((name) => `${keyText(name)}: ${memberText(name)} ?? 0`).join(', ')} })`
  const fields = names.map((name) => ({ name, value: orElse(columnOf(name), literalOf(0)) }))
  return madeFunction(objectOf(fields), text, (row) => Object.fromEntries(names.map((name) => [name, row[name] ?? 0]))).original
}
