/**
 * The node behind `joinAsof`: for each row of the left side the nearest row of the right side in an order that both have, as the last quote
 * before a trade.
 *
 *     trades.joinAsof(quotes, { on: 'at', by: 'symbol' })       { …trade, price }     the last quote of the symbol at or before `at`
 */
import { checkOneOf } from '../arguments.ts'
import type { ElementType } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import { columnOf, madeFunction, memberText } from '../ir/madeFunctions.ts'
import { checkOptions } from '../options.ts'
import { type JoinOnAny, joinElement, joinKey } from './combinations.ts'
import { elementText, ROW_NUMBERS, valueClassOf } from './elements.ts'
import type { AsofDirection, LogicalPlan, SidesBy } from './logicalPlan.ts'
import { type Callback, lowerFunction } from './transformations.ts'

export interface AsofOptionsAny {
  readonly on: JoinOnAny | Callback
  readonly by?: JoinOnAny | Callback
  readonly direction?: AsofDirection
  readonly tolerance?: number | bigint
  readonly suffix?: string
}

const DIRECTIONS: readonly AsofDirection[] = ['backward', 'forward', 'nearest']

export function asofPlan(engine: Lowering, left: LogicalPlan, right: LogicalPlan, options: AsofOptionsAny): LogicalPlan {
  checkOptions('joinAsof()', options, ['on', 'by', 'direction', 'tolerance', 'suffix'])
  const { direction = 'backward', tolerance, suffix = '_right' } = options
  checkOneOf('The direction of joinAsof()', direction, DIRECTIONS)
  if (typeof suffix !== 'string') throw new PlanError(`The suffix of joinAsof() is a string; it was given ${valueText(suffix)}.`)
  if (options.on === undefined || Array.isArray(options.on))
    throw new PlanError(
      `joinAsof() needs one value of both sides that orders them, as in joinAsof(quotes, { on: 'at' }); its on was given ${valueText(options.on)}.`,
    )
  checkTolerance(tolerance)
  const near = tolerance === undefined ? {} : { tolerance }
  const by = options.by === undefined ? {} : { by: options.by }
  return asofNode(engine, left, right, { on: options.on, ...by, direction, ...near, suffix })
}

/** Checked arguments. `shared`: the columns that are in the result once, for sides that are functions already. */
interface AsofGiven extends AsofOptionsAny {
  readonly direction: AsofDirection
  readonly suffix: string
  readonly shared?: readonly string[]
}

/** Makes the node from checked arguments; its inputs tell its types. */
export function asofNode(engine: Lowering, left: LogicalPlan, right: LogicalPlan, given: AsofGiven): LogicalPlan {
  const { direction, tolerance, suffix } = given
  const on = sidesBy(engine, left, right, given.on)
  const by = given.by === undefined ? undefined : sidesBy(engine, left, right, given.by)
  const measures = tolerance !== undefined || direction === 'nearest'
  checkOrder(engine, left, on.left, measures)
  checkOrder(engine, right, on.right, measures)
  const shared = given.shared ?? [...(by?.shared ?? []), ...(on.shared ?? [])]
  const sides = { on: pair(on), ...(by === undefined ? {} : { by: pair(by) }) }
  const rest = { direction, ...(tolerance === undefined ? {} : { tolerance }), suffix, shared }
  const plan = { kind: 'AsofJoin', left, right, ...sides, ...rest, keys: ROW_NUMBERS } as const
  return { ...plan, element: asofElement(plan) }
}

/** The result's row type: the left columns, then the right ones, which may be null. */
export function asofElement({ left, right, on, suffix, shared }: Omit<Extract<LogicalPlan, { kind: 'AsofJoin' }>, 'element'>): ElementType {
  return joinElement(left, right, { on: { kind: 'functions', ...on, shared }, how: 'left', suffix })
}

interface Sides extends SidesBy {
  readonly shared?: readonly string[]
}

function pair({ left, right }: Sides): SidesBy {
  return { left, right }
}

/** Lowers the sides, given as names of common columns, as one function for both, or as one for each. */
function sidesBy(engine: Lowering, left: LogicalPlan, right: LogicalPlan, given: JoinOnAny | Callback): Sides {
  const key = joinKey(engine, left, right, typeof given === 'function' ? { left: given, right: given } : given, 'joinAsof')
  switch (key.kind) {
    case 'functions':
      return key
    case 'column': {
      const { column } = key
      const f = (): Callback => madeFunction(columnOf(column), `(row) => ${memberText(column)}`, (row) => row[column]).original
      const lowered = (input: LogicalPlan): UserFunction =>
        lowerFunction(engine, 'joinAsof', f(), { inputs: [input.element], takes: '(row)' }).f
      return { left: lowered(left), right: lowered(right), shared: [column] }
    }
    case 'none':
      return { left: given as never, right: given as never } // never the case: only cross joins have no key
  }
}

function checkOrder(engine: Lowering, input: LogicalPlan, f: UserFunction, measures: boolean): void {
  const returned = engine.returnedElement(f, { method: 'joinAsof', inputs: [input.element] })
  const is = returned.kind === 'scalar' ? valueClassOf(returned.type) : returned.kind === 'unknown' ? 'unknown' : 'other'
  if (is === 'other')
    throw new PlanError(
      `The on of joinAsof() is one number, bigint, string or Date; this function returns ${elementText(returned)}: ${f.text}\n` +
        'What has to be equal goes into by, as in { on: (row) => row.at, by: (row) => row.symbol }.',
      { span: f.span },
    )
  if (measures && is !== 'number' && is !== 'Date' && is !== 'bigint' && is !== 'unknown')
    throw new PlanError(
      `joinAsof() with a tolerance, or to the nearest, measures distances; this function returns ${elementText(returned)}: ${f.text}\n` +
        'Return a number, a bigint or a Date.',
      { span: f.span },
    )
}

function checkTolerance(tolerance: unknown): void {
  if (tolerance === undefined || (typeof tolerance === 'number' && tolerance >= 0) || (typeof tolerance === 'bigint' && tolerance >= 0n))
    return
  throw new PlanError(`The tolerance of joinAsof() is a number from 0 on, of dates in milliseconds; it was given ${valueText(tolerance)}.`)
}
