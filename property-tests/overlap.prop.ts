/**
 * Law 5 where the end of an iteration runs beside the beginning of the next one: random bodies of that shape, and near it,
 * leave the bits that the same functions leave when they are called one iteration after another, and fail at the key where
 * they fail, with what was written before in the arrays. The optimizing compiler makes every kernel, as it does of long loops.
 */
import { setFlagsFromString } from 'node:v8'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TaskError } from '../src/core/errors.ts'
import { ARRAY_OF_DTYPE, type SparseStorage, type TableStorage } from '../src/core/storage.ts'
import type { ArrayInput, LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { type OverlapBody, overlapBody, ROWS } from './arbitraries/overlapBody.ts'
import { announcedRun } from './lawRuns.ts'
import { elementsOf, Holding, type Machine, serially, startMachine } from './loopRuns.ts'

setFlagsFromString('--no-liftoff')

const RUN = announcedRun('overlap.prop.ts')
/** What `explain` says where the law is about something. */
const OVERLAPPED = 'beside the update of the iteration before'

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

interface Case {
  readonly body: OverlapBody
  readonly dtypes: readonly ('f64' | 'f32' | 'i32')[]
  /** Iterations by their rows, where rows are not keys of a range. */
  readonly places: readonly (readonly [u: number, m: number])[]
  /** Of a range. */
  readonly extents: readonly [number, number]
  readonly values: readonly number[]
}

const dtypes = fc.constantFrom<Case['dtypes']>(['f64', 'f64', 'f64'], ['f32', 'f32', 'f32'], ['f64', 'f32', 'i32'], ['f32', 'f64', 'f64'])
const ordinary = fc.double({ min: -2, max: 2, noNaN: true })
const values = fc.oneof(
  fc.array(ordinary, { minLength: 7, maxLength: 40 }),
  fc.array(fc.constantFrom(...SPECIAL_NUMBERS), { minLength: 7 }),
)
const row = fc.nat(ROWS - 1)
const cases: fc.Arbitrary<Case> = overlapBody.chain((body) =>
  fc.record({
    body: fc.constant(body),
    dtypes,
    // A table may name a row that is not there.
    places: fc.array(fc.tuple(row, body.space === 'table' ? fc.oneof({ weight: 40, arbitrary: row }, fc.constantFrom(ROWS, -1)) : row), {
      maxLength: 12,
    }),
    extents: fc.tuple(fc.integer({ min: 1, max: ROWS }), fc.integer({ min: 1, max: ROWS })),
    values,
  }),
)

test('an update beside the sum of the next iteration leaves what the body leaves iteration by iteration', async () => {
  const counts = { overlapped: 0, 'lanes of f64': 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const plain = plainOutcome(one)
      const { outcome, text } = await kernelOutcome(one)
      const isOverlapped = text.includes(OVERLAPPED)
      if (isOverlapped) counts.overlapped++
      if (isOverlapped && plain.failed !== undefined) counts.failed++
      if (text.includes('lanes of f64')) counts['lanes of f64']++
      const what = `${one.body.source}\n${text}`
      if (outcome.failed !== plain.failed) throw new Error(`failed at ${outcome.failed}, not at ${plain.failed}\n${what}`)
      for (const [name, expected] of Object.entries(plain.numbers)) {
        const got = outcome.numbers[name]
        const i = expected.findIndex((value, i) => !Object.is(value, got?.[i]))
        if (i >= 0) throw new Error(`${name}, number ${i}: ${got?.[i]}, not ${expected[i]}\n${what}`)
      }
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns < 500) return
  expect(counts.overlapped).toBeGreaterThan(0.15 * RUN.numRuns)
  expect(counts.failed).toBeGreaterThan(0.01 * RUN.numRuns)
})

interface Outcome {
  readonly numbers: Readonly<Record<string, readonly unknown[]>>
  /** The key at which an iteration failed. */
  readonly failed: string | undefined
}

const NAMES = ['A', 'B', 'D', 'c'] as const

/** Shape, type and elements of each array at the start. */
function arraysOf({ body, dtypes, values }: Case) {
  return NAMES.map((name, i) => {
    const shape = name === 'c' ? [ROWS] : [ROWS, body.width]
    const dtype = name === 'c' ? 'f64' : (dtypes[i] ?? 'f64')
    const size = shape.reduce((a, b) => a * b, 1)
    const data = new ARRAY_OF_DTYPE[dtype](size) as Float64Array // of numbers
    for (let k = 0; k < size; k++) data[k] = values[(k * 5 + i) % values.length] ?? 0
    return { name, shape, dtype, data }
  })
}

/** The rows and the number of each iteration, in their order. */
function iterationsOf({ body, places, extents, values }: Case): readonly (readonly [u: number, m: number, x: number])[] {
  const x = (u: number, m: number): number => values[(u * 3 + m) % values.length] ?? 0
  if (body.space === 'table') return places.map(([u, m]) => [u, m, x(Math.abs(u), Math.abs(m))])
  const all = Array.from({ length: ROWS * ROWS }, (_, i) => [Math.floor(i / ROWS), i % ROWS] as const)
  const isThere = ([u, m]: readonly [number, number]): boolean =>
    body.space === 'range' ? u < extents[0] && m < extents[1] : places.some(([a, b]) => a === u && b === m)
  return all.filter(isThere).map(([u, m]) => [u, m, x(u, m)])
}

type Body = (...args: unknown[]) => unknown

/** A function whose source is the body's, as the program would have it. */
function bodyOf({ body }: Case): Body {
  return new Function(`return ${body.source}`)() as Body // of the text above
}

function plainOutcome(one: Case): Outcome {
  const arrays = arraysOf(one)
  const views: Record<string, unknown> = {}
  for (const { name, shape, data } of arrays) views[name] = viewOf(shape, data)
  views.T = views.A
  let total = 0
  views.total = { add: (value: number) => void (total += value) }
  const body = bodyOf(one)
  let failed: string | undefined
  for (const [i, [u, m, x]] of iterationsOf(one).entries()) {
    const key = one.body.space === 'table' ? [i] : [u, m]
    const args = one.body.space === 'range' ? [key, views] : [one.body.space === 'table' ? { u, m, x } : x, key, views]
    try {
      body(...args)
    } catch {
      failed = key.join()
      break
    }
  }
  const numbers: Record<string, readonly number[]> = Object.fromEntries(arrays.map(({ name, data }) => [name, [...data]]))
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

async function kernelOutcome(one: Case): Promise<{ readonly outcome: Outcome; readonly text: string }> {
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
    const numbers: Record<string, readonly unknown[]> = {}
    for (const name of NAMES) numbers[name] = elementsOf((inputs.arrays.get(name) as ArrayInput).storage) // made of those names
    if (failed === undefined) numbers.total = [total]
    return { outcome: { numbers, failed }, text: (loop.innerLoops ?? []).join('\n') }
  } finally {
    loop.dispose()
    holding.free()
  }
}

function inputsOf(one: Case, holding: Holding): LoopInputs {
  const { space } = one.body
  const made = arraysOf(one)
  const arrays = new Map(
    made.map(({ name, shape, dtype, data }, i): [string, ArrayInput] => {
      return [name, { storage: holding.dense(shape, dtype, [...data]), array: i + 1, label: name }]
    }),
  )
  arrays.set('T', { ...(arrays.get('A') as ArrayInput), label: 'T' }) // made of that name
  const over = overOf(one, holding)
  const element = over.kind === 'range' ? undefined : over.storage.element
  const { fn } = lowerFunction(bodyOf(one), {
    kind: 'loop',
    ...(element === undefined ? {} : { overElement: element }),
    isRange: element === undefined,
    rank: space === 'table' ? 1 : 2,
    env: {
      ...Object.fromEntries(made.map(({ name, dtype }) => [name, { kind: 'array', dtype }])),
      ...{ T: { kind: 'array', dtype: made[0]?.dtype ?? 'f64' }, total: { kind: 'accumulator' } },
    },
    classify: () => undefined,
  })
  if (fn.ir === undefined) throw new Error(`${fn.refusals[0]?.message}\n${one.body.source}`)
  const kind = over.kind === 'range' ? 'range' : over.storage.kind
  const extents = over.kind === 'range' ? over.extents : [ROWS, ROWS]
  const analyzed = serially(fn.ir, { kind, extents }, { arrays: [...arrays.values()].map(({ array }) => array) })
  return { analyzed, over, arrays, buffers: new Map(), accumulators: new Map([['total', 'sum']]), rngs: new Map(), envObject: {} }
}

type Over =
  | { readonly kind: 'range'; readonly extents: readonly number[] }
  | { readonly kind: 'storage'; readonly storage: SparseStorage | TableStorage; readonly array: 0 }

function overOf(one: Case, holding: Holding): Over {
  const iterations = iterationsOf(one)
  const { length } = iterations
  if (one.body.space === 'range') return { kind: 'range', extents: one.extents }
  const numbers = iterations.map(([, , x]) => x)
  const keys = iterations.map(([u, m]) => [u, m])
  if (one.body.space === 'sparse') return { kind: 'storage', storage: holding.sparse([ROWS, ROWS], 'f64', keys, numbers), array: 0 }
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
