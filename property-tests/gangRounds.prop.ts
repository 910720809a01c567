/**
 * Passes in rounds, whose update buffers are flushed between them, have the bits of one process: on any number of them, whoever is lost
 * on the way, with updates that are late, that a budget holds back, and that the program's own functions join and bring in, whether the
 * subscripts of what is read are known or lie in an array, and whether one process flushes all elements or each its own.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { GangError } from '../src/core/errors.ts'
import { Session } from '../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('gangRounds.prop.ts', 300)
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

const QUIET = { progress: false, checkRaces: false, ...shortPassesOnWorkers } as const
let alone: Session
let [lost, shared, cases, served, owned, stayed, budgeted, applied] = [0, 0, 0, 0, 0, 0, 0, 0]
const kinds = new Set<string>()
beforeAll(async () => {
  alone = await Session.start({ workers: 1, ...QUIET })
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  expect(shared, `rounds of ${cases} programs on several processes`).toBeGreaterThan(cases)
  expect(lost, `processes lost in ${shared} rounds`).toBeGreaterThan(shared / 100)
  expect(served, 'arrays of which processes were sent what they read').toBeGreaterThan(cases / 8)
  expect(owned, 'messages between owners of elements').toBeGreaterThan(cases / 2)
  expect(stayed, 'programs whose last pass has left elements with their owners').toBeGreaterThan(cases / 25)
  expect(budgeted, 'programs whose owners choose among all updates').toBeGreaterThan(cases / 20)
  expect(applied, 'programs whose owners bring in by a function').toBeGreaterThan(cases / 50)
  expect([...kinds]).toEqual(expect.arrayContaining(['independent', '1d', '2d']))
})

/** Nothing takes so long but processes that wait for each other. */
const LONGEST_MS = process.env.LAW_FAULT === undefined ? 20_000 : 5_000
const MOST_ROWS = 40
/** Turns of an inner loop, so dear that a round is worth several blocks. */
const WORK = 2_000

interface Program {
  readonly rows: number
  readonly columns: number
  /** Elements of the buffered arrays. */
  readonly elements: number
  readonly dtype: 'f64' | 'f32' | 'i32' | 'u8'
  readonly flushes: number
  readonly staleness: number
  readonly most: number | undefined
  readonly joins: 'sum' | 'most'
  /** Whether a function brings updates in, and what it needs beside them. */
  readonly applies: 'not' | 'closed' | 'captured'
  readonly order: 'serial' | 'any'
  readonly over: 'range' | 'sparse'
  /** What keeps iterations of a row, or of a column, in their order. */
  readonly chains: 'none' | 'rows' | 'columns' | 'both'
  /** Elements of the buffered array: none, at subscripts that follow from the indices, or at those that an array holds. */
  readonly reads: 'none' | 'computed' | 'found'
  readonly partitions: number | undefined
  readonly between: readonly ('nothing' | 'write' | 'rate' | 'move' | 'loop' | 'reader')[]
  /** Whether all iterations add the same to elements that are the same, so that updates are equal. */
  readonly isEven: boolean
}

const programs: fc.Arbitrary<Program> = fc.record({
  rows: fc.integer({ min: 1, max: MOST_ROWS }),
  columns: fc.integer({ min: 1, max: 9 }),
  elements: fc.integer({ min: 1, max: 24 }),
  dtype: fc.constantFrom('f64', 'f64', 'f32', 'i32', 'u8'),
  flushes: fc.integer({ min: 2, max: 6 }),
  staleness: fc.integer({ min: 0, max: 2 }),
  most: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined, freq: 2 }),
  joins: fc.constantFrom('sum', 'sum', 'sum', 'sum', 'most'),
  applies: fc.constantFrom<Program['applies']>('not', 'not', 'not', 'not', 'not', 'closed', 'closed', 'captured'),
  order: fc.constantFrom<'serial' | 'any'>('serial', 'any', 'any', 'any'),
  over: fc.constantFrom<'range' | 'sparse'>('range', 'range', 'sparse'),
  chains: fc.constantFrom<Program['chains']>('none', 'none', 'rows', 'columns', 'both', 'both'),
  reads: fc.constantFrom<Program['reads']>('computed', 'computed', 'found', 'found', 'found', 'none'),
  partitions: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined, freq: 2 }),
  between: fc.array(fc.constantFrom('nothing', 'nothing', 'write', 'rate', 'move', 'loop', 'loop', 'reader'), {
    minLength: 1,
    maxLength: 2,
  }),
  isEven: fc.constant(false),
})

