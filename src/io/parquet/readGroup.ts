/**
 * Reads columns of one row group: fetch, check, decode, convert.
 */
import { crc32 } from 'node:zlib'
import { Field as ArrowField, RecordBatchStreamWriter, Schema, type Table, tableFromIPC } from 'apache-arrow'
import type { Batch, Column } from '../../core/column.ts'
import { Bug, SourceError } from '../../core/errors.ts'
import type { ArraySource, SourceSplit } from '../../core/ports.ts'
import type { ColumnType, Field } from '../../core/schema.ts'
import { columnOfVector } from '../arrowColumns.ts'
import { arrowTypeOf, columnError, type Place } from '../arrowTypes.ts'
import { type ByteSource, openBytes } from '../byteSource.ts'
import { changedColumn } from './annotations.ts'
import type { ChunkDetail, ColumnDetail, FileDetail, GroupDetail } from './describe.ts'
import { checkPages } from './pages.ts'
import { type GroupPart, singleGroupFile } from './singleGroup.ts'
import { ThriftReader } from './thrift.ts'
import { WasmFailure, withParquetWasm } from './wasm.ts'

/** Columns above this are decoded one at a time, so that the decoder's memory holds them. */
const TOGETHER_BYTES = 256 * 2 ** 20
/** One column of one row group: the decoder has 4 GiB for it in several forms, and so has this process. */
const LARGEST_COLUMN_BYTES = 2 ** 29
/** Some old writers leave the dictionary page's header out of a chunk's size. */
const SLACK_BYTES = 128

/** The batches of one row group, in row order: one unless a string column needs more. */
export async function readParquetSplit(_source: ArraySource, split: SourceSplit, columns: readonly string[]): Promise<readonly Batch[]> {
  const detail = split.detail as GroupDetail // made by `splitsOf`
  const { file, rows } = detail
  const fields = columns.map((name): Field => {
    const column = file.columns[name]
    if (column === undefined) throw new Bug(`The column "${name}" of ${file.path} was not opened.`)
    return { name, type: column.type, nullable: column.nullable }
  })
  const element = { kind: 'row' as const, fields }
  if (columns.length === 0) return [{ element, length: rows, columns: [] }]
  const bytes = await openBytes(file.path)
  try {
    if (bytes.stamp !== file.stamp) throw new SourceError(`${file.path} changed since it was opened. Open it again.`, file.path)
    const parts = new Map<string, GroupPart>()
    const decoded: Column[] = []
    let size = 0
    const flush = (): void => {
      if (parts.size > 0) decoded.push(...decode(file, parts, rows))
      parts.clear()
      size = 0
    }
    for (const name of columns) {
      const column = file.columns[name] as ColumnDetail // checked above
      const { part, decodedBytes } = await partOf(bytes, file, name, column, detail)
      if (column.int96 !== undefined || (size > 0 && size + decodedBytes > TOGETHER_BYTES)) flush()
      parts.set(name, part)
      size += decodedBytes
      if (column.int96 !== undefined) flush() // alone, as it is decoded twice
    }
    flush()
    return [{ element, length: rows, columns: decoded }]
  } finally {
    await bytes.close()
  }
}

async function partOf(
  bytes: ByteSource,
  file: FileDetail,
  name: string,
  column: ColumnDetail,
  group: GroupDetail,
): Promise<{ part: GroupPart; decodedBytes: number }> {
  const place = { source: file.path, column: name }
  let decodedBytes = 0
  const chunks: GroupPart['chunks'][number][] = []
  for (const chunk of group.chunks[name] ?? []) {
    const read = await readChunk(bytes, chunk, place)
    const pages = checkPages(read, chunk.codec, chunk.values, place)
    const size = Math.max(pages.uncompressedBytes, chunk.values * 8)
    if (size > LARGEST_COLUMN_BYTES) {
      throw columnError(
        place,
        `row group ${group.group} holds about ${size} bytes of it, and at most ${LARGEST_COLUMN_BYTES} are read at once. Write the file with smaller row groups.`,
      )
    }
    decodedBytes += size
    chunks.push({ meta: new ThriftReader(chunk.meta).struct(), bytes: read.subarray(0, pages.usedBytes) })
  }
  return { part: { elements: column.elements.map((element) => new ThriftReader(element).struct()), chunks }, decodedBytes }
}

