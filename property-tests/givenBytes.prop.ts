/**
 * Law: bytes that a program has, whole or piece by piece, are read as the file of these bytes is.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { openNdjson } from '../src/io/json/ndjson.ts'
import type { FileSource } from '../src/io/reading.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'

await loadArrow()
const LAW = announcedRun('givenBytes.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'given-bytes-law-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function rowsOf(open: (source: FileSource) => Promise<ArraySource>, given: FileSource): Promise<unknown> {
  try {
    const source = await open(given)
    const names = fieldsOf(source.element).map(({ name }) => name)
    const batches = await Promise.all(source.splits.map((split) => readSplit({ ...source, splits: [] }, split, names, undefined, {})))
    return batches.flat().map((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
  } catch (error) {
    return String(error).replaceAll(/\S*table\.txt|stream|buffer|blob/g, 'it')
  }
}

const texts = fc.array(fc.tuple(fc.integer(), fc.constantFrom('x', 'öl', '"a,b"', '', '🍐')), { maxLength: 30 })
const how = fc.record({
  form: fc.constantFrom('csv' as const, 'ndjson' as const, 'arrow' as const),
  as: fc.constantFrom('buffer' as const, 'blob' as const, 'stream' as const, 'view' as const),
  pieces: fc.integer({ min: 1, max: 40 }),
  packed: fc.boolean(),
  cut: fc.nat(3),
})

test('buffers, blobs and streams, however they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(texts, how, async (rows, { form, as, pieces, packed, cut }) => {
      const lines = rows.map(([n, text]) => (form === 'csv' ? `${n},${text}` : JSON.stringify({ n, text })))
      const text = [...(form === 'csv' ? ['n,text'] : []), ...lines, ''].join('\n')
      const table = tableFromArrays({ n: Int32Array.from(rows, ([n]) => n), text: rows.map(([, one]) => one) })
      const plain = form === 'arrow' ? tableToIPC(table, 'file') : Buffer.from(text)
      const shorter = Buffer.from(plain.subarray(0, plain.length - cut))
      const bytes = packed && form !== 'arrow' ? gzipSync(shorter) : shorter
      const path = join(folder, 'table.txt')
      writeFileSync(path, bytes)
      const open = { csv: openCsv, ndjson: openNdjson, arrow: openArrow }[form]
      const chunks = Array.from({ length: Math.ceil(bytes.length / pieces) }, (_, i) => bytes.subarray(i * pieces, (i + 1) * pieces))
      const given: Record<typeof as, () => FileSource> = {
        buffer: () => bytes,
        view: () => Uint8Array.from([1, ...bytes, 2]).subarray(1, bytes.length + 1),
        blob: () => new Blob([bytes]),
        stream: () => Readable.from(chunks),
      }
      expect(await rowsOf(open, given[as]())).toEqual(await rowsOf(open, path))
    }),
    LAW,
  )
})
