/**
 * Lowers assignments to locals, and to elements of row views. Everything else that is assigned belongs to someone outside
 * the function, and is refused by name.
 */
import type { AnyNode, AssignmentExpression, Expression, MemberExpression, Pattern, UpdateExpression } from 'acorn'
import type { BinaryOperator, Expr } from '../../../core/ir/functionIr.ts'
import { BIGINTS } from '../../../core/ir/irTypes.ts'
import { classAround, privateName } from '../captures/privateNames.ts'
import { isCollection } from '../lists/collectionValue.ts'
import { assignedList } from '../lists/listVariables.ts'
import { checkedIndex, checkNumber, elementRead } from '../lists/madeArrays.ts'
import { assignView, keptView, placeRow } from '../lists/movedArrays.ts'
import { absentLiteral, noteOptional, present } from '../lists/optionals.ts'
import { changedPart, replacedRecord } from '../lists/records.ts'
import { isAggregate, noteChange, noteReassigned, noteReplaced, storedPart, storeParts, takenApart } from '../lists/stored.ts'
import { refusalOf } from '../refusals.ts'
import { isLikeLet } from '../source/scope.ts'
import { binary, literal, makeIf, negated } from './build.ts'
import { isBuffer } from './calls.ts'
import { lowerExpression } from './expressions.ts'
import type { Lowering } from './lowering.ts'
import { staticName } from './members.ts'
import { type Bound, exprValue, REFUSED, type Records, type Site, type Stored, type Value } from './value.ts'

/** A place that can be assigned. */
type Place =
  | { readonly kind: 'local'; readonly name: string; readonly userName: string }
  /** A variable that holds objects, or a part that is one. */
  | { readonly kind: 'whole'; readonly stored: Stored }
  /** A variable that holds views, or a place of a list of rows (`movedArrays.ts`). */
  | { readonly kind: 'view'; readonly bound: Bound & { readonly kind: 'view' }; readonly text: string }
  | { readonly kind: 'row'; readonly rows: string; readonly array: string; readonly subscripts: readonly Expr[]; readonly text: string }
  /** A place of a list of objects (`records.ts`). */
  | { readonly kind: 'item'; readonly list: Records; readonly index: Expr }
  | { readonly kind: 'element'; readonly array: string; readonly subscripts: readonly Expr[] }
  /** A property with a setter, which is called with the value; its getter gives the current one. */
  | { readonly kind: 'accessor'; readonly setter: Value & { readonly kind: 'closure' }; readonly object: Stored; readonly name: string }

/** Lowers `x = e`, `w[k] += e`, `[a, b] = [b, a]`; the value comes back only where it is wanted. */
export function lowerAssignment(l: Lowering, node: AssignmentExpression, wanted: { readonly value: boolean }): Value {
  const { left, operator, right } = node
  if (left.type === 'ArrayPattern' || left.type === 'ObjectPattern') {
    const value = l.stabilizedValue(lowerExpression(l, right))
    l.verbs.bind(l, left, value, 'assign')
    return value
  }
  if (operator === '=') {
    if (left.type === 'Identifier') {
      const value = lowerExpression(l, right)
      if (assignedList(l, left, value, right, node)) return value
      assignTo(l, left, value)
      return value.kind === 'expr' ? lowerPlainRead(l, left, value) : value
    }
    return assignElement(l, left, right, { node, wanted })
  }
  const place = placeOf(l, left, { twice: true })
  if (place === undefined) {
    lowerExpression(l, right)
    return REFUSED
  }
  if (isNoScalar(place)) {
    lowerExpression(l, right)
    return l.refuse('object-as-value', left)
  }
  const current = read(place, l, left)
  if (operator === '&&=' || operator === '||=' || operator === '??=') return logicalAssignment(l, place, { current, node, wanted })
  const op = operatorOf(operator)
  if (op === undefined) return l.refuse('operator', node, operator)
  const [before, after] = l.inOrder([() => exprValue(current), () => lowerExpression(l, right)])
  const [a, b] = [
    before === undefined ? undefined : l.scalarOrNothing(before, left),
    after === undefined ? undefined : l.scalarOrNothing(after, right),
  ]
  if (a === undefined || b === undefined) return REFUSED
  return store(l, place, binary(op, a, b, l.span(node)), { node, wanted })
}

/** Returns the value of `x = e` where x is a local: a read of the local. */
function lowerPlainRead(l: Lowering, left: Pattern & { type: 'Identifier' }, value: Value): Value {
  const binding = l.unit.names.bindingOf.get(left)
  const bound = binding === undefined ? undefined : l.bound.get(binding)
  return bound?.kind === 'local' ? exprValue({ kind: 'Local', name: bound.name, span: l.span(left) }) : value
}

