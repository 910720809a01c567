/**
 * Laws: joins over files that memory has no room for, of which ranges of row groups are read one after another, have the rows of the
 * dullest join, in its order; groups, distinct elements and first rows of such files have the bits that those of a table in memory have; and
 * when one has run, or failed, nothing of it is in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bool, DateDay, Field, Float64, Int32, Schema, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import type { Batch } from '../src/core/data/column.ts'
import { count, countDistinct, max, mean, min, stddev, sum, variance } from '../src/core/plan/aggregates.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const LAW = announcedRun('ranges.prop.ts')
const FEW_RUNS = 500
/** Of the columns of some row groups, and of less than one. */
const RANGES = [200, 1] as const
const folder = mkdtempSync(join(tmpdir(), 'ranges-'))
let spilled = 0
/** What is left of a join when one range of it was joined goes by way of disk. */
const spill = { file: () => join(folder, `spilled${spilled++}`), always: { partBytes: 300, parts: 3, ranges: 1 } }
const made = [...RANGES.map((rangeBytes) => ({ rangeBytes })), { rangeBytes: 200, spill }].map((own) =>
  piecemealEngines([1, 4], 4, (options) => new Executor({ ...options, ...own })),
)
/** Of which columns are read whole. */
const whole = piecemealEngines([1, 4])
type Engines = (typeof whole)['engines']
afterAll(async () => {
  for (const { stop } of [...made, whole]) await stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly k: number | null
  readonly s: string
  readonly t: string | null
  readonly x: number
  readonly d: Date
  readonly b: boolean | null
}
const SCHEMA = new Schema([
  new Field('k', new Int32(), true),
  new Field('s', new Utf8(), false),
  new Field('t', new Utf8(), true),
  new Field('x', new Float64(), false),
  new Field('d', new DateDay(), false),
  new Field('b', new Bool(), true),
])
const text = fc.constantFrom('a', 'b', 'žluť', '', 'and a longer one')
const row: fc.Arbitrary<Row> = fc.record(
  {
    k: fc.option(fc.integer({ min: 0, max: 12 }), { freq: 8 }),
    s: text,
    t: fc.option(text, { freq: 3 }),
    x: fc.integer({ min: -9, max: 9 }).map((n) => n / 4),
    d: fc.integer({ min: 0, max: 5 }).map((day) => new Date(Date.UTC(2026, 0, 1 + day))),
    b: fc.option(fc.boolean(), { freq: 4 }),
  },
  { noNullPrototype: true },
)

/** What is done with a file's rows. Statistics of row groups decide on `early`; `bad` fails. */
const noon = new Date(Date.UTC(2026, 0, 3, 12))
const STEPS: Readonly<Record<string, (r: Row, i: number) => Row | undefined>> = {
  all: (r) => r,
  positive: (r) => (r.x > 0 ? r : undefined),
  none: () => undefined,
  early: (r) => (r.d < noon ? r : undefined),
  named: (r) => (r.s !== 'a' && r.t !== 'b' ? r : undefined),
  longer: (r) => ({ ...r, s: `${r.s}!`, x: r.x * 2 }),
  numbered: (r, i) => ({ ...r, x: i }),
  bad: (r) => {
    if (r.x === 2) throw new RangeError('two')
    return r
  },
}
const chainOf: Readonly<Record<string, (a: DistArray<Row>) => DistArray<Row>>> = {
  all: (a) => a,
  positive: (a) => a.filter((r) => r.x > 0),
  none: (a) => a.filter((r) => r.x > 100),
  early: (a) => a.filter((r) => r.d < noon),
  named: (a) => a.filter((r) => r.s !== 'a' && r.t !== 'b'),
  longer: (a) => a.map((r) => ({ k: r.k, s: `${r.s}!`, t: r.t, x: r.x * 2, d: r.d, b: r.b })) as DistArray<Row>,
  numbered: (a) => a.map((r, [i]) => ({ k: r.k, s: r.s, t: r.t, x: i, d: r.d, b: r.b })) as unknown as DistArray<Row>,
  bad: (a) =>
    a.filter((r) => {
      if (r.x === 2) throw new RangeError('two')
      return true
    }),
}
const step = fc.constantFrom('all', 'all', 'positive', 'positive', 'early', 'named', 'longer', 'numbered', 'none', 'bad')

const KEYS: Readonly<Record<string, (r: Row) => unknown>> = {
  k: (r) => r.k,
  s: (r) => r.s,
  t: (r) => r.t,
  d: (r) => r.d,
  'k and s': (r) => [r.k, r.s],
  'k + 1': (r) => (r.k ?? 0) + 1,
}
const keyText = (value: unknown): string | undefined =>
  value === null || (Array.isArray(value) && value.includes(null)) ? undefined : JSON.stringify(value)

type How = 'inner' | 'left' | 'right' | 'full' | 'semi' | 'anti'
const how = fc.constantFrom<How>('inner', 'inner', 'inner', 'left', 'right', 'full', 'semi', 'anti')
const NAMES = ['k', 's', 't', 'x', 'd', 'b'] as const

function dullJoin(left: readonly Row[], right: readonly Row[], keyOf: (r: Row) => unknown, kind: How): readonly object[] {
  const same = (l: Row, r: Row): boolean => keyText(keyOf(l)) !== undefined && keyText(keyOf(l)) === keyText(keyOf(r))
  if (kind === 'semi' || kind === 'anti') return left.filter((l) => right.some((r) => same(l, r)) === (kind === 'semi'))
  const both = (l: Row | undefined, r: Row | undefined): object =>
    Object.fromEntries([...NAMES.map((name) => [name, l?.[name] ?? null]), ...NAMES.map((name) => [`${name}_right`, r?.[name] ?? null])])
  const found = left.flatMap((l) => {
    const own = right.filter((r) => same(l, r))
    return own.length === 0 && (kind === 'left' || kind === 'full') ? [both(l, undefined)] : own.map((r) => both(l, r))
  })
  if (kind !== 'right' && kind !== 'full') return found
  return [...found, ...right.filter((r) => !left.some((l) => same(l, r))).map((r) => both(undefined, r))]
}

async function fileOf(name: string, rows: readonly Row[], rowGroupRows: number): Promise<LogicalPlan> {
  const path = join(folder, `${name}.parquet`)
  const source = sourceFromRows(rows as never, { schema: SCHEMA })
  const [split] = source.splits
  const batches = split === undefined ? [] : await readSplit(source, split, NAMES)
  await writeParquet({ batches, element: source.element, path, options: { rowGroupRows } })
  return tableOf(await openParquet(path))
}

const outcome = (rows: readonly Row[], name: string): readonly Row[] | undefined => {
  try {
    return rows.flatMap((r, i) => STEPS[name]?.(r, i) ?? [])
  } catch {
    return undefined
  }
}

test('joins over files of which ranges are read', async () => {
  const counts = { ranged: 0, partly: 0, failed: 0 }
  const rows = fc.array(row, { minLength: 1, maxLength: 40 })
  const side = fc.record({ rows, step, rowGroupRows: fc.integer({ min: 1, max: 9 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(side, side),
      fc.constantFrom(...Object.keys(KEYS)),
      how,
      fc.record({ range: fc.constantFrom(0, 1, 2, 2), engine: fc.nat(1), grouped: fc.boolean() }),
      async ([a, b], key, kind, { range, engine, grouped }) => {
        const { engines, arena } = made[range] as (typeof made)[number]
        const keyOf = KEYS[key] as (r: Row) => unknown
        const before = arena.usedBytes
        const [left, right] = await Promise.all(
          [a, b].map(async (one, i) => {
            // sorted by day, so that row groups are skipped
            const sorted = [...one.rows].sort((p, q) => p.d.getTime() - q.d.getTime())
            const file = new DistArray<Row>(engines[engine] as (typeof engines)[number], await fileOf(`${i}`, sorted, one.rowGroupRows))
            return { array: (chainOf[one.step] as (one: DistArray<Row>) => DistArray<Row>)(file), rows: outcome(sorted, one.step) }
          }),
        )
        if (left === undefined || right === undefined) throw new Error('There are two sides.')
        const joined = left.array.join(right.array, { left: keyOf, right: keyOf }, { how: kind }) as unknown as DistArray<Row>
        const asked = grouped ? joined.groupBy((r) => r.s).agg({ x: sum((r) => r.x) }) : joined
        const found: unknown = await asked.collect().catch((error: unknown) => error)
        expect(arena.usedBytes).toBe(before)
        if (left.rows === undefined || right.rows === undefined) {
          counts.failed++
          if (found instanceof Error) expect(found.message).toContain('two') // a side without rows may spare the other
          return
        }
        const dull = dullJoin(left.rows, right.rows, keyOf, kind)
        if (grouped) {
          const totals = new Map<unknown, number | null>()
          for (const { s, x } of dull as Row[]) totals.set(s, x === null ? (totals.get(s) ?? null) : (totals.get(s) ?? 0) + x)
          expect(found).toEqual([...totals].map(([group, x]) => ({ key: group, x: x ?? 0 })))
        } else expect(found).toEqual(dull)
        const text = await joined.explain({ analyze: true })
        if (!text.includes('a range at a time')) return
        counts.ranged++
        if (text.includes('spilled')) counts.partly++
      },
    ),
    LAW,
  )
  console.log(`ranges: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) {
    expect(counts.ranged).toBeGreaterThan(LAW.numRuns / 3)
    expect(counts.failed).toBeGreaterThan(LAW.numRuns / 50)
    expect(counts.partly).toBeGreaterThan(LAW.numRuns / 20)
  }
}, 300_000)

/** A table of many rows in few groups, so that their sums have chunks: by a generator that every run begins anew. */
interface Sale {
  readonly shop: string | null
  readonly n: number
  readonly open: boolean
  readonly day: Date
  readonly x: number
  readonly units: number
  readonly id: number | null
}
const SALES = new Schema([
  new Field('shop', new Utf8(), true),
  new Field('n', new Int32(), false),
  new Field('open', new Bool(), false),
  new Field('day', new DateDay(), false),
  new Field('x', new Float64(), false),
  new Field('units', new Int32(), false),
  new Field('id', new Float64(), true),
])
interface DrawnSales {
  readonly rows: number
  readonly shops: number
  readonly seed: number
}
function salesOf({ rows, shops, seed }: DrawnSales): readonly Sale[] {
  // ids are whole numbers but for one, or that and null
  const odd = [undefined, undefined, 0.5, -0, Number.NaN, null][(seed >>> 3) % 6]
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 8) / 2 ** 24
  }
  return Array.from({ length: rows }, (_, i) => {
    // shops come and go, so that ranges have others
    const shop = Math.floor(next() * shops * (0.3 + i / rows))
    return {
      shop: shop === 1 ? null : TOWNS[shop % TOWNS.length] + (shop >= TOWNS.length ? `${shop}` : ''),
      n: shop - 2 + Math.floor((3 * i) / rows),
      open: next() < 0.9,
      day: new Date(Date.UTC(2026, 0, 1 + shop)),
      x: (next() - 0.5) * 10 ** Math.floor(next() * 6),
      units: Math.floor(next() * 100),
      id: odd !== undefined && next() < 0.1 ? odd : Math.floor(next() * 2 * shops) - 2,
    }
  })
}
const TOWNS = ['Brno', 'Praha', 'žluť', '', 'a town with a longer name']

const GROUPS: Readonly<Record<string, (r: Sale) => unknown>> = {
  shop: (r) => r.shop,
  n: (r) => r.n,
  day: (r) => r.day,
  'shop and open': (r) => ({ shop: r.shop, open: r.open }),
  'n and shop': (r) => ({ n: r.n, shop: r.shop }),
  'n % 4': (r) => r.n % 4,
  open: (r) => r.open,
  id: (r) => r.id,
  'id and n': (r) => ({ id: r.id, n: r.n }),
}
const CHOICES: Readonly<Record<string, (a: DistArray<Sale>) => DistArray<Sale>>> = {
  all: (a) => a,
  'many units': (a) => a.filter((r) => r.units > 20),
  Brno: (a) => a.filter((r) => r.shop === 'Brno'),
  none: (a) => a.filter((r) => r.units > 1000),
}
const WANTED = {
  x: sum((r: Sale) => r.x),
  half: sum((r: Sale) => r.x * 0.5),
  mean: mean((r: Sale) => r.units),
  least: min((r: Sale) => r.x),
  most: max((r: Sale) => r.units),
  count: count(),
}
const { half: _, ...SOME } = WANTED
const SPREAD = { spread: stddev((r: Sale) => r.x), units: variance((r: Sale) => r.units), half: stddev((r: Sale) => r.x * 0.5) }
const DIFFERENT = { shops: countDistinct((r: Sale) => r.shop), ids: countDistinct((r: Sale) => r.id) }
/** All aggregates of groups that ranges are enough for. */
const AGGREGATES: Readonly<Record<string, Parameters<ReturnType<DistArray<Sale>['groupBy']>['agg']>[0]>> = {
  all: WANTED,
  some: SOME,
  spread: { ...WANTED, ...SPREAD },
  'spread alone': SPREAD,
  different: DIFFERENT,
  'different days': { days: countDistinct((r: Sale) => r.day), odd: countDistinct((r: Sale) => r.units % 3) },
  mixed: { ids: DIFFERENT.ids, ...SOME, shops: DIFFERENT.shops, ...SPREAD },
}

const NAMES_OF_SALES = SALES.fields.map(({ name }) => name)

async function batchesIn(source: ArraySource): Promise<readonly Batch[]> {
  const [split] = source.splits
  return split === undefined ? [] : await readSplit(source, split, NAMES_OF_SALES)
}

async function parquetOf(source: ArraySource, rowGroupRows: number): Promise<ArraySource> {
  const path = join(folder, 'sales.parquet')
  await writeParquet({ batches: await batchesIn(source), element: source.element, path, options: { rowGroupRows } })
  return await openParquet(path)
}

/** A file for so many rows each. */
async function csvOf(sales: readonly Sale[], rows: number): Promise<ArraySource> {
  const paths: string[] = []
  for (let from = 0; from < sales.length; from += rows) {
    const source = sourceFromRows(sales.slice(from, from + rows) as never, { schema: SALES })
    const path = join(folder, `sales${paths.length}.csv`)
    await writeCsv({ batches: await batchesIn(source), element: source.element, path })
    paths.push(path)
  }
  return await openCsv(paths)
}

test('groups of files of which ranges are read have the bits of those of a table in memory', async () => {
  const counts = { ranged: 0, chunks: 0, csv: 0, spread: 0, different: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        rows: fc.oneof({ arbitrary: fc.integer({ min: 1, max: 60 }), weight: 3 }, fc.integer({ min: 4_000, max: 14_000 })),
        shops: fc.integer({ min: 1, max: 9 }),
        seed: fc.nat(),
      }),
      fc.constantFrom(...Object.keys(GROUPS)),
      fc.constantFrom('all', 'all', 'many units', 'many units', 'Brno', 'none'),
      fc.constantFrom(...Object.keys(AGGREGATES)),
      fc.record({
        range: fc.nat(1),
        engine: fc.nat(1),
        pieces: fc.integer({ min: 1, max: 9 }),
        csv: fc.nat(3).map((n) => n === 0),
      }),
      async (drawn, by, choice, wanted, { range, engine, pieces, csv }) => {
        const { engines, arena } = made[range] as (typeof made)[number]
        const before = arena.usedBytes
        const sales = salesOf(drawn)
        const source = sourceFromRows(sales as never, { schema: SALES })
        const each = Math.ceil(drawn.rows / pieces)
        const file = tableOf(csv ? await csvOf(sales, each) : await parquetOf(source, each))
        const grouped = (over: Engines, table: LogicalPlan): DistArray<object> => {
          const rows = (CHOICES[choice] as (one: DistArray<Sale>) => DistArray<Sale>)(
            new DistArray<Sale>(over[engine] as Engines[0], table),
          )
          return rows.groupBy(GROUPS[by] as (r: Sale) => string).agg(AGGREGATES[wanted] as typeof WANTED) as unknown as DistArray<object>
        }
        const found = grouped(engines, file)
        // texts of CSV are read as numbers where all are
        expect(await found.collect()).toStrictEqual(await grouped(whole.engines, csv ? file : tableOf(source)).collect())
        expect(arena.usedBytes).toBe(before)
        if (!(await found.explain({ analyze: true })).includes('a range at a time')) return
        counts.ranged++
        if (csv) counts.csv++
        if (drawn.rows > 60) counts.chunks++
        if (wanted.startsWith('spread')) counts.spread++
        if (wanted.startsWith('different')) counts.different++
      },
    ),
    LAW,
  )
  console.log(`groups of ranges: ${JSON.stringify(counts)}`)
  if (LAW.numRuns < FEW_RUNS) return
  expect(Math.min(counts.ranged / 3, counts.chunks)).toBeGreaterThan(LAW.numRuns / 10)
  expect(Math.min(counts.spread, counts.different)).toBeGreaterThan(LAW.numRuns / 20)
}, 600_000)

/** Elements whose equal ones are one. */
const ELEMENTS: Readonly<Record<string, (a: DistArray<Sale>) => DistArray<unknown>>> = {
  shops: (a) => a.select('shop'),
  'shops and ids': (a) => a.select('id', 'shop'),
  'ids as values': (a) => a.map((r) => r.id),
  'days, n and open': (a) => a.select('day', 'n', 'open'),
  computed: (a) => a.map((r) => ({ third: r.units % 3, shop: r.shop, many: r.units > 50 })),
  all: (a) => a.map((r) => ({ x: r.x > 0, units: Math.floor(r.units / 20), day: r.day, id: r.id })),
}
/** An element's text: 0 and -0 are one. */
const elementText = (element: unknown): string => JSON.stringify(element, (_, value) => (Number.isNaN(value) ? 'NaN' : value))

test('distinct elements of files of which ranges are read', async () => {
  const counts = { ranged: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        rows: fc.oneof({ arbitrary: fc.integer({ min: 1, max: 60 }), weight: 3 }, fc.integer({ min: 1_000, max: 5_000 })),
        shops: fc.integer({ min: 1, max: 9 }),
        seed: fc.nat(),
      }),
      fc.constantFrom(...Object.keys(ELEMENTS)),
      fc.constantFrom('all', 'all', 'many units', 'Brno', 'none'),
      fc.record({ range: fc.nat(1), engine: fc.nat(1), pieces: fc.integer({ min: 1, max: 9 }), csv: fc.nat(3).map((n) => n === 0) }),
      async (drawn, elements, choice, { range, engine, pieces, csv }) => {
        const { engines, arena } = made[range] as (typeof made)[number]
        const before = arena.usedBytes
        const sales = salesOf(drawn)
        const source = sourceFromRows(sales as never, { schema: SALES })
        const each = Math.ceil(drawn.rows / pieces)
        const file = tableOf(csv ? await csvOf(sales, each) : await parquetOf(source, each))
        const chosen = (over: Engines): DistArray<unknown> => {
          const rows = (CHOICES[choice] as (one: DistArray<Sale>) => DistArray<Sale>)(new DistArray<Sale>(over[engine] as Engines[0], file))
          return (ELEMENTS[elements] as (one: DistArray<Sale>) => DistArray<unknown>)(rows)
        }
        const seen = new Set<string>()
        const dull = (await chosen(whole.engines).collect()).filter((one) => {
          const text = elementText(one)
          return !seen.has(text) && seen.add(text)
        })
        const found = chosen(engines).distinct()
        expect(await found.collect()).toStrictEqual(dull)
        expect(arena.usedBytes).toBe(before)
        if ((await found.explain({ analyze: true })).includes('a range at a time')) counts.ranged++
      },
    ),
    LAW,
  )
  console.log(`distinct elements of ranges: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(counts.ranged).toBeGreaterThan(LAW.numRuns / 4)
}, 600_000)

/** What first rows are taken by. */
const ORDERS: Readonly<Record<string, (a: DistArray<Sale>, descending: boolean) => DistArray<Sale>>> = {
  shop: (a, descending) => a.sortBy((r) => r.shop, { descending }),
  n: (a, descending) => a.sortBy((r) => r.n, { descending }),
  day: (a, descending) => a.sortBy((r) => r.day, { descending }),
  open: (a, descending) => a.sortBy((r) => r.open, { descending }),
  id: (a, descending) => a.sortBy((r) => r.id, { descending }),
  'third of units': (a, descending) => a.sortBy((r) => r.units % 3, { descending }),
  'units and shop': (a, descending) =>
    a.sortBy([{ by: (r) => r.units, order: descending ? 'descending' : 'ascending' }, { by: (r) => r.shop }]),
  'id, nulls first': (a, descending) => a.sortBy([{ by: (r) => r.id, order: descending ? 'descending' : 'ascending', nulls: 'first' }]),
}
/** What is left of the rows before they are sorted, or after. */
const SHAPES: Readonly<Record<string, (a: DistArray<Sale>) => DistArray<Sale>>> = {
  all: (a) => a,
  'few columns': (a) => a.map((r) => ({ ...r, x: r.x * 2 })),
  numbered: (a) => a.map((r, [i]) => ({ ...r, x: i })),
}

test('first rows, by an order, of files of which ranges are read', async () => {
  const counts = { ranged: 0, limited: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        rows: fc.oneof({ arbitrary: fc.integer({ min: 1, max: 60 }), weight: 3 }, fc.integer({ min: 1_000, max: 5_000 })),
        shops: fc.integer({ min: 1, max: 9 }),
        seed: fc.nat(),
      }),
      fc.record({ order: fc.constantFrom(...Object.keys(ORDERS)), descending: fc.boolean(), first: fc.integer({ min: 1, max: 40 }) }),
      fc.record({
        choice: fc.constantFrom('all', 'all', 'many units', 'Brno', 'none'),
        shape: fc.constantFrom('all', 'all', 'few columns', 'numbered'),
      }),
      fc.record({ range: fc.nat(1), engine: fc.nat(1), pieces: fc.integer({ min: 1, max: 9 }), csv: fc.nat(3).map((n) => n === 0) }),
      async (drawn, { order, descending, first }, { choice, shape }, { range, engine, pieces, csv }) => {
        const { engines, arena } = made[range] as (typeof made)[number]
        const before = arena.usedBytes
        const sales = salesOf(drawn)
        const source = sourceFromRows(sales as never, { schema: SALES })
        const each = Math.ceil(drawn.rows / pieces)
        const file = tableOf(csv ? await csvOf(sales, each) : await parquetOf(source, each))
        const sorted = (over: Engines, table: LogicalPlan): DistArray<Sale> => {
          const chosen = (CHOICES[choice] as (one: DistArray<Sale>) => DistArray<Sale>)(
            new DistArray<Sale>(over[engine] as Engines[0], table),
          )
          const shaped = (SHAPES[shape] as (one: DistArray<Sale>) => DistArray<Sale>)(chosen)
          return (ORDERS[order] as (one: DistArray<Sale>, descending: boolean) => DistArray<Sale>)(shaped, descending)
        }
        const found = sorted(engines, file).limit(first)
        const all = await sorted(whole.engines, csv ? file : tableOf(source)).collect()
        expect(await found.collect()).toStrictEqual(all.slice(0, first))
        expect(arena.usedBytes).toBe(before)
        if (!(await found.explain({ analyze: true })).includes('a range at a time')) return
        counts.ranged++
        if (all.length > first) counts.limited++
      },
    ),
    LAW,
  )
  console.log(`first rows of ranges: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(counts.limited).toBeGreaterThan(LAW.numRuns / 5)
}, 600_000)
