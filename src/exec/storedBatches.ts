/** Storage as batches, in key order; columns are views of the storage wherever its layout allows. */
import type { Column, TypedArray } from '../core/column.ts'
import { keyAt, sizeOfShape } from '../core/indexSpace.ts'
import type { Keys } from '../core/logicalPlan.ts'
import type { ElementType } from '../core/schema.ts'
import type { DenseStorage, Storage } from '../core/storage.ts'
import { type ExecBatch, scalarBatch, sliceBatch } from './operators/batches.ts'
import { PARTITION_ROWS } from './operators/partitions.ts'

/** Batches of at most `PARTITION_ROWS` elements; with keys, unless the array is a table. */
export function storedBatches(
  storage: Storage,
  { keys, element }: { readonly keys: Keys; readonly element: ElementType },
): readonly ExecBatch[] {
  switch (storage.kind) {
    case 'dense':
      return denseBatches(storage, keys).map((batch) => asNumbers(batch, element))
    case 'table':
      return cut({ element: storage.element, length: storage.length, columns: storage.columns })
    case 'sparse': {
      const explicit = keys.kind === 'explicit' ? { keys: storage.keys } : {}
      return cut({ element: storage.element, length: storage.length, columns: storage.columns, ...explicit })
    }
  }
}

/** An array of dtype bool whose elements are numbers: bytes of 0 and 1, which is what a bool column holds. */
function asNumbers(batch: ExecBatch, element: ElementType): ExecBatch {
  const [column] = batch.columns
  if (element.kind !== 'scalar' || element.type.kind !== 'u8' || column?.type.kind !== 'bool') return batch
  return { ...batch, ...scalarBatch({ ...column, type: element.type }) }
}

function cut(batch: ExecBatch): readonly ExecBatch[] {
  const pieces: ExecBatch[] = []
  for (let from = 0; from < batch.length; from += PARTITION_ROWS)
    pieces.push(sliceBatch(batch, from, Math.min(from + PARTITION_ROWS, batch.length)))
  return pieces.length === 0 ? [batch] : pieces
}

function denseBatches(storage: DenseStorage, keys: Keys): readonly ExecBatch[] {
  const size = sizeOfShape(storage.shape)
  const pieces: ExecBatch[] = []
  for (let from = 0; from === 0 || from < size; from += PARTITION_ROWS) {
    const to = Math.min(from + PARTITION_ROWS, size)
    const batch = scalarBatch(denseColumn(storage, from, to))
    pieces.push(keys.kind === 'explicit' ? { ...batch, keys: keysBetween(storage.shape, from, to) } : batch)
  }
  return pieces
}

function denseColumn(storage: DenseStorage, from: number, to: number): Column {
  const { shape, dtype, data, strides } = storage
  if (dtype === 'object') return { type: { kind: 'object' }, length: to - from, objects: storage.objects?.slice(from, to) ?? [] }
  const inner = shape.at(-1) ?? 1
  const rowStride = shape.length < 2 ? inner : (strides.at(-2) ?? inner)
  if (rowStride === inner) return { type: { kind: dtype }, length: to - from, values: data.subarray(from, to) }
  return { type: { kind: dtype }, length: to - from, values: unpadded(data, { inner, rowStride, from, to }) }
}

/** Copies the elements out of rows that are padded. */
function unpadded(
  data: TypedArray,
  at: { readonly inner: number; readonly rowStride: number; readonly from: number; readonly to: number },
): TypedArray {
  const out = new (data.constructor as new (length: number) => TypedArray)(at.to - at.from) // a typed array's own class
  for (let position = at.from; position < at.to; ) {
    const row = Math.floor(position / at.inner)
    const column = position - row * at.inner
    const count = Math.min(at.inner - column, at.to - position)
    const start = row * at.rowStride + column
    out.set(data.subarray(start, start + count) as never, position - at.from)
    position += count
  }
  return out
}

function keysBetween(shape: readonly number[], from: number, to: number): Int32Array[] {
  const axes = shape.map(() => new Int32Array(to - from))
  const key = keyAt(from, shape)
  for (let i = 0; i < to - from; i++) {
    for (let axis = 0; axis < axes.length; axis++) (axes[axis] as Int32Array)[i] = key[axis] as number // one array per axis
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const next = (key[axis] as number) + 1
      key[axis] = next < (shape[axis] as number) ? next : 0
      if (key[axis] !== 0) break
    }
  }
  return axes
}
