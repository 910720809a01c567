/**
 * Sorts, first rows of an order, distinct rows, and aggregates that need a group's values, against DuckDB: the same
 * questions over the same rows in memory, on as many threads, in the same process.
 *
 *     distarray   a chain as a user writes it; a sorted or distinct table is stored, as DuckDB stores a temporary one
 *     duckdb      the same as SQL through @duckdb/node-api
 *
 * Answers are compared in every round, not counted in its time; of a sorted table its keys at some places.
 *
 *     npm run bench -- sorts --rows 10000000 --threads 2 --only median
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { Session } from 'distarray'
import { type Pass, suite } from './harness.ts'
import { createDuckEvents, eventsOf } from './sortsData.ts'
import { questions } from './sortsQuestions.ts'
import { geometricMean } from './statistics.ts'
import { sameAnswer } from './tablesData.ts'

const bench = suite('sorts', { rows: 0, threads: 2 })
const { threads } = bench.options
const rows = bench.options.rows || (bench.quick ? 1_000_000 : 10_000_000)

const session = await Session.start({ workers: threads, progress: false, memory: '3.5GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
await createDuckEvents(duckdb, rows)
const ratios: number[] = []
for (const question of questions(session, eventsOf(rows), duckdb)) {
  if (!bench.wanted(question.name)) continue
  const answers = new Map<string, unknown>()
  const pass =
    (name: 'distarray' | 'duckdb'): Pass =>
    async () => {
      const start = performance.now()
      const answer = await question[name]()
      const milliseconds = performance.now() - start
      answers.set(name, await answer())
      const [ours, theirs] = [answers.get('distarray'), answers.get('duckdb')]
      if (answers.size === 2 && !sameAnswer(ours, theirs)) {
        throw new Error(`${question.name}: distarray says ${shown(ours)}, duckdb ${shown(theirs)}`)
      }
      return milliseconds
    }
  const { speed } = await bench.ask({
    name: question.name,
    unit: 'row',
    units: rows,
    contenders: { distarray: pass('distarray'), duckdb: pass('duckdb') },
    peers: ['duckdb'],
  })
  ratios.push(speed.distarray?.duckdb ?? Number.NaN)
}
await session.stop()
duckdb.closeSync()
instance.closeSync()
console.log(
  `\n${rows} rows, ${threads} threads: ${geometricMean(ratios).toFixed(2)} times as fast as DuckDB in the geometric mean of ${ratios.length} questions`,
)
bench.finish()

function shown(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)).slice(0, 300)
}
