/**
 * Page indexes of Parquet files: the parts of row groups that they leave have each row for which the predicate holds, and are read as
 * those rows of the whole row group, whatever an index says.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tableToIPC } from 'apache-arrow'
import fc from 'fast-check'
import { Compression, Table as ForeignTable, WriterPropertiesBuilder, WriterVersion, writeParquet as writeForeign } from 'parquet-wasm/node'
import { afterAll, expect, test } from 'vitest'
import { planOf } from '../src/core/arrays/distArray.ts'
import { takeColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import type { ColumnPredicate } from '../src/core/plan/predicate.ts'
import type { OpenFiles } from '../src/core/ports.ts'
import { fewRanges, inBoth, type RowRange } from '../src/core/rowRanges.ts'
import type { SourceSplit } from '../src/core/sourceParts.ts'
import { toArrowTable } from '../src/io/arrow/arrowBatches.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { openBytes } from '../src/io/bytes/byteSource.ts'
import type { ByteSource } from '../src/io/bytes/source.ts'
import type { GroupDetail } from '../src/io/parquet/describe.ts'
import type { ColumnFilters } from '../src/io/parquet/filters/filterPlaces.ts'
import { ruleOutInParquet } from '../src/io/parquet/filters/ruleOut.ts'
import { partsByIndex } from '../src/io/parquet/pageIndex/parts.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { optimize } from '../src/planner/optimize.ts'
import { Session } from '../src/session/session.ts'
import { batchOf, columnsOf, type SmallTable, tableOf } from './ioTables.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('pageIndex.prop.ts')
const LIMIT_MS = 600_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-pages-'))
const path = join(folder, 'pages.parquet')
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
await loadArrow()
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const BOUNDED: readonly ColumnType[] = [
  ...(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u8', 'bool', 'utf8', 'date'] as const).map((kind) => ({ kind })),
  ...(['ms', 'us', 'ns'] as const).map((unit) => ({ kind: 'timestamp', unit }) as const),
]
const POINT: ColumnType = { kind: 'struct', fields: ['x', 'y'].map((name) => ({ name, type: { kind: 'f64' }, nullable: true })) }
const types = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...BOUNDED) },
  { weight: 1, arbitrary: fc.constantFrom<ColumnType>(POINT, { kind: 'list', item: { kind: 'i32' } }) },
)

/** How a file is written: few values a page, so that small tables have several. */
const writing = fc.record({
  pageRows: fc.integer({ min: 1, max: 24 }),
  groupRows: fc.constantFrom(40, 200, 1000),
  hasDictionary: fc.boolean(),
  compression: fc.constantFrom('UNCOMPRESSED' as const, 'SNAPPY' as const, 'ZSTD' as const),
  isSecond: fc.boolean(),
})
type Writing = typeof writing extends fc.Arbitrary<infer T> ? T : never

const sizes = fc.record({
  closeRows: fc.constantFrom(1, 10, 60),
  most: fc.constantFrom(1, 2, 5, 100),
  largestShare: fc.constantFrom(1, 0.99, 0.5),
})

/** The rows of a small table, in runs: equal values lie together, as in tables that have an order. */
const runs = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 12 })

