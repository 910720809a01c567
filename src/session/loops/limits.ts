/**
 * Limits of compiled bodies that only a run meets: lists, Maps and objects of a body have so many places, and JavaScript's have more.
 * A pass that meets one begins again, as the body stands.
 */

import { TaskError } from '../../core/errors.ts'
import { type FunctionIr, visitStmts } from '../../core/ir/functionIr.ts'
import { isError } from '../../core/isError.ts'
import type { Refusal } from '../../core/span.ts'

/** Most bytes of arrays that are copied before a pass, to be put back where it meets a limit: that takes some hundredths of a second. */
export const MOST_KEPT: number = 2 ** 28

export const NO_LIMITS: ReadonlySet<string> = new Set()

const found = new WeakMap<FunctionIr, ReadonlySet<string>>()

/** Returns what is said where a body meets a limit; looked for once, as passes may take microseconds. */
export function limitsOf(ir: FunctionIr | undefined): ReadonlySet<string> {
  if (ir === undefined) return NO_LIMITS
  const known = found.get(ir)
  if (known !== undefined) return known
  const limits = new Set<string>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Throw' && stmt.isLimit === true && stmt.message?.kind === 'Literal') limits.add(String(stmt.message.value))
  })
  found.set(ir, limits)
  return limits
}

/** Returns why a pass that failed has to run as the body stands; undefined where it failed as JavaScript does. */
export function limitMet(error: unknown, limits: ReadonlySet<string>): Refusal | undefined {
  if (!(error instanceof TaskError) || !isError(error.cause) || !limits.has(error.cause.message)) return undefined
  const [what = '', ...cure] = error.cause.message.split(/(?<=\.) /)
  return { code: 'limit-met', message: what, cure: cure.join(' ') }
}
