/** The subscript slice of arrays that are only read, at subscripts that only the data can tell: what processes have to be sent of them. */
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { LoopVariable } from '../../../core/loop/loopPlan.ts'
import type { LoopSpec, SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import { sliceOf } from './slice.ts'

/** Undefined where there are none, or where subscripts cannot be told before the iterations run. */
export function servedSlice(spec: LoopSpec, ir: FunctionIr, variables: readonly LoopVariable[]): SubscriptSlice | undefined {
  const arrays = variables.flatMap(({ name, class: kind }) => {
    const binding = spec.env[name]
    return kind === 'served' && binding?.kind === 'array' ? binding.array : []
  })
  if (arrays.length === 0) return undefined
  const slice = sliceOf(spec, ir, new Set(arrays))
  return slice.kind === 'slice' ? slice : undefined
}
