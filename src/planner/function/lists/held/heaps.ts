/**
 * The memory of lists that places hold: all lists of one kind lie in the same arrays, one behind the other, and a list is its number.
 *
 *     graph[a].push(b)      -->      at = grown(heap, number, …); Write elements [at] = b
 *
 *     firsts, counts, rooms     of each list: the place of its first element, how many it has, how many it has room for
 *     elements                  an array for each part of an element, as in `records.ts`
 *
 * A list without room for one more goes to the end, with twice the room, or is lengthened where it is the last; what it leaves is not
 * used again in this iteration. The functions are written out where they are used, as those of `listMethods.ts` are.
 */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { libraryFunction } from '../../captures/libraryFunctions.ts'
import { literal } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import type { Heap, Shape } from '../../lower/loweringParts.ts'
import { exprValue, REFUSED, type Records, type Stored, type Value } from '../../lower/value.ts'
import type { AnyFunction } from '../../unit.ts'
import { roomLeft } from '../grownLists.ts'
import { arrayOfBody } from '../madeArrays.ts'
import { leavesOf } from '../records.ts'
import { ownerOf } from '../stored.ts'

/** Most lists of a kind, and most elements of all of them together with the room that they have left. */
const MOST_LISTS = 2 ** 14
const MOST_ELEMENTS = 2 ** 16

interface Memory {
  readonly firsts: number[]
  readonly counts: number[]
  readonly rooms: number[]
  /** Number of lists, and of places in use. */
  lists: number
  used: number
}

const made = (memory: Memory, most: number, isFull: string): number => {
  const number = memory.lists
  if (number >= most) throw new RangeError(isFull)
  memory.firsts[number] = memory.used
  memory.counts[number] = 0
  memory.rooms[number] = 0
  memory.lists = (number + 1) | 0
  return number
}

/** Returns the place behind a list's last element, which is counted from now on. */
const grown = (memory: Memory, number: number, most: number, isFull: string, arrays: readonly number[][]): number => {
  const count = memory.counts[number] as number
  if (count >= (memory.rooms[number] as number)) {
    const first = memory.firsts[number] as number
    const room = count < 2 ? 4 : (count << 1) | 0
    const to = first + count === memory.used ? first : memory.used
    if (to + room > most) throw new RangeError(isFull)
    if (to !== first) {
      for (const array of arrays) for (let k = 0; k < count; k++) array[to + k] = array[first + k] as number
      memory.firsts[number] = to
    }
    memory.rooms[number] = room
    memory.used = (to + room) | 0
  }
  memory.counts[number] = (count + 1) | 0
  return ((memory.firsts[number] as number) + count) | 0
}

/** Returns the memory of a kind of lists; undefined where it is refused. */
export function heapOf(l: Lowering, given: number, name: string, node: AnyNode): Heap | undefined {
  const kind = l.held.find(given)
  const known = l.heaps.get(kind)
  if (known !== undefined) return known
  const shape: Shape = l.held.elementOf(kind) ?? { kind: 'scalar' }
  const { parts, leaves, hasEmpty } = leavesOf(shape, name)
  if (hasEmpty) {
    l.refuse('lists-of-lists', node, name)
    return undefined
  }
  const numbers = (part: string): string | undefined => arrayOfBody(l, { name: `${name}_${part}`, dtype: 'i32', node }, [MOST_LISTS])
  const [firsts, counts, rooms] = [numbers('firsts'), numbers('counts'), numbers('rooms')]
  const most = roomLeft(
    l,
    MOST_ELEMENTS,
    leaves.reduce((sum, leaf) => sum + (leaf.isBoolean ? 1 : leaf.isList ? 4 : 8), 0),
  )
  l.heldArrays += 3 + leaves.length
  const arrays = leaves.map((leaf) => {
    const type = leaf.isBoolean ? ({ dtype: 'u8', isBoolean: true } as const) : ({ dtype: leaf.isList ? 'i32' : 'f64' } as const)
    return arrayOfBody(l, { name: leaf.name, node, isList: true, ...type }, [most])
  })
  if (firsts === undefined || counts === undefined || rooms === undefined || arrays.includes(undefined)) return undefined
  const span = l.span(node)
  const counter = (part: string): string => {
    const local = l.newName(`${name}_${part}`)
    l.atStart.push({ kind: 'Let', local, init: literal(0, span), span })
    return local
  }
  const memory: Stored = {
    kind: 'stored',
    storage: {
      kind: 'fields',
      fields: [
        ...Object.entries({ firsts, counts, rooms }).map(
          ([part, array]) => ({ name: part, storage: { kind: 'fixed', value: whole(array) } }) as const,
        ),
        { name: 'lists', storage: { kind: 'scalar', local: counter('lists') } },
        { name: 'used', storage: { kind: 'scalar', local: counter('used') } },
      ],
    },
    owner: ownerOf(l, name, node, { isVariable: false, site: undefined }),
    isPart: false,
  }
  const flags = { isMoved: l.held.isMoved(kind), hasShared: false, hasCopies: false, isChanged: false }
  const site = { unit: l.unit, start: node.start }
  const elements: Records = { name, site, arrays: arrays as string[], parts, held: kind, ...flags } // none is undefined
  const heap: Heap = { kind, name, firsts, counts, rooms, mostElements: most, memory, elements }
  l.heaps.set(kind, heap)
  return heap
}

function whole(array: string): Value {
  return { kind: 'view', array, prefix: [], rank: 1 }
}

/** Emits what makes an empty list; returns its number. */
export function emptyHeld(l: Lowering, heap: Heap, node: AnyNode): Expr | undefined {
  const message = `There are more than ${MOST_LISTS.toLocaleString('en')} lists like ${heap.name}. Give each its room, as Array.from({ length: n }, () => new Float64Array(m)), and count in an array how many places are in use.`
  return called(l, made as AnyFunction, [heap.memory, number(l, MOST_LISTS, node), number(l, message, node)], node)
}

/** Emits what makes room for one more element of a list; returns its place. */
export function placeBehind(l: Lowering, heap: Heap, list: Expr, node: AnyNode): Expr | undefined {
  const message = `Lists like ${heap.name} have more than ${heap.mostElements.toLocaleString('en')} places together. Give each its room, as Array.from({ length: n }, () => new Float64Array(m)), and count in an array how many are in use.`
  const arrays: Value = { kind: 'tuple', items: heap.elements.arrays.map(whole) }
  const args = [heap.memory, exprValue(list), number(l, heap.mostElements, node), number(l, message, node), arrays]
  return called(l, grown as AnyFunction, args, node)
}

function number(l: Lowering, value: number | string, node: AnyNode): Value {
  return exprValue(literal(value, l.span(node)))
}

function called(l: Lowering, f: AnyFunction, args: readonly Value[], node: AnyNode): Expr | undefined {
  const value = l.verbs.inline(l, libraryFunction(l, f, f.name, node), args, node)
  if (value === REFUSED || value.kind !== 'expr') return undefined
  return l.stabilized(value.expr, 'list')
}