/** Assigns a value that was already computed. */
export function assignTo(l: Lowering, target: Pattern & { type: 'Identifier' | 'MemberExpression' }, value: Value): void {
  const place = placeOf(l, target, { twice: false })
  if (place === undefined || value.kind === 'refused') return
  if (isNoScalar(place)) {
    storeWhole(l, place, value, target)
    return
  }
  const site = place.kind === 'local' && target.type === 'Identifier' ? declarationOf(l, target) : undefined
  if (site !== undefined && (isAggregate(value) || absentLiteral(value) !== undefined)) noteOptional(l, site, takenApart(l, value))
  if (value.kind !== 'expr' && place.kind === 'local') {
    l.refuse('reassigns-value', target, place.userName)
    return
  }
  const expr = l.scalarOrNothing(value, target)
  if (expr !== undefined) store(l, place, expr, { node: target, wanted: { value: false } })
}

/** Returns the place where a variable that is assigned again is declared; undefined for parameters and hoisted variables. */
function declarationOf(l: Lowering, target: Pattern & { type: 'Identifier' }): Site | undefined {
  const binding = l.unit.names.bindingOf.get(target)
  const isDeclared = binding !== undefined && binding.kind !== 'param' && isLikeLet(binding)
  return isDeclared ? { unit: l.unit, start: binding.declaredAt } : undefined
}

type Whole = Place & { readonly kind: 'whole' | 'view' | 'row' | 'item' }
type Scalar = Exclude<Place, Whole>

function isNoScalar(place: Place): place is Whole {
  return place.kind === 'whole' || place.kind === 'view' || place.kind === 'row' || place.kind === 'item'
}

/** Assigns another object or array to a variable, or to a part. */
function storeWhole(l: Lowering, place: Whole, value: Value, node: AnyNode): void {
  if (place.kind === 'whole') storeParts(l, place.stored, value, node)
  else if (value.kind === 'refused') return
  else if (place.kind === 'item') replacedRecord(l, place.list, place.index, value, node)
  else if (place.kind === 'view') {
    if (!assignView(l, place.bound, value)) l.refuse('reassigns-value', node, place.text)
  } else if (!placeRow(l, place, value, l.span(node))) l.refuse('reassigns-value', node, place.text)
}

interface Assigning {
  readonly node: AnyNode
  readonly wanted: { readonly value: boolean }
}

/** Lowers `w[k] = e`, where w and k are evaluated before e. */
function assignElement(l: Lowering, left: Pattern, right: Expression, how: Assigning): Value {
  let place = placeOf(l, left, { twice: false })
  const between = l.out.length
  const value = lowerExpression(l, right)
  if (place !== undefined && isNoScalar(place)) {
    storeWhole(l, place, value, how.node)
    return place.kind === 'whole' ? place.stored : value
  }
  if (place?.kind === 'element' && l.out.length > between) {
    const emitted = l.out.splice(between)
    place = { ...place, subscripts: place.subscripts.map((one) => l.stabilized(one)) }
    l.out.push(...emitted)
  }
  if (place?.kind === 'accessor') {
    l.verbs.inline(l, place.setter, [value], how.node)
    return value
  }
  const expr = place === undefined ? undefined : l.scalarOrNothing(value, right)
  return place === undefined || expr === undefined ? REFUSED : store(l, place, expr, how)
}

/** Emits the assignment; its value is what was assigned, not what the array made of it. */
function store(l: Lowering, place: Scalar, value: Expr, { node, wanted }: Assigning): Value {
  const span = l.span(node)
  if (place.kind === 'local') {
    l.emit({ kind: 'Assign', local: place.name, value, span })
    return exprValue({ kind: 'Local', name: place.name, span })
  }
  if (place.kind === 'accessor') {
    const given = exprValue(l.stabilized(value))
    l.verbs.inline(l, place.setter, [given], node)
    return given
  }
  if (l.locals.has(place.array) && l.frame.isLibrary !== true) checkNumber(l, place.array, value, node)
  if (!wanted.value) {
    l.emit({ kind: 'Write', array: place.array, subscripts: place.subscripts, value, span })
    return REFUSED
  }
  const subscripts = place.subscripts.map((one) => l.stabilized(one))
  const kept = l.stabilized(value)
  l.emit({ kind: 'Write', array: place.array, subscripts, value: kept, span })
  return exprValue(kept)
}

function read(place: Scalar, l: Lowering, node: AnyNode): Expr {
  const span = l.span(node)
  if (place.kind === 'accessor') return l.scalar(l.verbs.member(l, place.object, place.name, node), node)
  return place.kind === 'local' ? { kind: 'Local', name: place.name, span } : elementRead(l, place.array, place.subscripts, span)
}

