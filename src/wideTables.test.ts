/**
 * Tables of many columns: the same questions as of a few. What looks for each name in the list of all would take
 * minutes here.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-wide-'))
const session = await Session.start({ workers: 1, memory: '256MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `c${i}`)

test('100,000 columns of CSV are opened and collected', async () => {
  const names = namesOf(100_000)
  const path = join(folder, 'wide.csv')
  writeFileSync(path, `${names.join()}\n${names.map((_, i) => i).join()}\n`)
  const [row] = await (await session.readCsv(path)).collect()
  expect(Object.entries(row ?? {}).every(([name, value], i) => name === `c${i}` && value === i)).toBe(true)
})

test('20,000 columns in memory go through every kind of step', async () => {
  const names = namesOf(20_000)
  const columns = Object.fromEntries(names.map((name, i) => [name, [i, i + 1]]))
  const table = session.fromColumns(columns)
  const second = Object.fromEntries(names.map((name, i) => [name, i + 1]))
  expect(await table.filter((row) => (row.c5 ?? 0) > 5).collect()).toStrictEqual([second])
  expect(await session.fromRows([second]).collect()).toStrictEqual([second])
  expect(await table.withColumns((row) => ({ c7: (row.c5 ?? 0) + 1 })).take(1)).toStrictEqual([
    { ...second, ...Object.fromEntries(names.map((name, i) => [name, i])), c7: 6 },
  ])
  const reversed = table.select(...names.toReversed())
  expect(Object.keys((await reversed.take(1))[0] ?? {}).slice(0, 2)).toStrictEqual(['c19999', 'c19998'])
  expect(await table.union(reversed).count()).toBe(4)
  expect(await table.union(table).distinct().count()).toBe(2)
  expect(
    (
      await table
        .materialize()
        .sortBy((row) => -(row.c3 ?? 0))
        .take(1)
    )[0],
  ).toStrictEqual(second)
  expect(table.filter((row) => (row.c5 ?? 0) > 5).explain({ verbose: true })).toContain('Filter')
  expect(() => table.filter((row) => (row.d5 ?? 0) > 5)).toThrow(/^There is no column "d5" in .*\(20000 columns\)/)
})
