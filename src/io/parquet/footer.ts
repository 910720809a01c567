/**
 * The footer of a Parquet file: read in range, checked against the file, taken apart.
 *
 * Everything a footer declares (sizes, offsets, counts) is compared with the file before anything is read by it. The
 * schema stays in Thrift form, because a part of it is written again for the decoder (see `singleGroup.ts`).
 */
import { SourceError } from '../../core/errors.ts'
import { checkForm } from '../bytes/fileForms.ts'
import type { Range } from '../bytes/rangeReads.ts'
import type { ByteSource } from '../bytes/source.ts'
import { verifyFooter } from './checksums.ts'
import type { DecodeLimits } from './limits.ts'
import { MOST_INDEX_BYTES } from './pageIndex/pageIndex.ts'
import {
  bytesOf,
  intOf,
  isText,
  listOf,
  structOf,
  structsOf,
  ThriftError,
  ThriftReader,
  type ThriftShape,
  type ThriftStruct,
  textOf,
} from './thrift.ts'

export interface ParquetFooter {
  readonly rows: number
  readonly createdBy: string
  readonly columns: readonly ParquetColumn[]
  readonly groups: readonly RowGroup[]
  readonly keyValues: ReadonlyMap<string, string>
  /** CRC32 of each column chunk in file order, where the file carries them (files written by this library do). */
  readonly chunkChecksums?: Uint32Array
}

/** A top-level column: its schema elements in depth-first order, the first being the column itself. */
export interface ParquetColumn {
  readonly name: string
  readonly elements: readonly ThriftStruct[]
  /** Position of its first leaf among the file's leaves. */
  readonly firstLeaf: number
  readonly leaves: readonly ParquetLeaf[]
}

export interface ParquetLeaf {
  readonly path: readonly string[]
  readonly element: ThriftStruct
  /** Whether each row has exactly one value or null: no repeated element above it. */
  readonly flat: boolean
}

export interface RowGroup {
  readonly rows: number
  /** One per leaf, in the order of the schema. */
  readonly chunks: readonly ColumnChunk[]
}

export interface ColumnChunk {
  readonly statistics: ThriftStruct | undefined
  readonly codec: number
  readonly values: number
  /** Byte offset of the first page, dictionary or data, in the file. */
  readonly start: number
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  /** Byte offset of its Bloom filter, where it has one before the footer. */
  readonly filterAt?: number
  /** The part of the page index that says where its pages lie, where it has one before the footer. */
  readonly pagesAt?: Range
  /** The part of the page index with the bounds of its pages. */
  readonly boundsAt?: Range
}

export const CODECS: readonly string[] = ['uncompressed', 'snappy', 'gzip', 'lzo', 'brotli', 'lz4', 'zstd', 'lz4_raw']
/** Bytes at the file's end that are read at once: most footers fit, so that opening takes one read. */
const TAIL_BYTES = 64 * 1024
const MAGIC = 0x31524150 // PAR1
const ENCRYPTED_MAGIC = 0x45524150 // PARE

const leaf = (...ids: readonly number[]) => ids.map((id): [number, ThriftShape] => [id, 'all'])
/** Fields of footer, row groups, column chunks and their metadata that are read; encodings are not. */
const CHUNK_META: ThriftShape = new Map(leaf(1, 3, 4, 5, 6, 7, 9, 11, 12, 14))
const CHUNK: ThriftShape = new Map([...leaf(1, 4, 5, 6, 7, 8, 9), [3, CHUNK_META]])
const GROUP: ThriftShape = new Map([...leaf(3), [1, CHUNK]])
const WANTED: ThriftShape = new Map([...leaf(2, 5, 6, 8), [4, GROUP]])

