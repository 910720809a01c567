/**
 * A Parquet file with any bytes changed, moved or cut gives the right values or a SourceError: never other values, never
 * another error, never a hang or a crash, and never more memory than the budget allows.
 *
 * Files written here carry checksums, so the law holds for them in full. Files of other writers have none for most
 * bytes; for those "the right values" is beyond anyone, and what is left is that reading ends with values or a
 * SourceError, in time.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  Bool,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int8,
  Int32,
  LargeUtf8,
  Null,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { decodeLimits } from '../src/io/parquet/limits.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { bytesOfColumn } from '../src/io/regroup.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { batchMessage, dictionaryMessage, i32, i64, ints, schemaMessage, stream, table, u8 } from './arrowFiles.ts'
import { plainOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const RUNS = lawRuns(2_000)
const CODECS = ['none', 'snappy', 'zstd'] as const
const BUDGET_BYTES = 64 * 2 ** 20
/** For one damaged file of a few KiB. */
const ONE_READ_MS = 10_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-mutations-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Bits, a number that a length or offset may be, bytes of elsewhere in the file, or the end of it. */
type Mutation =
  | { readonly kind: 'flip'; readonly at: number; readonly bits: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'patch'; readonly at: number; readonly value: bigint; readonly bytes: 1 | 2 | 4 | 8 }
  | { readonly kind: 'splice'; readonly at: number; readonly from: number; readonly bytes: number }

/** Positions as fractions, so that a mutation fits a file of any size; the ends, where the structure is, come often. */
const position = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  fc.integer({ min: 1, max: 400 }).map((back) => -back),
)
const EXTREMES = [0n, 1n, 127n, 255n, 65_535n, 2n ** 24n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 40n, 2n ** 62n, 2n ** 64n - 1n] as const
const oneMutation: fc.Arbitrary<Mutation> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('flip' as const), at: position, bits: fc.integer({ min: 1, max: 255 }) }), weight: 6 },
  { arbitrary: fc.record({ kind: fc.constant('cut' as const), at: position }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant('patch' as const),
      at: position,
      value: fc.constantFrom(...EXTREMES),
      bytes: fc.constantFrom(1 as const, 2 as const, 4 as const, 8 as const),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('splice' as const),
      at: position,
      from: position,
      bytes: fc.integer({ min: 1, max: 64 }),
    }),
    weight: 2,
  },
)
/** Mostly one change, as a second one often hides the first. */
const mutation = fc.oneof(
  { arbitrary: oneMutation.map((one): readonly Mutation[] => [one]), weight: 4 },
  { arbitrary: fc.array(oneMutation, { minLength: 2, maxLength: 4 }), weight: 1 },
)

function mutated(bytes: Uint8Array, changes: readonly Mutation[]): Uint8Array {
  return changes.reduce(changed, bytes)
}

function changed(bytes: Uint8Array, change: Mutation): Uint8Array {
  const place = (at: number): number => (at < 0 ? Math.max(0, bytes.length + at) : Math.floor(at * bytes.length))
  const at = place(change.at)
  if (change.kind === 'cut') return bytes.slice(0, at)
  const copy = bytes.slice()
  if (change.kind === 'flip') copy[at] = (copy[at] ?? 0) ^ change.bits
  else if (change.kind === 'splice') {
    const from = place(change.from)
    copy.set(bytes.subarray(from, from + Math.min(change.bytes, copy.length - at)), at)
  } else for (let i = 0; i < change.bytes && at + i < copy.length; i++) copy[at + i] = Number((change.value >> BigInt(8 * i)) & 255n)
  return copy
}

/** All rows column by column. What one read gives stays within what the budget allows, whatever the file says. */
async function valuesOf(source: ArraySource): Promise<unknown[][]> {
  const names = fieldsOf(source.element).map((field) => field.name)
  const values: unknown[][] = names.map(() => [])
  for (const split of source.splits) {
    const columns = (await readSplit(source, split, names)).flatMap((batch) => batch.columns.map((column, i) => ({ column, i })))
    expect(columns.reduce((sum, { column }) => sum + bytesOfColumn(column), 0)).toBeLessThan(decodeLimits(BUDGET_BYTES).groupBytes)
    for (const { column, i } of columns) for (let row = 0; row < column.length; row++) values[i]?.push(plainOf(column, row))
  }
  return values
}

/** What reading a file came to: its columns, or the message of a SourceError. Anything else is thrown. */
async function read(
  open: (path: string, options: object, budgetBytes: number) => Promise<ArraySource>,
  path: string,
): Promise<{ readonly columns: unknown } | { readonly refused: string }> {
  const started = performance.now()
  try {
    const source = await open(path, { int64: 'bigint' }, BUDGET_BYTES)
    return { columns: [fieldsOf(source.element), await valuesOf(source)] }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { refused: error.message }
  } finally {
    expect(performance.now() - started).toBeLessThan(ONE_READ_MS)
  }
}

async function smallTable(): Promise<{ source: ArraySource; batches: readonly Batch[] }> {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    id: i,
    big: BigInt(i) * 1_000_003n,
    name: i % 5 === 0 ? null : `name ${i % 7}`,
    day: new Date(i * 86_400_000),
    flag: i % 2 === 0,
    tags: i % 3 === 0 ? [] : [`t${i}`, null],
    at: { x: i / 8, y: -i },
  }))
  const source = sourceFromRows(rows)
  const [split] = source.splits
  if (split === undefined) throw new Error('a table of 40 rows has a split')
  return {
    source,
    batches: await readSplit(
      source,
      split,
      fieldsOf(source.element).map((field) => field.name),
    ),
  }
}

