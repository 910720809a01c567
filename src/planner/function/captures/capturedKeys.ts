/**
 * Lowers captured collections in which a row lambda looks keys up, to a table of their keys and one of their values:
 *
 *     rates.get(r.currency)             a Map of primitives
 *     some.has(r.city)                  a Set, or a Map
 *     ids.includes(r.id)                a list
 *     codes[r.name]   r.name in codes   an object
 *
 * The tables are made when the function is lowered, which it is anew when an action finds that the collection has changed.
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { Collection, Expr, Primitive } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, conditional, literal, logical, unary } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { codeOfText } from '../lower/textLocals.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { nestedRow } from './capturedLookups.ts'
import { fieldsOfObjects, foundObject, isPrimitive, type Lookups } from './foundObjects.ts'
import { numbersOf } from './numbersOf.ts'
import { addTable } from './outside.ts'
import { hasMoreTexts, isCapturedText, textOfCode } from './textCodes.ts'
import { hasTraps } from './traps.ts'

type Data = Value & { readonly kind: 'data' }

/** Lowers `map.get(k)`, `map.has(k)`, `set.has(k)` of primitives in a row lambda; undefined for other data and methods. */
export function keyedByRow(l: Lowering, data: Data, name: string, node: CallExpression): Value | undefined {
  const { value } = data
  const isMap = isExactly(value, Map)
  if ((!isMap && !isExactly(value, Set)) || (name !== 'has' && !(isMap && name === 'get'))) return undefined
  const keys: readonly unknown[] = [...value.keys()]
  if (!keys.every(isPrimitive)) return undefined
  if (name === 'has') return found(l, data, { of: 'keyed', keys }, node)
  const values: readonly unknown[] = [...value.values()]
  if (values.every(isPrimitive)) return found(l, data, { of: 'keyed', keys, values }, node)
  const names = l.context.kind === 'row' ? fieldsOfObjects(values) : undefined
  const key = names && keyOf(l, node)
  if (names === undefined || key === undefined) return undefined
  if (key === 'refused') return REFUSED
  const lookups: Lookups = {
    has: find(l, data, { of: 'keyed', keys }, key, node),
    found: (of, as) => find(l, data, { of: 'keyed', keys, values: (values as readonly object[]).map(of) }, key, node, as), // as just asked
  }
  return foundObject(l, data, names, lookups, node)
}

/** Lowers `list.includes(x)` in a row lambda; undefined elsewhere. */
export function includedByRow(l: Lowering, data: Data, items: ArrayLike<Primitive>, node: CallExpression): Value | undefined {
  return found(l, data, { of: 'keyed', keys: Array.from(items) }, node)
}

/** Lowers `object[name]` with a name that follows from the row; undefined unless the object is plain and holds primitives only. */
export function valueByRow(l: Lowering, data: Data, key: Expr, node: AnyNode): Value | undefined {
  const of = classOf(data.value)
  if (of === undefined) return undefined
  if (l.context.kind !== 'row')
    return byTexts(l, data, key, { name: 'property', answer: (text) => (data.value as Record<string, unknown>)[text] }, node)
  const keys = Object.keys(data.value)
  const values: readonly unknown[] = keys.map((name) => (data.value as Record<string, unknown>)[name]) // a plain object
  if (values.every(isPrimitive)) return exprValue(find(l, data, { of, keys, values }, key, node))
  const names = fieldsOfObjects(values)
  // what every object has are objects too, whose fields are undefined for the most part, and never those of the program
  const others = of === 'bare' ? [] : [...INHERITED].filter((one) => !Object.hasOwn(data.value, one))
  const objects = [...values, ...others.map((one) => (data.value as Record<string, unknown>)[one])] as readonly object[]
  const areTexts = [...(names ?? [])].every((name) => objects.every((one) => isPrimitive((one as Record<string, unknown>)[name])))
  if (names === undefined || !areTexts) return undefined
  const kept = l.stabilized(key, 'key')
  const all = [...keys, ...others]
  const lookups: Lookups = {
    has: find(l, data, { of, keys }, kept, node),
    found: (field, as) => find(l, data, { of: 'bare', keys: all, values: objects.map(field) }, kept, node, as),
  }
  return foundObject(l, data, names, lookups, node)
}