function logicalAssignment(
  l: Lowering,
  place: Scalar,
  how: Assigning & { readonly current: Expr; readonly node: AssignmentExpression },
): Value {
  const { current, node, wanted } = how
  const span = l.span(node)
  if (wanted.value && place.kind !== 'local') return l.refuse('effect-in-expression', node)
  const test =
    node.operator === '&&=' ? current : node.operator === '||=' ? negated(current, span) : binary('==', current, literal(null, span), span)
  const emitted = l.collect(() => {
    const expr = l.scalarOrNothing(lowerExpression(l, node.right), node.right)
    if (expr !== undefined) store(l, place, expr, { node, wanted: { value: false } })
  })
  l.emit(...makeIf(test, emitted, [], span))
  return place.kind === 'local' ? exprValue(current) : REFUSED
}

/** Lowers `x++` of a number or a bigint: x + 1 or x + 1n. Null and undefined are numbers too, unless the old value is used. */
export function lowerUpdate(l: Lowering, node: UpdateExpression, wanted: { readonly value: boolean }): Value {
  const span = l.span(node)
  const place = placeOf(l, node.argument, { twice: true })
  if (place === undefined) return REFUSED
  if (isNoScalar(place)) return l.refuse('object-as-value', node.argument)
  const current = read(place, l, node.argument)
  const keepOld = wanted.value && !node.prefix
  const isBigint = place.kind === 'local' ? l.bigints.has(place.name) : place.kind === 'element' && l.dtypes.get(place.array) === 'i64'
  if (place.kind === 'local') {
    const allowed = isBigint ? BIGINTS : keepOld ? NUMBERS : NUMBERS_OR_NONE
    l.checks.push({
      expr: current,
      holds: (kinds) => kinds?.every((kind) => allowed.has(kind)) === true,
      refusal: refusalOf('increments-unknown', span, place.userName),
      incremented: place.name,
    })
  }
  const old = keepOld ? l.temporary(current, 'old') : current
  const next = binary(node.operator === '++' ? '+' : '-', old, literal(isBigint ? 1n : 1, span), span)
  const value = store(l, place, next, { node, wanted: { value: wanted.value && node.prefix } })
  return keepOld ? exprValue(old) : value
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
const NUMBERS_OR_NONE: ReadonlySet<string> = new Set([...NUMBERS, 'null'])

/** Returns the place that a target names; undefined where it is refused. With `twice` the subscripts can be evaluated again. */
function placeOf(l: Lowering, target: AnyNode, how: { readonly twice: boolean }): Place | undefined {
  if (target.type === 'ParenthesizedExpression') return placeOf(l, target.expression, how)
  if (target.type === 'Identifier') {
    const binding = l.unit.names.bindingOf.get(target)
    if (binding === undefined) {
      const free = l.unit.freeOf(target)
      if (free.kind === 'absent' && !free.inspector) l.refuse('captures-unreadable', target, target.name)
      else l.refuse('assigns-captured-variable', target, target.name)
      return undefined
    }
    const bound = l.bound.get(binding)
    if (binding.kind === 'const') {
      l.refuse('operator', target, 'an assignment to a constant')
      return undefined
    }
    if (bound?.kind === 'value' && bound.value.kind === 'stored' && bound.value.owner.isVariable) {
      noteReassigned(l, bound.value.owner, l.span(target))
      return { kind: 'whole', stored: bound.value }
    }
    if (bound?.kind === 'view') return { kind: 'view', bound, text: target.name }
    if (bound === undefined) l.refuse('use-before-declaration', target, target.name)
    else if (bound.kind === 'value' && bound.value.kind !== 'refused') l.refuse('reassigns-value', target, target.name)
    return bound?.kind === 'local' ? { kind: 'local', name: bound.name, userName: target.name } : undefined
  }
  if (target.type === 'MemberExpression') return elementPlace(l, target, how)
  l.refuse('operator', target, 'this assignment')
  return undefined
}

function elementPlace(l: Lowering, target: MemberExpression, how: { readonly twice: boolean }): Place | undefined {
  if (target.object.type === 'Super') {
    l.refuse('operator', target, 'super')
    return undefined
  }
  const object = lowerExpression(l, target.object)
  const objectText = l.span(target.object).text
  const rows = object.kind === 'view' ? l.rowsOf.get(object.array) : undefined
  if (object.kind === 'view' && rows === undefined && object.rank !== undefined && object.rank > object.prefix.length + 1) {
    const site = l.madeAt.get(object.array)
    if (site !== undefined) l.foundPlaced.push(site)
    l.refuse('reassigns-value', target, l.span(target).text)
    return undefined
  }
  if (object.kind === 'view') {
    if (isBuffer(l, object.array)) l.refuse('unknown-method', target, `${objectText}[…] =`)
    const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
    if (index === undefined) {
      if (!target.computed) l.refuse('view-as-value', target)
      return undefined
    }
    if (rows !== undefined) {
      const subscripts = [l.stabilized(index, 'at')]
      return { kind: 'row', rows, array: object.array, subscripts, text: l.span(target).text }
    }
    const checked = checkedIndex(l, object.array, index, target)
    const prefix = how.twice ? keptView(l, object).prefix : object.prefix
    return { kind: 'element', array: object.array, subscripts: [...prefix, how.twice ? l.stabilized(checked) : checked] }
  }
  if (object.kind === 'records') {
    const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
    if (index === undefined) return undefined
    return { kind: 'item', list: object.list, index: l.stabilized(index, 'at') }
  }
  if (object.kind === 'item') {
    const value = target.computed ? lowerExpression(l, target.property as Expression) : undefined // a private name is not computed
    const name = value === undefined ? nameOf(l, target.property) : staticName(l, value)
    if (name === undefined) l.refuse('computed-name', target)
    const part = name === undefined ? undefined : changedPart(l, object, name, target)
    return part && { kind: 'element', array: part.array, subscripts: [part.place] }
  }
  switch (object.kind) {
    case 'data':
    case 'tableRow':
    case 'recordRow':
    case 'global':
      l.refuse('mutates-captured-object', target, object.name)
      break
    case 'closure':
    case 'choice':
    case 'builtin':
      l.refuse('mutates-captured-object', target, objectText)
      break
    case 'expr':
    case 'key':
    case 'elementRow':
      l.refuse('mutates-element', target, objectText)
      break
    case 'env':
    case 'shape':
      l.refuse('mutates-element', target, objectText)
      break
    case 'handle':
      l.refuse('handle-as-value', target, object.name)
      break
    case 'stored':
      return partPlace(l, object, target)
    case 'tuple':
    case 'record':
      if (object.site !== undefined) l.foundChanging.push(object.site)
      l.refuse('mutates-literal', target)
      break
    case 'refused':
      break
  }
  return undefined
}

/** Returns the place of a part of an object that the function made; undefined where it is refused. */
function partPlace(l: Lowering, of: Stored, target: MemberExpression): Place | undefined {
  const { property, computed } = target
  if (isCollection(of) && l.frame.isLibrary !== true) {
    l.refuse('adds-part', target, l.span(target).text)
    return undefined
  }
  const value = computed ? lowerExpression(l, property as Expression) : undefined // a private name is not computed
  const name = value === undefined ? nameOf(l, property) : staticName(l, value)
  if (name === undefined) {
    if (value?.kind !== 'refused') l.refuse('computed-name', target)
    if (of.site !== undefined) l.foundIndexed.push(of.site)
    return undefined
  }
  const span = l.span(target)
  const object = present(l, of, name, target)
  const part = storedPart(object, name)
  switch (part?.kind) {
    case 'scalar':
      noteChange(l, object.owner, span)
      return { kind: 'local', name: part.local, userName: span.text }
    case 'fields':
    case 'items':
      noteReplaced(l, object.owner, span)
      return { kind: 'whole', stored: { kind: 'stored', storage: part, owner: object.owner, isPart: true } }
    case 'optional':
      noteReplaced(l, object.owner, span)
      return { kind: 'whole', stored: { kind: 'stored', storage: part, owner: object.owner, isPart: true } }
    case 'fixed':
      if (object.site !== undefined) l.foundIndexed.push(object.site)
      l.refuse('reassigns-value', target, span.text)
      return undefined
    case undefined: {
      const setter = l.verbs.setter(l, object, name, target)
      if (setter !== undefined) return { kind: 'accessor', setter, object, name }
      l.refuse('adds-part', target, span.text)
      return undefined
    }
  }
}

function nameOf(l: Lowering, property: AnyNode): string | undefined {
  if (property.type === 'Identifier') return property.name
  const of = classAround(l, l.unit)
  return property.type === 'PrivateIdentifier' && of !== undefined ? privateName(of, property.name) : undefined
}

/** Returns the operator of `x op= …`; undefined for any other assignment. */
function operatorOf(assignment: string): BinaryOperator | undefined {
  const operator = assignment.slice(0, -1)
  return ['+', '-', '*', '/', '%', '**', '&', '|', '^', '<<', '>>', '>>>'].includes(operator) ? (operator as BinaryOperator) : undefined // one of the listed
}
