/** Lowers chains with `?.` to conditionals. */
import type { AnyNode, CallExpression, Expression, MemberExpression } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { isThere, keptHeld } from '../lists/held/heldLists.ts'
import { memberOf } from '../lists/literals.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { absentLiteral, maybeOf } from '../lists/optionals.ts'
import { splitIn, splitText } from '../lists/splitTexts.ts'
import { insideOf, isObjectChoice } from '../lists/variants/objectChoices.ts'
import { whereHolding } from '../maybeScalars.ts'
import { askedRow } from '../source/askedElements.ts'
import { binary, conditional, literal, makeIf, negated } from './build.ts'
import type { Lowering } from './lowering.ts'
import { fieldOf } from './members.ts'
import { exprValue, type Held, REFUSED, type Value } from './value.ts'

/** Lowers `a?.b`, `a?.b.c`, `a?.m(x)`: nothing after `?.` is evaluated where a is null or undefined. */
export function lowerChain(l: Lowering, node: Expression & { type: 'MemberExpression' | 'CallExpression' }, whole: AnyNode): Value {
  const head = optionalHead(node)
  if (head === undefined) return hasOptional(node) ? l.refuse('operator', whole, 'this form of ?.') : l.verbs.value(l, node)
  const span = l.span(whole)
  const inner = head.object
  const row = askedRow(l, inner)
  if (row !== undefined) return whereThere(l, row.inside, () => afterHead(l, node, head.member, row.value()), whole)
  const object =
    (inner.type === 'MemberExpression' || inner.type === 'CallExpression') && hasOptional(inner)
      ? lowerChain(l, inner, inner)
      : l.verbs.value(l, inner)
  if ((object.kind === 'tableRow' || object.kind === 'recordRow') && object.absent !== undefined)
    return ofRow(l, node, head.member, object, whole)
  const maybe = maybeOf(object)
  if (maybe !== undefined)
    return whereThere(l, { kind: 'Local', name: maybe.there, span }, () => afterHead(l, node, head.member, object), whole)
  if (object.kind === 'held' && object.mayBeAbsent === true) {
    const { mayBeAbsent: _, ...list } = keptHeld(l, object)
    return whereThere(l, isThere({ ...list, mayBeAbsent: true }, span), () => afterHead(l, node, head.member, list), whole)
  }
  const chosen = isObjectChoice(object) ? insideOf(object, span) : undefined
  if (chosen !== undefined) return whereThere(l, chosen.inside, () => afterHead(l, node, head.member, chosen.value), whole)
  // keys, views, handles and literals always exist
  const isAbsentAtFirst = object.kind === 'expr' && object.expr.kind === 'Local' && l.absentAtFirst.has(object.expr.name)
  if (object.kind !== 'expr' || isAbsentAtFirst) return object.kind === 'refused' ? REFUSED : afterHead(l, node, head.member, object)
  if (absentLiteral(object) !== undefined) return exprValue(literal(undefined, span))
  if (head.member === node && !head.member.computed && head.member.property.type === 'Identifier') {
    return fieldOf(l, object.expr, head.member.property.name, { optional: true }, whole)
  }
  const kept = l.stabilized(object.expr)
  let rest: Value = REFUSED
  const emitted = l.collect(() => {
    rest = afterHead(l, node, head.member, exprValue(kept))
  })
  const value = l.scalarOrNothing(rest, whole)
  if (value === undefined) return REFUSED
  if (emitted.length > 0) return l.refuse('effect-in-expression', whole)
  if (value.kind === 'MethodCall' && value.object === kept) return exprValue({ ...value, optional: true })
  return exprValue(conditional(binary('==', kept, literal(null, span), span), literal(undefined, span), value, span))
}

/** Lowers the rest of a chain after `?.` on a row that may not exist. */
function ofRow(
  l: Lowering,
  node: Expression,
  member: AnyNode,
  { absent, ...row }: Value & { readonly kind: 'tableRow' | 'recordRow' },
  whole: AnyNode,
): Value {
  const span = l.span(whole)
  let rest: Value = REFUSED
  const emitted = l.collect(() => {
    rest = afterHead(l, node, member, row as Value)
  })
  const value = l.scalarOrNothing(rest, whole)
  if (value === undefined || absent === undefined) return REFUSED
  if (emitted.length > 0) return l.refuse('effect-in-expression', whole)
  return exprValue(conditional(negated(absent, span), value, literal(undefined, span), span))
}

