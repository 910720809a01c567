/**
 * Whole programs over tables, written from the public API alone and compared with plain JavaScript, at 1, 2 and 3
 * workers.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, count, countDistinct, first, last, max, mean, min, quantile, Session, stddev, sum, variance } from '../../src/index.ts'

interface Order {
  id: number
  shop: string
  year: number
  price: number
  quantity: number | null
  big: bigint
  at: Date
}

/** A table with everything in it: nulls, strings, bigints, dates, repeated keys. */
function makeOrders(length: number): Order[] {
  const shops = ['Nord', 'Süd', 'Ost', 'West', '']
  return Array.from({ length }, (_, i) => ({
    id: i,
    shop: shops[(i * 7) % 5] as string,
    year: 2020 + (i % 4),
    price: ((i * 37) % 101) / 4,
    quantity: i % 11 === 0 ? null : (i * 13) % 10,
    big: BigInt(i) * 10_000_000_000n,
    at: new Date(1_600_000_000_000 + i * 86_400_000),
  }))
}

const orders = makeOrders(5000)
const shops = [
  { shop: 'Nord', city: 'Kiel' },
  { shop: 'Süd', city: 'Ulm' },
  { shop: 'West', city: 'Köln' },
  { shop: 'Mars', city: 'Olympus' },
]
let folder: string
let file: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'distarray-programs-'))
  file = join(folder, 'orders.parquet')
  await using session = await Session.start({ workers: 1 })
  await session.fromRows(orders).writeParquet(file, { rowGroupRows: 700 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers })
  })
  afterAll(() => session.stop())

  test('a parquet file comes back as the rows it was written from', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    expect(await table.collect()).toEqual(orders)
    expect(await table.count()).toBe(5000)
    expect(await table.first()).toEqual(orders[0])
    expect(await table.take(3)).toEqual(orders.slice(0, 3))
    expect(await table.shape()).toEqual([5000])
  })

  test('filter, map and key', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    const limit = 12.5
    const result = table
      .filter((o) => o.price > limit && o.shop !== '')
      .map((o, [i]) => ({ i, shop: o.shop, total: o.price * (o.quantity ?? 0) }))
    expect(await result.collect()).toEqual(
      orders.filter((o) => o.price > limit && o.shop !== '').map((o, i) => ({ i, shop: o.shop, total: o.price * (o.quantity ?? 0) })),
    )
  })

  test('a map to numbers has sums and typed arrays', async () => {
    const prices = (await session.readParquet<Order>(file, { int64: 'bigint' })).map((o) => o.price)
    const plain = orders.map((o) => o.price)
    expect(await prices.sum()).toBe(plain.reduce((a, b) => a + b, 0))
    expect(await prices.min()).toBe(Math.min(...plain))
    expect(await prices.max()).toBe(Math.max(...plain))
    expect(await prices.mean()).toBeCloseTo(plain.reduce((a, b) => a + b, 0) / plain.length, 12)
    expect(await prices.toTypedArray()).toEqual(Float64Array.from(plain))
    expect(await prices.reduce((a, b) => (a > b ? a : b))).toBe(Math.max(...plain))
    expect(
      await prices.reduce(
        (n, p) => n + (p > 10 ? 1 : 0),
        0,
        (a, b) => a + b,
      ),
    ).toBe(plain.filter((p) => p > 10).length)
  })

  test('filters that mention nulls behave as JavaScript does', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    for (const [ours, plain] of [
      [table.filter((o) => o.quantity === null), orders.filter((o) => o.quantity === null)],
      [table.filter((o) => (o.quantity as number) < 3), orders.filter((o) => (o.quantity as number) < 3)],
      [table.filter((o) => (o.quantity as number) >= 0), orders.filter((o) => (o.quantity as number) >= 0)],
      [table.filter((o) => o.quantity != null && o.quantity % 2 === 1), orders.filter((o) => o.quantity != null && o.quantity % 2 === 1)],
    ] as const) {
      expect(await ours.collect()).toEqual(plain)
    }
  })

  test('groupBy a scalar key: groups in order of first appearance, every aggregate', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    const result = await table
      .groupBy((o) => o.shop)
      .agg({
        n: count(),
        known: count((o) => o.quantity),
        total: sum((o) => o.price),
        average: mean((o) => o.price),
        least: min((o) => o.price),
        most: max((o) => o.at),
        years: countDistinct((o) => o.year),
        head: first((o) => o.id),
        tail: last((o) => o.id),
        spread: variance((o) => o.price),
        deviation: stddev((o) => o.price),
        median: quantile((o) => o.price, 0.5),
        ids: collect((o) => o.id),
      })
      .collect()
    const groups = new Map<string, Order[]>()
    for (const o of orders) groups.set(o.shop, [...(groups.get(o.shop) ?? []), o])
    expect(result.map((r) => r.key)).toEqual([...groups.keys()])
    for (const row of result) {
      const group = groups.get(row.key) as Order[]
      const prices = group.map((o) => o.price)
      const total = prices.reduce((a, b) => a + b, 0)
      const sorted = prices.toSorted((a, b) => a - b)
      const middle = (sorted.length - 1) / 2
      const squares = prices.reduce((s, p) => s + (p - total / prices.length) ** 2, 0)
      expect(row.n).toBe(group.length)
      expect(row.known).toBe(group.filter((o) => o.quantity !== null).length)
      expect(row.total).toBe(total)
      expect(row.average).toBe(total / prices.length)
      expect(row.least).toBe(sorted[0])
      expect(row.most).toEqual(group.at(-1)?.at)
      expect(row.years).toBe(4)
      expect(row.head).toBe(group[0]?.id)
      expect(row.tail).toBe(group.at(-1)?.id)
      expect(row.spread).toBeCloseTo(squares / (prices.length - 1), 9)
      expect(row.deviation).toBeCloseTo(Math.sqrt(squares / (prices.length - 1)), 9)
      expect(row.median).toBe(((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2)
      expect(row.ids).toEqual(group.map((o) => o.id))
    }
  })

  test('groupBy an object key gives its fields as columns; count, reduce and map', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    const byShopYear = table.groupBy((o) => ({ shop: o.shop, year: o.year }))
    const expected = new Map<string, { shop: string; year: number; count: number }>()
    for (const { shop, year } of orders) {
      const key = `${shop}|${year}`
      const row = expected.get(key) ?? { shop, year, count: 0 }
      row.count++
      expected.set(key, row)
    }
    expect(await byShopYear.count().collect()).toEqual([...expected.values()])
    const latest = await table
      .map((o) => o.id)
      .groupBy((id) => id % 3)
      .reduce((a, b) => (a > b ? a : b))
      .collect()
    expect(latest).toEqual([
      { key: 0, value: 4998 },
      { key: 1, value: 4999 },
      { key: 2, value: 4997 },
    ])
    const mapped = await table
      .groupBy((o) => o.year)
      .map((year, values) => ({ year, n: values.length, firstShop: values[0]?.shop }))
      .collect()
    expect(mapped).toEqual(
      [2020, 2021, 2022, 2023].map((year) => ({ year, n: 1250, firstShop: orders.find((o) => o.year === year)?.shop })),
    )
  })

  test('joins of every kind keep the order of the left side', async () => {
    const left = (await session.readParquet<Order>(file, { int64: 'bigint' })).select('id', 'shop').limit(10)
    const right = session.fromRows(shops)
    const leftRows = orders.slice(0, 10).map(({ id, shop }) => ({ id, shop }))
    const city = new Map(shops.map((s) => [s.shop, s.city]))
    expect(await left.join(right, 'shop').collect()).toEqual(
      leftRows.filter((o) => city.has(o.shop)).map((o) => ({ ...o, city: city.get(o.shop) })),
    )
    expect(await left.join(right, 'shop', { how: 'left' }).collect()).toEqual(
      leftRows.map((o) => ({ ...o, city: city.get(o.shop) ?? null })),
    )
    expect(await left.join(right, 'shop', { how: 'semi' }).collect()).toEqual(leftRows.filter((o) => city.has(o.shop)))
    expect(await left.join(right, 'shop', { how: 'anti' }).collect()).toEqual(leftRows.filter((o) => !city.has(o.shop)))
    const crossed = await session
      .fromRows([{ a: 1 }, { a: 2 }])
      .join(session.fromRows([{ b: 'x' }, { b: 'y' }]), { left: () => 0, right: () => 0 }, { how: 'cross' })
      .collect()
    expect(crossed).toEqual([
      { a: 1, b: 'x' },
      { a: 1, b: 'y' },
      { a: 2, b: 'x' },
      { a: 2, b: 'y' },
    ])
    const full = await left.join(right, 'shop', { how: 'full' }).collect()
    expect(full.length).toBe(11)
    expect(full.at(-1)).toEqual({ id: null, shop: 'Mars', city: 'Olympus' })
    const byFunction = await left.join(right, { left: (o) => o.shop, right: (s) => s.shop }).collect()
    expect(byFunction.length).toBe(leftRows.filter((o) => city.has(o.shop)).length)
  })

  test('sortBy is stable, top-k, distinct, union, sample, limit', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    expect(
      await table
        .sortBy((o) => [o.shop, -o.price])
        .map((o) => o.id)
        .collect(),
    ).toEqual(orders.toSorted((a, b) => (a.shop < b.shop ? -1 : a.shop > b.shop ? 1 : b.price - a.price)).map((o) => o.id))
    expect(
      await table
        .sortBy((o) => o.price, { descending: true })
        .limit(7)
        .map((o) => o.id)
        .collect(),
    ).toEqual(
      orders
        .toSorted((a, b) => b.price - a.price)
        .slice(0, 7)
        .map((o) => o.id),
    )
    expect(
      await table
        .map((o) => o.shop)
        .distinct()
        .collect(),
    ).toEqual([...new Set(orders.map((o) => o.shop))])
    const a = table.limit(2).map((o) => o.id)
    expect(
      await a
        .union(
          a,
          table.limit(1).map((o) => o.id),
        )
        .collect(),
    ).toEqual([0, 1, 0, 1, 0])
    const sample = await table
      .sample(0.1, { seed: 5 })
      .map((o) => o.id)
      .collect()
    expect(sample.length).toBeGreaterThan(350)
    expect(sample.length).toBeLessThan(650)
    expect(
      await table
        .sample(0.1, { seed: 5 })
        .map((o) => o.id)
        .collect(),
    ).toEqual(sample)
    expect(await table.limit(0).collect()).toEqual([])
  })

  test('withColumns, select, flatMap, mapPartitions, repartition, cast', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    expect(
      await table
        .withColumns((o) => ({ double: o.price * 2 }))
        .select('id', 'double')
        .take(3),
    ).toEqual(orders.slice(0, 3).map((o) => ({ id: o.id, double: o.price * 2 })))
    expect(
      await table
        .limit(4)
        .flatMap((o) => [o.id, -o.id])
        .collect(),
    ).toEqual(orders.slice(0, 4).flatMap((o) => [o.id, -o.id]))
    expect(
      await table
        .map((o) => o.id)
        .mapPartitions(function* (values) {
          for (const v of values) if (v % 1000 === 0) yield v
        })
        .collect(),
    ).toEqual([0, 1000, 2000, 3000, 4000])
    expect(
      (
        await table
          .repartition({ partitions: 3 })
          .map((o) => o.id)
          .collect()
      ).toSorted((a, b) => a - b),
    ).toEqual(orders.map((o) => o.id))
    expect(
      await table
        .map((o) => o.year)
        .cast('i32')
        .toTypedArray(),
    ).toEqual(Int32Array.from(orders.map((o) => o.year)))
  })

  test('index makes a sparse matrix: shape, point, row and slice queries', async () => {
    const ratings = session.fromColumns({ user: [0, 2, 1, 2], movie: [1, 0, 3, 3], stars: [4, 5, 3, 1] })
    const matrix = ratings.index((r) => [r.user, r.movie]).map((r) => r.stars)
    expect(await matrix.shape()).toEqual([3, 4])
    expect(await matrix.count()).toBe(4)
    expect(await matrix.collect()).toEqual([4, 3, 5, 1])
    expect(await matrix.at(2, 3)).toBe(1)
    expect(await matrix.at(0, 0)).toBe(0)
    expect([...(await matrix.row(2))]).toEqual([5, 0, 0, 1])
    const slice = await matrix.slice([[1, 3], 3])
    expect(slice.shape).toEqual([2])
    expect([...slice.data]).toEqual([3, 1])
    expect(matrix.explain()).toMatch(/index/i)
    const sums = await matrix
      .groupBy({ axis: 0 })
      .agg({ total: sum((v) => v) })
      .collect()
    expect(sums).toEqual([
      { key: 0, total: 4 },
      { key: 1, total: 3 },
      { key: 2, total: 6 },
    ])
    await expect(matrix.at(3, 0)).rejects.toThrow('The key [3, 0] is outside')
    await expect(
      session
        .fromRows([{ k: 1 }, { k: 1 }])
        .index((r) => [r.k])
        .collect(),
    ).rejects.toThrow(/key \[1\]/)
    expect(
      await session
        .fromRows([
          { k: 1, v: 2 },
          { k: 1, v: 3 },
        ])
        .map((r) => r)
        .index((r) => [r.k], { combine: (a, b) => ({ k: a.k, v: a.v + b.v }) })
        .collect(),
    ).toEqual([{ k: 1, v: 5 }])
  })

  test('csv, arrow and parquet round trips', async () => {
    const rows = [
      { name: 'a "quoted", one', n: 1.5, flag: true },
      { name: 'line\nbreak', n: null, flag: false },
    ]
    const table = session.fromRows(rows)
    const base = join(folder, `w${workers}`)
    expect((await table.writeCsv(`${base}.csv`)).rows).toBe(2)
    expect(await (await session.readCsv(`${base}.csv`)).collect()).toEqual(rows)
    await table.writeArrow(`${base}.arrow`)
    expect(await (await session.readArrow(`${base}.arrow`)).collect()).toEqual(rows)
    await table.writeParquet(`${base}.parquet`, { compression: 'zstd' })
    expect(await (await session.readParquet(`${base}.parquet`)).collect()).toEqual(rows)
    await table.writeParquet(`${base}.v1.parquet`, { compatibility: 'v1' })
    expect(await (await session.readParquet(`${base}.v1.parquet`)).collect()).toEqual(rows)
    await writeFile(`${base}.txt`, 'one\ntwo\n\nfour')
    expect(await (await session.readText(`${base}.txt`)).collect()).toEqual(['one', 'two', '', 'four'])
    const arrow = await table.toArrow()
    expect(arrow.numRows).toBe(2)
    expect(await session.fromArrow(arrow).collect()).toEqual(rows)
    let batchRows = 0
    for await (const batch of table.batches()) batchRows += batch.numRows
    expect(batchRows).toBe(2)
    const iterated: unknown[] = []
    for await (const row of table) iterated.push(row)
    expect(iterated).toEqual(rows)
  })

  test('refused lambdas still run, with the same result', async () => {
    const table = (await session.readParquet<Order>(file, { int64: 'bigint' })).limit(50)
    const lookup = new Map([['Nord', 1]])
    const seen: number[] = []
    expect(await table.map((o) => lookup.get(o.shop) ?? 0).collect()).toEqual(orders.slice(0, 50).map((o) => lookup.get(o.shop) ?? 0))
    expect(
      await table
        .filter((o) => {
          seen.push(o.id)
          return o.id % 2 === 0
        })
        .count(),
    ).toBe(25)
    expect(seen).toEqual(orders.slice(0, 50).map((o) => o.id))
    expect(await table.map((o) => /o/.test(o.shop)).collect()).toEqual(orders.slice(0, 50).map((o) => /o/.test(o.shop)))
    class Scale {
      by: number
      constructor(by: number) {
        this.by = by
      }
      of(x: number): number {
        return x * this.by
      }
    }
    const scale = new Scale(3)
    expect(await table.map((o) => scale.of(o.price)).collect()).toEqual(orders.slice(0, 50).map((o) => o.price * 3))
  })

  test('a function that throws names the row', async () => {
    const table = await session.readParquet<Order>(file, { int64: 'bigint' })
    const failing = table.map((o) => {
      if (o.id === 1234) throw new RangeError('bad row')
      return o.id
    })
    await expect(failing.collect()).rejects.toMatchObject({ name: 'TaskError', message: expect.stringContaining('bad row'), key: [1234] })
    await expect(failing.collect()).rejects.toHaveProperty('cause.message', 'bad row')
  })

  test('bigints, booleans, timestamps and special numbers survive', async () => {
    const rows = [
      { n: Number.NaN, z: -0, i: 9007199254740993n, b: true, t: new Date(0) },
      { n: Number.POSITIVE_INFINITY, z: 0, i: -9223372036854775808n, b: false, t: null },
      { n: null, z: 5e-324, i: null, b: null, t: new Date(8.64e15) },
    ]
    const path = join(folder, `special${workers}.parquet`)
    await session.fromRows(rows).writeParquet(path)
    const back = await (await session.readParquet<(typeof rows)[0]>(path, { int64: 'bigint' })).collect()
    expect(back).toEqual(rows)
    expect(Object.is(back[0]?.z, -0)).toBe(true)
    expect(await (await session.readParquet<(typeof rows)[0]>(path, { int64: 'bigint' })).map((r) => r.i).collect()).toEqual(
      rows.map((r) => r.i),
    )
  })

  test('empty tables work everywhere', async () => {
    const table = (await session.readParquet<Order>(file, { int64: 'bigint' })).filter((o) => o.price < 0)
    expect(await table.collect()).toEqual([])
    expect(await table.count()).toBe(0)
    expect(await table.map((o) => o.price).sum()).toBe(0)
    expect(await table.map((o) => o.price).min()).toBe(undefined)
    expect(
      await table
        .groupBy((o) => o.shop)
        .agg({ n: count() })
        .collect(),
    ).toEqual([])
    expect(await table.sortBy((o) => o.price).first()).toBe(undefined)
    expect(await session.fromRows([]).collect()).toEqual([])
  })
})

