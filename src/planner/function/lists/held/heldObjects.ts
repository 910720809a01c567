/**
 * Objects that Maps, lists, variables and other objects hold, and that are changed there: nodes of lists and trees, counts of groups. All
 * of a kind lie in the same arrays, one for each field, and an object is its place (structure of arrays).
 *
 *     head = { value, next: head }          -->     Write nodes_value [used] = value; Write nodes_next [used] = head; head = used++
 *     head.value += 1                       -->     Write nodes_value [head] = Read nodes_value [head] + 1
 *
 * Whoever has an object has its place, so that a change is seen under every name, and two are the same where their places are. An object
 * keeps its place until the iteration ends. Which literals make such objects only a whole try tells: one notes what is put where an object
 * may have several names, and the next makes it so.
 */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { binary, literal, makeIf } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import type { Pool, Shape } from '../../lower/loweringParts.ts'
import { exprValue, type Held, type Item, REFUSED, type Site, type Value } from '../../lower/value.ts'
import { roomLeft } from '../grownLists.ts'
import { arrayOfBody } from '../madeArrays.ts'
import { itemAt, leavesOf, partOfItem, writeAt } from '../records.ts'
import { presentHeld } from './heldLists.ts'
import { makerAt, noteParts } from './notes.ts'

/** Most objects of a kind. */
const MOST_OBJECTS = 2 ** 15

/** Returns the arrays of the objects of a kind; undefined where they are refused, or only the next try knows their fields. */
function poolOf(l: Lowering, given: number, name: string, node: AnyNode): Pool | undefined {
  const kind = l.held.find(given)
  const known = l.pools.get(kind)
  if (known !== undefined) return known
  const shape: Shape | undefined = l.held.elementOf(kind)
  if (shape?.kind !== 'fields') {
    l.refuse('object-as-value', node)
    return undefined
  }
  const { parts, leaves, hasEmpty } = leavesOf(shape, name)
  const bytes = leaves.reduce((sum, leaf) => sum + (leaf.isBoolean ? 1 : leaf.isList ? 4 : 8), 0)
  const most = roomLeft(l, MOST_OBJECTS, bytes)
  l.heldArrays += leaves.length
  const arrays = leaves.map((leaf) => {
    const type = leaf.isBoolean ? ({ dtype: 'u8', isBoolean: true } as const) : ({ dtype: leaf.isList ? 'i32' : 'f64' } as const)
    return arrayOfBody(l, { name: leaf.name, node, isList: true, ...type }, [most])
  })
  if (hasEmpty) l.refuse('object-as-value', node)
  if (hasEmpty || arrays.includes(undefined)) return undefined
  const used = l.newName(`${name}_used`)
  l.atStart.push({ kind: 'Let', local: used, init: literal(0, l.span(node)), span: l.span(node) })
  const flags = { isMoved: false, hasShared: false, hasCopies: false, isChanged: false }
  const site = { unit: l.unit, start: node.start }
  // an object that was put somewhere as it was made has no name for messages
  const shown = name === 'object' ? 'a place' : name
  const pool: Pool = { name, used, most, elements: { name: shown, site, arrays: arrays as string[], parts, held: kind, ...flags } } // none is undefined
  l.pools.set(kind, pool)
  return pool
}

/** Lowers a literal, or an instance of a class, that makes an object which places hold; undefined for others. */
export function heldObject(l: Lowering, name: string, value: Value & { kind: 'record' }, site: Site, node: AnyNode): Value | undefined {
  const kind = l.context.kind === 'loop' ? l.held.at(makerAt(site)) : undefined
  if (kind === undefined || !l.held.isObject(kind)) return undefined
  noteParts(l, kind, value)
  const number = l.newName(name)
  const object: Held = { kind: 'held', of: kind, number: { kind: 'Local', name: number, span: l.span(node) } }
  l.stableLocals.add(number)
  const pool = poolOf(l, kind, name, node)
  if (pool === undefined) {
    l.emit({ kind: 'Let', local: number, init: literal(0, l.span(node)), span: l.span(node) })
    return object // so that what it is given to tells its kind to the next try
  }
  const place = (): Expr => {
    const span = l.span(node)
    const used: Expr = { kind: 'Local', name: pool.used, span }
    const message = literal(
      `There are more than ${pool.most.toLocaleString('en')} objects like ${pool.name}. Give each its number, and keep the fields in arrays, as new Float64Array(n).`,
      span,
    )
    const isFull = binary('>=', used, literal(pool.most, span), span)
    l.emit(...makeIf(isFull, [{ kind: 'Throw', error: 'RangeError', message, isLimit: true, span }], [], span))
    l.emit({ kind: 'Let', local: number, init: used, span })
    l.emit({ kind: 'Assign', local: pool.used, value: binary('+', used, literal(1, span), span), span })
    return object.number
  }
  if (!writeAt(l, pool.elements, value, place, node))
    l.emit({ kind: 'Let', local: number, init: literal(0, l.span(node)), span: l.span(node) })
  return object
}

/** Returns the fields of an object; where it may be absent, emits what throws then. Undefined where they are not known. */
export function itemOfObject(l: Lowering, object: Held, name: string, node: AnyNode): Item | undefined {
  const there = presentHeld(l, object, name, node)
  const pool = poolOf(l, object.of, 'object', node)
  return pool && itemAt(pool.elements, there.number)
}

/** Lowers a field of an object. */
export function fieldOfObject(l: Lowering, object: Held, name: string, node: AnyNode): Value {
  const item = itemOfObject(l, object, name, node)
  if (item === undefined) return REFUSED
  const part = partOfItem(l, item, name, l.span(node))
  if (part !== undefined) return part
  const { mayBeAbsent: _, ...there } = { ...object, number: item.place }
  const more = l.verbs.inherited(l, there, name, node)
  if (more !== undefined) return more
  return name in Object.prototype ? l.refuse('unknown-method', node, name) : exprValue(literal(undefined, l.span(node)))
}
