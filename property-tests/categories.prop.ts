/**
 * Law: texts that a file keeps as numbers of a dictionary's entries, and times of a zone, are texts and times to a program,
 * and what only hands them on writes them as what they were: through any chain, into Parquet as Arrow's writers mark them,
 * and into Arrow files. What they are numbered by comes back, and every text.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Dictionary,
  Int8,
  Int32,
  makeData,
  makeVector,
  Table,
  Timestamp,
  TimeUnit,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { Table as ForeignTable, readSchema, writeParquet as writeForeign } from 'parquet-wasm/node'
import { afterAll, expect, test } from 'vitest'
import { planOf } from '../src/core/arrays/distArray.ts'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { type CategoryIndex, type ColumnType, type ElementType, fieldsOf, typeText } from '../src/core/data/schema.ts'
import { PlanError } from '../src/core/errors.ts'
import { count, type DistArray, Session } from '../src/index.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { ARROW_KEY, arrowValue, declaredTypes } from '../src/io/parquet/ownSchema.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('categories.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-categories-'))
const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly c: string | null
  readonly d: string
  readonly t: Date | null
  readonly n: number
}

const INDICES: readonly CategoryIndex[] = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64']
const text = fc.constantFrom('a', 'b', '', 'é', 'a longer text', '😀')
const row: fc.Arbitrary<Row> = fc.record(
  {
    c: fc.option(text),
    d: text,
    t: fc.option(fc.date({ min: new Date(0), max: new Date('2030-01-01'), noInvalidDate: true })),
    n: fc.integer({ min: 0, max: 4 }),
  },
  { noNullPrototype: true },
)

interface Types {
  readonly c: ColumnType
  readonly d: ColumnType
  readonly t: ColumnType
  readonly n: ColumnType
}
const types: fc.Arbitrary<Types> = fc.record({
  c: fc.constantFrom(...INDICES).map((category): ColumnType => ({ kind: 'utf8', category })),
  d: fc
    .option(fc.constantFrom(...INDICES))
    .map((category): ColumnType => (category === null ? { kind: 'utf8' } : { kind: 'utf8', category })),
  t: fc
    .tuple(fc.constantFrom('ms', 'us'), fc.constantFrom('Europe/Berlin', 'America/New_York', 'UTC', undefined))
    .map(([unit, timezone]): ColumnType => (timezone === undefined ? { kind: 'timestamp', unit } : { kind: 'timestamp', unit, timezone })),
  n: fc.constant<ColumnType>({ kind: 'i32' }),
})

const NAMES = ['c', 'd', 't', 'n'] as const

function batchOf(rows: readonly Row[], of: Types): Batch {
  const element: ElementType = {
    kind: 'row',
    fields: NAMES.map((name) => ({ name, type: of[name], nullable: name === 'c' || name === 't' })),
  }
  return {
    element,
    length: rows.length,
    columns: NAMES.map((name) =>
      columnFromValues(
        rows.map((one) => one[name]),
        of[name],
        name,
      ),
    ),
  }
}

interface Step {
  readonly run: (table: DistArray<Row>) => DistArray<Row>
  /** The same over rows. */
  readonly serial: (rows: readonly Row[]) => readonly Row[]
  /** Columns that are computed by it. */
  readonly computed?: readonly string[]
}

const STEPS: readonly Step[] = [
  { run: (t) => t.filter((r) => r.n > 1), serial: (rows) => rows.filter((r) => r.n > 1) },
  { run: (t) => t.filter((r) => r.c !== 'a'), serial: (rows) => rows.filter((r) => r.c !== 'a') },
  { run: (t) => t.sortBy((r) => r.n), serial: (rows) => [...rows].sort((a, b) => a.n - b.n) },
  { run: (t) => t.select('n', 'c', 't', 'd'), serial: (rows) => rows },
  { run: (t) => t.limit(7), serial: (rows) => rows.slice(0, 7) },
  { run: (t) => t.map((r) => ({ c: r.c, d: r.d, t: r.t, n: r.n })), serial: (rows) => rows },
  {
    run: (t) => t.map((r) => ({ c: r.c, d: `${r.d}!`, t: r.t, n: r.n })),
    serial: (rows) => rows.map((r) => ({ ...r, d: `${r.d}!` })),
    computed: ['d'],
  },
  { run: (t) => t.materialize(), serial: (rows) => rows },
  { run: (t) => t.union(t), serial: (rows) => [...rows, ...rows] },
  {
    run: (t) => t.join(t.filter((r) => r.n > 2).select('n'), 'n', { how: 'semi' }),
    serial: (rows) => rows.filter((r) => r.n > 2),
  },
]

