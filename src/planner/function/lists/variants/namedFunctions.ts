/**
 * Lowers functions of an object that a text chooses when the body runs, as those of a list are chosen by a number.
 *
 *     ops[c ? 'add' : 'mul'](x, y)      which = c ? 'add' : 'mul';  if (which === 'add') chosen = x + y  else if (which === 'mul') chosen = x * y  else throw
 *     const f = ops[step.op]            the same, where f is called
 *
 * Sound because all that the object has of its own are functions: another name is none of them, and the call is a TypeError. A captured list
 * with a name that all objects have, as 'toString', is left to JavaScript.
 */
import type { AnyNode } from 'acorn'
import { classOf } from '../../captures/capturedKeys.ts'
import { comparedTexts } from '../../captures/textCodes.ts'
import { binary, literal } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { type RecordField, type Value, withThis } from '../../lower/value.ts'
import { refusalOf } from '../../refusals.ts'
import { type Choice, functionAt, isFunction, MOST_FUNCTIONS } from '../chosenFunctions.ts'
import { comparedKinds } from './objectChoices.ts'

/** Returns the function of an object that a text chooses; undefined for other objects. `isCalled`: as a method, whose `this` is the object. */
export function functionNamed(
  l: Lowering,
  object: Value,
  name: Value,
  { isCalled }: { readonly isCalled: boolean },
  node: AnyNode,
): Choice | undefined {
  if (l.context.kind !== 'loop') return undefined
  const functions = functionsOf(l, object, node)
  const given = functions && l.scalarOrNothing(name, node)
  if (functions === undefined || given === undefined) return undefined
  const isInherited = (text: string): boolean => text in Object.prototype && !functions.some(([own]) => own === text)
  if (given.kind === 'Lookup' && l.textsOf(given)?.some(isInherited) === true) return undefined
  const span = l.span(node)
  const at = l.kindTexts.has(given) ? given : l.stabilized(given, 'which')
  const holds = (kinds: readonly string[] | undefined): boolean => kinds?.every((kind) => kind === 'utf8' || kind === 'null') === true
  l.checks.push({ expr: at, holds, refusal: refusalOf('computed-name', span) })
  const options = functions.map(([text, value]) => {
    const key = literal(text, span)
    const test = comparedKinds(l, '===', at, key, span) ?? comparedTexts(l, '===', at, key, span) ?? binary('===', at, key, span)
    return { test, value: isCalled && value.kind === 'closure' ? withThis(value, object) : value }
  })
  return { kind: 'choice', options, name: span.text }
}

/** Returns the function that is called by a computed place or name; undefined where there is but one, of a name that is known. */
export function calledByName(l: Lowering, object: Value, index: Value, name: string | undefined, node: AnyNode): Choice | undefined {
  return functionAt(l, object, index, node) ?? (name === undefined ? functionNamed(l, object, index, { isCalled: true }, node) : undefined)
}

function functionsOf(l: Lowering, object: Value, node: AnyNode): readonly (readonly [string, Value])[] | undefined {
  const all = membersOf(l, object, node)
  return all?.every(([, value]) => isFunction(value)) === true && all.length > 0 && all.length <= MOST_FUNCTIONS ? all : undefined
}

function membersOf(l: Lowering, object: Value, node: AnyNode): readonly (readonly [string, Value])[] | undefined {
  if (object.kind === 'record' && object.prototype === undefined)
    return object.fields.some(isAccessor) ? undefined : object.fields.map(({ name, value }) => [name, value])
  if (object.kind !== 'data' || classOf(object.value) === undefined) return undefined
  const held = Object.entries(object.value as Readonly<Record<string, unknown>>) // a plain object
  if (held.length > MOST_FUNCTIONS || !held.every(([, value]) => typeof value === 'function')) return undefined
  return held.map(([name]) => [name, l.verbs.member(l, object, name, node)])
}

function isAccessor({ name, value }: RecordField): boolean {
  return name.startsWith('\0') || (value.kind === 'closure' && value.isGetter === true)
}
