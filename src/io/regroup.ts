/** Batches of any size as batches of one size: row groups, record batches. */
import type { Batch, Column } from '../core/data/column.ts'
import { concatColumns } from '../core/data/columnConcat.ts'
import { type NewArray, ordinary, sliceColumn } from '../core/data/columnSlices.ts'
import { type ElementType, fieldsOf } from '../core/data/schema.ts'

/** A batch is ended before its bytes pass this, whatever its rows. */
const LARGEST_BATCH_BYTES = 128 * 2 ** 20

/** Rows that are written together. */
export interface Group {
  /** Their batches, or parts of them, in order. */
  readonly parts: readonly Batch[]
  /** The batches whose last rows are in this group. */
  readonly ended: readonly Batch[]
}

/** Groups the rows in their order, `rows` to a group but for the last (and for very wide rows); makes no empty groups. */
export async function* groupsOf(batches: AsyncIterable<Batch> | Iterable<Batch>, rows: number): AsyncGenerator<Group> {
  let parts: Batch[] = []
  let ended: Batch[] = []
  let heldRows = 0
  let heldBytes = 0
  const flush = (): Group => {
    const group = { parts, ended }
    parts = []
    ended = []
    heldRows = 0
    heldBytes = 0
    return group
  }
  for await (const batch of batches) {
    const perRow = batch.length === 0 ? 0 : batch.columns.reduce((sum, column) => sum + bytesOfColumn(column), 0) / batch.length
    let from = 0
    while (from < batch.length) {
      const fitting = perRow === 0 ? rows : Math.max(1, Math.floor((LARGEST_BATCH_BYTES - heldBytes) / perRow))
      const take = Math.min(batch.length - from, rows - heldRows, fitting)
      parts.push(sliceBatch(batch, from, from + take))
      heldRows += take
      heldBytes += take * perRow
      from += take
      if (from === batch.length) ended.push(batch)
      if (heldRows === rows || heldBytes >= LARGEST_BATCH_BYTES - perRow) yield flush()
    }
  }
  if (heldRows > 0) yield flush()
}

/** The groups as one batch each. */
export async function* regroup(batches: AsyncIterable<Batch> | Iterable<Batch>, element: ElementType, rows: number): AsyncGenerator<Batch> {
  for await (const { parts } of groupsOf(batches, rows)) yield joinBatches(parts, element)
}

export function joinBatches(batches: readonly Batch[], element: ElementType, newArray: NewArray = ordinary): Batch {
  const [first] = batches
  const length = rowsOf(batches)
  if (batches.length === 1 && first !== undefined) return { element, length, columns: first.columns }
  const columns = fieldsOf(element).map((field, i) =>
    concatColumns(
      batches.map((batch) => batch.columns[i] as Column),
      field.name,
      newArray,
    ),
  )
  return { element, length, columns }
}

export function rowsOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, batch) => sum + batch.length, 0)
}

function sliceBatch(batch: Batch, from: number, to: number): Batch {
  if (from === 0 && to === batch.length) return batch
  return { element: batch.element, length: to - from, columns: batch.columns.map((column) => sliceColumn(column, from, to)) }
}

function bytesOfTexts({ values, length }: Column, { offsets = new Int32Array(1), length: entries }: Column): number {
  const lengths = Int32Array.from({ length: entries }, (_, entry) => (offsets[entry + 1] ?? 0) - (offsets[entry] ?? 0))
  let bytes = 4 * length
  for (let row = 0; row < length; row++) bytes += lengths[values?.[row] as number] ?? 0 // nulls may have any code
  return bytes
}

/** The bytes of a column's values and offsets; of texts as dictionary codes, those that they have written out. */
export function bytesOfColumn(column: Column): number {
  if (column.dictionary !== undefined) return bytesOfTexts(column, column.dictionary)
  const own =
    column.offsets !== undefined && column.children === undefined
      ? (column.offsets[column.length] ?? 0) - (column.offsets[0] ?? 0) + column.length * 4
      : (column.values?.BYTES_PER_ELEMENT ?? 0) * column.length
  return own + (column.children ?? []).reduce((sum, child) => sum + bytesOfColumn(child), 0)
}
