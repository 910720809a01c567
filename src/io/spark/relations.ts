/**
 * Translates operations on one table to relations of Spark.
 *
 * Each gives its columns names of their own (`c0`, `c1`, …): no name of the user's can mean another column, whatever the
 * server makes of upper case, dots, or the two sides of a join. Results are read by the places of their columns.
 */
import type { Directions, LogicalPlan, WindowCall } from '../../core/plan/logicalPlan.ts'
import { measuresOrder } from '../../core/plan/windowPlan.ts'
import type { Span } from '../../core/span.ts'
import { aggregate } from './aggregates.ts'
import { alias, bool, call, cast, column, double, int } from './expressions/build.ts'
import { columnsOfResult, type Result, resultOf, singleOf } from './expressions/functions.ts'
import { asColumn, asNumber, asTruth, codeUnits, columnValue, equalForm, isOf, type Value } from './expressions/values.ts'
import type {
  Expression,
  Expression_SortOrder,
  Expression_Window_WindowFrame,
  Expression_Window_WindowFrame_FrameBoundary,
  Relation,
} from './messages.ts'
import type { Scope } from './scope.ts'
import {
  argumentOf,
  elementFields,
  type Made,
  namesOf,
  newScope,
  projected,
  type SparkColumn,
  type Translated,
  type Translator,
} from './translated.ts'
import { Untranslated } from './untranslated.ts'

type Node<K extends LogicalPlan['kind']> = Extract<LogicalPlan, { readonly kind: K }>
/** Most rows of a limit or an offset: Spark counts them by 32 bits. */
const LARGEST_LIMIT = 2 ** 31 - 1
/** The span of operations without a function. */
const NOWHERE: Span = { line: 0, column: 0, text: '' }

export function mapped(plan: Node<'Map'>, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const result = resultOf(plan.f, [argumentOf(plan.input.element, input)], scope)
  return projected(input, columnsOfResult(result, plan.element, plan.f.span), { names: translator.names, scope })
}

export function filtered(plan: Node<'Filter'>, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const condition = asTruth(singleOf(plan.f, [argumentOf(plan.input.element, input)], scope), plan.f.span)
  return { ...input, relation: kept({ filter: { input: scope.over(input.relation, namesOf(input)), condition } }, input, scope) }
}

/** The relation without the columns that the scope has added. */
function kept(relation: Relation, { columns, relation: before }: Translated, scope: Scope): Relation {
  return scope.over(before, []) === before
    ? relation
    : { project: { input: relation, expressions: columns.map(({ name }) => column(name)) } }
}

export function widened(plan: Node<'WithColumns'>, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const result = resultOf(plan.f, [argumentOf(plan.input.element, input)], scope)
  if (result.kind !== 'row')
    throw new Untranslated('returns no object of columns', plan.f.span, 'Return an object whose fields are written there.')
  const made = elementFields(plan.element).map((field): Made => {
    const given = result.fields.findLast(({ name }) => name === field.name)
    const own = input.columns.find((one) => one.field.name === field.name)
    const value = given?.value ?? columnValue(own?.name ?? '', field.type, field.nullable)
    return { field, expr: asColumn(value, field.type, plan.f.span) }
  })
  return projected(input, made, { names: translator.names, scope })
}

export function selected(names: readonly string[], input: Translated, translator: Translator): Translated {
  const made = names.map((name): Made => {
    const found = input.columns.find(({ field }) => field.name === name)
    if (found === undefined) throw new Untranslated(`selects a column ${name}, which is not there`, undefined, 'Select others.')
    return { field: found.field, expr: column(found.name) }
  })
  return projected(input, made, { names: translator.names })
}

export function castTo(plan: Node<'Cast'>, input: Translated, translator: Translator): Translated {
  const [own] = input.columns
  const [field] = elementFields(plan.element)
  if (own === undefined || field === undefined || (plan.dtype !== 'f64' && plan.dtype !== 'f32'))
    throw new Untranslated(
      `casts to ${plan.dtype}, which Spark does by other rules`,
      undefined,
      "Use cast('f64'), or cast behind materialize().",
    )
  const value = columnValue(own.name, own.field.type, own.field.nullable)
  return projected(input, [{ field, expr: asColumn(value, field.type, NOWHERE) }], { names: translator.names })
}

export function limited(input: Translated, count: number): Translated {
  return count > LARGEST_LIMIT ? input : { ...input, relation: { limit: { input: input.relation, limit: count } } }
}

