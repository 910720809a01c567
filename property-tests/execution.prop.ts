/**
 * Law 1: a plan, optimized or not, its functions lowered or as they stand, cut and placed in any way, gives what the
 * dullest interpreter gives; exactly, with keys.
 *
 * Law 9 for tables: sums have the bits of the fixed tree whatever the partitions.
 */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { Bug, PlanError } from '../src/core/errors.ts'
import { mean, sum, variance } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf, groupReducePlan } from '../src/core/plan/groupPlan.ts'
import { inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { mapPlan } from '../src/core/plan/transformations.ts'
import { planText } from '../src/core/plan/tree.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { type Placement, placement } from './arbitraries/partitioning.ts'
import { planOfProgram, program } from './arbitraries/plan.ts'
import { engineOf, entriesIn, expectedOfWhole, firstDifference } from './entries.ts'
import { lawRuns } from './lawRuns.ts'
import { lowerMarked } from './lowerMarked.ts'
import { type Entry, interpret, type Tables } from './reference.ts'

const RUNS = lawRuns()

const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
})

/** `lowering`: by default arrays are streamed where they may be. */
function executorFor({ where, partitionRows, smallRows }: Placement, lowering: typeof lower = lowerMarked): Executor {
  return new Executor({ pool: pools[where], arena, readSplit, lower: lowering, partitionRows, smallRows })
}

async function entriesOf(executor: Executor, plan: LogicalPlan): Promise<readonly Entry[]> {
  return entriesIn(await executor.execute(plan))
}

function asksForNothing(plan: LogicalPlan): boolean {
  return (plan.kind === 'Limit' && plan.count === 0) || inputsOf(plan).some(asksForNothing)
}

describe('law 1: a plan gives what the reference gives', () => {
  for (const functions of ['lowered', 'portable', 'closure', 'mixed'] as const) {
    for (const optimized of functions === 'mixed' ? [true] : [false, true]) {
      test(`functions ${functions}, ${optimized ? 'optimized' : 'as written'}`, async () => {
        await fc.assert(
          fc.asyncProperty(program, placement, async (drawn, place) => {
            const plan = planOfProgram(engineOf(functions), drawn)
            const tables: Tables = new Map(drawn.tables.map(({ source, rows }) => [source, rows]))
            const expected = expectedOfWhole(plan, tables)
            const toRun = optimized ? optimize(plan).plan : plan
            // without marks every array is stored
            const lowering = optimized || functions === 'lowered' ? lower : lowerMarked
            try {
              const actual = await entriesOf(executorFor(place, lowering), toRun)
              if (expected === 'refused' && asksForNothing(plan)) return // what is below a limit of 0 need not run
              if (expected === 'refused') throw new Bug('The plan should have been refused.')
              const difference = firstDifference(expected, actual)
              if (difference !== undefined) throw new Bug(difference)
            } catch (error) {
              if (expected === 'refused' && error instanceof PlanError) return
              throw new Error(`${(error as Error).message}\n${planText(plan)}${optimized ? `\noptimized:\n${planText(toRun)}` : ''}`, {
                cause: error,
              })
            }
            expect(arena.usedBytes).toBe(0)
          }),
          { numRuns: RUNS },
        )
      })
    }
  }
})

const number = fc.oneof(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), fc.constantFrom(0.1, 1e16, -1e16, 1, -0, 1e-300, 3.3e10))

/** Many numbers out of few drawn ones: every length up to some chunks, no two sums of which are equal by chance. */
const numbers = fc
  .record({
    drawn: fc.array(number, { minLength: 1, maxLength: 50 }),
    length: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 5_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 12_300, max: 17_000 }) },
    ),
    step: fc.integer({ min: 1, max: 49 }),
  })
  .map(({ drawn, length, step }) =>
    Float64Array.from({ length }, (_, i) => (drawn[(i * step) % drawn.length] as number) * (1 + (i % 97) / 3)),
  )

const cut = fc.record({
  partitionRows: fc.integer({ min: 300, max: 9000 }),
  where: fc.constantFrom<Placement['where']>('inline', 'inline', 'inline', 'threads'),
  /** Which of the two plans. */
  folds: fc.nat(3).map((n) => n === 0),
})

describe('law 9: reductions of tables have the bits of the fixed tree', () => {
  test('sums, means and variances of groups, and folds, whatever the partitions', async () => {
    const engine = engineOf('lowered')
    await fc.assert(
      fc.asyncProperty(numbers, fc.constantFrom(1, 1, 2, 3), cut, async (x, groups, { folds, ...place }) => {
        const source = sourceFromColumns({ x, g: Int32Array.from(x, (_, i) => (i * i) % groups) })
        const scan: LogicalPlan = { kind: 'Scan', source, columns: ['x', 'g'], element: source.element, keys: { kind: 'rowNumber' } }
        const grouping = () => groupingOf(engine, scan, (r: { readonly g: number }) => r.g)
        const aggregates = {
          total: sum((r: { readonly x: number }) => r.x),
          mid: mean((r: { readonly x: number }) => r.x),
          spread: variance((r: { readonly x: number }) => r.x),
        }
        const summed = aggPlan(grouping(), aggregates as never)
        const values = mapPlan(engine, scan, (r: { readonly x: number; readonly g: number }) => ({ g: r.g, x: r.x }))
        const folded = groupReducePlan(
          groupingOf(engine, values, (r: { readonly g: number }) => r.g),
          (a: { readonly x: number; readonly g: number }, b: { readonly x: number }) => ({ g: a.g, x: a.x + b.x }),
        )
        const tables: Tables = new Map([[source, Array.from(x, (value, i) => ({ x: value, g: (i * i) % groups }))]])
        const plan = folds ? folded : summed
        const difference = firstDifference(interpret(plan, tables), await entriesOf(executorFor({ ...place, smallRows: 0 }), plan))
        if (difference !== undefined) throw new Error(difference)
      }),
      { numRuns: RUNS },
    )
  })
})
