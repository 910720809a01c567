/**
 * DuckDB and this library read each other's Parquet files with the same values.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBDecimalValue, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { type ColumnType, fieldsOf, typeText } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { batchOf, columnsOf, DECIMALS, expectNumbers, plainOf, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const RUNS = lawRuns()
const folder = mkdtempSync(join(tmpdir(), 'distarray-duckdb-'))
let duckdb: DuckDBConnection
beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
})
afterAll(() => {
  duckdb.closeSync()
  rmSync(folder, { recursive: true })
})

async function rowsOf(source: ArraySource): Promise<unknown[]> {
  const rows: unknown[] = []
  for (const split of source.splits) {
    for (const batch of await readSplit(
      source,
      split,
      fieldsOf(source.element).map((field) => field.name),
    )) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return rows
}

const TYPES: readonly ColumnType[] = (['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'utf8'] as const).map(
  (kind) => ({ kind }),
)

test('DuckDB reads what is written here', async () => {
  const path = join(folder, 'ours.parquet')
  await fc.assert(
    fc.asyncProperty(
      tableOf(fc.constantFrom(...TYPES, ...DECIMALS)),
      fc.constantFrom('snappy' as const, 'zstd' as const, 'none' as const),
      fc.integer({ min: 1, max: 9 }),
      async (table, compression, rowGroupRows) => {
        const batch = batchOf(table)
        await writeParquet({ batches: [batch], element: batch.element, path, options: { compression, rowGroupRows } })
        const theirs = (await duckdb.runAndReadAll(`select * from read_parquet('${path}')`)).getColumns()
        const plain = (value: DuckDBValue) =>
          typeof value === 'boolean' ? Number(value) : value instanceof DuckDBDecimalValue ? Number(String(value)) : value
        expect(theirs.map((column) => column.map(plain))).toStrictEqual(
          table.rows === 0 ? [] : table.columns.map((column) => Array.from({ length: table.rows }, (_, row) => plainOf(column, row))),
        )
        // what it makes of the statistics: a filter that keeps everything that is not null
        const name = table.fields[0]?.name.replaceAll('"', '""') ?? ''
        const [[kept]] = (
          await duckdb.runAndReadAll(`select count(*) from read_parquet('${path}') where "${name}" >= "${name}"`)
        ).getRows() as [[bigint]]
        expect(Number(kept)).toBe(theirs[0]?.filter((value) => value !== null).length ?? 0)
      },
    ),
    { numRuns: RUNS },
  )
})

test('every type that DuckDB writes is read, or refused by name', async () => {
  const path = join(folder, 'theirs.parquet')
  await duckdb.run(`copy (select * from (values
    (1::tinyint, 2::smallint, 3::integer, 4::bigint, 5::utinyint, 6::usmallint, 4294967295::uinteger, 18446744073709551615::ubigint, 1.5::float, 2.5::double, true, 'text', '\\x01\\xFF'::blob),
    (null, null, null, null, null, null, null, null, null, null, null, null, null)) t(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, bool, utf8, "binary")) to '${path}' (format parquet)`)
  const source = await openParquet(path, { int64: 'bigint' })
  expect(fieldsOf(source.element).map((field) => `${field.name} ${typeText(field.type)}`)).toStrictEqual(
    ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'bool', 'utf8', 'binary'].map((name) => `${name} ${name}`),
  )
  expect((await rowsOf(source))[0]).toStrictEqual({
    i8: 1,
    i16: 2,
    i32: 3,
    i64: 4n,
    u8: 5,
    u16: 6,
    u32: 4294967295,
    u64: 18446744073709551615n,
    f32: 1.5,
    f64: 2.5,
    bool: true,
    utf8: 'text',
    binary: new Uint8Array([1, 255]),
  })
  await expectNumbers((options) => openParquet(path, options))

  await duckdb.run(`copy (select date '2024-02-29' as d, time '01:02:03.000004' as t, timestamp '2024-02-29 01:02:03.000004' as us, timestamp_ns '2024-02-29 01:02:03.000000004' as ns,
    timestamptz '2024-02-29 01:02:03+00' as tz, uuid '00112233-4455-6677-8899-aabbccddeeff' as u, 'a'::enum('a', 'b') as e, '{"x": 1}'::json as j,
    12.34::decimal(4, 2) as dec, 1234567890.12345::decimal(30, 5) as wide, [1, null, 3] as l, {'x': 1, 'y': ['a']} as s, map {'k': 1.5::double} as m) to '${path}' (format parquet)`)
  const times = await openParquet(path)
  expect(fieldsOf(times.element).map((field) => `${field.name} ${typeText(field.type)}`)).toStrictEqual([
    'd date',
    't time(us)',
    'us timestamp(us)',
    'ns timestamp(ns)',
    'tz timestamp(us, UTC)',
    'u utf8',
    'e utf8',
    'j utf8',
    'dec decimal(4, 2) as number',
    'wide decimal(30, 5) as number',
    'l list<i32>',
    's struct<x: i32, y: list<utf8>>',
    'm list<struct<key: utf8, value: f64>>',
  ])
  expect(await rowsOf(times)).toStrictEqual([
    {
      d: new Date('2024-02-29'),
      t: 3_723_000_004n,
      us: new Date('2024-02-29T01:02:03.000Z'),
      ns: new Date('2024-02-29T01:02:03.000Z'),
      tz: new Date('2024-02-29T01:02:03Z'),
      u: '00112233-4455-6677-8899-aabbccddeeff',
      e: 'a',
      j: '{"x": 1}',
      dec: 12.34,
      wide: 1234567890.12345,
      l: [1, null, 3],
      s: { x: 1, y: ['a'] },
      m: [{ key: 'k', value: 1.5 }],
    },
  ])
  expect((await columnsOf(times)).slice(2, 4)).toStrictEqual([[1709168523000004n], [1709168523000000004n]])

  await duckdb.run(`copy (select interval 1 day as i, 1 as a) to '${path}' (format parquet)`)
  await expect(openParquet(path)).rejects.toThrow(
    new SourceError(`${path}, column "i": values of the Parquet type INTERVAL are not read. Leave the column out with { columns }.`, path),
  )
  expect(await rowsOf(await openParquet(path, { columns: ['a'] }))).toStrictEqual([{ a: 1 }])

  await duckdb.run(`copy (select 1234567890123456789.5::decimal(38, 1) as a) to '${path}' (format parquet)`)
  await expect(openParquet(path).then(rowsOf)).rejects.toThrow(
    new SourceError(
      `${path}, column "a": the decimal 1234567890123456789.5 at row 0 has more digits than f64 keeps, and wider decimals are not read. Write the column as text, or with at most 15 digits.`,
      path,
    ),
  )
})

test.each(
  ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw'].flatMap((codec) =>
    ['V1', 'V2'].map((version) => [codec, version] as const),
  ),
)('files of DuckDB with %s, version %s', async (codec, version) => {
  const path = join(folder, `${codec}.parquet`)
  await duckdb.run(`copy (select i, i % 7 as small, 'name ' || (i % 100) as name, i / 3 as x, case when i % 5 = 0 then null else i::bigint * 1000000007 end as big, i % 2 = 0 as b
      from range(20000) t(i)) to '${path}' (format parquet, compression ${codec}, parquet_version ${version}, row_group_size 6000)`)
  const source = await openParquet(path)
  expect(source.splits.length).toBeGreaterThan(2)
  const rows = (await rowsOf(source)) as { i: number; small: number; name: string; x: number; big: number | null; b: boolean }[]
  expect(rows.length).toBe(20_000)
  const wrong = rows.findIndex(
    (row, i) =>
      row.i !== i ||
      row.small !== i % 7 ||
      row.name !== `name ${i % 100}` ||
      row.x !== i / 3 ||
      row.b !== (i % 2 === 0) ||
      row.big !== (i % 5 === 0 ? null : i * 1000000007),
  )
  expect(wrong).toBe(-1)
  for (const [s, split] of source.splits.entries()) {
    const batch = (await readSplit(source, split, ['i']))[0]
    const first = BigInt(batch?.columns[0]?.values?.[0] ?? -1)
    expect(split.statistics?.get('i'), `split ${s}`).toStrictEqual({ min: first, max: first + BigInt((split.rows ?? 0) - 1) })
  }
})
