/**
 * The node behind `window`: partitions, order and frame are checked, and the columns that it adds are known, at the call.
 *
 *     window({ by: (r) => r.user, orderBy: (r) => r.at }, { n: rowNumber(), total: sum((r) => r.amount) })     { …, n, total }
 */
import { checkBoolean } from '../arguments.ts'
import type { ElementType, Field } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import { withEnv } from '../ir/withEnv.ts'
import { checkOptions } from '../options.ts'
import { isAggregate } from './aggregates.ts'
import { asColumnType, F64, UNKNOWN_ELEMENT, valueClassOf, withFields } from './elements.ts'
import { aggregateType, evaluated } from './groupPlan.ts'
import type { Directions, LogicalPlan, WindowCall, WindowFrame } from './logicalPlan.ts'
import { checkOrder, LIST, orderByList, type SortByAny } from './sortKeys.ts'
import { type Callback, checkOrdered, lowerFunction, requireRows } from './transformations.ts'
import { isWindowFunction } from './windows.ts'

/** The first argument of `window`, for rows of any type. */
export interface WindowOverAny {
  readonly by?: Callback
  readonly orderBy?: OrderBy
  readonly descending?: boolean
  readonly frame?: { readonly rows?: FrameEndsAny; readonly range?: FrameEndsAny }
  readonly env?: object
}
type FrameEndsAny = readonly (number | null)[]
/** A function, or a list of values that have an order each. */
type OrderBy = Callback | readonly (SortByAny | Callback)[]

/** A checked window function and the name of its column. */
export interface NamedWindow {
  readonly name: string
  readonly kind: WindowCall['kind']
  readonly of?: Callback
  readonly n?: number
  readonly ignoresNulls?: true
}

export function windowPlan(
  engine: Lowering,
  input: LogicalPlan,
  over: WindowOverAny,
  functions: Readonly<Record<string, unknown>>,
): LogicalPlan {
  checkOptions('window()', over, ['by', 'orderBy', 'descending', 'frame', 'env'])
  if (typeof functions !== 'object' || functions === null) {
    throw new PlanError(
      `window() takes an object of window functions after the window, as in window({ orderBy: (row) => row.at }, { n: rowNumber() }); it was given ${valueText(functions)}.`,
    )
  }
  const entries = Object.entries(functions)
  if (entries.length === 0) throw new PlanError('window() needs at least one window function, as in { n: rowNumber() }.')
  const { by, orderBy, descending = false, frame } = over
  checkBoolean('The descending of window()', descending)
  if (descending && isList(orderBy))
    throw new PlanError(
      "The orderBy of window() is a list, whose values have an order each. Write it there, as in orderBy: [{ by: (row) => row.price, order: 'descending' }].",
    )
  checkOrder(orderBy, over, 'window')
  const given = {
    ...(by === undefined ? {} : { by: withEnv('window', by, over, 1) }),
    ...(orderBy === undefined
      ? {}
      : { orderBy: isList(orderBy) ? orderBy.map((key) => withEnvOf(key, over)) : withEnv('window', orderBy, over, 1) }),
    descending,
    frame: checkedFrame(frame, orderBy !== undefined),
  }
  const calls = entries.map(([name, one]) => ({ name, ...checked(name, one, orderBy !== undefined) }))
  return windowNode(engine, input, given, calls)
}

/** Gives a key of the order the window's `env`, unless it has its own. */
function withEnvOf(key: SortByAny | Callback, { env }: WindowOverAny): SortByAny | Callback {
  if (env === undefined || (typeof key !== 'function' && typeof key?.by !== 'function')) return key // what is no key is refused later
  return { env, ...(typeof key === 'function' ? { by: key } : key) }
}

/** The parts of a window that were checked. */
export interface WindowGiven {
  readonly by?: Callback
  readonly orderBy?: OrderBy
  /** The direction of an order by one function; a list's keys have their own. */
  readonly descending: Directions
  readonly frame: WindowFrame
}

