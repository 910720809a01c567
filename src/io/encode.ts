/**
 * Encoding of what is written: batches as bytes, by whoever has a core to spare, in their order.
 *
 *     batch 0 --> worker --> bytes --> appended
 *     batch 1 --> worker --> bytes --> appended behind them
 */
import type { Batch } from '../core/column.ts'
import { csvRecords } from './csvBytes.ts'
import { encodeGroup, type GroupEncoding } from './parquet/encodeGroup.ts'

/** A batch, and what becomes of it. Plain data, so that any thread can do it. */
export type EncodeTask = { readonly batch: Batch } & ({ readonly format: 'csv' } | ({ readonly format: 'parquet' } & GroupEncoding))

/** Who encodes. */
export interface Encoder {
  /** Batches worth encoding at once. */
  readonly width: number
  readonly run: (task: EncodeTask) => Promise<Uint8Array>
}

/** Does a task, in any thread. */
export function encode(task: EncodeTask): Uint8Array {
  return task.format === 'csv' ? csvRecords(task.batch) : encodeGroup(task.batch, task)
}

/** On the thread that asks. */
const HERE: Encoder = { width: 1, run: async (task) => encode(task) }

/** The bytes of each task in the tasks' order; a few of them are under way while the first is waited for. */
export async function* encodedInOrder(tasks: AsyncIterable<EncodeTask>, { width, run }: Encoder = HERE): AsyncGenerator<Uint8Array> {
  const underWay: Promise<Uint8Array>[] = []
  try {
    for await (const task of tasks) {
      const bytes = run(task)
      bytes.catch(() => undefined) // whoever waits for it hears of it
      underWay.push(bytes)
      if (underWay.length >= width) yield await (underWay.shift() as Promise<Uint8Array>) // there is one
    }
    while (underWay.length > 0) yield await (underWay.shift() as Promise<Uint8Array>) // there is one
  } finally {
    await Promise.allSettled(underWay)
  }
}
