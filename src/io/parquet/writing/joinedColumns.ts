/**
 * Files of one row group that have some of its columns each, as one file of all of them:
 *
 *     PAR1 [a] F1   +   PAR1 [b][c] F2   -->   PAR1 [a][b][c] F
 *
 * So an encoder has a few columns of a row group in its memory, several times over, and never all of them.
 */
import { Bug } from '../../../core/errors.ts'
import type { Lent } from '../../lent.ts'
import { MAGIC } from '../singleGroup.ts'
import {
  decodeThrift,
  encodeThrift,
  i32,
  i64,
  intOf,
  structOf,
  structs,
  structsOf,
  type ThriftField,
  type ThriftStruct,
} from '../thrift.ts'

/** A file taken apart: the bytes between its first magic word and its footer, and the decoded footer. */
export interface Opened {
  readonly body: Uint8Array
  readonly footer: ThriftStruct
}

/** Joins files that have some columns of one row group each, in memory that `newBytes` makes. */
export function joinedColumns(opened: readonly Opened[], newBytes: Lent['newBytes']): Uint8Array {
  const tail = encodeThrift(joinedFooter(opened))
  const length = opened.reduce((sum, { body }) => sum + body.length, 0)
  const joined = newBytes(length + tail.length + 12)
  joined.set(MAGIC)
  let at = MAGIC.length
  for (const { body } of opened) {
    joined.set(body, at)
    at += body.length
  }
  joined.set(tail, at)
  new DataView(joined.buffer, joined.byteOffset).setUint32(at + tail.length, tail.length, true)
  joined.set(MAGIC, at + tail.length + 4)
  return joined
}

export function openedFile(file: Uint8Array): Opened {
  const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true)
  const footer = decodeThrift(file.subarray(file.length - 8 - length, file.length - 8))
  let end = MAGIC.length
  for (const meta of (structsOf(footer, 4) ?? []).flatMap((group) => structsOf(group, 1) ?? []).map(metaOf))
    end = Math.max(end, startOf(meta) + (intOf(meta, 7) ?? 0))
  return { body: file.subarray(MAGIC.length, end), footer }
}

export function groupOf(footer: ThriftStruct): ThriftStruct {
  const groups = structsOf(footer, 4) ?? []
  if (groups.length !== 1) throw new Bug(`The Parquet encoder made ${groups.length} row groups of one.`)
  return groups[0] as ThriftStruct // there is one
}

export function chunksOf(footer: ThriftStruct): readonly ThriftStruct[] {
  return structsOf(groupOf(footer), 1) ?? []
}

export function metaOf(chunk: ThriftStruct): ThriftStruct {
  const meta = structOf(chunk, 3)
  if (meta === undefined) throw new Bug('The Parquet encoder wrote a column without metadata.')
  return meta
}

/** Byte offset of a chunk's first page in its file. */
export function startOf(meta: ThriftStruct): number {
  return intOf(meta, 11) ?? intOf(meta, 9) ?? 0
}

/** The metadata of a chunk whose file's bytes lie `by` bytes further behind. The page index and bloom filters are left out: they lie behind the body. */
export function shiftedChunk(chunk: ThriftStruct, by: number): ThriftStruct {
  const meta = metaOf(chunk)
  const moved = new Map([...meta].filter(([id]) => id < 14 || id > 15))
  for (const id of [9, 10, 11]) {
    const value = intOf(moved, id)
    if (value !== undefined) moved.set(id, i64(value + by))
  }
  return new Map<number, ThriftField>([
    [2, i64(startOf(meta) + by)],
    [3, { type: 12, value: moved }],
  ])
}

/** The footer of the first file with the columns of all: in the schema, in the row group, and in the list of their orders. */
function joinedFooter(opened: readonly Opened[]): ThriftStruct {
  const footers = opened.map(({ footer }) => footer)
  const [first] = footers as [ThriftStruct] // there is one
  if (footers.length === 1) return first
  const schemas = footers.map((footer) => structsOf(footer, 2) ?? [])
  const [root = new Map()] = schemas[0] ?? []
  const joinedRoot: ThriftStruct = new Map(root)
  joinedRoot.set(5, i32(schemas.reduce((sum, [one = new Map()]) => sum + (intOf(one, 5) ?? 0), 0)))
  let before = 0
  const chunks = opened.flatMap(({ footer, body }) => {
    const shift = before
    before += body.length
    return chunksOf(footer).map((chunk) => shiftedChunk(chunk, shift))
  })
  const group = new Map(groupOf(first))
  group.set(1, structs(chunks))
  for (const id of [2, 6]) if (group.has(id)) group.set(id, i64(footers.reduce((sum, one) => sum + (intOf(groupOf(one), id) ?? 0), 0)))
  const joined = new Map(first)
  joined.set(2, structs([joinedRoot, ...schemas.flatMap((elements) => elements.slice(1))]))
  joined.set(4, structs([group]))
  const orders = footers.flatMap((footer) => structsOf(footer, 7) ?? [])
  if (orders.length > 0) joined.set(7, structs(orders))
  return joined
}
