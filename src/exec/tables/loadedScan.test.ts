/** What is not read whole, however much memory there is. */
import { expect, test } from 'vitest'
import { createArena } from '../memory/sharedArena.ts'
import { loadedScan, scanToLoad } from './loadedScan.ts'
import type { ExecBatch } from './operators/batches.ts'
import type { Scan } from './scanSplits.ts'

test('texts of more than 2 GiB in one column are not read whole, and nothing is kept of them', async () => {
  const arena = createArena({ budgetBytes: 2 ** 24 })
  const element = { kind: 'row' as const, fields: [{ name: 's', type: { kind: 'utf8' as const }, nullable: false }] }
  const splits = [
    { rows: 1, detail: 0 },
    { rows: 1, detail: 1 },
  ] // of 1 GiB and a byte each, as their offsets say
  const source = { kind: 'parquet' as const, name: 'texts.parquet', element, splits, detail: undefined }
  const scan: Scan = { kind: 'ScanExec', source, columns: ['s'], element, keys: { kind: 'rowNumber' } }
  const text = { type: { kind: 'utf8' as const }, length: 1, offsets: Int32Array.of(0, 2 ** 30), values: new Uint8Array() }
  const batch: ExecBatch = { element, length: 1, columns: [text] }
  const services = {
    arena,
    workers: 1,
    run: async () => ({ batches: [batch, batch], rowsIn: [], blocks: [] }),
    free: () => undefined,
    onProgress: () => undefined,
  }
  await expect(loadedScan(scan, services)).rejects.toThrow(
    'A column of texts takes more than 2 GiB. Cut the file into smaller ones, or select fewer rows.',
  )
  expect(arena.usedBytes).toBe(0)
  // where pages say so, nothing is read
  const large = splits.map((split) => ({ ...split, columnBytes: new Map([['s', 2 ** 30]]) }))
  const room = { arena: createArena({ budgetBytes: 2 ** 20 }), smallRows: 0 }
  const tooLarge = { ...scan, source: { ...source, splits: large } }
  expect(scanToLoad(tooLarge, room)).toStrictEqual({ because: 'a column has more than 2 GiB of texts', tooLarge })
})
