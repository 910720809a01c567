/** What loops would take on other machines: shapes of answers, and what is refused. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MemoryError, PlanError, Session } from './index.ts'

let session: Session
beforeEach(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterEach(async () => await session.stop())

function rotating() {
  const [W, H] = [session.random([40, 4], { seed: 1 }), session.random([30, 4], { seed: 2 })]
  return session.loop(
    session.range(40, 30),
    { W, H },
    ([i, j], { W, H }) => {
      for (let k = 0; k < 4; k++) {
        W.set(i, k, W.get(i, k) * 0.5 + H.get(j, k))
        H.set(j, k, H.get(j, k) * 0.5 + W.get(i, k))
      }
    },
    { order: 'any' },
  )
}

test('a loop that rotates sends the rows of its second axis round, and nothing else; no element is computed', async () => {
  const loop = rotating()
  const two = await loop.simulate({ nodes: 2, threads: 2, bandwidth: '1Gbit', latency: 1 })
  const half = 20 * 4 * 8 // rows of W that the other makes, and keeps
  const all = 30 * 4 * 8 // H goes there, half of it as it is made there, and comes back
  expect(two).toMatchObject({ nodes: 2, threads: 2, firstBytes: 1.5 * all, madeBytes: half + all / 2, bytes: 2 * all, changedBytes: 0 })
  expect(two.milliseconds).toBeGreaterThan(2) // there and back
  expect(two.because).toBe(undefined)
  expect(await loop.simulate({ nodes: 2, threads: 2, bandwidth: '1Gbit', latency: 1 })).toEqual(two) // nothing was written
  const [slow, fast] = [await loop.simulate({ nodes: 2, bandwidth: 1000 }), await loop.simulate({ nodes: 2, bandwidth: 1e12, latency: 0 })]
  expect([slow.threads, slow.bytes]).toEqual([2, fast.bytes])
  expect(slow.milliseconds).toBeGreaterThan(all - 1) // a byte a millisecond
  expect(fast.milliseconds).toBeLessThan(10)
})

test('arrays that their description makes are not made for it, and may be larger than the session is', async () => {
  await using small = await Session.start({ workers: 1, progress: false, memory: '16MB' })
  const W = small.random([1_000_000, 10], { seed: 1 }) // 80 MB
  const loop = small.loop(small.range(1_000_000), { W }, ([i], { W }) => {
    for (let k = 0; k < 10; k++) W.set(i, k, W.get(i, k) * 0.5)
  })
  expect(await loop.simulate({ nodes: 8 })).toMatchObject({ nodes: 8, bytes: 0 })
  await expect(loop.run()).rejects.toBeInstanceOf(MemoryError)
  const run = async (isSimulated: boolean): Promise<unknown> => {
    const x = session.random([100], { seed: 3 })
    const halved = session.loop(session.range(100), { x }, ([i], { x }) => x.set(i, x.get(i) / 2))
    if (isSimulated) await halved.simulate({ nodes: 2 })
    await halved.run({ passes: 2 })
    if (isSimulated) await halved.simulate({ nodes: 2 })
    return await x.collect()
  }
  expect(await run(true)).toEqual(await run(false))
})

test('a loop that stays in one process says why', async () => {
  const b = session.zeros([50])
  const p = session
    .fromColumns({ p: Int32Array.from({ length: 50 }, (_, i) => (i * 7) % 50) })
    .map((r) => r.p)
    .materialize()
  const loop = session.loop(session.range(50), { b, p }, ([i], { b, p }) => b.set(p.get(i), b.get(p.get(i)) + i))
  const found = await loop.simulate({ nodes: 3 })
  expect(found).toMatchObject({ nodes: 1, bytes: 0, because: 'A colored schedule runs in one process.' })
  expect((await rotating().simulate({ nodes: 1 })).because).toBe('There is one node.')
})

test('options that make no sense are refused, and so is a body of which nothing is known', async () => {
  const loop = rotating()
  const refused = async (options: object): Promise<string> => {
    const error = await loop.simulate(options as never).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(PlanError)
    return (error as Error).message
  }
  expect(await refused({ nodes: 0 })).toBe('The nodes of simulate() are 0. They are a whole number from 1 to 4096.')
  expect(await refused({})).toBe('The nodes of simulate() are undefined. They are a whole number from 1 to 4096.')
  expect(await refused({ nodes: 2, threads: 1.5 })).toBe('The threads of simulate() are 1.5. They are a whole number from 1 to 1024.')
  expect(await refused({ nodes: 2, latency: -1 })).toBe('The latency of simulate() is -1. It is a number of milliseconds, as 0.1.')
  expect(await refused({ nodes: 2, bandwidth: '10 Gbit' })).toBe(
    `The bandwidth of simulate() is "10 Gbit". It is a number of bytes a second, or text as '10Gbit' or '100Mbit'.`,
  )
  let runs = 0
  const w = session.zeros([3])
  const plain = session.loop(session.range(3), { w }, ([i], { w }) => {
    runs++
    w.set(i, runs)
  })
  await expect(plain.simulate({ nodes: 2 })).rejects.toThrow(
    'simulate() knows nothing of a body that runs as it stands: it runs on one thread of one process, as long as it takes. explain() says why it was not compiled.',
  )
})
