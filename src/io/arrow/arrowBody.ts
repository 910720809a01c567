/**
 * Reads of a record batch the buffers of the columns that are asked for, as a message that has these alone.
 *
 *     body       [a validity][a values][b offsets][b values ....][c values]
 *     for a, c   [a validity][a values]                          [c values]     -->   [a validity][a values][c values]
 *
 * Its header says of all other buffers that they are empty: whoever decodes it does not look at them.
 */
import type { Schema } from 'apache-arrow'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { ByteSource } from '../bytes/source.ts'
import { messageFault } from './arrowHeader.ts'
import { layoutOf } from './arrowLayout.ts'
import { BufferRegion, type DictionaryHeader, Message, RecordBatchHeader } from './arrowLibrary.ts'

const CONTINUATION = 0xffffffff
/** Buffers that this many bytes, or fewer, lie between are read at once. */
const CLOSE_BYTES = 2 ** 14

/** Bytes of a body that are read at once, to the place `to` in the message's own body. */
interface Run {
  readonly start: number
  end: number
  readonly to: number
}

/** The bytes before and behind a message that are the caller's to write. */
export interface Around {
  readonly before?: number
  readonly behind?: number
}

/** The place of a record batch in a file. */
export interface BatchPlace {
  readonly path: string
  /** The message of the schema. */
  readonly schema: Uint8Array
  readonly batch: readonly [start: number, end: number]
  /** The number of bytes at the end of the record batch that are its body. */
  readonly bodyBytes: number
}

/** The message of a record batch with the buffers of the columns at `indices`. */
export async function messageOfColumns(
  bytes: ByteSource,
  { path, schema, batch: [start, end], bodyBytes }: BatchPlace,
  indices: readonly number[],
  around: Around = {},
): Promise<Uint8Array> {
  const bodyStart = end - bodyBytes
  const { header, buffers } = wantedBuffers(await bytes.read(start, bodyStart), { path, schema, bodyBytes, indices })
  const runs: Run[] = []
  const places = new Map<number, number>()
  let total = 0
  for (const i of buffers) {
    const { offset = 0, length = 0 } = header.buffers[i] ?? {}
    let run = runs.at(-1)
    // each buffer is to begin at a multiple of 8, whether or not it does in the file
    if (run === undefined || offset < run.end || offset > run.end + CLOSE_BYTES || (offset - run.start) % 8 !== 0) {
      run = { start: offset, end: offset, to: aligned(total) }
      runs.push(run)
    }
    run.end = offset + length
    total = run.to + run.end - run.start
    places.set(i, run.to + offset - run.start)
  }
  const regions = header.buffers.map(({ length }, i) => new BufferRegion(places.get(i) ?? 0, places.has(i) ? length : 0))
  const own = new RecordBatchHeader(header.length, header.nodes, regions, header.compression, header.variadicBufferCounts)
  const { message, body } = framed(own, aligned(total), around)
  for (const run of runs) {
    const into = body.subarray(run.to, run.to + run.end - run.start)
    const read = await bytes.read(bodyStart + run.start, bodyStart + run.end, into)
    if (read.buffer !== into.buffer || read.byteOffset !== into.byteOffset) into.set(read)
  }
  return message
}

interface Wanted extends Omit<BatchPlace, 'batch'> {
  readonly indices: readonly number[]
}

/** The header of a message, and the numbers of the buffers that have bytes of the columns at `indices`, in the order in which they lie. */
function wantedBuffers(
  head: Uint8Array,
  { path, schema, bodyBytes, indices }: Wanted,
): { readonly header: RecordBatchHeader; readonly buffers: readonly number[] } {
  const damaged = (what: string, cause?: unknown) => new SourceError(`${path} is damaged: ${what}.`, path, { cause })
  const fault = messageFault(head.subarray(headerStart(head)))
  if (fault !== undefined) throw damaged(fault)
  try {
    const header = messageOf(head).header() as RecordBatchHeader // a split is of one
    const layout = layoutOf(header, schemaOf(schema).fields, bodyBytes)
    if (layout.kind === 'fault') throw damaged(layout.what)
    const buffers = buffersOf(layout.bufferEnds, indices).filter((i) => (header.buffers[i]?.length ?? 0) > 0)
    return { header, buffers: buffers.sort((a, b) => (header.buffers[a]?.offset ?? 0) - (header.buffers[b]?.offset ?? 0)) }
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw damaged(isError(error) ? error.message : String(error), error)
  }
}

/** The numbers of the buffers of the columns at `indices`, each once. */
export function buffersOf(bufferEnds: readonly number[], indices: readonly number[]): number[] {
  const wanted = new Set<number>()
  for (const column of indices) {
    const end = bufferEnds[column] ?? 0
    for (let i = bufferEnds[column - 1] ?? 0; i < end; i++) wanted.add(i)
  }
  return [...wanted]
}

/** The schema that a message has. */
export function schemaOf(message: Uint8Array): Schema {
  return messageOf(message).header() as Schema // its header is the schema
}

export function messageOf(bytes: Uint8Array): Message {
  return Message.decode(bytes.subarray(headerStart(bytes), headerEnd(bytes)))
}

function headerStart(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true) === CONTINUATION ? 8 : 4
}

/** The place where the header of a message ends, and its body begins. */
export function headerEnd(bytes: Uint8Array): number {
  const start = headerStart(bytes)
  return start + new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(start - 4, true)
}

/** A message with room for its body. */
export function framed(
  header: RecordBatchHeader | DictionaryHeader,
  bodyBytes: number,
  { before = 0, behind = 0 }: Around = {},
): { readonly message: Uint8Array; readonly body: Uint8Array } {
  const encoded = Message.encode(Message.from(header, bodyBytes))
  const headerBytes = aligned(encoded.length)
  const bodyStart = before + 8 + headerBytes
  const message = new Uint8Array(bodyStart + bodyBytes + behind)
  const view = new DataView(message.buffer)
  view.setUint32(before, CONTINUATION, true)
  view.setUint32(before + 4, headerBytes, true)
  message.set(encoded, before + 8)
  return { message, body: message.subarray(bodyStart, bodyStart + bodyBytes) }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}
