/**
 * Lowers calls: methods of views and handles, functions of the platform, methods of strings, and functions of the user, which
 * are written out.
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import { BUILTINS, type Builtin, type Expr, METHODS, type Method } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { keyedMethod } from '../captures/capturedCollections.ts'
import { hasOwn, hasOwnCall, includedByRow, writtenOut } from '../captures/capturedKeys.ts'
import { partsCall } from '../captures/capturedLists.ts'
import { windowOf } from '../captures/capturedLookups.ts'
import { codeOfCharacter } from '../captures/characters.ts'
import { methodOf, staticMethod } from '../captures/classes.ts'
import { argumentExprs, handleMethod, inOrderAfter, viewMethod } from '../captures/handleMethods.ts'
import { isTable, tableOf } from '../captures/outside.ts'
import { callChosen } from '../lists/chosenFunctions.ts'
import { cloned } from '../lists/clones.ts'
import { splicedCopy, withElement } from '../lists/copies/changedCopies.ts'
import { elements, isSplice, pushesOf, splicedIn } from '../lists/elements.ts'
import { flattened } from '../lists/flattened.ts'
import { checkFilled } from '../lists/grownLists.ts'
import { heldMethod } from '../lists/held/heldMethods.ts'
import { noteListElements, noteListPart } from '../lists/held/notes.ts'
import { extremeOf, overElements } from '../lists/iteration.ts'
import { joinedNumbers } from '../lists/keyed/builtTexts.ts'
import { collectionMethod, iterableOf } from '../lists/keyed/collections.ts'
import { dictionaryHasOwn, dictionaryMethod, dictionaryValues } from '../lists/keyed/dictionaries.ts'
import { fromEntries } from '../lists/keyed/fromEntries.ts'
import { listMethod, OF_LISTS } from '../lists/lists.ts'
import { calledArray, localMethod } from '../lists/localArrays.ts'
import { present } from '../lists/optionals.ts'
import { recordsMethod } from '../lists/recordMethods.ts'
import { isWrittenOut, shortListMethod } from '../lists/shortLists.ts'
import { splitText } from '../lists/splitTexts.ts'
import { isObject } from '../lists/stored.ts'
import { calledByName } from '../lists/variants/namedFunctions.ts'
import { isObjectChoice, methodOfChoice } from '../lists/variants/objectChoices.ts'
import { takenWindow } from '../lists/windows/takenWindows.ts'
import { refusalOf } from '../refusals.ts'
import { extremeOfRowList, rowListMethod } from '../rowLists.ts'
import { askedCall } from '../source/askedElements.ts'
import { regexMethod, textMethod } from '../textMethods.ts'
import { binary, literal, logical } from './build.ts'
import { comparesObjects, dateMethod, parsedDate, utcTime } from './dates.ts'
import { lowerExpression, privateMember } from './expressions.ts'
import type { Lowering } from './lowering.ts'
import { isIndexName, memberValue, staticName } from './members.ts'
import { timeCall } from './times.ts'
import { exprValue, REFUSED, type Value, withThis } from './value.ts'

type OfNumbers = (...numbers: number[]) => number

/** The builtins that numbers alone decide. */
const FOLDED: ReadonlyMap<Builtin, OfNumbers> = new Map(
  BUILTINS.flatMap((name): [Builtin, OfNumbers][] => {
    if (name === 'Date.UTC') return [[name, Date.UTC as OfNumbers]]
    return name.startsWith('Math.') ? [[name, Math[name.slice('Math.'.length) as keyof Math] as OfNumbers]] : []
  }),
)

