/**
 * Law: columns that hold nothing but null go through filters, maps, keys, orders, joins and windows as JavaScript's null does, over
 * kernels as row by row.
 */
import { Field, Float64, Null, Schema, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, first, min, sum } from '../src/core/plan/aggregates.ts'
import { rowNumber } from '../src/core/plan/windows.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const LAW = announcedRun('nullColumns.prop.ts')
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
const memory = tableMemory(arena, { fewestRows: 0, coded: true })
afterAll(stop)

interface Row {
  readonly x: number | null
  readonly v: number
  readonly s: string
  readonly y: number | null
}
const SCHEMA = new Schema([
  new Field('x', new Null(), true),
  new Field('v', new Float64(), false),
  new Field('s', new Utf8(), false),
  new Field('y', new Null(), true),
])
const row: fc.Arbitrary<Row> = fc.record(
  { x: fc.constant(null), v: fc.integer({ min: 0, max: 9 }), s: fc.constantFrom('a', 'b', 'c'), y: fc.constant(null) },
  { noNullPrototype: true },
)

interface Chain {
  readonly of: (array: DistArray<Row>, from: number) => Promise<unknown>
  readonly plain: (rows: readonly Row[], from: number) => unknown
}
const bySort = (rows: readonly Row[]): Row[] => [...rows].sort((a, b) => a.v - b.v)
const texts = (rows: readonly Row[]): string[] => [...new Set(rows.map((r) => r.s))]
const CHAINS: readonly Chain[] = [
  { of: (t) => t.collect(), plain: (rows) => rows },
  { of: (t) => t.select('y', 'x').collect(), plain: (rows) => rows.map(() => ({ y: null, x: null })) },
  { of: (t) => t.map((r) => r.x).collect(), plain: (rows) => rows.map(() => null) },
  {
    of: (t) => t.map((r) => ({ a: r.x, b: r.v * 2, c: r.y ?? r.v })).collect(),
    plain: (rows) => rows.map((r) => ({ a: null, b: r.v * 2, c: r.v })),
  },
  {
    of: (t, from) => t.map((r) => ({ a: r.v > from ? r.x : r.y, b: r.v > from ? r.x : r.v, c: r.x === null })).collect(),
    plain: (rows, from) => rows.map((r) => ({ a: null, b: r.v > from ? null : r.v, c: true })),
  },
  { of: (t) => t.withColumns((r) => ({ z: r.v * 2 })).collect(), plain: (rows) => rows.map((r) => ({ ...r, z: r.v * 2 })) },
  { of: (t) => t.sortBy((r) => r.v).collect(), plain: bySort },
  { of: (t) => t.sortBy([(r) => r.x, (r) => r.v]).collect(), plain: bySort },
  {
    of: (t) =>
      t
        .groupBy((r) => r.s)
        .agg({ n: count((r) => r.x), s: sum((r) => r.x), f: first((r) => r.y), m: min((r) => r.x), all: count() })
        .collect(),
    plain: (rows) => texts(rows).map((key) => ({ key, n: 0, s: 0, f: null, m: null, all: rows.filter((r) => r.s === key).length })),
  },
  {
    of: (t) =>
      t
        .groupBy((r) => r.x)
        .agg({ v: sum((r) => r.v) })
        .collect(),
    plain: (rows) => (rows.length === 0 ? [] : [{ key: null, v: rows.reduce((a, r) => a + r.v, 0) }]),
  },
  {
    of: (t) =>
      t
        .groupBy((r) => ({ y: r.y, s: r.s }))
        .count()
        .collect(),
    plain: (rows) => texts(rows).map((s) => ({ y: null, s, count: rows.filter((r) => r.s === s).length })),
  },
  {
    of: (t) => t.window({ by: (r) => r.y, orderBy: (r) => r.v }, { n: rowNumber(), s: sum((r) => r.x) }).collect(),
    plain: (rows) => {
      const places = new Map(bySort(rows).map((r, i) => [r, i + 1]))
      return rows.map((r) => ({ ...r, n: places.get(r), s: 0 }))
    },
  },
  { of: (t) => t.select('x', 's').distinct().collect(), plain: (rows) => texts(rows).map((s) => ({ x: null, s })) },
  { of: (t) => t.join(t.select('x'), 'x').count(), plain: () => 0 },
  { of: (t, from) => t.filter((r) => r.x === null && r.v > from).count(), plain: (rows, from) => rows.filter((r) => r.v > from).length },
  { of: (t) => t.map((r) => r.x ?? 2).sum(), plain: (rows) => 2 * rows.length },
  { of: (t) => t.map((r) => r.x).count(), plain: (rows) => rows.length },
  { of: (t) => t.map(() => null).collect(), plain: (rows) => rows.map(() => null) },
  {
    of: (t) => t.map((r) => ({ a: null, b: r.v, c: undefined })).collect(),
    plain: (rows) => rows.map((r) => ({ a: null, b: r.v, c: null })),
  },
  { of: (t) => t.withColumns(() => ({ v: null })).collect(), plain: (rows) => rows.map((r) => ({ ...r, v: null })) },
  {
    of: (t) => t.sortBy([() => null, (r) => r.v]).collect(),
    plain: bySort,
  },
  {
    of: (t) =>
      t
        .groupBy((r) => ({ y: null, s: r.s, x: r.x, none: undefined }))
        .agg({ n: count(() => null), t: sum(() => null), f: first(() => null), m: min(() => null), all: count() })
        .collect(),
    plain: (rows) =>
      texts(rows).map((s) => {
        return { y: null, s, x: null, none: null, n: 0, t: 0, f: null, m: null, all: rows.filter((r) => r.s === s).length }
      }),
  },
  {
    of: (t, from) =>
      t
        .filter((r) => r.v > from)
        .groupBy(() => null)
        .agg({ v: sum((r) => r.v) })
        .collect(),
    plain: (rows, from) => {
      const kept = rows.filter((r) => r.v > from)
      return kept.length === 0 ? [] : [{ key: null, v: kept.reduce((a, r) => a + r.v, 0) }]
    },
  },
]

test('columns of nothing but null are handed on, and are null to functions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(...CHAINS),
      fc.option(fc.integer({ min: -1, max: 9 })),
      fc.integer({ min: -1, max: 9 }),
      fc.nat(1),
      fc.boolean(),
      async (rows, { of, plain }, above, from, engine, isStored) => {
        const array = new DistArray<Row>(
          engines[engine] as (typeof engines)[number],
          tableOf(sourceFromRows(rows as never, { schema: SCHEMA, memory })),
        )
        const table = (isStored ? array.materialize() : array) as DistArray<Row>
        const kept = above === null ? table : (table.filter((r) => r.v > above) as DistArray<Row>)
        expect(await of(kept, from)).toEqual(plain(above === null ? rows : rows.filter((r) => r.v > above), from))
      },
    ),
    LAW,
  )
}, 300_000)
