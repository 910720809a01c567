/**
 * What simulate() says of bytes is what a gang of so many processes sends: in the first pass, and in those that follow. Times are what
 * they must be at least and at most.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Simulation } from '../src/core/loop/simulation.ts'
import type { MadeSpec } from '../src/exec/arrays/makeArray.ts'
import { simulate } from '../src/exec/gang/simulation/simulate.ts'
import { SimulatedNodes } from '../src/exec/gang/simulation/simulatedNodes.ts'
import { KernelLoop } from '../src/exec/loops/kernelLoop.ts'
import { prepareLoop } from '../src/exec/loops/loopRun.ts'
import type { PreparedLoop } from '../src/exec/loops/preparedLoop.ts'
import { simulatedLoop } from '../src/session/loops/simulatedLoop.ts'
import { type RandomArray, type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine } from './loopRuns.ts'
import { memoryGang, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('simulate.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let alone: Machine
let [moved, made, together] = [0, 0, 0]
beforeAll(() => {
  alone = startMachine([1])
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  if (together === 0) return // another law was asked for
  expect(moved, `${together} passes together`).toBeGreaterThan(together / 4)
  expect(made, `${together} passes together`).toBeGreaterThan(together / 4)
})

const loops = fc.oneof(
  { weight: 1, arbitrary: randomLoop({ inside: true }) },
  { weight: 3, arbitrary: scheduledLoop() },
  { weight: 1, arbitrary: scheduledLoop({ largest: 60 }) },
)
const worlds = fc.constantFrom(1, 2, 3, 5)
const PASSES = 3
const FAST = { threads: 2, bytesPerMs: Number.POSITIVE_INFINITY, latencyMs: 0 }

/** Arrays of f64, none of which tells a subscript, are taken for zeros: bytes do not depend on what they hold. */
function zerosOf({ shape, dtype, keys }: RandomArray): MadeSpec | undefined {
  return keys === undefined && dtype === 'f64' ? { name: 'zeros', shape, dtype, init: { kind: 'zeros' } } : undefined
}

/** A loop that is ready, with versions that passes change. */
async function withLoop(
  loop: RandomLoop,
  { partitions, gang, areMade = false }: { readonly partitions: number; readonly gang?: Machine['gang']; readonly areMade?: boolean },
  run: (prepared: PreparedLoop, ran: () => void) => Promise<void>,
): Promise<void> {
  const holding = new Holding(alone.arena)
  const versions = new Map<number, number>()
  let prepared: PreparedLoop | undefined
  try {
    const { inputs } = inputsOf(loop, { partitions }, holding, versions, areMade ? zerosOf : undefined)
    if (inputs.analyzed.schedule.kind === 'colored') return
    const pool = alone.pools.get(1) as NonNullable<ReturnType<Machine['pools']['get']>> // started above
    prepared = prepareLoop(inputs, { pool, arena: alone.arena, worthThreadsMs: 0, ...(gang === undefined ? {} : { gang }) })
    await run(prepared, () => {
      for (const array of inputs.analyzed.writtenArrays) versions.set(array, (versions.get(array) ?? 0) + 1)
    })
    await gang?.journal(alone.arena).close()
  } finally {
    prepared?.dispose()
    holding.free()
  }
}

test('a run sends the bytes that were predicted, in its first pass and in each that follows', async () => {
  await fc.assert(
    fc.asyncProperty(
      loops,
      fc.integer({ min: 1, max: 8 }),
      worlds,
      fc.nat(),
      fc.boolean(),
      fc.boolean(),
      async (loop, partitions, world, seed, stays, areMade) => {
        const { gang, sent, stop } = memoryGang(world, [], seed)
        try {
          await withLoop(loop, { partitions, gang, areMade }, async (prepared, ran) => {
            const { bytes, firstBytes, madeBytes, changedBytes, nodes } = simulatedLoop(prepared, { ...FAST, nodes: world }, { stays })
            for (let pass = 0; pass < PASSES; pass++) {
              const before = sent()
              await prepared.runPasses(pass, 1, { stays: stays && prepared.canStay === true })
              ran()
              const after = sent()
              expect(after.planned - before.planned, `pass ${pass + 1} of ${nodes}`).toBe(pass === 0 ? firstBytes : bytes)
              expect(after.changed - before.changed).toBeLessThanOrEqual(changedBytes)
              if (nodes > 1) together++
              if (bytes > 0) moved++
              if (madeBytes > 0) made++
            }
          })
        } finally {
          await stop()
        }
      },
    ),
    RUN,
  )
})

