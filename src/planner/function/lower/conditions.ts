/** Lowers conditions: tests, `a && b`, `a ?? b`, `c ? a : b`, and what a function returns of such. */
import type { AnyNode, Expression } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { chosenList } from '../captures/capturedLookups.ts'
import { isFunction } from '../lists/chosenFunctions.ts'
import { isThere, keptHeld } from '../lists/held/heldLists.ts'
import { chosenHeld } from '../lists/held/heldMade.ts'
import { noteOneKind } from '../lists/held/notes.ts'
import { noteGotten } from '../lists/keyed/collectionValue.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { chosenView } from '../lists/movedArrays.ts'
import { absentLiteral, isOptional, type MaybeObject, maybeOf, presentOne, thereIn } from '../lists/optionals.ts'
import { chosenObject, isInstance } from '../lists/returnedObjects.ts'
import { holdsNamed, isAggregate, isObject, noteCopy, partsOf } from '../lists/stored.ts'
import { areOfSeveralKinds, chosenKinds } from '../lists/variants/objectChoices.ts'
import { firstThere, maybeScalar } from '../maybeScalars.ts'
import { asTest, binary, conditional, isBoolean, isPlain, literal, logical, makeIf, negated, truth } from './build.ts'
import { rankOf } from './context.ts'
import { dateItself } from './dates.ts'
import type { Lowering } from './lowering.ts'
import { keyComponent } from './members.ts'
import { exprValue, type Held, REFUSED, type Value } from './value.ts'

/** Lowers a test, of which only the truth is asked: an object is true, and one that may be absent where it is there. */
export function lowerTest(l: Lowering, node: Expression): Expr | undefined {
  if (node.type === 'ParenthesizedExpression') return lowerTest(l, node.expression)
  if (node.type === 'LogicalExpression' && node.operator !== '??') {
    const value = lowerLogical(l, node, { side: lowerTest })
    return value.kind === 'expr' ? value.expr : undefined
  }
  const value = l.verbs.value(l, node)
  const maybe = maybeOf(value)
  if (maybe !== undefined) return { kind: 'Local', name: maybe.there, span: l.span(node) }
  if (value.kind === 'held') return isThere(value, l.span(node))
  if (!isAggregate(value) || value.kind === 'expr') return valueOrDate(l, value, node)
  evaluateParts(l, value, node)
  return literal(true, l.span(node))
}

/** Lowers `a && b`, where statements that evaluating b emits must run only if b is reached. */
export function lowerLogical(
  l: Lowering,
  node: Expression & { type: 'LogicalExpression' },
  { side }: { readonly side?: typeof lowerTest } = {},
): Value {
  const { operator } = node
  const span = l.span(node)
  const given = side === undefined ? l.verbs.value(l, node.left) : undefined
  const maybe = given && maybeOf(given)
  if (maybe !== undefined) return afterOptional(l, maybe, node)
  if (given?.kind === 'held' && given.mayBeAbsent === true && operator !== '&&') return otherList(l, given, node)
  if (given !== undefined && given.kind !== 'expr' && isAggregate(given)) {
    if (operator !== '&&') return given // an object is true
    evaluateParts(l, given, node)
    return l.verbs.value(l, node.right)
  }
  if (given !== undefined && operator === '??' && absentLiteral(given) !== undefined) return l.verbs.value(l, node.right)
  const row = given?.kind === 'tableRow' && operator !== '&&' ? rowOrNone(l, given, node) : undefined
  if (row !== undefined) return row
  const left = given === undefined ? side?.(l, node.left) : valueOrDate(l, given, node.left)
  let right: Expr | undefined
  const emitted = l.collect(() => {
    whereHolds(l, reached(operator, left, span), () => {
      if (side !== undefined) right = side(l, node.right)
      else {
        const value = l.verbs.value(l, node.right)
        noteGotten(l, left, value)
        right = valueOrDate(l, value, node.right)
      }
    })
  })
  if (left === undefined || right === undefined) return REFUSED
  if (emitted.length === 0) return exprValue(operator === '??' ? otherwise(l, left, right, span) : logical(operator, left, right, span))
  const scalar = operator === '??' ? maybeScalar(l, left) : undefined
  if (scalar !== undefined) return firstThere(l, scalar, { value: right, emitted }, span)
  const local = l.newName('temp')
  const current: Expr = { kind: 'Local', name: local, span }
  // of a test only the truth is asked, so both sides are truth values
  const asAsked = (value: Expr): Expr => (side === undefined || isBoolean(value) ? value : truth(value))
  l.emit({ kind: 'Let', local, init: asAsked(left), span })
  const test = operator === '&&' ? current : operator === '||' ? negated(current, span) : binary('==', current, literal(null, span), span)
  l.emit(...makeIf(test, [...emitted, { kind: 'Assign', local, value: asAsked(right), span }], [], span))
  return exprValue(current)
}

/** Returns the test that holds where the right side is evaluated; undefined where nothing is known there. */
function reached(operator: '&&' | '||' | '??', left: Expr | undefined, span: Span): Expr | undefined {
  if (left === undefined || operator === '??') return undefined
  return operator === '&&' ? asTest(left) : negated(left, span)
}

