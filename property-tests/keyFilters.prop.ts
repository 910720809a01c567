/**
 * Law: joins whose one side filters the other's rows by its keys have the rows of the dullest join, in its order; so have
 * sorts, groups and pieces over columns that go on beside what is computed of them.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { PARTITION_ROWS } from '../src/exec/tables/operators/partitions.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('keyFilters.prop.ts')
const { engines, stop } = piecemealEngines([1, 2, 3], PARTITION_ROWS)
afterAll(stop)

/** From so many cases on, shares of them are asked for. */
const FEW_RUNS = 500

interface Row {
  readonly k: number | null
  readonly s: string
  readonly x: number
}
type How = 'inner' | 'left' | 'right' | 'full' | 'semi' | 'anti'
const HOWS: readonly How[] = ['inner', 'inner', 'left', 'right', 'full', 'semi', 'anti']

const TEXTS = ['a', 'b', 'žluť', '', 'and a longer one']
const key = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 40 }), weight: 8 },
  { arbitrary: fc.constant(null), weight: 1 },
  { arbitrary: fc.constantFrom(-0, 2 ** 31, -(2 ** 31), 1e9, 17_000_000), weight: 1 },
)
const row: fc.Arbitrary<Row> = fc.record(
  { k: key, s: fc.constantFrom(...TEXTS), x: fc.integer({ min: -9, max: 9 }).map((n) => n / 4) },
  { noNullPrototype: true },
)
/** Now and then keys with a fraction, which are no set of whole numbers. */
const rows = (most: number): fc.Arbitrary<readonly Row[]> =>
  fc
    .tuple(fc.array(row, { minLength: 1, maxLength: most }), fc.nat(9))
    .map(([all, odd]) => (odd > 0 ? all : all.map((r) => ({ ...r, k: (r.k ?? 0) + 0.5 }))))

interface Keys {
  readonly left: (r: Row) => unknown
  readonly right: (r: Row) => unknown
  /** For filters of sides, so that each is another function. */
  readonly text: string
}
const KEYS: readonly Keys[] = [
  { left: (r) => r.k, right: (r) => r.k, text: 'k' },
  { left: (r) => r.k, right: (r) => (r.k ?? 0) * 2, text: 'k and 2 k' },
  { left: (r) => r.s, right: (r) => r.s, text: 's' },
  { left: (r) => [r.k, r.s], right: (r) => [r.k, r.s], text: 'k and s' },
  { left: (r) => ({ k: r.k, x: r.x }), right: (r) => ({ k: r.k, x: r.x }), text: 'an object' },
]

const hasNull = (value: unknown): boolean => value === null || (typeof value === 'object' && Object.values(value as object).some(hasNull))
const sameKey = (a: unknown, b: unknown): boolean => !hasNull(a) && !hasNull(b) && JSON.stringify(plain(a)) === JSON.stringify(plain(b))
/** -0 equals 0. */
const plain = (value: unknown): unknown => (typeof value === 'number' ? value + 0 : Array.isArray(value) ? value.map(plain) : value)

function dullJoin(left: readonly Row[], right: readonly Row[], keys: Keys, how: How): readonly object[] {
  const matches = (l: Row): readonly Row[] => right.filter((r) => sameKey(keys.left(l), keys.right(r)))
  if (how === 'semi' || how === 'anti') return left.filter((l) => matches(l).length > 0 === (how === 'semi'))
  const joined = (l: Row | undefined, r: Row | undefined): object => ({
    ...(l ?? { k: null, s: null, x: null }),
    k_right: r?.k ?? null,
    s_right: r?.s ?? null,
    x_right: r?.x ?? null,
  })
  const all = left.flatMap((l) => {
    const found = matches(l)
    return found.length === 0 && (how === 'left' || how === 'full') ? [joined(l, undefined)] : found.map((r) => joined(l, r))
  })
  if (how !== 'right' && how !== 'full') return all
  return [...all, ...right.filter((r) => !left.some((l) => sameKey(keys.left(l), keys.right(r)))).map((r) => joined(undefined, r))]
}

const arrayOf = (engine: number, given: readonly Row[]): DistArray<Row> =>
  new DistArray<Row>(engines[engine] as (typeof engines)[number], tableOfRows(given))

