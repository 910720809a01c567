/**
 * Does the cost model order schedules as the clock does? Each body is run under several of its legal schedules; printed are what
 * the model expects of each with two workers, what it takes with two and with one, and which is chosen. `rule order`: the one
 * that is first in the order of kinds, which was taken before there was a model.
 *
 *     npm run bench -- schedules --only planes
 */

import type { DenseStorage } from '../src/core/arrays/storage.ts'
import { scheduleCost } from '../src/core/cost/scheduleCost.ts'
import type { EnvBinding, LoopSpec } from '../src/core/loop/loopSpec.ts'
import type { Schedule } from '../src/core/loop/schedules.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { accessesOf } from '../src/planner/loop/accesses/accesses.ts'
import { cheapestSchedule } from '../src/planner/loop/cheapest.ts'
import { costedLoop } from '../src/planner/loop/costedLoop.ts'
import { conflictsOf } from '../src/planner/loop/dependence/dependence.ts'
import type { Vector } from '../src/planner/loop/dependence/reach.ts'
import { orderedAccesses } from '../src/planner/loop/dependence/sharing.ts'
import { distinctVectors, legalSchedules } from '../src/planner/loop/schedule.ts'
import { type Pass, suite, timed } from './harness.ts'
import { KernelBench } from './kernelLoops.ts'

interface A {
  get(...key: number[]): number
  set(...keyAndValue: number[]): void
}
interface Case {
  readonly name: string
  readonly extents: readonly number[]
  readonly shape: readonly number[]
  readonly body: (key: number[], env: { a: A }) => void
}

const CASES: readonly Case[] = [
  {
    name: 'three planes apart, a table of neighbours in each',
    extents: [3, 1200, 1200],
    shape: [3, 1201, 1201],
    body: ([k, i, j], { a }) => a.set(k!, i! + 1, j! + 1, a.get(k!, i!, j! + 1) * 0.5 + a.get(k!, i! + 1, j!) * 0.25),
  },
  {
    name: 'eight rows apart, or columns',
    extents: [8, 200, 2000],
    shape: [8, 201, 2000],
    body: ([k, i, j], { a }) => a.set(k!, i! + 1, j!, a.get(k!, i!, j!) * 0.5 + 1),
  },
  {
    name: 'along a diagonal of planes',
    extents: [100, 100, 100],
    shape: [101, 101, 100],
    body: ([i, j, k], { a }) => a.set(i! + 1, j!, k!, a.get(i!, j! + 1, k!) * 0.5 + 1),
  },
  {
    name: 'columns',
    extents: [2000, 2000],
    shape: [2001, 2000],
    body: ([i, j], { a }) => a.set(i! + 1, j!, a.get(i!, j!) * 0.5 + 1),
  },
  {
    name: 'heat in time',
    extents: [200, 10_000],
    shape: [201, 10_002],
    body: ([t, i], { a }) => a.set(t! + 1, i! + 1, 0.25 * a.get(t!, i!) + 0.5 * a.get(t!, i! + 1) + 0.25 * a.get(t!, i! + 2)),
  },
  {
    name: 'a stencil in place',
    extents: [1500, 1500],
    shape: [1502, 1502],
    body: ([i, j], { a }) => a.set(i! + 1, j! + 1, 0.5 * a.get(i!, j! + 1) + 0.25 * a.get(i! + 1, j!)),
  },
  {
    name: 'an element for each plane',
    extents: [100, 100, 100],
    shape: [400],
    body: ([i, j, k], { a }) => a.set(i! + 2 * j! + k!, i! + j!),
  },
  {
    name: 'shortest paths',
    extents: [200, 200, 200],
    shape: [200, 200],
    body: ([k, i, j], { a }) => a.set(i!, j!, Math.min(a.get(i!, j!), a.get(i!, k!) + a.get(k!, j!))),
  },
]

const bench = suite('schedules')
const [one, two] = [new KernelBench(1), new KernelBench(2)]
for (const item of CASES) if (bench.wanted(item.name)) await measure(item)
await one.stop()
await two.stop()
bench.finish()

async function measure({ name, extents, shape, body }: Case): Promise<void> {
  const { spec, vectors } = specOf(extents, shape, body)
  const { ir } = spec.body
  if (ir === undefined) throw new Error('The body was refused.')
  const space = { extents, order: 'serial' } as const
  const loop = costedLoop(spec, ir)
  const { schedule: chosen } = cheapestSchedule(vectors, space, loop)
  const legal = [...legalSchedules(vectors, space, 2)].filter(({ kind }) => kind !== 'serial')
  const contenders: Record<string, Pass | undefined> = {}
  const notes: string[] = []
  const storages = [one, two].map((of) => of.dense('f64', shape, (i) => (i % 17) * 0.1))
  const peers: string[] = []
  for (const [at, { schedule }] of legal.entries()) {
    const isChosen = JSON.stringify(schedule) === JSON.stringify(chosen)
    const label = `${textOf(schedule)}${at === 0 ? ', rule order' : ''}${isChosen ? ', chosen' : ''}`
    notes.push(
      `${label}: predicted ${[1, 2, 4].map((workers) => `${scheduleCost(schedule, loop, workers).milliseconds.toPrecision(3)} x${workers}`).join(', ')} ms`,
    )
    for (const [i, of] of [one, two].entries()) {
      const prepared = of.prepare(extents, { a: storages[i] as DenseStorage }, body as never, { schedule, worthThreadsMs: 0 })
      const contender = `${label} x${i + 1}`
      if (at === 0) peers.push(contender)
      contenders[contender] = bench.busy && i > 0 ? undefined : timed(async () => await prepared.runPass(0))
    }
  }
  await bench.ask({ name, unit: 'iteration', units: extents.reduce((a, b) => a * b, 1), contenders, peers, notes })
}

function specOf(
  extents: readonly number[],
  shape: readonly number[],
  body: Case['body'],
): { readonly spec: LoopSpec; readonly vectors: readonly Vector[] } {
  const { fn } = lowerFunction(body, {
    kind: 'loop',
    isRange: true,
    rank: extents.length,
    env: { a: { kind: 'array', dtype: 'f64' } },
    classify: () => undefined,
  })
  const a: EnvBinding = { kind: 'array', array: 1, dtype: 'f64', storage: 'dense', rank: shape.length, shape, label: 'a' }
  const over = { kind: 'range' as const, rank: extents.length, extents, label: 'range' }
  const spec: LoopSpec = { body: fn, over, env: { a }, options: {} }
  if (fn.ir === undefined) throw new Error('The body was refused.')
  const vectors = distinctVectors(conflictsOf(spec, orderedAccesses(accessesOf(spec, fn.ir), [])))
  return { spec, vectors }
}

function textOf(schedule: Schedule): string {
  switch (schedule.kind) {
    case '1d':
      return `1d on ${'form' in schedule ? `[${schedule.form.join(' ')}]` : schedule.axis}`
    case '2d':
    case 'wavefront':
      return `${schedule.kind} on ${schedule.axes.join(', ')}`
    case 'skewed':
      return `skewed along ${schedule.forms.map((form) => `[${form.join(' ')}]`).join(' ')}`
    case 'stepped':
      return `steps of ${schedule.outer}, ${textOf(schedule.inner)} inside`
    default:
      return schedule.kind
  }
}
