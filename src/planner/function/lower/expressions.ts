/** Lowers expressions: each node type of acorn to its value. */
import type { AnyNode, Expression, Identifier, MemberExpression, NewExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { isNameByRow } from '../captures/capturedKeys.ts'
import { classExpression } from '../captures/declaredClasses.ts'
import { freeValue } from '../captures/outside.ts'
import { classAround, hasPrivateField, privateName } from '../captures/privateNames.ts'
import { comparedTexts } from '../captures/textCodes.ts'
import { listOrNone } from '../listOrNone.ts'
import { comparedHeld } from '../lists/held/heldLists.ts'
import { heldCall } from '../lists/held/heldMade.ts'
import { withName } from '../lists/held/notes.ts'
import { codedText } from '../lists/keyed/builtTexts.ts'
import { newCollection } from '../lists/keyed/collections.ts'
import { dictionaryDelete, dictionaryHas, dictionarySize } from '../lists/keyed/dictionaries.ts'
import { arrayLiteral, memberOf, objectLiteral } from '../lists/literals.ts'
import { newTypedArray } from '../lists/localArrays.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { viewIn } from '../lists/movedArrays.ts'
import { askedForAbsent } from '../lists/optionals.ts'
import { filteredLength } from '../lists/shortLists.ts'
import { splitText } from '../lists/splitTexts.ts'
import { storedPart } from '../lists/stored.ts'
import { comparedKinds, instanceOf } from '../lists/variants/objectChoices.ts'
import { comparedMaybe } from '../maybeScalars.ts'
import { FORBIDDEN_SYNTAX } from '../refusals.ts'
import { areMadeLists } from '../rowLists.ts'
import { asTest, binary, isPlain, literal, makeIf, negated, unary } from './build.ts'
import { lowerConditional, lowerLogical, lowerTest } from './conditions.ts'
import { comparesObjects, newDate } from './dates.ts'
import type { Lowering } from './lowering.ts'
import { lowerChain } from './optionalChains.ts'
import { regexOf } from './regexes.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

export function lowerExpression(l: Lowering, node: Expression): Value {
  const value = lowered(l, node)
  return MAKES_LISTS.has(node.type) ? value : withName(l, value)
}

/** Expressions that may make a list which nothing else has. */
const MAKES_LISTS: ReadonlySet<string> = new Set(['ArrayExpression', 'CallExpression', 'NewExpression', 'ParenthesizedExpression'])

function lowered(l: Lowering, node: Expression): Value {
  const span = l.span(node)
  const either = l.context.kind === 'row' ? listOrNone(l, node) : undefined
  if (either !== undefined) return lowerConditional(l, either)
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
      if (node.operator === 'delete') return deleted(l, node.argument) ?? l.refuse('mutates-element', node, 'an object')
      if (node.operator === 'void') {
        l.verbs.effect(l, node.argument)
        return exprValue(literal(undefined, span))
      }
      if (node.operator === '!') {
        const tested = lowerTest(l, node.argument)
        return tested === undefined ? REFUSED : exprValue(unary('!', asTest(tested), span))
      }
      const value = lowerExpression(l, node.argument)
      const operand = NUMERIC.has(node.operator) ? l.numberOrNothing(value, node.argument) : l.scalarOrNothing(value, node.argument)
      return operand === undefined ? REFUSED : exprValue(unary(node.operator, operand, span))
    }
    case 'BinaryExpression': {
      const { left, operator } = node
      if (operator === 'in' && left.type !== 'PrivateIdentifier') return nameIn(l, left, node.right, node)
      if (left.type === 'PrivateIdentifier') return hasPrivate(l, lowerExpression(l, node.right), left.name, node)
      if (operator === 'in') return l.refuse('operator', node, operator)
      const sides = l.inOrder([left, node.right].map((one) => () => lowerExpression(l, one)))
      if (operator === 'instanceof') {
        const [object, of] = sides
        const is = l.context.kind === 'loop' && object !== undefined && of !== undefined ? instanceOf(l, object, of, node) : undefined
        return is === undefined ? l.refuse('operator', node, operator) : exprValue(is)
      }
      const asked = askedForAbsent(l, operator, sides, node)
      if (asked !== undefined) return exprValue(asked)
      const same = comparedHeld(l, operator, sides, span)
      if (same !== undefined) return exprValue(same)
      const [a, b] = asScalars(l, sides, [left, node.right], { numeric: operator !== '+' && NUMERIC.has(operator) })
      if (a === undefined || b === undefined) return REFUSED
      if (/^[!=]==?$/.test(operator)) {
        if (areMadeLists(l, a, b)) return l.refuse('object-as-value', node)
        const maybe = comparedMaybe(l, operator, [a, b], span)
        if (maybe !== undefined) return exprValue(maybe)
        comparesObjects(l, a, b, span)
      }
      const made = comparedKinds(l, operator, a, b, span) ?? comparedTexts(l, operator, a, b, span) ?? binary(operator, a, b, span)
      return exprValue(operator === '+' ? codedText(l, made, node) : made)
    }
    case 'LogicalExpression':
      return lowerLogical(l, node)
    case 'ConditionalExpression':
      return lowerConditional(l, node)
    case 'TemplateLiteral':
      return template(l, node)
    case 'MemberExpression': {
      const { object, property, computed } = node
      if (object.type === 'Super') return ofSuper(l, node)
      if (property.type === 'PrivateIdentifier') return privateMember(l, lowerExpression(l, object), property.name, node)
      const part = splitText(l, node)
      if (part !== undefined) return part
      const count = filteredLength(l, node) ?? dictionarySize(l, node)
      if (count !== undefined) return count
      if (!computed) return memberOf(l, lowerExpression(l, object), property.type === 'Identifier' ? property.name : '', node)
      const [of, name] = l.inOrder([() => lowerExpression(l, object), () => lowerExpression(l, property)])
      return of === undefined || name === undefined ? REFUSED : memberOf(l, of, name, node)
    }
    case 'ChainExpression':
      return lowerChain(l, node.expression, node)
    case 'CallExpression':
      return heldCall(l, node, () => l.verbs.call(l, node))
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
      return heldCall(
        l,
        node,
        () =>
          newDate(l, node) ??
          newRegex(l, node) ??
          newTypedArray(l, node) ??
          newCollection(l, node) ??
          l.verbs.instance(l, node) ??
          forbidden(l, node),
      )
    case 'ClassExpression':
      return classExpression(l, node)
    case 'ThisExpression':
      return selfOf(l) ?? forbidden(l, node)
    case 'YieldExpression':
    case 'TaggedTemplateExpression':
    case 'MetaProperty':
    case 'AwaitExpression':
    case 'ImportExpression':
      return forbidden(l, node)
  }
}

