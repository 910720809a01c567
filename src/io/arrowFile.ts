/**
 * Arrow IPC files and streams as a source: one split per record batch.
 *
 * A stream is opened by walking the headers of its messages, without the bodies; a file by the index at its end. A
 * split has the schema and remembers where its dictionaries and its record batch are. Reading it puts those messages
 * together as a stream of one record batch.
 */
import { Message, MessageHeader, RecordBatchReader, RecordBatchStreamWriter, type Schema } from 'apache-arrow'
import { type FileBlock, Footer } from 'apache-arrow/ipc/metadata/file'
import type { Batch, Column } from '../core/column.ts'
import { SourceError } from '../core/errors.ts'
import type { ArraySource, ReadSplit, SourceSplit } from '../core/ports.ts'
import { type ElementType, type Field, sameType, typeText } from '../core/schema.ts'
import { batchOfRecordBatch } from './arrowColumns.ts'
import { footerFault, messageFault } from './arrowHeader.ts'
import { columnError, elementOfArrowSchema } from './arrowTypes.ts'
import { type ByteSource, nameOfPath, openBytes } from './byteSource.ts'
import { pathsOf } from './paths.ts'
import { checkReading, type ReadOptions } from './reading.ts'

type Range = readonly [start: number, end: number]
type RowElement = ElementType & { readonly kind: 'row' }

interface ArrowDetail {
  readonly path: string
  readonly stamp: string
  /** The schema message. */
  readonly schema: Uint8Array
  /** The messages of dictionaries and, last, of the record batch. */
  readonly messages: readonly Range[]
}

const MAGIC = 'ARROW1'
const CONTINUATION = 0xffffffff
/** Headers hold a schema or the sizes of buffers: a few KiB, more for thousands of columns. */
const LARGEST_HEADER_BYTES = 64 * 2 ** 20
const END_OF_STREAM = new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])

/** The rows of one or more Arrow IPC files or streams with the same columns. Reads message headers. */
export async function openArrow(source: string | URL | readonly string[], options: ReadOptions = {}): Promise<ArraySource> {
  checkReading('readArrow', options, [])
  const paths = await pathsOf(source)
  let element: RowElement | undefined
  const splits: SourceSplit[] = []
  for (const path of paths) {
    const bytes = await openBytes(path, options)
    try {
      const file = await openOne(bytes, path)
      element = element === undefined ? file.element : agreed(element, paths[0] ?? '', file.element, path)
      splits.push(...file.splits)
    } finally {
      await bytes.close()
    }
  }
  const [first = ''] = paths
  return {
    kind: 'arrow',
    name: paths.length === 1 ? nameOfPath(first) : `${nameOfPath(first)} and ${paths.length - 1} more`,
    element: element ?? { kind: 'row', fields: [] },
    rows: splits.reduce((sum, split) => sum + (split.rows ?? 0), 0),
    splits,
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  }
}

interface Opened {
  readonly element: RowElement
  readonly splits: SourceSplit[]
}

async function openOne(bytes: ByteSource, path: string): Promise<Opened> {
  if (bytes.size === 0) throw new SourceError(`${path} is empty. An Arrow file has at least a schema.`, path)
  const head = await bytes.read(0, Math.min(8, bytes.size))
  return Buffer.from(head).toString('latin1').startsWith(MAGIC) ? openFile(bytes, path) : openStream(bytes, path)
}

/** A file: magic, messages, index, length of the index, magic. */
async function openFile(bytes: ByteSource, path: string): Promise<Opened> {
  const cut = () => new SourceError(`${path} does not end with ARROW1: it was cut, or is still being written.`, path)
  const tailBytes = MAGIC.length + 4
  if (bytes.size < 8 + tailBytes) throw cut()
  const tail = await bytes.read(bytes.size - tailBytes, bytes.size)
  if (Buffer.from(tail.subarray(4)).toString('latin1') !== MAGIC) throw cut()
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true)
  const end = bytes.size - tailBytes
  const damaged = (what: string) => new SourceError(`${path} is damaged: ${what}.`, path)
  if (length > end - 8) throw damaged('its index is longer than the file')
  const blocks: { readonly dictionaries: FileBlock[]; readonly batches: FileBlock[] } = { dictionaries: [], batches: [] }
  let schema: Schema
  const index = await bytes.read(end - length, end)
  const fault = footerFault(index)
  if (fault !== undefined) throw damaged(fault)
  try {
    const footer = Footer.decode(index)
    schema = footer.schema
    blocks.dictionaries.push(...footer.dictionaryBatches())
    blocks.batches.push(...footer.recordBatches())
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw damaged('its index makes no sense')
  }
  const element = elementOfArrowSchema(schema, path)
  const message = schemaMessage(schema)
  const rangeOf = async (block: FileBlock) => {
    if (!(block.offset >= 8 && block.offset + 8 <= end)) throw damaged('its index points outside')
    const found = await messageAt(bytes, block.offset, path, false)
    if (found === undefined) throw damaged('its index points to no message')
    return { message: found.message, range: [block.offset, found.end] as const }
  }
  const dictionaries: Range[] = []
  for (const block of blocks.dictionaries) dictionaries.push((await rangeOf(block)).range)
  const splits: SourceSplit[] = []
  for (const block of blocks.batches) {
    const { message: batch, range } = await rangeOf(block)
    splits.push(...splitOf(path, bytes, message, batch, [...dictionaries, range]))
  }
  return { element, splits }
}

