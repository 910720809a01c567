/**
 * Encoding of what is written: batches as bytes, by whoever has a core to spare, in their order.
 *
 *     batches --> worker --> bytes --> appended
 *     batches --> worker --> bytes --> appended behind them
 */
import type { Batch } from '../core/data/column.ts'
import type { ElementType } from '../core/data/schema.ts'
import { type CsvForm, csvRecords } from './csv/csvBytes.ts'
import { ndjsonRecords } from './json/ndjsonBytes.ts'
import { LENT_BY_NOBODY, type Lent } from './lent.ts'
import { encodeGroup, type GroupEncoding } from './parquet/writing/encodeGroup.ts'
import { joinBatches } from './regroup.ts'

/** The task to put batches together and encode them in a format. Plain data, so that any thread can do it. */
export type EncodeTask = { readonly parts: readonly Batch[]; readonly element: ElementType } & (
  | ({ readonly format: 'csv' } & CsvForm)
  | { readonly format: 'ndjson' }
  | ({ readonly format: 'parquet' } & GroupEncoding)
)

/** A task, and the batches that nobody needs once it is done and those before it are. */
export interface Encoding {
  readonly task: EncodeTask
  readonly ended: readonly Batch[]
}

/** The means of encoding: this thread, or the workers. */
export interface Encoder {
  /** The number of tasks worth doing at once. */
  readonly width: number
  readonly run: (task: EncodeTask) => Promise<Uint8Array>
  /** Called with each batch that is no longer needed. */
  readonly done?: (batch: Batch) => void
  /** Called with the bytes of `run` once nobody reads them any more. */
  readonly appended?: (bytes: Uint8Array) => void
}

/** Encodes the batches of a task, in any thread. */
export function encode(task: EncodeTask, lent: Lent = LENT_BY_NOBODY): Uint8Array {
  const whole = (): Batch => joinBatches(task.parts, task.element, lent.newArray)
  switch (task.format) {
    case 'csv':
      return csvRecords(whole(), task, lent)
    case 'ndjson':
      return ndjsonRecords({ ...whole(), element: task.element }, lent)
    case 'parquet':
      return encodeGroup(task, task, lent)
  }
}

/** The encoder that runs on the thread that asks. */
const HERE: Encoder = { width: 1, run: async (task) => encode(task) }

/** The bytes of each task in the tasks' order; a few of them are under way while the first is waited for. */
export async function* encodedInOrder(
  encodings: AsyncIterable<Encoding>,
  { width, run, done = () => undefined, appended = () => undefined }: Encoder = HERE,
): AsyncGenerator<Uint8Array> {
  const underWay: { readonly bytes: Promise<Uint8Array>; readonly ended: readonly Batch[] }[] = []
  const next = async function* (): AsyncGenerator<Uint8Array> {
    const { bytes, ended } = underWay.shift() as (typeof underWay)[number] // there is one
    const found = await bytes
    for (const batch of ended) done(batch)
    try {
      yield found
    } finally {
      appended(found)
    }
  }
  try {
    for await (const { task, ended } of encodings) {
      const bytes = run(task)
      bytes.catch(() => undefined) // whoever waits for it hears of it
      underWay.push({ bytes, ended })
      if (underWay.length >= width) yield* next()
    }
    while (underWay.length > 0) yield* next()
  } finally {
    for (const end of await Promise.allSettled(underWay.map(({ bytes }) => bytes))) if (end.status === 'fulfilled') appended(end.value)
  }
}
