import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Binary,
  Bool,
  Decimal,
  DenseUnion,
  DurationSecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float64,
  Int32,
  IntervalYearMonth,
  LargeUtf8,
  Map_,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  TimestampNanosecond,
  tableFromIPC,
  tableToIPC,
  Uint8,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { afterAll, expect, test } from 'vitest'
import { columnFromValues } from '../core/data/columnBuilder.ts'
import { rowReader, valueReader } from '../core/data/columnReaders.ts'
import { type ColumnType, fieldsOf, typeText } from '../core/data/schema.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import { columnOfVector } from './arrow/arrowColumns.ts'
import { openArrow } from './arrow/arrowFile.ts'
import { elementOfArrowSchema } from './arrow/arrowTypes.ts'
import { writeArrow } from './arrow/writeArrow.ts'
import { checkFolder, writeAtomically } from './bytes/atomicFile.ts'
import { fileError } from './bytes/byteSource.ts'
import { writeCsv } from './csv/writeCsv.ts'
import { sourceFromArrow } from './memory/memory.ts'
import { readSplit } from './readSplit.ts'
import { openText } from './text.ts'
import { timestampText } from './timeTexts.ts'
import { writeParquet } from './writeParquet.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-files-'))
afterAll(() => rmSync(folder, { recursive: true }))
const place = { source: 'x.arrow', column: 'c' }