async function openStream(bytes: ByteSource, path: string): Promise<Opened> {
  const none = () => new SourceError(`${path} is not an Arrow file or stream: it does not begin with a schema.`, path)
  const splits: SourceSplit[] = []
  const dictionaries: Range[] = []
  let schema: Uint8Array | undefined
  let element: RowElement | undefined
  let at = 0
  while (at + 4 <= bytes.size) {
    const found = await messageAt(bytes, at, path, element === undefined)
    if (found === undefined) break
    const { message, end } = found
    const range: Range = [at, end]
    at = end
    if (message.headerType === MessageHeader.Schema) {
      if (element !== undefined) throw new SourceError(`${path} has a second schema at byte ${range[0]}: it is damaged.`, path)
      schema = await bytes.read(...range)
      // the header of a schema message is the schema
      element = elementOfArrowSchema(message.header() as Schema, path)
    } else if (schema === undefined) throw none()
    else if (message.headerType === MessageHeader.DictionaryBatch) dictionaries.push(range)
    else if (message.headerType === MessageHeader.RecordBatch)
      splits.push(...splitOf(path, bytes, schema, message, [...dictionaries, range]))
  }
  if (element === undefined) throw none()
  return { element, splits }
}

function splitOf(path: string, bytes: ByteSource, schema: Uint8Array, message: Message, messages: readonly Range[]): SourceSplit[] {
  if (message.headerType !== MessageHeader.RecordBatch)
    throw new SourceError(`${path} is damaged: its index does not point to a record batch.`, path)
  const { length, compression } = message.header() as { length: number; compression?: unknown }
  if (compression !== null && compression !== undefined) {
    throw new SourceError(`${path} has compressed record batches, which are not read. Write it without compression.`, path)
  }
  const rows = Number(length)
  if (rows === 0) return []
  const detail: ArrowDetail = { path, stamp: bytes.stamp, schema, messages }
  return [{ rows, bytes: messages.reduce((sum, [start, end]) => sum + end - start, 0), detail }]
}

function schemaMessage(schema: Schema): Uint8Array {
  const writer = new RecordBatchStreamWriter({ autoDestroy: false })
  writer.reset(undefined, schema)
  writer.finish()
  const stream = writer.toUint8Array(true)
  return stream.subarray(0, stream.length - END_OF_STREAM.length)
}

/** The message at a position and where its body ends; undefined at the end of the stream. */
async function messageAt(
  bytes: ByteSource,
  at: number,
  path: string,
  first: boolean,
): Promise<{ message: Message; end: number } | undefined> {
  const damaged = (what: string) =>
    first
      ? new SourceError(`${path} is not an Arrow file or stream: it does not begin with a schema.`, path)
      : new SourceError(`${path} is damaged or was cut: ${what} at byte ${at}.`, path)
  const prefix = await bytes.read(at, Math.min(bytes.size, at + 8))
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength)
  const marked = view.getUint32(0, true) === CONTINUATION
  if (marked && prefix.length < 8) throw damaged('a message has no length')
  const length = view.getUint32(marked ? 4 : 0, true)
  if (length === 0) return undefined
  const start = at + (marked ? 8 : 4)
  if (length > LARGEST_HEADER_BYTES || start + length > bytes.size) throw damaged('a message header goes beyond the end of the file')
  let message: Message
  let bodyLength: number
  const header = await bytes.read(start, start + length)
  const fault = messageFault(header)
  if (fault !== undefined) throw damaged(fault)
  try {
    message = Message.decode(header)
    bodyLength = Number(message.bodyLength)
    message.header()
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw damaged('a message header makes no sense')
  }
  if (!Number.isSafeInteger(bodyLength) || bodyLength < 0 || start + length + bodyLength > bytes.size)
    throw damaged('the body of a message goes beyond the end of the file')
  return { message, end: start + length + bodyLength }
}

