/**
 * Loops that only add: to accumulators of all kinds, to an array, and to update buffers, whose sums show the order in which they are
 * added.
 */
import fc from 'fast-check'
import type { DType } from '../../src/core/data/schema.ts'
import type { Expr, FunctionIr, Stmt } from '../../src/core/ir/functionIr.ts'
import type { AnalyzedLoop } from '../../src/core/loop/loopSpec.ts'
import type { Schedule } from '../../src/core/loop/schedules.ts'
import { plannedKind } from '../../src/core/loop/schedules.ts'
import type { AccumulatorInput, BufferInput, LoopInputs } from '../../src/exec/loops/loopInputs.ts'
import { prepareLoop } from '../../src/exec/loops/loopRun.ts'
import { elementsOf, Holding, type Machine } from '../loopRuns.ts'

/** Elements of the array that loops add to. */
const BINS = 7
/** Different values that are added: more than a block has iterations, so that each block has a largest of its own. */
const VALUES = 10_007

const span = { line: 1, column: 1, text: '' }
const key = (axis: number): Expr => ({ kind: 'Key', axis, span })
const number = (value: number): Expr => ({ kind: 'Literal', value, span })
const binary = (operator: '+' | '*' | '%' | '/', left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })

export interface Reduction {
  readonly extents: readonly number[]
  readonly schedule: Schedule
  readonly order: 'serial' | 'any'
  readonly partitions: number
  readonly multiplier: number
  readonly dtype: DType
  readonly custom: 'sum' | 'most'
}

const schedules = fc.constantFrom<Schedule[]>(
  { kind: 'independent' },
  { kind: '1d', axis: 0 },
  { kind: '1d', axis: 1 },
  { kind: '2d', axes: [0, 1] },
  { kind: 'wavefront', axes: [0, 1] },
  { kind: 'stepped', outer: 1, inner: { kind: '1d', axis: 1 } },
  { kind: 'stepped', outer: 1, inner: { kind: 'independent' } },
  { kind: 'serial' },
)
const extents = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 })) },
  { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 1, max: 160 }), fc.integer({ min: 1, max: 120 })) },
)
export const reductions: fc.Arbitrary<Reduction> = fc
  .record({
    extents,
    schedule: schedules,
    order: fc.constantFrom('serial' as const, 'any' as const),
    partitions: fc.integer({ min: 1, max: 9 }),
    multiplier: fc.integer({ min: 1, max: 97 }),
    dtype: fc.constantFrom<DType[]>('f64', 'f32', 'i32', 'u8'),
    custom: fc.constantFrom('sum' as const, 'most' as const),
  })
  .map((raw) => ({ ...raw, order: raw.schedule.kind === '2d' ? 'any' : raw.schedule.kind === 'wavefront' ? 'serial' : raw.order }))

/** What an iteration adds: no whole number, so that the order of additions shows. */
export function valueAt({ extents: [, width = 1], multiplier }: Reduction, [i = 0, j = 0]: readonly number[]): number {
  return (((i * width + j) * multiplier) % VALUES) / 7
}

function bodyOf(loop: Reduction): readonly Stmt[] {
  const place = binary('+', binary('*', key(0), number(loop.extents[1] ?? 1)), key(1))
  const value: Expr = { kind: 'Local', name: 'x', span }
  const bin = binary('%', place, number(BINS))
  return [
    {
      kind: 'Let',
      local: 'x',
      init: binary('/', binary('%', binary('*', place, number(loop.multiplier)), number(VALUES)), number(7)),
      span,
    },
    ...['total', 'least', 'most', 'calls', 'own'].map((accumulator): Stmt => ({ kind: 'Accumulate', accumulator, value, span })),
    { kind: 'Add', array: 'bins', subscripts: [bin], value, span },
    { kind: 'Add', array: 'later', subscripts: [bin], value, span },
    { kind: 'Add', array: 'joined', subscripts: [bin], value, span },
  ]
}

