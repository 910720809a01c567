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
const QUESTIONS: readonly {
  readonly of: (table: Table, from: number) => Promise<unknown>
  readonly plain: (rows: readonly Row[], from: number) => unknown
}[] = [
  { of: (t) => t.count(), plain: (rows) => rows.length },
  { of: (t, from) => t.filter((r) => r.id >= from).count(), plain: (rows, from) => rows.filter((r) => r.id >= from).length },
  { of: (t, from) => t.filter((r) => r.id >= from).collect(), plain: (rows, from) => rows.filter((r) => r.id >= from) },
  {
    of: (t, from) =>
      t
        .filter((r) => r.id === from)
        .map((r) => r.place)
        .collect(),
    plain: (rows, from) => rows.filter((r) => r.id === from).map((r) => r.place),
  },
  {
    of: (t, from) =>
      t
        .filter((r) => r.id < from)
        .map((r) => r.id)
        .sum(),
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
        for (const { question, from, isAskedBefore } of asked)
          if (isAskedBefore) expect(await QUESTIONS[question]?.of(table, from)).toEqual(QUESTIONS[question]?.plain(rows, from))
        const changed = anew === null ? undefined : paths[anew.file % paths.length]
        if (anew !== null && changed !== undefined) await session.fromRows(rowsFrom(anew.first, anew.count)).writeParquet(changed)
        for (const { question, from } of asked) {
          const answer = QUESTIONS[question]?.of(table, from)
          seen[changed === undefined ? 'answers' : 'refused']++
          if (changed === undefined) expect(await answer).toEqual(QUESTIONS[question]?.plain(rows, from))
          else await expect(answer).rejects.toThrow(`${changed} changed since it was opened. Open it again.`)
        }
      },
    ),
    run,
  )
  console.log(`files written anew: ${JSON.stringify(seen)}`)
  expect(seen.answers).toBeGreaterThan(run.numRuns / 10)
  expect(seen.refused).toBeGreaterThan(run.numRuns / 2)
}, 300_000)
