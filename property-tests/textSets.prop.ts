/**
 * Laws: the kernels that look bytes up in tables find what a loop over the bytes finds, for sets and maps of any size, and write
 * nothing else; and folds of rows that filters of single texts keep are those of the rows that JavaScript's filters keep.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { byteMapKernel, byteSetKernel, TABLE_BYTES } from '../src/exec/kernels/tables/byteKernels.ts'
import { SEMI_FRAME } from '../src/exec/kernels/tables/semiKernel.ts'
import { putAddress } from '../src/exec/memory/addressWords.ts'
import { freeColumn, shareColumn } from '../src/exec/memory/shareColumns.ts'
import { codeTexts } from '../src/exec/tables/columns/texts/textCodes.ts'
import { withTextSets } from '../src/exec/tables/columns/texts/textSets.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { arenaKernel } from '../src/exec/tables/operators/arenaKernels.ts'
import { rowBatch } from '../src/exec/tables/operators/batches.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { treeSum } from './reference.ts'

const LAW = announcedRun('textSets.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const arena = lawArena(2 ** 26)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pools = [1, 2].map((workers) => createPool({ workers, arena, handlers }))
afterAll(async () => {
  for (const pool of pools) await pool.stop()
})

/** What is behind the places that are written. */
const UNTOUCHED = 99
const sizes = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 1, arbitrary: fc.integer({ min: 41, max: 256 }) },
)
const looked = fc.record({
  entries: sizes,
  seed: fc.array(fc.nat(255), { minLength: 1, maxLength: 40 }),
  rows: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 70 }) },
    { weight: 1, arbitrary: fc.integer({ min: 4_080, max: 4_200 }) },
  ),
  begin: fc.nat(3),
  nulls: fc.nat(4),
  anti: fc.boolean(),
  narrows: fc.boolean(),
  /** Some of the keys are of none of the tables. */
  isFar: fc.boolean(),
})

function withBlocks<T>(bytes: readonly number[], use: (blocks: readonly number[]) => T): T {
  const blocks = bytes.map((size) => arena.allocate(size, 'law'))
  try {
    return use(blocks)
  } finally {
    for (const block of blocks) arena.free(block)
  }
}

test('a set of bytes has the keys that it has', () => {
  const counts = { nulls: 0, far: 0, wide: 0 }
  fc.assert(
    fc.property(looked, ({ entries, seed, rows, nulls, anti, narrows, isFar }) => {
      const tables = Math.ceil(entries / TABLE_BYTES)
      const words = Math.ceil(rows / 32)
      const nullable = nulls > 0
      const at = (i: number): number => (seed[i % seed.length] as number) + (i >> 3)
      const set = Array.from({ length: TABLE_BYTES * tables }, (_, i) => (i < entries ? at(i) & 1 : 0))
      const keys = Uint8Array.from({ length: rows }, (_, i) => (isFar ? at(i) % 256 : at(i) % entries))
      const present = Array.from({ length: rows }, (_, i) => !nullable || at(i) % (nulls + 1) > 0)
      const before = Array.from({ length: rows }, (_, i) => at(i + 5) % 3 > 0)
      withBlocks([rows, 4 * words, TABLE_BYTES * tables, 4 * words + 4, 8, 8 * SEMI_FRAME.length], (blocks) => {
        const [key, keyBits, table, bitmap, counts, frame] = blocks as [number, number, number, number, number, number]
        ;(arena.view('u8', key, rows) as Uint8Array).set(keys)
        ;(arena.view('u8', table, set.length) as Uint8Array).set(set)
        const bitsOf = (address: number, bits: readonly boolean[]): void => {
          const view = arena.view('i32', address, words) as Int32Array
          view.fill(-1) // what is behind the last row decides nothing
          for (const [i, bit] of bits.entries()) if (!bit) view[i >> 5] = (view[i >> 5] as number) & ~(1 << (i & 31))
        }
        bitsOf(keyBits, present)
        bitsOf(bitmap, before)
        const out = arena.view('i32', bitmap, words + 1) as Int32Array
        out[words] = UNTOUCHED
        const slots = new Int32Array(arena.view('u8', frame, 8 * SEMI_FRAME.length).buffer, frame, 2 * SEMI_FRAME.length)
        const values = { key, keyBits, base: 0, span: entries, present: table, bitmap, counts }
        for (const [i, name] of SEMI_FRAME.entries()) putAddress(slots, 2 * i, values[name])
        const shape = { nullable, anti, narrows }
        const kernel = arenaKernel(arena, `law set ${tables} ${JSON.stringify(shape)}`, () => byteSetKernel(shape, tables))
        for (let from = 0; from < rows; from += 4_096) kernel(frame, from, Math.min(rows, from + 4_096))
        const kept = Array.from(
          keys,
          (one, i) => ((present[i] as boolean) && set[one] === 1) !== anti && (!narrows || (before[i] as boolean)),
        )
        const found = Array.from({ length: 32 * words }, (_, i) => ((out[i >> 5] as number) & (1 << (i & 31))) !== 0)
        expect(found).toEqual([...kept, ...new Array(32 * words - rows).fill(false)])
        expect(out[words]).toBe(UNTOUCHED)
        const blocksOf = [kept.slice(0, 4_096), ...(rows > 4_096 ? [kept.slice(4_096)] : [])]
        expect([...(arena.view('i32', counts, blocksOf.length) as Int32Array)]).toEqual(
          blocksOf.map((block) => block.filter(Boolean).length),
        )
      })
      if (nullable) counts.nulls++
      if (isFar) counts.far++
      if (tables > 2) counts.wide++
    }),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(counts.nulls, counts.far, counts.wide)).toBeGreaterThan(LAW.numRuns / 20)
})

