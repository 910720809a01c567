/** The number of reduction copies of the arrays that a loop only adds to, and of its update buffers. */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { type DenseStorage, lengthOf } from '../../../core/arrays/storage.ts'
import { nominalNs } from '../../../core/cost/nominal.ts'
import type { ElementType } from '../../../core/data/schema.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import { addedInFractions } from '../../kernels/js/loopKernelRanges.ts'
import { extentsOf, type IterationSpace, iterationsOf } from '../blocks/schedule.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { extentOf } from '../structure.ts'
import { iterationsOfRound, roundsOf } from './rounds.ts'

/** Reduction copies take at most about this much memory. */
const LANE_BYTES = 64 * 2 ** 20
/** Copies where there are iterations for them; and up to MOST_LANES while joining them takes at most this share of a pass. */
const USUAL_LANES = 16
const MOST_LANES = 256
const JOINED_SHARE = 1 / 64
/** The part of the nominal time that compiled bodies take, roughly. */
const COMPILED = 1 / 4
/** Least block of a round, as long as waking a worker takes; and the time per element to empty a copy and join it with another. */
const LEAST_BLOCK_NS = 20_000
const NS_PER_ELEMENT = 3

/** Nominal nanoseconds of one iteration over the arrays that the loop has now. */
export function nominalIterationNs(inputs: LoopInputs, ir: FunctionIr): number {
  return nominalNs(ir, (name, axis) => extentOf(inputs, name, axis))
}

export interface LaneChoice {
  readonly most: number
  readonly exact: boolean
}

/**
 * The number of copies for a round of so many iterations; `bytes` are those of one copy of everything. As many workers as there are copies
 * share the round, and one joins the copies after it: `round / copies + copies * join` is least where copies are the root of round / join.
 */
function lanesOfRound(iterations: number, iterationNs: number, bytes: number): number {
  const roundNs = iterations * iterationNs
  return Math.floor(Math.min(iterations, roundNs / LEAST_BLOCK_NS, Math.sqrt(roundNs / ((bytes / 8) * NS_PER_ELEMENT))))
}

/**
 * How many reduction copies there may be, and whether additions are exact in any order; undefined when the loop needs
 * none. The choice follows from data and memory, never from the number of workers.
 */
export function laneChoice(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace): LaneChoice | undefined {
  const targets = [...reducedStorages(inputs).values(), ...[...inputs.buffers.values()].map((buffer) => buffer.storage)]
  if (targets.length === 0) return undefined
  const bytes = Math.max(
    8,
    targets.reduce((sum, target) => sum + lengthOf(target) * 8, 0),
  ) // at least one element
  const passNs = iterationsOf(space) * nominalIterationNs(inputs, ir) * COMPILED
  const most = Math.max(USUAL_LANES, Math.min(MOST_LANES, (passNs * JOINED_SHARE) / ((bytes / 8) * NS_PER_ELEMENT)))
  const byMemory = Math.max(2, Math.floor(Math.min(most, LANE_BYTES / bytes)))
  const isWhole = targets.every((target) => target.dtype !== 'f64' && target.dtype !== 'f32' && target.dtype !== 'bool')
  const inOrder = addedInOrder(inputs, ir, space)
  const exact = isWhole && inputs.buffers.size === 0 && inOrder === undefined
  if (exact) return { most: byMemory, exact }
  const rounds = roundsOf(inputs)
  if (rounds > 1) {
    const ofRound = lanesOfRound(iterationsOfRound(iterationsOf(space), rounds), nominalIterationNs(inputs, ir), bytes)
    return { most: Math.max(1, Math.min(byMemory, ofRound)), exact }
  }
  // Up to one chunk the additions have the bits of the plain loop.
  const isSum = inOrder === undefined && !targets.some((target) => target.dtype === 'bool')
  const byChunks = isSum ? Math.ceil(iterationsOf(space) / CHUNK) : 1
  return { most: Math.max(1, Math.min(byMemory, byChunks)), exact }
}

/**
 * Why an array has to take its additions one after another, in a sentence: it converts after each, and three times a half is
 * something else than one and a half. Integers to which whole numbers are added need not, nor floats, whose sums the fixed tree
 * defines.
 */
export function addedInOrder(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace): string | undefined {
  const converting = [...inputs.arrays].filter(([, { array, storage }]) => {
    return inputs.analyzed.reducedArrays.includes(array) && storage.kind === 'dense' && !SUMS_ANYTHING.has(storage.dtype)
  })
  const truths = converting.find(([, { storage }]) => storage.kind === 'dense' && storage.dtype === 'bool')
  if (truths !== undefined) return `${truths[0]} holds truth values, which are what they are after each addition.`
  const name = addedInFractions(ir, new Set(converting.map(([name]) => name)), {
    keyExtents: extentsOf(space),
    parameters: new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value])),
    extentOf: (name, axis) => extentOf(inputs, name, axis),
    dtypeOf: (name) => {
      const storage = inputs.arrays.get(name)?.storage
      return storage?.kind === 'dense' && storage.dtype !== 'object' ? storage.dtype : undefined
    },
    element: elementTypeOf(inputs.over),
    locals: new Map(),
  })
  if (name === undefined) return undefined
  return `What is added to ${name} may be no whole number, and ${name} converts after each addition. Whole numbers, as x | 0, could be added on all workers.`
}

/** The dtypes to which anything can be added in any order: floats, by the fixed tree, and bigints, which are always whole. */
const SUMS_ANYTHING: ReadonlySet<string> = new Set(['f64', 'f32', 'i64'])

function elementTypeOf(over: LoopInputs['over']): ElementType | undefined {
  if (over.kind === 'range') return undefined
  const { storage } = over
  if (storage.kind !== 'dense') return storage.element
  return storage.dtype === 'object' ? undefined : { kind: 'scalar', type: { kind: storage.dtype }, nullable: false }
}

/** Dense arrays that the loop only adds to, by identity. */
export function reducedStorages(inputs: LoopInputs): Map<number, DenseStorage> {
  const found = new Map<number, DenseStorage>()
  for (const { storage, array } of inputs.arrays.values()) {
    if (storage.kind === 'dense' && inputs.analyzed.reducedArrays.includes(array)) found.set(array, storage)
  }
  return found
}
