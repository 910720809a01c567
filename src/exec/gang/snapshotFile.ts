/**
 * The values of an array whose elements lie in several processes, in a file: elements that are not here are read from it, so that no
 * process has to have all of the array.
 *
 *     chunk | chunk | …     elements in row-major order without padding; every chunk but the last has as many
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { Bug } from '../../core/errors.ts'
import { spillError } from '../tables/spill/segments.ts'
import { bytesOf } from './movement/changes.ts'

const gone = new FinalizationRegistry<string>((path) => rmSync(path, { force: true }))

export class SnapshotFile {
  readonly #path: string
  readonly #dtype: DType
  /** Elements of each chunk. */
  readonly #chunk: number
  readonly #sums: number[] = []
  /** The chunk that was read last, in memory that each chunk takes over from the one before: rows follow one another. */
  #last: { readonly number: number; readonly memory: TypedArray; readonly elements: TypedArray } | undefined
  #length = 0

  constructor(path: string, dtype: DType, chunk: number) {
    this.#path = path
    this.#dtype = dtype
    this.#chunk = chunk
    gone.register(this, path, this)
  }

  append(elements: TypedArray): void {
    const bytes = bytesOf(elements)
    this.#attempt('written', 'a', (file) => {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    })
    this.#sums.push(crc32(bytes))
    this.#length += elements.length
  }

  /** Fills `row` with elements of the array from row-major position `first` on. */
  readonly fill = (row: TypedArray, first: number): void => {
    for (let at = 0; at < row.length; ) {
      const number = Math.floor((first + at) / this.#chunk)
      const elements = this.#read(number)
      const from = first + at - number * this.#chunk
      const some = elements.subarray(from, from + row.length - at)
      if (some.length === 0) throw new Bug('An array was asked for elements that were not put aside.')
      row.set(some as never, at) // of one class
      at += some.length
    }
  }

  remove(): void {
    gone.unregister(this)
    rmSync(this.#path, { force: true })
  }

  #read(number: number): TypedArray {
    if (this.#last?.number === number) return this.#last.elements
    const first = number * this.#chunk
    const memory = this.#last?.memory ?? new ARRAY_OF_DTYPE[this.#dtype](Math.min(this.#chunk, this.#length))
    this.#last = undefined // until all of it is there
    const elements = memory.subarray(0, Math.min(this.#chunk, this.#length - first))
    const bytes = bytesOf(elements)
    this.#attempt('read', 'r', (file) => {
      const read = readSync(file, bytes, 0, bytes.length, first * elements.BYTES_PER_ELEMENT)
      if (read !== bytes.length || crc32(bytes) !== this.#sums[number]) throw new Error('the file is not what was written')
    })
    this.#last = { number, memory, elements }
    return elements
  }

  #attempt(what: 'read' | 'written', flags: string, run: (file: number) => void): void {
    try {
      const file = openSync(this.#path, flags)
      try {
        run(file)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      throw spillError(dirname(this.#path), what, error)
    }
  }
}
