/**
 * Lowers `flat()` and `flatMap(f)`: a list is made, and what is in the lists is pushed onto it, as a function of the body's own would.
 *
 *     lists.flat()                      for (const part of lists) for (const one of part) all.push(one)
 *     list.flatMap((v) => [v, -v])      for (…) for (const one of f(list[k], k, list)) all.push(one)
 *
 * All that is flattened has to be a list: JavaScript keeps what is none, where these bodies run as they stand.
 */
import type { CallExpression } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
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

/** Lowers the methods; undefined for others. */
export function flattened(l: Lowering, object: Value, name: string, node: CallExpression): Value | undefined {
  if (l.context.kind !== 'loop' || (name !== 'flat' && name !== 'flatMap')) return undefined
  const isFlat = name === 'flat' && node.arguments.length === 0
  if (!isFlat && (name !== 'flatMap' || node.arguments.length !== 1)) return undefined
  if (object.kind !== 'view' && object.kind !== 'data' && object.kind !== 'records' && object.kind !== 'held' && object.kind !== 'tableRow')
    return undefined
  const args = elements(l, node.arguments)
  const f = (isFlat ? flat : flatMap) as unknown as AnyFunction
  return args && l.verbs.inline(l, libraryFunction(l, f, name, node), [object, ...args], node)
}
