/**
 * Law 5 for bigints: WebAssembly kernels, which hold them modulo 2 ** 64, do what JavaScript kernels do and what the IR says,
 * whose bigints have no bounds: the same values of every array, or the same error at the same key.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TableStorage } from '../src/core/arrays/storage.ts'
import { TaskError } from '../src/core/errors.ts'
import type { FunctionIr } from '../src/core/ir/functionIr.ts'
import { keyAtPosition, spaceOf } from '../src/exec/loops/blocks/space.ts'
import { PlainLoop } from '../src/exec/loops/interpreted/plainRun.ts'
import type { LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { BIGINT_ARRAYS, type BigintElement, bigintBody, EDGES, LENGTH, SAME } from './arbitraries/bigintBody.ts'
import { announcedRun } from './lawRuns.ts'
import { elementsOf, Holding, indexAt, type Machine, serially, startMachine } from './loopRuns.ts'

const RUN = announcedRun('bigints.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const BOX = [2, LENGTH]

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

const OVER: Readonly<Record<BigintElement, string>> = { none: 'keys', box: 'keys of two axes', bigint: 'bigints', row: 'rows' }
for (const element of Object.keys(OVER) as readonly BigintElement[]) {
  test(`a kernel with bigints over ${OVER[element]} does what the JavaScript kernel and the IR do`, async () => {
    const counts: Record<string, number> = {}
    const count = (name: string): void => {
      counts[name] = (counts[name] ?? 0) + 1
    }
    const picks = fc.array(fc.nat(EDGES.length - 1), { minLength: LENGTH, maxLength: LENGTH })
    await fc.assert(
      fc.asyncProperty(bigintBody(element), picks, async (ir, chosen) => {
        const of = { ir, element, chosen }
        const [wasm, js, plain] = [await outcomeOf(of, 'wasm'), await outcomeOf(of, 'js'), await outcomeOf(of, 'plain')]
        count(wasm.target)
        if (wasm.target.startsWith('wasm')) {
          if (plain.values.has('threw')) count('threw')
          if (String(plain.values.get('threw')).includes('Division by zero')) count('divided by zero')
          if (String(plain.values.get('threw')).includes('BigInt')) count('no integer')
        }
        const difference = differenceOf(wasm.values, plain.values) ?? differenceOf(js.values, plain.values)
        if (difference !== undefined) throw new Error(`${wasm.target}: ${difference}\n${irListing(ir)}`)
      }),
      RUN,
    )
    console.log(`over ${OVER[element]}: ${JSON.stringify(counts)}`)
    if (RUN.numRuns < FEW_RUNS) return
    const share = (name: string): number => (counts[name] ?? 0) / RUN.numRuns
    expect(share('wasm') + share('wasm-simd')).toBeGreaterThan(0.5)
    expect(share('divided by zero')).toBeGreaterThan(0.02)
    expect(share('no integer')).toBeGreaterThan(0.002)
  })
}

interface Case {
  readonly ir: FunctionIr
  readonly element: BigintElement
  readonly chosen: readonly number[]
}
type Values = ReadonlyMap<string, unknown>

function differenceOf(kernel: Values, plain: Values): string | undefined {
  for (const [place, value] of plain) {
    if (!Object.is(kernel.get(place), value)) return `${place}: the kernel gives ${String(kernel.get(place))}, the IR says ${String(value)}`
  }
  return kernel.size === plain.size ? undefined : 'One run threw, the other did not.'
}

async function outcomeOf(data: Case, how: 'wasm' | 'js' | 'plain'): Promise<{ readonly values: Values; readonly target: string }> {
  const holding = new Holding(machine.arena)
  const values = new Map<string, unknown>()
  let target: string = how
  try {
    const inputs = inputsOf(data, holding)
    try {
      if (how === 'plain') values.set('sum', runPlain(inputs))
      else values.set('sum', await runKernel(inputs, how, (used) => (target = used)))
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      values.set('threw', error.message)
    }
    const over = inputs.over.kind === 'storage' && inputs.over.storage.kind === 'dense' ? [['over', inputs.over.storage] as const] : []
    for (const [name, storage] of [...[...inputs.arrays].map(([array, { storage: of }]) => [array, of] as const), ...over]) {
      for (const [i, value] of elementsOf(storage).entries()) values.set(`${name}[${i}]`, value)
    }
    return { values, target }
  } finally {
    holding.free()
  }
}

async function runKernel(inputs: LoopInputs, how: 'wasm' | 'js', note: (target: string) => void): Promise<unknown> {
  const pool = machine.pools.get(1)
  if (pool === undefined) throw new Error('No pool of 1.')
  const loop = prepareLoop(inputs, { pool, arena: machine.arena, ...(how === 'js' ? { kernel: 'js' } : {}) })
  note(loop.kernel?.target ?? 'none')
  try {
    return (await loop.runPass(3)).accumulators.sum
  } finally {
    loop.dispose()
  }
}

function runPlain(inputs: LoopInputs): unknown {
  const loop = new PlainLoop(inputs, { storageOf: (_, storage) => storage, laneCount: 1, body: 'ir' })
  const space = spaceOf(inputs.over)
  const count = space.kind === 'box' ? space.extents.reduce((a, b) => a * b, 1) : LENGTH
  loop.startPass(3)
  for (let i = 0; i < count; i++) {
    const key = [...keyAtPosition(space, i)]
    try {
      loop.iterate(i, key, 0)
    } catch (error) {
      // bodies throw Errors
      throw new TaskError(`The body of the loop over elements threw at key [${key.join(', ')}]: ${(error as Error).message}`, {
        key,
        cause: error,
      })
    }
  }
  const sink = loop.accumulators.get('sum')?.sink
  if (sink === undefined || !('values' in sink)) throw new Error('A sum has a log.')
  return [...(sink.values as Float64Array)].slice(0, 'length' in sink ? sink.length : undefined).reduce((a, b) => a + b, 0)
}

function inputsOf({ ir, element, chosen }: Case, holding: Holding): LoopInputs {
  const edge = (i: number): bigint => EDGES[chosen[i % LENGTH] ?? 0] ?? 0n
  const arrays = new Map(
    Object.entries(BIGINT_ARRAYS).map(([name, [dtype, shape]], i) => {
      const storage = holding.dense(shape, dtype, [])
      const size = shape.reduce((a, b) => a * b, 1)
      for (let k = 0; k < size; k++) {
        const value = edge(k * 5 + i)
        const stored = dtype === 'i64' ? value : dtype === 'bool' ? k & 1 : k % 4 === 3 && dtype === 'f64' ? 0.5 : Number(value)
        storage.data[indexAt(storage, k)] = stored as never // of the dtype
      }
      return [name, { storage, array: i + 1, label: name }] as const
    }),
  )
  const grid = arrays.get('grid')
  if (grid !== undefined) arrays.set(SAME, { ...grid, label: SAME })
  const over: LoopInputs['over'] =
    element === 'none' || element === 'box'
      ? { kind: 'range', extents: element === 'box' ? BOX : [LENGTH] }
      : { kind: 'storage', storage: element === 'bigint' ? bigintsOver(edge, holding) : rowsOver(edge, holding), array: 0 }
  const analyzed = serially(
    ir,
    { kind: over.kind === 'range' ? 'range' : 'table', extents: [LENGTH] },
    { arrays: [0, ...[...arrays.values()].map(({ array }) => array)] },
  )
  const accumulators = new Map([['sum', 'sum']] as const)
  return { analyzed, over, arrays, buffers: new Map(), accumulators, rngs: new Map(), envObject: {} }
}

function bigintsOver(edge: (i: number) => bigint, holding: Holding): ReturnType<Holding['dense']> {
  const storage = holding.dense([LENGTH], 'i64', [])
  for (let k = 0; k < LENGTH; k++) storage.data[indexAt(storage, k)] = edge(3 * k + 2) as never // of i64
  return storage
}

function rowsOver(edge: (i: number) => bigint, holding: Holding): TableStorage {
  const data = holding.view('i64', LENGTH)
  for (let k = 0; k < LENGTH; k++) data[k] = edge(3 * k + 1) as never // of i64
  const type = { kind: 'i64' } as const
  return {
    kind: 'table',
    element: { kind: 'row', fields: [{ name: 'id', type, nullable: false }] },
    length: LENGTH,
    columns: [{ type, length: LENGTH, values: data }],
  }
}
