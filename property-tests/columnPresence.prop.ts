/**
 * Law: a function that asks a date which may be null for its time gives in kernels what it gives in JavaScript, and throws where it throws
 * there: only tests that say that the date is there let a kernel take its time.
 */
import { runInThisContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { mapPlan } from '../src/core/plan/transformations.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf, entriesIn } from './entries.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const LAW = announcedRun('columnPresence.prop.ts')
const arena = lawArena(2 ** 26)
const pool = createPool({
  workers: 1,
  arena,
  handlers: { url: new URL('../src/session/taskHandlers.ts', import.meta.url).href, table: HANDLERS },
})
afterAll(() => pool.stop())

const asked = fc.constantFrom('r.a', 'r.b', 'v')
const time = fc
  .tuple(asked, fc.constantFrom('getTime()', 'getUTCHours()'), asked)
  .chain(([x, method, y]) => fc.constantFrom(`${x}.${method}`, `${x}.${method} - ${y}.${method}`, '0', '1'))
const simple = fc
  .tuple(asked, fc.constantFrom('=== null', '!== null', '== null', '!= null'))
  .chain(([x, is]) => fc.constantFrom(`${x} ${is}`, `${x} ${is}`, `null ${is.slice(0, -5)} ${x}`, `!${x}`, `!!${x}`, 'r.n > 2'))
const guard = fc.oneof(
  { weight: 3, arbitrary: simple },
  fc
    .tuple(simple, fc.constantFrom('&&', '||'), simple, fc.boolean())
    .map(([a, o, b, not]) => (not ? `!(${a} ${o} ${b})` : `(${a} ${o} ${b})`)),
)
const body = fc
  .tuple(guard, time, time, guard)
  .chain(([g, x, y, h]) =>
    fc.constantFrom(
      `return ${g} ? ${x} : ${y}`,
      `if (${g}) return ${x}; return ${y}`,
      `return ${g} ? (${h} ? ${x} : ${y}) : 7`,
      `if (${g}) return 7; if (${h}) return ${x}; return ${y}`,
      `return ${g} && ${x} > 5`,
      `return ${g} || ${x} > 5`,
    ),
  )
const dates = fc.array(fc.option(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }), { freq: 3, nil: null }), { minLength: 8, maxLength: 8 })

test('dates that tests say are there, and others', async () => {
  const seen = { compiled: 0, threw: 0 }
  const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
  await fc.assert(
    fc.asyncProperty(body, dates, dates, fc.constantFrom('r.a', 'r.b'), async (text, a, b, v) => {
      const f = runInThisContext(`(r) => { const v = ${v}; ${text} }`) as (row: object) => unknown
      const rows = a.map((ms, n) => {
        const other = b[n] ?? null
        return { a: ms === null ? null : new Date(ms), b: other === null ? null : new Date(other), n }
      })
      const columns = { a: rows.map((row) => row.a), b: rows.map((row) => row.b), n: rows.map(({ n }) => n) }
      const source = sourceFromColumns(columns, { memory: tableMemory(arena, { fewestRows: 0, coded: false }) })
      const scan: LogicalPlan = { kind: 'Scan', source, columns: ['a', 'b', 'n'], element: source.element, keys: { kind: 'rowNumber' } }
      const plan = mapPlan(engineOf('lowered'), scan, f as never)
      let expected: unknown[] | undefined
      try {
        expected = rows.map((row) => f(row) ?? null)
      } catch {
        seen.threw++
      }
      const found = async (): Promise<readonly unknown[]> => {
        const table = await executor.table(plan)
        if (table === undefined) return entriesIn(await executor.execute(plan)).map(({ value }) => value)
        seen.compiled++
        const values = entriesIn([table]).map(({ value }) => value)
        for (const column of table.columns) freeColumn(column, arena)
        return values
      }
      if (expected === undefined) await expect(found(), text).rejects.toThrow('null')
      else expect(await found(), text).toEqual(expected)
    }),
    LAW,
  )
  console.log(`dates behind tests: ${JSON.stringify(seen)}`)
  expect(seen.compiled).toBeGreaterThan(LAW.numRuns * 0.1)
  expect(seen.threw).toBeGreaterThan(LAW.numRuns * 0.1)
})
