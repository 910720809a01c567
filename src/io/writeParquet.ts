/**
 * Writes batches as a Parquet file, one row group after another.
 *
 *     group 0 --> parquet-wasm --> a file of one row group --+
 *     group 1 --> parquet-wasm --> a file of one row group --+--> bodies one after another, one footer
 *
 * Memory holds a row group for each of those that encode, and the next. The footer carries checksums (`parquet/checksums.ts`) and the types Parquet
 * has no word for (`parquet/ownSchema.ts`).
 */
import { crc32 } from 'node:zlib'
import { type Batch, type Column, isValid } from '../core/column.ts'
import { emptyColumn } from '../core/columnSlices.ts'
import { Bug, PlanError } from '../core/errors.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, plainType, typeText } from '../core/schema.ts'
import { type Append, writeAtomically } from './atomicFile.ts'
import { type Encoder, type Encoding, encodedInOrder } from './encode.ts'
import { fileType } from './int64.ts'
import { CHECKSUM_KEY, checksumValue, sealFooter } from './parquet/checksums.ts'
import { ARROW_KEY, arrowValue, SCHEMA_KEY, schemaValue, unitRatio } from './parquet/ownSchema.ts'
import { loadParquet } from './parquet/parquetLibrary.ts'
import { MAGIC } from './parquet/singleGroup.ts'
import {
  decodeThrift,
  encodeThrift,
  i64,
  intOf,
  structOf,
  structs,
  structsOf,
  type ThriftField,
  type ThriftStruct,
  text,
  textOf,
} from './parquet/thrift.ts'
import { type Group, groupsOf, rowsOf } from './regroup.ts'

export interface WriteParquetOptions {
  /** Default 'snappy'. */
  readonly compression?: 'snappy' | 'zstd' | 'none'
  /** Rows of a row group, the piece that is read alone. Default 131,072. */
  readonly rowGroupRows?: number
  /** 'v1': plain encodings and first-version pages only, for readers like parquetjs-lite. */
  readonly compatibility?: 'v1'
}

export interface WriteRequest<Options> {
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  readonly element: ElementType
  readonly path: string
  readonly options?: Options
  /** Who makes bytes of batches. Default: the thread that asks. */
  readonly encoder?: Encoder
  /** Ends the writing, with its reason: what was at the path stays. */
  readonly signal?: AbortSignal | undefined
}
export interface Written {
  readonly rows: number
  readonly bytes: number
}

const DEFAULT_GROUP_ROWS = 131_072

export async function writeParquet({
  batches,
  element,
  path,
  options = {},
  signal,
  encoder,
}: WriteRequest<WriteParquetOptions>): Promise<Written> {
  const { compression = 'snappy', rowGroupRows = DEFAULT_GROUP_ROWS, compatibility } = options
  if (!Number.isInteger(rowGroupRows) || rowGroupRows < 1)
    throw new PlanError(`rowGroupRows is ${rowGroupRows}. It is a whole number from 1 on.`)
  if (compatibility === 'v1' && compression === 'zstd')
    throw new PlanError(`{ compatibility: 'v1' } has no zstd compression. Use 'snappy' or 'none'.`)
  const fields = fieldsOf(element).map((field): Field => ({ ...field, type: fileType(field.type) }))
  if (fields.length === 0) throw new PlanError('A Parquet file needs at least one column.')
  for (const field of fields) checkType(field.type, field.name, compatibility)
  await loadParquet()
  const arrowFields = fields.map((field) => ({ ...field, type: storedType(field.type, compatibility) }))
  const stored: ElementType = { kind: 'row', fields: arrowFields.map((field) => ({ ...field, type: plainType(field.type) })) }
  let rows = 0
  const bytes = await writeAtomically(
    path,
    async (append) => {
      const file = new FileUnderWay(append)
      await file.begin()
      const encodingOf = ({ parts, ended }: Group): Encoding => {
        rows += rowsOf(parts)
        const how = { format: 'parquet' as const, compression, ...(compatibility === undefined ? {} : { compatibility }) }
        return { task: { ...how, element: stored, parts: parts.map((part) => storedBatch(part, stored, path)) }, ended }
      }
      const encodings = async function* (): AsyncGenerator<Encoding> {
        for await (const group of groupsOf(batches, rowGroupRows)) yield encodingOf(group)
        const none = { element, length: 0, columns: fields.map((field) => emptyColumn(field.type)) }
        if (rows === 0) yield encodingOf({ parts: [none], ended: [] })
      }
      for await (const group of encodedInOrder(encodings(), encoder)) await file.add(group)
      await file.end(rows, fields, arrowFields)
    },
    signal,
  )
  return { rows, bytes }
}

/** Joins files of one row group into one. */
class FileUnderWay {
  private readonly append: Append
  private offset = 0
  private schema: ThriftStruct | undefined
  private readonly groups: ThriftStruct[] = []
  private readonly checksums: number[] = []
  constructor(append: Append) {
    this.append = append
  }

  async begin(): Promise<void> {
    await this.write(MAGIC)
  }

