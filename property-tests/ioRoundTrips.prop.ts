/**
 * read(write(x)) = x for every file form: types, nulls, and every bit of every value.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { type ColumnType, fieldsOf, typeText } from '../src/core/data/schema.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { mayMatch } from '../src/core/plan/predicate.ts'
import { toArrowTable } from '../src/io/arrow/arrowBatches.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { fileType } from '../src/io/int64.ts'
import { sourceFromArrow } from '../src/io/memory/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { batchOf, columnsOf, expectNumbers, plainOf, type SmallTable, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const RUNS = lawRuns()
const LIMIT_MS = 600_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-io-'))
afterAll(() => rmSync(folder, { recursive: true }))

const settings = { numRuns: RUNS }

async function expectSame(
  source: ArraySource,
  table: SmallTable,
  /** As columns are read: integers that were numbers when they were written are bigints again. */
  asRead = (type: ColumnType): ColumnType => fileType(type),
): Promise<void> {
  const wanted = table.fields.map((field) => typeText(asRead(field.type)))
  expect(fieldsOf(source.element).map((field) => field.name)).toStrictEqual(table.fields.map((field) => field.name))
  expect(fieldsOf(source.element).map((field) => typeText(field.type))).toStrictEqual(wanted)
  const expected = table.columns.map((column) => Array.from({ length: table.rows }, (_, row) => inFile(plainOf(column, row), column.type)))
  expect(await columnsOf(source)).toStrictEqual(expected)
}

function inFile(value: unknown, type: ColumnType): unknown {
  if (value === null) return null
  if (type.kind === 'f64' && type.integers !== undefined) return BigInt(value as number)
  if (type.kind === 'list') return (value as unknown[]).map((item) => inFile(item, type.item))
  if (type.kind !== 'struct') return value
  return Object.fromEntries(type.fields.map(({ name, type: of }) => [name, inFile((value as Record<string, unknown>)[name], of)]))
}

test(
  'Parquet: read(write(x)) = x for any compression and row group size',
  async () => {
    const path = join(folder, 'table.parquet')
    await fc.assert(
      fc.asyncProperty(
        tableOf(),
        fc.constantFrom('snappy' as const, 'zstd' as const, 'none' as const),
        fc.integer({ min: 1, max: 10 }),
        async (table, compression, rowGroupRows) => {
          const batch = batchOf(table)
          const written = await writeParquet({ batches: [batch], element: batch.element, path, options: { compression, rowGroupRows } })
          expect(written.rows).toBe(table.rows)
          await expectSame(await openParquet(path, { int64: 'bigint' }), table)
          await expectNumbers((options) => openParquet(path, options))
        },
      ),
      settings,
    )
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toStrictEqual([])
  },
  LIMIT_MS,
)

