/**
 * Lowers patterns: `[i, j]`, `{ W, H: h }`, `{ stars = 0, ...rest }`, for declarations, parameters and assignments.
 */
import type { AnyNode, Pattern } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { isRowText } from '../captures/capturedKeys.ts'
import { rowThatIsThere } from '../captures/capturedLookups.ts'
import { isCapturedText } from '../captures/textCodes.ts'
import { withName } from '../lists/held/notes.ts'
import { constantOf, elementsOf } from '../lists/listElements.ts'
import { noteListName } from '../lists/listVariables.ts'
import { fieldsOfValue, written } from '../lists/literals.ts'
import { listOf } from '../lists/localArrays.ts'
import { viewVariable } from '../lists/movedArrays.ts'
import { absentLiteral, noteOptional, optionalAt, present } from '../lists/optionals.ts'
import { partsNow } from '../lists/records.ts'
import { named, optionalVariable, partsOf, storedVariable, takenApart } from '../lists/stored.ts'
import { assignTo } from '../lower/assignments.ts'
import { binary, conditional, literal, truth } from '../lower/build.ts'
import { type Argument, argumentAt } from '../lower/context.ts'
import { evaluate, lowerExpression } from '../lower/expressions.ts'
import type { Lowering } from '../lower/lowering.ts'
import { keyComponent, memberValue } from '../lower/members.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { declaredMaybe, maybeScalar } from '../maybeScalars.ts'
import { isReadable, restOfList } from '../rowLists.ts'
import { noteLocal } from '../surelyNumbers.ts'
import { type Binding, isLikeLet } from './scope.ts'

export function bindPattern(l: Lowering, pattern: Pattern, value: Value, mode: 'declare' | 'assign'): void {
  switch (pattern.type) {
    case 'Identifier': {
      const binding = l.unit.names.bindingOf.get(pattern)
      if (mode === 'assign' || binding === undefined) {
        assignTo(l, pattern, value)
        return
      }
      declare(l, binding, value, pattern)
      return
    }
    case 'MemberExpression':
      assignTo(l, pattern, value)
      return
    case 'AssignmentPattern':
      bindPattern(l, pattern.left, withDefault(l, value, pattern), mode)
      return
    case 'RestElement':
      l.refuse('rest-parameter', pattern)
      bindRefused(l, pattern)
      return
    case 'ArrayPattern':
      bindArray(l, pattern, value, mode)
      return
    case 'ObjectPattern':
      bindObject(l, pattern, value, mode)
      return
  }
}

/** Gives a declared name its value: the value itself where nothing can change it, otherwise a local variable. */
export function declare(l: Lowering, binding: Binding, given: Value, node: AnyNode): void {
  const value = withName(l, given)
  const hoisted = l.bound.get(binding)
  const isConstant = binding.assignments === 0 && binding.declarators <= 1 && isLikeLet(binding)
  if (hoisted?.kind === 'local' && !isLikeLet(binding)) {
    const expr = l.scalarOrNothing(value, node)
    if (expr !== undefined) l.emit({ kind: 'Assign', local: hoisted.name, value: expr, span: l.span(node) })
    return
  }
  const whole = isConstant ? apart(l, value) : takenApart(l, value)
  const declared = { unit: l.unit, start: node.start }
  if (!isConstant && heldVariable(l, binding, whole, node)) return
  const optional = isConstant || !isLikeLet(binding) ? undefined : optionalVariable(l, binding.name, whole, declared, node)
  if (optional !== undefined) {
    l.bound.set(binding, { kind: 'value', value: optional })
    return
  }
  if (binding.kind !== 'param') noteListName(l, whole)
  if (whole.kind !== 'expr') {
    const view = isConstant ? undefined : viewVariable(l, binding.name, whole)
    if (view !== undefined) {
      l.bound.set(binding, view)
      return
    }
    const variable = isConstant ? undefined : storedVariable(l, binding.name, whole, node)
    if (variable?.kind === 'stored' && binding.kind !== 'param') variable.owner.declared = declared
    if (!isConstant && variable === undefined && whole.kind !== 'refused') l.refuse('reassigns-value', node, binding.name)
    l.bound.set(binding, { kind: 'value', value: variable ?? named(l.stabilizedValue(whole)) })
    return
  }
  if (isConstant && l.isStable(whole.expr)) {
    l.bound.set(binding, { kind: 'value', value: whole })
    return
  }
  if (isConstant && isCapturedText(l, whole.expr)) {
    l.bound.set(binding, { kind: 'value', value: exprValue({ ...whole.expr, index: l.stabilized(whole.expr.index, 'at') }) })
    return
  }
  const maybe = isConstant && l.context.kind === 'loop' ? maybeScalar(l, whole.expr) : undefined
  if (maybe !== undefined) {
    l.bound.set(binding, { kind: 'value', value: declaredMaybe(l, binding.name, maybe, l.span(node)) })
    return
  }
  const local = l.newName(binding.name)
  if (!isConstant && binding.kind !== 'param' && absentLiteral(whole) !== undefined) {
    noteOptional(l, declared, whole)
    l.absentAtFirst.add(local)
  }
  const expr = l.scalarOrNothing(whole, node)
  const from = expr && l.gotten.get(expr)
  if (from !== undefined) l.gottenLocals.set(local, from)
  l.emit({ kind: 'Let', local, ...(expr === undefined ? {} : { init: expr }), span: l.span(node) })
  if (isConstant) {
    l.stableLocals.add(local)
    noteLocal(l, local, expr)
    if (expr !== undefined && isRowText(l, expr)) l.rowTexts.add(local)
  }
  l.bound.set(binding, { kind: 'local', name: local })
}