/** Reads and checks the footer; a SourceError says what is wrong with the file. */
export async function readFooter(bytes: ByteSource, path: string, { footerBytes }: DecodeLimits): Promise<ParquetFooter> {
  const { size } = bytes
  if (size === 0) throw new SourceError(`${path} is empty. A Parquet file has at least 12 bytes.`, path)
  if (size < 12) throw new SourceError(`${path} has ${size} bytes. A Parquet file has at least 12: it was cut, or is something else.`, path)
  const head = await bytes.read(0, 4)
  const headMagic = new DataView(head.buffer, head.byteOffset).getUint32(0, true)
  let tail = await bytes.read(Math.max(4, size - TAIL_BYTES), size)
  const end = new DataView(tail.buffer, tail.byteOffset, tail.byteLength)
  const magic = end.getUint32(tail.length - 4, true)
  if (magic === ENCRYPTED_MAGIC)
    throw new SourceError(`${path} has an encrypted footer. Encrypted Parquet files are not read: write it without encryption.`, path)
  if (headMagic !== MAGIC) await checkForm(bytes, path, 'readParquet')
  if (headMagic !== MAGIC) throw new SourceError(`${path} is not a Parquet file: it does not begin with PAR1.`, path)
  if (magic !== MAGIC) throw new SourceError(`${path} does not end with PAR1: it was cut, or is still being written.`, path)
  const length = end.getUint32(tail.length - 8, true)
  if (length > size - 12) {
    throw new SourceError(`${path} declares a footer of ${length} bytes, and the file has ${size}: it is damaged.`, path)
  }
  if (length > footerBytes / 2) {
    throw new SourceError(
      `${path} has a footer of ${length} bytes, and at most ${footerBytes / 2} are read. Give the session more memory.`,
      path,
    )
  }
  if (length + 8 > tail.length) tail = await bytes.read(size - 8 - length, size)
  const footer = tail.subarray(tail.length - 8 - length, tail.length - 8)
  try {
    return parseFooter(footer, path, { dataEnd: size - 8 - length, footerBytes })
  } catch (error) {
    if (error instanceof ThriftError) throw new SourceError(`${path} has a damaged footer: ${error.message}.`, path, { cause: error })
    throw error
  }
}

interface Bounds {
  /** Byte offset at which the pages end and the footer begins. */
  readonly dataEnd: number
  /** Bytes of memory that the footer's values may take. */
  readonly footerBytes: number
}

function parseFooter(bytes: Uint8Array, path: string, { dataEnd, footerBytes }: Bounds): ParquetFooter {
  const meta = new ThriftReader(bytes, 0, footerBytes).struct(WANTED)
  const damaged = (what: string) => new SourceError(`${path} has a damaged footer: ${what}.`, path)
  const elements = structsOf(meta, 2)
  const groupStructs = structsOf(meta, 4)
  if (elements === undefined || groupStructs === undefined) throw damaged('the schema or the row groups are missing')
  if (meta.has(8)) throw new SourceError(`${path} is encrypted. Encrypted Parquet files are not read: write it without encryption.`, path)
  const columns = columnsOf(elements, damaged)
  const leaves = columns.flatMap((column) => column.leaves)
  const names = new Set<string>()
  for (const { name } of columns) {
    if (names.has(name)) throw new SourceError(`${path}, column "${name}": there are two columns of this name.`, path)
    names.add(name)
  }
  const groups = groupStructs.map((group, i) => rowGroupOf(group, leaves, dataEnd, (what) => damaged(`row group ${i}: ${what}`), path))
  const keyValues = new Map((structsOf(meta, 5) ?? []).map((pair) => [textOf(pair, 1) ?? '', textOf(pair, 2) ?? '']))
  const chunkChecksums = verifyFooter(bytes, keyValues, groups.length * leaves.length, damaged)
  return {
    // Some writers leave the file's own count at 0.
    rows: groups.reduce((total, group) => total + group.rows, 0),
    createdBy: textOf(meta, 6) ?? '',
    columns,
    groups,
    keyValues,
    ...(chunkChecksums === undefined ? {} : { chunkChecksums }),
  }
}

type Damage = (what: string) => SourceError

function columnsOf(elements: readonly ThriftStruct[], damaged: Damage): ParquetColumn[] {
  const root = elements[0]
  if (root === undefined) throw damaged('the schema is empty')
  let next = 1
  let leafCount = 0
  const columns: ParquetColumn[] = []
  /** Adds the element at `next` and what is below it; the schema is a tree in depth-first order. */
  const visit = (above: readonly string[], repeated: boolean, into: { elements: ThriftStruct[]; leaves: ParquetLeaf[] }): string => {
    const element = elements[next++]
    if (element === undefined) throw damaged('the schema ends too early')
    if (above.length > 60) throw damaged('the schema is nested too deeply')
    const name = textOf(element, 4)
    if (name === undefined) throw damaged('a schema element has no name')
    const repetition = intOf(element, 3)
    if (repetition !== undefined && (repetition < 0 || repetition > 2)) throw damaged(`the repetition of "${name}" is ${repetition}`)
    into.elements.push(element)
    const path = [...above, name]
    const children = intOf(element, 5) ?? 0
    const isRepeated = repeated || repetition === 2
    if (children < 0) throw damaged(`"${name}" has ${children} children`)
    if (children === 0 && intOf(element, 1) === undefined) throw damaged(`"${name}" has neither a type nor children`)
    if (children === 0) into.leaves.push({ path, element, flat: !isRepeated })
    for (let i = 0; i < children; i++) visit(path, isRepeated, into)
    return name
  }
  const count = intOf(root, 5) ?? 0
  for (let i = 0; i < count; i++) {
    const part = { elements: [] as ThriftStruct[], leaves: [] as ParquetLeaf[] }
    const name = visit([], false, part)
    if (part.leaves.length === 0) throw damaged(`"${name}" has no values below it`)
    columns.push({ name, ...part, firstLeaf: leafCount })
    leafCount += part.leaves.length
  }
  if (next !== elements.length) throw damaged(`the schema has ${elements.length} elements, and its tree ${next}`)
  return columns
}

