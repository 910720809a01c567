/**
 * Lowers methods of short lists whose elements are known one by one: literals and captured lists. The work for each element is unrolled.
 *
 *     [r.a, r.b].some((v) => v > 9)                       -->   r.a > 9 || r.b > 9
 *     [r.a, r.b].indexOf(3)                               -->   r.a === 3 ? 0 : r.b === 3 ? 1 : -1
 *     bands.find(([low, high]) => x >= low && x < high)   -->   bands[x >= 0 && x < 20 ? 0 : x >= 20 && x < 60 ? 1 : -1]
 *     near.filter(([dx, dy]) => f(dx, dy)).length         -->   (f(-1, 0) ? 1 : 0) + (f(1, 0) ? 1 : 0)
 *
 * Elements are asked in order, and none after the one that answers.
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { Builtin, Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { nestedRow } from '../captures/capturedLookups.ts'
import { asTest, binary, conditional, isBoolean, literal, logical, makeIf, truth } from '../lower/build.ts'
import { inputElement } from '../lower/context.ts'
import { comparesObjects } from '../lower/dates.ts'
import type { Lowering } from '../lower/lowering.ts'
import { memberValue } from '../lower/members.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { countInRowList } from '../rowLists.ts'
import { eachElement, elementsOf } from './listElements.ts'
import { written } from './literals.ts'

/** Most elements of a list whose methods are unrolled. */
const MOST_ELEMENTS = 64
/** Most numbers of a literal that a loop body unrolls; longer lists lie in the memory of its kernel, where loops go through them. */
const MOST_IN_BODIES = 8

interface Short {
  readonly list: Value
  readonly length: number
  readonly item: (index: number) => Value
  readonly node: CallExpression
}

/** Lowers a method of a short list; undefined for other lists and methods, and for arguments that are not written out. */
export function shortListMethod(l: Lowering, given: Value, name: string, node: CallExpression): Value | undefined {
  const length = lengthOf(given)
  if (length === undefined || length > MOST_ELEMENTS || node.optional) return undefined
  if (node.arguments.some((one) => one.type === 'SpreadElement')) return undefined
  const before = l.out.length
  const list = given.kind === 'tuple' ? l.stabilizedValue(given) : given
  const short: Short = { list, length, item: (index) => memberValue(l, list, String(index), node), node }
  const [first, second, ...more] = node.arguments as Expression[] // none is spread
  const method = more.length > 0 || first === undefined ? undefined : METHODS.get(name)
  const done = method?.(l, short, first as Expression, second) ?? (name === 'join' ? joined(l, short, first, second) : undefined)
  if (done === undefined) l.out.length = before // its elements are lowered again
  return done
}

/** Whether a loop's body unrolls the methods of a list, though it has memory for lists. */
export function isWrittenOut(over: Value): boolean {
  const items = over.kind === 'tuple' ? over.items : undefined
  return items !== undefined && (items.length <= MOST_IN_BODIES || items.some((item) => item.kind !== 'expr'))
}

function lengthOf(over: Value): number | undefined {
  if (over.kind === 'tuple') return over.items.length
  if (over.kind === 'stored') return over.storage.kind === 'items' ? over.storage.items.length : undefined
  return over.kind === 'data' && Array.isArray(over.value) && Object.keys(over.value).length === over.value.length
    ? over.value.length
    : undefined
}

type ShortMethod = (l: Lowering, short: Short, first: Expression, second: Expression | undefined) => Value | undefined

