/** Functions of the library that are written out in the user's; their spans are that of the call. */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
import { type AnyFunction, type Unit, unitOf } from '../unit.ts'

/** Parsed functions; a function written out inside of itself needs one more, since each has locals of its own. */
const parsed = new Map<AnyFunction, Unit[]>()

/** Returns a function without free names as a closure to be written out. */
export function libraryFunction(l: Lowering, f: AnyFunction, name: string, node: AnyNode): Value & { readonly kind: 'closure' } {
  const units = parsed.get(f) ?? []
  parsed.set(f, units)
  const running = new Set(l.frames.map((frame) => frame.node))
  const free = units.find((one) => !running.has(one.node))
  const unit = free ?? copyOf(f)
  if (free === undefined) units.push(unit)
  const span = l.span(node)
  return { kind: 'closure', unit: { ...unit, spanOf: () => span }, node: unit.node, name, isLibrary: true }
}

function copyOf(f: AnyFunction): Unit {
  const unit = unitOf(new Function(`return ${Function.prototype.toString.call(f)}`)() as AnyFunction) // the text of a function
  if (typeof unit === 'string') throw new Error(`the library's own ${f.name} cannot be read: ${unit}`)
  return unit
}