export function lowerCall(l: Lowering, node: CallExpression): Value {
  const { callee } = node
  if (callee.type === 'Super') return l.refuse('operator', node, 'super')
  const array = calledArray(l, node) ?? splitText(l, node)
  if (array !== undefined) return array
  if (callee.type === 'MemberExpression' && callee.object.type !== 'Super') {
    const object = lowerExpression(l, callee.object)
    if (callee.property.type === 'PrivateIdentifier') {
      const f = privateMember(l, object, callee.property.name, callee)
      return callValue(l, f.kind === 'closure' ? withThis(f, object) : f, node, textOf(l, callee))
    }
    const index = callee.computed ? lowerExpression(l, callee.property) : undefined
    const name = methodName(l, callee, index)
    const chosen = index && calledByName(l, object, index, name, callee)
    if (chosen !== undefined) return callValue(l, chosen, node, textOf(l, callee))
    if (object.kind === 'refused') return l.refusedBefore(node)
    if (name === undefined) return l.refuse('computed-name', node)
    return methodCall(l, object, name, node)
  }
  const f = lowerExpression(l, callee)
  // a method of \`super\` is called with this object
  if (f.kind === 'refused') {
    for (const argument of node.arguments) lowerExpression(l, argument.type === 'SpreadElement' ? argument.argument : argument)
    return REFUSED
  }
  return callValue(l, f, node, textOf(l, callee))
}

function methodName(
  l: Lowering,
  { property }: CallExpression['callee'] & { type: 'MemberExpression' },
  value: Value | undefined,
): string | undefined {
  if (value === undefined) return property.type === 'Identifier' ? property.name : undefined
  return staticName(l, value) ?? (value.kind === 'expr' && value.expr.kind === 'Literal' ? String(value.expr.value) : undefined)
}

function textOf(l: Lowering, node: AnyNode): string {
  return l.span(node).text
}

/** Calls the value of a callee expression. */
function callValue(l: Lowering, f: Value, node: CallExpression, name: string): Value {
  if (f.kind === 'library') return timeCall(l, f.name, node)
  if (f.kind !== 'closure' && f.kind !== 'builtin' && f.kind !== 'choice') {
    const clone = f.kind === 'global' && f.value === globalThis.structuredClone ? cloned(l, node) : undefined
    if (clone !== undefined) return clone
    if (f.kind === 'global')
      return typeof f.value === 'function' && !f.name.includes('.') && !(f.name in globalThis)
        ? l.refuse('captured-function', node, f.name)
        : l.refuseCall(f.name, node)
    if (f.kind === 'refused') return REFUSED
    return l.refuseCall(name, node)
  }
  const extreme = f.kind === 'builtin' ? spreadExtreme(l, f.name, node) : undefined
  if (extreme !== undefined) return extreme
  const args = elements(l, node.arguments)
  if (args === undefined) return REFUSED
  if (f.kind === 'closure') return l.verbs.inline(l, askedCall(l, f, node), args, node)
  if (f.kind === 'choice') return callChosen(l, f, args, node)
  const exprs = argumentExprs(l, args, node)
  if (exprs === undefined) return REFUSED
  const [first, second] = exprs
  if (f.name === 'Object.is' && first !== undefined && second !== undefined) comparesObjects(l, first, second, l.span(node))
  if (f.name === 'Date.parse') {
    const time = parsedDate(l, exprs, l.span(node))
    return time === undefined ? l.refuseCall(name, node) : exprValue(time)
  }
  const utc = f.name === 'Date.UTC' ? utcTime(l, exprs, l.span(node)) : undefined
  return exprValue(utc ?? calledBuiltin(f.name, exprs, l.span(node)))
}

/** Builds the call of a builtin. `Date.UTC(2024, 0)` and `Math.sqrt(2)` are folded to what they give here, as kernels would. */
function calledBuiltin(callee: Builtin, args: readonly Expr[], span: Span): Expr {
  const numbers = args.flatMap((arg) => (arg.kind === 'Literal' && typeof arg.value === 'number' ? [arg.value] : []))
  const folded = numbers.length === args.length ? FOLDED.get(callee) : undefined
  return folded ? literal(folded(...numbers), span) : { kind: 'Call', callee, args, span }
}

/** Lowers `Math.max(...row)`; undefined for other calls. */
function spreadExtreme(l: Lowering, callee: Builtin, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (callee !== 'Math.max' && callee !== 'Math.min') return undefined
  if (another !== undefined) return spreadsExtreme(l, callee, node)
  if (argument?.type !== 'SpreadElement') return undefined
  const before = l.out.length
  const over = iterableOf(l, argument.argument)
  const value = extremeOfRowList(l, callee, over, node) ?? extremeOf(l, callee, over, node)
  if (value === undefined) l.out.length = before // the spread value is lowered again with the arguments
  return value
}

