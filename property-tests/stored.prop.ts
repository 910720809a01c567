/**
 * Law 1 for arrays that are stored on the way: what is above them gives what it gives above the same elements computed
 * anew, also where only the stored elements tell what they are, and where there are none to tell.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Storage } from '../src/core/arrays/storage.ts'
import { Bug, PlanError, TaskError } from '../src/core/errors.ts'
import { isKnown } from '../src/core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { ArrayStore } from '../src/exec/tables/store/arrayStore.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { retyped } from '../src/planner/retype.ts'
import { queriesBy } from '../src/session/arrayQueries.ts'
import { Session } from '../src/session/session.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { type Placement, placement } from './arbitraries/partitioning.ts'
import { planOfProgram, storedProgram } from './arbitraries/plan.ts'
import { engineOf, entriesIn, expectedOf, firstDifference } from './entries.ts'
import { announcedRun } from './lawRuns.ts'
import type { Entry, Tables } from './reference.ts'

const LAW = announcedRun('stored.prop.ts')
const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
})

function storeFor({ where, partitionRows, smallRows }: Placement): { readonly store: ArrayStore; readonly executor: Executor } {
  const executor = new Executor({ pool: pools[where], arena, readSplit, lower, partitionRows, smallRows })
  const store = new ArrayStore({
    arena,
    ...queriesBy(executor),
    retype: retyped,
  })
  return { store, executor }
}

/** How many nodes above what is stored are not known before they run. */
function unknownsIn(plan: LogicalPlan): number {
  if (plan.kind === 'Materialize' || plan.kind === 'Stored') return 0
  return inputsOf(plan).reduce((sum, input) => sum + unknownsIn(input), isKnown(plan.element) ? 0 : 1)
}

/** What the reference gives; a function of the user's throws where rows lack a column, as those without a left row do when nobody knows its columns. */
function outcomeOf(plan: LogicalPlan, tables: Tables): readonly Entry[] | 'refused' | 'throws' {
  try {
    return expectedOf(plan, tables)
  } catch (error) {
    if (error instanceof TypeError) return 'throws'
    throw error
  }
}

/** Whether rows may lack a left side whose columns nobody knows: any columns will do then. */
function guessesColumns(plan: LogicalPlan): boolean {
  return (
    (plan.kind === 'Join' && (plan.how === 'right' || plan.how === 'full') && !isKnown(plan.left.element)) ||
    inputsOf(plan).some(guessesColumns)
  )
}

function isEmpty(storage: Storage): boolean {
  return storage.kind === 'dense' ? storage.shape.includes(0) : storage.length === 0
}

function storagesIn(plan: LogicalPlan): readonly Storage[] {
  return plan.kind === 'Stored' ? [plan.storage] : inputsOf(plan).flatMap(storagesIn)
}

function materializedIn(plan: LogicalPlan): readonly LogicalPlan[] {
  return plan.kind === 'Materialize' ? [plan] : inputsOf(plan).flatMap(materializedIn)
}

test('a chain over a stored array gives what the reference gives', async () => {
  let known = 0
  await fc.assert(
    fc.asyncProperty(storedProgram, placement, fc.constantFrom('lowered' as const, 'mixed' as const), async (drawn, place, functions) => {
      const plan = planOfProgram(engineOf(functions), drawn)
      const tables = new Map<object, readonly unknown[]>(drawn.tables.map(({ source, rows }) => [source, rows]))
      const [node] = materializedIn(plan)
      const stored = node === undefined ? [] : outcomeOf(node, tables)
      const { store, executor } = storeFor(place)
      let expected: ReturnType<typeof outcomeOf> = stored
      let run: LogicalPlan | undefined
      let guessed = false
      try {
        const actual = await store.use(plan, async (resolved) => {
          for (const storage of storagesIn(resolved)) {
            if (typeof stored !== 'string') tables.set(storage, stored)
            else if (isEmpty(storage)) tables.set(storage, []) // of no elements nobody can tell that they are refused
          }
          // where rows on one side are missing, the other side's columns are those that the stored elements tell
          expected = outcomeOf(resolved, tables)
          guessed = guessesColumns(resolved)
          run = optimize(resolved).plan
          if (unknownsIn(resolved) < unknownsIn(plan)) known++
          return entriesIn(await executor.execute(run))
        })
        if (guessed) return
        if (expected === 'refused' || expected === 'throws') throw new Bug(`The plan should have been one that ${expected}.`)
        const difference = firstDifference(expected, actual)
        if (difference !== undefined) throw new Bug(difference)
      } catch (error) {
        if (guessed && (error instanceof TaskError || error instanceof PlanError)) return
        if (expected === 'refused' && error instanceof PlanError) return
        if (expected === 'throws' && error instanceof TaskError) return
        // what is known by then is refused as at a call, without a look at the rows
        if (run === undefined && error instanceof PlanError && refusedAtCall(plan, error)) return
        throw new Error(`${(error as Error).message}\n${planText(plan)}\nrun as:\n${run === undefined ? 'nothing' : planText(run)}`, {
          cause: error,
        })
      } finally {
        for (const one of new Set(materializedIn(plan))) await store.release(one)
      }
      expect(arena.usedBytes).toBe(0)
    }),
    LAW,
  )
  // the law means nothing where no type is found
  expect(known).toBeGreaterThan(LAW.numRuns / 10)
})

test('what is stored by key comes in the order of its keys, also after repartition', async () => {
  const session = await Session.start({ workers: 1, progress: false })
  try {
    const rows = session.fromRows(Array.from({ length: 8 }, (_, i) => ({ i, third: i % 3 })))
    const apart = rows.index((r) => [7 - r.i]).repartition({ partitions: 2, by: (r) => r.third })
    expect(await apart.map((r) => r.i).collect()).toEqual([7, 5, 4, 2, 1, 6, 3, 0])
    expect(
      await apart
        .materialize()
        .map((r) => r.i)
        .collect(),
    ).toEqual([7, 6, 5, 4, 3, 2, 1, 0])
  } finally {
    await session.stop()
  }
})

function refusedAtCall(plan: LogicalPlan, { message }: PlanError): boolean {
  return message.includes('is taken too') || (message.includes('with union()') && hasOddUnion(plan))
}

/** Whether arrays are put after one another that are not surely of the same columns. */
function hasOddUnion(plan: LogicalPlan): boolean {
  const odd = plan.kind === 'Union' && plan.inputs.some((input) => handedOn(input) !== handedOn(plan.inputs[0] as LogicalPlan))
  return odd || inputsOf(plan).some(hasOddUnion)
}

/** The node whose elements a node hands on. */
function handedOn(plan: LogicalPlan): LogicalPlan {
  const [input] = inputsOf(plan)
  return input !== undefined && plan.element === input.element && plan.kind !== 'Join' ? handedOn(input) : plan
}
