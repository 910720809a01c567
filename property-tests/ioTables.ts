/** Small random tables of every column type, and equality bit for bit, for the laws of sources and sinks. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Batch, Column } from '../src/core/data/column.ts'
import { isValid } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { DecimalForm } from '../src/core/data/decimals.ts'
import { type ColumnType, type Field, fieldsOf } from '../src/core/data/schema.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { readSplit } from '../src/io/readSplit.ts'

export interface SmallTable {
  readonly fields: readonly Field[]
  readonly rows: number
  readonly columns: readonly Column[]
}

const UNITS = ['s', 'ms', 'us', 'ns'] as const
/** Of all widths that files have for them. */
export const DECIMALS: readonly ColumnType[] = (
  [
    [1, 0],
    [9, 2],
    [15, 4],
    [18, 18],
    [18, 0],
    [25, 9],
    [38, 20],
    [38, 38],
  ] as const
).map(([precision, scale]) => ({ kind: 'f64', decimal: { precision, scale } }))
const LEAVES: readonly ColumnType[] = [
  { kind: 'f64', integers: 'i64' },
  { kind: 'f64', integers: 'u64' },
  ...DECIMALS,
  ...(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'utf8', 'binary', 'date', 'null'] as const).map(
    (kind) => ({ kind }),
  ),
  ...UNITS.flatMap((unit): ColumnType[] => [
    { kind: 'timestamp', unit },
    { kind: 'timestamp', unit, timezone: 'Europe/Berlin' },
    { kind: 'time', unit },
  ]),
]

/** Any type that files hold, up to three deep. */
export const anyType: fc.Arbitrary<ColumnType> = fc.letrec<{ type: ColumnType }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    { arbitrary: fc.constantFrom(...LEAVES), weight: 6 },
    { arbitrary: tie('type').map((item): ColumnType => ({ kind: 'list', item })), weight: 1 },
    {
      arbitrary: fc
        .array(tie('type'), { minLength: 1, maxLength: 3 })
        .map((types): ColumnType => ({ kind: 'struct', fields: types.map((type, i) => ({ name: `f${i}`, type, nullable: true })) })),
      weight: 1,
    },
  ),
})).type

const NUMBERS = [Number.NaN, -0, 0, Infinity, -Infinity, 5e-324, Number.MAX_VALUE, 0.1, -1]
const integer = (min: number, max: number) => fc.oneof(fc.constantFrom(min, max, 0), fc.integer({ min, max }))
const bigint = (min: bigint, max: bigint) => fc.oneof(fc.constantFrom(min, max, 0n), fc.bigInt({ min, max }))
const I64 = [-(2n ** 63n), 2n ** 63n - 1n] as const
/** About where numbers stop being exact. */
const EDGES = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 54n] as const
const wholes = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.bigInt({ min: 0n, max: 2n ** 53n }),
  fc.constantFrom(0n, 1n, 2n ** 32n - 1n, 2n ** 32n),
)

/** Of 15 digits at most, with zeros behind them that the form has room for. */
function decimals({ precision, scale }: DecimalForm): fc.Arbitrary<number> {
  const digits = Math.min(precision, 15)
  return fc
    .tuple(bigint(1n - 10n ** BigInt(digits), 10n ** BigInt(digits) - 1n), fc.nat({ max: precision - digits }), fc.nat({ max: digits - 1 }))
    .map(([unscaled, zeros, fewer]) => Number(`${unscaled / 10n ** BigInt(fewer)}e${zeros - scale}`) + 0)
}

