/**
 * Bytes that all threads of a process share by name: what one thread has loaded, others need not find. Threads are sent what
 * there is with their tasks.
 */

const byName = new Map<string, Uint8Array>()

/** Puts a copy of the bytes where every thread can read it. */
export function shareBytes(name: string, bytes: Uint8Array): void {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  byName.set(name, shared)
}

/** Takes over what another thread shares. */
export function receiveBytes(all: ReadonlyMap<string, Uint8Array>): void {
  for (const [name, bytes] of all) byName.set(name, bytes)
}

/** Undefined where no thread that this one hears of has loaded them. */
export function sharedBytes(name: string): Uint8Array | undefined {
  return byName.get(name)
}

/** What is shared by now; names are never taken back. */
export function allSharedBytes(): ReadonlyMap<string, Uint8Array> {
  return byName
}
