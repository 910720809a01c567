/** Arrays that a loop's body makes for itself: their storage, writes of their elements, and loops over their indices. */
import type { AnyNode } from 'acorn'
import { sizeOfShape } from '../../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import type { Span } from '../../../core/span.ts'
import { binary, isBoolean, literal, logical, makeIf, truth } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Check } from '../lower/loweringParts.ts'
import { REFUSED, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { isLookedUp, isNumber } from '../surelyNumbers.ts'
import { makerOf } from './held/kinds.ts'
import { whereThere } from './optionals.ts'

export type View = Value & { readonly kind: 'view' }

/** Most bytes of an array that a body makes, and of all together: each worker has a copy in every pass. */
export const MOST_BYTES: number = 2 ** 20
export const MOST_TOGETHER: number = 4 * MOST_BYTES

/** Most elements that are filled one by one; more are filled in a loop. */
const WRITTEN_OUT = 8

export interface Made {
  readonly name: string
  readonly dtype: DType
  readonly node: AnyNode
  /** Whether it is a plain array, which keeps what it is given. */
  readonly isList?: true
  /** Whether its elements are true and false, for which memory has 1 and 0. */
  readonly isBoolean?: true
  /** Whether it is a Uint8ClampedArray, which rounds what it is given, and keeps 0 or 255 of what is beyond. */
  readonly isClamped?: true
  /** The array in messages; the text of the node unless said otherwise. */
  readonly text?: string
}

/** Makes the storage of an array that is not moved, and returns its name; undefined where it is refused. */
export function arrayOfBody(
  l: Lowering,
  { name, dtype, node, isList, isBoolean: areTruths, isClamped, text = l.span(node).text }: Made,
  shape: readonly number[],
): string | undefined {
  const { context } = l
  const bytes = sizeOfShape(shape) * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
  l.localBytes += bytes
  const handle = context.kind === 'loop' ? context.localArray?.({ number: l.localArrays++, text, dtype, shape }) : undefined
  if (handle === undefined || bytes > MOST_BYTES || l.localBytes > MOST_TOGETHER) {
    if (handle === undefined) l.refuse('mutates-literal', node)
    else l.refuse('local-arrays-large', node, text)
    return undefined
  }
  const array = l.newName(name)
  l.captured.set(array, handle)
  l.uses.push({ name: array, kind: 'array', origin: 'capture' })
  l.dtypes.set(array, dtype)
  l.locals.set(array, shape)
  l.madeInLoops.set(array, [...l.loops])
  l.makers.set(array, makerOf(l, node))
  if (isList) l.lists.add(array)
  if (areTruths) l.booleans.add(array)
  if (isClamped) l.clamped.add(array)
  return array
}

export function put(
  l: Lowering,
  list: View,
  values: readonly { readonly item: Value; readonly at: readonly number[] }[],
  node: AnyNode,
): Value {
  const span = l.span(node)
  for (const { item, at } of values) {
    const value = l.scalarOrNothing(item, node)
    if (value === undefined) return REFUSED
    const subscripts = [...list.prefix, ...at.map((one) => literal(one, span))]
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts, value, span })
  }
  return list
}

/** Emits writes of a value to all elements of an array. */
export function fill(l: Lowering, { array, prefix }: View, length: number | Expr, given: Expr, node: AnyNode): void {
  const span = l.span(node)
  const value = l.stabilized(given)
  checkNumber(l, array, value, node)
  const write = (at: Expr): void => l.emit({ kind: 'Write', array, subscripts: [...prefix, placeIn(l, array, at)], value, span })
  if (typeof length === 'number' && length <= WRITTEN_OUT) for (let at = 0; at < length; at++) write(literal(at, span))
  else eachIndex(l, length, node, write)
}

