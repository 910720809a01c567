/**
 * Law 1: a plan, optimized or not, its functions lowered or as they stand, cut and placed in any way, gives what the
 * dullest interpreter gives; exactly, with keys.
 *
 * Law 9 for tables: sums have the bits of the fixed tree whatever the partitions.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import { type Field, fieldsOf } from '../src/core/data/schema.ts'
import { Bug, PlanError } from '../src/core/errors.ts'
import { mean, sum, variance } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf, groupReducePlan } from '../src/core/plan/groupPlan.ts'
import { type ArraySource, inputsOf, type LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { mapPlan } from '../src/core/plan/transformations.ts'
import { planText } from '../src/core/plan/tree.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { openNdjson } from '../src/io/json/ndjson.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import type { Table } from './arbitraries/batch.ts'
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
const folder = mkdtempSync(join(tmpdir(), 'distarray-law1-'))
beforeAll(loadArrow)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
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

const WORKERS = [1, 2, 3, 8] as const
const FORMATS = ['memory', 'parquet', 'arrow', 'csv', 'ndjson'] as const

/** Any number of rows a partition up to 65,536, each size about as often as twice of it. */
const anywhere = fc.record({
  partitionRows: fc.tuple(fc.nat(16), fc.nat(32_767)).map(([bits, less]) => 2 ** bits - (less % Math.max(1, 2 ** (bits - 1)))),
  smallRows: fc.constantFrom(0, 0, 0, 20_000),
  /** On the caller's thread, mostly: what threads do besides is to wait for one another. */
  workers: fc.oneof({ weight: 4, arbitrary: fc.constant(1 as const) }, { weight: 3, arbitrary: fc.constantFrom(...WORKERS) }),
})
const stored = fc.record({ format: fc.constantFrom(...FORMATS), groupRows: fc.integer({ min: 1, max: 20 }) })

type Stored = typeof stored extends fc.Arbitrary<infer T> ? T : never

/** What files of text say in full, where they are told the types; lines of JSON have not all numbers. */
const IN_TEXT = { csv: ['n', 'k', 's', 'b', 't', 'u'], ndjson: ['k', 's', 't', 'u'] } as const

/** The table in a file, without columns that such a file cannot hold; or where it is, if none are left. */
async function inFile(table: Table, number: number, { format, groupRows }: Stored): Promise<Table> {
  const [split] = table.source.splits
  const inText: readonly string[] | undefined = format === 'csv' || format === 'ndjson' ? IN_TEXT[format] : undefined
  const isHeld = ({ name, type }: Field): boolean => inText === undefined || (inText.includes(name) && type.kind !== 'null')
  const fields = fieldsOf(table.source.element).filter(isHeld)
  const columns = table.columns.filter((name) => fields.some((field) => field.name === name))
  const isWhole = fields.some(({ type }) => type.kind === 'f64' && type.integers !== undefined)
  // of 64-bit integers a file makes numbers, or bigints, but not both
  const isMixed = isWhole && columns.includes('b') && (format === 'parquet' || format === 'arrow')
  if (format === 'memory' || split === undefined || columns.length === 0 || isMixed) return table
  const rows = table.rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])))
  const path = join(folder, `table${number}.${format}`)
  const element = { kind: 'row', fields } as const
  const batches = await readSplit(table.source, split, [...columns], undefined)
  const int64 = columns.includes('b') ? 'bigint' : 'number'
  const types = Object.fromEntries(fields.map(({ name, type }) => [name, type.kind])) as Record<string, 'f64'> // of text files
  const written = { batches, element, path }
  const opened = async (): Promise<ArraySource> => {
    switch (format) {
      case 'parquet':
        await writeParquet({ ...written, options: { rowGroupRows: groupRows } })
        return await openParquet(path, { int64 })
      case 'arrow':
        await writeArrow({ ...written, batches: batches.flatMap((batch) => piecesOf(batch, groupRows)) })
        return await openArrow(path, { int64 })
      case 'csv':
        await writeCsv(written)
        return await openCsv(path, { types })
      case 'ndjson':
        writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
        return await openNdjson(path, { types })
    }
  }
  return { columns, rows, source: await opened() }
}

function piecesOf(batch: Batch, rows: number): readonly Batch[] {
  return Array.from({ length: Math.max(1, Math.ceil(batch.length / rows)) }, (_, i) => {
    const [from, to] = [i * rows, Math.min(batch.length, (i + 1) * rows)]
    return { ...batch, length: to - from, columns: batch.columns.map((column) => sliceColumn(column, from, to)) }
  })
}

describe('law 1: a plan gives what the reference gives, whatever its tables are read from', () => {
  const ran = new Map<string, number>()
  const pools = new Map(WORKERS.map((workers) => [workers, createPool({ workers, arena, handlers })]))
  afterAll(async () => {
    for (const pool of pools.values()) await pool.stop()
  })
  test('files of each format and tables in memory, partitions of any size, by one to eight workers', async () => {
    await fc.assert(
      fc.asyncProperty(program, anywhere, stored, async (drawn, { workers, ...place }, where) => {
        const [main, side] = drawn.tables as readonly [Table, Table] // a program has two
        const read = [await inFile(main, 0, where), await inFile(side, 1, where)] as const
        const tables: Tables = new Map(read.map(({ source, rows }) => [source, rows]))
        const plan = planOfProgram(engineOf('lowered'), { ...drawn, tables: read })
        const expected = expectedOfWhole(plan, tables)
        const toRun = optimize(plan).plan
        const executor = new Executor({ pool: pools.get(workers) as ReturnType<typeof createPool>, arena, readSplit, lower, ...place })
        try {
          const actual = await entriesOf(executor, toRun)
          if (expected === 'refused' && asksForNothing(plan)) return
          if (expected === 'refused') throw new Bug('The plan should have been refused.')
          const difference = firstDifference(expected, actual)
          if (difference !== undefined) throw new Bug(difference)
        } catch (error) {
          if (expected === 'refused' && error instanceof PlanError) return
          throw new Error(`${(error as Error).message}\n${planText(plan)}\noptimized:\n${planText(toRun)}`, { cause: error })
        }
        for (const one of [`${workers} workers`, ...read.map(({ source }) => source.kind)]) ran.set(one, (ran.get(one) ?? 0) + 1)
        expect(arena.usedBytes).toBe(0)
      }),
      { numRuns: RUNS },
    )
    console.log(`law 1, sources: ${JSON.stringify(Object.fromEntries(ran))}`)
    if (RUNS < 500) return
    for (const one of [...WORKERS.map((workers) => `${workers} workers`), 'memory', 'parquet', 'arrow', 'csv', 'ndjson'])
      expect(ran.get(one) ?? 0, one).toBeGreaterThan(RUNS / 50)
  })
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
