/** Small random tables of every column type, and equality bit for bit, for the laws of sources and sinks. */
import fc from 'fast-check'
import type { Batch, Column } from '../src/core/column.ts'
import { isValid } from '../src/core/column.ts'
import { columnFromValues } from '../src/core/columnBuilder.ts'
import type { ArraySource } from '../src/core/ports.ts'
import { type ColumnType, type Field, fieldsOf } from '../src/core/schema.ts'
import { readSplit } from '../src/io/readSplit.ts'

export interface SmallTable {
  readonly fields: readonly Field[]
  readonly rows: number
  readonly columns: readonly Column[]
}

const UNITS = ['s', 'ms', 'us', 'ns'] as const
const LEAVES: readonly ColumnType[] = [
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

/** What is stored for a value of a type: bigints for timestamps, day numbers for dates. */
function stored(type: ColumnType): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'f64':
      return fc.oneof(fc.constantFrom(...NUMBERS), fc.double())
    case 'f32':
      return fc.oneof(fc.constantFrom(...NUMBERS.map(Math.fround)), fc.float())
    case 'i64':
      return bigint(...I64)
    case 'u64':
      return bigint(0n, 2n ** 64n - 1n)
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
export async function columnsOf(source: ArraySource): Promise<unknown[][]> {
  const fields = fieldsOf(source.element)
  const values: unknown[][] = fields.map(() => [])
  for (const split of source.splits) {
    for (const batch of await readSplit(
      source,
      split,
      fields.map((field) => field.name),
    )) {
      batch.columns.forEach((column, i) => {
        for (let row = 0; row < column.length; row++) values[i]?.push(plainOf(column, row))
      })
    }
  }
  return values
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
