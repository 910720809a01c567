/** Loops over dense arrays, prepared without a session, so that a bench can choose the kernel. */

import { ARRAY_OF_DTYPE, type DenseStorage, paddedLength, type SparseStorage, stridesOf } from '../src/core/arrays/storage.ts'
import type { DType } from '../src/core/data/schema.ts'
import type { EnvBinding, LoopOptions } from '../src/core/loop/loopSpec.ts'
import type { Schedule } from '../src/core/loop/schedules.ts'
import { type PreparedLoop, prepareLoop } from '../src/exec/loops/loopRun.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'

export class KernelBench {
  readonly #arena = createArena({ budgetBytes: 2 ** 30 })
  readonly #pool: WorkerPool

  constructor(workers = 1) {
    this.#pool = createPool({ workers, arena: this.#arena })
  }

  dense(dtype: 'f32' | 'f64', shape: readonly number[], value: (position: number) => number): DenseStorage {
    const strides = stridesOf(shape, dtype)
    const data = this.#view(dtype, paddedLength(shape, strides))
    const [width, stride] = [shape[shape.length - 1] ?? 1, strides[strides.length - 2] ?? shape[0] ?? 1]
    for (let i = 0; i < data.length; i++) if (i % stride < width) data[i] = value(Math.floor(i / stride) * width + (i % stride)) as never // numbers
    return { kind: 'dense', shape, dtype, strides, data }
  }

  sparse(shape: readonly number[], keys: readonly (readonly number[])[], values: readonly number[]): SparseStorage {
    const columns = shape.map((_, axis) => {
      const column = this.#view('i32', keys.length) as Int32Array
      for (const [i, key] of keys.entries()) column[i] = key[axis] ?? 0
      return column
    })
    const data = this.#view('f64', values.length)
    for (const [i, value] of values.entries()) data[i] = value as never // a number
    const element = { kind: 'scalar', type: { kind: 'f64' }, nullable: false } as const
    return {
      kind: 'sparse',
      shape,
      element,
      length: keys.length,
      keys: columns,
      columns: [{ type: { kind: 'f64' }, length: keys.length, values: data }],
    }
  }

  prepare(
    over: SparseStorage | readonly number[],
    arrays: Readonly<Record<string, DenseStorage>>,
    body: (...args: never[]) => unknown,
    how: { readonly kernel?: 'js'; readonly options?: LoopOptions; readonly worthThreadsMs?: number; readonly schedule?: Schedule },
  ): PreparedLoop {
    const isRange = !('kind' in over)
    const shape = isRange ? over : over.shape
    const names = Object.keys(arrays)
    const { fn } = lowerFunction(body, {
      kind: 'loop',
      ...(isRange ? {} : { overElement: over.element }),
      isRange,
      rank: shape.length,
      env: Object.fromEntries(names.map((name) => [name, { kind: 'array', dtype: arrays[name]?.dtype ?? 'f64' }])),
      classify: () => undefined,
    })
    const env = Object.fromEntries(
      Object.entries(arrays).map(([name, storage], i): [string, EnvBinding] => [
        name,
        {
          kind: 'array',
          array: i + 1,
          dtype: storage.dtype,
          storage: 'dense',
          rank: storage.shape.length,
          shape: storage.shape,
          label: name,
        },
      ]),
    )
    // One block unless said otherwise: the kernel is the question, not how blocks are claimed.
    const options: LoopOptions = how.schedule === undefined ? { partitions: 1, ...how.options } : (how.options ?? {})
    const spaceOver = { kind: isRange ? ('range' as const) : ('sparse' as const), rank: shape.length, extents: shape, label: 'the bench' }
    const found = analyzeLoop({ body: fn, over: isRange ? spaceOver : { ...spaceOver, array: 0, element: over.element }, env, options })
    const analyzed = how.schedule === undefined ? found : { ...found, schedule: how.schedule }
    if (fn.ir === undefined) throw new Error(`The body was refused: ${fn.refusals[0]?.message}`)
    return prepareLoop(
      {
        analyzed,
        over: isRange ? { kind: 'range', extents: over } : { kind: 'storage', storage: over, array: 0 },
        arrays: new Map(names.map((name, i) => [name, { storage: arrays[name] as DenseStorage, array: i + 1, label: name }])),
        buffers: new Map(),
        accumulators: new Map(),
        rngs: new Map(),
        envObject: {},
      },
      {
        pool: this.#pool,
        arena: this.#arena,
        ...(how.kernel === undefined ? {} : { kernel: how.kernel }),
        ...(how.worthThreadsMs === undefined ? {} : { worthThreadsMs: how.worthThreadsMs }),
      },
    )
  }

  async stop(): Promise<void> {
    await this.#pool.stop()
  }

  #view(dtype: DType, length: number): DenseStorage['data'] {
    return this.#arena.view(dtype, this.#arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, 'bench'), length)
  }
}
