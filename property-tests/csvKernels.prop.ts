/**
 * Kernels over CSV against the reader that goes byte by byte and makes a text of each field: the same columns, or the same
 * error; and numbers that are those of `Number(text)`, to the bit.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { CsvField, CsvStaged } from '../src/core/ports.ts'
import { csvKernels } from '../src/exec/kernels/csv/csvKernels.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import type { CsvType } from '../src/io/csv/csvValues.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('csvKernels.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-csv-kernels-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'any.csv')

const digits = (least: number, most: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...'0123456789', '0', '9', '5'), { minLength: least, maxLength: most, size: 'max' }).map((all) => all.join(''))
const sign = fc.constantFrom('', '', '-')
const exponent = fc.oneof(
  { arbitrary: fc.constant(''), weight: 3 },
  { arbitrary: fc.tuple(fc.constantFrom('e', 'E', 'e-', 'e+'), fc.integer({ min: 0, max: 330 })).map(([e, n]) => `${e}${n}`), weight: 1 },
)

const exact = new DataView(new ArrayBuffer(8))
/** The number half way between two doubles that have so many digits, as far as 19 of its own go, or one next to that. */
const nearlyHalfWay = fc
  .tuple(fc.bigInt({ min: 1n << 52n, max: (1n << 53n) - 1n }), fc.integer({ min: -60, max: 60 }), fc.integer({ min: -2, max: 2 }))
  .map(([fraction, two, off]) => {
    // (2 * fraction + 1) * 2 ** (two - 1), of which the first 19 digits are kept
    const twice = 2n * fraction + 1n
    const scaled = two > 0 ? twice << BigInt(two) : twice * 5n ** BigInt(-two)
    const text = String(scaled)
    const kept = String(BigInt(text.slice(0, 19)) + BigInt(off))
    return `${kept}e${text.length - Math.min(19, text.length) + (two > 0 ? 0 : two)}`
  })
const ofBits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((bits) => {
  exact.setBigUint64(0, bits)
  return String(exact.getFloat64(0))
})
const number = fc.oneof(
  { arbitrary: fc.tuple(sign, digits(1, 5), digits(1, 22), exponent).map(([s, whole, part, e]) => `${s}${whole}.${part}${e}`), weight: 6 },
  { arbitrary: fc.tuple(sign, digits(1, 20), exponent).map((all) => all.join('')), weight: 4 },
  { arbitrary: ofBits, weight: 3 },
  { arbitrary: fc.double({ min: -1000, max: 1000, noNaN: true }).map(String), weight: 3 },
  { arbitrary: nearlyHalfWay, weight: 4 },
  { arbitrary: fc.integer({ min: -300, max: 300 }).map(String), weight: 4 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(7n, 8n, 15n, 16n, 31n, 32n, 53n, 63n, 64n), fc.bigInt({ min: -2n, max: 2n }), sign)
      .map(([bits, off, s]) => `${s}${2n ** bits + off}`),
    weight: 3,
  },
  {
    arbitrary: fc.array(fc.constantFrom(...'0123456789', '-', '+', '.', 'e', ' ', 'a'), { maxLength: 8 }).map((all) => all.join('')),
    weight: 2,
  },
)

const PLAIN = /^-?(?:0|[1-9]\d{0,14}|(?=.*[.e])[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,4})?$/
const LEAST_NORMAL = 2 ** -1022

/** Whether kernels promise to read it. */
function isPlain(text: string): boolean {
  const value = Math.abs(Number(text))
  const counted = text
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '').length
  return PLAIN.test(text) && counted <= 19 && (/^-?[0.]*(?:e.*)?$/i.test(text) || (value >= LEAST_NORMAL && value <= Number.MAX_VALUE))
}

