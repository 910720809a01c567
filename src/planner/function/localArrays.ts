/**
 * Arrays of numbers that a loop's body makes for itself, and whose elements it chooses by what it computes.
 *
 *     const bins = new Int32Array(16)            bins: an array that each worker has a copy of, zeroed where it stands
 *     bins[Math.floor(16 * v)]++                 Write bins [Math.floor(16 * v)] = Read bins [Math.floor(16 * v)] + 1
 *
 * To all that comes after, such an array is one of the arrays that a loop works with: subscripts are checked, loops over it have
 * lanes, and it is private to an iteration by the way it was made. Who has another name for it has the same array. What is
 * evaluated again begins anew, and nobody can have kept what it was before: no variable is given one array after another.
 * A subscript outside of it is an error of the run, as outside of any array, where JavaScript would give undefined.
 */
import type { AnyNode, CallExpression, Expression, NewExpression, SpreadElement } from 'acorn'
import type { Expr, Stmt } from '../../core/functionIr.ts'
import { sizeOfShape } from '../../core/indexSpace.ts'
import type { DType } from '../../core/schema.ts'
import { ARRAY_OF_DTYPE } from '../../core/storage.ts'
import { binary, literal } from './build.ts'
import { elements } from './elements.ts'
import type { Lowering } from './lowering.ts'
import { refusalOf } from './refusals.ts'
import { partsOf } from './stored.ts'
import { isNumber } from './surelyNumbers.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

type View = Value & { readonly kind: 'view' }

/** Of all that a body makes: each worker has them, and every pass. */
const MOST_BYTES = 2 ** 20

/** So many elements are zeroed one by one; more in a loop. */
const WRITTEN_OUT = 8

const DTYPES: ReadonlyMap<unknown, DType> = new Map<unknown, DType>([
  ...([
    [Float64Array, 'f64'],
    [Float32Array, 'f32'],
    [Int32Array, 'i32'],
    [Uint32Array, 'u32'],
  ] as const),
  ...([
    [Int16Array, 'i16'],
    [Uint16Array, 'u16'],
    [Int8Array, 'i8'],
    [Uint8Array, 'u8'],
  ] as const),
])

/** The platform's function or class that a name stands for; undefined for the user's own. */
function platformValue(l: Lowering, node: AnyNode): unknown {
  if (node.type !== 'Identifier' || l.unit.names.bindingOf.get(node) !== undefined) return undefined
  const free = l.unit.freeOf(node)
  return free.kind === 'global' ? free.value : undefined
}

/** `new Float64Array(8)`, `new Int32Array([1, 2, 3])`; undefined for what makes something else. */
export function newTypedArray(l: Lowering, node: NewExpression): Value | undefined {
  const dtype = DTYPES.get(platformValue(l, node.callee))
  if (dtype === undefined || l.context.kind !== 'loop') return undefined
  const name = l.takeName('local')
  const [argument, another] = node.arguments
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const value = l.verbs.value(l, argument)
  if (value.kind === 'refused') return REFUSED
  if (value.kind === 'tuple') return holding(l, { name, dtype, node }, value.items)
  const length = lengthOf(l, value)
  return length === undefined ? l.refuse('local-array-length', argument, l.span(node).text) : filled(l, { name, dtype, node }, length, 0)
}

