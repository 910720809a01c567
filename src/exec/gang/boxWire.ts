/** Boxes of arrays as one stretch of bytes, in the order in which they are told of. */
import type { TypedArray } from '../../core/column.ts'
import type { DenseStorage } from '../../core/storage.ts'
import type { Box } from './transfers.ts'

export interface StoredBox {
  readonly storage: DenseStorage
  readonly box: Box
}

export function bytesOfBox({ storage, box }: StoredBox): number {
  let bytes = (storage.data as TypedArray).BYTES_PER_ELEMENT // no objects: those are not sent
  for (let i = 0; i < box.length; i += 2) bytes *= (box[i + 1] as number) - (box[i] as number)
  return bytes
}

/** A copy in shared memory, which another thread takes without one more. */
export function packBoxes(boxes: readonly StoredBox[]): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(boxes.reduce((sum, box) => sum + bytesOfBox(box), 0)))
  let at = 0
  for (const one of boxes) {
    eachRun(one, (run) => {
      bytes.set(run, at)
      at += run.length
    })
  }
  return bytes
}

/** Puts values where they belong. Throws RangeError where there are more or fewer than the boxes have. */
export function unpackBoxes(boxes: readonly StoredBox[], bytes: Uint8Array): void {
  if (bytes.length !== boxes.reduce((sum, box) => sum + bytesOfBox(box), 0))
    throw new RangeError('Elements of an array do not fill their boxes.')
  let at = 0
  for (const one of boxes) {
    eachRun(one, (run) => {
      run.set(bytes.subarray(at, at + run.length))
      at += run.length
    })
  }
}

/** Calls `visit` for all stretches of memory that a box has. */
function eachRun({ storage, box }: StoredBox, visit: (run: Uint8Array) => void): void {
  const { strides, shape } = storage
  const data = storage.data as TypedArray // no objects: those are not sent
  const { buffer, byteOffset, BYTES_PER_ELEMENT } = data
  const last = shape.length - 1
  const walk = (axis: number, index: number): void => {
    const [from, to] = [box[2 * axis] ?? 0, box[2 * axis + 1] ?? 1]
    if (axis >= last) {
      visit(new Uint8Array(buffer, byteOffset + (index + from) * BYTES_PER_ELEMENT, (to - from) * BYTES_PER_ELEMENT))
      return
    }
    for (let at = from; at < to; at++) walk(axis + 1, index + at * (strides[axis] as number))
  }
  walk(0, 0)
}