const some: ShortMethod = (l, short, f, self) => searched(l, short, f, self, { found: () => true, none: false })
const METHODS: ReadonlyMap<string, ShortMethod> = new Map<string, ShortMethod>([
  ['some', some],
  ['every', (l, short, f, self) => searched(l, short, f, self, { found: () => false, none: true, wanted: false })],
  ['find', (l, short, f, self) => foundElement(l, short, f, self, {})],
  ['findLast', (l, short, f, self) => foundElement(l, short, f, self, { fromEnd: true })],
  ['findIndex', (l, short, f, self) => searched(l, short, f, self, { found: (i) => i, none: -1 })],
  ['findLastIndex', (l, short, f, self) => searched(l, short, f, self, { found: (i) => i, none: -1, fromEnd: true })],
  ['includes', (l, short, wanted, from) => compared(l, short, wanted, from, { found: () => true, none: false, isNan: true })],
  ['indexOf', (l, short, wanted, from) => compared(l, short, wanted, from, { found: (i) => i, none: -1 })],
  ['lastIndexOf', (l, short, wanted, from) => compared(l, short, wanted, from, { found: (i) => i, none: -1, fromEnd: true })],
  ['map', mapped],
  [
    'forEach',
    (l, short, f, self) => (each(l, short, f, self) === undefined ? undefined : exprValue(literal(undefined, l.span(short.node)))),
  ],
  ['reduce', reduced],
])

/** Returns a function that lowers the call of a callback for one element; undefined where the callback cannot be written out. */
function callback(
  l: Lowering,
  { list, item, node }: Short,
  given: Expression,
): ((index: number, before?: readonly Value[]) => Value) | undefined {
  const f = l.verbs.value(l, given)
  const span = l.span(node)
  if (f.kind === 'builtin' && OF_ONE.test(f.name)) {
    const { name } = f
    return (index) => {
      const of = l.scalarOrNothing(item(index), node)
      return of === undefined ? REFUSED : exprValue({ kind: 'Call', callee: name satisfies Builtin, args: [of], span })
    }
  }
  if (f.kind !== 'closure') return undefined
  return (index, before = []) => l.verbs.inline(l, f, [...before, item(index), exprValue(literal(index, span)), list], node)
}

/** Functions of the platform that take one argument, whatever else they are given. */
const OF_ONE = /^(Number|String|Boolean|isNaN|isFinite|(Number\.)?parseFloat|Number\.is\w+|Math\.(?!max|min|hypot|pow|atan2|imul)\w+)$/

interface Search {
  /** The answer for the element that was found, and for none. */
  readonly found: (index: number) => number | boolean
  readonly none: number | boolean
  /** The result of the test that is searched for; true where absent. */
  readonly wanted?: false
  readonly fromEnd?: true
}

function searched(l: Lowering, short: Short, f: Expression, self: Expression | undefined, search: Search): Value | undefined {
  const called = self === undefined ? callback(l, short, f) : undefined
  if (called === undefined) return undefined
  const { node } = short
  return firstThat(l, short, search, (index) => l.scalarOrNothing(called(index), node))
}

function compared(
  l: Lowering,
  short: Short,
  wanted: Expression,
  from: Expression | undefined,
  search: Search & { readonly isNan?: true },
): Value | undefined {
  if (from !== undefined) return undefined
  const { node, item } = short
  const span = l.span(node)
  const value = l.scalarOrNothing(l.verbs.value(l, wanted), wanted)
  if (value === undefined) return REFUSED
  const kept = l.stabilized(value)
  return firstThat(l, short, search, (index) => {
    const of = l.scalarOrNothing(item(index), node)
    if (of === undefined) return undefined
    comparesObjects(l, of, kept, span)
    const same = binary('===', of, kept, span)
    const isSame = [of, kept].some((one) => one.kind === 'Literal' && !Number.isNaN(one.value)) || search.isNan === undefined
    const areNan = (): Expr => logical('&&', binary('!==', of, of, span), binary('!==', kept, kept, span), span)
    return isSame ? same : logical('||', same, areNan(), span)
  })
}

