/**
 * Law: `index` over columns, whose keys kernels compute, sort and gather, gives the elements in the order of their keys, of equal keys the
 * first, the last, or what the function makes of them in row order; with the optimizer, which reads the columns that are needed; and of
 * what is no key, or may not be repeated, the error names the rows that come first.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Storage } from '../src/core/arrays/storage.ts'
import type { Batch } from '../src/core/data/column.ts'
import { Bug } from '../src/core/errors.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { filterPlan, indexPlan, mapPlan } from '../src/core/plan/transformations.ts'
import { freeStorage } from '../src/exec/arrays/storageBlocks.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { storedBatches } from '../src/exec/tables/storedBatches.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf, entriesIn, firstDifference } from './entries.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { tableOf } from './piecemeal.ts'
import type { Entry } from './reference.ts'

const LAW = announcedRun('indexed.prop.ts')
const arena = lawArena(2 ** 28)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = [1, 2].map((workers) => createPool({ workers, arena, handlers }))
const folder = mkdtempSync(join(tmpdir(), 'indexed-law-'))
afterAll(async () => {
  for (const pool of pools) await pool.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly a: number
  readonly b: number | null
  readonly c: number
  readonly u: number
  readonly big: bigint
  readonly name: string | null
  readonly day: Date
}

/** Columns `a` and `big` are whole; few of `b` and `c` are null, a fraction, negative or too large. */
const drawnRows = fc
  .record({ most: fc.constantFrom(2, 30, 5_000), odd: fc.constantFrom(0, 0, 0, 1, 20), length: fc.nat(400), seed: fc.nat(2 ** 30) })
  .map(({ most, odd, length, seed }): readonly Row[] => {
    let bits = seed + 1
    const below = (limit: number): number => {
      bits ^= bits << 13
      bits ^= bits >>> 17
      bits ^= bits << 5
      return (bits >>> 0) % limit
    }
    const isOdd = (): boolean => below(1000) < odd
    return Array.from({ length }, (_, u) => ({
      a: below(most),
      b: isOdd() ? null : below(most),
      c: isOdd() ? [0.5, -1, 2 ** 31, Number.NaN][below(4)]! : below(most),
      u,
      big: isOdd() ? [-1n, 2n ** 32n + 5n, -(2n ** 32n)][below(3)]! : BigInt(below(most)),
      name: below(4) === 0 ? null : ['', 'żółw', 'and a longer one'][below(3)]!,
      day: new Date(Date.UTC(2026, 0, 1 + below(40))),
    }))
  })

const FILTERS = {
  none: undefined,
  some: (r: Row) => r.u % 3 !== 1,
  named: (r: Row) => r.name !== null && r.b !== null,
} as const
const KEYS: Readonly<Record<string, (r: Row, key: readonly [number]) => readonly (number | bigint | null)[]>> = {
  a: (r) => [r.a],
  'row, a': (r, [row]) => [row >> 1, r.a],
  'u, a': (r) => [r.u, r.a],
  'b, a': (r) => [r.b, r.a],
  'c, b': (r) => [r.c, r.b],
  'half, a, u': (r) => [Math.floor(r.a / 2), r.a, r.u],
  'half of a': (r) => [r.a / 2],
  big: (r) => [r.big, r.a],
}
const COMBINES: Readonly<Record<string, ((x: Row, y: Row) => Row) | undefined>> = {
  none: undefined,
  first: (x) => x,
  last: (_, y) => y,
  some: (x, y) => (x.u % 3 > y.u % 3 ? x : y),
  made: (x, y) => ({ ...x, u: x.u + y.u, b: y.b === null ? x.b : y.b }),
  'made of two types': (x, y) => ({ ...x, a: x.u % 50 === 7 ? x.a + 0.5 : y.a }),
}
const MAPS: Readonly<Record<string, ((r: Row) => unknown) | undefined>> = {
  all: undefined,
  'a number': (r) => r.u * 2,
  'a text and a day': (r) => ({ name: r.name, day: r.day }),
}

/** What is said of rows that cannot be indexed. */
class Refusal extends Error {}