/** A sample of the rows that the server draws for a seed: others than are drawn here, as it goes by its own partitions. */
export function sampled({ fraction, seed }: Node<'Sample'>, input: Translated): Translated {
  const sample = { input: input.relation, lowerBound: 0, upperBound: fraction, withReplacement: false, seed: BigInt(Math.trunc(seed)) }
  return { ...input, relation: { sample } }
}

/** The input without its first `count` rows. */
export function without(input: Translated, count: number): Translated {
  return { ...input, relation: { offset: { input: input.relation, offset: Math.min(count, LARGEST_LIMIT) } } }
}

export function deduplicated(input: Translated, translator: Translator): Translated {
  const made = input.columns.map(({ name, field }) => ({
    field,
    expr: equalForm({ expr: column(name), type: field.type, is: isOf(field.type) }),
  }))
  const even = projected(input, made, { names: translator.names })
  return { ...even, relation: { deduplicate: { input: even.relation, allColumnsAsKeys: true } } }
}

export function united(plan: Node<'Union'>, inputs: readonly Translated[], translator: Translator): Translated {
  const fields = elementFields(plan.element)
  const sides = inputs.map((input) => {
    const made = fields.map((field): Made => {
      const own = input.columns.find((one) => one.field.name === field.name)
      const value = own === undefined ? undefined : columnValue(own.name, own.field.type, own.field.nullable)
      if (value === undefined) throw new Untranslated(`lacks a column ${field.name}`, undefined, 'Give all tables the same columns.')
      return { field, expr: asColumn(value, field.type, NOWHERE) }
    })
    return projected(input, made, { names: translator.names })
  })
  return sides.reduce((left, right) => ({
    columns: left.columns,
    relation: {
      setOp: { leftInput: left.relation, rightInput: right.relation, setOpType: 'SET_OP_TYPE_UNION', isAll: true, byName: false },
    },
  }))
}

export function sorted(plan: Node<'Sort'>, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const order = boundOrder(plan, input, scope)
  const sort: Relation = { sort: { input: scope.over(input.relation, namesOf(input)), order, isGlobal: true } }
  const all = { ...input, relation: kept(sort, input, scope) }
  return plan.limit === undefined ? all : limited(all, plan.limit)
}

/** The last `count` rows of an order, in that order. */
export function lastOf(plan: Node<'Sort'>, count: number, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const order = boundOrder(plan, input, scope)
  const turned = order.map(
    (one): Expression_SortOrder => ({
      ...one,
      direction: one.direction === 'SORT_DIRECTION_ASCENDING' ? 'SORT_DIRECTION_DESCENDING' : 'SORT_DIRECTION_ASCENDING',
      nullOrdering: 'SORT_NULLS_FIRST',
    }),
  )
  const backwards: Relation = { sort: { input: scope.over(input.relation, namesOf(input)), order: turned, isGlobal: true } }
  const last: Relation = { limit: { input: backwards, limit: Math.min(count, LARGEST_LIMIT) } }
  return { ...input, relation: kept({ sort: { input: last, order, isGlobal: true } }, input, scope) }
}

/** The order by keys that are made columns: sorting by anything else, Sail looks for columns named like what it has simplified. */
function boundOrder(plan: Node<'Sort'>, input: Translated, scope: Scope): readonly Expression_SortOrder[] {
  const result = resultOf(plan.by, [argumentOf(plan.input.element, input)], scope)
  return orderOf(result, plan.descending, plan.by.span).map((one) =>
    one.child === undefined ? one : { ...one, child: scope.bindExpr(one.child) },
  )
}

/** The sort orders of a key. Nulls come last in either direction, as they do here. */
function orderOf(
  result: Result,
  descending: Directions,
  span: Span,
  textOrder: (expr: Expression) => Expression = codeUnits,
): readonly Expression_SortOrder[] {
  const values = result.kind === 'value' ? [result.value] : result.kind === 'list' ? result.items : undefined
  if (values === undefined) throw new Untranslated('orders by an object', span, 'Order by a list of its values.')
  return values.map((value, item): Expression_SortOrder => {
    const { expr, is } = value
    const goesDown = typeof descending === 'boolean' ? descending : descending[item] === true
    if (is === 'other')
      throw new Untranslated('orders by lists of any length', span, 'Return the list in the function, as in [row.a, row.b].')
    const direction = goesDown ? 'SORT_DIRECTION_DESCENDING' : 'SORT_DIRECTION_ASCENDING'
    return { child: is === 'string' ? textOrder(expr) : equalForm(value), direction, nullOrdering: 'SORT_NULLS_LAST' }
  })
}

