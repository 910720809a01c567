/** Lists that grow, and arrays whose length only the run tells: their room, and what puts elements there and takes them. */
import type { AnyNode } from 'acorn'
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { binary, conditional, isBoolean, literal, logical, makeIf, negated } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { ListSize } from '../lower/loweringParts.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { maybeLocal } from '../maybeScalars.ts'
import { refusalOf } from '../refusals.ts'
import {
  arrayOfBody,
  checkedIndex,
  checkNumber,
  eachIndex,
  elementRead,
  endsOf,
  lengthIn,
  lengthOfList,
  type Made,
  MOST_TOGETHER,
  NUMBERS,
  type View,
} from './madeArrays.ts'

/** Room of a list that grows by as much as only the run tells; one more element is an error of the run. */
const MOST_GROWN = 2 ** 16
const LEAST_GROWN = 2 ** 12
/** The same of lists of objects, which have an array for each part. */
const MOST_RECORDS = 2 ** 15

/** Makes an empty list with room for this many elements; undefined where it is refused. `isShifted`: elements are taken from its start. */
export function emptyList(l: Lowering, what: Made, room: number, how: { readonly isShifted?: boolean } = {}): View | undefined {
  const most = Math.min(Math.max(1, room), roomLeft(l, MOST_GROWN, ARRAY_OF_DTYPE[what.dtype].BYTES_PER_ELEMENT))
  const array = arrayOfBody(l, what, [most])
  if (array === undefined) return undefined
  l.sizes.set(array, newSize(l, { name: array, node: what.node, room, most }, how))
  return { kind: 'view', array, prefix: [], rank: 1 }
}

/** Makes an array of as many elements as only the run tells, whose values are still to be written; undefined where it is refused. */
export function sizedArray(l: Lowering, what: Made, length: Expr): View | undefined {
  const { node, dtype } = what
  const list = emptyList(l, { ...what, name: what.name }, Number.POSITIVE_INFINITY)
  if (list === undefined) return undefined
  const size = l.sizes.get(list.array)
  const span = l.span(node)
  const isTyped = what.isList !== true
  const fails = (test: Expr, message: string, how: { readonly isLimit?: true } = {}): void =>
    l.emit(...makeIf(test, [{ kind: 'Throw', error: 'RangeError', message: literal(message, span), ...how, span }], [], span))
  l.checks.push({
    expr: length,
    holds: (kinds) => kinds?.every((kind) => NUMBERS.has(kind)) === true,
    refusal: refusalOf('local-array-length', span, span.text),
  })
  const given = l.stabilized(length, 'count')
  const floor: Expr = { kind: 'Call', callee: 'Math.floor', args: [given], span }
  const most = size?.most ?? 0
  if (isTyped) fails(binary('<=', given, literal(-1, span), span), 'Invalid typed array length')
  else
    fails(
      negated(logical('&&', binary('>=', given, literal(0, span), span), binary('===', given, floor, span), span), span),
      'Invalid array length',
    )
  fails(
    binary('>', given, literal(most, span), span),
    `${what.name} has more than ${most.toLocaleString('en')} elements. Make it as long as it may become, by a number that is written out or captured, as new ${dtype === 'f64' ? 'Float64Array' : 'Array'}(n).`,
    { isLimit: true },
  )
  const count = isTyped ? conditional(binary('>=', given, literal(1, span), span), floor, literal(0, span), span) : given
  l.emit({ kind: 'Assign', local: size?.end ?? '', value: count, span })
  return list
}

/**
 * Makes the list of `new Array(n)`, whose places are assigned one after another: it grows with each. What reads or assigns a place behind
 * those, or needs all of them before, has JavaScript's holes: the body runs as it stands.
 */
export function listToFill(l: Lowering, what: Made, length: Expr, known: number | undefined): View | undefined {
  const { node } = what
  const list = emptyList(l, what, known ?? Number.POSITIVE_INFINITY)
  const size = list && l.sizes.get(list.array)
  if (list === undefined || size === undefined) return undefined
  const span = l.span(node)
  l.sizes.set(list.array, { ...size, room: Number.POSITIVE_INFINITY })
  l.checks.push({
    expr: length,
    holds: (kinds) => kinds?.every((kind) => NUMBERS.has(kind)) === true,
    refusal: refusalOf('local-array-length', span, span.text),
  })
  const count = l.stabilized(length, 'count')
  l.places.set(list.array, count)
  if (known !== undefined) return list
  const floor: Expr = { kind: 'Call', callee: 'Math.floor', args: [count], span }
  const isLength = [
    binary('>=', count, literal(0, span), span),
    binary('<=', count, literal(size.most, span), span),
    binary('===', count, floor, span),
  ].reduce((a, b) => logical('&&', a, b, span))
  const message = `${what.name} has more than ${size.most.toLocaleString('en')} places, or no whole number of them. Make it as long as it may become, as new Float64Array(n).`
  l.emit(
    ...makeIf(
      negated(isLength, span),
      [{ kind: 'Throw', error: 'RangeError', message: literal(message, span), isLimit: true, span }],
      [],
      span,
    ),
  )
  return list
}

