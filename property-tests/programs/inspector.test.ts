/** Programs whose loops an inspector schedules: what they say, refuse and remember. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../../src/index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

async function integers(values: readonly number[]): Promise<DistArray<number, readonly [number]>> {
  const array = session.zeros([values.length], { dtype: 'i32' })
  await array.assign([null], Int32Array.from(values))
  return array
}

const message = async (run: () => Promise<unknown>): Promise<string> =>
  await run().then(
    () => 'nothing was thrown',
    (error: Error) => `${error.name}: ${error.message}`,
  )

test('the plan says what was found', async () => {
  const to = await integers([3, 1, 3, 0])
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { to, y }, ([i], { to, y }) => {
    y.set(to.get(i), i)
  })
  expect(loop.plan.schedule).toEqual({
    kind: 'colored',
    axes: [],
    blocks: [],
    reason: 'iterations depend on each other through y; the first run inspects which',
  })
  await loop.run()
  expect(loop.plan.schedule.reason).toBe(
    'iterations depend on each other through y; the first run inspects which: 3 components, the largest of 2 of 4 iterations',
  )
  expect([...(await y.toTypedArray())]).toEqual([3, 1, 0, 2])
  expect(await loop.verify()).toEqual({ identical: true, iterations: 4 })
})

test('a loop that must be parallel rejects where the data makes it a chain, and runs where it does not', async () => {
  const from = await integers([0, 0, 1, 2, 3])
  const y = session.fill([5], 1)
  const loop = session.loop(
    session.range(5),
    { from, y },
    ([i], { from, y }) => {
      y.set(i, y.get(from.get(i)) + 1)
    },
    { require: 'parallel' },
  )
  expect(await message(() => loop.run())).toMatchInlineSnapshot(`
    "LoopError: The loop over range(5) cannot run in parallel with this data.
      Almost nothing can run at the same time: 1 component, the largest of 5 of 5 iterations; 5 levels, the widest of 1 of 5 iterations.
    To free it: write to another array than y, if reads may see its values from before the loop."
  `)
  expect([...(await y.toTypedArray())]).toEqual([1, 1, 1, 1, 1])
  await from.assign([null], Int32Array.from([0, 1, 2, 3, 4]))
  await loop.run()
  expect([...(await y.toTypedArray())]).toEqual([2, 2, 2, 2, 2])
})

test('a subscript outside its array is the error of its iteration, as without an inspector', async () => {
  const to = await integers([1, 0, 7, 2])
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { to, y }, ([i], { to, y }) => {
    y.set(to.get(to.get(i)), i)
  })
  expect(await message(() => loop.run())).toMatchInlineSnapshot(
    `"TaskError: The body of the loop over range(4) threw at key [2]: The key [7] is outside to, whose shape is [4]. Keys run from 0 to extent - 1; negative keys do not wrap."`,
  )
})

test('sparse arrays are not inspected, and the plan says so', async () => {
  const w = session.sparse([10])
  await w.set([3], 1)
  await w.set([5], 2)
  const next = await integers([5, 5, 5, 5, 5, 3, 3, 3, 3, 3])
  const loop = session.loop(w, { w, next }, (value, [i], { w, next }) => value + w.get(next.get(i)))
  expect(loop.plan.schedule.kind).toBe('colored')
  await loop.run()
  expect(loop.plan.execution.where).toBe('caller')
  expect(loop.plan.schedule.reason).toMatchInlineSnapshot(
    `"iterations depend on each other through w; the first run inspects which. w is sparse, and the inspector needs dense arrays."`,
  )
  expect(await w.collect()).toEqual([3, 5])
})

test('a run that is aborted while it is inspected has changed nothing', async () => {
  const n = 200_000
  const to = await integers(Array.from({ length: n }, (_, i) => (i * 7919) % n))
  const y = session.zeros([n])
  const loop = session.loop(session.range(n), { to, y }, ([i], { to, y }) => {
    y.set(to.get(i), y.get(i) + 1)
  })
  const controller = new AbortController()
  const run = loop.run({ signal: controller.signal })
  controller.abort(new Error('enough'))
  expect(await message(() => run)).toBe('Error: enough')
  expect((await y.toTypedArray()).every((value) => value === 0)).toBe(true)
  await loop.run()
  expect(loop.plan.schedule.kind).toBe('colored')
})

test('subscripts from the values iterated over, and from rows of a table', async () => {
  const idx = await integers([2, 0, 2, 1, 0, 2])
  const w = session.fill([3], 1)
  const scattered = session.loop(idx, { w }, (k, [i], { w }) => {
    w.set(k, 0.5 * w.get(k) + i)
  })
  await scattered.run()
  expect(scattered.plan.schedule.reason).toBe(
    'iterations depend on each other through w; the first run inspects which: 3 components, the largest of 3 of 6 iterations',
  )
  expect([...(await w.toTypedArray())]).toEqual([0.5 * (0.5 + 1) + 4, 0.5 + 3, 0.5 * (0.5 * 0.5 + 2) + 5])
  const orders = session.fromRows([
    { shop: 1, total: 3 },
    { shop: 0, total: 4 },
    { shop: 1, total: 5 },
  ])
  const last = session.zeros([2])
  const latest = session.loop(orders, { last }, (order, _key, { last }) => {
    last.set(order.shop, last.get(order.shop) * 10 + order.total)
  })
  await latest.run()
  expect(latest.plan.schedule.kind).toBe('colored')
  expect([...(await last.toTypedArray())]).toEqual([4, 35])
})

test('an order that finds no room in the memory leaves the loop serial', async () => {
  await using small = await Session.start({ workers: 2, memory: 1_700_000, progress: false })
  const n = 90_000
  const to = small.zeros([n], { dtype: 'i32' })
  await to.assign(
    [null],
    Int32Array.from({ length: n }, (_, i) => n - 1 - i),
  )
  const y = small.zeros([300, 300])
  const loop = small.loop(small.range(300, 300), { to, y }, ([i, j], { to, y }) => {
    const place = to.get(i * 300 + j)
    y.set(Math.floor(place / 300), place % 300, i)
  })
  await loop.run()
  expect(loop.plan.execution.where).toBe('caller')
  expect(loop.plan.execution.because).toContain('There is no memory for the order of its iterations')
  expect(await y.at(299, 299)).toBe(0)
  expect(await y.at(0, 0)).toBe(299)
})
