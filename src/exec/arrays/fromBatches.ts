/**
 * Batches to storage: the result of a plan, kept.
 *
 *     table            the columns end to end
 *     explicit keys    dense when every key of the shape is present (or dense storage was asked for) and elements are
 *                      numbers; otherwise sorted by key
 */

import { isInside, outsideMessage, type Shape, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type Storage } from '../../core/arrays/storage.ts'
import type { Batch, Column, TypedArray } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { concatColumns } from '../../core/data/columnConcat.ts'
import { unifyFields } from '../../core/data/columnConversions.ts'
import { rowReader } from '../../core/data/columnReaders.ts'
import { takeColumn } from '../../core/data/columnSlices.ts'
import { positionsOf } from '../../core/data/fieldPositions.ts'
import { type DType, type ElementType, fieldsOf, typeText } from '../../core/data/schema.ts'
import { Bug, PlanError } from '../../core/errors.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { makeZeros } from './makeArray.ts'
import { compareAt, largestOf, sortOrder } from './sortKeys.ts'
import { copyStorage, freeStorage } from './storageBlocks.ts'

/** The description of the storage that is to be made. */
export interface StorageForm {
  /** The array's name in messages, as `ratings.parquet.index(…)`. */
  readonly name: string
  readonly keys: LogicalPlan['keys']
  /** The element's type by the plan, for when there is no batch to tell. */
  readonly element: ElementType
  /** The kind of storage that `index(f, { storage })` asks for. */
  readonly storage?: 'dense' | 'sparse'
  /** The function of `index(f, { combine })`: folds the elements of one key from left to right. */
  readonly combine?: (a: never, b: never) => unknown
  /** Present where the batches come in the order of their keys, which differ and none is negative. */
  readonly isInOrder?: true
}

/** Storage in the arena with blocks of its own; nothing of the batches is used afterwards. */
export function storageFromBatches(batches: readonly Batch[], form: StorageForm, arena: Arena): Storage {
  const element = elementOf(batches, form)
  const joined = joinBatches(batches, element, form)
  if (form.keys.kind === 'rowNumber') {
    return copyStorage({ kind: 'table', element, length: joined.length, columns: joined.columns }, arena, form.name)
  }
  const shape = shapeOf(joined, form)
  const dense = form.storage === 'sparse' ? undefined : denseFrom(joined, shape, form, arena)
  return dense ?? sparseFrom(joined, shape, form, arena)
}

/** Batches end to end, in ordinary memory or as they were. */
interface Joined {
  readonly element: ElementType
  readonly length: number
  readonly columns: readonly Column[]
  readonly keys: readonly Int32Array[]
}

/** The batches' own element, which is known even where the plan's is not. */
function elementOf(batches: readonly Batch[], form: StorageForm): ElementType {
  const kinds = batches.filter((batch) => batch.length > 0 || batch.element.kind !== 'unknown').map((batch) => batch.element)
  const [first] = kinds
  if (first === undefined) return form.element
  return kinds.reduce((a, b) => {
    if (a.kind === 'row' && b.kind === 'row') return { kind: 'row', fields: unifyFields(a.fields, b.fields) }
    if (a.kind === 'scalar' && b.kind === 'scalar') {
      const [field] = unifyFields(fieldsOf(a), fieldsOf(b))
      return field === undefined ? a : { kind: 'scalar', type: field.type, nullable: field.nullable }
    }
    return a
  })
}

function joinBatches(batches: readonly Batch[], element: ElementType, form: StorageForm): Joined {
  const length = batches.reduce((sum, batch) => sum + batch.length, 0)
  const filled = batches.filter((batch) => batch.length > 0).map((batch) => ({ batch, positions: positionsOf(fieldsOf(batch.element)) }))
  const columns = fieldsOf(element).map((field) => {
    const parts = filled.map(
      ({ batch, positions }) =>
        batch.columns[positions.get(field.name) ?? -1] ?? columnFromValues(new Array(batch.length).fill(null), field.type),
    )
    return parts.length === 0 ? columnFromValues([], field.type) : concatColumns(parts, field.name)
  })
  return { element, length, columns, keys: joinKeys(batches, length, form) }
}

function joinKeys(batches: readonly Batch[], length: number, form: StorageForm): Int32Array[] {
  if (form.keys.kind === 'rowNumber') return []
  const { rank } = form.keys
  return Array.from({ length: rank }, (_, axis) => {
    const out = new Int32Array(length)
    let at = 0
    for (const batch of batches) {
      const keys = batch.keys?.[axis]
      if (keys === undefined && batch.length > 0) throw new Bug(`A batch of ${form.name} has no keys for axis ${axis} of ${rank}.`)
      if (keys !== undefined) out.set(keys.length === batch.length ? keys : keys.subarray(0, batch.length), at)
      at += batch.length
    }
    return out
  })
}

/** The shape asked for, in which all keys must lie, or the smallest that holds them. */
function shapeOf(joined: Joined, form: StorageForm): Shape {
  const known = form.keys.kind === 'explicit' ? form.keys.shape : undefined
  const largest = joined.keys.map((column) => (joined.length === 0 ? -1 : largestOf(column, joined.length)))
  const shape = known ?? largest.map((key) => key + 1)
  if (form.isInOrder && known === undefined) return shape
  const outside = joined.keys.some((column, axis) => (largest[axis] ?? 0) >= (shape[axis] ?? 0) || hasNegative(column))
  if (!outside) return shape
  for (let i = 0; i < joined.length; i++) {
    const key = keyOf(joined.keys, i)
    if (!isInside(key, shape)) throw new PlanError(outsideMessage(form.name, key, shape))
  }
  return shape
}

