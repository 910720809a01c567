/**
 * A ring of this machine's memory, by which the long bodies of frames go from one process to another: the frame itself goes over the link
 * as any other, and says where in the ring its body is. Through a socket, which gRPC fills 16 KiB at a time, a body is copied some eight
 * times; by a ring twice.
 *
 *     taken 8 | mark 16 | … to the end of a page | record | record | …        a record: number of its frame 8 | bytes 8 | body
 *
 * The ring is a file in memory whose name is removed as soon as it is made, so that it is gone with the last process that has it open,
 * however this one ends. The reader makes it, and the writer opens it through `/proc`, which it can only do on the same machine and as
 * the same user. A writer never waits for a ring: a body that finds no room goes in its frame.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, readvSync, unlinkSync, writeSync, writevSync } from 'node:fs'
import { isError } from '../../../core/isError.ts'
import { FrameFault, MOST_FRAME_BYTES } from './frame.ts'
import { whereabouts } from './nearby.ts'

const FOLDER = '/dev/shm'
const MARK_AT = 8
const MARK_BYTES = 16
const RECORDS_AT = 4096
const TAKEN_BYTES = 8
const HEAD_BYTES = 16
/** The memory of all rings to a process together, of which what is written to counts. */
const RINGS_BYTES = 32 * 2 ** 20
/** The least memory of a ring: two frames. */
const LEAST_BYTES = 2 * MOST_FRAME_BYTES
/** The most pieces that the system writes or reads in one call, less that of the head. */
const MOST_PIECES = 1000

/** What another process needs to find a ring. */
export interface RingPlace {
  readonly pid: number
  readonly fd: number
  readonly bytes: number
  /** Random bytes in the ring, in hex: what is opened is what was meant. */
  readonly mark: string
}

/** Makes the ring by which one of `world` processes sends to this one, which has so many bytes for all of them. */
export function ringFor(world: number): RingReader | undefined {
  return RingReader.create(Math.max(LEAST_BYTES, Math.floor(RINGS_BYTES / Math.max(1, world - 1))))
}

/** Tells another process where its ring is, as JSON. */
export function ringOffer(ring: RingReader | undefined): Uint8Array {
  const { machine } = whereabouts()
  return Buffer.from(JSON.stringify(ring === undefined || machine === undefined ? {} : { machine, ...ring.place }))
}

/** Opens the ring that another process has told of; undefined where it told of none, or it is not to be found from here. */
export function ringOffered(offer: Uint8Array): RingWriter | undefined {
  try {
    const { machine, ...place } = JSON.parse(Buffer.from(offer).toString()) as RingPlace & { readonly machine?: string } // of ringOffer()
    const isHere = machine !== undefined && machine === whereabouts().machine
    return isHere && Number.isSafeInteger(place.pid) && Number.isSafeInteger(place.fd) ? RingWriter.open(place) : undefined
  } catch {
    return undefined
  }
}

/** The end of a ring that takes bodies out. Positions only grow; a record lies at its position's remainder by the bytes of the ring. */
export class RingReader {
  readonly place: RingPlace
  #taken = 0

  private constructor(place: RingPlace) {
    this.place = place
  }

  /** Makes a ring; undefined where the system has no files in memory. */
  static create(bytes: number): RingReader | undefined {
    let fd: number | undefined
    try {
      const path = `${FOLDER}/distarray-${process.pid}-${randomBytes(8).toString('hex')}`
      fd = openSync(path, 'wx+', 0o600)
      unlinkSync(path)
      const mark = randomBytes(MARK_BYTES)
      ftruncateSync(fd, RECORDS_AT + bytes)
      writeSync(fd, mark, 0, MARK_BYTES, MARK_AT)
      return new RingReader({ pid: process.pid, fd, bytes, mark: mark.toString('hex') })
    } catch {
      if (fd !== undefined) closeSync(fd)
      return undefined
    }
  }

  /** Copies the body of frame `number` into `targets`, which it fills. Throws FrameFault for a place where no such body is. */
  take(at: number, number: number, targets: readonly Uint8Array[]): void {
    const { fd, bytes } = this.place
    const found = Buffer.alloc(HEAD_BYTES)
    const length = targets.reduce((sum, target) => sum + target.length, HEAD_BYTES)
    if (!Number.isSafeInteger(at) || at < this.#taken || (at % bytes) + length > bytes)
      throw new FrameFault('Its body lies outside of the ring.')
    let count: number
    try {
      count = readvSync(fd, [found, ...targets], RECORDS_AT + (at % bytes))
    } catch (error) {
      throw new FrameFault(`Its body cannot be read: ${isError(error) ? error.message : String(error)}`)
    }
    if (count !== length || !found.equals(headOf(number, length))) throw new FrameFault('Its body is not in the ring.')
    this.#taken = at + length
    found.writeBigUInt64LE(BigInt(this.#taken))
    writeSync(fd, found, 0, TAKEN_BYTES, 0)
  }

  close(): void {
    closeSync(this.place.fd)
  }
}

/** The end of a ring that puts bodies in. */
export class RingWriter {
  readonly #fd: number
  readonly #bytes: number
  readonly #found = Buffer.alloc(TAKEN_BYTES)
  #written = 0

  private constructor(fd: number, bytes: number) {
    this.#fd = fd
    this.#bytes = bytes
  }

  /** Opens the ring that another process of this machine has made; undefined where that is not to be found from here. */
  static open({ pid, fd: at, bytes, mark }: RingPlace): RingWriter | undefined {
    let fd: number | undefined
    try {
      fd = openSync(`/proc/${pid}/fd/${at}`, 'r+')
      const found = Buffer.alloc(MARK_BYTES)
      readSync(fd, found, 0, MARK_BYTES, MARK_AT)
      if (found.toString('hex') === mark && fstatSync(fd).size === RECORDS_AT + bytes) return new RingWriter(fd, bytes)
    } catch {}
    if (fd !== undefined) closeSync(fd)
    return undefined
  }

  /** Copies the body of frame `number` into the ring and returns its position; undefined where there is no room for it now. */
  put(number: number, pieces: readonly Uint8Array[]): number | undefined {
    const length = pieces.reduce((sum, piece) => sum + piece.length, HEAD_BYTES)
    if (length > this.#bytes || pieces.length > MOST_PIECES) return undefined
    readSync(this.#fd, this.#found, 0, TAKEN_BYTES, 0)
    const taken = Number(this.#found.readBigUInt64LE())
    const within = this.#written % this.#bytes
    // a record lies in one stretch, and an empty ring begins anew, where its memory is still in a cache
    const at =
      within + length > this.#bytes || taken === this.#written ? this.#written + ((this.#bytes - within) % this.#bytes) : this.#written
    if (at + length - taken > this.#bytes && taken !== this.#written) return undefined
    try {
      if (writevSync(this.#fd, [headOf(number, length), ...pieces], RECORDS_AT + (at % this.#bytes)) !== length) return undefined
    } catch {
      return undefined // the machine has no memory left for it
    }
    this.#written = at + length
    return at
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function headOf(number: number, length: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeBigUInt64LE(BigInt(number), 0)
  head.writeBigUInt64LE(BigInt(length), 8)
  return head
}
