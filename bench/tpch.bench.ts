/**
 * TPC-H's 22 queries against DuckDB: as many threads each, in one process, from tables in memory and from Parquet files.
 *
 *     distarray   the chain of tpch/queries.ts: building the plan, running it, and the rows on the caller's thread
 *     duckdb      the SQL of the specification through @duckdb/node-api: parsing it, running it, and the rows as JavaScript values
 *
 * The rows of both are compared once, before anything is timed. The data comes from tpchgen-cli, see tpch/tables.ts.
 *
 *     npm run bench -- tpch --scale 0.1 --threads 2 --only q6 --parquet 1
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { DistArray, Session } from 'distarray'
import { differenceOfRows } from '../property-tests/sameRows.ts'
import { type Pass, suite } from './harness.ts'
import { geometricMean } from './statistics.ts'
import { type Answer, QUERIES, type Query } from './tpch/queries.ts'
import { NAMES, readTables, type Tables, tpchFolder } from './tpch/tables.ts'

const bench = suite('tpch', { scale: 1, threads: 2, parquet: -1 })
const { scale, threads, parquet } = bench.options
const SOURCES = ['memory', 'parquet'] as const
const found = tpchFolder(scale, process.env.TPCH_FOLDER ?? join(tmpdir(), 'distarray-tpch'))

if ('absent' in found) console.log(`LEFT OUT tpch: ${found.absent}`)
else for (const source of SOURCES) if (parquet < 0 || (parquet === 1) === (source === 'parquet')) await compare(found.folder, source)
bench.finish()

async function compare(folder: string, source: (typeof SOURCES)[number]): Promise<void> {
  const session = await Session.start({ workers: threads, progress: false, memory: '3.5GB' })
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
  const duckdb = await instance.connect()
  for (const name of NAMES)
    await duckdb.run(`CREATE ${source === 'memory' ? 'TABLE' : 'VIEW'} ${name} AS FROM '${join(folder, `${name}.parquet`)}'`)
  let tables = await readTables(session, folder)
  if (source === 'memory') tables = await inMemory(tables)
  const ratios: number[] = []
  for (const query of QUERIES) {
    const name = `${query.name}, ${source === 'memory' ? 'from memory' : 'from Parquet'}`
    if (!bench.wanted(name)) continue
    const complaint = differenceOfRows(await rowsOf(query, tables), await duckRows(duckdb, query))
    if (complaint !== undefined) throw new Error(`${name}: ${complaint}`)
    const { speed } = await bench.ask({
      name,
      unit: 'query',
      units: 1,
      contenders: { distarray: timed(() => rowsOf(query, tables)), duckdb: timed(() => duckRows(duckdb, query)) },
      peers: ['duckdb'],
    })
    ratios.push(speed.distarray?.duckdb ?? Number.NaN)
  }
  await session.stop()
  duckdb.closeSync()
  instance.closeSync()
  console.log(
    `\nscale ${scale}, ${source}, ${threads} threads: ${geometricMean(ratios).toFixed(2)} times as fast as DuckDB in the geometric mean of ${ratios.length} queries, ${Math.min(...ratios).toFixed(2)} at worst`,
  )
}

/** The same tables, computed. */
async function inMemory(tables: Tables): Promise<Tables> {
  const entries: [string, DistArray<unknown>][] = []
  for (const name of NAMES) {
    const table = (tables[name] as DistArray<unknown>).materialize()
    await table.count()
    entries.push([name, table])
  }
  return Object.fromEntries(entries) as unknown as Tables // of the same names
}

async function rowsOf(query: Query, tables: Tables): Promise<readonly object[]> {
  const answer: Answer = await query.chain(tables, scale)
  return answer instanceof DistArray ? await answer.collect() : answer
}

async function duckRows(duckdb: DuckDBConnection, { sql }: Query): Promise<readonly object[]> {
  return (await duckdb.runAndReadAll(sql(scale))).getRowObjectsJS()
}

function timed(work: () => Promise<unknown>): Pass {
  return async () => {
    const started = performance.now()
    await work()
    return performance.now() - started
  }
}
