/**
 * The nodes behind the methods of DistArray that take one array: arguments are checked, and the element and the keys
 * of the result are derived, at the call.
 */

import { checkAxis, checkBoolean, checkCount, checkFraction, checkFunction, checkList, checkOneOf, checkSeed } from '../arguments.ts'
import { checkShape, type Shape } from '../arrays/indexSpace.ts'
import { keyRankOf } from '../arrays/keyRank.ts'
import { fieldsByName } from '../data/fieldPositions.ts'
import { type DType, type ElementType, type Field, fieldsOf } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering, RowLambdaContext } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import { madeOf } from '../ir/madeFunctions.ts'
import { withEnv } from '../ir/withEnv.ts'
import { missingColumnMessage } from '../nearestNames.ts'
import { checkOptions } from '../options.ts'
import {
  arrayElement,
  elementOfType,
  elementText,
  plainElement,
  ROW_NUMBERS,
  rankOf,
  thinned,
  UNKNOWN_ELEMENT,
  valueClassOf,
  withFields,
} from './elements.ts'
import { type Directions, type Keys, type LogicalPlan, labelOf } from './logicalPlan.ts'

/** Any callback: parameters are checked where the method is declared. */
export type Callback = (...args: never[]) => unknown

/** Lowers a callback of `(value, key)`, and tells the element it returns. */
export function lowerRowFunction(
  engine: Lowering,
  input: LogicalPlan,
  method: string,
  f: Callback,
  action: Pick<RowLambdaContext, 'isAction'> = {},
): { f: UserFunction; returned: ElementType } {
  checkFunction(`${method}()`, f, '(value, key)')
  return lower(engine, f, { method, inputs: [input.element], key: { argument: 1, rank: rankOf(input.keys) }, ...action })
}

/** Lowers a callback that takes elements and no key. */
export function lowerFunction(
  engine: Lowering,
  method: string,
  f: Callback,
  { takes, ...context }: Pick<RowLambdaContext, 'inputs' | 'isAction'> & { readonly takes: string },
): { f: UserFunction; returned: ElementType } {
  checkFunction(`${method}()`, f, takes)
  return lower(engine, f, { method, ...context })
}

function lower(engine: Lowering, f: Callback, context: RowLambdaContext): { f: UserFunction; returned: ElementType } {
  const lowered = madeOf(f) ?? engine.lowerRowLambda(f, context)
  return { f: lowered, returned: engine.returnedElement(lowered, context) }
}

/** The rows with the columns alone that a function names, where it sees nothing else of them. */
export function withColumnsNamed(input: LogicalPlan, named: readonly string[] | undefined): LogicalPlan {
  if (named === undefined || input.element.kind !== 'row') return input
  const all = input.element.fields.map(({ name }) => name)
  const read = all.filter((name) => named.includes(name))
  const columns = read.length === 0 ? all.slice(0, 1) : read
  return columns.length === all.length ? input : selectPlan(input, columns)
}

export function mapPlan(engine: Lowering, input: LogicalPlan, callback: Callback): LogicalPlan {
  const { f, returned } = lowerRowFunction(engine, input, 'map', callback)
  return { kind: 'Map', input, f, element: arrayElement(returned), keys: input.keys }
}

export function filterPlan(engine: Lowering, input: LogicalPlan, callback: Callback): LogicalPlan {
  const { f } = lowerRowFunction(engine, input, 'filter', callback)
  return { kind: 'Filter', input, f, element: input.element, keys: thinned(input.keys) }
}

export function withColumnsPlan(engine: Lowering, input: LogicalPlan, callback: Callback): LogicalPlan {
  requireRows(input, 'withColumns')
  const { f, returned } = lowerRowFunction(engine, input, 'withColumns', callback)
  if (returned.kind === 'scalar' && returned.type.kind !== 'unknown') {
    throw new PlanError(
      `withColumns() takes a function that returns an object of columns; this one returns ${elementText(returned)}: ${f.text}\n` +
        'Name the column, as in withColumns((row) => ({ total: row.price * row.quantity })).',
      { span: f.span },
    )
  }
  const known = returned.kind === 'row' && input.element.kind === 'row'
  const element = known ? withFields(input.element, fieldsOf(returned)) : UNKNOWN_ELEMENT
  return { kind: 'WithColumns', input, f, element, keys: input.keys }
}