/** The dullest index. */
function expectedOf(
  rows: readonly Row[],
  keyOf: (r: Row, key: readonly [number]) => readonly unknown[],
  combine: (typeof COMBINES)[string],
): readonly Entry[] {
  const keys = rows.map((row, at) => {
    const key = keyOf(row, [at]).map((part) => (typeof part === 'bigint' ? Number(part) : part))
    const isKey = key.every((part) => Number.isInteger(part) && (part as number) >= 0 && (part as number) < 2 ** 31 - 1)
    if (!isKey)
      throw new Refusal(`index: the key of row ${at} is [${key.map(String).join(', ')}]. Keys are integers from 0 to ${2 ** 31 - 2}.`)
    return key as readonly number[]
  })
  const found = new Map<string, { readonly key: readonly number[]; readonly row: number; value: Row }>()
  for (const [at, key] of keys.entries()) {
    const known = found.get(key.join())
    const row = rows[at] as Row
    if (known === undefined) found.set(key.join(), { key, row: at, value: row })
    else if (combine !== undefined) known.value = combine(known.value, row)
    else
      throw new Refusal(
        `index: rows ${known.row} and ${at} both have the key [${key.join(', ')}]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
      )
  }
  return [...found.values()].sort((x, y) => x.key.map((part, i) => part - (y.key[i] as number)).find((d) => d !== 0) ?? 0)
}

let files = 0
async function sourceOf(rows: readonly Row[], isFile: boolean): Promise<ArraySource> {
  const columns = {
    a: Int32Array.from(rows, ({ a }) => a),
    b: rows.map(({ b }) => b),
    c: Float64Array.from(rows, ({ c }) => c),
    u: Uint16Array.from(rows, ({ u }) => u),
    big: BigInt64Array.from(rows, ({ big }) => big),
    name: rows.map(({ name }) => name),
    day: rows.map(({ day }) => day),
  }
  if (!isFile) return sourceFromColumns(columns, { memory: tableMemory(arena, { fewestRows: 0 }) })
  const path = join(folder, `${++files}.parquet`)
  const source = sourceFromColumns(columns)
  const executor = new Executor({ pool: pools[0]!, arena, readSplit, lower })
  const batches = await executor.execute(tableOf(source))
  await writeParquet({ batches, element: source.element, path, options: { rowGroupRows: 90 } })
  return await openParquet(path)
}

test('elements in the order of their keys, and what is said of those that have none', async () => {
  const counts = { elements: 0, refused: 0, kernels: 0, combined: 0 }
  await fc.assert(
    fc.asyncProperty(
      drawnRows,
      fc.constantFrom(...Object.keys(FILTERS)) as fc.Arbitrary<keyof typeof FILTERS>,
      fc.constantFrom(...Object.keys(KEYS)),
      fc.constantFrom(...Object.keys(COMBINES)),
      fc.constantFrom(...Object.keys(MAPS)),
      fc.record({
        ...{ workers: fc.constantFrom(0, 0, 0, 1), isFile: fc.constantFrom(false, false, true) },
        ...{ isOptimized: fc.boolean(), isStored: fc.boolean() },
      }),
      async (drawn, filter, key, combine, map, { workers, isFile, isOptimized, isStored }) => {
        const [keep, keyOf, both, made] = [FILTERS[filter], KEYS[key]!, COMBINES[combine], MAPS[map]]
        const inFile = isFile && drawn.length > 0
        const source = await sourceOf(drawn, inFile)
        // files have 64-bit integers as numbers, unless asked otherwise
        const rows = inFile ? drawn.map((row) => ({ ...row, big: Number(row.big) as never })) : drawn
        const engine = engineOf('lowered')
        const scan: LogicalPlan = tableOf(source)
        const kept = keep === undefined ? scan : filterPlan(engine, scan, keep as never)
        const indexed = indexPlan(engine, kept, keyOf as never, both === undefined ? {} : { combine: both as never })
        const plan = made === undefined ? indexed : mapPlan(engine, indexed, made as never)
        const pool = pools[workers]!
        const stages: string[] = []
        const executor = new Executor({
          ...{ pool, arena, readSplit, lower, smallRows: 0, partitionRows: 50 },
          onEvent: (event) => {
            if (event.kind === 'stage' && event.phase === 'started') stages.push(event.stage)
          },
        })
        let expected: readonly Entry[] | string
        try {
          const all = expectedOf(keep === undefined ? rows : rows.filter(keep), keyOf, both)
          expected = made === undefined ? all : all.map(({ key, value }) => ({ key, value: made(value as Row) }))
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          expected = error.message
        }
        let batches: readonly Batch[] = []
        const storages: Storage[] = []
        let message: string | undefined
        try {
          const run = isOptimized ? optimize(plan).plan : plan
          const form = { name: 'the array', keys: run.keys, element: run.element }
          if (!isStored) batches = await executor.execute(run)
          else {
            const storage = await executor.index(run, form)
            batches = storedBatches(storage, form)
            storages.push(storage)
          }
        } catch (error) {
          message = (error as Error).message
        }
        if (stages.some((stage) => stage.includes('EvaluateExec'))) counts.kernels++
        if (typeof expected === 'string') {
          counts.refused++
          expect(message).toBe(expected)
          return
        }
        counts.elements++
        if (rows.length > expected.length && both !== undefined) counts.combined++
        expect(message).toBe(undefined)
        const difference = firstDifference(
          expected.map(({ key, value }) => ({ key, value })),
          entriesIn(batches),
        )
        for (const storage of storages) freeStorage(storage)
        if (difference !== undefined) throw new Bug(difference)
      },
    ),
    LAW,
  )
  console.log(JSON.stringify(counts))
  expect(Math.min(counts.elements, counts.refused, counts.kernels, counts.combined)).toBeGreaterThan(LAW.numRuns / 10)
})
