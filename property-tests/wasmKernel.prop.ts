/**
 * Law 5 for WebAssembly kernels: in exact precision they do what JavaScript kernels do, and what the IR says, on NaN,
 * -0, infinities, denormals and the extremes of every dtype: the same bits, or the same error at the same key. In fast
 * and relaxed precision they do the same wherever iterations are cut. The engine's optimizing compiler is what runs long loops, so it
 * is made to compile every kernel here: what it gets wrong is found too.
 */
import { setFlagsFromString } from 'node:v8'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Storage, TableStorage } from '../src/core/arrays/storage.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { DType } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import type { FunctionIr } from '../src/core/ir/functionIr.ts'
import type { AnalyzedLoop, EnvBinding, LoopOptions, LoopSpec, Precision } from '../src/core/loop/loopSpec.ts'
import { keyAtPosition, spaceOf } from '../src/exec/loops/blocks/space.ts'
import { PlainLoop } from '../src/exec/loops/interpreted/plainRun.ts'
import { kernelForecast, type UnpreparedLoop } from '../src/exec/loops/kernelForecast.ts'
import type { LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { irListing } from '../src/planner/function/irText.ts'

import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { COLUMNS, NUMERIC_ARRAYS, TWIN } from './arbitraries/numericArrays.ts'
import { type NumericElement, numericBody } from './arbitraries/numericBody.ts'
import { SWEPT } from './arbitraries/sweepBody.ts'

import { announcedRun } from './lawRuns.ts'
import { elementsOf, Holding, indexAt, type Machine, serially, startMachine } from './loopRuns.ts'
import { relaxedSimd } from './relaxedEngine.ts'

setFlagsFromString('--no-liftoff')

const RUN = announcedRun('wasmKernel.prop.ts')
const RUNS = RUN.numRuns
const HAS_RELAXED = relaxedSimd('wasmKernel.prop.ts')
const ITERATIONS = COLUMNS
const BOX = [2, COLUMNS]

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

const OVER: Readonly<Record<NumericElement, string>> = { none: 'keys', box: 'keys of two axes', number: 'numbers', row: 'rows' }
for (const element of Object.keys(OVER) as readonly NumericElement[]) {
  test(`a WebAssembly kernel over ${OVER[element]} does what the JavaScript kernel and the IR do`, () =>
    exactlyAsIr(element, numericBody(element), SHARES))
}
for (const element of ['none', 'box', 'number'] as const) {
  test(`lanes over ${OVER[element]} do what the JavaScript kernel and the IR do`, () =>
    exactlyAsIr(element, numericBody(element, 'lanes'), LANE_SHARES))
}

for (const element of ['none', 'box', 'number'] as const) {
  test(`iterations with loops inside, over ${OVER[element]}, do what the JavaScript kernel and the IR do`, () =>
    exactlyAsIr(element, numericBody(element, 'nest'), NEST_SHARES))
}

test('sweeps over keys of two axes do what the JavaScript kernel and the IR do', () =>
  exactlyAsIr('box', numericBody('box', 'sweep'), { 'two rows at a time': 0.3 }, { box: SWEPT, passes: 2 }))

test('turns of a loop that add to one row do what the JavaScript kernel and the IR do', () =>
  exactlyAsIr('none', numericBody('none', 'jam'), { 'for 4 iterations of': 0.1, 'for 2 iterations of': 0.2 }))

test('in fast precision a WebAssembly kernel does the same wherever its iterations are cut', () =>
  sameWhereverCut('fast', { 'lanes of f32': 0.05 }))

test.skipIf(!HAS_RELAXED)('in relaxed precision a WebAssembly kernel does the same wherever its iterations are cut', () =>
  sameWhereverCut('relaxed', { 'lanes of f32': 0.05, contracted: 0.05, 'lanes of f64, contracted': 0.01 }),
)

async function sameWhereverCut(precision: Precision, shares: Readonly<Record<string, number>>): Promise<void> {
  const counts: Record<string, number> = {}
  const picks = fc.array(fc.nat(SPECIAL_NUMBERS.length - 1), { minLength: ITERATIONS, maxLength: ITERATIONS })
  const elements = fc.constantFrom<NumericElement>('none', 'box', 'number')
  const body = elements.chain((element) =>
    fc
      .oneof(
        numericBody(element),
        { weight: 3, arbitrary: numericBody(element, 'single') },
        numericBody(element, 'nest'),
        numericBody(element, 'jam'),
        numericBody(element, 'lanes'),
      )
      .map((ir) => ({ ir, element })),
  )
  await fc.assert(
    fc.asyncProperty(body, picks, fc.nat(3), fc.integer({ min: 2, max: 9 }), async (of, chosen, form, partitions) => {
      const data = { ...of, chosen, form }
      const whole = await outcomeOf(data, 'wasm', { precision, partitions: 1 })
      const cut = await outcomeOf(data, 'wasm', { precision, partitions })
      for (const feature of Object.keys(shares))
        if (whole.innerLoops.some((line) => line.includes(feature))) counts[feature] = (counts[feature] ?? 0) + 1
      const difference = differenceOf(cut.values, whole.values)
      if (difference !== undefined) throw new Error(`${partitions} partitions: ${difference}\n${irListing(of.ir)}`)
    }),
    RUN,
  )
  console.log(`${precision}: ${JSON.stringify(counts)}`)
  for (const [feature, share] of RUNS < FEW_RUNS ? [] : Object.entries(shares))
    expect([feature, (counts[feature] ?? 0) > RUNS * share]).toEqual([feature, true])
}

/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500

/** What compiling must have done in such a share of the cases, for the law to say something of it. */
const SHARES: Readonly<Record<string, number>> = {
  'wasm-simd': 0.1,
  'lanes of f64': 0.1,
  'lanes of i32': 0.005,
  'branches as choices': 0.05,
  'strided loads': 0.005,
  'carried from turn to turn': 0.01,
  'written out': 0.02,
}

/** The same where there is nothing else in the bodies. */
const LANE_SHARES: Readonly<Record<string, number>> = {
  'wasm-simd': 0.15,
  'lanes of f64': 0.12,
  'lanes of i32': 0.01,
  'branches as choices': 0.1,
  'strided loads': 0.02,
  'carried from turn to turn': 0.05,
  'between its borders: 2 lanes': 0.03,
  'between its borders': 0.05,
}

/** The same of bodies with loops inside. */
const NEST_SHARES: Readonly<Record<string, number>> = { 'with the loops inside': 0.08, 'for e at': 0.05 }

async function exactlyAsIr(
  element: NumericElement,
  body: fc.Arbitrary<FunctionIr>,
  shares: Readonly<Record<string, number>>,
  over: Pick<Case, 'box' | 'passes'> = {},
): Promise<void> {
  const targets: Record<string, number> = {}
  const picks = fc.array(fc.nat(SPECIAL_NUMBERS.length - 1), { minLength: ITERATIONS, maxLength: ITERATIONS })
  await fc.assert(
    fc.asyncProperty(body, picks, fc.nat(3), async (ir, chosen, form) => {
      const data = { ir, element, chosen, form, ...over }
      const [wasm, js, plain] = [await outcomeOf(data, 'wasm'), await outcomeOf(data, 'js'), await outcomeOf(data, 'plain')]
      targets[wasm.target] = (targets[wasm.target] ?? 0) + 1
      for (const feature of featuresOf(wasm.innerLoops, shares)) targets[feature] = (targets[feature] ?? 0) + 1
      const difference = differenceOf(wasm.values, plain.values) ?? differenceOf(js.values, plain.values)
      if (difference !== undefined) throw new Error(`${wasm.target}: ${difference}\n${irListing(ir)}`)
    }),
    RUN,
  )
  console.log(`over ${OVER[element]}: ${JSON.stringify(targets)}`)
  expect((targets.wasm ?? 0) + (targets['wasm-simd'] ?? 0)).toBeGreaterThan(RUNS * 0.6)
  for (const [feature, share] of RUNS < FEW_RUNS ? [] : Object.entries(shares)) {
    expect([feature, (targets[feature] ?? 0) > RUNS * share]).toEqual([feature, true])
  }
}

function featuresOf(innerLoops: readonly string[], shares: Readonly<Record<string, number>>): readonly string[] {
  return Object.keys({ ...SHARES, ...LANE_SHARES, ...NEST_SHARES, ...shares }).filter((feature) =>
    innerLoops.some((line) => line.includes(feature)),
  )
}

interface Case {
  readonly ir: FunctionIr
  readonly element: NumericElement
  readonly chosen: readonly number[]
  readonly form: number
  /** Extents of the keys of two axes. */
  readonly box?: readonly number[]
  /** How often the loop runs: slices of a first pass are short, and hold no two rows. */
  readonly passes?: number
}
type Values = ReadonlyMap<string, unknown>

function differenceOf(kernel: Values, plain: Values): string | undefined {
  for (const [place, value] of plain) {
    if (!Object.is(kernel.get(place), value)) return `${place}: the kernel gives ${String(kernel.get(place))}, the IR says ${String(value)}`
  }
  return kernel.size === plain.size ? undefined : 'One run threw, the other did not.'
}

async function outcomeOf(
  data: Case,
  how: 'wasm' | 'js' | 'plain',
  options: LoopOptions = {},
): Promise<{ readonly values: Values; readonly target: string; readonly innerLoops: readonly string[] }> {
  const holding = new Holding(machine.arena)
  const values = new Map<string, unknown>()
  let target: string = how
  let innerLoops: readonly string[] = []
  try {
    const inputs = inputsOf(data, holding, options)
    try {
      const noted =
        how === 'plain'
          ? runPlain(inputs, data.passes)
          : await runKernel(inputs, how, data.passes, (used, lines) => {
              target = used
              innerLoops = lines
            })
      for (const [name, value] of Object.entries(noted)) values.set(name, value)
      for (const [name, { storage }] of inputs.arrays) noteElements(values, name, storage)
      if (inputs.over.kind === 'storage' && data.element === 'number') noteElements(values, 'over', inputs.over.storage)
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      values.set('threw', error.message)
    }
    return { values, target, innerLoops }
  } finally {
    holding.free()
  }
}

function noteElements(values: Map<string, unknown>, name: string, storage: Storage): void {
  for (const [i, value] of elementsOf(storage).entries()) values.set(`${name}[${i}]`, value)
}

async function runKernel(
  inputs: LoopInputs,
  how: 'wasm' | 'js',
  passes: number | undefined,
  note: (target: string, lines: readonly string[]) => void,
): Promise<Readonly<Record<string, unknown>>> {
  const pool = machine.pools.get(1)
  if (pool === undefined) throw new Error('No pool of 1.')
  const loop = prepareLoop(inputs, { pool, arena: machine.arena, ...(how === 'js' ? { kernel: 'js' } : {}) })
  // what a plan says of the kernel before the first run is what the run finds
  if (how === 'wasm') expect(kernelForecast(unprepared(inputs))?.kernel).toEqual(loop.kernel)
  note(loop.kernel?.target ?? 'none', loop.innerLoops ?? [])
  try {
    for (let pass = 1; pass < (passes ?? 1); pass++) await loop.runPass(3)
    return (await loop.runPass(3)).accumulators
  } finally {
    loop.dispose()
  }
}

/** The loop as the analysis knows it. */
function unprepared(inputs: LoopInputs): UnpreparedLoop {
  const { over, analyzed } = inputs
  const env = [...inputs.arrays].map(([name, { storage, array, label }]): [string, EnvBinding] => {
    if (storage.kind !== 'dense') throw new Error('The arrays of these loops are dense.')
    return [name, { kind: 'array', array, dtype: storage.dtype, storage: 'dense', rank: storage.shape.length, shape: storage.shape, label }]
  })
  const element =
    over.kind === 'range'
      ? undefined
      : over.storage.kind === 'dense'
        ? ({ kind: 'scalar', type: { kind: over.storage.dtype }, nullable: false } as const)
        : over.storage.element
  const space = spaceOf(over)
  const spec: LoopSpec = {
    ...analyzed.spec,
    env: Object.fromEntries(env),
    over: {
      ...analyzed.spec.over,
      kind: over.kind === 'range' ? 'range' : over.storage.kind,
      extents: space.kind === 'rows' ? [space.length] : space.extents,
      ...(element === undefined ? {} : { element, array: 0 }),
    },
  }
  return { ...inputs, analyzed: { ...analyzed, spec }, buffers: new Map() }
}

function runPlain(inputs: LoopInputs, passes = 1): Record<string, unknown> {
  const loop = new PlainLoop(inputs, { storageOf: (_, storage) => storage, laneCount: 1, body: 'ir' })
  const space = spaceOf(inputs.over)
  const count = space.kind === 'box' ? space.extents.reduce((a, b) => a * b, 1) : ITERATIONS
  for (let step = 0; step < passes * count; step++) {
    const i = step % count
    if (i === 0) loop.startPass(3)
    const key = [...keyAtPosition(space, i)]
    try {
      loop.iterate(i, key, 0)
    } catch (error) {
      throw new TaskError(`The body of the loop over elements threw at key [${key.join(', ')}]: ${(error as Error).message}`, {
        key,
        cause: error,
      }) // bodies throw Errors
    }
  }
  const noted: Record<string, unknown> = {}
  for (const [name, { sink }] of loop.accumulators) {
    if ('value' in sink) noted[name] = sink.value
    else noted[name] = [...(sink.values as Float64Array)].slice(0, 'length' in sink ? sink.length : undefined).reduce((a, b) => a + b, 0)
  }
  return noted
}

function inputsOf({ ir, element, chosen, form, box = BOX }: Case, holding: Holding, options: LoopOptions): LoopInputs {
  const numbers = chosen.map((pick) => SPECIAL_NUMBERS[pick] ?? 0)
  const arrays = new Map(
    Object.entries(NUMERIC_ARRAYS).map(([name, [dtype, shape]], i) => {
      const storage = holding.dense(shape, dtype, [])
      const size = shape.reduce((a, b) => a * b, 1)
      for (let k = 0; k < size; k++) {
        const pick = (k * 5 + i) % ITERATIONS
        // Half of the runs have ordinary fractions, whose sums show in which order they were added.
        const value = form < 2 ? (numbers[pick] ?? 0) : ((chosen[pick] ?? 0) - 11.5) * 0.1 + k / 7
        storage.data[indexAt(storage, k)] = (dtype === 'bool' ? k & 1 : value) as never // of the dtype
      }
      return [name, { storage, array: i + 1, label: name }] as const
    }),
  )
  const grid = arrays.get('grid')
  if (grid !== undefined) arrays.set(TWIN, { ...grid, label: TWIN })
  const over: LoopInputs['over'] =
    element === 'none' || element === 'box'
      ? { kind: 'range', extents: element === 'box' ? box : [ITERATIONS] }
      : { kind: 'storage', storage: storageOver(element, numbers, form, holding), array: 0 }
  // The elements iterated over are those of an array of the body.
  if (over.kind === 'storage' && over.storage.kind === 'dense' && over.storage.dtype === 'f64') {
    arrays.set('long', { storage: over.storage, array: over.array, label: 'long' })
  }
  const kind = over.kind === 'range' ? 'range' : 'table'
  const serial = serially(ir, { kind, extents: [ITERATIONS] }, { options, arrays: [0, ...[...arrays.values()].map(({ array }) => array)] })
  // Blocks run in key order here, whatever the body depends on.
  const analyzed: AnalyzedLoop = options.partitions === undefined ? serial : { ...serial, schedule: { kind: 'independent' } }
  const accumulators = new Map([
    ['sum', 'sum'],
    ['least', 'min'],
    ['most', 'max'],
    ['calls', 'count'],
  ] as const)
  return { analyzed, over, arrays, buffers: new Map(), accumulators, rngs: new Map(), envObject: {} }
}

function storageOver(element: 'number' | 'row', numbers: readonly number[], form: number, holding: Holding): Storage {
  if (element === 'number') {
    const dtype = (['f64', 'f32', 'i32', 'bool'] as const)[form] ?? 'f64'
    const values = dtype === 'bool' ? numbers.map((_, i) => i & 1) : numbers
    if (form % 2 === 0) return holding.dense([ITERATIONS], dtype, values)
    return holding.sparse(
      [ITERATIONS],
      dtype,
      values.map((_, i) => [i]),
      values,
    )
  }
  const shared = (dtype: DType, values: readonly number[]) => {
    const data = holding.view(dtype, ITERATIONS)
    for (const [i, value] of values.entries()) data[i] = value as never // numbers of the dtype
    return { type: { kind: dtype }, length: ITERATIONS, values: data } as const
  }
  const columns = {
    n: shared('f64', numbers),
    ok: shared(
      'bool',
      numbers.map((_, i) => i & 1),
    ),
    count: shared('u8', [...numbers.keys()]),
    single: shared('f32', numbers),
    name: columnFromValues(
      numbers.map((n) => `s${n}`),
      { kind: 'utf8' },
    ),
  }
  const fields = Object.entries(columns).map(([name, column]) => ({ name, type: column.type, nullable: false }))
  const table: TableStorage = { kind: 'table', element: { kind: 'row', fields }, length: ITERATIONS, columns: Object.values(columns) }
  return table
}
