/**
 * A small Parquet file of some columns of one row group, built in memory for the decoder.
 *
 *     big.parquet                          what the decoder sees
 *     PAR1 [a0][b0][c0] [a1][b1][c1] F --> PAR1 [a1][c1] F'
 *
 * The decoder then reads a whole file, synchronously, so that a panic in it can be caught; it sees only bytes that
 * were checked, a schema whose annotations it knows, and none of the file's statistics or indexes.
 */
import type { Scratch } from '../../core/ports.ts'
import { encodeThrift, i32, i64, structs, type ThriftField, type ThriftStruct, text, texts } from './thrift.ts'

export interface GroupPart {
  readonly elements: readonly ThriftStruct[]
  /** The column's chunks, each with its bytes in parts that follow each other. */
  readonly chunks: readonly (ChunkMeta & { readonly parts: readonly Uint8Array[] })[]
}

/** The metadata of a chunk that the decoder needs beside its pages, and nothing else. */
export interface ChunkMeta {
  /** Parquet's number for the type of its values. */
  readonly physical: number
  readonly path: readonly string[]
  readonly codec: number
  readonly values: number
  readonly uncompressedBytes: number
}

interface FileOptions {
  readonly keyValues?: readonly (readonly [key: string, value: string])[]
  /** Memory for the file. Default: an array of its own. */
  readonly scratch?: Scratch | undefined
}

/** The bytes of the file. Without `rows` it has a schema and no row group. */
export function singleGroupFile(
  columns: readonly GroupPart[],
  rows: number | undefined,
  { keyValues = [], scratch }: FileOptions = {},
): Uint8Array {
  let offset = 4
  const chunks: ThriftStruct[] = []
  const bodies: { readonly at: number; readonly bytes: Uint8Array }[] = []
  let total = 0
  if (rows !== undefined) {
    for (const { parts, ...meta } of columns.flatMap((column) => column.chunks)) {
      const length = parts.reduce((sum, part) => sum + part.length, 0)
      // bytes of shared memory are copied word by word where source and destination are aligned alike
      while (parts[0] !== undefined && offset % WORD !== parts[0].byteOffset % WORD) offset++
      chunks.push(
        new Map<number, ThriftField>([
          [2, i64(offset)],
          [3, { type: 12, value: metaAt(meta, offset, length) }],
        ]),
      )
      for (const bytes of parts) {
        bodies.push({ at: offset, bytes })
        offset += bytes.length
      }
      total += length
    }
  }
  const root: ThriftStruct = new Map([
    [4, text('schema')],
    [5, i32(columns.length)],
  ])
  const group: ThriftStruct = new Map([
    [1, structs(chunks)],
    [2, i64(total)],
    [3, i64(rows ?? 0)],
  ])
  const footer: ThriftStruct = new Map([
    [1, i32(1)],
    [2, structs([root, ...columns.flatMap((column) => column.elements)])],
    [3, i64(rows ?? 0)],
    [4, structs(rows === undefined ? [] : [group])],
  ])
  if (keyValues.length > 0)
    footer.set(
      5,
      structs(
        keyValues.map(
          ([key, value]) =>
            new Map([
              [1, text(key)],
              [2, text(value)],
            ]),
        ),
      ),
    )
  const tail = encodeThrift(footer)
  const length = offset + tail.length + 8
  const file = scratch === undefined ? new Uint8Array(length) : scratch.bytes(length)
  file.set(MAGIC, 0)
  for (const { at, bytes } of bodies) file.set(bytes, at)
  file.set(tail, offset)
  new DataView(file.buffer, file.byteOffset).setUint32(offset + tail.length, tail.length, true)
  file.set(MAGIC, offset + tail.length + 4)
  return file
}

const WORD = 8

export const MAGIC: Uint8Array = new Uint8Array([80, 65, 82, 49])

/** Column metadata for a chunk that begins at `offset`. */
function metaAt({ physical, path, codec, values, uncompressedBytes }: ChunkMeta, offset: number, bytes: number): ThriftStruct {
  return new Map<number, ThriftField>([
    [1, i32(physical)],
    [2, { type: 9, value: { elementType: 5, items: ENCODINGS } }],
    [3, texts(path)],
    [4, i32(codec)],
    [5, i64(values)],
    [6, i64(uncompressedBytes)],
    [7, i64(bytes)],
    // The first page is at `offset` whether it is a dictionary or data: readers take pages as they come.
    [9, i64(offset)],
  ])
}

/** Plain and RLE: the list has to be there, and pages say how they are encoded. */
const ENCODINGS = [0, 3]
