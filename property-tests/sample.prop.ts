/**
 * `sample({ n })`: the elements with the n least draws, in their order, however the elements are cut into partitions and batches and
 * whoever draws.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillUniform } from '../src/core/arrays/random.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { concatBatches, type ExecBatch, scalarBatch, sliceBatch } from '../src/exec/tables/operators/batches.ts'
import { openNarrow, runWide } from '../src/exec/tables/operators/index.ts'
import { Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('sample.prop.ts')

const sessions: Session[] = []
beforeAll(async () => {
  for (const workers of [1, 2]) sessions.push(await Session.start({ workers, progress: false }))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

/** The numbers of the elements that stay: all draws sorted, which is the definition. */
function expected(length: number, n: number, seed: number): number[] {
  const draws = new Float64Array(length)
  fillUniform(draws, 0, seed)
  const order = [...draws.keys()].sort((a, b) => (draws[a] as number) - (draws[b] as number))
  return order.slice(0, n).sort((a, b) => a - b)
}

const lengths = fc.oneof(
  { weight: 30, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 140_000, max: 250_000 }) },
)
const shareUpTo = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 1000 * most }).map((n) => n / 1000)
const cuts = fc.array(shareUpTo(1), { maxLength: 4 })

function piecesOf(length: number, at: readonly number[]): readonly (readonly [number, number])[] {
  const places = [0, ...at.map((share) => Math.floor(share * length)), length].sort((a, b) => a - b)
  return places.slice(1).map((to, i) => [places[i] as number, to]) // one for each but the first
}

test('sample({ n }) is the elements with the n least draws, whatever the partitions and batches are', () => {
  fc.assert(
    fc.property(lengths, shareUpTo(1.1), fc.integer({ max: 2 ** 40 }), cuts, cuts, (length, share, seed, at, inner) => {
      const n = Math.floor(share ** 3 * length)
      const all = scalarBatch(columnFromValues(Array.from({ length }, (_, i) => i)))
      const partitions = piecesOf(length, at).map(([from, to], partition): ExecBatch | undefined => {
        const step = openNarrow({ kind: 'PartialDrawExec', count: n, seed }, { partition, firstRow: from })
        for (const [a, b] of piecesOf(to - from, inner)) expect(step.next(sliceBatch(all, from + a, from + b))).toBe(undefined)
        const left = step.end?.()
        expect(left?.length ?? 0).toBeLessThanOrEqual(n)
        return left
      })
      const left = partitions.filter((one) => one !== undefined)
      const [result] = runWide({ kind: 'DrawExec', count: n }, [concatBatches(left)])
      expect([...((result?.columns[0]?.values ?? []) as Float64Array)]).toEqual(expected(length, n, seed))
      expect(result?.hidden).toBe(undefined)
    }),
    RUN,
  )
})

test('a session draws the same elements with any number of workers, and more of them for a larger n', async () => {
  await fc.assert(
    fc.asyncProperty(lengths, fc.nat(400), fc.nat(50), fc.nat(5), async (length, n, more, seed) => {
      const ids = Int32Array.from({ length }, (_, i) => i)
      const results = []
      for (const session of sessions) {
        const table = session.fromColumns({ id: ids }).filter((row) => row.id % 3 !== 1)
        results.push(await table.sample({ n, seed }).collect(), await table.sample({ n: n + more, seed }).collect())
      }
      const [few = [], many = [], ...others] = results
      expect(others).toEqual([few, many])
      const numbers = [...ids].filter((id) => id % 3 !== 1)
      expect(few.map(({ id }) => id)).toEqual(expected(numbers.length, n, seed).map((i) => numbers[i]))
      const larger = new Set(many.map(({ id }) => id))
      expect(few.every(({ id }) => larger.has(id))).toBe(true)
    }),
    RUN,
  )
})