const drawn = fc.record({
  table: tableOf(types).filter(({ rows }) => rows > 0),
  runs,
  writing,
  sizes,
  /** Of each comparison: a column, a row that has its constant, and which. */
  picks: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { minLength: 1, maxLength: 3 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

/** The file's bytes. */
function written(
  table: SmallTable,
  rows: Drawn['runs'],
  { pageRows, groupRows, hasDictionary, compression, isSecond }: Writing,
): Uint8Array {
  const small = batchOf(table)
  const places = Int32Array.from(rows.flatMap(([row, times]) => new Array<number>(times).fill(row % table.rows)))
  const batch = { ...small, length: places.length, columns: small.columns.map((column) => takeColumn(column, places)) }
  const properties = new WriterPropertiesBuilder()
    .setDictionaryEnabled(hasDictionary)
    .setCompression(Compression[compression])
    .setWriterVersion(isSecond ? WriterVersion.V2 : WriterVersion.V1)
    .setWriteBatchSize(pageRows)
    .setDataPageSizeLimit(1)
    .setMaxRowGroupSize(groupRows)
    .build()
  return writeForeign(ForeignTable.fromIPCStream(tableToIPC(toArrowTable([batch], batch.element), 'stream')), properties)
}

type Row = Readonly<Record<string, never>>
const COMPARISONS: readonly ((name: string, value: never) => (row: Row) => boolean)[] = [
  (name, value) => (row) => (row[name] as never) < value,
  (name, value) => (row) => (row[name] as never) <= value,
  (name, value) => (row) => (row[name] as never) > value,
  (name, value) => (row) => (row[name] as never) >= value,
  (name, value) => (row) => row[name] === value,
]

/** The rows as the program has them, the filters that are picked, and the predicates that they push into the scan. */
async function askedOf({ table, picks }: Drawn) {
  const read = await session.readParquet<Row>(path, { int64: 'bigint' })
  const rows = await read.collect()
  const asked: { readonly keeps: (row: Row) => boolean; readonly predicate: ColumnPredicate }[] = []
  for (const [column, row, which] of picks) {
    const { name } = table.fields[column % table.fields.length] as { name: string }
    const one: unknown = rows[row % rows.length]?.[name]
    const value = one instanceof Date ? new Date(one) : one
    if (value === undefined || value === null || (typeof value === 'object' && !(value instanceof Date))) continue
    const keeps = (COMPARISONS[which % COMPARISONS.length] as (typeof COMPARISONS)[number])(name, value as never)
    const { plan } = optimize(planOf(read.filter(keeps)))
    const scan = plan.kind === 'Filter' ? plan.input : plan
    if (scan.kind === 'Scan' && scan.predicate !== undefined) asked.push({ keeps, predicate: scan.predicate })
  }
  return { rows, asked }
}

async function partsOf(splits: readonly SourceSplit[], predicate: ColumnPredicate, how: Drawn['sizes']) {
  const bytes = await openBytes(path, {})
  try {
    return await partsByIndex(() => Promise.resolve(bytes), splits, predicate, how)
  } finally {
    await bytes.close()
  }
}

/** The rows of a part, counted over the file. */
function placeOf(split: SourceSplit): readonly [number, number] {
  const { firstRow, part, rows } = split.detail as GroupDetail
  return [firstRow + (part?.from ?? 0), firstRow + (part?.to ?? rows)]
}

test(
  'parts have the rows for which a predicate holds, and are read as they are in the row group',
  async () => {
    const seen = { cases: 0, parts: 0, left: 0, rows: 0 }
    await fc.assert(
      fc.asyncProperty(drawn, async (one) => {
        writeFileSync(path, written(one.table, one.runs, one.writing))
        const { rows, asked } = await askedOf(one)
        const source = await openParquet([path], { int64: 'bigint' })
        const whole = await columnsOf(source)
        const all = asked.map(({ predicate }) => predicate)
        for (const [i, predicate] of [...all, all.flat()].entries()) {
          if (predicate.length === 0) continue
          const keeps = (row: Row): boolean => (i < asked.length ? [asked[i]] : asked).every((own) => own?.keeps(row))
          const parts = await partsOf(source.splits, predicate, one.sizes)
          const splits = source.splits.flatMap((split) => parts.get(split) ?? [split])
          const places = splits.map(placeOf)
          seen.cases++
          seen.parts += splits.filter(({ partOf }) => partOf !== undefined).length
          seen.left += places.reduce((sum, [from, to]) => sum + to - from, 0)
          seen.rows += rows.length
          for (const [row, values] of rows.entries())
            if (keeps(values)) expect(places.some(([from, to]) => row >= from && row < to)).toBe(true)
          for (const own of parts.values()) expect(own.length).toBeLessThanOrEqual(one.sizes.most)
          const read = await columnsOf({ ...source, splits })
          expect(read).toStrictEqual(whole.map((column) => places.flatMap(([from, to]) => column.slice(from, to))))
        }
      }),
      LAW,
    )
    console.log(`page indexes: ${JSON.stringify(seen)}`)
    if (LAW.numRuns >= 500) {
      expect(seen.parts).toBeGreaterThan(seen.cases / 4)
      expect(seen.left).toBeLessThan(seen.rows * 0.8)
    }
  },
  LIMIT_MS,
)

test(
  'a page index that is damaged where it says where pages lie changes no row that is read, and fails nothing',
  async () => {
    await fc.assert(
      fc.asyncProperty(drawn, fc.nat(), fc.integer({ min: 1, max: 255 }), async (one, at, flip) => {
        const bytes = written(one.table, one.runs, one.writing)
        writeFileSync(path, bytes)
        const sound = await openParquet([path], { int64: 'bigint' })
        const whole = await columnsOf(sound)
        const places = sound.splits.flatMap(({ filters }) => [...(filters?.values() ?? [])] as ColumnFilters[])
        const indexes = places.flatMap(({ index }) => index?.pagesAt ?? [])
        const damaged = indexes[at % Math.max(1, indexes.length)]
        if (damaged === undefined) return
        const place = damaged.start + (at % (damaged.end - damaged.start))
        bytes[place] = (bytes[place] as number) ^ flip
        writeFileSync(path, bytes)
        const source = await openParquet([path], { int64: 'bigint' })
        const splits = source.splits.map((split): SourceSplit => {
          const detail = split.detail as GroupDetail
          const from = at % detail.rows
          const part = { from, to: Math.min(detail.rows, from + 1 + (flip % 30)) }
          return { ...split, rows: part.to - from, detail: { ...detail, part } }
        })
        const read = await columnsOf({ ...source, splits })
        expect(read).toStrictEqual(whole.map((column) => splits.map(placeOf).flatMap(([from, to]) => column.slice(from, to))))
      }),
      LAW,
    )
  },
  LIMIT_MS,
)

test(
  'bounds of pages that are damaged fail nothing',
  async () => {
    await fc.assert(
      fc.asyncProperty(drawn, fc.nat(), fc.integer({ min: 1, max: 255 }), async (one, at, flip) => {
        const bytes = written(one.table, one.runs, one.writing)
        writeFileSync(path, bytes)
        const { asked } = await askedOf(one)
        const sound = await openParquet([path], { int64: 'bigint' })
        const places = sound.splits.flatMap(({ filters }) => [...(filters?.values() ?? [])] as ColumnFilters[])
        const indexes = places.flatMap(({ index }) => index?.boundsAt ?? [])
        const damaged = indexes[at % Math.max(1, indexes.length)]
        if (damaged === undefined) return
        const place = damaged.start + (at % (damaged.end - damaged.start))
        bytes[place] = (bytes[place] as number) ^ flip
        writeFileSync(path, bytes)
        const { splits } = await openParquet([path], { int64: 'bigint' })
        for (const { predicate } of asked) {
          for (const [split, own] of await partsOf(splits, predicate, one.sizes)) {
            const { rows } = split.detail as GroupDetail
            expect(own.every(({ detail }) => inside((detail as GroupDetail).part, rows))).toBe(true)
          }
        }
      }),
      { ...LAW, numRuns: Math.ceil(LAW.numRuns / 2) },
    )
  },
  LIMIT_MS,
)

function inside(part: GroupDetail['part'], rows: number): boolean {
  return part !== undefined && part.from >= 0 && part.from < part.to && part.to <= rows
}

const ranges = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })), { maxLength: 9 }).map((gaps) => {
  let at = -1
  return gaps.map(([gap, rows]): RowRange => ({ from: (at += gap), to: (at += rows) }))
})
const rowsOf = (some: readonly RowRange[]): Set<number> =>
  new Set(some.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i)))

