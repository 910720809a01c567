/** Lowers expressions: each node type of acorn to its value. */
import type { AnyNode, Expression, Identifier } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { isNameByRow } from '../captures/capturedKeys.ts'
import { chosenList } from '../captures/capturedLookups.ts'
import { freeValue } from '../captures/outside.ts'
import { classAround, hasPrivateField, privateName } from '../captures/privateNames.ts'
import { comparedTexts } from '../captures/textCodes.ts'
import { isFunction } from '../lists/chosenFunctions.ts'
import { newCollection } from '../lists/collections.ts'
import { arrayLiteral, memberOf, objectLiteral } from '../lists/literals.ts'
import { newTypedArray } from '../lists/localArrays.ts'
import { chosenView, viewIn } from '../lists/movedArrays.ts'
import { filteredLength } from '../lists/shortLists.ts'
import { chosenObject, holdsNamed, isAggregate, isInstance, noteCopy, partsOf, storedPart } from '../lists/stored.ts'
import { FORBIDDEN_SYNTAX } from '../refusals.ts'
import { asTest, binary, conditional, isPlain, literal, logical, makeIf, negated, unary } from './build.ts'
import { rankOf } from './context.ts'
import { comparesObjects, dateItself, newDate } from './dates.ts'
import type { Lowering } from './lowering.ts'
import { keyComponent } from './members.ts'
import { lowerChain } from './optionalChains.ts'
import { regexOf } from './regexes.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

export function lowerExpression(l: Lowering, node: Expression): Value {
  const span = l.span(node)
  switch (node.type) {
    case 'Identifier':
      return identifier(l, node)
    case 'Literal':
      if (node.regex !== undefined) return regexOf(node.regex) ?? l.refuse('regex', node)
      return exprValue(literal(node.value instanceof RegExp ? undefined : node.value, span))
    case 'ParenthesizedExpression':
      return lowerExpression(l, node.expression)
    case 'SequenceExpression': {
      for (const one of node.expressions.slice(0, -1)) l.verbs.effect(l, one)
      const last = node.expressions.at(-1)
      return last === undefined ? REFUSED : lowerExpression(l, last)
    }
    case 'UnaryExpression': {
      if (node.operator === 'delete') return l.refuse('mutates-element', node, 'an object')
      if (node.operator === 'void') {
        l.verbs.effect(l, node.argument)
        return exprValue(literal(undefined, span))
      }
      const value = lowerExpression(l, node.argument)
      const operand = NUMERIC.has(node.operator) ? l.numberOrNothing(value, node.argument) : l.scalarOrNothing(value, node.argument)
      return operand === undefined ? REFUSED : exprValue(unary(node.operator, node.operator === '!' ? asTest(operand) : operand, span))
    }
    case 'BinaryExpression': {
      const { left, operator } = node
      if (operator === 'in' && left.type !== 'PrivateIdentifier') return nameIn(l, left, node.right, node)
      if (left.type === 'PrivateIdentifier') return hasPrivate(l, lowerExpression(l, node.right), left.name, node)
      if (operator === 'in' || operator === 'instanceof') return l.refuse('operator', node, operator)
      const [a, b] = scalars(l, [left, node.right], { numeric: operator !== '+' && NUMERIC.has(operator) })
      if (a === undefined || b === undefined) return REFUSED
      if (/^[!=]==?$/.test(operator)) comparesObjects(l, a, b, span)
      return exprValue(comparedTexts(l, operator, a, b, span) ?? binary(operator, a, b, span))
    }
    case 'LogicalExpression':
      return lowerLogical(l, node)
    case 'ConditionalExpression':
      return lowerConditional(l, node)
    case 'TemplateLiteral':
      return template(l, node)
    case 'MemberExpression': {
      const { object, property, computed } = node
      if (object.type === 'Super') return l.refuse('operator', node, 'super')
      if (property.type === 'PrivateIdentifier') return privateMember(l, lowerExpression(l, object), property.name, node)
      const count = filteredLength(l, node)
      if (count !== undefined) return count
      if (!computed) return memberOf(l, lowerExpression(l, object), property.type === 'Identifier' ? property.name : '', node)
      const [of, name] = l.inOrder([() => lowerExpression(l, object), () => lowerExpression(l, property)])
      return of === undefined || name === undefined ? REFUSED : memberOf(l, of, name, node)
    }
    case 'ChainExpression':
      return lowerChain(l, node.expression, node)
    case 'CallExpression':
      return l.verbs.call(l, node)
    case 'AssignmentExpression':
      return l.verbs.assignment(l, node, { value: true })
    case 'UpdateExpression':
      return l.verbs.update(l, node, { value: true })
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return l.closure(node, node.id?.name ?? l.nameHint ?? 'the function')
    case 'ArrayExpression':
      return arrayLiteral(l, node)
    case 'ObjectExpression':
      return objectLiteral(l, node)
    case 'NewExpression':
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0) return l.refuseCall('Date', node)
      return newDate(l, node) ?? newTypedArray(l, node) ?? newCollection(l, node) ?? l.verbs.instance(l, node) ?? forbidden(l, node)
    case 'ThisExpression':
      return selfOf(l) ?? forbidden(l, node)
    case 'YieldExpression':
    case 'TaggedTemplateExpression':
    case 'ClassExpression':
    case 'MetaProperty':
    case 'AwaitExpression':
    case 'ImportExpression':
      return forbidden(l, node)
  }
}

