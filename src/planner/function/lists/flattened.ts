/**
 * Lowers `flat()`, `flatMap(f)` and `concat(…)`: a list is made, and what is in the lists is pushed onto it, as a function of the body's own would.
 *
 *     lists.flat()                      for (const part of lists) for (const one of part) all.push(one)
 *     list.flatMap((v) => [v, -v])      for (…) for (const one of f(list[k], k, list)) all.push(one)
 *     list.concat(other, 1)             for (const one of list) all.push(one); for (const one of other) all.push(one); all.push(1)
 *
 * JavaScript flattens arrays, and keeps all else as it is, typed arrays, Sets and texts too. So a call is compiled where what is flattened is
 * surely an array: pairs, rows of lists of one length, and what a function gives that writes its arrays out.
 */
import type { AnyNode, CallExpression } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { AnyFunction } from '../unit.ts'
import { elements } from './elements.ts'

type Parts = ArrayLike<readonly unknown[]>

const flat = (lists: Parts): unknown[] => {
  const all = []
  for (let i = 0; i < lists.length; i++) all.push(...(lists[i] as unknown[]))
  return all
}

const flatMap = (list: ArrayLike<unknown>, f: (value: unknown, i: number, list: unknown) => unknown[]): unknown[] => {
  const all = []
  for (let i = 0; i < list.length; i++) all.push(...f(list[i], i, list))
  return all
}

const concat = (list: Parts, other: readonly unknown[]): unknown[] => {
  const all = []
  for (let i = 0; i < list.length; i++) all.push(list[i])
  for (let i = 0; i < other.length; i++) all.push(other[i])
  return all
}

const concatOne = (list: Parts, one: unknown): unknown[] => {
  const all = []
  for (let i = 0; i < list.length; i++) all.push(list[i])
  all.push(one)
  return all
}

/** Lowers `list.concat(…)` of lists that surely are arrays, and of numbers; undefined for others. */
function concatenated(l: Lowering, object: Value, node: CallExpression): Value | undefined {
  const isList = (value: Value): boolean => value.kind === 'tuple' || isArray(l, value)
  // lists and objects that lists hold are put into others where the other is made
  const holdsOthers = (value: Value): boolean =>
    value.kind === 'tuple'
      ? value.items.some(({ kind }) => kind !== 'expr')
      : value.kind === 'held' && l.held.elementOf(value.of) !== undefined
  if (l.context.kind !== 'loop' || !isList(object) || holdsOthers(object) || node.arguments.length === 0) return undefined
  const args = elements(l, node.arguments)?.map((value) => l.stabilizedValue(value))
  if (args === undefined || !args.every((value) => (isList(value) && !holdsOthers(value)) || value.kind === 'expr')) return undefined
  return args.reduce((all, value) => {
    const f = (isList(value) ? concat : concatOne) as unknown as AnyFunction
    return all.kind === 'refused' ? all : l.verbs.inline(l, libraryFunction(l, f, 'concat', node), [all, value], node)
  }, object)
}

/** Lowers the methods; undefined for others. */
export function flattened(l: Lowering, object: Value, name: string, node: CallExpression): Value | undefined {
  if (name === 'concat') return concatenated(l, object, node)
  if (l.context.kind !== 'loop' || (name !== 'flat' && name !== 'flatMap') || !isArray(l, object)) return undefined
  const args = node.arguments.length === (name === 'flat' ? 0 : 1) ? elements(l, node.arguments) : undefined
  if (args === undefined) return undefined
  const [by] = args
  const givesArrays = name === 'flat' ? holdsArrays(l, object) : by?.kind === 'closure' && returnsArrays(by.node, holdsArrays(l, object))
  if (!givesArrays) return l.refuse('list-method', node, name)
  const f = (name === 'flat' ? flat : flatMap) as unknown as AnyFunction
  return l.verbs.inline(l, libraryFunction(l, f, name, node), [object, ...args], node)
}

/** Whether a value is surely an array, and no typed one. */
function isArray(l: Lowering, value: Value): boolean {
  if (value.kind === 'view') return value.prefix.length === 0 && l.lists.has(value.array)
  if (value.kind === 'data') return Array.isArray(value.value)
  return value.kind === 'records' || (value.kind === 'held' && !l.held.isObject(value.of))
}

/** Whether the elements of an array surely are such. */
function holdsArrays(l: Lowering, value: Value): boolean {
  if (value.kind === 'view') return value.rank !== undefined && value.rank > 1
  if (value.kind === 'data') return (value.value as readonly unknown[]).every((one) => Array.isArray(one))
  // lists that places hold may be copies of typed arrays
  if (value.kind === 'held') return l.held.elementOf(value.of)?.kind === 'items'
  return value.kind === 'records' && value.list.parts.kind === 'items'
}

/** Whether a function gives arrays that it writes out, or its first parameter, where elements are arrays. */
function returnsArrays({ body, params }: FunctionNode, areArrays: boolean): boolean {
  const [first] = params
  const gives = (node: AnyNode): boolean => {
    if (node.type === 'ParenthesizedExpression') return gives(node.expression)
    if (node.type === 'ConditionalExpression') return gives(node.consequent) && gives(node.alternate)
    return (
      node.type === 'ArrayExpression' ||
      (areArrays && node.type === 'Identifier' && first?.type === 'Identifier' && node.name === first.name)
    )
  }
  if (body.type !== 'BlockStatement') return gives(body)
  const [only, ...others] = body.body
  return only?.type === 'ReturnStatement' && others.length === 0 && only.argument != null && gives(only.argument)
}
