/** What a plan says of the cost of a pass and of its kernel, before runs and after; times that the clock decides are masked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modulesCompiled } from '../../src/exec/wasm/moduleCache.ts'
import { type Loop, Session } from '../../src/index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

function scaled(n: number): Loop {
  const x = session.random([n], { seed: 1 })
  const y = session.zeros([n])
  return session.loop(
    session.range(n),
    { x, y },
    ([i], { x, y }) => {
      y.set(i, x.get(i) * 7.25 + 0.5)
    },
    { name: 'scaled' },
  )
}

/** The lines from the blocks on. */
function footer(loop: Loop): string {
  const lines = loop.explain().split('\n')
  return lines.slice(lines.findIndex((line) => line.startsWith('blocks'))).join('\n')
}

const masked = (text: string): string =>
  text.replace(/measured \S+ ms a pass/, 'measured # ms a pass').replace(/^execution .*/m, 'execution #')

test('before a run the plan knows the kernel and predicts a pass', async () => {
  const loop = scaled(1000)
  expect(footer(loop)).toBe(`blocks 64
kernel wasm-simd
execution caller: decided by run()
predicted 0.00036 ms a pass on one thread`)
  const { kernel } = loop.plan
  await loop.run()
  expect(loop.plan.kernel).toEqual(kernel)
})

test('after a run it compares what was measured with what was predicted', async () => {
  const loop = scaled(1000)
  const predictedMilliseconds = loop.plan.cost?.predictedMilliseconds
  const report = await loop.run()
  expect(masked(footer(loop))).toBe(`blocks 64
kernel wasm-simd
execution #
measured # ms a pass, predicted 0.00036 ms, 1 worker`)
  expect(loop.plan.cost?.measured).toMatchObject({ predictedMilliseconds, workers: 1, balance: 1 })
  expect(loop.plan.cost?.predictedMilliseconds).not.toBe(predictedMilliseconds) // the next pass, from what this one took
  expect(report.predictedMilliseconds).toBe(predictedMilliseconds)
  expect(report.passes[0]).toMatchObject({ predictedMilliseconds, balance: 1 })
})

test('a long loop reports how even the work of two workers was', async () => {
  const loop = scaled(4_000_000)
  let report = await loop.run()
  while (report.workers < 2) report = await loop.run() // until threads have started the caller works alone
  const balance = report.passes[0]?.balance ?? 0
  expect(balance).toBeGreaterThanOrEqual(1)
  expect(balance).toBeLessThanOrEqual(2)
  expect(footer(loop)).toMatch(/^measured \S+ ms a pass, predicted \S+ ms, 2 workers, balance [12]\.\d\d$/m)
  expect(JSON.parse(loop.explain({ format: 'json' })).cost.measured.workers).toBe(2)
}, 60_000)

test('where the data decides how many iterations there are, nothing is predicted before it is there', () => {
  const rows = session.fromColumns({ at: Int32Array.of(3, 1) })
  const loop = session.loop(
    rows.index((row) => [row.at]).map((row) => row.at),
    {},
    (value) => value + 1,
  )
  expect(loop.explain()).not.toMatch(/predicted/)
  expect(loop.plan.cost).toBeUndefined()
})

test('a second run compiles nothing, and the first one compiles once what the plan forecast', async () => {
  const loop = scaled(2000)
  await loop.run()
  const before = modulesCompiled()
  await loop.run()
  expect(modulesCompiled()).toBe(before)
  const other = scaled(3000)
  other.explain()
  await other.run()
  expect(modulesCompiled()).toBe(before) // another size is another number, not another kernel
})
