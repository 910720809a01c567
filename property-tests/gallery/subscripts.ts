/** Loops that stand or fall by what their subscripts are. */
import { type Entry, entry, filled, permutation, random, whole, zeros } from './entry.ts'

const N = 120

export const subscripts: readonly Entry[] = [
  entry({
    name: 'strided writes',
    what: 'a[2 i] = …',
    data: { a: zeros([2 * N]), x: random([N], 1) },
    loops: (session, { a, x }) =>
      session.loop(session.range(N), { a, x }, ([i], { a, x }) => {
        a.set(2 * i, x.get(i))
      }),
    plain: ({ a, x }) => {
      for (let i = 0; i < N; i++) a[2 * i] = x[i]!
    },
  }),
  entry({
    name: 'interleaved writes',
    what: 'a[2 i] and a[2 i + 1]: even and odd never meet',
    data: { a: zeros([2 * N]), x: random([N], 2), y: random([N], 3) },
    loops: (session, { a, x, y }) =>
      session.loop(session.range(N), { a, x, y }, ([i], { a, x, y }) => {
        a.set(2 * i, x.get(i))
        a.set(2 * i + 1, y.get(i))
      }),
    plain: ({ a, x, y }) => {
      for (let i = 0; i < N; i++) {
        a[2 * i] = x[i]!
        a[2 * i + 1] = y[i]!
      }
    },
  }),
  entry({
    name: 'strides that meet',
    what: 'a[2 i] is written, a[3 i] read: they meet at multiples of 6',
    data: { a: random([3 * N], 4) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(2 * i, a.get(3 * i) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[2 * i] = a[3 * i]! + 1
    },
  }),
  entry({
    name: 'upper half from the lower',
    what: 'a[i + n] = a[i]: known extents keep them apart',
    data: { a: random([2 * N], 5) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(i + N, a.get(i) * 2)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[i + N] = a[i]! * 2
    },
  }),
  entry({
    name: 'a[i] = a[n - i]',
    what: 'the second half reads what the first wrote',
    data: { a: random([N + 1], 6) },
    loops: (session, { a }) =>
      session.loop(session.range(N + 1), { a }, ([i], { a }) => {
        a.set(i, a.get(N - i))
      }),
    plain: ({ a }) => {
      for (let i = 0; i <= N; i++) a[i] = a[N - i]!
    },
  }),
  entry({
    name: 'reverse in place',
    what: 'the first half of the iterations exchanges both ends',
    data: { a: random([N], 7) },
    loops: (session, { a }) =>
      session.loop(session.range(N / 2), { a }, ([i], { a }) => {
        const left = a.get(i)
        a.set(i, a.get(N - 1 - i))
        a.set(N - 1 - i, left)
      }),
    plain: ({ a }) => {
      a.reverse()
    },
  }),
  entry({
    name: 'shift down',
    what: 'a[i] = a[i + 1]: each is overwritten after it was read',
    data: { a: random([N], 8) },
    loops: (session, { a }) =>
      session.loop(session.range(N - 1), { a }, ([i], { a }) => {
        a.set(i, a.get(i + 1))
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N - 1; i++) a[i] = a[i + 1]!
    },
  }),
  entry({
    name: 'four chains',
    what: 'a[i] = a[i - 4]: a distance of 4',
    data: { a: random([N], 9) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i >= 4) a.set(i, a.get(i - 4) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 4; i < N; i++) a[i] = a[i - 4]! + 1
    },
  }),
  entry({
    name: 'four chains, as two axes',
    what: 'the same over [turn, chain], with i = 4 turn + chain',
    data: { a: random([N], 10) },
    loops: (session, { a }) =>
      session.loop(session.range(N / 4 - 1, 4), { a }, ([turn, chain], { a }) => {
        a.set(4 * turn + chain + 4, a.get(4 * turn + chain) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 4; i < N; i++) a[i] = a[i - 4]! + 1
    },
  }),
  entry({
    name: 'flattened matrix',
    what: 'a[i * 12 + j]: rows of one long array do not overlap',
    data: { a: zeros([10 * 12]), x: random([10, 12], 11) },
    loops: (session, { a, x }) =>
      session.loop(session.range(10, 12), { a, x }, ([i, j], { a, x }) => {
        a.set(i * 12 + j, x.get(i, j))
      }),
    plain: ({ a, x }) => {
      for (let i = 0; i < 10; i++) for (let j = 0; j < 12; j++) a[i * 12 + j] = x[i * 12 + j]!
    },
  }),
  entry({
    name: 'A[i + j] is set',
    what: 'iterations on an anti-diagonal meet, others do not: the last one counts',
    data: { a: zeros([40]), x: random([20, 20], 12) },
    loops: (session, { a, x }) =>
      session.loop(session.range(20, 20), { a, x }, ([i, j], { a, x }) => {
        a.set(i + j, a.get(i + j) * 0.5 + x.get(i, j))
      }),
    plain: ({ a, x }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) a[i + j] = a[i + j]! * 0.5 + x[i * 20 + j]!
    },
  }),
  entry({
    name: 'A[i + j] is added to',
    what: 'polynomials are multiplied so',
    data: { a: zeros([40], 'i32'), p: whole([20], 9, 13), q: whole([20], 9, 14) },
    loops: (session, { a, p, q }) =>
      session.loop(session.range(20, 20), { a, p, q }, ([i, j], { a, p, q }) => {
        a.add(i + j, p.get(i) * q.get(j))
      }),
    plain: ({ a, p, q }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) a[i + j]! += p[i]! * q[j]!
    },
  }),
  entry({
    name: 'along the diagonals',
    what: 'a[i, j] needs a[i - 1, j - 1]',
    data: { a: random([24, 20], 15) },
    loops: (session, { a }) =>
      session.loop(session.range(24, 20), { a }, ([i, j], { a }) => {
        if (i > 0 && j > 0) a.set(i, j, a.get(i, j) + a.get(i - 1, j - 1))
      }),
    plain: ({ a }) => {
      for (let i = 1; i < 24; i++) for (let j = 1; j < 20; j++) a[i * 20 + j]! += a[(i - 1) * 20 + j - 1]!
    },
  }),
  entry({
    name: 'along the anti-diagonals',
    what: 'a[i, j] needs a[i - 1, j + 1]',
    data: { a: random([24, 20], 16) },
    loops: (session, { a }) =>
      session.loop(session.range(24, 20), { a }, ([i, j], { a }) => {
        if (i > 0 && j < 19) a.set(i, j, a.get(i, j) + a.get(i - 1, j + 1))
      }),
    plain: ({ a }) => {
      for (let i = 1; i < 24; i++) for (let j = 0; j < 19; j++) a[i * 20 + j]! += a[(i - 1) * 20 + j + 1]!
    },
  }),
  entry({
    name: 'gather',
    what: 'y[i] = x[from[i]]: what is only read may be read anywhere',
    data: { from: whole([N], N, 17), x: random([N], 18), y: zeros([N]) },
    loops: (session, { from, x, y }) =>
      session.loop(session.range(N), { from, x, y }, ([i], { from, x, y }) => {
        y.set(i, x.get(from.get(i)))
      }),
    plain: ({ from, x, y }) => {
      for (let i = 0; i < N; i++) y[i] = x[from[i]!]!
    },
  }),
  entry({
    name: 'scatter',
    what: 'y[to[i]] = x[i]: only the data can tell',
    data: { to: permutation(N, 19), x: random([N], 20), y: zeros([N]) },
    loops: (session, { to, x, y }) =>
      session.loop(session.range(N), { to, x, y }, ([i], { to, x, y }) => {
        y.set(to.get(i), x.get(i))
      }),
    plain: ({ to, x, y }) => {
      for (let i = 0; i < N; i++) y[to[i]!] = x[i]!
    },
  }),
  entry({
    name: 'scatter by a permutation',
    what: 'the same, with the promise that no two iterations write one place',
    data: { to: permutation(N, 21), x: random([N], 22), y: zeros([N]) },
    loops: (session, { to, x, y }) =>
      session.loop(
        session.range(N),
        { to, x, y },
        ([i], { to, x, y }) => {
          y.set(to.get(i), x.get(i))
        },
        { assume: { distinct: ['to'] } },
      ),
    plain: ({ to, x, y }) => {
      for (let i = 0; i < N; i++) y[to[i]!] = x[i]!
    },
  }),
  entry({
    name: 'indirect update of each row',
    what: 'a[i, c[j]] is read and set: the first axis keeps rows apart',
    data: { c: whole([12], 9, 23), a: random([20, 9], 24) },
    loops: (session, { c, a }) =>
      session.loop(session.range(20, 12), { c, a }, ([i, j], { c, a }) => {
        a.set(i, c.get(j), a.get(i, c.get(j)) * 1.5 + 1)
      }),
    plain: ({ c, a }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 12; j++) a[i * 9 + c[j]!] = a[i * 9 + c[j]!]! * 1.5 + 1
    },
  }),
  entry({
    name: 'downsampling',
    what: 'b[i] = a[2 i] + a[2 i + 1]',
    data: { a: random([2 * N], 25), b: zeros([N]) },
    loops: (session, { a, b }) =>
      session.loop(session.range(N), { a, b }, ([i], { a, b }) => {
        b.set(i, a.get(2 * i) + a.get(2 * i + 1))
      }),
    plain: ({ a, b }) => {
      for (let i = 0; i < N; i++) b[i] = a[2 * i]! + a[2 * i + 1]!
    },
  }),
  entry({
    name: 'odd–even transposition',
    what: 'neighbours are put in order, in two kinds of steps: a pair an iteration',
    data: { a: random([32], 26) },
    loops: (session, { a }) => ({
      loops: {
        even: session.loop(session.range(16), { a }, ([p], { a }) => {
          const low = a.get(2 * p)
          const high = a.get(2 * p + 1)
          a.set(2 * p, Math.min(low, high))
          a.set(2 * p + 1, Math.max(low, high))
        }),
        odd: session.loop(session.range(15), { a }, ([p], { a }) => {
          const low = a.get(2 * p + 1)
          const high = a.get(2 * p + 2)
          a.set(2 * p + 1, Math.min(low, high))
          a.set(2 * p + 2, Math.max(low, high))
        }),
      },
      rounds: 16,
    }),
    plain: ({ a }) => {
      a.sort()
    },
  }),
  entry({
    name: 'odd–even transposition, over all places',
    what: 'the step is a test on i % 2',
    data: { a: random([N], 27) },
    loops: (session, { a }) => {
      let parity = 0
      const step = session.loop(session.range(N - 1), { a }, ([i], { a }) => {
        if (i % 2 !== parity) return
        const low = a.get(i)
        const high = a.get(i + 1)
        if (low > high) {
          a.set(i, high)
          a.set(i + 1, low)
        }
      })
      return {
        loops: { step },
        rounds: 6,
        before: (round) => {
          parity = round % 2
        },
      }
    },
    plain: ({ a }) => {
      for (let round = 0; round < 6; round++)
        for (let i = round % 2; i < N - 1; i += 2) {
          const [low, high] = [a[i]!, a[i + 1]!]
          if (low > high) {
            a[i] = high
            a[i + 1] = low
          }
        }
    },
  }),
  entry({
    name: 'bitonic step',
    what: 'i is compared with i ^ distance',
    data: { a: random([64], 28) },
    loops: (session, { a }) => {
      let distance = 1
      const step = session.loop(session.range(64), { a }, ([i], { a }) => {
        const other = i ^ distance
        if (other <= i) return
        const here = a.get(i)
        const there = a.get(other)
        if (here > there) {
          a.set(i, there)
          a.set(other, here)
        }
      })
      return {
        loops: { step },
        rounds: 6,
        before: (round) => {
          distance = 32 >> round
        },
      }
    },
    plain: ({ a }) => {
      for (let distance = 32; distance > 0; distance >>= 1)
        for (let i = 0; i < 64; i++) {
          const other = i ^ distance
          if (other > i && a[i]! > a[other]!) {
            const here = a[i]!
            a[i] = a[other]!
            a[other] = here
          }
        }
    },
  }),
  entry({
    name: 'row copies',
    what: 'through row views: row i of one matrix into row n - 1 - i of another',
    data: { a: random([20, 8], 29), b: zeros([20, 8]) },
    loops: (session, { a, b }) =>
      session.loop(session.range(20), { a, b }, ([i], { a, b }) => {
        const from = a.row(i)
        const to = b.row(19 - i)
        for (let k = 0; k < 8; k++) to.set(k, from.get(k))
      }),
    plain: ({ a, b }) => {
      for (let i = 0; i < 20; i++) for (let k = 0; k < 8; k++) b[(19 - i) * 8 + k] = a[i * 8 + k]!
    },
  }),
  entry({
    name: 'swap of rows',
    what: 'row 2 p with row 2 p + 1 of one matrix, through row views',
    data: { a: random([20, 8], 30) },
    loops: (session, { a }) =>
      session.loop(session.range(10), { a }, ([p], { a }) => {
        const up = a.row(2 * p)
        const down = a.row(2 * p + 1)
        for (let k = 0; k < 8; k++) {
          const value = up.get(k)
          up.set(k, down.get(k))
          down.set(k, value)
        }
      }),
    plain: ({ a }) => {
      for (let p = 0; p < 10; p++)
        for (let k = 0; k < 8; k++) {
          const value = a[2 * p * 8 + k]!
          a[2 * p * 8 + k] = a[(2 * p + 1) * 8 + k]!
          a[(2 * p + 1) * 8 + k] = value
        }
    },
  }),
  entry({
    name: 'triangle packed into a line',
    what: 'p[i (i + 1) / 2 + j]: a product of indices',
    data: { a: random([16, 16], 31), p: filled([136], () => 0) },
    loops: (session, { a, p }) =>
      session.loop(session.range(16, 16), { a, p }, ([i, j], { a, p }) => {
        if (j <= i) p.set((i * (i + 1)) / 2 + j, a.get(i, j))
      }),
    plain: ({ a, p }) => {
      for (let i = 0; i < 16; i++) for (let j = 0; j <= i; j++) p[(i * (i + 1)) / 2 + j] = a[i * 16 + j]!
    },
  }),
]
