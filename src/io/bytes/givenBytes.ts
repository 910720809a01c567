/**
 * Bytes that a program has instead of a file: buffers, blobs and streams. Readers find them by a name, as files by a path.
 *
 *     buffers    copied into shared memory, where all threads find them; longer ones as streams
 *     blobs      as streams, of which a part may lie on disk itself
 *     streams    read once, now, into a file of the system's folder for such, so that actions can go through it as often as they like
 */
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Access } from '../../core/ports.ts'
import type { GivenBytes } from '../../core/sourceParts.ts'
import { keptFile } from './unpacked.ts'

/** What readers take instead of a path: bytes, or what gives them piece by piece, such as the body of a response or a Node stream. */
export type ByteInput = ArrayBufferLike | ArrayBufferView | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>

/** Longer buffers go to a file: copies that no budget counts stay small. */
const IN_MEMORY_BYTES = 16 * 2 ** 20

export function isByteInput(value: unknown): value is ByteInput {
  if (typeof value !== 'object' || value === null || value instanceof URL) return false
  return isBuffer(value) || value instanceof Blob || isWebStream(value) || Symbol.asyncIterator in value
}

function isBuffer(value: unknown): value is ArrayBufferLike | ArrayBufferView {
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer || ArrayBuffer.isView(value)
}

function isWebStream(value: object): value is ReadableStream<Uint8Array> {
  return 'getReader' in value && 'locked' in value
}

/** The name of an input in messages and plans: that of a file of a browser, or what it is. */
export function nameOfInput(input: ByteInput): string {
  const { name } = input as { readonly name?: unknown }
  if (input instanceof Blob) return typeof name === 'string' && name !== '' ? name.replaceAll(/[/\\:]/g, '_') : 'blob'
  return isBuffer(input) ? 'buffer' : 'stream'
}

/** Puts the bytes where readers find them; streams are read to their end. */
export async function givenBytes(input: ByteInput, name: string, { signal }: Access): Promise<GivenBytes> {
  if (isBuffer(input)) {
    const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)
    if (bytes.length > IN_MEMORY_BYTES) return await keptFile(pieces(bytes), name, signal)
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
    shared.set(bytes)
    return { bytes: shared }
  }
  const stream = input instanceof Blob ? input.stream() : input
  checkUnread(stream, name)
  try {
    return await keptFile(chunksOf(stream, name), name, signal)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof SourceError || error instanceof PlanError) throw error
    throw new SourceError(`${name} cannot be read: ${isError(error) ? error.message : String(error)}.`, name, { cause: error })
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += IN_MEMORY_BYTES) yield bytes.subarray(from, from + IN_MEMORY_BYTES)
}

/** SourceError for a stream that was read, or is being read: streams can be read once. */
function checkUnread(stream: ReadableStream | AsyncIterable<unknown>, name: string): void {
  const { locked, readableDidRead, destroyed } = stream as {
    readonly locked?: boolean
    readonly readableDidRead?: boolean
    readonly destroyed?: boolean
  }
  if (locked === true || readableDidRead === true || destroyed === true)
    throw new SourceError(
      `${name} has been read already, or is being read by somebody else. Give a new one, or the bytes that were read.`,
      name,
    )
}

async function* chunksOf(stream: ReadableStream<Uint8Array> | AsyncIterable<unknown>, name: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream as AsyncIterable<unknown>) {
    if (typeof chunk === 'string') yield Buffer.from(chunk)
    else if (isBuffer(chunk))
      yield ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : new Uint8Array(chunk)
    else throw new PlanError(`A stream of bytes gives Uint8Arrays or texts; ${name} gave ${valueText(chunk)}.`)
  }
}
