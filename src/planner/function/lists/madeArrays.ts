/** Arrays that a loop's body makes for itself: their storage, writes of their elements, and loops over their indices. */
import type { AnyNode } from 'acorn'
import { sizeOfShape } from '../../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { binary, literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { isNumber } from '../surelyNumbers.ts'

export type View = Value & { readonly kind: 'view' }

/** Most bytes of all arrays that a body makes: each worker has a copy in every pass. */
export const MOST_BYTES: number = 2 ** 20

/** Most elements that are filled one by one; more are filled in a loop. */
const WRITTEN_OUT = 8

export interface Made {
  readonly name: string
  readonly dtype: DType
  readonly node: AnyNode
  /** Whether it is a plain array, which keeps what it is given. */
  readonly isList?: true
  /** The array in messages; the text of the node unless said otherwise. */
  readonly text?: string
}

/** Makes the storage of an array that is not moved, and returns its name; undefined where it is refused. */
export function arrayOfBody(
  l: Lowering,
  { name, dtype, node, isList, text = l.span(node).text }: Made,
  shape: readonly number[],
): string | undefined {
  const { context } = l
  const bytes = sizeOfShape(shape) * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
  l.localBytes += bytes
  const handle = context.kind === 'loop' ? context.localArray?.({ number: l.localArrays++, text, dtype, shape }) : undefined
  if (handle === undefined || l.localBytes > MOST_BYTES) {
    if (handle === undefined) l.refuse('mutates-literal', node)
    else l.refuse('local-arrays-large', node, text)
    return undefined
  }
  const array = l.newName(name)
  l.captured.set(array, handle)
  l.uses.push({ name: array, kind: 'array', origin: 'capture' })
  l.dtypes.set(array, dtype)
  l.locals.set(array, shape)
  if (isList) l.lists.add(array)
  return array
}

export function put(
  l: Lowering,
  list: View,
  values: readonly { readonly item: Value; readonly at: readonly number[] }[],
  node: AnyNode,
): Value {
  const span = l.span(node)
  for (const { item, at } of values) {
    const value = l.scalarOrNothing(item, node)
    if (value === undefined) return REFUSED
    const subscripts = [...list.prefix, ...at.map((one) => literal(one, span))]
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts, value, span })
  }
  return list
}

/** Emits writes of a value to all elements of an array. */
export function fill(l: Lowering, { array, prefix }: View, length: number, given: Expr, node: AnyNode): void {
  const span = l.span(node)
  const value = l.stabilized(given)
  checkNumber(l, array, value, node)
  const write = (at: Expr): void => l.emit({ kind: 'Write', array, subscripts: [...prefix, at], value, span })
  if (length <= WRITTEN_OUT) for (let at = 0; at < length; at++) write(literal(at, span))
  else eachIndex(l, length, node, write)
}

/** Emits a loop over the indices of a list of this length. */
export function eachIndex(l: Lowering, length: number, node: AnyNode, turn: (at: Expr) => void): void {
  const span = l.span(node)
  const local = l.newName('at')
  const at: Expr = { kind: 'Local', name: local, span }
  const [from, to] = [literal(0, span), literal(length, span)]
  l.stableLocals.add(local)
  l.counters.set(local, { low: 0, high: length - 1 })
  const body = l.inLoop(() => {
    l.noteTurns(length)
    return l.collect(() => turn(at))
  })
  l.stableLocals.delete(local)
  l.counters.delete(local)
  l.emit({
    kind: 'For',
    init: [{ kind: 'Let', local, init: from, span }],
    test: binary('<', at, to, span),
    update: [{ kind: 'Assign', local, value: binary('+', at, literal(1, span), span), span }],
    body,
    doWhile: false,
    counted: { local, from, to, step: 1 },
    span,
  } satisfies Stmt)
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])

/** Checks that a value put into a list is a number: a list keeps undefined, where a typed array makes it NaN. */
export function checkNumber(
  l: Lowering,
  array: string,
  expr: Expr,
  node: AnyNode,
  { always = false }: { readonly always?: boolean } = {},
): void {
  if ((!l.lists.has(array) && !always) || isNumber(l, expr)) return
  l.checks.push({
    expr,
    holds: (kinds) => kinds?.every((kind) => NUMBERS.has(kind)) === true,
    refusal: refusalOf('local-array-value', l.span(node), array),
  })
}

/** Makes an empty list with room for this many elements; undefined where it is refused. */
export function emptyList(l: Lowering, what: Made, room: number): View | undefined {
  const array = arrayOfBody(l, what, [Math.max(1, room)])
  if (array === undefined) return undefined
  const span = l.span(what.node)
  const size = l.newName(`${array}_length`)
  l.sizes.set(array, size)
  l.emit({ kind: 'Let', local: size, init: literal(0, span), span })
  return { kind: 'view', array, prefix: [], rank: 1 }
}

/** Emits the write of a value after the last element of a list that grows, for which there is room. */
export function pushed(l: Lowering, list: View, value: Expr, node: AnyNode): void {
  const [span, local] = [l.span(node), l.sizes.get(list.array) ?? '']
  const size: Expr = { kind: 'Local', name: local, span }
  checkNumber(l, list.array, value, node)
  l.emit({ kind: 'Write', array: list.array, subscripts: [size], value, span })
  l.emit({ kind: 'Assign', local, value: binary('+', size, literal(1, span), span), span })
}

/** Returns the number of elements of the array. */
export function lengthIn(l: Lowering, view: View, node: AnyNode): Expr {
  const [size, span] = [l.sizes.get(view.array), l.span(node)]
  return size === undefined ? { kind: 'Extent', array: view.array, axis: view.prefix.length, span } : { kind: 'Local', name: size, span }
}

/** Emits the check of a subscript of a list that grows: behind its last element lie old values. */
export function checkedIndex(l: Lowering, array: string, index: Expr, node: AnyNode): Expr {
  const [size, span] = [l.sizes.get(array), l.span(node)]
  if (size === undefined || l.frame.isLibrary === true) return index
  const at = l.stabilized(index, 'at')
  const test = binary('>=', at, { kind: 'Local', name: size, span }, span)
  const message = literal(`A subscript of ${array} is not below its length.`, span)
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  l.emit({ kind: 'If', test, then: [{ kind: 'Throw', error: 'RangeError', message, span }], else: [], span })
  return at
}

/** Lowers `list.push(…)`, `list.pop()`; undefined for other methods. */
export function growingMethod(l: Lowering, list: View, name: string, args: readonly Value[], node: AnyNode): Value | undefined {
  const [span, local] = [l.span(node), l.sizes.get(list.array)]
  if (local === undefined) return undefined
  const size: Expr = { kind: 'Local', name: local, span }
  if (name === 'push') {
    const exprs = args.map((arg) => l.scalarOrNothing(arg, node))
    for (const expr of exprs) if (expr !== undefined) pushed(l, list, expr, node)
    return exprs.includes(undefined) ? REFUSED : exprValue(l.temporary(size, 'size'))
  }
  if (name !== 'pop' || args.length > 0) return undefined
  const less = binary('-', size, literal(1, span), span)
  const last = l.newName('last')
  l.emit({ kind: 'Let', local: last, span })
  const read: Expr = { kind: 'Read', array: list.array, subscripts: [size], span }
  l.emit({
    kind: 'If',
    test: binary('>', size, literal(0, span), span),
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    then: [
      { kind: 'Assign', local, value: less, span },
      { kind: 'Assign', local: last, value: read, span },
    ],
    else: [],
    span,
  })
  return exprValue({ kind: 'Local', name: last, span })
}
