/**
 * Every file of the parquet-testing corpus loads with the values DuckDB reads, or is refused by a SourceError that
 * names it. The table of which is which stands in docs/formats.md; UPDATE_DOCS=1 writes it anew.
 *
 * Where DuckDB cannot read a file itself, the file is compared with a sibling that holds the same data.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { afterAll, describe, expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { isValid } from '../src/core/data/column.ts'
import { fieldsOf, typeText } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { expectNumbers } from './ioTables.ts'

const CORPUS = fileURLToPath(new URL('../../shared/corpora/parquet-testing/data', import.meta.url))
const DOCS = fileURLToPath(new URL('../docs/formats.md', import.meta.url))
const BEGIN = '<!-- corpus: begin -->'
const END = '<!-- corpus: end -->'

/** Files that DuckDB 1.5 refuses, and the columns (or files) that hold the same values by construction. */
const SIBLINGS: Readonly<Record<string, string>> = {
  'hadoop_lz4_compressed.parquet': 'lz4_raw_compressed.parquet',
  'hadoop_lz4_compressed_larger.parquet': 'lz4_raw_compressed_larger.parquet',
  'non_hadoop_lz4_compressed.parquet': 'lz4_raw_compressed.parquet',
}

type Outcome =
  | { readonly kind: 'loads'; readonly rows: number; readonly types: string; readonly as: string }
  | { readonly kind: 'refused'; readonly because: string }
const outcomes = new Map<string, Outcome>()

if (!existsSync(CORPUS)) {
  console.warn(`\n*** SKIPPED: the parquet-testing corpus is not at ${CORPUS}; no file of it was read. ***\n`)
  test.skip('the parquet-testing corpus is not here', () => undefined)
} else {
  const files = readdirSync(CORPUS)
    .filter((file) => file.endsWith('.parquet'))
    .sort()
  let duckdb: DuckDBConnection | undefined
  const connection = async () => (duckdb ??= await (await DuckDBInstance.create()).connect())

  describe('the parquet-testing corpus', () => {
    test.each(files)('%s', async (file) => {
      const outcome = await outcomeOf(file, await connection())
      outcomes.set(file, outcome)
      if (outcome.kind === 'refused') expect(outcome.because).toContain(file)
    })
  })

  afterAll(() => duckdb?.closeSync())

  test('docs/formats.md has the table of this run', () => {
    expect(outcomes.size).toBe(files.length)
    const table = docsTable()
    const docs = readFileSync(DOCS, 'utf8')
    const from = docs.indexOf(BEGIN) + BEGIN.length
    const to = docs.indexOf(END)
    if (process.env.UPDATE_DOCS === '1') writeFileSync(DOCS, `${docs.slice(0, from)}\n\n${table}\n${docs.slice(to)}`)
    else expect(docs.slice(from, to).trim()).toBe(table.trim())
  })
}

async function outcomeOf(file: string, duckdb: DuckDBConnection): Promise<Outcome> {
  const path = join(CORPUS, file)
  let ours: Awaited<ReturnType<typeof load>>
  try {
    ours = await load(path)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { kind: 'refused', because: error.message.replaceAll(`${CORPUS}/`, '') }
  }
  const as = await compare(file, ours.columns, duckdb)
  await expectNumbers((options) => openParquet(path, options))
  return { kind: 'loads', rows: ours.rows, types: ours.types, as }
}

async function load(path: string): Promise<{ columns: Map<string, unknown[]>; rows: number; types: string }> {
  const source = await openParquet(path, { int64: 'bigint' })
  const fields = fieldsOf(source.element)
  const columns = new Map(fields.map((field): [string, unknown[]] => [field.name, []]))
  for (const split of source.splits) {
    for (const batch of await readSplit(source, split, [...columns.keys()])) {
      fields.forEach((field, i) => {
        const column = batch.columns[i] as Column
        expect(typeText(column.type)).toBe(typeText(field.type))
        for (let row = 0; row < column.length; row++) columns.get(field.name)?.push(plainOf(column, row))
      })
    }
  }
  const shown = fields.slice(0, 6).map((field) => `${field.name}: ${typeText(field.type)}`)
  return { columns, rows: source.rows ?? 0, types: [...shown, ...(fields.length > 6 ? [`… (${fields.length} columns)`] : [])].join(', ') }
}

