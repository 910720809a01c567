/**
 * Objects of several kinds, of which a condition or a place in a list chooses one when the body runs.
 *
 *     const shape = c ? new Circle(r) : new Square(a)      if (c) { circle_there = true; circle_r = r } else { square_there = true; square_a = a }
 *     s += shape.area()                                    if (circle_there) area = 3 * circle_r * circle_r  else area = square_a * square_a
 *     s += shapes[k].area()                                if (k === 0) area = …  else if (k === 1) area = …  else throw
 *
 * What is asked of such an object is written out for each kind, behind the test that chooses it, as the call of a chosen function is. A kind
 * has variables of its own, so a method that changes its object changes that one alone. Where a test on the way has told which kind it is
 * (`if (shape instanceof Circle)`), only that one is written out.
 */
import type { AnyNode, CallExpression } from 'acorn'
import { NUMBERS } from '../../../../core/data/columnConversions.ts'
import type { Expr, Stmt } from '../../../../core/ir/functionIr.ts'
import type { Span } from '../../../../core/span.ts'
import { hasTraps } from '../../captures/traps.ts'
import { binary, conditional, isPlain, literal, logical, makeIf, negated } from '../../lower/build.ts'
import { isWithin } from '../../lower/indexRanges.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, REFUSED, type RecordField, type Storage, type Value } from '../../lower/value.ts'
import { refusalOf } from '../../refusals.ts'
import { type Choice, chosenOf, isFunction, tooFar } from '../chosenFunctions.ts'
import { chosenObject } from '../returnedObjects.ts'
import { named } from '../stored.ts'

interface Branch {
  readonly value: Value
  readonly emitted: readonly Stmt[]
}

/** Whether a value is one of several objects. */
export function isObjectChoice(value: Value): value is Choice {
  return value.kind === 'choice' && value.options.some((option) => !isFunction(option.value))
}

/** The class of an object and the names of its fields, as one text; undefined for what is no object whose kind is known. */
export function kindOf(value: Value): { readonly prototype: object | null | undefined; readonly fields: string } | undefined {
  if (value.kind === 'record') return { prototype: value.prototype, fields: value.fields.map(({ name }) => name).join() }
  if (value.kind === 'stored' && value.storage.kind === 'fields')
    return { prototype: value.storage.prototype, fields: value.storage.fields.map(({ name }) => name).join() }
  if (value.kind !== 'data' || Array.isArray(value.value) || ArrayBuffer.isView(value.value) || hasTraps(value.value)) return undefined
  const prototype = Object.getPrototypeOf(value.value) as object | null
  return { prototype: prototype === Object.prototype ? undefined : prototype, fields: Object.keys(value.value).join() }
}

/** Whether both are objects, of two kinds; or of one class, whose methods go on with the object itself. */
export function areOfSeveralKinds(values: readonly Value[]): boolean {
  const kinds = values.flatMap((value) => (isObjectChoice(value) ? [undefined] : [kindOf(value)]))
  if (kinds.some((kind, i) => kind === undefined && !isObjectChoice(values[i] as Value))) return false
  const [first] = kinds
  const differ = kinds.some((kind) => kind?.prototype !== first?.prototype || kind?.fields !== first?.fields)
  return differ || values.some(isObjectChoice) || (first?.prototype !== undefined && values.every(({ kind }) => kind === 'data'))
}

/** Lowers `test ? a : b` of objects of several kinds. */
export function chosenKinds(
  l: Lowering,
  test: Expr,
  [then, other]: readonly [Branch, Branch],
  nodes: readonly [AnyNode, AnyNode],
  node: AnyNode,
): Value {
  const kept = l.stabilized(test)
  const sides = [optionsOf(l, kept, then, nodes[0]), optionsOf(l, l.stabilized(negated(kept, l.span(node))), other, nodes[1])]
  if (sides.includes(undefined)) return REFUSED
  const options = sides.flatMap((side) => side ?? [])
  const last = options.pop()
  const name = l.span(node).text
  return { kind: 'choice', options, name, ...(last === undefined ? {} : { otherwise: last.value, last: last.test }) }
}

