/** 64-bit integers of files, from the reader to the writer. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Schema, Table, tableFromArrays, vectorFromArray } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, Session, SourceError } from './index.ts'

interface Row {
  readonly id: number
  readonly n: number | null
}

const folder = mkdtempSync(join(tmpdir(), 'distarray-int64-'))
const file = join(folder, 'ids.parquet')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1 })
  const rows = Array.from({ length: 20 }, (_, i) => ({ id: BigInt(i) + 2n ** 53n - 19n, n: i % 3 === 0 ? null : BigInt(-i) }))
  await session.fromRows(rows).writeParquet(file, { rowGroupRows: 5 })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

function typesOf(schema: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries((schema as Schema).fields.map((field) => [field.name, String(field.type)]))
}

test('numbers to functions, integers in the schema and in what is written', async () => {
  const table = (await session.readParquet<Row>(file)).filter((r) => r.id === 2 ** 53 || r.n === -1).sortBy((r) => r.id)
  expect(await table.collect()).toStrictEqual([
    { id: 2 ** 53 - 18, n: -1 },
    { id: 2 ** 53, n: -19 },
  ])
  expect(typesOf(table.schema)).toStrictEqual({ id: 'Int64', n: 'Int64' })
  const out = join(folder, 'out.parquet')
  await table.withColumns((r) => ({ next: r.id + 1, same: r.id })).writeParquet(out)
  const exact = await session.readParquet(out, { int64: 'bigint' })
  expect(typesOf(exact.schema)).toStrictEqual({ id: 'Int64', n: 'Int64', next: 'Float64', same: 'Int64' })
  expect(await exact.first()).toStrictEqual({ id: 2n ** 53n - 18n, n: -1n, next: 2 ** 53 - 17, same: 2n ** 53n - 18n })
})

test('row groups are left out by literals up to the last number', async () => {
  const table = await session.readParquet<Row>(file)
  const scan = (array: { explain(): string }) => /where [^\n]*/.exec(array.explain())?.[0]
  const last = table.filter((r) => r.id >= 2 ** 53)
  expect(scan(last)).toBe('where id >= 9007199254740992')
  expect(await last.count()).toBe(1)
  expect(await table.filter((r) => r.id > 2 ** 53).count()).toBe(0)
  expect(await table.filter((r) => r.id < 2 ** 53 - 18).count()).toBe(1)
})

test('a row that is stored takes integers alone, a single value any number', async () => {
  const rows = (await session.readParquet<Row>(file)).limit(2).materialize()
  await expect(rows.set([0], { id: 0.5, n: null })).rejects.toThrow(
    new PlanError('Column "id" is i64 as number, and the value 0.5 at row 0 does not fit it.'),
  )
  await rows.set([0], { id: -0, n: 7 })
  expect((await rows.collect())[0]).toStrictEqual({ id: 0, n: 7 })
  const values = (await session.readParquet<Row>(file)).map((r) => r.id).materialize()
  expect(String(values.schema)).toBe('Float64')
  await values.set([0], 0.5)
  expect(await values.first()).toBe(0.5)
  expect(String((await values.toArrow()).schema.fields[0]?.type)).toBe('Float64')
})

test('elements under keys of their own are combined and written as any numbers', async () => {
  const half = (await session.readParquet<Row>(file))
    .map((r) => ({ at: r.id % 2, n: r.n ?? 0, id: r.id }))
    .index((r) => [r.at], { combine: (p, q) => ({ ...q, id: (p.id % 100) / 2 }) })
  expect(typesOf(half.schema)).toStrictEqual({ at: 'Float64', n: 'Float64', id: 'Float64' })
  const stored = half.materialize()
  await stored.set([1], { at: 1, n: 0.5, id: 0.25 })
  expect((await stored.collect())[1]).toStrictEqual({ at: 1, n: 0.5, id: 0.25 })
  await stored.writeParquet(join(folder, 'half.parquet'))
})

test('numbers and bigints of files do not go together unseen', async () => {
  const numbers = await session.readParquet<Row>(file)
  const bigints = await session.readParquet<Row>(file, { int64: 'bigint' })
  expect(() => numbers.union(bigints)).toThrow(
    new PlanError(
      'Cannot put ids.parquet after ids.parquet with union(): the elements are { id: i64 as number, n: i64 as number? } and { id: i64, n: i64? }.\n' +
        'Make "id" one kind first, as in withColumns((row) => ({ id: Number(row.id) })).',
    ),
  )
  expect(() => numbers.join(bigints, 'id')).toThrow(
    new PlanError(
      'Cannot join ids.parquet and ids.parquet on "id": i64 as number on the left, i64 on the right.\n' +
        'Convert one side, for example ids.withColumns((row) => ({ id: BigInt(row.id) })).',
    ),
  )
})

test('bigints that only running tells are refused by the action as they are at the call', async () => {
  const bigints = await session.readParquet<Row>(file, { int64: 'bigint' })
  expect(() => bigints.filter((r) => r.id === 5)).toThrow(PlanError)
  const told = bigints.map((r) => [r].reverse()[0] as Row).materialize()
  await expect(told.filter((r) => r.id === 5).count()).rejects.toThrow(
    /^filter: r\.id === 5 compares a bigint and a number, which are never equal\.\n {2}\S+ {2}r\.id === 5\nWrite 5n, convert with Number\(r\.id\), or if it is of a file, read it without \{ int64: 'bigint' \}\.$/,
  )
  expect(await told.filter((r) => r.id > 2 ** 53 - 1).count()).toBe(1)
})

test('Arrow tables and files, signed and unsigned, and what is beyond', async () => {
  const path = join(folder, 'a.arrow')
  const table = tableFromArrays({ a: BigInt64Array.of(1n, -(2n ** 53n)), b: BigUint64Array.of(0n, 2n ** 53n) })
  expect(await session.fromArrow(table).collect()).toStrictEqual([
    { a: 1, b: 0 },
    { a: -(2 ** 53), b: 2 ** 53 },
  ])
  const given = session.fromArrow(table, { int64: 'bigint' })
  expect(await given.collect()).toStrictEqual([
    { a: 1n, b: 0n },
    { a: -(2n ** 53n), b: 2n ** 53n },
  ])
  await given.writeArrow(path)
  const read = await session.readArrow(path)
  expect(typesOf(read.schema)).toStrictEqual({ a: 'Int64', b: 'Uint64' })
  expect(await read.collect()).toStrictEqual(await session.fromArrow(table).collect())
  expect(await (await session.readArrow(path, { int64: 'bigint' })).collect()).toStrictEqual(await given.collect())
  const wide = new Table({ a: vectorFromArray([1n, null, 2n ** 53n + 1n]) })
  expect(() => session.fromArrow(wide)).toThrow(
    new SourceError(
      'fromArrow, column "a": the integer 9007199254740993 at row 2 is beyond ±2^53, up to where numbers are exact. ' +
        "Read 64-bit integers as bigints with { int64: 'bigint' }.",
      'fromArrow',
    ),
  )
  expect(await session.fromArrow(wide, { int64: 'bigint' }).count()).toBe(3)
})