async function rowsOf(source: ArraySource): Promise<unknown[]> {
  const rows: unknown[] = []
  for (const split of source.splits) {
    for (const batch of await readSplit(
      source,
      split,
      fieldsOf(source.element).map((field) => field.name),
    )) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return rows
}

function valuesOf(vector: Vector): { type: string; values: unknown[] } {
  const column = columnOfVector(vector, place)
  const read = valueReader(column)
  return { type: typeText(column.type), values: Array.from({ length: column.length }, (_, i) => read(i)) }
}

test('Arrow forms become columns', () => {
  expect(valuesOf(vectorFromArray(['a', null, 'bcd'], new LargeUtf8()))).toStrictEqual({ type: 'utf8', values: ['a', null, 'bcd'] })
  expect(valuesOf(vectorFromArray([new Uint8Array([1, 2]), null, new Uint8Array([3, 4])], new FixedSizeBinary(2)))).toStrictEqual({
    type: 'binary',
    values: [new Uint8Array([1, 2]), null, new Uint8Array([3, 4])],
  })
  const pairs = vectorFromArray([[1, 2], null, [3, 4]], new FixedSizeList(2, new Field('item', new Float64(), true)))
  expect(valuesOf(pairs)).toStrictEqual({ type: 'list<f64>', values: [[1, 2], null, [3, 4]] })
  expect(valuesOf(pairs.slice(2))).toStrictEqual({ type: 'list<f64>', values: [[3, 4]] })
  const map = vectorFromArray(
    [new Map([['k', 1]]), null],
    new Map_(
      new Field(
        'entries',
        new Struct<{ key: Utf8; value: Int32 }>([new Field('the key', new Utf8(), false), new Field('it', new Int32(), true)] as never),
        false,
      ),
    ),
  )
  expect(valuesOf(map)).toStrictEqual({ type: 'list<struct<key: utf8, value: i32>>', values: [[{ key: 'k', value: 1 }], null] })
})

test('halves: zeros, the smallest, the largest, infinities, NaN', () => {
  const halves = new Uint16Array([0, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0xc000, 0x7bff, 0x7c00, 0xfc00, 0x7e00])
  const { type, values } = valuesOf(new Vector([makeData({ type: new Float16(), length: halves.length, data: halves })]))
  expect(type).toBe('f32')
  expect(values).toStrictEqual([0, -0, 2 ** -24, 1023 * 2 ** -24, 2 ** -14, 1, -2, 65504, Infinity, -Infinity, Number.NaN])
})

test('decimals become the nearest f64, or are refused', () => {
  const decimals = (values: readonly bigint[], scale: number) => {
    const words = new Uint32Array(values.flatMap((value) => [0n, 32n, 64n, 96n].map((shift) => Number(BigInt.asUintN(32, value >> shift)))))
    return new Vector([makeData({ type: new Decimal(scale, 38, 128), length: values.length, data: words })])
  }
  expect(valuesOf(decimals([1234n, -1n, 0n, 10n ** 30n, -(10n ** 14n) + 1n], 2)).values).toStrictEqual([
    12.34, -0.01, 0, 1e28, -999999999999.99,
  ])
  expect(() => valuesOf(decimals([1n, 10n ** 15n + 1n], 3))).toThrow(
    new SourceError(
      'x.arrow, column "c": the decimal 1000000000000.001 at row 1 has more digits than f64 keeps, and wider decimals are not read. Write the column as text, or with at most 15 digits.',
      'x.arrow',
    ),
  )
})

test('types without a counterpart are refused by column', () => {
  for (const [type, name] of [
    [new IntervalYearMonth(), 'Interval<YEAR_MONTH>'],
    [new DurationSecond(), 'Duration<SECOND>'],
    [new DenseUnion([0], [new Field('a', new Int32())]), 'Union<Int32>'],
  ] as const) {
    const schema = new Schema([new Field('ok', new Bool()), new Field('s', new Struct([new Field('x', type)]))])
    const message = `x.arrow, column "s.x": values of Arrow type ${type} are not read. Convert the column where the data is made.`
    expect(() => elementOfArrowSchema(schema, 'x.arrow'), name).toThrow(new SourceError(message, 'x.arrow'))
  }
  expect(() => elementOfArrowSchema(new Schema([new Field('a', new Bool()), new Field('a', new Utf8())]), 'x.arrow')).toThrow(
    new SourceError('x.arrow, column "a": there are two columns of this name.', 'x.arrow'),
  )
})

const sample = new Table({
  n: vectorFromArray([1, null, 3], new Float64()),
  t: vectorFromArray([1, null, -1], new TimestampNanosecond()),
  b: vectorFromArray([new Uint8Array([1]), null, new Uint8Array(0)], new Binary()),
  s: vectorFromArray(['x', 'y', 'x']), // a dictionary
})

test.each(['file', 'stream'] as const)('Arrow IPC %s: one split per record batch, dictionaries with them', async (form) => {
  const path = join(folder, `${form}.arrow`)
  writeFileSync(path, tableToIPC(new Table([...sample.batches, ...sample.slice(1).batches]), form))
  const source = structuredClone(await openArrow(path))
  expect([source.rows, source.splits.length]).toStrictEqual([5, 2])
  const rows = (await rowsOf(source)) as { n: number | null; s: string; b: Uint8Array | null }[]
  expect(rows.map(({ n, s, b }) => [n, s, b?.length])).toStrictEqual([
    [1, 'x', 1],
    [null, 'y', undefined],
    [3, 'x', 0],
    [null, 'y', undefined],
    [3, 'x', 0],
  ])
})

test('what is not Arrow is refused by name', async () => {
  const whole = tableToIPC(sample, 'file')
  const stream = tableToIPC(sample, 'stream')
  const cases: [string, Uint8Array, string][] = [
    ['empty', new Uint8Array(0), 'PATH is empty. An Arrow file has at least a schema.'],
    [
      'text',
      Buffer.from('user,movie,stars\n'),
      'PATH looks like text, and readArrow() reads Arrow IPC. Read CSV with readCsv(), lines with readText().',
    ],
    ['noise', Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]), 'PATH is not an Arrow file or stream: it does not begin with a schema.'],
    [
      'parquet',
      Buffer.from('PAR1aaaaaaaaaaaaaaaaPAR1'),
      'PATH is a Parquet file, and readArrow() reads Arrow IPC. Read it with readParquet().',
    ],
    ['cut-file', whole.slice(0, -3), 'PATH does not end with ARROW1: it was cut, or is still being written.'],
    ['magic', whole.slice(0, 6), 'PATH does not end with ARROW1: it was cut, or is still being written.'],
  ]
  for (const [name, bytes, message] of cases) {
    const path = join(folder, `${name}.arrow`)
    writeFileSync(path, bytes)
    await expect(openArrow(path)).rejects.toThrow(new SourceError(message.replace('PATH', path), path))
  }
  const cut = join(folder, 'cut-stream.arrow')
  writeFileSync(cut, stream.slice(0, -40))
  await expect(openArrow(cut)).rejects.toThrow(
    /^.* is damaged or was cut: the body of a message goes beyond the end of the file at byte \d+\.$/,
  )
})

