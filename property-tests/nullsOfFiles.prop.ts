/**
 * Files count their nulls: a column that may hold some and holds none is to kernels what one without nulls is. What a split says
 * of its columns is so, and where a file says it wrongly the rows are those of JavaScript all the same.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { type ColumnType, fieldsOf } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import { count } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf } from '../src/core/plan/groupPlan.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { scanToLoad, withoutPartialGroups } from '../src/exec/tables/loadedScan.ts'
import { rowBatch } from '../src/exec/tables/operators/batches.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { inputsOf } from '../src/planner/physical/physicalPlan.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf, entriesIn } from './entries.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked } from './lowerMarked.ts'

const RUN = announcedRun('nullsOfFiles.prop.ts')
const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
const executor = new Executor({ pool, arena, readSplit, lower: lowerMarked, smallRows: 0 })
const folder = mkdtempSync(join(tmpdir(), 'distarray-nulls-'))
beforeAll(loadArrow)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await pool.stop()
})

interface Row {
  readonly at: Date | null
  readonly n: number | null
  readonly s: string | null
}

const TYPES: Readonly<Record<keyof Row, ColumnType>> = {
  at: { kind: 'timestamp', unit: 'us' },
  n: { kind: 'f64' },
  s: { kind: 'utf8' },
}
const NAMES = Object.keys(TYPES) as (keyof Row)[]
const ELEMENT = { kind: 'row', fields: NAMES.map((name) => ({ name, type: TYPES[name], nullable: true })) } as const

/** Each column of each file has nulls, or none. */
const rowsOf = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()).chain(([noAt, noN, noS]) => {
  const orNull = <T>(value: fc.Arbitrary<T>, none: boolean): fc.Arbitrary<T | null> => (none ? value : fc.option(value, { freq: 6 }))
  return fc.array(
    fc.record<Row>({
      at: orNull(
        fc.integer({ min: 0, max: 40 }).map((weeks) => new Date(weeks * 7 * 86_400_000)),
        noAt,
      ),
      n: orNull(fc.integer({ min: -3, max: 3 }), noN),
      s: orNull(fc.constantFrom('', 'a', 'bc'), noS),
    }),
    { minLength: 1, maxLength: 12 },
  )
})
const drawn = fc.record({
  files: fc.array(rowsOf, { minLength: 1, maxLength: 2 }),
  format: fc.constantFrom('parquet', 'arrow'),
  rowGroupRows: fc.integer({ min: 1, max: 6 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

async function opened({ files, format, rowGroupRows }: Drawn): Promise<ArraySource> {
  const paths = files.map((_, i) => join(folder, `${i}.${format}`))
  for (const [i, rows] of files.entries()) {
    const columns = NAMES.map((name) =>
      columnFromValues(
        rows.map((row) => row[name]),
        TYPES[name],
      ),
    )
    const batches = (async function* () {
      yield { ...rowBatch(NAMES, columns, rows.length), element: ELEMENT }
    })()
    const request = { batches, element: ELEMENT, path: paths[i] as string } // one for each file
    await (format === 'parquet' ? writeParquet({ ...request, options: { rowGroupRows } }) : writeArrow(request))
  }
  return await (format === 'parquet' ? openParquet(paths) : openArrow(paths))
}

test('columns that are said to have no nulls have none, and those that have none are said to', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async (table) => {
      const { splits } = await opened(table)
      const rows = table.files.flat()
      let from = 0
      for (const { rows: length = 0, mayBeNull } of splits) {
        const own = rows.slice(from, (from += length))
        expect([...(mayBeNull ?? NAMES)].sort()).toEqual(NAMES.filter((name) => own.some((row) => row[name] === null)))
      }
      expect(from).toBe(rows.length)
    }),
    RUN,
  )
})

const KEYS: Readonly<Record<keyof Row, (r: Row) => number>> = {
  at: (r) => (r.at as Date).getUTCMonth(),
  n: (r) => (r.n as number) * 2,
  s: (r) => ((r.s as string).startsWith('b') ? 1 : 0),
}

test('groups by what fails of null are those of JavaScript, whatever files say of their nulls', async () => {
  let wholly = 0
  await fc.assert(
    fc.asyncProperty(drawn, fc.constantFrom(...NAMES), fc.constantFrom('as it is', 'all', 'none'), async (table, name, says) => {
      const known = await opened(table)
      const splits = known.splits.map(({ mayBeNull: own, ...split }) => {
        const mayBeNull = says === 'as it is' ? own : new Set(says === 'none' ? [] : NAMES)
        return mayBeNull === undefined ? split : { ...split, mayBeNull }
      })
      const source = { ...known, splits }
      const key = KEYS[name]
      const scan: LogicalPlan = {
        kind: 'Scan',
        source,
        columns: [name],
        element: { kind: 'row', fields: fieldsOf(known.element).filter((field) => field.name === name) },
        keys: { kind: 'rowNumber' },
      }
      const plan = aggPlan(groupingOf(engineOf('lowered'), scan, key), { n: count() } as never)
      const rows = table.files.flat()
      const failing = name === 'n' ? -1 : rows.findIndex((row) => row[name] === null)
      const run = executor.execute(plan)
      if (failing >= 0) {
        await expect(run).rejects.toThrow(TaskError)
        await expect(run).rejects.toThrow(`groupBy: the function threw at row ${failing}: `)
      } else {
        const counts = new Map<number, number>()
        for (const row of rows) counts.set(key(row) + 0, (counts.get(key(row) + 0) ?? 0) + 1)
        const expected = [...counts].map(([key, n]) => ({ key, n }))
        expect(entriesIn(await run).map(({ value }) => ({ ...(value as object) }))).toEqual(expected)
      }
      expect(arena.usedBytes).toBe(0)
      const [pipeline] = inputsOf(lowerMarked(plan)).map(withoutPartialGroups)
      const isRead = pipeline !== undefined && scanToLoad(pipeline, { arena, smallRows: 0 }) !== undefined
      const noNulls = says === 'none' || (says === 'as it is' && rows.every((row) => row[name] !== null))
      if (isRead && name === 'at') wholly++
      expect(isRead).toBe(name !== 'at' || noNulls) // a text is asked once for each text, of which none may fail
    }),
    RUN,
  )
  if (RUN.numRuns >= 500) expect(wholly).toBeGreaterThan(RUN.numRuns / 10)
})
