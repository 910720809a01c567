/**
 * Law: what a program keeps in a variable and uses in several places gives what the same chain gives that is written out in each of them,
 * and what plain JavaScript gives; whether it runs once, or is left as it is since a place takes some of its rows alone.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { count, type DistArray, max, rank, Session, sum } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('sharedSubplans.prop.ts')
const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => await session.stop())

interface Sale {
  readonly id: number
  readonly item: number | null
  readonly day: number
  readonly amount: number
}
interface Item {
  readonly item: number
  readonly brand: string | null
  readonly group: string
}
/** The rows of a shared part. */
interface Row {
  readonly id: number
  readonly day: number
  readonly amount: number
  readonly brand: string | null
  readonly group: string
}

const sales = fc
  .array(fc.record({ item: fc.option(fc.nat(6), { freq: 6 }), day: fc.nat(3), amount: fc.integer({ min: -5, max: 9 }) }), {
    maxLength: 60,
  })
  .map((rows): readonly Sale[] => rows.map((row, id) => ({ id, ...row })))
const items = fc
  .array(fc.record({ brand: fc.constantFrom(null, 'a', 'żółw'), group: fc.constantFrom('x', 'y', '') }), { minLength: 1, maxLength: 7 })
  .map((rows): readonly Item[] => rows.map((row, item) => ({ item, ...row })))

/** Groups in the order of their first rows. */
function grouped<T>(rows: readonly T[], keyOf: (row: T) => unknown): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const key = JSON.stringify(keyOf(row))
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()]
}
const total = (rows: readonly Row[]): number => rows.reduce((all, { amount }) => all + amount, 0)
const joined = (left: readonly Sale[], right: readonly Item[]): Row[] =>
  left.flatMap(({ id, day, amount, item }) =>
    right.filter((one) => one.item === item).map(({ brand, group }) => ({ id, day, amount, brand, group })),
  )

type Tables = { readonly sales: DistArray<Sale>; readonly items: DistArray<Item> }
const join = ({ sales: from, items: to }: Tables): DistArray<Row> =>
  from
    .join(to, { left: (s) => s.item, right: (i) => i.item })
    .map((r) => ({ id: r.id, day: r.day, amount: r.amount, brand: r.brand, group: r.group }))

/** Parts, as chains and as plain JavaScript. */
const PARTS: Readonly<
  Record<string, readonly [(tables: Tables) => DistArray<Row>, (from: readonly Sale[], to: readonly Item[]) => readonly Row[]]>
> = {
  'a join': [join, joined],
  'a join of some': [
    (t) => join({ ...t, sales: t.sales.filter((s) => s.day > 0) }),
    (from, to) =>
      joined(
        from.filter(({ day }) => day > 0),
        to,
      ),
  ],
  groups: [
    (t) =>
      join(t)
        .groupBy((r) => ({ brand: r.brand, day: r.day }))
        .agg({ id: count(), amount: sum((r) => r.amount), group: max((r) => r.group) })
        .map((g) => ({ id: g.id, day: g.day, amount: g.amount, brand: g.brand, group: g.group ?? '' })),
    (from, to) =>
      grouped(joined(from, to), ({ brand, day }) => [brand, day]).map((rows) => ({
        ...(rows[0] as Row),
        ...{ id: rows.length, amount: total(rows), group: rows.map(({ group }) => group).reduce((a, b) => (b > a ? b : a)) },
      })),
  ],
  'different rows': [
    (t) =>
      join(t)
        .map((r) => ({ id: 0, day: r.day, amount: r.amount, brand: r.brand, group: r.group }))
        .distinct(),
    (from, to) =>
      grouped(
        joined(from, to).map((row) => ({ ...row, id: 0 })),
        (row) => row,
      ).map(([row]) => row as Row),
  ],
  'a table': [
    (t) => t.sales.map((s) => ({ id: s.id, day: s.day, amount: s.amount, brand: null as string | null, group: 'z' })),
    (from) => from.map(({ id, day, amount }) => ({ id, day, amount, brand: null, group: 'z' })),
  ],
}

interface Out {
  readonly a: number | null
  readonly b: number | null
  readonly c: string | null
}
const row = (a: number | null, b: number | null, c: string | null): Out => ({ a, b, c })

