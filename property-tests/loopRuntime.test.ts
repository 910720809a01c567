/**
 * Whole loops through front end, analysis and runtime on two threads: what they compute, where they say they run, how
 * they fail and stop, and that a new captured value compiles nothing.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DenseStorage, Storage, TableStorage } from '../src/core/arrays/storage.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { DType, ElementType } from '../src/core/data/schema.ts'
import type { TaskError } from '../src/core/errors.ts'
import type { EnvBinding, LoopOptions } from '../src/core/loop/loopSpec.ts'
import type { KernelLoop } from '../src/exec/loops/kernelLoop.ts'
import type { LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { type PreparedLoop, prepareLoop } from '../src/exec/loops/loopRun.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { elementsOf, Holding, type Machine, startMachine } from './loopRuns.ts'

let machine: Machine
let memory: Holding
beforeAll(() => {
  machine = startMachine([1, 2])
  memory = new Holding(machine.arena)
})
afterAll(() => machine.stop())

interface Env {
  readonly [name: string]: Storage | 'sum' | 'count' | { readonly seed: number }
}

function inputsOf(over: readonly number[] | Storage, env: Env, body: (...args: never[]) => unknown, options: LoopOptions = {}): LoopInputs {
  const storage = 'kind' in over ? (over as Storage) : undefined // over is one of the two
  const extents = storage === undefined ? (over as readonly number[]) : shapeOf(storage)
  const arrays = new Map<string, { storage: Storage; array: number; label: string }>()
  const identities = new Map<Storage, number>(storage === undefined ? [] : [[storage, 0]])
  const bindings: Record<string, EnvBinding> = {}
  for (const [name, value] of Object.entries(env)) {
    if (typeof value === 'string') bindings[name] = { kind: 'accumulator', combine: value }
    else if ('seed' in value) bindings[name] = { kind: 'rng', seed: value.seed }
    else {
      const array = identities.get(value) ?? identities.size + 1
      identities.set(value, array)
      arrays.set(name, { storage: value, array, label: name })
      bindings[name] = {
        kind: 'array',
        array,
        dtype: dtypeOf(value),
        storage: value.kind,
        rank: shapeOf(value).length,
        shape: shapeOf(value),
        label: name,
      }
    }
  }
  const element: ElementType | undefined = storage === undefined ? undefined : elementOf(storage)
  const lowered = lowerFunction(body, {
    kind: 'loop',
    isRange: storage === undefined,
    rank: extents.length,
    ...(element === undefined ? {} : { overElement: element }),
    env: Object.fromEntries(
      Object.entries(bindings).map(([name, binding]) => [
        name,
        binding.kind === 'array' ? { kind: 'array', dtype: binding.dtype } : ({ kind: binding.kind } as never),
      ]),
    ),
    classify: () => undefined,
  })
  const space = storage === undefined ? 'range' : storage.kind
  const analyzed = analyzeLoop({
    body: lowered.fn,
    over: {
      kind: space,
      rank: extents.length,
      extents,
      label: space,
      ...(storage === undefined ? {} : { array: 0 }),
      ...(element === undefined ? {} : { element }),
    },
    env: bindings,
    options,
  })
  return {
    analyzed,
    over: storage === undefined ? { kind: 'range', extents } : { kind: 'storage', storage, array: 0 },
    arrays,
    buffers: new Map(),
    accumulators: new Map(Object.entries(env).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []))),
    rngs: new Map(
      Object.entries(env).flatMap(([name, value]) => (typeof value !== 'string' && 'seed' in value ? [[name, value.seed] as const] : [])),
    ),
    envObject: {},
  }
}

function shapeOf(storage: Storage): readonly number[] {
  return storage.kind === 'table' ? [storage.length] : storage.shape
}

function dtypeOf(storage: Storage): DType {
  return storage.kind === 'dense' ? (storage.dtype as DType) : 'f64' // no objects here
}

function elementOf(storage: Storage): ElementType {
  return storage.kind === 'dense' ? { kind: 'scalar', type: { kind: storage.dtype }, nullable: false } : storage.element
}

function prepare(inputs: LoopInputs, options: { readonly workers?: number; readonly worthThreadsMs?: number } = {}): PreparedLoop {
  const pool = machine.pools.get(options.workers ?? 2)
  if (pool === undefined) throw new Error('No such pool.')
  return prepareLoop(inputs, {
    pool,
    arena: machine.arena,
    ...(options.worthThreadsMs === undefined ? {} : { worthThreadsMs: options.worthThreadsMs }),
  })
}

const EAGER = { worthThreadsMs: 0 }

/** The views of arrays inside bodies. */
interface A {
  get(...key: number[]): number
  set(...args: number[]): void
  add(...args: number[]): void
  has(...key: number[]): boolean
  row(...key: number[]): A & number[]
  readonly shape: readonly number[]
}

