/** Decides whether the first run can find out which iterations are in conflict: returns the slice that it runs, or the reason for none. */
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { LoopSpec, SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import { isChain } from '../dependence/chain.ts'
import type { Conflict } from '../dependence/dependence.ts'
import { type NoSlice, sliceOf } from './slice.ts'

/** Returns the slice of a loop that no static schedule fits; undefined for chains, where there is nothing to find. */
export function inspectionOf(spec: LoopSpec, ir: FunctionIr, conflicts: readonly Conflict[]): SubscriptSlice | NoSlice | undefined {
  const buffered = conflicts.flatMap(({ from, to }) => [from, to]).find((access) => access.buffered)
  if (buffered !== undefined) {
    const message = `${buffered.name} is an update buffer of an array that the body also touches directly`
    const because = { code: 'no-subscript-slice', message, cure: 'Use the buffer alone, or the array alone.', span: buffered.span }
    return { kind: 'none', because }
  }
  const slice = sliceOf(spec, ir, new Set(conflicts.map((conflict) => conflict.from.array)))
  return isChain(spec, conflicts, { guardsCount: slice.kind === 'slice' && slice.exact }) ? undefined : slice
}
