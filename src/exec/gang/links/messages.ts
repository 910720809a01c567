/**
 * Messages over a link: a head of structured values, and parts, which are long arrays that are read where they lie.
 *
 *     head | part | part | …        one behind the other, cut into the bodies of frames; the first frame's meta tells the lengths
 *
 * Between processes of one machine, a long body lies in a ring, and the frame has its place there: position 8 | bytes 4.
 */

import { BufferPool } from './bufferPool.ts'
import { encodeFrame, type Frame, FrameFault, type FrameType, IN_RING, LAST, MOST_BODY_BYTES, metaOf } from './frame.ts'
import type { RingReader, RingWriter } from './sharedRing.ts'

export interface OutMessage {
  readonly type: FrameType
  readonly head: Uint8Array
  /** Read when their frames are written: they must not change before the message is answered. */
  readonly parts: readonly Uint8Array[]
}

export interface InMessage {
  readonly type: FrameType
  readonly head: Uint8Array
  readonly parts: readonly Uint8Array[]
}

export interface Address {
  readonly epoch: number
  readonly from: number
  readonly to: number
}

/** The most parts of a message: the meta of a frame has room for their lengths. */
export const MOST_PARTS = 4096
/** The longest message that is believed: more than the memory of any machine that a gang runs on. */
const MOST_MESSAGE_BYTES = 2 ** 42
/** The least body that goes by a ring: two calls of the system take as long as a socket takes for so much. */
const LEAST_RING_BYTES = 8192
const NOTHING = new Uint8Array(0)

/** Yields the frames of a message, the first with number `first`; each is made when it is asked for. Returns the next number. */
export function* framesOf(message: OutMessage, address: Address, first: number, ring?: RingWriter): Generator<Buffer, number, undefined> {
  const { head, parts, type } = message
  if (parts.length > MOST_PARTS) throw new FrameFault('It has too many parts.')
  const pieces = [head, ...parts]
  const meta = Buffer.from(JSON.stringify({ lengths: pieces.map(({ length }) => length) }))
  const total = pieces.reduce((sum, { length }) => sum + length, 0)
  const cut = cutter(pieces)
  let [sent, number] = [0, first]
  do {
    const length = Math.min(MOST_BODY_BYTES, total - sent)
    const runs = cut(length)
    sent += length
    const at = length < LEAST_RING_BYTES ? undefined : ring?.put(number, runs)
    const body = at === undefined ? Buffer.concat(runs, length) : placeText({ at, length })
    const flags = (sent === total ? LAST : 0) | (at === undefined ? 0 : IN_RING)
    yield encodeFrame({ ...address, type, flags, number, meta: number === first ? meta : NOTHING, body })
    number++
  } while (sent < total)
  return number
}

/** Returns what cuts pieces that follow each other: it gives the next `length` bytes, as runs that lie in one piece each. */
function cutter(pieces: readonly Uint8Array[]): (length: number) => Uint8Array[] {
  let [piece, at] = [0, 0]
  return (length) => {
    const runs: Uint8Array[] = []
    for (let filled = 0; filled < length; ) {
      const from = pieces[piece] as Uint8Array // there are as many bytes as were counted
      const run = from.subarray(at, at + length - filled)
      if (run.length > 0) runs.push(run)
      filled += run.length
      at += run.length
      if (at === from.length) [piece, at] = [piece + 1, 0]
    }
    return runs
  }
}

/** The memory of parts that come. Each has a buffer of its own, so that it can be handed to another thread. */
export type PartPool = BufferPool<ArrayBuffer>

export function partPool(): PartPool {
  return new BufferPool((length) => Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer) // of its own
}

/** Joins the frames of one link into messages. Throws FrameFault for frames that do not follow each other. */
export class MessageReader {
  readonly #address: Address
  readonly #ring: RingReader | undefined
  readonly #pool: PartPool
  #number = 0
  #open: { readonly type: FrameType; readonly pieces: Pieces; left: number } | undefined

  /** `pool` has the memory of parts. */
  constructor(address: Address, ring?: RingReader, pool: PartPool = partPool()) {
    this.#address = address
    this.#ring = ring
    this.#pool = pool
  }

