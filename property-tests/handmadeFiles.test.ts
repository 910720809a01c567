/**
 * Files made by hand that are sound but rare: what a check against hostile ones must let through, and what they are
 * read as.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type ElementType, fieldsOf } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { sourceFromColumns } from '../src/io/memory/memory.ts'
import { schemaValue } from '../src/io/parquet/ownSchema.ts'
import { structs, text as thriftText } from '../src/io/parquet/thrift.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { batchMessage, dictionaryMessage, type HandField, i32, i64, ints, schemaMessage, stream, table, u8 } from './arrowFiles.ts'
import { columnsOf } from './ioTables.ts'
import { handFile, page, struct, TYPES } from './parquetFiles.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-handmade-'))
afterAll(() => rmSync(folder, { recursive: true }))

const NONE = new Uint8Array(0)
const namesOf = (element: ElementType): string[] => fieldsOf(element).map((field) => field.name)

function file(name: string, bytes: Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

/** Rows of a source after its splits went to another thread and back. */
async function valuesThere(source: ArraySource): Promise<unknown[][]> {
  return columnsOf(structuredClone(source))
}

const coded: HandField = { name: 'a', type: 5, dictionary: [i64(7), table(i32(8), u8(1))] }
const textsOf = (...texts: readonly string[]) => {
  const offsets = [0]
  for (const one of texts) offsets.push((offsets.at(-1) ?? 0) + one.length)
  return { rows: texts.length, nodes: [[texts.length, 0]] as const, buffers: [NONE, ints(...offsets), Buffer.from(texts.join(''))] }
}
const indices = (...values: readonly number[]): Uint8Array =>
  batchMessage({ rows: values.length, nodes: [[values.length, 0]], buffers: [NONE, Uint8Array.from(values)] })

test('dictionaries of a stream are replaced and added to, and each batch has those before it', async () => {
  const path = file(
    'dictionaries.arrow',
    stream(
      schemaMessage([coded]),
      dictionaryMessage(7, textsOf('a', 'b')),
      indices(1, 0),
      dictionaryMessage(7, textsOf('c')),
      indices(0),
      dictionaryMessage(7, textsOf('d', 'e'), { delta: true }),
      indices(2, 1, 0),
      dictionaryMessage(7, textsOf('f')),
      indices(0),
    ),
  )
  expect(await valuesThere(await openArrow(path))).toStrictEqual([['b', 'a', 'c', 'e', 'd', 'c', 'f']])
})

test('columns and fields without a name are called "", and a column called null keeps its name', async () => {
  const int = { type: 2, parameters: [i32(32), u8(1)] }
  const path = file(
    'nameless.arrow',
    stream(
      schemaMessage([int, { ...int, name: 'null' }, { name: 's', type: 13, children: [int] }]),
      batchMessage({
        rows: 1,
        nodes: [
          [1, 0],
          [1, 0],
          [1, 0],
          [1, 0],
        ],
        buffers: [NONE, ints(1), NONE, ints(2), NONE, NONE, ints(3)],
      }),
    ),
  )
  const source = await openArrow(path)
  expect(namesOf(source.element)).toStrictEqual(['', 'null', 's'])
  expect(await valuesThere(source)).toStrictEqual([[1], [2], [{ '': 3 }]])
})

test('a column without a name is read as it was written', async () => {
  const path = join(folder, 'own.arrow')
  const written = sourceFromColumns({ '': Float64Array.of(1, 2), b: Float64Array.of(3, 4) })
  const [split] = written.splits
  if (split === undefined) throw new Error('two rows are a split')
  await writeArrow({ batches: await readSplit(written, split, ['', 'b']), element: written.element, path })
  const source = await openArrow(path)
  expect(namesOf(source.element)).toStrictEqual(['', 'b'])
  expect(await valuesThere(source)).toStrictEqual([
    [1, 2],
    [3, 4],
  ])
})

test('decimals of 32 bits are read to the last one', async () => {
  const path = file(
    'decimal32.arrow',
    stream(
      schemaMessage([{ name: 'a', type: 7, parameters: [i32(9), i32(2), i32(32)] }]),
      batchMessage({ rows: 3, nodes: [[3, 0]], buffers: [NONE, ints(-123, 0, 4567)] }),
    ),
  )
  expect(await valuesThere(await openArrow(path))).toStrictEqual([[-1.23, 0, 45.67]])
})

test('two fields of one name are refused by that name', async () => {
  const int = { name: 'x', type: 2, parameters: [i32(32), u8(1)] }
  const path = file('twice.arrow', schemaMessage([{ name: 's', type: 13, children: [int, int] }]))
  await expect(openArrow(path)).rejects.toThrow(new SourceError(`${path}, column "s.x": there are two fields of this name.`, path))
})

const intColumn = (name: string) => ({ name, type: TYPES.int32, pages: page('data', ints(5), { values: 1, encoding: 0 }) })

test('Parquet columns of any name reach other threads', async () => {
  const path = file('names.parquet', handFile(['__proto__', 'constructor', '', 'a'].map(intColumn), { rows: 1 }))
  const source = await openParquet(path)
  expect(namesOf(source.element)).toStrictEqual(['__proto__', 'constructor', '', 'a'])
  expect(await valuesThere(source)).toStrictEqual([[5], [5], [5], [5]])
})

test('what the decoder reports goes to no console, which may be frozen', async () => {
  const path = file(
    'broken.parquet',
    handFile([{ ...intColumn('a'), pages: page('data', ints(5), { values: 9, encoding: 5 }) }], { rows: 9 }),
  )
  const before = Object.getOwnPropertyDescriptor(console, 'error') as PropertyDescriptor
  const printed: unknown[] = []
  Object.defineProperty(console, 'error', { ...before, writable: false, value: (...parts: unknown[]) => printed.push(parts) })
  try {
    await expect(openParquet(path).then(valuesThere)).rejects.toThrow(SourceError)
  } finally {
    Object.defineProperty(console, 'error', before)
  }
  expect(printed).toStrictEqual([])
})

const TIMESTAMP_MICROS = 10

test.each([
  ['no JSON', '{'],
  ['no list', '{}'],
  ['no fields', '[1, null]'],
  ['a list of nothing', '[{"name":"a","type":{"kind":"list"}}]'],
  ['no type', '[{"name":"a","type":null}]'],
  ['no unit', '[{"name":"a","type":{"kind":"timestamp","unit":"x"}}]'],
  ['the unit constructor', '[{"name":"a","type":{"kind":"time","unit":"constructor"}}]'],
  ['a struct of no fields', '[{"name":"a","type":{"kind":"struct","fields":{}}}]'],
  ['another type', schemaValue([{ name: 'a', type: { kind: 'i32' }, nullable: false }])],
])('a pair distarray.schema of %s is passed over', async (_, value) => {
  const pair = struct([1, thriftText('distarray.schema')], [2, thriftText(value)])
  const body = new Uint8Array(BigInt64Array.of(5_000n).buffer)
  const column = { name: 'a', type: TYPES.int64, converted: TIMESTAMP_MICROS, pages: page('data', body, { values: 1, encoding: 0 }) }
  const path = file('schema.parquet', handFile([column], { rows: 1, extra: [[5, structs([pair])]] }))
  const source = await openParquet(path)
  expect(fieldsOf(source.element)).toStrictEqual([{ name: 'a', type: { kind: 'timestamp', unit: 'us', timezone: 'UTC' }, nullable: false }])
  expect(await valuesThere(source)).toStrictEqual([[5_000n]])
})
