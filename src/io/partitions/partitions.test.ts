import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'
import { openParquet } from '../parquet.ts'
import { writeParquet } from '../writeParquet.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-partitions-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

let id = 0
async function file(path: string, rows = 2): Promise<string> {
  const place = join(folder, path)
  mkdirSync(dirname(place), { recursive: true })
  const element = { kind: 'row', fields: [{ name: 'id', type: { kind: 'f64' }, nullable: false }] } as const
  const column = columnFromValues(Array.from({ length: rows }, () => id++))
  await writeParquet({ batches: [{ element, length: rows, columns: [column] }], element, path: place })
  return place
}

function text(path: string, content: string): void {
  const place = join(folder, path)
  mkdirSync(dirname(place), { recursive: true })
  writeFileSync(place, content)
}

interface Sale {
  readonly id: number
  readonly year: number
  readonly day: Date | null
  readonly land: string
}

test('a folder is read with all files in it, sorted, notes left out, links followed', async () => {
  id = 0
  await file('plain/b.parquet', 1)
  await file('plain/a/x.parquet', 1)
  await file('elsewhere/y.parquet', 1)
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'plain/c'))
  text('plain/_SUCCESS', '')
  text('plain/.b.parquet.crc', 'x')
  const table = await session.readParquet<{ id: number }>(`${folder}/plain/`)
  expect(await table.collect()).toEqual([{ id: 1 }, { id: 0 }, { id: 2 }])
  expect(table.explain()).toContain('Scan plain [id]')
})

test('whole numbers, days and texts are told from all paths; percent signs are decoded', async () => {
  id = 0
  await file('sales/year=2023/day=2023-05-01/land=D%2FE/0.parquet')
  await file('sales/year=-5/day=__HIVE_DEFAULT_PARTITION__/land=007/0.parquet')
  const table = await session.readParquet<Sale>(`${folder}/sales`)
  expect(table.schema.toString()).toBe('Schema<{ 0: id: Float64, 1: year: Int64, 2: day: Date32<DAY>, 3: land: Utf8 }>')
  expect(await table.collect()).toEqual([
    { id: 2, year: -5, day: null, land: '007' },
    { id: 3, year: -5, day: null, land: '007' },
    { id: 0, year: 2023, day: new Date('2023-05-01'), land: 'D/E' },
    { id: 1, year: 2023, day: new Date('2023-05-01'), land: 'D/E' },
  ])
  const glob = await session.readParquet<Sale>(`${folder}/sales/year=*/*/*/*.parquet`, { columns: ['land', 'id'] })
  expect(await glob.limit(1).collect()).toEqual([{ land: '007', id: 2 }])
  const only = await session.readParquet<Sale>(`${folder}/sales`, { columns: ['year'] })
  expect(await only.distinct().collect()).toEqual([{ year: -5 }, { year: 2023 }])
  const big = await session.readParquet<{ year: bigint }>(`${folder}/sales`, { columns: ['year'], int64: 'bigint' })
  expect(await big.first()).toEqual({ year: -5n })
  const texts = await session.readParquet<{ year: string }>(`${folder}/sales`, { columns: ['year'], partitions: 'text' })
  expect(await texts.first()).toEqual({ year: '-5' })
  const none = await session.readParquet<object>(`${folder}/sales`, { partitions: 'none' })
  expect(await none.first()).toEqual({ id: 2 })
})

test('CSV and Arrow lie in such folders too', async () => {
  text('logs/host=a/1.csv', 'level,n\nwarn,1\n')
  text('logs/host=b/1.csv', 'level,n\ninfo,2\nwarn,3\n')
  const logs = await session.readCsv<{ level: string; n: number; host: string }>(`${folder}/logs`)
  const warnings = logs.filter((r) => r.host === 'b' && r.level === 'warn')
  expect(await warnings.collect()).toEqual([{ level: 'warn', n: 3, host: 'b' }])
  expect(warnings.explain()).toContain('files: 1 of 2')
  mkdirSync(join(folder, 'arrow/k=1'), { recursive: true })
  await session.fromRows([{ a: 'x', b: 1 }]).writeArrow(join(folder, 'arrow/k=1/t.arrow'))
  expect(await (await session.readArrow(`${folder}/arrow`)).select('k', 'b').collect()).toEqual([{ k: 1, b: 1 }])
})

test('a filter that folders decide reads the other files not at all, and goes', async () => {
  id = 0
  for (const year of [2022, 2023, 2024]) for (const n of [0, 1]) await file(`years/year=${year}/${n}.parquet`)
  const table = await session.readParquet<Sale>(`${folder}/years`)
  expect(table.filter((r) => r.year !== 2023 && (r.year > 2023 || r.id < 0)).explain()).toContain(
    [
      'Optimized plan',
      '  Filter r => r.year !== 2023 && (r.year > 2023 || r.id < 0)',
      '    Scan years [id, year], files: 4 of 6',
      'Stages',
    ].join('\n'),
  )
  const decided = table.filter((r) => r.year >= 2024)
  expect(decided.explain()).toContain('Optimized plan\n  Scan years [id, year], files: 2 of 6\nStages')
  rmSync(join(folder, 'years/year=2022'), { recursive: true })
  rmSync(join(folder, 'years/year=2023'), { recursive: true }) // nobody opens what is not there
  expect(await decided.map((r) => r.id).collect()).toEqual([8, 9, 10, 11])
  expect(await table.filter((r) => r.year === 1).count()).toBe(0)
  expect(await decided.explain({ analyze: true })).toContain('files: 2 of 6: 4 rows, 2 of 2 row groups')
  await expect(table.filter((r) => r.year > 2022).collect()).rejects.toThrow('There is no file')
})

