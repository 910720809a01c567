/** Getters of object literals, `{ w, h, get area() { return this.w * this.h } }`, which are written out where the field is read. */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../../lower/lowering.ts'
import type { Value } from '../../lower/value.ts'

/** Returns a field's value: of a getter what it gives, the object being its `this`. */
export function gotten(l: Lowering, object: Value, value: Value, node: AnyNode): Value {
  if (value.kind !== 'closure' || value.isGetter !== true) return value
  const { isGetter: _, ...f } = value
  return l.verbs.inline(l, { ...f, self: object }, [], node)
}
