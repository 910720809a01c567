/**
 * The cost of functions that are not compiled: reported once to the user who waits for them.
 *
 *     (node:1) [DISTARRAY_FALLBACK] DistarrayWarning: app.ts:7:12 (r) => /x/.test(r.name) runs as …
 *
 * Statement: each function, identified by its place and text, causes at most one warning in a process, once it has run for
 * more than a second in all. Nothing else depends on these clocks.
 */

import { functionsOfFolding } from '../../core/ir/folding.ts'
import { type Fallback, fallbackOf, runText } from '../../core/ir/functionUse.ts'
import type { FallbackEvent } from '../../core/sessionEvent.ts'
import { placeText } from '../../core/span.ts'
import type { ExecFunction, Step, WideOperator } from '../../planner/physical/physicalPlan.ts'

export function fallbackEvent(what: string, { text, span, runs, reason }: Fallback): FallbackEvent {
  return { kind: 'fallback', what: `${what} ${text}`, because: reason.message, span: reason.span ?? span, cure: reason.cure, runs }
}

/** The event for a compiled function that runs row by row over files, where kernels over whole columns would have been possible. */
export function rowsOfFilesEvent(what: string, { text, span }: ExecFunction, because: string): FallbackEvent {
  return {
    kind: 'fallback',
    what: `${what} ${text}`,
    because: `It is compiled for rows: ${because}.`,
    span,
    cure: 'Where a table is asked more than once, materialize() it first.',
    runs: 'workers',
  }
}

const WARN_AFTER_MS = 1_000
/** The most functions that are remembered: programs that keep making functions with other texts would fill memory. */
const MOST_KNOWN = 10_000

const spent = new Map<string, number>()
const warned = new Set<string>()

/** Adds the time that a function took, and warns when the total exceeds a second. */
export function addCost(fallback: Fallback, milliseconds: number): void {
  const { text, span } = fallback
  const body = `${placeText(span)} ${span.text} ${text}`
  if (warned.has(body)) return
  const total = (spent.get(body) ?? 0) + milliseconds
  spent.delete(body)
  if (total <= WARN_AFTER_MS) {
    spent.set(body, total)
    const [oldest] = spent.keys()
    if (spent.size > MOST_KNOWN && oldest !== undefined) spent.delete(oldest)
    return
  }
  warned.add(body)
  process.emitWarning(warningText(fallback), { type: 'DistarrayWarning', code: 'DISTARRAY_FALLBACK' })
}

function warningText({ text, span, runs, reason }: Fallback): string {
  const place = reason.span ?? span
  const what = `${placeText(span)} ${shortened(text)} ${runText(runs)} instead of being compiled, and has taken more than a second.`
  return `${what} At ${placeText(place)} ${shortened(place.text)}: ${reason.message} ${reason.cure}`.trim()
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`
}

/** Returns the functions of a step or a wide operator that are not compiled. */
export function fallbacksOf(operator: Step | WideOperator): readonly Fallback[] {
  return functionsIn(operator).flatMap((f) => fallbackOf(f) ?? [])
}

/** Returns the functions of a step or a wide operator. */
export function functionsIn(operator: Step | WideOperator): readonly ExecFunction[] {
  if ('f' in operator) return [operator.f]
  if (operator.kind === 'EvaluateExec') return operator.columns.map(({ f }) => f)
  if (operator.kind === 'HashAggregateExec')
    return operator.aggregates.flatMap(({ folding }) => (folding === undefined ? [] : functionsOfFolding(folding)))
  return operator.kind === 'IndexExec' && operator.combine !== undefined ? [operator.combine] : []
}
