import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DenseStorage,
  paddedLength,
  type SparseStorage,
  type Storage,
  stridesOf,
  type TableStorage,
} from '../../core/arrays/storage.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import type { DType, ElementType } from '../../core/data/schema.ts'
import type { TaskError } from '../../core/errors.ts'
import type { AnalyzedLoop, LoopOptions } from '../../core/loop/loopSpec.ts'
import type { Schedule } from '../../core/loop/schedules.ts'
import { createArena } from '../memory/sharedArena.ts'
import { createPool } from '../workers/pool.ts'
import type { WorkerPool } from '../workers/worker.ts'
import type { LoopInputs } from './loopInputs.ts'
import { type PreparedLoop, prepareLoop } from './loopRun.ts'

const arena = createArena({ budgetBytes: 2 ** 28 })
let pool: WorkerPool
beforeAll(() => {
  pool = createPool({ workers: 2, arena })
})
afterAll(() => pool.stop())

const span = { line: 1, column: 1, text: '' }

function dense(shape: readonly number[], values: readonly number[] = [], dtype: DType = 'f64'): DenseStorage {
  const strides = stridesOf(shape, dtype)
  const length = paddedLength(shape, strides)
  const data = arena.view(dtype, arena.allocate(length * 8, 'test'), length)
  const width = shape[shape.length - 1] ?? 1
  for (const [i, value] of values.entries()) data[Math.floor(i / width) * (strides[shape.length - 2] ?? 0) + (i % width)] = value as never
  return { kind: 'dense', shape, dtype, strides, data }
}

function objects(values: readonly unknown[]): DenseStorage {
  return { kind: 'dense', shape: [values.length], dtype: 'object', strides: [1], data: new Float64Array(0), objects: [...values] }
}

function sparse(
  shape: readonly number[],
  entries: readonly (readonly [...key: number[], value: number])[],
  dtype: DType = 'f64',
): SparseStorage {
  const keys = shape.map((_, axis) => Int32Array.from(entries, (entry) => entry[axis] ?? 0))
  const column = columnFromValues(
    entries.map((entry) => entry[shape.length]),
    { kind: dtype },
  )
  return {
    kind: 'sparse',
    shape,
    element: { kind: 'scalar', type: { kind: dtype }, nullable: false },
    length: entries.length,
    keys,
    columns: [column],
  }
}

interface Case {
  readonly over: readonly number[] | Storage
  readonly arrays?: Readonly<Record<string, Storage>>
  readonly body: (...args: never[]) => unknown
  readonly rest?: Partial<Omit<LoopInputs, 'analyzed' | 'over'>>
  readonly schedule?: Schedule
  readonly options?: LoopOptions
  readonly written?: readonly number[]
}

/** A loop whose body runs as it stands. */
function asIs({ over, arrays = {}, body, rest = {}, schedule = { kind: 'serial' }, options = {}, written }: Case): PreparedLoop {
  const storage = Array.isArray(over) ? undefined : (over as Storage) // over is one of the two
  const shape = (Array.isArray(over) ? over : storage?.kind === 'table' ? [storage.length] : storage?.shape) ?? []
  const names = Object.keys(arrays)
  const analyzed: AnalyzedLoop = {
    spec: {
      body: { original: body, text: '', span, refusals: [] },
      over: {
        kind: storage === undefined ? 'range' : storage.kind,
        rank: shape.length,
        extents: shape,
        label: storage === undefined ? 'range' : 'elements',
      },
      env: {},
      options,
    },
    plan: {
      order: 'serial',
      schedule: { kind: 'serial', axes: [], blocks: [], reason: '' },
      rejected: [],
      dependences: [],
      variables: [],
      accesses: [],
      kernel: { target: 'as-is' },
      execution: { where: 'caller', because: '' },
      prefetch: [],
    },
    schedule,
    reducedArrays: [],
    privateArrays: [],
    writtenArrays: written ?? [0, ...names.map((_, i) => i + 1)],
    writesElement: true,
    notes: [],
  }
  return prepareLoop(
    {
      analyzed,
      over: storage === undefined ? { kind: 'range', extents: shape } : { kind: 'storage', storage, array: 0 },
      arrays: new Map(names.map((name, i) => [name, { storage: arrays[name] as Storage, array: i + 1, label: name }])),
      buffers: new Map(),
      accumulators: new Map(),
      rngs: new Map(),
      envObject: {},
      ...rest,
    },
    { pool, arena },
  )
}

async function failure(promise: Promise<unknown>): Promise<TaskError> {
  return promise.then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: unknown) => error as TaskError,
  )
}

