/** Flushes of a file to disk while it grows: the writer computes the next bytes meanwhile, and waits for little at the end. */
import type { FileHandle } from 'node:fs/promises'

/** Bytes after which what was appended is flushed while more is computed. */
export const FLUSH_BYTES: number = 2 ** 23

export interface Flushes {
  /** Told of bytes that were appended. */
  readonly appended: (bytes: number) => void
  /** Waits for the flush that is under way; fails with what made one of them fail. */
  readonly ended: () => Promise<void>
}

export function flushedBeside(handle: Pick<FileHandle, 'datasync'>): Flushes {
  let bytes = 0
  let underWay: Promise<void> | undefined
  // the system reports what failed to be written once, and so the first flush that is told of it says it at the end
  let failure: unknown
  return {
    appended(more) {
      bytes += more
      if (bytes < FLUSH_BYTES || underWay !== undefined) return
      bytes = 0
      underWay = handle
        .datasync()
        .catch((error: unknown) => {
          failure ??= error
        })
        .finally(() => {
          underWay = undefined
        })
    },
    async ended() {
      await underWay
      if (failure !== undefined) throw failure
    },
  }
}