/** Emits a loop over the indices of a list of this length: the one that it has when the loop begins, unless the list `grows` meanwhile. */
export function eachIndex(
  l: Lowering,
  length: number | Expr,
  node: AnyNode,
  turn: (at: Expr) => void,
  { grows = false }: { readonly grows?: boolean } = {},
): void {
  const span = l.span(node)
  const [from, to] = [literal(0, span), typeof length === 'number' ? literal(length, span) : grows ? length : l.stabilized(length, 'count')]
  const local = l.newName('at')
  const at: Expr = { kind: 'Local', name: local, span }
  l.stableLocals.add(local)
  if (typeof length === 'number') l.counters.set(local, { low: 0, high: length - 1 })
  const body = l.inLoop(() => {
    if (typeof length === 'number') l.noteTurns(length)
    return l.collect(() => turn(at))
  })
  l.stableLocals.delete(local)
  l.counters.delete(local)
  l.emit({
    kind: 'For',
    init: [{ kind: 'Let', local, init: from, span }],
    test: binary('<', at, to, span),
    update: [{ kind: 'Assign', local, value: binary('+', at, literal(1, span), span), span }],
    body,
    doWhile: false,
    ...(grows ? {} : { counted: { local, from, to, step: 1 } }),
    span,
  } satisfies Stmt)
}

export const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
const TRUTHS: ReadonlySet<string> = new Set(['bool'])

/** Returns the type of a list whose elements are like this one. */
export function typeLike(item: Expr): Pick<Made, 'dtype' | 'isBoolean'> {
  return isBoolean(item) ? { dtype: 'u8', isBoolean: true } : { dtype: 'f64' }
}

/** Returns the read of an element. */
export function elementRead(l: Lowering, array: string, subscripts: readonly Expr[], span: Span): Expr {
  const read: Expr = { kind: 'Read', array, subscripts, span }
  return l.booleans.has(array) ? truth(read) : read
}

/** Checks that a value put into a list is what its elements are: a list keeps undefined, where a typed array makes it NaN. */
export function checkNumber(
  l: Lowering,
  array: string,
  expr: Expr,
  node: AnyNode,
  { always = false, keyed }: { readonly always?: boolean; readonly keyed?: Check['keyed'] } = {},
): void {
  const areTruths = l.booleans.has(array)
  if ((!l.lists.has(array) && !always) || (areTruths ? isBoolean(expr) : isNumber(l, expr))) return
  const allowed = areTruths ? TRUTHS : NUMBERS
  const [span, site] = [l.span(node), { unit: l.unit, start: node.start }]
  const mayBeGuarded = isLookedUp(l, expr) || expr.kind === 'Local' // the test evaluates it as well
  const isGuarded = mayBeGuarded && l.isGuarded(site)
  if (isGuarded) {
    const message = literal(`${array} holds no undefined or null. Put a default in its place, as x ?? ${areTruths ? 'false' : '0'}.`, span)
    l.emit(
      ...makeIf(
        binary('==', expr, literal(null, span), span),
        [{ kind: 'Throw', error: 'TypeError', message, isLimit: true, span }],
        [],
        span,
      ),
    )
  }
  l.checks.push({
    expr,
    ...(mayBeGuarded ? { guard: site } : {}),
    ...(keyed === undefined ? {} : { keyed }),
    holds: (kinds) => kinds?.every((kind) => allowed.has(kind) || (isGuarded && kind === 'null')) === true,
    refusal: refusalOf(areTruths ? 'local-array-truth' : 'local-array-value', span, array.replace(/\$\d+$/, '')),
  })
}

/** Returns the places of the first element of a list that grows, and of the one behind its last. */
export function endsOf(l: Lowering, array: string, span: Span): { readonly first: Expr; readonly end: Expr } | undefined {
  const size = l.sizes.get(array)
  if (size === undefined) return undefined
  const local = (name: string): Expr => ({ kind: 'Local', name, span })
  return { first: size.first === undefined ? literal(0, span) : local(size.first), end: local(size.end) }
}

/** Returns the number of elements of the array. */
export function lengthIn(l: Lowering, view: View, node: AnyNode): Expr {
  const span = l.span(node)
  const ends = endsOf(l, view.array, span)
  return ends === undefined ? { kind: 'Extent', array: view.array, axis: view.prefix.length, span } : lengthBetween(ends, span)
}

