/**
 * Private members: `#x` of an object is a field of its record, under a name that no other class and no text of the program has.
 *
 *     class Dice { #state = 1; roll() { this.#state = … } }        { '\0#state@3': 1 }
 */
import type { AnyNode, Class, MethodDefinition } from 'acorn'
import type { Lowering } from '../lower/lowering.ts'
import { type ClassSource, classSourceOf } from '../source/source.ts'
import type { AnyFunction, Unit } from '../unit.ts'

const numbers = new WeakMap<AnyFunction, number>()
let classes = 0

/** Returns the name that a class's private member has in records. */
export function privateName(of: AnyFunction, name: string): string {
  const number = numbers.get(of) ?? ++classes
  numbers.set(of, number)
  return `\0#${name}@${number}`
}

export function isPrivate(name: string): boolean {
  return name.startsWith('\0')
}

/** Returns the readable part of a field's name, for its variables. */
export function plainName(name: string): string {
  return name.replace(/^\0#/, '').replace(/@\d+$/, '')
}

/** Returns the class in whose text a unit stands, and whose private names it may use; undefined for none. */
export function classAround(l: Lowering, unit: Unit): AnyFunction | undefined {
  return classSourceOf(unit.f) === undefined ? l.classOfMethod.get(unit) : unit.f
}

/** Notes the class of a method that stands in its text, if the class has it under this name. */
export function noteMethod(l: Lowering, unit: Unit, of: unknown, name: string): void {
  const source = typeof of === 'function' ? classSourceOf(of as AnyFunction) : undefined
  const text = Function.prototype.toString.call(unit.f)
  const stands = source !== undefined && methodsOf(source.node).some((one) => textOf(source, one).endsWith(text) && nameOf(one) === name)
  if (stands) l.classOfMethod.set(unit, of as AnyFunction)
}

/** Whether a class declares a private field, which all of its objects have. */
export function hasPrivateField(of: AnyFunction, name: string): boolean {
  return classSourceOf(of)?.node.body.body.some((one) => one.type === 'PropertyDefinition' && !one.static && isKey(one.key, name)) === true
}

function isKey(key: AnyNode, name: string): boolean {
  return key.type === 'PrivateIdentifier' && key.name === name
}

export function methodsOf(node: Class): MethodDefinition[] {
  return node.body.body.filter((member) => member.type === 'MethodDefinition')
}

function textOf({ text }: ClassSource, { start, end }: MethodDefinition): string {
  return text.slice(start - 1, end - 1) // the text is parsed in parentheses
}

function nameOf({ key, computed }: MethodDefinition): string | undefined {
  return computed || key.type !== 'Identifier' ? undefined : key.name
}
