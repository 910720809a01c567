/**
 * Codes of stored tables: questions over a table that was materialized have the answers of the rows, whatever was asked and
 * written before, with codes and without; codes are there as soon as texts were read enough, if they are few, and go with
 * the table's memory.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray, engineOf, planOf } from '../src/core/arrays/distArray.ts'
import type { TableStorage } from '../src/core/arrays/storage.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { codesOf } from '../src/exec/tables/columns/texts/textCodes.ts'
import { PARTITION_ROWS } from '../src/exec/tables/operators/partitions.ts'
import type { ArrayStore } from '../src/exec/tables/store/arrayStore.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import type { SessionEngine } from '../src/session/engine.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines } from './piecemeal.ts'
import { treeSum } from './reference.ts'

const LAW = announcedRun('storedCodes.prop.ts')
const { engines, stores, arena, stop } = piecemealEngines([1, 2], PARTITION_ROWS)
afterAll(stop)

interface Row {
  readonly a: string
  readonly b: string | null
  readonly n: number
}
type Table = DistArray<Row>

/** Whether a column has so few texts that it has codes. */
function hasFew(texts: readonly (string | null)[]): boolean {
  return new Set(texts.filter((text) => text !== null)).size <= Math.max(256, Math.floor(texts.length / 8))
}

function scanOf(source: ArraySource): LogicalPlan {
  return {
    kind: 'Scan',
    source,
    columns: fieldsOf(source.element).map(({ name }) => name),
    element: source.element,
    keys: { kind: 'rowNumber' },
  }
}

function groupsOf(rows: readonly Row[], key: (row: Row) => object): unknown[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const text = JSON.stringify(key(row))
    const group = groups.get(text)
    if (group === undefined) groups.set(text, [row])
    else group.push(row)
  }
  return [...groups].map(([text, all]) => ({ ...JSON.parse(text), total: treeSum(all.map(({ n }) => n)), rows: all.length }))
}

const aggregates = { total: sum((r: Row) => r.n), rows: count() }

const CHOSEN = ['x', 'ž', 'none', '', 'x0', 'x']
const chosen = (table: Table) => new DistArray<{ readonly a: string }>(engineOf(table), scanOf(sourceFromRows(CHOSEN.map((a) => ({ a })))))

/** The answer to each question, and what it is of the rows. */
const QUESTIONS = {
  byA: async (table: Table, rows: readonly Row[]) => [
    await table
      .groupBy((r) => r.a)
      .agg(aggregates)
      .collect(),
    groupsOf(rows, ({ a }) => ({ key: a })),
  ],
  byB: async (table: Table, rows: readonly Row[]) => [
    await table
      .groupBy((r) => r.b)
      .agg(aggregates)
      .collect(),
    groupsOf(rows, ({ b }) => ({ key: b })),
  ],
  byBoth: async (table: Table, rows: readonly Row[]) => [
    await table
      .groupBy((r) => ({ b: r.b, a: r.a }))
      .agg(aggregates)
      .collect(),
    groupsOf(rows, ({ a, b }) => ({ b, a })),
  ],
  bySome: async (table: Table, rows: readonly Row[]) => [
    await table
      .filter((r) => r.n > 4)
      .groupBy((r) => r.b)
      .agg(aggregates)
      .collect(),
    groupsOf(
      rows.filter(({ n }) => n > 4),
      ({ b }) => ({ key: b }),
    ),
  ],
  texts: async (table: Table, rows: readonly Row[]) => [
    await table
      .map((r) => r.b)
      .distinct()
      .collect(),
    [...new Set(rows.map(({ b }) => b))],
  ],
  pairs: async (table: Table, rows: readonly Row[]) => [
    await table.select('b', 'a').distinct().collect(),
    [...new Map(rows.map(({ a, b }) => [JSON.stringify([a, b]), { b, a }])).values()],
  ],
  semi: async (table: Table, rows: readonly Row[]) => [
    await table
      .join(chosen(table), 'a', { how: 'semi' })
      .map((r) => r.n)
      .sum(),
    treeSum(rows.filter(({ a }) => CHOSEN.includes(a)).map(({ n }) => n)),
  ],
  anti: async (table: Table, rows: readonly Row[]) => [
    await table
      .filter((r) => r.n > 2)
      .join(chosen(table), 'a', { how: 'anti' })
      .count(),
    rows.filter(({ a, n }) => n > 2 && !CHOSEN.includes(a)).length,
  ],
  ofX: async (table: Table, rows: readonly Row[]) => [
    await table.filter((r) => r.a === 'x').count(),
    rows.filter(({ a }) => a === 'x').length,
  ],
  ofEmpty: async (table: Table, rows: readonly Row[]) => [
    await table
      .filter((r) => r.b === '')
      .map((r) => r.n)
      .sum(),
    treeSum(rows.filter(({ b }) => b === '').map(({ n }) => n)),
  ],
  notZ: async (table: Table, rows: readonly Row[]) => [
    await table.filter((r) => r.a !== 'ž' && r.b !== 'x').collect(),
    rows.filter(({ a, b }) => a !== 'ž' && b !== 'x'),
  ],
} as const satisfies Record<string, (table: Table, rows: readonly Row[]) => Promise<unknown[]>>