test('joins with filters on either side, or both', async () => {
  let filtered = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({ left: rows(60), own: rows(60), keys: fc.constantFrom(...KEYS), how: fc.constantFrom(...HOWS) }),
      fc.record({
        alike: fc.nat(3),
        engine: fc.nat(2),
        stored: fc.boolean(),
        leftFilter: fc.option(fc.integer({ min: -3, max: 3 })),
        rightFilter: fc.option(fc.integer({ min: -3, max: 3 })),
      }),
      fc.boolean(),
      async ({ left, own, keys, how }, { alike, engine, stored, leftFilter, rightFilter }, again) => {
        // keys of several parts seldom match by themselves
        const right = [...own, ...left.slice(0, alike)]
        const side = (given: readonly Row[], least: number | null): DistArray<Row> => {
          const table = stored ? arrayOf(engine, given).materialize() : arrayOf(engine, given)
          return least === null ? table : table.filter((r) => r.x > least)
        }
        const kept = (given: readonly Row[], least: number | null): readonly Row[] =>
          least === null ? given : given.filter((r) => r.x > least)
        const joined = side(left, leftFilter).join(
          side(right, rightFilter),
          { left: keys.left, right: keys.right },
          { how },
        ) as DistArray<Row>
        const text = joined.explain()
        if (text.includes('where they are few')) filtered++
        const dull = dullJoin(kept(left, leftFilter), kept(right, rightFilter), keys, how)
        expect(await joined.collect(), text).toEqual(dull)
        // a join above it takes what it gives
        if (!again || how === 'semi' || how === 'anti' || keys.text !== 'k') return
        const above = joined.join(side(right, rightFilter), { left: (r) => r.k, right: (r) => r.k }, { how: 'semi' })
        expect(await above.collect()).toEqual(dull.filter((l) => kept(right, rightFilter).some((r) => sameKey((l as Row).k, r.k))))
      },
    ),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(filtered).toBeGreaterThan(LAW.numRuns / 10)
}, 300_000)

type Fields = Readonly<Record<string, unknown>>

/** The dullest join of any rows: `names` are the columns of the sides. */
function dullRows(
  left: readonly Fields[],
  right: readonly Fields[],
  names: readonly [readonly string[], readonly string[]],
  { keys, how, suffix }: { readonly keys: readonly [string, string][]; readonly how: How; readonly suffix: string },
): readonly Fields[] {
  const isMatch = (l: Fields, r: Fields): boolean => keys.every(([a, b]) => l[a] !== null && r[b] !== null && plain(l[a]) === plain(r[b]))
  if (how === 'semi' || how === 'anti') return left.filter((l) => right.some((r) => isMatch(l, r)) === (how === 'semi'))
  const pair = (l: Fields | undefined, r: Fields | undefined): Fields => ({
    ...Object.fromEntries(names[0].map((name) => [name, l?.[name] ?? null])),
    ...Object.fromEntries(names[1].map((name) => [names[0].includes(name) ? name + suffix : name, r?.[name] ?? null])),
  })
  const all = left.flatMap((l) => {
    const found = right.filter((r) => isMatch(l, r))
    return found.length === 0 && (how === 'left' || how === 'full') ? [pair(l, undefined)] : found.map((r) => pair(l, r))
  })
  if (how !== 'right' && how !== 'full') return all
  return [...all, ...right.filter((r) => !left.some((l) => isMatch(l, r))).map((r) => pair(undefined, r))]
}

const NAMES = ['k', 's', 'x'] as const

function dullGroups(given: readonly Row[], by: readonly ('k' | 's')[], most: number): readonly Fields[] {
  const groups = new Map<string, { total: number; n: number }>()
  for (const r of given) {
    const name = JSON.stringify(by.map((part) => plain(r[part])))
    const group = groups.get(name) ?? { ...Object.fromEntries(by.map((part) => [part, r[part]])), total: 0, n: 0 }
    groups.set(name, { ...group, total: group.total + r.x, n: group.n + 1 })
  }
  return [...groups.values()].filter((g) => g.n <= most)
}

interface NarrowTable {
  readonly rows: readonly Row[]
  readonly source: ArraySource
}

const narrowArray = (engine: number, { source }: NarrowTable): DistArray<Row> =>
  new DistArray<Row>(engines[engine] as (typeof engines)[number], tableOf(source)).materialize()

/** Rows whose keys are integers of 32 bits that lie together, in columns of which kernels take sums as they are. */
function narrowTable(rows: readonly Row[]): NarrowTable {
  const k = Int32Array.from(rows, (r) => (r.k ?? 0) % 16)
  const columns = { k, s: rows.map((r) => r.s), x: Float64Array.from(rows, (r) => r.x) }
  return { rows: rows.map((r, i) => ({ ...r, k: k[i] as number })), source: sourceFromColumns(columns) }
}

