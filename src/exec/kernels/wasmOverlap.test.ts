import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../index.ts'

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
