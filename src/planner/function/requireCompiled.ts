/** The check of `require: 'compiled'`: an error where a row function would run as JavaScript, with the reason, the place and the cure. */
import { PlanError } from '../../core/errors.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { fallbackOf, runText } from '../../core/ir/functionUse.ts'
import { placeText } from '../../core/span.ts'

/** Throws PlanError for a function that is not compiled. `head`: the method, where it is known. */
export function requireCompiled(f: UserFunction, method?: string): void {
  const fallback = fallbackOf(f)
  if (fallback === undefined) return
  const { reason, runs } = fallback
  const { span = f.span } = reason
  const head = method === undefined ? 'A row function' : `${method}: the function`
  throw new PlanError(
    `${head} ${runText(runs)}, and the session requires that all are compiled: ${f.text}\n  ${placeText(span)}  ${span.text}\n${reason.message} ${reason.cure}`,
    { span },
  )
}
