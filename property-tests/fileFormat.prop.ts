/**
 * A format that a program brings along: tables of it give what the same rows give in memory, however the files are cut, whatever
 * the format says of its pieces, and whichever of the three ways it hands over rows; a piece that its statistics rule out is not read.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Bool,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { count, type DistArray, type FileFormat, type FilePiece, max, Session, sum } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('fileFormat.prop.ts')
const LIMIT_MS = 300_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-format-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly n: number | null
  readonly i: number | null
  readonly big: bigint | null
  readonly s: string | null
  readonly b: boolean | null
  readonly at: Date | null
}
const TYPES = { n: 'f64', i: 'i32', big: 'i64', s: 'utf8', b: 'bool', at: 'timestamp' } as const
const ARROW = {
  n: new Float64(),
  i: new Int32(),
  big: new Int64(),
  s: new Utf8(),
  b: new Bool(),
  at: new TimestampMillisecond(),
} as const
const NAMES = Object.keys(TYPES) as (keyof Row)[]

const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 6 })
const ROW: fc.Arbitrary<Row> = fc.record({
  n: orNull(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double())),
  i: orNull(fc.integer({ min: -9, max: 9 })),
  big: orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  s: orNull(fc.constantFrom('', 'a', 'b', 'ü', '\u{1f600}')),
  b: orNull(fc.boolean()),
  at: orNull(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })),
})
const SHAPE = fc.record({
  /** Rows of each piece of each file. */
  files: fc.array(fc.array(fc.array(ROW, { maxLength: 6 }), { maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  gives: fc.constantFrom('rows', 'columns', 'arrow'),
  counted: fc.boolean(),
  bounded: fc.constantFrom(true, true, true, false),
  schema: fc.boolean(),
})

interface Piece extends FilePiece {
  readonly from: number
  readonly to: number
}

/** Reads of pieces, and the columns that were asked for. */
interface Seen {
  readonly pieces: Piece[]
  readonly columns: Set<string>
}

/** A file of the test's: the rows as JSON, of a width each, so that pieces are ranges of bytes. */
const WIDTH = 256
function textOf(row: Row): string {
  const values = [
    row.n === null ? null : Object.is(row.n, -0) ? '-0' : String(row.n),
    row.i,
    row.big?.toString() ?? null,
    row.s,
    row.b,
    row.at?.getTime() ?? null,
  ]
  const text = JSON.stringify(values)
  return text + ' '.repeat(WIDTH - Buffer.byteLength(text))
}

function rowOf(text: string): Row {
  const [n, i, big, s, b, at] = JSON.parse(text)
  return { n: n === null ? null : Number(n), i, big: big === null ? null : BigInt(big), s, b, at: at === null ? null : new Date(at) }
}

function boundsOf(rows: readonly Row[]): NonNullable<FilePiece['statistics']> {
  const numbers = rows.flatMap(({ i }) => i ?? [])
  const texts = rows.flatMap(({ s }) => s ?? []).sort()
  const times = rows.flatMap(({ at }) => at?.getTime() ?? [])
  return {
    ...(numbers.length > 0 && { i: { min: Math.min(...numbers), max: Math.max(...numbers) } }),
    ...(texts.length > 0 && { s: { min: texts[0] as string, max: texts.at(-1) as string } }),
    ...(times.length > 0 && { at: { min: Math.min(...times), max: Math.max(...times) } }),
  }
}

function formatOf(shape: typeof SHAPE extends fc.Arbitrary<infer S> ? S : never, paths: readonly string[], seen: Seen): FileFormat<Piece> {
  return {
    name: 'rows of one width',
    open({ path }) {
      let from = 0
      const pieces = (shape.files[paths.indexOf(path)] ?? []).map((rows): Piece => {
        const piece = { from, to: (from += rows.length * WIDTH) }
        return { ...piece, ...(shape.counted && { rows: rows.length }), ...(shape.bounded && { statistics: boundsOf(rows) }) }
      })
      return { columns: shape.schema ? new Schema(NAMES.map((name) => new Field(name, ARROW[name], true))) : TYPES, pieces }
    },
    async read(file, piece, columns) {
      seen.pieces.push(piece)
      for (const name of columns) seen.columns.add(name)
      const text = Buffer.from(await file.bytes(piece.from, piece.to)).toString()
      const rows: Row[] = []
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; at += WIDTH) rows.push(rowOf(bytes.toString('utf8', at, at + WIDTH)))
      if (shape.gives === 'rows') return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)))
      const valuesOf = (name: keyof Row) => rows.map((row) => row[name])
      if (shape.gives === 'columns') return Object.fromEntries(NAMES.map((name) => [name, valuesOf(name)]))
      const vectors = NAMES.map((name) => vectorFromArray(valuesOf(name) as never[], ARROW[name]))
      const children = vectors.map((vector) => vector.data[0] ?? vector.concat().data[0])
      const schema = new Schema(NAMES.map((name) => new Field(name, ARROW[name], true)))
      const data = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children: children as never })
      return new RecordBatch(schema, data as never)
    },
  }
}