/** Declares a variable for lists or objects that places hold, of which an earlier try may have found that they may be absent; false for others. */
function heldVariable(l: Lowering, binding: Binding, value: Value, node: AnyNode): boolean {
  const found = isLikeLet(binding) ? optionalAt(l, { unit: l.unit, start: node.start }) : undefined
  const of = value.kind === 'held' ? value.of : found?.shape.kind === 'list' ? found.shape.of : undefined
  if (of === undefined) return false
  const mayBeAbsent =
    (found?.shape.kind === 'list' && found.absents.size > 0) || l.held.isObject(of) || (value.kind === 'held' && value.mayBeAbsent === true)
  const local = l.newName(binding.name)
  const init = l.verbs.heldNumber(l, of, value, { node, mayBeAbsent })
  const span = l.span(node)
  l.emit({ kind: 'Let', local, init: init ?? literal(-1, span), span })
  l.bound.set(binding, { kind: 'held', of, local, ...(mayBeAbsent ? { mayBeAbsent } : {}) })
  return true
}

/** Returns an object that only an expression holds so far as a literal; an element of a list stays what it is. */
function apart(l: Lowering, value: Value): Value {
  return value.kind === 'item' ? value : takenApart(l, value)
}

function readNow(l: Lowering, value: Value, node: AnyNode): Value {
  return value.kind === 'item' ? partsNow(l, value, l.span(node)) : takenApart(l, value)
}

/** Binds names of a refused pattern to a refused value, so that it is not refused again where it is used. */
function bindRefused(l: Lowering, pattern: AnyNode): void {
  if (pattern.type === 'Identifier') {
    const binding = l.unit.names.bindingOf.get(pattern)
    if (binding !== undefined) l.bound.set(binding, { kind: 'value', value: REFUSED })
  } else if (pattern.type === 'RestElement') bindRefused(l, pattern.argument)
}

/** Returns the value with the default of `x = d`: d where the value is undefined. */
function withDefault(l: Lowering, value: Value, pattern: Pattern & { type: 'AssignmentPattern' }): Value {
  if (value.kind !== 'expr') return value
  const span = l.span(pattern)
  if (value.expr.kind === 'Literal') return value.expr.value === undefined ? lowerExpression(l, pattern.right) : value
  const maybe = maybeScalar(l, value.expr)
  const kept = maybe === undefined ? l.stabilized(value.expr) : value.expr
  let other: Expr | undefined
  const emitted = l.collect(() => {
    other = l.scalarOrNothing(lowerExpression(l, pattern.right), pattern.right)
  })
  if (other === undefined) return REFUSED
  if (emitted.length > 0) return l.refuse('effect-in-expression', pattern)
  if (maybe !== undefined) return exprValue(conditional(maybe.there, maybe.value, other, span))
  return exprValue(conditional(binary('===', kept, literal(undefined, span), span), other, kept, span))
}

function bindArray(l: Lowering, pattern: Pattern & { type: 'ArrayPattern' }, value: Value, mode: 'declare' | 'assign'): void {
  const simple = mode === 'declare' && pattern.elements.every((element) => element?.type === 'Identifier')
  const whole = present(l, readNow(l, value, pattern), '0', pattern)
  const isList = whole.kind === 'expr' && pattern.elements.length > 0 && isReadable(l, whole.expr)
  const taken = isList ? exprValue(l.stabilized(whole.expr, 'list')) : whole
  // Parts of an array are read one by one, each after the one before was assigned, which may write into the same array.
  const source = taken.kind === 'tuple' && !simple ? l.stabilizedValue(taken) : taken
  const known =
    isList ||
    source.kind === 'tuple' ||
    (source.kind === 'stored' && source.storage.kind === 'items') ||
    source.kind === 'key' ||
    source.kind === 'tableRow' ||
    source.kind === 'view' ||
    source.kind === 'window' ||
    source.kind === 'held' ||
    source.kind === 'shape' ||
    source.kind === 'refused' ||
    (source.kind === 'data' && (Array.isArray(source.value) || ArrayBuffer.isView(source.value)))
  if (!known) l.refuse('destructures-value', pattern)
  for (const [i, element] of pattern.elements.entries()) {
    if (element === null) continue
    const rest = element.type === 'RestElement' && known ? restOf(l, source, i, element) : undefined
    if (element.type === 'RestElement' && rest !== undefined) bindPattern(l, element.argument, rest, mode)
    else if (!known || element.type === 'RestElement') {
      if (element.type === 'RestElement') l.refuse('rest-parameter', element)
      bindPattern(l, element.type === 'RestElement' ? element.argument : element, REFUSED, mode)
    } else if (source.kind === 'key') bindPattern(l, element, keyComponent(l, i, element), mode)
    else bindPattern(l, element, memberValue(l, source, String(i), element), mode)
  }
  if (source.kind === 'tuple') for (const extra of source.items.slice(pattern.elements.length)) evaluate(l, extra, pattern)
}

