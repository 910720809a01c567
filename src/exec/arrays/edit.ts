/**
 * Writing storage in place: single elements and boxes of them.
 *
 * All values are checked before the first is stored. What fits into the buffers there are is stored there; an insert
 * into a sparse array, or a change of a column of another form (strings, rows, nulls), makes new storage, which is
 * returned; the old one is then the caller's to free.
 */

import { checkList } from '../../core/arguments.ts'
import { positionOf, type Selector } from '../../core/arrays/indexSpace.ts'
import type { Key } from '../../core/arrays/keys.ts'
import { ARRAY_OF_DTYPE, type SparseStorage, type Storage, type TableStorage } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { concatColumns } from '../../core/data/columnConcat.ts'
import { sliceColumn, takeColumn } from '../../core/data/columnSlices.ts'
import { type DType, fieldsOf } from '../../core/data/schema.ts'
import { PlanError, TaskError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Arena } from '../memory/arena.ts'
import { storedObject, storedValue } from './fit.ts'
import { ordinaryArray } from './ordinaryArray.ts'
import { atKey, checkKey, indexOfKey, shapeOfStorage } from './query.ts'
import { placeOf } from './rows.ts'
import { eachLine, type Selection, selectionOf } from './selection.ts'
import { lowerBound } from './sortKeys.ts'
import { copyStorage } from './storageBlocks.ts'

export interface EditContext {
  readonly method: string
  readonly name: string
  readonly arena: Arena
}

/** Stores one value; returns the storage to use afterwards. */
export function setKey(storage: Storage, key: Key, value: unknown, context: EditContext): Storage {
  checkKey(key, storage, context.name)
  const what = `${context.method} of ${context.name}`
  if (storage.kind === 'dense') {
    const place = placeOf(storage, positionOf(key, storage.shape))
    if (storage.dtype === 'object') {
      if (storage.objects !== undefined) storage.objects[place] = storedObject(value, what)
    } else storage.data[place] = storedValue(value, storage.dtype, what) as never // what the dtype's array takes
    return storage
  }
  const at = storage.kind === 'table' ? (key[0] ?? 0) : indexOfKey(storage, key)
  const numbers = numbersInPlace(storage)
  if (at !== undefined && numbers !== undefined) {
    numbers.values[at] = storedValue(value, numbers.dtype, what) as never // what the dtype's array takes
    return storage
  }
  const objects = storage.columns[0]?.objects
  if (at !== undefined && objects !== undefined && storage.element.kind === 'scalar') {
    ;(objects as unknown[])[at] = storedObject(value, what) // the storage owns its list
    return storage
  }
  const one = columnsOfValue(storage, value, what)
  if (at !== undefined) return spliced(storage, { at, remove: 1, columns: one, keys: storage.kind === 'sparse' ? [key] : [] }, context)
  if (storage.kind === 'table') return storage
  return spliced(storage, { at: lowerBound(storage.keys, storage.length, key), remove: 0, columns: one, keys: [key] }, context)
}

/** Replaces the element at a key by what `f` returns for it. */
export function updateKey(storage: Storage, key: Key, f: (value: never) => unknown, context: EditContext): Storage {
  return setKey(storage, key, updated(f, atKey(storage, key, context.name), key), context)
}

function updated(f: (value: never) => unknown, value: unknown, key: Key): unknown {
  try {
    return f(value as never)
  } catch (cause) {
    const message = isError(cause) ? cause.message : String(cause)
    throw new TaskError(`The function of update() threw at key [${key.join(', ')}]: ${message}`, { key, cause })
  }
}

/** Stores numbers into a box of elements, in row-major order; a single number into all of them. */
export function assignSlice(
  storage: Storage,
  selectors: readonly Selector[],
  data: TypedArray | readonly unknown[] | number | bigint | boolean,
  context: EditContext,
): Storage {
  const selection = selectionOf(selectors, shapeOfStorage(storage), context.method, context.name)
  const single = typeof data === 'number' || typeof data === 'bigint' || typeof data === 'boolean'
  if (!single) checkList(`The data of ${context.method}()`, data)
  if (!single && data.length !== selection.elements) {
    const shape = selection.shape.length === 0 ? 'one element' : `shape [${selection.shape.join(', ')}] (${selection.elements} elements)`
    throw new PlanError(`${context.method}: ${data.length} ${data.length === 1 ? 'value' : 'values'} for a selection of ${shape}.`)
  }
  const valueAt = single ? () => data : (i: number) => data[i]
  if (storage.kind === 'dense' && storage.dtype !== 'object') {
    const values = checkedValues(storage.dtype, selection.elements, valueAt, data, context)
    const width = selection.counts.at(-1) ?? 1
    eachLine(selection, (key, done) => {
      storage.data.set(values.subarray(done, done + width) as never, placeOf(storage, positionOf(key, storage.shape))) // of one class
    })
    return storage
  }
  return assignEach(storage, selection, valueAt, context)
}