export function flatMapPlan(engine: Lowering, input: LogicalPlan, callback: Callback): LogicalPlan {
  const { f, returned } = lowerRowFunction(engine, input, 'flatMap', callback)
  return { kind: 'FlatMap', input, f, element: itemOf(returned, f), keys: ROW_NUMBERS }
}

function itemOf(returned: ElementType, f: UserFunction): ElementType {
  if (returned.kind === 'scalar' && returned.type.kind === 'list') return elementOfType(returned.type.item, false)
  if (returned.kind === 'unknown' || (returned.kind === 'scalar' && valueClassOf(returned.type) === 'unknown')) return UNKNOWN_ELEMENT
  throw new PlanError(
    `flatMap() takes a function that returns an array; this one returns ${elementText(returned)}: ${f.text}\nUse map() for one element each.`,
    { span: f.span },
  )
}

export function mapPartitionsPlan(engine: Lowering, input: LogicalPlan, callback: Callback): LogicalPlan {
  const { f } = lowerFunction(engine, 'mapPartitions', callback, {
    inputs: [UNKNOWN_ELEMENT, UNKNOWN_ELEMENT],
    takes: '(values, partition)',
  })
  return { kind: 'MapPartitions', input, f, element: UNKNOWN_ELEMENT, keys: ROW_NUMBERS }
}

export function selectPlan(input: LogicalPlan, columns: readonly string[]): LogicalPlan {
  requireRows(input, 'select')
  if (columns.length === 0) throw new PlanError("select() needs at least one column, as in select('id').")
  for (const given of columns) if (typeof given !== 'string') throw new PlanError(notNames(given))
  const given = new Set<string>()
  for (const name of columns) {
    if (given.has(name)) throw new PlanError(`select() was given the column "${name}" twice.`)
    given.add(name)
  }
  const { element } = input
  const known = fieldsByName(fieldsOf(element))
  const fields = columns.map((name): Field => {
    if (element.kind !== 'row') return { name, type: { kind: 'unknown' }, nullable: true }
    const field = known.get(name)
    if (field === undefined) throw new PlanError(missingColumnMessage(name, element.fields, labelOf(input)))
    return field
  })
  return { kind: 'Project', input, columns: [...columns], element: { kind: 'row', fields }, keys: input.keys }
}

/** The message for arguments that are no names: a list of names, or a function, as other libraries take them. */
function notNames(given: unknown): string {
  const names: readonly unknown[] =
    Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === 'string') ? given : ['id', 'price']
  const cure =
    typeof given === 'function'
      ? 'For what a function returns use map().'
      : `Write select(${names.map((name) => `'${String(name)}'`).join(', ')}).`
  return `select() takes names of columns, one after another; it was given ${valueText(given)}. ${cure}`
}

export function requireRows(input: LogicalPlan, method: string): void {
  if (input.element.kind !== 'scalar' || input.element.type.kind === 'unknown') return
  throw new PlanError(
    `${method}() works on rows with columns; the elements of this array are ${elementText(input.element)}.\n` +
      'Make rows of them first, as in map((value) => ({ value })).',
  )
}

export interface IndexOptions {
  readonly combine?: Callback
  readonly shape?: Shape
  readonly storage?: 'dense' | 'sparse'
  readonly env?: object
}

export function indexPlan(engine: Lowering, input: LogicalPlan, callback: Callback, options: IndexOptions): LogicalPlan {
  checkOptions('index()', options, ['combine', 'shape', 'storage', 'env'])
  const { f, returned } = lowerRowFunction(engine, input, 'index', withEnv('index', callback, options))
  const isArray =
    returned.kind === 'unknown' ||
    (returned.kind === 'scalar' && (returned.type.kind === 'list' || valueClassOf(returned.type) === 'unknown'))
  if (!isArray) {
    throw new PlanError(
      `index() takes a function that returns an array of integers, the key; this one returns ${elementText(returned)}: ${f.text}\n` +
        'A key of one axis is an array too, as in index((row) => [row.id]).',
      { span: f.span },
    )
  }
  const { shape, storage } = options
  if (shape !== undefined) {
    checkList('The shape of index()', shape)
    checkShape('index() with a shape', shape)
  }
  if (storage !== undefined) checkOneOf('The storage of index()', storage, ['dense', 'sparse'])
  const rank = keyRankOf(f) ?? shape?.length
  if (rank === undefined) {
    throw new PlanError(
      `index() cannot see how many axes the keys have: ${f.text}\n` +
        'Return an array literal, as in index((row) => [row.user, row.movie]), or give the shape: index(f, { shape: [users, movies] }).',
      { span: f.span },
    )
  }
  if (shape !== undefined && shape.length !== rank) {
    throw new PlanError(
      `index() was given a shape of ${axesText(shape.length)}, and a function that returns keys of ${axesText(rank)}: ${f.text}`,
      {
        span: f.span,
      },
    )
  }
  const combine =
    options.combine === undefined
      ? undefined
      : lowerFunction(engine, 'index', options.combine, { inputs: [input.element, input.element], takes: '(a, b)' }).f
  const keys: Keys = { kind: 'explicit', rank, dense: storage === 'dense', ...(shape === undefined ? {} : { shape }) }
  return {
    kind: 'Index',
    input,
    f,
    element: plainElement(input.element),
    keys,
    ...(combine === undefined ? {} : { combine }),
    ...(shape === undefined ? {} : { shape }),
    ...(storage === undefined ? {} : { storage }),
  }
}

