/**
 * A Parquet file with any byte changed or cut short gives the right values or a SourceError: never other values, never
 * another error, never a hang or a crash.
 *
 * Files written here carry checksums, so the law holds for them in full. Files of other writers have none for most
 * bytes; for those "the right values" is beyond anyone, and what is left is that reading ends with values or a
 * SourceError, in time.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/column.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/ports.ts'
import { fieldsOf } from '../src/core/schema.ts'
import { openArrow } from '../src/io/arrowFile.ts'
import { sourceFromRows } from '../src/io/memory.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeArrow } from '../src/io/writeArrow.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { columnsOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const RUNS = lawRuns(2_000)
/** For one damaged file of a few KiB. */
const ONE_READ_MS = 10_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-mutations-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Mutation = { readonly kind: 'flip'; readonly at: number; readonly bits: number } | { readonly kind: 'cut'; readonly at: number }

/** Positions as fractions, so that a mutation fits a file of any size; the ends, where the structure is, come often. */
const position = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  fc.integer({ min: 1, max: 400 }).map((back) => -back),
)
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('flip' as const), at: position, bits: fc.integer({ min: 1, max: 255 }) }), weight: 9 },
  { arbitrary: fc.record({ kind: fc.constant('cut' as const), at: position }), weight: 1 },
)

function mutated(bytes: Uint8Array, change: Mutation): Uint8Array {
  const at = change.at < 0 ? Math.max(0, bytes.length + change.at) : Math.floor(change.at * bytes.length)
  if (change.kind === 'cut') return bytes.slice(0, at)
  const copy = bytes.slice()
  copy[at] = (copy[at] ?? 0) ^ change.bits
  return copy
}

/** What reading a file came to: its columns, or the message of a SourceError. Anything else is thrown. */
async function read(
  open: (path: string) => Promise<ArraySource>,
  path: string,
): Promise<{ readonly columns: unknown } | { readonly refused: string }> {
  const started = performance.now()
  try {
    const source = await open(path)
    return { columns: [fieldsOf(source.element), await columnsOf(source)] }
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
  for (const compression of ['none', 'snappy'] as const) {
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
      { numRuns: RUNS / 2 },
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

test('Arrow files: values or a SourceError, in time', async () => {
  const { source, batches } = await smallTable()
  const path = join(folder, 'own.arrow')
  await writeArrow({ batches, element: source.element, path })
  const bytes = new Uint8Array(readFileSync(path))
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      writeFileSync(path, mutated(bytes, change))
      await read(openArrow, path)
    }),
    { numRuns: RUNS },
  )
})
