/**
 * parquetjs-lite reads what `{ compatibility: 'v1' }` writes, and its own files load here.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { type ColumnType, fieldsOf } from '../src/core/data/schema.ts'
import { PlanError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { batchOf, columnsOf, plainOf, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

/** The part of parquetjs-lite that is used here; it comes without types. */
interface Parquetjs {
  readonly ParquetSchema: new (fields: object) => object
  readonly ParquetWriter: {
    openFile(schema: object, path: string, options?: object): Promise<{ appendRow(row: object): Promise<void>; close(): Promise<void> }>
  }
  readonly ParquetReader: {
    openFile(path: string): Promise<{ getCursor(): { next(): Promise<Record<string, unknown> | null> }; close(): Promise<void> }>
  }
}
const parquetjs = createRequire(import.meta.url)('parquetjs-lite') as Parquetjs

const RUNS = lawRuns()
const folder = mkdtempSync(join(tmpdir(), 'distarray-parquetjs-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function rowsOfParquetjs(path: string): Promise<Record<string, unknown>[]> {
  const reader = await parquetjs.ParquetReader.openFile(path)
  const cursor = reader.getCursor()
  const rows: Record<string, unknown>[] = []
  for (let row = await cursor.next(); row !== null; row = await cursor.next()) rows.push(row)
  await reader.close()
  return rows
}

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

/** What version 1 holds, with the value parquetjs-lite gives for what is stored. */
const V1_TYPES: readonly ColumnType[] = [
  ...(['f64', 'f32', 'i64', 'i32', 'i16', 'u16', 'i8', 'u8', 'bool', 'utf8', 'binary', 'date'] as const).map((kind) => ({ kind })),
  { kind: 'timestamp', unit: 'ms' },
  { kind: 'timestamp', unit: 's' },
  { kind: 'timestamp', unit: 'us' },
]

/** Times that 64 bits hold in microseconds. */
function fits(type: ColumnType, stored: unknown): boolean {
  const limit = { s: 9_223_372_036_854n, ms: 9_223_372_036_854_775n, us: 2n ** 63n, ns: 0n }
  return type.kind !== 'timestamp' || stored === null || ((stored as bigint) < limit[type.unit] && (stored as bigint) > -limit[type.unit])
}

function asParquetjs(type: ColumnType, stored: unknown): unknown {
  if (stored === null) return undefined // parquetjs-lite leaves out what is null
  if (type.kind === 'bool') return stored === 1
  if (type.kind === 'date') return new Date((stored as number) * 86_400_000)
  if (type.kind === 'timestamp') {
    const micros = (stored as bigint) * { s: 1_000_000n, ms: 1000n, us: 1n, ns: 0n }[type.unit]
    return new Date(Number(micros / 1000n))
  }
  return stored
}

test("files written with { compatibility: 'v1' } load in parquetjs-lite with the same values", async () => {
  const path = join(folder, 'v1.parquet')
  await fc.assert(
    fc.asyncProperty(
      tableOf(fc.constantFrom(...V1_TYPES)),
      fc.constantFrom('snappy' as const, 'none' as const),
      fc.integer({ min: 1, max: 9 }),
      async (table, compression, rowGroupRows) => {
        const batch = batchOf(table)
        fc.pre(
          table.columns.every((column) =>
            Array.from({ length: table.rows }, (_, row) => fits(column.type, plainOf(column, row))).every(Boolean),
          ),
        )
        await writeParquet({ batches: [batch], element: batch.element, path, options: { compatibility: 'v1', compression, rowGroupRows } })
        expect(await columnsOf(await openParquet(path, { int64: 'bigint' }))).toStrictEqual(
          table.columns.map((column) => Array.from({ length: table.rows }, (_, row) => plainOf(column, row))),
        )
        const rows = await rowsOfParquetjs(path)
        expect(rows.length).toBe(table.rows)
        table.fields.forEach(({ name, type }, c) => {
          const column = table.columns[c]
          const theirs = rows.map((row) => {
            const value = row[name] ?? undefined
            return Buffer.isBuffer(value) ? `hex ${value.toString('hex')}` : value
          })
          const ours = Array.from({ length: table.rows }, (_, row) =>
            column === undefined ? undefined : asParquetjs(type, plainOf(column, row)),
          )
          expect(theirs, name).toStrictEqual(ours)
        })
      },
    ),
    { numRuns: RUNS },
  )
})

test.each(['UNCOMPRESSED', 'GZIP', 'SNAPPY'])('files of parquetjs-lite load here, compression %s', async (compression) => {
  const path = join(folder, `${compression}.parquet`)
  const schema = new parquetjs.ParquetSchema({
    user: { type: 'INT32', compression },
    big: { type: 'INT64', compression },
    stars: { type: 'DOUBLE', compression },
    name: { type: 'UTF8', optional: true, compression },
    seen: { type: 'TIMESTAMP_MILLIS', compression },
    flag: { type: 'BOOLEAN', compression },
    tags: { type: 'UTF8', repeated: true, compression },
    at: { optional: true, fields: { x: { type: 'FLOAT', compression }, y: { type: 'INT32', optional: true, compression } } },
  })
  const writer = await parquetjs.ParquetWriter.openFile(schema, path)
  const rows = Array.from({ length: 300 }, (_, i) => ({
    user: i - 150,
    big: i * 10 ** 12,
    stars: i / 4,
    ...(i % 3 === 0 ? {} : { name: `naïve ${i}` }),
    seen: new Date(i * 86_400_000),
    flag: i % 2 === 0,
    tags: Array.from({ length: i % 4 }, (_, t) => `t${t}`),
    ...(i % 5 === 0 ? {} : { at: { x: i / 8, ...(i % 2 === 0 ? { y: i } : {}) } }),
  }))
  for (const row of rows) await writer.appendRow(row)
  await writer.close()
  expect(await rowsOf(await openParquet(path))).toStrictEqual(
    rows
      .map((row) => ({ name: null, ...row, at: row.at === undefined ? null : { y: null, ...row.at } }))
      .map(({ user, big, stars, name, seen, flag, tags, at }) => ({
        user,
        big,
        stars,
        name,
        seen,
        flag,
        tags,
        at: at === null ? null : { x: at.x, y: at.y },
      })),
  )
})

test('lists and structs written for version 1 load in parquetjs-lite as it shows them', async () => {
  const path = join(folder, 'nested.parquet')
  const source = sourceFromRows([
    { id: 1, tags: ['a', null, 'b'], at: { x: 1.5, y: null } },
    { id: 2, tags: [], at: null },
    { id: 3, tags: null, at: { x: 2.5, y: 'z' } },
  ])
  const [split] = source.splits
  if (split === undefined) throw new Error('three rows make a split')
  await writeParquet({
    batches: await readSplit(source, split, ['id', 'tags', 'at']),
    element: source.element,
    path,
    options: { compatibility: 'v1' },
  })
  expect(JSON.parse(JSON.stringify(await rowsOfParquetjs(path)))).toStrictEqual([
    { id: 1, tags: { list: [{ item: 'a' }, {}, { item: 'b' }] }, at: { x: 1.5 } },
    { id: 2, tags: {} },
    { id: 3, at: { x: 2.5, y: 'z' } },
  ])
})

test.each([
  ['u64', 'Column "a" is u64, which files of { compatibility: \'v1\' } cannot hold. Cast it, or write without the option.'],
  ['u32', 'Column "a" is u32, which files of { compatibility: \'v1\' } cannot hold. Cast it, or write without the option.'],
] as const)('%s is refused by name', async (kind, message) => {
  const element = { kind: 'row' as const, fields: [{ name: 'a', type: { kind }, nullable: false }] }
  await expect(
    writeParquet({ batches: [], element, path: join(folder, 'refused.parquet'), options: { compatibility: 'v1' } }),
  ).rejects.toThrow(new PlanError(message))
})