test('an Arrow file written here is read by Arrow itself', async () => {
  const path = join(folder, 'own.arrow')
  const source = sourceFromArrow(sample)
  const batches = (await Promise.all(source.splits.map((split) => readSplit(source, split, ['n', 't', 'b', 's'])))).flat()
  expect(await writeArrow({ batches, element: source.element, path })).toStrictEqual({ rows: 3, bytes: readFileSync(path).length })
  const table = tableFromIPC(readFileSync(path))
  expect(table.getChild('n')?.toJSON()).toStrictEqual([1, null, 3])
  expect(table.getChild('s')?.toJSON()).toStrictEqual(['x', 'y', 'x'])
})

test('text: a line is an element, whatever ends it', async () => {
  const path = join(folder, 'lines.txt')
  const load = async (text: string) => {
    writeFileSync(path, text)
    return rowsOf(await openText(path))
  }
  expect(await load('a\r\nb\n\nd é😀')).toStrictEqual(['a', 'b', '', 'd é😀'])
  expect(await load('a\n')).toStrictEqual(['a'])
  expect(await load('\n')).toStrictEqual([''])
  expect(await load('')).toStrictEqual([])
  const long = Array.from({ length: 500_000 }, (_, i) => `line ${i} with some words in it`)
  writeFileSync(path, long.join('\n'))
  const source = await openText(path)
  expect(source.splits.length).toBe(3)
  expect((await rowsOf(source)).every((line, i) => line === long[i])).toBe(true)
})

test('CSV: quotes, null and empty, dates with all their digits, numbers as they are', async () => {
  const path = join(folder, 'out.csv')
  const column = (values: readonly unknown[], type?: ColumnType) => columnFromValues(values, type)
  const columns = [
    column(['a', 'b,"c"', '', null]),
    column([Number.NaN, -0, Infinity, 1e21]),
    column([1n, -(2n ** 63n), null, 0n]),
    { ...column([1n, -1n, 1709168523000004n, null]), type: { kind: 'timestamp', unit: 'us' } as const },
    column([true, false, null, true]),
  ]
  const fields = columns.map(({ type }, i) => ({ name: ['s', 'x "y"', 'i', 't', 'b'][i] ?? '', type, nullable: true }))
  const element = { kind: 'row' as const, fields }
  await writeCsv({ batches: [{ element, length: 4, columns }], element, path })
  expect(readFileSync(path, 'utf8')).toBe(
    's,"x ""y""",i,t,b\na,NaN,1,1970-01-01T00:00:00.000001Z,true\n"b,""c""",-0,-9223372036854775808,1969-12-31T23:59:59.999999Z,false\n"",Infinity,,2024-02-29T01:02:03.000004Z,\n,1e+21,0,,true\n',
  )
  expect(timestampText(-(2n ** 63n), 's')).toBe('-292277022657-01-27T08:29:52Z')
  expect(timestampText(253402300800000n, 'ms')).toBe('+010000-01-01T00:00:00.000Z')
  const nested = { kind: 'row' as const, fields: [{ name: 'l', type: { kind: 'list', item: { kind: 'f64' } } as const, nullable: true }] }
  await expect(writeCsv({ batches: [], element: nested, path })).rejects.toThrow(
    new PlanError(
      'Column "l" is list<f64>, which a CSV field cannot hold. Convert it with map, for example to JSON text, or write Parquet.',
    ),
  )
})