/** Lowers `object && e`, `object || other`, `object ?? other` of an object that may be absent. */
function afterOptional(l: Lowering, given: MaybeObject, node: Expression & { type: 'LogicalExpression' }): Value {
  const span = l.span(node)
  const isThere: Expr = { kind: 'Local', name: given.there, span }
  const there = l.stabilized(isThere)
  const isAnd = node.operator === '&&'
  const absent = exprValue(literal(given.absent, span))
  let value: Value = REFUSED
  const emitted = l.collect(() => {
    whereHolds(l, isAnd ? isThere : undefined, () => {
      value = l.verbs.value(l, node.right)
    })
  })
  const right = { value, emitted }
  const left = { value: isAnd ? absent : given.value, emitted: [] }
  const [then, other] = isAnd ? [right, left] : [left, right]
  if (isObject(value) || !isAnd) return chosenObject(l, there, [then, other], node)
  return chosenScalar(l, there, [then, other], node)
}

/** Lowers `rows[k] ?? []` of a captured list, whose row has no elements where there is none; undefined where the other is not empty. */
function rowOrNone(
  l: Lowering,
  { absent, ...row }: Value & { readonly kind: 'tableRow' },
  node: Expression & { type: 'LogicalExpression' },
): Value | undefined {
  const span = l.span(node)
  if (absent === undefined) return row
  if (node.right.type !== 'ArrayExpression' || node.right.elements.length > 0) return undefined
  return { ...row, length: conditional(l.stabilized(absent, 'absent'), literal(0, span), row.length, span) }
}

/** Lowers `lists[k] ?? other`. */
function otherList(l: Lowering, given: Held, node: Expression & { type: 'LogicalExpression' }): Value {
  const { mayBeAbsent: _, ...list } = keptHeld(l, given)
  let value: Value = REFUSED
  const emitted = l.collect(() => {
    value = l.verbs.value(l, node.right)
  })
  const isAbsent = negated(isThere({ ...list, mayBeAbsent: true }, l.span(node)), l.span(node))
  return chosenHeld(
    l,
    given.of,
    isAbsent,
    [
      { value, emitted },
      { value: list, emitted: [] },
    ],
    node,
  )
}

/** Lowers `map.get(k) ?? d`: a value that is found is a number or truth value, so d is wanted exactly where k is missing. */
function otherwise(l: Lowering, left: Expr, right: Expr, span: Span): Expr {
  const [found, other] = [maybeScalar(l, left), maybeScalar(l, right)]
  if (found === undefined) return logical('??', left, right, span)
  if (other === undefined) return conditional(found.there, found.value, right, span)
  const value = conditional(found.there, found.value, other.value, span)
  return conditional(logical('||', found.there, other.there, span), value, literal(undefined, span), span)
}

export function lowerConditional(l: Lowering, node: Expression & { type: 'ConditionalExpression' }): Value {
  const span = l.span(node)
  const test = lowerTest(l, node.test)
  const branch = (one: Expression, holds: Expr | undefined): Branch => {
    let value: Value = REFUSED
    const emitted = l.collect(() => {
      whereHolds(l, holds, () => {
        value = l.verbs.value(l, one)
      })
    })
    return { value, emitted }
  }
  const then = branch(node.consequent, test && asTest(test))
  const other = branch(node.alternate, test && negated(test, span))
  if (test === undefined) return REFUSED
  const folded = asTest(test)
  if (folded.kind === 'Literal') {
    const chosen = folded.value ? then : other
    l.emit(...chosen.emitted)
    return chosen.value
  }
  if (isFunction(then.value) && isFunction(other.value) && then.emitted.length + other.emitted.length === 0) {
    const options = [{ test: l.stabilized(folded), value: then.value }]
    return { kind: 'choice', options, otherwise: other.value, name: span.text }
  }
  const ofCaptured = then.emitted.length + other.emitted.length > 0 ? undefined : chosenList(l, folded, then.value, other.value, node)
  if (ofCaptured !== undefined) return ofCaptured
  const list = then.value.kind === 'held' ? then.value : other.value.kind === 'held' ? other.value : undefined
  if (list !== undefined) return chosenHeld(l, list.of, test, [then, other], node)
  if (l.context.kind === 'loop' && areListsApart(then.value, other.value) && noteOneKind(l, then.value, other.value))
    return l.refuse('view-chosen', node)
  if (then.value.kind === 'view' || other.value.kind === 'view') {
    const chosen = then.emitted.length + other.emitted.length > 0 ? undefined : chosenView(l, test, then.value, other.value)
    return chosen ?? l.refuse('view-chosen', node)
  }
  if (l.context.kind === 'loop' && areOfSeveralKinds([then.value, other.value]))
    return chosenKinds(l, folded, [then, other], [node.consequent, node.alternate], node)
  const isMadeThere = then.emitted.length + other.emitted.length > 0
  const areObjects = isAggregate(then.value) && isAggregate(other.value)
  const mayBeAbsent = [then, other].some(({ value }) => isOptional(value) || absentLiteral(value) !== undefined)
  if (l.context.kind === 'loop' && mayBeAbsent && (isObject(then.value) || isObject(other.value)))
    return chosenObject(l, test, [then, other], node)
  if (l.context.kind === 'loop' && areObjects && (isMadeThere || isInstance(then.value) || isItem(then.value) || isItem(other.value)))
    return chosenObject(l, test, [then, other], node)
  const isLiteral = (value: Value): boolean =>
    value.kind === 'tuple' || value.kind === 'record' || value.kind === 'key' || value.kind === 'stored'
  if (isLiteral(then.value) || isLiteral(other.value)) {
    // A choice between literals is made part by part.
    for (const { value } of [then, other]) {
      if (value.kind === 'stored') noteCopy(l, value, span)
      if (holdsNamed(value)) l.choosesNamed = true
    }
    const [a, b] = [returned(l, then.value, node.consequent), returned(l, other.value, node.alternate)]
    if (a === undefined || b === undefined) return REFUSED
    if (isMadeThere) return l.refuse('effect-in-expression', node)
    const expr = conditional(test, a, b, span)
    l.chosenFrom.set(expr, [then.value, other.value])
    return exprValue(expr)
  }
  return chosenScalar(l, test, [then, other], node)
}

