/**
 * Getters and setters of object literals, which are written out where the field is read, or assigned.
 *
 *     { w, h, get area() { return this.w * this.h }, set size(a) { this.w = this.h = a } }
 *
 * A setter is a field that nobody can name, so that a getter has the name, and no copy of the object has it.
 */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../../lower/lowering.ts'
import type { Stored, Value } from '../../lower/value.ts'

type Closure = Value & { readonly kind: 'closure' }

/** The field that holds the setter of a name. */
export function setterName(name: string): string {
  return `\0set ${name}`
}

/** Returns the setter that a literal has for a name, with the object as its `this`; undefined where it has none. */
export function literalSetter(object: Stored, name: string): Closure | undefined {
  const storage =
    object.storage.kind === 'fields' ? object.storage.fields.find((field) => field.name === setterName(name))?.storage : undefined
  return storage?.kind === 'fixed' && storage.value.kind === 'closure' ? { ...storage.value, self: object } : undefined
}

/** Returns a field's value: of a getter what it gives, the object being its `this`. */
export function gotten(l: Lowering, object: Value, value: Value, node: AnyNode): Value {
  if (value.kind !== 'closure' || value.isGetter !== true) return value
  const { isGetter: _, ...f } = value
  return l.verbs.inline(l, { ...f, self: object }, [], node)
}
