/**
 * Memory for parts that are sent. It goes to the thread of links without a copy, and is used again once that thread has written the message:
 *
 *     main thread    roomToSend: packs | send: a cell is 1 |                      | finds 0: packs the next part there
 *     links                                | writes frames ... | the cell is 0 |
 *
 * Statement: memory is part of one message at most before it is free again, since `sentIn` gives it away.
 */
import { Bug } from '../../../core/errors.ts'
import { BufferPool, LEAST_POOLED_BYTES } from './bufferPool.ts'

/** The most messages with such parts that are under way at a time; the memory of more is left to the garbage collector. */
const CELLS = 4096

/** 1 for each message that is to be written, at its cell. */
export const sendCells: Int32Array = new Int32Array(new SharedArrayBuffer(4 * CELLS))
const freeCells: number[] = Array.from({ length: CELLS }, (_, i) => CELLS - 1 - i)
const pool = new BufferPool((length) => new SharedArrayBuffer(length))
/** All such memory, and that which is part of no message yet. */
const [known, asked] = [new WeakSet<ArrayBufferLike>(), new WeakSet<ArrayBufferLike>()]
let underWay: readonly { readonly cell: number; readonly buffers: readonly SharedArrayBuffer[] }[] = []

/** Shared memory for one part of one message, which goes to the thread of links without a copy. It holds anything. */
export function roomToSend(length: number): Uint8Array {
  if (length < LEAST_POOLED_BYTES) return new Uint8Array(new SharedArrayBuffer(length))
  takeWritten()
  const buffer = pool.take(length)
  known.add(buffer)
  asked.add(buffer)
  return new Uint8Array(buffer, 0, length)
}

/** The cell of a message with parts in such memory, which is given away with it; undefined where it has none. */
export function sentIn(parts: readonly Uint8Array[]): number | undefined {
  const buffers = [...new Set(parts.map(({ buffer }) => buffer))].filter((buffer) => known.has(buffer)) as SharedArrayBuffer[] // of the pool
  if (!buffers.every((buffer) => asked.delete(buffer))) throw new Bug('Memory for one message is part of two.')
  const cell = buffers.length === 0 ? undefined : freeCells.pop()
  if (cell === undefined) return undefined
  sendCells[cell] = 1
  underWay = [...underWay, { cell, buffers }]
  return cell
}

/** Says on the thread of links that a message is written, or never will be. */
export function written(cells: Int32Array, cell: number): void {
  Atomics.store(cells, cell, 0)
}

function takeWritten(): void {
  const done = underWay.filter(({ cell }) => Atomics.load(sendCells, cell) === 0)
  if (done.length === 0) return
  underWay = underWay.filter((one) => !done.includes(one))
  for (const { cell, buffers } of done) {
    freeCells.push(cell)
    pool.giveBack(buffers)
  }
}