/** Lowers `new RegExp('a+', 'g')` of constants, which is what some tools make of `/a+/g`; undefined for others. */
function newRegex(l: Lowering, { callee, arguments: args }: NewExpression): Value | undefined {
  if (callee.type !== 'Identifier' || args.length === 0 || args.length > 2) return undefined
  if (l.unit.names.bindingOf.get(callee) !== undefined) return undefined
  const free = l.unit.freeOf(callee)
  if (free.kind !== 'global' || free.value !== RegExp) return undefined
  const texts = args.flatMap((one) => (one.type === 'Literal' && typeof one.value === 'string' ? [one.value] : []))
  const [pattern = '', flags = ''] = texts
  if (texts.length < args.length) return undefined
  try {
    const { source, flags: known } = new RegExp(pattern, flags)
    return regexOf({ pattern: source, flags: known })
  } catch {
    return undefined // it throws where it stands
  }
}

/** Lowers `delete object[name]` of an object whose names are computed; undefined for others. */
function deleted(l: Lowering, of: Expression): Value | undefined {
  if (of.type !== 'MemberExpression' || of.object.type === 'Super' || of.property.type === 'PrivateIdentifier') return undefined
  const { object, property, computed } = of
  const [from, name] = l.inOrder([
    () => lowerExpression(l, object as Expression),
    () => (computed ? lowerExpression(l, property) : exprValue(literal((property as Identifier).name, l.span(property)))),
  ])
  if (from === undefined || name === undefined || from.kind === 'refused' || name.kind === 'refused') return REFUSED
  return dictionaryDelete(l, from, name, of)
}

/** Lowers `name in object` for an object that is captured, or whose names are computed. */
function nameIn(l: Lowering, left: Expression, right: Expression, node: AnyNode): Value {
  const [name, object] = l.inOrder([() => lowerExpression(l, left), () => lowerExpression(l, right)])
  if (name === undefined || object === undefined || name.kind === 'refused' || object.kind === 'refused') return REFUSED
  const has = dictionaryHas(l, object, name, node)
  if (has !== undefined) return has
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

/** Lowers `super.name`. */
function ofSuper(l: Lowering, node: MemberExpression): Value {
  const name = !node.computed && node.property.type === 'Identifier' ? node.property.name : undefined
  const value = name === undefined ? undefined : l.verbs.superMember(l, selfOf(l), { name, node })
  return value ?? l.refuse('operator', node, 'super')
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
  return asScalars(l, l.inOrder(nodes.map((node) => () => lowerExpression(l, node))), nodes, { numeric })
}

function asScalars(
  l: Lowering,
  values: readonly Value[],
  nodes: readonly Expression[],
  { numeric }: { readonly numeric: boolean },
): (Expr | undefined)[] {
  return values.map((value, i) => {
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
    return l.refuse('use-before-declaration', node, node.name)
  }
  if (bound.kind === 'view') return viewIn(l, bound, node)
  if (bound.kind === 'held') {
    const { local, ...held } = bound
    return { ...held, number: { kind: 'Local', name: local, span: l.span(node) } }
  }
  return bound.kind === 'value' ? bound.value : exprValue({ kind: 'Local', name: bound.name, span: l.span(node) })
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
  return exprValue(codedText(l, text, node))
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
      const test = lowerTest(l, node.test)
      const then = whereHolds(l, test, () => l.collect(() => lowerEffect(l, node.consequent)))
      const other = whereHolds(l, test && negated(test, span), () => l.collect(() => lowerEffect(l, node.alternate)))
      if (test !== undefined) l.emit(...makeIf(test, then, other, span))
      return
    }
    case 'LogicalExpression': {
      const left = node.operator === '??' ? l.scalarOrNothing(lowerExpression(l, node.left), node.left) : lowerTest(l, node.left)
      const reached = left === undefined || node.operator === '??' ? undefined : node.operator === '&&' ? left : negated(left, span)
      const right = whereHolds(l, reached, () => l.collect(() => lowerEffect(l, node.right)))
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
    case 'CallExpression':
      l.unusedCall = node
      break
    case 'YieldExpression':
      if (l.verbs.yielded(l, node)) return
      break
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
    case 'window':
    case 'shape':
    case 'data':
    case 'tableRow':
    case 'recordRow':
    case 'stored':
    case 'records':
    case 'item':
    case 'maybeItem':
    case 'held':
    case 'closure':
    case 'builtin':
    case 'global':
    case 'refused':
      return
  }
}
