/**
 * Arrow IPC files and streams as a source: one split per record batch.
 *
 * A stream is opened by walking the headers of its messages, without the bodies; a file by the index at its end. A
 * split has the schema and remembers where its dictionaries and its record batch are. Reading it puts those messages
 * together as a stream of one record batch.
 */

import type { Schema } from 'apache-arrow'
import type { FileBlock } from 'apache-arrow/ipc/metadata/file'
import { checkOneOf } from '../../core/arguments.ts'
import type { Batch, Column } from '../../core/data/column.ts'
import { agreedType, type Field, typeText } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { Access, ReadSplit } from '../../core/ports.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { openBytes } from '../bytes/byteSource.ts'
import { checkForm } from '../bytes/fileForms.ts'
import { filesOf } from '../bytes/paths.ts'
import type { ByteSource } from '../bytes/source.ts'
import { checkExpected, type ExpectOptions } from '../expected.ts'
import { fileType, INT64_OPTIONS, type Int64, readColumn, readElement } from '../int64.ts'
import { loadParquet } from '../parquet/parquetLibrary.ts'
import { type PartitionOptions, withPartitions } from '../partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from '../reading.ts'
import { type Around, messageOfColumns, schemaOf } from './arrowBody.ts'
import { checkColumn, type Room } from './arrowChecks.ts'
import { batchOfRecordBatch } from './arrowColumns.ts'
import { footerFault, headerFaultText, messageFault } from './arrowHeader.ts'
import { dictionariesOf } from './arrowLayout.ts'
import { Footer, Message, MessageHeader, RecordBatchReader, RecordBatchStreamWriter } from './arrowLibrary.ts'
import { type ArrowDetail, type Found, Messages, type RowElement } from './arrowMessages.ts'
import { plainMessage } from './arrowPacked.ts'

const MAGIC = 'ARROW1'
const CONTINUATION = 0xffffffff
/** Headers hold a schema or the sizes of buffers: a few KiB, more for thousands of columns. */
const LARGEST_HEADER_BYTES = 64 * 2 ** 20
/** Bytes that, with half of the session's memory, values of a batch may take: views and dictionaries name the same bytes many times. */
const ROOM_BYTES = 64 * 2 ** 20
const END_OF_STREAM = new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])

export interface ArrowOptions extends ReadOptions, PartitionOptions, ExpectOptions {
  /** 64-bit integers are read as numbers, and one beyond ±2^53 is refused, unless this is 'bigint'. */
  readonly int64?: Int64
}

/**
 * The rows of one or more Arrow IPC files or streams with the same columns. Reads message headers. What views and
 * dictionaries may take when each value is written out follows from the budget of the session that reads.
 */
export async function openArrow(
  source: FileSource,
  options: ArrowOptions = {},
  budgetBytes: number = Number.POSITIVE_INFINITY,
): Promise<ArraySource> {
  checkReading('readArrow', options, ['int64', 'partitions', 'expect'])
  const { int64 = 'number' } = options
  checkOneOf('The int64 of readArrow()', int64, INT64_OPTIONS)
  const named = await filesOf(source, options)
  const access = { ...options, given: named.given }
  const { paths, name } = named
  let element: RowElement | undefined
  const splits: SourceSplit[] = []
  for (const [i, path] of paths.entries()) {
    const bytes = await openBytes(path, access)
    try {
      const file = await openOne(bytes, path, budgetBytes)
      if (file.isPacked) await loadParquet() // whose codecs these are
      element = element === undefined ? file.element : agreed(element, paths[0] ?? '', file.element, path)
      splits.push(...file.splits.map((split) => ({ ...split, file: i })))
    } finally {
      await bytes.close()
    }
  }
  const files: ArraySource = {
    kind: 'arrow',
    name,
    element: readElement(element ?? { kind: 'row', fields: [] }, int64),
    rows: splits.reduce((sum, split) => sum + (split.rows ?? 0), 0),
    splits,
    ...requestsOf(access, paths),
  }
  return checkExpected(withPartitions(files, named, options), options)
}

interface Opened {
  readonly element: RowElement
  readonly splits: readonly SourceSplit[]
  readonly notes: ReadonlyMap<string, string>
  /** Whether some of its messages are compressed. */
  readonly isPacked: boolean
}