function axesText(rank: number): string {
  return rank === 1 ? '1 axis' : `${rank} axes`
}

export function sortPlan(
  engine: Lowering,
  input: LogicalPlan,
  callback: Callback,
  options: { readonly descending?: boolean; readonly env?: object },
): LogicalPlan {
  checkOptions('sortBy()', options, ['descending', 'env'])
  const by = withEnv('sortBy', callback, options, 1)
  const f = sortedBy(engine, input, by)
  const { descending = false } = options
  if (Array.isArray(descending)) {
    throw new PlanError(
      'The descending of sortBy() is true or false, for all values of the key; it was given an array.\n' +
        "Give each value its order, as in sortBy([{ by: (row) => row.name }, { by: (row) => row.price, order: 'descending' }]).",
    )
  }
  checkBoolean('The descending of sortBy()', descending)
  return sortNode(input, f, descending)
}

/** Lowers the function of a sort key, and checks that its values have an order. */
export function sortedBy(engine: Lowering, input: LogicalPlan, by: Callback): UserFunction {
  const { f, returned } = lowerFunction(engine, 'sortBy', by, { inputs: [input.element], takes: '(value)' })
  checkOrdered('sortBy()', f, returned)
  return f
}

export function sortNode(input: LogicalPlan, by: UserFunction, descending: Directions): LogicalPlan {
  return { kind: 'Sort', input, by, descending, element: input.element, keys: ROW_NUMBERS }
}

/** Throws PlanError where a function returns values without an order. */
export function checkOrdered(what: string, f: UserFunction, returned: ElementType): void {
  const orderless =
    returned.kind === 'row' || (returned.kind === 'scalar' && (returned.type.kind === 'struct' || returned.type.kind === 'binary'))
  if (!orderless) return
  throw new PlanError(
    `${what} takes a function that returns a number, bigint, string, boolean or Date, or an array of them; this one returns ${elementText(returned)}: ${f.text}\n` +
      'To sort by several values, return them in an array, the most important first.',
    { span: f.span },
  )
}

export function distinctPlan(input: LogicalPlan): LogicalPlan {
  return { kind: 'Distinct', input, element: input.element, keys: ROW_NUMBERS }
}

export type SampleGiven = number | SampleCount
interface SampleCount {
  readonly n: number
  readonly seed?: number
}

export function samplePlan(engine: Lowering, input: LogicalPlan, given: SampleGiven, options?: { readonly seed?: number }): LogicalPlan {
  if (typeof given === 'object' && given !== null) return drawPlan(engine, input, given, options)
  checkFraction('The fraction of sample()', given)
  checkOptions('sample()', options ?? {}, ['seed'])
  const seed = options?.seed ?? engine.seed
  checkSeed('The seed of sample()', seed)
  return { kind: 'Sample', input, fraction: given, seed, element: input.element, keys: thinned(input.keys) }
}

function drawPlan(engine: Lowering, input: LogicalPlan, given: SampleCount, second: unknown): LogicalPlan {
  checkOptions('sample()', given, ['n', 'seed'])
  if (second !== undefined)
    throw new PlanError('sample() by a number of elements takes its seed beside n, as in sample({ n: 1000, seed: 7 }).')
  const { n, seed = engine.seed } = given
  checkCount('The n of sample()', n, 0)
  checkSeed('The seed of sample()', seed)
  return { kind: 'Draw', input, count: n, seed, element: input.element, keys: thinned(input.keys) }
}