test('columns that the files have as well are theirs, with their types, and their statistics leave out as much', async () => {
  const rows = [
    { id: 1, shop: '01', at: new Date('2024-05-01T10:00Z') },
    { id: 2, shop: '2', at: new Date('2024-05-02T10:00Z') },
  ]
  for (const row of rows) {
    const place = join(folder, `polars/shop=${Number(row.shop)}/at=${row.at.toISOString().slice(0, 10)}/0.parquet`)
    mkdirSync(dirname(place), { recursive: true })
    await session.fromRows([row]).writeParquet(place)
  }
  const table = await session.readParquet<(typeof rows)[number]>(join(folder, 'polars'))
  expect(table.schema.toString()).toBe('Schema<{ 0: id: Float64, 1: shop: Utf8, 2: at: Timestamp<MILLISECOND> }>')
  expect(await table.collect()).toEqual(rows)
  const second = table.filter((r) => r.shop === '2')
  expect(await second.collect()).toEqual(rows.slice(1))
  expect(await second.explain({ analyze: true })).toContain('1 of 2 row groups')
  const some = await session.readParquet<{ shop: string; id: number }>(join(folder, 'polars'), { columns: ['shop', 'id'] })
  expect(await some.collect()).toEqual(rows.map(({ shop, id }) => ({ shop, id })))
  // of what only folders say, the folder
  const years = await session.readParquet<{ at: Date }>(join(folder, 'polars/shop=1/at=2024-05-01'), { columns: ['at'] })
  expect(await years.collect()).toEqual([{ at: rows[0]?.at }])
})

test('of columns that folders name, those may be null whose folder says so', async () => {
  const rows = [1, 2].map((id) => ({ id, shop: id === 1 ? null : 'a' }))
  await session.fromRows(rows).writeParquet(join(folder, 'shops'), { partitionBy: ['shop'] })
  const { splits } = await openParquet(join(folder, 'shops'))
  expect(splits.map(({ constants, mayBeNull }) => [constants?.get('shop'), [...(mayBeNull ?? [])]])).toEqual([
    [null, ['shop']],
    ['a', []],
  ])
})

test('behind an address, files that are left out are asked for no byte', async () => {
  const asked: string[] = []
  const bytes = new Map<string, Uint8Array>()
  const { readFileSync } = await import('node:fs')
  for (const year of [1, 2]) bytes.set(`/lake/year=${year}/a.parquet`, readFileSync(await file(`served/year=${year}/a.parquet`)))
  const server = createServer((request, response) => {
    const found = bytes.get(request.url ?? '') ?? new Uint8Array()
    asked.push(`${request.method} ${request.url}`)
    const [, from = '0', to = '0'] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
    if (request.method === 'HEAD') {
      response.setHeader('content-length', found.length).end()
      return
    }
    const part = found.subarray(Number(from), Number(to) + 1)
    response.writeHead(206, { 'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${found.length}` }).end(part)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const table = await session.readParquet<Sale>([...bytes.keys()].map((path) => `http://127.0.0.1:${port}${path}`))
  asked.length = 0
  expect(await table.filter((r) => r.year === 2).count()).toBe(2)
  expect(asked).toEqual([])
  expect((await table.filter((r) => r.year === 2).collect()).length).toBe(2)
  expect(asked.filter((one) => one.includes('year=1'))).toEqual([])
  expect(asked.length).toBeGreaterThan(0)
  server.closeAllConnections()
  server.close()
})

test('what makes no table is an error that says why', async () => {
  id = 0
  const refused = async (source: string | string[], message: string, options: object = {}): Promise<void> => {
    const error = await session.readParquet(source, options).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(SourceError)
    expect((error as Error).message.replaceAll(`${folder}/`, '')).toBe(message)
  }
  mkdirSync(join(folder, 'nothing'))
  await refused(join(folder, 'nothing'), 'nothing has no files in it. Name a folder that has, or a file.')
  const a = await file('odd/year=1/a.parquet')
  const b = await file('odd/b.parquet')
  await refused(
    [a, b],
    "odd/b.parquet lies in no folder named column=value, and odd/year=1/a.parquet in folders of year. Files read together need the same of these folders; { partitions: 'none' } makes no columns of them.",
  )
  await refused(
    await file('twice/k=1/k=2/a.parquet'),
    `twice/k=1/k=2/a.parquet has two folders on its way that say what "k" is. { partitions: 'none' } makes no columns of them.`,
  )
  await refused(
    await file('wide/n=9007199254740993/a.parquet'),
    `wide/n=9007199254740993/a.parquet: the n "9007199254740993" is beyond ±2^53, up to where numbers are exact. Read partitions as text with { partitions: 'text' }.`,
  )
  mkdirSync(join(folder, 'delta/_delta_log'), { recursive: true })
  await refused(
    join(folder, 'delta'),
    'delta is a Delta table: its log in _delta_log says which of the files count, and logs are not read. Copy what is valid to Parquet files of its own, or name the files.',
  )
  await expect(session.readParquet(a, { partitions: 'hive' as never })).rejects.toThrow(
    `The partitions of a reader is one of 'columns', 'text', 'none'; it was given "hive".`,
  )
})
