/**
 * Law 3, the other way round: what can run in parallel does.
 *
 * An affine body is built for two sizes. For each, all pairs of iterations are tried, and the oracle finds the freest
 * schedule that orders those that conflict, the same for both. The planner, which looks at the text of the body alone, must
 * find one as free: independent, 1d along an axis or a slanted form, 2d, wavefront, skewed.
 *
 * A small instance can flatter: a step of 4 made up for by i + j is nothing against axes of 5. So before the planner is blamed
 * a larger instance is tried too.
 *
 * Not asked of the planner: with order 'any', skewed pairs of forms along which some step goes back both ways; forms with
 * coefficients above 2, above 1 where there are more than two axes. A body on which the integer test spends its whole budget
 * would be a miss; quotients in loops of four axes came near it. Nor what inner loops that begin or end by the length of an
 * array make legal: it may hold at the sizes tried alone.
 */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { AnalyzedLoop } from '../src/core/loop/loopSpec.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { buildLoop, type RandomLoop, type RawLoop, rawLoop } from './arbitraries/loopBody.ts'
import { announcedRun } from './lawRuns.ts'
import { freestSchedule, ORACLE_KINDS, type OracleKind, type Step, stepsOf } from './oracle.ts'

const RUN = announcedRun('oracle.prop.ts', 1_000)
// Far above what a run takes, for machines under load.
vi.setConfig({ testTimeout: 500 * RUN.numRuns + 60_000 })

/** For each rank, how many indices the axes of more than one have: so few that all pairs can be tried. */
const SIZES: Readonly<Record<number, readonly number[]>> = { 1: [9, 14], 2: [4, 9], 3: [3, 5], 4: [2, 4] }
const LARGER: Readonly<Record<number, number>> = { 1: 24, 2: 24, 3: 11, 4: 8 }

test('a loop of affine subscripts runs as freely as the steps between its iterations allow', () => {
  const found = new Map<OracleKind | 'serial', number>()
  fc.assert(
    fc.property(rawLoop({ exact: true }), (raw) => {
      const kind = isAsFree(raw)
      found.set(kind, (found.get(kind) ?? 0) + 1)
    }),
    RUN,
  )
  console.log(`oracle.prop.ts: ${[...found].map(([kind, count]) => `${count} ${kind}`).join(', ')}`)
  // Each kind of schedule is tried.
  if (RUN.numRuns >= 1_000) expect([...found.keys()].toSorted()).toEqual([...ORACLE_KINDS, 'serial'].toSorted())
})

/** The freest kind by the oracle, once the planner has been as good. */
function isAsFree(raw: RawLoop): OracleKind | 'serial' {
  const sizes = SIZES[raw.extents.length] ?? []
  const small = compared(sizes.map((size) => sized(raw, size)))
  if (small.complaint === undefined) return small.kind
  const large = compared([...sizes, LARGER[raw.extents.length] ?? 0].map((size) => sized(raw, size)))
  if (large.complaint !== undefined && !LENGTH_IN_LOOP_HEAD.test(large.complaint)) throw new Error(large.complaint)
  return large.kind
}

const LENGTH_IN_LOOP_HEAD = /for \(.*\.shape\[.*\{/

/** The body over axes of another size. */
function sized(raw: RawLoop, size: number): RandomLoop {
  return buildLoop({ ...raw, extents: raw.extents.map((extent) => (extent > 1 ? size : 1)) }, { exact: true })
}

/** What the oracle finds for all instances of a body, and what the planner finds for the last, where that is less free. */
function compared(loops: readonly RandomLoop[]): { readonly kind: OracleKind | 'serial'; readonly complaint?: string } {
  const last = loops.at(-1)
  if (last === undefined) throw new Error('There is no instance to compare.')
  const { plan, reducedArrays, privateArrays } = analyzeLoop(last.spec)
  const unordered = [...reducedArrays, ...privateArrays]
  const steps = new Map(loops.flatMap((loop) => stepsOf(loop, unordered)).map((step) => [step.join(), step]))
  const extents = last.spec.over.extents.map((extent) => extent ?? 1)
  const free = freestSchedule([...steps.values()], extents, plan.order)
  if (free === undefined) return { kind: 'serial' }
  // What runs in steps is a wavefront by name only.
  const planned = plan.schedule.steps === undefined ? (ORACLE_KINDS as readonly string[]).indexOf(plan.schedule.kind) : -1
  if (planned >= 0 && planned <= ORACLE_KINDS.indexOf(free.kind)) return { kind: free.kind }
  const wanted = `${free.kind}${free.forms.length === 0 ? '' : ` along ${free.forms.map((form) => `(${form.join()})`).join(' and ')}`}`
  return { kind: free.kind, complaint: describe(last, plan, wanted, [...steps.values()]) }
}

function describe(loop: RandomLoop, plan: AnalyzedLoop['plan'], wanted: string, steps: readonly Step[]): string {
  const vectors = new Set(plan.dependences.map(({ array, vector }) => `${array} [${vector.join()}]`))
  return [
    `${wanted} would do, not only ${plan.schedule.kind}: ${plan.schedule.reason}`,
    `vectors ${[...vectors].join(', ')}`,
    `steps ${steps
      .slice(0, 40)
      .map((step) => `(${step.join()})`)
      .join(' ')}`,
    String(loop.spec.over.label),
    loop.source,
  ].join('\n')
}
