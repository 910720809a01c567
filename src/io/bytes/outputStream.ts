/**
 * Outputs that bytes go into as they come: standard output, named pipes, devices. There is nothing to rename, and what
 * was sent stays sent.
 */
import { constants, open as openDescriptor, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../core/errors.ts'

export interface Output {
  append(bytes: Uint8Array): Promise<void>
  /** Ends the output, after which what was appended lasts. */
  finish(): Promise<void>
  /** Leaves as little behind as can be; does not throw. */
  discard(): Promise<void>
}

/** Milliseconds to wait for somebody to read from a pipe: a reader that was just started. */
const READER_WITHIN_MS = 5_000
const LOOK_EVERY_MS = 20

/** The output at a path if it is no regular file; undefined for files, there or not. */
export async function openStream(path: string, known: Stats | undefined, signal: AbortSignal | undefined): Promise<Output | undefined> {
  const standard = STANDARD[path]
  if (standard !== undefined) return written(standard(), signal, () => undefined)
  if (known === undefined || known.isFile()) return undefined
  if (known.isSocket())
    throw new SourceError(`${path} is a socket, which cannot be written as a file is. Write a file and send that.`, path)
  if (known.isFIFO()) {
    const pipe = new Socket({ fd: await openPipe(path, signal), readable: false, writable: true })
    return written(pipe, signal, () => pipe.destroy())
  }
  const handle = await open(path, 'w')
  const close = () => handle.close().catch(() => undefined)
  return { append: (bytes) => handle.writeFile(bytes), finish: close, discard: close }
}

/** The streams that the shell connected: opening them anew would begin a file from its start, and cut it. */
const STANDARD: Readonly<Record<string, () => Writable>> = {
  '/dev/stdout': () => process.stdout,
  '/dev/fd/1': () => process.stdout,
  '/proc/self/fd/1': () => process.stdout,
  '/dev/stderr': () => process.stderr,
  '/dev/fd/2': () => process.stderr,
  '/proc/self/fd/2': () => process.stderr,
}

/** The descriptor of a pipe somebody reads from. Opening it as a file would wait for that, and nothing could end it. */
async function openPipe(path: string, signal: AbortSignal | undefined): Promise<number> {
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    signal?.throwIfAborted()
    const opened = await new Promise<number | NodeJS.ErrnoException>((resolve) =>
      openDescriptor(path, constants.O_WRONLY | constants.O_NONBLOCK, (error, descriptor) => resolve(error ?? descriptor)),
    )
    if (typeof opened === 'number') return opened
    if (opened.code !== 'ENXIO') throw opened
    if (waited >= READER_WITHIN_MS)
      throw new SourceError(`${path} is a pipe that nobody reads from. Start what reads it first, and write again.`, path)
    await sleep(LOOK_EVERY_MS)
  }
}

/** A stream as an output; an abort ends what still waits for its reader. */
function written(stream: Writable, signal: AbortSignal | undefined, close: () => void): Output {
  let failure: Error | undefined
  const failed = (error: Error): void => {
    failure = error
  }
  stream.on('error', failed)
  const send = (bytes: Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      if (failure !== undefined) return reject(failure)
      const abort = (): void => reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      stream.write(bytes, (error) => {
        signal?.removeEventListener('abort', abort)
        if (error) reject(error)
        else resolve()
      })
    })
  return {
    append: send,
    async finish() {
      stream.off('error', failed)
      close()
    },
    async discard() {
      close()
    },
  }
}
