/**
 * What colored schedules promise, tried on all pairs: two iterations that touch one element, one of them writing, run one after
 * the other, in the serial order that the schedule states; with order 'serial' that is key order. And the inspector never
 * answers from memory what the data no longer says.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LoopError } from '../src/core/errors.ts'
import { cutColored } from '../src/exec/loops/blocks/coloredBlocks.ts'
import { cutBlocks } from '../src/exec/loops/blocks/cutBlocks.ts'
import type { BlockSchedule } from '../src/exec/loops/blocks/schedule.ts'
import { serialOrderOf, spaceOf } from '../src/exec/loops/blocks/space.ts'
import type { Finding } from '../src/exec/loops/inspector/finding.ts'
import { inspect } from '../src/exec/loops/inspector/inspect.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { Session } from '../src/index.ts'
import { indexedLoop } from './arbitraries/indexedLoop.ts'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { traceLoop } from './arbitraries/loopTrace.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine, TURNS, valuesOf } from './loopRuns.ts'

const RUN = announcedRun('inspector.prop.ts')

let machine: Machine
let session: Session
beforeAll(async () => {
  machine = startMachine([1])
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(async () => {
  await machine.stop()
  await session.stop()
})

/** One number cuts steps or components, two cut tiles; none leaves it to the model of costs. */
const partitions = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: 1, max: 6 }),
  fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })),
)
const iterationNs = fc.constantFrom(10, 1e4, 1e6)

const found = new Map<string, number>()

async function ordersConflicts(loop: RandomLoop, count: number | readonly number[] | undefined, ns: number): Promise<void> {
  const holding = new Holding(machine.arena)
  try {
    const { inputs } = inputsOf(loop, {}, holding)
    const { schedule, reducedArrays, privateArrays } = inputs.analyzed
    if (schedule.kind !== 'colored') return
    const finding = await inspect(inputs, TURNS)
    found.set(finding.kind, (found.get(finding.kind) ?? 0) + 1)
    const order = loop.spec.options.order ?? 'serial'
    const space = spaceOf(inputs.over)
    const blocks =
      finding.kind === 'nothing'
        ? cutBlocks({ kind: 'serial' }, space, { order })
        : cutColored(finding, { order, partitions: count, iterationNs: ns }).blocks
    const rank = ranksIn(loop, serialOrderOf(space, blocks))
    if (order === 'serial') expect(rank).toEqual(loop.iterations.map((_, position) => position))
    const block = blocksOf(blocks)
    const reached = reachable(blocks)
    for (const [p, q, element] of conflictsOf(loop, [...reducedArrays, ...privateArrays])) {
      const [first, second] = (rank[p] as number) < (rank[q] as number) ? [p, q] : [q, p]
      const [a, b] = [block[first] as number, block[second] as number]
      if (a === b ? first < second : reached[a]?.has(b)) continue
      const keys = [first, second].map((position) => `(${loop.iterations[position]})`)
      throw new Error(`${keys.join(' and ')} touch ${element}; blocks ${a} and ${b} of ${finding.kind} are not ordered`)
    }
  } finally {
    holding.free()
  }
}

/** The rank of each iteration by position. */
function ranksIn(loop: RandomLoop, order: Int32Array): number[] {
  const { rank } = loop.spec.over
  const positions = new Map(loop.iterations.map((key, position) => [key.join(), position]))
  const ranks = new Array<number>(loop.iterations.length)
  for (let at = 0; at * rank < order.length; at++) ranks[positions.get(order.slice(at * rank, (at + 1) * rank).join()) ?? -1] = at
  expect(Object.keys(ranks).length).toBe(loop.iterations.length)
  return ranks
}

/** The block of each iteration; each is in one. */
function blocksOf({ count, order, from, to, iterations }: BlockSchedule): number[] {
  const blocks = new Array<number>(iterations).fill(-1)
  for (let block = 0; block < count; block++) {
    for (let place = from[block] as number; place < (to[block] as number); place++) {
      const position = order === undefined ? place : (order[place] as number)
      expect(blocks[position]).toBe(-1)
      blocks[position] = block
    }
  }
  expect(blocks).not.toContain(-1)
  return blocks
}

/** The blocks that wait for each block, through any number of others. */
function reachable({ count, successorStart, successors }: BlockSchedule): Set<number>[] {
  const sets = Array.from({ length: count }, () => new Set<number>())
  for (let block = count - 1; block >= 0; block--) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      sets[block]?.add(next)
      for (const further of sets[next] ?? []) sets[block]?.add(further)
    }
  }
  return sets
}