  async add(file: Uint8Array): Promise<void> {
    const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true)
    const footer = decodeThrift(file.subarray(file.length - 8 - length, file.length - 8))
    this.schema ??= footer
    let end = 4
    const shift = this.offset - 4
    for (const group of structsOf(footer, 4) ?? []) {
      const chunks = (structsOf(group, 1) ?? []).map((chunk) => {
        const meta = structOf(chunk, 3)
        if (meta === undefined) throw new Bug('The Parquet encoder wrote a column without metadata.')
        const start = intOf(meta, 11) ?? intOf(meta, 9) ?? 0
        const chunkEnd = start + (intOf(meta, 7) ?? 0)
        end = Math.max(end, chunkEnd)
        this.checksums.push(crc32(file.subarray(start, chunkEnd)))
        // The page index and bloom filters are left out: they lie behind the body.
        const moved = new Map([...meta].filter(([id]) => id < 14 || id > 15))
        for (const id of [9, 10, 11]) shiftField(moved, id, shift)
        return new Map<number, ThriftField>([
          [2, i64(start + shift)],
          [3, { type: 12, value: moved }],
        ])
      })
      const moved = new Map(group)
      moved.set(1, structs(chunks))
      shiftField(moved, 5, shift)
      moved.delete(7)
      this.groups.push(moved)
    }
    await this.write(file.subarray(4, end))
  }

  /** `arrowFields`: with the units that they have in the file. */
  async end(rows: number, fields: readonly Field[], arrowFields: readonly Field[]): Promise<void> {
    if (this.schema === undefined) throw new Bug('A Parquet file was ended before it had a schema.')
    const footer = new Map(this.schema)
    footer.set(3, i64(rows))
    footer.set(4, structs(this.groups))
    const pair = (key: string, value: string): ThriftStruct =>
      new Map([
        [1, text(key)],
        [2, text(value)],
      ])
    // The checksums come last, where they are looked for.
    // the encoder tells of Arrow's types, but for categories, which it gets as plain texts
    const pairs = (structsOf(footer, 5) ?? []).filter((one) => textOf(one, 1) !== ARROW_KEY)
    footer.set(
      5,
      structs([
        ...pairs,
        pair(ARROW_KEY, arrowValue({ kind: 'row', fields: arrowFields })),
        pair(SCHEMA_KEY, schemaValue(fields)),
        pair(CHECKSUM_KEY, checksumValue(this.checksums)),
      ]),
    )
    const encoded = encodeThrift(footer)
    sealFooter(encoded)
    await this.write(encoded)
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, encoded.length, true)
    await this.write(length)
    await this.write(MAGIC)
  }

  private async write(bytes: Uint8Array): Promise<void> {
    await this.append(bytes)
    this.offset += bytes.length
  }
}

function shiftField(struct: ThriftStruct, id: number, by: number): void {
  const value = intOf(struct, id)
  if (value !== undefined) struct.set(id, i64(value + by))
}

/** PlanError for types that the file, or a reader of the first version, cannot hold. */
function checkType(type: ColumnType, column: string, compatibility: 'v1' | undefined): void {
  if (type.kind === 'list') {
    checkType(type.item, `${column}[]`, compatibility)
    return
  }
  if (type.kind === 'struct') {
    if (type.fields.length === 0)
      throw new PlanError(`Column "${column}" is a struct without fields, which Parquet cannot hold. Leave it out with select(…).`)
    for (const field of type.fields) checkType(field.type, `${column}.${field.name}`, compatibility)
    return
  }
  if (type.kind === 'object' || type.kind === 'unknown')
    throw new PlanError(`Column "${column}" is ${type.kind}, which Parquet cannot hold. Convert it with map, for example to JSON text.`)
  if (compatibility !== 'v1') return
  const finest = (type.kind === 'timestamp' || type.kind === 'time') && type.unit === 'ns'
  if (type.kind === 'u32' || type.kind === 'u64' || finest) {
    throw new PlanError(
      `Column "${column}" is ${typeText(type)}, which files of { compatibility: 'v1' } cannot hold. Cast it, or write without the option.`,
    )
  }
}

/**
 * The type a column is written as. Parquet's units begin at milliseconds; and parquetjs-lite, for which version 1 is
 * kept, fails on every timestamp in milliseconds but reads microseconds.
 */
function storedType(type: ColumnType, compatibility: 'v1' | undefined): ColumnType {
  switch (type.kind) {
    case 'timestamp':
      if (compatibility === 'v1') return { ...type, unit: 'us' }
      return type.unit === 's' ? { ...type, unit: 'ms' } : type
    case 'time':
      return type.unit === 's' ? { ...type, unit: 'ms' } : type
    case 'list':
      return { kind: 'list', item: storedType(type.item, compatibility) }
    case 'struct':
      return { kind: 'struct', fields: type.fields.map((field) => ({ ...field, type: storedType(field.type, compatibility) })) }
    default:
      return type
  }
}

function storedBatch(batch: Batch, stored: ElementType, path: string): Batch {
  const fields = fieldsOf(stored)
  const columns = batch.columns.map((column, i) => {
    const field = fields[i]
    if (field === undefined) throw new Bug('A batch has more columns than its element.')
    return storedColumn(column, field.type, field.name, path)
  })
  return { element: stored, length: batch.length, columns }
}

function storedColumn(column: Column, type: ColumnType, name: string, path: string): Column {
  if (type.kind === 'list')
    return { ...column, type, children: (column.children ?? []).map((child) => storedColumn(child, type.item, `${name}[]`, path)) }
  if (type.kind === 'struct') {
    return {
      ...column,
      type,
      children: (column.children ?? []).map((child, i) =>
        storedColumn(child, type.fields[i]?.type ?? child.type, `${name}.${type.fields[i]?.name}`, path),
      ),
    }
  }
  const ratio = unitRatio(column.type, type)
  if (ratio === 1n) return column
  const from = column.values as BigInt64Array // timestamps and times are 64-bit
  const values = new BigInt64Array(column.length)
  for (let i = 0; i < values.length; i++) {
    const value = (from[i] ?? 0n) * ratio
    if (BigInt.asIntN(64, value) !== value && isValid(column, i)) {
      throw new PlanError(
        `Column "${name}" has a time of ${from[i]} in units of ${typeText(column.type)}, which Parquet cannot hold in its ${typeText(type)}. ${path} was not written.`,
      )
    }
    values[i] = value
  }
  return { ...column, type, values }
}