/** Lowers `Math.max(...row, 0)`, whose arguments are evaluated in order; undefined where none is a list in memory. */
function spreadsExtreme(l: Lowering, callee: 'Math.max' | 'Math.min', node: CallExpression): Value | undefined {
  if (l.context.kind !== 'loop' || !node.arguments.some(({ type }) => type === 'SpreadElement')) return undefined
  const before = l.out.length
  const values = l.inOrder(
    node.arguments.map(
      (one) => () =>
        one.type === 'SpreadElement' ? (extremeOf(l, callee, iterableOf(l, one.argument), node) ?? REFUSED) : l.verbs.value(l, one),
    ),
  )
  if (values.some((value, i) => value.kind === 'refused' && node.arguments[i]?.type === 'SpreadElement')) {
    l.out.length = before // the arguments are lowered again
    return undefined
  }
  const args = argumentExprs(l, values, node)
  return args === undefined ? REFUSED : exprValue({ kind: 'Call', callee, args, span: l.span(node) })
}

/** Methods that change a copy of a list, by those that change the list. */
const ON_COPIES: Readonly<Record<string, string>> = { toSorted: 'sort', toReversed: 'reverse' }

/** Lowers `object.name(…)`. */
export function methodCall(l: Lowering, object: Value, name: string, node: CallExpression): Value {
  const inPlace = l.context.kind === 'loop' && Object.hasOwn(ON_COPIES, name) ? ON_COPIES[name] : undefined
  if (inPlace !== undefined) {
    const copy = methodCall(l, object, 'slice', { ...node, arguments: [] })
    return copy.kind === 'refused' ? REFUSED : methodCall(l, copy, inPlace, node)
  }
  const changed =
    withElement(l, object, name, node, () => methodCall(l, object, 'slice', { ...node, arguments: [] })) ??
    splicedCopy(l, object, name, node) ??
    flattened(l, object, name, node)
  if (changed !== undefined) return changed
  switch (object.kind) {
    case 'handle':
      return handleMethod(l, object, name, node)
    case 'window':
      return (
        takenWindow(l, object, name, node) ??
        overElements(l, object, name, node) ??
        listMethod(l, object, name, node) ??
        l.refuse('list-method', node, `${object.view.array}.${name}`)
      )
    case 'view':
      if (name !== 'fill' || node.arguments.length > 1) checkFilled(l, object, node)
      return (
        takenWindow(l, object, name, node) ??
        overElements(l, object, name, node) ??
        listMethod(l, object, name, node) ??
        (l.locals.has(object.array) ? localMethod(l, object, name, node) : viewMethod(l, object, name, node))
      )
    case 'expr':
      return (
        codeOfCharacter(l, object.expr, name, node) ??
        rowListMethod(l, object.expr, name, node) ??
        textMethod(l, object.expr, name, node) ??
        valueMethod(l, object.expr, name, node)
      )
    case 'data':
      if (name === 'includes') return includes(l, object, node)
      return (
        hasOwn(l, object, name, node) ??
        keyedMethod(l, object, name, node) ??
        windowOf(l, object, name, node) ??
        (l.context.kind === 'row' || isFewRows(l, object, node) ? shortListMethod(l, object, name, node) : undefined) ??
        overElements(l, object, name, node) ??
        listMethod(l, object, name, node) ??
        shortListMethod(l, object, name, node) ??
        callMember(l, object, name, node)
      )
    case 'tableRow':
      return (
        windowOf(l, object, name, node) ??
        overElements(l, object, name, node) ??
        listMethod(l, object, name, node) ??
        l.refuse('captured-object', node, object.name)
      )
    case 'recordRow':
      return l.refuse('captured-object', node, object.name)
    case 'elementRow':
      return l.refuse('unknown-method', node, name)
    case 'date':
      return dateMethod(l, object, name, node)
    case 'regex':
      return regexMethod(l, object, name, node)
    case 'global':
      return (
        fromEntries(l, object, name, node) ??
        hasOwnCall(l, object, name, node) ??
        dictionaryHasOwn(l, node) ??
        partsCall(l, object, name, node) ??
        dictionaryValues(l, node) ??
        callMember(l, object, name, node)
      )
    case 'builtin':
    case 'env':
    case 'record':
      return callMember(l, object, name, node)
    case 'records':
      return recordsMethod(l, object, name, node)
    case 'held':
      return l.held.isObject(object.of) ? callMember(l, object, name, node) : heldMethod(l, object, name, node)
    case 'maybeItem':
      return methodCall(l, present(l, object, name, node), name, node)
    case 'item':
    case 'tuple':
    case 'stored': {
      const ofCollection =
        dictionaryMethod(l, object, name, node) ?? collectionMethod(l, object, name, node) ?? joinedNumbers(l, object, name, node)
      if (ofCollection !== undefined) return ofCollection
      if (object.kind === 'item') {
        if (isGrowing(name) || OF_LISTS.has(name)) noteRowMethod(l, object)
        return callMember(l, object, name, node)
      }
      if ((object.kind === 'stored' && object.storage.kind === 'fields') || isIndexName(name)) return callMember(l, object, name, node)
      const list = l.context.kind === 'row' && object.kind === 'tuple' && name === 'includes' ? writtenOut(l, object) : undefined
      if (list !== undefined) return includes(l, list, node)
      const isFold = l.context.kind === 'loop' && name === 'reduce' && object.kind === 'tuple' && object.items.every(isObject)
      const isShort = l.context.kind === 'row' || (isWrittenOut(object) && !isInMemory(l, node) && !isFold)
      const short = isShort ? shortListMethod(l, object, name, node) : undefined
      if (short !== undefined) return short
      if (isGrowing(name) || OF_LISTS.has(name)) noteRowMethod(l, object)
      // arrays in memory have loops for these methods; the next try puts the literal there
      if (OF_LISTS.has(name) && object.site !== undefined) {
        l.foundIndexed.push(object.site)
        if (isEmpty(object)) l.foundGrowing.push({ site: object.site, count: 0 })
      }
      if (isGrowing(name)) return notYetGrowing(l, object, name, node)
      return object.kind === 'stored'
        ? callMember(l, object, name, node)
        : l.refuse(l.context.kind === 'loop' ? 'list-method' : 'unknown-method', node, name)
    }
    case 'choice':
      return isObjectChoice(object) ? methodOfChoice(l, object, name, node) : l.refuse('unknown-method', node, name)
    case 'key':
    case 'shape':
    case 'closure':
    case 'library':
      return l.refuse('unknown-method', node, name)
    case 'refused':
      return REFUSED
  }
}