async function failureOf(promise: Promise<unknown>): Promise<TaskError> {
  return promise.then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: unknown) => error as TaskError,
  )
}

test('the longest common subsequence by a wavefront', async () => {
  const n = 300
  const [x, y] = [Uint8Array.from({ length: n }, (_, i) => (i * 7) % 5), Uint8Array.from({ length: n }, (_, i) => (i * i) % 5)]
  const table = memory.dense([n + 1, n + 1], 'i32', [])
  const body = ([i, j]: [number, number], { t }: { t: A }): void => {
    if (x[i] === y[j]) t.set(i + 1, j + 1, t.get(i, j) + 1)
    else t.set(i + 1, j + 1, Math.max(t.get(i, j + 1), t.get(i + 1, j)))
  }
  const loop = prepare(inputsOf([n, n], { t: table }, body), EAGER)
  expect(loop.blocks.kind).toBe('wavefront')
  expect(loop.blocks.count).toBe(256)
  await loop.runPass(0)
  const plain = Array.from({ length: n + 1 }, () => new Int32Array(n + 1))
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) plain[i + 1]![j + 1] = x[i] === y[j] ? plain[i]![j]! + 1 : Math.max(plain[i]![j + 1]!, plain[i + 1]![j]!)
  expect(elementsOf(table)).toEqual(plain.flatMap((row) => [...row]))
  expect(await loop.verify(1)).toEqual({ identical: true, iterations: n * n })
  loop.dispose()
})

test('portions that replace each other take the memory of one, and all of it is free in the end', () => {
  const a = memory.dense([100_000], 'f64', [])
  const before = machine.arena.usedBytes
  const loop = prepare(
    inputsOf([100_000], { a }, ([i]: [number], { a }: { a: A }): void => a.set(i, i)),
    EAGER,
  ) as KernelLoop
  const { laneCount } = loop.blocks
  const used = [1, 2, 1, 3, 1].map((lanes) => {
    const { blocks } = loop.portionOf(laneCount - lanes, laneCount, { isAlone: false })
    expect(blocks.count).toBe(lanes)
    return machine.arena.usedBytes
  })
  expect([used[2], used[4]]).toEqual([used[0], used[0]])
  expect(used[0]).toBeGreaterThan(before)
  loop.dispose()
  expect(machine.arena.usedBytes).toBe(before)
})

test('a loop of ten iterations runs on the caller and says so; a long one runs on workers', () => {
  const a = memory.dense([2_000_000], 'f64', [])
  const body = ([i]: [number], { a }: { a: A }): void => a.set(i, Math.exp(-a.get(i)))
  const short = prepare(inputsOf([10], { a }, body))
  expect(short.execution).toEqual({
    where: 'caller',
    because: 'A pass of 10 iterations takes less than a millisecond, not worth starting threads.',
  })
  const long = prepare(inputsOf([2_000_000], { a }, body))
  expect(long.execution.where).toBe('workers')
  const alone = prepare(inputsOf([2_000_000], { a }, body), { workers: 1 })
  expect(alone.execution).toEqual({ where: 'caller', because: 'The session has one worker.' })
  const chain = prepare(inputsOf([1_000_000], { a }, ([i]: [number], { a }: { a: A }): void => a.set(i + 1, a.get(i) * 2)))
  expect(chain.execution).toEqual({ where: 'caller', because: 'The serial schedule of this loop leaves nothing to run at the same time.' })
  for (const loop of [short, long, alone, chain]) loop.dispose()
})

test('rows of a table: null, text, dates and booleans are what they are in JavaScript', async () => {
  const n = 5000
  const rows = Array.from({ length: n }, (_, i) => ({
    name: i % 3 === 0 ? null : `n${i % 7}`,
    when: new Date(i * 1000),
    ok: i % 2 === 0,
    x: i % 5 === 0 ? null : i / 3,
  }))
  const columns = {
    name: columnFromValues(
      rows.map((row) => row.name),
      { kind: 'utf8' },
    ),
    when: columnFromValues(
      rows.map((row) => row.when),
      { kind: 'timestamp', unit: 'us' },
    ),
    ok: columnFromValues(rows.map((row) => row.ok)),
    x: columnFromValues(rows.map((row) => row.x)),
  }
  const fields = Object.entries(columns).map(([name, { type, validity }]) => ({ name, type, nullable: validity !== undefined }))
  const table: TableStorage = { kind: 'table', element: { kind: 'row', fields }, length: n, columns: Object.values(columns) }
  const out = memory.dense([n], 'f64', [])
  const body = (row: { name: string | null; when: Date; ok: boolean; x: number | null }, [i]: [number], { out }: { out: A }): void => {
    out.set(i, (row.name === null ? -1 : row.name.length) + row.when.getTime() + (row.ok ? 0.5 : 0) + (row.x ?? 100))
  }
  const loop = prepare(inputsOf(table, { out }, body), EAGER)
  expect(loop.execution.where).toBe('workers')
  await loop.runPass(0)
  expect(elementsOf(out)).toEqual(
    rows.map((row) => (row.name === null ? -1 : row.name.length) + row.when.getTime() + (row.ok ? 0.5 : 0) + (row.x ?? 100)),
  )
  loop.dispose()
})

