/** The plan of a loop that runs as several loops, one after another. */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopPlan, PlannedPart, PlannedSchedule } from '../../core/loop/loopPlan.ts'
import type { AnalyzedLoop, LoopSpec } from '../../core/loop/loopSpec.ts'
import { KINDS } from './schedule.ts'

/** The loop with its parts, which have the order of the serial program whatever order was asked for. */
export function inParts(whole: AnalyzedLoop, parts: readonly AnalyzedLoop[]): AnalyzedLoop {
  const at = freestOf(parts)
  const freest = parts[at]
  if (freest === undefined) return whole
  const schedule: PlannedSchedule = {
    ...freest.plan.schedule,
    reason: `the body runs as ${parts.length} loops, one after another: ${parts.map((part) => part.plan.schedule.kind).join(', then ')}`,
  }
  const plan: LoopPlan = {
    ...whole.plan,
    schedule,
    parts: parts.map(
      (part): PlannedPart => ({
        schedule: part.plan.schedule,
        statements: part.ir?.body.map(({ span }) => span) ?? [],
      }),
    ),
    variables: whole.plan.variables.map((variable) => {
      const own = [freest, ...parts].flatMap((part) => part.plan.variables.filter(({ name }) => name === variable.name))
      return own[0] ?? variable
    }),
    prefetch: [...new Map(parts.flatMap((part) => part.plan.prefetch.map((one) => [JSON.stringify(one), one] as const))).values()],
  }
  return { ...whole, plan, parts: { loops: parts, freest: at } }
}

/** The rank of a scan: freer than serial, and than nothing else. */
const SCAN = KINDS.indexOf('serial') - 0.5

/** Returns the index of the freest part, the first among equals. */
function freestOf(parts: readonly AnalyzedLoop[]): number {
  const kinds: readonly string[] = KINDS
  const ranks = parts.map(({ schedule, scan }) => (scan === undefined ? kinds.indexOf(schedule.kind) : SCAN))
  return ranks.indexOf(Math.min(...ranks))
}

/** Returns the spec of a part, with the statements of `ir`. */
export function specOfPart({ spec, writtenArrays }: AnalyzedLoop, ir: FunctionIr): LoopSpec {
  // A promise about an array that another part writes is dropped, as the whole loop drops it.
  const distinct = (spec.options.assume?.distinct ?? []).filter((name) => {
    const binding = spec.env[name]
    return binding?.kind === 'array' && !writtenArrays.includes(binding.array)
  })
  return { ...spec, body: { ...spec.body, ir }, options: { ...spec.options, order: 'serial', assume: { distinct } } }
}
