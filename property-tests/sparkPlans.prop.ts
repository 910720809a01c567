/**
 * Random chains of table operations give on a Spark Connect server what they give here, row by row in any order, or are
 * refused by name: filters, maps, groups, joins of all kinds, windows, pivots, unions, sorts with limits, over nulls, NaN, ties and all types.
 *
 * Numbers are eighths, so that sums are exact in any order; means and variances are compared within 1e-9.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { PlanError, Session } from '../src/index.ts'
import { type AnyTable, chainOf, type TableStep, tableSteps } from './arbitraries/tableChain.ts'
import { rowsFrom, tableOf } from './duckdbRows.ts'
import { announcedRun } from './lawRuns.ts'
import { startSail, startSpark } from './sparkServers.ts'

const run = announcedRun('sparkPlans.prop.ts')
const servers = (await Promise.all([startSail(), startSpark()])).filter((one) => one !== undefined)
const folder = mkdtempSync(join(tmpdir(), 'distarray-spark-plans-'))
const here = await Session.start({ workers: 1, progress: false })
const TABLES = 4
for (let i = 0; i < TABLES; i++) {
  const [rows = []] = fc.sample(rowsFrom(i === 0 ? 0 : 20), { seed: 17 * i, numRuns: 1 })
  await tableOf(here, rows).writeParquet(join(folder, `${i}.parquet`))
}
afterAll(async () => {
  await here.stop()
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true })
})

const LIMIT_MS = 1_800_000

if (servers.length === 0) test.skip('neither Sail nor Spark is here: plans are not compared', () => {})

describe.each(servers)('on $name', ({ address, name }) => {
  test(
    'a chain of table operations gives there what it gives here',
    async () => {
      const there = await Session.start({ tables: address, workers: 1, progress: false })
      const tables = async (session: Session): Promise<readonly AnyTable[]> =>
        await Promise.all(Array.from({ length: TABLES }, (_, i) => session.readParquet(join(folder, `${i}.parquet`), { int64: 'bigint' })))
      const [ours, theirs] = [await tables(here), await tables(there)]
      const counts = { compared: 0, refused: 0, wrong: 0 }
      const because = new Map<string, number>()
      const cases = fc.record({ steps: tableSteps, left: fc.nat(TABLES - 1), right: fc.nat(TABLES - 1) })
      try {
        await fc.assert(
          fc.asyncProperty(cases, async ({ steps, left, right }) => {
            const rowsOf = async (of: readonly AnyTable[]): Promise<Outcome> =>
              outcomeOf(() => chainOf(steps, of[left] as AnyTable, of[right] as AnyTable))
            const expected = await rowsOf(ours)
            const actual = await rowsOf(theirs)
            if (actual.kind === 'refused' && expected.kind === 'refused') {
              counts.wrong++
              return
            }
            if (actual.kind === 'refused') {
              const why = reasonOf(actual.message)
              if (why === undefined) throw new Error(`${actual.message}\n${shown(steps)}`)
              counts.refused++
              because.set(why, (because.get(why) ?? 0) + 1)
              return
            }
            if (expected.kind === 'refused') throw new Error(`it runs there; here: ${expected.message}\n${shown(steps)}`)
            expect(actual.rows, shown(steps)).toEqual(expected.rows)
            counts.compared++
          }),
          run,
        )
      } finally {
        await there.stop()
        const reasons = [...because].sort((a, b) => b[1] - a[1]).map(([why, n]) => `${n} ${why}`)
        console.log(`${name}: ${JSON.stringify(counts)}\n${reasons.join('\n')}`)
      }
      if (run.numRuns >= 200) expect(counts.compared).toBeGreaterThan(run.numRuns * 0.6)
    },
    LIMIT_MS,
  )
})

type Outcome = { readonly kind: 'rows'; readonly rows: readonly string[] } | { readonly kind: 'refused'; readonly message: string }

/** Refused is what no engine is to run, and what the server's is said not to. */
async function outcomeOf(chain: () => AnyTable): Promise<Outcome> {
  try {
    const table = chain()
    return { kind: 'rows', rows: (await table.collect()).map(rowText).sort() }
  } catch (error) {
    const { message } = error as Error
    if (error instanceof PlanError || FAILURES.some(([pattern]) => pattern.test(message))) return { kind: 'refused', message }
    throw error
  }
}

/** Errors of the server, whose answers are none then: by message, what is counted. */
const FAILURES: readonly (readonly [RegExp, string])[] = [
  [/^Spark at \S+ says: .*A bigint has more than 64 bits/s, 'bigints beyond 64 bits'],
]

/** Why a server was not asked; undefined of another error. */
function reasonOf(message: string): string | undefined {
  const failure = FAILURES.find(([pattern]) => pattern.test(message))
  return failure?.[1] ?? /^Spark at \S+ cannot run .*?: it (.*?)\.\n/s.exec(message)?.[1]
}

function rowText(row: Record<string, unknown>): string {
  return Object.entries(row)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return String(Number(value.toPrecision(10)) + 0) // -0 is 0
  return JSON.stringify(value)
}

function shown(steps: readonly TableStep[]): string {
  return steps.map((step) => JSON.stringify(step)).join('\n')
}
