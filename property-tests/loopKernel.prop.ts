/**
 * Law 5 for JavaScript kernels: a generated kernel does what the IR says, node by node, on NaN, -0, infinities,
 * denormals, the extremes of every dtype, nulls, strings and dates: the same bits, or the same error at the same key.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import type { SparseStorage, Storage, TableStorage } from '../src/core/arrays/storage.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { DType } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import type { FunctionIr } from '../src/core/ir/functionIr.ts'
import { PlainLoop } from '../src/exec/loops/interpreted/plainRun.ts'
import type { LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { EXTENT, KERNEL_ARRAYS, type KernelElement, kernelBody, SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { announcedRun } from './lawRuns.ts'
import { elementsOf, Holding, type Machine, serially, startMachine } from './loopRuns.ts'

const RUN = announcedRun('loopKernel.prop.ts')

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

const ITERATIONS = 13

for (const element of ['none', 'number', 'row'] as const) {
  test(`a kernel over ${element === 'none' ? 'keys' : `${element}s`} does what the IR says`, async () => {
    const values = fc.array(fc.nat(SPECIAL_NUMBERS.length - 1), { minLength: ITERATIONS, maxLength: ITERATIONS })
    await fc.assert(
      fc.asyncProperty(kernelBody(element), values, fc.nat(3), async (ir, picks, form) => {
        const [kernel, plain] = [await outcomeOf(ir, element, picks, form, 'kernel'), await outcomeOf(ir, element, picks, form, 'plain')]
        const difference = firstDifferenceOf(kernel, plain)
        if (difference !== undefined) throw new Error(`${difference}\n${irListing(ir)}`)
      }),
      RUN,
    )
  })
}

type Outcome = ReadonlyMap<string, unknown>

function firstDifferenceOf(kernel: Outcome, plain: Outcome): string | undefined {
  for (const [place, value] of plain) {
    if (!Object.is(kernel.get(place), value)) return `${place}: the kernel gives ${String(kernel.get(place))}, the IR says ${String(value)}`
  }
  return kernel.size === plain.size ? undefined : 'One run threw, the other did not.'
}

async function outcomeOf(
  ir: FunctionIr,
  element: KernelElement,
  picks: readonly number[],
  form: number,
  how: 'kernel' | 'plain',
): Promise<Outcome> {
  const holding = new Holding(machine.arena)
  try {
    const inputs = inputsOf(ir, element, picks, form, holding)
    const outcome = new Map<string, unknown>()
    try {
      const accumulators = how === 'kernel' ? await runKernel(inputs) : runPlain(inputs)
      for (const [name, value] of Object.entries(accumulators)) outcome.set(name, value)
      for (const [name, { storage }] of inputs.arrays) noteElements(outcome, name, storage)
      if (inputs.over.kind === 'storage' && element === 'number') noteElements(outcome, 'over', inputs.over.storage)
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      outcome.set('threw', error.message)
    }
    return outcome
  } finally {
    holding.free()
  }
}

function noteElements(outcome: Map<string, unknown>, name: string, storage: Storage): void {
  for (const [i, value] of elementsOf(storage).entries()) outcome.set(`${name}[${i}]`, value)
}

async function runKernel(inputs: LoopInputs): Promise<Readonly<Record<string, unknown>>> {
  const pool = machine.pools.get(1)
  if (pool === undefined) throw new Error('No pool of 1.')
  const loop = prepareLoop(inputs, { pool, arena: machine.arena })
  try {
    return (await loop.runPass(3)).accumulators
  } finally {
    loop.dispose()
  }
}

function runPlain(inputs: LoopInputs): Record<string, unknown> {
  const loop = new PlainLoop(inputs, { storageOf: (_, storage) => storage, laneCount: 1, body: 'ir' })
  loop.startPass(3)
  const noted: Record<string, unknown> = {}
  for (let i = 0; i < ITERATIONS; i++) {
    try {
      loop.iterate(i, [i], 0)
    } catch (error) {
      throw new TaskError(`The body of the loop over elements threw at key [${i}]: ${(error as Error).message}`, { key: [i], cause: error }) // bodies throw Errors
    }
  }
  for (const [name, log] of loop.accumulators) {
    if (log.form === 'sum') noted[name] = log.sink.values.subarray(0, log.sink.length).reduce((a, b) => a + b, 0)
    else if (log.form !== 'custom') noted[name] = log.sink.value
  }
  return noted
}

function inputsOf(ir: FunctionIr, element: KernelElement, picks: readonly number[], form: number, holding: Holding): LoopInputs {
  const arrays = new Map(
    Object.entries(KERNEL_ARRAYS).map(([dtype, name], i) => {
      const storage = holding.dense([EXTENT], dtype as DType, [])
      for (let k = 0; k < EXTENT; k++)
        storage.data[k] = (
          dtype === 'i64' ? BigInt(k - 4) : dtype === 'bool' ? k & 1 : SPECIAL_NUMBERS[(picks[k] ?? 0) % SPECIAL_NUMBERS.length]
        ) as never // of the dtype
      return [name, { storage, array: i + 1, label: name }] as const
    }),
  )
  const over: LoopInputs['over'] =
    element === 'none'
      ? { kind: 'range', extents: [ITERATIONS] }
      : { kind: 'storage', storage: storageOver(element, picks, form, holding), array: 0 }
  const kind = over.kind === 'range' ? 'range' : 'table'
  const analyzed = serially(ir, { kind, extents: [ITERATIONS] }, { arrays: [0, 1, 2, 3, 4, 5, 6] })
  const accumulators = new Map([
    ['sum', 'sum'],
    ['least', 'min'],
    ['most', 'max'],
    ['calls', 'count'],
  ] as const)
  return { analyzed, over, arrays, buffers: new Map(), accumulators, rngs: new Map([['dice', 42]]), envObject: {} }
}

function storageOver(element: 'number' | 'row', picks: readonly number[], form: number, holding: Holding): Storage {
  const numbers = picks.map((pick) => SPECIAL_NUMBERS[pick] ?? 0)
  if (element === 'number') {
    const dtypes = ['f64', 'f32', 'i32', 'bool'] as const
    const dtype = dtypes[form] ?? 'f64'
    if (form % 2 === 0) return holding.dense([ITERATIONS], dtype, dtype === 'f64' || dtype === 'i32' ? numbers : [])
    return sparseOf(holding, dtype, numbers)
  }
  const columns = {
    n: columnFromValues(numbers, { kind: 'f64' }),
    maybe: columnFromValues(
      numbers.map((n, i) => (i % 3 === 0 ? null : n)),
      { kind: 'f64' },
    ),
    name: columnFromValues(
      numbers.map((n, i) => (i % 4 === 1 ? null : `s${n}`)),
      { kind: 'utf8' },
    ),
    when: columnFromValues(
      numbers.map((_, i) => new Date(i * 86_400_000)),
      { kind: 'timestamp', unit: 'ms' },
    ),
    ok: columnFromValues(
      numbers.map((_, i) => (i % 5 === 4 ? null : i % 2 === 0)),
      { kind: 'bool' },
    ),
    count: columnFromValues(
      numbers.map((_, i) => i),
      { kind: 'u8' },
    ),
  }
  const fields = Object.entries(columns).map(([name, column]) => ({ name, type: column.type, nullable: column.validity !== undefined }))
  const table: TableStorage = { kind: 'table', element: { kind: 'row', fields }, length: ITERATIONS, columns: Object.values(columns) }
  return table
}

function sparseOf(holding: Holding, dtype: DType, numbers: readonly number[]): SparseStorage {
  const keys = numbers.map((_, i) => [i])
  return holding.sparse([ITERATIONS], dtype, keys, dtype === 'bool' ? numbers.map((_, i) => i & 1) : numbers)
}
