/** Objects of a store that speaks as S3 does: lakes are written there and read. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ObjectStore, startObjectStore } from '../../property-tests/objectStore.ts'
import { SourceError } from '../core/errors.ts'
import { Session } from '../session/session.ts'

const store: ObjectStore | undefined = await startObjectStore()
let session: Session
const s3 = { accessKeyId: 'AKID', secretAccessKey: 's3cret', endpoint: store?.endpoint ?? '' } as const
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
  await store?.makeBucket('bucket')
})
afterAll(async () => {
  store?.stop()
  await session.stop()
})

async function put(key: string, bytes: Uint8Array | string): Promise<void> {
  const answer = await fetch(`${s3.endpoint}/bucket/${key}`, {
    method: 'PUT',
    body: bytes as never,
    headers: { authorization: 'AWS4-HMAC-SHA256 Credential=AKID/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0' },
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
}

interface Sale {
  readonly id: number
  readonly year: number
  readonly land: string
}
const SALES = Array.from({ length: 40 }, (_, id): Sale => ({ id, year: 2023 + (id % 2), land: id % 4 < 2 ? 'DE' : 'a/b ü+' }))
const ids = (rows: readonly { readonly id: number }[]): number[] => rows.map(({ id }) => id).sort((a, b) => a - b)

test.skipIf(store === undefined)(
  'a lake: folders are written, and read as folders, globs, single objects, by filters that leave out files',
  async () => {
    const written = await session.fromRows(SALES).writeParquet('s3://bucket/my lake', { partitionBy: ['year', 'land'], s3 })
    expect([written.rows, written.files]).toEqual([40, 4])
    await put('my%20lake/_SUCCESS', 'done')
    await put('logs/2024.jsonl.gz', gzipSync('{"a":1}\n{"a":2}\n'))
    const table = await session.readParquet<Sale>('s3://bucket/my lake/', { s3 })
    expect(await table.count()).toBe(40)
    const filtered = table.filter((r) => r.year === 2024 && r.land === 'a/b ü+')
    expect(filtered.explain()).toContain('Scan my lake [id, year, land], files: 1 of 4')
    expect((await filtered.collect()).map((r) => r.id)).toEqual(
      SALES.filter((r) => r.year === 2024 && r.land === 'a/b ü+').map((r) => r.id),
    )
    const glob = await session.readParquet<Sale>('s3://bucket/my lake/year=2023/*/*.parquet', { s3 })
    expect(await glob.count()).toBe(20)
    expect(await (await session.readNdjson('s3://bucket/logs/2024.jsonl.gz', { s3 })).collect()).toEqual([{ a: 1 }, { a: 2 }])
    const missing = 's3://bucket/none.parquet'
    await expect(session.readParquet(missing, { s3 })).rejects.toThrow(
      new SourceError(`${missing} cannot be read: the server answered 404 NOT FOUND.`, missing),
    )
    await expect(session.readParquet('s3://bucket/none/', { s3 })).rejects.toThrow(
      new SourceError('s3://bucket/none/ has no objects below it. Name a folder that has, or an object.', 's3://bucket/none/'),
    )
    await expect(session.readCsv('s3://bucket/*.none', { s3 })).rejects.toThrow(
      new SourceError('No object matches s3://bucket/*.none.', 's3://bucket/*.none'),
    )
  },
)

test.skipIf(store === undefined)('folders that are there are refused, added to, replaced', async () => {
  const lake = 's3://bucket/lakes/sales/'
  const rows = session.fromRows(SALES)
  const read = async () => ids(await (await session.readParquet<Sale>(lake, { s3 })).collect())
  await rows.filter((r) => r.id < 10).writeParquet(lake, { partitionBy: ['year'], s3 })
  await expect(rows.writeParquet(lake, { partitionBy: ['year'], s3 })).rejects.toThrow(
    new SourceError(
      `${lake} has files in it. Add files beside them with { existing: 'add' }, put new ones in their place with { existing: 'replace' }, or name another folder.`,
      lake,
    ),
  )
  await rows.filter((r) => r.id >= 10 && r.id < 20).writeParquet(lake, { partitionBy: ['year'], existing: 'add', s3 })
  expect(await read()).toEqual(Array.from({ length: 20 }, (_, i) => i))
  const replaced = await rows.filter((r) => r.id >= 30).writeParquet(lake, { partitionBy: ['land'], existing: 'replace', s3 })
  expect(replaced.files).toBe(2)
  expect(await read()).toEqual(Array.from({ length: 10 }, (_, i) => 30 + i))
  await put('lakes/sales/notes.txt', 'mine')
  await expect(rows.writeParquet(lake, { partitionBy: ['year'], existing: 'replace', s3 })).rejects.toThrow(
    new SourceError(
      `${lake} has files that do not end with .parquet, as notes.txt, and is not replaced. Name a folder that has no others.`,
      lake,
    ),
  )
})