/** Lowers `name in object` for a captured object. */
function nameIn(l: Lowering, left: Expression, right: Expression, node: AnyNode): Value {
  const [name, object] = l.inOrder([() => lowerExpression(l, left), () => lowerExpression(l, right)])
  if (name === undefined || object === undefined || name.kind === 'refused' || object.kind === 'refused') return REFUSED
  const key = object.kind === 'data' ? l.scalarOrNothing(name, left) : undefined
  const found = key === undefined || object.kind !== 'data' ? undefined : isNameByRow(l, object, key, { own: false }, node)
  return found ?? l.refuse('operator', node, 'in')
}

/** Lowers `object.#name`. */
export function privateMember(l: Lowering, object: Value, name: string, node: AnyNode): Value {
  const of = classAround(l, l.unit)
  if (object.kind === 'refused') return REFUSED
  if (of === undefined || (object.kind !== 'record' && object.kind !== 'stored')) return l.refuse('operator', node, `#${name}`)
  const key = privateName(of, name)
  const value = hasField(object, key) ? memberOf(l, object, key, node) : l.verbs.inherited(l, object, key, node)
  return value ?? l.refuse('operator', node, `#${name}`)
}

/** Lowers `#name in object`, where the name is a field. */
function hasPrivate(l: Lowering, object: Value, name: string, node: AnyNode): Value {
  const of = classAround(l, l.unit)
  const isObject = object.kind === 'record' || object.kind === 'stored'
  if (of === undefined || !isObject || !hasPrivateField(of, name)) return l.refuse('operator', node, 'in')
  return exprValue(literal(hasField(object, privateName(of, name)), l.span(node)))
}

function hasField(object: Value & { readonly kind: 'record' | 'stored' }, name: string): boolean {
  return object.kind === 'record' ? object.fields.some((field) => field.name === name) : storedPart(object, name) !== undefined
}

/** Returns `this` of a method, and of arrow functions that were made there; undefined elsewhere. */
function selfOf(l: Lowering): Value | undefined {
  return l.method?.isOver === true ? undefined : l.method?.self
}

export function forbidden(l: Lowering, node: AnyNode): Value {
  const entry = FORBIDDEN_SYNTAX[node.type]
  return entry === undefined ? l.refuse('operator', node, node.type) : l.refuseWith({ ...entry, span: l.span(node) })
}

/** Lowers scalars in the order of their nodes; undefined for those refused. */
export function scalars(
  l: Lowering,
  nodes: readonly Expression[],
  { numeric = false }: { readonly numeric?: boolean } = {},
): (Expr | undefined)[] {
  return l.inOrder(nodes.map((node) => () => lowerExpression(l, node))).map((value, i) => {
    const node = nodes[i]
    if (node === undefined) return undefined
    return numeric ? l.numberOrNothing(value, node) : l.scalarOrNothing(value, node)
  })
}

/** Unary operators that make a number of a Date, and binary ones without `+`, which makes a text of it. */
const NUMERIC: ReadonlySet<string> = new Set('- + ~ < <= > >= * / % ** & | ^ << >> >>>'.split(' '))

function identifier(l: Lowering, node: Identifier): Value {
  const binding = l.unit.names.bindingOf.get(node)
  if (binding === undefined) return freeValue(l, l.unit.freeOf(node), node)
  const bound = l.bound.get(binding)
  if (bound === undefined) {
    if (binding.kind === 'class') return REFUSED
    return l.refuse('use-before-declaration', node, node.name)
  }
  if (bound.kind === 'view') return viewIn(l, bound, node)
  return bound.kind === 'value' ? bound.value : exprValue({ kind: 'Local', name: bound.name, span: l.span(node) })
}

/** Lowers `a && b`, where statements that evaluating b emits must run only if b is reached. */
function lowerLogical(l: Lowering, node: Expression & { type: 'LogicalExpression' }): Value {
  const { operator } = node
  const span = l.span(node)
  const left = valueOrDate(l, lowerExpression(l, node.left), node.left)
  let right: Expr | undefined
  const emitted = l.collect(() => {
    right = valueOrDate(l, lowerExpression(l, node.right), node.right)
  })
  if (left === undefined || right === undefined) return REFUSED
  if (emitted.length === 0) return exprValue(operator === '??' ? otherwise(left, right, span) : logical(operator, left, right, span))
  const local = l.newName('temp')
  const current: Expr = { kind: 'Local', name: local, span }
  l.emit({ kind: 'Let', local, init: left, span })
  const test = operator === '&&' ? current : operator === '||' ? negated(current, span) : binary('==', current, literal(null, span), span)
  l.emit(...makeIf(test, [...emitted, { kind: 'Assign', local, value: right, span }], [], span))
  return exprValue(current)
}

