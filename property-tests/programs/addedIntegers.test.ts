/** Additions to arrays of integers run on all workers only where their order cannot show. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../src/index.ts'
import { shortPassesOnWorkers } from '../../src/session/runtime.ts'

const IN_ORDER =
  'What is added to counts may be no whole number, and counts converts after each addition. Whole numbers, as x | 0, could be added on all workers.'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, ...shortPassesOnWorkers })
})
afterAll(() => session.stop())

async function executionOf(body: (bin: number, i: number) => number): Promise<{ readonly where: string; readonly because?: string }> {
  const bins = Int32Array.from({ length: 9_000 }, (_, i) => (i * i) % 7)
  const places = await session
    .fromColumns({ bin: bins })
    .map((r) => r.bin)
    .materialize()
  const counts = session.fill([7], -3, { dtype: 'i32' })
  const loop = session.loop(places, { counts }, (bin, [i], { counts }) => counts.add(bin, body(bin, i)))
  await loop.run()
  const plain = new Int32Array(7).fill(-3)
  for (const [i, bin] of bins.entries()) plain[bin] = (plain[bin] ?? 0) + body(bin, i)
  expect(await counts.collect()).toEqual([...plain])
  return loop.plan.execution
}

test('whole numbers, known from dtypes, bits and literals, are added on all workers', async () => {
  for (const body of [
    () => 1,
    (bin: number) => bin,
    (bin: number, i: number) => (bin > 3 ? -i : (i / 3) | 0),
    (_: number, i: number) => ((i / 2) & 15) - 7,
    (bin: number) => ~bin,
  ]) {
    expect((await executionOf(body)).where).toBe('workers')
  }
})

test('what may be a fraction, or too large to be exact, is added in order, and the plan says so', async () => {
  const half = 0.5
  const large = 2 ** 53 + 2
  for (const body of [
    () => half,
    (_: number, i: number) => i / 2,
    (bin: number) => (bin > 3 ? 1 : half),
    () => large,
    (_: number, i: number) => Math.floor(i / 2),
  ]) {
    expect(await executionOf(body)).toEqual({ where: 'caller', because: IN_ORDER })
  }
})
