/**
 * Bloom filters that DuckDB has written: no row group is left out that has a row with the value, some are that statistics leave in, and
 * chains give the rows that they give without filters.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ruleOutInParquet } from '../src/io/parquet/filters/ruleOut.ts'
import { openParquet } from '../src/io/parquet.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('bloomFilters.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-filters-'))
const session = await Session.start({ workers: 1, progress: false })
let duckdb: DuckDBConnection
beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
})
afterAll(async () => {
  duckdb.closeSync()
  await session.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Rows of a row group: DuckDB's least. */
const ROWS = 2048

type Value = number | string
const wholes = (min: number, max: number): fc.Arbitrary<Value> =>
  fc.oneof(fc.integer({ min: Math.max(min, -20), max: 20 }), fc.integer({ min, max }))
const TYPES: readonly { readonly sql: string; readonly values: fc.Arbitrary<Value> }[] = [
  { sql: 'TINYINT', values: wholes(-128, 127) },
  { sql: 'INTEGER', values: wholes(-(2 ** 31), 2 ** 31 - 1) },
  { sql: 'UINTEGER', values: wholes(0, 2 ** 32 - 1) },
  { sql: 'BIGINT', values: wholes(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) },
  { sql: 'UBIGINT', values: wholes(0, Number.MAX_SAFE_INTEGER) },
  { sql: 'DOUBLE', values: fc.oneof(wholes(-9, 9), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, 0.1)) },
  { sql: 'FLOAT', values: fc.oneof(wholes(-9, 9), fc.constantFrom(0, -0, 0.5, -1.25)) },
  {
    sql: 'VARCHAR',
    values: fc.oneof(fc.constantFrom('', 'Bern', 'Österbro', 'x'.repeat(40)), fc.string({ maxLength: 12, unit: 'grapheme-ascii' })),
  },
]

const drawn = fc.constantFrom(...TYPES).chain(({ sql, values }) =>
  fc.record({
    sql: fc.constant(sql),
    /** The values of each row group, which repeat. */
    groups: fc.array(fc.array(values, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
    asked: fc.array(values, { minLength: 1, maxLength: 3 }),
    isNullable: fc.boolean(),
    /** Further values, so that a filter has several blocks. */
    more: fc.constantFrom(0, 0, 300),
    hasFilters: fc.constantFrom(true, true, true, false),
  }),
)
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

/** The table with its further values, where the type holds them. */
function widened(one: Drawn): Drawn {
  const isWide = one.sql === 'VARCHAR' || one.sql === 'INTEGER' || one.sql === 'BIGINT' || one.sql === 'DOUBLE'
  if (!isWide) return one
  const further = (g: number): readonly Value[] =>
    Array.from({ length: one.more }, (_, i) => (one.sql === 'VARCHAR' ? `${g} ${i}` : (i * 977 + g * 31) * 13))
  return { ...one, groups: one.groups.map((values, g) => [...values, ...further(g)]), asked: [...one.asked, ...further(0).slice(7, 9)] }
}

const literal = (value: Value): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : Object.is(value, -0) ? "'-0.0'" : `${value}`

async function written({ sql, groups, isNullable, hasFilters }: Drawn): Promise<string> {
  const path = join(folder, 'filters.parquet')
  const parts = groups.map((values) => {
    const list = `[${values.map((value) => `(${literal(value)})::${sql}`).join()}]`
    const value = `(${list})[1 + i % ${values.length}]`
    return `select ${isNullable ? `case when i % 5 = 3 then null else ${value} end` : value} as k from range(${ROWS}) t(i)`
  })
  await duckdb.run(
    `copy (${parts.join(' union all ')}) to '${path}' (format parquet, row_group_size ${ROWS}, write_bloom_filter ${hasFilters})`,
  )
  return path
}

/** The numbers of rows of a group that have the value. */
function rowsWith(value: Value, values: readonly Value[], isNullable: boolean): number {
  let count = 0
  for (let i = 0; i < ROWS; i++) if (values[i % values.length] === value && !(isNullable && i % 5 === 3)) count++
  return count
}

test('row groups that a filter rules out have no row with the value, and chains have all that have it', async () => {
  let ruledOut = 0
  await fc.assert(
    fc.asyncProperty(drawn.map(widened), async (one) => {
      const path = await written(one)
      const source = await openParquet([path])
      const groups = source.splits.length === one.groups.length ? one.groups : undefined // as it is, unless DuckDB cuts otherwise
      const table = await session.readParquet<{ k: Value }>(path)
      for (const value of [...one.asked, ...one.groups.map(([first]) => first as Value)]) {
        const kept = await ruleOutInParquet(source, source.splits, [{ column: 'k', operator: '===', value }])
        ruledOut += source.splits.length - kept.length
        const counts = one.groups.map((values) => rowsWith(value, values, one.isNullable))
        for (const [g, count] of groups === undefined ? [] : counts.entries()) if (count > 0) expect(kept).toContain(source.splits[g])
        const found = await table.filter((r, _, { value }) => r.k === value, { env: { value } }).count()
        expect(found).toBe(counts.reduce((a, b) => a + b, 0))
      }
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 4) },
  )
  console.log(`filters: ${ruledOut} row groups were ruled out`)
  expect(ruledOut).toBeGreaterThan(LAW.numRuns / 20)
})

test('a filter whose header is damaged fails nothing', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, fc.integer({ min: 0, max: 30 }), fc.nat(255), async (one, place, byte) => {
      const path = await written(one)
      const source = await openParquet([path])
      const [split] = source.splits
      const filter = split?.filters?.get('k') as { readonly at: number } | undefined
      if (filter === undefined) return
      const bytes = readFileSync(path)
      bytes[filter.at + place] = byte
      writeFileSync(path, bytes)
      const again = await openParquet([path])
      const value = one.groups[0]?.[0] as Value
      const kept = await ruleOutInParquet(again, again.splits, [{ column: 'k', operator: '===', value }])
      // a header that says another length is another filter: what it must not do is to fail
      expect(again.splits.filter((one) => kept.includes(one))).toEqual([...kept])
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 8) },
  )
})