export const combineOwn = {
  sum: (a: number, b: number): number => a + b,
  // associative, and which of two equals is kept shows
  most: (a: number, b: number): number => (a >= b ? a : b),
}

export interface ReductionOutcome {
  readonly values: readonly unknown[]
  readonly bins: readonly unknown[]
  readonly order: Int32Array
}

export async function runReduction(machine: Machine, workers: number, loop: Reduction, partitions: number): Promise<ReductionOutcome> {
  const holding = new Holding(machine.arena)
  const pool = machine.pools.get(workers)
  if (pool === undefined) throw new Error(`No pool of ${workers}.`)
  const inputs = inputsOf(loop, partitions, holding)
  const { arena, gang } = machine
  const prepared = prepareLoop(inputs, { pool, arena, worthThreadsMs: 0, ...(gang === undefined ? {} : { gang }) })
  try {
    const { accumulators } = await prepared.runPass(0)
    const bins = [...inputs.arrays.values(), ...inputs.buffers.values()].flatMap(({ storage }) => elementsOf(storage))
    return { values: ['total', 'least', 'most', 'calls', 'own'].map((name) => accumulators[name]), bins, order: prepared.serialOrder() }
  } finally {
    prepared.dispose()
    holding.free()
  }
}

function inputsOf(loop: Reduction, partitions: number, holding: Holding): LoopInputs {
  const uses = [
    ...['bins'].map((name) => ({ name, kind: 'array' as const, origin: 'env' as const })),
    ...['later', 'joined'].map((name) => ({ name, kind: 'buffer' as const, origin: 'env' as const })),
    ...['total', 'least', 'most', 'calls', 'own'].map((name) => ({ name, kind: 'accumulator' as const, origin: 'env' as const })),
  ]
  const ir: FunctionIr = { name: 'body', span, keyRank: 2, body: bodyOf(loop), parameters: [], tables: [], uses }
  const analyzed: AnalyzedLoop = {
    spec: {
      body: { original: () => undefined, text: '', span, ir, refusals: [] },
      over: { kind: 'range', rank: 2, extents: loop.extents, label: 'range' },
      env: {},
      options: { order: loop.order, partitions },
    },
    plan: {
      order: loop.order,
      schedule: { kind: plannedKind(loop.schedule.kind), axes: [], blocks: [], reason: '' },
      rejected: [],
      dependences: [],
      variables: [],
      accesses: [],
      kernel: { target: 'js' },
      execution: { where: 'workers', because: '' },
      prefetch: [],
    },
    schedule: loop.schedule,
    ir,
    reducedArrays: [1],
    privateArrays: [],
    writtenArrays: [1, 2, 3],
    writesElement: false,
    notes: [],
  }
  const initial = Array.from({ length: BINS }, (_, i) => i / 3)
  const buffer = (array: number, label: string, rest: Pick<BufferInput, 'combine' | 'apply'>): readonly [string, BufferInput] => [
    label,
    { storage: holding.dense([BINS], loop.dtype, initial), array, label, ...rest },
  ]
  const most = combineOwn.most
  return {
    analyzed,
    over: { kind: 'range', extents: loop.extents },
    arrays: new Map([['bins', { storage: holding.dense([BINS], loop.dtype, initial), array: 1, label: 'bins' }]]),
    buffers: new Map([
      buffer(2, 'later', { combine: 'sum' }),
      buffer(3, 'joined', {
        combine: { original: most, portable: { source: 'return (a, b) => (a >= b ? a : b)', captures: {} } },
        apply: { original: (current: number, update: number) => current * 0.5 + update },
      }),
    ]),
    accumulators: new Map<string, AccumulatorInput>([
      ['total', 'sum'],
      ['least', 'min'],
      ['most', 'max'],
      ['calls', 'count'],
      ['own', { init: 0.25, combine: { original: combineOwn[loop.custom] } }],
    ]),
    rngs: new Map(),
    envObject: {},
  }
}