test(
  'Parquet: no value of a row group lies outside its smallest and largest',
  async () => {
    const path = join(folder, 'bounds.parquet')
    const orders: readonly ColumnType[] = [
      ...(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u8', 'bool', 'utf8', 'date'] as const).map((kind) => ({ kind })),
      ...(['ms', 'us', 'ns'] as const).map((unit) => ({ kind: 'timestamp', unit }) as const),
    ]
    await fc.assert(
      fc.asyncProperty(tableOf(fc.constantFrom(...orders)), fc.integer({ min: 1, max: 5 }), async (table, rowGroupRows) => {
        const batch = batchOf(table)
        await writeParquet({ batches: [batch], element: batch.element, path, options: { rowGroupRows } })
        let from = 0
        for (const split of (await openParquet(path)).splits) {
          const to = from + (split.rows ?? 0)
          table.fields.forEach((field, i) => {
            const bounds = split.statistics?.get(field.name)
            const column = table.columns[i]
            if (bounds === undefined || column === undefined) return
            const isDate = field.type.kind === 'date' || field.type.kind === 'timestamp'
            for (let row = from; row < to; row++) {
              const stored = plainOf(column, row)
              const seen = isDate ? Number(valueReader(column)(row) ?? Number.NaN) : stored
              const value = field.type.kind === 'bool' && stored !== null ? stored === 1 : seen
              // NaN matches no comparison, null neither
              if (value === null || Number.isNaN(value)) continue
              expect(
                (value as number) >= (bounds.min as number) && (value as number) <= (bounds.max as number),
                `${field.name} row ${row}`,
              ).toBe(true)
            }
          })
          from = to
        }
      }),
      settings,
    )
  },
  LIMIT_MS,
)

/** About the last integers that numbers are exact for, as a file has them. */
const WHOLE_EDGES = [2n ** 53n, 2n ** 53n - 1n, 2n ** 53n - 2n, 2n ** 52n, 3n, 1n, 0n] as const
const LITERALS = [...WHOLE_EDGES.map(Number), 2 ** 53 + 2, 2 ** 64, 2.5, 0.5, -0, Number.POSITIVE_INFINITY]

test(
  'Parquet: a row group that a comparison of 64-bit integers leaves out has no row for which it holds',
  async () => {
    const path = join(folder, 'edges.parquet')
    const found = { left: 0, all: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          kind: fc.constantFrom('i64' as const, 'u64' as const),
          values: fc.array(fc.tuple(fc.constantFrom(...WHOLE_EDGES), fc.boolean()), { minLength: 1, maxLength: 8 }),
          operator: fc.constantFrom(...(['<', '<=', '>', '>=', '==='] as const)),
          value: fc.tuple(fc.constantFrom(...LITERALS), fc.boolean()).map(([literal, isNegative]) => (isNegative ? -literal : literal)),
          rowGroupRows: fc.integer({ min: 1, max: 3 }),
        }),
        async ({ kind, values, operator, value, rowGroupRows }) => {
          const column = columnFromValues(
            values.map(([integer, isNegative]) => (isNegative && kind === 'i64' ? -integer : integer)),
            { kind },
          )
          const element = { kind: 'row' as const, fields: [{ name: 'a', type: { kind }, nullable: false }] }
          await writeParquet({ batches: [{ element, length: values.length, columns: [column] }], element, path, options: { rowGroupRows } })
          const source = await openParquet(path)
          const holds = new Function('a', 'b', `return a ${operator} b`) as (a: unknown, b: number) => boolean
          for (const split of source.splits) {
            const bounds = split.statistics?.get('a')
            if (bounds === undefined) throw new Error('The row group has no bounds.')
            found.all++
            if (mayMatch({ column: 'a', operator, value }, bounds)) continue
            found.left++
            const [rows = []] = await columnsOf({ ...source, splits: [split] })
            expect(rows.filter((row) => holds(row, value))).toStrictEqual([])
          }
        },
      ),
      settings,
    )
    // and many are left out
    expect(found.left).toBeGreaterThan(found.all / 5)
  },
  LIMIT_MS,
)

test(
  'Arrow: read(write(x)) = x, through files and through tables in memory',
  async () => {
    const path = join(folder, 'table.arrow')
    await fc.assert(
      fc.asyncProperty(tableOf(), async (table) => {
        const batch = batchOf(table)
        await writeArrow({ batches: [batch], element: batch.element, path })
        await expectSame(await openArrow(path, { int64: 'bigint' }), table)
        await expectNumbers((options) => openArrow(path, options))
        const arrow = toArrowTable([batch], batch.element)
        await expectSame(sourceFromArrow(arrow, { int64: 'bigint' }), table)
        // all columns of a table in memory are read at once
        for (const { name } of table.fields) await expectNumbers(async (options) => sourceFromArrow(arrow.select([name]), options))
      }),
      settings,
    )
  },
  LIMIT_MS,
)

/** Types that a CSV field says in full. Other times would come back in milliseconds. */
const CSV_TYPES: readonly ColumnType[] = [
  ...(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'utf8'] as const).map((kind) => ({ kind })),
]

const CSV_FORMS = [{}, { delimiter: ';', decimal: ',' }, { delimiter: '\t' }, { delimiter: '|', decimal: ',' }] as const

test(
  'CSV: read(write(x)) = x where { types } says the types',
  async () => {
    const path = join(folder, 'table.csv')
    await fc.assert(
      fc.asyncProperty(tableOf(fc.constantFrom(...CSV_TYPES)), fc.constantFrom(...CSV_FORMS), async (table, options) => {
        const batch = batchOf(table)
        await writeCsv({ batches: [batch], element: batch.element, path, options })
        const types = Object.fromEntries(table.fields.map((field) => [field.name, field.type.kind])) as Record<string, 'f64'> // the kinds above are all CSV types
        await expectSame(await openCsv(path, { types, ...options }), table)
      }),
      settings,
    )
  },
  LIMIT_MS,
)
