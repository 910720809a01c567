/**
 * Law 4 on stencils over time: skewed loops have the bits of plain JavaScript run in their serial order, on 1, 2, 3 and 8
 * workers alike, wherever their bands are cut; with order 'serial' that is key order, for exceptions and sums too.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { buildStencil, type RawStencil, stencil } from './arbitraries/stencil.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runRandomLoop, startMachine } from './loopRuns.ts'
import { expectPlain } from './plainOutcome.ts'

const RUN = announcedRun('skewed.prop.ts')

const WORKERS = [1, 2, 3, 8]
let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

const partitions = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 7 })))

test('stencils over time have the bits of plain JavaScript on any number of workers', async () => {
  const kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(stencil(), partitions, async (loop, count) => {
      kinds.add(analyzeLoop(loop.spec).schedule.kind)
      for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
  expect([...kinds]).toContain('skewed')
})

test('the exception of a stencil is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(stencil({ throws: true }), partitions, async (loop, count) => {
      for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
})

test('a sum over blocks that are boxes of several rows is that of key order', async () => {
  const neighbours: RawStencil['reads'] = [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ]
  const raw: RawStencil = {
    form: 'cross',
    extents: [5, 12, 12],
    order: 'serial',
    over: 'range',
    reads: neighbours,
    total: true,
    throws: false,
    seed: 1,
  }
  for (const seed of [1, 2, 3, 4]) {
    const loop = buildStencil({ ...raw, seed })
    expect(analyzeLoop(loop.spec).schedule).toEqual({
      kind: 'skewed',
      forms: [
        [1, 1, 0],
        [1, 0, 1],
      ],
    })
    for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: [3, 4] }), workers)
  }
})
