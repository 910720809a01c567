/**
 * Reads columns of one row group: fetch, check, decode.
 */
import { crc32 } from 'node:zlib'
import type { Batch, Column } from '../../core/data/column.ts'
import { sliceColumn } from '../../core/data/columnSlices.ts'
import type { ColumnType, Field } from '../../core/data/schema.ts'
import { Bug, SourceError } from '../../core/errors.ts'
import type { Access, ReadSplit, TextNumbers } from '../../core/ports.ts'
import { columnError, type Place } from '../arrow/arrowTypes.ts'
import { checkSame, openSame } from '../bytes/byteSource.ts'
import { type Range, RangeReads } from '../bytes/rangeReads.ts'
import type { ByteSource } from '../bytes/source.ts'
import { readColumn } from '../int64.ts'
import { bytesOfColumn } from '../regroup.ts'
import { columnsAtRows } from './columnsAtRows.ts'
import { decodeColumns, fitTogether } from './decode.ts'
import type { ChunkDetail, ColumnDetail, FileDetail, GroupColumn, GroupDetail, LeafDetail } from './describe.ts'
import { leafColumns, together } from './leafColumns.ts'
import type { ReadyColumn } from './nativeColumns.ts'
import { mayBeNumbered, numberedTexts, SNAPPY } from './numberedTexts.ts'
import { decodedSpans, spansOf } from './pageIndex/spans.ts'
import { checkPages, type Page } from './pages.ts'
import type { GroupPart } from './singleGroup.ts'

/** Some old writers leave the dictionary page's header out of a chunk's size. */
const SLACK_BYTES = 128

/** Reads one row group as one batch. */
export const readParquetSplit: ReadSplit = async (_source, split, columns, _predicate, access): Promise<readonly Batch[]> => {
  const group = split.detail as GroupDetail // made by `splitsOf`
  const { file, rows } = group
  const known = columns.map((name, number): PlannedColumn => {
    const column = split.columns?.get(name) as GroupColumn | undefined // made by `splitsOf`
    if (column === undefined) throw new Bug(`The column "${name}" of ${file.path} was not opened.`)
    return plannedColumn({ ...column, name, number }, access)
  })
  const fields = known.map(({ name, type, column: { nullable } }): Field => ({ name, type, nullable }))
  const element = { kind: 'row' as const, fields }
  const wanted = access?.rows
  const { part = { from: 0, to: rows } } = group
  const length = wanted?.length ?? part.to - part.from
  if (wanted !== undefined && group.part !== undefined)
    throw new Bug(`Rows of a part of row group ${group.group} of ${file.path} were asked for.`)
  if (columns.length === 0) {
    if (group.group === 0) await checkSame(file, access) // once for all of its row groups
    return [{ element, length, columns: [] }]
  }
  const bytes = await openSame(file, access)
  try {
    const read: (Column | undefined)[] = []
    for (const column of known) {
      const numbers = group.part === undefined ? access?.numbered?.(column.number) : undefined
      read.push(numbers && (await numberedColumn(bytes, column, { group, access, numbers })))
    }
    const left = known.filter(({ number }) => read[number] === undefined)
    const parts = left.flatMap((column) => column.parts)
    const decoded = parts.length === 0 ? [] : await decodedRows(bytes, parts, group, access)
    let at = 0
    for (const { name, number, type, parts: own } of left) {
      const from = at
      at += own.length
      read[number] = own.length > 1 ? together(type, decoded.slice(from, at), { source: file.path, column: name }) : decoded[from]
    }
    return [{ element, length, columns: read as Column[] }] // each came as numbers or was left
  } finally {
    await bytes.close()
  }
}

interface WantedColumn extends GroupColumn {
  readonly name: string
  /** Its number among the columns that are read. */
  readonly number: number
  /** For a field of a struct: its number among those that are read of the column. */
  readonly within?: number
}

interface PlannedColumn extends WantedColumn {
  /** The parts that are decoded one by one: the fields of a struct that are wanted, or the column itself. */
  readonly parts: readonly WantedColumn[]
  /** The type of what is read. */
  readonly type: ColumnType
}