function agreed(known: RowElement, firstPath: string, other: RowElement, path: string): RowElement {
  if (known.fields.length !== other.fields.length) {
    throw new SourceError(
      `${path} has ${other.fields.length} columns, and ${firstPath} has ${known.fields.length}. Files read together need the same columns.`,
      path,
    )
  }
  const fields = known.fields.map((field, i): Field => {
    const match = other.fields[i]
    if (match === undefined || match.name !== field.name) {
      throw new SourceError(
        `Column ${i + 1} is "${match?.name}" in ${path} and "${field.name}" in ${firstPath}. Files read together need the same columns.`,
        path,
      )
    }
    if (!sameType(match.type, field.type)) {
      throw new SourceError(
        `Column "${field.name}" is ${typeText(match.type)} in ${path} and ${typeText(field.type)} in ${firstPath}. Files read together need the same types.`,
        path,
      )
    }
    return { ...field, nullable: field.nullable || match.nullable }
  })
  return { kind: 'row', fields }
}

export const readArrowSplit: ReadSplit = async (source, split, columns, _predicate, access) => {
  const { path, stamp, schema, messages } = split.detail as ArrowDetail // made by `splitOf`
  const known = source.element.kind === 'row' ? source.element.fields : []
  const fields = columns.map(
    (name) => known.find((field) => field.name === name) ?? { name, type: { kind: 'null' as const }, nullable: true },
  )
  const element: RowElement = { kind: 'row', fields }
  const bytes = await openBytes(path, access)
  try {
    if (bytes.stamp !== stamp) throw new SourceError(`${path} changed since it was opened. Open it again.`, path)
    const parts = await Promise.all(messages.map(([start, end]) => bytes.read(start, end)))
    return [decode(Buffer.concat([schema, ...parts, END_OF_STREAM]), element, split.rows ?? 0, path)]
  } finally {
    await bytes.close()
  }
}

function decode(stream: Uint8Array, element: RowElement, rows: number, path: string): Batch {
  // Buffers inside must be aligned to 8 bytes, which pieces of a pooled Buffer need not be.
  const aligned = new Uint8Array(stream.length)
  aligned.set(stream)
  try {
    const [batch] = [...RecordBatchReader.from(aligned)]
    if (batch === undefined || batch.numRows !== rows)
      throw new SourceError(`${path} is damaged: a record batch has ${batch?.numRows ?? 0} rows instead of ${rows}.`, path)
    const read = batchOfRecordBatch(batch, element, path)
    for (const [i, column] of read.columns.entries()) checkColumn(column, rows, { source: path, column: element.fields[i]?.name ?? '' })
    return read
  } catch (error) {
    if (error instanceof SourceError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    if (/codec|compress/i.test(reason)) {
      throw new SourceError(`${path} has compressed record batches, which are not read. Write it without compression.`, path, {
        cause: error,
      })
    }
    throw new SourceError(`${path} is damaged: ${reason}.`, path, { cause: error })
  }
}

/** Buffers of an untrusted file may be shorter than the length, and offsets may point anywhere. */
function checkColumn(column: Column, length: number, place: { readonly source: string; readonly column: string }): void {
  const damaged = (what: string) => columnError(place, `${what}: the file is damaged.`)
  if (column.length !== length) throw damaged(`it has ${column.length} values instead of ${length}`)
  if (column.validity !== undefined && column.validity.length * 8 < length) throw damaged('its null bitmap is too short')
  const { offsets, values, children } = column
  if (offsets !== undefined) {
    if (offsets.length !== length + 1) throw damaged('its offsets are too short')
    const limit = children?.[0]?.length ?? values?.length ?? 0
    for (let i = 0; i < length; i++) if ((offsets[i] ?? 0) > (offsets[i + 1] ?? 0)) throw damaged('its offsets go backwards')
    if ((offsets[0] ?? 0) < 0 || (offsets[length] ?? 0) > limit) throw damaged('its offsets point outside')
    for (const child of children ?? []) checkColumn(child, child.length, place)
  } else {
    if (values !== undefined && values.length < length) throw damaged('its values are too short')
    for (const child of children ?? []) checkColumn(child, length, place)
  }
}
