/**
 * Law 8: the race checker reports every conflict that a schedule does not keep in order, and none on legal loops.
 *
 * The reference runs the body as plain JavaScript over views that note every element each iteration touches, and then
 * tries all pairs of iterations. Schedules are forced on loops that they are wrong for, promises are broken.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { LoopError } from '../src/core/errors.ts'
import { type Expr, expressionsOf, visitExpr, visitStmts } from '../src/core/ir/functionIr.ts'
import type { LoopOptions } from '../src/core/loop/loopSpec.ts'
import type { InnerSchedule, Schedule } from '../src/core/loop/schedules.ts'
import type { BlockSchedule } from '../src/exec/loops/blocks/schedule.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import { type RandomArray, type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { plantedLoop } from './arbitraries/plantedLoop.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine, valuesOf } from './loopRuns.ts'

const RUN = announcedRun('raceCheck.prop.ts')
const RUNS = RUN.numRuns
vi.setConfig({ testTimeout: 50 * RUNS + 60_000 })

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

const loops = fc.oneof(randomLoop({ inside: true }), scheduledLoop({ largest: 8 }))
const partitions = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }))
/** Axes and slants by number, modulo how many there are. */
interface Claim {
  readonly kind: 'independent' | '1d' | '2d' | 'wavefront' | 'slanted' | 'skewed' | 'stepped'
  readonly first: number
  readonly second: number
}
const wrongSchedule = (...kinds: Claim['kind'][]): fc.Arbitrary<Claim> =>
  fc.record({ kind: fc.constantFrom(...kinds), first: fc.nat(5), second: fc.nat(5) })

test('a conflict is reported exactly where a pair of iterations is in no order under the schedule claimed', async () => {
  const claims = wrongSchedule('independent', '1d', '2d', 'wavefront', 'slanted', 'skewed', 'stepped')
  await fc.assert(
    fc.asyncProperty(loops, claims, partitions, (loop, claim, parts) => reportsOpenPairs(loop, scheduleOf(loop, claim), parts)),
    RUN,
  )
})

test('the same for conflicts that are planted one by one', async () => {
  const claims = wrongSchedule(
    'independent',
    '1d',
    '2d',
    '2d',
    'wavefront',
    'wavefront',
    'wavefront',
    'slanted',
    'skewed',
    'stepped',
    'stepped',
  )
  await fc.assert(
    fc.asyncProperty(plantedLoop(), claims, partitions, (loop, claim, parts) => reportsOpenPairs(loop, scheduleOf(loop, claim), parts)),
    { ...RUN, numRuns: 2 * RUNS },
  )
})

test('nothing is reported where the analysis chose the schedule', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(loops, randomLoop({ inside: true, distinct: true }), randomLoop({ inside: true, scratch: true })),
      partitions,
      async (loop, parts) => {
        expectNone(await checked(loop, { partitions: parts }), loop)
      },
    ),
    RUN,
  )
})

test('an array that is more than added to, and yet called a reduction, is reported where both meet', async () => {
  const independent = { kind: 'independent' } as const
  await fc.assert(
    fc.asyncProperty(randomLoop({ inside: true }), fc.nat(2), async (loop, array) => {
      const seen = await checked(loop, {}, independent, { reducedArrays: [array + 1] })
      if (seen.blocks.kind === 'serial' || seen.report !== undefined) return
      const pairs = conflictsOf({ ...seen, reduced: [] }).filter(([p, q, { array: shared, element }]) => {
        const modes = [p, q].map(
          (rank) =>
            new Set(seen.touches[rank]?.flatMap((one) => (one.array === shared && one.element === element ? one.mode === 'add' : []))),
        )
        return shared !== array + 1 || modes.some((one, i) => one.has(true) && modes[1 - i]?.has(false))
      })
      if (pairs.length > 0) throw new Error(`${describePair(seen, pairs[0])} is not reported in\n${loop.source}`)
    }),
    RUN,
  )
})

test('an array that is called private is reported where an iteration reads what another wrote', async () => {
  const independent = { kind: 'independent' } as const
  await fc.assert(
    fc.asyncProperty(randomLoop({ inside: true }), fc.nat(2), async (loop, array) => {
      const seen = await checked(loop, {}, independent, { privateArrays: [array + 1], reducedArrays: [] })
      if (seen.blocks.kind === 'serial' || seen.report !== undefined) return
      const writers = new Map<unknown, number>()
      for (const [rank, touches] of seen.touches.entries()) {
        for (const { element, mode } of touches.filter((one) => one.array === array + 1)) {
          const writer = writers.get(element)
          if (mode !== 'write' && writer !== undefined && writer !== rank)
            throw new Error(`${rank} reads ${element} as ${writer} left it, which is not reported in\n${loop.source}`)
          if (mode !== 'read') writers.set(element, rank)
        }
      }
    }),
    RUN,
  )
})