/** Lowers `name in object`, with `own` `Object.hasOwn(object, name)`, in a row lambda; undefined elsewhere, and for other objects. */
export function isNameByRow(l: Lowering, data: Data, key: Expr, { own }: { readonly own: boolean }, node: AnyNode): Value | undefined {
  const of = classOf(data.value)
  if (l.context.kind !== 'row' || of === undefined) return undefined
  return exprValue(find(l, data, { of: own ? 'own' : of, keys: Object.keys(data.value) }, key, node))
}

/**
 * Returns a list or object of constants that a row lambda writes out, as if it were captured; in a loop a list of texts, and an object of
 * which a captured text is asked. Undefined for others.
 */
export function writtenOut(l: Lowering, value: Value & { readonly kind: 'tuple' | 'record' }, key?: Value): Data | undefined {
  const parts = value.kind === 'tuple' ? value.items : value.fields.map((field) => field.value)
  const constants = parts.flatMap((part) => (part.kind === 'expr' && part.expr.kind === 'Literal' ? [part.expr.value] : []))
  const isAsked = value.kind === 'record' && key?.kind === 'expr' && isCapturedText(l, key.expr)
  const areTexts = isAsked || (value.kind === 'tuple' && constants.every((one) => typeof one === 'string'))
  if (constants.length < parts.length) return undefined
  if (l.context.kind !== 'row' && !areTexts) return undefined
  const held = { origin: 'capture', made: true } as const
  if (value.kind === 'tuple') return { kind: 'data', value: constants, name: 'list', ...held }
  const object = Object.fromEntries(value.fields.map(({ name }, i) => [name, constants[i]]))
  return { kind: 'data', value: object, name: 'object', ...held }
}

interface Asked {
  /** The method that is asked, or `property`. */
  readonly name: string
  readonly answer: (text: string) => unknown
}

/**
 * Returns a collection's answer to a text that a loop's body takes from a captured list, or that is known: a table of the answers to each
 * text of the list. Undefined for other keys, and where answers are neither all numbers nor all truth values.
 */
export function byTexts(l: Lowering, { value, name }: Data, given: Expr, { name: asked, answer }: Asked, node: AnyNode): Value | undefined {
  const span = l.span(node)
  const key = asCodedText(l, value, given, span)
  const constant = key.kind === 'Parameter' ? l.parameters.find((one) => one.name === key.name)?.value : undefined
  const text = key.kind === 'Literal' ? key.value : constant
  if (typeof text === 'string') {
    const found = answer(text)
    return isPrimitive(found) && typeof found !== 'bigint' ? exprValue({ kind: 'Literal', value: found, span }) : undefined
  }
  if (isRowText(l, key)) return byRowTexts(l, { kind: 'data', value, name, origin: 'capture' }, key, { name: asked, answer }, node)
  const texts = key.kind === 'Lookup' && !hasMoreTexts(l, key) ? l.tables.find((one) => one.name === key.table)?.value : undefined
  if (key.kind !== 'Lookup' || !Array.isArray(texts) || !texts.every((one) => typeof one === 'string')) return undefined
  // outside of its list the key is undefined, which the collection must not have
  if ((value instanceof Map || value instanceof Set) && value.has(undefined)) return undefined
  if (Object.hasOwn(value, 'undefined')) return undefined
  const answers = texts.map(answer)
  const parts = l.partsOfConstants.get(value) ?? {}
  l.partsOfConstants.set(value, parts)
  const table = (part: string, held: () => ArrayLike<Primitive>): Expr => {
    const known = (parts[`${part} ${asked} of ${key.table}`] ??= addTable(l, `${name}_${part}`, held(), 'capture', undefined, {
      made: true,
    }))
    return { kind: 'Lookup', table: known, index: key.index, span }
  }
  const isTrue = (of: (one: unknown) => boolean, part: string): Expr =>
    binary(
      '>',
      table(part, () => Int32Array.from(answers, (one) => (of(one) ? 1 : 0))),
      literal(0, span),
      span,
    )
  if (answers.every((one) => typeof one === 'boolean')) return exprValue(isTrue((one) => one === true, 'has'))
  if (answers.length > 0 && answers.every((one) => typeof one === 'string')) {
    const other = table('texts', () => answers as readonly string[]) // as just asked
    if (other.kind === 'Lookup') l.textTables.add(other.table)
    return exprValue(other)
  }
  if (answers.some((one) => typeof one === 'object' && one !== null)) {
    const rows: readonly unknown[] = [...new Set(answers.filter((one) => one !== undefined))]
    const known = table('rows', () => Int32Array.from(answers, (one) => rows.indexOf(one)))
    const row = l.stabilized(logical('??', known, literal(-1, span), span), 'row')
    const isNone = binary('<', row, literal(0, span), span)
    const list = rowsOfTexts(l, value, asked, rows)
    return nestedRow(l, { kind: 'data', value: list, name, origin: 'capture', made: true }, row, node, { absent: isNone })
  }
  if (!answers.every((one) => one === undefined || typeof one === 'number')) return undefined
  const numbers = table('found', () => numbersOf(answers.map((one) => (typeof one === 'number' ? one : 0))))
  return exprValue(
    conditional(
      isTrue((one) => one !== undefined, 'keys'),
      unary('+', numbers, span),
      literal(undefined, span),
      span,
    ),
  )
}

