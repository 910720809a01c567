/**
 * Loops over sparse keys, the rows of a table or a range whose iterations reach rows of dense arrays, given as source text:
 * what they leave when their function is called one iteration after another, and what their kernel leaves.
 */

import { ARRAY_OF_DTYPE, type SparseStorage, type TableStorage } from '../src/core/arrays/storage.ts'
import { TaskError } from '../src/core/errors.ts'
import type { ArrayInput, LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { elementsOf, Holding, type Machine, serially } from './loopRuns.ts'

export type RowDType = 'f64' | 'f32' | 'i32'

export interface RowArray {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: RowDType
  /** The elements at the start, row by row. */
  readonly values: (position: number) => number
  /** Another name of it in the body. */
  readonly alias?: string
}

/** An iteration: its rows, and its number. */
export type RowIteration = readonly [u: number, m: number, x: number]

export interface RowLoop {
  /** A function of `(x, [u, m], env)`, of `({ u, m, x }, [t], env)` or of `([u, m], env)`; `total` in `env` is a sum. */
  readonly source: string
  readonly space: 'sparse' | 'table' | 'range'
  /** Of the keys, where they are no rows of a table. */
  readonly extents: readonly [number, number]
  /** In their order: that of keys, each once, unless they are rows of a table. */
  readonly iterations: readonly RowIteration[]
  readonly arrays: readonly RowArray[]
}

export interface Outcome {
  readonly numbers: Readonly<Record<string, ArrayLike<unknown>>>
  /** The key at which an iteration failed. */
  readonly failed: string | undefined
}

interface MadeArray extends RowArray {
  readonly data: Float64Array
}

/** The arrays with their elements at the start. */
function arraysOf({ arrays }: RowLoop): readonly MadeArray[] {
  return arrays.map((array) => {
    const data = new ARRAY_OF_DTYPE[array.dtype](array.shape.reduce((a, b) => a * b, 1)) as Float64Array // of numbers
    for (let k = 0; k < data.length; k++) data[k] = array.values(k)
    return { ...array, data }
  })
}

type Body = (...args: unknown[]) => unknown

/** A function whose source is the body's, as the program would have it. */
function bodyOf({ source }: RowLoop): Body {
  return new Function(`return ${source}`)() as Body // of the text above
}

/** What the function leaves, called one iteration after another. */
export function plainOutcome(one: RowLoop): Outcome {
  const arrays = arraysOf(one)
  const views: Record<string, unknown> = {}
  for (const { name, shape, data, alias = name } of arrays) views[name] = views[alias] = viewOf(shape, data)
  let total = 0
  views.total = { add: (value: number) => void (total += value) }
  const body = bodyOf(one)
  let failed: string | undefined
  for (const [i, [u, m, x]] of one.iterations.entries()) {
    const key = one.space === 'table' ? [i] : [u, m]
    const args = one.space === 'range' ? [key, views] : [one.space === 'table' ? { u, m, x } : x, key, views]
    try {
      body(...args)
    } catch {
      failed = key.join()
      break
    }
  }
  const numbers: Record<string, ArrayLike<number>> = Object.fromEntries(arrays.map(({ name, data }) => [name, data]))
  return { numbers: failed === undefined ? { ...numbers, total: [total] } : numbers, failed }
}

/** A dense array as the library's views have it. */
function viewOf(shape: readonly number[], data: Float64Array) {
  const at = (key: readonly number[]): number => {
    for (const [axis, index] of key.entries()) if (!(index >= 0 && index < (shape[axis] ?? 0))) throw new RangeError('outside')
    return key.reduce((position, index, axis) => position * (shape[axis] ?? 0) + index, 0)
  }
  return {
    shape,
    get: (...key: readonly number[]) => data[at(key)],
    set: (...all: readonly number[]) => void (data[at(all.slice(0, -1))] = all.at(-1) ?? 0),
    add: (...all: readonly number[]) => {
      const i = at(all.slice(0, -1))
      data[i] = (data[i] ?? 0) + (all.at(-1) ?? 0)
    },
  }
}

/** What the kernel leaves, and what `explain` says of its loops. */
export async function kernelOutcome(one: RowLoop, machine: Machine): Promise<{ readonly outcome: Outcome; readonly text: string }> {
  const pool = machine.pools.get(1)
  if (pool === undefined) throw new Error('No pool of 1.')
  const holding = new Holding(machine.arena)
  const inputs = inputsOf(one, holding)
  const loop = prepareLoop(inputs, { pool, arena: machine.arena })
  try {
    let failed: string | undefined
    let total: unknown
    try {
      total = (await loop.runPass(0)).accumulators.total
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      failed = error.key?.join()
    }
    const numbers: Record<string, ArrayLike<unknown>> = {}
    for (const { name } of one.arrays) numbers[name] = elementsOf((inputs.arrays.get(name) as ArrayInput).storage) // made of those names
    if (failed === undefined) numbers.total = [total]
    return { outcome: { numbers, failed }, text: (loop.innerLoops ?? []).join('\n') }
  } finally {
    loop.dispose()
    holding.free()
  }
}

function inputsOf(one: RowLoop, holding: Holding): LoopInputs {
  const { space } = one
  const made = arraysOf(one)
  const arrays = new Map(
    made.flatMap(({ name, alias = name, shape, dtype, data }, i): [string, ArrayInput][] => {
      const storage = holding.dense(shape, dtype, data)
      return [name, alias].map((label) => [label, { storage, array: i + 1, label }])
    }),
  )
  const over = overOf(one, holding)
  const element = over.kind === 'range' ? undefined : over.storage.element
  const { fn } = lowerFunction(bodyOf(one), {
    kind: 'loop',
    ...(element === undefined ? {} : { overElement: element }),
    isRange: element === undefined,
    rank: space === 'table' ? 1 : 2,
    env: {
      ...Object.fromEntries(
        made.flatMap(({ name, alias = name, dtype }) => [name, alias].map((label) => [label, { kind: 'array', dtype }])),
      ),
      total: { kind: 'accumulator' },
    },
    classify: () => undefined,
  })
  if (fn.ir === undefined) throw new Error(`${fn.refusals[0]?.message}\n${one.source}`)
  const kind = over.kind === 'range' ? 'range' : over.storage.kind
  const { extents } = one
  const analyzed = serially(fn.ir, { kind, extents }, { arrays: [...arrays.values()].map(({ array }) => array) })
  return { analyzed, over, arrays, buffers: new Map(), accumulators: new Map([['total', 'sum']]), rngs: new Map(), envObject: {} }
}

type Over =
  | { readonly kind: 'range'; readonly extents: readonly number[] }
  | { readonly kind: 'storage'; readonly storage: SparseStorage | TableStorage; readonly array: 0 }

function overOf(one: RowLoop, holding: Holding): Over {
  const { iterations } = one
  const { length } = iterations
  if (one.space === 'range') return { kind: 'range', extents: one.extents }
  const numbers = iterations.map(([, , x]) => x)
  const keys = iterations.map(([u, m]) => [u, m])
  if (one.space === 'sparse') return { kind: 'storage', storage: holding.sparse(one.extents, 'f64', keys, numbers), array: 0 }
  const column = (dtype: 'i32' | 'f64', of: readonly number[]) => {
    const data = holding.view(dtype, length)
    for (const [i, value] of of.entries()) data[i] = value as never // a number of the dtype
    return { type: { kind: dtype }, length, values: data } as const
  }
  const columns = {
    u: column(
      'i32',
      keys.map(([u]) => u ?? 0),
    ),
    m: column(
      'i32',
      keys.map(([, m]) => m ?? 0),
    ),
    x: column('f64', numbers),
  }
  const fields = Object.entries(columns).map(([name, { type }]) => ({ name, type, nullable: false }))
  return {
    kind: 'storage',
    storage: { kind: 'table', element: { kind: 'row', fields }, length, columns: Object.values(columns) },
    array: 0,
  }
}
