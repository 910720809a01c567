/**
 * Law 4 on loops whose outer axes run in order: the blocks of one step run together, those of the next after all of them,
 * and the bits are those of plain JavaScript run in the serial order, on 1, 2, 3 and 8 workers alike, wherever a step is
 * cut; with order 'serial' that is key order, for exceptions and sums too.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { buildStepped, type RawStepped, steppedLoop } from './arbitraries/steppedLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runRandomLoop, startMachine } from './loopRuns.ts'
import { expectPlain } from './plainOutcome.ts'

const RUN = announcedRun('stepped.prop.ts')
const RUNS = RUN.numRuns
// Far above what a run takes, for machines under load.

const WORKERS = [1, 2, 3, 8]
let machine: Machine
beforeAll(() => {
  machine = startMachine(WORKERS)
})
afterAll(() => machine.stop())

const partitions = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })))

test('loops that run in steps have the bits of plain JavaScript on any number of workers', async () => {
  const found = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(steppedLoop(), partitions, async (loop, count) => {
      const kind = kindOf(loop)
      found.set(kind, (found.get(kind) ?? 0) + 1)
      for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
  const stepped = [...found].filter(([kind]) => kind.startsWith('stepped'))
  expect(stepped.reduce((sum, [, times]) => sum + times, 0)).toBeGreaterThan(RUNS / 4)
  // Each of them is at least one loop in sixty; fewer runs are for trying things out.
  if (RUNS >= 1000) expect(stepped.map(([kind]) => kind)).toEqual(expect.arrayContaining(INSIDE.map((kind) => `stepped, ${kind} inside`)))
})

const INSIDE = ['independent', '1d', '2d', 'wavefront', 'skewed']

function kindOf({ spec }: RandomLoop): string {
  const { schedule } = analyzeLoop(spec)
  return schedule.kind === 'stepped' ? `stepped, ${schedule.inner.kind} inside` : schedule.kind
}

test('the exception of a loop that runs in steps is the one that the serial order meets first', async () => {
  await fc.assert(
    fc.asyncProperty(steppedLoop({ throws: true }), partitions, async (loop, count) => {
      for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: count }), workers)
    }),
    RUN,
  )
})

test('two axes in order, and a step that is a plane with a wavefront inside', async () => {
  const raw: RawStepped = {
    form: 'planes',
    extents: [6, 12, 12],
    order: 'serial',
    over: 'range',
    near: [
      [-1, 0],
      [0, -1],
    ],
    total: true,
    counts: true,
    throws: false,
    seed: 1,
  }
  const forms = [
    { ...raw, expected: { kind: 'stepped', outer: 1, inner: { kind: 'wavefront', axes: [1, 2] } } },
    { ...raw, form: 'deep' as const, expected: { kind: 'stepped', outer: 2, inner: { kind: 'independent' } } },
  ]
  for (const seed of [1, 2, 3, 4]) {
    for (const { expected, ...form } of forms) {
      const loop = buildStepped({ ...form, seed })
      expect(analyzeLoop(loop.spec).schedule).toEqual(expected)
      for (const workers of WORKERS) expectPlain(loop, await runRandomLoop(machine, workers, loop, { partitions: [3, 4] }), workers)
    }
  }
})
