/**
 * The functions and classes that the library exports. A program's functions capture them, one by one or in the object of all that a CommonJS
 * module or `import *` gives; none of the program's variables is behind them, so that they are not looked into.
 */
const parts = new WeakSet<WeakKey>()

export function addLibraryParts(exported: readonly unknown[]): void {
  for (const one of exported) if (typeof one === 'function') parts.add(one)
}

export function isLibraryPart(f: WeakKey): boolean {
  return parts.has(f)
}