const WORK_MS = 10_000

const links = fc.record({
  bytesPerMs: fc.constantFrom(1, 100, 1e6),
  latencyMs: fc.constantFrom(0, 0.5, 10),
  threads: fc.integer({ min: 1, max: 3 }),
})

test('no pass is shorter than its work on all threads; slower links and longer ways make none shorter', async () => {
  await fc.assert(
    fc.asyncProperty(loops, fc.integer({ min: 1, max: 8 }), worlds, links, async (loop, partitions, nodes, link) => {
      await withLoop(loop, { partitions }, async (prepared) => {
        const of = (machines: object): Simulation => {
          const all = { ...FAST, nodes, ...machines }
          // so much work that messages are next to nothing beside it
          if (prepared instanceof KernelLoop) return simulate([{ ...prepared.simulated, aloneMs: WORK_MS }], all, { stays: true })
          return simulatedLoop(prepared, all, { stays: true })
        }
        const [one, ideal, real] = [of({ threads: 1, nodes: 1 }), of({ threads: link.threads }), of(link)]
        const least = one.milliseconds / (ideal.nodes * link.threads)
        expect(ideal.milliseconds).toBeGreaterThanOrEqual(least * (1 - 1e-9))
        expect(real.firstBytes).toBe(ideal.firstBytes)
        expect(real.firstMilliseconds).toBeGreaterThanOrEqual(real.firstBytes / link.bytesPerMs / real.nodes - 1e-9)
        if (ideal.nodes === 1) return
        expect(real.milliseconds).toBeGreaterThanOrEqual(ideal.milliseconds / 2 - 1e-9) // lists of blocks are at most twice as long as the best
      })
    }),
    RUN,
  )
})

const time = fc.integer({ min: 0, max: 50 })
const node = fc.record({
  threads: fc.integer({ min: 1, max: 3 }),
  messageMs: fc.integer({ min: 0, max: 20 }),
  blocks: fc.array(fc.record({ readyFrom: time, ms: fc.integer({ min: 1, max: 20 }) }), { maxLength: 8 }),
  sends: fc.array(fc.record({ at: time, bytes: fc.integer({ min: 0, max: 30 }), isOwn: fc.boolean() }), { maxLength: 6 }),
})

test('blocks and both ends of messages share the threads of a node, and none of its time is lost', () => {
  fc.assert(
    fc.property(node, ({ threads, messageMs, blocks, sends }) => {
      const nodes = new SimulatedNodes(2, { nodes: 2, threads, bytesPerMs: 10, latencyMs: 1 }, { messageMs, msPerByte: 0.1 })
      let [last, sent] = [0, 0]
      for (const { at, bytes, isOwn } of sends) {
        const ms = (messageMs + bytes * 0.1) / 2
        const came = nodes.send(isOwn ? 0 : 1, isOwn ? 1 : 0, at, bytes)
        expect(came).toBeGreaterThanOrEqual(at + 2 * ms + bytes / 10 + 1 - 1e-9)
        last = Math.max(last, isOwn ? at : came - ms)
        sent += ms
      }
      let longest = 0
      for (const { readyFrom, ms } of [...blocks].sort((a, b) => a.readyFrom - b.readyFrom)) {
        const start = nodes.startOf(0, readyFrom)
        expect(start).toBeGreaterThanOrEqual(readyFrom)
        expect(nodes.run(0, start, ms)).toBe(start + ms)
        last = Math.max(last, readyFrom)
        longest = Math.max(longest, ms)
      }
      const work = blocks.reduce((sum, { ms }) => sum + ms, sent)
      const end = nodes.end(0)
      expect(nodes.busy[0]).toBeCloseTo(work, 6)
      expect(end).toBeGreaterThanOrEqual(work / threads - 1e-9)
      expect(end).toBeLessThanOrEqual(last + work / threads + longest + 1e-9)
    }),
    RUN,
  )
})