type Options = Choice['options']

/** Emits what makes an object where a test holds, and returns it; the objects of a choice with their own tests. */
function optionsOf(l: Lowering, test: Expr, branch: Branch, node: AnyNode): Options | undefined {
  const { value, emitted } = branch
  const span = l.span(node)
  if (isObjectChoice(value)) {
    // its variables are declared before the test, so that all that follows sees them
    const isDeclaration = (one: Stmt): boolean => one.kind === 'Let' && (one.init === undefined || one.init.kind === 'Literal')
    l.emit(...emitted.filter(isDeclaration))
    l.emit(
      ...makeIf(
        test,
        emitted.filter((one) => !isDeclaration(one)),
        [],
        span,
      ),
    )
    const { options, otherwise, last = test } = value
    return otherwise === undefined ? undefined : [...options, { test: last, value: otherwise }]
  }
  const isKnown =
    emitted.length === 0 && (value.kind === 'data' || (value.kind === 'stored' && value.owner.isNamed && !value.owner.isVariable))
  if (isKnown) return [{ test, value }]
  const nothing = { value: exprValue(literal(undefined, span)), emitted: [] }
  const tags = value.kind === 'record' ? value.fields.filter(isText) : []
  const rest = value.kind === 'record' && tags.length > 0 ? { ...value, fields: value.fields.filter((one) => !tags.includes(one)) } : value
  const made = chosenObject(l, test, [{ value: rest, emitted }, nothing], node)
  if (made.kind !== 'stored' || made.storage.kind !== 'optional') return undefined
  if (isFresh(value)) made.owner.isShared = false
  const of = value.kind === 'record' && tags.length > 0 ? withTags(made.storage.of, value.fields) : made.storage.of
  return [{ test: { kind: 'Local', name: made.storage.there, span }, value: named({ ...made, storage: of }) }]
}

/** Whether a field is a text that is written out, as the `kind` of a tagged union is. */
function isText({ value }: RecordField): boolean {
  return value.kind === 'expr' && value.expr.kind === 'Literal' && typeof value.expr.value === 'string'
}

/** Puts the texts of a literal back among its other fields. */
function withTags(storage: Storage, all: readonly RecordField[]): Storage {
  if (storage.kind !== 'fields') return storage
  const fields = all.map(
    (field) =>
      storage.fields.find(({ name }) => name === field.name) ?? {
        name: field.name,
        storage: { kind: 'fixed', value: field.value } as const,
      },
  )
  return { ...storage, fields }
}

/** Whether an object of scalars was made where it is chosen, so that nobody else has it. */
function isFresh(value: Value): boolean {
  if (value.kind === 'record') return value.isNamed !== true && value.fields.every((field) => field.value.kind === 'expr')
  if (value.kind !== 'stored' || value.storage.kind !== 'fields') return false
  const { isNamed, isShared, isVariable } = value.owner
  return !isNamed && !isShared && !isVariable && value.storage.fields.every(({ storage }) => storage.kind === 'scalar')
}

/** Lowers a member that is a text which is written out in every kind; undefined for others. */
function textOfKind(l: Lowering, { options, otherwise, last }: Choice, name: string, node: AnyNode): Value | undefined {
  const span = l.span(node)
  const all = [...options, ...(otherwise === undefined || last === undefined ? [] : [{ test: last, value: otherwise }])]
  const texts = all.map(({ value }) => textIn(l, value, name, node))
  if (texts.includes(undefined) || all.length < options.length + (otherwise === undefined ? 0 : 1)) return undefined
  if (otherwise === undefined) {
    const some = all.map(({ test }) => test).reduce((a, b) => logical('||', a, b, span))
    l.emit(...makeIf(negated(some, span), [{ kind: 'Throw', error: 'TypeError', message: tooFar(name, span), span }], [], span))
  }
  const chain = all.reduceRight<Expr>(
    (rest, { test }, k) => conditional(test, literal(texts[k], span), rest, span),
    literal(texts.at(-1), span),
  )
  l.kindTexts.set(
    chain,
    all.map(({ test }, k) => ({ test, text: texts[k] as string })),
  ) // none is undefined
  l.heldPlaces.add(chain)
  return exprValue(chain)
}

