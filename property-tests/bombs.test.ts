/**
 * Small files that claim, or become, any size end with their rows or with a SourceError that names them, and in
 * memory that follows from the budget: what the decoder can have is bounded by WebAssembly itself, what it hands over
 * is counted, and so is what Arrow's forms become.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fieldsOf } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { newDecoder } from '../src/io/parquet/decoderModule.ts'
import { decodeLimits } from '../src/io/parquet/limits.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { bytesOfColumn } from '../src/io/regroup.ts'
import { ARROW_BOMBS } from './arrowBombs.ts'
import { type Bomb, PARQUET_BOMBS } from './parquetBombs.ts'

const MIB = 2 ** 20
const BUDGET = 64 * MIB
const folder = mkdtempSync(join(tmpdir(), 'distarray-bombs-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Rows of a file, read column by column and all at once; and the most bytes that one read gave. */
async function readAll(source: ArraySource): Promise<{ readonly rows: number; readonly bytes: number }> {
  const names = fieldsOf(source.element).map((field) => field.name)
  let rows = 0
  let bytes = 0
  for (const split of source.splits) {
    const batches = await readSplit(source, split, names)
    rows += batches.reduce((sum, batch) => sum + batch.length, 0)
    bytes = Math.max(
      bytes,
      batches.flatMap((batch) => batch.columns).reduce((sum, column) => sum + bytesOfColumn(column), 0),
    )
  }
  return { rows, bytes }
}

async function endOf(bomb: Bomb, path: string, open: (path: string) => Promise<ArraySource>): Promise<void> {
  writeFileSync(path, bomb.bytes())
  let outcome: { readonly rows: number; readonly bytes: number } | SourceError
  try {
    outcome = await readAll(await open(path))
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    outcome = error
  }
  if ('rows' in bomb.ends) {
    expect(outcome).toMatchObject({ rows: bomb.ends.rows })
    expect((outcome as { readonly bytes: number }).bytes).toBeLessThan(decodeLimits(BUDGET).groupBytes)
  } else {
    expect(outcome).toBeInstanceOf(SourceError)
    const { message, source } = outcome as SourceError
    expect(message.startsWith(path)).toBe(true)
    expect(source).toBe(path)
    expect(message).toContain(bomb.ends.refused)
  }
}

for (const bomb of PARQUET_BOMBS) {
  test(`Parquet: ${bomb.name}`, async () => {
    await endOf(bomb, join(folder, 'bomb.parquet'), (path) => openParquet(path, {}, BUDGET))
  })
}

for (const bomb of ARROW_BOMBS) {
  test(`Arrow: ${bomb.name}`, async () => {
    await endOf(bomb, join(folder, 'bomb.arrow'), (path) => openArrow(path, {}, BUDGET))
  })
}

test('all that decoding takes leaves half a GiB beyond the budget, and grows with it', () => {
  for (const budget of [MIB, 16 * MIB, 64 * MIB, 512 * MIB]) {
    const { quickBytes, slowBytes, columnBytes } = decodeLimits(budget)
    // both decoders beside what one column becomes, or one beside two forms of it; 100 MiB are the process itself
    expect(quickBytes + slowBytes + 100 * MIB).toBeLessThanOrEqual(budget + 512 * MIB)
    expect(Math.max(quickBytes, slowBytes) + 2 * columnBytes).toBeLessThanOrEqual(2 * budget + 512 * MIB)
  }
  expect(decodeLimits(Number.POSITIVE_INFINITY).columnBytes).toBe(512 * MIB)
})

test('the decoder has no more memory than it is given', () => {
  const wasm = newDecoder(4 * MIB)
  const memory = wasm.wasmMemory() as WebAssembly.Memory
  const pages = 64 - memory.buffer.byteLength / 65_536
  expect(() => memory.grow(pages + 1)).toThrow(RangeError)
  memory.grow(pages)
  expect(memory.buffer.byteLength).toBe(4 * MIB)
})