/** Returns the elements of a list from an index on; undefined where their number is not known. */
function restOf(l: Lowering, source: Value, from: number, node: AnyNode): Value | undefined {
  const whole = source.kind === 'stored' ? l.stabilizedValue(partsOf(source, l.span(node))) : source
  if (whole.kind === 'expr') return restOfList(l, whole.expr, from, node)
  if (whole.kind === 'tuple') return written(l, l.takeName('rest'), { kind: 'tuple', items: whole.items.slice(from) }, node)
  if (l.context.kind !== 'loop') return undefined
  const elements = elementsOf(l, whole, node)
  const length = elements && constantOf(l, elements.length)
  if (elements === undefined || length === undefined || length <= from) return undefined
  const span = l.span(node)
  return listOf(
    l,
    Array.from({ length: length - from }, (_, k) => elements.item(literal(from + k, span))),
    node,
  )
}

function bindObject(l: Lowering, pattern: Pattern & { type: 'ObjectPattern' }, value: Value, mode: 'declare' | 'assign'): void {
  const whole = present(l, readNow(l, value, pattern), firstName(pattern), pattern)
  const source = whole.kind === 'expr' ? exprValue(l.stabilized(whole.expr)) : whole.kind === 'stored' ? whole : l.stabilizedValue(whole)
  const taken = new Set<string>()
  for (const property of pattern.properties) {
    if (property.type === 'RestElement') {
      const fields =
        source.kind === 'refused'
          ? undefined
          : fieldsOfValue(l, source.kind === 'stored' ? partsOf(source, l.span(property)) : there(l, source, property), property)
      const rest: Value = fields === undefined ? REFUSED : { kind: 'record', fields: fields.filter((field) => !taken.has(field.name)) }
      bindPattern(l, property.argument, rest, mode)
      continue
    }
    const { key } = property
    const name = property.computed
      ? undefined
      : key.type === 'Identifier'
        ? key.name
        : key.type === 'Literal'
          ? String(key.value)
          : undefined
    if (name === undefined) {
      l.refuse('computed-name', property)
      bindPattern(l, property.value, REFUSED, mode)
      continue
    }
    taken.add(name)
    bindPattern(l, property.value, source.kind === 'refused' ? REFUSED : memberValue(l, source, name, property), mode)
  }
}

/** Returns the name of the first field that a pattern takes, which errors name. */
function firstName({ properties: [first] }: Pattern & { type: 'ObjectPattern' }): string {
  return first?.type === 'Property' && first.key.type === 'Identifier' && !first.computed ? first.key.name : ''
}

/** Returns the source of a destructuring with the check that it is not undefined, or the run fails. */
function there(l: Lowering, source: Value, node: AnyNode): Value {
  return source.kind === 'recordRow' ? rowThatIsThere(l, source, node) : source
}

/** Returns the expression of an argument. The element of an array that a loop iterates over may lie in memory as 1 or 0. */
function inputOf(l: Lowering, { argument, element }: Argument & { kind: 'input' }, span: Span): Expr {
  const input: Expr = { kind: 'Input', argument, span }
  const isBoolean = l.context.kind === 'loop' && element.kind === 'scalar' && element.type.kind === 'bool' && !element.nullable
  return isBoolean ? truth(input) : input
}

/** Binds the parameters of the outermost function. */
export function bindArguments(l: Lowering, params: readonly Pattern[]): void {
  for (const [position, param] of params.entries()) {
    const argument = argumentAt(l.context, position)
    const span = l.span(param)
    switch (argument.kind) {
      case 'input':
        bindPattern(l, param, exprValue(inputOf(l, argument, span)), 'declare')
        break
      case 'key':
        bindPattern(l, param, { kind: 'key' }, 'declare')
        break
      case 'env':
        bindPattern(l, param, { kind: 'env' }, 'declare')
        break
      case 'nothing':
        bindPattern(l, param, exprValue(literal(undefined, span)), 'declare')
        break
    }
  }
}