test('ranges that are in both lists, and few ranges with all rows', () => {
  fc.assert(
    fc.property(ranges, ranges, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 12 }), (some, others, most, close) => {
      const [a, b] = [rowsOf(some), rowsOf(others)]
      expect(rowsOf(inBoth(some, others))).toEqual(new Set([...a].filter((row) => b.has(row))))
      const few = fewRanges(some, { close, most })
      const rows = rowsOf(few)
      expect([...a].every((row) => rows.has(row))).toBe(true)
      expect(few.length).toBeLessThanOrEqual(most)
      const gaps = few.slice(1).map(({ from }, i) => from - (few[i] as RowRange).to)
      expect(gaps.every((gap) => gap >= close)).toBe(true)
      const wide = some.slice(1).map(({ from }, i) => from - (some[i] as RowRange).to)
      const kept = wide
        .filter((gap) => gap >= close)
        .sort((x, y) => y - x)
        .slice(0, most - 1)
      expect(rows.size).toBe((some.at(-1)?.to ?? 0) - (some[0]?.from ?? 0) - kept.reduce((sum, gap) => sum + gap, 0))
    }),
    LAW,
  )
})

test('a chain over a file with an index reads few of its bytes, and has the rows of a table in memory', async () => {
  const count = 60_000
  const day = (i: number): Date => new Date(Date.UTC(2024, 0, 1 + Math.floor(i / 100)))
  const rows = Array.from({ length: count }, (_, i) => ({ id: i, day: day(i), amount: Math.sin(i) * 100, note: `note ${i}`, kind: i % 7 }))
  const table = await session.fromRows(rows).toArrow()
  const properties = new WriterPropertiesBuilder()
    .setDictionaryEnabled(false)
    .setColumnDictionaryEnabled('kind', true)
    .setWriteBatchSize(1000)
    .setDataPageSizeLimit(8000)
    .build()
  writeFileSync(path, writeForeign(ForeignTable.fromIPCStream(tableToIPC(table, 'stream')), properties))
  const read = await session.readParquet<(typeof rows)[number]>(path)
  const [from, to] = [day(31_000), day(34_000)]
  const few = read.filter((r) => r.day >= from && r.day < to)
  const wanted = rows.filter((r) => r.day >= from && r.day < to)
  expect(await few.collect()).toEqual(wanted)
  expect(await few.map((r) => r.amount).sum()).toBe(
    await session
      .fromRows(wanted)
      .map((r) => r.amount)
      .sum(),
  )
  expect(await few.explain({ analyze: true })).toContain('1 of 1 row groups (pages with 3,000 of 60,000 rows)')

  const source = await openParquet([path])
  const predicate: ColumnPredicate = [
    { column: 'id', operator: '>=', value: 31_000 },
    { column: 'id', operator: '<', value: 34_000 },
  ]
  const numbered = source.splits.map((split) => ({ ...split, rowNumbers: { column: 'row', from: 7 } }))
  const [part, another] = await ruleOutInParquet(source, numbered, predicate)
  expect([part?.rows, part?.rowNumbers, another]).toEqual([3000, { column: 'row', from: 31_007 }, undefined])
  const [split] = await ruleOutInParquet(source, source.splits, predicate)
  let bytesRead = 0
  const files: OpenFiles = {
    opened: async (_, make) => {
      const opened = await make()
      const { lent } = opened as unknown as { readonly lent: ByteSource } // as `openBytes` makes it
      const read = (start: number, end: number, into?: Uint8Array) => {
        bytesRead += end - start
        return lent.read(start, end, into)
      }
      return { ...opened, lent: { ...lent, read } }
    },
  }
  const [batch] = await readSplit(source, split as SourceSplit, ['id', 'day', 'amount', 'note', 'kind'], predicate, { files })
  expect(batch?.length).toBe(3000)
  expect(bytesRead).toBeLessThan(readFileSync(path).length / 8)
})
