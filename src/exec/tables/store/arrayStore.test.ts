import { expect, test } from 'vitest'
import type { Storage } from '../../../core/arrays/storage.ts'
import type { Batch } from '../../../core/data/column.ts'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { rowReader } from '../../../core/data/columnReaders.ts'
import type { DType } from '../../../core/data/schema.ts'
import { PlanError, TaskError } from '../../../core/errors.ts'
import type { UserFunction } from '../../../core/ir/functionIr.ts'
import type { LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import { type StorageForm, storageFromBatches } from '../../arrays/fromBatches.ts'
import { assignSlice, atKey, batchesFromStorage, setKey, toTypedArray } from '../../arrays/index.ts'
import { createArena } from '../../memory/sharedArena.ts'
import { ArrayStore } from './arrayStore.ts'

const f64 = { kind: 'scalar', type: { kind: 'f64' }, nullable: false } as const

function zeros(shape: readonly number[], dtype: DType = 'f64'): LogicalPlan {
  return {
    kind: 'Array',
    name: `zeros([${shape.join(', ')}])`,
    shape,
    dtype,
    init: { kind: 'zeros' },
    element: { kind: 'scalar', type: { kind: dtype }, nullable: false },
    keys: { kind: 'explicit', rank: shape.length, shape, dense: true },
  }
}
function userFunction(original: (...args: never[]) => unknown): UserFunction {
  return { original, text: String(original), span: { line: 1, column: 1, text: '' }, refusals: [] }
}
function map(input: LogicalPlan, f: (value: never) => unknown): LogicalPlan {
  return { kind: 'Map', input, f: userFunction(f), element: f64, keys: input.keys }
}
function materialize(input: LogicalPlan): LogicalPlan {
  return { kind: 'Materialize', input, element: input.element, keys: input.keys }
}

interface Setup {
  readonly store: ArrayStore
  readonly runs: string[]
  readonly used: () => number
}
/** A store over the dullest executor: Stored leaves and maps, run as they stand. */
function setUp(): Setup {
  const arena = createArena({ budgetBytes: 2 ** 24 })
  const runs: string[] = []
  const batchesOf = (plan: LogicalPlan): Batch[] => {
    if (plan.kind === 'Stored') return batchesFromStorage(plan.storage, { rowsPerBatch: 1000 })
    if (plan.kind !== 'Map') throw new Error(`cannot run ${plan.kind}`)
    return batchesOf(plan.input).map((batch) => {
      const read = rowReader(batch)
      const call = plan.f.original as (value: unknown) => unknown
      const values = Array.from({ length: batch.length }, (_, i) => call(read(i)))
      return { ...batch, element: f64, columns: [columnFromValues(values, { kind: 'f64' })] }
    })
  }
  const execute = async (plan: LogicalPlan): Promise<Batch[]> => {
    runs.push(plan.kind)
    await new Promise(setImmediate)
    return batchesOf(plan)
  }
  const index = async (plan: LogicalPlan, form: StorageForm): Promise<Storage> =>
    storageFromBatches(await execute(plan.kind === 'IndexBuild' ? plan.input : plan), form, arena)
  const lookup = (): never => {
    throw new Error('queries are for other tests')
  }
  return { store: new ArrayStore({ arena, index, lookup }), runs, used: () => arena.usedBytes }
}
const context = { method: 'set', name: 'A', arena: createArena({ budgetBytes: 2 ** 24 }) }
const set = (key: readonly number[], value: number) => (storage: Storage) => setKey(storage, key, value, context)
const values = (storage: Storage): number[] => Array.from(toTypedArray(storage, 'A') as Float64Array)

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

test('arrays own storage from their first use; plans over them read what they hold', async () => {
  const { store, runs } = setUp()
  const a = zeros([4])
  const doubled = map(a, (x: number) => x * 2)
  await store.write(a, set([1], 5))
  expect(await store.read(doubled, values, { keep: false })).toEqual([0, 10, 0, 0])
  await store.write(a, set([1], 6))
  expect(await store.read(doubled, values, { keep: false })).toEqual([0, 12, 0, 0])
  expect(runs).toEqual(['Map', 'Map'])
  const resolved = await store.resolve(doubled)
  expect(resolved).toMatchObject({ kind: 'Map', input: { kind: 'Stored', name: 'zeros([4])', keys: { shape: [4], dense: true } } })
  expect(await store.resolve(resolved)).toBe(resolved)
})

test('what a query computed is kept until something below it is written', async () => {
  const { store, runs, used } = setUp()
  const a = zeros([4])
  const doubled = map(a, (x: number) => x * 2)
  const again = map(doubled, (x: number) => x + 1)
  const first = await Promise.all([1, 2, 3].map((key) => store.read(doubled, (storage) => atKey(storage, [key], 'A'))))
  expect(first).toEqual([0, 0, 0])
  expect(runs).toEqual(['Map'])
  expect(store.stats(doubled)).toEqual({ storage: 'kept', built: 1, queries: 3, version: 0 })
  expect(await store.resolve(again)).toMatchObject({ kind: 'Map', input: { kind: 'Stored', name: 'zeros([4]).map(…)' } })
  const before = used()
  const version = store.plans.version(again)
  await store.write(a, set([1], 5))
  expect(store.plans.version(again)).not.toBe(version)
  expect(store.stats(doubled).storage).toBe('none')
  expect(await store.read(again, values)).toEqual([1, 11, 1, 1])
  expect(await store.read(doubled, values)).toEqual([0, 10, 0, 0])
  expect(store.stats(doubled)).toMatchObject({ storage: 'kept', built: 2, queries: 4 })
  expect(used()).toBe(before + 128) // the storage of `again`; the old one of `doubled` was freed
})

test('materialize keeps what its input held at its first use; a copy of an array is another array', async () => {
  const { store } = setUp()
  const a = zeros([3])
  const copy = materialize(a)
  const lazy = materialize(map(a, (x: number) => x + 1))
  expect(await store.read(copy, values)).toEqual([0, 0, 0])
  expect(await store.read(lazy, values)).toEqual([1, 1, 1])
  await store.write(a, set([0], 9))
  await store.write(copy, set([2], 4))
  expect(await store.read(a, values)).toEqual([9, 0, 0])
  expect(await store.read(copy, values)).toEqual([0, 0, 4])
  expect(await store.read(lazy, values)).toEqual([1, 1, 1])
  expect(new Set([a, copy, lazy].map((node) => store.plans.identity(node))).size).toBe(3)
  expect(store.plans.identity(a)).toBe(store.plans.identity(a))
})

test('a lazy array that is written owns its storage from then on', async () => {
  const { store } = setUp()
  const a = zeros([3])
  const b = map(a, (x: number) => x + 1)
  const c = map(b, (x: number) => x * 10)
  await store.write(b, set([1], 7))
  await store.write(a, set([0], 100))
  expect(await store.read(b, values)).toEqual([1, 7, 1])
  expect(await store.read(c, values, { keep: false })).toEqual([10, 70, 10])
  expect(store.stats(b).storage).toBe('owned')
})

test('a write that throws changes nothing, and a lazy array stays lazy', async () => {
  const { store } = setUp()
  const a = zeros([3])
  const b = map(a, (x: number) => x + 1)
  expect((await errorOf(store.write(b, set([3], 7)))).message).toContain('The key [3] is outside')
  await store.write(a, set([0], 100))
  expect(await store.read(b, values)).toEqual([101, 1, 1])
  const both = [store.write(b, set([0], 5)), errorOf(store.write(b, set([3], 7)))]
  await Promise.all(both)
  await store.write(a, set([0], 0))
  expect(await store.read(b, values)).toEqual([5, 1, 1])
})

test('an array written in place and released is gone; others come again', async () => {
  const { store, runs, used } = setUp()
  const [a, b] = [zeros([3]), zeros([5])]
  const lazy = materialize(map(b, (x: number) => x + 1))
  await store.write(a, set([0], 1))
  await store.read(lazy, values)
  for (const node of [a, b, lazy]) await store.release(node)
  expect(used()).toBe(0)
  const error = await errorOf(store.read(a, values))
  expect(error).toBeInstanceOf(PlanError)
  expect(error.message).toBe('zeros([3]) was written in place and then released, so what it held is gone. Release it after its last use.')
  expect(
    (
      await errorOf(
        store.use(
          map(a, (x: number) => x),
          () => 1,
        ),
      )
    ).message,
  ).toBe(error.message)
  expect((await errorOf(store.write(a, set([0], 1), { replacesAll: true }))).message).toBe(error.message)
  expect(await store.read(lazy, values)).toEqual([1, 1, 1, 1, 1])
  expect(runs).toEqual(['Map', 'Map'])
  const owned = map(b, (x: number) => x + 1)
  await store.own(owned)
  await store.release(owned)
  expect(await store.read(owned, values)).toEqual([1, 1, 1, 1, 1])
})

test('what a failed loop left throws until it is assigned; a snapshot brings it back', async () => {
  const { store } = setUp()
  const a = zeros([3])
  const over = map(a, (x: number) => x)
  await store.withArrays([{ node: a, mode: 'write' }], ([storage]) => {
    const snapshot = store.snapshot(a)
    setKey(storage as Storage, [0], 5, context)
    snapshot.restore()
    snapshot.free()
  })
  expect(await store.read(a, values)).toEqual([0, 0, 0])
  await store.withArrays([{ node: a, mode: 'write' }], ([storage]) => {
    setKey(storage as Storage, [0], 5, context)
    store.markLost(a, 'boom at key [0]')
  })
  for (const read of [store.read(a, values), store.read(over, values), store.resolve(over), store.write(a, set([0], 1))]) {
    const error = await errorOf(read)
    expect(error).toBeInstanceOf(TaskError)
    expect(error.message).toBe(
      'zeros([3]) was being written by a loop that failed (boom at key [0]), and holds a part of that pass. Assign all of it, or run the loop with { atomic: true }.',
    )
  }
  await store.write(a, (storage) => assignSlice(storage, [null], 2, context), { replacesAll: true })
  expect(await store.read(over, values)).toEqual([2, 2, 2])
})

test('runs that share an array wait for one another, writers alone, in the order they came', async () => {
  const { store } = setUp()
  const [a, b] = [zeros([1]), zeros([1])]
  const log: string[] = []
  const run = (name: string, accesses: Parameters<ArrayStore['withArrays']>[0]): Promise<void> =>
    store.withArrays(accesses, async () => {
      log.push(`${name} in`)
      await new Promise((resolve) => setTimeout(resolve, 10))
      log.push(`${name} out`)
    })
  await Promise.all([store.storage(a), store.storage(b)])
  await Promise.all([
    run('1', [
      { node: a, mode: 'read' },
      { node: b, mode: 'read' },
    ]),
    run('2', [{ node: b, mode: 'read' }]),
    run('3', [
      { node: b, mode: 'write' },
      { node: a, mode: 'read' },
    ]),
    run('4', [
      { node: a, mode: 'write' },
      { node: b, mode: 'write' },
      { node: a, mode: 'read' },
    ]),
    store.use(
      map(a, (x: number) => x),
      () => void log.push('used'),
    ),
  ])
  // the two readers run at the same time
  expect(log.splice(0, 4).map((entry) => entry.slice(2))).toEqual(['in', 'in', 'out', 'out'])
  expect(log).toEqual(['3 in', '3 out', '4 in', '4 out', 'used'])
})

test('many writers and readers at once: no write is lost, no reader sees half of one', async () => {
  const { store } = setUp()
  const [a, b] = [zeros([1]), zeros([1])]
  const sum = map(a, (x: number) => x)
  const jobs: Promise<unknown>[] = []
  for (let i = 0; i < 100; i++) {
    jobs.push(
      store.withArrays(
        [
          { node: b, mode: 'write' },
          { node: a, mode: 'write' },
        ],
        async ([first, second]) => {
          for (const storage of [first, second] as Storage[]) setKey(storage, [0], (atKey(storage, [0], 'A') as number) + 1, context)
          await new Promise(setImmediate)
        },
      ),
      store.withArrays(
        [
          { node: a, mode: 'read' },
          { node: b, mode: 'read' },
          { node: sum, mode: 'read' },
        ],
        (storages) => {
          const [x, y, z] = storages.map((storage) => atKey(storage, [0], 'A'))
          expect(x).toBe(y)
          expect(x).toBe(z)
        },
      ),
    )
  }
  await Promise.all(jobs)
  expect(await store.read(a, values)).toEqual([100])
})

test('storage of handles that are garbage is freed', async () => {
  const { store, used } = setUp()
  for (let i = 0; i < 40; i++) {
    const node = zeros([100_000])
    await store.write(node, set([i], 1))
    await store.read(
      map(node, (x: number) => x),
      values,
    )
  }
  expect(used()).toBeLessThanOrEqual(2 ** 24)
})

test('inserts into a sparse array replace its storage', async () => {
  const { store, used } = setUp()
  const sparse: LogicalPlan = { ...(zeros([9]) as LogicalPlan & { kind: 'Array' }), name: 'sparse([9])', init: { kind: 'sparse' } }
  await store.write(sparse, (storage, label) => setKey(storage, [3], 1, { ...context, name: label }))
  expect(await store.read(sparse, values)).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0])
  expect(store.plans.version(sparse)).toMatch(/^\d+:1$/)
  await store.release(sparse)
  expect(used()).toBe(0)
})