/** What places make of a part. */
const PLACES: Readonly<Record<string, readonly [(part: DistArray<Row>) => DistArray<Out>, (rows: readonly Row[]) => readonly Out[]]>> = {
  'sums by brand': [
    (p) =>
      p
        .groupBy((r) => ({ c: r.brand }))
        .agg({ a: sum((r) => r.amount), b: count() })
        .map((g) => ({ a: g.a, b: g.b, c: g.c })),
    (rows) => grouped(rows, ({ brand }) => brand).map((own) => row(total(own), own.length, (own[0] as Row).brand)),
  ],
  'counts by group and day': [
    (p) =>
      p
        .groupBy((r) => ({ c: r.group, a: r.day }))
        .agg({ b: count() })
        .map((g) => ({ a: g.a, b: g.b, c: g.c })),
    (rows) => grouped(rows, ({ group, day }) => [group, day]).map((own) => row((own[0] as Row).day, own.length, (own[0] as Row).group)),
  ],
  'one row of all': [
    (p) => p.agg({ a: count() }).map((g) => ({ a: g.a, b: null as number | null, c: null as string | null })),
    (rows) => [row(rows.length, null, null)],
  ],
  'all rows': [
    (p) => p.map((r) => ({ a: r.id as number | null, b: r.amount as number | null, c: r.group as string | null })),
    (rows) => rows.map(({ id, amount, group }) => row(id, amount, group)),
  ],
  'in order': [
    (p) =>
      p
        .sortBy([(r) => r.amount, (r) => r.id, (r) => r.day, (r) => r.group, (r) => r.brand ?? '~'])
        .map((r) => ({ a: r.amount as number | null, b: r.id as number | null, c: r.brand })),
    (rows) =>
      [...rows]
        .sort(
          (x, y) => x.amount - y.amount || x.id - y.id || x.day - y.day || order(x.group, y.group) || order(x.brand ?? '~', y.brand ?? '~'),
        )
        .map(({ amount, id, brand }) => row(amount, id, brand)),
  ],
  ranks: [
    (p) =>
      p
        .window({ by: (r) => r.day, orderBy: (r) => r.amount }, { n: rank() })
        .map((r) => ({ a: r.n as number | null, b: r.amount as number | null, c: r.group as string | null })),
    (rows) => rows.map((r) => row(1 + rows.filter(({ day, amount }) => day === r.day && amount < r.amount).length, r.amount, r.group)),
  ],
  'some rows': [
    (p) => p.filter((r) => r.amount > 2).map((r) => ({ a: r.day as number | null, b: r.amount as number | null, c: r.brand })),
    (rows) => rows.filter(({ amount }) => amount > 2).map(({ day, amount, brand }) => row(day, amount, brand)),
  ],
  'the first rows': [
    (p) => p.limit(3).map((r) => ({ a: r.day as number | null, b: r.amount as number | null, c: r.brand })),
    (rows) => rows.slice(0, 3).map(({ day, amount, brand }) => row(day, amount, brand)),
  ],
  'beside itself': [
    (p) =>
      p
        .join(
          p.filter((r) => r.day === 1),
          { left: (r) => r.group, right: (r) => r.group },
          { how: 'semi' },
        )
        .map((r) => ({ a: r.id as number | null, b: r.day as number | null, c: r.group as string | null })),
    (rows) =>
      rows.filter(({ group }) => rows.some((one) => one.day === 1 && one.group === group)).map(({ id, day, group }) => row(id, day, group)),
  ],
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const rowsBy = {
  collected: async (table: DistArray<Out>): Promise<readonly Out[]> => await table.collect(),
  stored: async (table: DistArray<Out>): Promise<readonly Out[]> => await table.materialize().collect(),
  streamed: async (table: DistArray<Out>): Promise<readonly Out[]> => {
    const rows: Out[] = []
    for await (const row of table) rows.push(row)
    return rows
  },
}

test('a part in a variable gives what it gives where it is written out, and what plain JavaScript gives', async () => {
  const counts = { shared: 0, left: 0, rows: 0 }
  await fc.assert(
    fc.asyncProperty(
      sales,
      items,
      fc.constantFrom(...Object.keys(PARTS)),
      fc.array(fc.constantFrom(...Object.keys(PLACES)), { minLength: 2, maxLength: 4 }),
      fc.constantFrom('collected' as const, 'stored' as const, 'streamed' as const),
      async (from, to, part, places, how) => {
        const tables: Tables = {
          sales: session
            .fromRows(from.length === 0 ? [{ id: 0, item: 0 as number | null, day: 0, amount: 0 }] : [...from])
            .filter((s) => from.length > 0 || s.id > 0),
          items: session.fromRows([...to]),
        }
        const [make, rowsOf] = PARTS[part]!
        const kept = make(tables)
        const together = (partOf: () => DistArray<Row>): DistArray<Out> => {
          const [first, ...others] = places.map((place) => PLACES[place]![0](partOf()))
          return first!.union(...others) as DistArray<Out>
        }
        const shared = together(() => kept)
        const apart = together(() => make(tables))
        if (shared.explain().includes('which runs once')) counts.shared++
        else counts.left++
        const rows = rowsOf(from, to)
        const expected = places.flatMap((place) => PLACES[place]![1](rows))
        counts.rows += Math.min(1, expected.length)
        expect(await rowsBy[how](shared)).toEqual(expected)
        expect(await apart.collect()).toEqual(expected)
      },
    ),
    LAW,
  )
  console.log(JSON.stringify(counts))
  expect(Math.min(counts.shared, counts.left, counts.rows)).toBeGreaterThan(LAW.numRuns / 10)
})
