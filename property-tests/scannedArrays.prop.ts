/**
 * Arrays that a loop goes over and that are computed from files: each process that finds the same in them computes them by itself, those
 * that find something else, or nothing, are sent them, and the loop has the bits of one process, whoever is lost.
 */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ScannedSpec } from '../src/exec/arrays/scannedArray.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { Session } from '../src/index.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { queriesBy } from '../src/session/arrayQueries.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const RUN = announcedRun('scannedArrays.prop.ts', 200)
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })
const QUIET = { workers: 1, progress: false, checkRaces: false, ...shortPassesOnWorkers } as const

const folder = mkdtempSync(join(tmpdir(), 'distarray-scans-'))
let alone: Session
let [cases, computed, refused] = [0, 0, 0]
beforeAll(async () => {
  alone = await Session.start(QUIET)
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
  rmSync(folder, { recursive: true, force: true })
  expect(computed, 'arrays that others have computed').toBeGreaterThan(cases / 4)
  expect(refused, 'arrays that others could not compute').toBeGreaterThan(cases / 4)
})

interface Program {
  readonly stars: readonly (readonly [user: number, item: number, tenths: number])[]
  readonly format: 'csv' | 'ndjson'
  readonly steps: 'index' | 'filter' | 'map' | 'columns'
  /** When the program writes an element of what was computed. */
  readonly written: 'never' | 'before' | 'between passes'
}
/** What each of the others finds where rank 0 finds the file. */
type Sees = 'the same' | 'nothing' | 'other numbers' | 'fewer rows'

const programs: fc.Arbitrary<Program> = fc.record({
  stars: fc.uniqueArray(fc.tuple(fc.nat(11), fc.nat(8), fc.integer({ min: -20, max: 50 })), {
    minLength: 2,
    maxLength: 60,
    selector: ([user, item]) => 100 * user + item,
  }),
  format: fc.constantFrom('csv', 'ndjson'),
  steps: fc.constantFrom('index', 'filter', 'map', 'columns'),
  written: fc.constantFrom('never', 'never', 'before', 'between passes'),
})
const processes = fc.constantFrom(2, 3, 3).chain((world) =>
  fc.record({
    world: fc.constant(world),
    sees: fc.array(fc.constantFrom<Sees[]>('the same', 'the same', 'nothing', 'other numbers', 'fewer rows'), {
      minLength: world - 1,
      maxLength: world - 1,
    }),
    list: fc.oneof<fc.Arbitrary<readonly Mishap[]>[]>(fc.constant([]), mishaps(world, 40)),
    seed: fc.nat(),
  }),
)

/** `isOther`: with another digit in the last row, at the same length. */
function textOf(format: Program['format'], stars: Program['stars'], isOther = false): string {
  const lines = stars.map(([u, i, tenths], at) => {
    const digits = String(tenths / 10)
    const x = isOther && at === stars.length - 1 ? digits.replace(/.$/, (last) => String((Number(last) + 5) % 10)) : digits
    return format === 'csv' ? `${u},${i},${x},n${tenths % 3}\n` : `{"u":${u},"i":${i},"x":${x},"name":"n${tenths % 3}"}\n`
  })
  return [format === 'csv' ? 'u,i,x,name\n' : '', ...lines].join('')
}

async function run(session: Session, path: string, { format, steps, written, stars }: Program): Promise<unknown> {
  interface Star {
    readonly u: number
    readonly i: number
    readonly x: number
    readonly name: string
  }
  const table = await (format === 'csv' ? session.readCsv<Star>(path) : session.readNdjson<Star>(path))
  const least = -1
  const kept = steps === 'filter' ? table.filter((row) => row.x >= least && row.name !== 'n2') : table
  const columns = steps === 'columns' ? kept.withColumns((row) => ({ x: row.x * 0.5 })) : kept
  const ratings = columns.index((row) => [row.u, row.i], { shape: [12, 9] })
  const values = steps === 'map' ? ratings.map((row) => row.x * row.x) : ratings.map((row) => row.x)
  const [W, H] = [session.random([12, 3], { seed: 1 }), session.random([9, 3], { seed: 2 })]
  const loss = session.accumulator('sum')
  const loop = session.loop(
    values,
    { W, H, loss },
    (x, [u, i], { W, H, loss }) => {
      let error = -x
      for (let k = 0; k < 3; k++) error += W.get(u, k) * H.get(i, k)
      for (let k = 0; k < 3; k++) {
        W.set(u, k, W.get(u, k) - 0.01 * error)
        H.set(i, k, H.get(i, k) - 0.01 * error)
      }
      loss.add(error * error)
    },
    { order: 'any', partitions: 3 },
  )
  const sums: unknown[] = []
  const [[user, item]] = stars as readonly [Program['stars'][number]] // there are two at least
  const write = async (): Promise<void> => await values.set([user, item], 7)
  if (written === 'before') await write()
  for await (const { number, accumulators } of loop.passes(3)) {
    sums.push(accumulators.loss)
    if (written === 'between passes' && number === 1) await write()
  }
  return [sums, await values.collect(), [...(await W.toTypedArray())], [...(await H.toTypedArray())]]
}

let files = 0

/** What a reader knows a file again by. */
function stampOf(path: string): string {
  const { size, mtimeMs } = statSync(path)
  return `${size}:${mtimeMs}`
}

/** With another file, or stamp, in its place. */
function at<T>(value: T, path: string, other: string): T {
  if (value === path) return other as T
  if (Array.isArray(value)) return value.map((one) => at(one, path, other)) as T
  if (Object.getPrototypeOf(value ?? '') !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, at(one, path, other)])) as T
}

test('loops over what is computed from files have the bits of one process, whatever the others find in theirs', async () => {
  await fc.assert(
    fc.asyncProperty(programs, processes, async (program, { world, sees, list, seed }) => {
      const name = join(folder, String(files++))
      const path = `${name}.${program.format}`
      const { format, stars } = program
      writeFileSync(path, textOf(format, stars))
      const texts: Readonly<Record<Sees, string>> = {
        'the same': textOf(format, stars),
        nothing: '',
        'other numbers': textOf(format, stars, true),
        'fewer rows': textOf(format, stars.slice(1)),
      }
      const stops: (() => Promise<void>)[] = []
      const compute = (rank: number, { arena }: { readonly arena: Parameters<typeof createPool>[0]['arena'] }) => {
        const pool = createPool({ workers: 1, arena, handlers: { url: '', table: HANDLERS } })
        const { index } = queriesBy(new Executor({ pool, arena, readSplit, lower }))
        stops.push(() => pool.stop())
        return async ({ plan, form }: ScannedSpec) => {
          const found = sees[rank - 1] as Sees // one for each
          if (found === 'the same') computed++
          else refused++
          const own = `${name} of ${rank}`
          writeFileSync(own, texts[found])
          // as if it had been written when rank 0's was: what is in it has to be looked at
          return await index(at(at(plan, path, own), stampOf(path), stampOf(own)), form)
        }
      }
      const { gang, stop } = memoryGang(world, list, seed, { compute })
      const session = await Session.start({ ...QUIET, ...runningWith(gang) })
      try {
        const several = await run(session, path, program)
        expect(several).toEqual(await run(alone, path, program))
      } finally {
        cases++
        await stop()
        await session.stop()
        for (const end of stops) await end()
        for (const one of readdirSync(folder)) rmSync(join(folder, one))
      }
    }),
    RUN,
  )
})