export function limitPlan(input: LogicalPlan, count: number, method = 'limit'): LogicalPlan {
  checkCount(`The number of elements of ${method}()`, count, 0)
  return { kind: 'Limit', input, count, element: input.element, keys: thinned(input.keys) }
}

/** All elements but the first `offset`; for a negative number only the last `-offset`. */
export function offsetPlan(input: LogicalPlan, offset: number): LogicalPlan {
  return { kind: 'Offset', input, offset, element: input.element, keys: thinned(input.keys) }
}

export function tailPlan(input: LogicalPlan, count: number): LogicalPlan {
  checkCount('The number of elements of tail()', count, 0)
  return count === 0 ? limitPlan(input, 0) : offsetPlan(input, -count)
}

/** At most `count` elements from position `offset` on. */
export function slicePlan(input: LogicalPlan, count: number, options: { readonly offset?: number }): LogicalPlan {
  checkOptions('limit()', options, ['offset'])
  const { offset = 0 } = options
  checkCount('The offset of limit()', offset, 0)
  if (offset === 0) return limitPlan(input, count)
  checkCount('The number of elements of limit()', count, 0)
  return offsetPlan(limitPlan(input, Math.min(Number.MAX_SAFE_INTEGER, count + offset)), offset)
}

export function repartitionPlan(
  engine: Lowering,
  input: LogicalPlan,
  options: { readonly partitions?: number; readonly by?: Callback },
): LogicalPlan {
  checkOptions('repartition()', options, ['partitions', 'by'])
  const { partitions } = options
  if (partitions !== undefined) checkCount('The number of partitions of repartition()', partitions, 1)
  const by = options.by === undefined ? undefined : lowerRowFunction(engine, input, 'repartition', options.by).f
  if (partitions === undefined && by === undefined) {
    throw new PlanError(
      'repartition() needs the number of partitions, a function to cut by, or both, as in repartition({ partitions: 8 }).',
    )
  }
  return {
    kind: 'Repartition',
    input,
    ...(partitions === undefined ? {} : { partitions }),
    ...(by === undefined ? {} : { by }),
    element: input.element,
    keys: input.keys,
  }
}

export function shuffleKeysPlan(input: LogicalPlan, options: { readonly axes: readonly number[]; readonly seed: number }): LogicalPlan {
  checkOptions('shuffleKeys()', options, ['axes', 'seed'])
  const { axes, seed } = options
  checkList('The axes of shuffleKeys()', axes)
  checkSeed('The seed of shuffleKeys()', seed)
  if (axes.length === 0) throw new PlanError('shuffleKeys() needs at least one axis, as in shuffleKeys({ axes: [0], seed: 1 }).')
  for (const [i, axis] of axes.entries()) {
    checkAxis('shuffleKeys()', axis, rankOf(input.keys))
    if (axes.indexOf(axis) !== i) throw new PlanError(`shuffleKeys() was given the axis ${axis} twice.`)
  }
  return { kind: 'ShuffleKeys', input, axes: [...axes], seed, element: input.element, keys: input.keys }
}

const DTYPES: readonly DType[] = ['f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool']

export function castPlan(input: LogicalPlan, dtype: DType): LogicalPlan {
  checkOneOf('The dtype of cast()', dtype, DTYPES)
  const { element } = input
  const isNumeric = element.kind === 'scalar' && ['number', 'bigint', 'boolean', 'unknown'].includes(valueClassOf(element.type))
  if (!isNumeric && element.kind !== 'unknown') {
    throw new PlanError(
      `cast('${dtype}') works on numbers; the elements of this array are ${elementText(element)}.\n` +
        (element.kind === 'row'
          ? 'Take a column first, as in map((row) => row.price).'
          : 'Convert them first, as in map((value) => Number(value)).'),
    )
  }
  const nullable = element.kind !== 'scalar' || element.nullable
  return { kind: 'Cast', input, dtype, element: { kind: 'scalar', type: { kind: dtype }, nullable }, keys: input.keys }
}

export function materializePlan(input: LogicalPlan): LogicalPlan {
  return { kind: 'Materialize', input, element: input.element, keys: input.keys }
}

/** The same elements without any column: all that counting needs. */
export function countPlan(input: LogicalPlan): LogicalPlan {
  return { kind: 'Project', input, columns: [], element: { kind: 'row', fields: [] }, keys: input.keys }
}