async function compare(file: string, ours: ReadonlyMap<string, unknown[]>, duckdb: DuckDBConnection): Promise<string> {
  if (file === 'byte_stream_split_extended.gzip.parquet') {
    for (const [name, values] of ours)
      if (name.endsWith('_plain')) expect(ours.get(name.replace('_plain', '_byte_stream_split'))).toStrictEqual(values)
    return 'its own columns in plain encoding'
  }
  if (file === 'map_no_value.parquet') {
    expect(ours.get('my_map_no_v')).toStrictEqual(ours.get('my_list'))
    const keys = ours.get('my_map')?.map((map) => (map as { key: unknown; value: unknown }[]).map(({ key }) => key))
    expect(keys).toStrictEqual(ours.get('my_list'))
    return 'its own columns (DuckDB refuses a map without values)'
  }
  if (file === 'int96_from_spark.parquet') {
    // The description beside the file says what its last row is, in the year 290000; DuckDB's nanoseconds wrap around.
    expect(ours.get('a')?.pop()).toBe('9089380393200000000 us')
  }
  const sibling = SIBLINGS[file]
  const result = await duckdb.runAndReadAll(`select * from read_parquet('${join(CORPUS, sibling ?? file).replaceAll("'", "''")}')`)
  const theirs = result.getColumns()
  expect([...ours.keys()]).toStrictEqual(result.columnNames())
  for (const [i, [name, values]] of [...ours].entries()) {
    const expected = (theirs[i] ?? []).slice(0, values.length).map(plainOfDuckDB)
    expect(values.length, `rows of ${name}`).toBe(expected.length)
    expect(values, name).toStrictEqual(expected)
  }
  if (file === 'int96_from_spark.parquet')
    return 'DuckDB, but for the last row: the year 290000, as the description of the file has it, where DuckDB wraps around'
  return sibling === undefined ? 'DuckDB' : `${sibling} in DuckDB (which refuses this codec)`
}

/** A value in a form that both sides have: times as microseconds, binaries as hex. */
function plainOf(column: Column, row: number): unknown {
  if (!isValid(column, row) || column.type.kind === 'null') return null
  const { type } = column
  const from = column.offsets?.[row] ?? 0
  const to = column.offsets?.[row + 1] ?? 0
  switch (type.kind) {
    case 'list':
      return Array.from({ length: to - from }, (_, i) => plainOf(column.children?.[0] as Column, from + i))
    case 'struct':
      return Object.fromEntries(type.fields.map((field, i) => [field.name, plainOf(column.children?.[i] as Column, row)]))
    case 'utf8':
      return Buffer.from((column.values as Uint8Array).subarray(from, to)).toString()
    case 'binary':
      return `hex ${Buffer.from((column.values as Uint8Array).subarray(from, to)).toString('hex')}`
    case 'bool':
      return column.values?.[row] === 1
    case 'timestamp': {
      const stored = column.values?.[row] as bigint
      return type.unit === 'ns' ? `${stored} ns` : `${stored * { s: 1000000n, ms: 1000n, us: 1n }[type.unit]} us`
    }
    case 'time':
      return `clock ${(column.values?.[row] as bigint) * { s: 1000000n, ms: 1000n, us: 1n, ns: 1n }[type.unit]}`
    case 'date':
      return `day ${column.values?.[row]}`
    default:
      return column.values?.[row]
  }
}

function plainOfDuckDB(value: DuckDBValue): unknown {
  if (value instanceof DuckDBBlobValue) return `hex ${Buffer.from(value.bytes).toString('hex')}`
  if (value instanceof DuckDBListValue) return value.items.map(plainOfDuckDB)
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(Object.entries(value.entries).map(([name, field]) => [name, plainOfDuckDB(field)]))
  if (value instanceof DuckDBMapValue)
    return value.entries.map(({ key, value: held }) => ({ key: plainOfDuckDB(key), value: plainOfDuckDB(held) }))
  if (value instanceof DuckDBDecimalValue) return Number(value.toString())
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return `${value.micros} us`
  if (value instanceof DuckDBTimestampNanosecondsValue) return `${value.nanos} ns`
  if (value instanceof DuckDBDateValue) return `day ${value.days}`
  if (value instanceof DuckDBTimeValue) return `clock ${value.micros}`
  return value
}

function docsTable(): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const rows = [...outcomes]
    .sort()
    .map(([file, outcome]) =>
      outcome.kind === 'loads'
        ? `| ${file} | ${outcome.rows} rows, values of ${cell(outcome.as)} | ${cell(outcome.types)} |`
        : `| ${file} | refused | ${cell(outcome.because)} |`,
    )
  return ['| file | | columns, or why not |', '|---|---|---|', ...rows].join('\n')
}
