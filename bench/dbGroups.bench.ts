/**
 * The ten group-by questions of db-benchmark against DuckDB: the same rows in memory, as many threads, one process.
 *
 *     distarray   a chain as a user writes it, stored
 *     duckdb      the same as SQL, into a temporary table
 *
 * Answers are compared in every round, not counted in its time: how many groups there are, and the sums of what was computed.
 *
 *     npm run bench -- dbGroups --rows 10000000 --threads 2 --only q10
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { type DistArray, Session } from 'distarray'
import { createDuckGroups, groupsOf } from './dbGroupsData.ts'
import { QUESTIONS, type Row } from './dbGroupsQuestions.ts'
import { type Pass, suite } from './harness.ts'
import { geometricMean } from './statistics.ts'
import { sameAnswer } from './tablesData.ts'

const bench = suite('dbGroups', { rows: 1_000_000, threads: 2 })
const { rows, threads } = bench.options

const session = await Session.start({ workers: threads, progress: false, memory: '3.5GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
await createDuckGroups(duckdb, rows)
const x = await stored()
const ratios: number[] = []
for (const question of QUESTIONS) {
  if (!bench.wanted(question.name)) continue
  const answers = new Map<string, readonly unknown[]>()
  const compared = (name: string, answer: readonly unknown[]): void => {
    answers.set(name, answer)
    const [ours, theirs] = [answers.get('distarray') ?? answer, answers.get('duckdb') ?? answer]
    if (!sameAnswer(ours, theirs)) throw new Error(`${question.name}: distarray says ${ours.join()}, duckdb ${theirs.join()}`)
  }
  const { speed } = await bench.ask({
    name: question.name,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: async () => {
        const started = performance.now()
        const groups = question.chain(x).materialize()
        const size = await groups.count()
        const milliseconds = performance.now() - started
        const sums = question.checked.map((name) =>
          groups.map((g, _, { name }) => (g as Record<string, number>)[name] ?? 0, { env: { name } }).sum(),
        )
        compared('distarray', [size, ...(await Promise.all(sums))])
        await groups.release()
        return milliseconds
      },
      duckdb: (async () => {
        const started = performance.now()
        await duckdb.run(`CREATE OR REPLACE TEMP TABLE answer AS ${question.sql}`)
        const milliseconds = performance.now() - started
        const sums = question.checked.map((name) => `sum(${name})::DOUBLE`)
        const reader = await duckdb.runAndReadAll(`SELECT count(*)::DOUBLE, ${sums.join()} FROM answer`)
        compared('duckdb', reader.getRows()[0] ?? [])
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
  `\n${rows} rows, ${threads} threads: ${geometricMean(ratios).toFixed(2)} times as fast as DuckDB in the geometric mean of ${ratios.length} questions, ${Math.min(...ratios).toFixed(2)} at worst`,
)
bench.finish()

/** The rows as a stored table, as DuckDB has them: what they were made of is free to go. */
async function stored(): Promise<DistArray<Row>> {
  const table: DistArray<Row> = session.fromColumns({ ...groupsOf(rows) }).materialize()
  await table.count()
  return table
}
