/** Lowers methods of lists that places hold (`heldLists.ts`). */
import type { CallExpression } from 'acorn'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, type Held, REFUSED, type Value } from '../../lower/value.ts'
import type { AnyFunction } from '../../unit.ts'
import { elements, isSplice, spliced, written } from '../elements.ts'
import { overElements } from '../iteration.ts'
import { copyingMethod } from '../listCopies.ts'
import { elementsOf } from '../listElements.ts'
import { CHANGING_METHODS, foldOf, LIST_METHODS } from '../listMethods.ts'
import { copiedRecords } from '../recordMethods.ts'
import { sortedBy } from '../timsort.ts'
import { heapOf } from './heaps.ts'
import { heldLength, presentHeld, pushedHeld, takenHeld } from './heldLists.ts'
import { pushAll } from './heldMade.ts'
import { makerOf } from './kinds.ts'

export function heldMethod(l: Lowering, given: Held, name: string, node: CallExpression): Value {
  const list = presentHeld(l, given, name, node)
  const heap = heapOf(l, list.of, 'list', node)
  if (heap === undefined) return REFUSED
  if (name === 'push') return pushed(l, list, node)
  if (name === 'pop' || name === 'shift')
    return node.arguments.length > 0 ? l.refuse('unknown-method', node, name) : takenHeld(l, list, name, node)
  if (isSplice(name)) {
    l.held.noteMoved(list.of)
    return spliced(l, list, name, node)
  }
  const isScalar = heap.elements.parts.kind === 'leaf' && heap.elements.parts.list === undefined
  if (name === 'sort' || name === 'reverse') {
    if (name === 'sort' && node.arguments.length === 0) return l.refuse('sorts-texts', node, heap.name)
    l.held.noteMoved(list.of)
    if (name === 'sort') return sortedBy(l, list, heap.elements.arrays[0] ?? '', node)
    return written(l, list, { name, f: CHANGING_METHODS.reverse as AnyFunction }, node).kind === 'refused' ? REFUSED : list
  }
  const compares = /ndexOf|includes/.test(name)
  const reads = Object.hasOwn(LIST_METHODS, name) && (isScalar || !compares) ? LIST_METHODS[name] : undefined
  if (reads !== undefined) return written(l, list, { name, f: reads as AnyFunction }, node)
  const fold = foldOf(name, node.arguments.length)
  if (fold !== undefined) return written(l, list, { name, f: fold as AnyFunction }, node)
  const holdsLists = heap.elements.parts.kind === 'leaf' && !isScalar
  if (holdsLists && /^(concat|filter|slice)$/.test(name)) noteElementOfCall(l, list, node)
  return (
    overElements(l, list, name, node) ??
    copiedRecords(l, list, name, node) ??
    copyingMethod(l, list, name, node) ??
    l.refuse('list-method', node, name)
  )
}

/** Notes that a call makes a list with the elements of a list: the next try holds it. */
function noteElementOfCall(l: Lowering, list: Held, node: CallExpression): void {
  l.held.note(makerOf(l, node), list.of)
}

function pushed(l: Lowering, list: Held, node: CallExpression): Value {
  const [only, another] = node.arguments
  if (only?.type === 'SpreadElement' && another === undefined) {
    const from = l.verbs.value(l, only.argument)
    if (elementsOf(l, from, node) !== undefined) {
      if (!pushAll(l, list, from, node)) return REFUSED
      return exprValue(l.temporary(heldLength(l, list, node), 'size'))
    }
  }
  const given = elements(l, node.arguments)
  const args = given === undefined || given.length === 1 ? given : given.map((arg) => l.stabilizedValue(arg))
  if (args?.every((arg) => pushedHeld(l, list, arg, node)) !== true) return REFUSED
  return exprValue(l.temporary(heldLength(l, list, node), 'size'))
}