async function readChunk(bytes: ByteSource, chunk: ChunkDetail, place: Place): Promise<Uint8Array> {
  if (chunk.checksum === undefined) return bytes.read(chunk.start, Math.min(chunk.start + chunk.bytes + SLACK_BYTES, bytes.size))
  const read = await bytes.read(chunk.start, chunk.start + chunk.bytes)
  if (crc32(read) !== chunk.checksum) throw columnError(place, 'the checksum does not match: the file is damaged.')
  return read
}

function decode(file: FileDetail, parts: ReadonlyMap<string, GroupPart>, rows: number): Column[] {
  const names = [...parts.keys()]
  const [int96] = names.flatMap((name) => file.columns[name]?.int96 ?? [])
  const hint = int96 === undefined ? undefined : int96Hint(names[0] ?? '', int96)
  const table = decodeTable(file, parts, rows, hint)
  const exact = hint === undefined ? undefined : decodeTable(file, parts, rows, undefined)
  return names.map((name, i): Column => {
    const place = { source: file.path, column: name }
    const vector = table.getChildAt(i)
    if (vector === null || vector.length !== rows)
      throw columnError(place, `${vector?.length ?? 0} rows were decoded instead of ${rows}: the file is damaged.`)
    const column = columnOfVector(vector, place)
    const nanoseconds = exact?.getChildAt(i)
    if (nanoseconds != null) checkInt96(column, columnOfVector(nanoseconds, place), place)
    return changedColumn(column, file.columns[name]?.changes ?? [], place)
  })
}

function decodeTable(file: FileDetail, parts: ReadonlyMap<string, GroupPart>, rows: number, hint: string | undefined): Table {
  const bytes = singleGroupFile([...parts.values()], rows, hint === undefined ? {} : { 'ARROW:schema': hint })
  try {
    return tableFromIPC(withParquetWasm((wasm) => wasm.readParquet(bytes, { batchSize: rows }).intoIPCStream()))
  } catch (error) {
    if (!(error instanceof WasmFailure)) throw error
    if (parts.size > 1) {
      // Which column it is: the one that fails alone.
      for (const [name, part] of parts) decodeTable(file, new Map([[name, part]]), rows, undefined)
    }
    const [name] = parts.keys()
    throw columnError({ source: file.path, column: name ?? '' }, `it cannot be decoded: ${error.message}.`, error)
  }
}

/** An Arrow schema that asks the decoder for microseconds, in the form Parquet files carry it. */
function int96Hint(name: string, type: ColumnType): string {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, new Schema([new ArrowField(name, arrowTypeOf(type, name), true)]))
  writer.finish()
  return Buffer.from(writer.toUint8Array(true)).toString('base64')
}

/** INT96 has nanoseconds; digits that microseconds would lose are refused. Both readings wrap alike at 64 bits. */
function checkInt96(micros: Column, nanos: Column, place: Place): void {
  const a = leavesOf(micros)
  const b = leavesOf(nanos)
  a.forEach((leaf, i) => {
    const other = b[i]
    if (leaf.type.kind !== 'timestamp' || other?.type.kind !== 'timestamp' || other.type.unit !== 'ns') return
    const us = leaf.values as BigInt64Array
    const ns = other.values as BigInt64Array
    for (let row = 0; row < leaf.length; row++) {
      if (BigInt.asIntN(64, (us[row] ?? 0n) * 1000n) !== ns[row]) {
        throw columnError(
          place,
          `the INT96 timestamp at value ${row} has nanoseconds, and INT96 is read as microseconds. Write the column as TIMESTAMP(NANOS).`,
        )
      }
    }
  })
}

function leavesOf(column: Column): Column[] {
  if (column.type.kind !== 'list' && column.type.kind !== 'struct') return [column]
  return (column.children ?? []).flatMap(leavesOf)
}
