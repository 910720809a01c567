/**
 * Law: columns taken out of the decoder's memory as they lie there have the values that were put in, null where there was
 * none; and what must come by a message does not come so: integers that are no numbers, decimals of too many digits.
 */
import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  Dictionary,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  Table,
  TimestampMicrosecond,
  TimestampSecond,
  tableToIPC,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { Table as ForeignTable, wasmMemory } from 'parquet-wasm/node'
import { expect, test } from 'vitest'
import { isValid } from '../src/core/data/column.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { FIXED_FORMS, isFixedKind } from '../src/core/data/fixedValues.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { numberKernels } from '../src/exec/kernels/tables/numberKernels.ts'
import type { LeafChange } from '../src/io/parquet/annotations.ts'
import type { ColumnDetail } from '../src/io/parquet/describe.ts'
import { nativeColumns } from '../src/io/parquet/nativeColumns.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('nativeColumns.prop.ts')

interface Form {
  readonly arrow: DataType
  readonly type: ColumnType
  readonly value: fc.Arbitrary<unknown>
  readonly change?: LeafChange
  /** Whether the file is not said to hold such. */
  readonly odd?: true
  /** Texts that are places in a dictionary; they come so to whoever asks for dictionaries. */
  readonly coded?: true
  /** What is read of a value; undefined where it must come by a message. */
  readonly read?: (value: never) => unknown
}

const integer = (min: number, max: number) => fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, 0))
const near = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(-(2n ** 53n) + 1n, 2n ** 53n - 1n) },
  { weight: 6, arbitrary: fc.bigInt(-200_000n, 200_000n) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 10n ** 15n, -(10n ** 15n), 10n ** 15n - 1n),
  },
)
const far = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)
const isNumber = (value: bigint) => value < 2n ** 53n && value > -(2n ** 53n)
const decimal = (precision: number, scale: number): Pick<Form, 'type' | 'change' | 'read'> => ({
  type: { kind: 'f64', decimal: { precision, scale } },
  change: { kind: 'decimal', precision, scale },
  read: (value: bigint | number) => (value < 10n ** 15n && value > -(10n ** 15n) ? Number(`${value}e-${scale}`) : undefined),
})
const dated = (value: number) => new Date(value * 86_400_000)

const FORMS: readonly Form[] = [
  { arrow: new Int8(), type: { kind: 'i8' }, value: integer(-128, 127) },
  { arrow: new Uint8(), type: { kind: 'u8' }, value: integer(0, 255) },
  { arrow: new Int16(), type: { kind: 'i16' }, value: integer(-(2 ** 15), 2 ** 15 - 1) },
  { arrow: new Uint16(), type: { kind: 'u16' }, value: integer(0, 2 ** 16 - 1) },
  { arrow: new Int32(), type: { kind: 'i32' }, value: integer(-(2 ** 31), 2 ** 31 - 1) },
  { arrow: new Uint32(), type: { kind: 'u32' }, value: integer(0, 2 ** 32 - 1) },
  { arrow: new Int64(), type: { kind: 'i64' }, value: far },
  { arrow: new Uint64(), type: { kind: 'u64' }, value: fc.bigInt(0n, 2n ** 64n - 1n) },
  { arrow: new Float32(), type: { kind: 'f32' }, value: fc.float() },
  { arrow: new Float64(), type: { kind: 'f64' }, value: fc.double() },
  { arrow: new Bool(), type: { kind: 'bool' }, value: fc.boolean() },
  { arrow: new Utf8(), type: { kind: 'utf8' }, value: fc.string({ unit: 'binary', maxLength: 6 }) },
  {
    arrow: new Utf8(),
    type: { kind: 'utf8', category: 'i8' },
    value: fc.constantFrom('a', 'bb', ''),
    change: { kind: 'type', type: { kind: 'utf8', category: 'i8' } },
  },
  { arrow: new Binary(), type: { kind: 'binary' }, value: fc.uint8Array({ maxLength: 5 }) },
  { arrow: new DateDay(), type: { kind: 'date' }, value: integer(-30_000, 30_000).map(dated) },
  {
    arrow: new TimestampSecond(),
    type: { kind: 'timestamp', unit: 's' },
    value: integer(-(10 ** 9), 10 ** 9).map((s) => new Date(s * 1000)),
  },
  {
    arrow: new TimestampMicrosecond(),
    type: { kind: 'timestamp', unit: 'us' },
    value: integer(-(10 ** 9), 10 ** 9).map((ms) => new Date(ms)),
  },
  {
    arrow: new Int64(),
    type: { kind: 'f64', integers: 'i64' },
    value: near,
    read: (value: bigint) => (isNumber(value) ? Number(value) : undefined),
  },
  {
    arrow: new Uint64(),
    type: { kind: 'f64', integers: 'u64' },
    value: fc.oneof(
      { weight: 12, arbitrary: near.map((value) => (value < 0n ? -value : value)) },
      { weight: 1, arbitrary: fc.constant(2n ** 64n - 1n) },
    ),
    read: (value: bigint) => (isNumber(value) ? Number(value) : undefined),
  },
  { arrow: new Int64(), ...decimal(18, 2), value: near },
  { arrow: new Int64(), ...decimal(18, 15), value: near },
  {
    arrow: new Int32(),
    ...decimal(10, 4),
    value: integer(-(2 ** 31), 2 ** 31 - 1),
  },
  { arrow: new Dictionary(new Utf8(), new Int32()), type: { kind: 'utf8' }, value: fc.constantFrom('a', 'bb', '', 'ž'), coded: true },
  // what the file is not said to hold
  { arrow: new Int32(), type: { kind: 'f64' }, value: integer(0, 9), odd: true },
  { arrow: new Int64(), type: { kind: 'timestamp', unit: 'ms' }, value: far, odd: true },
  { arrow: new TimestampSecond(), type: { kind: 'timestamp', unit: 'ms' }, value: fc.constant(new Date(0)), odd: true },
  { arrow: new Utf8(), type: { kind: 'binary' }, value: fc.constant(''), odd: true },
]

