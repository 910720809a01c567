/**
 * Whole loop programs, written from the public API alone and compared with plain JavaScript, at 1, 2 and 3 workers.
 *
 * Each also asks `verify()`, and states the schedule that the analysis must find.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Loop, LoopError, Session, TaskError } from '../../src/index.ts'

async function expectVerified(loop: Loop, kind: string): Promise<void> {
  expect(loop.plan.schedule.kind).toBe(kind)
  const report = await loop.verify()
  expect(report.firstDifference).toBe(undefined)
  expect(report.identical).toBe(true)
}

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers })
  })
  afterAll(() => session.stop())

  test('independent: y = a x + y over a range', async () => {
    const n = 20_000
    const x = session.random([n], { seed: 1 })
    const y = session.fill([n], 2)
    const a = 0.5
    const loop = session.loop(session.range(n), { x, y }, ([i], { x, y }) => {
      y.set(i, a * x.get(i) + y.get(i))
    })
    const xs = await x.toTypedArray()
    const report = await loop.run()
    expect(report.schedule).toBe('independent')
    expect(report.passes.map((p) => p.iterations)).toEqual([n])
    expect(await y.toTypedArray()).toEqual(Float64Array.from(xs as Float64Array, (v) => 0.5 * v + 2))
    await expectVerified(loop, 'independent')
  })

  test('a returned value replaces the element; passes accumulate', async () => {
    const a = session.fill([1000], 1)
    const loop = session.loop(a, {}, (value, [i]) => value * 2 + (i as number))
    await loop.run({ passes: 3 })
    const plain = Array.from({ length: 1000 }, (_, i) => ((1 * 2 + i) * 2 + i) * 2 + i)
    expect(await a.collect()).toEqual(plain)
    expect(loop.plan.schedule.kind).toBe('independent')
  })

  test('serial: a prefix sum', async () => {
    const n = 500
    const a = session.fill([n], 1)
    const loop = session.loop(session.range(n), { a }, ([i], { a }) => {
      if (i > 0) a.set(i, a.get(i) + a.get(i - 1))
    })
    await loop.run()
    expect(await a.collect()).toEqual(Array.from({ length: n }, (_, i) => i + 1))
    expect(loop.plan.schedule.kind).toBe('serial')
    expect(loop.plan.dependences[0]?.vector).toEqual([1])
    expect(loop.explain()).toContain('a')
    expect(() =>
      session.loop(
        session.range(n),
        { a },
        ([i], { a }) => {
          if (i > 0) a.set(i, a.get(i) + a.get(i - 1))
        },
        { require: 'parallel' },
      ),
    ).toThrow(LoopError)
  })

  test('1d: rows are independent, columns are a chain', async () => {
    const [rows, columns] = [60, 40]
    const a = session.random([rows, columns], { seed: 3 })
    const before = await a.toTypedArray()
    const loop = session.loop(session.range(rows, columns), { a }, ([i, j], { a }) => {
      if (j > 0) a.set(i, j, a.get(i, j) + a.get(i, j - 1) * 0.5)
    })
    await loop.run()
    const plain = Float64Array.from(before as Float64Array)
    for (let i = 0; i < rows; i++)
      for (let j = 1; j < columns; j++)
        plain[i * columns + j] = (plain[i * columns + j] as number) + (plain[i * columns + j - 1] as number) * 0.5
    expect(await a.toTypedArray()).toEqual(plain)
    expect(loop.plan.schedule).toMatchObject({ kind: '1d', axes: [0] })
    await expectVerified(loop, '1d')
  })

  test('wavefront: an edit distance', async () => {
    const s = Uint8Array.from('kitten sitting in the kitchen', (c) => c.charCodeAt(0))
    const t = Uint8Array.from('sitting kittens eating chicken', (c) => c.charCodeAt(0))
    const d = session.zeros([s.length + 1, t.length + 1], { dtype: 'i32' })
    const loop = session.loop(session.range(s.length + 1, t.length + 1), { d, s, t }, ([i, j], { d, s, t }) => {
      if (i === 0) d.set(i, j, j)
      else if (j === 0) d.set(i, j, i)
      else {
        const cost = s[i - 1] === t[j - 1] ? 0 : 1
        d.set(i, j, Math.min(d.get(i - 1, j) + 1, d.get(i, j - 1) + 1, d.get(i - 1, j - 1) + cost))
      }
    })
    await loop.run()
    const plain = Array.from({ length: s.length + 1 }, (_, i) =>
      Array.from({ length: t.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
    )
    for (let i = 1; i <= s.length; i++) {
      for (let j = 1; j <= t.length; j++) {
        const cost = s[i - 1] === t[j - 1] ? 0 : 1
        ;(plain[i] as number[])[j] = Math.min(
          (plain[i - 1]?.[j] as number) + 1,
          (plain[i]?.[j - 1] as number) + 1,
          (plain[i - 1]?.[j - 1] as number) + cost,
        )
      }
    }
    expect(Array.from((await d.toTypedArray()) as Int32Array)).toEqual(plain.flat())
    await expectVerified(loop, 'wavefront')
  })

  test('2d: matrix factorization by stochastic gradient descent', async () => {
    const K = 8
    const rate = 0.05
    const penalty = 0.02
    const n = 3000
    const table = session.fromColumns({
      user: Int32Array.from({ length: n }, (_, i) => (i * 7919) % 113),
      movie: Int32Array.from({ length: n }, (_, i) => Math.floor(i / 113) + ((i * 31) % 5) * 27),
      stars: Float64Array.from({ length: n }, (_, i) => 1 + ((i * 37) % 9) / 2),
    })
    const ratings = table.index((r) => [r.user, r.movie], { combine: (a) => a }).map((r) => r.stars)
    const [users, movies] = await ratings.shape()
    const W = session.random([users, K], { dtype: 'f32', scale: 0.1, seed: 1 })
    const H = session.random([movies, K], { dtype: 'f32', scale: 0.1, seed: 2 })
    const loss = session.accumulator('sum')
    const sgd = session.loop(
      ratings,
      { W, H, loss },
      (stars, [u, m], { W, H, loss }) => {
        const w = W.row(u)
        const h = H.row(m)
        let predicted = 0
        for (let k = 0; k < K; k++) predicted += (w[k] as number) * (h[k] as number)
        const error = stars - predicted
        for (let k = 0; k < K; k++) {
          const wk = w[k] as number
          const hk = h[k] as number
          w[k] = wk + rate * (error * hk - penalty * wk)
          h[k] = hk + rate * (error * wk - penalty * hk)
        }
        loss.add(error * error)
      },
      { order: 'any' },
    )
    const w0 = await W.toTypedArray()
    const h0 = await H.toTypedArray()
    const losses: number[] = []
    for await (const pass of sgd.passes(3)) losses.push(pass.accumulators.loss as number)
    expect(losses[2] as number).toBeLessThan(losses[0] as number)
    expect(loss.value).toBe(losses[2])
    const order = await sgd.serialOrder()
    const count = await ratings.count()
    expect(order.length).toBe(count * 2)
    // the serial program, in the order that the loop is equivalent to
    const values = new Map<number, number>()
    const present = await ratings.map((stars, [u, m]) => ({ u, m, stars })).collect()
    for (const { u, m, stars } of present) values.set(u * movies + m, stars)
    const w = Float32Array.from(w0 as Float32Array)
    const h = Float32Array.from(h0 as Float32Array)
    for (let pass = 0; pass < 3; pass++) {
      for (let at = 0; at < order.length; at += 2) {
        const u = order[at] as number
        const m = order[at + 1] as number
        const stars = values.get(u * movies + m) as number
        let predicted = 0
        for (let k = 0; k < K; k++) predicted += (w[u * K + k] as number) * (h[m * K + k] as number)
        const error = stars - predicted
        for (let k = 0; k < K; k++) {
          const wk = w[u * K + k] as number
          const hk = h[m * K + k] as number
          w[u * K + k] = wk + rate * (error * hk - penalty * wk)
          h[m * K + k] = hk + rate * (error * wk - penalty * hk)
        }
      }
    }
    expect(await W.toTypedArray()).toEqual(w)
    expect(await H.toTypedArray()).toEqual(h)
    await expectVerified(sgd, '2d')
    expect(sgd.explain()).toContain('2d')
    expect(JSON.parse(JSON.stringify(sgd.plan))).toEqual(sgd.plan)
    expect(sgd.plan.variables.map((v) => v.name).toSorted()).toEqual(expect.arrayContaining(['H', 'W', 'loss']))
  })

  test('the same loop in serial order is a wavefront with the bits of key order', async () => {
    const [rows, columns] = [30, 20]
    const a = session.random([rows], { seed: 4 })
    const b = session.random([columns], { seed: 5 })
    const a0 = Float64Array.from((await a.toTypedArray()) as Float64Array)
    const b0 = Float64Array.from((await b.toTypedArray()) as Float64Array)
    const loop = session.loop(session.range(rows, columns), { a, b }, ([i, j], { a, b }) => {
      const x = a.get(i)
      a.set(i, x * 0.9 + b.get(j))
      b.set(j, b.get(j) - x * 0.1)
    })
    await loop.run()
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const x = a0[i] as number
        a0[i] = x * 0.9 + (b0[j] as number)
        b0[j] = (b0[j] as number) - x * 0.1
      }
    }
    expect(await a.toTypedArray()).toEqual(a0)
    expect(await b.toTypedArray()).toEqual(b0)
    await expectVerified(loop, 'wavefront')
  })

  test('a histogram by add, and every accumulator', async () => {
    const n = 30_000
    const values = session.random([n], { seed: 9 })
    const histogram = session.zeros([10], { dtype: 'i32' })
    const total = session.accumulator('sum')
    const least = session.accumulator('min')
    const most = session.accumulator('max')
    const calls = session.accumulator('count')
    const product = session.accumulator({ init: 1, combine: (a: number, b: number) => (a * b) % 1_000_003 })
    const loop = session.loop(values, { histogram, total, least, most, calls, product }, (value, _key, env) => {
      env.histogram.add(Math.floor(value * 10), 1)
      env.total.add(Math.floor(value * 1000))
      env.least.add(value)
      env.most.add(value)
      if (value > 0.5) env.calls.add(value)
      env.product.add(Math.floor(value * 100) + 1)
    })
    const report = await loop.run()
    const plain = (await values.collect()) as number[]
    const bins = new Int32Array(10)
    for (const v of plain) bins[Math.floor(v * 10)]!++
    expect(await histogram.toTypedArray()).toEqual(bins)
    expect(total.value).toBe(plain.reduce((s, v) => s + Math.floor(v * 1000), 0))
    expect(least.value).toBe(plain.reduce((a, b) => Math.min(a, b)))
    expect(most.value).toBe(plain.reduce((a, b) => Math.max(a, b)))
    expect(calls.value).toBe(plain.filter((v) => v > 0.5).length)
    expect(product.value).toBe(plain.reduce((p, v) => (p * (Math.floor(v * 100) + 1)) % 1_000_003, 1))
    expect(report.passes[0]?.accumulators.calls).toBe(calls.value)
    await expectVerified(loop, 'independent')
  })

  test('a stencil reads one array and writes another', async () => {
    const n = 64
    const from = session.random([n, n], { seed: 11 })
    const to = session.zeros([n, n])
    const loop = session.loop(session.range(n, n), { from, to }, ([i, j], { from, to }) => {
      if (i === 0 || j === 0 || i === n - 1 || j === n - 1) {
        to.set(i, j, from.get(i, j))
        return
      }
      to.set(i, j, (from.get(i - 1, j) + from.get(i + 1, j) + from.get(i, j - 1) + from.get(i, j + 1)) / 4)
    })
    await loop.run()
    const f = (await from.toTypedArray()) as Float64Array
    const at = (i: number, j: number) => f[i * n + j] as number
    const plain = Float64Array.from({ length: n * n }, (_, p) => {
      const [i, j] = [Math.floor(p / n), p % n]
      return i === 0 || j === 0 || i === n - 1 || j === n - 1 ? at(i, j) : (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 4
    })
    expect(await to.toTypedArray()).toEqual(plain)
    await expectVerified(loop, 'independent')
  })

  test('a loop over the rows of a table, with nulls and strings', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({
      slot: (i * 17) % 50,
      word: i % 3 === 0 ? 'yes' : 'no',
      weight: i % 7 === 0 ? null : i / 4,
    }))
    const table = session.fromRows(rows).filter((r) => r.slot !== 3)
    const sums = session.zeros([50])
    const words = session.zeros([50], { dtype: 'u32' })
    const loop = session.loop(table, { sums, words }, (r, _key, { sums, words }) => {
      if (r.weight === null) return
      sums.add(r.slot, r.weight)
      if (r.word === 'yes') words.add(r.slot, 1)
    })
    await loop.run()
    const plain = new Float64Array(50)
    const yes = new Uint32Array(50)
    for (const r of rows) {
      if (r.slot === 3 || r.weight === null) continue
      plain[r.slot]! += r.weight
      if (r.word === 'yes') yes[r.slot]!++
    }
    expect(await sums.toTypedArray()).toEqual(plain)
    expect(await words.toTypedArray()).toEqual(yes)
  })

  test('random numbers do not depend on the schedule', async () => {
    const a = session.zeros([400])
    await session.parallelFor(session.range(400), { a, rng: session.rng(7) }, ([i], { a, rng }) => {
      a.set(i, rng.uniform() + rng.int(10) + rng.normal() * 0)
    })
    const values = (await a.toTypedArray()) as Float64Array
    await using other = await Session.start({ workers: 1 })
    const b = other.zeros([400])
    await other.parallelFor(
      other.range(400),
      { b, rng: other.rng(7) },
      ([i], { b, rng }) => {
        b.set(i, rng.uniform() + rng.int(10) + rng.normal() * 0)
      },
      { partitions: 7 },
    )
    expect(await b.toTypedArray()).toEqual(values)
    expect(new Set(values).size).toBe(400)
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...values)).toBeLessThan(11)
  })

  test('typed arrays convert on store as JavaScript does', async () => {
    const i32 = session.zeros([1], { dtype: 'i32' })
    const u8 = session.zeros([1], { dtype: 'u8' })
    const f32 = session.zeros([1], { dtype: 'f32' })
    const bool = session.zeros([1], { dtype: 'bool' })
    const i64 = session.zeros([1], { dtype: 'i64' })
    await session.parallelFor(session.range(1), { i32, u8, f32, bool, i64 }, ([i], env) => {
      env.i32.set(i, 2 ** 31 + 5.7)
      env.u8.set(i, 300)
      env.f32.set(i, 0.1)
      env.bool.set(i, 7)
      ;(env.i64 as unknown as { set(i: number, v: bigint): void }).set(i, 2n ** 63n)
    })
    expect(await i32.at(0)).toBe(-2147483643)
    expect(await u8.at(0)).toBe(44)
    expect(await f32.at(0)).toBe(Math.fround(0.1))
    expect(await bool.at(0)).toBe(1)
    expect(await i64.at(0)).toBe(-(2n ** 63n))
    await expect(u8.set([0], 300)).rejects.toThrow(/300/)
    await expect(i32.assign([null], [1.5])).rejects.toThrow(/1\.5/)
  })

  test('keys outside an array are errors with key and shape, negative keys do not wrap', async () => {
    const a = session.zeros([4, 5])
    const bad = session.loop(session.range(4), { a }, ([i], { a }) => {
      a.set(i, i + 3, 1)
    })
    await expect(bad.run()).rejects.toThrow(/\[2, 5\] is outside a, whose shape is \[4, 5\]/)
    await expect(bad.run()).rejects.toBeInstanceOf(TaskError)
    await expect(a.collect()).rejects.toThrow(/Assign all of it/)
    await a.assign([null, null], 0)
    expect(await a.sum()).toBe(0)
    const row = session.loop(session.range(4), { a }, ([i], { a }) => {
      const r = a.row(i)
      r[i - 1] = 1
    })
    await expect(row.run()).rejects.toThrow(/-1/)
  })

  test('the exception that the serial run would meet first is rethrown, and atomic restores', async () => {
    const a = session.fill([20, 20], 1)
    const loop = session.loop(
      session.range(20, 20),
      { a },
      ([i, j], { a }) => {
        if ((i === 7 && j === 13) || (i === 9 && j === 2)) throw new RangeError(`stop at ${i}, ${j}`)
        a.set(i, j, 5)
      },
      { atomic: true, partitions: 4 },
    )
    await expect(loop.run()).rejects.toMatchObject({ name: 'TaskError', key: [7, 13], message: expect.stringContaining('stop at 7, 13') })
    await expect(loop.run()).rejects.toHaveProperty('cause.name', 'RangeError')
    expect(await a.sum()).toBe(400)
  })

  test('a refused body runs as it stands, serially, on the caller', async () => {
    const a = session.fill([10], 3)
    let counter = 0
    const log: number[] = []
    const loop = session.loop(a, {}, (value, [i]) => {
      counter += value
      log.push(i)
    })
    await loop.run()
    expect(counter).toBe(30)
    expect(log).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(loop.plan.schedule.kind).toBe('serial')
    expect(loop.plan.kernel.target).toBe('as-is')
    expect(loop.explain()).toContain('counter')
    expect(() =>
      session.loop(
        a,
        {},
        (value) => {
          counter += value
        },
        { require: 'parallel' },
      ),
    ).toThrow(/counter/)
    expect(() => session.loop(a, {}, (async () => {}) as unknown as () => void)).toThrow(/async/)
  })

  test('update buffers read the last flush and apply at the end of the pass', async () => {
    const w = session.fill([4], 10)
    const g = w.buffer()
    const loop = session.loop(
      session.range(8),
      { g },
      ([i], { g }) => {
        g.add(i % 4, g.get(i % 4) * 0.5)
      },
      { order: 'any' },
    )
    await loop.run()
    expect(await w.collect()).toEqual([20, 20, 20, 20])
    await loop.run()
    expect(await w.collect()).toEqual([40, 40, 40, 40])
    const m = session.fill([2], 1)
    const strongest = m.buffer({ combine: (a, b) => Math.max(a, b), apply: (current, update) => current * update })
    await session.parallelFor(session.range(10), { strongest }, ([i], { strongest }) => strongest.add(i % 2, i))
    expect(await m.collect()).toEqual([8, 9])
  })

  test('sparse arrays: get, has, set and insertion', async () => {
    const s = session.sparse([10, 10])
    await s.set([3, 4], 7)
    const found = session.zeros([10, 10])
    await session.parallelFor(session.range(10, 10), { s, found }, ([i, j], { s, found }) => {
      found.set(i, j, s.has(i, j) ? s.get(i, j) : -1)
    })
    expect(await found.at(3, 4)).toBe(7)
    expect(await found.sum()).toBe(7 - 99)
    await session.parallelFor(session.range(10), { s }, ([i], { s }) => {
      s.set(i, i, i * 2)
    })
    expect(await s.count()).toBe(11)
    expect(await s.at(9, 9)).toBe(18)
    expect(await s.at(0, 1)).toBe(0)
    const visited = session.accumulator('count')
    await session.parallelFor(s, { visited }, (v, _key, { visited }) => visited.add(v))
    expect(visited.value).toBe(11)
  })

  test('queries and writes in place', async () => {
    const a = session.zeros([3, 4], { dtype: 'f32' })
    await a.set([1, 2], 5)
    await a.update([1, 2], (v) => v + 0.5)
    await a.assign([0, [1, 3]], [8, 9])
    await a.assign([2, null], 1)
    expect([...(await a.row(1))]).toEqual([0, 0, 5.5, 0])
    expect([...(await a.slice([null, 2])).data]).toEqual([9, 5.5, 1])
    expect(await a.toTypedArray()).toEqual(Float32Array.of(0, 8, 9, 0, 0, 0, 5.5, 0, 1, 1, 1, 1))
    const derived = a.map((v) => v * 10)
    await a.set([0, 0], -1)
    expect(await derived.at(0, 0)).toBe(-10)
    expect(await a.at(-0, 0)).toBe(-1)
    await expect(a.at(0, 4)).rejects.toThrow('[0, 4] is outside')
    await expect(a.set([0, 1.5], 1)).rejects.toThrow('[0, 1.5]')
    expect(await session.zeros([0]).collect()).toEqual([])
    await session.parallelFor(session.range(0), {}, () => {})
    const i = session.range(3)
    expect(i.extents).toEqual([3])
    const made = session.fromColumns({ k: [2, 0, 1] }).index((r) => [r.k])
    await made.set([1], { k: 50 })
    expect(await made.collect()).toEqual([{ k: 0 }, { k: 50 }, { k: 2 }])
  })

  test('an aborted run rejects with the reason', async () => {
    const a = session.zeros([300, 300])
    const controller = new AbortController()
    const loop = session.loop(
      session.range(300, 300),
      { a },
      ([i, j], { a }) => {
        let x = i + j
        for (let k = 0; k < 2000; k++) x = Math.sin(x)
        a.set(i, j, x)
      },
      { atomic: true },
    )
    setTimeout(() => controller.abort(new Error('enough')), 50)
    await expect(loop.run({ signal: controller.signal })).rejects.toThrow('enough')
    expect(await a.sum()).toBe(0)
  })
})

test('captured arrays join the environment; captured numbers are parameters; helpers are inlined', async () => {
  await using session = await Session.start({ workers: 2 })
  const a = session.fill([100], 2)
  const out = session.zeros([100])
  let factor = 3
  const square = (x: number) => x * x
  const loop = session.loop(session.range(100), {}, ([i]) => {
    // biome-ignore lint: the arrays are views inside the body
    ;(out as any).set(i, square((a as any).get(i)) * factor)
  })
  await loop.run()
  expect(await out.sum()).toBe(1200)
  expect(loop.plan.schedule.kind).toBe('independent')
  factor = 4
  expect(factor).toBe(4)
})

test('a stopped session says so', async () => {
  const session = await Session.start({ workers: 2 })
  const a = session.zeros([3])
  await session.stop()
  await expect(a.collect()).rejects.toThrow(/stopped/)
  expect(() => session.zeros([3])).toThrow(/stopped/)
})
