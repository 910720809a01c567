import { describe, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

/** Two arrays of more than four million bytes, which one thread goes through by tiles. */
const [USERS, MOVIES, RANK, RATINGS] = [20_000, 16_000, 16, 60_000]

function ratings(): { u: Int32Array; m: Int32Array; stars: Float64Array } {
  const seen = new Set<number>()
  for (let state = 1; seen.size < RATINGS; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    seen.add((state >>> 3) % (USERS * MOVIES))
  }
  const keys = [...seen].sort((a, b) => a - b)
  return {
    u: Int32Array.from(keys, (key) => Math.floor(key / MOVIES)),
    m: Int32Array.from(keys, (key) => key % MOVIES),
    stars: Float64Array.from(keys, (key) => (key % 9) / 2),
  }
}

async function pass(workers: number, failing: ReadonlySet<number> = new Set()) {
  const session = await Session.start({ workers, progress: false })
  try {
    const { u, m, stars } = ratings()
    const table = session.fromColumns({ u, m, stars }).index((r) => [r.u, r.m], { shape: [USERS, MOVIES] })
    const W = session.random([USERS, RANK], { seed: 1 })
    const H = session.random([MOVIES, RANK], { seed: 2 })
    const error = session.accumulator('sum')
    const limit = failing.size === 0 ? Number.POSITIVE_INFINITY : Math.min(...failing)
    const loop = session.loop(
      table.map((r) => r.stars),
      { W, H, error },
      (stars, [u, m], { W, H, error }) => {
        if (u * MOVIES + m >= limit) throw new RangeError(`no ${u}, ${m}`)
        const [w, h] = [W.row(u), H.row(m)]
        let rest = stars
        for (let k = 0; k < RANK; k++) rest -= w.get(k) * h.get(k)
        for (let k = 0; k < RANK; k++) {
          const wk = w.get(k)
          w.add(k, 0.1 * rest * h.get(k))
          h.add(k, 0.1 * rest * wk)
        }
        error.add(rest * rest)
      },
      { order: 'any' },
    )
    const failure = await loop.run().then(
      () => undefined,
      (error) => String(error),
    )
    if (failure !== undefined) return { arrays: [], failure }
    const arrays = [await W.toTypedArray(), await H.toTypedArray()].map((array) => Buffer.from(array.buffer as ArrayBuffer))
    return { arrays, error: error.value, failure, kind: loop.plan.schedule.kind }
  } finally {
    await session.stop()
  }
}

describe('one thread by tiles', () => {
  test('arrays, sums and the first error are those of two workers', async () => {
    const [one, two] = [await pass(1), await pass(2)]
    expect(one.kind).toBe('2d')
    expect(one.failure).toBeUndefined()
    expect(one.error).toBe(two.error)
    for (const [i, array] of one.arrays.entries()) expect(array.equals(two.arrays[i] as Buffer)).toBe(true)
    const { u, m } = ratings()
    const keys = [30_000, 41_000].map((i) => (u[i] as number) * MOVIES + (m[i] as number))
    const [failed, also] = [await pass(1, new Set(keys)), await pass(2, new Set(keys))]
    expect(failed.failure).toMatch(/no \d+, \d+/)
    expect(failed.failure).toBe(also.failure)
  })
})
