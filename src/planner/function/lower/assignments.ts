/**
 * Lowers assignments to locals, and to elements of row views. Everything else that is assigned belongs to someone outside
 * the function, and is refused by name.
 */
import type { AnyNode, AssignmentExpression, Expression, Pattern, UpdateExpression } from 'acorn'
import { type BinaryOperator, type Expr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { BIGINTS } from '../../../core/ir/irTypes.ts'
import { emptiedList } from '../lists/elements.ts'
import { writtenIndex } from '../lists/grownLists.ts'
import { checkedHeld, storedInHeld } from '../lists/held/heldLists.ts'
import { isListOrObject, makerOfValue, noteHeld, noteObject, noteOtherLength, notePart } from '../lists/held/notes.ts'
import { heldUnder, isHeldValue } from '../lists/keyed/collections.ts'
import { heldKind, noteGotten, noteHeldValue } from '../lists/keyed/collectionValue.ts'
import { dictionaryPut } from '../lists/keyed/dictionaries.ts'
import { assignedList } from '../lists/listVariables.ts'
import { checkedIndex, checkNumber, elementRead, placeIn } from '../lists/madeArrays.ts'
import { assignView, placeRow } from '../lists/movedArrays.ts'
import { absentLiteral, noteOptional } from '../lists/optionals.ts'
import { noteRecord, replacedRecord } from '../lists/records.ts'
import { isObject, storeParts, takenApart } from '../lists/stored.ts'
import { refusalOf } from '../refusals.ts'
import { isLikeLet } from '../source/scope.ts'
import { type Place, placeOf } from '../source/targets.ts'
import { binary, literal, makeIf, negated, unary } from './build.ts'
import { lowerExpression } from './expressions.ts'
import type { Lowering } from './lowering.ts'
import { exprValue, type Held, REFUSED, type Site, type Value } from './value.ts'

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
  const isLogical = operator === '&&=' || operator === '||=' || operator === '??='
  if (isLogical && place.kind === 'entry' && heldKind(l, place.of) !== undefined) return heldEntry(l, place, node)
  const current = read(place, l, left)
  if (isLogical) return logicalAssignment(l, place, { current, node, wanted })
  const op = operatorOf(operator)
  if (op === undefined) return l.refuse('operator', node, operator)
  const between = l.out.length
  const [before, after] = l.inOrder([() => exprValue(current), () => lowerExpression(l, right)])
  const [a, b] = [
    before === undefined ? undefined : l.scalarOrNothing(before, left),
    after === undefined ? undefined : l.scalarOrNothing(after, right),
  ]
  if (a === undefined || b === undefined) return REFUSED
  return store(l, stillThere(l, place, l.out.slice(between)), binary(op, a, b, l.span(node)), { node, wanted })
}