/** Lowers `map.get(k) ?? d`: a value that is found is a number or truth value, so d is wanted exactly where k is missing. */
function otherwise(left: Expr, right: Expr, span: Span): Expr {
  const isFound =
    left.kind === 'Conditional' &&
    left.else.kind === 'Literal' &&
    left.else.value === undefined &&
    left.then.kind === 'Unary' &&
    (left.then.operator === '+' || left.then.operator === '!')
  return isFound ? conditional(left.test, left.then, right, span) : logical('??', left, right, span)
}

function lowerConditional(l: Lowering, node: Expression & { type: 'ConditionalExpression' }): Value {
  const span = l.span(node)
  const test = l.scalarOrNothing(lowerExpression(l, node.test), node.test)
  const branch = (one: Expression): { value: Value; emitted: ReturnType<Lowering['collect']> } => {
    let value: Value = REFUSED
    const emitted = l.collect(() => {
      value = lowerExpression(l, one)
    })
    return { value, emitted }
  }
  const then = branch(node.consequent)
  const other = branch(node.alternate)
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
  if (then.value.kind === 'view' || other.value.kind === 'view') {
    const chosen = then.emitted.length + other.emitted.length > 0 ? undefined : chosenView(l, test, then.value, other.value)
    return chosen ?? l.refuse('view-chosen', node)
  }
  const isMadeThere = then.emitted.length + other.emitted.length > 0
  const areObjects = isAggregate(then.value) && isAggregate(other.value)
  if (l.context.kind === 'loop' && areObjects && (isMadeThere || isInstance(then.value))) return chosenObject(l, test, [then, other], node)
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
  const a = valueOrDate(l, then.value, node.consequent)
  const b = valueOrDate(l, other.value, node.alternate)
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

function template(l: Lowering, node: Expression & { type: 'TemplateLiteral' }): Value {
  const span = l.span(node)
  const parts = scalars(l, node.expressions)
  if (parts.includes(undefined)) return REFUSED
  let text: Expr = literal(node.quasis[0]?.value.cooked ?? '', span)
  for (const [i, part] of parts.entries()) {
    if (part === undefined) continue
    const asString: Expr =
      part.kind === 'Literal' ? literal(String(part.value), part.span) : { kind: 'Call', callee: 'String', args: [part], span: part.span }
    text = text.kind === 'Literal' && text.value === '' ? asString : binary('+', text, asString, span)
    const after = node.quasis[i + 1]?.value.cooked ?? ''
    if (after !== '') text = binary('+', text, literal(after, span), span)
  }
  return exprValue(text)
}

/** Lowers an expression for its effects alone. */
export function lowerEffect(l: Lowering, node: Expression): void {
  const span = l.span(node)
  switch (node.type) {
    case 'ParenthesizedExpression':
      lowerEffect(l, node.expression)
      return
    case 'SequenceExpression':
      for (const one of node.expressions) lowerEffect(l, one)
      return
    case 'ConditionalExpression': {
      const test = l.scalarOrNothing(lowerExpression(l, node.test), node.test)
      const then = l.collect(() => lowerEffect(l, node.consequent))
      const other = l.collect(() => lowerEffect(l, node.alternate))
      if (test !== undefined) l.emit(...makeIf(test, then, other, span))
      return
    }
    case 'LogicalExpression': {
      const left = l.scalarOrNothing(lowerExpression(l, node.left), node.left)
      const right = l.collect(() => lowerEffect(l, node.right))
      if (left === undefined) return
      const test =
        node.operator === '&&' ? left : node.operator === '||' ? negated(left, span) : binary('==', left, literal(null, span), span)
      l.emit(...makeIf(test, right, [], span))
      return
    }
    case 'UnaryExpression':
      if (node.operator === 'void') {
        lowerEffect(l, node.argument)
        return
      }
      break
    case 'UpdateExpression':
      l.verbs.update(l, node, { value: false })
      return
    case 'AssignmentExpression':
      l.verbs.assignment(l, node, { value: false })
      return
    default:
      break
  }
  evaluate(l, lowerExpression(l, node), node)
}

/** Emits what an unused value could fail with. */
export function evaluate(l: Lowering, value: Value, node: AnyNode): void {
  switch (value.kind) {
    case 'expr':
      if (!isPlain(value.expr)) l.emit({ kind: 'Evaluate', value: value.expr, span: l.span(node) })
      return
    case 'tuple':
      for (const item of value.items) evaluate(l, item, node)
      return
    case 'record':
      for (const field of value.fields) evaluate(l, field.value, node)
      return
    case 'elementRow':
      l.stabilizedValue(value)
      return
    case 'key':
    case 'env':
    case 'handle':
    case 'view':
    case 'shape':
    case 'data':
    case 'tableRow':
    case 'recordRow':
    case 'stored':
    case 'closure':
    case 'builtin':
    case 'global':
    case 'refused':
      return
  }
}