test('bytes are mapped to those of a table, wherever they lie', () => {
  fc.assert(
    fc.property(looked, ({ entries, seed, rows, begin, narrows: isThere }) => {
      const tables = Math.ceil(entries / TABLE_BYTES)
      const at = (i: number): number => (seed[i % seed.length] as number) + (i >> 3)
      const map = Array.from({ length: TABLE_BYTES * tables }, (_, i) => (i < entries ? at(i) % 256 : 0))
      const keys = Uint8Array.from({ length: rows }, (_, i) => at(i + 3) % entries)
      withBlocks([TABLE_BYTES * tables, begin + rows + 20, begin + rows + 20], ([table = 0, own = 0, other = 0]) => {
        ;(arena.view('u8', table, map.length) as Uint8Array).set(map)
        const to = isThere ? own : other
        const all = arena.view('u8', to, begin + rows + 20) as Uint8Array
        all.fill(UNTOUCHED)
        ;(arena.view('u8', own + begin, rows) as Uint8Array).set(keys)
        arenaKernel(arena, `law map ${tables}`, () => byteMapKernel(tables))(table, own + begin, rows, to + begin)
        const around = (length: number): number[] => new Array(length).fill(UNTOUCHED)
        expect([...all]).toEqual([...around(begin), ...Array.from(keys, (key) => map[key] as number), ...around(20)])
      })
    }),
    LAW,
  )
})

const TEXTS = ['', 'a', 'ab', ' ab ', 'Ab-12', '7', 'žluť', '😀b', 'aXbXc']
/** Questions, the last of which may throw, or give something else than a truth value. */
const QUESTIONS = [
  "r.s === 'ab'",
  "r.s !== 'ab'",
  'r.s === null',
  "r.s !== null && r.s.startsWith('a')",
  "r.s === 'a' || r.s === 'nowhere' || r.s === '7'",
  "/b/.test(r.s ?? 'b') && r.s !== ' ab '",
  "(r.s ?? '').length > 1",
  "!(r.s?.includes('b') ?? true)",
  "r.s !== null && r.z === 'a'",
  "r.s !== 'ab' && r.x > 0",
  'r.s?.length',
  'r.s.length > 1',
  'r.x > 0',
] as const
const filters = fc.array(fc.constantFrom(...QUESTIONS), { minLength: 1, maxLength: 3 })

