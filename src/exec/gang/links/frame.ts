/**
 * Frames, which travel between the processes of a gang. A message of any length is cut into frames of at most a mebibyte, and
 * a malformed frame ends the link.
 *
 *     magic 4 | type 2 | flags 2 | epoch 4 | from 4 | to 4 | number 8 | meta bytes 4 | body bytes 4 | crc 4 | meta | body
 *
 * Little-endian. The checksum is over everything but itself. Frames of a link are numbered without a gap, so that one that is
 * lost, doubled or replayed is noticed.
 */
import { crc32 } from 'node:zlib'
import { isError } from '../../../core/isError.ts'

export const HEADER_BYTES = 40
export const MOST_META_BYTES: number = 2 ** 16
export const MOST_BODY_BYTES: number = 2 ** 20
/** The longest frame, which is also the longest message that gRPC is allowed. */
export const MOST_FRAME_BYTES: number = HEADER_BYTES + MOST_META_BYTES + MOST_BODY_BYTES

const MAGIC = 0x31_41_44_47 // "GDA1"
const CRC_AT = 36
/** The flag of the last frame of a message. */
export const LAST = 1
/** The flag of a frame whose body is in the ring between its two processes, and which holds the place. */
export const IN_RING = 2

/** The kinds of frames by their number on the wire; a new kind goes to the end. */
export const FRAME_TYPES = [
  'hello',
  'challenge',
  'join',
  'welcome',
  'refused',
  'feed',
  'ready',
  'define',
  'values',
  'run',
  'done',
  'failed',
  'abort',
  'forget',
  'release',
  'members',
  'known',
  'dial',
  'linked',
  'parted',
  'boxes',
  'edge',
  'fetch',
  'keys',
  'rows',
  'make',
  'flushed',
  'share',
  'elements',
] as const
export type FrameType = (typeof FRAME_TYPES)[number]

export interface Frame {
  readonly type: FrameType
  readonly flags: number
  /** The epoch of the gang; frames of another epoch are refused. */
  readonly epoch: number
  readonly from: number
  readonly to: number
  /** The number of the frame on its link, from 0. */
  readonly number: number
  readonly meta: Uint8Array
  readonly body: Uint8Array
}

/** The error for a frame that is refused; its message says why. */
export class FrameFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FrameFault'
  }
}

export function encodeFrame(frame: Frame): Buffer {
  const { meta, body } = frame
  if (meta.length > MOST_META_BYTES || body.length > MOST_BODY_BYTES) throw new FrameFault('It is too long.')
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + meta.length + body.length)
  bytes.writeUInt32LE(MAGIC, 0)
  bytes.writeUInt16LE(FRAME_TYPES.indexOf(frame.type), 4)
  bytes.writeUInt16LE(frame.flags, 6)
  bytes.writeUInt32LE(frame.epoch, 8)
  bytes.writeUInt32LE(frame.from, 12)
  bytes.writeUInt32LE(frame.to, 16)
  bytes.writeBigUInt64LE(BigInt(frame.number), 20)
  bytes.writeUInt32LE(meta.length, 28)
  bytes.writeUInt32LE(body.length, 32)
  bytes.set(meta, HEADER_BYTES)
  bytes.set(body, HEADER_BYTES + meta.length)
  bytes.writeUInt32LE(checksumOf(bytes), CRC_AT)
  return bytes
}

/** Decodes a frame. Throws FrameFault for bytes that are no frame: cut, too long, flipped, of a kind that nobody knows. */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes.length < HEADER_BYTES) throw new FrameFault('It is shorter than its header.')
  if (bytes.readUInt32LE(0) !== MAGIC) throw new FrameFault('It does not begin as a frame.')
  const [metaBytes, bodyBytes] = [bytes.readUInt32LE(28), bytes.readUInt32LE(32)]
  if (metaBytes > MOST_META_BYTES || bodyBytes > MOST_BODY_BYTES) throw new FrameFault('It says that it is too long.')
  if (bytes.length !== HEADER_BYTES + metaBytes + bodyBytes) throw new FrameFault('It has another length than it says.')
  if (bytes.readUInt32LE(CRC_AT) !== checksumOf(bytes)) throw new FrameFault('Its checksum does not match.')
  const type = FRAME_TYPES[bytes.readUInt16LE(4)]
  if (type === undefined) throw new FrameFault('Its kind is not known.')
  const number = bytes.readBigUInt64LE(20)
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new FrameFault('Its number is out of range.')
  return {
    type,
    flags: bytes.readUInt16LE(6),
    epoch: bytes.readUInt32LE(8),
    from: bytes.readUInt32LE(12),
    to: bytes.readUInt32LE(16),
    number: Number(number),
    meta: bytes.subarray(HEADER_BYTES, HEADER_BYTES + metaBytes),
    body: bytes.subarray(HEADER_BYTES + metaBytes),
  }
}

function checksumOf(bytes: Buffer): number {
  return crc32(bytes.subarray(CRC_AT + 4), crc32(bytes.subarray(0, CRC_AT)))
}

const NOTHING = new Uint8Array(0)

/** Encodes a call, which comes before a link stands: one frame whose meta is JSON. */
export function encodeCall(type: FrameType, from: number, to: number, meta: object): Buffer {
  const text = Buffer.from(JSON.stringify(meta))
  return encodeFrame({ type, flags: LAST, epoch: 0, from, to, number: 0, meta: text, body: NOTHING })
}

/** Parses the meta of a frame as a JSON object. Throws FrameFault where it is none. */
export function metaOf(frame: Frame): Readonly<Record<string, unknown>> {
  try {
    const meta: unknown = JSON.parse(Buffer.from(frame.meta).toString())
    if (typeof meta === 'object' && meta !== null && !Array.isArray(meta)) return meta as Record<string, unknown> // of JSON
  } catch (error) {
    throw new FrameFault(`Its meta is no JSON: ${isError(error) ? error.message : ''}`)
  }
  throw new FrameFault('Its meta is no object.')
}
