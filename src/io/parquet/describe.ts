/**
 * The plain data that workers need to read row groups of a file, derived once from the footer.
 */

import { type ColumnType, type Field, fieldsOf } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import { once } from '../../core/once.ts'
import type { Bounds } from '../../core/plan/predicate.ts'
import type { RowRange } from '../../core/rowRanges.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { tableFromIPC } from '../arrow/arrowLibrary.ts'
import { columnError, elementOfArrowSchema, type Place } from '../arrow/arrowTypes.ts'
import type { Range } from '../bytes/rangeReads.ts'
import { fileType, type Int64, readType } from '../int64.ts'
import { changedType, type LeafChange, type LeafChanges, leafTypes, plainElement } from './annotations.ts'
import { type ColumnFilters, type FilterPlace, filterForm } from './filters/filterPlaces.ts'
import type { ColumnChunk, ParquetColumn, ParquetFooter, RowGroup } from './footer.ts'
import type { DecodeLimits } from './limits.ts'
import { declaredTypes, unitRatio } from './ownSchema.ts'
import { type ChunkMeta, singleGroupFile } from './singleGroup.ts'
import { type BoundsForm, boundsOf } from './statistics.ts'
import { encodeThrift, intOf, type ThriftStruct } from './thrift.ts'
import { WasmFailure, withParquetDecoder } from './wasm.ts'

/** The part of a split's detail that all splits of a file share. */
export interface FileDetail {
  readonly path: string
  readonly stamp: string
  readonly limits: DecodeLimits
}
export interface ColumnDetail {
  readonly type: ColumnType
  readonly nullable: boolean
  /** Schema elements for the decoder, encoded in Thrift. */
  readonly elements: readonly Uint8Array[]
  readonly changes: LeafChanges
  /** The leaves of the column: one for each chunk that it has in a row group. */
  readonly leaves: readonly LeafDetail[]
  /** The type to ask the decoder for, with microseconds for INT96; present for columns with such leaves. */
  readonly int96?: ColumnType
}
export type LeafDetail = Pick<ChunkMeta, 'physical' | 'path'>
export interface GroupDetail {
  readonly file: FileDetail
  readonly group: number
  /** Number of the file's rows before the group. */
  readonly firstRow: number
  /** All rows of the group. */
  readonly rows: number
  /** The rows that the split has, where these are not all. */
  readonly part?: RowRange
}
/** A column of one row group. Splits keep these by name in a Map: a plain object loses a column named `__proto__` on its way to a thread. */
export interface GroupColumn {
  readonly column: ColumnDetail
  readonly chunks: readonly ChunkDetail[]
}
export interface ChunkDetail {
  readonly codec: number
  readonly values: number
  readonly start: number
  readonly bytes: number
  readonly uncompressedBytes: number
  readonly checksum?: number
  /** Where the file says where its pages lie. */
  readonly pagesAt?: Range
  /** The dictionary, where the chunk is some pages of the one in the file, and it does not lie before them. */
  readonly dictionary?: Range
}

export interface FileColumns {
  readonly path: string
  readonly fields: readonly Field[]
  readonly footer: ParquetFooter
  readonly columns: readonly ParquetColumn[]
  readonly details: ReadonlyMap<string, ColumnDetail>
  readonly detail: FileDetail
}

export interface OpenedFile {
  readonly path: string
  readonly stamp: string
  readonly footer: ParquetFooter
  readonly columns: readonly ParquetColumn[]
  readonly int64: Int64
  readonly limits: DecodeLimits
}

export function describeFile({ path, stamp, footer, columns, int64, limits }: OpenedFile): FileColumns {
  const declared = declaredTypes(footer.keyValues)
  const fields: Field[] = []
  const details = new Map<string, ColumnDetail>()
  const plains = columns.map(({ name, elements }) => elements.map((element) => plainElement(element, { source: path, column: name })))
  const seen = plains.map((plain) => plain.map(({ element }) => element))
  const together = fieldsTogether(path, seen, limits)
  for (const [c, column] of columns.entries()) {
    const place = { source: path, column: column.name }
    const [plain = [], elements = []] = [plains[c], seen[c]]
    const int96 = plain.some((element) => element.int96)
    const field = together?.[c] ?? fieldOf(place, elements, limits)
    const read = int96 ? microseconds(field.type) : field.type
    const leaves = leafTypes(read)
    if (leaves.length !== column.leaves.length) throw columnError(place, 'its nesting is not understood.')
    const own = declared.get(column.name)
    const ownLeaves = own === undefined ? [] : leafTypes(own)
    const hints = plain.filter((_, i) => isLeaf(column.elements[i])).map((element) => element.change)
    const changes = leaves.map((leaf, i) => hints[i] ?? ownChange(leaf, ownLeaves[i]))
    const type = readType(changedType(read, changes), int64)
    fields.push({ name: column.name, type, nullable: field.nullable })
    details.set(column.name, {
      type,
      nullable: field.nullable,
      elements: elements.map(encodeThrift),
      changes,
      leaves: column.leaves.map(({ element, path }) => ({ physical: intOf(element, 1) ?? 0, path })),
      ...(int96 ? { int96: read } : {}),
    })
  }
  return { path, fields, footer, columns, details, detail: { path, stamp, limits } }
}

