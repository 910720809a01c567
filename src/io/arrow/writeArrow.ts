/** Writes batches as an Arrow IPC file, a record batch for about every 64 K rows. */

import { ownBatch } from '../../core/data/columnSlices.ts'
import type { ArrowCompression } from '../../core/engine.ts'
import type { WriteAccess } from '../../core/ports.ts'
import { writeAtomically } from '../bytes/atomicFile.ts'
import { loadParquet } from '../parquet/parquetLibrary.ts'
import { regroup } from '../regroup.ts'
import type { WriteRequest, Written } from '../writeParquet.ts'
import { CategoryWriter } from './arrowCategories.ts'
import { type RecordBatch, RecordBatchFileWriter, type Schema } from './arrowLibrary.ts'
import { packingWriter } from './arrowPacking.ts'
import { fileSchemaOf } from './arrowTypes.ts'

const BATCH_ROWS = 65_536

export interface WriteArrowOptions {
  /** Default: none. */
  readonly compression?: ArrowCompression
}

export async function writeArrow({
  batches,
  element,
  path,
  options = {},
  encoder: _,
  ...access
}: WriteRequest<WriteArrowOptions>): Promise<Written> {
  const schema = fileSchemaOf(element)
  const categories = new CategoryWriter(schema, path)
  let rows = 0
  const recordBatches = async function* (): AsyncGenerator<RecordBatch, void, undefined> {
    for await (const batch of regroup(batches, element, BATCH_ROWS)) {
      rows += batch.length
      yield categories.recordBatch(ownBatch(batch))
    }
  }
  const { compression } = options
  if (compression !== undefined) await loadParquet() // whose codecs these are
  const writer = compression === undefined ? new RecordBatchFileWriter() : packingWriter(compression)
  const bytes = await writeRecordBatches({ path, schema, writer }, recordBatches(), access)
  return { rows, bytes }
}

interface ArrowOutput {
  readonly path: string
  readonly schema: Schema
  /** The writer to use. Default: one that compresses nothing. */
  readonly writer?: RecordBatchFileWriter
}

/** Writes record batches as a file that appears under its name when it is complete; gives its bytes. */
export async function writeRecordBatches(
  { path, schema, writer = new RecordBatchFileWriter() }: ArrowOutput,
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  access: WriteAccess,
): Promise<number> {
  return await writeAtomically(
    path,
    async (append) => {
      const chunks = writer[Symbol.asyncIterator]()
      let asked = chunks.next()
      /** Writes out what the writer has made so far; it hands over a chunk for each call of `next`. */
      const drain = async (): Promise<void> => {
        for (;;) {
          const next = await Promise.race([asked, nothingYet()])
          if (next === undefined || next.done) return
          await append(next.value)
          asked = chunks.next()
        }
      }
      writer.reset(undefined, schema)
      for await (const batch of batches) {
        writer.write(batch)
        await drain()
      }
      writer.finish()
      for (let next = await asked; !next.done; next = await chunks.next()) await append(next.value)
    },
    access,
  )
}

/** Comes after every promise that is already settled. */
function nothingYet(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)))
}
