/**
 * What functions ask of lists is answered where the elements lie: whatever chain asks, of tables in memory and of Parquet and Arrow files,
 * has the results of plain JavaScript over rows with arrays in them, with nulls of lists and of elements, and functions that fail of null.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf } from '../src/core/plan/groupPlan.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareBatch } from '../src/exec/memory/shareColumns.ts'
import { columnProgramOf, isProgram } from '../src/exec/tables/columns/columnProgram.ts'
import { plannedTextColumns } from '../src/exec/tables/columns/texts/textColumns.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { optimize } from '../src/planner/optimize.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf } from './entries.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { asStored, expectOutcome, groupedRows, outcomeOf, scanOfFile } from './rowChains.ts'

const LAW = announcedRun('listColumns.prop.ts')
const arena = lawArena(2 ** 27)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
const services = { pool, arena, readSplit, lower }
/** One takes columns whole where it can, one takes few rows at a time. */
const executors = [new Executor({ ...services, smallRows: 0 }), new Executor({ ...services, smallRows: 1_000, partitionRows: 4 })]
const folder = mkdtempSync(join(tmpdir(), 'distarray-lists-'))
beforeAll(loadArrow)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await pool.stop()
})

interface Row {
  readonly id: number
  readonly tags: readonly (string | null)[]
  readonly scores: readonly number[]
  readonly flags: readonly (boolean | null)[]
  readonly tag: string | null
  readonly items: readonly Item[]
}
interface Item {
  readonly sku: string
  readonly qty: number
  readonly price: number
  readonly paid: boolean
}

type Numbers = 'f64' | 'f32' | 'i32' | 'u8'
const VALUES: Readonly<Record<Numbers, readonly number[]>> = {
  f64: [0, -0, 0.1, 0.2, 1e16, -1, 2, 3, 7, Number.NaN, Number.POSITIVE_INFINITY],
  f32: [0, -0, 0.5, 1.25, 2, 3, -7],
  i32: [0, 1, 2, 3, -5, 7, 2 ** 31 - 1],
  u8: [0, 1, 2, 3, 200, 255],
}
const TEXTS = ['a', 'b', 'ab', '', 'Bern', 'é', 'long text of a tag', '\ufffd']

const tables = fc
  .record({ kind: fc.constantFrom<Numbers>('f64', 'f64', 'f32', 'i32', 'u8'), nulls: fc.constantFrom('none', 'lists', 'elements', 'both') })
  .chain(({ kind, nulls }) => {
    const or = <T>(value: fc.Arbitrary<T>, isNull: boolean): fc.Arbitrary<T> =>
      isNull ? (fc.option(value, { freq: 4 }) as fc.Arbitrary<T>) : value
    const isOfLists = nulls === 'lists' || nulls === 'both'
    const isOfElements = nulls === 'elements' || nulls === 'both'
    const list = <T>(...values: readonly T[]): fc.Arbitrary<readonly T[]> =>
      or(fc.array(or(fc.constantFrom(...values), isOfElements), { maxLength: 5 }), isOfLists)
    // a struct may be null, or only its fields
    const item = (isOfNulls: boolean): fc.Arbitrary<Item> => {
      const field = <T>(...values: readonly T[]): fc.Arbitrary<T> => or(fc.constantFrom(...values), isOfNulls)
      return fc.record(
        { sku: field(...TEXTS), qty: field(0, 1, 2, 3), price: field(0.5, -0, 2.25, Number.NaN), paid: field(true, false) },
        { noNullPrototype: true },
      )
    }
    const row = fc.record({
      id: fc.integer({ min: -1, max: 6 }),
      tags: list(...TEXTS),
      scores: list(...VALUES[kind]),
      flags: list(true, false),
      tag: or(fc.constantFrom(...TEXTS), isOfElements),
      items: or(fc.array(or(item(isOfElements), isOfElements), { maxLength: 4 }), isOfLists),
    })
    return fc.record({
      kind: fc.constant(kind),
      nulls: fc.constant(nulls),
      rows: fc.array(row as fc.Arbitrary<Row>, { minLength: 1, maxLength: 24 }),
    })
  })

/** A filter with a captured value, of which a chain may have several. */
const above =
  (limit: number) =>
  (r: Row): unknown =>
    r.scores?.some((s) => s > limit)