/** What a kernel makes of one field, with other bytes before and behind it. */
async function stagedOf<T>(field: CsvField, text: string, before: string, use: (staged: CsvStaged) => T): Promise<T> {
  const bytes = new TextEncoder().encode(`${before}${text}5`)
  return await csvKernels.withMemory(bytes.length, async (memory) => {
    memory.bytes.set(bytes)
    const begin = bytes.length - 1 - new TextEncoder().encode(text).length
    memory.bounds.set([begin, bytes.length - 1])
    return use(memory.staged(field, { place: 0, step: 2, count: 1, base: 0 }))
  })
}

test('a number is that of its text', async () => {
  await fc.assert(
    fc.asyncProperty(number, digits(0, 3), async (text, before) => {
      fc.pre(text !== '')
      await stagedOf('f64', text, before, (staged) => {
        if (staged.done === 0) expect(isPlain(text), `${text} is not read`).toBe(false)
        else {
          const [found] = staged.values(Float64Array)
          expect(Object.is(found, Number(text)), `${text} is ${found}`).toBe(true)
        }
      })
    }),
    { ...settings, numRuns: 20 * settings.numRuns },
  )
})

const two = fc.oneof({ arbitrary: fc.integer({ min: 0, max: 32 }), weight: 9 }, { arbitrary: fc.integer({ min: 0, max: 99 }), weight: 1 })
const padded = (n: number, length: number): string => String(n).padStart(length, '0')
const day = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(1900, 2000, 2024, 2100, 0, 4)),
    fc.oneof({ arbitrary: fc.integer({ min: 0, max: 13 }), weight: 9 }, { arbitrary: fc.constant(2), weight: 2 }),
    fc.oneof(two, fc.integer({ min: 27, max: 32 })),
  )
  .map(([y, m, d]) => `${padded(y, 4)}-${padded(m, 2)}-${padded(d, 2)}`)
const clock = fc
  .tuple(fc.integer({ min: 0, max: 25 }), fc.integer({ min: 0, max: 61 }), fc.integer({ min: 0, max: 61 }))
  .map((all) => all.map((n) => padded(n, 2)).join(':'))
const time = fc
  .tuple(
    day,
    fc.constantFrom('T', ' ', 't', ''),
    clock,
    fc.oneof(
      fc.constant(''),
      digits(0, 10).map((part) => `.${part}`),
    ),
    fc.constantFrom('', 'Z', '+01:00', 'z'),
  )
  .map((all) => all.join(''))
const truth = fc.constantFrom('true', 'false', 'TRUE', 'False', 'tRuE', 'truf', 'false ', 'fals', '1', '0', 'T')

const text = fc
  .array(fc.constantFrom('a', '1', '""', ' ', 'é', '😀', '\n', '\r', ',', ';', 'a text of some length'), { maxLength: 6 })
  .map((all) => all.join(''))
const TYPED: readonly (readonly [CsvType | undefined, fc.Arbitrary<string>])[] = [
  ...(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'i64', 'u64', undefined] as const).map((type) => [type, number] as const),
  ['bool', truth],
  [undefined, truth],
  ['date', day],
  ['date', time],
  ['timestamp', time],
  ['timestamp(ms)', time],
  ['timestamp(us)', time],
  ['timestamp(ns)', time],
  ['timestamp(ns)', day],
  ['timestamp', day],
  ['utf8', text],
]

interface Table {
  readonly types: readonly (CsvType | undefined)[]
  readonly records: readonly (readonly string[])[]
}

