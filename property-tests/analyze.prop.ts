/**
 * What `explain({ analyze: true })` tells is what ran: a run that is measured gives what the reference gives, the rows of its
 * last operator are those that came, each operator has as many rows before it as its inputs gave (a limit may take fewer),
 * every operator says by what it ran, and nothing is measured of what did not run.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { PlanError } from '../src/core/errors.ts'
import { inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { PlanRecord } from '../src/exec/tables/planRecord.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { type RanNode, ranNode, ranText } from '../src/planner/physical/ranPlan.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { placement } from './arbitraries/partitioning.ts'
import { planOfProgram, program } from './arbitraries/plan.ts'
import { engineOf, entriesIn, expectedOfWhole, firstDifference } from './entries.ts'
import { lawRuns } from './lawRuns.ts'
import type { Tables } from './reference.ts'

const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
})

test('the plan that ran has the rows that came', async () => {
  await fc.assert(
    fc.asyncProperty(program, placement, fc.constantFrom('lowered', 'mixed'), async (drawn, place, functions) => {
      const plan = optimize(planOfProgram(engineOf(functions), drawn)).plan
      const tables: Tables = new Map(drawn.tables.map(({ source, rows }) => [source, rows]))
      const expected = expectedOfWhole(plan, tables)
      const { where, partitionRows, smallRows } = place
      const executor = new Executor({ pool: pools[where], arena, readSplit, lower, partitionRows, smallRows })
      const record = new PlanRecord()
      try {
        const actual = entriesIn(await executor.execute(plan, { record }))
        if (expected === 'refused') return // below a limit of 0: law 1 knows
        expect(firstDifference(expected, actual)).toBe(undefined)
      } catch (error) {
        if (expected === 'refused' && error instanceof PlanError) return
        throw new Error(`${(error as Error).message}\n${planText(plan)}`, { cause: error })
      }
      const ran = record.ran()
      if (ran === undefined) throw new Error('Nothing was measured.')
      const root = ranNode(ran)
      const wrong = [
        ...(root.rows === expected.length ? [] : [`${root.rows} rows are told of, and ${expected.length} came`]),
        ...complaints(root, hasLimit(plan)),
      ]
      if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\n${planText(plan)}\nran as\n${ranText(root)}`)
    }),
    { numRuns: lawRuns() },
  )
})

function complaints(node: RanNode, isLimited: boolean): readonly string[] {
  const { operator, rowsIn, rows, milliseconds, inputs, ran, because } = node
  const before = inputs.every((input) => input.rows !== undefined) ? inputs.reduce((sum, input) => sum + (input.rows ?? 0), 0) : undefined
  const isLeaf = inputs.length === 0
  const fits = isLeaf || rowsIn === undefined || before === undefined || (isLimited ? rowsIn <= before : rowsIn === before)
  // a limit of 0 runs nothing, a step has the place of its pipeline
  const isTold =
    isLimited ||
    milliseconds === undefined ||
    isLeaf ||
    ran !== undefined ||
    /^(LimitExec|OffsetExec|UnionExec|IndexLookupExec)/.test(operator)
  const isKept = !operator.startsWith('FilterExec') || rowsIn === undefined || rows === undefined || rows <= rowsIn
  const isSlow = ran?.startsWith('JavaScript') !== true || because !== undefined || !/^(Filter|Map|Evaluate)Exec/.test(operator)
  return [
    ...(fits ? [] : [`${operator} takes ${rowsIn} of ${before} rows`]),
    ...(isTold ? [] : [`${operator} does not say how it ran`]),
    ...(isKept ? [] : [`${operator} keeps ${rows} of ${rowsIn} rows`]),
    ...(isSlow ? [] : [`${operator} does not say why it ran as JavaScript`]),
    ...inputs.flatMap((input) => complaints(input, isLimited)),
  ]
}

function hasLimit(plan: LogicalPlan): boolean {
  return plan.kind === 'Limit' || inputsOf(plan).some(hasLimit)
}