function isList(orderBy: OrderBy | undefined): orderBy is Exclude<OrderBy, Callback> {
  return Array.isArray(orderBy)
}

/** Makes the node from checked arguments; its input tells its types. */
export function windowNode(
  engine: Lowering,
  input: LogicalPlan,
  { by, orderBy, descending, frame }: WindowGiven,
  functions: readonly NamedWindow[],
): LogicalPlan {
  requireRows(input, 'window')
  const lowered = (f: Callback) => lowerFunction(engine, 'window', f, { inputs: [input.element], takes: '(row)' })
  const key = by && lowered(by).f
  const order = orderBy && (isList(orderBy) ? orderByList(engine, input, orderBy, 'window') : { ...lowered(orderBy), descending })
  if (order !== undefined) {
    if (!isList(orderBy)) checkOrdered('The orderBy of window()', order.f, order.returned)
    if (measuresOrder(frame)) checkMeasured(order, orderBy)
  }
  const calls = functions.map((one) => callOf(engine, input, one))
  const fields = calls.map(({ field }) => field)
  return {
    kind: 'Window',
    input,
    ...(key === undefined ? {} : { by: key }),
    ...(order === undefined ? {} : { orderBy: order.f }),
    descending: order?.descending ?? descending,
    frame,
    calls: calls.map(({ call }) => call),
    element: input.element.kind === 'row' ? withFields(input.element, fields) : UNKNOWN_ELEMENT,
    keys: input.keys,
  }
}

/** Whether the frame's ends are distances between values of the order; otherwise rows or peers bound it. */
export function measuresOrder({ kind, from, to }: WindowFrame): boolean {
  return kind === 'range' && ((from ?? 0) !== 0 || (to ?? 0) !== 0)
}

interface Measured {
  readonly f: UserFunction
  readonly returned: ElementType
}

function checkMeasured({ f, returned }: Measured, given: OrderBy | undefined): void {
  if (isList(given) && given.length === 1 && returned === LIST)
    throw new PlanError(
      `A frame by range measures from the values on, and nulls have no distance: they come last, and not first as here: ${f.text}\n` +
        "Take the nulls: 'first' away, or use a frame by rows, as in frame: { rows: [-6, 0] }.",
      { span: f.span },
    )
  const is = returned.kind === 'scalar' ? valueClassOf(returned.type) : returned.kind === 'unknown' ? 'unknown' : 'other'
  if (is === 'number' || is === 'Date' || is === 'unknown') return
  throw new PlanError(
    `A frame by range needs an orderBy that returns one number or Date, whose distances it measures: ${f.text}\n` +
      (is === 'bigint' ? 'Convert it, as in Number(row.at), or use' : 'Use') +
      ' a frame by rows, as in frame: { rows: [-6, 0] }.',
    { span: f.span },
  )
}

function checkedFrame(frame: WindowOverAny['frame'], isOrdered: boolean): WindowFrame {
  if (frame === undefined) return isOrdered ? { kind: 'range', from: null, to: 0 } : { kind: 'rows', from: null, to: null }
  checkOptions('The frame of window()', frame, ['rows', 'range'])
  const { rows, range } = frame
  const ends = rows ?? range
  if (ends === undefined || (rows !== undefined && range !== undefined)) {
    throw new PlanError(
      `The frame of window() is { rows: [from, to] } or { range: [from, to] }, as in { rows: [-6, 0] }; it was given ${givenText(frame)}.`,
    )
  }
  const kind = rows === undefined ? 'range' : 'rows'
  const [from, to] = Array.isArray(ends) ? ends : []
  if (!Array.isArray(ends) || ends.length !== 2 || from === undefined || to === undefined || !isEnd(from, kind) || !isEnd(to, kind)) {
    const what = kind === 'rows' ? 'whole numbers' : 'finite numbers'
    throw new PlanError(
      `The ${kind} of a frame ${kind === 'rows' ? 'are' : 'is'} two ${what}, or null for all, as in [-6, 0] or [null, 0]; it was given ${givenText(ends)}.`,
    )
  }
  if (from !== null && to !== null && from > to)
    throw new PlanError(`A frame from ${from} to ${to} has no rows: its first end lies behind its second. Write [${to}, ${from}].`)
  if (kind === 'range' && !isOrdered) {
    throw new PlanError(
      'A frame by range needs an orderBy, whose values it measures, as in window({ orderBy: (row) => row.at, frame: { range: [-60_000, 0] } }, …).',
    )
  }
  return { kind, from: from ?? null, to: to ?? null }
}

