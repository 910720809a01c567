/**
 * Parts of texts between separators, in every form that programs write, are those of JavaScript: over tables in memory, by rows and by
 * columns, with texts that have few parts or none, nulls, and functions that fail of a part that is not there.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { TaskError } from '../src/core/errors.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareBatch } from '../src/exec/memory/shareColumns.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { optimize } from '../src/planner/optimize.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { entriesIn } from './entries.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const LAW = announcedRun('splitTexts.prop.ts')
const arena = lawArena(2 ** 26)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
const executors = [new Executor({ pool, arena, readSplit, lower, smallRows: 0 }), new Executor({ pool, arena, readSplit, lower })]
afterAll(() => pool.stop())

interface Row {
  readonly url: string
  readonly note: string | null
  readonly k: number
}
const ELEMENT = {
  kind: 'row' as const,
  fields: [
    { name: 'url', type: { kind: 'utf8' as const }, nullable: false },
    { name: 'note', type: { kind: 'utf8' as const }, nullable: true },
    { name: 'k', type: { kind: 'f64' as const }, nullable: false },
  ],
}
const text = fc.array(fc.constantFrom('a', 'bc', '/', '/', '?', '::', ':', 'é', ''), { maxLength: 8 }).map((all) => all.join(''))
const rows = fc.array(fc.record({ url: text, note: fc.option(text, { freq: 4 }), k: fc.integer({ min: 0, max: 3 }) }), {
  minLength: 1,
  maxLength: 20,
})

const MAPS: readonly ((r: Row) => unknown)[] = [
  (r) => r.url.split('/')[0],
  (r) => r.url.split('/')[1],
  (r) => r.url.split('::')[2],
  (r) => r.url.split('/').at(-1),
  (r) => r.url.split('/').at(-2),
  (r) => r.url.split('/').at(1),
  (r) => r.url.split('?').pop(),
  (r) => r.url.split('?').shift(),
  (r) => r.url.split('/').length,
  (r) => (r.url.split('/').length > 2 ? r.url.split('/')[2] : r.url),
  (r) => r.url.split('/')[1]?.split('?')[0] ?? 'none',
  (r) => (r.url.split('/')[1] === undefined ? 'one' : 'more'),
  (r) => (r.url.split('?')[0] as string).toUpperCase(),
  (r) => `${r.url.split('/')[0]} ${r.k}`,
  (r) => r.note?.split('/')[1],
  (r) => r.note?.split('/').length,
  (r) => (r.note ?? '').split(':')[1],
  (r) => (r.note === null ? -1 : r.note.split('/').length),
  (r) => ({ head: r.url.split('/')[0], last: r.url.split('/').at(-1), n: r.url.split('/').length + r.k }),
  // these fail where a part, or the text, is not there
  (r) => (r.url.split('/')[1] as string).length,
  (r) => (r.note as string).split('/')[0],
  (r) => (r.note as string).split('/').length,
  // these make lists, and run as they did
  (r) => r.url.split('').length,
  (r) => r.url.split('/', 1)[1],
  (r) => r.url.split(/[/?]/)[1],
  (r) => {
    const [a, b] = r.url.split('/')
    return `${a}-${b}`
  },
]
const FILTERS: readonly ((r: Row) => unknown)[] = [
  (r) => r.url.split('/')[1] === 'a',
  (r) => r.url.split('/').length > 2 && r.k > 0,
  (r) => r.url.split('?')[1],
]

test('parts of texts are those of JavaScript', async () => {
  const seen = { compiled: 0, failed: 0 }
  const empty = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom(...MAPS),
      fc.option(fc.constantFrom(...FILTERS)),
      fc.boolean(),
      async (given, f, filter, isSmall) => {
        const columns = ELEMENT.fields.map(({ name, type }) =>
          columnFromValues(
            given.map((row) => row[name as keyof Row]),
            type,
          ),
        )
        const table = shareBatch({ element: ELEMENT, length: given.length, columns }, arena, 'the law')
        const keys = { kind: 'rowNumber' } as const
        const inputs = [ELEMENT]
        let plan: LogicalPlan = { kind: 'Stored', name: 'rows', storage: { kind: 'table', ...table }, element: ELEMENT, keys }
        if (filter !== null) {
          const { fn } = lowerFunction(filter, { kind: 'row', method: 'filter', inputs })
          plan = { kind: 'Filter', input: plan, f: fn, element: ELEMENT, keys }
        }
        const { fn } = lowerFunction(f, { kind: 'row', method: 'map', inputs })
        if (fn.ir !== undefined) seen.compiled++
        plan = { kind: 'Map', input: plan, f: fn, element: returnedElement(fn, { kind: 'row', method: 'map', inputs }), keys }
        const run = (executors[isSmall ? 1 : 0] as Executor).execute(optimize(plan).plan)
        let expected: readonly unknown[] | undefined
        try {
          expected = given.filter((row) => filter === null || filter(row)).map((row) => f(row) ?? null)
        } catch {}
        if (expected === undefined) {
          seen.failed++
          await expect(run).rejects.toThrow(TaskError)
        } else {
          const actual = entriesIn(await run).map(({ value }) => (typeof value === 'object' && value !== null ? { ...value } : value))
          expect(actual).toEqual(expected)
        }
        for (const column of table.columns) freeColumn(column, arena)
        expect(arena.usedBytes).toBe(empty)
      },
    ),
    LAW,
  )
  console.log(`parts of texts: ${JSON.stringify(seen)}`)
  if (LAW.numRuns < 500) return
  expect(seen.compiled).toBeGreaterThan(LAW.numRuns / 2)
  expect(seen.failed).toBeGreaterThan(LAW.numRuns / 100)
})