/** The columns of a key: its own, or its fields'. */
function keysOf(result: Result): readonly Value[] {
  switch (result.kind) {
    case 'value':
      return [result.value]
    case 'row':
      return result.fields.map(({ value }) => value)
    case 'list':
      return result.items
  }
}

export function grouped(plan: Node<'GroupBy'>, input: Translated, translator: Translator): Translated {
  const { by, how } = plan
  if (by.kind === 'axis') throw new Untranslated('groups by an axis of keys', undefined, 'Group before index().')
  if (how.kind !== 'agg')
    throw new Untranslated(`calls a function of whole groups (${how.kind})`, how.f.span, 'Use agg(), or fallback: "local".')
  const scope = newScope(translator)
  const argument = argumentOf(plan.input.element, input)
  const key = resultOf(by.f, [argument], scope)
  if (key.kind === 'list') throw new Untranslated('groups by a list', by.f.span, 'Group by an object, as in ({ a: row.a, b: row.b }).')
  const fields = elementFields(plan.element)
  const keyCount = fields.length - how.aggregates.length
  const keyFields = fields.slice(0, keyCount)
  const keyElement = key.kind === 'row' ? ({ kind: 'row', fields: keyFields } as const) : undefined
  const keys = (
    keyElement === undefined
      ? keysOf(key).map((value, i) => asColumn(value, keyFields[i]?.type ?? value.type, by.f.span))
      : columnsOfResult(key, keyElement, by.f.span).map(({ expr }) => expr)
  ).map((expr, i) => ({
    name: translator.names.next(),
    field: keyFields[i],
    expr: equalForm({ expr, type: keyFields[i]?.type ?? { kind: 'null' }, is: isOf(keyFields[i]?.type ?? { kind: 'null' }) }),
  }))
  const calls = how.aggregates.map((one) => {
    // arguments become columns first: aggregates take columns alone
    const argumentOfCall = (f: typeof one.of): { readonly name: string; readonly value: Value } | undefined =>
      f === undefined ? undefined : { name: translator.names.next(), value: scope.bind(singleOf(f, [argument], scope)) }
    return { one, name: translator.names.next(), value: argumentOfCall(one.of), second: argumentOfCall(one.second) }
  })
  const below = scope.over(input.relation, namesOf(input))
  const argumentColumns = calls.flatMap(({ value, second }) =>
    [value, second].flatMap((one) => (one === undefined ? [] : [alias(one.value.expr, one.name)])),
  )
  const prepared: Relation = {
    project: { input: below, expressions: [...keys.map(({ expr, name }) => alias(expr, name)), ...argumentColumns] },
  }
  const outputs = calls.map(({ one, name, value, second }) => {
    const of = value && { value: { ...value.value, expr: column(value.name) } }
    const other = second && { second: { ...second.value, expr: column(second.name) } }
    const over = (aggregated: Expression): Expression => aggregated
    return alias(aggregate({ kind: one.kind, q: one.q, span: one.of?.span, over, ...of, ...other }), name)
  })
  const relation: Relation = {
    aggregate: {
      input: prepared,
      groupType: 'GROUP_TYPE_GROUPBY',
      // without a key there is one group, of no rows as well
      groupingExpressions: how.whole === true ? [] : keys.map(({ name }) => column(name)),
      aggregateExpressions: outputs,
    },
  }
  const whole: Relation = {
    project: {
      input: relation,
      expressions: [...keys.map(({ name }) => alias(double(0), name)), ...calls.map(({ name }) => column(name))],
    },
  }
  const columns = [...keys.map(({ name }) => name), ...calls.map(({ name }) => name)].flatMap((name, i): SparkColumn[] => {
    const field = fields[i]
    return field === undefined ? [] : [{ name, field }]
  })
  return { relation: how.whole === true ? whole : relation, columns }
}