test('keys filter what the other side is computed from: rows of groups, and of joins', async () => {
  let filtered = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({ a: rows(40), b: rows(20), c: rows(9) }),
      fc.record({ how: fc.constantFrom(...HOWS), inner: fc.constantFrom(...HOWS), least: fc.integer({ min: -1, max: 2 }) }),
      fc.record({ engine: fc.nat(2), swapped: fc.boolean(), several: fc.boolean(), most: fc.integer({ min: 1, max: 3 }) }),
      fc.boolean(),
      async ({ a, b, c }, { how, inner, least }, { engine, swapped, several, most }, isNarrow) => {
        const table = (given: readonly Row[]): DistArray<Row> => arrayOf(engine, given).materialize()
        const narrow = narrowTable(c)
        const few = (isNarrow ? narrowArray(engine, narrow) : table(c)).filter((r) => r.x > least)
        const kept = (isNarrow ? narrow.rows : c).filter((r) => r.x > least) as unknown as readonly Fields[]
        const asked = { how, suffix: '_few' }
        const check = async (other: DistArray<object>, dull: readonly Fields[], names: readonly string[], key: string) => {
          const isSeveral = several && key === 'k' && names.includes('s')
          const others = other as unknown as DistArray<Row & Record<string, unknown>>
          const one = { left: (r: Row) => r.k, right: KEYS_OF[key] as (r: object) => unknown }
          const two = { left: (r: Row) => [r.k, r.s], right: (r: Row) => [r.k, r.s] }
          const on = (isSeveral ? two : one) as typeof one
          const back = { left: on.right as (r: Row) => unknown, right: on.left as (r: Row) => unknown }
          const joined = (swapped ? others.join(few, back as never, asked) : few.join(others, on as never, asked)) as DistArray<object>
          const text = joined.explain()
          if (text.includes('computed from')) filtered++
          const pairs: [string, string][] = isSeveral ? SEVERAL : [['k', key]]
          const found = swapped
            ? dullRows(dull, kept, [names, NAMES], { keys: pairs.map(([x, y]) => [y, x]), ...asked })
            : dullRows(kept, dull, [NAMES, names], { keys: pairs, ...asked })
          expect(await joined.collect(), text).toEqual(found)
        }
        const aggregates = { total: sum((r: Row) => r.x), n: count() }
        if (isNarrow) {
          const given = narrowTable([...a, ...b, ...c])
          const numbered = narrowArray(engine, given)
            .groupBy((r) => ({ k: r.k }))
            .agg(aggregates)
            .filter((g) => g.n <= most)
          return await check(numbered, dullGroups(given.rows, ['k'], most), ['k', 'total', 'n'], 'k')
        }
        const groups = table(a)
          .groupBy((r) => ({ k: r.k, s: r.s }))
          .agg(aggregates)
          .filter((g) => g.n <= most)
        await check(groups, dullGroups(a, ['k', 's'], most), ['k', 's', 'total', 'n'], 'k')
        const both = table(a).join(table(b), { left: (r) => r.s, right: (r) => r.s }, { how: inner }) as unknown as DistArray<object>
        const isOne = inner === 'semi' || inner === 'anti'
        const pairsOf = dullRows(a as unknown as readonly Fields[], b as unknown as readonly Fields[], [NAMES, NAMES], {
          keys: [['s', 's']],
          how: inner,
          suffix: '_right',
        })
        const names = isOne ? NAMES : [...NAMES, ...NAMES.map((name) => `${name}_right`)]
        await check(both, pairsOf, names, isOne ? 'k' : swapped ? 'k' : 'k_right')
      },
    ),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(filtered).toBeGreaterThan(LAW.numRuns / 10)
}, 300_000)

const SEVERAL: [string, string][] = [
  ['k', 'k'],
  ['s', 's'],
]
const KEYS_OF: Readonly<Record<string, (r: Record<string, unknown>) => unknown>> = { k: (r) => r.k, k_right: (r) => r.k_right }

test('sorts, groups and pieces of filtered columns', async () => {
  await fc.assert(
    fc.asyncProperty(rows(80), fc.nat(2), fc.boolean(), fc.integer({ min: -3, max: 3 }), async (given, engine, stored, least) => {
      const table = (stored ? arrayOf(engine, given).materialize() : arrayOf(engine, given)).filter((r) => r.x > least)
      const kept = given.filter((r) => r.x > least)
      expect(await table.sortBy((r) => r.x).collect()).toEqual([...kept].sort((a, b) => a.x - b.x))
      expect(
        await table
          .map((r) => r.x)
          .sortBy((x) => -x)
          .collect(),
      ).toEqual(kept.map((r) => r.x).sort((a, b) => b - a))
      const most = new Map<string, Row>()
      for (const r of kept) {
        const known = most.get(r.s)
        if (known === undefined || r.x > known.x) most.set(r.s, r)
      }
      const greatest = table.groupBy((r) => r.s).reduce((a, b) => (b.x > a.x ? b : a))
      expect(await greatest.collect()).toEqual([...most].map(([name, value]) => ({ key: name, value })))
      const lengths = await table
        .groupBy((r) => r.k)
        .map((k, values) => ({ k, n: values.length }))
        .collect()
      expect(lengths.reduce((sum, { n }) => sum + n, 0)).toBe(kept.length)
      expect((await table.repartition({ by: (r) => r.x > 0, partitions: 2 }).collect()).length).toBe(kept.length)
    }),
    LAW,
  )
}, 300_000)