const FILTERS: readonly ((r: Row) => unknown)[] = [
  (r) => r.tags.length > 2,
  (r) => r.tags.includes('a'),
  (r) => r.id > 2 && r.scores.length === 1,
  (r) => r.tags?.includes('Bern') || r.id < 2,
  (r) => r.tags !== null && r.tags.length !== 1,
  (r) => r.scores?.some((s) => s > 1),
  above(0),
  above(2),
  (r) => r.tags,
  (r) => r.scores === null || r.scores.every((s) => s >= 0),
  (r) => (r.scores[0] as number) > 0,
  (r) => !r.tags || r.tags.some((t) => t === 'a' || t === 'é'),
  (r) => r.items.some((i) => i.sku === 'a'),
  (r) => r.items?.every((i) => i.qty > 0 || i.paid),
  (r) => r.items !== null && r.items.filter((i) => i?.price > 0).length < 2,
]
const MAPS: readonly ((r: Row) => unknown)[] = [
  (r) => r.tags.length,
  (r) => r.tags?.length,
  (r) => r.scores?.length ?? -1,
  (r) => (r.tags === null ? -1 : r.tags.length * 2 + r.id),
  // biome-ignore lint/complexity/useOptionalChain: programs are written so
  (r) => r.tags && r.tags.length,
  (r) => r.scores[0],
  (r) => (r.scores[0] === undefined ? 1 : r.scores[0] === null ? 2 : 3),
  (r) => r.scores[r.id],
  (r) => r.scores[r.id / 2],
  (r) => r.scores.at(-1),
  (r) => r.scores.at(r.id),
  (r) => (r.scores[1] as number) + (r.scores[0] as number),
  (r) => r.tags[1],
  (r) => r.tags[0]?.length,
  (r) => r.tags.at(-2) ?? 'none',
  (r) => r.flags[0],
  (r) => (r.flags[0] ? 1 : r.flags[0] === false ? 2 : r.flags[0] === null ? 3 : 4),
  (r) => r.tags.includes('ab'),
  (r) => r.tags.includes('\ufffd'),
  (r) => r.tags.includes(r.tag),
  (r) => r.tags.indexOf(r.tag),
  (r) => r.tags.indexOf('Bern'),
  (r) => r.scores.includes(Number.NaN),
  (r) => r.scores.indexOf(Number.NaN),
  (r) => r.scores.includes(0),
  (r) => r.scores.indexOf(r.id),
  (r) => r.flags.includes(null),
  (r) => r.scores.reduce((a, b) => a + b, 0),
  (r) => r.scores.reduce((a, b) => a + b),
  (r) => r.scores.reduce((a, b) => a * 0.5 + b, r.id),
  (r) => r.scores.reduce((a, b, i) => a + b * i, 0),
  (r) => r.scores.reduce((a, b) => (b > a ? b : a), Number.NEGATIVE_INFINITY),
  (r) => r.tags.reduce((a, t) => a + (t === 'a' ? 1 : 0), 0),
  (r) => r.tags.reduce((a, t) => `${a}${t}`, ''),
  (r) =>
    r.scores.reduce((a, b) => {
      const d = b - 1
      return a + d * d
    }, 0),
  (r) => r.tags.some((t) => t === 'a'),
  (r) => r.tags.some((t) => t !== 'a'),
  (r) => r.tags.every((t) => t !== null && t.length > 0),
  (r) => r.tags.some((t) => t === r.tag),
  (r) => r.scores.some((s) => s > r.id),
  (r) => r.scores.every((s, i) => s >= i),
  (r) => r.tags.some((t) => (t as string).length > 3),
  (r) => r.flags.some((f) => f),
  (r) => r.scores.find((s) => s > 1),
  (r) => r.tags.find((t) => t !== 'a'),
  (r) => r.scores.findLast((s) => s < 3),
  (r) => r.scores.findIndex((s) => s > 1),
  (r) => r.tags.findLastIndex((t) => t === 'b' || t === 'a'),
  (r) => r.scores.filter((s) => s > 0).length,
  (r) => r.tags.filter((t) => t === 'a' || t === 'b').length,
  (r) => r.scores.filter((s) => r.scores.filter((t) => t === s).length > 1).length,
  (r) => r.tags.some((t) => r.tags.filter((u) => u === t).length > 1),
  (r) => r.tags.some((t) => r.tags.filter((u) => t === 'a' && u === 'b').length > 0),
  (r) => r.tags.join(','),
  (r) => r.tags.join(),
  (r) => r.scores.join(' '),
  (r) => r.tags.join(r.tag as string),
  (r) => Math.max(...r.scores),
  (r) => Math.min(...r.scores),
  (r) => Math.max(...(r.flags as unknown as number[])),
  (r) => ({ n: r.tags.length, first: r.scores[0], all: r.scores.reduce((a, b) => a + b, 0), id: r.id }),
  (r) => {
    const { tags, scores } = r
    if (tags === null || scores === null) return -1
    const n = tags.length
    return n > 2 ? n : (scores[0] ?? 0)
  },
  (r) => r.tags,
  (r) => r.items.length,
  (r) => r.items?.reduce((a, i) => a + i.qty * i.price, 0),
  (r) => r.items.reduce((a, i, n) => a + i.qty * n, r.id),
  (r) => r.items?.reduce((a, i) => (i === null ? a : a + i.qty), 0),
  (r) => r.items.reduce((a, { qty, price }) => a + (price > 1 ? qty : 0), 0),
  (r) => r.items.some((i) => i.paid),
  (r) => r.items.some((i) => i?.sku === r.tag),
  (r) => r.items.every(({ sku }) => sku !== 'b'),
  (r) => r.items.some((i) => (i as unknown as { toString: unknown }).toString === undefined),
  (r) => r.items.some((i) => (i as unknown as { color: unknown }).color === undefined),
  (r) => r.items.findIndex((i) => i.qty > 1),
  (r) => r.items.findLastIndex((i) => i.price >= 0 && r.id > 1),
  (r) => r.items.filter((i) => i.qty > 1).length,
  (r) => r.items.filter((i) => i.paid).reduce((a, i) => a + i.price, 0),
  (r) => r.items.map((i) => i.sku).join('+'),
  (r) => Math.max(...r.items.map((i) => i.price)),
  (r) => r.items.map((i) => i.qty).includes(2),
  (r) => r.items.some((i) => r.items.filter((j) => j.sku === i.sku).length > 1),
  (r) => r.items.some((i) => r.tags.includes(i.sku)),
  (r) => ({ n: r.items?.length ?? 0, cents: r.items?.reduce((a, i) => a + Math.round(i.qty * i.price * 100), 0), id: r.id }),
  (r) => r.items.filter((i) => i.qty > 1),
  // for lists that are null, empty ones
  (r) => (r.tags ?? []).length,
  (r) => (r.tags ?? []).includes('a'),
  (r) => (r.tags ?? []).join(),
  (r) => (r.tags ?? [])[0],
  (r) => (r.scores ?? []).reduce((a, s) => a + s, r.id),
  (r) => (r.scores ?? []).filter((s) => s > 0).length,
  (r) =>
    (r.scores ?? [])
      .filter((s) => s > 0)
      .map((s) => s * 2)
      .join(' '),
  (r) => (r.items ?? []).some((i) => i?.paid),
  (r) => (r.items ?? []).map((i) => i.qty).includes(1),
  ({ items }) => (items ?? []).reduce((a, i) => a + i.qty, 0),
  (r) => Math.max(...(r.scores ?? [])),
  (r) => (r.scores ?? []).reduce((a, b) => a + b),
  // these run as they did
  (r) => r.items.find((i) => i.qty > 1)?.sku,
  (r) => r.items[0]?.qty,
  (r) => r.items.map((i) => ({ s: i.sku })),
  (r) => r.items.reduce((a, b) => (a.qty > b.qty ? a : b)).sku,
  (r) => r.scores.map((s) => s + 1),
  (r) => r.tags.lastIndexOf('a'),
  (r) => r.tags.includes('a', 1),
]
const KEYS: readonly ((r: Row) => unknown)[] = [
  (r) => r.tags.length,
  (r) => r.tags?.length,
  (r) => r.tags.includes('a'),
  (r) => ({ k: r.scores.length, a: r.tags?.includes('a') }),
  (r) => r.tags[0],
  (r) => r.scores.at(-1),
  (r) => r.tags,
]