/** `new Array(8).fill(0)`, `Array(8).fill(0)`, `Float64Array.of(1, 2)`; undefined for what makes something else. */
export function calledArray(l: Lowering, node: CallExpression): Value | undefined {
  const { callee } = node
  if (l.context.kind !== 'loop' || callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier')
    return undefined
  const { object, property } = callee
  const of = property.name === 'of' ? DTYPES.get(platformValue(l, object)) : undefined
  if (of !== undefined) {
    const name = l.takeName('local')
    const items = elements(l, node.arguments)
    return items === undefined ? REFUSED : holding(l, { name, dtype: of, node }, items)
  }
  if (property.name === 'from' && platformValue(l, object) === Array) return arrayFrom(l, node)
  const makes = object.type === 'NewExpression' || object.type === 'CallExpression'
  if (property.name !== 'fill' || !makes || platformValue(l, object.callee) !== Array) return undefined
  const [size, ...moreSizes] = object.arguments
  const [value, ...moreValues] = node.arguments
  if (size === undefined || value === undefined || moreSizes.length + moreValues.length > 0) return undefined
  if (size.type === 'SpreadElement' || value.type === 'SpreadElement') return undefined
  const name = l.takeName('local')
  const length = lengthOf(l, l.verbs.value(l, size))
  if (length === undefined) return l.refuse('local-array-length', size, l.span(object).text)
  const given = l.scalarOrNothing(l.verbs.value(l, value), value)
  return given === undefined ? REFUSED : filled(l, { name, dtype: 'f64', node, isList: true }, length, given)
}

/** `Array.from({ length: n }, (_, k) => …)`; undefined for what makes something else. */
function arrayFrom(l: Lowering, node: CallExpression): Value | undefined {
  const [like, make, another] = node.arguments
  if (like?.type !== 'ObjectExpression' || make === undefined || make.type === 'SpreadElement' || another !== undefined) return undefined
  const [property, ...more] = like.properties
  if (property?.type !== 'Property' || property.computed || more.length > 0) return undefined
  if (property.key.type !== 'Identifier' || property.key.name !== 'length') return undefined
  const name = l.takeName('local')
  const length = lengthOf(l, l.verbs.value(l, property.value as Expression)) // of an object that is no pattern
  if (length === undefined) return l.refuse('local-array-length', property, l.span(node).text)
  const f = l.verbs.value(l, make)
  if (f.kind !== 'closure') return f.kind === 'refused' ? REFUSED : l.refuse('unknown-method', node, 'Array.from')
  const list = made(l, { name, dtype: 'f64', node, isList: true }, [length])
  if (list === undefined) return REFUSED
  const span = l.span(node)
  const nothing = exprValue(literal(undefined, span))
  eachIndex(l, length, node, (at) => {
    const value = l.scalarOrNothing(l.verbs.inline(l, f, [nothing, exprValue(at)], node), node)
    if (value === undefined) return
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts: [at], value, span })
  })
  return list
}

/** An array literal of numbers, or of rows of as many numbers each, whose subscripts are computed; undefined for one of other things. */
export function listLiteral(l: Lowering, name: string, given: readonly Value[], node: AnyNode): Value | undefined {
  if (l.context.kind !== 'loop' || given.length === 0) return undefined
  const items = given.map((item) => (item.kind === 'stored' ? partsOf(item, l.span(node)) : item))
  if (items.every((item) => item.kind === 'expr')) return holding(l, { name, dtype: 'f64', node, isList: true }, items)
  const rows = items.flatMap((item) => (item.kind === 'tuple' ? [item.items] : []))
  const [first] = rows
  const isTable =
    first !== undefined &&
    rows.length === items.length &&
    rows.every((row) => row.length === first.length && row.every((item) => item.kind === 'expr'))
  if (!isTable || first.length === 0) return undefined
  const list = made(l, { name, dtype: 'f64', node, isList: true }, [rows.length, first.length])
  if (list === undefined) return REFUSED
  const values = rows.flatMap((row, r) => row.map((item, c) => ({ item, at: [r, c] })))
  return put(l, list, values, node)
}

interface Made {
  readonly name: string
  readonly dtype: DType
  readonly node: AnyNode
  /** A plain array, which keeps what it is given. */
  readonly isList?: true
}

/** Where the elements of an array lie; undefined where it is refused. */
function made(l: Lowering, { name, dtype, node, isList }: Made, shape: readonly number[]): View | undefined {
  const { context } = l
  const text = l.span(node).text
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
  return { kind: 'view', array, prefix: [], rank: shape.length }
}

function holding(l: Lowering, what: Made, items: readonly Value[]): Value {
  if (items.length === 0) return l.refuse('local-array-length', what.node, l.span(what.node).text)
  const list = made(l, what, [items.length])
  return list === undefined
    ? REFUSED
    : put(
        l,
        list,
        items.map((item, at) => ({ item, at: [at] })),
        what.node,
      )
}

