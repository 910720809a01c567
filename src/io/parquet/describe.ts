/**
 * What a worker has to know to read row groups of a file, as plain data, worked out once from the footer.
 */

import { SourceError } from '../../core/errors.ts'
import type { SourceSplit } from '../../core/ports.ts'
import type { Bounds } from '../../core/predicate.ts'
import { type ColumnType, type Field, fieldsOf } from '../../core/schema.ts'
import { tableFromIPC } from '../arrowLibrary.ts'
import { columnError, elementOfArrowSchema, type Place } from '../arrowTypes.ts'
import { fileType, type Int64, readType } from '../int64.ts'
import { changedType, type LeafChange, type LeafChanges, leafTypes, plainElement } from './annotations.ts'
import type { ParquetColumn, ParquetFooter } from './footer.ts'
import type { DecodeLimits } from './limits.ts'
import { declaredTypes, unitRatio } from './ownSchema.ts'
import { singleGroupFile } from './singleGroup.ts'
import { boundsOf } from './statistics.ts'
import { encodeThrift, type ThriftStruct } from './thrift.ts'
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
  /** Encoded schema elements for the decoder. */
  readonly elements: readonly Uint8Array[]
  readonly changes: LeafChanges
  /** For columns with INT96 leaves: the type to ask the decoder for, which has microseconds there. */
  readonly int96?: ColumnType
}
export interface GroupDetail {
  readonly file: FileDetail
  readonly group: number
  /** The file's rows before it. */
  readonly firstRow: number
  readonly rows: number
}
/** What a split knows of a column. By name it is in a Map: a plain object loses a column named `__proto__` on the way to a thread. */
export interface GroupColumn {
  readonly column: ColumnDetail
  readonly chunks: readonly ChunkDetail[]
}
export interface ChunkDetail {
  readonly meta: Uint8Array
  readonly codec: number
  readonly values: number
  readonly start: number
  readonly bytes: number
  readonly uncompressedBytes: number
  readonly checksum?: number
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
  for (const column of columns) {
    const place = { source: path, column: column.name }
    const plain = column.elements.map((element) => plainElement(element, place))
    const int96 = plain.some((element) => element.int96)
    const elements = plain.map(({ element }) => element)
    const field = fieldOf(place, elements, limits)
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
      ...(int96 ? { int96: read } : {}),
    })
  }
  return { path, fields, footer, columns, details, detail: { path, stamp, limits } }
}

/** One split for each row group that has rows. */
export function splitsOf({ path: _, fields, footer, columns, details, detail }: FileColumns): SourceSplit[] {
  const types = new Map(fields.map((field) => [field.name, field.type]))
  let rowsBefore = 0
  return footer.groups.flatMap((group, index) => {
    if (group.rows === 0) return []
    const firstRow = rowsBefore
    rowsBefore += group.rows
    const columnBytes = new Map<string, number>()
    const statistics = new Map<string, Bounds>()
    const known = new Map<string, GroupColumn>()
    let bytes = 0
    for (const column of columns) {
      const own = group.chunks.slice(column.firstLeaf, column.firstLeaf + column.leaves.length)
      const described = own.map((chunk, i): ChunkDetail => {
        const checksum = footer.chunkChecksums?.[index * group.chunks.length + column.firstLeaf + i]
        bytes += chunk.compressedBytes
        return {
          meta: encodeThrift(withoutStatistics(chunk.meta)),
          codec: chunk.codec,
          values: chunk.values,
          start: chunk.start,
          bytes: chunk.compressedBytes,
          uncompressedBytes: chunk.uncompressedBytes,
          ...(checksum === undefined ? {} : { checksum }),
        }
      })
      columnBytes.set(
        column.name,
        own.reduce((sum, chunk) => sum + Math.max(chunk.uncompressedBytes, chunk.values * 8), 0),
      )
      const kept = details.get(column.name)
      if (kept !== undefined) known.set(column.name, { column: kept, chunks: described })
      const [leaf] = column.leaves
      const [chunk] = own
      const type = types.get(column.name)
      const [change] = kept?.changes ?? []
      const changed = change !== undefined && change.kind !== 'type' && change.kind !== 'decimal'
      if (leaf === undefined || chunk === undefined || type === undefined || !leaf.flat || leaf.path.length > 1 || changed) continue
      const bounds = boundsOf(chunk.meta, leaf.element, fileType(type), change?.kind === 'decimal' ? change.scale : undefined)
      if (bounds !== undefined) statistics.set(column.name, bounds)
    }
    const group_: GroupDetail = { file: detail, group: index, firstRow, rows: group.rows }
    const place = {
      what: `row group ${index} of ${detail.path}`,
      cure: 'Write the file with smaller row groups, as with writeParquet(path, { rowGroupRows: 65_536 })',
    }
    return [{ rows: group.rows, bytes, columnBytes, place, statistics, columns: known, detail: group_ }]
  })
}

function withoutStatistics(meta: ThriftStruct): ThriftStruct {
  return new Map([...meta].filter(([id]) => id <= 7))
}

function isLeaf(element: ThriftStruct | undefined): boolean {
  return element?.has(1) === true && !((element.get(5)?.value ?? 0) !== 0)
}

/** The decoder's own reading of a column's schema. */
function fieldOf(place: Place, elements: readonly ThriftStruct[], limits: DecodeLimits): Field {
  const { source, column } = place
  try {
    const file = singleGroupFile([{ elements, chunks: [] }], undefined)
    const ipc = withParquetDecoder(limits.quickBytes, (wasm) => wasm.readSchema(file).intoIPCStream())
    const [field] = fieldsOf(elementOfArrowSchema(tableFromIPC(ipc).schema, source))
    if (field === undefined) throw new SourceError(`${source}, column "${column}": its type is not understood.`, source)
    return field
  } catch (error) {
    if (error instanceof WasmFailure) throw columnError(place, `its type is not understood: ${error.message}.`, error)
    throw error
  }
}

/** INT96 is nanoseconds since a day in 4713 BC; microseconds reach further and are what its writers keep. */
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