async function written(form: 'parquet' | 'arrow', path: string, batch: Batch): Promise<void> {
  const request = { batches: [batch], element: batch.element, path }
  if (form === 'arrow') await writeArrow(request)
  else await writeParquet({ ...request, options: { rowGroupRows: 5 } })
}

const form = fc.constantFrom<'parquet' | 'arrow'>('parquet', 'arrow')

test('types come back through any chain, and values', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 20 }),
      types,
      fc.array(fc.constantFrom(...STEPS), { maxLength: 4 }),
      form,
      form,
      async (rows, of, steps, from, into) => {
        const [given, out] = [join(folder, 'given'), join(folder, 'out')]
        await written(from, given, batchOf(rows, of))
        let table: DistArray<Row> = from === 'arrow' ? await session.readArrow<Row>(given) : await session.readParquet<Row>(given)
        for (const { run } of steps) table = run(table)
        if (into === 'arrow') await table.writeArrow(out)
        else await table.writeParquet(out)
        const back = into === 'arrow' ? await session.readArrow<Row>(out) : await session.readParquet<Row>(out)
        const computed = new Set(steps.flatMap((step) => step.computed ?? []))
        for (const { name, type } of fieldsOf(planOf(back).element)) {
          const was = of[name as keyof Types]
          expect(typeText(type), name).toBe(computed.has(name) ? 'utf8' : typeText(was))
        }
        const expected = steps.reduce((all: readonly Row[], { serial }) => serial(all), rows)
        expect((await back.collect()).map(({ c, d, t, n }) => ({ c, d, t, n }))).toStrictEqual(expected)
        if (into === 'arrow' && !typeText(of.c).includes('64')) {
          // another reader finds the dictionaries, but for those of 64-bit numbers, which it cannot read
          const seen = tableFromIPC(readFileSync(out))
          expect(seen.getChild('c')?.toArray().length).toBe(expected.length)
          expect([...(seen.getChild('c') ?? [])]).toStrictEqual(expected.map(({ c }) => c))
        }
      },
    ),
    settings,
  )
}, 300_000)

test('keys of groups are what they were; files that number otherwise are read together', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), types, types, form, async (rows, a, b, kind) => {
      const paths = [join(folder, 'one'), join(folder, 'two')] as const
      const same = { ...b, t: a.t }
      await written(kind, paths[0], batchOf(rows, a))
      await written(kind, paths[1], batchOf(rows, same))
      const both = kind === 'arrow' ? await session.readArrow<Row>([...paths]) : await session.readParquet<Row>([...paths])
      const agreed = (name: 'c' | 'd'): string => (typeText(a[name]) === typeText(same[name]) ? typeText(a[name]) : 'utf8')
      expect(fieldsOf(planOf(both).element).map(({ type }) => typeText(type))).toStrictEqual([
        agreed('c'),
        agreed('d'),
        typeText(a.t),
        'i32',
      ])
      const groups = both.groupBy((r) => ({ c: r.c })).agg({ rows: count() })
      const counts = new Map<string | null, number>()
      for (const { c } of [...rows, ...rows]) counts.set(c, (counts.get(c) ?? 0) + 1)
      expect(await groups.collect()).toStrictEqual([...counts].map(([c, n]) => ({ c, rows: n })))
      await groups.writeArrow(join(folder, 'groups'))
      const [key] = fieldsOf(planOf(await session.readArrow(join(folder, 'groups'))).element)
      expect(key && typeText(key.type)).toBe(agreed('c'))
      expect(
        await both
          .sortBy((r) => r.d)
          .map((r) => r.d)
          .collect(),
      ).toStrictEqual([...rows, ...rows].map((r) => r.d).sort(compare))
    }),
    settings,
  )
}, 300_000)

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

