/**
 * Loops whose subscripts or tests follow captured numbers, or an array of promised values, that the program changes between passes, on
 * several processes of which some are lost: each pass moves what it touches itself, and a pass that runs again what it touched then.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Loop } from '../src/index.ts'
import { Session } from '../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('gangCaptures.prop.ts', 300)
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

const QUIET = { progress: false, checkRaces: false, memory: '32MB', ...shortPassesOnWorkers } as const
let alone: Session
let [shared, lost] = [0, 0]
beforeAll(async () => {
  alone = await Session.start({ workers: 1, ...QUIET })
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  expect(shared, 'passes of several processes').toBeGreaterThan(RUN.numRuns)
  if (RUN.numRuns >= 300) expect(lost, `processes lost in ${shared} passes`).toBeGreaterThan(shared / 100)
})

interface Turn {
  /**
   * A row and a column that all iterations read; a row that no iteration writes; elements so far away; so many elements of a row; points of
   * one colour, which read those of the other; rows in an order that the program turns.
   */
  readonly loop: 'pivot' | 'without' | 'beside' | 'first' | 'colour' | 'turned'
  readonly passes: number
  /** By how much the captured row and column grow after each pass. */
  readonly by: number
  /** Whether the program reads the array after each pass, so that all of it is in one process. */
  readonly reads: boolean
}

interface Program {
  readonly rows: number
  readonly columns: number
  readonly turns: readonly Turn[]
}

const programsOf = (...loops: Turn['loop'][]): fc.Arbitrary<Program> =>
  fc.record({
    rows: fc.integer({ min: 5, max: 40 }),
    columns: fc.integer({ min: 3, max: 30 }),
    turns: fc.array(
      fc.record({
        loop: fc.constantFrom(...loops),
        passes: fc.integer({ min: 1, max: 4 }),
        by: fc.integer({ min: 0, max: 5 }),
        reads: fc.boolean(),
      }),
      { minLength: 1, maxLength: 5 },
    ),
  })

async function run(session: Session, { rows, columns, turns }: Program): Promise<readonly unknown[]> {
  const a = session.random([rows, columns], { seed: 7 })
  const b = session.random([rows, columns], { seed: 8 })
  const order = session.fromTypedArray(
    Int32Array.from({ length: rows }, (_, i) => i),
    [rows],
  )
  let [row, column] = [0, 0]
  const loops: Readonly<Record<Turn['loop'], Loop>> = {
    pivot: session.loop(session.range(rows, columns), { a }, ([i, j], { a }) => {
      a.set(i, j, a.get(i, j) * 0.5 + a.get(row, j) * 0.25 + a.get(i, column) * 0.125)
    }),
    without: session.loop(session.range(rows), { a }, ([i], { a }) => {
      if (i !== row) a.set(i, 1, a.get(i, 1) * 0.5 + a.get(row, 1))
    }),
    beside: session.loop(session.range(rows, columns), { a, b }, ([i, j], { a, b }) => {
      b.set(i, j, b.get(i, j) * 0.5 + (i + row < rows ? a.get(i + row, j) : a.get(i + row - rows, j)))
    }),
    first: session.loop(session.range(columns), { a, b }, ([j], { a, b }) => {
      for (let k = 0; k < row; k++) a.set(k, j, a.get(k, j) * 0.75 + b.get(k, j))
    }),
    colour: session.loop(session.range(rows - 2, columns), { a }, ([i, j], { a }) => {
      if ((i + j) % 2 === row % 2) a.set(i + 1, j, a.get(i + 1, j) * 0.5 + a.get(i, j) * 0.25 + a.get(i + 2, j) * 0.125)
    }),
    turned: session.loop(
      session.range(rows),
      { a, order },
      ([i], { a, order }) => {
        const at = order.get(i)
        a.set(at, 0, a.get(at, 0) * 0.5 + i)
      },
      { assume: { distinct: ['order'] } },
    ),
  }
  const seen: unknown[] = []
  for (const { loop, passes, by, reads } of turns) {
    for await (const { number } of loops[loop].passes(passes)) {
      if (reads) seen.push(await a.toTypedArray())
      if (loop === 'turned' && by % 2 === 1)
        await order.assign(
          [null],
          Int32Array.from({ length: rows }, (_, i) => (i * (rows - 1) + by + number) % rows),
        )
      ;[row, column] = [(row + by) % rows, (column + by) % columns]
      seen.push(number)
    }
  }
  seen.push(await a.toTypedArray(), await b.toTypedArray())
  for (const array of [a, b, order, ...Object.values(loops)]) if ('release' in array) await array.release()
  return seen
}

async function inGang(world: number, list: readonly Mishap[], seed: number, program: Program): Promise<readonly unknown[]> {
  const { gang, losses, stop } = memoryGang(world, list, seed)
  const session = await Session.start({ workers: 1, ...QUIET, ...runningWith(gang) })
  try {
    return await run(session, program)
  } finally {
    await session.stop()
    shared += gang.members.passes
    lost += losses()
    await stop()
  }
}

async function sameBits(program: Program, world: number, list: readonly Mishap[], seed: number): Promise<void> {
  const those = list.filter(({ rank }) => rank < world)
  expect(await inGang(world, those, seed, program)).toEqual(await run(alone, program))
}

test('subscripts that follow captured numbers go with them from pass to pass, whichever processes are lost', async () => {
  const programs = programsOf('pivot', 'pivot', 'without', 'beside', 'first')
  await fc.assert(fc.asyncProperty(programs, fc.integer({ min: 2, max: 4 }), mishaps(4, 80), fc.nat(), sameBits), RUN)
})

test('so do elements that tests on captured numbers choose, and an order that is promised to be one', async () => {
  const programs = programsOf('colour', 'colour', 'turned', 'beside')
  await fc.assert(fc.asyncProperty(programs, fc.integer({ min: 2, max: 4 }), mishaps(4, 80), fc.nat(), sameBits), {
    ...RUN,
    numRuns: Math.ceil(RUN.numRuns / 4),
  })
})
