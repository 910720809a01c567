/**
 * Questions about Parquet files that were written anew since they were opened are refused, whatever was known of the old ones:
 * also where statistics, counts or filters of theirs would have answered without a byte of a file.
 */
import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('changedFiles.prop.ts', 300)
const folder = mkdtempSync(join(tmpdir(), 'distarray-changed-'))
const session = await Session.start({ workers: 1, memory: '64MB' })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly id: number
  readonly place: string
}

type Table = Awaited<ReturnType<typeof session.readParquet<Row>>>
interface Question {
  /** Makes the chain once, which may be asked several times. */
  readonly of: (table: Table, from: number) => () => Promise<unknown>
  readonly plain: (rows: readonly Row[], from: number) => unknown
}
const QUESTIONS: readonly Question[] = [
  { of: (t) => () => t.count(), plain: (rows) => rows.length },
  {
    of: (t, from) => {
      const chain = t.filter((r) => r.id >= from)
      return () => chain.count()
    },
    plain: (rows, from) => rows.filter((r) => r.id >= from).length,
  },
  {
    of: (t, from) => {
      const chain = t.filter((r) => r.id >= from)
      return () => chain.collect()
    },
    plain: (rows, from) => rows.filter((r) => r.id >= from),
  },
  {
    of: (t, from) => {
      const chain = t.filter((r) => r.id === from).map((r) => r.place)
      return () => chain.collect()
    },
    plain: (rows, from) => rows.filter((r) => r.id === from).map((r) => r.place),
  },
  {
    of: (t, from) => {
      const chain = t.filter((r) => r.id < from).map((r) => r.id)
      return () => chain.sum()
    },
    plain: (rows, from) => rows.filter((r) => r.id < from).reduce((sum, r) => sum + r.id, 0),
  },
]

test('a file that was written anew is refused, also where what was known of it leaves nothing to read', async () => {
  const seen = { answers: 0, refused: 0 }
  const rowsFrom = (first: number, count: number): Row[] =>
    Array.from({ length: count }, (_, i) => ({ id: first + i, place: `p${first + i}` }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ first: fc.nat(60), count: fc.integer({ min: 1, max: 12 }) }), { minLength: 1, maxLength: 3 }),
      fc.option(fc.record({ file: fc.nat(2), first: fc.nat(60), count: fc.integer({ min: 1, max: 12 }) }), { freq: 3 }),
      fc.array(fc.record({ question: fc.nat(QUESTIONS.length - 1), from: fc.nat(70), isAskedBefore: fc.boolean() }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.integer({ min: 1, max: 5 }),
      async (files, anew, asked, rowGroupRows) => {
        const paths = files.map((_, i) => join(folder, `${i}.parquet`))
        for (const [i, { first, count }] of files.entries()) {
          await session.fromRows(rowsFrom(first, count)).writeParquet(paths[i] as string, { rowGroupRows }) // one a file
          utimesSync(paths[i] as string, i + 1, i + 1)
        }
        const rows = files.flatMap(({ first, count }) => rowsFrom(first, count))
        const table = await session.readParquet<Row>(paths)
        const chains = asked.map(({ question, from, isAskedBefore }) => {
          const { of, plain } = QUESTIONS[question] as Question // one of them
          return { answer: of(table, from), expected: plain(rows, from), isAskedBefore }
        })
        for (const { answer, expected, isAskedBefore } of chains) if (isAskedBefore) expect(await answer()).toEqual(expected)
        const changed = anew === null ? undefined : paths[anew.file % paths.length]
        if (anew !== null && changed !== undefined) await session.fromRows(rowsFrom(anew.first, anew.count)).writeParquet(changed)
        for (const { answer, expected } of chains) {
          seen[changed === undefined ? 'answers' : 'refused']++
          if (changed === undefined) expect(await answer()).toEqual(expected)
          else await expect(answer()).rejects.toThrow(`${changed} changed since it was opened. Open it again.`)
        }
      },
    ),
    run,
  )
  console.log(`files written anew: ${JSON.stringify(seen)}`)
  expect(seen.answers).toBeGreaterThan(run.numRuns / 10)
  expect(seen.refused).toBeGreaterThan(run.numRuns / 2)
}, 300_000)