test('a promise of assume.distinct is reported exactly where two iterations break it, or race for it', async () => {
  await fc.assert(
    fc.asyncProperty(
      randomLoop({ inside: true, distinct: true }),
      fc.integer({ min: 1, max: 6 }),
      partitions,
      async (true_, modulus, parts) => {
        const loop = withRepeats(true_, modulus)
        const seen = await checked(loop, { partitions: parts })
        const { report, schedule, iterations } = seen
        const order = loop.spec.options.order ?? 'serial'
        const broken = brokenPromises(seen, loop)
        const open =
          schedule.kind === 'serial' || seen.blocks.kind === 'serial'
            ? []
            : conflictsOf(seen).filter(([p, q]) => !inOrder(schedule, order, iterations[p] ?? [], iterations[q] ?? []))
        if ((report !== undefined) === (broken > 0 || open.length > 0)) return
        throw new Error(`${broken} broken promises and ${open.length} races, and the report is ${report} of\n${loop.source}`)
      },
    ),
    RUN,
  )
})

// ------------------------------------------------------------------ the checker

interface Seen {
  readonly report: string | undefined
  readonly schedule: Schedule
  readonly blocks: BlockSchedule
  /** Keys of the iterations, in the serial order. */
  readonly iterations: readonly (readonly number[])[]
  /** What each of them touches, in the same order. */
  readonly touches: readonly (readonly Touch[])[]
  readonly reduced: readonly number[]
}

/** Checks a loop under the schedule of the analysis, or another one that is forced on it. */
async function checked(
  loop: RandomLoop,
  options: LoopOptions,
  forced?: Schedule,
  called: { readonly reducedArrays?: readonly number[]; readonly privateArrays?: readonly number[] } = {},
): Promise<Seen> {
  const holding = new Holding(machine.arena)
  const pool = machine.pools.get(1)
  if (pool === undefined) throw new Error('No pool.')
  const { inputs } = inputsOf(loop, options, holding)
  const analyzed =
    forced === undefined ? inputs.analyzed : { ...inputs.analyzed, schedule: forced, privateArrays: [] as readonly number[], ...called }
  const prepared = prepareLoop({ ...inputs, analyzed }, { pool, arena: machine.arena })
  try {
    const rank = loop.spec.over.rank
    const flat = prepared.serialOrder()
    const iterations = loop.iterations.map((_, i) => [...flat.subarray(i * rank, (i + 1) * rank)])
    const before = loop.arrays.map((_, i) => JSON.stringify(contents(inputs, i, loop)))
    const report = await prepared.checkRaces(0, { automatic: false }).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof LoopError) return error.message
        throw error
      },
    )
    const after = loop.arrays.map((_, i) => JSON.stringify(contents(inputs, i, loop)))
    if (before.join() !== after.join()) throw new Error(`The check changed an array of\n${loop.source}`)
    const touches = touchesOf(loop, iterations)
    return {
      report,
      schedule: analyzed.schedule,
      blocks: prepared.blocks,
      iterations,
      touches,
      reduced: [...analyzed.reducedArrays, ...analyzed.privateArrays],
    }
  } finally {
    prepared.dispose()
    holding.free()
  }
}

function contents({ arrays, over }: ReturnType<typeof inputsOf>['inputs'], index: number, loop: RandomLoop): unknown[] {
  const array = loop.arrays[index]?.array
  const named = [...arrays.values()].find((input) => input.array === array)?.storage
  const storage = named ?? (over.kind === 'storage' ? over.storage : undefined)
  return storage === undefined ? [] : [...(storage.kind === 'dense' ? storage.data : (storage.columns[0]?.values ?? []))]
}

/** A report where a pair is open under the schedule, and none where all are in order. */
async function reportsOpenPairs(loop: RandomLoop, schedule: Schedule, parts: readonly number[]): Promise<void> {
  const order = (schedule.kind === 'stepped' ? schedule.inner : schedule).kind === '2d' ? 'any' : (loop.spec.options.order ?? 'serial')
  const seen = await checked(loop, { order, partitions: parts }, schedule)
  const { report, blocks, iterations } = seen
  if (blocks.kind === 'serial') return expectNone(seen, loop)
  const pairs = conflictsOf(seen)
  const open = pairs.filter(([p, q]) => !inOrder(schedule, order, iterations[p] ?? [], iterations[q] ?? []))
  if (report === undefined && open.length > 0) throw new Error(`${describePair(seen, open[0])} is not reported in\n${loop.source}`)
  if (report === undefined) {
    const racing = pairs.find(([p, q]) => !blocksInOrder(seen, p, q))
    if (racing !== undefined) throw new Error(`The blocks of ${describePair(seen, racing)} run together in\n${loop.source}`)
    return
  }
  if (open.length === 0) throw new Error(`All pairs are in order, yet ${report}\n${loop.source}`)
  expectFirst(seen, report, open, loop)
}

