/** Writes batches as an uncompressed Arrow IPC file, a record batch for about every 64 K rows. */

import { ownBatch } from '../core/columnSlices.ts'
import { CategoryWriter } from './arrowCategories.ts'
import { type RecordBatch, RecordBatchFileWriter, type Schema } from './arrowLibrary.ts'
import { fileSchemaOf } from './arrowTypes.ts'
import { writeAtomically } from './atomicFile.ts'
import { regroup } from './regroup.ts'
import type { WriteRequest, Written } from './writeParquet.ts'

const BATCH_ROWS = 65_536

export async function writeArrow({ batches, element, path, signal }: WriteRequest<object>): Promise<Written> {
  const schema = fileSchemaOf(element)
  const categories = new CategoryWriter(schema, path)
  let rows = 0
  const recordBatches = async function* (): AsyncGenerator<RecordBatch, void, undefined> {
    for await (const batch of regroup(batches, element, BATCH_ROWS)) {
      rows += batch.length
      yield categories.recordBatch(ownBatch(batch))
    }
  }
  const bytes = await writeRecordBatches(path, schema, recordBatches(), signal)
  return { rows, bytes }
}

/** Writes record batches as a file that appears under its name when it is complete; gives its bytes. */
export async function writeRecordBatches(
  path: string,
  schema: Schema,
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  signal: AbortSignal | undefined,
): Promise<number> {
  return await writeAtomically(
    path,
    async (append) => {
      const writer = new RecordBatchFileWriter()
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
    signal,
  )
}

/** Comes after every promise that is already settled. */
function nothingYet(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)))
}
