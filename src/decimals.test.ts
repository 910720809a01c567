import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { Decimal, Field, Float64, Schema, Utf8 } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-decimals-'))
const at = (name: string) => join(folder, name)
let session: Session
let duckdb: Awaited<ReturnType<DuckDBInstance['connect']>>
beforeAll(async () => {
  session = await Session.start({ workers: 1 })
  duckdb = await (await DuckDBInstance.create()).connect()
  await duckdb.run(`copy (select * from (values ('a', 1.10::decimal(9, 2), 0.000001::decimal(38, 18)), ('b', -20000.05, null), ('a', null, 1500000)) t(k, price, rate))
    to '${at('prices.parquet')}' (format parquet)`)
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const typesIn = async (path: string) =>
  (await duckdb.runAndReadAll(`select column_name, column_type from (describe select * from '${path}')`)).getRows().map(String)

test('decimals are numbers on the way, and decimals of the same form in the file that is written', async () => {
  const prices = await session.readParquet<{ k: string; price: number | null; rate: number | null }>(at('prices.parquet'))
  await prices
    .filter((r) => r.k !== 'c')
    .map((r) => ({ k: r.k, price: r.price, rate: r.rate, twice: (r.price ?? 0) * 2 }))
    .sortBy((r) => r.price ?? 0)
    .writeParquet(at('written.parquet'))
  expect(await typesIn(at('written.parquet'))).toEqual(['k,VARCHAR', 'price,DECIMAL(9,2)', 'rate,DECIMAL(38,18)', 'twice,DOUBLE'])
  const rows = await duckdb.runAndReadAll(
    `select k, price::varchar, rate::varchar, twice from '${at('written.parquet')}' order by price nulls last`,
  )
  expect(rows.getRows().map(String)).toEqual([
    'b,-20000.05,,-40000.1',
    'a,1.10,0.000001000000000000,2.2',
    'a,,1500000.000000000000000000,0',
  ])
  await prices.writeArrow(at('written.arrow'))
  const again = await session.readArrow<{ k: string; price: number | null; rate: number | null }>(at('written.arrow'))
  expect(await again.collect()).toEqual(await prices.collect())
  await again.writeParquet(at('again.parquet'))
  expect(await typesIn(at('again.parquet'))).toEqual(['k,VARCHAR', 'price,DECIMAL(9,2)', 'rate,DECIMAL(38,18)'])
})

test('programs are handed numbers, in Arrow tables as well', async () => {
  const prices = await session.readParquet<{ price: number | null }>(at('prices.parquet'), { columns: ['price'] })
  expect(inspect(prices)).toContain('price   decimal(9, 2) as number?')
  expect((prices.schema as Schema).fields.map(({ type }) => String(type))).toEqual(['Float64'])
  const table = await prices.toArrow()
  expect([...(table.getChild('price') ?? [])]).toEqual([1.1, -20000.05, null])
})

test('files whose decimals have other forms are read as decimals that hold both', async () => {
  await duckdb.run(`copy (select 12345678.5::decimal(9, 1) as price) to '${at('other.parquet')}' (format parquet)`)
  await duckdb.run(`copy (select 0.5::double as price) to '${at('double.parquet')}' (format parquet)`)
  const both = await session.readParquet<{ price: number | null }>([at('prices.parquet'), at('other.parquet')], { columns: ['price'] })
  expect(await both.collect()).toEqual([{ price: 1.1 }, { price: -20000.05 }, { price: null }, { price: 12345678.5 }])
  await both.writeParquet(at('both.parquet'))
  expect(await typesIn(at('both.parquet'))).toEqual(['price,DECIMAL(10,2)'])
  const other = await session.readParquet<{ price: number | null }>(at('other.parquet'))
  const doubles = await session.readParquet<{ price: number | null }>(at('double.parquet'))
  await other.union(doubles).writeParquet(at('numbers.parquet'))
  expect(await typesIn(at('numbers.parquet'))).toEqual(['price,DOUBLE'])
  const mixed = await session.readParquet<{ price: number }>([at('double.parquet'), at('other.parquet')])
  expect(await mixed.map((r) => r.price).sum()).toBe(12345679)
})

test('keys of groups and joins are decimals as before, and equal the numbers that they are', async () => {
  const prices = await session.readParquet<{ k: string; price: number | null }>(at('prices.parquet'), { columns: ['k', 'price'] })
  const names = session.fromRows([{ price: 1.1, name: 'cheap' }])
  expect(await prices.join(names, 'price').collect()).toEqual([{ k: 'a', price: 1.1, name: 'cheap' }])
  await prices.distinct({ by: (r) => r.price }).writeParquet(at('keys.parquet'))
  expect(await typesIn(at('keys.parquet'))).toEqual(['k,VARCHAR', 'price,DECIMAL(9,2)'])
})

test('values of a schema that says decimals are such', async () => {
  const schema = new Schema([new Field('k', new Utf8()), new Field('price', new Decimal(2, 5), true), new Field('f', new Float64(), true)])
  const rows = session.fromRows(
    [
      { k: 'a', price: 999.99, f: 0.001 },
      { k: 'b', price: null, f: null },
    ],
    { schema },
  )
  await rows.writeParquet(at('rows.parquet'))
  expect(await typesIn(at('rows.parquet'))).toEqual(['k,VARCHAR', 'price,DECIMAL(5,2)', 'f,DOUBLE'])
  for (const price of [0.001, 1000, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => session.fromRows([{ k: 'a', price, f: 0 }], { schema })).toThrow('Column "price"')
  expect(() => session.fromRows([{ k: 'a', price: 0.001, f: 0 }], { schema })).toThrow(
    'Column "price" is decimal(5, 2) as number, and the value 0.001 at row 0 does not fit it.',
  )
})
