/**
 * Classifies each variable of a loop under its schedule.
 *
 *     iterated    what the loop runs over
 *     local       subscripted by the axis that is cut (the first of two): stays where its block runs; or private: every
 *                 iteration starts it anew, and each worker has a copy
 *     pipelined   subscripted by the second axis: rotates from block to block
 *     broadcast   read only, the same parts in every block
 *     served      read only, at subscripts that only the data can tell: fetched ahead by the prefetch slice
 *     reduction   accumulators, and arrays that are only added to: a copy for each block
 *     buffer      an update buffer
 *     constant    numbers, tables, generators
 */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopPlan, LoopVariable, VariableClass } from '../../core/loop/loopPlan.ts'
import type { EnvBinding, LoopSpec } from '../../core/loop/loopSpec.ts'
import type { Schedule } from '../../core/loop/schedules.ts'
import type { Access } from './accesses/accesses.ts'
import { elementText, symbolically } from './accesses/accessText.ts'
import { isDecided, singleVariable } from './accesses/affine.ts'
import type { PrivateArray } from './privateArrays.ts'
import { cutAxes } from './schedule.ts'

export interface Placement {
  readonly spec: LoopSpec
  readonly ir: FunctionIr | undefined
  readonly accesses: readonly Access[]
  readonly schedule: Schedule
  readonly reducedArrays: readonly number[]
  readonly privateArrays: readonly PrivateArray[]
}

/** Returns every variable once: the iterated array, then `env` and captures in the order of the body, then numbers and tables. */
export function variablesOf(placement: Placement): readonly LoopVariable[] {
  const { spec, ir, privateArrays } = placement
  const iterated = spec.over.kind === 'range' ? [] : [{ name: spec.over.label, class: 'iterated' as const, origin: 'env' as const }]
  if (ir === undefined) {
    const named = Object.entries(spec.env).map(([name, binding]) => ({
      name,
      class: classOf(placement, name, binding),
      origin: 'env' as const,
    }))
    return [...iterated, ...named]
  }
  const used = ir.uses.flatMap(({ name, origin }) => {
    const binding = spec.env[name]
    if (binding === undefined) return []
    const copied = privateArrays.find(({ array }) => binding.kind === 'array' && binding.array === array)
    const copies = copied === undefined ? {} : { private: { sizeBytes: copied.sizeBytes } }
    const made = binding.kind === 'array' && binding.isLocal === true
    return [{ name, class: classOf(placement, name, binding), origin: made ? ('body' as const) : origin, ...copies }]
  })
  const constants = [...ir.parameters, ...ir.tables].map(({ name, origin }) => ({ name, class: 'constant' as const, origin }))
  return [...iterated, ...used, ...constants]
}

function classOf(placement: Placement, name: string, binding: EnvBinding): VariableClass {
  switch (binding.kind) {
    case 'accumulator':
      return 'reduction'
    case 'rng':
      return 'constant'
    case 'buffer':
      return 'buffer'
    case 'array':
      return arrayClass(placement, name, binding.array)
  }
}

function arrayClass({ ir, accesses, schedule, reducedArrays, privateArrays }: Placement, name: string, array: number): VariableClass {
  // The accesses of a body that runs as it stands are not known, so every array stays with the one worker that runs it.
  if (ir === undefined) return 'local'
  if (reducedArrays.includes(array)) return 'reduction'
  if (privateArrays.some((copied) => copied.array === array)) return 'local'
  const own = accesses.filter((access) => access.array === array && !access.buffered)
  const [first, second] = cutAxes(schedule)
  if (first !== undefined && own.length > 0 && own.every((access) => followsAxis(access, first))) return 'local'
  if (second !== undefined && own.length > 0 && own.every((access) => followsAxis(access, second))) return 'pipelined'
  if (own.some((access) => access.mode !== 'read')) return 'local'
  return accesses.some((access) => access.name === name && hasUnknown(access)) ? 'served' : 'broadcast'
}

/** Whether some subscript is the loop index of `axis`, up to a constant. */
function followsAxis({ subscripts }: Access, axis: number): boolean {
  return subscripts.some((subscript) => {
    const index = subscript.kind === 'affine' ? singleVariable(subscript.form) : undefined
    return index?.kind === 'key' && index.axis === axis
  })
}

function hasUnknown({ subscripts }: Access): boolean {
  return subscripts.some((subscript) => subscript.kind === 'unknown' || !isDecided(subscript.form))
}

/** Returns what is known ahead of a block: the reads of served arrays, and all that the inspector lists, by the arrays' names. */
export function prefetchOf(
  placement: Placement,
  known: {
    readonly variables: LoopPlan['variables']
    readonly names: readonly string[]
    readonly inspected: ReadonlyMap<string, number>
  },
): LoopPlan['prefetch'] {
  const { variables, names, inspected } = known
  const served = new Set(variables.filter((variable) => variable.class === 'served').map((variable) => variable.name))
  const slices = placement.accesses
    .filter((access) => served.has(access.name) || (inspected.has(access.name) && hasUnknown(access)))
    .map((access) => ({ array: access.name, slice: elementText(placement.spec, access, symbolically(names)).replaceAll('? ', '') }))
  return slices.filter(({ slice }, i) => slices.findIndex((other) => other.slice === slice) === i)
}