interface Row {
  readonly s: string | null
  readonly z: string
  readonly x: number
}

test('folds of the rows that filters of texts keep are those of the rows that JavaScript keeps', async () => {
  const counts = { folded: 0, sets: 0, nulls: 0, both: 0 }
  const held = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(TEXTS.length), { minLength: 1, maxLength: 30 }),
      fc.record({
        rows: fc.oneof(
          { weight: 9, arbitrary: fc.integer({ min: 1, max: 200 }) },
          { weight: 1, arbitrary: fc.integer({ min: 4_000, max: 9_000 }) },
        ),
        nulls: fc.boolean(),
        pool: fc.nat(1),
      }),
      filters,
      async (drawn, { rows, nulls, pool }, asked) => {
        const textOf = (i: number): string | null => TEXTS[drawn[i % drawn.length] as number] ?? (nulls ? null : 'a')
        const all = Array.from(
          { length: rows },
          (_, i): Row => ({ s: textOf(i), z: textOf(i + 3) ?? 'z', x: ((i * 7919) % 1013) / 7 - 60 }),
        )
        const columns = (['s', 'z', 'x'] as const).map((name) => {
          const type = name === 'x' ? ({ kind: 'f64' } as const) : ({ kind: 'utf8' } as const)
          return shareColumn(
            columnFromValues(
              all.map((row) => row[name]),
              type,
            ),
            arena,
            'law',
          )
        })
        const codes = columns.flatMap((column) => codeTexts(column, arena) ?? [])
        const batch = rowBatch(['s', 'z', 'x'], columns, rows)
        const source = { kind: 'memory', name: 'law', element: batch.element, rows, splits: [{ rows, detail: batch }], columns } as const
        const scan: LogicalPlan = { kind: 'Scan', source, columns: ['s', 'z', 'x'], element: batch.element, keys: { kind: 'rowNumber' } }
        const kept = asked.map((body) => new Function('r', `return ${body}`) as (row: Row) => unknown)
        const filtered = kept.reduce<LogicalPlan>((input, test) => {
          const { fn } = lowerFunction(test, { kind: 'row', method: 'filter', inputs: [batch.element] })
          return { kind: 'Filter', input, f: fn, element: batch.element, keys: scan.keys }
        }, scan)
        const { fn } = lowerFunction((r: Row) => r.x, { kind: 'row', method: 'map', inputs: [batch.element] })
        const plan: LogicalPlan = {
          kind: 'Map',
          input: filtered,
          f: fn,
          element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
          keys: scan.keys,
        }
        const executor = new Executor({
          pool: pools[pool] as (typeof pools)[number],
          arena,
          lower,
          smallRows: 0,
          readSplit: async (_, split) => [split.detail as typeof batch],
        })
        try {
          const folds = [await executor.fold(plan, 'sum'), await executor.fold(plan, 'count'), await executor.fold(plan, 'max')] as const
          if (folds.some((one) => one === undefined)) return
          const values = kept.reduce((left, test) => left.filter((row) => test(row)), all).map(({ x }) => x)
          const [sum, count, most] = folds
          expect(sum).toEqual({ value: treeSum(values), count: values.length })
          expect(count?.count).toBe(values.length)
          expect(most?.value).toBe(values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b)))
          const { sets, plan: left } = withTextSets(lower(plan))
          counts.folded++
          if (sets.length > 0) counts.sets++
          if (sets.some(({ anti }) => anti)) counts.nulls++
          if (sets.length > 0 && left.kind === 'PipelineExec' && left.steps.length > 1) counts.both++
        } finally {
          for (const column of columns) freeColumn(column, arena)
          for (const block of codes) arena.free(block)
          expect(arena.usedBytes).toBe(held)
        }
      },
    ),
    LAW,
  )
  console.log(`filters of texts as sets: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(counts.sets, 4 * counts.nulls, 4 * counts.both)).toBeGreaterThan(LAW.numRuns / 5)
})