/** One split for each row group of file `number` that has rows. The descriptions of its columns are made when they are first read. */
export function splitsOf(file: FileColumns, number: number): SourceSplit[] {
  let rowsBefore = 0
  return file.footer.groups.flatMap((group, index) => {
    const { rows } = group
    if (rows === 0) return []
    const detail: GroupDetail = { file: file.detail, group: index, firstRow: rowsBefore, rows }
    rowsBefore += rows
    const columnBytes = once(() => bytesOfColumns(file, group))
    const statistics = once(() => boundsOfColumns(file, group))
    const mayBeNull = once(() => columnsWithNulls(file, group))
    const filters = once(() => filtersOf(file, group))
    const columns = once(() => columnsOfGroup(file, group, index))
    const split: SourceSplit = {
      rows,
      bytes: file.columns.reduce((sum, column) => sum + sumOf(chunksOf(column, group), ({ compressedBytes }) => compressedBytes), 0),
      file: number,
      place: {
        what: `row group ${index} of ${file.path}`,
        cure: 'Write the file with smaller row groups, as with writeParquet(path, { rowGroupRows: 65_536 })',
      },
      get columnBytes() {
        return columnBytes()
      },
      get statistics() {
        return statistics()
      },
      get mayBeNull() {
        return mayBeNull()
      },
      get filters() {
        return filters()
      },
      get columns() {
        return columns()
      },
      detail,
    }
    return [split]
  })
}

/** The column's chunks in the group, one per leaf. */
function chunksOf({ firstLeaf, leaves }: ParquetColumn, { chunks }: RowGroup): readonly ColumnChunk[] {
  return chunks.slice(firstLeaf, firstLeaf + leaves.length)
}

function sumOf(chunks: readonly ColumnChunk[], bytesOf: (chunk: ColumnChunk) => number): number {
  return chunks.reduce((sum, chunk) => sum + bytesOf(chunk), 0)
}

function bytesOfColumns({ columns }: FileColumns, group: RowGroup): ReadonlyMap<string, number> {
  const leastOf = ({ uncompressedBytes, values }: ColumnChunk): number => Math.max(uncompressedBytes, values * 8)
  return new Map(columns.map((column) => [column.name, sumOf(chunksOf(column, group), leastOf)]))
}

function boundsOfColumns(file: FileColumns, group: RowGroup): ReadonlyMap<string, Bounds> {
  const statistics = new Map<string, Bounds>()
  for (const column of file.columns) {
    const form = boundsForm(file, column)
    const [chunk] = chunksOf(column, group)
    const bounds = form && chunk?.statistics && boundsOf(chunk.statistics, form)
    if (bounds !== undefined) statistics.set(column.name, bounds)
  }
  return statistics
}

/** The form of a column's values in its statistics; undefined for columns that are nested, or whose values are others there. */
function boundsForm({ details }: FileColumns, { name, leaves: [leaf] }: ParquetColumn): BoundsForm | undefined {
  const detail = details.get(name)
  if (detail === undefined || leaf?.flat !== true || leaf.path.length > 1) return undefined
  const [change] = detail.changes
  if (change !== undefined && change.kind !== 'type' && change.kind !== 'decimal') return undefined
  return { element: leaf.element, type: fileType(detail.type), ...(change?.kind === 'decimal' ? { scale: change.scale } : {}) }
}

/** What tells of columns of one value per row, beside statistics, where values of a row group are not. */
function filtersOf(file: FileColumns, group: RowGroup): ReadonlyMap<string, ColumnFilters> {
  const filters = new Map<string, ColumnFilters>()
  for (const column of file.columns) {
    const [chunk] = chunksOf(column, group)
    if (chunk === undefined) continue
    const bloom = bloomPlace(file, column, chunk)
    const form = boundsForm(file, column)
    const { pagesAt, boundsAt } = chunk
    const index = pagesAt && boundsAt && form && { pagesAt, boundsAt, form, chunk: { ...chunk, bytes: chunk.compressedBytes } }
    if (bloom !== undefined || index !== undefined) filters.set(column.name, { ...(bloom && { bloom }), ...(index && { index }) })
  }
  return filters
}