test('a missing column is an error at the call, with the nearest names', async () => {
  await using session = await Session.start({ workers: 1 })
  const table = await session.readParquet<Order & { prize: number }>(file)
  expect(() => table.filter((o) => o.prize > 1)).toThrow(/no column "prize".*"price"/s)
  expect(() => table.select('prize')).toThrow(/no column "prize".*"price"/s)
  expect(() => table.map(async (o) => o.id)).toThrow(/async/)
  await session.stop()
  await expect(table.collect()).rejects.toThrow(/stopped/)
})

test('a right join to an empty left side has the columns of both, and the key of the right', async () => {
  await using session = await Session.start({ workers: 1 })
  const none = session.fromColumns({ b: [null, null], l: [1, 2] }).filter((r) => r.l > 2)
  const right = session.fromColumns({ b: [2n, 3n], d: ['x', 'y'] })
  const doubled = none
    .join(right as never, 'b' as never, { how: 'right' })
    .map((r: { readonly b: unknown }) => ({ b: r.b === null ? null : (r.b as bigint) * 2n }))
  expect(await doubled.collect()).toEqual([{ b: 4n }, { b: 6n }])
  const first = session
    .fromColumns({ s: ['x'], l: [1] })
    .sortBy((r) => r.s)
    .limit(0)
    .distinct()
  const joined = first.join(session.fromColumns({ s: ['z'], d: [7] }) as never, 's' as never, { how: 'right' })
  expect(await joined.collect()).toEqual([{ s: 'z', l: null, d: 7 }])
})
