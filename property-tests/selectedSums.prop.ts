/**
 * Sums of filtered tables in one pass: whatever is kept, and wherever the borders of units cut the chunks of the fixed
 * tree, the sum has the bits of the tree over what is kept, on one worker and on several.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DistArray } from '../src/index.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { treeSum } from './reference.ts'

const RUN = announcedRun('selectedSums.prop.ts')
/** Of a chunk of the tree, and of a block of rows. */
const CHUNK = 4096
/** Rows of the smallest table that is compiled. */
const COMPILED_FROM = 20_000

let sessions: readonly Session[] = []
beforeAll(async () => {
  sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false })))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

interface Stretch {
  readonly rows: number
  /** Of 64 rows so many are kept. */
  readonly of64: number
}
interface Case {
  readonly stretches: readonly Stretch[]
  readonly seed: number
  readonly nulls: boolean
  readonly how: 'filter' | 'semi-join' | 'both'
}

const stretch = fc.record({
  rows: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.constantFrom(1, CHUNK - 1, CHUNK, CHUNK + 1, 4 * CHUNK, 16 * CHUNK)),
  of64: fc.oneof(fc.constantFrom(0, 64), fc.integer({ min: 1, max: 63 })),
})
const cases: fc.Arbitrary<Case> = fc.record({
  stretches: fc.array(stretch, { minLength: 1, maxLength: 6 }),
  seed: fc.integer(),
  nulls: fc.boolean(),
  how: fc.constantFrom('filter', 'filter', 'semi-join', 'both'),
})

test('a sum of what a filter or a semi-join keeps has the bits of the fixed tree over it', async () => {
  const counts = { compiled: 0, cut: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { keep, value } = rowsOf(one)
      const kept = value.flatMap((x, i) => (isKept(one, keep[i] ?? 0) && x !== null ? [x] : []))
      const expected = treeSum(kept)
      if (value.length >= COMPILED_FROM) counts.compiled++
      if (value.length >= 8 * CHUNK && kept.length > CHUNK) counts.cut++
      for (const session of sessions) {
        const chain = chainOf(session, one, { keep, value })
        const [sum, mean] = [await chain.sum(), await chain.mean()]
        if (!Object.is(sum, expected)) throw new Error(`the sum is ${sum}, not ${expected}`)
        if (!Object.is(mean, kept.length === 0 ? undefined : expected / kept.length)) throw new Error(`the mean is ${mean}`)
      }
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  expect(counts.compiled).toBeGreaterThan(0.4 * RUN.numRuns)
  expect(counts.cut).toBeGreaterThan(0.2 * RUN.numRuns)
})

function isKept({ how }: Case, keep: number): boolean {
  return how === 'filter' ? keep % 2 === 1 : how === 'semi-join' ? keep >= 2 : keep === 3
}

function chainOf(session: Session, { how }: Case, columns: { readonly keep: Int32Array; readonly value: readonly (number | null)[] }) {
  const table = session.fromColumns(columns) as DistArray<{ keep: number; value: number | null }>
  const filtered = how === 'semi-join' ? table : table.filter((r) => r.keep % 2 === 1)
  const set = session.fromColumns({ keep: Int32Array.of(2, 3) })
  return (how === 'filter' ? filtered : filtered.join(set, 'keep', { how: 'semi' })).map((r) => r.value as number)
}

function rowsOf({ stretches, seed, nulls }: Case): { readonly keep: Int32Array; readonly value: readonly (number | null)[] } {
  const rows = stretches.reduce((sum, { rows }) => sum + rows, 0)
  const keep = new Int32Array(rows)
  const value: (number | null)[] = []
  let bits = seed | 1
  const drawn = (): number => {
    bits ^= bits << 13
    bits ^= bits >>> 17
    bits ^= bits << 5
    return bits >>> 0
  }
  for (const { rows, of64 } of stretches) {
    for (let i = 0; i < rows; i++) {
      keep[value.length] = drawn() % 64 < of64 ? 3 : drawn() % 3
      value.push(nulls && drawn() % 8 === 0 ? null : (drawn() - 2 ** 31) * 2 ** ((drawn() % 20) - 10))
    }
  }
  return { keep, value }
}