/** What is stored for a value of a type: bigints for timestamps, day numbers for dates. */
function stored(type: ColumnType): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'f64':
      if (type.integers !== undefined)
        return wholes.map((value) => {
          const whole = Number(value < 2n ** 53n ? value : 2n ** 53n)
          return type.integers === 'i64' && value % 3n === 1n ? -whole : whole
        })
      if (type.decimal !== undefined) return decimals(type.decimal)
      return fc.oneof(fc.constantFrom(...NUMBERS), fc.double())
    case 'f32':
      return fc.oneof(fc.constantFrom(...NUMBERS.map(Math.fround)), fc.float())
    case 'i64':
      return fc.oneof(
        wholes,
        wholes.map((value) => -value),
        bigint(...I64),
      )
    case 'u64':
      return fc.oneof(wholes, bigint(0n, 2n ** 64n - 1n))
    case 'timestamp':
      return type.unit === 's' ? bigint(-(2n ** 63n) / 1000n, (2n ** 63n - 1n) / 1000n) : bigint(...I64)
    case 'time':
      return bigint(0n, { s: 86_399n, ms: 86_399_999n, us: 86_399_999_999n, ns: 86_399_999_999_999n }[type.unit])
    case 'i32':
      return integer(-(2 ** 31), 2 ** 31 - 1)
    case 'date':
      return integer(-(2 ** 31), 2 ** 31 - 1)
    case 'u32':
      return integer(0, 2 ** 32 - 1)
    case 'i16':
      return integer(-(2 ** 15), 2 ** 15 - 1)
    case 'u16':
      return integer(0, 2 ** 16 - 1)
    case 'i8':
      return integer(-128, 127)
    case 'u8':
      return integer(0, 255)
    case 'bool':
      return fc.boolean()
    case 'utf8':
      return fc.oneof(
        fc.constantFrom('', '"', 'a,b', 'zwei\nZeilen', '\r\n', ' x ', 'é', '😀', '\uE000', '\u0000', 'NULL', '007'),
        fc.string({ unit: 'grapheme', maxLength: 6 }),
      )
    case 'binary':
      return fc.uint8Array({ maxLength: 6 })
    case 'list':
      return fc.array(nullable(type.item), { maxLength: 3 })
    case 'struct':
      return fc.record(Object.fromEntries(type.fields.map((field) => [field.name, nullable(field.type)])))
    case 'null':
    case 'object':
    case 'unknown':
      return fc.constant(null)
  }
}

function nullable(type: ColumnType): fc.Arbitrary<unknown> {
  return fc.option(stored(type), { freq: 4, nil: null })
}

/** Stored forms that `columnFromValues` takes: timestamps and dates go in as what they are stored as. */
function carrier(type: ColumnType): ColumnType {
  if (type.kind === 'timestamp') return { kind: 'i64' }
  if (type.kind === 'date') return { kind: 'i32' }
  if (type.kind === 'list') return { kind: 'list', item: carrier(type.item) }
  if (type.kind === 'struct') return { kind: 'struct', fields: type.fields.map((field) => ({ ...field, type: carrier(field.type) })) }
  return type
}

function retyped(column: Column, type: ColumnType): Column {
  if (type.kind === 'list') return { ...column, type, children: (column.children ?? []).map((child) => retyped(child, type.item)) }
  if (type.kind === 'struct')
    return { ...column, type, children: (column.children ?? []).map((child, i) => retyped(child, type.fields[i]?.type ?? child.type)) }
  return { ...column, type }
}

export function tableOf(type: fc.Arbitrary<ColumnType> = anyType): fc.Arbitrary<SmallTable> {
  return fc
    .record({
      types: fc.array(fc.record({ type, required: fc.boolean() }), { minLength: 1, maxLength: 4 }),
      rows: fc.integer({ min: 0, max: 9 }),
    })
    .chain(({ types, rows }) =>
      fc
        .tuple(
          ...types.map(({ type: of, required }) => {
            const never = required && of.kind !== 'null'
            return fc
              .array(never ? stored(of) : nullable(of), { minLength: rows, maxLength: rows })
              .map((values) => ({ of, never, values }))
          }),
        )
        .map(
          (columns): SmallTable => ({
            fields: columns.map(({ of, never }, i) => ({ name: NAMES[i] ?? `c${i}`, type: of, nullable: !never })),
            rows,
            columns: columns.map(({ of, values }) => retyped(columnFromValues(values, carrier(of)), of)),
          }),
        ),
    )
}

const NAMES = ['a', 'Größe (m)', 'x.y', '"q"']

export function batchOf({ fields, rows, columns }: SmallTable): Batch {
  return { element: { kind: 'row', fields }, length: rows, columns }
}

/** All rows of a source as plain stored values, column by column. */
export async function columnsOf(
  source: ArraySource,
  names: readonly string[] = fieldsOf(source.element).map((field) => field.name),
): Promise<unknown[][]> {
  const values: unknown[][] = names.map(() => [])
  for (const split of source.splits) {
    for (const batch of await readSplit(source, split, names)) {
      batch.columns.forEach((column, i) => {
        for (let row = 0; row < column.length; row++) values[i]?.push(plainOf(column, row))
      })
    }
  }
  return values
}

