/** Lowers methods of lists of numbers: rows, captured arrays, and the body's own arrays. */
import type { AnyNode, CallExpression } from 'acorn'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { elements, isSplice, pushesOf, spliced, splicedIn, written } from './elements.ts'
import { growingMethod, pushed } from './grownLists.ts'
import { isListOrObject, noteGrowing } from './held/notes.ts'
import { copyingMethod } from './listCopies.ts'
import { type ByIndex, eachElement, elementsOf } from './listElements.ts'
import { CHANGING_METHODS, foldOf, LIST_METHODS } from './listMethods.ts'
import { lengthIn, type View } from './madeArrays.ts'
import { keptView } from './movedArrays.ts'
import { copiedRecords } from './recordMethods.ts'
import { noteRecord } from './records.ts'
import { sortedBy } from './timsort.ts'

/** Methods of lists in memory; a literal on which one is called is put there. */
export const OF_LISTS: ReadonlySet<string> = new Set([
  ...['fill', 'forEach', 'reduce', 'reduceRight', 'slice', 'map', 'filter', 'toSpliced', ...Object.keys(LIST_METHODS)],
  ...Object.keys(CHANGING_METHODS).filter((name) => name !== 'sortBy'),
])

/** Lowers a method of a list; undefined for other values and methods. */
export function listMethod(l: Lowering, of: Value, name: string, node: CallExpression): Value | undefined {
  if (l.context.kind !== 'loop' || elementsOf(l, of, node) === undefined) return undefined
  const records = copiedRecords(l, of, name, node)
  if (records !== undefined) return records
  const over = of.kind === 'view' ? keptView(l, of) : of
  const isOwn = over.kind === 'view' && l.locals.has(over.array)
  const fold = foldOf(name, node.arguments.length)
  if (fold !== undefined) return written(l, over, { name, f: fold as AnyFunction }, node)
  const reads = Object.hasOwn(LIST_METHODS, name) ? LIST_METHODS[name] : undefined
  if (reads !== undefined) return written(l, over, { name, f: reads }, node)
  if (isOwn && l.lists.has(over.array) && (name === 'push' || name === 'pop' || name === 'shift')) {
    const site = l.madeIn.get(over.array) ?? l.madeAt.get(over.array)
    // so that each try counts the room for the elements
    if (site !== undefined) l.foundGrowing.push({ site, count: name === 'push' ? pushesOf(l, site, node) : 0 })
    if (name === 'shift' && site !== undefined) l.foundShifted.push(site)
    if (!l.sizes.has(over.array)) {
      noteGrowing(l, over)
      return l.refuse('local-array-grows', node, over.array)
    }
    const [only, another] = node.arguments
    const spread = name === 'push' && only?.type === 'SpreadElement' && another === undefined ? only.argument : undefined
    const items = spread && elementsOf(l, l.verbs.value(l, spread), node)
    if (items !== undefined) return pushedAll(l, over, items, node)
    const args = elements(l, node.arguments)
    if (name === 'push') for (const arg of args ?? []) if (isListOrObject(l, arg)) noteRecord(l, site, arg)
    return args === undefined ? REFUSED : (growingMethod(l, over, name, args, node) ?? l.refuse('local-array-grows', node, over.array))
  }
  if (isOwn && l.lists.has(over.array) && isSplice(name)) {
    const site = l.madeIn.get(over.array) ?? l.madeAt.get(over.array)
    if (site !== undefined) l.foundGrowing.push({ site, count: splicedIn(name, node) })
    if (l.sizes.has(over.array)) return spliced(l, over, name, node)
    noteGrowing(l, over)
    return l.refuse('local-array-grows', node, over.array)
  }
  if (isOwn && name === 'sort') return sorted(l, over, node)
  if (isOwn && Object.hasOwn(CHANGING_METHODS, name) && name !== 'sortBy') {
    const done = written(l, over, { name, f: CHANGING_METHODS[name] as AnyFunction }, node) // as just asked
    return done.kind === 'refused' ? REFUSED : over
  }
  return copyingMethod(l, over, name, node)
}

function pushedAll(l: Lowering, list: View, items: ByIndex, node: AnyNode): Value {
  eachElement(l, items, node, (item) => {
    const expr = l.scalarOrNothing(item, node)
    if (expr !== undefined) pushed(l, list, expr, node)
  })
  return exprValue(l.temporary(lengthIn(l, list, node), 'size'))
}

/** Lowers `sort`: typed arrays sort numbers by themselves, lists need a function, without which JavaScript compares texts. */
function sorted(l: Lowering, over: Value & { readonly kind: 'view' }, node: CallExpression): Value {
  const isList = l.lists.has(over.array) || l.rowsOf.has(over.array)
  const by = node.arguments[0]
  if (isList !== (by !== undefined)) return l.refuse(isList ? 'sorts-texts' : 'sorts-typed-array', node as AnyNode, over.array)
  if (isList) return sortedBy(l, over, over.array, node)
  return written(l, over, { name: 'sort', f: CHANGING_METHODS.sort as AnyFunction }, node).kind === 'refused' ? REFUSED : over // it exists
}
