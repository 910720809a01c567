/**
 * The subscript slice of arrays of which processes are sent what their blocks read: of arrays that are only read, at subscripts that only the
 * data can tell, and of those behind update buffers, which change with every flush.
 */
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import { readIn } from '../../../core/ir/irFacts.ts'
import type { LoopVariable } from '../../../core/loop/loopPlan.ts'
import type { LoopSpec, SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import { sliceOf } from './slice.ts'
import { arrayNamed } from './sliceSources.ts'

/** Undefined where there are none, or where subscripts cannot be told before the iterations run. */
export function servedSlice(spec: LoopSpec, ir: FunctionIr, variables: readonly LoopVariable[]): SubscriptSlice | undefined {
  const of = (wanted: LoopVariable['class']): number[] =>
    variables.flatMap(({ name, class: kind }) => (kind === wanted ? (arrayNamed(spec, name) ?? []) : []))
  const read = new Set([...readIn(ir.body)].map((name) => arrayNamed(spec, name)))
  const served = of('served')
  const buffered = of('buffer').filter((array) => read.has(array))
  // one whose subscripts cannot be told is no reason to send all of the others
  for (const arrays of [...(buffered.length > 0 ? [[...served, ...buffered]] : []), served]) {
    const slice = arrays.length === 0 ? undefined : sliceOf(spec, ir, new Set(arrays))
    if (slice?.kind === 'slice') return slice
  }
  return undefined
}
