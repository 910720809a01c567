/**
 * Gathers texts at rows in any order by a kernel: as `takeColumn` does for columns in ordinary buffers.
 *
 * The kernel runs over a WebAssembly memory of the thread; the texts are copied into it and the result out of it. These two copies are
 * sequential and cost little beside the gather, in which the kernel moves eight bytes at a time.
 */

import type { Column } from '../../../../core/data/column.ts'
import { bytesOf, type NewArray, ordinary, takeColumn, takenOffsets, takenValidity } from '../../../../core/data/columnSlices.ts'
import { textsKernel } from '../../../kernels/tables/gatherKernels.ts'
import { moduleBytes } from '../../../wasm/wasmEncoder.ts'

/** JavaScript gathers where there are fewer rows than this, or the memory would need more than `MOST_BYTES`. */
const FEWEST_ROWS = 512
const MOST_BYTES = 2 ** 26
/** A larger memory is not kept for the next column. */
const KEPT_BYTES = 2 ** 25
const PAGE_BYTES = 2 ** 16

/** The elements at `indices`, in their order; -1 gives null. `newArray` makes the buffers of the result. */
export function takenColumn(column: Column, indices: Int32Array, newArray: NewArray = ordinary): Column {
  const { type, children } = column
  if (indices.length < FEWEST_ROWS) return takeColumn(column, indices, newArray)
  if (type.kind === 'struct' && children !== undefined) {
    const validity = takenValidity(column, indices)
    const parts = children.map((child) => takenColumn(child, indices, newArray))
    return { type, length: indices.length, ...(validity === undefined ? {} : { validity }), children: parts }
  }
  return (
    ((type.kind === 'utf8' || type.kind === 'binary') && takenTexts(column, indices, newArray)) || takeColumn(column, indices, newArray)
  )
}

function takenTexts(column: Column, indices: Int32Array, newArray: NewArray): Column | undefined {
  const { type, offsets: old, length: rows, dictionary } = column
  if (old === undefined || dictionary !== undefined) return undefined
  const { length } = indices
  const [first, last] = [old[0] as number, old[rows] as number] // one more offset than rows
  const source = bytesOf(column).subarray(first, last)
  const offsets = takenOffsets(column, indices, newArray)
  const total = offsets[length] as number // the last one
  const places = placesOf(source.length, rows, length)
  if (places.out + total > MOST_BYTES) return undefined
  const memory = memoryOf(places.out + total)
  const { buffer } = memory
  new Uint8Array(buffer, 0, source.length).set(source)
  new Int32Array(buffer, places.offsets, rows + 1).set(old.subarray(0, rows + 1))
  new Int32Array(buffer, places.rows, length).set(indices)
  new Int32Array(buffer, places.ends, length + 1).set(offsets)
  runOver(memory)(-first, places.offsets, places.rows, 0, length, places.ends, 0, places.out)
  const values = newArray(Uint8Array, total)
  values.set(new Uint8Array(buffer, places.out, total))
  const validity = takenValidity(column, indices)
  return { type, length, ...(validity === undefined ? {} : { validity }), offsets, values }
}

/** The offsets in the memory of what the kernel reads and writes; the texts themselves begin at 0. */
function placesOf(bytes: number, rows: number, taken: number): Readonly<Record<'offsets' | 'rows' | 'ends' | 'out', number>> {
  const offsets = 8 + 8 * Math.ceil(bytes / 8) // with room before them, which row -1 reads
  const rowsAt = offsets + 4 * (rows + 1)
  const ends = rowsAt + 4 * taken
  return { offsets, rows: rowsAt, ends, out: ends + 4 * (taken + 1) }
}

type Run = (
  ...numbers: readonly [bytes: number, offsets: number, rows: number, from: number, to: number, ends: number, before: number, out: number]
) => void

let module: WebAssembly.Module | undefined
let kept: WebAssembly.Memory | undefined
const runs = new WeakMap<WebAssembly.Memory, Run>()

function memoryOf(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  if (bytes > KEPT_BYTES) return new WebAssembly.Memory({ initial: pages })
  kept ??= new WebAssembly.Memory({ initial: pages })
  const missing = pages - kept.buffer.byteLength / PAGE_BYTES
  if (missing > 0) kept.grow(missing)
  return kept
}

function runOver(memory: WebAssembly.Memory): Run {
  let run = runs.get(memory)
  if (run === undefined) {
    module ??= new WebAssembly.Module(moduleBytes(textsKernel({ foreign: true })))
    run = new WebAssembly.Instance(module, { k: { memory } }).exports.run as Run // its one export
    runs.set(memory, run)
  }
  return run
}
