/** Arrays made by the session: `zeros`, `fill`, `random` and `sparse`, in the arena. */

import { type Shape, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { checkSeed, fillNormal, fillUniform } from '../../core/arrays/random.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, paddedLength, type SparseStorage, stridesOf } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { ColumnType, DType } from '../../core/data/schema.ts'
import { Bug, PlanError } from '../../core/errors.ts'
import type { ArrayInit } from '../../core/plan/logicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { storedObject, storedValue } from './fit.ts'
import { eachRow } from './rows.ts'
import { ownBlocks } from './storageBlocks.ts'

export interface ArraySpec {
  /** The array's name in messages, as `zeros([3, 4])`. */
  readonly name: string
  readonly shape: Shape
  readonly dtype: DType | 'object'
  readonly init: ArrayInit
}

/** An array that can be made of its description alone, any part of it by itself. */
export interface MadeSpec extends ArraySpec {
  readonly dtype: DType
  readonly init: Extract<ArrayInit, { readonly kind: 'zeros' | 'fill' | 'random' }>
}

export function isMade(spec: ArraySpec): spec is MadeSpec {
  const { kind } = spec.init
  return spec.dtype !== 'object' && (kind === 'zeros' || kind === 'fill' || kind === 'random')
}

/** New storage as the spec says. Random numbers depend on seed and position alone. Costs a first touch of its bytes. */
export function makeArray(spec: ArraySpec, arena: Arena): DenseStorage | SparseStorage {
  const { init, name, dtype } = spec
  switch (init.kind) {
    case 'sparse':
      return makeSparse(spec, arena)
    case 'zeros':
      return dtype === 'object' ? makeObjects(spec, 0) : makeZeros(spec.shape, dtype, name, arena)
    case 'fill':
      return dtype === 'object' ? makeObjects(spec, init.value) : makeFilled({ ...spec, dtype, init }, arena)
    case 'random':
      if (dtype === 'f64' || dtype === 'f32') return makeFilled({ ...spec, dtype, init }, arena)
      throw new PlanError(`${name}: random numbers are f64 or f32, not ${dtype}. For integers, cast an array or use rng in a loop.`)
    case 'given':
      throw new Bug(`${name} was made with its elements, and has none.`)
  }
}

/** A dense array of zeros. */
export function makeZeros(shape: Shape, dtype: DType, name: string, arena: Arena): DenseStorage {
  const strides = stridesOf(shape, dtype)
  const length = paddedLength(shape, strides)
  const offset = arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, name)
  return ownBlocks({ kind: 'dense', shape, dtype, strides, data: arena.view(dtype, offset, length) }, arena)
}

/** A dense array of objects, on the caller's heap; every element a copy of its own. */
export function makeObjects(spec: { readonly name: string; readonly shape: Shape }, value: unknown): DenseStorage {
  const strides = stridesOf(spec.shape, 'object')
  const objects = Array.from({ length: sizeOfShape(spec.shape) }, () => storedObject(value, spec.name))
  return { kind: 'dense', shape: spec.shape, dtype: 'object', strides, data: new Uint8Array(0), objects }
}

function makeFilled(spec: MadeSpec, arena: Arena): DenseStorage {
  const fill = fillerOf(spec)
  const storage = makeZeros(spec.shape, spec.dtype, spec.name, arena)
  eachRow(storage, fill)
  return storage
}

/** Returns a function that fills a row with elements, the first of which is at a row-major position, not counting padding. */
export function fillerOf({ name, dtype, init }: MadeSpec): (row: TypedArray, first: number) => void {
  switch (init.kind) {
    case 'zeros':
      return (row) => row.fill((dtype === 'i64' ? 0n : 0) as never) // what the dtype's array takes
    case 'fill': {
      const stored = storedValue(init.value, dtype, name)
      return (row) => row.fill(stored as never) // storedValue gives what the dtype's array takes
    }
    case 'random': {
      const { seed, scale } = init
      checkSeed(seed)
      if (!Number.isFinite(scale)) throw new PlanError(`${name}: the scale is ${String(scale)}. It is a finite number.`)
      const fill = init.distribution === 'uniform' ? fillUniform : fillNormal
      return (row, first) => fill(row as Float64Array | Float32Array, first, seed, scale) // of a dtype that random arrays have
    }
  }
}

function makeSparse(spec: ArraySpec, arena: Arena): SparseStorage {
  const type: ColumnType = { kind: spec.dtype }
  const values: TypedArray | undefined = spec.dtype === 'object' ? undefined : new ARRAY_OF_DTYPE[spec.dtype](0)
  return ownBlocks(
    {
      kind: 'sparse',
      shape: spec.shape,
      element: { kind: 'scalar', type, nullable: false },
      length: 0,
      keys: spec.shape.map(() => new Int32Array(0)),
      columns: [{ type, length: 0, ...(values === undefined ? { objects: [] } : { values }) }],
    },
    arena,
  )
}
