/** Scans, reductions and random numbers. */
import { loopUniform } from '../../src/core/arrays/random.ts'
import { type Entry, entry, random, whole, zeros } from './entry.ts'

const N = 400

export const reductions: readonly Entry[] = [
  entry({
    name: 'prefix sum',
    what: 'each element needs the one before',
    data: { x: random([N], 1), y: zeros([N]) },
    loops: (session, { x, y }) =>
      session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
        y.set(i, (i > 0 ? y.get(i - 1) : 0) + x.get(i))
      }),
    plain: ({ x, y }) => {
      for (let i = 0; i < N; i++) y[i] = (i > 0 ? y[i - 1]! : 0) + x[i]!
    },
  }),
  entry({
    name: 'prefix sum, in place',
    what: 'an update of the element iterated over',
    data: { a: random([N], 2) },
    loops: (session, { a }) =>
      session.loop(session.range(N - 1), { a }, ([i], { a }) => {
        a.add(i + 1, a.get(i))
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N - 1; i++) a[i + 1]! += a[i]!
    },
  }),
  entry({
    name: 'prefix sum, doubling step',
    what: 'Hillis–Steele: log n steps of independent additions, from one array into another',
    data: { a: random([N], 3), b: zeros([N]) },
    loops: (session, { a, b }) => {
      let step = 1
      const add = session.loop(session.range(N), { a, b }, ([i], { a, b }) => {
        b.set(i, i >= step ? a.get(i) + a.get(i - step) : a.get(i))
      })
      const copy = session.loop(session.range(N), { a, b }, ([i], { a, b }) => {
        a.set(i, b.get(i))
      })
      return {
        loops: { add, copy },
        rounds: 9,
        before: (round) => {
          step = 2 ** round
        },
      }
    },
    plain: ({ a, b }) => {
      for (let step = 1; step < 512; step *= 2) {
        for (let i = 0; i < N; i++) b[i] = i >= step ? a[i]! + a[i - step]! : a[i]!
        for (let i = 0; i < N; i++) a[i] = b[i]!
      }
    },
  }),
  entry({
    name: 'running maximum',
    what: 'along an array',
    data: { x: random([N], 4), y: zeros([N]) },
    loops: (session, { x, y }) =>
      session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
        if (i === 0) y.set(0, x.get(0))
        else y.set(i, Math.max(y.get(i - 1), x.get(i)))
      }),
    plain: ({ x, y }) => {
      for (let i = 0; i < N; i++) y[i] = i === 0 ? x[0]! : Math.max(y[i - 1]!, x[i]!)
    },
  }),
  entry({
    name: 'prefix sum beside a map',
    what: 'one statement needs the element before, the other needs nothing: two loops',
    data: { x: random([N], 21), y: zeros([N]), z: zeros([N]) },
    loops: (session, { x, y, z }) =>
      session.loop(session.range(N), { x, y, z }, ([i], { x, y, z }) => {
        const v = x.get(i) * 2 - 1
        y.set(i, (i > 0 ? y.get(i - 1) : 0) + v)
        z.set(i, Math.sqrt(v * v + 1))
      }),
    plain: ({ x, y, z }) => {
      for (let i = 0; i < N; i++) {
        const v = x[i]! * 2 - 1
        y[i] = (i > 0 ? y[i - 1]! : 0) + v
        z[i] = Math.sqrt(v * v + 1)
      }
    },
  }),
  entry({
    name: 'smoothing, then a histogram of the errors',
    what: 'the recurrence runs first; what is counted of it needs no order',
    data: { x: random([N], 22), s: zeros([N]), bins: zeros([16], 'i32') },
    loops: (session, { x, s, bins }) => {
      const squares = session.accumulator('sum')
      return session.loop(session.range(N), { x, s, bins, squares }, ([i], { x, s, bins, squares }) => {
        s.set(i, i === 0 ? x.get(0) : 0.7 * s.get(i - 1) + 0.3 * x.get(i))
        const error = x.get(i) - s.get(i)
        bins.add(Math.floor((error + 1) * 8), 1)
        squares.add(error * error)
      })
    },
    plain: ({ x, s, bins }) => {
      let squares = 0
      for (let i = 0; i < N; i++) {
        s[i] = i === 0 ? x[0]! : 0.7 * s[i - 1]! + 0.3 * x[i]!
        const error = x[i]! - s[i]!
        bins[Math.floor((error + 1) * 8)]!++
        squares += error * error
      }
      return { squares }
    },
  }),
  entry({
    name: 'exponential smoothing of many series',
    what: 'along time t, for each series s',
    data: { x: random([50, 20], 5), y: zeros([50, 20]) },
    loops: (session, { x, y }) =>
      session.loop(session.range(50, 20), { x, y }, ([t, s], { x, y }) => {
        if (t === 0) y.set(t, s, x.get(t, s))
        else y.set(t, s, 0.3 * x.get(t, s) + 0.7 * y.get(t - 1, s))
      }),
    plain: ({ x, y }) => {
      for (let t = 0; t < 50; t++)
        for (let s = 0; s < 20; s++) y[t * 20 + s] = t === 0 ? x[s]! : 0.3 * x[t * 20 + s]! + 0.7 * y[(t - 1) * 20 + s]!
    },
  }),
  entry({
    name: 'Horner, one polynomial',
    what: 'coefficients one after another into one number',
    data: { c: random([30], 6), value: zeros([1]) },
    loops: (session, { c, value }) =>
      session.loop(session.range(30), { c, value }, ([i], { c, value }) => {
        value.set(0, value.get(0) * 0.9 + c.get(i))
      }),
    plain: ({ c, value }) => {
      for (let i = 0; i < 30; i++) value[0] = value[0]! * 0.9 + c[i]!
    },
  }),
  entry({
    name: 'Horner, many points',
    what: 'the same at each x: the chain is inside an iteration',
    data: { c: random([30], 7), x: random([N], 8), y: zeros([N]) },
    loops: (session, { c, x, y }) =>
      session.loop(session.range(N), { c, x, y }, ([i], { c, x, y }) => {
        let value = 0
        for (let k = 0; k < 30; k++) value = value * x.get(i) + c.get(k)
        y.set(i, value)
      }),
    plain: ({ c, x, y }) => {
      for (let i = 0; i < N; i++) {
        let value = 0
        for (let k = 0; k < 30; k++) value = value * x[i]! + c[k]!
        y[i] = value
      }
    },
  }),
  entry({
    name: 'dot product',
    what: 'into an accumulator: chunks of 4,096 products, the chunks added in pairs',
    data: { x: random([10_000], 9), y: random([10_000], 10) },
    loops: (session, { x, y }) => {
      const dot = session.accumulator('sum')
      return session.loop(session.range(10_000), { x, y, dot }, ([i], { x, y, dot }) => {
        dot.add(x.get(i) * y.get(i))
      })
    },
    plain: ({ x, y }) => {
      const chunks = [0, 0, 0]
      for (let i = 0; i < 10_000; i++) chunks[Math.floor(i / 4096)]! += x[i]! * y[i]!
      return { dot: chunks[0]! + chunks[1]! + chunks[2]! }
    },
  }),
  entry({
    name: 'dot product, into an element',
    what: 'the sum as a program without accumulators has it',
    data: { x: random([N], 11), y: random([N], 12), sum: zeros([1]) },
    loops: (session, { x, y, sum }) =>
      session.loop(session.range(N), { x, y, sum }, ([i], { x, y, sum }) => {
        sum.set(0, sum.get(0) + x.get(i) * y.get(i))
      }),
    plain: ({ x, y, sum }) => {
      for (let i = 0; i < N; i++) sum[0]! += x[i]! * y[i]!
    },
  }),
  entry({
    name: 'least, greatest, how many',
    what: 'three accumulators in one loop over the values',
    data: { x: random([N], 13) },
    loops: (session, { x }) => {
      const env = { least: session.accumulator('min'), most: session.accumulator('max'), above: session.accumulator('count') }
      return session.loop(x, env, (value, _key, { least, most, above }) => {
        least.add(value)
        most.add(value)
        if (value > 0.5) above.add(value)
      })
    },
    plain: ({ x }) => {
      let [least, most, above] = [Infinity, -Infinity, 0]
      for (const value of x) {
        least = Math.min(least, value)
        most = Math.max(most, value)
        if (value > 0.5) above++
      }
      return { least, most, above }
    },
  }),
  entry({
    name: 'histogram',
    what: 'add to the bin: the order of additions does not matter',
    data: { x: random([N], 14), bins: zeros([10], 'i32') },
    loops: (session, { x, bins }) =>
      session.loop(session.range(N), { x, bins }, ([i], { x, bins }) => {
        bins.add(Math.floor(x.get(i) * 10), 1)
      }),
    plain: ({ x, bins }) => {
      for (let i = 0; i < N; i++) bins[Math.floor(x[i]! * 10)]!++
    },
  }),
  entry({
    name: 'histogram, read and set',
    what: 'the same with get and set',
    data: { x: random([N], 15), bins: zeros([10], 'i32') },
    loops: (session, { x, bins }) =>
      session.loop(session.range(N), { x, bins }, ([i], { x, bins }) => {
        const bin = Math.floor(x.get(i) * 10)
        bins.set(bin, bins.get(bin) + 1)
      }),
    plain: ({ x, bins }) => {
      for (let i = 0; i < N; i++) bins[Math.floor(x[i]! * 10)]!++
    },
  }),
  entry({
    name: 'histogram of each row',
    what: 'get and set, but no two rows share bins',
    data: { x: whole([20, 30], 8, 16), bins: zeros([20, 8], 'i32') },
    loops: (session, { x, bins }) =>
      session.loop(session.range(20, 30), { x, bins }, ([i, j], { x, bins }) => {
        const bin = x.get(i, j)
        bins.set(i, bin, bins.get(i, bin) + 1)
      }),
    plain: ({ x, bins }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 30; j++) bins[i * 8 + x[i * 30 + j]!]!++
    },
  }),
  entry({
    name: 'Monte-Carlo pi',
    what: 'each iteration draws a point of its own; the hits are counted',
    data: { x: zeros([N]) },
    loops: (session, { x }) => {
      const env = { x, rng: session.rng(7), hits: session.accumulator('count') }
      return session.loop(session.range(N), env, ([i], { x, rng, hits }) => {
        const across = rng.uniform()
        const up = rng.uniform()
        x.set(i, across)
        if (across * across + up * up <= 1) hits.add(1)
      })
    },
    plain: ({ x }) => {
      let hits = 0
      for (let i = 0; i < N; i++) {
        const across = loopUniform(7, 0, [i], 0)
        const up = loopUniform(7, 0, [i], 1)
        x[i] = across
        if (across * across + up * up <= 1) hits++
      }
      return { hits }
    },
  }),
  entry({
    name: 'row sums',
    what: 'a[i, 0] gets the sum of row i',
    data: { a: random([30, 20], 17), sums: zeros([30]) },
    loops: (session, { a, sums }) =>
      session.loop(session.range(30, 20), { a, sums }, ([i, j], { a, sums }) => {
        sums.set(i, sums.get(i) + a.get(i, j))
      }),
    plain: ({ a, sums }) => {
      for (let i = 0; i < 30; i++) for (let j = 0; j < 20; j++) sums[i]! += a[i * 20 + j]!
    },
  }),
]
