/**
 * The five join questions of db-benchmark against DuckDB: the same rows in memory, as many threads, one process, with all columns
 * of both sides kept.
 *
 *     distarray   a chain as a user writes it, stored
 *     duckdb      the same as SQL, into a temporary table
 *
 * Answers are compared in every round, not counted in its time: how many rows there are, and the sums of both values.
 *
 *     npm run bench -- dbJoins --rows 10000000 --threads 2 --only j5
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { type DistArray, Session } from 'distarray'
import { createDuckTables, sizesOf, type Tables, tablesOf } from './dbJoinsData.ts'
import { type Pass, suite } from './harness.ts'
import { geometricMean } from './statistics.ts'
import { sameAnswer } from './tablesData.ts'

const bench = suite('dbJoins', { rows: 1_000_000, threads: 2 })
const { rows, threads } = bench.options
const sizes = sizesOf(rows)

type Row<N extends keyof Tables> = { readonly [K in keyof Tables[N]]: Tables[N][K] extends readonly string[] ? string : number }
interface Joined {
  readonly v1: number
  readonly v2: number | null
}

const session = await Session.start({ workers: threads, progress: false, memory: '4GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
await createDuckTables(duckdb, sizes)
const { x, small, medium, big } = await stored()

const QUESTIONS: readonly { readonly name: string; readonly chain: () => DistArray<Joined>; readonly sql: string }[] = [
  { name: 'j1 small, by a number', chain: () => x.join(small, 'id1'), sql: 'x JOIN small USING (id1)' },
  { name: 'j2 medium, by a number', chain: () => x.join(medium, 'id2'), sql: 'x JOIN medium USING (id2)' },
  { name: 'j3 medium, left', chain: () => x.join(medium, 'id2', { how: 'left' }), sql: 'x LEFT JOIN medium USING (id2)' },
  { name: 'j4 medium, by a text', chain: () => x.join(medium, 'id5'), sql: 'x JOIN medium USING (id5)' },
  { name: 'j5 big, by a number', chain: () => x.join(big, 'id3'), sql: 'x JOIN big USING (id3)' },
]
const ratios: number[] = []
for (const { name, chain, sql } of QUESTIONS) {
  if (!bench.wanted(name)) continue
  const answers = new Map<string, readonly unknown[]>()
  const compared = (contender: string, answer: readonly unknown[]): void => {
    answers.set(contender, answer)
    const [ours, theirs] = [answers.get('distarray') ?? answer, answers.get('duckdb') ?? answer]
    if (!sameAnswer(ours, theirs)) throw new Error(`${name}: distarray says ${ours.join()}, duckdb ${theirs.join()}`)
  }
  const { speed } = await bench.ask({
    name,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: async () => {
        const started = performance.now()
        const joined = chain().materialize()
        const size = await joined.count()
        const milliseconds = performance.now() - started
        compared('distarray', [size, await joined.map((r) => r.v1).sum(), await joined.map((r) => r.v2 ?? 0).sum()])
        await joined.release()
        return milliseconds
      },
      duckdb: (async () => {
        const started = performance.now()
        await duckdb.run(`CREATE OR REPLACE TEMP TABLE answer AS SELECT * FROM ${sql}`)
        const milliseconds = performance.now() - started
        const reader = await duckdb.runAndReadAll('SELECT count(*)::DOUBLE, sum(v1), sum(v2) FROM answer')
        compared('duckdb', reader.getRows()[0] ?? [])
        await duckdb.run('DROP TABLE answer')
        return milliseconds
      }) satisfies Pass,
    },
    peers: ['duckdb'],
  })
  ratios.push(speed.distarray?.duckdb ?? Number.NaN)
}
await session.stop()
duckdb.closeSync()
instance.closeSync()
console.log(
  `\n${rows} rows, ${threads} threads: ${geometricMean(ratios).toFixed(2)} times as fast as DuckDB in the geometric mean of ${ratios.length} questions, ${Math.min(...ratios).toFixed(2)} at worst; ${(process.resourceUsage().maxRSS / 2 ** 20).toFixed(1)} GB of resident memory at most, DuckDB's tables included`,
)
bench.finish()

/** The tables stored, as DuckDB has them: what they were made of is free to go. */
async function stored(): Promise<{ readonly [N in keyof Tables]: DistArray<Row<N>> }> {
  const tables = tablesOf(sizes)
  const arrays = Object.entries(tables).map(([name, columns]) => [name, session.fromColumns(columns as never).materialize()] as const)
  for (const [, array] of arrays) await array.count()
  return Object.fromEntries(arrays) as never // by the same names
}
