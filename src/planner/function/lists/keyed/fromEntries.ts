/**
 * Lowers `Object.fromEntries` of pairs whose names are written out, to the object that a literal would make.
 *
 *     Object.fromEntries([['a', x], ['b', y]])                                  { a: x, b: y }
 *     Object.fromEntries(Object.entries(o).map(([k, v]) => [k, v * 2]))         { a: o.a * 2, b: o.b * 2 }
 *     Object.fromEntries(['low', 'high'].map((k, j) => [k, x.get(i, j)]))
 */
import type { CallExpression, Expression } from 'acorn'
import { literal } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../../lower/value.ts'
import { fieldsOfValue, isRisky, written } from '../literals.ts'
import { partsOf } from '../stored.ts'
import { isDictionary } from './collectionValue.ts'

/** Lowers the call; undefined for other calls. */
export function fromEntries(l: Lowering, { value: of }: Value & { kind: 'global' }, name: string, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (l.context.kind !== 'loop' || of !== Object || name !== 'fromEntries') return undefined
  if (argument === undefined || argument.type === 'SpreadElement' || another !== undefined) return undefined
  const ownName = l.takeName('object')
  const pairs = pairsOf(l, argument)
  if (pairs.kind === 'refused') return REFUSED
  const fields = new Map<string, Value>()
  for (const pair of pairs.kind === 'tuple' ? pairs.items : [undefined]) {
    const [key, value] = pair?.kind === 'tuple' ? pair.items : []
    const field = key?.kind === 'expr' && key.expr.kind === 'Literal' ? String(key.expr.value) : undefined
    if (field === undefined || value === undefined) return l.refuse('from-entries', node)
    if (isRisky(field)) return l.refuse('field-order', node, field)
    fields.set(field, l.stabilizedValue(value))
  }
  return written(l, ownName, { kind: 'record', fields: [...fields].map(([one, value]) => ({ name: one, value })) }, node)
}

/** Returns the pairs of `Object.entries(object)` and of what `map` makes of such; of anything else its value. */
function pairsOf(l: Lowering, node: Expression): Value {
  const callee = node.type === 'CallExpression' && !node.optional && node.callee.type === 'MemberExpression' ? node.callee : undefined
  const method = callee !== undefined && !callee.computed && callee.property.type === 'Identifier' ? callee.property.name : undefined
  if (node.type !== 'CallExpression' || callee === undefined || callee.object.type === 'Super') return l.verbs.value(l, node)
  const [argument, another] = node.arguments
  if (argument === undefined || argument.type === 'SpreadElement' || another !== undefined) return l.verbs.value(l, node)
  if (method === 'entries' && isObjectItself(l, callee.object)) return entriesOf(l, argument) ?? l.verbs.value(l, node)
  if (method !== 'map' || !isCallOf(callee.object, 'entries')) return l.verbs.value(l, node)
  const [before, refusals] = [l.out.length, l.refusals.length]
  const pairs = pairsOf(l, callee.object)
  const f = pairs.kind === 'tuple' ? l.verbs.value(l, argument) : undefined
  if (pairs.kind !== 'tuple' || f?.kind !== 'closure') {
    l.out.length = before // it is lowered as a list
    l.refusals.length = refusals
    return l.verbs.value(l, node)
  }
  const span = l.span(node)
  const items = pairs.items.map((pair, k) => l.stabilizedValue(l.verbs.inline(l, f, [pair, exprValue(literal(k, span)), pairs], node)))
  return { kind: 'tuple', items }
}

function isCallOf(node: Expression, name: string): boolean {
  return (
    node.type === 'CallExpression' &&
    node.callee.type === 'MemberExpression' &&
    node.callee.property.type === 'Identifier' &&
    node.callee.property.name === name
  )
}

function isObjectItself(l: Lowering, node: Expression): boolean {
  return node.type === 'Identifier' && node.name === 'Object' && l.unit.names.bindingOf.get(node) === undefined
}

/** Returns the pairs of an object whose fields are known; undefined for others. */
function entriesOf(l: Lowering, node: Expression): (Value & { readonly kind: 'tuple' }) | undefined {
  const before = l.out.length
  const given = l.verbs.value(l, node)
  const parts = given.kind === 'stored' && given.storage.kind === 'fields' && !isDictionary(given) ? partsOf(given, l.span(node)) : given
  const fields = parts.kind === 'record' ? fieldsOfValue(l, parts, node) : undefined
  if (fields === undefined) {
    l.out.length = before // it is lowered again
    return undefined
  }
  const items = fields.map(
    ({ name, value }): Value => ({
      kind: 'tuple',
      items: [exprValue(literal(name, l.span(node))), l.stabilizedValue(value)],
    }),
  )
  return { kind: 'tuple', items }
}
