/**
 * The meaning of a name at the top level: a property of the global object, or a `let`, `const` or `class` of a script,
 * which hides it. A function made at the top level sees what any other function sees that declares no such name.
 */
import { madeFromText } from '../../../core/ir/madeFromText.ts'

/** Readers by name; undefined where code must not be made from text. */
const readers = new Map<string, (() => unknown) | undefined>()

/** Whether the name now means the property of the global object, and not a declaration of a script. */
export function isTopLevel(name: string): boolean {
  if (!readers.has(name)) readers.set(name, readerOf(name))
  const read = readers.get(name)
  if (read === undefined || !(name in globalThis)) return false
  try {
    return Object.is(read(), Reflect.get(globalThis, name))
  } catch {
    return false // declared by a script, but not initialized yet
  }
}

function readerOf(name: string): (() => unknown) | undefined {
  try {
    return madeFromText([], `return ${name}`) as () => unknown // an expression
  } catch {
    return undefined
  }
}