function textIn(l: Lowering, value: Value, name: string, node: AnyNode): string | undefined {
  if (kindOf(value)?.fields.split(',').includes(name) !== true) return undefined
  let given: Value = REFUSED
  if (
    l.collect(() => {
      given = l.verbs.member(l, value, name, node)
    }).length > 0
  )
    return undefined
  const expr = (given as Value).kind === 'expr' ? (given as Value & { readonly kind: 'expr' }).expr : undefined
  const known =
    expr?.kind === 'Literal'
      ? expr.value
      : expr?.kind === 'Parameter'
        ? l.parameters.find((one) => one.name === expr.name)?.value
        : undefined
  return typeof known === 'string' ? known : undefined
}

/** Lowers the comparison of such a text with another; undefined for other values. */
export function comparedKinds(l: Lowering, operator: string, a: Expr, b: Expr, span: Span): Expr | undefined {
  const [texts, other] = [l.kindTexts.get(a) ?? l.kindTexts.get(b), l.kindTexts.has(a) ? b : a]
  if (texts === undefined || other.kind !== 'Literal' || !/^[!=]==?$/.test(operator)) return undefined
  const tests = texts.filter(({ text }) => text === other.value).map(({ test }) => test)
  const [first = literal(false, span), ...more] = tests
  const is = more.reduce((sofar, test) => logical('||', sofar, test, span), first)
  return operator.startsWith('!') ? negated(is, span) : is
}

/** Returns whether a place that may lie outside of its list is inside, and the object that is there then; undefined where one is there always. */
export function insideOf(of: Choice, span: Span): { readonly inside: Expr; readonly value: Choice } | undefined {
  const options = [...of.options]
  const inside = options.map(({ test }) => test).reduce((a, b) => logical('||', a, b, span))
  const last = options.pop()
  if (of.otherwise !== undefined || last === undefined) return undefined
  return { inside, value: { ...of, options, otherwise: last.value, last: last.test } }
}

/** Lowers a member of the object. */
export function memberOfChoice(l: Lowering, of: Choice, name: string, node: AnyNode): Value {
  const text = textOfKind(l, of, name, node)
  if (text !== undefined) return text
  return asked(l, of, name, node, (value) => l.verbs.member(l, value, name, node))
}

/** Lowers the call of a method of the object, whose arguments are evaluated for the kind that it is. */
export function methodOfChoice(l: Lowering, of: Choice, name: string, node: CallExpression): Value {
  const isUnused = l.unusedCall === node
  return asked(l, of, name, node, (value) => {
    const given = l.verbs.method(l, value, name, node)
    if (!isUnused || given.kind === 'refused') return given
    if (given.kind === 'expr' && !isPlain(given.expr)) l.emit({ kind: 'Evaluate', value: given.expr, span: l.span(node) })
    return exprValue(literal(undefined, l.span(node)))
  })
}

function asked(l: Lowering, of: Choice, name: string, node: AnyNode, work: (value: Value) => Value): Value {
  const known = knownOne(l, of)
  if (known !== undefined) return work(known)
  return chosenOf(l, of, node, work, tooFar(name, l.span(node)))
}