/** Returns the place as one whose element is there, where it was read before these statements, and they change no length. */
function stillThere(l: Lowering, place: Scalar, since: readonly Stmt[]): Scalar {
  if (place.kind !== 'held' && (place.kind !== 'grown' || l.places.has(place.array))) return place
  let isChanged = false
  visitStmts(since, (stmt) => {
    if (stmt.kind === 'Write' || stmt.kind === 'Add') isChanged ||= place.kind === 'held'
    if (stmt.kind === 'Assign') isChanged ||= place.kind === 'grown'
  })
  return isChanged ? place : { ...place, isThere: true }
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
  const isWhole = value.kind === 'held' || isObject(value) || absentLiteral(value) !== undefined
  if (site !== undefined && isWhole) noteOptional(l, site, value.kind === 'held' ? value : takenApart(l, value))
  noteHeldPart(l, place, value)
  if (place.kind === 'local') noteGotten(l, { kind: 'Local', name: place.name, span: l.span(target) }, value)
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

type Whole = Place &
  ({ readonly kind: 'whole' | 'view' | 'row' | 'item' | 'list' | 'field' } | { readonly kind: 'held'; readonly isScalar: false })
type Scalar = Exclude<Place, { readonly kind: 'whole' | 'view' | 'row' | 'item' | 'list' | 'field' }>

function isNoScalar(place: Place): place is Whole {
  return /^(whole|view|row|item|list|field)$/.test(place.kind) || (place.kind === 'held' && !place.isScalar)
}

/** Assigns another object or array to a variable, or to a part. */
function storeWhole(l: Lowering, place: Whole, value: Value, node: AnyNode): void {
  if (value.kind === 'held') noteVariable(l, place, value)
  const declared = place.kind === 'whole' && !place.stored.isPart ? place.stored.owner.declared : undefined
  if (declared !== undefined && (value.kind === 'held' || absentLiteral(value) !== undefined)) noteOptional(l, declared, value)
  if (place.kind === 'whole') storeParts(l, place.stored, value, node)
  else if (value.kind === 'refused') return
  else if (place.kind === 'held') storedInHeld(l, place.list, place.at, value, { node })
  else if (place.kind === 'list' || place.kind === 'field') {
    const number = l.verbs.heldNumber(l, place.of, value, { node, mayBeAbsent: place.mayBeAbsent === true })
    if (place.kind === 'field') notePart(l, place.part.kind, place.part.name, value)
    const span = l.span(node)
    if (number === undefined) return
    if (place.kind === 'list') l.emit({ kind: 'Assign', local: place.local, value: number, span })
    else l.emit({ kind: 'Write', array: place.array, subscripts: [place.at], value: number, span })
  } else if (place.kind === 'item') replacedRecord(l, place.list, place.index, value, node)
  else if (place.kind === 'view') {
    if (assignView(l, place.bound, value)) return
    noteOtherLength(l, place.bound.view, value)
    l.refuse('reassigns-value', node, place.text)
  } else if (!placeRow(l, place, value, l.span(node))) l.refuse('reassigns-value', node, place.text)
}

/** Notes that a variable is given lists that places hold: the next try makes a variable for such. */
function noteVariable(l: Lowering, place: Whole, { of }: Held): void {
  const variable = place.kind === 'whole' ? place.stored : place.kind === 'view' ? place.bound.view : undefined
  const maker = variable && makerOfValue(l, variable)
  if (maker !== undefined) l.held.note(maker, of)
}

/** Notes that a field, which seemed to be a scalar, is given an object or list that other places hold, too: the next try has a place for it. */
function noteHeldPart(l: Lowering, place: Place, value: Value): void {
  const isHeld = isListOrObject(l, value)
  if (place.kind === 'element' && place.part !== undefined && isHeld) {
    const { kind, name } = place.part
    noteObject(l, value)
    notePart(l, kind, name, value)
  }
  const maker = place.kind === 'element' && place.part === undefined && isHeld ? l.makers.get(place.array) : undefined
  if (maker !== undefined && place.kind === 'element' && l.lists.has(place.array)) noteHeld(l, maker, value)
  if (place.kind === 'local' && place.of !== undefined && isHeld) {
    noteObject(l, place.of)
    noteObject(l, value)
  }
}

interface Assigning {
  readonly node: AnyNode
  readonly wanted: { readonly value: boolean }
}

/** Lowers `w[k] = e`, where w and k are evaluated before e. */
function assignElement(l: Lowering, left: Pattern, right: Expression, how: Assigning): Value {
  const hint = left.type === 'MemberExpression' && !left.computed && left.property.type === 'Identifier' ? left.property.name : undefined
  const isEmptied = hint === 'length' && right.type === 'Literal' && right.value === 0
  if (isEmptied && left.type === 'MemberExpression' && emptiedList(l, lowerExpression(l, left.object as Expression), how.node))
    return lowerExpression(l, right)
  let place = placeOf(l, left, { twice: false })
  const between = l.out.length
  l.nameHint = hint
  const value = lowerExpression(l, right)
  l.nameHint = undefined
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
    // The value is what was given, also where the setter changes the variable that it was read from.
    const given = how.wanted.value ? l.stabilizedValue(value) : value
    l.verbs.inline(l, place.setter, [given], how.node)
    return given
  }
  if (place !== undefined) noteHeldPart(l, place, value)
  if (place?.kind === 'entry' && isHeldValue(l, place.of, value)) {
    const given = l.stabilizedValue(value)
    return dictionaryPut(l, place.of, place.key, given, how.node) ? given : REFUSED
  }
  if (place?.kind === 'grown' && isListOrObject(l, value)) noteRecord(l, l.madeIn.get(place.array), value)
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
  if (place.kind === 'entry') {
    const given = exprValue(l.stabilized(value))
    return dictionaryPut(l, place.of, place.key, given, node) ? given : REFUSED
  }
  if (place.kind === 'held') {
    const given = exprValue(l.stabilized(value))
    return storedInHeld(l, place.list, place.at, given, { node, isThere: place.isThere === true }) ? given : REFUSED
  }
  if (place.kind === 'grown') {
    checkNumber(l, place.array, value, node)
    const given = l.stabilized(value)
    const at = place.isThere === true ? placeIn(l, place.array, place.at) : writtenIndex(l, place.array, place.at, node)
    l.emit({ kind: 'Write', array: place.array, subscripts: [at], value: given, span })
    return exprValue(given)
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
  if (place.kind === 'entry') return l.scalar(heldUnder(l, place.of, place.key, node), node)
  if (place.kind === 'held') return l.scalar(checkedHeld(l, place.list, place.at, node), node)
  if (place.kind === 'grown') return elementRead(l, place.array, [checkedIndex(l, place.array, place.at, node)], span)
  return place.kind === 'local' ? { kind: 'Local', name: place.name, span } : elementRead(l, place.array, place.subscripts, span)
}

function logicalAssignment(
  l: Lowering,
  place: Scalar,
  how: Assigning & { readonly current: Expr; readonly node: AssignmentExpression },
): Value {
  const { current, node, wanted } = how
  const span = l.span(node)
  if (wanted.value && place.kind === 'entry') return logicalEntry(l, place, how)
  if (wanted.value && place.kind !== 'local') return l.refuse('effect-in-expression', node)
  const test =
    node.operator === '&&=' ? current : node.operator === '||=' ? negated(current, span) : binary('==', current, literal(null, span), span)
  const emitted = l.collect(() => {
    const value = lowerExpression(l, node.right)
    noteHeldEntry(l, place, value)
    const expr = l.scalarOrNothing(value, node.right)
    if (expr !== undefined) store(l, place, expr, { node, wanted: { value: false } })
  })
  l.emit(...makeIf(test, emitted, [], span))
  return place.kind === 'local' ? exprValue(current) : REFUSED
}

/** Lowers `memo[n] ??= e` as a value: what the name had, or what it is given. */
function logicalEntry(
  l: Lowering,
  place: Scalar,
  { current, node }: { readonly current: Expr; readonly node: AssignmentExpression },
): Value {
  const span = l.span(node)
  const local = l.newName('temp')
  const kept: Expr = { kind: 'Local', name: local, span }
  l.emit({ kind: 'Let', local, init: current, span })
  const test =
    node.operator === '&&=' ? kept : node.operator === '||=' ? negated(kept, span) : binary('==', kept, literal(null, span), span)
  const emitted = l.collect(() => {
    const value = lowerExpression(l, node.right)
    noteHeldEntry(l, place, value)
    const expr = l.scalarOrNothing(value, node.right)
    if (expr === undefined) return
    const given = l.stabilized(expr)
    store(l, place, given, { node, wanted: { value: false } })
    l.emit({ kind: 'Assign', local, value: given, span })
  })
  l.emit(...makeIf(test, emitted, [], span))
  return exprValue(kept)
}

/** Notes that an object with computed names is given a list or an object: the next try makes one for such. */
function noteHeldEntry(l: Lowering, place: Place, value: Value): void {
  if (place.kind === 'entry' && isHeldValue(l, place.of, value)) noteHeldValue(l, place.of, value)
}

/** Lowers `groups[k] ??= []` of an object that holds lists or objects: what the name had, or what it is given. */
function heldEntry(l: Lowering, place: Place & { readonly kind: 'entry' }, node: AssignmentExpression): Value {
  const span = l.span(node)
  const held = heldUnder(l, place.of, place.key, node)
  if (held.kind !== 'held') return REFUSED
  const local = l.newName('value')
  const number: Expr = { kind: 'Local', name: local, span }
  l.emit({ kind: 'Let', local, init: held.number, span })
  const emitted = l.collect(() => {
    const value = l.stabilizedValue(lowerExpression(l, node.right))
    const given = l.verbs.heldNumber(l, held.of, value, { node })
    if (given === undefined) return
    l.emit({ kind: 'Assign', local, value: given, span })
    dictionaryPut(l, place.of, place.key, { kind: 'held', of: held.of, number }, node)
  })
  const isThere = binary('>=', number, literal(0, span), span)
  l.emit(...makeIf(node.operator === '&&=' ? isThere : negated(isThere, span), emitted, [], span))
  l.stableLocals.add(local)
  return { kind: 'held', of: held.of, number, ...(node.operator === '&&=' ? { mayBeAbsent: true } : {}) }
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
  // a name that an object does not have gives undefined, of which `++` gives NaN
  const old = keepOld ? l.temporary(place.kind === 'entry' ? unary('+', current, span) : current, 'old') : current
  const next = binary(node.operator === '++' ? '+' : '-', old, literal(isBigint ? 1n : 1, span), span)
  const value = store(l, stillThere(l, place, []), next, { node, wanted: { value: wanted.value && node.prefix } })
  return keepOld ? exprValue(old) : value
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
const NUMBERS_OR_NONE: ReadonlySet<string> = new Set([...NUMBERS, 'null'])

/** Returns the operator of `x op= …`; undefined for any other assignment. */
function operatorOf(assignment: string): BinaryOperator | undefined {
  const operator = assignment.slice(0, -1)
  return ['+', '-', '*', '/', '%', '**', '&', '|', '^', '<<', '>>', '>>>'].includes(operator) ? (operator as BinaryOperator) : undefined // one of the listed
}