/** The Bloom filter of a column whose values are hashed as they are here. */
function bloomPlace({ details }: FileColumns, { name, leaves: [leaf] }: ParquetColumn, { filterAt }: ColumnChunk): FilterPlace | undefined {
  const detail = details.get(name)
  if (leaf?.flat !== true || leaf.path.length > 1 || filterAt === undefined || detail === undefined) return undefined
  const { type, changes, int96 } = detail
  const isOther = int96 !== undefined || (changes[0] !== undefined && changes[0].kind !== 'type')
  const form = isOther ? undefined : filterForm(fileType(type), intOf(leaf.element, 1))
  return form && { at: filterAt, form }
}

/** Names of the columns that may have nulls: all but top-level columns of one value per row whose chunk's statistics count no nulls. */
function columnsWithNulls({ columns }: FileColumns, group: RowGroup): ReadonlySet<string> {
  const counted = (column: ParquetColumn): boolean => {
    const [leaf] = column.leaves
    const statistics = chunksOf(column, group)[0]?.statistics
    return leaf?.flat === true && leaf.path.length === 1 && statistics !== undefined && intOf(statistics, 3) === 0
  }
  return new Set(columns.flatMap((column) => (counted(column) ? [] : [column.name])))
}

function columnsOfGroup({ columns, details, footer }: FileColumns, group: RowGroup, index: number): ReadonlyMap<string, GroupColumn> {
  const known = new Map<string, GroupColumn>()
  for (const column of columns) {
    const detail = details.get(column.name)
    if (detail === undefined) continue
    const chunks = chunksOf(column, group).map(({ codec, values, start, compressedBytes, uncompressedBytes, pagesAt }, i): ChunkDetail => {
      const checksum = footer.chunkChecksums?.[index * group.chunks.length + column.firstLeaf + i]
      const known = { ...(checksum === undefined ? {} : { checksum }), ...(pagesAt && { pagesAt }) }
      return { codec, values, start, bytes: compressedBytes, uncompressedBytes, ...known }
    })
    known.set(column.name, { column: detail, chunks })
  }
  return known
}

function isLeaf(element: ThriftStruct | undefined): boolean {
  return element?.has(1) === true && !((element.get(5)?.value ?? 0) !== 0)
}

/** The field of one column, as the decoder reads its schema; called where `fieldsTogether` found none. Throws SourceError. */
function fieldOf(place: Place, elements: readonly ThriftStruct[], limits: DecodeLimits): Field {
  const { source, column } = place
  try {
    const [field] = fieldsRead(source, [elements], limits)
    if (field === undefined) throw new SourceError(`${source}, column "${column}": its type is not understood.`, source)
    return field
  } catch (error) {
    if (error instanceof WasmFailure) throw columnError(place, `its type is not understood: ${error.message}.`, error)
    throw error
  }
}

/** The fields of all columns, one each; undefined where one of them is not understood, which is then asked for by itself. */
function fieldsTogether(source: string, columns: readonly (readonly ThriftStruct[])[], limits: DecodeLimits): readonly Field[] | undefined {
  try {
    const fields = fieldsRead(source, columns, limits)
    return fields.length === columns.length ? fields : undefined
  } catch (error) {
    if (error instanceof WasmFailure || error instanceof SourceError) return undefined
    throw error
  }
}

function fieldsRead(source: string, columns: readonly (readonly ThriftStruct[])[], limits: DecodeLimits): readonly Field[] {
  const file = singleGroupFile(
    columns.map((elements) => ({ elements, chunks: [] })),
    undefined,
  )
  const ipc = withParquetDecoder(limits.quickBytes, (wasm) => wasm.readSchema(file).intoIPCStream())
  return fieldsOf(elementOfArrowSchema(tableFromIPC(ipc).schema, source))
}

/** Makes timestamps microseconds: INT96 is nanoseconds since a day in 4713 BC; microseconds reach further and are what its writers keep. */
function microseconds(type: ColumnType): ColumnType {
  if (type.kind === 'list') return { kind: 'list', item: microseconds(type.item) }
  if (type.kind === 'struct') return { kind: 'struct', fields: type.fields.map((field) => ({ ...field, type: microseconds(field.type) })) }
  return type.kind === 'timestamp' ? { kind: 'timestamp', unit: 'us' } : type
}

function ownChange(read: ColumnType, own: ColumnType | undefined): LeafChange | undefined {
  if (own === undefined || own.kind !== read.kind) return undefined
  if (own.kind === 'utf8') return own.category === undefined ? undefined : { kind: 'type', type: own }
  const coarser = unitRatio(own, read) !== 1n
  if (own.kind === 'time') return coarser ? { kind: 'time', unit: own.unit } : undefined
  if (own.kind !== 'timestamp' || read.kind !== 'timestamp') return undefined
  if (!coarser) return own.unit !== read.unit || own.timezone === read.timezone ? undefined : { kind: 'type', type: own }
  return { kind: 'time', unit: own.unit, ...(own.timezone === undefined ? {} : { timezone: own.timezone }) }
}
