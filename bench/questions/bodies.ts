/**
 * Loop bodies of many kinds, each sized to take some milliseconds on one thread: what `estimate.bench.ts` holds the estimate
 * of a pass against, and what its constants were calibrated on.
 */
import type { DistArray, Loop, LoopOptions, Session } from 'distarray'
import { scattered } from './question.ts'

export interface Body {
  readonly name: string
  readonly loop: (session: Session, options: LoopOptions) => Loop | Promise<Loop>
}

const MILLION = 1_000_000

function integers(session: Session, length: number, limit: number): DistArray<number, readonly [number]> {
  return session.fromColumns({ at: Int32Array.from({ length }, (_, i) => scattered(i, limit)) }).map((row) => row.at)
}

export const bodies: readonly Body[] = [
  {
    name: 'scaled',
    loop: (session, options) => {
      const [x, y] = [session.random([MILLION], { seed: 1 }), session.zeros([MILLION])]
      return session.loop(session.range(MILLION), { x, y }, ([i], { x, y }) => y.set(i, 2 * x.get(i) + 1), options)
    },
  },
  {
    name: 'scaled, f32',
    loop: (session, options) => {
      const [x, y] = [session.random([MILLION], { seed: 1, dtype: 'f32' }), session.zeros([MILLION], { dtype: 'f32' })]
      return session.loop(session.range(MILLION), { x, y }, ([i], { x, y }) => y.set(i, 2 * x.get(i) + 1), options)
    },
  },
  {
    name: 'scaled, in the cache',
    loop: (session, options) => {
      const [x, y] = [session.random([100, 1000], { seed: 1 }), session.zeros([1000])]
      return session.loop(
        session.range(1000),
        { x, y },
        ([t], { x, y }) => {
          for (let i = 0; i < 1000; i++) y.set(i, y.get(i) + t * x.get(t % 100, i))
        },
        options,
      )
    },
  },
  {
    name: 'exponentials',
    loop: (session, options) => {
      const [x, y] = [session.random([300_000], { seed: 1 }), session.zeros([300_000])]
      return session.loop(session.range(300_000), { x, y }, ([i], { x, y }) => y.set(i, 1 / (1 + Math.exp(-x.get(i)))), options)
    },
  },
  {
    name: 'roots and quotients',
    loop: (session, options) => {
      const [x, y] = [session.random([MILLION], { seed: 1 }), session.zeros([MILLION])]
      return session.loop(session.range(MILLION), { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / (1 + Math.sqrt(x.get(i)))), options)
    },
  },
  {
    name: 'a branch',
    loop: (session, options) => {
      const [x, y] = [session.random([MILLION], { seed: 1 }), session.zeros([MILLION])]
      return session.loop(
        session.range(MILLION),
        { x, y },
        ([i], { x, y }) => {
          if (x.get(i) > 0.5) y.set(i, x.get(i) * 3)
          else y.set(i, x.get(i) - 1)
        },
        options,
      )
    },
  },
  {
    name: 'a gather',
    loop: (session, options) => {
      const [x, y, at] = [session.random([MILLION], { seed: 1 }), session.zeros([MILLION]), integers(session, MILLION, MILLION)]
      return session.loop(session.range(MILLION), { x, y, at }, ([i], { x, y, at }) => y.set(i, x.get(at.get(i))), options)
    },
  },
  {
    name: 'a histogram',
    loop: (session, options) => {
      const [bins, at] = [session.zeros([1000], { dtype: 'i32' }), integers(session, MILLION, 1000)]
      return session.loop(session.range(MILLION), { bins, at }, ([i], { bins, at }) => bins.add(at.get(i), 1), options)
    },
  },
  {
    name: 'an accumulator',
    loop: (session, options) => {
      const x = session.random([MILLION], { seed: 1 })
      const total = session.accumulator('sum')
      return session.loop(session.range(MILLION), { x, total }, ([i], { x, total }) => total.add(x.get(i) * x.get(i)), options)
    },
  },
  {
    name: 'random numbers',
    loop: (session, options) => {
      const y = session.zeros([300_000])
      const rng = session.rng(7)
      return session.loop(session.range(300_000), { y, rng }, ([i], { y, rng }) => y.set(i, rng.uniform()), options)
    },
  },
  {
    name: 'a running sum',
    loop: (session, options) => {
      const [x, y] = [session.random([MILLION], { seed: 1 }), session.zeros([MILLION])]
      return session.loop(
        session.range(MILLION),
        { x, y },
        ([i], { x, y }) => {
          if (i > 0) y.set(i, y.get(i - 1) + x.get(i))
        },
        options,
      )
    },
  },
  {
    name: 'dot products of rows',
    loop: (session, options) => {
      const [A, x, y] = [session.random([1000, 1000], { seed: 1 }), session.random([1000], { seed: 2 }), session.zeros([1000])]
      return session.loop(
        session.range(1000),
        { A, x, y },
        ([i], { A, x, y }) => {
          let sum = 0
          for (let k = 0; k < 1000; k++) sum += A.get(i, k) * x.get(k)
          y.set(i, sum)
        },
        options,
      )
    },
  },
  {
    name: 'matrix product by elements',
    loop: (session, options) => {
      const n = 160
      const [A, B, C] = [session.random([n, n], { seed: 1 }), session.random([n, n], { seed: 2 }), session.zeros([n, n])]
      return session.loop(
        session.range(n, n),
        { A, B, C },
        ([i, j], { A, B, C }) => {
          let sum = 0
          for (let k = 0; k < n; k++) sum += A.get(i, k) * B.get(k, j)
          C.set(i, j, sum)
        },
        options,
      )
    },
  },
  {
    name: 'matrix product, three axes',
    loop: (session, options) => {
      const n = 160
      const [A, B, C] = [session.random([n, n], { seed: 1 }), session.random([n, n], { seed: 2 }), session.zeros([n, n])]
      return session.loop(
        session.range(n, n, n),
        { A, B, C },
        ([i, k, j], { A, B, C }) => C.set(i, j, C.get(i, j) + A.get(i, k) * B.get(k, j)),
        options,
      )
    },
  },
  {
    name: 'a transpose',
    loop: (session, options) => {
      const [A, B] = [session.random([1000, 1000], { seed: 1 }), session.zeros([1000, 1000])]
      return session.loop(session.range(1000, 1000), { A, B }, ([i, j], { A, B }) => B.set(i, j, A.get(j, i)), options)
    },
  },
  {
    name: 'edit distance',
    loop: (session, options) => {
      const n = 1000
      const [d, s, t] = [session.zeros([n + 1, n + 1], { dtype: 'i32' }), integers(session, n, 4), integers(session, n, 4)]
      return session.loop(
        session.range(n, n),
        { d, s, t },
        ([i, j], { d, s, t }) => {
          const change = d.get(i, j) + (s.get(i) === t.get(j) ? 0 : 1)
          d.set(i + 1, j + 1, Math.min(d.get(i, j + 1) + 1, d.get(i + 1, j) + 1, change))
        },
        options,
      )
    },
  },
  {
    name: 'a knapsack',
    loop: (session, options) => {
      const [items, room] = [100, 10_000]
      const [best, weight, value] = [
        session.zeros([items + 1, room + 1]),
        integers(session, items, 200),
        session.random([items], { seed: 1 }),
      ]
      return session.loop(
        session.range(items, room + 1),
        { best, weight, value },
        ([k, c], { best, weight, value }) => {
          const w = weight.get(k)
          best.set(k + 1, c, c < w ? best.get(k, c) : Math.max(best.get(k, c), best.get(k, c - w) + value.get(k)))
        },
        options,
      )
    },
  },
  {
    name: 'heat in time',
    loop: (session, options) => {
      const heat = session.random([101, 10_002], { seed: 1 })
      return session.loop(
        session.range(100, 10_000),
        { heat },
        ([t, i], { heat }) => heat.set(t + 1, i + 1, 0.25 * heat.get(t, i) + 0.5 * heat.get(t, i + 1) + 0.25 * heat.get(t, i + 2)),
        options,
      )
    },
  },
  {
    name: 'shortest paths',
    loop: (session, options) => {
      const n = 100
      const d = session.random([n, n], { seed: 1 })
      return session.loop(
        session.range(n, n, n),
        { d },
        ([k, i, j], { d }) => d.set(i, j, Math.min(d.get(i, j), d.get(i, k) + d.get(k, j))),
        options,
      )
    },
  },
  {
    name: 'Viterbi',
    loop: (session, options) => {
      const states = 200
      const P = session.random([51, states], { seed: 1 })
      return session.loop(
        session.range(50, states),
        { P },
        ([t, s], { P }) => {
          let best = Infinity
          for (let r = 0; r < states; r++) best = Math.min(best, P.get(t, r) + Math.abs(r - s) / states)
          P.set(t + 1, s, P.get(t + 1, s) + best)
        },
        options,
      )
    },
  },
  {
    name: 'softmax with a work row',
    loop: (session, options) => {
      const [x, y, row] = [session.random([2000, 64], { seed: 1 }), session.zeros([2000, 64]), session.zeros([64])]
      return session.loop(
        session.range(2000),
        { x, y, row },
        ([i], { x, y, row }) => {
          let sum = 0
          for (let k = 0; k < 64; k++) {
            row.set(k, Math.exp(x.get(i, k)))
            sum += row.get(k)
          }
          for (let k = 0; k < 64; k++) y.set(i, k, row.get(k) / sum)
        },
        options,
      )
    },
  },
  {
    name: 'Mandelbrot',
    loop: (session, options) => {
      const y = session.zeros([300, 300], { dtype: 'i32' })
      return session.loop(
        session.range(300, 300),
        { y },
        ([i, j], { y }) => {
          let a = 0
          let b = 0
          let turn = 0
          while (turn < 50 && a * a + b * b < 4) {
            const next = a * a - b * b + i / 150 - 1.5
            b = 2 * a * b + j / 150 - 1
            a = next
            turn++
          }
          y.set(i, j, turn)
        },
        options,
      )
    },
  },
  {
    name: 'a triangular inner loop',
    loop: (session, options) => {
      const n = 1500
      const [x, y] = [session.random([n], { seed: 1 }), session.zeros([n])]
      return session.loop(
        session.range(n),
        { x, y },
        ([i], { x, y }) => {
          let sum = 0
          for (let k = 0; k < i; k++) sum += x.get(k)
          y.set(i, sum)
        },
        options,
      )
    },
  },
  {
    name: 'a sparse triangular solve',
    loop: (session, options) => {
      const n = 100_000
      const first = session.fromColumns({ at: Int32Array.from({ length: n + 1 }, (_, i) => 3 * i) }).map((row) => row.at)
      const column = session
        .fromColumns({ at: Int32Array.from({ length: 3 * n }, (_, e) => Math.max(0, Math.floor(e / 3) - 7 - (e % 3) * 5)) })
        .map((row) => row.at)
      const x = session.random([n], { seed: 1 })
      return session.loop(
        session.range(n),
        { first, column, x },
        ([i], { first, column, x }) => {
          let sum = x.get(i)
          for (let e = first.get(i); e < first.get(i + 1); e++) if (column.get(e) < i) sum -= 0.25 * x.get(column.get(e))
          x.set(i, sum)
        },
        options,
      )
    },
  },
  {
    name: 'elements of a table',
    loop: (session, options) => {
      const table = session.fromColumns({ a: Float64Array.from({ length: 500_000 }, (_, i) => i % 97) }).map((row) => row.a)
      const y = session.zeros([500_000])
      return session.loop(table, { y }, (value, [i], { y }) => y.set(i, value * 0.5), options)
    },
  },
  {
    name: 'a captured list of words, as JavaScript',
    loop: (session, options) => {
      const words = Array.from({ length: 16 }, (_, i) => 'x'.repeat(i))
      const y = session.zeros([300_000])
      return session.loop(session.range(300_000), { y }, ([i], { y }) => y.set(i, (words[i % 16] ?? '').length), options)
    },
  },
  {
    name: 'as it stands',
    loop: (session, options) => {
      const y = session.zeros([100_000])
      let last = 0
      return session.loop(
        session.range(100_000),
        { y },
        ([i], { y }) => {
          last = i
          y.set(i, last)
        },
        options,
      )
    },
  },
]
