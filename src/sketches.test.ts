/** Approximate aggregates, from the call to the result. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { approxCountDistinct, approxMedian, approxQuantile, PlanError, Session } from './index.ts'

interface Visit {
  readonly page: string
  readonly user: string | null
  readonly ms: number | null
}
const visits: readonly Visit[] = Array.from({ length: 30_000 }, (_, i) => ({
  page: i % 3 === 0 ? 'home' : 'shop',
  user: i % 10 === 7 ? null : `user-${(i * 7) % 2_000}`,
  ms: i % 11 === 0 ? null : (i * 37) % 1_000,
}))
const asked = {
  users: approxCountDistinct((v: Visit) => v.user),
  pages: approxCountDistinct((v: Visit) => v.page),
  median: approxMedian((v: Visit) => v.ms),
  slow: approxQuantile((v: Visit, { by }: { by: number }) => v.ms && v.ms * by, 0.99, { env: { by: 2 } }),
  most: approxQuantile((v: Visit) => v.ms, 1),
}

test('a table, a file and their groups are told about alike, and as of nothing', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const table = session.fromRows(visits)
  const folder = mkdtempSync(join(tmpdir(), 'sketches-'))
  try {
    const path = join(folder, 'visits.parquet')
    await table.writeParquet(path, { rowGroupRows: 4_000 })
    const file = await session.readParquet<Visit>(path)
    const whole = { users: 1_824, pages: 2, median: 502, slow: 1_976, most: 999 } // 1,800, 499.5, 1,978
    expect(await table.agg(asked).collect()).toEqual([whole])
    expect(await file.agg(asked).collect()).toEqual([whole])
    const groups = await table
      .groupBy((v) => v.page)
      .agg(asked)
      .collect()
    expect(
      await file
        .groupBy((v) => v.page)
        .agg(asked)
        .collect(),
    ).toEqual(groups)
    expect(groups.map(({ pages }) => pages)).toEqual([1, 1])
    expect(
      await table
        .filter((v) => v.page === 'none')
        .agg(asked)
        .collect(),
    ).toEqual([{ users: 0, pages: 0, median: null, slow: null, most: null }])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('what is no number, and what is no fraction, are refused at the call', () => {
  expect(() => approxQuantile((v: Visit) => v.ms, 1.5)).toThrow(
    new PlanError('The q of approxQuantile() is a number from 0 to 1; it was given 1.5.'),
  )
  expect(() => approxMedian('ms' as never)).toThrow(
    new PlanError('approxMedian() takes a function of (row), as in approxMedian((row) => row.price).'),
  )
})
