/**
 * Messages over a link: a head of structured values, and parts, which are long arrays that are read where they lie.
 *
 *     head | part | part | …        one behind the other, cut into the bodies of frames; the first frame's meta tells the lengths
 */
import { encodeFrame, type Frame, FrameFault, type FrameType, LAST, MOST_BODY_BYTES, metaOf } from './frame.ts'

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
const NOTHING = new Uint8Array(0)

/** Yields the frames of a message, the first with number `first`; each is made when it is asked for. Returns the next number. */
export function* framesOf(message: OutMessage, address: Address, first: number): Generator<Buffer, number, undefined> {
  const { head, parts, type } = message
  if (parts.length > MOST_PARTS) throw new FrameFault('It has too many parts.')
  const pieces = [head, ...parts]
  const meta = Buffer.from(JSON.stringify({ lengths: pieces.map(({ length }) => length) }))
  const total = pieces.reduce((sum, { length }) => sum + length, 0)
  let [piece, at, sent, number] = [0, 0, 0, first]
  do {
    const body = Buffer.allocUnsafe(Math.min(MOST_BODY_BYTES, total - sent))
    for (let filled = 0; filled < body.length; ) {
      const from = pieces[piece] as Uint8Array // there are as many bytes as were counted
      const some = from.subarray(at, at + body.length - filled)
      body.set(some, filled)
      filled += some.length
      at += some.length
      if (at === from.length) [piece, at] = [piece + 1, 0]
    }
    sent += body.length
    const flags = sent === total ? LAST : 0
    yield encodeFrame({ ...address, type, flags, number, meta: number === first ? meta : NOTHING, body })
    number++
  } while (sent < total)
  return number
}

/** Joins the frames of one link into messages. Throws FrameFault for frames that do not follow each other. */
export class MessageReader {
  readonly #address: Address
  #number = 0
  #open: { readonly type: FrameType; readonly lengths: readonly number[]; readonly bodies: Uint8Array[]; left: number } | undefined

  constructor(address: Address) {
    this.#address = address
  }

  /** The message that ends with this frame; undefined where more is to come. */
  take(frame: Frame): InMessage | undefined {
    const { epoch, from, to } = this.#address
    if (frame.epoch !== epoch) throw new FrameFault('It is of another epoch.')
    if (frame.from !== from || frame.to !== to) throw new FrameFault('It is from somebody else, or for somebody else.')
    if (frame.number !== this.#number++) throw new FrameFault('It is out of order.')
    this.#open ??= { type: frame.type, ...lengthsOf(frame), bodies: [] }
    const open = this.#open
    if (frame.type !== open.type) throw new FrameFault('It is of another kind than its message.')
    open.left -= frame.body.length
    const isLast = (frame.flags & LAST) !== 0
    if (open.left < 0 || isLast !== (open.left === 0)) throw new FrameFault('Its message has another length than it says.')
    open.bodies.push(frame.body)
    if (!isLast) return undefined
    this.#open = undefined
    const [head = NOTHING, ...parts] = cutInto(open.bodies, open.lengths)
    return { type: open.type, head, parts }
  }
}

function lengthsOf(frame: Frame): { readonly lengths: readonly number[]; left: number } {
  const { lengths } = metaOf(frame)
  const areLengths = Array.isArray(lengths) && lengths.every((length) => Number.isSafeInteger(length) && length >= 0)
  const left = areLengths ? (lengths as number[]).reduce((sum, length) => sum + length, 0) : Number.NaN
  if (!areLengths || lengths.length > MOST_PARTS + 1 || !(left <= MOST_MESSAGE_BYTES))
    throw new FrameFault('The lengths of its message are none.')
  return { lengths: lengths as number[], left }
}

/** Cuts bodies into pieces with buffers of their own, so that each can be handed to another thread. */
function cutInto(bodies: readonly Uint8Array[], lengths: readonly number[]): Uint8Array[] {
  let [body, at] = [0, 0]
  return lengths.map((length) => {
    const piece = new Uint8Array(length)
    for (let filled = 0; filled < length; ) {
      const from = bodies[body] as Uint8Array // the lengths add up to what came
      const some = from.subarray(at, at + length - filled)
      piece.set(some, filled)
      filled += some.length
      at += some.length
      if (at === from.length) [body, at] = [body + 1, 0]
    }
    return piece
  })
}
