/** NumPy files (.npy): read piece by piece into whatever holds the array, and written from pieces of it. */

import { checkOneOf } from '../../core/arguments.ts'
import { keyAt, type Shape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import type { WriteAccess } from '../../core/ports.ts'
import { writeAtomically } from '../bytes/atomicFile.ts'
import { nameOfPath, openBytes } from '../bytes/byteSource.ts'
import { filesOf } from '../bytes/paths.ts'
import type { ByteSource } from '../bytes/source.ts'
import { INT64_OPTIONS, type Int64 } from '../int64.ts'
import { checkReading, type FileSource, type ReadOptions } from '../reading.ts'
import { type NpyHeader, readNpyHeader } from './npyHeader.ts'

export interface NpyOptions extends ReadOptions {
  /** 64-bit integers are read as numbers, and one beyond ±2^53 is refused, unless this is 'bigint'. */
  readonly int64?: Int64
}

/** An array in a file. */
export interface NpyFile {
  /** The file's name in messages. */
  readonly name: string
  readonly shape: Shape
  /** The dtype of the elements as `pieces` gives them. */
  readonly dtype: DType
  /** Whether the first axis runs fastest in `pieces`, and not the last. */
  readonly fortran: boolean
  /** The elements in the order of the file. A piece is good until the next. */
  pieces(): AsyncIterable<{ readonly from: number; readonly values: TypedArray }>
}

const PIECE_BYTES = 4 * 2 ** 20
const HALF = 2 ** 32
/** The upper half of 2^53. */
const LARGEST_HIGH = 2 ** 21

/** Opens a file for as long as `use` takes. */
export async function withNpy<T>(source: FileSource, options: NpyOptions, use: (file: NpyFile) => Promise<T>): Promise<T> {
  checkReading('readNpy', options, ['int64'])
  const { int64 = 'number' } = options
  checkOneOf('The int64 of readNpy()', int64, INT64_OPTIONS)
  const { paths, given } = await filesOf(source, options)
  const [path = ''] = paths
  if (paths.length > 1)
    throw new SourceError(
      `readNpy() reads one array, and ${paths.length} files were named: ${paths[0]}, ${paths[1]}${paths.length > 2 ? ', …' : ''}. Read them one by one.`,
      path,
    )
  const bytes = await openBytes(path, { ...options, given })
  try {
    const header = await readNpyHeader(bytes, path)
    const isWide = header.dtype === 'i64' || header.dtype === 'u64'
    const dtype = isWide ? (int64 === 'number' ? 'f64' : 'i64') : (header.dtype as DType) // u64 is wide
    const { shape, fortran } = header
    return await use({ name: nameOfPath(path), shape, dtype, fortran, pieces: () => piecesOf(bytes, path, header, dtype) })
  } finally {
    await bytes.close()
  }
}

/** The elements of a file behind its header. */
export async function* piecesOf(
  bytes: ByteSource,
  path: string,
  header: NpyHeader,
  dtype: DType,
): AsyncGenerator<{ from: number; values: TypedArray }, void, undefined> {
  const { width, start, bigEndian } = header
  const room = new Uint8Array(Math.min(PIECE_BYTES, bytes.size - start))
  for (let at = start; at < bytes.size; at += PIECE_BYTES) {
    const read = await bytes.read(at, Math.min(bytes.size, at + PIECE_BYTES), room)
    // typed arrays begin at multiples of their width
    const piece = read.byteOffset % width === 0 ? read : read.slice()
    if (bigEndian) swap(piece, width)
    const from = (at - start) / width
    yield { from, values: valuesOf(piece, dtype, header, { path, from }) }
  }
}

function swap(bytes: Uint8Array, width: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (width === 2) buffer.swap16()
  else if (width === 4) buffer.swap32()
  else if (width === 8) buffer.swap64()
}

/** The elements of a piece, of which the first is the element `from` of the file. */
function valuesOf(
  piece: Uint8Array,
  dtype: DType,
  header: NpyHeader,
  { path, from }: { readonly path: string; readonly from: number },
): TypedArray {
  const { buffer, byteOffset, byteLength } = piece
  const length = byteLength / header.width
  const check = (isFit: (i: number) => boolean, refusal: (i: number, key: string) => string): void => {
    for (let i = 0; i < length; i++) {
      if (isFit(i)) continue
      throw new SourceError(`${path}: ${refusal(i, `[${keyOf(from + i, header).join(', ')}]`)}`, path)
    }
  }
  switch (header.dtype) {
    case 'i64':
    case 'u64': {
      // by halves: reading a BigInt64Array makes an object of each value
      const high = header.dtype === 'i64' ? new Int32Array(buffer, byteOffset, 2 * length) : new Uint32Array(buffer, byteOffset, 2 * length)
      const low = new Uint32Array(buffer, byteOffset, 2 * length)
      const text = (i: number): string => String((BigInt(high[2 * i + 1] as number) << 32n) | BigInt(low[2 * i] as number)) // two halves a value
      if (dtype === 'i64') {
        if (header.dtype === 'u64')
          check(
            (i) => (high[2 * i + 1] as number) < HALF / 2,
            (i, key) =>
              `the integer ${text(i)} at ${key} is beyond 2^63, up to where 64-bit integers of arrays go. Save it as a.astype('float64'), which rounds.`,
          )
        return new BigInt64Array(buffer, byteOffset, length)
      }
      const isExact = (i: number): boolean => {
        const h = high[2 * i + 1] as number
        return h >= LARGEST_HIGH ? h === LARGEST_HIGH && low[2 * i] === 0 : h >= -LARGEST_HIGH
      }
      check(
        isExact,
        (i, key) =>
          `the integer ${text(i)} at ${key} is beyond ±2^53, up to where numbers are exact. Read 64-bit integers as bigints with { int64: 'bigint' }.`,
      )
      const values = new Float64Array(length)
      for (let i = 0; i < length; i++) values[i] = (high[2 * i + 1] as number) * HALF + (low[2 * i] as number)
      return values
    }
    case 'bool':
      check(
        (i) => (piece[i] as number) <= 1,
        (i, key) => `the byte ${piece[i]} at ${key} is no bool, which is 0 or 1: the file is damaged.`,
      )
      return piece
    default:
      return new ARRAY_OF_DTYPE[header.dtype](buffer, byteOffset, length)
  }
}

/** The key of an element of the file. */
function keyOf(position: number, { shape, fortran }: NpyHeader): readonly number[] {
  return fortran ? keyAt(position, [...shape].reverse()).reverse() : keyAt(position, shape)
}

/** Writes a file that appears under its name when it is complete. The pieces are all elements, row-major. */
export async function writeElements(
  path: string,
  { header, pieces }: { readonly header: Uint8Array; readonly pieces: Iterable<TypedArray> },
  access: WriteAccess = {},
): Promise<{ readonly rows: number; readonly bytes: number }> {
  let rows = 0
  const bytes = await writeAtomically(
    path,
    async (append) => {
      await append(header)
      for (const values of pieces) {
        rows += values.length
        await append(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
      }
    },
    access,
  )
  return { rows, bytes }
}
