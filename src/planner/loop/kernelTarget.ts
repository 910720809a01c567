/** Decides how a body runs: compiled to JavaScript over typed arrays, or as it stands, with the reasons. */
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'
import type { Refusal } from '../../core/span.ts'

export function kernelOf(spec: LoopSpec): LoopPlan['kernel'] {
  const because = spec.body.ir === undefined ? spec.body.refusals : untypedArrays(spec)
  return spec.body.ir !== undefined && because.length === 0 ? { target: 'js' } : { target: 'as-is', because }
}

/** Returns refusals of arrays whose elements are JavaScript values: these live on one thread only, and so does a loop that uses them. */
function untypedArrays(spec: LoopSpec): Refusal[] {
  const used = new Set(spec.body.ir?.uses.map((use) => use.name))
  const refusals = Object.entries(spec.env).flatMap(([name, binding]): Refusal[] => {
    if (binding.kind !== 'array' || !used.has(name)) return []
    if (binding.dtype === 'object') return [objectRefusal(name)]
    if (binding.dtype !== 'row') return []
    if (spec.body.refusals.length > 0) return [...spec.body.refusals]
    const cure = `Put the columns that the body needs into arrays of their own, as ${name}.map((row) => row.column).`
    return [{ code: 'row-array', message: `${name} holds rows, which have no place in a numeric array.`, cure }]
  })
  const { element, label } = spec.over
  const objects = element?.kind === 'scalar' && element.type.kind === 'object'
  return objects ? [objectRefusal(label), ...refusals] : refusals
}

function objectRefusal(name: string): Refusal {
  return {
    code: 'object-array',
    message: `${name} holds objects, which live on the caller's thread.`,
    cure: 'Keep numbers in an array with a numeric dtype.',
  }
}
