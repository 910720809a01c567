/**
 * Windows against Polars and DuckDB: the same rows in memory, as many threads each, one process but for Polars, which has a Python of its own.
 *
 *     distarray   a chain as a user writes it, stored
 *     duckdb      the same as SQL, into a temporary table
 *     polars      the same in eager expressions
 *
 * Rows of users: 10,000 of them, times that are nearly in order, amounts. Answers are compared once, before anything is timed.
 *
 *     npm run bench -- windows --rows 1000000 --threads 2 --only running
 */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { type DistArray, lag, max, mean, rowNumber, Session, sum } from 'distarray'
import { type Pass, suite, timed } from './harness.ts'
import { startPolars } from './python.ts'
import { createMix, sameAnswer } from './tablesData.ts'

const bench = suite('windows', { rows: 1_000_000, threads: 2 })
const { rows, threads } = bench.options

interface Payment {
  readonly user: number
  readonly ts: number
  readonly amount: number
}

const session = await Session.start({ workers: threads, progress: false, memory: '2GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
const polars = await startPolars({ threads, busy: bench.busy })

await createMix(duckdb)
await duckdb.run(`CREATE TABLE payments AS SELECT
  (mix(i, 100000000) % 10000)::INTEGER AS "user",
  i + (mix(i, 200000000)::DOUBLE / 4294967296.0) * 50 AS ts,
  (mix(i, 300000000)::DOUBLE / 4294967296.0) * 100 AS amount
  FROM range(${rows}) t(i)`)
const file = join(tmpdir(), `distarray-windows-${process.pid}.parquet`)
await duckdb.run(`COPY payments TO '${file}'`)
const payments = (await session.readParquet<Payment>(file)).materialize()
await payments.count()
await polars?.run(`payments = pl.read_parquet('${file}')`)
rmSync(file)

interface Work {
  readonly name: string
  readonly ours: (table: DistArray<Payment>) => DistArray<{ readonly x: number | null }>
  readonly duck: string
  /** Leaves a table whose column x is compared. */
  readonly polars: string
}

async function ask({ name, ours, duck, polars: python }: Work): Promise<void> {
  if (!bench.wanted(name)) return
  const said = [
    await ours(payments)
      .map((row) => row.x ?? 0)
      .sum(),
    (await duckdb.runAndReadAll(`SELECT sum(x)::DOUBLE FROM (${duck})`)).getRows()[0]?.[0],
    (await polars?.run(`t = ${python}\nanswer = float(t['x'].sum())`))?.answer,
  ]
  for (const other of said.slice(1))
    if (other !== undefined && !sameAnswer(said[0], other)) throw new Error(`${name}: ${said.join(' against ')}`)
  await bench.ask({
    name,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: timed(async () => {
        const stored = ours(payments).materialize()
        await stored.count()
        await stored.release()
      }),
      duckdb: timed(() => duckdb.run(`CREATE OR REPLACE TEMP TABLE answer AS ${duck}`)),
      polars: polars && ((async () => (await polars.run(`t = ${python}`)).ms) satisfies Pass),
    },
    peers: ['duckdb', 'polars'],
  })
}

const byUser = { by: (row: Payment) => row.user, orderBy: (row: Payment) => row.ts }
const over = 'PARTITION BY "user" ORDER BY ts'
await ask({
  name: 'running total',
  ours: (table) => table.window({ ...byUser, frame: { rows: [null, 0] } }, { x: sum((row) => row.amount) }),
  duck: `SELECT *, sum(amount) OVER (${over} ROWS UNBOUNDED PRECEDING) AS x FROM payments`,
  polars: "payments.with_columns(x=pl.col('amount').cum_sum().over('user', order_by='ts'))",
})
await ask({
  name: 'top 3 by group',
  ours: (table) =>
    table.window({ by: (row) => row.user, orderBy: (row) => row.amount, descending: true }, { x: rowNumber() }).filter((row) => row.x <= 3),
  duck: 'SELECT *, row_number() OVER (PARTITION BY "user" ORDER BY amount DESC) AS x FROM payments QUALIFY x <= 3',
  polars: "payments.with_columns(x=pl.col('amount').rank('ordinal', descending=True).over('user')).filter(pl.col('x') <= 3)",
})
await ask({
  name: 'rolling mean of 7',
  ours: (table) => table.window({ ...byUser, frame: { rows: [-6, 0] } }, { x: mean((row) => row.amount) }),
  duck: `SELECT *, avg(amount) OVER (${over} ROWS 6 PRECEDING) AS x FROM payments`,
  polars: "payments.with_columns(x=pl.col('amount').rolling_mean(7, min_samples=1).over('user', order_by='ts'))",
})
await ask({
  name: 'rolling maximum of 100, no groups',
  ours: (table) => table.window({ orderBy: (row) => row.ts, frame: { rows: [-99, 0] } }, { x: max((row) => row.amount) }),
  duck: 'SELECT *, max(amount) OVER (ORDER BY ts ROWS 99 PRECEDING) AS x FROM payments',
  polars: "payments.sort('ts', maintain_order=True).with_columns(x=pl.col('amount').rolling_max(100, min_samples=1))",
})
await ask({
  name: 'the value before',
  ours: (table) => table.window(byUser, { x: lag((row) => row.amount) }),
  duck: `SELECT *, lag(amount) OVER (${over}) AS x FROM payments`,
  polars: "payments.with_columns(x=pl.col('amount').shift(1).over('user', order_by='ts'))",
})
await session.stop()
await polars?.stop()
duckdb.closeSync()
instance.closeSync()
bench.finish()