const LISTS: readonly ((r: Row) => readonly unknown[])[] = [
  (r) => r.tags,
  (r) => r.scores,
  (r) => r.flags,
  (r) => {
    const { tags } = r
    return tags
  },
  (r) => r.tags ?? [],
  (r) => (r.tags ?? []).map((t) => t),
  (r) => (r.items ?? []).filter((i) => i.qty > 1).map((i) => ({ id: r.id, sku: i.sku })),
  (r) => r.tags?.map((t) => ({ t, id: r.id })) ?? [],
  (r) => r.items?.filter((i) => i.paid).map((i) => i.qty) ?? [],
  (r) => r.scores?.filter((s) => s > 0) ?? [],
]

const drawn = fc.record({
  table: tables,
  source: fc.constantFrom('memory', 'parquet', 'arrow'),
  rowGroupRows: fc.integer({ min: 1, max: 9 }),
  /** Rows before those of the table in the columns that it is cut out of. */
  before: fc.constantFrom(0, 0, 3),
  filters: fc.array(fc.constantFrom(...FILTERS), { maxLength: 2 }),
  small: fc.boolean(),
  last: fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('map' as const), f: fc.constantFrom(...MAPS) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('group' as const), f: fc.constantFrom(...KEYS) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('flat' as const), f: fc.constantFrom(...LISTS) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rows' as const), f: fc.constant(undefined) }) },
  ),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

async function scanOf({ table: { kind, nulls, rows: given }, source, rowGroupRows, before }: Drawn): Promise<LogicalPlan> {
  const keys = { kind: 'rowNumber' } as const
  const isOfLists = nulls === 'lists' || nulls === 'both'
  const list = (item: ColumnType['kind']): ColumnType => ({ kind: 'list', item: { kind: item } as ColumnType })
  const types: readonly (readonly [keyof Row, ColumnType, boolean])[] = [
    ['id', { kind: 'i32' }, false],
    ['tags', list('utf8'), isOfLists],
    ['scores', list(kind), isOfLists],
    ['flags', list('bool'), isOfLists],
    ['tag', { kind: 'utf8' }, nulls === 'elements' || nulls === 'both'],
    ['items', { kind: 'list', item: structOf(nulls === 'elements' || nulls === 'both') }, isOfLists],
  ]
  const element = { kind: 'row' as const, fields: types.map(([name, type, nullable]) => ({ name, type, nullable })) }
  const columns = types.map(([name, type]) => {
    const values = given.map((row) => row[name])
    const whole = columnFromValues([...values, ...values, ...values].slice(values.length - (before % (values.length + 1))), type)
    const first = before % (values.length + 1)
    return sliceColumn(whole, first, first + values.length)
  })
  if (source === 'memory') {
    const table = shareBatch({ element, length: given.length, columns }, arena, 'the law')
    return { kind: 'Stored', name: 'rows', storage: { kind: 'table', ...table }, element, keys }
  }
  return await scanOfFile(join(folder, `rows.${source}`), { element, columns, rows: given.length }, { format: source, rowGroupRows })
}

function structOf(nullable: boolean): ColumnType {
  const kinds = { sku: 'utf8', qty: 'i32', price: 'f64', paid: 'bool' } as const
  return { kind: 'struct', fields: Object.entries(kinds).map(([name, kind]) => ({ name, type: { kind }, nullable })) }
}

test('chains that ask lists have the results of JavaScript', async () => {
  const seen = { compiled: 0, programs: 0, failed: 0, nulls: 0 }
  await fc.assert(
    fc.asyncProperty(drawn, async (one) => {
      const empty = arena.usedBytes
      const { table, filters, last } = one
      const given = table.rows
      let plan = await scanOf(one)
      const stored = plan.kind === 'Stored' && plan.storage.kind === 'table' ? plan.storage.columns : []
      const { element, keys } = plan
      const inputs = [element]
      for (const f of filters)
        plan = { kind: 'Filter', input: plan, f: lowerFunction(f, { kind: 'row', method: 'filter', inputs }).fn, element, keys }
      if (last.kind === 'map') {
        const { fn } = lowerFunction(last.f, { kind: 'row', method: 'map', inputs })
        if (fn.ir !== undefined) seen.compiled++
        plan = { kind: 'Map', input: plan, f: fn, element: returnedElement(fn, { kind: 'row', method: 'map', inputs }), keys }
      }
      if (last.kind === 'flat') {
        const { fn } = lowerFunction(last.f, { kind: 'row', method: 'flatMap', inputs })
        plan = { kind: 'FlatMap', input: plan, f: fn, element: { kind: 'unknown' }, keys }
      }
      if (last.kind === 'group')
        plan = aggPlan(groupingOf(engineOf('lowered'), plan, last.f as never), {
          n: count(),
          s: sum((r: Row) => r.scores?.length ?? 0),
          b: count((r: Row) => r.tags?.[1]),
        } as never)
      const optimized = optimize(plan).plan
      if (last.kind === 'map' && isProgram(columnProgramOf(lower(optimized), plannedTextColumns))) seen.programs++
      const executor = executors[one.small ? 1 : 0] as Executor
      const expected = outcomeOf(() => {
        const kept = filters.reduce<readonly Row[]>((all, f) => all.filter((row) => f(row)), given)
        if (last.kind === 'map') return kept.map((row) => asStored(last.f(row)))
        if (last.kind === 'flat') return kept.flatMap((row) => [...last.f(row)])
        return last.kind === 'group'
          ? groupedRows(kept, last.f, { summed: (row) => row.scores?.length ?? 0, counted: (row) => row.tags?.[1] })
          : kept
      })
      if (await expectOutcome(executor, optimized, expected, last.kind !== 'flat')) seen.failed++
      else if (given.some((row) => row.tags === null)) seen.nulls++
      for (const column of stored) freeColumn(column, arena)
      expect(arena.usedBytes).toBe(empty)
    }),
    LAW,
  )
  console.log(`lists of columns: ${JSON.stringify(seen)}`)
  if (LAW.numRuns < 500) return
  expect(seen.compiled).toBeGreaterThan(LAW.numRuns / 3)
  expect(seen.programs).toBeGreaterThan(LAW.numRuns / 40)
  expect(seen.failed).toBeGreaterThan(LAW.numRuns / 50)
  expect(seen.nulls).toBeGreaterThan(LAW.numRuns / 50)
})
