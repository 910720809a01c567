/**
 * Columns of an Arrow file that are read alone are those of the file read whole, in any order and however often a name comes, and of a
 * record batch no more is read than they take, their headers, and what lies between them where that is little.
 */
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import { messageOfColumns } from '../src/io/arrow/arrowBody.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import type { ArrowDetail } from '../src/io/arrow/arrowMessages.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { bytesInMemory } from '../src/io/bytes/memoryBytes.ts'
import type { ByteSource } from '../src/io/bytes/source.ts'
import { anyType, batchOf, columnsOf, tableOf } from './ioTables.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('arrowColumns')
const folder = mkdtempSync(join(tmpdir(), 'distarray-arrow-columns-'))
afterAll(() => rmSync(folder, { recursive: true }))

const categories = fc.constantFrom<ColumnType>({ kind: 'utf8', category: 'i8' }, { kind: 'utf8', category: 'i32' })
const columnType = fc.oneof({ arbitrary: anyType, weight: 3 }, { arbitrary: categories, weight: 1 })

/** The bytes of a file, in buffers of the source's own whatever is asked, and how many were read, in how many reads. */
function counted(file: Uint8Array): ByteSource & { count: number; reads: number } {
  const whole = bytesInMemory(file, 'counted')
  const source = {
    ...whole,
    ...{ count: 0, reads: 0 },
    read: async (start: number, end: number) => {
      source.count += end - start
      source.reads++
      return await whole.read(start, end)
    },
  }
  return source
}

test('columns that are read alone are those of the whole file', async () => {
  const path = join(folder, 'table.arrow')
  const seen = { fewer: 0, all: 0 }
  await fc.assert(
    fc.asyncProperty(
      tableOf(columnType),
      fc.constantFrom('zstd' as const, 'lz4' as const, undefined, undefined),
      fc.constantFrom(1, 2, 60, 400),
      fc.array(fc.nat(), { maxLength: 3 }),
      async (table, compression, times, picks) => {
        const batch = batchOf(table)
        const batches = Array.from({ length: times > 60 ? 1 : 2 }, () => batch)
        await writeArrow({ batches, element: batch.element, path, options: compression === undefined ? {} : { compression } })
        const source = await openArrow(path, { int64: 'bigint' })
        const places = [...new Set(picks.map((pick) => pick % Math.max(1, table.fields.length)))].filter((i) => i < table.fields.length)
        const names = places.map((i) => table.fields[i]?.name ?? '')
        const whole = await columnsOf(source)
        expect(await columnsOf(structuredClone(source), names)).toStrictEqual(places.map((i) => whole[i]))
        // from bytes that come in buffers of their own, a message of the same columns
        for (const split of source.splits) {
          const detail = split.detail as ArrowDetail
          const bytes = counted(readFileSync(path))
          const own = await messageOfColumns(bytes, detail, places, { before: 8 })
          const direct = await messageOfColumns(bytesInMemory(readFileSync(path), 'direct'), detail, places)
          expect(own.subarray(8)).toStrictEqual(direct)
          seen.all++
          if (bytes.count < detail.batch[1] - detail.batch[0]) seen.fewer++
        }
      },
    ),
    RUN,
  )
  expect(seen.fewer / seen.all).toBeGreaterThan(0.2)
})

test('of a record batch no more is read than the columns that are asked for take', async () => {
  const path = join(folder, 'wide.arrow')
  const rows = 20_000
  const columns = Array.from({ length: 5 }, (_, c) => ({
    type: { kind: 'f64' } as const,
    length: rows,
    values: Float64Array.from({ length: rows }, (_, i) => i + c),
  }))
  const element = {
    kind: 'row' as const,
    fields: columns.map(({ type }, c) => ({ name: `c${c}`, type, nullable: false })),
  }
  await writeArrow({ batches: [{ element, length: rows, columns }], element, path })
  const source = await openArrow(path)
  const [split] = source.splits
  for (const [indices, wanted, runs] of [
    [[1], 1, 1],
    [[3, 1], 2, 2],
    [[], 0, 0],
    [[4, 3, 2], 3, 1],
  ] as const) {
    const bytes = counted(readFileSync(path))
    await messageOfColumns(bytes, split?.detail as ArrowDetail, indices)
    expect(bytes.count).toBeGreaterThanOrEqual(8 * rows * wanted)
    expect(bytes.count).toBeLessThan(8 * rows * wanted + 2_000)
    expect(bytes.reads).toBe(1 + runs) // the header, and columns side by side at once
    const read = await columnsOf(
      source,
      indices.map((i) => `c${i}`),
    )
    expect(read).toStrictEqual(indices.map((i) => Array.from({ length: rows }, (_, row) => row + i)))
  }
})

test('a dictionary is read where a column that is asked for has it', async () => {
  const path = join(folder, 'dictionaries.arrow')
  const fields = [
    { name: 'kind', type: { kind: 'utf8', category: 'i8' } as const, nullable: false },
    { name: 'x', type: { kind: 'f64' } as const, nullable: false },
    { name: 'place', type: { kind: 'utf8', category: 'i32' } as const, nullable: false },
  ]
  const columns = [
    ['a', 'b', 'a'],
    [1, 2, 3],
    ['p', 'q', 'r'],
  ].map((values, i) => columnFromValues(values, fields[i]?.type as ColumnType))
  await writeArrow({ batches: [{ element: { kind: 'row', fields }, length: 3, columns }], element: { kind: 'row', fields }, path })
  utimesSync(path, 1_000, 1_000)
  const source = await openArrow(path)
  const detail = source.splits[0]?.detail as ArrowDetail
  const [kinds] = detail.dictionaries
  const bytes = readFileSync(path)
  bytes.fill(0xff, kinds?.start, kinds?.end)
  writeFileSync(path, bytes)
  utimesSync(path, 1_000, 1_000) // as if nothing had changed
  expect(await columnsOf(source, ['x', 'place'])).toEqual([
    [1, 2, 3],
    ['p', 'q', 'r'],
  ])
  await expect(columnsOf(source, ['kind'])).rejects.toThrow(SourceError)
})
