/** Lowers methods of lists of objects or arrays (`records.ts`), and copies of lists that give such lists. */
import type { AnyNode, CallExpression, Expression, SpreadElement } from 'acorn'
import { asTest, makeIf } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { elements, isSplice, pushesOf, spliced, splicedIn, written } from './elements.ts'
import { overElements } from './iteration.ts'
import { copyingMethod } from './listCopies.ts'
import { type ByIndex, constantOf, elementsOf } from './listElements.ts'
import { CHANGING_METHODS, foldOf, LIST_METHODS } from './listMethods.ts'
import { eachIndex } from './madeArrays.ts'
import { emptyRecords, noteRecord, pushedRecord, recordsLength, takenRecord } from './records.ts'
import { sortedBy } from './timsort.ts'

type RecordsValue = Value & { readonly kind: 'records' }

export function recordsMethod(l: Lowering, of: RecordsValue, name: string, node: CallExpression): Value {
  const { list } = of
  if (name === 'push' || name === 'pop' || name === 'shift') {
    l.foundGrowing.push({ site: list.site, count: name === 'push' ? pushesOf(l, list.site, node) : 0 })
    if (name !== 'push') return takenRecord(l, list, name, node)
    const given = elements(l, node.arguments)
    const args = given === undefined || given.length === 1 ? given : given.map((arg) => l.stabilizedValue(arg))
    if (args?.every((arg) => pushedRecord(l, list, arg, node)) !== true) return REFUSED
    return exprValue(l.temporary(recordsLength(l, list, node), 'size'))
  }
  if (isSplice(name)) {
    l.foundGrowing.push({ site: list.site, count: splicedIn(name, node) })
    l.foundItemsMoved.push(list.site)
    return spliced(l, of, name, node)
  }
  if (name === 'sort' || name === 'reverse') {
    l.foundItemsMoved.push(list.site)
    if (name === 'sort' && node.arguments.length === 0) return l.refuse('sorts-texts', node, list.name)
    if (name === 'sort') return sortedBy(l, of, list.arrays[0] ?? '', node)
    return written(l, of, { name, f: CHANGING_METHODS.reverse as AnyFunction }, node).kind === 'refused' ? REFUSED : of
  }
  const reads = Object.hasOwn(LIST_METHODS, name) && !/ndexOf|includes/.test(name) ? LIST_METHODS[name] : undefined
  if (reads !== undefined) return written(l, of, { name, f: reads as AnyFunction }, node)
  const fold = foldOf(name, node.arguments.length)
  if (fold !== undefined) return written(l, of, { name, f: fold as AnyFunction }, node)
  return (
    overElements(l, of, name, node) ??
    copiedRecords(l, of, name, node) ??
    copyingMethod(l, of, name, node) ??
    l.refuse('list-method', node, `${list.name}.${name}`)
  )
}

/** Lowers `list.map(f)`, `list.filter(f)`, `list.slice()` whose elements are objects; undefined for other lists and methods. */
export function copiedRecords(l: Lowering, over: Value, name: string, node: CallExpression): Value | undefined {
  const site = { unit: l.unit, start: -node.end, loops: l.loops.length }
  const shape = l.recordsAt(site)
  const [given, another] = node.arguments as (Expression | SpreadElement | undefined)[]
  if (another !== undefined || given?.type === 'SpreadElement') return undefined
  const source = elementsOf(l, over, node)
  if (source === undefined || !/^(map|filter|slice)$/.test(name) || (name === 'slice') !== (given === undefined)) return undefined
  if (shape === undefined && (over.kind !== 'records' || name === 'map')) return undefined
  const f = given === undefined ? undefined : l.verbs.value(l, given)
  if (f !== undefined && f.kind !== 'closure') return undefined
  const room = constantOf(l, source.length) ?? Number.POSITIVE_INFINITY
  const list = shape && emptyRecords(l, { name: l.takeName('list'), node, site }, shape, room)
  if (shape !== undefined && list === undefined) return REFUSED
  const put = (value: Value): void => {
    if (list === undefined) noteRecord(l, site, value)
    else pushedRecord(l, list.list, value, node)
  }
  each(l, source, node, (item, at) => {
    const args = [item, exprValue(at), over]
    if (f === undefined) put(item)
    else if (name === 'map') put(l.verbs.inline(l, f, args, node))
    else {
      const kept = l.scalarOrNothing(l.verbs.inline(l, f, args, node), node)
      if (kept === undefined) return
      l.emit(
        ...makeIf(
          asTest(kept),
          l.collect(() => put(item)),
          [],
          l.span(node),
        ),
      )
    }
  })
  return list ?? l.refuse('object-as-value', node)
}

function each(
  l: Lowering,
  { length, item }: ByIndex,
  node: AnyNode,
  turn: (item: Value, at: Parameters<ByIndex['item']>[0]) => void,
): void {
  eachIndex(l, constantOf(l, length) ?? length, node, (at) => turn(l.stabilizedValue(item(at)), at))
}