/** Whether a list holds objects or lists, and no earlier try has found that what a method makes of it lies in memory. */
function isFewRows(l: Lowering, { value }: Value & { kind: 'data' }, node: CallExpression): boolean {
  return !isTable(value) && !isInMemory(l, node)
}

/** Whether an earlier try has found that what a method makes of a list is a list of objects in memory. */
function isInMemory(l: Lowering, node: CallExpression): boolean {
  return l.recordsAt({ unit: l.unit, start: -node.end }) !== undefined
}

function isGrowing(name: string): boolean {
  return name === 'push' || name === 'pop' || name === 'shift' || isSplice(name)
}

/** Notes that an element of a list, which seemed to be an array of a few parts, has a method of lists. */
function noteRowMethod(l: Lowering, object: Value): void {
  if (object.kind === 'item' && object.parts === object.list.parts) noteListElements(l, object.list)
  if (object.kind === 'item') noteListPart(l, object)
  if (object.kind === 'tuple' && object.elementOf !== undefined) noteListElements(l, object.elementOf)
}

function isEmpty(object: Value): boolean {
  if (object.kind === 'tuple') return object.items.length === 0
  return object.kind === 'stored' && object.storage.kind === 'items' && object.storage.items.length === 0
}

/** Refuses a push onto a literal, and notes how many elements are pushed, if known: the next try makes a list with room for them. */
function notYetGrowing(l: Lowering, { site }: Value & { kind: 'tuple' | 'stored' }, name: string, node: CallExpression): Value {
  if (site === undefined) return l.refuse('local-array-grows', node, 'a list')
  l.foundGrowing.push({ site, count: name === 'push' ? pushesOf(l, site, node) : isSplice(name) ? splicedIn(name, node) : 0 })
  if (name === 'shift') l.foundShifted.push(site)
  return l.refuse('local-array-grows', node, 'a list')
}