test('a file appears whole or not at all', async () => {
  const path = join(folder, 'atomic.txt')
  writeFileSync(path, 'old')
  const failing = writeAtomically(path, async (append) => {
    await append(Buffer.from('half'))
    throw new PlanError('stop')
  })
  await expect(failing).rejects.toThrow(new PlanError('stop'))
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(await writeAtomically(path, (append) => append(Buffer.from('new')))).toBe(3)
  expect(readFileSync(path, 'utf8')).toBe('new')
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toStrictEqual([])
  const nowhere = join(folder, 'none', 'x.txt')
  await expect(writeAtomically(nowhere, () => Promise.resolve())).rejects.toThrow(
    new SourceError(
      `${nowhere} cannot be written: there is no folder ${join(folder, 'none')}. Make it first, for example with mkdirSync(${JSON.stringify(join(folder, 'none'))}, { recursive: true }).`,
      nowhere,
    ),
  )
  const link = join(folder, 'dangling')
  symlinkSync(nowhere, link)
  await expect(checkFolder(link)).rejects.toThrow(
    new SourceError(
      `${link} cannot be written: there is no folder ${join(folder, 'none')}. Make it first, for example with mkdirSync(${JSON.stringify(join(folder, 'none'))}, { recursive: true }).`,
      link,
    ),
  )
  for (const [address, why] of [
    ['gs://b/x', 'object stores are not written to by their own addresses. Write a file, and copy it there with gcloud storage cp.'],
    ['az://b/x', 'object stores are not written to by their own addresses. Write a file, and copy it there with azcopy copy.'],
    ['https://h/x', 'writers take paths, and this is an address. Write a file, and send it there.'],
  ] as const)
    await expect(writeAtomically(address, () => Promise.resolve())).rejects.toThrow(
      new SourceError(`${address} cannot be written: ${why}`, address),
    )
  await expect(writeAtomically(folder, () => Promise.resolve())).rejects.toThrow(
    new SourceError(`${folder} is a directory, and a file is to be written. Name a file in it.`, folder),
  )
})

test('Parquet cannot hold everything, and says so', async () => {
  const path = join(folder, 'refused.parquet')
  const refuse = (type: ColumnType, options: object = {}) =>
    writeParquet({ batches: [], element: { kind: 'row', fields: [{ name: 'c', type, nullable: true }] }, path, options })
  await expect(refuse({ kind: 'struct', fields: [] })).rejects.toThrow(
    new PlanError('Column "c" is a struct without fields, which Parquet cannot hold. Leave it out with select(…).'),
  )
  await expect(refuse({ kind: 'list', item: { kind: 'object' } })).rejects.toThrow(
    new PlanError('Column "c[]" is object, which Parquet cannot hold. Convert it with map, for example to JSON text.'),
  )
  await expect(refuse({ kind: 'f64' }, { rowGroupRows: 0 })).rejects.toThrow(
    new PlanError('rowGroupRows is 0. It is a whole number from 1 on.'),
  )
  await expect(refuse({ kind: 'f64' }, { compression: 'zstd', compatibility: 'v1' })).rejects.toThrow(
    new PlanError("{ compatibility: 'v1' } has no zstd compression. Use 'snappy' or 'none'."),
  )
  const late = { ...columnFromValues([2n ** 60n]), type: { kind: 'timestamp', unit: 's' } as const }
  const element = { kind: 'row' as const, fields: [{ name: 'c', type: late.type, nullable: false }] }
  await expect(writeParquet({ batches: [{ element, length: 1, columns: [late] }], element, path })).rejects.toThrow(
    new PlanError(
      `Column "c" has a time of 1152921504606846976 in units of timestamp(s), which Parquet cannot hold in its timestamp(ms). ${path} was not written.`,
    ),
  )
  expect(readdirSync(folder).filter((name) => name.includes('refused'))).toStrictEqual([])
})

test('file system errors in words', () => {
  const error = (code: string) => Object.assign(new Error(code), { code })
  expect(fileError('/a', error('EACCES'))).toStrictEqual(new SourceError('/a may not be read: permission denied.', '/a'))
  expect(fileError('/a', error('EIO'))).toStrictEqual(new SourceError('/a cannot be read: EIO.', '/a'))
})

test('an Arrow record batch with bits at an offset', () => {
  const bools = vectorFromArray([true, null, false, true, true, false, null, true, true, true], new Bool())
  const numbers = vectorFromArray([1, null, 3, 4, null, 6, 7, 8, 9, 10], new Uint8())
  const all = valuesOf(bools).values
  for (let from = 0; from < 10; from++) {
    expect(valuesOf(bools.slice(from, 10)).values).toStrictEqual(all.slice(from))
    expect(valuesOf(numbers.slice(from, 9)).values).toStrictEqual(valuesOf(numbers).values.slice(from, 9))
  }
  const batch = new RecordBatch({ b: bools.data[0] as never }).slice(3, 7)
  expect(sourceFromArrow(batch).rows).toBe(4)
})
