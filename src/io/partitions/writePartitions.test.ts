import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../../core/errors.ts'
import type { WriteParquetOptions } from '../../core/plan/writeOptions.ts'
import { Session } from '../../session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-folders-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly id: number
  readonly year: number
  readonly land: string | null
}
const rows = (count: number, from = 0) =>
  session.fromRows(
    Array.from({ length: count }, (_, i): Row => ({ id: from + i, year: 2023 + (i % 2), land: ['DE', 'a/b', null][i % 3] ?? null })),
  )
const filesOf = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort()
/** What is left beside the folders that were written. */
const strays = (): string[] => readdirSync(folder).filter((name) => name.includes('.tmp'))

test('rows lie in folders named after their columns, whatever the workers', async () => {
  const lake = join(folder, 'lake/')
  const written = await rows(200_000).writeParquet(lake, { partitionBy: ['year', 'land'], rowGroupRows: 10_000 })
  expect({ ...written, bytes: 0 }).toEqual({ rows: 200_000, bytes: 0, files: 6 })
  expect(filesOf(join(folder, 'lake'))).toEqual(
    ['2023', '2024'].flatMap((year) =>
      ['DE', '__HIVE_DEFAULT_PARTITION__', 'a%2Fb'].map((land) => `year=${year}/land=${land}/part-0.parquet`),
    ),
  )
  const back = await session.readParquet<Row>(lake)
  expect(await back.count()).toBe(200_000)
  expect((await back.filter((r) => r.year === 2024 && r.land === null).take(2)).map((r) => r.id)).toEqual([5, 11])
  const other = await Session.start({ workers: 1, memory: '64MB' })
  const again = other.fromRows(await rows(200_000).collect())
  await again.writeParquet(join(folder, 'again'), { partitionBy: ['year', 'land'], rowGroupRows: 10_000 })
  await other.stop()
  for (const file of filesOf(join(folder, 'again')))
    expect(readFileSync(join(folder, 'again', file)).equals(readFileSync(join(lake, file))), file).toBe(true)
})

test('a folder with files in it is refused, added to, or replaced', async () => {
  const lake = join(folder, 'kept')
  const options = { partitionBy: ['year'] } as const
  await rows(10).writeParquet(lake, options)
  await expect(rows(10).writeParquet(lake, options)).rejects.toThrow(
    new SourceError(
      `${lake} has files in it. Add files beside them with { existing: 'add' }, put new ones in their place with { existing: 'replace' }, or name another folder.`,
      lake,
    ),
  )
  await rows(10, 10).writeParquet(lake, { ...options, existing: 'add' })
  expect(filesOf(lake)).toEqual([2023, 2024].flatMap((year) => [0, 1].map((part) => `year=${year}/part-${part}.parquet`)))
  expect(await (await session.readParquet(lake)).count()).toBe(20)
  // a program may write over what it reads
  const read = await session.readParquet<Row>(lake)
  await read.filter((r) => r.id >= 15).writeParquet(lake, { ...options, existing: 'replace' })
  expect(await (await session.readParquet<Row>(lake)).map((r) => r.id).collect()).toEqual(
    [16, 18, 15, 17, 19].sort((a, b) => (a % 2) - (b % 2) || a - b),
  )
  writeFileSync(join(lake, 'notes.txt'), 'mine')
  await expect(rows(1).writeParquet(lake, { ...options, existing: 'replace' })).rejects.toThrow(
    new SourceError(
      `${lake} has files that do not end with .parquet, as notes.txt, and is not replaced. Name a folder that has no others.`,
      lake,
    ),
  )
  expect(readFileSync(join(lake, 'notes.txt'), 'utf8')).toBe('mine')
  expect(strays()).toEqual([])
})

test('a link to a folder stays, and what it leads to is written', async () => {
  mkdirSync(join(folder, 'target'))
  symlinkSync(join(folder, 'target'), join(folder, 'link'))
  await rows(4).writeParquet(join(folder, 'link'), { partitionBy: ['year'] })
  expect(filesOf(join(folder, 'target'))).toEqual(['year=2023/part-0.parquet', 'year=2024/part-0.parquet'])
})

