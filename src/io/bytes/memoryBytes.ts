/** Bytes in memory, which readers read as they read a file. */
import { SourceError } from '../../core/errors.ts'
import type { ByteSource } from './source.ts'

/** A source of these bytes; `name` is for messages. */
export function bytesInMemory(bytes: Uint8Array, name: string): ByteSource {
  return {
    size: bytes.length,
    stamp: `given ${bytes.length}`,
    read: (start, end, into) => {
      if (start < 0 || end > bytes.length) return Promise.reject(new SourceError(`${name} ended at byte ${bytes.length}.`, name))
      const out = into !== undefined && into.length >= end - start ? into.subarray(0, end - start) : new Uint8Array(end - start)
      out.set(bytes.subarray(start, end))
      return Promise.resolve(out)
    },
    close: () => Promise.resolve(),
  }
}