/** Returns the lists or objects that a collection has for texts, one list of them for each collection. */
function rowsOfTexts(l: Lowering, value: object, asked: string, rows: readonly unknown[]): readonly unknown[] {
  const lists = l.listsOfConstants.get(value) ?? {}
  l.listsOfConstants.set(value, lists)
  const known = lists[`rows ${asked}`]
  const isSame = known?.length === rows.length && known.every((one, i) => one === rows[i])
  if (known === undefined || !isSame) lists[`rows ${asked}`] = rows
  return isSame ? known : rows
}

/** Returns a text that a variable or condition gives as an element of the list of all texts; other keys as they are. */
function asCodedText(l: Lowering, of: object, key: Expr, span: Span): Expr {
  if (l.context.kind !== 'loop' || (key.kind !== 'Local' && key.kind !== 'Conditional') || isRowText(l, key)) return key
  const keys: readonly unknown[] = of instanceof Map || of instanceof Set ? [...of.keys()] : Object.keys(of)
  const areTexts = keys.every((one) => typeof one === 'string') && l.textShapes.length === 0 // of which codes are no places in a table
  return areTexts ? textOfCode(l, l.stabilized(codeOfText(l, key, span)), span) : key
}

/** Whether an expression is a text of the iterated row, for which collections may be searched. */
export function isRowText(l: Lowering, expr: Expr): boolean {
  if (l.context.kind !== 'loop' || l.context.findsTexts !== true) return false
  if (expr.kind === 'Local') return l.rowTexts.has(expr.name)
  const element = expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0 ? l.context.overElement : undefined
  return (
    element?.kind === 'row' &&
    element.fields.some((field) => expr.kind === 'Field' && field.name === expr.name && field.type.kind === 'utf8')
  )
}

/** Returns a collection's answer to a text of the row: whether it has it, and the number that it has for it; undefined as in `byTexts`. */
function byRowTexts(l: Lowering, data: Data, key: Expr, { name: asked, answer }: Asked, node: AnyNode): Value | undefined {
  const span = l.span(node)
  const { value } = data
  const isKeyed = value instanceof Map || value instanceof Set
  // A row's text may be null, which is none of the texts.
  if (isKeyed ? value.has(null as never) : Object.hasOwn(value, 'null')) return undefined
  const texts = (isKeyed ? [...(value.keys() as Iterable<unknown>)] : Object.keys(value)).filter((one) => typeof one === 'string')
  const answers = texts.map(answer)
  const isThere = find(l, data, { of: 'keyed', keys: texts }, key, node, 'texts')
  if (!isKeyed && classOf(value) !== 'bare') guardInherited(l, data, key, node)
  if (asked === 'has') return exprValue(isThere)
  if (!answers.every((one) => typeof one === 'number')) return undefined
  const number = unary('+', find(l, data, { of: 'keyed', keys: texts, values: answers as number[] }, key, node, 'numbers'), span)
  return exprValue(conditional(isThere, number, literal(undefined, span), span))
}

