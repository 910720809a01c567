/** Digests of what arrays hold: equal where the elements are, whatever lies between and behind them in memory. */
import { createHash, type Hash } from 'node:crypto'
import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import type { Column } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { eachStretch } from '../arrays/rows.ts'

/** Bytes of a piece: shared memory is copied in pieces, as it may not be hashed where it lies. */
const PIECE_BYTES = 2 ** 20

export function digestOf(storage: Storage): string {
  const hash = createHash('sha256')
  if (storage.kind === 'dense') addDense(hash, storage)
  else {
    hash.update(JSON.stringify([storage.kind, storage.length, storage.kind === 'sparse' ? storage.shape : [], storage.element]))
    for (const keys of storage.kind === 'sparse' ? storage.keys : []) addBytes(hash, keys.subarray(0, storage.length))
    for (const column of storage.columns) addColumn(hash, column)
  }
  return hash.digest('hex')
}

/** Adds a dense array to the hash, without the padding behind its rows. */
function addDense(hash: Hash, storage: DenseStorage): void {
  const { shape, dtype, strides, objects } = storage
  hash.update(JSON.stringify([dtype, shape]))
  if (objects !== undefined) {
    hash.update(objects.map(textOf).join())
    return
  }
  const width = shape.at(-1) ?? 1
  const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1)
  const step = shape.length > 1 ? (strides.at(-2) as number) : width
  const add = (from: number, to: number): void => eachStretch(storage, from, to, (elements) => addBytes(hash, elements))
  if (step === width) add(0, rows * width)
  else for (let row = 0; row < rows; row++) add(row * step, row * step + width)
}

/** Adds a column to the hash: numbers without nulls by their bytes, all else value by value. */
function addColumn(hash: Hash, column: Column): void {
  const { values, validity, offsets, dictionary, length } = column
  if (values !== undefined && validity === undefined && offsets === undefined && dictionary === undefined) {
    addBytes(hash, values.subarray(0, length))
    return
  }
  const read = valueReader(column)
  let piece: string[] = []
  for (let i = 0; i < length; i++) {
    piece.push(textOf(read(i)))
    if (piece.length < 4096 && i + 1 < length) continue
    hash.update(`${piece.join()},`)
    piece = []
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value instanceof Date) return `date ${value.getTime()}`
  if (ArrayBuffer.isView(value)) return `[${[...(value as Uint8Array)].join()}]`
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, item]) => `${JSON.stringify(name)}:${textOf(item)}`)
      .join()}}`
  return JSON.stringify(value) ?? String(value)
}

function addBytes(hash: Hash, { buffer, byteOffset, byteLength }: ArrayBufferView): void {
  for (let from = 0; from < byteLength; from += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, byteLength - from)
    hash.update(Uint8Array.from(new Uint8Array(buffer, byteOffset + from, length)))
  }
}
