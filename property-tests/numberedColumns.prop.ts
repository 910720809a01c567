/**
 * Columns of few values are numbered where a Parquet file is written: what is read again, and the extremes that the file tells, are
 * those of a file whose dictionaries are all the encoder's work. Texts that come as dictionary codes, as a copy of a file gets them,
 * are written to the same bytes as texts that are written out.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Batch, Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { takeColumn } from '../src/core/data/columnSlices.ts'
import { sliceBatch } from '../src/exec/tables/operators/batches.ts'
import { Session } from '../src/index.ts'
import { encode } from '../src/io/encode.ts'
import { FileUnderWay } from '../src/io/parquet/writing/fileUnderWay.ts'
import { openParquet } from '../src/io/parquet.ts'
import { parquetForm, writeParquet } from '../src/io/writeParquet.ts'
import { batchOf, columnsOf, type SmallTable, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-numbered-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

/** A row of a table, and how often it comes there; a page ends behind 8,192. */
const runs = fc.array(
  fc.tuple(
    fc.nat(),
    fc.oneof(
      { weight: 40, arbitrary: fc.integer({ min: 1, max: 3 }) },
      { weight: 6, arbitrary: fc.integer({ min: 60, max: 140 }) },
      { weight: 1, arbitrary: fc.constant(4100) },
    ),
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)

function repeated(table: SmallTable, rows: readonly (readonly [number, number])[]): Batch {
  const places = Int32Array.from(rows.flatMap(([row, times]) => new Array<number>(times).fill(row % table.rows)))
  const batch = batchOf(table)
  return { ...batch, length: places.length, columns: batch.columns.map((column) => takeColumn(column, places)) }
}

test('numbered columns are read as those of the encoder', async () => {
  const written = async (parts: readonly Batch[], compression: 'snappy' | 'none', numberedRows: number): Promise<string> => {
    const path = join(folder, `${numberedRows}.parquet`)
    const [{ element }] = parts as [Batch]
    const form = await parquetForm(element, path, { compression })
    const bytes: Uint8Array[] = []
    const file = new FileUnderWay(async (piece) => void bytes.push(piece.slice()))
    await file.begin()
    await file.add(encode({ ...form.taskOf(parts), numberedRows } as never))
    await file.end(
      parts.reduce((sum, { length }) => sum + length, 0),
      form.fields,
      form.arrowFields,
    )
    writeFileSync(path, Buffer.concat(bytes))
    return path
  }
  await fc.assert(
    fc.asyncProperty(
      tableOf().filter(({ rows }) => rows > 0),
      runs,
      fc.constantFrom('snappy' as const, 'none' as const),
      fc.nat(),
      async (table, rows, compression, cut) => {
        const batch = repeated(table, rows)
        const middle = cut % (batch.length + 1)
        const parts = [sliceBatch(batch, 0, middle), sliceBatch(batch, middle, batch.length)]
        const own = await openParquet(await written(parts, compression, 0), { int64: 'bigint' })
        const others = await openParquet(await written(parts, compression, Number.POSITIVE_INFINITY), { int64: 'bigint' })
        expect(own.splits.map(({ rows, statistics }) => ({ rows, statistics }))).toStrictEqual(
          others.splits.map(({ rows, statistics }) => ({ rows, statistics })),
        )
        expect(await columnsOf(own)).toStrictEqual(await columnsOf(others))
      },
    ),
    { numRuns: lawRuns() },
  )
}, 600_000)

/** A column of texts as codes of a dictionary that has each text up to three times, in another order, and one that no row has. */
function coded(column: Column, { shuffled, width }: { readonly shuffled: readonly number[]; readonly width: 1 | 4 }): Column {
  if (column.type.kind !== 'utf8') return column
  const read = valueReader(column)
  const texts = Array.from({ length: column.length }, (_, row) => read(row) as string | null)
  const found = [...new Set(texts.flatMap((text) => text ?? []))]
  const entries = [...found, 'no row has it', ...found, ...found].slice(0, width === 1 ? 256 : undefined)
  if (width === 1 && found.length > 255) return column
  const order = entries.map((text, i) => ({ text, by: shuffled[i % shuffled.length] as number })).sort((a, b) => a.by - b.by)
  const places = new Map<string, number[]>()
  for (const [i, { text }] of order.entries()) places.set(text, [...(places.get(text) ?? []), i])
  const codes = texts.map((text, row) => {
    const own = text === null ? [row % 7] : (places.get(text) as number[])
    return own[row % own.length] as number
  })
  const dictionary = columnFromValues(
    order.map(({ text }) => text),
    column.type,
  )
  const { type, length, validity } = column
  const values = width === 1 && column.validity === undefined ? Uint8Array.from(codes) : Int32Array.from(codes)
  return { type, length, values, dictionary, ...(validity === undefined ? {} : { validity }) }
}

test('texts that come as dictionary codes are written as texts are', async () => {
  await fc.assert(
    fc.asyncProperty(
      tableOf(fc.constantFrom({ kind: 'utf8' as const }, { kind: 'date' as const })).filter(({ rows }) => rows > 0),
      runs,
      fc.constantFrom('snappy' as const, 'none' as const, 'zstd' as const),
      fc.record({ cut: fc.nat(), numberedRows: fc.constantFrom(0, 8192), width: fc.constantFrom(1 as const, 4 as const) }),
      fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 12 }),
      async (table, rows, compression, { cut, numberedRows, width }, shuffled) => {
        const batch = repeated(table, rows)
        const middle = cut % (batch.length + 1)
        const parts = [sliceBatch(batch, 0, middle), sliceBatch(batch, middle, batch.length)]
        const codes = parts.map((part) => ({ ...part, columns: part.columns.map((column) => coded(column, { shuffled, width })) }))
        const form = await parquetForm(batch.element, 'table.parquet', { compression })
        const bytesOf = (of: readonly Batch[]): Uint8Array => encode({ ...form.taskOf(of), numberedRows } as never)
        expect(Buffer.compare(bytesOf(codes), bytesOf(parts))).toBe(0)
      },
    ),
    { numRuns: lawRuns() },
  )
}, 600_000)

