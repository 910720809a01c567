/**
 * Sparse arrays and tables inside loop bodies: point reads by binary search, writes in place, and keys that are not
 * there yet in an overlay that `mergeInserted` brings into the storage after the pass.
 */

import { outsideMessage, positionOf, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type SparseStorage, type TableStorage } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import { createBuilder } from '../../core/data/columnBuilder.ts'
import { rowReader, type ValueReader, valueReader } from '../../core/data/columnReaders.ts'
import { type ColumnType, type DType, type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import type { KeyedArray } from '../kernels/js/loopKernelShape.ts'
import { lowerBound } from './blocks/schedule.ts'

export class KeyedView implements KeyedArray {
  readonly storage: SparseStorage | TableStorage
  readonly #label: string
  readonly #shape: readonly number[]
  readonly #read: ValueReader
  readonly #fields: ReadonlyMap<string, ValueReader>
  readonly #absent: unknown
  /** First position of each index of axis 0, where there are two or more axes. */
  readonly #rowStarts: Int32Array | undefined
  /** Values by place in the shape: inserted, or of types that no buffer holds in place. */
  readonly overlay: Map<Place, unknown> = new Map()

  constructor(storage: SparseStorage | TableStorage, label: string) {
    this.storage = storage
    this.#label = label
    this.#shape = storage.kind === 'table' ? [storage.length] : storage.shape
    this.#read = rowReader(storage)
    this.#fields = new Map(fieldsOf(storage.element).map((field, i) => [field.name, readerOf(storage.columns[i])]))
    this.#absent = absentValue(storage.element)
    this.#rowStarts = storage.kind === 'sparse' ? rowStartsOf(storage) : undefined
  }

  get(...key: number[]): unknown {
    const position = this.#find(key)
    if (this.overlay.size > 0) {
      const place = placeOf(key, this.#shape)
      if (this.overlay.has(place)) return this.overlay.get(place)
    }
    return position < 0 ? this.#absent : this.#read(position)
  }

  field(name: string, ...key: number[]): unknown {
    if (this.overlay.size > 0) {
      const value = this.get(...key)
      return (value as Record<string, unknown> | undefined)?.[name] // rows are records
    }
    const position = this.#find(key)
    return position < 0 ? (this.#absent as Record<string, unknown> | undefined)?.[name] : this.#fields.get(name)?.(position)
  }

  has(...key: number[]): boolean {
    return this.#find(key) >= 0 || this.overlay.has(placeOf(key, this.#shape))
  }

  set(...keyAndValue: unknown[]): void {
    const key = keyAndValue.slice(0, this.#shape.length) as number[] // checked by #find
    const value = keyAndValue[this.#shape.length]
    const position = this.#find(key)
    const values = inPlaceValues(this.storage)
    if (position >= 0 && values !== undefined) store(values, position, value)
    else this.overlay.set(placeOf(key, this.#shape), this.#asElement(value, key))
  }

  add(...keyAndDelta: unknown[]): void {
    const key = keyAndDelta.slice(0, this.#shape.length) as number[] // checked by get
    const before = this.get(...key)
    // JavaScript's own +, so that bigint and number meet as they do in the source
    const sum = (before as number) + (keyAndDelta[this.#shape.length] as number)
    this.set(...key, sum)
  }

  #asElement(value: unknown, key: readonly number[]): unknown {
    const { element } = this.storage
    if (element.kind === 'scalar') return asStored(value, element.type)
    if (typeof value === 'object' && value !== null) return value
    const fields = fieldsOf(element).map((field) => field.name)
    throw new PlanError(
      `The elements of ${this.#label} are rows with ${fields.join(', ')}, and the body sets ${valueText(value)} at key [${key.join(', ')}]. Set an object with these fields.`,
    )
  }

  /** The position of a key, -1 when it is absent. Throws for a key outside the shape. */
  #find(key: readonly number[]): number {
    const shape = this.#shape
    for (let axis = 0; axis < shape.length; axis++) {
      const k = key[axis] as number
      if (!(k >>> 0 === k && k < (shape[axis] as number))) throw new PlanError(outsideMessage(this.#label, key, shape))
    }
    if (this.storage.kind === 'table') return key[0] as number
    const { keys } = this.storage
    const first = key[0] as number
    const starts = this.#rowStarts
    let from = starts === undefined ? lowerBound(keys[0] as Int32Array, first) : (starts[first] as number)
    let to = starts === undefined ? lowerBound(keys[0] as Int32Array, first + 1, from) : (starts[first + 1] as number)
    for (let axis = 1; axis < keys.length && from < to; axis++) {
      const column = keys[axis] as Int32Array
      from = lowerBound(column, key[axis] as number, from, to)
      to = lowerBound(column, (key[axis] as number) + 1, from, to)
    }
    return from < to ? from : -1
  }
}

function readerOf(column: Column | undefined): ValueReader {
  return column === undefined ? () => undefined : valueReader(column)
}

const MOST_ROW_STARTS = 2 ** 24

function rowStartsOf(storage: SparseStorage): Int32Array | undefined {
  const rows = storage.shape[0] ?? 0
  if (storage.shape.length < 2 || rows > MOST_ROW_STARTS) return undefined
  const starts = new Int32Array(rows + 1)
  const keys = storage.keys[0] ?? new Int32Array(0)
  for (let i = 0; i < keys.length; i++) starts[(keys[i] as number) + 1]!++
  for (let row = 0; row < rows; row++) starts[row + 1]! += starts[row]!
  return starts
}

/** What `get` gives for an absent key: the zero of numbers, undefined for everything else. */
function absentValue(element: ElementType): unknown {
  if (element.kind !== 'scalar') return undefined
  switch (element.type.kind) {
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return 0
    case 'i64':
    case 'u64':
      return 0n
    case 'bool':
      return false
    default:
      return undefined
  }
}

/** The buffer of scalar numbers and booleans without nulls, which is written in place. */
function inPlaceValues(storage: SparseStorage | TableStorage): { readonly data: TypedArray; readonly bool: boolean } | undefined {
  const [column] = storage.columns
  if (storage.element.kind !== 'scalar' || column?.values === undefined || column.validity !== undefined) return undefined
  if (!isDType(column.type.kind)) return undefined
  return { data: column.values as TypedArray, bool: column.type.kind === 'bool' } // u64 is not in place
}

function store(values: { readonly data: TypedArray; readonly bool: boolean }, position: number, value: unknown): void {
  values.data[position] = (values.bool ? (value ? 1 : 0) : value) as never // converts, or throws, as JavaScript does
}

/** Whether writes to present keys go straight to the buffer. */
export function isWrittenInPlace(storage: SparseStorage | TableStorage): boolean {
  return inPlaceValues(storage) !== undefined
}

/** The storage with the overlay's values in it, in new buffers; undefined when nothing is to be changed. */
export function mergeInserted(view: KeyedView): SparseStorage | TableStorage | undefined {
  if (view.overlay.size === 0) return undefined
  const { storage } = view
  const shape = storage.kind === 'table' ? [storage.length] : storage.shape
  const inserted = [...view.overlay.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const builders = fieldsOf(storage.element).map((field) => createBuilder(field.type, field.name))
  const append = (value: unknown): void => {
    const values =
      storage.element.kind === 'row' ? fieldsOf(storage.element).map((field) => (value as Record<string, unknown>)[field.name]) : [value]
    for (const [i, builder] of builders.entries()) builder.append(values[i])
  }
  const read = rowReader(storage)
  const key = new Array<number>(shape.length).fill(0)
  const placeAt = (position: number): Place => {
    if (storage.kind === 'table') return position
    for (const [axis, column] of storage.keys.entries()) key[axis] = column[position] as number
    return placeOf(key, shape)
  }
  const places: Place[] = []
  let next = 0
  for (let i = 0; i < storage.length; i++) {
    const at = placeAt(i)
    while (next < inserted.length && (inserted[next] as Place) < at) {
      places.push(inserted[next] as Place)
      append(view.overlay.get(inserted[next++] as Place))
    }
    const changed = next < inserted.length && inserted[next] === at
    places.push(at)
    append(changed ? view.overlay.get(inserted[next++] as Place) : read(i))
  }
  for (; next < inserted.length; next++) {
    places.push(inserted[next] as Place)
    append(view.overlay.get(inserted[next] as Place))
  }
  const columns = builders.map((builder) => builder.finish())
  if (storage.kind === 'table') return { ...storage, columns }
  return { ...storage, length: places.length, columns, keys: keysOf(places, shape) }
}

/** A key as one value, in the order of keys: a number where all of the shape's are exact, otherwise a bigint. */
type Place = number | bigint

function placeOf(key: readonly number[], shape: readonly number[]): Place {
  if (sizeOfShape(shape) <= Number.MAX_SAFE_INTEGER) return positionOf(key, shape)
  return shape.reduce((place, extent, axis) => place * BigInt(extent) + BigInt(key[axis] ?? 0), 0n)
}

function keysOf(places: readonly Place[], shape: readonly number[]): Int32Array[] {
  const keys = shape.map(() => new Int32Array(places.length))
  for (const [i, place] of places.entries()) {
    let rest = place
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const extent = shape[axis] ?? 1
      const column = keys[axis] as Int32Array
      if (typeof rest === 'bigint') {
        column[i] = Number(rest % BigInt(extent))
        rest /= BigInt(extent)
      } else {
        column[i] = rest % extent
        rest = Math.floor(rest / extent)
      }
    }
  }
  return keys
}

/** A value as a typed array of the column's type gives it back. */
function asStored(value: unknown, type: ColumnType): unknown {
  if (value === null || !isDType(type.kind)) return value
  if (type.kind === 'bool') return Boolean(value)
  const scratch = new ARRAY_OF_DTYPE[type.kind](1)
  scratch[0] = value as never // converts, or throws, as JavaScript does
  return scratch[0]
}

function isDType(kind: string): kind is DType {
  return kind in ARRAY_OF_DTYPE
}