/** Lowers to the answer of the first element, or the last, that passes a test; those behind it are not tested. */
function firstThat(l: Lowering, { length, node }: Short, search: Search, test: (index: number) => Expr | undefined): Value {
  const { found, none, wanted, fromEnd } = search
  const span = l.span(node)
  const order = Array.from({ length }, (_, i) => (fromEnd === true ? length - 1 - i : i))
  const tests: { readonly index: number; readonly expr: Expr; readonly emitted: readonly Stmt[] }[] = []
  for (const index of order) {
    let expr: Expr | undefined
    const emitted = l.collect(() => {
      expr = test(index)
    })
    if (expr === undefined) return REFUSED
    tests.push({ index, expr, emitted })
  }
  let local: string | undefined
  let answer = literal(none, span)
  let before: readonly Stmt[] = []
  for (const { index, expr, emitted } of tests.toReversed()) {
    if (before.length === 0) {
      const isLast = answer.kind === 'Literal' && answer.value === none
      const [operator, own] = [wanted === false ? '&&' : '||', literal(found(index), span)] as const
      if (typeof none !== 'boolean') answer = conditional(expr, own, answer, span)
      else answer = isLast ? asBoolean(expr) : logical(operator, asBoolean(expr), answer, span)
      before = emitted
      continue
    }
    local ??= l.newName('found')
    const into = (value: Expr): readonly Stmt[] =>
      value.kind === 'Local' && value.name === local ? [] : [{ kind: 'Assign', local: local as string, value, span }]
    const sides = [into(literal(found(index), span)), [...before, ...into(answer)]] as const
    const [then, other] = wanted === false ? [sides[1], sides[0]] : sides
    before = [...emitted, ...makeIf(expr, then, other, span)]
    answer = { kind: 'Local', name: local, span }
  }
  if (local !== undefined) l.emit({ kind: 'Let', local, span })
  l.emit(...before)
  return exprValue(answer)
}

function asBoolean(expr: Expr): Expr {
  return isBoolean(expr) ? expr : truth(expr)
}

/** Lowers to the element found: a value, or a row of a captured list of lists or objects. */
function foundElement(
  l: Lowering,
  short: Short,
  f: Expression,
  self: Expression | undefined,
  how: { readonly fromEnd?: true },
): Value | undefined {
  const { list, length, item, node } = short
  const span = l.span(node)
  const at = searched(l, short, f, self, { found: (i) => i, none: -1, ...how })
  if (at?.kind !== 'expr') return at
  const index = l.stabilized(at.expr, 'at')
  if (length === 0) return exprValue(literal(undefined, span))
  const items = Array.from({ length }, (_, i) => item(i))
  const exprs = items.flatMap((one) => (one.kind === 'expr' ? [one.expr] : []))
  if (exprs.length < length)
    return list.kind === 'data' ? nestedRow(l, list, index, node, { absent: binary('<', index, literal(0, span), span) }) : undefined
  const picked = exprs.reduceRight<Expr>(
    (other, one, i) => conditional(binary('===', index, literal(i, span), span), one, other, span),
    literal(undefined, span),
  )
  return exprValue(picked)
}

function mapped(l: Lowering, short: Short, f: Expression, self: Expression | undefined): Value | undefined {
  const name = l.takeName('list')
  const items = each(l, short, f, self)
  return items === undefined || items.some((item) => item.kind === 'refused')
    ? items && REFUSED
    : written(l, name, { kind: 'tuple', items }, short.node)
}

function each(l: Lowering, short: Short, f: Expression, self: Expression | undefined): readonly Value[] | undefined {
  const called = self === undefined ? callback(l, short, f) : undefined
  return called && l.inOrder(Array.from({ length: short.length }, (_, i) => () => called(i)))
}

function reduced(l: Lowering, short: Short, f: Expression, init: Expression | undefined): Value | undefined {
  const called = callback(l, short, f)
  if (called === undefined || l.verbs.value(l, f).kind !== 'closure' || (init === undefined && short.length === 0)) return undefined
  let sofar = init === undefined ? short.item(0) : l.verbs.value(l, init)
  for (let i = init === undefined ? 1 : 0; i < short.length && sofar.kind !== 'refused'; i++) sofar = called(i, [sofar])
  return sofar
}

/** Lowers `join`: texts with a separator between; null and undefined are empty. */
function joined(l: Lowering, { length, item, node }: Short, separator: Expression | undefined, another: unknown): Value | undefined {
  const span = l.span(node)
  if (another !== undefined) return undefined
  const given = separator === undefined ? literal(',', span) : l.scalarOrNothing(l.verbs.value(l, separator), separator)
  if (given === undefined) return REFUSED
  const between = given.kind === 'Literal' ? literal(given.value === undefined ? ',' : String(given.value), span) : undefined
  if (between === undefined) return undefined
  let text: Expr = literal('', span)
  for (let i = 0; i < length; i++) {
    const of = l.scalarOrNothing(item(i), node)
    if (of === undefined) return REFUSED
    if (i > 0) text = binary('+', text, between, span)
    text = binary('+', text, asText(l, l.stabilized(of)), span)
  }
  return exprValue(text)
}

