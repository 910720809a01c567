/**
 * Law 4 for colored schedules: a loop whose subscripts the data decides has the bits of plain JavaScript in its serial order, on
 * 1, 2, 3 and 8 workers alike, however the inspector's finding is cut; with order 'serial' that is key order.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LoopOptions } from '../src/core/loop/loopSpec.ts'
import { inspect } from '../src/exec/loops/inspector/inspect.ts'
import { indexedLoop } from './arbitraries/indexedLoop.ts'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, runRandomLoop, startMachine, TURNS } from './loopRuns.ts'
import { expectSame, plainOutcome } from './plainOutcome.ts'

const RUN = announcedRun('colored.prop.ts')
const WORKERS = [1, 2, 3, 8]

let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

/** One number cuts steps or components, two cut tiles; none leaves it to the model of costs. */
const partitions = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: 1, max: 6 }),
  fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })),
)

const several = fc.constantFrom(...WORKERS.slice(1))

/** One worker and `several`, one of the other numbers. */
async function hasTheBitsOfTheSerialOrder(loop: RandomLoop, options: LoopOptions, several: number): Promise<void> {
  for (const workers of [1, several]) {
    const outcome = await runRandomLoop(machine, workers, loop, options)
    if (loop.spec.options.order !== 'any') expect(outcome.order).toEqual(loop.iterations.flat())
    expect(outcome.order.length).toBe(loop.iterations.flat().length)
    expectSame(outcome, plainOutcome(loop, outcome.order), loop, `${workers} workers and plain JavaScript`)
  }
}

test('any number of workers gives the bits of plain JavaScript in the serial order', async () => {
  await fc.assert(
    fc.asyncProperty(indexedLoop(), partitions, several, (loop, count, workers) =>
      hasTheBitsOfTheSerialOrder(loop, count === undefined ? {} : { partitions: count }, workers),
    ),
    RUN,
  )
})

test('the exception of a body is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(indexedLoop({ throws: true }), partitions, several, (loop, count, workers) =>
      hasTheBitsOfTheSerialOrder(loop, count === undefined ? {} : { partitions: count }, workers),
    ),
    RUN,
  )
})

test('each kind of finding comes up', async () => {
  const kinds = new Map<string, number>()
  for (const loop of fc.sample(indexedLoop(), { ...RUN, numRuns: 300 })) {
    const holding = new Holding(machine.arena)
    const { inputs } = inputsOf(loop, {}, holding)
    const { kind } = inputs.analyzed.schedule
    const found = kind === 'colored' ? (await inspect(inputs, TURNS)).kind : kind
    kinds.set(found, (kinds.get(found) ?? 0) + 1)
    holding.free()
  }
  for (const kind of ['components', 'levels', 'colors', 'nothing'])
    expect(kinds.get(kind) ?? 0, JSON.stringify([...kinds])).toBeGreaterThan(4)
})
