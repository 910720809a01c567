/**
 * Tables against DuckDB: the same questions over the same rows in memory, on as many threads, in the same process.
 *
 *     distarray   a chain as a user writes it: building the plan, running it, and the answer on the caller's thread
 *     duckdb      the same as SQL through @duckdb/node-api: parsing it, running it, and the answer as JavaScript values
 *
 * One run of each again and again, so that a slow minute of the machine hits both; medians are printed, the ratio is
 * the median of the ratios of runs that stood next to each other: above 1 means faster than DuckDB. Answers are
 * compared. As JSON in bench/results. Nothing is asserted about time.
 *
 *     npx tsx bench/tables.bench.ts --rows 10000000 --passes 15 --workers 2 --only product
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { Session } from 'distarray'
import { median, table } from './statistics.ts'
import { createDuckTable, type Sales, salesOf, sameAnswer } from './tablesData.ts'
import { questions } from './tablesQuestions.ts'

const text = { type: 'string' } as const
const { values: options } = parseArgs({ options: { rows: text, passes: text, workers: text, only: text } })
const rows = Number(options.rows ?? 10_000_000)
const passes = Number(options.passes ?? 15)
const workers = Number(options.workers ?? 2)
/** Passes before the clock counts: threads start, kernels are compiled, pages touched. */
const WARM_UP = 4

const session = await Session.start({ workers, progress: false, memory: '3GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(workers) })
const duckdb = await instance.connect()
const sales: Sales = salesOf(rows)
await createDuckTable(duckdb, rows)
const results = []
for (const question of questions(session, sales, duckdb)) {
  if (!question.name.includes(options.only ?? '')) continue
  const times: { readonly distarray: number[]; readonly duckdb: number[] } = { distarray: [], duckdb: [] }
  for (let pass = 0; pass < passes + WARM_UP; pass++) {
    const [ours, oursMs] = await timed(question.distarray)
    const [theirs, theirsMs] = await timed(question.duckdb)
    if (!sameAnswer(ours, theirs)) throw new Error(`${question.name}: distarray says ${shown(ours)}, duckdb ${shown(theirs)}`)
    if (pass < WARM_UP) continue
    times.distarray.push(oursMs)
    times.duckdb.push(theirsMs)
  }
  const ratio = median(times.duckdb.map((time, i) => time / (times.distarray[i] ?? Number.NaN)))
  results.push({ question: question.name, milliseconds: times, ratio })
}
await session.stop()
duckdb.closeSync()
instance.closeSync()

console.log(
  `${rows} rows, ${workers} threads each, medians of ${passes} passes, ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}`,
)
const mean = Math.exp(results.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / results.length)
console.log(
  table(
    ['question', 'distarray ms', 'duckdb ms', 'duckdb / distarray'],
    [
      ...results.map(({ question, milliseconds, ratio }) => [
        question,
        median(milliseconds.distarray).toFixed(1),
        median(milliseconds.duckdb).toFixed(1),
        ratio.toFixed(2),
      ]),
      ['geometric mean', '', '', mean.toFixed(2)],
    ],
  ),
)
const folder = join(dirname(fileURLToPath(import.meta.url)), 'results')
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'tables.json'), `${JSON.stringify({ rows, workers, passes, node: process.version, results }, null, 2)}\n`)

async function timed(ask: () => Promise<unknown>): Promise<[answer: unknown, milliseconds: number]> {
  const start = performance.now()
  const answer = await ask()
  return [answer, performance.now() - start]
}

function shown(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)).slice(0, 300)
}
