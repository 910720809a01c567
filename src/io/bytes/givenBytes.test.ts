/** Readers of bytes that a program has: buffers, blobs and streams. */
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { rowReader } from '../../core/data/columnReaders.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { openArrow } from '../arrow/arrowFile.ts'
import { openCsv } from '../csv/csv.ts'
import { openNdjson } from '../json/ndjson.ts'
import { openParquet } from '../parquet.ts'
import type { FileSource } from '../reading.ts'
import { readSplit } from '../readSplit.ts'
import { openText } from '../text.ts'
import { ownerHere } from './processStart.ts'

async function rowsOf(opened: Promise<ArraySource>): Promise<readonly unknown[]> {
  const source = await opened
  const names = fieldsOf(source.element).map(({ name }) => name)
  const rows: unknown[] = []
  for (const split of source.splits) {
    // as threads have it
    for (const batch of await readSplit(structuredClone({ ...source, splits: [] }), split, names, undefined, {})) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return rows
}

const CSV = Buffer.from('a,b\n1,x\n2,y\n')
const ROWS = [
  { a: 1, b: 'x' },
  { a: 2, b: 'y' },
]
const kept = (): number =>
  readdirSync(tmpdir())
    .filter((name) => name.startsWith(`distarray-unpacked-${ownerHere()}-`))
    .flatMap((name) => readdirSync(join(tmpdir(), name))).length

const inputs: readonly (readonly [string, () => FileSource])[] = [
  ['a Buffer', () => CSV],
  ['an ArrayBuffer', () => Uint8Array.from(CSV).buffer],
  ['part of a buffer', () => new DataView(Uint8Array.from([9, 9, ...CSV, 9]).buffer, 2, CSV.length)],
  ['a Blob', () => new Blob([CSV])],
  ['a stream of Node', () => Readable.from(Array.from(CSV, (byte) => Buffer.of(byte)))],
  ['a stream of texts', () => Readable.from([CSV.toString()])],
  ['a stream of the web', () => new Response(CSV).body as ReadableStream<Uint8Array>],
  ['compressed bytes', () => gzipSync(CSV)],
]
test.each(inputs)('%s is read as a file is, as often as one likes', async (_, input) => {
  const source = await openCsv(input())
  expect(await rowsOf(Promise.resolve(source))).toEqual(ROWS)
  expect(await rowsOf(Promise.resolve(source))).toEqual(ROWS)
})

test('several inputs are one table, each under a name of its own', async () => {
  expect(await rowsOf(openCsv([CSV, new Blob([CSV]), CSV.subarray(), new File([CSV], 'in/a.csv')]))).toEqual([
    ...ROWS,
    ...ROWS,
    ...ROWS,
    ...ROWS,
  ])
  expect((await openCsv([CSV, CSV.subarray()])).name).toBe('buffer and 1 more')
  expect((await openCsv(new File([CSV], 'in/a.csv'))).name).toBe('in_a.csv')
  await expect(openCsv([CSV, Buffer.from('c\n1\n')])).rejects.toThrow(
    'buffer 2 has the columns c, and buffer has a, b. Files read together need the same columns.',
  )
})

test('lines of JSON and of text', async () => {
  expect(await rowsOf(openNdjson(Buffer.from('{"a":1}\n{"a":2}\n')))).toEqual([{ a: 1 }, { a: 2 }])
  expect((await openText(new Blob(['x\ny\n']))).name).toBe('blob')
})

test('what cannot be read is told by what it is', async () => {
  const stream = Readable.from([CSV])
  await openCsv(stream)
  const messages = await Promise.all(
    [
      openCsv(stream),
      openParquet(CSV),
      openArrow(new Uint8Array()),
      openCsv(new Response('a\n1') as never),
      openCsv([7] as never),
      openCsv(Readable.from([{ a: 1 }])),
      openCsv(
        (async function* () {
          yield 'a,b\n'
          throw new Error('the line was cut')
        })(),
      ),
    ].map((opened) => opened.then(String, String)),
  )
  expect(messages).toEqual([
    'SourceError: stream has been read already, or is being read by somebody else. Give a new one, or the bytes that were read.',
    'SourceError: buffer looks like text, and readParquet() reads Parquet. Read CSV with readCsv(), lines with readText().',
    'SourceError: buffer is empty. An Arrow file has at least a schema.',
    'PlanError: Files are named by a path, a URL or an array of them; they were given as an instance of Response.\nGive its body, as in readCsv(response.body).',
    'PlanError: Files are named by a path, a URL or an array of them; they were given as an array with 7.',
    'PlanError: A stream of bytes gives Uint8Arrays or texts; stream gave an object.',
    'SourceError: stream cannot be read: the line was cut.',
  ])
})

test('an abort ends the reading of a stream, and leaves no file', async () => {
  const before = kept()
  const controller = new AbortController()
  const endless = (async function* () {
    for (;;) {
      yield 'a,b\n'
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })()
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await expect(openCsv(endless, { signal: controller.signal })).rejects.toThrow('enough')
  expect(kept()).toBe(before)
})
