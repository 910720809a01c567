/** Resolves the names and callees of a function: to objects and functions of its own, captured ones, or globals. */
import type { AnyNode, Identifier } from 'acorn'
import { hasTraps } from './captures/traps.ts'
import { childNodes, type FunctionNode, isFunctionNode } from './source/ast.ts'
import type { Binding } from './source/scope.ts'
import type { Unit } from './unit.ts'

/** Returns the value now of `config.deep.rate` of a captured object, which nothing may change; undefined for other expressions. */
export function staticValue(unit: Unit, node: AnyNode): { readonly value: unknown; readonly name: string } | undefined {
  if (node.type === 'Identifier') {
    const free = unit.isFree(node) ? unit.freeOf(node) : undefined
    return free?.kind === 'captured' ? { value: free.value, name: free.name } : undefined
  }
  if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier') return undefined
  const object = staticValue(unit, node.object)
  if (object === undefined || typeof object.value !== 'object' || object.value === null || hasTraps(object.value)) return undefined
  const own = Object.getOwnPropertyDescriptor(object.value, node.property.name)
  return own !== undefined && 'value' in own ? { value: own.value, name: object.name } : undefined
}

/** Returns the function of a declaration `const f = () => …` inside the function; undefined where there is none. */
export function declaredFunction(node: AnyNode, unit: Unit, binding: Binding): FunctionNode | undefined {
  if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && unit.names.bindingOf.get(node.id) === binding) {
    return node.init && isFunctionNode(node.init) ? node.init : undefined
  }
  for (const child of childNodes(node)) {
    const found = declaredFunction(child, unit, binding)
    if (found !== undefined) return found
  }
  return undefined
}

export function globalName(unit: Unit, callee: AnyNode & { type: 'MemberExpression' }): string | undefined {
  const { object, property } = callee
  if (object.type !== 'Identifier' || property.type !== 'Identifier' || callee.computed) return undefined
  return unit.isFree(object) && unit.freeOf(object).kind === 'global' ? `${object.name}.${property.name}` : undefined
}

/** Whether an identifier is the name that a function has for itself. */
export function isOwnName(unit: Unit, node: AnyNode): boolean {
  if (node.type !== 'Identifier') return false
  const binding = unit.names.bindingOf.get(node)
  return binding?.kind === 'self' && binding.owner === unit.source.node
}

export function isCapturedFunction(unit: Unit, node: AnyNode): boolean {
  if (node.type !== 'Identifier' || !unit.isFree(node)) return isOwnName(unit, node)
  const free = unit.freeOf(node)
  return free.kind === 'captured' && typeof free.value === 'function'
}

/** Whether an expression is an object that the whole thread shares, as `Math` or `Array.prototype`. */
export function isGlobalObject(unit: Unit, node: AnyNode): boolean {
  if (node.type === 'MemberExpression') {
    return (
      node.property.type === 'Identifier' &&
      node.property.name === 'prototype' &&
      node.object.type === 'Identifier' &&
      isGlobal(unit, node.object)
    )
  }
  return node.type === 'Identifier' && isGlobal(unit, node) && typeof Reflect.get(globalThis, node.name) === 'object'
}

function isGlobal(unit: Unit, node: Identifier): boolean {
  return unit.isFree(node) && unit.freeOf(node).kind === 'global'
}

export function capturesObjects(unit: Unit): boolean {
  for (const node of unit.names.free) {
    const free = unit.freeOf(node)
    if (free.kind === 'captured' && ((typeof free.value === 'object' && free.value !== null) || typeof free.value === 'function'))
      return true
  }
  return false
}
