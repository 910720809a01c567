/** What two preparations of a loop must have in common for one to take the other's place. */

import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { DType } from '../../core/data/schema.ts'
import type { Primitive } from '../../core/ir/functionIr.ts'
import { formOf } from './kernelPlan.ts'
import type { LoopInputs } from './loopInputs.ts'

/** The extent of an axis of an array in `env`. */
export function extentOf(inputs: LoopInputs, name: string, axis: number): number | undefined {
  const storage = inputs.arrays.get(name)?.storage ?? inputs.buffers.get(name)?.storage
  return storage === undefined ? undefined : storage.kind === 'table' ? storage.length : storage.shape[axis]
}

/** Whether two preparations of a loop differ at most in captured values. */
export function sameStructure(a: LoopInputs, b: LoopInputs): boolean {
  const shapeOf = ({ analyzed, over, buffers, accumulators, rngs }: LoopInputs): string =>
    JSON.stringify([
      analyzed.schedule,
      analyzed.spec.options,
      analyzed.reducedArrays,
      analyzed.privateArrays,
      analyzed.writtenArrays,
      over.kind === 'range' ? over.extents : over.array,
      buffers.size,
      [...accumulators].map(([name, input]) => [name, formOf(input)]),
      [...rngs],
    ])
  const sameOver = a.over.kind === 'range' || b.over.kind === 'range' || a.over.storage === b.over.storage
  const sameArrays = [...a.arrays].every(
    ([name, { storage, array }]) => b.arrays.get(name)?.storage === storage && b.arrays.get(name)?.array === array,
  )
  return sameOver && sameArrays && a.arrays.size === b.arrays.size && a.buffers.size === 0 && shapeOf(a) === shapeOf(b)
}

/** The dtype that holds a captured table's numbers exactly; undefined for tables of anything else. */
export function dtypeOfTable(table: ArrayLike<Primitive>): DType | undefined {
  if (table instanceof Uint8ClampedArray) return 'u8'
  const found = (Object.keys(ARRAY_OF_DTYPE) as DType[]).find((dtype) => dtype !== 'bool' && table.constructor === ARRAY_OF_DTYPE[dtype])
  if (found !== undefined) return found
  const isOfNumbers =
    Array.isArray(table) &&
    table.length > 0 &&
    table.every((value) => typeof value === 'number') &&
    Object.keys(table).length === table.length
  if (!isOfNumbers) return undefined
  return table.every((value) => Object.is(value | 0, value)) ? 'i32' : 'f64'
}