function hasNegative(column: Int32Array): boolean {
  for (let i = 0; i < column.length; i++) if ((column[i] as number) < 0) return true
  return false
}

function keyOf(keys: readonly Int32Array[], at: number): number[] {
  return keys.map((column) => column[at] ?? 0)
}

/** Dense storage, or undefined when it cannot or need not be dense. A duplicate key leaves the error to `sparseFrom`. */
function denseFrom(joined: Joined, shape: Shape, form: StorageForm, arena: Arena): DenseStorage | undefined {
  const forced = form.storage === 'dense'
  const size = sizeOfShape(shape)
  if (!forced && joined.length !== size) return undefined
  const dtype = denseDType(joined, form, forced)
  if (dtype === undefined) return undefined
  const values = joined.columns[0]?.values as TypedArray // a dtype's column has them
  const storage = makeZeros(shape, dtype, form.name, arena)
  const present = new Uint8Array(Math.ceil(size / 8))
  for (let i = 0; i < joined.length; i++) {
    let position = 0
    let place = 0
    for (let axis = 0; axis < shape.length; axis++) {
      const key = joined.keys[axis]?.[i] ?? 0
      position = position * (shape[axis] ?? 1) + key
      place += key * (storage.strides[axis] ?? 1)
    }
    const byte = present[Math.floor(position / 8)] ?? 0
    const bit = 1 << (position % 8)
    if ((byte & bit) !== 0) {
      freeStorage(storage)
      return undefined
    }
    present[Math.floor(position / 8)] = byte | bit
    storage.data[place] = values[i] as never // of one class
  }
  return storage
}

function denseDType(joined: Joined, form: StorageForm, forced: boolean): DType | undefined {
  const { element } = joined
  const [column] = joined.columns
  const kind = element.kind === 'scalar' ? element.type.kind : undefined
  if (column !== undefined && column.validity === undefined && kind !== undefined && kind in ARRAY_OF_DTYPE) return kind as DType // just tested
  // rows are kept in columns however they were asked for
  if (!forced || element.kind !== 'scalar') return undefined
  const what = column?.validity === undefined ? typeText(element.type) : 'nulls'
  throw new PlanError(
    `${form.name}: dense storage holds numbers, bigints and booleans, and there are ${what}. Leave { storage: 'dense' } out.`,
  )
}

function sparseFrom(joined: Joined, shape: Shape, form: StorageForm, arena: Arena): Storage {
  let sorted = form.isInOrder ? joined : reorder(joined, sortOrder(joined.keys, joined.length))
  if (!form.isInOrder && hasDuplicates(sorted)) {
    if (form.combine === undefined) throw duplicateError(sorted, form)
    sorted = combined(sorted, form.combine)
    const dense = form.storage === 'sparse' ? undefined : denseFrom(sorted, shape, form, arena)
    if (dense !== undefined) return dense
  }
  const { element, length, keys, columns } = sorted
  return copyStorage({ kind: 'sparse', shape, element, length, keys, columns }, arena, form.name)
}

function reorder(joined: Joined, order: Int32Array | undefined): Joined {
  if (order === undefined) return joined
  const keys = joined.keys.map((column) => {
    const out = new Int32Array(order.length)
    for (let i = 0; i < order.length; i++) out[i] = column[order[i] as number] as number // a permutation of its positions
    return out
  })
  return { ...joined, keys, columns: joined.columns.map((column) => takeColumn(column, order)) }
}

function hasDuplicates({ keys, length }: Joined): boolean {
  for (let i = 1; i < length; i++) if (compareAt(keys, i - 1, i) === 0) return true
  return false
}

function duplicateError({ keys, length }: Joined, form: StorageForm): PlanError {
  let distinct = 0
  let example: { readonly at: number; readonly count: number } | undefined
  for (let i = 0; i < length; ) {
    let end = i + 1
    while (end < length && compareAt(keys, i, end) === 0) end++
    if (end - i > 1) {
      distinct++
      example ??= { at: i, count: end - i }
    }
    i = end
  }
  const key = `[${keyOf(keys, example?.at ?? 0).join(', ')}]`
  const others = distinct > 1 ? `, and ${distinct - 1} other ${distinct === 2 ? 'key is' : 'keys are'} not unique either` : ''
  return new PlanError(
    `${form.name}: ${example?.count} elements have the key ${key}${others}. Every key may have one element: say how to combine them, as in index(f, { combine: (a, b) => a + b }).`,
  )
}

/** One element for each key: the elements of a key folded in their order. */
function combined(sorted: Joined, combine: (a: never, b: never) => unknown): Joined {
  const read = rowReader({ element: sorted.element, length: sorted.length, columns: sorted.columns })
  const firsts: number[] = []
  const values: unknown[] = []
  for (let i = 0; i < sorted.length; ) {
    let value = read(i)
    firsts.push(i)
    let end = i + 1
    for (; end < sorted.length && compareAt(sorted.keys, i, end) === 0; end++) value = combine(value as never, read(end) as never)
    values.push(value)
    i = end
  }
  const fields = fieldsOf(sorted.element)
  const columns =
    sorted.element.kind === 'row'
      ? fields.map((field) =>
          columnFromValues(
            values.map((value) => (value as Readonly<Record<string, unknown>> | null)?.[field.name]),
            field.type,
            field.name,
          ),
        )
      : fields.map((field) => columnFromValues(values, field.type, field.name))
  const keys = sorted.keys.map((column) => Int32Array.from(firsts, (first) => column[first] ?? 0))
  return { element: sorted.element, length: firsts.length, columns, keys }
}
