/**
 * Finds the subscript slice by which processes are sent what their blocks read: of arrays that are only read, at subscripts that only the
 * data can tell, and of those behind update buffers, which change with every flush.
 */
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import { readIn } from '../../../core/ir/irFacts.ts'
import type { LoopVariable } from '../../../core/loop/loopPlan.ts'
import type { LoopSpec, SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import { sliceOf } from './slice.ts'
import { arrayNamed } from './sliceSources.ts'

/** Returns the slice; undefined where there are no such arrays, or where no slice can tell their subscripts ahead. */
export function servedSlice(spec: LoopSpec, ir: FunctionIr, variables: readonly LoopVariable[]): SubscriptSlice | undefined {
  const of = (wanted: LoopVariable['class']): number[] =>
    variables.flatMap(({ name, class: kind }) => (kind === wanted ? (arrayNamed(spec, name) ?? []) : []))
  const read = new Set([...readIn(ir.body)].map((name) => arrayNamed(spec, name)))
  const served = of('served')
  const buffered = of('buffer').filter((array) => read.has(array))
  // buffers whose subscripts cannot be told do not keep the served arrays from a slice
  for (const arrays of [...(buffered.length > 0 ? [[...served, ...buffered]] : []), served]) {
    const slice = arrays.length === 0 ? undefined : sliceOf(spec, ir, new Set(arrays))
    if (slice?.kind === 'slice') return slice
  }
  return undefined
}
