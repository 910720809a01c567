/**
 * Law 6: what the subscript slice of a body lists before the loop runs are the elements that each iteration of the loop then
 * touches; more only where the slice says that it is not exact.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spaceOf } from '../src/exec/loops/blocks/space.ts'
import { type Elements, elementsOf, touchKernel } from '../src/exec/loops/inspector/touchKernel.ts'
import { sliceOf } from '../src/planner/loop/slices/slice.ts'
import { changedArrays } from '../src/planner/loop/slices/sliceSources.ts'
import { indexedLoop } from './arbitraries/indexedLoop.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { traceLoop } from './arbitraries/loopTrace.ts'
import { announcedRun } from './lawRuns.ts'
import { Holding, inputsOf, type Machine, startMachine, valuesOf } from './loopRuns.ts'

const RUN = announcedRun('slice.prop.ts')

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

/** What each iteration touches, as "array key mode" in sorted order, adds being writes; undefined without a slice. */
function listed(loop: RandomLoop, watched: ReadonlySet<number>): { readonly touches: Set<string>[]; readonly exact: boolean } | undefined {
  const slice = sliceOf(loop.spec, loop.ir, watched)
  if (slice.kind === 'none') return undefined
  const holding = new Holding(machine.arena)
  try {
    const { inputs } = inputsOf(loop, {}, holding)
    const elements = elementsOf(slice, inputs)
    if ('sparse' in elements) return undefined
    const kernel = touchKernel(slice, inputs, spaceOf(inputs.over), elements)
    const touches = loop.iterations.map((_, position) => {
      const { log, length } = kernel.list(position, position + 1)
      expect(log[0]).toBe(-1)
      return new Set([...log.subarray(1, length)].map((touch) => touchText(elements, touch)))
    })
    return { touches, exact: slice.exact }
  } finally {
    holding.free()
  }
}

function touchText({ starts, shapes }: Elements, touch: number): string {
  let [array, start] = [-1, -1]
  for (const [one, from] of starts) if (from <= touch >> 1 && from > start) [array, start] = [one, from]
  let rest = (touch >> 1) - start
  const key: number[] = []
  for (const extent of [...(shapes.get(array) ?? [])].reverse()) {
    key.unshift(rest % extent)
    rest = Math.floor(rest / extent)
  }
  return `${array} ${key.join()} ${touch % 2 === 1 ? 'write' : 'read'}`
}

let slices = 0
let exact = 0

/** The bit by which arrays are watched that the loop only reads. */
const ALL = 8

function arraysOf({ spec }: RandomLoop): number[] {
  const { array } = spec.over
  const bound = Object.values(spec.env).flatMap((one) => (one.kind === 'array' || one.kind === 'buffer' ? one.array : []))
  return [...new Set(array === undefined ? bound : [...bound, array])]
}

function holds(loop: RandomLoop, pick: number): void {
  // arrays that the loop changes decide on nothing that a slice knows; of others, which processes are sent, tests read elements as well
  const changed = changedArrays(loop.spec, loop.ir)
  const picked = ((pick & ALL) === 0 ? [...changed] : arraysOf(loop)).filter((_, at) => ((pick >> at) & 1) === 0)
  const watched = new Set(picked)
  const found = listed(loop, watched)
  if (found === undefined) return
  slices++
  if (found.exact) exact++
  const trace = traceLoop({ ...loop, arrays: loop.arrays.map((array) => ({ ...array, values: valuesOf(array) })) })
  for (const [position, touches] of trace.entries()) {
    const wanted = new Set(
      touches
        .filter(({ array }) => watched.has(array))
        .map(({ array, element, mode }) => `${array} ${element} ${mode === 'read' ? 'read' : 'write'}`),
    )
    const got = found.touches[position] ?? new Set()
    const missing = [...wanted].filter((touch) => !got.has(touch))
    const more = found.exact ? [...got].filter((touch) => !wanted.has(touch)) : []
    if (missing.length + more.length === 0) continue
    throw new Error(
      `Iteration (${loop.iterations[position]}): missing ${missing.join('; ')}, too many ${more.join('; ')} in\n${loop.source}`,
    )
  }
}

test('the slice of a random body lists what its iterations touch', () => {
  fc.assert(fc.property(randomLoop({ inside: true, sparse: false }), fc.nat(15), holds), RUN)
  expect(slices).toBeGreaterThan(RUN.numRuns / 3)
  expect(exact).toBeGreaterThan(RUN.numRuns / 6)
}, 120_000)

test('the same where index arrays decide', () => {
  slices = exact = 0
  fc.assert(fc.property(indexedLoop(), fc.nat(15), holds), RUN)
  expect(slices).toBeGreaterThan(RUN.numRuns / 2)
  expect(exact).toBeGreaterThan(RUN.numRuns / 3)
}, 120_000)