test('sparse arrays are read by key on workers; inserting makes the loop run on the caller', async () => {
  const n = 60
  const keys = Array.from({ length: n * n }, (_, p) => [Math.floor(p / n), p % n]).filter(([i = 0, j = 0]) => (i * 7 + j * 2) % 4 === 0)
  const s = memory.sparse(
    [n, n],
    'f64',
    keys,
    keys.map((_, p) => p + 1),
  )
  const out = memory.dense([n, n], 'f64', [])
  const read = ([i, j]: [number, number], { s, out }: { s: A; out: A }): void => {
    out.set(i, j, s.has(i, j) ? s.get(i, j) : -s.get(j, i))
  }
  const loop = prepare(inputsOf([n, n], { s, out }, read), EAGER)
  expect(loop.execution.where).toBe('workers')
  await loop.runPass(0)
  const at = (i: number, j: number): number => keys.findIndex(([a, b]) => a === i && b === j) + 1
  expect(elementsOf(out)).toEqual(Array.from({ length: n * n }, (_, p) => at(Math.floor(p / n), p % n) || -at(p % n, Math.floor(p / n))))
  loop.dispose()
  const insert = prepare(
    inputsOf(s, { s }, (value: number, [i, j]: [number, number], { s }: { s: A }): void => s.add(j, i, value)),
    EAGER,
  )
  expect(insert.execution).toEqual({ where: 'caller', because: 'The loop may insert keys into s.' })
  const { replaced, iterations } = await insert.runPass(0)
  expect(iterations).toBe(keys.length)
  expect(replaced?.get(0)).toMatchObject({ kind: 'sparse', shape: [n, n] })
  insert.dispose()
})

test('a throw on a worker is the error the serial program meets first, and leaves the loop usable', async () => {
  const a = memory.dense([5000], 'f64', [])
  let limit = 4990
  const body = ([i]: [number], { a }: { a: A }): void => {
    if (i > limit && i % 7 === 0) throw new RangeError(`too large: ${i}`)
    a.set(i, i)
  }
  const loop = prepare(inputsOf([5000], { a }, body), EAGER)
  const restore = loop.snapshot()
  const error = await failureOf(loop.runPass(0))
  expect(error.name).toBe('TaskError')
  expect(error.message).toBe('The body of the loop over range threw at key [4991]: too large: 4991')
  expect(error.key).toEqual([4991])
  expect(error.cause).toBeInstanceOf(RangeError)
  restore()
  expect(elementsOf(a).every((value) => value === 0)).toBe(true)
  limit = 4998 // as close to the end as the first one, so that the kernel is the same
  const again = prepareLoop(inputsOf([5000], { a }, body), { pool: machine.pools.get(2)!, arena: machine.arena, ...EAGER }, loop)
  expect(again).toBe(loop)
  await again.runPass(1)
  expect(elementsOf(a)[4999]).toBe(4999)
  again.dispose()
})

test('a new captured value compiles and cuts nothing; a changed table is read anew', async () => {
  const a = memory.dense([3000], 'f64', [])
  let rate = 2
  const weights = Float64Array.of(1, 10)
  const body = ([i]: [number], { a }: { a: A }): void => a.set(i, rate * (weights[i % 2] ?? 0))
  const first = prepare(inputsOf([3000], { a }, body), EAGER)
  await first.runPass(0)
  expect(elementsOf(a).slice(0, 2)).toEqual([2, 20])
  rate = 3
  weights[1] = 100
  const second = prepareLoop(inputsOf([3000], { a }, body), { pool: machine.pools.get(2)!, arena: machine.arena, ...EAGER }, first)
  expect(second).toBe(first)
  await second.runPass(1)
  expect(elementsOf(a).slice(0, 2)).toEqual([3, 300])
  second.dispose()
})

