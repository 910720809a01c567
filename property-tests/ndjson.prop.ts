/**
 * NDJSON: what DuckDB reads of random objects is what is read here, value by value, nested ones and integers beyond 2^53 included; and
 * what is written is read back, here and by DuckDB.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonText } from '../src/io/json/parseLine.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('ndjson.prop.ts')
const LIMIT_MS = 300_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-ndjson-'))
let session: Session
let duckdb: DuckDBConnection
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
  duckdb = await (await DuckDBInstance.create()).connect()
})
afterAll(async () => {
  duckdb.closeSync()
  await session.stop()
  rmSync(folder, { recursive: true })
})

/** A kind of values: what one of them may be. */
type Kind = fc.Arbitrary<unknown>
const TEXTS = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom('ü"\\', '\n\t', '12', '12345678901234567', 'true', 'null', '{"a":1}', '\u{1f600}', ' '),
)
const SCALARS: readonly Kind[] = [
  fc.boolean(),
  TEXTS.filter((text) => !text.includes('\0')),
  fc.integer(),
  fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }).filter((n) => !Object.is(n, -0)),
    fc.constant(0.5),
  ),
  fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constantFrom(2n ** 53n + 1n, 2n ** 60n, -(2n ** 63n))),
]
const kinds: { readonly any: fc.Arbitrary<Kind> } = fc.letrec<{ any: Kind }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 4, arbitrary: fc.constantFrom(...SCALARS) },
    { weight: 1, arbitrary: tie('any').map((item) => fc.array(fc.option(item as Kind, { freq: 5 }), { maxLength: 3 })) },
    {
      weight: 1,
      arbitrary: fc
        .dictionary(fc.constantFrom('x', 'y', 'long name', 'ü'), tie('any'), { minKeys: 1, maxKeys: 3 })
        .map((fields) => objectsOf(fields as Record<string, Kind>)),
    },
  ) as never,
})) as never

/** Objects of which the first field is always there. */
function objectsOf(fields: Readonly<Record<string, Kind>>): Kind {
  const [first = ''] = Object.keys(fields)
  const values = Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, fc.option(kind, { freq: 5 })]))
  return fc.record(values, { requiredKeys: [first], noNullPrototype: true })
}

const TABLES = fc
  .uniqueArray(fc.constantFrom('id', 'b', 'c d', 'E', '__proto'), { minLength: 1, maxLength: 4 })
  .chain((names) =>
    fc.tuple(...names.map(() => kinds.any)).map((found) => objectsOf(Object.fromEntries(names.map((name, i) => [name, found[i] as Kind])))),
  )
  .chain((objects) => fc.array(objects, { minLength: 1, maxLength: 8 }))

test(
  'NDJSON has the values that DuckDB reads, and comes back as it was written',
  async () => {
    const seen = { tables: 0, wide: 0, nested: 0 }
    await fc.assert(
      fc.asyncProperty(TABLES, fc.boolean(), fc.constantFrom('\n', '\r\n', '\n\n'), async (rows, packed, end) => {
        const path = join(folder, 'rows.jsonl')
        const lines = rows.map(jsonText)
        const text = lines.map((line) => line + end).join('')
        writeFileSync(path, text)
        const theirs = plain(await duckdbRows(path))
        if (packed) writeFileSync(path, gzipSync(text))
        const table = await session.readNdjson<object>(path)
        const ours = await table.collect()
        expect(plain(ours)).toEqual(theirs)
        const back = join(folder, 'back.jsonl')
        expect((await table.writeNdjson(back)).rows).toBe(rows.length)
        expect(await (await session.readNdjson<object>(back)).collect()).toEqual(ours)
        expect(plain(await duckdbRows(back))).toEqual(theirs)
        seen.tables++
        if (/\d{17}/.test(text)) seen.wide++
        if (lines.some((line) => /[[{]/.test(line.slice(1)))) seen.nested++
      }),
      { ...run, examples: [[[{ id: -(2n ** 63n) }, { id: 2n ** 53n + 1n }], false, '\n']] },
    )
    console.log(`NDJSON: ${JSON.stringify(seen)}`)
    expect(Math.min(seen.wide, seen.nested)).toBeGreaterThan(seen.tables / 10)
  },
  LIMIT_MS,
)

const TIMES = fc.date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })
const NUMBERS = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ noNaN: true, min: -1e22, max: 1e22 }),
  fc.integer(),
  fc
    .tuple(
      fc.constantFrom(2 ** 53, 2 ** 60, 2 ** 63, 2 ** 64, 1e21, 999_999_999_999_999_900_000),
      fc.integer({ min: -3, max: 3 }),
      fc.boolean(),
    )
    .map(([about, by, negative]) => (negative ? -1 : 1) * (about + by * (about / 2 ** 52))),
)

test(
  'numbers and times come back from text as they were, though nothing says their types',
  async () => {
    const paths = { csv: join(folder, 'numbers.csv'), json: join(folder, 'numbers.jsonl') }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ x: NUMBERS, y: fc.option(NUMBERS), at: TIMES }, { noNullPrototype: true }), { minLength: 1, maxLength: 6 }),
        async (rows) => {
          const table = session.fromRows(rows)
          await table.writeNdjson(paths.json)
          await table.writeCsv(paths.csv)
          const [ofJson, ofCsv] = [await session.readNdjson<object>(paths.json), await session.readCsv<object>(paths.csv)]
          const isThere = rows.some(({ y }) => y !== null) // a column of nothing is one of texts
          const read = [await ofJson.collect(), ...(isThere ? [await ofCsv.collect()] : [])]
          const asText = rows.map((row) => ({ ...row, at: row.at.toISOString() }))
          for (const found of read) expect(found).toStrictEqual(asText)
          // who reads integers finds those that the numbers are
          const theirs = (await duckdbRows(paths.json)) as readonly { readonly x: unknown }[]
          for (const [i, { x }] of theirs.entries()) expect(Number(x)).toBe((rows[i] as { x: number }).x + 0)
          if (theirs.every(({ x }) => typeof x === 'bigint'))
            for (const [i, { x }] of theirs.entries()) expect(x).toBe(BigInt((rows[i] as { x: number }).x))
        },
      ),
      run,
    )
  },
  LIMIT_MS,
)

async function duckdbRows(path: string): Promise<readonly unknown[]> {
  const found = await duckdb.runAndReadAll(
    `select * from read_json('${path}', format = 'newline_delimited', sample_size = -1, maximum_depth = -1, map_inference_threshold = -1, field_appearance_threshold = 0, convert_strings_to_integers = false, dateformat = '%z', timestampformat = '%z')`,
  )
  return found.getRowObjectsJS()
}

/** Integers as numbers where they are exactly such, as -(2^53) and 2^60 are; fields that are absent, and objects of nothing but nulls, as one has them. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? Number(value) : value
  if (typeof value === 'number') return value + 0
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}
