/**
 * Windows, and a join as of a time, against Polars and DuckDB: the same rows in memory, as many threads each, one process but for Polars, which has a Python of its own.
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

interface Quote {
  readonly user: number
  readonly ts: number
  readonly price: number
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
await duckdb.run(`CREATE TABLE quotes AS SELECT
  (mix(i, 400000000) % 10000)::INTEGER AS "user",
  i * 4 + (mix(i, 500000000)::DOUBLE / 4294967296.0) * 50 AS ts,
  (mix(i, 600000000)::DOUBLE / 4294967296.0) * 100 AS price
  FROM range(${rows >> 2}) t(i)`)
const payments = await everywhere<Payment>('payments')
const quotes = await everywhere<Quote>('quotes')

interface Work {
  readonly name: string
  readonly ours: (table: DistArray<Payment>) => DistArray<{ readonly x: number | null }>
  readonly duck: string
  /** Leaves a table whose column x is compared. */
  readonly polars: string
}

/** A table of DuckDB in Polars by the same name, and here. */
async function everywhere<Row>(name: string): Promise<DistArray<Row>> {
  const file = join(tmpdir(), `distarray-windows-${process.pid}-${name}.parquet`)
  await duckdb.run(`COPY ${name} TO '${file}'`)
  const table = (await session.readParquet<Row>(file)).materialize()
  await table.count()
  await polars?.run(`${name} = pl.read_parquet('${file}')`)
  rmSync(file)
  return table
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
/** Longer than this without a payment: a new session. */
const GAP = 20_000
const starts = `(pl.col('before').is_null() | (pl.col('ts') - pl.col('before') > ${GAP})).cast(pl.Int32)`
await ask({
  name: 'sessions',
  ours: (table) =>
    table
      .window(byUser, { before: lag((row) => row.ts) })
      .withColumns((row) => ({ starts: row.before === null || row.ts - row.before > GAP ? 1 : 0 }))
      .window({ by: (row) => row.user, orderBy: (row) => row.ts, frame: { rows: [null, 0] } }, { x: sum((row) => row.starts) }),
  duck: `SELECT *, sum(starts) OVER (${over} ROWS UNBOUNDED PRECEDING) AS x FROM
    (SELECT *, CASE WHEN ts - before <= ${GAP} THEN 0 ELSE 1 END AS starts FROM (SELECT *, lag(ts) OVER (${over}) AS before FROM payments))`,
  polars: `payments.with_columns(before=pl.col('ts').shift(1).over('user', order_by='ts')).with_columns(starts=${starts}).with_columns(x=pl.col('starts').cum_sum().over('user', order_by='ts'))`,
})
await ask({
  name: 'as of a quote',
  ours: (table) => table.joinAsof(quotes, { on: 'ts', by: 'user' }).map((row) => ({ ...row, x: row.price })),
  duck: 'SELECT p.*, q.price AS x FROM payments p ASOF LEFT JOIN quotes q ON p."user" = q."user" AND p.ts >= q.ts',
  polars: "payments.sort('ts').join_asof(quotes.sort('ts').rename({'price': 'x'}), on='ts', by='user')",
})
await session.stop()
await polars?.stop()
duckdb.closeSync()
instance.closeSync()
bench.finish()