function rowGroupOf(group: ThriftStruct, leaves: readonly ParquetLeaf[], dataEnd: number, damaged: Damage, path: string): RowGroup {
  const rows = intOf(group, 3)
  const chunks = structsOf(group, 1)
  if (rows === undefined || rows < 0 || chunks === undefined) throw damaged('its rows or columns are missing')
  if (rows > 2 ** 31 - 1) throw damaged(`it declares ${rows} rows, and at most 2147483647 are read at once`)
  if (chunks.length !== leaves.length) throw damaged(`it has ${chunks.length} column chunks, and the schema ${leaves.length} leaves`)
  return {
    rows,
    chunks: chunks.map((chunk, i) => {
      const leaf = leaves[i]
      const name = leaf?.path[0] ?? ''
      const wrong = (what: string) => damaged(`column "${name}": ${what}`)
      if (chunk.has(8) || chunk.has(9))
        throw new SourceError(`${path}, column "${name}": the column is encrypted, and encrypted columns are not read.`, path)
      if ((bytesOf(chunk, 1)?.length ?? 0) > 0)
        throw new SourceError(`${path}, column "${name}": its data is in another file ("${textOf(chunk, 1)}"), which is not read.`, path)
      const meta = structOf(chunk, 3)
      if (meta === undefined || leaf === undefined) throw wrong('it has no metadata')
      return { ...chunkOf(meta, leaf, rows, dataEnd, wrong), ...indexOf(chunk, dataEnd) }
    }),
  }
}

/** Where the page index of a chunk lies; nothing of what is not before the footer, or has no sensible size. */
function indexOf(chunk: ThriftStruct, dataEnd: number): Pick<ColumnChunk, 'pagesAt' | 'boundsAt'> {
  const [pagesAt, boundsAt] = [4, 6].map((field): Range | undefined => {
    const [start, length] = [intOf(chunk, field), intOf(chunk, field + 1)]
    if (start === undefined || length === undefined || length <= 0 || length > MOST_INDEX_BYTES) return undefined
    return start >= 4 && start + length <= dataEnd ? { start, end: start + length } : undefined
  })
  return { ...(pagesAt && { pagesAt }), ...(boundsAt && { boundsAt }) }
}

function chunkOf(meta: ThriftStruct, leaf: ParquetLeaf, rows: number, dataEnd: number, wrong: Damage): ColumnChunk {
  const codec = intOf(meta, 4)
  const values = intOf(meta, 5)
  const uncompressedBytes = intOf(meta, 6)
  const compressedBytes = intOf(meta, 7)
  const dataOffset = intOf(meta, 9)
  if (
    codec === undefined ||
    values === undefined ||
    uncompressedBytes === undefined ||
    compressedBytes === undefined ||
    dataOffset === undefined
  ) {
    throw wrong('its codec, sizes or offset are missing')
  }
  if (CODECS[codec] === undefined) throw wrong(`there is no codec ${codec}`)
  if (intOf(meta, 1) !== intOf(leaf.element, 1)) throw wrong('its type is not that of the schema')
  const path = listOf(meta, 3)
  if (path?.length !== leaf.path.length || !leaf.path.every((name, i) => isText(path[i], name)))
    throw wrong('its path is not that of the schema')
  // Some writers say 0 for no dictionary.
  const dictionaryOffset = intOf(meta, 11)
  const start = dictionaryOffset !== undefined && dictionaryOffset > 0 && dictionaryOffset < dataOffset ? dictionaryOffset : dataOffset
  if (values < 0 || uncompressedBytes < 0 || compressedBytes < 0) throw wrong('a size is negative')
  if (leaf.flat ? values !== rows : values < rows) throw wrong(`it declares ${values} values for ${rows} rows`)
  const outside = start < 4 || start + compressedBytes > dataEnd
  if (outside && rows > 0) throw wrong(`it declares bytes ${start} to ${start + compressedBytes}, which are outside the data`)
  const filterAt = intOf(meta, 14)
  const hasFilter = filterAt !== undefined && filterAt >= 4 && filterAt < dataEnd
  return {
    ...{ statistics: structOf(meta, 12), codec, values, start, compressedBytes, uncompressedBytes },
    ...(hasFilter ? { filterAt } : {}),
  }
}