/** What a program may ask: of the table, and of plain rows. */
const QUESTIONS: Readonly<Record<string, readonly [(table: DistArray<Row>) => Promise<unknown>, (rows: readonly Row[]) => unknown]>> = {
  all: [(table) => table.collect(), (rows) => rows],
  number: [(table) => table.count(), (rows) => rows.length],
  first: [(table) => table.take(2), (rows) => rows.slice(0, 2)],
  some: [
    (table) =>
      table
        .filter((r) => r.i !== null && r.i > 3)
        .map((r) => ({ n: r.n, big: r.big }))
        .collect(),
    (rows) => rows.filter((r) => r.i !== null && r.i > 3).map((r) => ({ n: r.n, big: r.big })),
  ],
  text: [
    (table) =>
      table
        .filter((r) => r.s === 'a')
        .map((r) => r.at)
        .collect(),
    (rows) => rows.filter((r) => r.s === 'a').map((r) => r.at),
  ],
  later: [
    (table) =>
      table
        .filter((r) => r.at !== null && r.at.getTime() >= 2e12)
        .map((r) => r.b)
        .collect(),
    (rows) => rows.filter((r) => r.at !== null && r.at.getTime() >= 2e12).map((r) => r.b),
  ],
  groups: [
    (table) =>
      table
        .groupBy((r) => r.s)
        .agg({ n: count(), i: sum((r) => r.i), big: max((r) => r.big) })
        .sortBy((r) => String(r.key))
        .collect(),
    (rows) =>
      [...new Set(rows.map((r) => r.s))]
        .map((key) => {
          const all = rows.filter((r) => r.s === key)
          const bigs = all.flatMap(({ big }) => big ?? [])
          const big = bigs.length === 0 ? null : bigs.reduce((a, b) => (a > b ? a : b))
          return { key, n: all.length, i: all.reduce((total, { i }) => total + (i ?? 0), 0), big }
        })
        .sort((a, b) => (String(a.key) < String(b.key) ? -1 : 1)),
  ],
}

test(
  'tables of a format give what their rows give in memory, and read no more than they must',
  async () => {
    const tally = { cases: 0, skipped: 0 }
    await fc.assert(
      fc.asyncProperty(SHAPE, fc.constantFrom(...Object.keys(QUESTIONS), 'some', 'some', 'some'), async (shape, question) => {
        const paths = shape.files.map((pieces, i) => {
          const path = join(folder, `part-${i}.rows`)
          writeFileSync(path, pieces.flat().map(textOf).join(''))
          return path
        })
        const seen: Seen = { pieces: [], columns: new Set() }
        const table = await session.readFiles<Row, Piece>(paths, formatOf(shape, paths, seen))
        const rows = shape.files.flat(2)
        const [ours, theirs] = QUESTIONS[question] as (typeof QUESTIONS)[string]
        expect(await ours(table)).toEqual(theirs(rows))
        tally.cases++
        if (shape.counted && question === 'number') expect(seen.pieces).toEqual([])
        if (question === 'some') expect([...seen.columns].filter((name) => !['i', 'n', 'big'].includes(name))).toEqual([])
        if (shape.bounded && question === 'some') {
          const largest = (piece: Piece) => Number(piece.statistics?.i?.max ?? Number.POSITIVE_INFINITY) // what is not known is read
          expect(seen.pieces.filter((piece) => largest(piece) <= 3)).toEqual([])
          tally.skipped += shape.files.flat().length > seen.pieces.length ? 1 : 0
        }
      }),
      RUN,
    )
    console.log(`formats: ${JSON.stringify(tally)}`)
    expect(tally.skipped).toBeGreaterThan(0)
  },
  LIMIT_MS,
)
