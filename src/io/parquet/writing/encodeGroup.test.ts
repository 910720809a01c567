import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import type { Batch } from '../../../core/data/column.ts'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { fieldsOf } from '../../../core/data/schema.ts'
import { rowBatch, sliceBatch } from '../../../exec/tables/operators/batches.ts'
import { Session } from '../../../index.ts'
import { LENT_BY_NOBODY } from '../../lent.ts'
import { loadParquet } from '../parquetLibrary.ts'
import { encodeGroup } from './encodeGroup.ts'
import { FileUnderWay } from './fileUnderWay.ts'

const columns = [
  columnFromValues([1.5, null, Number.NaN, 4, 5]),
  columnFromValues(['a', 'ä', null, '', 'a']),
  columnFromValues([1n, 2n, null, 4n, 5n]),
  columnFromValues([[1, 2], [], null, [3], [4, 5, 6]]),
  columnFromValues([
    { x: 1, y: 'p' },
    { x: 2, y: 'q' },
    { x: 3, y: null },
    { x: 4, y: '' },
    { x: 5, y: 'r' },
  ]),
  columnFromValues([true, false, null, true, false]),
]
const whole = rowBatch([...'abcdef'], columns, 5)

async function fileOf(parts: readonly Batch[][], pieceBytes: number, numberedRows: number): Promise<Uint8Array> {
  const bytes: Uint8Array[] = []
  const file = new FileUnderWay(async (piece) => void bytes.push(piece.slice()))
  await file.begin()
  for (const group of parts)
    await file.add(
      encodeGroup({ parts: group, element: whole.element }, { compression: 'snappy', pieceBytes, numberedRows }, LENT_BY_NOBODY),
    )
  const fields = fieldsOf(whole.element)
  await file.end(5, fields, fields)
  return Buffer.concat(bytes)
}

test('columns that are encoded one after another are one row group', async () => {
  await loadParquet()
  const folder = mkdtempSync(join(tmpdir(), 'encode-group-test-'))
  const session = await Session.start({ workers: 1, progress: false })
  const instance = await DuckDBInstance.create(':memory:')
  const duckdb = await instance.connect()
  try {
    const groups = [[sliceBatch(whole, 0, 2), sliceBatch(whole, 2, 3)], [sliceBatch(whole, 3, 5)]]
    const found: unknown[] = []
    // all columns alone, some together, all of them together, and those alone that are numbered
    for (const [pieceBytes, numberedRows] of [
      [1, 10],
      [60, 10],
      [10 ** 9, 10],
      [10 ** 9, 0],
    ] as const) {
      const path = join(folder, `${pieceBytes}-${numberedRows}.parquet`)
      writeFileSync(path, await fileOf(groups, pieceBytes, numberedRows))
      const others = await duckdb.runAndReadAll(`SELECT * FROM '${path}'`)
      const counted = await duckdb.runAndReadAll(`SELECT num_rows, num_row_groups FROM parquet_file_metadata('${path}')`)
      const own = await (await session.readParquet(path)).collect()
      found.push([others.getRowsJson(), counted.getRowsJson(), own])
    }
    const [alone, some, together, numbered] = found
    expect(alone).toEqual(together)
    expect(some).toEqual(together)
    expect(numbered).toEqual(together)
    expect((together as readonly unknown[])[1]).toEqual([['5', '2']])
  } finally {
    duckdb.closeSync()
    instance.closeSync()
    await session.stop()
    rmSync(folder, { recursive: true })
  }
})