/** Opens one file that save() may have written, with its integers as they are, and with the metadata of its schema. */
export async function openArrowFile(
  path: string,
  options: ReadOptions & Pick<Access, 'given'>,
  budgetBytes: number,
): Promise<{ readonly source: ArraySource; readonly notes: ReadonlyMap<string, string> }> {
  const bytes = await openBytes(path, options)
  try {
    const head = await bytes.read(0, Math.min(MAGIC.length, bytes.size))
    if (Buffer.from(head).toString('latin1') !== MAGIC) {
      await checkForm(bytes, path, 'load')
      throw new SourceError(`${path} is no array that save() wrote: it does not begin with ${MAGIC}.`, path)
    }
    const { element, splits, notes, isPacked } = await openFile(bytes, path, budgetBytes)
    if (isPacked) await loadParquet()
    const rows = splits.reduce((sum, split) => sum + (split.rows ?? 0), 0)
    return { source: { kind: 'arrow', name: path, element, rows, splits, ...requestsOf(options, [path]) }, notes }
  } finally {
    await bytes.close()
  }
}

async function openOne(bytes: ByteSource, path: string, budgetBytes: number): Promise<Opened> {
  if (bytes.size === 0) throw new SourceError(`${path} is empty. An Arrow file has at least a schema.`, path)
  const head = await bytes.read(0, Math.min(8, bytes.size))
  if (Buffer.from(head).toString('latin1').startsWith(MAGIC)) return await openFile(bytes, path, budgetBytes)
  await checkForm(bytes, path, 'readArrow')
  return await openStream(bytes, path, budgetBytes)
}

/** A file: magic, messages, index, length of the index, magic. */
async function openFile(bytes: ByteSource, path: string, budgetBytes: number): Promise<Opened> {
  const cut = () => new SourceError(`${path} does not end with ARROW1: it was cut, or is still being written.`, path)
  const tailBytes = MAGIC.length + 4
  if (bytes.size < 8 + tailBytes) throw cut()
  const tail = await bytes.read(bytes.size - tailBytes, bytes.size)
  if (Buffer.from(tail.subarray(4)).toString('latin1') !== MAGIC) throw cut()
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true)
  const end = bytes.size - tailBytes
  const damaged = (what: string) => new SourceError(headerFaultText(path, what), path)
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
  const messages = new Messages({ path, stamp: bytes.stamp, size: bytes.size, schema, message: schemaMessage(schema), budgetBytes })
  const foundAt = async (block: FileBlock): Promise<Found> => {
    if (!(block.offset >= 8 && block.offset + 8 <= end)) throw damaged('its index points outside')
    const found = await messageAt(bytes, block.offset, path, false)
    if (found === undefined) throw damaged('its index points to no message')
    return found
  }
  const claimed = { dictionaries: 0, batches: 0 }
  for (const kind of ['dictionaries', 'batches'] as const) {
    for (const block of blocks[kind]) {
      const found = await foundAt(block)
      claimed[kind] += found.end - found.start
      if (claimed[kind] > bytes.size) throw damaged('its index points to the same bytes again and again')
      messages.add(found)
      const expected = kind === 'batches' ? MessageHeader.RecordBatch : MessageHeader.DictionaryBatch
      if (found.message.headerType !== expected)
        throw damaged(`its index does not point to a ${kind === 'batches' ? 'record batch' : 'dictionary'}`)
    }
  }
  return messages
}

async function openStream(bytes: ByteSource, path: string, budgetBytes: number): Promise<Opened> {
  const none = () => new SourceError(`${path} is not an Arrow file or stream: it does not begin with a schema.`, path)
  let messages: Messages | undefined
  let at = 0
  while (at + 4 <= bytes.size) {
    const found = await messageAt(bytes, at, path, messages === undefined)
    if (found === undefined) break
    at = found.end
    if (found.message.headerType === MessageHeader.Schema) {
      if (messages !== undefined) throw new SourceError(`${path} has a second schema at byte ${found.start}: it is damaged.`, path)
      const message = await bytes.read(found.start, found.end)
      // the header of a schema message is the schema
      const schema = found.message.header() as Schema
      messages = new Messages({ path, stamp: bytes.stamp, size: bytes.size, schema, message, budgetBytes })
    } else if (messages === undefined) throw none()
    else messages.add(found)
  }
  if (messages === undefined) throw none()
  return messages
}

function schemaMessage(schema: Schema): Uint8Array {
  const writer = new RecordBatchStreamWriter({ autoDestroy: false })
  writer.reset(undefined, schema)
  writer.finish()
  const stream = writer.toUint8Array(true)
  return stream.subarray(0, stream.length - END_OF_STREAM.length)
}