test('an abort stops the workers and rejects with the reason of the signal', async () => {
  const a = memory.dense([64], 'f64', [])
  const body = ([i]: [number], { a }: { a: A }): void => {
    let x = i
    while (x < 1e7) x += 0.5
    a.set(i, x)
  }
  const loop = prepare(inputsOf([64], { a }, body), EAGER)
  const controller = new AbortController()
  const running = failureOf(loop.runPass(0, { signal: controller.signal }))
  setTimeout(() => controller.abort(new Error('enough')), 50)
  expect((await running).message).toBe('enough')
  expect(elementsOf(a).some((value) => value === 0)).toBe(true)
  loop.dispose()
}, 60_000)

test('draws are the same on any number of workers, and others in the next pass', async () => {
  const draws = async (workers: number, pass: number): Promise<unknown[]> => {
    const out = memory.dense([40, 50], 'f64', [])
    const body = (
      [i, j]: [number, number],
      { out, dice }: { out: A; dice: { uniform(): number; normal(): number; int(n: number): number } },
    ): void => {
      out.set(i, j, dice.uniform() + dice.normal() + dice.int(6))
    }
    const loop = prepare(inputsOf([40, 50], { out, dice: { seed: 11 } }, body), { workers, ...EAGER })
    await loop.runPass(pass)
    loop.dispose()
    return elementsOf(out)
  }
  const alone = await draws(1, 0)
  expect(await draws(2, 0)).toEqual(alone)
  expect(await draws(2, 1)).not.toEqual(alone)
  expect(new Set(alone).size).toBe(2000)
})

test('what the arena lent is given back', () => {
  const before = machine.arena.usedBytes
  const keys = Array.from({ length: 900 }, (_, p) => [Math.floor(p / 30), p % 30])
  const holding = new Holding(machine.arena)
  const s = holding.sparse(
    [30, 30],
    'f64',
    keys,
    keys.map(() => 1),
  )
  const rows: DenseStorage = holding.dense([30], 'f64', [])
  const columns: DenseStorage = holding.dense([30], 'f64', [])
  const body = (value: number, [i, j]: [number, number], { r, c }: { r: A; c: A }): void => {
    r.set(i, r.get(i) + value * c.get(j))
    c.set(j, c.get(j) + value * r.get(i))
  }
  const loop = prepare(inputsOf(s, { r: rows, c: columns }, body, { order: 'any', partitions: 4 }), EAGER)
  expect(loop.blocks.kind).toBe('2d')
  loop.dispose()
  holding.free()
  expect(machine.arena.usedBytes).toBe(before)
})

test.for([0, 1, 2])('of passes in a row, those before the failing one are reported: %i', async (before) => {
  const a = memory.dense([40, 50], 'f64', [])
  const body = ([i, j]: [number, number], { a, sum, dice }: { a: A; sum: { add(x: number): void }; dice: { uniform(): number } }): void => {
    a.set(i, j, a.get(i, j) + 1)
    sum.add(dice.uniform())
    if (i === 20 && a.get(i, j) > 2) throw new Error('three')
  }
  const run = async (workers: number) => {
    ;(a.data as Float64Array).fill(2 - before)
    const loop = prepare(inputsOf([40, 50], { a, sum: 'sum', dice: { seed: 3 } }, body), { workers, ...EAGER })
    const { passes, failed } = await loop.runPasses(0, 5)
    loop.dispose()
    return { sums: passes.map(({ accumulators }) => accumulators.sum), failed: failed?.reason as TaskError | undefined }
  }
  const two = await run(2)
  expect(two.sums.length).toBe(before)
  expect(two.failed?.key).toEqual([20, 0])
  expect(new Set(two.sums).size).toBe(before)
})

test('a worker that has forgotten a loop is told again', async () => {
  const a = memory.dense([100], 'f64', [])
  const body = ([i]: [number], { a }: { a: A }): void => {
    a.set(i, a.get(i) + 1)
  }
  const loops = Array.from({ length: 40 }, () => prepare(inputsOf([100], { a }, body, { partitions: 4 }), { workers: 2, ...EAGER }))
  for (let round = 0; round < 2; round++) for (const loop of loops) await loop.runPass(round)
  for (const loop of loops) loop.dispose()
  expect(new Set(elementsOf(a))).toEqual(new Set([80]))
})

test('an abort ends passes in a row', async () => {
  const a = memory.dense([1000], 'f64', [])
  const body = ([i]: [number], { a }: { a: A }): void => {
    for (let k = 0; k < 1000; k++) a.set(i, a.get(i) + 1)
  }
  const loop = prepare(inputsOf([1000], { a }, body), { workers: 2, ...EAGER })
  const controller = new AbortController()
  const running = loop.runPasses(0, 64, { signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 20)
  const { passes, failed } = await running
  expect(failed?.reason).toEqual(new Error('enough'))
  expect(passes.length).toBeLessThan(64)
  loop.dispose()
}, 60_000)
