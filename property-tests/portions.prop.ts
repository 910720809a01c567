/**
 * Of a sparse array that a loop goes over, each process is sent the elements of its own blocks, each element once: no other ones, none that
 * it has, and after a loss what it lacks of its new blocks. The bits are those of one process.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { TypedArray } from '../src/core/data/column.ts'
import { HeldElements, type UsedElements } from '../src/exec/gang/heldElements.ts'
import type { ElementsHead } from '../src/exec/gang/movement/elements.ts'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { buildScheduled, type Part } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runSteps, startMachine, valuesOf } from './loopRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'
import { expectSame } from './plainOutcome.ts'

const RUN = announcedRun('portions.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

/** The elements of a process as it is told of them: which it has from before, which came, and what loops found. */
interface Watched {
  readonly kept: Uint8Array
  readonly blocks: ReadonlyMap<number, readonly [from: number, to: number]>
}
const watched = new WeakMap<HeldElements, Map<number, Watched>>()
/** What was found wrong, and the elements that loops were defined over, by process. */
let wrong: string[] = []
let found: { readonly number: number; readonly elements: UsedElements }[] = []
let [sent, kept, losses, shared] = [0, 0, 0, 0]

let alone: Machine
beforeAll(() => {
  const { take, use } = HeldElements.prototype
  vi.spyOn(HeldElements.prototype, 'take').mockImplementation(function (this: HeldElements, head: ElementsHead, parts) {
    const all = watched.get(this) ?? new Map<number, Watched>()
    watched.set(this, all)
    const { elements, layout, runs } = head
    if (layout !== undefined) {
      const before = all.get(elements)
      let place = 0
      const blocks = new Map<number, readonly [number, number]>()
      for (const [i, block] of layout.blocks.entries()) blocks.set(block, [place, (place += layout.sizes[i] as number)])
      const own: Watched = { kept: new Uint8Array(place), blocks }
      for (const [block, [from, to]] of blocks) {
        const [first = 0] = before?.blocks.get(block) ?? []
        if (before?.blocks.has(block)) own.kept.set(before.kept.subarray(first, first + to - from), from)
      }
      kept += own.kept.reduce((sum, one) => sum + one, 0)
      all.set(elements, own)
    }
    const own = all.get(elements)
    for (const [place, length] of runs) {
      if (own?.kept.subarray(place, place + length).includes(1)) wrong.push('An element was sent again.')
      own?.kept.fill(1, place, place + length)
      sent += length
    }
    take.call(this, head, parts)
  })
  vi.spyOn(HeldElements.prototype, 'use').mockImplementation(function (this: HeldElements, number) {
    if (watched.get(this)?.get(number)?.kept.includes(0)) wrong.push('An element was not sent.')
    const elements = use.call(this, number)
    found.push({ number, elements })
    return elements
  })
  alone = startMachine([1, 2])
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  if (process.env.LAW_FAULT !== undefined) return
  expect(sent).toBeGreaterThan(0)
  expect(shared).toBeGreaterThan(RUN.numRuns / 2)
  if (RUN.numRuns >= 500) expect(Math.min(kept, losses)).toBeGreaterThan(0)
})

const parts = fc.array(fc.constantFrom<Part[]>('value', 'value', 'rows', 'columns', 'front', 'own', 'add', 'total', 'guard'), {
  minLength: 1,
  maxLength: 3,
})
const loops = fc
  .record({
    extents: fc.tuple(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 24 })),
    order: fc.constantFrom('serial' as const, 'any' as const),
    parts,
    seed: fc.nat(),
  })
  .map((raw) => buildScheduled({ ...raw, over: 'sparse' }))
const partitions = fc.integer({ min: 2, max: 8 }).map((partitions) => ({ partitions }))
const workers = fc.constantFrom(1, 1, 2)

async function together<T>(
  { world, list, seed }: { readonly world: number; readonly list: readonly Mishap[]; readonly seed: number },
  run: (machine: Machine) => Promise<T>,
): Promise<T> {
  const { gang, losses: lost, stop } = memoryGang(world, list, seed)
  wrong = []
  found = []
  try {
    return await run({ ...alone, gang })
  } finally {
    losses += lost()
    shared += gang.members.passes
    await stop()
  }
}

/** The keys and values of a loop's elements, as texts. */
function elementsIn(arrays: readonly TypedArray[]): string[] {
  return Array.from({ length: arrays[0]?.length ?? 0 }, (_, place) => arrays.map((array) => array[place]).join())
}

test('no two processes have the same element, all of them have what the array has', async () => {
  await fc.assert(
    fc.asyncProperty(
      loops,
      partitions,
      workers,
      fc.constantFrom(2, 3, 5),
      fc.nat(),
      async (loop: RandomLoop, count, threads, world, seed) => {
        const options = { ...count, steps: ['pass' as const, 'pass' as const] }
        const one = await runSteps(alone, 1, loop, options)
        const before = sent
        const several = await together({ world, list: [], seed }, async (machine) => {
          const outcome = await runSteps(machine, threads, loop, options)
          const array = loop.arrays.at(-1) as RandomLoop['arrays'][number] // the one that it goes over
          const there = new Set(array.keys?.map((key, i) => [...key, valuesOf(array)[i]].join()))
          let all = 0
          // loops that run as several have elements by several numbers
          for (const number of new Set(found.map((one) => one.number))) {
            const storages = new Set(found.flatMap((one) => (one.number === number ? one.elements.storage : [])))
            const seen = [...storages].flatMap(({ keys, columns }) => elementsIn([...keys, columns[0]?.values as TypedArray]))
            expect(new Set(seen).size).toBe(seen.length)
            for (const element of seen) expect(there.has(element), element).toBe(true)
            if (there.size >= 64) expect(seen.length).toBeLessThan(there.size)
            all += seen.length
          }
          expect(sent - before).toBe(all)
          return outcome
        })
        expectSame(one, several, loop, `One process and ${world}`)
        expect(wrong).toEqual([])
      },
    ),
    RUN,
  )
})

const cases = fc
  .constantFrom(2, 3, 3, 5)
  .chain((world) => fc.record({ world: fc.constant(world), list: mishaps(world, 30), seed: fc.nat() }))
const steps = fc.array(fc.constantFrom('pass' as const, 'pass' as const, 'other' as const), { minLength: 1, maxLength: 5 })

test('whoever is lost or comes back, nobody is sent an element that it has', async () => {
  await fc.assert(
    fc.asyncProperty(loops, partitions, steps, workers, cases, async (loop, count, list, threads, many) => {
      const options = { ...count, steps: ['pass' as const, ...list, 'pass' as const] }
      const one = await runSteps(alone, 1, loop, options)
      const several = await together(many, (machine) => runSteps(machine, threads, loop, options))
      expectSame(one, several, loop, `One process and ${many.world}`)
      expect(wrong).toEqual([])
    }),
    RUN,
  )
})

test('elements that the program writes between passes are sent again', async () => {
  await fc.assert(
    fc.asyncProperty(loops, partitions, cases, async (loop, count, many) => {
      const options = { ...count, steps: ['pass', 'write', 'pass', 'other', 'write', 'other', 'pass'] as const }
      const one = await runSteps(alone, 1, loop, options)
      const several = await together(many, (machine) => runSteps(machine, 1, loop, options))
      expectSame(one, several, loop, `One process and ${many.world}`)
    }),
    RUN,
  )
})
