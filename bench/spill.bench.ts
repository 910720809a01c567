/**
 * What memory does not hold, against DuckDB at the same limit: sorts, groups, joins, distinct rows and an index of a table of eight times
 * as many bytes as either may keep, from a Parquet file to another.
 *
 *     distarray   readParquet(), a chain, writeParquet() in a session of so much memory
 *     duckdb      COPY (SELECT …) TO … through @duckdb/node-api, with that memory_limit
 *
 * Each pass is a process of its own (`spillPass.ts`) over the package as it is installed, in turn; what they wrote is compared. Printed are medians of the wall's clock, of the
 * processor's with `--busy`, and the most memory that was ever resident. With small limits DuckDB says of some questions that memory is
 * out; `--times` of fewer is then what both can answer.
 *
 *     npm run bench -- spill --budget 128 --times 4 --threads 2 --rounds 3 --only join
 *     npm run bench -- spill --budget 512 --rounds 1      takes 15 GB of disk
 *
 * Needs `npm run build`: sources under tsx take twice as much memory before anything is asked.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { rolldown } from 'rolldown'
import { save, suite } from './harness.ts'
import type { SpillFigures, SpillPass } from './spillPass.ts'
import { QUESTIONS } from './spillQuestions.ts'
import { geometricMean, median, table } from './statistics.ts'
import { createMix, sameAnswer } from './tablesData.ts'

const bench = suite('spill', { budget: 128, times: 8, threads: 2, rounds: 3 })
const { budget, times, threads, rounds } = bench.options
/** Of 56 bytes each. */
const rows = Math.ceil((times * budget * 2 ** 20) / 56)
const folder = join(tmpdir(), `distarray-spill-${times * budget}`)
mkdirSync(folder, { recursive: true })
/** Within the package, whose name it imports. */
const PASS = fileURLToPath(new URL('results/spillPass.mjs', import.meta.url))
const pass = await rolldown({
  input: fileURLToPath(new URL('spillPass.ts', import.meta.url)),
  ...{ external: ['distarray', '@duckdb/node-api'], platform: 'node', tsconfig: false },
})
await pass.write({ file: PASS, codeSplitting: false })
const CONTENDERS = ['distarray', 'duckdb'] as const

const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
await createMix(duckdb)
for (const [t, name] of ['visits', 'others'].entries()) {
  const file = join(folder, `${name}.parquet`)
  // an odd number that is no divisor of the rows puts them in another order
  const columns = `(i::UBIGINT * 2654435761 % ${rows})::INTEGER AS id,
    (mix(i, ${t}00000000) % ${rows >> 2})::INTEGER AS place,
    mix(i, ${t}10000000)::DOUBLE / 4294967296.0 AS value,
    (mix(i, ${t}20000000) % 100000)::DOUBLE / 100 AS weight,
    'visitor ' || mix(i, ${t}30000000) AS name,
    'tag ' || (mix(i, ${t}40000000) % 100) AS tag`
  if (!existsSync(file)) await duckdb.run(`COPY (SELECT ${columns} FROM range(${rows}) t(i)) TO '${file}' (ROW_GROUP_SIZE 122880)`)
}

const results: Record<string, unknown> = {}
const ratios: number[] = []
for (const { name, compared } of QUESTIONS) {
  if (!bench.wanted(name)) continue
  const figures = { distarray: [] as SpillFigures[], duckdb: [] as SpillFigures[] }
  for (let round = 0; round < rounds; round++) {
    for (const contender of CONTENDERS) {
      const found = passOf({ contender, question: name, folder, budgetMb: budget, threads })
      if (found !== undefined) figures[contender].push(found)
    }
    if (round === 0 && figures.duckdb.length > 0) await compare(name, compared)
  }
  const timeOf = ({ milliseconds, processorMs }: SpillFigures): number => (bench.busy ? processorMs : milliseconds)
  const speed = median(figures.duckdb.map(timeOf)) / median(figures.distarray.map(timeOf))
  ratios.push(speed)
  results[name] = { figures, speed }
  console.log(
    `\n${table(
      [name, 'median ms', 'ns per row', 'duckdb / this', 'resident MB', 'spilled MB'],
      CONTENDERS.map((contender) => {
        const all = figures[contender]
        if (all.length === 0) return [`  ${contender}`, 'out of memory', '', '', '', '']
        const middle = median(all.map(timeOf))
        const isDuck = contender === 'duckdb'
        const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)
        return [
          ...[`  ${contender}`, middle.toPrecision(3), ((middle * 1e6) / rows).toPrecision(3), isDuck ? '' : speed.toFixed(2)],
          megabytes(Math.max(...all.map(({ residentBytes }) => residentBytes))),
          isDuck ? '' : megabytes(Math.max(...all.map(({ spilledBytes }) => spilledBytes))),
        ]
      }),
    )}`,
  )
}
duckdb.closeSync()
instance.closeSync()
save('spill', { options: bench.options, busy: bench.busy, rows, results })
console.log(
  `\n${rows} rows, ${budget} MB, ${threads} threads: ${geometricMean(ratios).toFixed(2)} times as fast as DuckDB in the geometric mean of ${ratios.length} questions`,
)

/** Undefined where DuckDB says that memory does not suffice. */
function passOf(pass: SpillPass): SpillFigures | undefined {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PASS, JSON.stringify(pass)], { encoding: 'utf8' })
  if (status !== 0 && pass.contender === 'duckdb' && stderr.includes('Out of Memory')) return undefined
  if (status !== 0) throw new Error(`${pass.question}: ${pass.contender} ended with ${status}: ${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as SpillFigures // what `spillPass.ts` prints
}

async function compare(name: string, compared: string): Promise<void> {
  const answers: (readonly unknown[])[] = []
  for (const contender of CONTENDERS) {
    const reader = await duckdb.runAndReadAll(
      `SELECT ${compared} FROM read_parquet('${join(folder, `${contender}.parquet`)}', file_row_number = true)`,
    )
    answers.push(reader.getRows()[0] ?? [])
  }
  const [ours, theirs] = answers
  if (!sameAnswer(ours, theirs)) throw new Error(`${name}: distarray says ${ours?.join()}, duckdb ${theirs?.join()}`)
}
