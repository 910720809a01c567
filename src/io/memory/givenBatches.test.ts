/** Tables of batches that come one after another. */
import { Field, Int32, Schema, tableFromArrays, Utf8 } from 'apache-arrow'
import { expect, test } from 'vitest'
import { rowReader } from '../../core/data/columnReaders.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { loadArrow } from '../arrow/arrowLibrary.ts'
import { readSplit } from '../readSplit.ts'
import { type BatchesOptions, type GivenBatches, openBatches } from './givenBatches.ts'

await loadArrow()

async function rowsOf(batches: GivenBatches<unknown>, options: BatchesOptions = {}): Promise<readonly unknown[]> {
  const source = await openBatches(batches, options, 2 ** 28)
  const names = fieldsOf(source.element).map(({ name }) => name)
  const found = await Promise.all(source.splits.map((split) => readSplit({ ...source, splits: [] }, split, names, undefined, {})))
  return found.flat().flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
}

async function* later<T>(...items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) {
    await Promise.resolve()
    yield item
  }
}

test('rows, record batches and tables, one after another', async () => {
  expect(await rowsOf(later([{ a: 1, b: 'x' }], [], [{ b: null, a: 2 }]))).toEqual([
    { a: 1, b: 'x' },
    { a: 2, b: null },
  ])
  expect(await rowsOf([[{ at: new Date(5), n: 7n }]])).toEqual([{ at: new Date(5), n: 7n }])
  const table = tableFromArrays({ n: BigInt64Array.of(1n, 2n), x: Float64Array.of(0.5, 1.5) })
  expect(await rowsOf(later(table, table.batches[0] as never))).toEqual([1, 2, 1, 2].map((n) => ({ n, x: n - 0.5 })))
  expect(await rowsOf([table], { int64: 'bigint' })).toEqual([1n, 2n].map((n) => ({ n, x: Number(n) - 0.5 })))
})

test('a schema says what the first batch does not', async () => {
  const schema = new Schema([new Field('id', new Int32(), false), new Field('note', new Utf8(), true)])
  expect(await rowsOf([], { schema })).toEqual([])
  expect(await rowsOf([[{ id: 1 }], [{ id: 2, note: 'x' }]], { schema })).toEqual([
    { id: 1, note: null },
    { id: 2, note: 'x' },
  ])
})

test('what makes no sense is told with its batch', async () => {
  const table = tableFromArrays({ a: Float64Array.of(1) })
  const failing = async function* () {
    yield [{ a: 1 }]
    await Promise.reject(new Error('the queue is gone'))
  }
  const asked: readonly GivenBatches<unknown>[] = [
    ...([[], 7, table, [7], [[7]], [[{ a: 1 }], [{ b: 1 }]], [[{ a: null }], [{ a: 'x' }]]] as never[]),
    ...[[[{ a: 1 }], table], failing()],
  ]
  const messages = await Promise.all(asked.map((batches) => rowsOf(batches).then(String, String)))
  expect(messages).toEqual([
    'PlanError: fromBatches() was given no batch, so nothing tells its columns.\nGive them with { schema }.',
    'PlanError: fromBatches() takes an iterable of batches, which may be asynchronous; it was given 7.',
    'PlanError: fromBatches() takes an iterable of batches, which may be asynchronous; it was given an instance of Table.\nWrite fromArrow(…) for a single one.',
    'PlanError: A batch of fromBatches() is a record batch or table of Arrow, or an array of rows; batch 0 is 7.',
    'PlanError: The rows of fromBatches() are objects; batch 0 has 7.',
    'PlanError: Batch 1 of fromBatches() has the columns b, and the first one has a.',
    'PlanError: Column "a" is utf8 in batch 1 of fromBatches(), and null in the first one.\nGive the types with { schema }.',
    'PlanError: Batch 1 of fromBatches() is of Arrow, and the first one is of rows.',
    'Error: the queue is gone',
  ])
})
