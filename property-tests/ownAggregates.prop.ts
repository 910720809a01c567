/**
 * Law: an aggregate of the program's own gives what its functions give, called by the dullest loop over the rows of each group:
 * values in row order, chunks of 4,096 where there is a merge, merged pairwise; in memory, shared by workers, and by way of disk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { aggregate } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf } from '../src/core/plan/groupPlan.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf, entriesIn } from './entries.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('ownAggregates.prop.ts')
const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
const folder = mkdtempSync(join(tmpdir(), 'own-aggregates-law-'))
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
  rmSync(folder, { recursive: true })
})
let files = 0
const file = (): string => join(folder, String(++files))

interface Row {
  readonly g: number
  readonly x: number
}
/** A text of what was called in which order, as short as the order of long groups lets it be. */
const step = (state: string, x: number): string =>
  state.length < 40 ? `${state}${x % 10}` : `${state.slice(1)}${(x + state.charCodeAt(0)) % 10}`
const merge = (a: string, b: string): string => `(${a.slice(0, 30)}+${b.slice(-30)})`
const finish = (state: string): string => `${state}!`
const folding = { init: () => '<', step, finish }

/** Chunks of 4,096 values, merged pairwise, level by level. */
function chunked(values: readonly number[], fold: (values: readonly number[]) => string): string {
  let level = Array.from({ length: Math.ceil(values.length / 4096) }, (_, i) => fold(values.slice(4096 * i, 4096 * (i + 1))))
  while (level.length > 1)
    level = Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => {
      const [a = '', b] = level.slice(2 * i, 2 * i + 2)
      return b === undefined ? a : merge(a, b)
    })
  return level[0] ?? ''
}

const where = fc.record({
  where: fc.constantFrom('inline' as const, 'threads' as const),
  functions: fc.constantFrom('lowered' as const, 'portable' as const, 'closure' as const),
  smallRows: fc.constantFrom(0, 10_000),
  partitionRows: fc.constantFrom(100, 5_000, 65_536),
  spills: fc.boolean(),
})
const lengths = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 4_090, max: 4_100 }), fc.integer({ min: 8_000, max: 13_000 }))

test('groups of any size, in whichever way', async () => {
  await fc.assert(
    fc.asyncProperty(lengths, fc.integer({ min: 1, max: 4 }), where, fc.boolean(), async (length, groups, how, isWhole) => {
      const g = Int32Array.from({ length }, (_, i) => ((i * i) % 7) % groups)
      const x = Float64Array.from({ length }, (_, i) => (i * 31) % 97)
      const source = sourceFromColumns({ g, x })
      const scan: LogicalPlan = { kind: 'Scan', source, columns: ['g', 'x'], element: source.element, keys: { kind: 'rowNumber' } }
      const grouping = groupingOf(engineOf(how.functions), scan, isWhole ? () => 0 : (r: Row) => r.g)
      const aggregates = { chunked: aggregate((r: Row) => r.x, { ...folding, merge }), plain: aggregate((r: Row) => r.x, folding) }
      const plan = aggPlan(grouping, aggregates as never)
      const byGroup = new Map<number, number[]>()
      for (const [i, value] of x.entries()) {
        const key = isWhole ? 0 : (g[i] as number)
        const values = byGroup.get(key)
        if (values === undefined) byGroup.set(key, [value])
        else values.push(value)
      }
      const fold = (values: readonly number[]): string => values.reduce(step, '<')
      const expected = [...byGroup].map(([key, values]) => ({ key, chunked: finish(chunked(values, fold)), plain: finish(fold(values)) }))
      const executor = new Executor({
        ...{ pool: pools[how.where], arena, readSplit, lower, partitionRows: how.partitionRows, smallRows: how.smallRows },
        ...(how.spills ? { spill: { file, always: { partBytes: 2_000, parts: 3 } } } : {}),
      })
      expect(entriesIn(await executor.execute(optimize(plan).plan)).map(({ value }) => value)).toEqual(expected)
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 2) },
  )
})

test('a function that throws is told with its row, in memory and by way of disk', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3_000 }), fc.nat(), where, async (length, at, how) => {
      const bad = at % length
      const g = Int32Array.from({ length }, (_, i) => i % 5)
      const source = sourceFromColumns({ g, x: Float64Array.from({ length }, (_, i) => i) })
      const scan: LogicalPlan = { kind: 'Scan', source, columns: ['g', 'x'], element: source.element, keys: { kind: 'rowNumber' } }
      const refuses = (n: number, x: number): number => {
        if (x === bad) throw new Error('not this one')
        return n + x
      }
      const failing = aggregate((r: Row) => r.x, { init: () => 0, step: refuses })
      const plan = aggPlan(
        groupingOf(engineOf(how.functions), scan, (r: Row) => r.g),
        { failing } as never,
      )
      const executor = new Executor({
        ...{ pool: pools[how.where], arena, readSplit, lower, partitionRows: how.partitionRows, smallRows: how.smallRows },
        ...(how.spills ? { spill: { file, always: { partBytes: 100, parts: 3 } } } : {}),
      })
      const spilled = how.spills && how.functions === 'lowered' // others stay on this thread
      const place = spilled ? `row ${bad} of partition 0` : `row ${bad}`
      await expect(executor.execute(plan)).rejects.toThrow(`aggregate.step: the function threw at ${place}: not this one`)
    }),
    LAW,
  )
})