function expectNone({ report }: Seen, loop: RandomLoop): void {
  if (report !== undefined) throw new Error(`A legal loop is refused: ${report}\n${loop.source}`)
}

/** The report names an open pair, and none was complete before it. */
function expectFirst(seen: Seen, report: string, open: readonly Pair[], loop: RandomLoop): void {
  const lines = [...report.matchAll(/^ {2}\(([^)]*)\) (reads|writes|adds to) (\w+)\[([^\]]*)\] at /gm)]
  const [a, b] = lines.map(([, key, verb, name, element]) => ({
    rank: seen.iterations.findIndex((iteration) => iteration.join(', ') === key),
    mode: verb === 'reads' ? 'read' : 'write',
    array: arrayNamed(loop, name ?? ''),
    element: (element ?? '').replaceAll(' ', ''),
  }))
  const named = open.some(([p, q, at]) => p === a?.rank && q === b?.rank && at.array === a.array && at.element === a.element)
  const real = [a, b].every((one) =>
    seen.touches[one?.rank ?? -1]?.some(({ array, element, mode }) => {
      return array === one?.array && element === one.element && (mode === 'read') === (one.mode === 'read')
    }),
  )
  const first = open.reduce((least, [, q]) => Math.min(least, q), Number.POSITIVE_INFINITY) // there may be more than a call takes
  if (named && real && a?.array === b?.array && a?.element === b?.element && b?.rank === first) return
  throw new Error(
    `The first open pair is ${describePair(
      seen,
      open.find(([, q]) => q === first),
    )}, not\n${report}\n${loop.source}`,
  )
}

function arrayNamed(loop: RandomLoop, name: string): number | undefined {
  return loop.arrays.find(({ names }) => names.includes(name))?.array ?? (name === loop.spec.over.label ? loop.spec.over.array : undefined)
}

/** A schedule of two axes needs two: where there is one, another kind takes its place. */
function scheduleOf(loop: RandomLoop, claim: Claim): Schedule {
  const { rank } = loop.spec.over
  const first = claim.first % rank
  if (claim.kind === '1d') return { kind: '1d', axis: first }
  if (claim.kind === 'independent' || rank === 1) return { kind: 'independent' }
  if (claim.kind === 'slanted') return { kind: '1d', form: slant(claim.first, rank) }
  if (claim.kind === 'skewed') return { kind: 'skewed', forms: [slant(claim.first, rank), slant(claim.second, rank)] }
  if (claim.kind === 'stepped') return steppedOf(claim, rank)
  const second = (first + 1 + (claim.second % (rank - 1))) % rank
  return { kind: claim.kind, axes: [Math.min(first, second), Math.max(first, second)] }
}

/** Some axes in order, and a schedule of those that remain. */
function steppedOf({ first, second }: Claim, rank: number): Schedule {
  const outer = 1 + (first % (rank - 1))
  const inner = rank - outer
  const choices: InnerSchedule[] = [{ kind: 'independent' }, { kind: '1d', axis: outer + (second % inner) }]
  if (inner > 1) {
    const [a, b] = [[0, 1, 1].slice(0, rank), [0, 0, 1].slice(0, rank)]
    choices.push(
      { kind: '2d', axes: [outer, outer + 1] },
      { kind: 'wavefront', axes: [outer, outer + 1] },
      { kind: 'skewed', forms: [a, b] },
    )
  }
  return { kind: 'stepped', outer, inner: choices[second % choices.length] as InnerSchedule } // one of those listed
}

const SLANTS = [
  [1, 1, 0],
  [1, 0, 1],
  [2, 1, 1],
  [1, -1, 0],
  [0, 1, 2],
  [1, 0, 0],
]

function slant(pick: number, rank: number): readonly number[] {
  return (SLANTS[pick % SLANTS.length] ?? []).slice(0, rank)
}

// ------------------------------------------------------------------ the reference: all pairs

interface Touch {
  readonly array: number
  readonly element: string
  readonly mode: 'read' | 'write' | 'add'
  readonly value?: unknown
}
/** Ranks of two iterations, and what they share. */
type Pair = readonly [p: number, q: number, at: Touch]