test('after an error or an abort nothing is there, or what was', async () => {
  const lake = join(folder, 'failing')
  const failing = rows(10).map((r) => {
    if (r.id === 7) throw new Error('seven')
    return r
  })
  await expect(failing.writeParquet(lake, { partitionBy: ['year'] })).rejects.toThrow('seven')
  await expect(rows(10).writeParquet(lake, { partitionBy: ['year'], signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
    'enough',
  )
  expect(existsSync(lake)).toBe(false)
  writeFileSync(join(folder, 'file'), '')
  await expect(rows(1).writeParquet(join(folder, 'file'), { partitionBy: ['year'] })).rejects.toThrow(
    new SourceError(`${folder}/file is a file, and a folder is to be written. Name a folder, which need not be there.`, `${folder}/file`),
  )
  await expect(rows(1).writeParquet(join(folder, 'no/lake'), { partitionBy: ['year'] })).rejects.toThrow(
    new SourceError(
      `${folder}/no/lake cannot be written: there is no folder ${folder}/no. Make it first, for example with mkdirSync(${JSON.stringify(`${folder}/no`)}, { recursive: true }).`,
      `${folder}/no/lake`,
    ),
  )
  expect(strays()).toEqual([])
})

test.each<[WriteParquetOptions, string]>([
  [{ partitionBy: [] }, 'The partitionBy of writeParquet() names no column. Name those that folders are made of, or leave it out.'],
  [{ partitionBy: ['year', 'year'] }, 'The partitionBy of writeParquet() names a column twice: year, year.'],
  [{ partitionBy: [5] as never }, 'The partitionBy of writeParquet() names columns; it was given 5.'],
  [{ partitionBy: ['yaer'] }, 'There is no column "yaer", which { partitionBy } names. The columns are id, year, land.'],
  [{ partitionBy: ['id', 'year', 'land'] }, '{ partitionBy } names all columns, and the files need at least one.'],
  [{ partitionBy: ['id'] }, "{ partitionBy: ['id'] } makes more than 10000 folders. Name columns with fewer different values."],
  [
    { existing: 'add' },
    'The existing of writeParquet() is for folders, which { partitionBy } writes. A file takes the place of what is there.',
  ],
  [{ compression: 'gzip', compatibility: 'v1' }, "{ compatibility: 'v1' } has no gzip compression. Use 'snappy' or 'none'."],
])('writeParquet with the options %j', async (options, message) => {
  await expect(rows(10_001).writeParquet(join(folder, 'odd'), options as never)).rejects.toThrow(new PlanError(message))
  expect(existsSync(join(folder, 'odd'))).toBe(false)
})

test('values that name no folder', async () => {
  const write = (values: readonly (number | string | Date)[]) =>
    session.fromColumns({ v: values, id: values.map((_, i) => i) }).writeParquet(join(folder, 'odd'), { partitionBy: ['v'] })
  await expect(write([1, 1.5])).rejects.toThrow(
    new PlanError(
      'Column "v" has the value 1.5, and folders are named by whole numbers within ±2^53. Make a column of such first, with withColumns(…).',
    ),
  )
  await expect(write(['a', '__HIVE_DEFAULT_PARTITION__'])).rejects.toThrow(
    new PlanError(
      'Column "v" has the value "__HIVE_DEFAULT_PARTITION__", which names the folder of rows that have none. Give those rows another text first.',
    ),
  )
  await expect(write([new Date(0)])).rejects.toThrow(
    new PlanError(
      'Column "v" is timestamp(ms), which names no folders: whole numbers, texts, dates and truth values do. Make a column of one of them first, with withColumns(…).',
    ),
  )
})

test.each(['snappy', 'zstd', 'gzip', 'brotli', 'lz4', 'none'] as const)('rows compressed with %s are read back', async (compression) => {
  const path = join(folder, `${compression}.parquet`)
  await rows(1000).writeParquet(path, { compression })
  expect(await (await session.readParquet(path)).collect()).toEqual(await rows(1000).collect())
})
