/**
 * Columns of few values are numbered where a Parquet file is written: what is read again, and the extremes that the file tells, are
 * those of a file whose dictionaries are all the encoder's work.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { takeColumn } from '../src/core/data/columnSlices.ts'
import { sliceBatch } from '../src/exec/tables/operators/batches.ts'
import { encode } from '../src/io/encode.ts'
import { FileUnderWay } from '../src/io/parquet/writing/fileUnderWay.ts'
import { openParquet } from '../src/io/parquet.ts'
import { parquetForm } from '../src/io/writeParquet.ts'
import { batchOf, columnsOf, type SmallTable, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-numbered-'))
afterAll(() => rmSync(folder, { recursive: true }))

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