/**
 * Reading 64-bit integers as numbers gives what reading them as bigints gives, converted; of a column that has one beyond
 * ±2^53, the error that names the first, and of the other columns their values. The types say what they were.
 */
export async function expectNumbers(open: (options: { readonly int64?: 'bigint' }) => Promise<ArraySource>): Promise<void> {
  const bigints = await open({ int64: 'bigint' })
  for (const field of fieldsOf(bigints.element)) {
    const wanted: unknown[] = []
    let wide: string | undefined
    for (const split of bigints.splits) {
      const rows = (await columnsOf({ ...bigints, splits: [split] }, [field.name]))[0] ?? []
      wide ??= firstWide(rows, field, wanted.length)
      wanted.push(...rows)
    }
    const reading = open({}).then((numbers) => {
      expect(fieldsOf(numbers.element)).toContainEqual({ ...field, type: asRead(field.type) })
      return columnsOf(numbers, [field.name])
    })
    if (wide === undefined) expect((await reading)[0]).toStrictEqual(wanted.map((value) => asNumber(value, field.type)))
    else await expect(reading).rejects.toThrow(wide)
  }
}

function asRead(type: ColumnType): ColumnType {
  if (type.kind === 'i64' || type.kind === 'u64') return { kind: 'f64', integers: type.kind }
  if (type.kind === 'list') return { kind: 'list', item: asRead(type.item) }
  if (type.kind === 'struct') return { kind: 'struct', fields: type.fields.map((field) => ({ ...field, type: asRead(field.type) })) }
  return type
}

function asNumber(value: unknown, type: ColumnType): unknown {
  if (value === null) return null
  if (type.kind === 'i64' || type.kind === 'u64') return Number(value)
  if (type.kind === 'list') return (value as unknown[]).map((item) => asNumber(item, type.item))
  if (type.kind !== 'struct') return value
  return Object.fromEntries(type.fields.map(({ name, type: of }) => [name, asNumber((value as Record<string, unknown>)[name], of)]))
}

/** What is said of the first integer beyond ±2^53 among values of a column, part after part of what is nested. */
function firstWide(values: readonly unknown[], { name, type }: Field, firstRow: number): string | undefined {
  const found: { readonly path: string; readonly row: number; readonly integer: bigint }[] = []
  const visit = (value: unknown, at: ColumnType, path: string, row: number): void => {
    if (at.kind === 'i64' || at.kind === 'u64') {
      const integer = value as bigint | null
      if (integer !== null && (integer > 2n ** 53n || integer < -(2n ** 53n))) found.push({ path, row, integer })
    } else if (at.kind === 'list') {
      for (const item of (value as unknown[] | null) ?? []) visit(item, at.item, `${path}[]`, row)
    } else if (at.kind === 'struct') {
      for (const field of at.fields)
        visit((value as Record<string, unknown> | null)?.[field.name] ?? null, field.type, `${path}.${field.name}`, row)
    }
  }
  for (const [i, value] of values.entries()) visit(value, type, name, firstRow + i)
  const order = leafPaths(type, name)
  const [first] = found.sort((a, b) => order.indexOf(a.path) - order.indexOf(b.path) || a.row - b.row)
  return first && `column "${first.path}": the integer ${first.integer} at row ${first.row} is beyond`
}

function leafPaths(type: ColumnType, path: string): readonly string[] {
  if (type.kind === 'list') return leafPaths(type.item, `${path}[]`)
  if (type.kind === 'struct') return type.fields.flatMap((field) => leafPaths(field.type, `${path}.${field.name}`))
  return [path]
}

/** A stored value as plain data; floats keep -0 and NaN under `toStrictEqual`. */
export function plainOf(column: Column, row: number): unknown {
  const { type } = column
  if (type.kind === 'null' || !isValid(column, row)) return null
  const from = column.offsets?.[row] ?? 0
  const to = column.offsets?.[row + 1] ?? 0
  if (type.kind === 'list') return Array.from({ length: to - from }, (_, i) => plainOf(column.children?.[0] as Column, from + i))
  if (type.kind === 'struct')
    return Object.fromEntries(type.fields.map((field, i) => [field.name, plainOf(column.children?.[i] as Column, row)]))
  if (type.kind === 'utf8' || type.kind === 'binary') {
    const bytes = Buffer.from((column.values as Uint8Array).subarray(from, to))
    return type.kind === 'utf8' ? bytes.toString() : `hex ${bytes.toString('hex')}`
  }
  return column.values?.[row]
}
