import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { count, lag, max, quantile, rowNumber, Session, sum } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'streams-'))
const rows = 200_000
let session: Session

beforeAll(async () => {
  await using writer = await Session.start({ workers: 1, progress: false })
  const table = writer.fromColumns({
    g: Int32Array.from({ length: rows }, (_, i) => i % 5),
    a: Float64Array.from({ length: rows }, (_, i) => i),
  })
  await table.writeParquet(join(folder, 'small groups.parquet'), { rowGroupRows: 10_000 })
  await table.writeParquet(join(folder, 'one group.parquet'), { rowGroupRows: rows })
  session = await Session.start({ workers: 1, memory: '1MB', progress: false })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly g: number
  readonly a: number
}

test('a table larger than the memory is iterated, folded, written and grouped', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  let seen = 0
  for await (const row of table) if (row.a === seen) seen++
  expect(seen).toBe(rows)
  expect(await table.map((r) => r.a).sum()).toBe((rows * (rows - 1)) / 2)
  expect(await table.writeParquet(join(folder, 'copy.parquet'))).toMatchObject({ rows })
  const groups = table.groupBy((r) => r.g).agg({ total: sum((r) => r.a) })
  expect(await groups.take(2)).toEqual([
    { key: 0, total: 3_999_900_000 },
    { key: 1, total: 3_999_940_000 },
  ])
  expect(groups.explain()).toContain('-> PartialGroupsExec total = sum -> streamed to stage 1')
})

test('what needs all rows says why they are kept', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  const left = table.window({ orderBy: (r) => r.a, frame: { rows: [0, null] } }, { left: sum((r) => r.a) })
  const error = (await left.collect().catch((one: unknown) => one)) as Error
  expect(error.name).toBe('MemoryError')
  expect(error.message.split('\n').slice(1)).toEqual([
    'All results of ScanExec small groups.parquet -> EvaluateExec are kept at once, because WindowExec needs all of them.',
    'WindowExec has one partition, and a frame that ends with it but does not begin with it, and does not go by way of disk.',
    expect.stringMatching(/^Raise \{ memory \} in Session\.start, at most to .*, or free arrays with release\(\)\.$/),
  ])
})

test('a frame that reaches more rows than memory holds says so', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  const wide = table.window({ orderBy: (r) => r.a, frame: { rows: [-50_000, 0] } }, { most: max((r) => r.g) })
  const error = (await wide.collect().catch((one: unknown) => one)) as Error
  expect(error.name).toBe('MemoryError')
  expect(error.message).toBe(
    'WindowExec computes a piece of its one partition with 1 MiB of rows around it, which is more than a fourth of the memory: it has a frame of rows [-50000, 0], or a lag or lead of many rows.\nMake those shorter, give the window a { by }, or raise { memory } in Session.start.',
  )
})

test('a window that is one partition goes by way of disk, in pieces that know of those before', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  const numbered = table.window({ orderBy: (r) => -r.a }, { place: rowNumber(), sofar: sum((r) => r.a), before: lag((r) => r.a) })
  const explained = await numbered.explain({ analyze: true })
  expect(explained).toMatch(/WindowExec.*: .* spilled/)
  let row = 0
  let sofar = (rows * (rows - 1)) / 2
  for await (const found of numbered) {
    expect(found).toEqual({ a: row, g: found.g, place: rows - row, sofar, before: row === rows - 1 ? null : row + 1 })
    sofar -= row++
    if (row === 1000) break
  }
})

test('an index goes by way of disk, and of a repeated key the first two rows are named', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  const indexed = table.index((r) => [rows - 1 - r.a])
  expect(await indexed.take(2)).toEqual([
    { a: rows - 1, g: 4 },
    { a: rows - 2, g: 3 },
  ])
  expect(await indexed.explain({ analyze: true })).toMatch(/IndexExec: .* spilled/)
  const repeated = table.index((r) => [r.a % (rows - 2)])
  const error = (await repeated.collect().catch((one: unknown) => one)) as Error
  expect(error.message).toBe(
    `index: rows 0 and ${rows - 2} both have the key [0]. Say how two values become one, as in index(f, { combine: (a, b) => a + b }), or choose keys that differ.`,
  )
})

test('what can be done part after part, by way of disk, is', async () => {
  const table = await session.readParquet<Row>(join(folder, 'small groups.parquet'))
  const middle = table.groupBy((r) => r.g).agg({ middle: quantile((r) => r.a, 0.5), n: count() })
  const groups = await middle.collect()
  expect(groups).toEqual([0, 1, 2, 3, 4].map((key) => ({ key, middle: key + (rows - 5) / 2, n: rows / 5 })))
})

test('a row group larger than the memory is named, with the cure', async () => {
  const path = join(folder, 'one group.parquet')
  const table = await session.readParquet<Row>(path)
  const error = (await table.take(rows).catch((one: unknown) => one)) as Error
  expect(error.name).toBe('MemoryError')
  expect(error.message.split('\n')[1]).toBe(
    `It computes row group 0 of ${path}, one piece that is read at once. Write the file with smaller row groups, as with writeParquet(path, { rowGroupRows: 65_536 }), or raise { memory } in Session.start.`,
  )
})
