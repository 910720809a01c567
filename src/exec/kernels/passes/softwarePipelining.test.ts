import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'
import { shortPassesOnWorkers } from '../../../session/runtime.ts'

let session: Session
beforeAll(async () => {
  // a check of races would run the body as plain JavaScript first
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(() => session.stop())

test('a row that only the next sum reads, and that is not there, fails where that iteration begins', async () => {
  const K = 8
  // slices begin with one iteration: only where many have run does the kernel find a next one
  const rows = session.fromColumns({ m: Int32Array.from({ length: 300 }, (_, i) => (i === 250 ? 5 : i % 5)), x: new Int32Array(300) })
  const a = session.fill([K], 0.5)
  const D = session.fill([5, K], 0.25)
  const loop = session.loop(rows, { a, D }, ({ m, x }, _, { a, D }) => {
    let p = 0
    for (let k = 0; k < K; k++) p += a.get(k) * D.get(m, k)
    const e = x - p
    for (let k = 0; k < K; k++) a.set(k, a.get(k) + e)
  })
  await expect(loop.run()).rejects.toThrow(/^.* threw at key \[250\]: The key \[5, 0\] is outside D, whose shape is \[5, 8\]\./)
  expect(loop.plan.schedule.kind).toBe('serial')
  expect(loop.explain({ kernel: true })).toContain('beside the update of the iteration before')
})

/** Steps of a factorization whose update reaches another row of W than its sum. */
function steps(K: number) {
  const [m, n] = [7, 3].map((by) => Int32Array.from({ length: 300 }, (_, i) => (i * by) % 5)) as [Int32Array, Int32Array]
  const data = session.fromColumns({ m, n, x: new Int32Array(300) })
  const [W, H] = [1, 2].map((seed) => session.random([5, K], { dtype: 'f32', seed })) as [Matrix, Matrix]
  return session.loop(data, { W, H }, ({ m, n, x }, _, { W, H }) => {
    let at = m
    let p = 0
    for (let k = 0; k < K; k++) p += W.get(at, k) * H.get(m, k)
    const e = x - p
    at = n
    for (let k = 0; k < K; k++) {
      const [w, h] = [W.get(at, k), H.get(m, k)]
      W.set(at, k, w + 0.01 * (e * h - 0.1 * w))
      H.set(m, k, h + 0.01 * (e * w - 0.1 * h))
    }
  })
}
type Matrix = ReturnType<typeof session.random<[number, number]>>

test('what a subscript that changes reaches is read anew', async () => {
  const loop = steps(8)
  expect((await loop.verify()).identical).toBe(true)
  expect(loop.explain({ kernel: true })).toContain('beside the update of the iteration before, rows kept')
})

test.each([
  [8, true],
  [512, true],
  [513, false],
])('rows of %i elements are kept as doubles: %s', async (K, isKept) => {
  const loop = steps(K)
  expect((await loop.verify()).identical).toBe(true)
  const text = loop.explain({ kernel: true })
  expect(text).toContain('beside the update of the iteration before')
  expect(text.split('rows kept as doubles').length > 1).toBe(isKept)
})

test('each worker keeps rows of its own', async () => {
  await using workers = await Session.start({ workers: 2, progress: false, ...shortPassesOnWorkers })
  const [rows, K] = [300, 16]
  // 67 of each row: 7 and 300 have no common factor
  const ratings = Array.from({ length: rows * 67 }, (_, i) => ({
    u: i % rows,
    m: ((i % rows) + 7 * Math.floor(i / rows)) % rows,
    x: i % 5,
  }))
  const matrix = workers
    .fromRows(ratings)
    .index(({ u, m }) => [u, m] as const)
    .map(({ x }) => x)
  const [W, H] = [1, 2].map((seed) => workers.random([rows, K], { dtype: 'f32', seed, scale: 0.1 })) as [Matrix, Matrix]
  const loop = workers.loop(
    matrix,
    { W, H },
    (x, [u, m], { W, H }) => {
      let p = 0
      for (let k = 0; k < K; k++) p += W.get(u, k) * H.get(m, k)
      const e = x - p
      for (let k = 0; k < K; k++) {
        const [w, h] = [W.get(u, k), H.get(m, k)]
        W.set(u, k, w + 0.001 * (e * h - 0.1 * w))
        H.set(m, k, h + 0.001 * (e * w - 0.1 * h))
      }
    },
    { order: 'any' },
  )
  for (let pass = 0; pass < 5; pass++) expect((await loop.verify()).identical).toBe(true)
  expect(loop.explain({ kernel: true })).toContain('rows kept as doubles')
  expect(loop.plan.schedule.kind).toBe('2d')
})