const columns = fc
  .tuple(fc.integer({ min: 1, max: 70 }), fc.array(fc.integer({ min: 0, max: FORMS.length - 1 }), { minLength: 1, maxLength: 4 }))
  .chain(([rows, forms]) =>
    fc.tuple(
      ...forms.map((form) => {
        const { value } = FORMS[form] as Form
        const cell = fc.boolean().chain((nullable) => fc.array(nullable ? fc.option(value) : value, { minLength: rows, maxLength: rows }))
        return fc.record({ form: fc.constant(form), values: cell })
      }),
    ),
  )

function exported(drawn: readonly { readonly form: number; readonly values: readonly unknown[] }[]): ForeignTable {
  const vectors = drawn.map(({ form, values }, i) => {
    const { arrow, coded } = FORMS[form] as Form
    // dictionaries of one table have numbers of their own
    return [`c${i}`, vectorFromArray(values as never[], coded === true ? new Dictionary(new Utf8(), new Int32(), i) : arrow)] as const
  })
  return ForeignTable.fromIPCStream(tableToIPC(new Table(Object.fromEntries(vectors)), 'stream'))
}

test('columns out of the decoder’s memory', async () => {
  let native = 0
  let left = 0
  await fc.assert(
    fc.property(columns, fc.boolean(), (drawn, lent) => {
      const rows = drawn[0]?.values.length ?? 0
      const details = drawn.map(({ form }): ColumnDetail => {
        const { type, change } = FORMS[form] as Form
        return { type, nullable: true, elements: [new Uint8Array()], changes: [change], leaves: [] }
      })
      const expected = drawn.map(({ form, values }) => {
        const { read = (value: unknown) => value } = FORMS[form] as Form
        return values.map((value) => (value === null ? null : read(value as never)))
      })
      const isNative =
        expected.every((values) => !values.includes(undefined)) &&
        drawn.every(({ form }) => FORMS[form]?.odd !== true && (lent || FORMS[form]?.coded !== true))
      const stream = exported(drawn).intoFFI()
      const [array = 0] = stream.arrayAddrs()
      const lentBytes = (length: number) => new Uint8Array(new ArrayBuffer(length + 64), 8, length).fill(7)
      const places = details.map(({ type }) => {
        const width = isFixedKind(type.kind) ? new FIXED_FORMS[type.kind].array(0).BYTES_PER_ELEMENT : 0
        return lentBytes(width * rows)
      })
      const scratch = lent ? { scratch: { bytes: lentBytes }, into: (column: number) => places[column], dictionaries: true as const } : {}
      const found = nativeColumns({ memory: wasmMemory() as WebAssembly.Memory, schema: stream.schemaAddr(), array }, details, rows, {
        numbers: numberKernels,
        ...scratch,
      })
      stream.free()
      if (!isNative) {
        left++
        expect(found).toBeUndefined()
        return
      }
      native++
      const actual = found?.map((column) => {
        const { dictionary, values } = column
        const entry = dictionary && valueReader(dictionary)
        const value = entry === undefined ? valueReader(column) : (i: number) => entry(Number(values?.[i]))
        return Array.from({ length: rows }, (_, i) => (isValid(column, i) ? value(i) : null))
      })
      expect(actual).toStrictEqual(expected)
      expect(found?.map(({ type }) => type)).toStrictEqual(details.map(({ type }) => type))
      if (lent) {
        const placed = found?.map(({ type, values }, i) => !isFixedKind(type.kind) || values?.buffer === places[i]?.buffer)
        expect(placed).not.toContain(false)
      }
    }),
    run,
  )
  console.log(`native columns: ${native} natively, ${left} by a message`)
  if (run.numRuns >= 500) expect(Math.min(native, left)).toBeGreaterThan(run.numRuns * 0.1)
})