/** Pairs of positions that touch one element, one of them writing. */
function conflictsOf(loop: RandomLoop, reduced: readonly number[]): [number, number, string][] {
  const trace = traceLoop({ ...loop, arrays: loop.arrays.map((array) => ({ ...array, values: valuesOf(array) })) })
  const touchers = new Map<string, { readonly position: number; readonly reads: boolean }[]>()
  const pairs: [number, number, string][] = []
  for (const [position, touches] of trace.entries()) {
    for (const { array, element, mode } of touches) {
      if (reduced.includes(array)) continue
      const name = `${array}[${element}]`
      const others = touchers.get(name) ?? []
      for (const other of others) {
        if (other.position !== position && !(other.reads && mode === 'read')) pairs.push([other.position, position, name])
      }
      touchers.set(name, [...others, { position, reads: mode === 'read' }])
    }
  }
  return pairs
}

test('iterations in conflict run one after the other, in the order that is stated', async () => {
  await fc.assert(fc.asyncProperty(indexedLoop(), partitions, iterationNs, ordersConflicts), RUN)
  for (const kind of ['components', 'levels', 'colors', 'nothing']) expect(found.get(kind) ?? 0, kind).toBeGreaterThan(RUN.numRuns / 100)
})

test('the race check holds a run to what was found', async () => {
  let reported = 0
  const findings = fc.constantFrom('sound' as const, 'one level' as const, 'a component each' as const)
  await fc.assert(
    fc.asyncProperty(indexedLoop(), findings, async (loop, how) => {
      const holding = new Holding(machine.arena)
      try {
        const { inputs } = inputsOf(loop, { partitions: 3, order: 'serial' }, holding)
        if (inputs.analyzed.schedule.kind !== 'colored') return
        const found = await inspect(inputs, TURNS)
        if (found.kind === 'nothing') return
        const n = loop.iterations.length
        const each = Int32Array.from({ length: n }, (_, position) => position)
        const finding: Finding =
          how === 'sound'
            ? found
            : how === 'one level'
              ? { kind: 'levels', of: new Int32Array(n), sizes: Int32Array.of(n), text: '' }
              : { kind: 'components', of: each, sizes: new Int32Array(n).fill(1), text: '' }
        const pool = machine.pools.get(1) as WorkerPool // started with one
        const prepared = prepareLoop({ ...inputs, finding }, { pool, arena: machine.arena, worthThreadsMs: 0 })
        const report = await prepared.checkRaces(0, { automatic: false }).then(
          () => undefined,
          (error: unknown) => error,
        )
        prepared.dispose()
        const { reducedArrays, privateArrays } = inputs.analyzed
        const together = how !== 'sound' && prepared.blocks.kind !== 'serial'
        const conflicts = together ? conflictsOf(loop, [...reducedArrays, ...privateArrays]) : []
        if (report !== undefined && !(report instanceof LoopError)) throw report
        expect(report === undefined, `${how}: ${report}`).toBe(conflicts.length === 0)
        if (report !== undefined) reported++
      } finally {
        holding.free()
      }
    }),
    RUN,
  )
  expect(reported).toBeGreaterThan(RUN.numRuns / 10)
})

/** What may change between two runs of a loop. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('index' as const), at: fc.nat(19), value: fc.nat(19) }),
  fc.record({ kind: fc.constant('captured' as const), value: fc.nat(4) }),
  fc.record({ kind: fc.constant('table' as const), at: fc.nat(19), value: fc.nat(19) }),
)

test('a finding is forgotten when what it rests on changes', async () => {
  const n = 20
  const index = Int32Array.from({ length: n }, (_, i) => (7 * i) % n)
  const table = Int32Array.from({ length: n }, (_, i) => (3 * i) % n)
  let shift = 0
  const idx = session.zeros([n], { dtype: 'i32' })
  await idx.assign([null], index)
  const w = session.random([n], { seed: 1 })
  const plain = (await w.toTypedArray()) as Float64Array
  const loop = session.loop(
    session.range(n),
    { w, idx },
    ([i], { w, idx }) => {
      const from = (idx.get(i) + shift) % n
      w.set(table[i]!, 0.7 * w.get(from) + 0.3 * w.get(table[i]!))
    },
    { partitions: 3 },
  )
  expect(loop.plan.schedule.kind).toBe('colored')
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      for (const one of changes) {
        if (one.kind === 'captured') shift = one.value
        else if (one.kind === 'table') table[one.at] = one.value
        else {
          index[one.at] = one.value
          await idx.set([one.at], one.value)
        }
      }
      await loop.run()
      for (let i = 0; i < n; i++) {
        const from = (index[i]! + shift) % n
        plain[table[i]!] = 0.7 * plain[from]! + 0.3 * plain[table[i]!]!
      }
      expect(await w.toTypedArray()).toEqual(plain)
    }),
    RUN,
  )
})