/** Calls a function kept in an object: `Math.exp(x)`, `env.f(x)`, `helpers.f(x)`. */
function callMember(l: Lowering, object: Value, name: string, node: CallExpression): Value {
  if (object.kind === 'data' && !Object.hasOwn(object.value, name)) {
    const method = methodOf(l, object, name, node)
    return method === undefined ? l.refuse('unknown-method', node, `${object.name}.${name}`) : callValue(l, method, node, name)
  }
  const ofClass = object.kind === 'global' ? staticMethod(l, object, name, node) : undefined
  if (ofClass !== undefined) return callValue(l, ofClass, node, textOf(l, node.callee))
  const f = memberValue(l, object, name, node)
  if (f.kind === 'closure' && f.self === object) return callValue(l, f, node, name)
  return callValue(
    l,
    f.kind === 'closure' && /^(data|record|tuple|stored|item)$/.test(object.kind) ? withThis(f, object) : f,
    node,
    textOf(l, node.callee),
  )
}

/** Methods that lists have too, with another meaning: allowed only where the value is surely a string, number or date. */
const AMBIGUOUS: ReadonlySet<string> = new Set('length at concat includes indexOf lastIndexOf slice toString valueOf'.split(' '))
const PRIMITIVES: ReadonlySet<string> = new Set('utf8 null f64 f32 i64 i32 u32 i16 u16 i8 u8 bool u64 timestamp date time'.split(' '))

function valueMethod(l: Lowering, object: Expr, name: string, node: CallExpression): Value {
  const span = l.span(node)
  const parts = inOrderAfter(l, [object], node)
  const method = METHODS.find((one) => one === name)
  if (parts === undefined) return REFUSED
  const [of] = parts.before
  if (method === undefined || method === 'length' || of === undefined) return l.refuse('unknown-method', node, name)
  if (AMBIGUOUS.has(name)) {
    const kinds = name === 'toString' || name === 'valueOf' ? PRIMITIVES : new Set(['utf8', 'null'])
    l.checks.push({
      expr: of,
      holds: (types) => types?.every((kind) => kinds.has(kind)) === true,
      refusal: refusalOf('ambiguous-method', span, name),
    })
  }
  const expr: Expr = { kind: 'MethodCall', method: method satisfies Method, object: of, args: parts.args, optional: false, span }
  return exprValue(expr)
}

/** Most elements of a captured list that `includes` compares one by one. */
export const LONGEST_INCLUDES = 32

/** Lowers `names.includes(x)` of a short captured array: a comparison with each element, which is the same but for NaN. */
function includes(l: Lowering, data: Value & { kind: 'data' }, node: CallExpression): Value {
  const span = l.span(node)
  const table = tableOf(l, data)
  const items = l.tables.find((one) => one.name === table)?.value
  const [argument] = node.arguments
  if (table === undefined || items === undefined || argument === undefined || node.arguments.length !== 1)
    return l.refuse('captured-object', node, data.name)
  if (items.length > LONGEST_INCLUDES || Array.from(items).some((item) => Number.isNaN(item)))
    return (
      includedByRow(l, data, items, node) ??
      listMethod(l, data, 'includes', node) ??
      l.refuse('unknown-method', node, `${data.name}.includes`)
    )
  const value = lowerExpression(l, argument as Expression)
  const expr = l.scalarOrNothing(value, argument)
  if (expr === undefined) return REFUSED
  const kept = l.stabilized(expr)
  let result: Expr = literal(false, span)
  for (let i = 0; i < items.length; i++) {
    const same = binary('===', kept, { kind: 'Lookup', table, index: literal(i, span), span }, span)
    result = i === 0 ? same : logical('||', result, same, span)
  }
  return exprValue(result)
}