const TEXTS = ['x', '', 'ž', 'xx', 'a longer text', '\ufffd', 'x\0']
const text = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
)
const row = fc.record({ a: text, b: fc.option(text, { freq: 3 }), n: fc.integer({ min: 0, max: 9 }) })

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      what: fc.constantFrom(...(Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[])),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compare' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('set' as const), at: fc.nat(), row }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('filter' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('copy' as const) }) },
)

const drawn = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 40 }),
  /** How often the rows are repeated, and whether each time with another text. */
  times: fc.constantFrom(1, 1, 1, 2, 30, 300),
  many: fc.boolean(),
  steps: fc.array(step, { minLength: 2, maxLength: 12 }),
  workers: fc.constantFrom(0, 0, 0, 1),
})

test('a stored table answers as its rows do, codes come when texts are read, and go with its memory', async () => {
  const reached = { asked: 0, coded: 0, edited: 0, none: 0, compared: 0 }
  await fc.assert(
    fc.asyncProperty(drawn, async ({ rows: few, times, many, steps, workers }) => {
      const held = arena.usedBytes
      const [engine, store] = [engines[workers] as SessionEngine, stores[workers] as ArrayStore]
      let rows: readonly Row[] = Array.from({ length: times }, (_, t) =>
        few.map((one) => (many ? { ...one, a: `${one.a}${t}` } : one)),
      ).flat()
      const source = sourceFromRows(rows)
      let table = await new DistArray<Row>(engine, scanOf(source)).materialize()
      const tables = [table]
      const codes = async (name: 'a' | 'b') => {
        const storage = (await store.storage(planOf(table))) as TableStorage
        return codesOf(storage.columns[name === 'a' ? 0 : 1])
      }
      const expectCodes = async (name: 'a' | 'b') => {
        const texts = rows.map((r) => r[name])
        // a column without a text is not one of text
        if (!texts.some((value) => value !== null)) return
        expect((await codes(name)) !== undefined, name).toBe(hasFew(texts))
        if (!hasFew(texts)) reached.none++
      }
      for (const one of steps) {
        if (one.kind === 'ask') {
          const before = (await codes('a')) ?? (await codes('b'))
          const [actual, expected] = await QUESTIONS[one.what](table, rows)
          expect(actual, one.what).toEqual(expected)
          reached.asked++
          if (before !== undefined) reached.coded++
          if (one.what === 'byA' || one.what === 'semi') await expectCodes('a')
          if (one.what === 'byB') await expectCodes('b')
        } else if (one.kind === 'compare') {
          if ((await codes('a')) === undefined) reached.compared++
          for (let time = 0; time < 9; time++) expect((await QUESTIONS.ofX(table, rows))[0]).toBe(rows.filter(({ a }) => a === 'x').length)
          await expectCodes('a')
        } else if (one.kind === 'set') {
          if (rows.length === 0) continue
          const at = one.at % rows.length
          if ((await codes('a')) !== undefined) reached.edited++
          const value = rows.every(({ b }) => b === null) ? { ...one.row, b: null } : one.row
          await table.set([at], value)
          rows = rows.with(at, value)
          expect(await codes('a')).toBeUndefined()
        } else {
          table = await (one.kind === 'copy' ? table : table.filter((r) => r.a !== 'x')).materialize()
          if (one.kind === 'filter') rows = rows.filter(({ a }) => a !== 'x')
          tables.push(table)
        }
      }
      for (const one of tables) await one.release()
      expect(arena.usedBytes).toBe(held)
    }),
    LAW,
  )
  for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(LAW.numRuns / 100)
})