function conflictsOf({ touches, reduced }: Seen): Pair[] {
  const pairs: Pair[] = []
  for (const [p, earlier] of touches.entries()) {
    for (let q = p + 1; q < touches.length; q++) {
      for (const a of earlier) {
        for (const b of touches[q] ?? []) {
          if (a.array !== b.array || a.element !== b.element || reduced.includes(a.array)) continue
          if (a.mode !== 'read' || b.mode !== 'read') pairs.push([p, q, a])
        }
      }
    }
  }
  return pairs
}

/** Whether p surely runs before q, or in one block with it, wherever the axes are cut. */
function inOrder(schedule: Schedule, order: 'serial' | 'any', p: readonly number[], q: readonly number[]): boolean {
  const step = (axis: number) => (q[axis] ?? 0) - (p[axis] ?? 0)
  const stepAlong = (form: readonly number[]) => form.reduce((sum, coefficient, axis) => sum + coefficient * step(axis), 0)
  switch (schedule.kind) {
    case 'independent':
      return false
    case '1d':
      return 'form' in schedule ? stepAlong(schedule.form) === 0 : step(schedule.axis) === 0
    case '2d':
      return schedule.axes.some((axis) => step(axis) === 0)
    case 'wavefront':
    case 'skewed': {
      const steps = schedule.kind === 'skewed' ? schedule.forms.map(stepAlong) : schedule.axes.map(step)
      const [a, b] = steps as [number, number]
      return (a >= 0 && b >= 0) || (order === 'any' && a <= 0 && b <= 0)
    }
    case 'stepped':
      return p.slice(0, schedule.outer).join() !== q.slice(0, schedule.outer).join() || inOrder(schedule.inner, order, p, q)
    case 'colored':
    case 'serial':
      return true
  }
}

/** Whether the blocks of p and q are one, or that of q waits for that of p, through any number of blocks. */
function blocksInOrder({ blocks, iterations }: Seen, p: number, q: number): boolean {
  const inStep = blocks.steps?.blocks ?? blocks.count
  const [earlier, later] = [p, q].map((rank) => blockOf(blocks, iterations, rank)) as [number, number]
  if (Math.floor(earlier / inStep) < Math.floor(later / inStep)) return true
  if (Math.floor(earlier / inStep) > Math.floor(later / inStep)) return false
  const [from, to] = [earlier % inStep, later % inStep]
  const reached = new Set([from])
  for (const block of reached) {
    for (let i = blocks.successorStart[block] ?? 0; i < (blocks.successorStart[block + 1] ?? 0); i++)
      reached.add(blocks.successors[i] ?? -1)
  }
  return reached.has(to)
}

/** Of a box in steps: the block of the first step, and how many steps later. */
function blockOf(all: BlockSchedule, iterations: readonly (readonly number[])[], rank: number): number {
  const { steps, ...blocks } = all
  if (steps === undefined || blocks.order !== undefined) return blockWithin(blocks, iterations[rank] ?? [], rank)
  const key = iterations[rank] ?? []
  const step = steps.extents.reduce((number, extent, axis) => number * extent + (key[axis] ?? 0), 0)
  const first = key.map((k, axis) => (axis < steps.extents.length ? 0 : k))
  const inStep = (blocks.iterations * steps.blocks) / blocks.count
  return step * steps.blocks + blockWithin({ ...blocks, count: steps.blocks }, first, rank % inStep)
}

function blockWithin(blocks: BlockSchedule, key: readonly number[], rank: number): number {
  const all = Array.from({ length: blocks.count }, (_, block) => block)
  const { boxes, order, keyOrder, forms, cuts } = blocks
  if (forms !== undefined && order === undefined) {
    const [row = 0, column = 0] = forms.map((form, i) => {
      const value = form.reduce((sum, coefficient, axis) => sum + coefficient * (key[axis] ?? 0), 0)
      return (cuts[i] ?? []).filter((cut) => cut <= value).length - 1
    })
    return row * (forms.length === 2 ? (cuts[1]?.length ?? 1) - 1 : 1) + column
  }
  if (boxes !== undefined) {
    return all.findIndex((block) =>
      key.every((k, axis) => k >= (boxes[(block * key.length + axis) * 2] ?? 0) && k < (boxes[(block * key.length + axis) * 2 + 1] ?? 0)),
    )
  }
  // Ranks are places where they are in plan order; in key order the place of a sorted element is looked up.
  const place = order === undefined || !keyOrder ? rank : order.indexOf(rank)
  return all.findIndex((block) => place >= (blocks.from[block] ?? 0) && place < (blocks.to[block] ?? 0))
}

