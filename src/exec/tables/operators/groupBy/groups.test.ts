import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface Sale {
  readonly shop: number
  readonly amount: number
  readonly note: string | null
  readonly at: Date
}

/** A shop with more sales than a chunk has, one with a single sale, and some with few. */
const SALES = Array.from({ length: 9_000 }, (_, i): Sale => {
  const shop = i === 4_321 ? 99 : i % 3 === 0 ? 1 + (i % 5) : 0
  return { shop, amount: (i * 7919) % 1_000, note: i % 4 === 0 ? null : `note ${i}`, at: new Date(i * 1_000) }
})

function plain(f: (a: Sale, b: Sale) => Sale): readonly (Sale & { readonly of: number })[] {
  const groups = new Map<number, Sale>()
  for (const sale of SALES) groups.set(sale.shop, groups.has(sale.shop) ? f(groups.get(sale.shop) as Sale, sale) : sale)
  return [...groups].map(([of, sale]) => ({ of, ...sale }))
}

/** Functions for which the way of combining does not matter. */
const FUNCTIONS: readonly ((a: Sale, b: Sale) => Sale)[] = [
  (a, b) => (b.amount > a.amount ? b : a),
  (a, b) => (a.amount <= b.amount ? a : a.at < b.at ? b : a),
  (a, b) => {
    if (a.note === null) return b
    return a
  },
  (a, b) => ({ shop: a.shop, amount: a.amount + b.amount, note: a.note ?? b.note, at: b.at }),
  (a, b) => (b.amount > a.amount ? { shop: b.shop, amount: b.amount, note: 'more', at: a.at } : a),
  (_, b) => b,
  (a) => ({ ...a, note: null }),
]

test('groups are reduced as JavaScript reduces them, whatever the function reads or returns', async () => {
  const sales = session.fromRows(SALES)
  for (const f of FUNCTIONS) {
    const reduced = await sales
      .groupBy((s) => s.shop)
      .reduce(f)
      .collect()
    expect(
      reduced.map(({ key, value }) => ({ of: key, ...value })),
      f.toString(),
    ).toEqual(plain(f))
  }
})

test('a function that throws names the row', async () => {
  const fails = session
    .fromRows(SALES)
    .groupBy((s) => s.shop)
    .reduce((a, b) => ({ shop: a.shop, amount: a.amount, note: (b.note as string).trim(), at: a.at }))
    .collect()
  await expect(fails).rejects.toThrow("Cannot read properties of null (reading 'trim')")
})

test('a first value of reduce is refused, an empty object too', () => {
  const groups = session.fromRows([{ k: 1, n: 2 }]).groupBy((r) => r.k) as unknown as { reduce(f: unknown, first: unknown): unknown }
  const refused = (first: unknown): string => {
    try {
      groups.reduce((sum: number, r: { n: number }) => sum + r.n, first)
      return 'nothing'
    } catch (error) {
      return String(error)
    }
  }
  for (const [first, text] of [
    [0, '0'],
    [{}, 'an object'],
    [[], 'an array'],
  ] as const)
    expect(refused(first)).toBe(
      `PlanError: reduce() of groups folds two elements at a time into one, and takes no first value; it was given ${text}. Write agg({ total: aggregate((row) => row.price, { init: () => 0, step: (sum, price) => sum + price }) }).`,
    )
  expect(refused(undefined)).toBe('nothing')
})