/** The message at a position and where its body ends; undefined at the end of the stream. */
async function messageAt(bytes: ByteSource, at: number, path: string, first: boolean): Promise<Found | undefined> {
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
  if (fault !== undefined) throw marked ? new SourceError(headerFaultText(path, fault, ` at byte ${at}`), path) : damaged(fault)
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
  return { message, start: at, end: start + length + bodyLength, bodyBytes: bodyLength }
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
    const type = agreedType(field.type, match.type)
    if (type === undefined) {
      throw new SourceError(
        `Column "${field.name}" is ${typeText(match.type)} in ${path} and ${typeText(field.type)} in ${firstPath}. Files read together need the same types.`,
        path,
      )
    }
    return { ...field, type, nullable: field.nullable || match.nullable }
  })
  return { kind: 'row', fields }
}

export const readArrowSplit: ReadSplit = async (source, split, columns, _predicate, access) => {
  const detail = split.detail as ArrowDetail // made by `Messages`
  const { path, stamp, firstRow, budgetBytes } = detail
  const all = source.element.kind === 'row' ? source.element.fields : []
  const positions = new Map(all.map((field, i) => [field.name, i]))
  // by position: the name that a message has for a column without one is not what it is called
  const indices = columns.map((name) => positions.get(name) ?? -1)
  const fields = columns.map((name, i) => all[indices[i] ?? -1] ?? { name, type: { kind: 'null' as const }, nullable: true })
  const element: RowElement = { kind: 'row', fields }
  const inFile: RowElement = { kind: 'row', fields: fields.map((field) => ({ ...field, type: fileType(field.type) })) }
  const bytes = await openBytes(path, access)
  try {
    if (bytes.stamp !== stamp) throw new SourceError(`${path} changed since it was opened. Open it again.`, path)
    const stream = await streamOf(bytes, detail, indices)
    const room: Room = { left: ROOM_BYTES + budgetBytes / 2 }
    const { length, columns: found } = decode(stream, { element: inFile, rows: split.rows ?? 0, path, indices, room })
    const read = fields.map(({ name, type }, i) => readColumn(found[i] as Column, type, { source: path, column: name }, firstRow)) // a column for each field
    return [{ element, length, columns: read }]
  } finally {
    await bytes.close()
  }
}

/** A stream of the schema, and of the columns at `indices` the dictionaries and the record batch, in memory of its own, aligned to 8 bytes: what is decoded from it are views. */
async function streamOf(bytes: ByteSource, detail: ArrowDetail, indices: readonly number[]): Promise<Uint8Array> {
  const { path, schema, dictionaries, budgetBytes, isPacked } = detail
  const wanted = dictionaries.length === 0 ? new Set<number>() : dictionariesOf(schemaOf(schema), indices)
  const read = await Promise.all(dictionaries.flatMap(({ id, start, end }) => (wanted.has(id) ? bytes.read(start, end) : [])))
  const plain = (message: Uint8Array, around?: Around) => plainMessage(message, { path, schema, budgetBytes }, indices, around)
  const heads = [schema, ...(isPacked ? read.map((message) => plain(message)) : read)]
  const around = { before: heads.reduce((sum, { length }) => sum + length, 0), behind: END_OF_STREAM.length }
  const stream = isPacked
    ? plain(await messageOfColumns(bytes, detail, indices), around)
    : await messageOfColumns(bytes, detail, indices, around)
  let at = 0
  for (const head of heads) {
    stream.set(head, at)
    at += head.length
  }
  stream.set(END_OF_STREAM, stream.length - END_OF_STREAM.length)
  return stream
}

interface Decoding {
  readonly element: RowElement
  readonly rows: number
  readonly path: string
  readonly indices: readonly number[]
  readonly room: Room
}

function decode(stream: Uint8Array, { element, rows, path, indices, room }: Decoding): Batch {
  try {
    const [batch] = [...RecordBatchReader.from(stream)]
    if (batch === undefined || batch.numRows !== rows)
      throw new SourceError(`${path} is damaged: a record batch has ${batch?.numRows ?? 0} rows instead of ${rows}.`, path)
    const read = batchOfRecordBatch(batch, element, path, { room, indices })
    for (const [i, column] of read.columns.entries()) checkColumn(column, rows, { source: path, column: element.fields[i]?.name ?? '' })
    return read
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw new SourceError(`${path} is damaged: ${isError(error) ? error.message : String(error)}.`, path, { cause: error })
  }
}