export function windowed(plan: Node<'Window'>, input: Translated, translator: Translator): Translated {
  const scope = newScope(translator)
  const argument = argumentOf(plan.input.element, input)
  const { by, orderBy, descending, frame } = plan
  const partitions = by === undefined ? [] : keysOf(resultOf(by, [argument], scope)).map((value) => scope.bindExpr(equalForm(value)))
  const order = orderBy === undefined ? undefined : resultOf(orderBy, [argument], scope)
  const orderBound = order === undefined || orderBy === undefined ? undefined : orderFor(order, plan, scope)
  const span = orderBy?.span ?? plan.calls[0]?.of?.span ?? NOWHERE
  // a frame by range is of values, and Sail has none of bytes; digits have their order
  const textOrder = frame.kind === 'range' ? (expr: Expression): Expression => call('hex', codeUnits(expr)) : codeUnits
  const sortOrder = orderBound === undefined ? [] : orderOf(orderBound, descending, span, textOrder)
  const frameSpec: Expression_Window_WindowFrame = {
    frameType: frame.kind === 'rows' ? 'FRAME_TYPE_ROW' : 'FRAME_TYPE_RANGE',
    lower: boundary(frame.from, frame.kind),
    upper: boundary(frame.to, frame.kind),
  }
  const over = (windowFunction: Expression, framed = true): Expression => ({
    window: { windowFunction, partitionSpec: partitions, orderSpec: sortOrder, ...(framed ? { frameSpec } : {}) },
  })
  const calls = plan.calls.map((one) =>
    windowCall(one, {
      over,
      isOrdered: orderBy !== undefined,
      moves: frame.from !== null,
      value: (f) => scope.bind(singleOf(f, [argument], scope)),
    }),
  )
  const fields = elementFields(plan.element)
  const made = fields.map((field): Made => {
    const at = plan.calls.findLastIndex(({ name }) => name === field.name)
    const expr = calls[at]
    if (expr !== undefined) return { field, expr }
    const own = input.columns.find((one) => one.field.name === field.name)
    return { field, expr: column(own?.name ?? '') }
  })
  return projected(input, made, { names: translator.names, scope })
}

/** The order as a number, where a frame by range measures distances: dates as their milliseconds. */
function orderFor(order: Result, { frame, orderBy }: Node<'Window'>, scope: Scope): Result {
  if (order.kind === 'row' || orderBy === undefined) return order
  if (order.kind === 'list') return { kind: 'list', items: order.items.map((item) => scope.bind(item)) }
  const { value } = order
  if (!measuresOrder(frame)) return { kind: 'value', value: scope.bind(value) }
  // rows without a number are peers of each other alone, for both
  const number = asNumber({ ...value, nullable: false }, orderBy.span)
  return { kind: 'value', value: scope.bind({ ...value, is: 'number', type: { kind: 'f64' }, expr: number }) }
}

function boundary(end: number | null, kind: 'rows' | 'range'): Expression_Window_WindowFrame_FrameBoundary {
  if (end === null) return { unbounded: true }
  if (end === 0) return { currentRow: true }
  if (kind === 'range') return { value: double(end) }
  return Math.abs(end) > LARGEST_LIMIT ? { unbounded: true } : { value: int(end) }
}

interface WindowContext {
  readonly over: (windowFunction: Expression, framed?: boolean) => Expression
  readonly isOrdered: boolean
  readonly moves: boolean
  readonly value: (f: NonNullable<WindowCall['of']>) => Value
}

function windowCall({ kind, of, n, name, ignoresNulls }: WindowCall, { over, isOrdered, moves, value }: WindowContext): Expression {
  const argument = of === undefined ? undefined : value(of)
  const ofPlaces = (): void => {
    if (!isOrdered) throw new Untranslated(`numbers rows (${name} = ${kind}) that have no order`, of?.span, 'Give the window an orderBy.')
  }
  const numbered = (f: string, ...args: readonly Expression[]): Expression => {
    ofPlaces()
    return cast(over(call(f, ...args), false), 'DOUBLE')
  }
  switch (kind) {
    case 'rowNumber':
      return numbered('row_number')
    case 'rank':
      return numbered('rank')
    case 'denseRank':
      return numbered('dense_rank')
    case 'percentRank':
      return numbered('percent_rank')
    case 'ntile':
      return numbered('ntile', int(n ?? 1))
    case 'lag':
    case 'lead':
      ofPlaces()
      return over(call(kind, argument?.expr ?? int(1), int(n ?? 1)), false)
    case 'firstValue':
    case 'lastValue':
      ofPlaces()
      return over(call(kind === 'firstValue' ? 'first' : 'last', argument?.expr ?? int(1), bool(ignoresNulls === true)))
    case 'sum':
    case 'mean':
    case 'min':
    case 'max':
    case 'count':
    case 'any':
    case 'all':
      return aggregate({ kind, span: of?.span, over, moves, ...(argument === undefined ? {} : { value: argument }) })
  }
}
