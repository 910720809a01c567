/** The links of this process as its main thread uses them: they live on a thread of their own. */
import { Worker } from 'node:worker_threads'
import { defined } from '../../../core/defined.ts'
import { GangError } from '../../../core/errors.ts'
import { isError } from '../../../core/isError.ts'
import { LEAST_POOLED_BYTES } from './bufferPool.ts'
import { identityOf } from './identity.ts'
import type { FaultText, FromLink, LinkData, ToLink } from './linkData.ts'
import { linkProgram } from './linkProgram.ts'
import type { InMessage, OutMessage } from './messages.ts'
import { sendCells, sentIn } from './sendBuffers.ts'
import type { GangSettings } from './settings.ts'

export interface LinkEvents {
  took(from: number, message: InMessage): void
  /** Called once for each process that is lost. */
  lost(error: GangError): void
  /** Called when a process has come in the place of one that was lost. */
  joined?(rank: number): void
  /** Called when rank 0's program has ended. */
  released(code: number): void
}

/** The time that the end waits for the link thread to tell the others, which needs less. */
const RELEASE_MS = 5000

export class Links {
  readonly settings: GangSettings
  readonly #thread: Worker
  readonly #events: LinkEvents
  readonly #released: Int32Array
  #holds = 0

  private constructor(settings: GangSettings, thread: Worker, events: LinkEvents, released: Int32Array) {
    this.settings = settings
    this.#thread = thread
    this.#events = events
    this.#released = released
  }

  /** Starts the link thread; resolves when all links stand. `code` is the program of worker threads, for `identityOf`. */
  static async start(settings: GangSettings, code: string | URL, events: LinkEvents): Promise<Links> {
    const released = new Int32Array(new SharedArrayBuffer(4))
    const data: LinkData = { settings, identity: identityOf(settings, code), released, sendCells }
    const program = await linkProgram()
    const options = { workerData: data, execArgv: [], name: 'distarray links' }
    const thread = new Worker(program, { ...options, eval: typeof program === 'string' })
    const links = new Links(settings, thread, events, released)
    const { promise, resolve, reject } = settlement()
    thread.on('message', (message: FromLink) => {
      if (message.kind === 'up') resolve()
      else if (message.kind === 'failed') reject(errorOf(message.error))
      else links.#took(message)
    })
    thread.on('error', (cause) => {
      const error = new GangError(`The links of rank ${settings.rank} broke: ${isError(cause) ? cause.message : String(cause)}`, 'lost', {
        cause,
      })
      reject(error)
      events.lost(error)
    })
    try {
      await promise
    } catch (error) {
      await thread.terminate()
      throw error
    }
    thread.unref()
    return links
  }

  /** Sends a message; its parts are read where they lie and must not change before the message is answered. */
  send(to: number, message: OutMessage): void {
    this.#post({ kind: 'send', to, message, ...defined({ cell: sentIn(message.parts) }) })
  }

  /** Takes back the parts of a message that came, once they are read: they are empty from now on. */
  giveBack(parts: readonly Uint8Array[]): void {
    const buffers = parts.filter(({ length }) => length >= LEAST_POOLED_BYTES).map(({ buffer }) => buffer as ArrayBuffer) // a part each
    if (buffers.length > 0) this.#post({ kind: 'read', buffers }, buffers)
  }

  /** Ends the link to a process: nothing more is sent to it, or taken from it; the others hear that it is out. */
  part(rank: number): void {
    this.#post({ kind: 'part', rank })
  }

  /** Keeps this process alive for messages, until `letGo` was called as often. */
  hold(): void {
    if (this.#holds++ === 0) this.#thread.ref()
  }

  letGo(): void {
    if (--this.#holds === 0) this.#thread.unref()
  }

  /** Tells all others that the program has ended, and waits until they know: for a process that exits, which can await nothing. */
  releaseNow(code: number): void {
    this.#post({ kind: 'release', code })
    Atomics.wait(this.#released, 0, 0, RELEASE_MS)
  }

  async release(code: number): Promise<void> {
    this.#post({ kind: 'release', code })
    const until = Date.now() + RELEASE_MS
    while (Atomics.load(this.#released, 0) === 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 2))
    await this.#thread.terminate()
  }

  #took(message: Exclude<FromLink, { readonly kind: 'up' | 'failed' }>): void {
    switch (message.kind) {
      case 'message':
        this.#events.took(message.from, message.message)
        return
      case 'lost':
        this.#events.lost(errorOf(message.error))
        return
      case 'joined':
        this.#events.joined?.(message.rank)
        return
      case 'released':
        this.#events.released(message.code)
    }
  }

  #post(message: ToLink, transfer: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, transfer)
  }
}

function errorOf({ message, fault, rank }: FaultText): GangError {
  return new GangError(message, fault, rank === undefined ? {} : { rank })
}

function settlement(): { readonly promise: Promise<void>; resolve(): void; reject(error: unknown): void } {
  let resolve = (): void => undefined
  let reject = (_error: unknown): void => undefined
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  return { promise, resolve, reject }
}
