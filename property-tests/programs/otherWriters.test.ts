/**
 * The README's program over a file of another writer: DuckDB's, whose integers have 64 bits, as pandas', Polars' and Spark's
 * have. It runs as it stands, and what is written back has the file's own types.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { count, max, min, Session, sum } from '../../src/index.ts'

interface Rating {
  user: number
  movie: number
  stars: number
}

const folder = mkdtempSync(join(tmpdir(), 'distarray-writers-'))
const file = join(folder, 'ratings.parquet')
let duckdb: DuckDBConnection
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2 })
  duckdb = await (await DuckDBInstance.create()).connect()
  await duckdb.run(`copy (select i % 500 as "user", (i * 7 + i // 500) % 300 as movie, 1 + (i * 31) % 5 as stars,
      case when i % 3 = 0 then null else i end as note, case when i % 4 = 0 then 'nan'::double else i / 4 end as x,
      (i % 7)::ubigint as day, timestamp_ns '2024-02-29 01:02:03.000000004' as at, timestamptz '2024-02-29 01:02:03+00' as seen,
      (['a', 'b', 'c'])[1 + i % 3]::enum('a', 'b', 'c') as kind, [i, null] as pair, {'n': i} as point
    from range(20000) t(i)) to '${file}' (format parquet, row_group_size 6000)`)
})
afterAll(async () => {
  await session.stop()
  duckdb.closeSync()
  rmSync(folder, { recursive: true })
})

/** Columns and types as DuckDB reads them. */
async function typesOf(path: string): Promise<string> {
  const rows = (await duckdb.runAndReadAll(`describe select * from read_parquet('${path}')`)).getRows()
  return rows.map(([name, type]) => `${name} ${type}`).join(', ')
}

test('the chain and the loop of the README', async () => {
  const ratings = (await session.readParquet<Rating>(file))
    .filter((r) => r.stars > 0)
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)
  const K = 8
  const rate = 0.02
  const penalty = 0.05
  const [users, movies] = await ratings.shape()
  const W = session.random([users, K], { dtype: 'f32', scale: 0.5, seed: 1 })
  const H = session.random([movies, K], { dtype: 'f32', scale: 0.5, seed: 2 })
  const loss = session.accumulator('sum')
  const sgd = session.loop(
    ratings,
    { W, H, loss },
    (stars, [u, m], { W, H, loss }) => {
      const w = W.row(u)
      const h = H.row(m)
      let predicted = 0
      for (let k = 0; k < K; k++) predicted += w.get(k) * h.get(k)
      const error = stars - predicted
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        const hk = h.get(k)
        w.set(k, wk + rate * (error * hk - penalty * wk))
        h.set(k, hk + rate * (error * wk - penalty * hk))
      }
      loss.add(error * error)
    },
    { order: 'any' },
  )
  expect(sgd.plan.schedule.kind).toBe('2d')
  const errors: string[] = []
  for await (const pass of sgd.passes(3)) errors.push(Math.sqrt((pass.accumulators.loss ?? 0) / pass.iterations).toFixed(4))
  // what the README says of the same ratings
  expect(errors).toStrictEqual(['1.4248', '0.0788', '0.0660'])
  expect((await sgd.verify()).identical).toBe(true)
})

test('comparisons with literals, groups and sums are those of plain numbers', async () => {
  const table = await session.readParquet<Rating>(file)
  const fives = table.filter((r) => r.stars === 5)
  expect(await fives.count()).toBe(4000)
  const byStars = table
    .groupBy((r) => r.stars)
    .agg({ users: sum((r) => r.user), n: count(), low: min((r) => r.movie), high: max((r) => r.movie) })
  const [five] = await byStars.filter((g) => g.key === 5).collect()
  const rows = Array.from({ length: 20_000 }, (_, i) => ({
    user: i % 500,
    movie: (i * 7 + Math.floor(i / 500)) % 300,
    stars: 1 + ((i * 31) % 5),
  }))
  const wanted = rows.filter((r) => r.stars === 5)
  expect(five).toStrictEqual({
    key: 5,
    users: wanted.reduce((total, r) => total + r.user, 0),
    n: wanted.length,
    low: Math.min(...wanted.map((r) => r.movie)),
    high: Math.max(...wanted.map((r) => r.movie)),
  })
})

test('what is written back has the types, and the values, of the file', async () => {
  const table = await session.readParquet<Rating & { readonly note: number | null; readonly day: number }>(file)
  const out = join(folder, 'out.parquet')
  await table
    .filter((r) => r.stars > 0)
    .sortBy((r) => r.user)
    .writeParquet(out)
  // texts of an enumeration are texts
  expect(await typesOf(out)).toBe((await typesOf(file)).replace("kind ENUM('a', 'b', 'c')", 'kind VARCHAR'))
  const different = await duckdb.runAndReadAll(`select count(*) from (from '${file}' except all from '${out}')`)
  expect(different.getRows()).toStrictEqual([[0n]])
  const grouped = join(folder, 'grouped.parquet')
  await table
    .groupBy((r) => r.day)
    .agg({ note: max((r) => r.note ?? 0), last: max((r) => r.movie), total: sum((r) => r.user) })
    .writeParquet(grouped)
  expect(await typesOf(grouped)).toBe('key UBIGINT, note DOUBLE, last BIGINT, total DOUBLE')
})