test('more texts than there are numbers for is an error that names the cure', async () => {
  const rows = Array.from({ length: 129 }, (_, i): Row => ({ c: `text ${i}`, d: 'x', t: null, n: 0 }))
  const of: Types = { c: { kind: 'utf8', category: 'i8' }, d: { kind: 'utf8' }, t: { kind: 'timestamp', unit: 'ms' }, n: { kind: 'i32' } }
  const path = join(folder, 'many')
  await written('parquet', path, batchOf(rows, of))
  const table = await session.readParquet<Row>(path)
  const out = join(folder, 'many.arrow')
  await expect(table.writeArrow(out)).rejects.toThrow(
    new PlanError(
      `Column "c" has more than 128 different texts, and the categories of its file have numbers for no more. ${out} was not written.\nMake it plain text first, as in withColumns((r) => ({ c: String(r.c) })).`,
    ),
  )
  expect(await table.withColumns((r) => ({ c: String(r.c) })).writeArrow(out)).toMatchObject({ rows: 129 })
})

test('a schema of Arrow in a Parquet file that is none, or lies, is passed over', () => {
  const fields = NAMES.map((name) => ({ name, type: { kind: 'utf8', category: 'i8' } as ColumnType, nullable: true }))
  const element: ElementType = {
    kind: 'row',
    fields: [...fields, { name: 'z', type: { kind: 'timestamp', unit: 'us', timezone: 'Europe/Berlin' }, nullable: true }],
  }
  const value = arrowValue(element)
  expect([...declaredTypes(new Map([[ARROW_KEY, value]]))].map(([name, type]) => `${name} ${typeText(type)}`)).toStrictEqual([
    'c category(i8)',
    'd category(i8)',
    't category(i8)',
    'n category(i8)',
    'z timestamp(us, Europe/Berlin)',
  ])
  const bytes = Buffer.from(value, 'base64')
  const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(damage, fc.nat(bytes.length), fc.boolean(), (places, length, cut) => {
      const other = Buffer.from(bytes)
      for (const [at, byte] of places) other[at] = byte
      const declared = declaredTypes(new Map([[ARROW_KEY, (cut ? other.subarray(0, length) : other).toString('base64')]]))
      for (const type of declared.values())
        expect([
          'utf8',
          'timestamp',
          'f64',
          'f32',
          'i32',
          'bool',
          'binary',
          'null',
          'i64',
          'u64',
          'i8',
          'u8',
          'i16',
          'u16',
          'u32',
          'date',
          'time',
          'list',
          'struct',
        ]).toContain(type.kind)
    }),
    settings,
  )
})

test('files of another writer that say Arrow’s types', async () => {
  const zoned = new Timestamp(TimeUnit.MICROSECOND, 'Europe/Berlin')
  const table = new Table({
    colour: vectorFromArray(['red', null, 'blue', 'red'], new Dictionary(new Utf8(), new Int8())),
    when: makeVector(makeData({ type: zoned, length: 4, data: BigInt64Array.from([0n, 1n, 86_400_000_000n, 5n]) })),
    number: vectorFromArray([1, 2, 3, 4], new Dictionary(new Int32(), new Int8())),
  })
  const path = join(folder, 'foreign.parquet')
  writeFileSync(path, writeForeign(ForeignTable.fromIPCStream(tableToIPC(table, 'stream'))))
  const read = await session.readParquet<{ colour: string | null; when: Date; number: number }>(path)
  const typesOf = (array: DistArray<object>) => fieldsOf(planOf(array).element).map(({ name, type }) => `${name} ${typeText(type)}`)
  const expected = ['colour category(i8)', 'when timestamp(us, Europe/Berlin)', 'number i32']
  expect(typesOf(read)).toStrictEqual(expected)
  expect(
    await read
      .filter((r) => r.colour === 'red')
      .map((r) => r.number)
      .collect(),
  ).toStrictEqual([1, 4])
  await read.filter((r) => r.number > 1).writeParquet(join(folder, 'back.parquet'))
  const back = await session.readParquet<{ colour: string | null }>(join(folder, 'back.parquet'))
  expect(typesOf(back)).toStrictEqual(expected)
  const { schema } = tableFromIPC(readSchema(readFileSync(join(folder, 'back.parquet'))).intoIPCStream())
  expect(schema.fields.map(({ type }) => String(type))).toStrictEqual([
    'Dictionary<Int8, Utf8>',
    'Timestamp<MICROSECOND, Europe/Berlin>',
    'Int32',
  ])
})
