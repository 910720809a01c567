/** Boxes of arrays as one stretch of bytes, in the order in which the message lists them. */

import { ARRAY_OF_DTYPE, type DenseStorage } from '../../../core/arrays/storage.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { fillerOf, type MadeSpec } from '../../arrays/makeArray.ts'
import { partsOf } from '../../arrays/parted.ts'
import { roomToSend } from '../links/sendBuffers.ts'
import { bytesOf } from './changes.ts'
import type { Box } from './transfers.ts'

export interface StoredBox {
  readonly storage: DenseStorage
  readonly box: Box
}

export function bytesOfBox({ storage, box }: StoredBox): number {
  let bytes = ARRAY_OF_DTYPE[storage.dtype as DType].BYTES_PER_ELEMENT // no objects: those are not sent
  for (let i = 0; i < box.length; i += 2) bytes *= (box[i + 1] as number) - (box[i] as number)
  return bytes
}

export function bytesOfAll(boxes: readonly StoredBox[]): number {
  return boxes.reduce((sum, box) => sum + bytesOfBox(box), 0)
}

/** Copies the elements of boxes into memory for one message. */
export function packBoxes(boxes: readonly StoredBox[]): Uint8Array {
  return packInto(boxes, roomToSend(bytesOfAll(boxes)))
}

/** Copies the elements of boxes into `bytes`, which has room for just these. */
export function packInto(boxes: readonly StoredBox[], bytes: Uint8Array): Uint8Array {
  let at = 0
  for (const one of boxes) {
    const reading = (elements: TypedArray): void => {
      const run = bytesOf(elements)
      bytes.set(run, at)
      at += run.length
    }
    eachRun(one, reading, { writes: false })
  }
  return bytes
}

/** Copies packed values into their boxes. Throws RangeError where there are more or fewer than the boxes have. */
export function unpackBoxes(boxes: readonly StoredBox[], bytes: Uint8Array): void {
  if (bytes.length !== bytesOfAll(boxes)) throw new RangeError('Elements of an array do not fill their boxes.')
  let at = 0
  for (const one of boxes) {
    const writing = (elements: TypedArray): void => {
      const run = bytesOf(elements)
      run.set(bytes.subarray(at, at + run.length))
      at += run.length
    }
    eachRun(one, writing, { writes: true })
  }
}

/** Fills boxes of an array with the values that its description gives. */
export function makeBoxes(boxes: readonly StoredBox[], spec: MadeSpec): void {
  const fill = fillerOf(spec)
  for (const one of boxes) eachRun(one, fill, { writes: true })
}

/** Calls `visit` for each contiguous stretch of a box's memory, with the row-major position of its first element. */
function eachRun(
  { storage, box }: StoredBox,
  visit: (run: TypedArray, first: number) => void,
  { writes }: { readonly writes: boolean },
): void {
  const { strides, shape } = storage
  const parts = partsOf(storage)
  let last = shape.length - 1
  // elements of one step along the last axis: whole rows that follow each other without a gap are one stretch
  let step = 1
  while (last > 0 && box[2 * last] === 0 && box[2 * last + 1] === shape[last] && strides[last - 1] === step * (shape[last] as number))
    step *= shape[last--] as number
  const walk = (axis: number, index: number, position: number): void => {
    const [from, to] = [box[2 * axis] ?? 0, box[2 * axis + 1] ?? 1]
    const before = position * (shape[axis] ?? 1)
    if (axis >= last) {
      const first = (before + from) * step
      const [start, end] = [index + from * step, index + to * step]
      if (parts === undefined) visit(storage.data.subarray(start, end), first)
      else parts.eachPiece(start, end, (piece, at) => visit(piece, first + at - start), { writes })
      return
    }
    for (let at = from; at < to; at++) walk(axis + 1, index + at * (strides[axis] as number), before + at)
  }
  walk(0, 0, 0)
}
