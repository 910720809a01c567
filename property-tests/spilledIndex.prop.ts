/**
 * Law: `index` by way of disk gives the elements in the order of their keys, equal ones folded in row order; of keys that may not
 * be equal, the error names the two rows that it names in memory, whatever the partitions and the parts are; and so does that of
 * a function that throws.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { Bug } from '../src/core/errors.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { filterPlan, indexPlan } from '../src/core/plan/transformations.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { placement } from './arbitraries/partitioning.ts'
import { engineOf, entriesIn, firstDifference } from './entries.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked } from './lowerMarked.ts'
import type { Entry } from './reference.ts'

const LAW = announcedRun('spilledIndex.prop.ts')

const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = { inline: createPool({ workers: 1, arena, handlers }), threads: createPool({ workers: 2, arena, handlers }) }
const folder = mkdtempSync(join(tmpdir(), 'spilled-index-law-'))
afterAll(async () => {
  await pools.inline.stop()
  await pools.threads.stop()
  rmSync(folder, { recursive: true })
})

let files = 0
const file = (): string => join(folder, String(++files))

interface Row {
  readonly a: number
  readonly b: number
  readonly u: number
  readonly name: string | null
}

const LARGEST_KEY = 2 ** 31 - 2

/** Of few keys all rows have one that others have, of more a few have; and of many none. */
const rows = fc
  .constantFrom(3, 60, 2 ** 31 - 1)
  .chain((most) => {
    const axis = fc.oneof({ weight: 4, arbitrary: fc.nat(most) }, fc.constant(3))
    return fc.array(fc.record({ a: axis, b: axis, name: fc.option(fc.string({ maxLength: 3 })) }), { maxLength: 60, size: 'max' })
  })
  .map((all) => all.map(({ a, b, name }, u): Row => ({ a: Math.min(a, LARGEST_KEY), b: Math.min(b, LARGEST_KEY), u, name })))
const spilling = fc.record({ partBytes: fc.constantFrom(1, 500, 5_000, 10 ** 9), parts: fc.integer({ min: 1, max: 5 }) })

/** Two rows become the one that has the larger `u`; numbers that a program may not want are an error. */
const COMBINES = {
  none: undefined,
  later: (x: Row, y: Row) => (x.u > y.u ? x : y),
  throws: (x: Row, y: Row) => {
    if ((x.u + y.u) % 5 === 4) throw new Error('not these two')
    return { ...x, u: y.u, name: x.name }
  },
} as const

/** What a program says that cannot be indexed: its message. */
class Refusal extends Error {}

function expectedOf(all: readonly Row[], axes: 1 | 2, combine: keyof typeof COMBINES): readonly Entry[] {
  const keyOf = ({ a, b }: Row): readonly number[] => (axes === 1 ? [a] : [b, a])
  const seen = new Map<string, number>()
  if (combine === 'none')
    for (const [second, row] of all.entries()) {
      const key = keyOf(row).join(', ')
      const first = seen.get(key)
      if (first !== undefined)
        throw new Refusal(
          `index: rows ${first} and ${second} both have the key [${key}]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
        )
      seen.set(key, second)
    }
  const fold = COMBINES[combine]
  const entries: { readonly key: readonly number[]; value: Row }[] = []
  const inOrder = all.map((row, place) => ({ key: keyOf(row), row, place }))
  inOrder.sort((x, y) => (x.key[0] as number) - (y.key[0] as number) || (x.key[1] ?? 0) - (y.key[1] ?? 0) || x.place - y.place)
  for (const { key, row, place } of inOrder) {
    const last = entries.at(-1)
    if (last === undefined || last.key.join() !== key.join()) entries.push({ key, value: row })
    else
      try {
        last.value = fold?.(last.value, row) ?? row
      } catch (error) {
        throw new Refusal(`index.combine: the function threw at row ${place}: ${(error as Error).message}`)
      }
  }
  return entries
}

function planOf(all: readonly Row[], axes: 1 | 2, combine: keyof typeof COMBINES): LogicalPlan {
  const engine = engineOf('lowered')
  const source = sourceFromColumns({
    ...{ a: Int32Array.from(all, ({ a }) => a), b: Int32Array.from(all, ({ b }) => b), u: Int32Array.from(all, ({ u }) => u) },
    name: all.map(({ name }) => name),
  })
  const scan: LogicalPlan = { kind: 'Scan', source, columns: ['a', 'b', 'u', 'name'], element: source.element, keys: { kind: 'rowNumber' } }
  const kept = filterPlan(engine, scan, (r: Row) => r.u % 7 !== 3)
  const fold = COMBINES[combine]
  const options = fold === undefined ? {} : { combine: fold as never }
  return axes === 1 ? indexPlan(engine, kept, (r: Row) => [r.a], options) : indexPlan(engine, kept, (r: Row) => [r.b, r.a], options)
}

for (const streamed of [false, true])
  test(`elements, and what is wrong with them, ${streamed ? 'streamed' : 'as a whole'}`, async () => {
    const counts = { elements: 0, refused: 0, spilledBytes: 0 }
    await fc.assert(
      fc.asyncProperty(
        ...([
          rows,
          fc.constantFrom(1 as const, 2 as const),
          fc.constantFrom('none', 'none', 'later', 'throws'),
          placement,
          spilling,
        ] as const),
        async (drawn, axes, combine, { where, partitionRows, smallRows }, always) => {
          // of every second table no two rows have one key
          const all = combine === 'none' && drawn.length % 2 === 0 ? drawn.map((row) => ({ ...row, a: (row.a & ~63) + row.u })) : drawn
          const executor = new Executor({
            ...{ pool: pools[where], arena, readSplit, lower: streamed ? lowerMarked : lower, partitionRows, smallRows },
            spill: { file, always },
            onEvent: (event) => {
              if (event.kind === 'spill') counts.spilledBytes += event.bytes
            },
          })
          const plan = planOf(all, axes, combine)
          const kept = all.filter(({ u }) => u % 7 !== 3)
          let expected: readonly Entry[] | string
          try {
            expected = expectedOf(kept, axes, combine)
          } catch (error) {
            if (!(error instanceof Refusal)) throw error
            expected = error.message
          }
          const batches: Batch[] = []
          let message: string | undefined
          try {
            if (streamed) for await (const batch of executor.stream(plan)) batches.push(batch)
            else batches.push(...(await executor.execute(plan)))
          } catch (error) {
            message = (error as Error).message
          }
          if (typeof expected === 'string') {
            counts.refused++
            expect(message).toBe(expected)
          } else {
            counts.elements++
            expect(message).toBe(undefined)
            const difference = firstDifference(expected, entriesIn(batches))
            if (difference !== undefined) throw new Bug(difference)
          }
          expect(arena.usedBytes).toBe(0)
          expect(readdirSync(folder)).toEqual([])
        },
      ),
      LAW,
    )
    console.log(JSON.stringify(counts))
    expect(Math.min(counts.elements, counts.refused)).toBeGreaterThan(LAW.numRuns / 20)
    expect(counts.spilledBytes).toBeGreaterThan(0)
  })