function plannedColumn(column: WantedColumn, access: Access | undefined): PlannedColumn {
  const { type } = column.column
  const wanted = access?.narrowed?.(column.number) ?? type
  const leaves = access?.rows === undefined ? leafColumns(column, wanted) : undefined
  if (leaves === undefined) return { ...column, parts: [column], type }
  return { ...column, parts: leaves.map((leaf) => ({ ...column, ...leaf })), type: wanted }
}

interface NumberedReading {
  readonly group: GroupDetail
  readonly access: Access | undefined
  readonly numbers: TextNumbers
}

/** A column that has the numbers of its texts; undefined where its pages do not allow it. */
async function numberedColumn(
  bytes: ByteSource,
  { column: detail, chunks: [chunk], name, number }: WantedColumn,
  { group: { file, rows }, access, numbers }: NumberedReading,
): Promise<Column | undefined> {
  const [out, kernels] = [access?.into?.(number), access?.pages]
  if (chunk === undefined || out?.length !== rows || kernels === undefined || !mayBeNumbered(detail, chunk.codec)) return undefined
  const range = rangeOf(chunk, bytes.size)
  const place = { source: file.path, column: name }
  const most = file.limits.columnBytes
  if (Math.max(chunk.bytes, chunk.values * 8) > most) return undefined
  const read = checked(await bytes.read(range.start, range.end, access?.packed?.bytes(range.end - range.start)), chunk, place)
  const { pages, uncompressedBytes } = checkPages(read, chunk.codec, chunk.values, place)
  const isNumbered = uncompressedBytes <= most && numberedTexts({ detail, codec: chunk.codec, pages }, { numbers, kernels, out })
  return isNumbered ? { type: detail.type, length: rows, values: out } : undefined
}

/** Fetches and decodes columns of a row group, or of the part of it that is wanted. */
async function decodedRows(
  bytes: ByteSource,
  columns: readonly WantedColumn[],
  group: GroupDetail,
  access: Access | undefined,
): Promise<readonly Column[]> {
  const { part, rows } = group
  if (part === undefined) return await decodedGroup(bytes, columns, group, access)
  try {
    return await decodedSpans(await spansOf(bytes, columns, { part, rows }), part, (own, { from, to }) => {
      const isExact = from === part.from && to === part.to
      const covered = { ...group, firstRow: group.firstRow + from, rows: to - from }
      return decodedGroup(bytes, own, covered, isExact ? access : { ...access, into: undefined })
    })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    // where pages are not what their index says, those of the whole row group are read, or say what is wrong
    const whole = await decodedGroup(bytes, columns, group, { ...access, into: undefined })
    return whole.map((column) => sliceColumn(column, part.from, part.to))
  }
}

/** Fetches and decodes columns of a row group. */
async function decodedGroup(
  bytes: ByteSource,
  columns: readonly WantedColumn[],
  group: GroupDetail,
  access: Access | undefined,
): Promise<readonly Column[]> {
  const { file, rows } = group
  const wanted = access?.rows
  const chunks = columns.map(({ chunks }) => chunks.map((chunk) => rangeOf(chunk, bytes.size)))
  const ranges = chunks.flat()
  const isForKernels = access?.packed !== undefined && ranges.every(({ chunk }) => chunk.codec <= SNAPPY)
  const all = ranges.flatMap((range): readonly Range[] =>
    range.chunk.dictionary === undefined ? [range] : [range.chunk.dictionary, range],
  )
  const reads = new RangeReads(bytes, all, { scratch: isForKernels ? access.packed : access?.scratch })
  const decoded: Column[] = []
  let decodedBytes = 0
  let waiting: ReadyColumn[] = []
  let waitingBytes = 0
  const flush = (): void => {
    const first = decoded.length
    const placeOf = (column: number): Uint8Array | undefined => {
      const { number, within } = columns[first + column] as WantedColumn // one of them
      return access?.into?.(number, within)
    }
    const into = access?.into && placeOf
    const to = { ...access, into }
    for (const column of wanted === undefined ? decodeColumns(file, waiting, rows, to) : columnsAtRows(file, waiting, rows, wanted)) {
      decodedBytes += bytesOfColumn(column)
      if (decodedBytes > file.limits.groupBytes) throw tooMuch(file, group.group, decodedBytes)
      const { name, column: detail } = columns[decoded.length] as WantedColumn // columns come in their order
      decoded.push(readColumn(column, detail.type, { source: file.path, column: name }, group.firstRow, wanted))
    }
    waiting = []
    waitingBytes = 0
  }
  for (const [i, { name, column }] of columns.entries()) {
    const ready = await readyColumn(reads, { name, detail: column, ranges: chunks[i] as readonly ChunkRange[] }, group)
    if (!fitTogether(file, waitingBytes + ready.likelyBytes)) flush()
    waiting.push(ready)
    waitingBytes += ready.likelyBytes
  }
  flush()
  return decoded
}

