/**
 * Of a compressed Arrow file any columns read as they do of one that is not compressed: whatever their types, whichever buffers are packed
 * and whichever are as they are, with dictionaries too.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { ColumnType } from '../src/core/data/schema.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { anyType, batchOf, columnsOf, tableOf } from './ioTables.ts'
import { lawRuns } from './lawRuns.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-packed-'))
afterAll(() => rmSync(folder, { recursive: true }))

const categories = fc.constantFrom<ColumnType>({ kind: 'utf8', category: 'i8' }, { kind: 'utf8', category: 'i32' })
const columnType = fc.oneof({ arbitrary: anyType, weight: 3 }, { arbitrary: categories, weight: 1 })

test('any columns of a compressed file are those of a file that is not compressed', async () => {
  const plain = join(folder, 'plain.arrow')
  const packed = join(folder, 'packed.arrow')
  const seen = { shorter: 0, all: 0 }
  await fc.assert(
    fc.asyncProperty(
      tableOf(columnType),
      fc.constantFrom('zstd' as const, 'lz4' as const),
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.nat(), { maxLength: 3 }),
      async (table, compression, times, picks) => {
        const batch = batchOf(table)
        const request = { batches: Array.from({ length: times }, () => batch), element: batch.element }
        const { bytes } = await writeArrow({ ...request, path: plain })
        const less = await writeArrow({ ...request, path: packed, options: { compression } })
        seen.all++
        if (less.bytes < bytes) seen.shorter++
        const names = [...new Set(picks.map((pick) => table.fields[pick % table.fields.length]?.name ?? ''))]
        const options = { int64: 'bigint' } as const
        // splits go to other threads
        const read = await columnsOf(structuredClone(await openArrow(packed, options)), names)
        expect(read).toStrictEqual(await columnsOf(await openArrow(plain, options), names))
      },
    ),
    { numRuns: lawRuns() },
  )
  expect(seen.shorter / seen.all).toBeGreaterThan(0.3)
})