function describePair({ iterations }: Seen, pair: Pair | undefined): string {
  if (pair === undefined) return 'no pair'
  const [p, q, { array, element }] = pair
  return `(${iterations[p]}) and (${iterations[q]}) on element [${element}] of array ${array}`
}

/**
 * Runs the body over plain arrays, iterations in the given order, and notes every element each one touches. An access
 * outside its array ends the run.
 */
function touchesOf(loop: RandomLoop, iterations: readonly (readonly number[])[]): Touch[][] {
  const data = loop.arrays.map((array) => (array.dtype === 'f64' ? Float64Array : Int32Array).from(valuesOf(array)) as Float64Array) // both hold numbers
  let touches: Touch[] = []
  const views: Record<string, unknown> = { total: { add: () => {} } }
  for (const [i, array] of loop.arrays.entries()) {
    for (const name of array.names) views[name] = notingView(array, data[i] as Float64Array, (touch) => touches.push(touch))
  }
  const iterated = loop.arrays.findIndex((array) => array.array === loop.spec.over.array)
  const usesValue = readsValue(loop)
  const body = loop.spec.body.original as (...args: unknown[]) => unknown // as the source says
  const run = (key: readonly number[]): void => {
    const array = loop.arrays[iterated]
    if (array === undefined) body(key, views)
    else {
      const values = data[iterated] as Float64Array
      const place = array.keys === undefined ? placeOf(array.shape, key) : array.keys.findIndex((one) => one.join() === key.join())
      if (usesValue) touches.push({ array: array.array, element: key.join(), mode: 'read' })
      const value = body(values[place], key, views)
      if (value !== undefined) {
        touches.push({ array: array.array, element: key.join(), mode: 'write' })
        values[place] = value as number
      }
    }
  }
  const all: Touch[][] = []
  for (const key of iterations) {
    touches = []
    all.push(touches)
    try {
      run(key)
    } catch (error) {
      if (error instanceof RangeError) break
      throw error
    }
  }
  return all
}

function notingView({ array, shape }: RandomArray, data: Float64Array, note: (touch: Touch) => void): Record<string, unknown> {
  const rank = shape.length
  const elementOf = (key: readonly number[]) => key.map((k) => k + 0).join()
  return {
    shape,
    get: (...key: number[]) => {
      const value = data[placeOf(shape, key)]
      note({ array, element: elementOf(key), mode: 'read', value })
      return value
    },
    set: (...args: number[]) => {
      data[placeOf(shape, args)] = args[rank] as number
      note({ array, element: elementOf(args.slice(0, rank)), mode: 'write' })
    },
    add: (...args: number[]) => {
      data[placeOf(shape, args)]! += args[rank] as number
      note({ array, element: elementOf(args.slice(0, rank)), mode: 'add' })
    },
  }
}

function placeOf(shape: readonly number[], key: readonly number[]): number {
  const isInside = shape.every((extent, axis) => Number.isInteger(key[axis]) && (key[axis] ?? -1) >= 0 && (key[axis] ?? -1) < extent)
  if (!isInside) throw new RangeError('outside')
  return shape.reduce((place, extent, axis) => place * extent + (key[axis] ?? 0), 0)
}

function readsValue(loop: RandomLoop): boolean {
  let found = false
  const note = (expr: Expr) => {
    if (expr.kind === 'Input') found = true
  }
  visitStmts(loop.ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, note)
  })
  return found
}

// ------------------------------------------------------------------ promises

/** The identity of the index array `x`. */
const INDEX = 9

/** The loop with values in `x` that may come back. */
function withRepeats(loop: RandomLoop, modulus: number): RandomLoop {
  const arrays = loop.arrays.map((array) =>
    array.array === INDEX ? { ...array, values: array.values.map((value) => value % modulus) } : array,
  )
  return { ...loop, arrays }
}

/** Pairs of reads of `x` in two iterations, at two places, that give one value. */
function brokenPromises({ touches }: Seen, loop: RandomLoop): number {
  if (/\bx\.(set|add)\(/.test(loop.source)) return 0
  const reads = touches.flatMap((list, rank) =>
    list.flatMap((touch) => (touch.array === INDEX && touch.mode === 'read' ? [{ rank, ...touch }] : [])),
  )
  let broken = 0
  for (const [i, a] of reads.entries()) {
    for (const b of reads.slice(i + 1)) if (a.rank !== b.rank && a.element !== b.element && a.value === b.value) broken++
  }
  return broken
}