function tooMuch({ path, limits }: FileDetail, group: number, bytes: number): SourceError {
  return new SourceError(
    `${path}: the columns asked for of row group ${group} take ${bytes} bytes or more, and at most ${limits.groupBytes} are read at once. Ask for fewer columns, give the session more memory, or write the file with smaller row groups.`,
    path,
  )
}

function tooLarge(place: Place, { group, file }: GroupDetail, bytes: number): SourceError {
  return columnError(
    place,
    `row group ${group} holds about ${bytes} bytes of it, and at most ${file.limits.columnBytes} are read at once. Write the file with smaller row groups, or give the session more memory.`,
  )
}

/** A chunk and the range of its bytes, with SLACK_BYTES behind it where its size may be wrong. */
type ChunkRange = Range & { readonly chunk: ChunkDetail }

function rangeOf(chunk: ChunkDetail, size: number): ChunkRange {
  const { start, bytes, checksum } = chunk
  return { chunk, start, end: checksum === undefined ? Math.min(start + bytes + SLACK_BYTES, size) : start + bytes }
}

async function readyColumn(
  reads: RangeReads<Range>,
  { name, detail, ranges }: { readonly name: string; readonly detail: ColumnDetail; readonly ranges: readonly ChunkRange[] },
  group: GroupDetail,
): Promise<ReadyColumn> {
  const { path: source, limits } = group.file
  const place = { source, column: name }
  let decodedBytes = 0
  let likelyBytes = 0
  let isCoded = true
  const chunks: GroupPart['chunks'][number][] = []
  const pages: Page[] = []
  for (const [i, range] of ranges.entries()) {
    const { chunk } = range
    const least = Math.max(chunk.bytes, chunk.values * 8)
    if (decodedBytes + least > limits.columnBytes) throw tooLarge(place, group, decodedBytes + least)
    const read = checked(await chunkBytes(reads, range), chunk, place)
    const found = checkPages(read, chunk.codec, chunk.values, place)
    decodedBytes += Math.max(found.uncompressedBytes, chunk.values * 8)
    likelyBytes += Math.max(found.likelyBytes, chunk.values * 8)
    if (decodedBytes > limits.columnBytes) throw tooLarge(place, group, decodedBytes)
    isCoded &&= found.isCoded
    const { physical, path } = detail.leaves[i] as LeafDetail // one a chunk
    const { codec, values, uncompressedBytes } = chunk
    chunks.push({ physical, path, codec, values, uncompressedBytes, parts: [read.subarray(0, found.usedBytes)] })
    pages.push(...found.pages)
  }
  return { name, detail, chunks, pages, likelyBytes, isCoded }
}

/** The bytes of a chunk: its dictionary, where that lies before other pages, and the pages that are wanted. */
async function chunkBytes(reads: RangeReads<Range>, range: ChunkRange): Promise<Uint8Array> {
  const { dictionary } = range.chunk
  if (dictionary === undefined) return await reads.read(range)
  const [before, pages] = [await reads.read(dictionary), await reads.read(range)]
  const bytes = new Uint8Array(before.length + pages.length)
  bytes.set(before)
  bytes.set(pages, before.length)
  return bytes
}

/** The bytes of a chunk, once its checksum was compared, where it has one. */
function checked(bytes: Uint8Array, { checksum }: ChunkDetail, place: Place): Uint8Array {
  if (checksum !== undefined && crc32(bytes) !== checksum) throw columnError(place, 'the checksum does not match: the file is damaged.')
  return bytes
}