/** Such as are flushed by the owners of elements, but for functions that need more than the two numbers. */
const programsOfOwners: fc.Arbitrary<Program> = fc
  .tuple(
    programs,
    fc.record({
      rows: fc.integer({ min: 6, max: MOST_ROWS }),
      elements: fc.integer({ min: 6, max: 24 }),
      most: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined, freq: 3 }),
      joins: fc.constant<'sum'>('sum'),
      applies: fc.constantFrom<Program['applies']>('not', 'not', 'closed', 'captured'),
      chains: fc.constantFrom<Program['chains']>('none', 'rows'),
      reads: fc.constantFrom<Program['reads']>('computed', 'found', 'found'),
      between: fc.array(fc.constantFrom('nothing', 'rate', 'rate', 'move', 'loop', 'reader', 'reader'), { minLength: 1, maxLength: 4 }),
      isEven: fc.boolean(),
    }),
  )
  .map(([one, owned]) => ({ ...one, ...owned }))

interface Outcome {
  readonly arrays: readonly (readonly number[])[]
  readonly passes: readonly unknown[]
}

interface Predicted {
  readonly firstBytes: number
  readonly changedBytes: number
}

/** `before` is called with what simulate() says of a pass on so many processes, `ran` after each pass. */
async function run(
  session: Session,
  program: Program,
  watch?: { readonly world: number; before(predicted: Predicted): void; ran(): void },
): Promise<Outcome> {
  const { rows, columns, elements, dtype, flushes, staleness, most, joins, applies, order, chains, reads, partitions, isEven } = program
  const places = Array.from({ length: Math.max(elements, rows) }, (_, k) => k % 7)
  const classes = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array }
  const w = session.fromTypedArray(classes[dtype].from(isEven ? places.map(() => 1) : places) as Float64Array, [places.length])
  const [once, bins] = [session.zeros([5]), session.zeros([3])]
  const [ofRow, ofColumn] = [session.zeros([rows]), session.zeros([columns])]
  let [rate, keeps] = [0.01, 0.5]
  const turns = isEven ? 0 : 1
  const rounds = { flushes, staleness, ...(most === undefined ? {} : { budget: 12 * most }) }
  const buffer = w.buffer({
    ...rounds,
    ...(joins === 'sum' ? {} : { combine: (a: number, b: number) => (a > b ? a : b) }),
    ...(applies === 'closed' ? { apply: (current: number, update: number) => current * 0.5 + update } : {}),
    ...(applies === 'captured' ? { apply: (current: number, update: number) => current * keeps + update } : {}),
  })
  const onceBuffer = once.buffer()
  const where = session.fromTypedArray(
    Int32Array.from(places, (_, k) => (k * k * 3) % places.length),
    [places.length],
  )
  const [isComputed, isFound] = [reads === 'computed', reads === 'found']
  const [total, largest] = [session.accumulator('sum'), session.accumulator('max')]
  const [byRow, byColumn] = [chains === 'rows' || chains === 'both', chains === 'columns' || chains === 'both']
  const width = places.length
  const keys = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => [i, j] as const))
    .flat()
    .filter(([i, j]) => (i * 3 + j * 5) % 4 > 0)
  const stars = session
    .fromColumns({
      i: Int32Array.from(keys, ([i]) => i),
      j: Int32Array.from(keys, ([, j]) => j),
      x: Float64Array.from(keys, (_, at) => (at % 9) / 7),
    })
    .index((row) => [row.i, row.j])
    .map((row) => row.x)
  const env = { buffer, where, onceBuffer, bins, ofRow, ofColumn, total, largest }
  const options = { order, ...(partitions === undefined ? {} : { partitions }) }
  const loop =
    program.over === 'range'
      ? session.loop(
          chains === 'none' ? session.range(rows, 1) : session.range(rows, columns),
          env,
          ([i, j], { buffer, where, onceBuffer, bins, ofRow, ofColumn, total, largest }) => {
            let x = 1
            for (let k = 0; k < WORK; k++) x = x * 0.5 + 1
            x = (((i * 7 + j * 3) * turns) % 11) / 7 + 0.5 + 0 * x
            if (isComputed) x += buffer.get((i * 5 + j) % width)
            if (isFound) x += buffer.get(where.get(i))
            if (byRow) ofRow.set(i, ofRow.get(i) * 0.9 + x)
            if (byColumn) ofColumn.set(j, ofColumn.get(j) * 0.7 + x)
            total.add(x)
            largest.add(x)
            onceBuffer.add(i % 5, x * rate)
            bins.add((i + j) % 3, x)
            buffer.add((i + 3 * j) % width, (byRow ? ofRow.get(i) : x) * rate)
          },
          options,
        )
      : session.loop(
          stars,
          { ...env, stars },
          (value, [i, j], { stars, buffer, where, onceBuffer, bins, ofRow, ofColumn, total, largest }) => {
            let x = 1
            for (let k = 0; k < WORK; k++) x = x * 0.5 + 1
            x = value * turns + 0 * x
            stars.set(i, j, value * 0.5 + 1)
            if (isComputed) x += buffer.get((i * 5 + j) % width)
            if (isFound) x += buffer.get(where.get(i))
            if (byRow) ofRow.set(i, ofRow.get(i) * 0.9 + x)
            if (byColumn) ofColumn.set(j, ofColumn.get(j) * 0.7 + x)
            total.add(x)
            largest.add(x)
            onceBuffer.add(i % 5, x * rate)
            bins.add((i + j) % 3, x)
            buffer.add((i + 3 * j) % width, (byRow ? ofRow.get(i) : x) * rate)
          },
          options,
        )
  const halves = session.loop(session.range(width), { w }, ([k], { w }) => {
    let x = 1
    for (let i = 0; i < WORK; i++) x = x * 0.5 + 1
    w.set(k, w.get(k) * 0.5 + (k % 3) + 0 * x)
  })
  const seen = session.zeros([width])
  const reader = session.loop(session.range(width), { w, where, seen }, ([k], { w, where, seen }) => {
    let x = 1
    for (let i = 0; i < WORK; i++) x = x * 0.5 + 1
    seen.set(k, seen.get(k) * 0.5 + w.get(where.get(width - 1 - k)) + 0 * x)
  })
  const passes: unknown[] = []
  if (watch !== undefined) watch.before(await loop.simulate({ nodes: watch.world, threads: 1 }))
  for (const what of [...program.between, 'nothing']) {
    for await (const { accumulators, delayed } of loop.passes(1)) passes.push([accumulators.total, accumulators.largest, delayed])
    watch?.ran()
    if (what === 'write') await w.set([0], 3)
    if (what === 'rate') [rate, keeps] = [rate * 0.5, keeps * 0.5]
    if (what === 'move') for (const k of [0, rows >> 1, rows - 1]) await where.set([k], (rows + k * 5 + passes.length) % places.length)
    if (what === 'loop') await halves.run()
    if (what === 'reader') await reader.run()
  }
  const { schedule, execution } = loop.plan
  if ((execution.processes?.count ?? 1) > 1) kinds.add(schedule.kind)
  const { because = '' } = execution.processes ?? {}
  if (because.includes('which stay there')) stayed++
  const areOwners = because.includes('Each flushes its own')
  if (areOwners && most !== undefined) budgeted++
  if (areOwners && applies !== 'not') applied++
  const arrays = await Promise.all(
    [w, once, bins, ofRow, ofColumn, seen].map(async (array) => [...(await array.toTypedArray())].map(Number)),
  )
  if (program.over === 'sparse') arrays.push((await stars.collect()).map(Number))
  return { arrays, passes }
}

