import { afterAll, expect, test } from 'vitest'
import { lowerMarked as lower } from '../../../property-tests/lowerMarked.ts'
import type { Batch } from '../../core/data/column.ts'
import { rowReader } from '../../core/data/columnReaders.ts'
import type { ElementType } from '../../core/data/schema.ts'
import { TaskError } from '../../core/errors.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import type { AggregateCall, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { sourceFromRows } from '../../io/memory/memory.ts'
import { readSplit } from '../../io/readSplit.ts'
import { HANDLERS } from '../../session/taskHandlers.ts'
import { createArena } from '../memory/sharedArena.ts'
import { createPool } from '../workers/pool.ts'
import type { WorkerPool } from '../workers/worker.ts'
import { Executor } from './executor.ts'
import type { ExecutorEvent } from './executorOptions.ts'

const arena = createArena({ budgetBytes: 2 ** 28 })
const handlers = { url: new URL('../../session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 2, arena, handlers })
const inline = createPool({ workers: 1, arena, handlers })
afterAll(async () => {
  await pool.stop()
  await inline.stop()
})

const events: ExecutorEvent[] = []
const base = { arena, readSplit, lower, onEvent: (event: ExecutorEvent) => events.push(event) }
const executors = [
  new Executor({ ...base, pool: inline }),
  new Executor({ ...base, pool, smallRows: 0, partitionRows: 7 }),
  new Executor({ ...base, pool: inline, smallRows: 0, partitionRows: 1 }),
]

const span = { line: 1, column: 1, text: '' }
const UNKNOWN: ElementType = { kind: 'unknown' }
const TABLE = { kind: 'rowNumber' } as const

/** A function as the front end gives it when it refuses it, but can print it. */
function opaque(original: (...args: never[]) => unknown): UserFunction {
  return { original, text: original.toString(), span, refusals: [], portable: { source: `return ${original.toString()}`, captures: {} } }
}

function table(rows: readonly unknown[]): LogicalPlan {
  const source = sourceFromRows(rows)
  const columns = source.element.kind === 'row' ? source.element.fields.map((field) => field.name) : ['value']
  return { kind: 'Scan', source, columns, element: source.element, keys: TABLE }
}

function valuesOf(batches: readonly Batch[]): unknown[] {
  return batches.flatMap((batch) => {
    const read = rowReader(batch)
    return Array.from({ length: batch.length }, (_, i) => read(i))
  })
}

async function everywhere(plan: LogicalPlan): Promise<unknown[]> {
  const results = []
  for (const executor of executors) {
    results.push(valuesOf(await executor.execute(plan)))
    const streamed: Batch[] = []
    for await (const batch of executor.stream(plan)) streamed.push(batch)
    results.push(valuesOf(streamed))
  }
  for (const other of results) expect(other).toEqual(results[0])
  expect(arena.usedBytes).toBe(0)
  return results[0] ?? []
}

async function errorOf(plan: LogicalPlan): Promise<Error> {
  const errors: Error[] = []
  for (const executor of executors)
    errors.push(
      await executor.execute(plan).then(
        () => new Error('no error'),
        (error: Error) => error,
      ),
    )
  for (const error of errors) expect(error.message).toBe(errors[0]?.message)
  expect(arena.usedBytes).toBe(0)
  return errors[0] as Error
}

const orders = table(Array.from({ length: 30 }, (_, i) => ({ shop: `s${i % 3}`, price: i, note: i % 4 === 0 ? null : `n${i}` })))
const map = (input: LogicalPlan, f: (...args: never[]) => unknown): LogicalPlan => ({
  kind: 'Map',
  input,
  f: opaque(f),
  element: UNKNOWN,
  keys: TABLE,
})
const filter = (input: LogicalPlan, f: (...args: never[]) => unknown): LogicalPlan => ({
  kind: 'Filter',
  input,
  f: opaque(f),
  element: input.element,
  keys: TABLE,
})

test('filter and map run in order, and a filtered table is numbered anew', async () => {
  const plan = map(
    filter(orders, (r: { price: number }) => r.price % 2 === 1),
    (r: { price: number }, [i]: [number]) => ({ i, price: r.price }),
  )
  expect(await everywhere(plan)).toEqual(Array.from({ length: 15 }, (_, i) => ({ i, price: 2 * i + 1 })))
})

test('groups come in order of first appearance, objects give their own columns', async () => {
  const aggregates: AggregateCall[] = [
    { name: 'total', kind: 'sum', of: opaque((r: { price: number }) => r.price) },
    { name: 'rows', kind: 'count' },
    { name: 'notes', kind: 'count', of: opaque((r: { note: string }) => r.note) },
    { name: 'last', kind: 'last', of: opaque((r: { note: string }) => r.note) },
  ]
  const by = (f: (...args: never[]) => unknown): LogicalPlan => ({
    kind: 'GroupBy',
    input: orders,
    by: { kind: 'function', f: opaque(f) },
    how: { kind: 'agg', aggregates },
    element: UNKNOWN,
    keys: TABLE,
  })
  expect(await everywhere(by((r: { shop: string }) => r.shop))).toEqual([
    { key: 's0', total: 135, rows: 10, notes: 7, last: 'n27' },
    { key: 's1', total: 145, rows: 10, notes: 7, last: null },
    { key: 's2', total: 155, rows: 10, notes: 8, last: 'n29' },
  ])
  const byObject = await everywhere(by((r: { shop: string; price: number }) => ({ shop: r.shop, big: r.price > 20 })))
  expect(byObject[0]).toEqual({ shop: 's0', big: false, total: 63, rows: 7, notes: 5, last: 'n18' })
})

test('an exception is a TaskError with the row of the whole table', async () => {
  const plan = map(
    filter(orders, (r: { price: number }) => r.price >= 10),
    (r: { price: number }) => {
      if (r.price === 27) throw new RangeError('27 is too much')
      return 1
    },
  )
  const error = await errorOf(plan)
  expect(error).toBeInstanceOf(TaskError)
  expect(error.message).toBe('map: the function threw at row 17: 27 is too much')
  expect(error).toMatchObject({ key: [17], cause: { message: '27 is too much', name: 'RangeError' } })
})

test('a limit takes the first elements', async () => {
  const plan: LogicalPlan = {
    kind: 'Limit',
    input: map(orders, (r: { price: number }) => r.price),
    count: 9,
    element: UNKNOWN,
    keys: TABLE,
  }
  expect(await everywhere(plan)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})

test('a function that cannot be sent runs on the caller, in row order, and says so', async () => {
  let seen = 0
  const f: UserFunction = {
    original: () => seen++,
    text: '() => seen++',
    span,
    refusals: [{ code: 'assigns-captured-variable', message: 'it assigns seen', cure: 'use an accumulator' }],
  }
  const plan: LogicalPlan = { kind: 'Map', input: orders, f, element: UNKNOWN, keys: TABLE }
  events.length = 0
  const executor = executors[1] as Executor
  expect(valuesOf(await executor.execute(plan))).toEqual(Array.from({ length: 30 }, (_, i) => i))
  expect(events.filter((event) => event.kind === 'fallback')).toEqual([
    { kind: 'fallback', what: 'MapExec () => seen++', because: 'it assigns seen', span, cure: 'use an accumulator', runs: 'caller' },
  ])
})

test('an abort rejects with its reason and leaves no memory behind', async () => {
  const controller = new AbortController()
  const plan = map(orders, (r: { price: number }) => {
    const until = Date.now() + 30
    while (Date.now() < until);
    return r.price
  })
  const running = (executors[1] as Executor).execute(plan, { signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await expect(running).rejects.toThrow('enough')
  await expect((executors[0] as Executor).execute(orders, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  expect(arena.usedBytes).toBe(0)
})

test('tasks of more than ten workers listen to one signal, and Node is not told of a leak', async () => {
  const many = Object.assign(Object.create(pool) as WorkerPool, { size: 12 })
  const executor = new Executor({ ...base, pool: many, smallRows: 0 })
  const heard: Error[] = []
  const hear = (warning: Error): number => heard.push(warning)
  process.on('warning', hear)
  try {
    const input = table([3, 1, 3, 2, 1])
    const plan: LogicalPlan = { kind: 'Distinct', input, element: input.element, keys: TABLE }
    expect(valuesOf(await executor.execute(plan, { signal: new AbortController().signal }))).toEqual([3, 1, 2])
    await new Promise((resolve) => setImmediate(resolve)) // Node says it then
  } finally {
    process.off('warning', hear)
  }
  expect(heard).toEqual([])
})