/** Returns the number of elements of a list that grows. */
export function lengthOfList(l: Lowering, array: string, node: AnyNode): Expr {
  return lengthIn(l, { kind: 'view', array, prefix: [] }, node)
}

function lengthBetween({ first, end }: { readonly first: Expr; readonly end: Expr }, span: Span): Expr {
  return first.kind === 'Literal' ? end : binary('-', end, first, span)
}

/** Returns the place of an element that a list has. */
export function placeIn(l: Lowering, array: string, index: Expr): Expr {
  const { span } = index
  const first = endsOf(l, array, span)?.first
  return first === undefined || first.kind === 'Literal' ? index : binary('+', first, index, span)
}

/** Emits the check of a subscript of a list that grows, since other values lie around its elements; returns the element's place. */
export function checkedIndex(l: Lowering, array: string, index: Expr, node: AnyNode): Expr {
  const span = l.span(node)
  const ends = endsOf(l, array, span)
  if (ends === undefined || l.frame.isLibrary === true) return placeIn(l, array, index)
  const at = l.stabilized(index, 'at')
  const isBehind = binary('>=', at, lengthBetween(ends, span), span)
  const test = ends.first.kind === 'Literal' ? isBehind : logical('||', binary('<', at, literal(0, span), span), isBehind, span)
  const isLimit = l.places.has(array) ? ({ isLimit: true } as const) : {}
  const message = literal(`A subscript of ${array} is not below its length. Ask for it, as ${array}[k] ?? 0.`, span)
  l.emit(...makeIf(test, [{ kind: 'Throw', error: 'RangeError', message, ...isLimit, span }], [], span))
  return placeIn(l, array, at)
}

/** Runs `work`, which lowers what runs only where a test holds: a list that the test finds to have elements has one to take. */
export function whereHolds<T>(l: Lowering, test: Expr | undefined, work: () => T): T {
  const arrays = test === undefined ? [] : [...l.sizes.keys()].filter((array) => asksForSome(l, array, test))
  const held = test === undefined ? [] : [...l.heldLengths].filter(([, length]) => holdsWhereLong(test, length)).map(([id]) => id)
  for (const array of [...arrays, ...held]) l.holdingSome.set(array, l.loops.at(-1) ?? 'no loop')
  const tests = test === undefined ? [] : stableTests(l, test)
  l.holding.push(...tests)
  try {
    return whereThere(l, test, work)
  } finally {
    l.holding.length -= tests.length
    for (const array of [...arrays, ...held]) l.holdingSome.delete(array)
  }
}

/** Returns which comparisons hold where a test does, of values that do not change any more. */
function stableTests(l: Lowering, test: Expr): string[] {
  if (test.kind === 'Logical' && test.operator === '&&') return [...stableTests(l, test.left), ...stableTests(l, test.right)]
  return test.kind === 'Binary' && l.isStable(test) ? [exprId(test)] : []
}

/** Whether a test holds only where the list has elements: `list.length`, `list.length > 0`. */
function asksForSome(l: Lowering, array: string, test: Expr): boolean {
  const ends = endsOf(l, array, test.span)
  return ends !== undefined && holdsWhereLong(test, lengthBetween(ends, test.span))
}

function holdsWhereLong(test: Expr, length: Expr): boolean {
  if (test.kind === 'Logical') return test.operator === '&&' && (holdsWhereLong(test.left, length) || holdsWhereLong(test.right, length))
  const isLength = (expr: Expr): boolean => exprId(expr) === exprId(length)
  if (test.kind !== 'Binary' || isLength(test)) return isLength(test)
  const isZero = (expr: Expr): boolean => expr.kind === 'Literal' && expr.value === 0
  const [more, less] = test.operator === '<' ? [test.right, test.left] : [test.left, test.right]
  return /^(>|<|!==?)$/.test(test.operator) && isLength(more) && isZero(less)
}