interface Processes {
  readonly world: number
  readonly list: readonly Mishap[]
  readonly seed: number
}
const processes: fc.Arbitrary<Processes> = fc
  .constantFrom(1, 2, 2, 3, 3, 3, 5, 5)
  .chain((world) => fc.record({ world: fc.constant(world), list: fc.oneof(fc.constant([]), mishaps(world, 90)), seed: fc.nat() }))

async function together({ world, list, seed }: Processes, workers: number, program: Program): Promise<Outcome> {
  const { gang, losses, sent, served: rows, shares, stop } = memoryGang(world, list, seed)
  const session = await Session.start({ workers, ...QUIET, ...runningWith(gang) })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('Processes wait for each other.'))
      gang.members.lose(new GangError('Nobody waits any longer.', 'lost')) // a session that is stopped waits for its passes
    }, LONGEST_MS)
  })
  try {
    let [most, first, before]: [number, number | undefined, number] = [Number.POSITIVE_INFINITY, undefined, 0]
    const watch = {
      world,
      before: (predicted: Predicted): void => {
        most = predicted.changedBytes
        first = predicted.firstBytes
      },
      ran: (): void => {
        const { changed, planned } = sent()
        if (list.length === 0) expect(changed - before, 'bytes of a pass').toBeLessThanOrEqual(most)
        if (list.length === 0 && first !== undefined) expect(planned, 'bytes before the pass and from block to block').toBe(first)
        first = undefined
        before = changed
      },
    }
    return await Promise.race([run(session, program, watch), late])
  } finally {
    clearTimeout(timer)
    lost += losses()
    shared += gang.members.passes
    served += rows().messages
    owned += shares()
    cases++
    await stop()
    await session.stop()
  }
}

test('loops whose buffers are flushed between rounds have the bits of one process, whoever is lost', async () => {
  await fc.assert(
    fc.asyncProperty(programs, fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 2), processes, async (program, workers, many) => {
      const one = await run(alone, program)
      const several = await together(many, workers, program)
      expect(several).toEqual(one)
    }),
    RUN,
  )
})

test('buffers that the owners of elements flush among them have the bits of one process', async () => {
  const some = fc.constantFrom(2, 3, 3, 5).map((world) => ({ world, list: [], seed: 0 }))
  await fc.assert(
    fc.asyncProperty(programsOfOwners, some, async (program, many) => {
      const one = await run(alone, program)
      const several = await together(many, 1, program)
      expect(several).toEqual(one)
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 2) },
  )
})
