import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { rowReader } from '../core/data/columnReaders.ts'
import { fieldsOf, typeText } from '../core/data/schema.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import { type EncodeTask, encode } from './encode.ts'
import { sourceFromColumns, sourceFromRows } from './memory/memory.ts'
import { decodeThrift, encodeThrift, i32, i64, structs, type ThriftField, type ThriftStruct, text } from './parquet/thrift.ts'
import { openParquet } from './parquet.ts'
import { readSplit } from './readSplit.ts'
import { type WriteParquetOptions, writeParquet } from './writeParquet.ts'

let folder = ''
let good = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-parquet-'))
  good = join(folder, 'good.parquet')
  await write(good, sourceFromRows(Array.from({ length: 10 }, (_, i) => ({ id: i, name: i === 3 ? null : `n${i}`, big: BigInt(i) }))), {
    rowGroupRows: 4,
  })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function write(path: string, source: ArraySource, options: WriteParquetOptions = {}): Promise<void> {
  const names = fieldsOf(source.element).map((field) => field.name)
  const batches = (await Promise.all(source.splits.map((split) => readSplit(source, split, names)))).flat()
  await writeParquet({ batches, element: source.element, path, options })
}

async function rowsOf(source: ArraySource, columns = fieldsOf(source.element).map((field) => field.name)): Promise<unknown[]> {
  const rows: unknown[] = []
  for (const split of source.splits) {
    for (const batch of await readSplit(source, split, columns)) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return rows
}

function file(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

test('a split is a row group, with its rows and its smallest and largest values', async () => {
  const source = await openParquet(good)
  expect(source.rows).toBe(10)
  expect(source.name).toBe('good.parquet')
  expect(source.splits.map(({ rows, statistics }) => ({ rows, statistics: Object.fromEntries(statistics ?? []) }))).toStrictEqual([
    { rows: 4, statistics: { id: { min: -0, max: 3 }, name: { min: 'n0', max: 'n2' }, big: { min: 0n, max: 3n } } },
    { rows: 4, statistics: { id: { min: 4, max: 7 }, name: { min: 'n4', max: 'n7' }, big: { min: 4n, max: 7n } } },
    { rows: 2, statistics: { id: { min: 8, max: 9 }, name: { min: 'n8', max: 'n9' }, big: { min: 8n, max: 9n } } },
  ])
})

test('splits are plain data: what a worker gets by structured clone reads the same', async () => {
  const source = structuredClone(await openParquet(good))
  expect(await rowsOf(source, ['name', 'id'])).toStrictEqual(
    Array.from({ length: 10 }, (_, i) => ({ name: i === 3 ? null : `n${i}`, id: i })),
  )
})

test('integers of 64 bits in footers are what was written', () => {
  const values = [0, 1, 6, 7, 24, 48, 49, 55, 56, 62].flatMap((bits) => [
    2n ** BigInt(bits),
    -(2n ** BigInt(bits)),
    2n ** BigInt(bits) - 1n,
  ])
  const extremes = [...values, 2n ** 63n - 1n, -(2n ** 63n)]
  const struct: ThriftStruct = new Map(extremes.map((value, i) => [i + 1, i64(value)]))
  expect(decodeThrift(encodeThrift(struct))).toStrictEqual(struct)
})

test('no columns: the rows are counted', async () => {
  const source = await openParquet(good)
  const [split] = source.splits
  const [batch] = split === undefined ? [] : await readSplit(source, split, [])
  expect(batch).toStrictEqual({ element: { kind: 'row', fields: [] }, length: 4, columns: [] })
})

test('columns are chosen and ordered by { columns }', async () => {
  const source = await openParquet(good, { columns: ['big', 'id'] })
  expect(fieldsOf(source.element).map((field) => field.name)).toStrictEqual(['big', 'id'])
  expect((await rowsOf(source))[7]).toStrictEqual({ big: 7, id: 7 })
  await expect(openParquet(good, { columns: ['idd'] })).rejects.toThrow(
    new PlanError(`There is no column "idd" in ${good}. Did you mean "id"? The columns are id, name, big.`),
  )
  await expect(openParquet(good, { columns: ['id', 'id'] })).rejects.toThrow(
    new PlanError('A column is named twice in { columns: ["id", "id"] }.'),
  )
})

test('64-bit integers are numbers, and refused where they are none', async () => {
  const source = await openParquet(good)
  expect(fieldsOf(source.element).map((field) => typeText(field.type))).toStrictEqual(['f64', 'utf8', 'i64 as number'])
  expect(source.splits[1]?.statistics?.get('big')).toStrictEqual({ min: 4n, max: 7n })
  expect((await rowsOf(source))[7]).toStrictEqual({ id: 7, name: 'n7', big: 7 })
  const wide = join(folder, 'wide.parquet')
  const values = [
    { b: 1, a: [2n ** 53n], s: null },
    { b: 2, a: null, s: null },
    { b: 3, a: [-(2n ** 53n), 2n ** 53n + 1n], s: { x: 2n ** 60n } },
  ]
  await write(wide, sourceFromRows(values), { rowGroupRows: 2 })
  const refused = (column: string, integer: bigint) =>
    new SourceError(
      `${wide}, column "${column}": the integer ${integer} at row 2 is beyond ±2^53, up to where numbers are exact. Read 64-bit integers as bigints with { int64: 'bigint' }.`,
      wide,
    )
  await expect(rowsOf(await openParquet(wide))).rejects.toThrow(refused('a[]', 2n ** 53n + 1n))
  await expect(rowsOf(await openParquet(wide), ['s'])).rejects.toThrow(refused('s.x', 2n ** 60n))
  expect(await rowsOf(await openParquet(wide), ['b'])).toStrictEqual([{ b: 1 }, { b: 2 }, { b: 3 }])
  expect(await rowsOf(await openParquet(wide, { int64: 'bigint' }))).toStrictEqual(values)
})

test('paths: URL, glob, several files', async () => {
  const sub = join(folder, 'parts', 'x')
  mkdirSync(sub, { recursive: true })
  for (const part of ['b.parquet', 'a.parquet', '.hidden.parquet', 'c.txt']) cpSync(good, join(sub, part))
  expect((await openParquet(pathToFileURL(good))).rows).toBe(10)
  expect((await openParquet(pathToFileURL(good).href)).rows).toBe(10)
  const two = await openParquet(join(folder, 'parts', '*', '[ab].parquet'))
  expect([two.rows, two.name]).toStrictEqual([20, 'a.parquet and 1 more'])
  expect((await openParquet(join(folder, 'parts', '**', '*.{parquet,pq}'))).rows).toBe(20)
  expect((await openParquet([good, join(sub, '?.parquet')])).rows).toBe(30)
  expect((await openParquet([pathToFileURL(good), good])).rows).toBe(20)
  await expect(openParquet(join(folder, '*.nothing'))).rejects.toThrow(
    new SourceError(`No file matches ${join(folder, '*.nothing')}.`, join(folder, '*.nothing')),
  )
  await expect(openParquet([])).rejects.toThrow(new SourceError('No file was named: the list of paths is empty.', ''))
})

test('files read together need the same columns and types', async () => {
  const other = join(folder, 'other.parquet')
  await write(other, sourceFromRows([{ id: 1, name: 5, big: 1n }]))
  await expect(openParquet([good, other])).rejects.toThrow(
    new SourceError(`Column "name" is f64 in ${other} and utf8 in ${good}. Files read together need the same types.`, other),
  )
  const fewer = join(folder, 'fewer.parquet')
  await write(fewer, sourceFromRows([{ id: 1, big: 1n }]))
  await expect(openParquet([good, fewer])).rejects.toThrow(
    new SourceError(
      `${fewer} has no column "name", which ${good} has. Files read together need the same columns: read them one by one, and put them together with union(…, { columns: 'all' }).`,
      fewer,
    ),
  )
  await expect(openParquet([fewer, good])).rejects.toThrow(
    new SourceError(
      `${good} has a column "name", which ${fewer} has not. Files read together need the same columns: read them one by one, and put them together with union(…, { columns: 'all' }).`,
      good,
    ),
  )
})

test('what is not a Parquet file is refused at once, by name', async () => {
  const whole = new Uint8Array(readFileSync(good))
  const missing = join(folder, 'missing.parquet')
  const cases: [string, string][] = [
    [missing, `There is no file ${missing}.`],
    ...[
      ['empty', new Uint8Array(0), 'PATH is empty. A Parquet file has at least 12 bytes.'],
      ['short', 'PAR1', 'PATH has 4 bytes. A Parquet file has at least 12: it was cut, or is something else.'],
      [
        'text',
        'user,movie,stars\n1,2,3\n',
        'PATH looks like text, and readParquet() reads Parquet. Read CSV with readCsv(), lines with readText().',
      ],
      ['noise', '\x01\x02aaaaaaaaaaaaaaaa', 'PATH is not a Parquet file: it does not begin with PAR1.'],
      ['cut', whole.slice(0, whole.length - 9), 'PATH does not end with PAR1: it was cut, or is still being written.'],
      [
        'encrypted',
        'PARE1234567890PARE',
        'PATH has an encrypted footer. Encrypted Parquet files are not read: write it without encryption.',
      ],
      [
        'footer',
        new Uint8Array([...whole.slice(0, -8), 255, 255, 255, 127, 80, 65, 82, 49]),
        `PATH declares a footer of 2147483647 bytes, and the file has ${whole.length}: it is damaged.`,
      ],
      ['thrift', 'PAR1\x99\x99\x99\x99\x04\x00\x00\x00PAR1', 'PATH has a damaged footer: the bytes end in the middle of a value.'],
    ].map(([name, bytes, message]): [string, string] => {
      const path = file(`bad-${String(name)}.parquet`, typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : (bytes as Uint8Array))
      return [path, String(message).replace('PATH', path)]
    }),
  ]
  for (const [path, message] of cases) await expect(openParquet(path)).rejects.toThrow(new SourceError(message, path))
})

const isRoot = process.getuid?.() === 0
test.skipIf(isRoot)(`a file that may not be read${isRoot ? ': skipped, root may read every file' : ''}`, async () => {
  const path = file('secret.parquet', readFileSync(good))
  chmodSync(path, 0)
  await expect(openParquet(path)).rejects.toThrow(new SourceError(`${path} may not be read: permission denied.`, path))
})

test('a file that changed after it was opened is refused', async () => {
  const path = file('changing.parquet', readFileSync(good))
  const source = await openParquet(path)
  utimesSync(path, 1, 1)
  await expect(rowsOf(source)).rejects.toThrow(new SourceError(`${path} changed since it was opened. Open it again.`, path))
})

test('rows that the footer counts are those of the file that was opened', async () => {
  const path = file('counted.parquet', readFileSync(good))
  const source = await openParquet(path)
  const counted = () => readSplit(source, source.splits[0] as never, [])
  expect((await counted())[0]?.length).toBe(source.splits[0]?.rows)
  utimesSync(path, 1, 1)
  await expect(counted()).rejects.toThrow(new SourceError(`${path} changed since it was opened. Open it again.`, path))
})

test('a flipped byte of data is found by the checksum', async () => {
  const bytes = readFileSync(good)
  bytes[30] = (bytes[30] ?? 0) ^ 1
  const path = file('flipped.parquet', bytes)
  await expect(rowsOf(await openParquet(path))).rejects.toThrow(
    new SourceError(`${path}, column "id": the checksum does not match: the file is damaged.`, path),
  )
})

test('a name in the footer that is another one is found by its checksum', async () => {
  const bytes = readFileSync(good)
  const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8)
  for (let at = bytes.indexOf('id', footer); at >= 0; at = bytes.indexOf('id', at)) bytes.write('ie', at)
  const path = file('renamed.parquet', bytes)
  await expect(openParquet(path)).rejects.toThrow(new SourceError(`${path} has a damaged footer: its checksum does not match.`, path))
})

/** A file of one INT32 column `a` whose one page has this header and body. */
function handmade(page: ThriftStruct, body: Uint8Array, rows: number, codec: number): Uint8Array {
  const header = encodeThrift(page)
  const size = header.length + body.length
  const meta: ThriftStruct = new Map<number, ThriftField>([
    [1, i32(1)],
    [2, { type: 9, value: { elementType: 5, items: [0] } }],
    [3, { type: 9, value: { elementType: 8, items: [Buffer.from('a')] } }],
    [4, i32(codec)],
    [5, i64(rows)],
    [6, i64(size)],
    [7, i64(size)],
    [9, i64(4)],
  ])
  const footer = encodeThrift(
    new Map<number, ThriftField>([
      [1, i32(1)],
      [
        2,
        structs([
          new Map([
            [4, text('schema')],
            [5, i32(1)],
          ]),
          new Map([
            [1, i32(1)],
            [3, i32(0)],
            [4, text('a')],
          ]),
        ]),
      ],
      [3, i64(rows)],
      [
        4,
        structs([
          new Map<number, ThriftField>([
            [
              1,
              structs([
                new Map<number, ThriftField>([
                  [2, i64(4)],
                  [3, { type: 12, value: meta }],
                ]),
              ]),
            ],
            [2, i64(size)],
            [3, i64(rows)],
          ]),
        ]),
      ],
    ]),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32LE(footer.length)
  return Buffer.concat([Buffer.from('PAR1'), header, body, footer, length, Buffer.from('PAR1')])
}

function dataPage(uncompressed: number, compressed: number, values: number, encoding = 0): ThriftStruct {
  return new Map<number, ThriftField>([
    [1, i32(0)],
    [2, i32(uncompressed)],
    [3, i32(compressed)],
    [
      5,
      {
        type: 12,
        value: new Map([
          [1, i32(values)],
          [2, i32(encoding)],
          [3, i32(3)],
          [4, i32(3)],
        ]),
      },
    ],
  ])
}

test('a page made by hand is read, so that the refusals below are for what they say', async () => {
  const body = new Uint8Array(new Int32Array([7, -8]).buffer)
  expect(await rowsOf(await openParquet(file('hand.parquet', handmade(dataPage(8, 8, 2), body, 2, 0))))).toStrictEqual([
    { a: 7 },
    { a: -8 },
  ])
})

test('sizes that a page or a column only claims are refused before anything is allocated', async () => {
  const body = new Uint8Array(8)
  const cases: [string, Uint8Array, string][] = [
    [
      'bomb',
      handmade(dataPage(2 ** 31 - 1, 8, 2), body, 2, 1),
      'column "a": the pages are damaged: a page of 8 bytes declares 2147483647 when uncompressed.',
    ],
    [
      'long',
      handmade(dataPage(8, 2 ** 20, 2), body, 2, 0),
      'column "a": the pages are damaged: a page of 1048576 bytes is longer than what is left of the column.',
    ],
    ['few', handmade(dataPage(8, 8, 2), body, 3, 0), 'column "a": the pages are damaged: a page header has no sizes.'],
    [
      'many',
      handmade(dataPage(2 ** 16, 2 ** 16, 2 ** 30, 3), new Uint8Array(2 ** 16), 2 ** 30, 0),
      `column "a": row group 0 holds about ${2 ** 33} bytes of it, and at most ${2 ** 29} are read at once. Write the file with smaller row groups, or give the session more memory.`,
    ],
  ]
  for (const [name, bytes, message] of cases) {
    const path = file(`claims-${name}.parquet`, bytes)
    const source = await openParquet(path)
    await expect(rowsOf(source)).rejects.toThrow(new SourceError(`${path}, ${message}`, path))
  }
})

test('more rows than a file of its size can have are refused when it is opened', async () => {
  const path = file('claims-rows.parquet', handmade(dataPage(8, 8, 2 ** 30, 3), new Uint8Array(8), 2 ** 30, 0))
  await expect(openParquet(path)).rejects.toThrow(
    new SourceError(`${path} declares 1073741824 rows in 112 bytes, and at most 18612224 are read of so few.`, path),
  )
})

test('pages that cannot be decoded are a SourceError that names the column', async () => {
  const path = file('garbage.parquet', handmade(dataPage(8, 8, 200), new Uint8Array(8), 200, 0))
  await expect(rowsOf(await openParquet(path))).rejects.toThrow(SourceError)
})

test('over HTTP only ranges are read', async () => {
  const path = join(folder, 'served.parquet')
  const n = 20_000
  await write(
    path,
    sourceFromColumns({ a: Float64Array.from({ length: n }, (_, i) => Math.sin(i)), b: Float64Array.from({ length: n }, (_, i) => i) }),
    { compression: 'none', rowGroupRows: 5_000 },
  )
  const bytes = readFileSync(path)
  let sent = 0
  const server: Server = createServer((request, response) => {
    if (request.url !== '/served.parquet') {
      response.writeHead(404).end()
      return
    }
    const range = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '')
    if (request.method === 'HEAD' || range === null) {
      response
        .writeHead(200, { 'content-length': bytes.length, 'accept-ranges': 'bytes' })
        .end(request.method === 'HEAD' ? undefined : bytes)
      return
    }
    const piece = bytes.subarray(Number(range[1]), Number(range[2]) + 1)
    sent += piece.length
    response.writeHead(206, { 'content-range': `bytes ${range[1]}-${range[2]}/${bytes.length}` }).end(piece)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const source = await openParquet(`${base}/served.parquet`)
    expect([source.rows, source.name]).toStrictEqual([n, 'served.parquet'])
    const [, second] = source.splits
    if (second === undefined) throw new Error('there are four row groups')
    const [batch] = await readSplit(source, second, ['b'])
    expect(batch?.columns[0]?.values?.[0]).toBe(5_000)
    expect(sent).toBeLessThan(64 * 1024 + 5_000 * 8 * 1.5)
    await expect(openParquet(`${base}/none.parquet`)).rejects.toThrow(
      new SourceError(`${base}/none.parquet cannot be read: the server answered 404 Not Found.`, `${base}/none.parquet`),
    )
  } finally {
    server.close()
  }
  await expect(openParquet(`${base}/served.parquet`)).rejects.toThrow(SourceError)
})

test('of a row group that is written nothing is kept, so that its bytes can go', async () => {
  const source = sourceFromRows(Array.from({ length: 10 }, (_, i) => ({ id: i, name: `n${i}` })))
  const { element, splits } = source
  const batches = (await Promise.all(splits.map((split) => readSplit(source, split, ['id', 'name'])))).flat()
  const written = async (forget: (bytes: Uint8Array) => void): Promise<Buffer> => {
    const path = join(folder, 'forgotten.parquet')
    let last = new Uint8Array()
    const run = async (task: EncodeTask): Promise<Uint8Array> => {
      forget(last)
      return (last = new Uint8Array(encode(task)))
    }
    await writeParquet({ batches, element, path, options: { rowGroupRows: 4 }, encoder: { width: 1, run } })
    return readFileSync(path)
  }
  expect((await written((bytes) => bytes.fill(0))).equals(await written(() => undefined))).toBe(true)
})

test('a file that is left alone is described once, and again where it changed or other columns are wanted', async () => {
  const [one, other] = ['one.parquet', 'other.parquet'].map((name) => join(folder, name)) as [string, string]
  await write(one, sourceFromRows([{ id: 1, name: 'a' }]))
  await write(other, sourceFromRows([{ id: 2, name: 'b' }]))
  const soon = await openParquet(one)
  expect((await openParquet(one)).splits[0]).not.toBe(soon.splits[0]) // it may be written again within one tick of the clock
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 })
  try {
    const source = await openParquet(one)
    expect((await openParquet(one)).splits[0]).toBe(source.splits[0])
    expect(await rowsOf(await openParquet(one, { columns: ['name'] }))).toStrictEqual([{ name: 'a' }])
    expect(await rowsOf(await openParquet(one, { columns: ['id'] }))).toStrictEqual([{ id: 1 }])
    expect((await openParquet([other, one])).splits.map((split) => split.file)).toStrictEqual([0, 1])
    cpSync(other, one)
    expect(await rowsOf(await openParquet(one))).toStrictEqual([{ id: 2, name: 'b' }])
  } finally {
    vi.useRealTimers()
  }
})
