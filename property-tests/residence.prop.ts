/**
 * The law of what stays where it is: loops of different cuts run one after another over the same arrays, each of which is sent what its
 * blocks touch and its processes do not have, by what the loops before it have left. What is written goes home after a pass, or stays
 * unless the next pass of that loop needs it elsewhere. The reference is one memory.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { holdersIn, liesIn, missingCells, type Residence, residenceOf, wholeBox, withAll } from '../src/exec/gang/movement/residence.ts'
import {
  type Box,
  boxesOfCells,
  cellsOf,
  END,
  type Ends,
  firstHolders,
  type Touch,
  transfersOf,
} from '../src/exec/gang/movement/transfers.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('residence.prop.ts', 1000)
const NODES = 3
const PROCESSES = [0, 1, 2] as const
const HOME = 0

let [kept, sent] = [0, 0]
afterAll(() => expect(kept, `${sent} elements were sent`).toBeGreaterThan(sent / 8))

/** Blocks of some rows or columns each, by one of the processes; what they read beside it. */
interface LoopCase {
  readonly axis: number
  readonly cuts: readonly number[]
  readonly owners: readonly number[]
  readonly writes: boolean
  readonly reads: 'own' | 'all' | 'neighbours'
  /** The first block is left out. */
  readonly isPart: boolean
  readonly ends: Ends
  readonly passes: number
}
const loopCase: fc.Arbitrary<LoopCase> = fc.record({
  axis: fc.nat(1),
  cuts: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
  owners: fc.array(fc.nat(NODES - 1), { minLength: 5, maxLength: 5 }),
  writes: fc.boolean(),
  reads: fc.constantFrom<LoopCase['reads'][]>('own', 'own', 'all', 'neighbours'),
  isPart: fc.boolean(),
  ends: fc.constantFrom<Ends[]>('all', 'needed', 'needed'),
  passes: fc.integer({ min: 1, max: 2 }),
})
const shapes = fc.oneof(fc.tuple(fc.integer({ min: 1, max: 8 })), fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 })))

function touchesOf({ axis, cuts, writes, reads, isPart }: LoopCase, shape: readonly number[]): readonly Touch[][] {
  const along = axis % shape.length
  const extent = shape[along] as number
  const bounds = [...new Set([0, ...cuts.filter((cut) => cut < extent), extent])].sort((a, b) => a - b)
  const all = bounds.slice(1).map((to, i) => {
    const from = bounds[i] as number
    const box = (low: number, high: number): Box => shape.flatMap((size, at) => (at === along ? [low, high] : [0, size]))
    const own = { box: box(from, to), writes }
    // blocks without an order read nothing that others write
    if (writes || reads === 'own') return [own]
    return [own, { box: reads === 'all' ? wholeBox(shape) : box(Math.max(0, from - 1), Math.min(extent, to + 1)), writes: false }]
  })
  return isPart && all.length > 1 ? all.slice(1) : all
}

function elementsOf(box: Box, shape: readonly number[]): number[] {
  let found = [0]
  for (const [axis, extent] of shape.entries()) {
    const [from, to] = [box[2 * axis] as number, box[2 * axis + 1] as number]
    found = found.flatMap((before) => Array.from({ length: to - from }, (_, i) => before * extent + from + i))
  }
  return found
}

test('loops one after another find the last values of all that they touch, and nobody is sent what it has', () => {
  fc.assert(
    fc.property(shapes, fc.array(loopCase, { minLength: 1, maxLength: 6 }), (shape, loops) => {
      const size = shape.reduce((product, extent) => product * extent, 1)
      const reference = new Float64Array(size)
      const memories = PROCESSES.map((node) => new Float64Array(size).fill(node === HOME ? 0 : -1))
      let residence: Residence<number> | undefined
      const copy = (from: number, to: number, box: Box): void => {
        for (const element of elementsOf(box, shape)) {
          const [there, here] = [memories[to] as Float64Array, memories[from] as Float64Array]
          expect(there[element], `element ${element} goes from ${from} to ${to} once more`).not.toBe(here[element])
          there[element] = here[element] as number
          sent++
        }
      }
      const passes = loops.flatMap((loop) => Array.from({ length: loop.passes }, (_, pass) => ({ ...loop, pass })))
      for (const [number, loop] of passes.entries()) {
        const touches = touchesOf(loop, shape)
        const owners = Int32Array.from(touches, (_, block) => loop.owners[block % 5] as number)
        const plain = cellsOf(touches)
        const isCut = residence === undefined || ('bounds' in plain && liesIn(residence, plain.bounds))
        const cells = isCut ? plain : cellsOf(touches, residence?.bounds)
        if ('because' in cells) throw new Error(cells.because)
        const before =
          residence === undefined ? firstHolders(cells.count, [true, false, false]) : holdersIn(residence, cells.bounds, PROCESSES)
        const traffic = transfersOf(cells, { owners, isFree: true, precedes: () => false }, before, loop.ends)
        if ('because' in traffic) throw new Error(traffic.because)
        // what the pass before it has left where it is needed is neither fetched nor sent
        if (loop.pass > 0) expect(traffic.fetches).toEqual([])
        for (const { box, from } of traffic.fetches) copy(from, HOME, box)
        for (const { box, from, to, before: first } of traffic.transfers) {
          if (first === END) continue
          expect(from).toBe(HOME)
          copy(from, to, box)
        }
        for (const [block, list] of touches.entries()) {
          const memory = memories[owners[block] as number] as Float64Array
          for (const { box } of list) for (const element of elementsOf(box, shape)) expect(memory[element]).toBe(reference[element])
          for (const { box, writes } of list) {
            if (writes) for (const element of elementsOf(box, shape)) memory[element] = reference[element] = (number + 1) * 1000 + element
          }
        }
        for (const { box, from, to, before: first } of traffic.transfers) if (first === END) copy(from, to, box)
        if (loop.ends === 'all') expect([...(memories[HOME] as Float64Array)]).toEqual([...reference])
        residence = residenceOf(cells.bounds, traffic.holders, { processes: PROCESSES, home: HOME, shape })
        for (const node of PROCESSES) {
          const missing = new Set(boxesOfCells(missingCells(residence, node), residence.bounds).flatMap((box) => elementsOf(box, shape)))
          for (let element = 0; element < size; element++) {
            if (missing.has(element)) continue
            expect(memories[node]?.[element], `${node} has element ${element}`).toBe(reference[element])
            kept++
          }
        }
        if (loop.reads === 'all' && !loop.writes && number % 2 === 1) {
          memories[2]?.set(reference)
          residence = withAll(residence, 2)
        }
      }
    }),
    RUN,
  )
})

test('a residence has no more cells than somebody has differently', () => {
  fc.assert(
    fc.property(shapes, fc.array(loopCase, { minLength: 1, maxLength: 3 }), (shape, loops) => {
      for (const loop of loops) {
        const touches = touchesOf({ ...loop, writes: true, isPart: false }, shape)
        const cells = cellsOf(touches)
        if ('because' in cells) throw new Error(cells.because)
        const owners = Int32Array.from(touches, () => 1)
        const traffic = transfersOf(cells, { owners, isFree: true, precedes: () => false }, firstHolders(cells.count, [true, false, false]))
        if ('because' in traffic) throw new Error(traffic.because)
        // one process has all
        const { bounds } = residenceOf(cells.bounds, traffic.holders, { processes: PROCESSES, home: HOME, shape })
        expect(bounds).toEqual(shape.map((extent) => [0, extent]))
      }
    }),
    RUN,
  )
})
