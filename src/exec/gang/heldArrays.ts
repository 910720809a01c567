/** The arrays of a process that does not run the program: rank 0 sends their elements, or has it make them. */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import { Bug } from '../../core/errors.ts'
import { partsOf } from '../arrays/parted.ts'
import { freeStorage } from '../arrays/storageBlocks.ts'
import type { Arena } from '../memory/arena.ts'
import type { TouchedRows } from './definition.ts'
import { HeldElements } from './heldElements.ts'
import type { FrameType } from './links/frame.ts'
import { makeBoxes, packBoxes, type StoredBox, unpackBoxes } from './movement/boxWire.ts'
import type { ElementsHead } from './movement/elements.ts'
import type { Loads, NumberedBox, RowsHead } from './movement/moves.ts'
import { applyParts, type BoxesHead, type FetchHead, type MakeHead, regionOf, type ValuesHead } from './movement/passWire.ts'
import type { FlushedHead } from './movement/rounds.ts'
import { packRows, unpackRows } from './movement/served/rowCopies.ts'
import type { Rows } from './movement/served/servedRows.ts'
import { refill, storageFrom } from './storageWire.ts'

interface KnownStorage {
  readonly storage: Storage
  /** The number of times that values came. */
  version: number
}

export class HeldArrays {
  readonly #arena: Arena
  readonly #storages = new Map<number, KnownStorage>()
  /** The rows of served arrays that this process knows, by loop and array. */
  readonly #keys = new Map<string, Rows>()

  /** Elements that loops go over, of arrays of which this process has only these. */
  readonly elements: HeldElements

  constructor(arena: Arena) {
    this.#arena = arena
    this.elements = new HeldElements(arena)
  }

  /** Obeys a message about arrays; false for any other message. */
  take(type: FrameType, head: unknown, parts: readonly Uint8Array[]): boolean {
    // heads are what rank 0 sends
    if (type === 'values') this.#keep(head as ValuesHead, parts)
    else if (type === 'boxes') this.#put(head as BoxesHead, parts)
    else if (type === 'make') this.#make(head as MakeHead)
    else if (type === 'elements') this.elements.take(head as ElementsHead, parts)
    else if (type === 'flushed') this.#flushed(head as FlushedHead, parts)
    else if (type === 'keys')
      this.#keys.set(nameOfKeys(head as RowsHead), rowsFrom(parts[0] as Uint8Array)) // of rank 0
    else if (type === 'rows')
      this.putRows(head as RowsHead, parts[0] as Uint8Array) // of packRows
    else return false
    return true
  }

  get numbers(): readonly number[] {
    return [...this.#storages.keys(), ...this.elements.numbers]
  }

  storage(number: number): Storage {
    return this.#known(number).storage
  }

  version(number: number): string {
    return String(this.#known(number).version)
  }

  dense(number: number): DenseStorage {
    const found = this.#storages.get(number)?.storage
    if (found?.kind !== 'dense') throw new Bug(`Array ${number} of a loop was not sent, or is not dense.`)
    return found
  }

  stored(boxes: readonly NumberedBox[]): StoredBox[] {
    return boxes.map(({ storage, box }) => ({ storage: this.dense(storage), box }))
  }

  /** Copies the elements that rank 0 fetches: boxes or rows. */
  packed({ boxes = [], rows }: FetchHead): Uint8Array {
    return rows === undefined ? packBoxes(this.stored(boxes)) : this.packedRows(rows)
  }

  packedRows(rows: RowsHead): Uint8Array {
    return packRows(this.dense(rows.storage), this.#rows(rows))
  }

  /** Makes the rows that a loop's blocks touch lie in one piece, which is what kernels reach. */
  holdRows(rows: readonly TouchedRows[]): void {
    for (const { storage, from, to } of rows) partsOf(this.dense(storage))?.hold(from, to)
  }

  /** Makes arrays whole, in one piece, before kernels run while rows of them come or go. */
  whole({ sends, takes }: Loads): void {
    for (const { rows } of [...sends, ...takes]) for (const { storage } of rows) partsOf(this.dense(storage))?.whole()
  }

  /** Takes in an array that was computed here. */
  hold(number: number, storage: Storage): void {
    this.#storages.set(number, { storage, version: 0 })
  }

  forget(number: number): void {
    const known = this.#storages.get(number)
    if (known !== undefined) freeStorage(known.storage)
    this.#storages.delete(number)
    this.elements.forget(number)
  }

  forgetLoop(id: string): void {
    for (const name of this.#keys.keys()) if (name.startsWith(`${id} `)) this.#keys.delete(name)
  }

  #keep({ storage: number, shape }: ValuesHead, parts: readonly Uint8Array[]): void {
    const known = this.#storages.get(number)
    if (known === undefined) this.#storages.set(number, { storage: storageFrom(shape, parts, this.#arena), version: 0 })
    else if (parts.length > 0) {
      refill(known.storage, parts)
      known.version++
    }
  }

  #put({ boxes }: BoxesHead, parts: readonly Uint8Array[]): void {
    this.#hold(boxes)
    unpackBoxes(this.stored(boxes), parts[0] as Uint8Array) // of packBoxes
    this.#changed(boxes)
  }

  #make({ spec, boxes }: MakeHead): void {
    this.#hold(boxes)
    makeBoxes(this.stored(boxes), spec)
    this.#changed(boxes)
  }

  #flushed({ loop, arrays }: FlushedHead, parts: readonly Uint8Array[]): void {
    for (const [i, { storage, isRows }] of arrays.entries()) {
      const [runs, bytes] = [parts[2 * i] as Uint8Array, parts[2 * i + 1] as Uint8Array] // two an array
      if (isRows) unpackRows(this.dense(storage), this.#rows({ loop, storage }), bytes)
      else applyParts([regionOf(this.dense(storage))], [runs, bytes])
      this.#known(storage).version++
    }
  }

  putRows(head: RowsHead, values: Uint8Array): void {
    unpackRows(this.dense(head.storage), this.#rows(head), values)
    this.#known(head.storage).version++
  }

  /** Holds the rows of boxes that come before a pass in one piece, which is what kernels reach. */
  #hold(boxes: readonly NumberedBox[]): void {
    for (const number of new Set(boxes.map(({ storage }) => storage))) {
      const own = boxes.filter(({ storage }) => storage === number)
      const rows = own.map(({ box }) => [box[0] ?? 0, box[1] ?? 1] as const)
      partsOf(this.dense(number))?.hold(Math.min(...rows.map(([from]) => from)), Math.max(...rows.map(([, to]) => to)))
    }
  }

  #changed(boxes: readonly NumberedBox[]): void {
    for (const number of new Set(boxes.map(({ storage }) => storage))) this.#known(number).version++
  }

  rows(head: RowsHead): Rows | undefined {
    return this.#keys.get(nameOfKeys(head))
  }

  #rows(head: RowsHead): Rows {
    const rows = this.rows(head)
    if (rows === undefined) throw new Bug(`Rows of array ${head.storage} came without their keys.`)
    return rows
  }

  #known(number: number): KnownStorage {
    const found = this.#storages.get(number)
    if (found === undefined) throw new Bug(`Array ${number} of a loop was not sent.`)
    return found
  }
}

function nameOfKeys({ loop, storage }: RowsHead): string {
  return `${loop} ${storage}`
}

function rowsFrom(bytes: Uint8Array): Rows {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
}