/** Returns the object that a test on the way has told; undefined where none has. */
function knownOne(l: Lowering, { options, otherwise, last }: Choice): Value | undefined {
  const here = l.loops.at(-1) ?? 'no loop'
  const isKnown = (test: Expr): boolean => test.kind === 'Local' && l.knownThere.get(test.name) === here
  return options.find(({ test }) => isKnown(test))?.value ?? (last !== undefined && isKnown(last) ? otherwise : undefined)
}

/** Lowers `object instanceof Class`; undefined where the kind of the object is not known. */
export function instanceOf(l: Lowering, object: Value, of: Value, node: AnyNode): Expr | undefined {
  if (of.kind !== 'global' || typeof of.value !== 'function' || asksItself(of.value)) return undefined
  if (object.kind === 'record' && object.isNamed !== true) return undefined // its parts are evaluated by nobody else
  const prototype = of.value.prototype as object | undefined
  const span = l.span(node)
  const one = (value: Value): boolean | undefined => {
    const kind = kindOf(value)
    if (kind === undefined || prototype === undefined) return undefined
    const own = kind.prototype === undefined ? Object.prototype : kind.prototype
    return own === prototype || (own !== null && Object.prototype.isPrototypeOf.call(prototype, own))
  }
  if (!isObjectChoice(object)) {
    const answer = one(object)
    return answer === undefined ? undefined : literal(answer, span)
  }
  const { options, otherwise, last } = object
  if (otherwise !== undefined && last === undefined) return undefined
  const rest = otherwise === undefined || last === undefined ? [] : [{ test: last, value: otherwise }]
  const all = [...options, ...rest].map(({ test, value }) => ({ test, answer: one(value) }))
  if (all.some(({ answer }) => answer === undefined)) return undefined
  const yes = all.filter(({ answer }) => answer === true)
  if (yes.length === 0) return literal(false, span)
  return yes.length === all.length && otherwise !== undefined
    ? literal(true, span)
    : yes.map(({ test }) => test).reduce((a, b) => logical('||', a, b, span))
}

/** Whether a class, or one that it extends, says itself what its instances are. */
function asksItself(of: object): boolean {
  for (let at: object | null = of; at !== null && at !== Function.prototype; at = Object.getPrototypeOf(at) as object | null)
    if (hasTraps(at) || Object.hasOwn(at, Symbol.hasInstance)) return true
  return false
}

/** Most objects of a list of which one is chosen. */
const MOST_OBJECTS = 16

/** Returns the chosen element of a list of objects of several kinds, written out or captured; undefined for other lists. */
export function objectAt(l: Lowering, list: Value, index: Value, node: AnyNode): Choice | undefined {
  if (l.context.kind !== 'loop') return undefined
  const items = itemsOf(l, list, node)
  if (items === undefined || items.length < 2 || items.length > MOST_OBJECTS || !areOfSeveralKinds(items)) return undefined
  const given = l.scalarOrNothing(index, node)
  if (given === undefined) return undefined
  const at = l.stabilized(given, 'which')
  l.checks.push({
    expr: at,
    holds: (kinds) => kinds?.every((kind) => NUMBERS.has(kind as never)) === true,
    refusal: refusalOf('computed-name', l.span(node)),
  })
  const span = l.span(node)
  const options = items.map((value, k) => ({ test: binary('===', at, literal(k, span), span), value: named(value) }))
  const last = isWithin(l, at, items.length) ? options.pop() : undefined
  return { kind: 'choice', options, name: span.text, ...(last === undefined ? {} : { otherwise: last.value, last: last.test }) }
}

function itemsOf(l: Lowering, list: Value, node: AnyNode): readonly Value[] | undefined {
  if (list.kind === 'tuple') return list.items
  if (list.kind !== 'data' || !Array.isArray(list.value) || Object.getPrototypeOf(list.value) !== Array.prototype) return undefined
  const held: readonly unknown[] = list.value
  if (held.length > MOST_OBJECTS || !held.every((one) => typeof one === 'object' && one !== null)) return undefined
  return held.map((_, k) => l.verbs.member(l, list, String(k), node))
}
