/** Texts that are packed on their way into a file whose name says so, as `sales.csv.gz`; other files take them as they are. */
import { once } from 'node:events'
import { createGzip } from 'node:zlib'
import type { Append } from './atomicFile.ts'

/** Has what `write` appends go through gzip where the path ends with `.gz`. */
export function packedByName(path: string, write: (append: Append) => Promise<void>): (append: Append) => Promise<void> {
  if (!path.toLowerCase().endsWith('.gz')) return write
  return async (append) => {
    const gzip = createGzip().on('error', () => {}) // of its own end, where one of the two below failed
    let failure: unknown
    const sent = (async () => {
      for await (const piece of gzip) await append(piece as Uint8Array).catch((error: unknown) => Promise.reject((failure = error)))
    })()
    sent.catch(() => {}) // it is awaited below
    try {
      await write(async (bytes) => {
        if (gzip.destroyed) await sent
        if (!gzip.write(bytes)) await once(gzip, 'drain')
      })
      gzip.end()
      await sent
    } catch (error) {
      gzip.destroy()
      await sent.catch(() => {})
      throw failure ?? error
    }
  }
}
