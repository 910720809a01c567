/** Boxes of arrays as one stretch of bytes, in the order in which they are told of. */

import { ARRAY_OF_DTYPE, type DenseStorage } from '../../../core/arrays/storage.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { fillerOf, type MadeSpec } from '../../arrays/makeArray.ts'
import { partsOf } from '../../arrays/parted.ts'
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

/** A copy in shared memory, which another thread takes without one more. */
export function packBoxes(boxes: readonly StoredBox[]): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(boxes.reduce((sum, box) => sum + bytesOfBox(box), 0)))
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

/** Puts values where they belong. Throws RangeError where there are more or fewer than the boxes have. */
export function unpackBoxes(boxes: readonly StoredBox[], bytes: Uint8Array): void {
  if (bytes.length !== boxes.reduce((sum, box) => sum + bytesOfBox(box), 0))
    throw new RangeError('Elements of an array do not fill their boxes.')
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

/** Puts into boxes of an array what it is made with. */
export function makeBoxes(boxes: readonly StoredBox[], spec: MadeSpec): void {
  const fill = fillerOf(spec)
  for (const one of boxes) eachRun(one, fill, { writes: true })
}

/** Calls `visit` for all stretches of memory that a box has, with the row-major position of the first element. */
function eachRun(
  { storage, box }: StoredBox,
  visit: (run: TypedArray, first: number) => void,
  { writes }: { readonly writes: boolean },
): void {
  const { strides, shape } = storage
  const parts = partsOf(storage)
  const last = shape.length - 1
  const walk = (axis: number, index: number, position: number): void => {
    const [from, to] = [box[2 * axis] ?? 0, box[2 * axis + 1] ?? 1]
    const before = position * (shape[axis] ?? 1)
    if (axis >= last) {
      const first = before + from
      if (parts === undefined) visit(storage.data.subarray(index + from, index + to), first)
      else parts.eachPiece(index + from, index + to, (piece, at) => visit(piece, first + at - index - from), { writes })
      return
    }
    for (let at = from; at < to; at++) walk(axis + 1, index + at * (strides[axis] as number), before + at)
  }
  walk(0, 0, 0)
}