test('Parquet files written here: right values or a SourceError', async () => {
  const { source, batches } = await smallTable()
  const path = join(folder, 'own.parquet')
  for (const compression of CODECS) {
    await writeParquet({ batches, element: source.element, path, options: { compression, rowGroupRows: 16 } })
    const bytes = new Uint8Array(readFileSync(path))
    const right = await read(openParquet, path)
    expect('columns' in right).toBe(true)
    await fc.assert(
      fc.asyncProperty(mutation, async (change) => {
        writeFileSync(path, mutated(bytes, change))
        const result = await read(openParquet, path)
        if ('columns' in result) expect(result).toStrictEqual(right)
        else expect(result.refused).toContain('own.parquet')
      }),
      { numRuns: Math.ceil(RUNS / CODECS.length) },
    )
  }
})

const CORPUS = fileURLToPath(new URL('../../shared/corpora/parquet-testing/data', import.meta.url))
const foreign = existsSync(CORPUS)
  ? readdirSync(CORPUS)
      .filter((file) => file.endsWith('.parquet') && statSync(join(CORPUS, file)).size < 6000)
      .map((file) => join(CORPUS, file))
  : []
if (foreign.length === 0) console.warn(`\n*** SKIPPED: mutations of the parquet-testing corpus, which is not at ${CORPUS}. ***\n`)

test.skipIf(foreign.length === 0)(
  'Parquet files of other writers: values or a SourceError, in time',
  async () => {
    const files = foreign.map((path) => new Uint8Array(readFileSync(path)))
    const path = join(folder, 'foreign.parquet')
    await fc.assert(
      fc.asyncProperty(fc.nat(files.length - 1), mutation, async (file, change) => {
        writeFileSync(path, mutated(files[file] ?? new Uint8Array(0), change))
        await read(openParquet, path)
      }),
      { numRuns: RUNS },
    )
  },
  600_000,
)

/** What writers make of one table: a file and a stream, with dictionaries, views, 64-bit offsets, lists, maps, decimals. */
async function arrowFiles(): Promise<Uint8Array[]> {
  const { source, batches } = await smallTable()
  const path = join(folder, 'own.arrow')
  const own: Uint8Array[] = []
  // many rows, so that packing makes buffers shorter
  const many = Array.from({ length: 30 }, () => batches).flat()
  for (const options of [{}, { compression: 'zstd' }, { compression: 'lz4' }] as const) {
    await writeArrow({ batches: 'compression' in options ? many : batches, element: source.element, path, options })
    own.push(new Uint8Array(readFileSync(path)))
  }
  const texts = vectorFromArray(['one', null, 'two', 'one'], new Dictionary(new Utf8(), new Int8()))
  const written = new Table({
    texts,
    large: vectorFromArray(['a', 'bb', null, 'dddd'], new LargeUtf8()),
    fixed: vectorFromArray([Uint8Array.of(1, 2), null, Uint8Array.of(3, 4), Uint8Array.of(5, 6)], new FixedSizeBinary(2)),
    pairs: vectorFromArray([[1, 2], [3, 4], null, [5, 6]], new FixedSizeList(2, new Field('item', new Int32()))),
    flags: vectorFromArray([true, null, false, true], new Bool()),
    none: vectorFromArray([null, null, null, null], new Null()),
  })
  return [...own, tableToIPC(written, 'file'), tableToIPC(written, 'stream'), byHand()]
}

/** Views and a dictionary of lists, which the writer above does not make. */
function byHand(): Uint8Array {
  const NONE = new Uint8Array(0)
  const views = Buffer.alloc(32)
  views.writeInt32LE(3, 0)
  views.write('abc', 4)
  views.writeInt32LE(20, 16)
  const item = { name: 'item', type: 2, parameters: [i32(32), u8(1)] }
  return stream(
    schemaMessage([
      { name: 'views', type: 24 },
      { name: 'lists', type: 12, children: [item], dictionary: [i64(0), table(i32(8), u8(1))] },
    ]),
    dictionaryMessage(0, {
      rows: 2,
      nodes: [
        [2, 0],
        [3, 0],
      ],
      buffers: [NONE, ints(0, 1, 3), NONE, ints(7, 8, 9)],
    }),
    batchMessage({
      rows: 2,
      nodes: [
        [2, 0],
        [2, 0],
      ],
      buffers: [NONE, views, Buffer.alloc(20, 97), NONE, Uint8Array.of(1, 0)],
      variadic: [1],
    }),
  )
}

test('Arrow files: values or a SourceError, in time', async () => {
  const files = await arrowFiles()
  const path = join(folder, 'any.arrow')
  for (const file of files) {
    writeFileSync(path, file)
    expect(await read(openArrow, path), `${files.indexOf(file)}`).toHaveProperty('columns')
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(files.length - 1), mutation, async (file, change) => {
      writeFileSync(path, mutated(files[file] ?? new Uint8Array(0), change))
      await read(openArrow, path)
    }),
    { numRuns: RUNS },
  )
})