describe('bodies that run as they stand', () => {
  test('run serially in key order, with everything plain JavaScript can do', async () => {
    const seen: string[] = []
    const loop = asIs({ over: [2, 2], body: ([i, j]: [number, number]) => void seen.push(`${i},${j}`) })
    const result = await loop.runPass(0)
    expect(seen).toEqual(['0,0', '0,1', '1,0', '1,1'])
    expect(result.iterations).toBe(4)
    expect(loop.execution).toEqual({ where: 'caller', because: 'The body runs as it stands.' })
    expect([...loop.serialOrder()]).toEqual([0, 0, 0, 1, 1, 0, 1, 1])
  })

  test('rows are lists over the array with get, set and add; bounds are checked', async () => {
    const m = dense([2, 3], [1, 2, 3, 4, 5, 6], 'f32')
    type View = {
      row(i: number): Float32Array & { get(k: number): number; set(k: number, v: number): void; add(k: number, d: number): void }
      get(...key: number[]): number
    }
    await asIs({
      over: [2],
      arrays: { m },
      body: ([i]: [number], env: { m: View }) => {
        const row = env.m.row(i)
        row[0]! += 10
        row.set(1, 0.1)
        row.add(2, 1)
        expect(ArrayBuffer.isView(row)).toBe(false)
        expect(row.length).toBe(3)
        expect(row.get(0)).toBe(env.m.get(i, 0))
      },
    }).runPass(0)
    expect([...m.data.slice(0, 3)]).toEqual([11, Math.fround(0.1), 4])
    const outside = await failure(asIs({ over: [1], arrays: { m }, body: (_: never, env: { m: View }) => env.m.row(0).get(3) }).runPass(0))
    expect(outside.message).toBe(
      'The body of the loop over range threw at key [0]: The key [0, 3] is outside m, whose shape is [2, 3]. Keys run from 0 to extent - 1; negative keys do not wrap.',
    )
    expect(outside.key).toEqual([0])
    expect((outside.cause as Error).name).toBe('PlanError')
  })

  test('bool stores truth, u8 wraps, i64 is bigint, and a number for i64 throws', async () => {
    const [flags, bytes, big] = [dense([3], [], 'bool'), dense([3], [], 'u8'), dense([3], [], 'i64')]
    type Any = { set(i: number, v: unknown): void; add(i: number, v: unknown): void }
    await asIs({
      over: [3],
      arrays: { flags, bytes, big },
      body: ([i]: [number], env: { flags: Any; bytes: Any; big: Any }) => {
        env.flags.set(i, i * 5)
        env.bytes.add(i, 255 + i)
        env.big.add(i, 2n ** 63n)
      },
    }).runPass(0)
    expect([...flags.data]).toEqual([0, 1, 1])
    expect([...bytes.data]).toEqual([255, 0, 1])
    expect([...big.data]).toEqual([-(2n ** 63n), -(2n ** 63n), -(2n ** 63n)])
    const wrong = await failure(asIs({ over: [1], arrays: { big }, body: (_: never, env: { big: Any }) => env.big.set(0, 1) }).runPass(0))
    expect(wrong.cause).toBeInstanceOf(TypeError)
  })

  test('returned values replace elements; null and undefined do not', async () => {
    const a = dense([4], [1, 2, 3, 4])
    await asIs({ over: a, body: (value: number) => (value === 2 ? null : value === 3 ? undefined : value * 10) }).runPass(0)
    expect([...a.data]).toEqual([10, 2, 3, 40])
  })

  test('objects and rows of tables', async () => {
    const o = objects([{ n: 1 }, { n: 2 }])
    await asIs({ over: o, body: (value: { n: number }) => ({ n: value.n + 1 }) }).runPass(0)
    expect(o.objects).toEqual([{ n: 2 }, { n: 3 }])
    const element: ElementType = {
      kind: 'row',
      fields: [
        { name: 'name', type: { kind: 'utf8' }, nullable: true },
        { name: 'n', type: { kind: 'f64' }, nullable: false },
      ],
    }
    const table: TableStorage = { kind: 'table', element, length: 2, columns: [columnFromValues(['a', null]), columnFromValues([1, 2])] }
    const rows: unknown[] = []
    const { replaced } = await asIs({
      over: table,
      body: (row: { name: string | null; n: number }, key: number[]) => {
        rows.push({ ...row, key })
        return { name: `${row.name}!`, n: row.n + 1 }
      },
    }).runPass(0)
    expect(rows).toEqual([
      { name: 'a', n: 1, key: [0] },
      { name: null, n: 2, key: [1] },
    ])
    const after = replaced?.get(0) as TableStorage
    expect([...(after.columns[1]?.values ?? [])]).toEqual([2, 3])
  })

  test('sparse: absent is 0, has tells, set and add insert, and the next pass visits what was inserted', async () => {
    const s = sparse(
      [4, 4],
      [
        [0, 1, 5],
        [2, 3, 7],
      ],
    )
    type View = {
      get(...key: number[]): number
      has(...key: number[]): boolean
      set(...args: number[]): void
      add(...args: number[]): void
    }
    const body = (value: number, [i, j]: [number, number], { s }: { s: View }): void => {
      expect(s.get(3, 3)).toBe(i === 0 ? 0 : 1)
      expect(s.has(0, 1)).toBe(true)
      expect(s.has(0, 0)).toBe(i !== 0)
      s.add(0, 0, value)
      s.set(3, 3, 1)
      s.set(i, j, value + 0.5)
    }
    const loop = asIs({ over: s, body, rest: { arrays: new Map([['s', { storage: s, array: 0, label: 's' }]]) } })
    const result = await loop.runPass(0)
    expect(result.iterations).toBe(2)
    const after = result.replaced?.get(0) as SparseStorage
    expect(after.length).toBe(4)
    expect(after.keys.map((column) => [...column])).toEqual([
      [0, 0, 2, 3],
      [0, 1, 3, 3],
    ])
    expect([...(after.columns[0]?.values ?? [])]).toEqual([12, 5.5, 7.5, 1])
  })

  test('accumulators, generators and buffers', async () => {
    const b = dense([3], [1, 1, 1])
    type Env = {
      total: { add(x: unknown): void }
      best: { add(x: number): void }
      words: { add(x: string): void }
      dice: { uniform(): number; int(n: number): number }
      b: { get(i: number): number; add(i: number, d: number): void }
    }
    const draws: number[] = []
    const body = ([i]: [number], env: Env): void => {
      env.total.add(i / 3)
      env.best.add(i)
      env.words.add(`w${i}`)
      draws.push(env.dice.uniform())
      expect(env.b.get(i % 3)).toBe(1)
      env.b.add(i % 3, i)
    }
    const loop = asIs({
      over: [5],
      body,
      rest: {
        accumulators: new Map<string, never>([
          ['total', 'sum' as never],
          ['best', 'max' as never],
          ['words', { init: '>', combine: { original: (x: string, y: string) => x + y } } as never],
        ]),
        rngs: new Map([['dice', 7]]),
        buffers: new Map([['b', { storage: b, array: 9, label: 'b', combine: 'sum' }]]),
      },
    })
    const { accumulators } = await loop.runPass(0)
    expect(accumulators).toEqual({ total: 0 + 1 / 3 + 2 / 3 + 3 / 3 + 4 / 3, best: 4, words: '>w0w1w2w3w4' })
    expect([...b.data]).toEqual([1 + 0 + 3, 1 + 1 + 4, 1 + 2])
    expect(new Set(draws).size).toBe(5)
  })

  test('a buffer flushes every maxDelay iterations, with the combine and apply of the user', async () => {
    const b = dense([1], [100])
    const seen: number[] = []
    const loop = asIs({
      over: [7],
      body: ([i]: [number], { b }: { b: { get(i: number): number; add(i: number, d: number): void } }) => {
        seen.push(b.get(0))
        b.add(0, i)
      },
      rest: {
        buffers: new Map([
          [
            'b',
            {
              storage: b,
              array: 9,
              label: 'b',
              combine: { original: (x: number, y: number) => Math.max(x, y) },
              apply: { original: (current: number, update: number) => current - update },
              maxDelay: 3,
            },
          ],
        ]),
      },
    })
    await loop.runPass(0)
    expect(seen).toEqual([100, 100, 100, 98, 98, 98, 93])
    expect([...b.data]).toEqual([87])
  })

  test('an abort ends the pass between iterations', async () => {
    const controller = new AbortController()
    let count = 0
    const body = (): void => {
      count++
      const until = performance.now() + 1
      while (performance.now() < until);
    }
    const running = asIs({ over: [100_000], body }).runPass(0, { signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 30)
    expect((await failure(running)).message).toBe('enough')
    expect(count).toBeLessThan(5000)
  })

  test('ranges and arrays of nothing do nothing', async () => {
    const loop = asIs({ over: [0], body: () => expect.fail('no iteration') })
    expect(await loop.runPass(0)).toMatchObject({ iterations: 0, accumulators: {} })
    expect(loop.serialOrder().length).toBe(0)
  })
})
