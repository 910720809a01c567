/**
 * Aggregates of groups and of whole tables give what DuckDB gives of the same rows, with nulls, NaN and ties. Where the two mean different
 * things (NaN is the least number as well as the largest here, and neither is more than 0), the SQL says what is meant here.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { all, any, argMax, argMin, correlation, count, covariance, type DistArray, kurtosis, mode, Session, skew } from '../src/index.ts'
import { inDuckdb, momentIn, type Row, rowsOrNone, same, tableOf } from './duckdbRows.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('aggregatesDuckdb.prop.ts')

let duckdb: DuckDBConnection
const sessions: Session[] = []
beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
  for (const workers of [1, 2]) sessions.push(await Session.start({ workers, progress: false }))
})
afterAll(async () => {
  duckdb.closeSync()
  for (const session of sessions) await session.stop()
})

/** The first of the rows in an order, of those that have a value there. */
const firstBy = (of: string, by: string, order: string): string => `first(${of} order by ${order}, id) filter (where ${by} is not null)`
const BOTH = 'filter (where w is not null and o is not null)'
const isSame = (of: string): string => `min(${of}) ${BOTH} = max(${of}) ${BOTH}`

const finite = (r: Row): number | null => (Number.isFinite(r.v) ? r.v : null)
/** Each as both have it. */
const AGGREGATES = {
  rows: [count<Row>(), 'count(*)'],
  textMode: [mode((r: Row) => r.s), 'mode(s)'],
  numberMode: [mode((r: Row) => r.v), 'mode(v::varchar)::double'], // NaN equals NaN here
  bigintMode: [mode((r: Row) => r.n), 'mode(n)'],
  timeMode: [mode((r: Row) => r.ts), 'mode(ts)'],
  least: [
    argMin(
      (r: Row) => r.s,
      (r: Row) => r.v,
    ),
    firstBy('s', 'v', 'isnan(v) desc, v'),
  ],
  most: [
    argMax(
      (r: Row) => r.n,
      (r: Row) => r.v,
    ),
    firstBy('n', 'v', 'isnan(v) desc, v desc'),
  ],
  earliest: [
    argMin(
      (r: Row) => r.id,
      (r: Row) => r.ts,
    ),
    firstBy('id', 'ts', 'ts'),
  ],
  lastText: [
    argMax(
      (r: Row) => r.ts,
      (r: Row) => r.s,
    ),
    firstBy('ts', 's', 's desc'),
  ],
  largestBigint: [
    argMax(
      (r: Row) => r.k,
      (r: Row) => r.n,
    ),
    firstBy('k', 'n', 'n desc'),
  ],
  any: [any((r: Row) => (r.v === null ? null : r.v > 0)), 'bool_or(v > 0 and not isnan(v))'],
  all: [all((r: Row) => (r.o === null ? null : r.o > -2)), 'bool_and(o > -2)'],
  skew: [skew((r: Row) => r.o), momentIn('skewness', 'o', 3)],
  skewOfFinite: [skew(finite), momentIn('skewness', 'w', 3)],
  kurtosis: [kurtosis((r: Row) => r.o), momentIn('kurtosis', 'o', 4)],
  covariance: [covariance(finite, (r: Row) => r.o), 'covar_samp(w, o)'],
  correlation: [
    correlation(finite, (r: Row) => r.o),
    `case when count(*) ${BOTH} < 2 then null when ${isSame('w')} or ${isSame('o')} then 'nan'::double else corr(w, o) end`,
  ],
} as const
type Name = keyof typeof AGGREGATES
const NAMES = Object.keys(AGGREGATES) as Name[]

test('aggregates are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(
      rowsOrNone,
      fc.constantFrom('k', 'g', 's', undefined),
      fc.subarray(NAMES, { minLength: 1 }),
      fc.boolean(),
      fc.nat(1),
      async (given, by, names, isFiltered, which) => {
        await inDuckdb(duckdb, 't', given)
        const whole = tableOf(sessions[which] as Session, given)
        const table = isFiltered ? whole.filter((r) => r.id % 4 !== 1) : whole
        const asked = Object.fromEntries(names.map((name) => [name, AGGREGATES[name][0]]))
        const ours = (by === undefined
          ? table.agg(asked)
          : table
              .groupBy(new Function('r', `return ({ by: r.${by} })`) as (row: Row) => unknown)
              .agg(asked)) as unknown as DistArray<unknown>
        const columns = names.map((name) => `${AGGREGATES[name][1]} as "${name}"`)
        const from = `(select *, case when isfinite(v) then v end as w from t where ${isFiltered ? 'id % 4 <> 1' : 'true'})`
        const sql =
          by === undefined
            ? `select ${columns.join(', ')} from ${from}`
            : `select ${[`${by} as "by"`, ...columns].join(', ')} from ${from} group by ${by} order by min(id)`
        await same(duckdb, ours, sql, [...(by === undefined ? [] : ['by']), ...names], 1e-9)
      },
    ),
    RUN,
  )
})
