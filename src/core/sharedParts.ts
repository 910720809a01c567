/**
 * Bytes and compiled modules that all threads of a process share by name, so that only one thread has to load them. Threads are
 * sent all parts with their tasks; the code of a module is in memory once for all of them.
 */

export type SharedPart = Uint8Array | WebAssembly.Module

const byName = new Map<string, SharedPart>()

/** Puts a copy of the bytes, or the module, where every thread can have it. */
export function sharePart(name: string, part: SharedPart): void {
  if (part instanceof WebAssembly.Module) {
    byName.set(name, part)
    return
  }
  const shared = new Uint8Array(new SharedArrayBuffer(part.length))
  shared.set(part)
  byName.set(name, shared)
}

/** Takes over what another thread shares. */
export function receiveParts(all: ReadonlyMap<string, SharedPart>): void {
  for (const [name, part] of all) byName.set(name, part)
}

/** The part of this name; undefined where no thread that this one has heard of has loaded it. */
export function sharedPart(name: string): SharedPart | undefined {
  return byName.get(name)
}

/** All parts shared so far; names are never taken back. */
export function allSharedParts(): ReadonlyMap<string, SharedPart> {
  return byName
}
