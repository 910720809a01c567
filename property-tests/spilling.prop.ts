/**
 * Law 1 beyond memory: whatever can be spilled is, in parts of any size, and the result is what the dullest interpreter gives,
 * exactly, with keys; nothing is left in memory or on disk.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { Bug, MemoryError, PlanError } from '../src/core/errors.ts'
import { inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import type { ExecutorOptions } from '../src/exec/tables/executorOptions.ts'
import { stageHandler } from '../src/exec/tables/stageTask.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { placement } from './arbitraries/partitioning.ts'
import { planOfProgram, program } from './arbitraries/plan.ts'
import { engineOf, entriesIn, expectedOfWhole, firstDifference } from './entries.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked } from './lowerMarked.ts'
import type { Tables } from './reference.ts'

const LAW = announcedRun('spilling.prop.ts')

const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
const folder = mkdtempSync(join(tmpdir(), 'spilling-law-'))
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
  await shortPool.stop()
  rmSync(folder, { recursive: true })
})

let files = 0
const file = (): string => join(folder, String(++files))

/** Parts that are worked on at once: of a byte, so that all are exchanged again as often as may be, to large ones. */
const spilling = fc.record({ partBytes: fc.constantFrom(1, 2_000, 5_000, 10 ** 9), parts: fc.integer({ min: 1, max: 5 }) })

function asksForNothing(plan: LogicalPlan): boolean {
  return (plan.kind === 'Limit' && plan.count === 0) || inputsOf(plan).some(asksForNothing)
}

for (const functions of ['lowered', 'closure'] as const)
  for (const streamed of [false, true])
    test(`functions ${functions}, ${streamed ? 'streamed' : 'as a whole'}`, async () => {
      let spilledBytes = 0
      await fc.assert(
        fc.asyncProperty(program, placement, spilling, async (drawn, { where, partitionRows, smallRows }, always) => {
          const plan = planOfProgram(engineOf(functions), drawn)
          const tables: Tables = new Map(drawn.tables.map(({ source, rows }) => [source, rows]))
          const expected = expectedOfWhole(plan, tables)
          const toRun = streamed ? plan : optimize(plan).plan
          const options: ExecutorOptions = {
            ...{ pool: pools[where], arena, readSplit, lower: streamed ? lowerMarked : lower, partitionRows, smallRows },
            spill: { file, always },
            onEvent: (event) => {
              if (event.kind === 'spill') spilledBytes += event.bytes
            },
          }
          const executor = new Executor(options)
          const batches: Batch[] = []
          try {
            if (streamed) for await (const batch of executor.stream(toRun)) batches.push(batch)
            else batches.push(...(await executor.execute(toRun)))
            if (expected === 'refused' && asksForNothing(plan)) return
            if (expected === 'refused') throw new Bug('The plan should have been refused.')
            const difference = firstDifference(expected, entriesIn(batches))
            if (difference !== undefined) throw new Bug(difference)
          } catch (error) {
            if (expected === 'refused' && error instanceof PlanError) return
            // of a sum of nulls alone nobody knows that it was to be a bigint, in memory neither
            const { spill: _, ...inMemory } = options
            const alike = await new Executor(inMemory).execute(toRun).catch((other: unknown) => other)
            fc.pre(!(error instanceof PlanError && alike instanceof PlanError && alike.message === error.message))
            throw new Error(`${(error as Error).message}\n${planText(toRun)}`, { cause: error })
          }
          expect(arena.usedBytes).toBe(0)
          expect(readdirSync(folder)).toEqual([])
        }),
        LAW,
      )
      expect(spilledBytes).toBeGreaterThan(0)
    })

/** Lets go of nothing, so that what runs again does not find more room than before. */
const short = createArena({ budgetBytes: 2 ** 28 })
/** Allocations that succeed, and how many after them do not. */
const failing = { after: Number.POSITIVE_INFINITY, count: 0 }
for (const how of ['allocate', 'reserve'] as const) {
  const real = short[how].bind(short)
  short[how] = (bytes, operator) => {
    failing.after--
    if (failing.after < 0 && failing.after >= -failing.count) throw new MemoryError('Memory is short.', { operator, bytes })
    return real(bytes, operator)
  }
}
const shortPool = createPool({
  ...{ workers: 1, arena: short },
  handlers: { ...handlers, table: { ...HANDLERS, stage: stageHandler(readSplit, { sharedFromBytes: 1 }) } },
})

test('memory may be short at any moment: the result is the same by way of disk, or there is none, and nothing is left', async () => {
  const counts = { spilled: 0, failed: 0, whole: 0 }
  await fc.assert(
    fc.asyncProperty(
      program,
      fc.integer({ min: 1, max: 12 }),
      fc.record({ after: fc.nat(80), count: fc.integer({ min: 1, max: 30 }) }),
      async (drawn, partitionRows, shortage) => {
        const plan = planOfProgram(engineOf('lowered'), drawn)
        const tables: Tables = new Map(drawn.tables.map(({ source, rows }) => [source, rows]))
        const expected = expectedOfWhole(plan, tables)
        let hasSpilled = false
        const executor = new Executor({
          ...{ pool: shortPool, arena: short, readSplit, lower, partitionRows, smallRows: 0, spill: { file } },
          onEvent: ({ kind }) => {
            hasSpilled ||= kind === 'spill'
          },
        })
        Object.assign(failing, shortage)
        try {
          const entries = entriesIn(await executor.execute(optimize(plan).plan))
          if (expected === 'refused' && asksForNothing(plan)) return
          if (expected === 'refused') throw new Bug('The plan should have been refused.')
          const difference = firstDifference(expected, entries)
          if (difference !== undefined) throw new Bug(difference)
          counts[hasSpilled ? 'spilled' : 'whole']++
        } catch (error) {
          if (error instanceof MemoryError) counts.failed++
          else if (expected !== 'refused' || !(error instanceof PlanError))
            throw new Error(`${(error as Error).message}\n${planText(plan)}`, { cause: error })
        } finally {
          failing.after = Number.POSITIVE_INFINITY
        }
        expect(short.usedBytes).toBe(0)
        expect(readdirSync(folder)).toEqual([])
      },
    ),
    LAW,
  )
  console.log(`memory that is short: ${JSON.stringify(counts)}`)
  expect(counts.spilled).toBeGreaterThan(LAW.numRuns / 100)
})