/** The values as the array stores them. */
function checkedValues(dtype: DType, length: number, valueAt: (i: number) => unknown, data: unknown, context: EditContext): TypedArray {
  const ArrayOfDType = ARRAY_OF_DTYPE[dtype]
  // a typed array of the very class needs no check, but for bool, whose bytes may be others than 0 and 1
  if (data instanceof ArrayOfDType && dtype !== 'bool') return data as TypedArray
  const values = ordinaryArray(dtype, length, `${context.method} of ${context.name}`)
  const what = `${context.method} of ${context.name}`
  if (typeof data === 'object')
    for (let i = 0; i < length; i++) values[i] = storedValue(valueAt(i), dtype, what) as never // what the dtype's array takes
  else values.fill(storedValue(data, dtype, what) as never)
  return values
}

/** Most elements of objects, sparse arrays and tables: positions are 32-bit numbers. */
const LARGEST_LENGTH = 2 ** 31 - 1

/** Assigns to objects, sparse arrays and tables, element by element, with one rebuild for all that is inserted. */
function assignEach(storage: Storage, selection: Selection, valueAt: (i: number) => unknown, context: EditContext): Storage {
  const what = `${context.method} of ${context.name}`
  if (selection.elements > LARGEST_LENGTH) {
    throw new PlanError(
      `${what}: the selection has ${selection.elements} elements, and ${storage.kind} storage holds at most ${LARGEST_LENGTH}.`,
    )
  }
  if (storage.kind === 'dense') {
    const objects: unknown[] = []
    for (let i = 0; i < selection.elements; i++) objects.push(storedObject(valueAt(i), what))
    eachKey(selection, (key, i) => {
      if (storage.objects !== undefined) storage.objects[placeOf(storage, positionOf(key, storage.shape))] = objects[i]
    })
    return storage
  }
  return merged(storage, selection, columnsOfValues(storage, selection.elements, valueAt, what), context)
}

function eachKey(selection: Selection, visit: (key: readonly number[], i: number) => void): void {
  const last = selection.counts.length - 1
  const width = selection.counts[last] ?? 1
  eachLine(selection, (start, done) => {
    const key = [...start]
    for (let i = 0; i < width; i++) {
      visit(key, done + i)
      key[last] = (key[last] ?? 0) + 1
    }
  })
}

/** The buffer of a single column of numbers without nulls, which is written in place; undefined for other elements. */
function numbersInPlace(storage: SparseStorage | TableStorage): { readonly values: TypedArray; readonly dtype: DType } | undefined {
  const [column] = storage.columns
  if (storage.element.kind !== 'scalar' || column?.values === undefined || column.validity !== undefined) return undefined
  return column.type.kind in ARRAY_OF_DTYPE ? { values: column.values as TypedArray, dtype: column.type.kind as DType } : undefined // just tested
}

function columnsOfValue(storage: SparseStorage | TableStorage, value: unknown, what: string): readonly Column[] {
  return columnsOfValues(storage, 1, () => value, what)
}

/** Elements as columns of the storage's types; PlanError for one that does not fit. */
function columnsOfValues(
  storage: SparseStorage | TableStorage,
  length: number,
  valueAt: (i: number) => unknown,
  what: string,
): readonly Column[] {
  const { element } = storage
  const values = Array.from({ length }, (_, i) => valueAt(i))
  if (element.kind === 'row') {
    for (const value of values) checkRow(value, storage, what)
    const rows = values as readonly Readonly<Record<string, unknown>>[] // just checked
    return element.fields.map((field) =>
      columnFromValues(
        rows.map((row) => row[field.name]),
        field.type,
        field.name,
      ),
    )
  }
  const [column] = storage.columns
  const type = column?.type ?? { kind: 'null' }
  if (type.kind === 'object')
    return [
      columnFromValues(
        values.map((value) => storedObject(value, what)),
        type,
      ),
    ]
  if (type.kind in ARRAY_OF_DTYPE) {
    const isNull = (value: unknown): boolean => value === null || value === undefined
    for (const value of values) if (!isNull(value) || column?.validity === undefined) storedValue(value, type.kind as DType, what) // just tested
  }
  return [columnFromValues(values, type)]
}

