/**
 * The buffers of a result that can change threads instead of being copied: those that a typed array fills entirely.
 *
 * Shared buffers travel by themselves; a typed array over a part of a buffer is left to be copied, since the rest may
 * be somebody else's.
 */
export function transferablesOf(result: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  collect(result, buffers, new Set())
  return [...buffers]
}

function collect(value: unknown, into: Set<ArrayBuffer>, seen: Set<object>): void {
  if (typeof value !== 'object' || value === null) return
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength && value.byteLength > 0) into.add(value.buffer)
    return
  }
  if (seen.has(value)) return
  seen.add(value)
  if (Array.isArray(value)) {
    // lists of plain values (rows of primitives) hold no buffers; their first item tells
    if (typeof value[0] !== 'object' && typeof value.at(-1) !== 'object') return
    for (const item of value) collect(item, into, seen)
  } else if (value instanceof Map) for (const item of value.values()) collect(item, into, seen)
  else if (Object.getPrototypeOf(value) === Object.prototype) for (const item of Object.values(value)) collect(item, into, seen)
}
