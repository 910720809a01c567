/** Makes the error for `require: 'compiled'` where a body would run as it stands: the reasons, their places and cures. */
import { LoopError } from '../../../core/errors.ts'
import type { LoopPlan } from '../../../core/loop/loopPlan.ts'
import type { AnalyzedLoop } from '../../../core/loop/loopSpec.ts'
import { placeText } from '../../../core/span.ts'

/** Returns the LoopError; undefined where the body is compiled. */
export function notCompiledError({ spec }: AnalyzedLoop, kernel: LoopPlan['kernel']): LoopError | undefined {
  if (kernel.target !== 'as-is') return undefined
  const refusals = kernel.because ?? []
  const lines = refusals.flatMap(({ message, cure, span }) => [
    `  ${span === undefined ? '' : `${placeText(span)}  `}${message}`,
    ...(cure === '' ? [] : [`       ${cure}`]),
  ])
  const head = `The body of the loop over ${spec.over.label} is not compiled, and that is required.`
  return new LoopError([head, ...lines].join('\n'), refusals)
}
