/**
 * Lowers lists that JavaScript makes of captured constants, and iterations with indices:
 *
 *     Object.keys(weights)   Object.values(weights)   Object.entries(weights)       lists of what the object holds
 *     for (const name in weights)                                                   the list of its names
 *     for (const [key, value] of rates)   for (const id of ids)                     lists of what a Map or a Set holds
 *     for (const [k, tap] of taps.entries())                                        an element and its index
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import { isCollection } from '../lists/keyed/collectionValue.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
import { classOf, isExactly } from './capturedKeys.ts'

type Data = Value & { readonly kind: 'data' }

/** Returns the list of a plain object's names, in JavaScript's order; undefined for anything else. */
export function namesOf(over: Value): Value | undefined {
  if (over.kind !== 'data' || classOf(over.value) === undefined) return undefined
  return listOf(over, 'keys', Object.keys(over.value))
}

/** Lowers `Object.keys(x)`, `Object.values(x)`, `Object.entries(x)` of a captured plain object; undefined for other calls. */
export function partsCall(l: Lowering, { value }: Value & { kind: 'global' }, name: string, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (value !== Object || argument?.type !== 'Identifier' || another !== undefined) return undefined
  const parts = PARTS.get(name)
  const of = parts === undefined ? undefined : l.verbs.value(l, argument)
  if (parts === undefined || of?.kind !== 'data' || classOf(of.value) === undefined) return undefined
  return listOf(of, name, parts(of.value))
}

const PARTS: ReadonlyMap<string, (object: object) => readonly unknown[]> = new Map([
  ['keys', Object.keys],
  ['values', Object.values],
  ['entries', Object.entries],
])

/** Returns the list that a loop iterates over: a Map's entries, a Set's elements, and anything else itself. */
export function iterated(over: Value): Value {
  if (over.kind !== 'data') return over
  if (isExactly(over.value, Map)) return listOf(over, 'entries', [...over.value])
  return isExactly(over.value, Set) ? listOf(over, 'elements', [...over.value]) : over
}

function listOf({ name, origin }: Data, part: string, value: readonly unknown[]): Data {
  return { kind: 'data', value: value as unknown[], name: `${name}_${part}`, origin, made: true }
}

export interface IteratedCall {
  readonly over: Value
  /** Whether elements are given with their indices. */
  readonly withIndex: boolean
  /** What is iterated over of a collection that the body makes. */
  readonly part?: 'keys' | 'values' | 'entries'
}

/** Returns the list of `list.entries()` and of `map.entries()`, `map.keys()`, `map.values()`; undefined for anything else. */
export function iteratedCall(l: Lowering, node: Expression): IteratedCall | undefined {
  if (node.type !== 'CallExpression' || node.arguments.length > 0 || node.optional) return undefined
  const { callee } = node
  if (callee.type !== 'MemberExpression' || callee.computed || callee.optional || callee.property.type !== 'Identifier') return undefined
  const { name } = callee.property
  if (callee.object.type === 'Super' || (name !== 'entries' && name !== 'keys' && name !== 'values')) return undefined
  if (isGlobalObject(l, callee.object)) return undefined
  const before = l.out.length
  const over = l.verbs.value(l, callee.object)
  if (over.kind === 'data' && (isExactly(over.value, Map) || isExactly(over.value, Set))) {
    const values: Iterable<unknown> = over.value[name]()
    return { over: listOf(over, name, [...values]), withIndex: false }
  }
  if (isCollection(over)) return { over, withIndex: false, part: name }
  const isList =
    over.kind === 'view' ||
    over.kind === 'window' ||
    over.kind === 'tableRow' ||
    over.kind === 'tuple' ||
    (over.kind === 'data' && Array.isArray(over.value))
  if (isList && name === 'entries') return { over, withIndex: true }
  l.out.length = before // the caller lowers it again
  return undefined
}

function isGlobalObject(l: Lowering, node: AnyNode): boolean {
  return node.type === 'Identifier' && node.name === 'Object' && l.unit.names.bindingOf.get(node) === undefined
}