function asText(l: Lowering, of: Expr): Expr {
  const { span } = of
  if (of.kind === 'Literal') return literal(of.value === null || of.value === undefined ? '' : String(of.value), span)
  const string: Expr = { kind: 'Call', callee: 'String', args: [of], span }
  return isThere(l, of) ? string : conditional(binary('==', of, literal(null, span), span), literal('', span), string, span)
}

/** Whether an expression is a column without nulls. */
function isThere(l: Lowering, of: Expr): boolean {
  if (of.kind !== 'Field' || of.of.kind !== 'Input') return false
  const element = inputElement(l.context, of.of.argument)
  return element.kind === 'row' && element.fields.find((field) => field.name === of.name)?.nullable === false
}

/** Lowers `list.filter(f).length`, which needs no list of the elements that pass; undefined for anything else. */
export function filteredLength(l: Lowering, node: AnyNode): Value | undefined {
  if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier' || node.property.name !== 'length')
    return undefined
  const call = node.object
  if (call.type !== 'CallExpression' || call.optional || call.arguments.length !== 1 || call.callee.type !== 'MemberExpression')
    return undefined
  const { callee } = call
  const [f] = call.arguments
  if (callee.computed || callee.optional || callee.property.type !== 'Identifier' || callee.property.name !== 'filter') return undefined
  if (callee.object.type === 'Super' || f === undefined || f.type === 'SpreadElement') return undefined
  const before = l.out.length
  const over = l.verbs.value(l, callee.object)
  const counted = countInRowList(l, over, call, node)
  if (counted !== undefined) return counted
  const length = lengthOf(over)
  const isList = l.context.kind === 'row' || over.kind === 'data' || isWrittenOut(over)
  const list = over.kind === 'tuple' ? l.stabilizedValue(over) : over
  const short: Short | undefined =
    length === undefined || length > MOST_ELEMENTS || !isList
      ? undefined
      : { list, length, item: (index) => memberValue(l, list, String(index), call), node: call }
  const tests = short && each(l, short, f, undefined)
  if (tests === undefined) {
    const inMemory = length === undefined ? countedIn(l, over, f, call) : undefined
    if (inMemory !== undefined) return inMemory
    l.out.length = before // the list is lowered again, in memory
    return undefined
  }
  const span = l.span(node)
  let count: Expr = literal(0, span)
  for (const [i, value] of tests.entries()) {
    const test = l.scalarOrNothing(value, node)
    if (test === undefined) return REFUSED
    const one = conditional(test, literal(1, span), literal(0, span), span)
    count = i === 0 ? one : binary('+', count, one, span)
  }
  return exprValue(count)
}

/** Emits the count of the elements of a list in memory that pass a test; undefined for other values. */
function countedIn(l: Lowering, over: Value, by: Expression, node: CallExpression): Value | undefined {
  const source = l.context.kind === 'loop' ? elementsOf(l, over, node) : undefined
  const f = source && l.verbs.value(l, by)
  if (source === undefined || f?.kind !== 'closure') return undefined
  const [span, local] = [l.span(node), l.newName('count')]
  const count: Expr = { kind: 'Local', name: local, span }
  l.emit({ kind: 'Let', local, init: literal(0, span), span })
  eachElement(l, source, node, (item, at) => {
    const test = l.scalarOrNothing(l.verbs.inline(l, f, [l.stabilizedValue(item), exprValue(at), over], node), node)
    const more: Stmt = { kind: 'Assign', local, value: binary('+', count, literal(1, span), span), span }
    if (test !== undefined) l.emit(...makeIf(asTest(test), [more], [], span))
  })
  return exprValue(l.temporary(count))
}