  /** The message that ends with this frame; undefined where more is to come. */
  take(frame: Frame): InMessage | undefined {
    const { epoch, from, to } = this.#address
    const { number, body, flags } = frame
    if (frame.epoch !== epoch) throw new FrameFault('It is of another epoch.')
    if (frame.from !== from || frame.to !== to) throw new FrameFault('It is from somebody else, or for somebody else.')
    if (frame.number !== this.#number++) throw new FrameFault('It is out of order.')
    this.#open ??= opened(frame, this.#pool)
    const open = this.#open
    if (frame.type !== open.type) throw new FrameFault('It is of another kind than its message.')
    const inRing = (flags & IN_RING) === 0 ? undefined : placeOf(body)
    const length = inRing?.length ?? body.length
    open.left -= length
    const isLast = (flags & LAST) !== 0
    if (open.left < 0 || isLast !== (open.left === 0)) throw new FrameFault('Its message has another length than it says.')
    const room = open.pieces.next(length)
    if (inRing === undefined) fill(room, body)
    else if (this.#ring === undefined) throw new FrameFault('Its body is in a ring, and there is none.')
    else this.#ring.take(inRing.at, number, room)
    if (!isLast) return undefined
    this.#open = undefined
    const [head = NOTHING, ...parts] = open.pieces.all()
    return { type: open.type, head, parts }
  }
}

function opened(frame: Frame, pool: PartPool): { readonly type: FrameType; readonly pieces: Pieces; left: number } {
  const { lengths } = metaOf(frame)
  const areLengths = Array.isArray(lengths) && lengths.every((length) => Number.isSafeInteger(length) && length >= 0)
  const left = areLengths ? (lengths as number[]).reduce((sum, length) => sum + length, 0) : Number.NaN
  if (!areLengths || lengths.length > MOST_PARTS + 1 || !(left <= MOST_MESSAGE_BYTES))
    throw new FrameFault('The lengths of its message are none.')
  return { type: frame.type, pieces: new Pieces(lengths as number[], pool), left }
}

/** The head and parts of a message that comes. */
class Pieces {
  readonly #lengths: readonly number[]
  readonly #pool: PartPool
  readonly #pieces: Uint8Array[] = []
  #filled = 0

  constructor(lengths: readonly number[], pool: PartPool) {
    this.#lengths = lengths
    this.#pool = pool
  }

  /** The memory of the next `length` bytes, as runs in one piece each. A piece gets its memory when its first byte comes. */
  next(length: number): Uint8Array[] {
    const runs: Uint8Array[] = []
    for (let left = length; left > 0; ) {
      let piece = this.#pieces.at(-1)
      if (piece === undefined || this.#filled === piece.length) {
        piece = this.#begin()
        continue
      }
      const run = piece.subarray(this.#filled, this.#filled + left)
      runs.push(run)
      this.#filled += run.length
      left -= run.length
    }
    return runs
  }

  /** All pieces, of a message of which all bytes have come. */
  all(): readonly Uint8Array[] {
    while (this.#pieces.length < this.#lengths.length) this.#begin()
    return this.#pieces
  }

  #begin(): Uint8Array {
    const length = this.#lengths[this.#pieces.length] as number // the lengths add up to what came
    try {
      const piece = new Uint8Array(this.#pool.take(length), 0, length)
      this.#pieces.push(piece)
      this.#filled = 0
      return piece
    } catch {
      throw new FrameFault('Its message is too long for this process.')
    }
  }
}

function fill(runs: readonly Uint8Array[], bytes: Uint8Array): void {
  let at = 0
  for (const run of runs) {
    run.set(bytes.subarray(at, at + run.length))
    at += run.length
  }
}

interface InRing {
  readonly at: number
  readonly length: number
}

const PLACE_BYTES = 12

function placeText({ at, length }: InRing): Buffer {
  const bytes = Buffer.allocUnsafe(PLACE_BYTES)
  bytes.writeBigUInt64LE(BigInt(at), 0)
  bytes.writeUInt32LE(length, 8)
  return bytes
}

function placeOf(body: Uint8Array): InRing {
  if (body.length !== PLACE_BYTES) throw new FrameFault('It does not say where its body is.')
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  const [at, length] = [Number(bytes.readBigUInt64LE(0)), bytes.readUInt32LE(8)]
  if (length > MOST_BODY_BYTES) throw new FrameFault('It says that its body is too long.')
  return { at, length }
}
