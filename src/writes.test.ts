/** What is written does not depend on who makes the bytes of it. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Session } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-writes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ROWS = 150_000
const rows = Array.from({ length: ROWS }, (_, i) => ({
  id: i,
  price: i % 7 === 0 ? null : i / 100,
  name: i % 5 === 0 ? null : `name, ${i % 1000}`,
  at: new Date(i * 86_400_000),
  tags: [i % 3, i],
}))

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

test('the same bytes from any number of workers, from memory, from storage and from a chain', async () => {
  const hashes = { csv: new Set<string>(), parquet: new Set<string>(), arrow: new Set<string>() }
  for (const workers of [1, 2]) {
    const session = await Session.start({ workers, progress: false })
    const table = session.fromRows(rows)
    const stored = table.materialize()
    await stored.count()
    await table.writeParquet(join(folder, 'table.parquet'))
    for (const one of [table, stored, stored.filter((r) => r.id >= 0)]) {
      const path = join(folder, 'out')
      expect(await one.select('id', 'price', 'name', 'at').writeCsv(path)).toMatchObject({ rows: ROWS })
      hashes.csv.add(hashOf(path))
      expect(await one.writeParquet(path, { rowGroupRows: 40_000 })).toMatchObject({ rows: ROWS })
      hashes.parquet.add(hashOf(path))
      expect(await one.writeArrow(path)).toMatchObject({ rows: ROWS })
      hashes.arrow.add(hashOf(path))
    }
    const [ours, copy] = [join(folder, 'ours.parquet'), join(folder, 'copy.parquet')]
    await table.filter((r) => r.name !== 'name, 6').writeParquet(ours)
    const files = await session.readParquet<(typeof rows)[number]>(join(folder, 'table.parquet'))
    await files.filter((r) => r.name !== 'name, 6').writeParquet(copy)
    expect(hashOf(copy)).toBe(hashOf(ours))
    const read = await session.readArrow<(typeof rows)[number]>(join(folder, 'out'))
    expect(await read.filter((r) => r.id >= 149_998).collect()).toStrictEqual(rows.slice(-2))
    await session.stop()
  }
  expect(Object.values(hashes).map(({ size }) => size)).toStrictEqual([1, 1, 1])
})