/** Emits the test that all places of such a list have been assigned, for what goes through all of them. */
export function checkFilled(l: Lowering, { array }: View, node: AnyNode): void {
  const count = l.places.get(array)
  if (count === undefined || l.frame.isLibrary === true) return
  const span = l.span(node)
  const message = literal(`Not all places of ${array} have been assigned. Fill them, as new Array(n).fill(0).`, span)
  const isOpen = binary('!==', lengthOfList(l, array, node), count, span)
  l.emit(...makeIf(isOpen, [{ kind: 'Throw', error: 'RangeError', message, isLimit: true, span }], [], span))
}

/** Returns how many places such a list has: more than it began with where some behind them were assigned. */
export function placesOfList(l: Lowering, { array }: View, node: AnyNode): Expr | undefined {
  const count = l.places.get(array)
  if (count === undefined || l.frame.isLibrary === true) return undefined
  return { kind: 'Call', callee: 'Math.max', args: [count, lengthOfList(l, array, node)], span: l.span(node) }
}

/** Makes empty arrays of one length, the first of which has it; undefined where one is refused. */
export function emptyLists(
  l: Lowering,
  {
    name,
    node,
    leaves,
  }: Pick<Made, 'name' | 'node'> & { readonly leaves: readonly { readonly name: string; readonly isBoolean: boolean }[] },
  room: number,
  how: { readonly isShifted: boolean },
): readonly string[] | undefined {
  const bytes = leaves.reduce((sum, { isBoolean }) => sum + (isBoolean ? 1 : 8), 0)
  const most = Math.min(Math.max(1, room), roomLeft(l, MOST_RECORDS, bytes))
  const arrays = leaves.map((leaf) =>
    arrayOfBody(l, { name: leaf.name, node, isList: true, ...(leaf.isBoolean ? { dtype: 'u8', isBoolean: true } : { dtype: 'f64' }) }, [
      most,
    ]),
  )
  const [first] = arrays
  if (first === undefined || arrays.includes(undefined)) return undefined
  l.sizes.set(first, newSize(l, { name, node, room, most }, how))
  return arrays as string[] // none is undefined
}

/** Returns the room of a list that grows by as much as only the run tells: less where lists before it have taken much of the memory. */
export function roomLeft(l: Lowering, most: number, bytes: number): number {
  let room = most
  while (room > LEAST_GROWN && room * bytes > (MOST_TOGETHER - l.localBytes) / 4) room /= 2
  return room
}

function newSize(
  l: Lowering,
  { name, node, room, most }: Pick<Made, 'name' | 'node'> & Pick<ListSize, 'room' | 'most'>,
  how: { readonly isShifted?: boolean },
): ListSize {
  const span = l.span(node)
  const counter = (wanted: string): string => {
    const local = l.newName(`${name}_${wanted}`)
    l.emit({ kind: 'Let', local, init: literal(0, span), span })
    return local
  }
  const first = how.isShifted === true ? { first: counter('first') } : {}
  return { end: counter('length'), room, most, name, ...first }
}

/** Emits the write of a value after the last element of a list that grows. */
export function pushed(l: Lowering, list: View, given: Expr, node: AnyNode): void {
  const span = l.span(node)
  const { array } = list
  const size = l.sizes.get(array)
  if (size === undefined) return
  const isKept = size.first !== undefined || size.room > size.most || l.isGuarded({ unit: l.unit, start: node.start })
  const value = isKept ? l.stabilized(given) : given
  const literalOf = l.madeIn.get(array)
  if (literalOf !== undefined && isBoolean(given) && !l.booleans.has(array)) l.foundTruths.push(literalOf)
  checkNumber(l, array, value, node)
  const end = makeRoom(l, array, [array], node)
  l.emit({ kind: 'Write', array, subscripts: [end], value, span })
  setEnd(l, array, 1, node)
}

/** Emits what makes room for one more element of lists of one length; returns its place. */
export function makeRoom(l: Lowering, array: string, arrays: readonly string[], node: AnyNode): Expr {
  const span = l.span(node)
  const [size, ends] = [l.sizes.get(array), endsOf(l, array, span)]
  if (size === undefined || ends === undefined) return literal(0, span)
  const isFull = binary('>=', ends.end, literal(Math.min(size.room, size.most), span), span)
  if (size.first !== undefined) l.emit(...makeIf(isFull, movedDown(l, array, arrays, node), [], span))
  if (size.room > size.most) {
    const message = `${size.name} has more than ${size.most.toLocaleString('en')} elements. Make it as long as it may become, as new Float64Array(n), and count them.`
    l.emit(...makeIf(isFull, [{ kind: 'Throw', error: 'RangeError', message: literal(message, span), isLimit: true, span }], [], span))
  }
  return ends.end
}

/** Emits the check of a subscript that is written, behind the last element of a list included, which then has one more; returns the place. */
export function writtenIndex(l: Lowering, array: string, at: Expr, node: AnyNode): Expr {
  if (!l.lists.has(array)) return checkedIndex(l, array, at, node)
  const span = l.span(node)
  const isNext = binary('===', at, lengthOfList(l, array, node), span)
  const grows = l.collect(() => {
    makeRoom(l, array, [array], node)
    setEnd(l, array, 1, node)
  })
  l.emit(...makeIf(isNext, grows, [], span))
  return checkedIndex(l, array, at, node)
}

