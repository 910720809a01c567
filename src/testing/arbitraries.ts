/**
 * fast-check arbitraries over the public surface: schemas, tables and arrays to feed a program with.
 *
 * Each generated value shows its content when a counterexample is printed, and loads itself into any session, so that
 * one value serves runs with one worker and with many.
 */
import { Bool, type DataType, Field, Float64, Int64, Schema, TimestampMillisecond, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import type { DistArray } from '../core/arrays/distArray.ts'
import type { DType } from '../core/data/schema.ts'
import { checkOptions } from '../core/options.ts'
import type { Session } from '../session/session.ts'

/** The kinds of columns that tables are made of. */
export type ColumnKind = 'f64' | 'i64' | 'bool' | 'utf8' | 'timestamp'
export interface ColumnSpec {
  readonly name: string
  readonly kind: ColumnKind
  readonly nullable: boolean
}
export type TableSchema = readonly ColumnSpec[]
export type TableRow = Readonly<Record<string, number | bigint | boolean | string | Date | null>>

export interface GeneratedTable {
  readonly schema: TableSchema
  readonly rows: readonly TableRow[]
  load(session: Session): DistArray<TableRow>
}

/** A dense array of a numeric dtype. */
export interface GeneratedArray {
  readonly shape: readonly number[]
  readonly dtype: DType
  /** The elements in row-major order; for i64 as numbers. */
  readonly values: readonly number[]
  load(session: Session): Promise<DistArray<number, readonly number[]>>
}

const COLUMN_KINDS: readonly ColumnKind[] = ['f64', 'i64', 'bool', 'utf8', 'timestamp']

/** Schemas of one to `maxColumns` (default 4) columns with different names: c0, c1, … */
export function schemas(options: { readonly maxColumns?: number; readonly kinds?: readonly ColumnKind[] } = {}): fc.Arbitrary<TableSchema> {
  checkOptions('schemas()', options, ['maxColumns', 'kinds'])
  const column = fc.record({ kind: fc.constantFrom(...(options.kinds ?? COLUMN_KINDS)), nullable: fc.boolean() })
  return fc
    .array(column, { minLength: 1, maxLength: options.maxColumns ?? 4 })
    .map((columns) => columns.map(({ kind, nullable }, i) => ({ name: `c${i}`, kind, nullable })))
}

/** Tables of a given or any schema, from no rows to `maxRows` (default 40). Values repeat, so that groups and joins meet. */
export function tables(options: { readonly schema?: TableSchema; readonly maxRows?: number } = {}): fc.Arbitrary<GeneratedTable> {
  checkOptions('tables()', options, ['schema', 'maxRows'])
  const schema = options.schema === undefined ? schemas() : fc.constant(options.schema)
  return schema.chain((columns) =>
    fc
      .array(fc.record(Object.fromEntries(columns.map((column) => [column.name, columnValue(column)]))), {
        maxLength: options.maxRows ?? 40,
      })
      .map((rows) => ({
        schema: columns,
        rows,
        load: (session: Session) => session.fromRows<TableRow>(rows, { schema: arrowSchemaOf(columns) }),
      })),
  )
}

/** Dense arrays: up to `maxRank` axes (default 2) of up to `maxExtent` (default 8) keys, of the dtypes asked for (default f64, f32, i32, u8). */
export function arrays(
  options: { readonly maxRank?: number; readonly maxExtent?: number; readonly dtypes?: readonly DType[] } = {},
): fc.Arbitrary<GeneratedArray> {
  checkOptions('arrays()', options, ['maxRank', 'maxExtent', 'dtypes'])
  const { maxRank = 2, maxExtent = 8, dtypes = ['f64', 'f32', 'i32', 'u8'] } = options
  const shape = fc.array(fc.integer({ min: 1, max: maxExtent }), { minLength: 1, maxLength: maxRank })
  return fc.tuple(shape, fc.constantFrom(...dtypes)).chain(([extents, dtype]) => {
    const size = extents.reduce((product, extent) => product * extent, 1)
    return fc.array(numberOf(dtype), { minLength: size, maxLength: size }).map((values) => ({
      shape: extents,
      dtype,
      values,
      load: async (session: Session) => {
        const array = session.zeros(extents, { dtype }) as DistArray<number, readonly number[]>
        await array.assign(
          extents.map(() => null),
          dtype === 'i64' ? BigInt64Array.from(values, BigInt) : values,
        )
        return array
      },
    }))
  })
}

/** The schema as Arrow writes it, for `fromRows(rows, { schema })`. */
export function arrowSchemaOf(columns: TableSchema): Schema {
  return new Schema(columns.map(({ name, kind, nullable }) => new Field(name, arrowTypeOf(kind), nullable)))
}

function arrowTypeOf(kind: ColumnKind): DataType {
  switch (kind) {
    case 'f64':
      return new Float64()
    case 'i64':
      return new Int64()
    case 'bool':
      return new Bool()
    case 'utf8':
      return new Utf8()
    case 'timestamp':
      return new TimestampMillisecond()
  }
}

function columnValue({ kind, nullable }: ColumnSpec): fc.Arbitrary<number | bigint | boolean | string | Date | null> {
  const value = presentValue(kind)
  return nullable ? fc.option(value, { freq: 4 }) : value
}

/** Values of small ranges, so that equal ones are common, and the odd cases of each kind. */
function presentValue(kind: ColumnKind): fc.Arbitrary<number | bigint | boolean | string | Date> {
  switch (kind) {
    case 'f64':
      return fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: -4, max: 4 }) },
        fc.double(),
        fc.constantFrom(-0, Number.NaN, Infinity, -Infinity),
      )
    case 'i64':
      return fc.oneof({ weight: 4, arbitrary: fc.bigInt({ min: -4n, max: 4n }) }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
    case 'bool':
      return fc.boolean()
    case 'utf8':
      return fc.oneof({ weight: 4, arbitrary: fc.constantFrom('', 'a', 'b', 'ab', 'é', '😀') }, fc.string({ unit: 'grapheme' }))
    case 'timestamp':
      return fc.date({ noInvalidDate: true })
  }
}

/** Numbers that an array of the dtype holds exactly. */
function numberOf(dtype: DType): fc.Arbitrary<number> {
  switch (dtype) {
    case 'f64':
      return fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }) }, fc.double())
    case 'f32':
      return fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }) }, fc.float())
    case 'i64':
      return fc.maxSafeInteger()
    case 'i32':
      return fc.integer()
    case 'u32':
      return fc.integer({ min: 0, max: 2 ** 32 - 1 })
    case 'i16':
      return fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 })
    case 'u16':
      return fc.integer({ min: 0, max: 2 ** 16 - 1 })
    case 'i8':
      return fc.integer({ min: -128, max: 127 })
    case 'u8':
      return fc.integer({ min: 0, max: 255 })
    case 'bool':
      return fc.integer({ min: 0, max: 1 })
  }
}