/** Emits an error for names that every object inherits from the platform, since these are none of the program's numbers. */
function guardInherited(l: Lowering, data: Data, key: Expr, node: AnyNode): void {
  const span = l.span(node)
  const isInherited = find(
    l,
    data,
    { of: 'keyed', keys: [...INHERITED].filter((one) => !Object.hasOwn(data.value, one)) },
    key,
    node,
    'inherited',
  )
  const message = literal(`${data.name} is asked for what every object has, as constructor. Use a Map.`, span)
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  l.emit({ kind: 'If', test: isInherited, then: [{ kind: 'Throw', error: 'TypeError', message, span }], else: [], span })
}

interface Held {
  readonly of: Collection
  readonly keys: ArrayLike<Primitive>
  readonly values?: readonly Primitive[]
}

function found(l: Lowering, data: Data, held: Held, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (l.context.kind !== 'row' || argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const key = l.scalarOrNothing(l.verbs.value(l, argument as Expression), argument)
  return key === undefined ? REFUSED : exprValue(find(l, data, held, key, node))
}

/** Returns the only argument of a call, evaluated once; undefined where there are others. */
function keyOf(l: Lowering, node: CallExpression): Expr | 'refused' | undefined {
  const [argument, another] = node.arguments
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const key = l.scalarOrNothing(l.verbs.value(l, argument as Expression), argument)
  return key === undefined ? 'refused' : l.stabilized(key, 'key')
}

function find(l: Lowering, { value, name }: Data, { of, keys, values }: Held, key: Expr, node: AnyNode, as = 'by row'): Expr {
  const parts = l.partsOfConstants.get(value) ?? {}
  l.partsOfConstants.set(value, parts)
  const table = (part: 'keys' | 'values', held: ArrayLike<Primitive>): string =>
    (parts[`${part} ${as}`] ??= addTable(l, `${name}_${part}`, held, 'capture', undefined, { made: true }))
  const tables = { keys: table('keys', keys), ...(values === undefined ? {} : { values: table('values', values) }) }
  return { kind: 'Find', of, ...tables, key, span: l.span(node) }
}

/** Names that the platform puts into every object; with more of them, an object would answer otherwise in another thread. */
const INHERITED = new Set([
  ...['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toLocaleString', 'toString', 'valueOf', '__proto__'],
  ...['__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
])

/** Returns the kind of an object that only holds values under texts, so that its copy gives the same answers; undefined for others. */
export function classOf(value: object): 'object' | 'bare' | undefined {
  if (hasTraps(value) || Array.isArray(value)) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return undefined
  if (prototype !== null && Reflect.ownKeys(Object.prototype).some((name) => !INHERITED.has(String(name)))) return undefined
  const isPlain = Reflect.ownKeys(value).every((name) => {
    const own = Object.getOwnPropertyDescriptor(value, name)
    return typeof name === 'string' && name !== '__proto__' && own?.enumerable === true && 'value' in own
  })
  if (!isPlain) return undefined
  return prototype === null ? 'bare' : 'object'
}

/** Whether a value is a Map or Set of the platform's own class without own properties: its answers follow from what it holds. */
export function isExactly<C extends typeof Map | typeof Set>(value: object, of: C): value is InstanceType<C> {
  return value instanceof of && Object.getPrototypeOf(value) === of.prototype && Reflect.ownKeys(value).length === 0
}

/** Lowers `object.hasOwnProperty(name)`; undefined for other calls. */
export function hasOwn(l: Lowering, object: Value & { kind: 'data' }, name: string, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (name !== 'hasOwnProperty' || Object.getPrototypeOf(object.value) !== Object.prototype || Object.hasOwn(object.value, name))
    return undefined
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const key = l.scalarOrNothing(l.verbs.value(l, argument), argument)
  return key === undefined ? REFUSED : isNameByRow(l, object, key, { own: true }, node)
}

/** Lowers `Object.hasOwn(object, name)`; undefined for other calls. */
export function hasOwnCall(l: Lowering, { value }: Value & { kind: 'global' }, name: string, node: CallExpression): Value | undefined {
  const [of, argument, another] = node.arguments
  if (name !== 'hasOwn' || value !== Object || of?.type !== 'Identifier' || argument === undefined || another !== undefined)
    return undefined
  const object = l.verbs.value(l, of)
  if (object.kind !== 'data' || argument.type === 'SpreadElement') return undefined
  const key = l.scalarOrNothing(l.verbs.value(l, argument), argument)
  return key === undefined ? REFUSED : isNameByRow(l, object, key, { own: true }, node)
}