/** Writes an argument for messages, with the items of arrays and the fields of objects. */
function givenText(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(valueText).join(', ')}]`
  if (typeof given !== 'object' || given === null) return valueText(given)
  const fields = Object.entries(given).map(([name, value]) => `${name}: ${givenText(value)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

function isEnd(end: unknown, kind: WindowFrame['kind']): boolean {
  if (end === null) return true
  return typeof end === 'number' && (kind === 'rows' ? Number.isSafeInteger(end) : Number.isFinite(end))
}

const KINDS: readonly WindowCall['kind'][] = [
  ...(['rowNumber', 'rank', 'denseRank', 'percentRank', 'ntile', 'lag', 'lead', 'firstValue', 'lastValue'] as const),
  ...(['sum', 'mean', 'min', 'max', 'count', 'any', 'all'] as const),
]
/** The functions that need an order, without which all rows would have the same value. */
const RANKS: readonly WindowCall['kind'][] = ['rank', 'denseRank', 'percentRank']

function checked(name: string, one: unknown, isOrdered: boolean): Omit<NamedWindow, 'name'> {
  if (!isWindowFunction(one))
    throw new PlanError(
      `window() was given ${valueText(one)} as "${name}", which is not a window function.\nUse ${KINDS.join(', ')}, as in { n: rowNumber() }.`,
    )
  const kind = KINDS.find((known) => known === one.kind)
  if (kind === undefined)
    throw new PlanError(
      `There is no ${(isAggregate(one) ? one.called : undefined) ?? one.kind}() of a window, as "${name}" asks for. There are ${KINDS.join(', ')}.`,
    )
  if (RANKS.includes(kind) && !isOrdered)
    throw new PlanError(`${kind}() needs an orderBy, as in window({ orderBy: (row) => row.price }, { ${name}: ${kind}() }).`)
  const { of, n } = one
  const { ignoresNulls } = one
  return {
    kind,
    ...(of === undefined ? {} : { of: of as Callback }),
    ...(n === undefined ? {} : { n }),
    ...(ignoresNulls === undefined ? {} : { ignoresNulls }),
  }
}

function callOf(
  engine: Lowering,
  input: LogicalPlan,
  { name, kind, of, n, ignoresNulls }: NamedWindow,
): { readonly call: WindowCall; readonly field: Field } {
  const plain = { name, kind, ...(n === undefined ? {} : { n }), ...(ignoresNulls === undefined ? {} : { ignoresNulls }) }
  if (of === undefined) return { call: plain, field: { name, type: F64, nullable: false } }
  const { f, returned } = lowerFunction(engine, kind, of, { inputs: [input.element], takes: '(row)' })
  return { call: { ...plain, of: f }, field: { name, ...typeOf(kind, evaluated(f, returned), f) } }
}

function typeOf(kind: WindowCall['kind'], returned: ElementType, f: UserFunction): Pick<Field, 'type' | 'nullable'> {
  switch (kind) {
    case 'sum':
    case 'mean':
    case 'min':
    case 'max':
    case 'count':
    case 'any':
    case 'all':
      return aggregateType(kind, returned, f)
    case 'lag':
    case 'lead':
    case 'firstValue':
    case 'lastValue':
      return { type: asColumnType(returned).type, nullable: true }
    case 'rowNumber':
    case 'rank':
    case 'denseRank':
    case 'percentRank':
    case 'ntile':
      return { type: F64, nullable: false }
  }
}
