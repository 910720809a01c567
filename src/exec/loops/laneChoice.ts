/** How many private copies the arrays get that a loop only adds to, and its update buffers. */
import { CHUNK } from '../../core/fixedTree.ts'
import type { FunctionIr } from '../../core/functionIr.ts'
import type { DenseStorage } from '../../core/storage.ts'
import { addsWholeNumbers } from '../kernels/loopKernelRanges.ts'
import { extentsOf, type IterationSpace, iterationsOf } from './blockSchedule.ts'
import type { LoopInputs } from './loopInputs.ts'
import { extentOf } from './structure.ts'

/** Private copies take at most about this much memory. */
const LANE_BYTES = 64 * 2 ** 20
const MOST_LANES = 16

/**
 * How many private copies there may be, and whether additions are exact in any order; undefined when the loop needs
 * none. From data and memory, never from the number of workers.
 */
export function laneChoice(
  inputs: LoopInputs,
  ir: FunctionIr,
  space: IterationSpace,
): { readonly most: number; readonly exact: boolean } | undefined {
  const targets = [...reducedStorages(inputs).values(), ...[...inputs.buffers.values()].map((buffer) => buffer.storage)]
  if (targets.length === 0) return undefined
  const bytes = targets.reduce((sum, target) => sum + target.data.length * 8, 0)
  const byMemory = Math.max(2, Math.min(MOST_LANES, Math.floor(LANE_BYTES / Math.max(1, bytes))))
  const isWhole = targets.every((target) => target.dtype !== 'f64' && target.dtype !== 'f32' && target.dtype !== 'bool')
  const exact = isWhole && inputs.buffers.size === 0 && allWhole(inputs, ir, space)
  if (exact) return { most: byMemory, exact }
  // Adding to truth values is no sum. Up to one chunk the additions have the bits of the plain loop.
  const byChunks = targets.some((target) => target.dtype === 'bool') ? 1 : Math.ceil(iterationsOf(space) / CHUNK)
  return { most: Math.max(1, Math.min(byMemory, byChunks)), exact }
}

function allWhole(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace): boolean {
  const reduced = [...inputs.arrays].filter(([, { array, storage }]) => {
    return inputs.analyzed.reducedArrays.includes(array) && !(storage.kind === 'dense' && storage.dtype === 'i64')
  })
  return addsWholeNumbers(ir, new Set(reduced.map(([name]) => name)), {
    keyExtents: extentsOf(space),
    parameters: new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value])),
    extentOf: (name, axis) => extentOf(inputs, name, axis),
    dtypeOf: (name) => {
      const storage = inputs.arrays.get(name)?.storage
      return storage?.kind === 'dense' && storage.dtype !== 'object' ? storage.dtype : undefined
    },
    locals: new Map(),
  })
}

/** Dense arrays that the loop only adds to, by identity. */
export function reducedStorages(inputs: LoopInputs): Map<number, DenseStorage> {
  const found = new Map<number, DenseStorage>()
  for (const { storage, array } of inputs.arrays.values()) {
    if (storage.kind === 'dense' && inputs.analyzed.reducedArrays.includes(array)) found.set(array, storage)
  }
  return found
}