/** Rows of a row group that is read into the session's memory, and of one that is sent to a worker from outside of it. */
const [MANY, SOME] = [20_000, 12_000]
const rowsOfGroups = fc.constantFrom(1000, SOME, MANY, 2 * MANY + 1)

test('a copy of a Parquet file has the bytes of its table', async () => {
  const [from, to, own] = [join(folder, 'from.parquet'), join(folder, 'to.parquet'), join(folder, 'own.parquet')]
  await fc.assert(
    fc.asyncProperty(
      tableOf().filter(({ rows }) => rows > 0),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 200 })), { minLength: 1, maxLength: 20 }),
      fc.constantFrom('snappy' as const, 'none' as const, 'zstd' as const),
      rowsOfGroups,
      rowsOfGroups,
      async (table, rows, compression, groupRows, rowGroupRows) => {
        const some = rows.reduce((sum, [, times]) => sum + times, 0)
        const batch = repeated(table, new Array<typeof rows>(Math.ceil((groupRows === 1000 ? 2500 : MANY) / some)).fill(rows).flat())
        const request = { batches: [batch], element: batch.element }
        await writeParquet({ ...request, path: from, options: { compression, rowGroupRows: groupRows } })
        await writeParquet({ ...request, path: own, options: { compression, rowGroupRows } })
        await (await session.readParquet(from, { int64: 'bigint' })).writeParquet(to, { compression, rowGroupRows })
        expect(Buffer.compare(readFileSync(to), readFileSync(own))).toBe(0)
      },
    ),
    { numRuns: Math.ceil(lawRuns() / 4) },
  )
}, 600_000)