/** Whether two lists are written out, of different lengths, or one is written out and the other lies in memory. */
function areListsApart(a: Value, b: Value): boolean {
  if (a.kind === 'tuple' && b.kind === 'tuple') return a.items.length !== b.items.length
  return (a.kind === 'tuple' && b.kind === 'view') || (a.kind === 'view' && b.kind === 'tuple')
}

function isItem(value: Value): boolean {
  return value.kind === 'item'
}

interface Branch {
  readonly value: Value
  readonly emitted: readonly Stmt[]
}

/** Lowers `test ? a : b` of scalars. */
function chosenScalar(l: Lowering, test: Expr, [then, other]: readonly [Branch, Branch], node: AnyNode): Value {
  const span = l.span(node)
  const [a, b] = [valueOrDate(l, then.value, node), valueOrDate(l, other.value, node)]
  if (a === undefined || b === undefined) return REFUSED
  if (then.emitted.length + other.emitted.length === 0) return exprValue(conditional(test, a, b, span))
  const local = l.newName('temp')
  l.emit({ kind: 'Let', local, span })
  l.emit(
    ...makeIf(
      test,
      [...then.emitted, { kind: 'Assign', local, value: a, span }],
      [...other.emitted, { kind: 'Assign', local, value: b, span }],
      span,
    ),
  )
  return exprValue({ kind: 'Local', name: local, span })
}

/** Returns a value as a scalar; a Date that is known before the run is copied. */
function valueOrDate(l: Lowering, value: Value, node: AnyNode): Expr | undefined {
  return (value.kind === 'date' ? dateItself(l, value) : undefined) ?? l.scalarOrNothing(value, node)
}

/** Returns a value as (part of) the result of the function, where arrays and objects are allowed; undefined where it is refused. */
export function returned(l: Lowering, value: Value, node: AnyNode): Expr | undefined {
  const span = l.span(node)
  if (value.kind === 'expr') return value.expr
  if (value.kind === 'tuple') {
    const items = value.items.map((item) => returned(l, item, node))
    return items.includes(undefined) ? undefined : { kind: 'ArrayLiteral', items: items as Expr[], span } // none is undefined
  }
  if (value.kind === 'record') {
    if (value.prototype !== undefined) {
      l.refuse('object-as-value', node)
      return undefined
    }
    const fields = value.fields.map((field) => ({ name: field.name, value: returned(l, field.value, node) }))
    return fields.some((field) => field.value === undefined)
      ? undefined
      : { kind: 'ObjectLiteral', fields: fields as { name: string; value: Expr }[], span } // none is undefined
  }
  if (isOptional(value)) {
    const whole = returned(l, presentOne(value), node)
    return whole && conditional(thereIn(value, span), whole, literal(value.storage.absent, span), span)
  }
  if (value.kind === 'stored') return returned(l, partsOf(value, span), node)
  if (value.kind === 'key') {
    const rank = rankOf(l.context)
    if (rank !== undefined) {
      const items = Array.from({ length: rank }, (_, axis) => keyComponent(l, axis, node)).flatMap((item) =>
        item.kind === 'expr' ? [item.expr] : [],
      )
      return { kind: 'ArrayLiteral', items, span }
    }
  }
  return valueOrDate(l, value, node)
}

/** Emits what the parts of an object that is only tested could fail with. */
function evaluateParts(l: Lowering, value: Value, node: AnyNode): void {
  if (value.kind === 'tuple') for (const item of value.items) evaluateParts(l, item, node)
  if (value.kind === 'record') for (const field of value.fields) evaluateParts(l, field.value, node)
  if (value.kind === 'expr' && !isPlain(value.expr)) l.emit({ kind: 'Evaluate', value: value.expr, span: l.span(node) })
}
