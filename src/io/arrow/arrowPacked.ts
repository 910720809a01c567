/**
 * Unpacks compressed messages of Arrow IPC to plain ones, with the buffers of the columns that are read.
 *
 *     [24 | packed] [-1 | bytes] [8 | packed]   -->   24 bytes, bytes, nothing: nobody asked for its column
 *
 * Before the bytes of each buffer stands the length of what they unpack to; -1 where they are not packed. It is compared with what the
 * columns need, and with what a record batch may take, before anything is unpacked.
 *
 * https://arrow.apache.org/docs/format/Columnar.html#compression
 */
import type { Schema } from 'apache-arrow'
import { Bug, SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { PackedPage } from '../../core/ports.ts'
import { pageGroups } from '../bytes/pageGroups.ts'
import { decodeLimits } from '../parquet/limits.ts'
import { withUnpackedPages } from '../parquet/unpackedPages.ts'
import { WasmFailure } from '../parquet/wasm.ts'
import { type Around, buffersOf, framed, headerEnd, messageOf, schemaOf } from './arrowBody.ts'
import { type BatchHeader, dictionaryField, layoutOf, PREFIX_BYTES } from './arrowLayout.ts'
import { type Field as ArrowField, BufferRegion, DictionaryHeader, MessageHeader, RecordBatchHeader } from './arrowLibrary.ts'

interface Codec {
  readonly name: string
  /** Parquet's number for it. */
  readonly parquet: number
  /** The four bytes that its frames begin with. */
  readonly magic: number
}

/** The codecs in the order of Arrow's numbers. */
const CODECS: readonly Codec[] = [
  { name: 'lz4', parquet: 5, magic: 0x184d2204 }, // the decoder tries several forms; a frame is what Arrow has
  { name: 'zstd', parquet: 6, magic: 0xfd2fb528 },
]

/** Most bytes of an unpacked buffer: the decoder counts no further. */
const LARGEST_BUFFER = 2 ** 31 - 1

/** The fault of the compression that a header names; undefined where it is known. */
export function compressionFault({ compression }: BatchHeader): string | undefined {
  if (compression === null || compression === undefined) return undefined
  const { type, method } = compression
  return CODECS[type] === undefined || method !== 0
    ? `its buffers are compressed with a codec of number ${type}, method ${method}`
    : undefined
}

export interface PackedFile {
  readonly path: string
  /** The message of the schema. */
  readonly schema: Uint8Array
  readonly budgetBytes: number
}

/** The bytes of a buffer of a message, and how many they unpack to. */
interface Packed {
  readonly bytes: Uint8Array
  readonly isPacked: boolean
  readonly length: number
}

const NOTHING: Packed = { bytes: new Uint8Array(0), isPacked: false, length: 0 }

/** A message of a dictionary or record batch without compression, of a record batch with the columns at `indices`. SourceError for what does not unpack. */
export function plainMessage(message: Uint8Array, file: PackedFile, indices: readonly number[], around: Around = {}): Uint8Array {
  try {
    return unpackedMessage(message, { ...file, schema: schemaOf(file.schema), indices, around })
  } catch (error) {
    if (error instanceof SourceError || error instanceof Bug) throw error
    throw new SourceError(`${file.path} is damaged: ${isError(error) ? error.message : String(error)}.`, file.path, { cause: error })
  }
}

interface Opened extends Omit<PackedFile, 'schema'> {
  readonly schema: Schema
  readonly indices: readonly number[]
  readonly around: Around
}

function unpackedMessage(bytes: Uint8Array, file: Opened): Uint8Array {
  const { indices, around } = file
  const message = messageOf(bytes)
  const body = bytes.subarray(headerEnd(bytes))
  const dictionary = message.headerType === MessageHeader.DictionaryBatch ? (message.header() as DictionaryHeader) : undefined
  const header = dictionary?.data ?? (message.header() as RecordBatchHeader)
  const codec = header.compression ? CODECS[header.compression.type] : undefined
  if (codec === undefined) return placed(bytes, around)
  const all = header.buffers.map(({ offset, length }) => packedOf(body.subarray(offset, offset + length), file.path))
  const values = dictionary && dictionaryField(file.schema, dictionary.id)
  const fields = values === undefined ? file.schema.fields : [values]
  const wanted = wantedBuffers(header, { all, fields, path: file.path }, dictionary === undefined ? indices : [0])
  const buffers = all.map((buffer, i) => (wanted.has(i) ? buffer : NOTHING))
  let total = 0
  const regions = buffers.map(({ length }) => {
    const region = new BufferRegion(total, length)
    total += Math.ceil(length / 8) * 8
    return region
  })
  const most = decodeLimits(file.budgetBytes).groupBytes
  if (total > most) throw tooLarge(file.path, `${total} bytes, and at most ${most} are read of one`)
  const own = new RecordBatchHeader(header.length, header.nodes, regions, null, header.variadicBufferCounts)
  const plain = framed(dictionary === undefined ? own : new DictionaryHeader(own, dictionary.id, dictionary.isDelta), total, around)
  for (const [i, { bytes, isPacked }] of buffers.entries()) if (!isPacked) plain.body.set(bytes, regions[i]?.offset)
  const packed = buffers.flatMap(({ isPacked }, i) => (isPacked ? i : []))
  for (const group of pageGroups(packed, (i) => buffers[i]?.length ?? 0)) {
    const pages = group.map((i): PackedPage => ({ bytes: buffers[i]?.bytes ?? NOTHING.bytes, unpackedBytes: buffers[i]?.length ?? 0 }))
    unpack(pages, codec, file, (unpacked) => {
      let at = 0
      for (const [k, { unpackedBytes }] of pages.entries()) {
        plain.body.set(unpacked.subarray(at, at + unpackedBytes), regions[group[k] ?? 0]?.offset)
        at += unpackedBytes
      }
    })
  }
  return plain.message
}

/** The message in the midst of what the caller writes. */
function placed(message: Uint8Array, { before = 0, behind = 0 }: Around): Uint8Array {
  if (before === 0 && behind === 0) return message
  const whole = new Uint8Array(before + message.length + behind)
  whole.set(message, before)
  return whole
}

function packedOf(stored: Uint8Array, path: string): Packed {
  if (stored.length === 0) return NOTHING
  const bytes = stored.subarray(PREFIX_BYTES)
  const length = Number(new DataView(stored.buffer, stored.byteOffset).getBigInt64(0, true))
  if (length === -1) return { bytes, isPacked: false, length: bytes.length }
  if (!(length >= 0 && length <= LARGEST_BUFFER))
    throw new SourceError(`${path} is damaged: a compressed buffer says that it has ${length} bytes.`, path)
  return length === 0 ? NOTHING : { bytes, isPacked: true, length }
}

interface Columns {
  readonly all: readonly Packed[]
  readonly fields: readonly ArrowField[]
  readonly path: string
}

/** The numbers of the buffers of the columns at `indices`. SourceError where one of these is too short. */
function wantedBuffers(header: BatchHeader, { all, fields, path }: Columns, indices: readonly number[]): ReadonlySet<number> {
  const { length, nodes, variadicBufferCounts } = header
  const layoutWith = (lengthOf: (i: number) => number) => {
    const buffers = all.map((_, i) => ({ offset: 0, length: lengthOf(i) }))
    const layout = layoutOf({ length, nodes, buffers, ...(variadicBufferCounts && { variadicBufferCounts }) }, fields, LARGEST_BUFFER)
    if (layout.kind === 'fault') throw new SourceError(`${path} is damaged: ${layout.what}.`, path)
    return layout
  }
  const wanted = new Set(buffersOf(layoutWith(() => LARGEST_BUFFER).bufferEnds, indices))
  layoutWith((i) => (wanted.has(i) ? (all[i]?.length ?? 0) : LARGEST_BUFFER)) // others need not have been read
  return wanted
}

function unpack(
  pages: readonly PackedPage[],
  { name, parquet: codec, magic }: Codec,
  { path, budgetBytes }: Opened,
  use: (unpacked: Uint8Array) => void,
): void {
  const damaged = (cause?: unknown) =>
    new SourceError(`${path} is damaged: what is compressed with ${name} in it does not unpack.`, path, { cause })
  const begins = ({ bytes }: PackedPage) => bytes.length >= 4 && new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === magic
  if (!pages.every(begins)) throw damaged()
  try {
    const mostBytes = decodeLimits(budgetBytes).slowBytes
    const isDone = withUnpackedPages(pages, { codec, mostBytes }, (unpacked) => {
      use(unpacked)
      return true
    })
    if (isDone === true) return
  } catch (error) {
    if (!(error instanceof WasmFailure)) throw error
    if (error.full) throw tooLarge(path, 'more memory than there is for one')
    throw damaged(error)
  }
  throw new Bug('The decoder unpacked bytes to something else.')
}

function tooLarge(path: string, what: string): SourceError {
  return new SourceError(
    `${path} has a record batch whose columns take, unpacked, ${what}. Write smaller batches, or give the session more memory.`,
    path,
  )
}
