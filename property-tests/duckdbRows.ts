/** Tables of random rows, here and in DuckDB, and what both make of them side by side. */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  TimestampMillisecond,
  Uint32,
  Utf8,
} from 'apache-arrow'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { DistArray, Session } from '../src/index.ts'

/** A row of the tables: `id` is its place, `o` an order with ties. */
export interface Row {
  readonly id: number
  readonly k: string | null
  readonly g: number | null
  readonly o: number | null
  readonly ts: Date | null
  readonly v: number | null
  readonly n: bigint | null
  readonly s: string | null
}

export const orNull = <V>(value: fc.Arbitrary<V>): fc.Arbitrary<V | null> => fc.oneof({ weight: 6, arbitrary: value }, fc.constant(null))
export const eighth: fc.Arbitrary<number> = fc.integer({ min: -40, max: 40 }).map((n) => n / 8)
const row: fc.Arbitrary<Omit<Row, 'id'>> = fc.record({
  k: orNull(fc.constantFrom('a', 'b', 'ä', '')),
  g: orNull(fc.integer({ min: 0, max: 3 })),
  o: orNull(fc.oneof(fc.integer({ min: -5, max: 5 }), eighth)),
  ts: orNull(fc.integer({ min: -4, max: 4 }).map((hours) => new Date(hours * 3_600_000))),
  v: orNull(fc.oneof({ weight: 5, arbitrary: eighth }, fc.constantFrom(NaN, Infinity, 0))),
  n: orNull(fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n })),
  s: orNull(fc.constantFrom('x', 'y', 'zz', '𐀀', 'é')),
})
export const rowsFrom = (minLength: number): fc.Arbitrary<readonly Row[]> =>
  fc.array(row, { minLength, maxLength: 30, size: 'max' }).map((all) => all.map((one, i) => ({ id: i, ...one })))
export const rows: fc.Arbitrary<readonly Row[]> = rowsFrom(1)
export const rowsOrNone: fc.Arbitrary<readonly Row[]> = fc.oneof(
  { weight: 20, arbitrary: rows },
  { weight: 1, arbitrary: fc.constant<readonly Row[]>([]) },
)

export const TYPES: { readonly [Column in keyof Row]: string } = {
  ...{ id: 'INTEGER', k: 'VARCHAR', g: 'INTEGER', o: 'DOUBLE', ts: 'TIMESTAMP', v: 'DOUBLE', n: 'BIGINT', s: 'VARCHAR' },
}

export function tableOf(session: Session, given: readonly Row[]): DistArray<Row> {
  const column = <C extends keyof Row>(name: C): Row[C][] => given.map((one) => one[name])
  const columns = {
    ...{ id: Int32Array.from(column('id')), k: column('k'), g: column('g'), o: column('o'), ts: column('ts') },
    ...{ v: column('v'), n: column('n'), s: column('s') },
  }
  return session.fromColumns(columns) as unknown as DistArray<Row> // of columns in another order
}

export async function inDuckdb(duckdb: DuckDBConnection, name: string, given: readonly Row[]): Promise<void> {
  const names = Object.keys(TYPES) as (keyof Row)[]
  const literal = (value: Row[keyof Row], type: string): string => {
    if (value === null) return `NULL::${type}`
    if (value instanceof Date) return `TIMESTAMP '${value.toISOString().replace('T', ' ').replace('Z', '')}'`
    return `'${String(value)}'::${type}`
  }
  const values = given.map((one) => `(${names.map((column) => literal(one[column], TYPES[column])).join(', ')})`)
  await duckdb.run(`create or replace table ${name}(${names.map((column) => `${column} ${TYPES[column]}`).join(', ')})`)
  if (values.length > 0) await duckdb.run(`insert into ${name} values ${values.join(', ')}`)
}

/** The same rows with columns of the other types, which are made of those that are drawn: dates, booleans, decimals, f32, u32 and lists. */
export interface TypedRow extends Row {
  readonly day: Date | null
  readonly b: boolean | null
  readonly m: number | null
  readonly f: number | null
  readonly u: number | null
  readonly l: readonly number[] | null
}

const MADE: Readonly<Record<Exclude<keyof TypedRow, keyof Row>, string>> = {
  day: "DATE '1970-01-01' + CAST(floor(o) AS INTEGER)",
  ...{ b: 'g > 1', m: 'o::DECIMAL(9, 3)', f: 'v::FLOAT', u: 'g::UINTEGER', l: '[g, id]::DOUBLE[]' },
}

const ARROW: Readonly<Record<keyof TypedRow, DataType>> = {
  ...{ id: new Int32(), k: new Utf8(), g: new Float64(), o: new Float64(), ts: new TimestampMillisecond(), v: new Float64() },
  ...{ n: new Int64(), s: new Utf8(), day: new DateDay(), b: new Bool(), m: new Decimal(3, 9), f: new Float32(), u: new Uint32() },
  l: new List(new Field('item', new Float64(), true)),
}

export function typed(one: Row): TypedRow {
  const { g, o, v, id } = one
  const ofG = g === null ? { b: null, u: null, l: null } : { b: g > 1, u: g, l: [g, id] }
  return { ...one, ...ofG, m: o, f: v, day: o === null ? null : new Date(Math.floor(o) * 86_400_000) }
}

export function typedTableOf(session: Session, given: readonly Row[]): DistArray<TypedRow> {
  return session.fromRows(given.map(typed), {
    schema: new Schema(Object.entries(ARROW).map(([name, type]) => new Field(name, type, true))),
  })
}

export async function typedInDuckdb(duckdb: DuckDBConnection, name: string, given: readonly Row[]): Promise<void> {
  await inDuckdb(duckdb, name, given)
  const made = Object.entries(MADE).map(
    ([column, of]) => `${column === 'l' ? `CASE WHEN g IS NULL THEN NULL ELSE ${of} END` : of} AS ${column}`,
  )
  await duckdb.run(`create or replace table ${name} as select *, ${made.join(', ')} from ${name} order by id`)
}

/** One of these columns, by the number of rows: what is drawn stays what it was. */
export function oneOf<V>(columns: readonly V[], given: readonly Row[]): V {
  return columns[given.length % columns.length] as V
}

/** A value that `===` and a message can compare, whoever computed it. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return JSON.stringify(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}n`
  return Object.is(value, -0) ? 0 : value
}

/** The columns of both, in the order of `names`. `off`: how far numbers may be apart, of themselves or of 1. */
export async function same(
  duckdb: DuckDBConnection,
  ours: DistArray<unknown>,
  sql: string,
  names: readonly string[],
  off = 0,
): Promise<void> {
  const theirs = (await duckdb.runAndReadAll(sql)).getRowsJS()
  const own = (await ours.collect()).map((one) => names.map((name) => plain((one as Readonly<Record<string, unknown>>)[name])))
  const other = theirs.map((one) => one.map(plain))
  const isNear = (a: unknown, b: unknown): boolean =>
    typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= off * Math.max(1, Math.abs(b))
  const near =
    off === 0
      ? own
      : own.map((values, i) => (values as unknown[]).map((value, j) => (isNear(value, other[i]?.[j]) ? other[i]?.[j] : value)))
  expect(near, sql).toEqual(other)
}

/** A moment of a sample as it is meant here: null of too few values, NaN of those that are all the same. */
export function momentIn(call: string, of: string, fewest: number, filter = ''): string {
  const [count, least, most] = [`count(${of})`, `min(${of})`, `max(${of})`].map((one) => `${one} ${filter}`)
  return `case when ${count} < ${fewest} then null when ${least} = ${most} then 'nan'::double else ${call}(${of}) ${filter} end`
}
