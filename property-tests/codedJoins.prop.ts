/**
 * Law: groups by texts that a join has put beside rows, or that a window hands on from a stored table, and by functions of these texts, are
 * those of plain maps, as are different rows of them; so are the groups of that table afterwards, whose texts have no codes of a run that has ended.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { rowNumber } from '../src/core/plan/windows.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('codedJoins.prop.ts')
const { engines, stop } = piecemealEngines([1, 2, 3], 64)
afterAll(stop)

interface Sale {
  readonly k: number
  readonly shop: string | null
  readonly x: number
}
const text = fc.oneof(fc.constantFrom('a', 'b', 'žluť', '', null), fc.string({ maxLength: 3 }))
const sale: fc.Arbitrary<Sale> = fc.record(
  { k: fc.nat(5), shop: text, x: fc.integer({ min: -9, max: 9 }).map((n) => n / 4) },
  { noNullPrototype: true },
)
const kind = fc.record({ k: fc.nat(5), name: text, kind: text }, { noNullPrototype: true })

type Pair = Sale & { readonly name: string | null; readonly kind: string | null }

/** Keys of groups of joined rows, of which some are functions of texts, and null. */
const KEYS: readonly ((r: Pair) => object)[] = [
  (r) => ({ name: r.name }),
  (r) => ({ name: r.name, shop: r.shop, kind: r.kind }),
  (r) => ({ name: (r.name ?? '-').slice(0, 1), nothing: null }),
  (r) => ({ nothing: null, name: r.name === null ? null : r.name.toUpperCase(), kind: r.kind }),
  (r) => ({ both: `${r.name}/${r.kind}`, size: r.shop?.length ?? -1 }),
]

type Totals = { readonly total: number; readonly n: number }

function dullGroups<R>(given: readonly R[], key: (r: R) => object, x: (r: R) => number): readonly Totals[] {
  const groups = new Map<string, { total: number; n: number }>()
  for (const r of given) {
    const name = JSON.stringify(key(r))
    const group = groups.get(name) ?? { ...key(r), total: 0, n: 0 }
    groups.set(name, { ...group, total: group.total + x(r), n: group.n + 1 })
  }
  return [...groups.values()]
}

test('groups by texts of joins and windows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ sales: fc.array(sale, { minLength: 1, maxLength: 60 }), kinds: fc.array(kind, { minLength: 1, maxLength: 8 }) }),
      fc.record({ engine: fc.nat(2), key: fc.constantFrom(...KEYS), isKept: fc.boolean(), isWindow: fc.boolean() }),
      async ({ sales, kinds }, { engine, key, isKept, isWindow }) => {
        const of = <R>(given: readonly R[]) =>
          new DistArray<R>(engines[engine] as (typeof engines)[number], tableOfRows(given as never)).materialize()
        const table = of(sales)
        const joined = table.join(of(kinds), 'k') as DistArray<Pair>
        const pairs: readonly Pair[] = sales.flatMap((s) => kinds.filter((one) => one.k === s.k).map((one) => ({ ...s, ...one })))
        const totals = { total: sum((r: { x: number }) => r.x), n: count() }
        const isNamed = (r: Pair): boolean => (r.kind ?? '').trim() !== ''
        const kept = isKept ? joined.filter(isNamed) : joined
        const all = kept.groupBy(key).agg(totals)
        const dull = dullGroups(isKept ? pairs.filter(isNamed) : pairs, key, (r) => r.x)
        expect(await all.collect()).toEqual(dull)
        expect(await kept.map(key).distinct().collect()).toEqual(dull.map(({ total: _, n: __, ...one }) => one))
        const shops = dullGroups(
          sales,
          (r) => ({ shop: r.shop }),
          (r) => r.x,
        )
        const windowed = table.window({ by: (r) => r.k }, { at: rowNumber() })
        if (isWindow)
          expect(
            await windowed
              .groupBy((r) => ({ shop: r.shop }))
              .agg(totals)
              .collect(),
          ).toEqual(shops)
        expect(await all.collect()).toEqual(dull)
        expect(
          await table
            .groupBy((r) => ({ shop: r.shop }))
            .agg(totals)
            .collect(),
        ).toEqual(shops)
      },
    ),
    LAW,
  )
}, 300_000)
