/**
 * Loops at the same time over arrays that all of them read, on several processes: what one of them brings somewhere, or makes room for, is
 * taken from none of the others. Each turn one loop writes the arrays, which then lie anywhere, and the others read them.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DistArray, Loop } from '../src/index.ts'
import { Session } from '../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'
import { memoryGang, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('gangAtOnce.prop.ts', 300)
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

const QUIET = { progress: false, checkRaces: false, memory: '32MB', ...shortPassesOnWorkers } as const
let alone: Session
beforeAll(async () => {
  alone = await Session.start({ workers: 1, ...QUIET })
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
})

interface Reader {
  /** Elements beside its own, elements anywhere, all of a row, or what the program reads itself. */
  readonly reads: 'beside' | 'anywhere' | 'rows' | 'some' | 'program'
  readonly offset: number
  readonly passes: number
  readonly partitions: number
}

interface Program {
  readonly rows: number
  readonly columns: number
  readonly made: 'random' | 'fill' | 'given'
  readonly turns: readonly ('write' | 'read')[]
  readonly readers: readonly Reader[]
}

const programs: fc.Arbitrary<Program> = fc.record({
  rows: fc.integer({ min: 4, max: 60 }),
  columns: fc.integer({ min: 1, max: 70 }),
  made: fc.constantFrom('random', 'random', 'fill', 'given'),
  turns: fc.array(fc.constantFrom('write' as const, 'read' as const), { minLength: 1, maxLength: 4 }),
  readers: fc.array(
    fc.record({
      reads: fc.constantFrom<Reader['reads']>('beside', 'beside', 'anywhere', 'rows', 'some', 'program'),
      offset: fc.integer({ min: -3, max: 3 }),
      passes: fc.integer({ min: 1, max: 3 }),
      partitions: fc.integer({ min: 2, max: 7 }),
    }),
    { minLength: 2, maxLength: 4 },
  ),
})

async function run(session: Session, { rows, columns, made, turns, readers }: Program): Promise<readonly number[][]> {
  const shape = [rows, columns] as const
  const values = Float64Array.from({ length: rows * columns }, (_, i) => (i % 13) / 8)
  const x =
    made === 'random'
      ? session.random(shape, { seed: 7 })
      : made === 'fill'
        ? session.fill(shape, 1.5)
        : session.fromTypedArray(values, shape)
  const writer = session.loop(
    session.range(rows),
    { x },
    ([i], { x }) => {
      for (let k = 0; k < columns; k++) x.set(i, k, x.get(i, k) * 0.5 + i + k)
    },
    { partitions: 5 },
  )
  const outcomes: DistArray<number, readonly number[]>[] = []
  const seen: number[][] = []
  const loops = readers.map((reader): Loop | undefined => {
    const { offset, partitions } = reader
    const y = session.zeros([rows + 4])
    if (reader.reads === 'program') return undefined
    outcomes.push(y)
    const [from, to] = [Math.max(0, -offset), Math.min(rows, rows - offset)]
    const count = to - from
    if (reader.reads === 'beside')
      return session.loop(session.range(count), { x, y }, ([i], { x, y }) => y.set(i, y.get(i) * 0.5 + x.get(i + from + offset, 0)), {
        partitions,
      })
    if (reader.reads === 'anywhere')
      return session.loop(session.range(count), { x, y }, ([i], { x, y }) => y.set(i, y.get(i) * 0.5 + x.get((i * 7) % rows, 0)), {
        partitions,
      })
    if (reader.reads === 'some')
      return session.loop(
        session.range(Math.ceil(count / 3)),
        { x, y },
        ([i], { x, y }) => y.set(i, y.get(i) * 0.5 + x.get(i + from + offset, columns - 1)),
        { partitions },
      )
    return session.loop(
      session.range(count),
      { x, y },
      ([i], { x, y }) => {
        const row = x.row(i + from + offset)
        let sum = 0
        for (let k = 0; k < columns; k++) sum += row.get(k)
        y.set(i, y.get(i) * 0.25 + sum)
      },
      { partitions },
    )
  })
  for (const turn of [...turns, 'read' as const]) {
    if (turn === 'write') await writer.run()
    const reading = loops.map(async (loop, i): Promise<number[]> => {
      const { passes, offset } = readers[i] as Reader
      if (loop === undefined) return [await x.at(Math.max(0, offset), columns - 1), ...(await x.row(rows - 1))].map(Number)
      await loop.run({ passes })
      return []
    })
    seen.push(...(await Promise.all(reading)))
  }
  for (const y of outcomes) seen.push([...(await y.collect())])
  seen.push([...(await x.toTypedArray())].map(Number))
  return seen
}

test('loops at the same time over the same arrays have the bits of one process', async () => {
  let shared = 0
  await fc.assert(
    fc.asyncProperty(programs, fc.constantFrom(2, 3, 5), fc.nat(), async (program, world, seed) => {
      const expected = await run(alone, program)
      const { gang, stop } = memoryGang(world, [], seed)
      const session = await Session.start({ workers: 1, ...QUIET, ...runningWith(gang) })
      try {
        expect(await run(session, program)).toEqual(expected)
      } finally {
        shared += gang.members.passes
        await stop()
        await session.stop()
      }
    }),
    RUN,
  )
  expect(shared, 'passes of several processes').toBeGreaterThan(2 * RUN.numRuns)
})