/** Columns of a type each, mostly of fields that are of it: one that is not would end all. */
const table: fc.Arbitrary<Table> = fc
  .array(fc.constantFrom(...TYPED), { minLength: 1, maxLength: 4 })
  .chain((columns) =>
    fc
      .array(
        fc.tuple(
          ...columns.map(([type, some]) =>
            fc
              .tuple(some, fc.integer({ min: 0, max: 15 }))
              .map(([field, form]) => (form === 0 ? '' : form === 1 || /[",;\n\r]/.test(field) || type === 'utf8' ? `"${field}"` : field)),
          ),
        ),
        { minLength: 1, maxLength: 12 },
      )
      .map((records) => ({ types: columns.map(([type]) => type), records })),
  )

/** What a column is made of; of much of it a number that tells it apart. */
function buffersOf({ values, offsets, validity }: Column): unknown {
  const short = (buffer: ArrayBufferView | undefined): unknown =>
    buffer === undefined || buffer.byteLength < 4096 ? buffer : crc32(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength))
  return [values, offsets, validity].map((buffer) => short(buffer))
}

/** Columns that are read, or what was said. */
async function read(
  kernels: typeof csvKernels | undefined,
  types: Table['types'],
  delimiter: string,
  names?: readonly string[],
): Promise<unknown> {
  try {
    const asked = Object.fromEntries(types.flatMap((type, i) => (type === undefined ? [] : [[`column${i + 1}`, type]])))
    const source = await openCsv(path, { header: false, types: asked, delimiter }, kernels)
    const columns = names ?? fieldsOf(source.element).map((field) => field.name)
    const read = await Promise.all(source.splits.map((split) => readSplit(source, split, columns, undefined, { csv: kernels })))
    return read.flat().map(({ length, columns }) => ({ length, columns: columns.map(buffersOf) }))
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

const textOf = (records: Table['records'], delimiter: string, end: string, isEnded: boolean): string =>
  records.map((record) => record.join(delimiter)).join(end) + (isEnded ? end : '')

test('columns of any types: those of the reader without kernels, or what it says', async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom(',', ';', '|'),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      async (some, delimiter, end, isEnded) => {
        const text = textOf(some.records, delimiter, end, isEnded)
        fc.pre(text.trim() !== '')
        writeFileSync(path, text)
        expect(await read(csvKernels, some.types, delimiter)).toStrictEqual(await read(undefined, some.types, delimiter))
      },
    ),
    settings,
  )
})

test('many records, of which now and then one is odd', async () => {
  const odd = fc.constantFrom('', '"a ""b"" c","1"', '"x\ny",', 'b, 2', 'é,+3', '"","1e3"', ',12345678901234567')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), odd), { maxLength: 6 }),
      fc.constantFrom('', 'z,x\n', 'z\n', '"z,1\n', 'z"z,1\n'),
      fc.boolean(),
      fc.constantFrom('f64', undefined),
      async (runs, last, isOne, type) => {
        const plain = (count: number) => Array.from({ length: count }, (_, i) => `text ${i % 7},${i / 8}\n`).join('')
        writeFileSync(path, `${plain(70_000)}${runs.map(([count, field]) => `${plain(count)}${field}\n`).join('')}${plain(10)}${last}`)
        const names = isOne ? ['column2'] : undefined
        expect(await read(csvKernels, ['utf8', type], ',', names)).toStrictEqual(await read(undefined, ['utf8', type], ',', names))
      },
    ),
    { ...settings, numRuns: Math.ceil(settings.numRuns / 50) },
  )
})

test('texts of any length, one that fits no memory of texts among them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(0, 1, 15, 16, 17, 300_000, 2 ** 20, 2 ** 20 + 1), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (lengths, isQuoted) => {
        const field = (length: number): string => (isQuoted ? `"${'x""'.repeat(length / 3)}"` : 'x'.repeat(length))
        writeFileSync(path, lengths.map((length) => `${field(length)},1\n`).join(''))
        expect(await read(csvKernels, ['utf8', 'f64'], ',')).toStrictEqual(await read(undefined, ['utf8', 'f64'], ','))
      },
    ),
    { ...settings, numRuns: Math.ceil(settings.numRuns / 50) },
  )
})

test('quotes in a range of bytes: whether their number is odd', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(34, 34, 10, 0, 255, 33, 35), { maxLength: 100 }),
      fc.nat(100),
      fc.nat(100),
      async (bytes, a, b) => {
        const [from, to] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)]
        await csvKernels.withMemory(bytes.length, async (memory) => {
          memory.bytes.set(bytes)
          expect(memory.oddQuotes(from, to)).toBe(bytes.slice(from, to).filter((byte) => byte === 34).length % 2 === 1)
        })
      },
    ),
    settings,
  )
})