/** Emits the change of a list's length. */
export function setEnd(l: Lowering, array: string, by: number, node: AnyNode): void {
  const span = l.span(node)
  const local = l.sizes.get(array)?.end ?? ''
  l.emit({ kind: 'Assign', local, value: binary('+', { kind: 'Local', name: local, span }, literal(by, span), span), span })
}

/** Emits what leaves a list without elements. */
export function emptied(l: Lowering, array: string, node: AnyNode): void {
  const [span, size] = [l.span(node), l.sizes.get(array)]
  if (size?.first !== undefined) l.emit({ kind: 'Assign', local: size.first, value: literal(0, span), span })
  if (size !== undefined) l.emit({ kind: 'Assign', local: size.end, value: literal(0, span), span })
}

/** Moves the elements of lists of one length to their start, from which others were taken. */
function movedDown(l: Lowering, array: string, arrays: readonly string[], node: AnyNode): Stmt[] {
  const span = l.span(node)
  return l.collect(() => {
    const [size, ends] = [l.sizes.get(array), endsOf(l, array, span)]
    if (size?.first === undefined || ends === undefined) return
    const count = l.temporary(binary('-', ends.end, ends.first, span), 'count')
    eachIndex(l, count, node, (at) => {
      for (const one of arrays) {
        const value: Expr = { kind: 'Read', array: one, subscripts: [binary('+', ends.first, at, span)], span }
        l.emit({ kind: 'Write', array: one, subscripts: [at], value, span })
      }
    })
    l.emit({ kind: 'Assign', local: size.first, value: literal(0, span), span }, { kind: 'Assign', local: size.end, value: count, span })
  })
}

/** Lowers `list.push(…)`, `list.pop()`, `list.shift()`; undefined for other methods. */
export function growingMethod(l: Lowering, list: View, name: string, args: readonly Value[], node: AnyNode): Value | undefined {
  const span = l.span(node)
  const [size, ends] = [l.sizes.get(list.array), endsOf(l, list.array, span)]
  if (size === undefined || ends === undefined) return undefined
  if (name === 'push') {
    const given = args.map((arg) => l.scalarOrNothing(arg, node))
    // all are evaluated before the first is put there
    const exprs = given.map((expr) => (expr === undefined || given.length === 1 ? expr : l.stabilized(expr)))
    for (const expr of exprs) if (expr !== undefined) pushed(l, list, expr, node)
    return exprs.includes(undefined) ? REFUSED : exprValue(l.temporary(lengthIn(l, list, node), 'size'))
  }
  if ((name !== 'pop' && name !== 'shift') || args.length > 0) return undefined
  const from = takenFrom(l, list.array, name, node)
  if (from === undefined) return undefined
  const taken = l.newName(name === 'shift' ? 'first' : 'last')
  const value = elementRead(l, list.array, [from.place], span)
  if (from.isThere) {
    l.emit(...from.before, { kind: 'Let', local: taken, init: value, span }, ...from.after)
    l.stableLocals.add(taken)
    return exprValue({ kind: 'Local', name: taken, span })
  }
  const [isTruth, there] = [l.booleans.has(list.array), l.newName(`${taken}_there`)]
  l.emit(
    { kind: 'Let', local: there, init: from.test, span },
    { kind: 'Let', local: taken, init: literal(isTruth ? false : 0, span), span },
  )
  const take: Stmt = { kind: 'Assign', local: taken, value, span }
  l.emit(...makeIf({ kind: 'Local', name: there, span }, [...from.before, take, ...from.after], [], span))
  return maybeLocal(l, { there, local: taken, isTruth }, span)
}

interface Taken {
  readonly place: Expr
  /** Whether there is an element, if it is not known that there is. */
  readonly test: Expr
  readonly isThere: boolean
  /** What is emitted before the element is read, and after that. */
  readonly before: readonly Stmt[]
  readonly after: readonly Stmt[]
}

/** Returns how an element is taken from the end of a list, or from its start; undefined where the list has no place for its start. */
export function takenFrom(l: Lowering, array: string, name: 'pop' | 'shift', node: AnyNode): Taken | undefined {
  const span = l.span(node)
  const [size, ends] = [l.sizes.get(array), endsOf(l, array, span)]
  if (size === undefined || ends === undefined || (name === 'shift' && size.first === undefined)) return undefined
  const isThere = l.holdingSome.get(array) === (l.loops.at(-1) ?? 'no loop')
  l.holdingSome.delete(array)
  const { first, end } = ends
  const one = literal(1, span)
  const test = binary('>', end, first, span)
  if (name === 'pop')
    return { place: end, test, isThere, before: [{ kind: 'Assign', local: size.end, value: binary('-', end, one, span), span }], after: [] }
  return {
    place: first,
    test,
    isThere,
    before: [],
    after: [{ kind: 'Assign', local: size.first ?? '', value: binary('+', first, one, span), span }],
  }
}