function checkRow(value: unknown, storage: SparseStorage | TableStorage, what: string): void {
  const names = fieldsOf(storage.element).map((field) => field.name)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PlanError(
      `${what}: the elements are rows with the fields ${names.join(', ')}, and the value is ${typeof value === 'object' ? 'null or an array' : `a ${typeof value}`}.`,
    )
  }
  const unknown = Object.keys(value).filter((name) => !names.includes(name))
  if (unknown.length > 0)
    throw new PlanError(`${what}: the elements are rows with the fields ${names.join(', ')}; there is no field ${unknown.join(', ')}.`)
}

interface Splice {
  readonly at: number
  readonly remove: number
  readonly columns: readonly Column[]
  readonly keys: readonly Key[]
}

function spliced<S extends SparseStorage | TableStorage>(storage: S, { at, remove, columns, keys }: Splice, context: EditContext): S {
  const changed = storage.columns.map((column, i) => {
    const one = columns[i] ?? column
    return concatColumns([sliceColumn(column, 0, at), one, sliceColumn(column, at + remove, column.length)], fieldName(storage, i))
  })
  const length = storage.length - remove + (columns[0]?.length ?? 0)
  if (storage.kind === 'table') return shared({ ...storage, columns: changed, length }, context)
  const changedKeys = storage.keys.map((column, axis) => {
    const out = new Int32Array(length)
    out.set(column.subarray(0, at))
    for (const [i, key] of keys.entries()) out[at + i] = key[axis] ?? 0
    out.set(column.subarray(at + remove), at + keys.length)
    return out
  })
  return shared({ ...storage, columns: changed, keys: changedKeys, length }, context)
}

/** The storage with the elements of a selection replaced or inserted; both sides are in key order. */
function merged<S extends SparseStorage | TableStorage>(
  storage: S,
  selection: Selection,
  columns: readonly Column[],
  context: EditContext,
): S {
  const numbers = numbersInPlace(storage)
  const news = columns[0]?.values
  const found: number[] = []
  let missing = 0
  eachKey(selection, (key) => {
    const at = storage.kind === 'table' ? key[0] : indexOfKey(storage, key)
    found.push(at ?? -1)
    if (at === undefined) missing++
  })
  if (missing === 0 && numbers !== undefined && news !== undefined) {
    for (const [i, at] of found.entries()) numbers.values[at] = news[i] as never // of one class
    return storage
  }
  // old elements first, then new ones; `take` names for each place of the result where it comes from
  const take: number[] = []
  const keys: number[][] = shapeOfStorage(storage).map(() => [])
  const replaced = new Map<number, number>()
  for (const [i, at] of found.entries()) if (at >= 0) replaced.set(at, storage.length + i)
  let next = 0
  const oldUpTo = (end: number): void => {
    for (; next < end; next++) {
      take.push(replaced.get(next) ?? next)
      if (storage.kind === 'sparse') for (const [axis, column] of storage.keys.entries()) keys[axis]?.push(column[next] ?? 0)
    }
  }
  eachKey(selection, (key, i) => {
    if ((found[i] ?? -1) >= 0 || storage.kind === 'table') return
    oldUpTo(lowerBound(storage.keys, storage.length, key))
    take.push(storage.length + i)
    for (const [axis, column] of keys.entries()) column.push(key[axis] ?? 0)
  })
  oldUpTo(storage.length)
  const order = Int32Array.from(take)
  const changed = storage.columns.map((column, i) =>
    takeColumn(concatColumns([column, columns[i] ?? column], fieldName(storage, i)), order),
  )
  if (storage.kind === 'table') return shared({ ...storage, columns: changed }, context)
  return shared({ ...storage, length: order.length, columns: changed, keys: keys.map((column) => Int32Array.from(column)) }, context)
}

function fieldName(storage: SparseStorage | TableStorage, at: number): string {
  return fieldsOf(storage.element)[at]?.name ?? 'value'
}

/** The storage with all buffers copied into blocks of its own. */
function shared<S extends SparseStorage | TableStorage>(storage: S, { arena, method, name }: EditContext): S {
  return copyStorage(storage, arena, `${method} of ${name}`)
}
