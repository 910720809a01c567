/**
 * Memory of 64-bit addresses gives the bits of memory of 32-bit ones. The laws of kernels run once more with all of their
 * data above 4 GiB: loops against the IR, on one worker and on several, columns, groups and joins against rows. Sessions
 * with more than 4 GiB hold arrays larger than that. Where the engine has no such memory this says so, and
 * `wideAddresses.test.ts` and `wasmText.prop.ts` hold the kernels against an assembler of other people.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasWideMemory } from '../src/exec/memory/wideMemory.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { Session } from '../src/session/session.ts'
import { layAboveFourGiB } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('memory64.prop.ts')
const HAS = hasWideMemory()
if (HAS) {
  layAboveFourGiB()
  await import('./wasmKernel.prop.ts')
  await import('./overlap.prop.ts')
  await import('./touchAhead.prop.ts')
  await import('./parallelFor.prop.ts')
  await import('./columnKernels.prop.ts')
  await import('./storedCodes.prop.ts')
  await import('./groups.prop.ts')
  await import('./groupPass.prop.ts')
  await import('./joins.prop.ts')
  await import('./snappy.prop.ts')
  await import('./pagedColumns.prop.ts')
} else console.log('memory64.prop.ts: skipped, since this engine has no memory of 64-bit addresses')

let sessions: readonly Session[] = []
beforeAll(async () => {
  if (!HAS) return
  const options = { progress: false, ...shortPassesOnWorkers }
  sessions = [
    await Session.start({ workers: 1, memory: '12GB', ...options }),
    await Session.start({ workers: 3, memory: '12GB', ...options }),
    await Session.start({ workers: 2, memory: '1GB', ...options }),
  ]
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const FAR_ROWS = 5
/** Bytes of a row of doubles: 1.25 GiB. */
const FAR_COLUMNS = 1.25 * 2 ** 27

test.skipIf(!HAS)('an array of more than 4 GiB has its elements where they belong', async () => {
  for (const session of sessions.slice(0, 2)) {
    const far = session.zeros([FAR_ROWS, FAR_COLUMNS])
    const width = FAR_COLUMNS
    await session
      .loop(session.range(4), { far }, ([i], { far }) => {
        for (let row = 0; row < 5; row++) {
          far.set(row, i, row * 10 + i)
          far.set(row, width - 1 - i, -(row * 10 + i) - 1)
        }
      })
      .run()
    for (let row = 0; row < FAR_ROWS; row++) {
      expect(await Promise.all([0, 1, 2, 3].map((i) => far.at(row, i)))).toEqual([0, 1, 2, 3].map((i) => row * 10 + i))
      expect(await Promise.all([0, 1, 2, 3].map((i) => far.at(row, width - 1 - i)))).toEqual([0, 1, 2, 3].map((i) => -(row * 10 + i) - 1))
    }
    await far.release()
  }
})

/** Shifts and products of keys that leave 32 bits: what is left of them is a subscript, inside or not. */
const wrapping = fc.record({
  a: fc.oneof(fc.constantFrom(2 ** 30, 2 ** 31 - 1, -(2 ** 30), 1), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  step: fc.constantFrom(1, 2, 4),
  rows: fc.integer({ min: 1, max: 9 }),
  columns: fc.integer({ min: 1, max: 40 }),
  which: fc.constantFrom<'product' | 'shifted rows' | 'shifted bytes'>('product', 'shifted rows', 'shifted bytes'),
})
type Wrapping = typeof wrapping extends fc.Arbitrary<infer T> ? T : never

test.skipIf(!HAS)('subscripts that wrap around lead to the same elements, or out of the array at the same key', async () => {
  let inside = 0
  await fc.assert(
    fc.asyncProperty(wrapping, async (given) => {
      const [one, three, narrow] = await Promise.all(sessions.map((session) => wrapped(session, given)))
      expect(one).toEqual(narrow)
      expect(three).toEqual(narrow)
      if (typeof narrow !== 'string') inside++
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 4) },
  )
  expect(inside).toBeGreaterThan(RUN.numRuns / 40)
})

/** What is in the arrays, or what the loop threw. */
async function wrapped(session: Session, { a, step, rows, columns, which }: Wrapping): Promise<unknown> {
  const bytes = session.zeros([rows * columns], { dtype: 'u8' })
  const grid = session.zeros([rows, columns])
  const keys = session.range(Math.ceil(rows / step))
  try {
    const loop =
      which === 'product'
        ? session.loop(keys, { grid }, ([i], { grid }) => {
            for (let j = 0; j < columns; j++) grid.set((i * step * a) | 0, j, grid.get((i * step * a) | 0, j) + j + 1)
          })
        : which === 'shifted rows'
          ? session.loop(keys, { grid }, ([i], { grid }) => {
              for (let j = 0; j < columns; j++) grid.set((i * step) << 30, j, grid.get((i * step) << 30, j) + j + 1)
            })
          : session.loop(keys, { bytes }, ([i], { bytes }) => {
              for (let j = 0; j < columns; j++) bytes.set((i * step) << 30, bytes.get((i * step) << 30) + j + 1)
            })
    await loop.run()
    return [await bytes.toTypedArray(), await grid.toTypedArray()]
  } catch (error) {
    return String(error)
  } finally {
    await bytes.release()
    await grid.release()
  }
}