function put(l: Lowering, list: View, values: readonly { readonly item: Value; readonly at: readonly number[] }[], node: AnyNode): Value {
  const span = l.span(node)
  for (const { item, at } of values) {
    const value = l.scalarOrNothing(item, node)
    if (value === undefined) return REFUSED
    const subscripts = at.map((one) => literal(one, span))
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts, value, span })
  }
  return list
}

function filled(l: Lowering, what: Made, length: number, value: Expr | 0): Value {
  const list = made(l, what, [length])
  if (list === undefined) return REFUSED
  fill(l, list, length, value === 0 ? literal(0, l.span(what.node)) : value, what.node)
  return list
}

/** Writes a value to all elements of an array of so many. */
function fill(l: Lowering, { array, prefix }: View, length: number, given: Expr, node: AnyNode): void {
  const span = l.span(node)
  const value = l.stabilized(given)
  checkNumber(l, array, value, node)
  const write = (at: Expr): void => l.emit({ kind: 'Write', array, subscripts: [...prefix, at], value, span })
  if (length <= WRITTEN_OUT) for (let at = 0; at < length; at++) write(literal(at, span))
  else eachIndex(l, length, node, write)
}

/** A loop over the indices of a list of so many. */
function eachIndex(l: Lowering, length: number, node: AnyNode, turn: (at: Expr) => void): void {
  const span = l.span(node)
  const local = l.newName('at')
  const at: Expr = { kind: 'Local', name: local, span }
  const [from, to] = [literal(0, span), literal(length, span)]
  l.stableLocals.add(local)
  l.counters.set(local, { low: 0, high: length - 1 })
  const body = l.inLoop(() => l.collect(() => turn(at)))
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

/** What is put into a list is a number: undefined would stay what it is there, where a typed array makes NaN of it. */
export function checkNumber(l: Lowering, array: string, expr: Expr, node: AnyNode): void {
  if (!l.lists.has(array) || isNumber(l, expr)) return
  l.checks.push({
    expr,
    holds: (kinds) => kinds?.every((kind) => NUMBERS.has(kind)) === true,
    refusal: refusalOf('local-array-value', l.span(node), array),
  })
}

/** `t.fill(0)`; other methods are refused. */
export function localMethod(l: Lowering, view: View, name: string, node: CallExpression): Value {
  const shape = l.locals.get(view.array) ?? []
  const length = shape.length === view.prefix.length + 1 ? shape.at(-1) : undefined
  const [argument, another] = node.arguments as (Expression | SpreadElement | undefined)[]
  if (name === 'push' || name === 'unshift') return l.refuse('local-array-grows', node, view.array)
  if (name !== 'fill' || length === undefined || argument === undefined || another !== undefined || argument.type === 'SpreadElement')
    return l.refuse('unknown-method', node, `${view.array}.${name}`)
  const value = l.scalarOrNothing(l.verbs.value(l, argument), argument)
  if (value === undefined) return REFUSED
  fill(l, view, length, value, node)
  return view
}

/** A whole number that is known before the run: written out, captured, or computed of such. */
function lengthOf(l: Lowering, value: Value): number | undefined {
  const known = value.kind === 'expr' ? constantOf(l, value.expr) : undefined
  return known !== undefined && Number.isInteger(known) && known > 0 && known <= MOST_BYTES ? known : undefined
}

function constantOf(l: Lowering, expr: Expr): number | undefined {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number' ? expr.value : undefined
    case 'Parameter': {
      const value = l.parameters.find((one) => one.name === expr.name)?.value
      return typeof value === 'number' ? value : undefined
    }
    case 'Extent':
      return (l.locals.get(expr.array) ?? l.shapes.get(expr.array))?.[expr.axis]
    case 'Binary': {
      const [a, b] = [constantOf(l, expr.left), constantOf(l, expr.right)]
      if (a === undefined || b === undefined) return undefined
      return expr.operator === '+' ? a + b : expr.operator === '-' ? a - b : expr.operator === '*' ? a * b : undefined
    }
    default:
      return undefined
  }
}
