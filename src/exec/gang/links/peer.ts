/** One end of the two feeds between this process and another: frames out, with back-pressure, and messages in. */
import { once } from 'node:events'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { isError } from '../../../core/isError.ts'
import { decodeFrame, FrameFault } from './frame.ts'
import { framesOf, type InMessage, MessageReader, type OutMessage } from './messages.ts'

type Stream = ServerWritableStream<Buffer, Buffer>

export interface PeerEvents {
  took(message: InMessage): void
  /** Once, for whatever reason; nothing follows it. */
  lost(why: string, fault: 'lost' | 'frame'): void
}

export class Peer {
  readonly rank: number
  /** What both know by now, and nobody else. */
  readonly key: string
  /** In which they were introduced to each other; 0 of a link to rank 0. */
  readonly round: number
  /** The other has said that its end stands. */
  isReady = false
  readonly #own: number
  readonly #epoch: number
  readonly #events: PeerEvents
  readonly #reader: MessageReader
  readonly #queue: OutMessage[] = []
  #stream: Stream | undefined
  #number = 0
  #isPumping = false
  #isOver = false
  #emptied: (() => void) | undefined

  constructor(
    {
      rank,
      own,
      epoch,
      key,
      round,
    }: { readonly rank: number; readonly own: number; readonly epoch: number; readonly key: string; readonly round: number },
    events: PeerEvents,
  ) {
    this.rank = rank
    this.key = key
    this.round = round
    this.#own = own
    this.#epoch = epoch
    this.#events = events
    this.#reader = new MessageReader({ epoch, from: rank, to: own })
  }

  get hasStream(): boolean {
    return this.#stream !== undefined
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Both ends stand. */
  get isUp(): boolean {
    return this.isReady && this.hasStream && !this.#isOver
  }

  /** The other has dialled: what is to be sent goes there. */
  open(stream: Stream): void {
    this.#stream = stream
    stream.on('cancelled', () => this.end('its link broke'))
    stream.on('error', (error) => this.end(error.message))
    void this.#pump()
  }

  send(message: OutMessage): void {
    if (this.#isOver) return
    this.#queue.push(message)
    void this.#pump()
  }

  /** A frame that came. */
  take(bytes: Buffer): void {
    if (this.#isOver) return
    try {
      const message = this.#reader.take(decodeFrame(bytes))
      if (message !== undefined) this.#events.took(message)
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error
      this.end(error.message, 'frame')
    }
  }

  end(why: string, fault: 'lost' | 'frame' = 'lost'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#queue.length = 0
    this.#stream?.end()
    this.#emptied?.()
    this.#events.lost(why, fault)
  }

  /** Says no more once all is said. */
  async close(): Promise<void> {
    if (this.#isPumping && !this.#isOver) await new Promise<void>((resolve) => (this.#emptied = resolve))
    this.#stream?.end()
  }

  async #pump(): Promise<void> {
    const stream = this.#stream
    if (stream === undefined || this.#isPumping) return
    this.#isPumping = true
    try {
      for (let message = this.#queue.shift(); message !== undefined && !this.#isOver; message = this.#queue.shift()) {
        for (const frame of framesOf(message, { epoch: this.#epoch, from: this.#own, to: this.rank }, this.#number)) {
          this.#number++
          // what is written beyond that lies in memory until the other takes it
          if (!stream.write(frame)) await once(stream, 'drain')
          if (this.#isOver) break
        }
      }
    } catch (error) {
      this.end(isError(error) ? error.message : String(error))
    } finally {
      this.#isPumping = false
      this.#emptied?.()
    }
  }
}
