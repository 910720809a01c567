/** This process's end of the two feeds between it and another process: frames out, with back-pressure, and messages in. */
import { once } from 'node:events'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { isError } from '../../../core/isError.ts'
import { decodeFrame, FrameFault } from './frame.ts'
import { framesOf, type InMessage, MessageReader, type OutMessage, type PartPool } from './messages.ts'
import { type RingReader, type RingWriter, ringOffer, ringOffered } from './sharedRing.ts'

/** Frames that are written in one turn of the thread. */
const TURN_FRAMES = 4

type Stream = ServerWritableStream<Buffer, Buffer>

export interface PeerEvents {
  took(message: InMessage): void
  /** Called once when the link ends, for whatever reason; nothing follows it. */
  lost(why: string, fault: 'lost' | 'frame'): void
}

interface Queued {
  readonly message: OutMessage
  readonly written: () => void
}

export class Peer {
  readonly rank: number
  /** The secret that only the two processes know. */
  readonly key: string
  /** The round in which the two were introduced to each other; 0 for a link to rank 0. */
  readonly round: number
  /** Whether the other process has said that its end stands. */
  #isReady = false
  readonly #own: number
  readonly #epoch: number
  readonly #events: PeerEvents
  readonly #reader: MessageReader
  /** The ring by which the other process sends long bodies, if it is one of this machine. */
  readonly #ring: RingReader | undefined
  /** The ring of the other process. */
  #writes: RingWriter | undefined
  readonly #queue: Queued[] = []
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
      ring,
      pool,
    }: {
      readonly rank: number
      readonly own: number
      readonly epoch: number
      readonly key: string
      readonly round: number
      /** Taken over: it is closed when the link ends. */
      readonly ring?: RingReader | undefined
      /** The memory of parts that come. */
      readonly pool?: PartPool
    },
    events: PeerEvents,
  ) {
    this.rank = rank
    this.key = key
    this.round = round
    this.#own = own
    this.#epoch = epoch
    this.#events = events
    this.#ring = ring
    this.#reader = new MessageReader({ epoch, from: rank, to: own }, ring, pool)
  }

  get hasStream(): boolean {
    return this.#stream !== undefined
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether both ends stand. */
  get isUp(): boolean {
    return this.#isReady && this.hasStream && !this.#isOver
  }

  /** Tells the other process that this end of the link stands, and where its ring is. */
  sayReady(): void {
    this.send({ type: 'ready', head: ringOffer(this.#ring), parts: [] })
  }

  /** Hears that the other end stands: long bodies go by its ring from now on, if this process finds it. */
  heardReady(head: Uint8Array): void {
    this.#isReady = true
    this.#writes ??= ringOffered(head)
  }

  /** Takes the stream that the other process has dialled; messages go out on it. */
  open(stream: Stream): void {
    this.#stream = stream
    stream.on('cancelled', () => this.end('its link broke'))
    stream.on('error', (error) => this.end(error.message))
    void this.#pump()
  }

  /** Sends a message; `written` is called once it is written, or never will be. */
  send(message: OutMessage, written: () => void = () => undefined): void {
    if (this.#isOver) {
      written()
      return
    }
    this.#queue.push({ message, written })
    void this.#pump()
  }

  /** Takes a frame that came; one that is malformed ends the link. */
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
    for (const { written } of this.#queue.splice(0)) written()
    this.#stream?.end()
    this.#ring?.close()
    this.#writes?.close()
    this.#emptied?.()
    this.#events.lost(why, fault)
  }

  /** Ends the stream once all queued messages are sent. */
  async close(): Promise<void> {
    if (this.#isPumping && !this.#isOver) await new Promise<void>((resolve) => (this.#emptied = resolve))
    this.#stream?.end()
  }

  async #pump(): Promise<void> {
    const stream = this.#stream
    if (stream === undefined || this.#isPumping) return
    this.#isPumping = true
    try {
      for (let next = this.#queue.shift(); next !== undefined && !this.#isOver; next = this.#queue.shift()) await this.#write(next, stream)
    } catch (error) {
      this.end(isError(error) ? error.message : String(error))
    } finally {
      this.#isPumping = false
      this.#emptied?.()
    }
  }

  async #write({ message, written }: Queued, stream: Stream): Promise<void> {
    try {
      for (const frame of framesOf(message, { epoch: this.#epoch, from: this.#own, to: this.rank }, this.#number, this.#writes)) {
        this.#number++
        // frames that are written beyond that would lie in memory until the other process takes them
        if (!stream.write(frame)) await once(stream, 'drain')
        // frames leave between two turns of this thread, and the other process is to take out of the ring meanwhile
        else if (this.#number % TURN_FRAMES === 0) await new Promise(setImmediate)
        if (this.#isOver) break
      }
    } finally {
      written() // a frame is a copy
    }
  }
}