/** Lowers what stands after `?.`, which is evaluated where a test holds; elsewhere the chain is undefined. */
function whereThere(l: Lowering, there: Expr, lower: () => Value, whole: AnyNode): Value {
  let rest: Value = REFUSED
  const emitted = l.collect(() =>
    whereHolds(l, there, () => {
      rest = lower()
    }),
  )
  if (rest.kind === 'held') return heldThere(l, there, rest, emitted)
  const value = l.scalarOrNothing(rest, whole)
  return value === undefined ? REFUSED : whereHolding(l, there, { value, emitted })
}

/** Returns a list or object that places hold where a test holds, and undefined elsewhere. */
function heldThere(l: Lowering, there: Expr, { of, number }: Held, emitted: readonly Stmt[]): Value {
  const { span } = number
  const local = l.newName('value')
  const given: Stmt = { kind: 'Assign', local, value: number, span }
  l.emit({ kind: 'Let', local, init: literal(-1, span), span }, ...makeIf(there, [...emitted, given], [], span))
  l.stableLocals.add(local)
  return { kind: 'held', of, number: { kind: 'Local', name: local, span }, mayBeAbsent: true }
}

interface OptionalHead {
  readonly object: Expression
  readonly member: Expression & { type: 'MemberExpression' }
}

/** Returns the last `?.` of a chain, on a member: `a?.b?.c` is `(a?.b)?.c`. Undefined where there is none. */
function optionalHead(node: Expression): OptionalHead | undefined {
  if (node.type === 'MemberExpression') {
    if (node.object.type === 'Super') return undefined
    if (node.optional) return { object: node.object, member: node }
    return optionalHead(node.object)
  }
  if (node.type === 'CallExpression' && !node.optional && node.callee.type !== 'Super') return optionalHead(node.callee)
  return undefined
}

function hasOptional(node: Expression): boolean {
  if (node.type === 'MemberExpression') return node.optional || (node.object.type !== 'Super' && hasOptional(node.object))
  if (node.type === 'CallExpression') return node.optional || (node.callee.type !== 'Super' && hasOptional(node.callee))
  return false
}

/** Lowers the rest of a chain, with its head's object already evaluated. */
function afterHead(l: Lowering, node: Expression, member: AnyNode, object: Value): Value {
  const split = node.type === 'MemberExpression' || node.type === 'CallExpression' ? splitIn(node) : undefined
  if (split !== undefined) {
    const text = split === member ? object : afterHead(l, split.object as Expression, member, object)
    return splitText(l, node as MemberExpression | CallExpression, text) ?? l.refuse('unknown-method', node, 'split')
  }
  if (node === member && node.type === 'MemberExpression') {
    if (node.computed && node.property.type !== 'PrivateIdentifier') return memberOf(l, object, l.verbs.value(l, node.property), node)
    return memberOf(l, object, node.property.type === 'Identifier' ? node.property.name : '', node)
  }
  if (node.type === 'MemberExpression' && node.object.type !== 'Super') {
    const of = afterHead(l, node.object, member, object)
    if (node.computed && node.property.type !== 'PrivateIdentifier') return memberOf(l, of, l.verbs.value(l, node.property), node)
    return memberOf(l, of, node.property.type === 'Identifier' ? node.property.name : '', node)
  }
  if (node.type === 'CallExpression' && node.callee.type === 'MemberExpression' && node.callee.object.type !== 'Super') {
    const { callee } = node
    const of = callee === member ? object : afterHead(l, callee.object as Expression, member, object)
    if (callee.computed || callee.property.type !== 'Identifier') return l.refuse('computed-name', node)
    return l.verbs.method(l, of, callee.property.name, node)
  }
  return l.refuse('operator', node, 'this form of ?.')
}