test.skipIf(store === undefined)(
  'files of every form, of several parts and of none',
  async () => {
    const count = 1_200_000
    const table = session.fromColumns({
      id: Float64Array.from({ length: count }, (_, i) => i),
      x: Float64Array.from({ length: count }, (_, i) => i / 3),
    })
    const some = table.filter((r) => r.id < 3)
    const rows = [0, 1, 2].map((id) => ({ id, x: id / 3 }))
    const { bytes } = await table.writeArrow('s3://bucket/forms/big.arrow', { s3 })
    expect(bytes).toBeGreaterThan(2 * 8 * 2 ** 20)
    const big = await session.readArrow<{ id: number; x: number }>('s3://bucket/forms/big.arrow', { s3 })
    expect([await big.map((r) => r.id).sum(), await big.count()]).toEqual([(count * (count - 1)) / 2, count])
    await some.writeCsv('s3://bucket/forms/some.csv', { s3 })
    await some.writeNdjson('s3://bucket/forms/some.ndjson', { s3 })
    await some.writeParquet('s3://bucket/forms/some.parquet', { s3 })
    expect(await (await session.readCsv('s3://bucket/forms/some.csv', { s3 })).collect()).toEqual(rows)
    expect(await (await session.readNdjson('s3://bucket/forms/some.ndjson', { s3 })).collect()).toEqual(rows)
    expect(await (await session.readParquet('s3://bucket/forms/some.parquet', { s3 })).collect()).toEqual(rows)
    await some.filter((r) => r.id > 9).writeNdjson('s3://bucket/forms/some.ndjson', { s3 })
    expect(await (await fetch(`${s3.endpoint}/bucket/forms/some.ndjson`)).text()).toBe('')
    const saved = 's3://bucket/forms/W.arrow'
    await session.fromTypedArray(Float64Array.of(1, 2, 3), [3]).save(saved, { s3 })
    expect(await (await session.load<number>(saved, { s3 })).toTypedArray()).toEqual(Float64Array.of(1, 2, 3))
    const wide = await table
      .map((r) => ({ ...r, part: r.id % 2 }))
      .writeParquet('s3://bucket/forms/wide', { partitionBy: ['part'], compression: 'none', s3 })
    expect([wide.files, wide.bytes > 2 * 8 * 2 ** 20]).toEqual([2, true])
    const read = await session.readParquet<{ id: number; part: number }>('s3://bucket/forms/wide/', { s3 })
    expect(
      await read
        .filter((r) => r.part === 1)
        .map((r) => r.id)
        .sum(),
    ).toBe((count / 2) ** 2)
    expect(await store?.openUploads('bucket')).toBe(0)
  },
  30_000,
)

test.skipIf(store === undefined)('what ends the writing leaves the object that was there, and no upload', async () => {
  const path = 's3://bucket/kept.csv'
  await session.fromRows([{ a: 1 }]).writeCsv(path, { s3 })
  const rows = session.fromColumns({ a: Float64Array.from({ length: 100_000 }, (_, i) => i) })
  const failing = rows.map((r) => {
    if (r.a === 99_000) throw new Error('this row')
    return { a: r.a }
  })
  await expect(failing.writeCsv(path, { s3 })).rejects.toThrow('this row')
  await expect(failing.map((r) => ({ ...r, b: r.a % 3 })).writeParquet('s3://bucket/never', { partitionBy: ['b'], s3 })).rejects.toThrow(
    'this row',
  )
  await expect(rows.writeCsv(path, { s3, signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
  expect(await (await session.readCsv(path, { s3 })).collect()).toEqual([{ a: 1 }])
  await expect(session.readParquet('s3://bucket/never/', { s3 })).rejects.toThrow('has no objects below it')
  expect(await store?.openUploads('bucket')).toBe(0)
})

test.skipIf(store === undefined)('a bucket that is not there is found before anything is computed', async () => {
  let called = 0
  const rows = session.fromRows([{ a: 1 }]).map((r) => {
    called++
    return { a: r.a + called }
  })
  const why = 'the server answered 404 NOT FOUND (NoSuchBucket). There is no bucket none: make it first, or name another.'
  for (const [path, address] of [
    ['s3://none/a.csv', 's3://none/a.csv'],
    ['s3://none/lake', 's3://none/lake/'],
  ] as const) {
    const writing = path.endsWith('.csv') ? rows.writeCsv(path, { s3 }) : rows.writeParquet(path, { partitionBy: ['a'], s3 })
    await expect(writing).rejects.toThrow(new SourceError(`${address} cannot be written: ${why}`, address))
  }
  expect(called).toBe(0)
})
