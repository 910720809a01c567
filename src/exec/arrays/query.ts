/**
 * Point and range queries on storage. Everything returned is a copy.
 *
 * A key outside the shape is an error. A key inside that has no element (sparse arrays) gives undefined, or 0 where
 * elements are numbers (0n for i64, false for bool); ranges are given densely, so they need numbers.
 */

import { isInside, outsideMessage, positionOf, type Selector, type Shape, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import type { Key } from '../../core/arrays/keys.ts'
import { ARRAY_OF_DTYPE, type SparseStorage, type Storage, type TableStorage } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import { rowReader, valueReader } from '../../core/data/columnReaders.ts'
import { type DType, type ElementType, typeText } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { loadedValue } from './fit.ts'
import { ordinaryArray } from './ordinaryArray.ts'
import { eachStretch, placeOf } from './rows.ts'
import { eachLine, prefixSelectors, type Selection, selectionOf } from './selection.ts'
import { lowerBound } from './sortKeys.ts'
import { copyElements, lengthOf } from './toBatches.ts'

export function shapeOfStorage(storage: Storage): Shape {
  return storage.kind === 'table' ? [storage.length] : storage.shape
}

/** The element at a key. */
export function atKey(storage: Storage, key: Key, name: string): unknown {
  checkKey(key, storage, name)
  switch (storage.kind) {
    case 'dense': {
      const place = placeOf(storage, positionOf(key, storage.shape))
      if (storage.dtype === 'object') return storage.objects?.[place]
      let value: number | bigint | undefined
      eachStretch(storage, place, place + 1, ([element]) => {
        value = element
      })
      return loadedValue(value, storage.dtype)
    }
    case 'table':
      return rowReader(storage)(key[0] ?? 0)
    case 'sparse': {
      const at = indexOfKey(storage, key)
      return at === undefined ? absentValue(storage.element) : rowReader(storage)(at)
    }
  }
}

/** Whether there is an element at a key. */
export function hasKey(storage: Storage, key: Key, name: string): boolean {
  checkKey(key, storage, name)
  return storage.kind !== 'sparse' || indexOfKey(storage, key) !== undefined
}

/** The position of a key among the sorted keys, by binary search; undefined if it is absent. */
export function indexOfKey(storage: SparseStorage, key: Key): number | undefined {
  const at = lowerBound(storage.keys, storage.length, key)
  return at < storage.length && storage.keys.every((column, axis) => column[at] === (key[axis] ?? 0) + 0) ? at : undefined
}

/** Throws the PlanError of a key outside the array. */
export function checkKey(key: Key, storage: Storage, name: string): void {
  const shape = shapeOfStorage(storage)
  if (!isInside(key, shape)) throw new PlanError(outsideMessage(name, key, shape))
}

/** The value at an absent key of a sparse array: 0, 0n or false; undefined where elements are no numbers. */
export function absentValue(element: ElementType): number | bigint | boolean | undefined {
  const kind = element.kind === 'scalar' ? element.type.kind : undefined
  return kind !== undefined && kind in ARRAY_OF_DTYPE ? loadedValue(kind === 'i64' ? 0n : 0, kind as DType) : undefined // just tested
}

/** A box of elements, densely, in row-major order; axes selected by a single index are dropped from `shape`. */
export function sliceStorage(
  storage: Storage,
  selectors: readonly Selector[],
  context: { readonly method: string; readonly name: string },
): { readonly shape: Shape; readonly data: TypedArray } {
  const selection = selectionOf(selectors, shapeOfStorage(storage), context.method, context.name)
  const dtype = numbersOf(storage, context)
  const data = ordinaryArray(dtype, selection.elements, `${context.method} of ${context.name}`)
  copySelection(storage, selection, data)
  return { shape: selection.shape, data }
}

/** `row(...prefix)`: all elements whose keys begin with the prefix. */
export function rowOfStorage(storage: Storage, prefix: readonly number[], name: string): TypedArray {
  const selectors = prefixSelectors(prefix, shapeOfStorage(storage), name)
  return sliceStorage(storage, selectors, { method: 'row', name }).data
}

/** All elements densely, in row-major order. */
export function toTypedArray(storage: Storage, name: string): TypedArray {
  const context = { method: 'toTypedArray', name }
  const dtype = numbersOf(storage, context)
  if (storage.kind !== 'dense')
    return sliceStorage(
      storage,
      shapeOfStorage(storage).map(() => null),
      context,
    ).data
  const data = ordinaryArray(dtype, sizeOfShape(storage.shape), `toTypedArray of ${name}`)
  copyElements(storage, 0, data.length, data)
  return data
}

export interface NumbersContext {
  readonly method: string
  readonly name: string
  readonly gives?: string
  /** The method that takes elements of any type, for the error's cure. */
  readonly others?: string
}

/** The dtype of an array of numbers; PlanError when its elements are something else. */
export function numbersOf(storage: Storage, { method, name, gives = 'gives a typed array', others = 'collect()' }: NumbersContext): DType {
  const refusal = (what: string): PlanError =>
    new PlanError(`${method} of ${name} ${gives}, and the elements are ${what}. Select or map to one number each, or use ${others}.`)
  if (storage.kind === 'dense') {
    if (storage.dtype === 'object') throw refusal('objects')
    return storage.dtype
  }
  const { element } = storage
  if (element.kind !== 'scalar') throw refusal('rows')
  if (!(element.type.kind in ARRAY_OF_DTYPE)) throw refusal(element.type.kind === 'null' ? 'null' : typeText(element.type))
  const [column] = storage.columns
  if (column?.validity !== undefined)
    throw new PlanError(
      `${method} of ${name} ${gives}, which cannot hold null, and ${nullText(column)}. Replace nulls, as in map((x) => x ?? 0).`,
    )
  return element.type.kind as DType // just tested
}

function nullText(column: Column): string {
  const read = valueReader(column)
  let nulls = 0
  for (let i = 0; i < column.length; i++) if (read(i) === null) nulls++
  return nulls === 1 ? 'one element is null' : `${nulls} elements are null`
}

function copySelection(storage: Storage, selection: Selection, data: TypedArray): void {
  const last = selection.counts.length - 1
  const width = selection.counts[last] ?? 1
  switch (storage.kind) {
    case 'dense':
      eachLine(selection, (key, done) => {
        const place = placeOf(storage, positionOf(key, storage.shape))
        eachStretch(storage, place, place + width, (elements, at) => data.set(elements as never, done + at - place)) // of one class
      })
      return
    case 'table': {
      const values = valuesOf(storage)
      data.set(values.subarray(selection.from[0], (selection.from[0] ?? 0) + width) as never)
      return
    }
    case 'sparse':
      copyPresent(storage, selection, data)
  }
}

/** Copies the elements of a sparse array in a selection. Of the keys present only those in its range on axis 0 are visited. */
function copyPresent(storage: SparseStorage, selection: Selection, data: TypedArray): void {
  if (selection.elements === 0) return
  const values = valuesOf(storage)
  const { from, counts } = selection
  const first = lowerBound(storage.keys, storage.length, from)
  const afterLast = from.map((index, axis) => index + (counts[axis] ?? 0) - 1)
  for (let i = first; i < storage.length; i++) {
    let position = 0
    let inside = true
    for (let axis = 0; axis < counts.length; axis++) {
      const index = (storage.keys[axis]?.[i] ?? 0) - (from[axis] ?? 0)
      if (index < 0 || index >= (counts[axis] ?? 0)) {
        inside = false
        break
      }
      position = position * (counts[axis] ?? 1) + index
    }
    if (inside)
      data[position] = values[i] as never // of one class
    else if ((storage.keys[0]?.[i] ?? 0) > (afterLast[0] ?? 0)) return
  }
}

/** The one column of numbers. */
function valuesOf(storage: SparseStorage | TableStorage): TypedArray {
  const values = storage.columns[0]?.values
  return values === undefined || values instanceof BigUint64Array ? new Uint8Array(0) : values.subarray(0, lengthOf(storage))
}
