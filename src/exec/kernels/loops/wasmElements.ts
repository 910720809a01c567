/**
 * What the elements are of arrays that a body makes, by all values that it stores in them.
 *
 *     const parent = Array.from({ length: 400 }, (_, k) => k)       integers from 0 to 399, of 32 bits:
 *     a = parent[parent[a]]                                          no conversion, and no subscript to check
 *
 * Statement: an iteration reads of such an array only what it has stored there, or the zeros that it began with, and nobody else reads it. So its
 * elements are those types joined, and may be held in any form that holds them: in 32 bits where the array has doubles. Types grow
 * from round to round as those of locals do (`wasmWriter.ts`).
 */
import type { DType } from '../../../core/data/schema.ts'
import { F64, HIGHEST, isMaybe, joinTypes, LOWEST, number, sameType, type Value, type WasmType } from '../expressions/types.ts'
import { type DenseShape, loadOf, type WasmTarget } from './wasmCode.ts'
import { WIDENING_ROUND } from './wasmRounds.ts'

/** What is asked of the kernel being written. */
interface ElementScope {
  readonly target: WasmTarget
  readonly round: number
  readonly elements: Map<string, WasmType>
  widened: boolean
  grows: boolean
}

const NOTHING: WasmType = { kind: 'i32', low: 0, high: 0 }

/** The array types whose elements are followed. */
const FOLLOWED: ReadonlySet<DType> = new Set<DType>(['f64', 'i32', 'i16', 'u16', 'i8', 'u8'])

/** The arrays that the body makes, each in a memory of its own, with elements that are 0. */
export function firstElements({ shape, identities }: WasmTarget): Map<string, WasmType> {
  const names = [...shape.arrays]
  const isAlone = (i: number): boolean => identities.filter((one) => one === identities[i]).length === 1
  return new Map(
    names.flatMap(([name, one], i) =>
      one.kind === 'dense' && one.isLocal === true && one.adds === 'direct' && FOLLOWED.has(one.dtype) && isAlone(i)
        ? [[name, NOTHING] as const]
        : [],
    ),
  )
}

/** The array with the type of elements in which it is held. */
export function heldShape(shape: DenseShape, elements: WasmType | undefined): DenseShape {
  return shape.dtype === 'f64' && elements?.kind === 'i32' ? { ...shape, dtype: 'i32' } : shape
}

/** An element that was loaded, with what is known of it. */
export function known(w: Pick<ElementScope, 'elements'>, array: string, loaded: Value): Value {
  const elements = w.elements.get(array)
  return elements?.kind === 'i32' && loaded.type.kind === 'i32' ? { ...loaded, type: elements } : loaded
}

/** Records that a value of this type is stored in an array. */
export function noteStored(w: ElementScope, array: string, stored: WasmType): void {
  const before = w.elements.get(array)
  if (before?.kind !== 'i32') return
  const type = storedType(w.target.shape.arrays.get(array) as DenseShape, stored) // as what is followed is
  const joined = joinTypes(before, type)
  if (joined !== undefined && sameType(before, joined)) return
  w.widened = true
  w.grows = true
  if (joined?.kind !== 'i32') w.elements.set(array, F64)
  else if (w.round < WIDENING_ROUND) w.elements.set(array, joined)
  else {
    const [low, high] = [joined.low < before.low ? LOWEST : before.low, joined.high > before.high ? HIGHEST : before.high]
    w.elements.set(array, storedType(w.target.shape.arrays.get(array) as DenseShape, { kind: 'i32', low, high }))
  }
}

/** The type that an element has once a value is stored there: integers of fewer bits wrap around. */
function storedType({ dtype }: DenseShape, stored: WasmType): WasmType {
  const type = isMaybe(stored) || stored.kind === 'bigint' ? F64 : number({ type: stored, code: [] }).type
  const all = loadOf(dtype, []).type
  if (all.kind !== 'i32') return type.kind === 'i32' ? type : F64
  return type.kind === 'i32' && type.low >= all.low && type.high <= all.high ? type : all
}
