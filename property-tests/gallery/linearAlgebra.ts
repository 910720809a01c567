/** Dense linear algebra. */
import { type Entry, entry, filled, random, zeros } from './entry.ts'

const N = 16

/** Large on the diagonal, so that eliminations and solves stay well-behaved. */
const dominant = (seed: number) => {
  const made = random([N, N], seed)
  for (let i = 0; i < N; i++) made.data[i * N + i] = N + i
  return made
}
const symmetric = (seed: number) => {
  const made = dominant(seed)
  for (let i = 0; i < N; i++) for (let j = 0; j < i; j++) made.data[i * N + j] = made.data[j * N + i]!
  return made
}

export const linearAlgebra: readonly Entry[] = [
  entry({
    name: 'matrix multiply',
    what: 'each element of C is a dot product',
    data: { a: random([N, 20], 1), b: random([20, 30], 2), c: zeros([N, 30]) },
    loops: (session, { a, b, c }) =>
      session.loop(session.range(N, 30), { a, b, c }, ([i, j], { a, b, c }) => {
        let sum = 0
        for (let k = 0; k < 20; k++) sum += a.get(i, k) * b.get(k, j)
        c.set(i, j, sum)
      }),
    plain: ({ a, b, c }) => {
      for (let i = 0; i < N; i++)
        for (let j = 0; j < 30; j++) {
          let sum = 0
          for (let k = 0; k < 20; k++) sum += a[i * 20 + k]! * b[k * 30 + j]!
          c[i * 30 + j] = sum
        }
    },
  }),
  entry({
    name: 'matrix multiply, three loops',
    what: 'C[i, j] += A[i, k] B[k, j] over i, j and k',
    data: { a: random([12, 10], 3), b: random([10, 14], 4), c: zeros([12, 14]) },
    loops: (session, { a, b, c }) =>
      session.loop(session.range(12, 14, 10), { a, b, c }, ([i, j, k], { a, b, c }) => {
        c.set(i, j, c.get(i, j) + a.get(i, k) * b.get(k, j))
      }),
    plain: ({ a, b, c }) => {
      for (let i = 0; i < 12; i++)
        for (let j = 0; j < 14; j++) for (let k = 0; k < 10; k++) c[i * 14 + j]! += a[i * 10 + k]! * b[k * 14 + j]!
    },
  }),
  entry({
    name: 'matrix–vector product',
    what: 'y = A x, a row an iteration',
    data: { a: random([N, N], 5), x: random([N], 6), y: zeros([N]) },
    loops: (session, { a, x, y }) =>
      session.loop(session.range(N), { a, x, y }, ([i], { a, x, y }) => {
        const row = a.row(i)
        let sum = 0
        for (let j = 0; j < N; j++) sum += row.get(j) * x.get(j)
        y.set(i, sum)
      }),
    plain: ({ a, x, y }) => {
      for (let i = 0; i < N; i++) {
        let sum = 0
        for (let j = 0; j < N; j++) sum += a[i * N + j]! * x[j]!
        y[i] = sum
      }
    },
  }),
  entry({
    name: 'transposed matrix–vector product',
    what: 'y = Aᵀ x, adding row after row into y',
    data: { a: random([N, N], 7), x: random([N], 8), y: zeros([N]) },
    loops: (session, { a, x, y }) =>
      session.loop(session.range(N, N), { a, x, y }, ([i, j], { a, x, y }) => {
        y.set(j, y.get(j) + a.get(i, j) * x.get(i))
      }),
    plain: ({ a, x, y }) => {
      for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) y[j]! += a[i * N + j]! * x[i]!
    },
  }),
  entry({
    name: 'transpose',
    what: 'into another matrix',
    data: { a: random([N, 30], 9), b: zeros([30, N]) },
    loops: (session, { a, b }) =>
      session.loop(session.range(N, 30), { a, b }, ([i, j], { a, b }) => {
        b.set(j, i, a.get(i, j))
      }),
    plain: ({ a, b }) => {
      for (let i = 0; i < N; i++) for (let j = 0; j < 30; j++) b[j * N + i] = a[i * 30 + j]!
    },
  }),
  entry({
    name: 'transpose in place',
    what: 'the upper triangle is exchanged with the lower: each pair is touched by one iteration',
    data: { a: random([N, N], 10) },
    loops: (session, { a }) =>
      session.loop(session.range(N, N), { a }, ([i, j], { a }) => {
        if (i >= j) return
        const upper = a.get(i, j)
        a.set(i, j, a.get(j, i))
        a.set(j, i, upper)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++)
        for (let j = i + 1; j < N; j++) {
          const upper = a[i * N + j]!
          a[i * N + j] = a[j * N + i]!
          a[j * N + i] = upper
        }
    },
  }),
  entry({
    name: 'outer product',
    what: 'A += u vᵀ',
    data: { a: random([N, N], 11), u: random([N], 12), v: random([N], 13) },
    loops: (session, { a, u, v }) =>
      session.loop(session.range(N, N), { a, u, v }, ([i, j], { a, u, v }) => {
        a.set(i, j, a.get(i, j) + u.get(i) * v.get(j))
      }),
    plain: ({ a, u, v }) => {
      for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) a[i * N + j]! += u[i]! * v[j]!
    },
  }),
  entry({
    name: 'Floyd–Warshall',
    what: 'one loop over k, i, j: every path of length k uses those found before',
    data: { d: random([14, 14], 14) },
    loops: (session, { d }) =>
      session.loop(session.range(14, 14, 14), { d }, ([k, i, j], { d }) => {
        d.set(i, j, Math.min(d.get(i, j), d.get(i, k) + d.get(k, j)))
      }),
    plain: ({ d }) => {
      for (let k = 0; k < 14; k++)
        for (let i = 0; i < 14; i++) for (let j = 0; j < 14; j++) d[i * 14 + j] = Math.min(d[i * 14 + j]!, d[i * 14 + k]! + d[k * 14 + j]!)
    },
  }),
  entry({
    name: 'Floyd–Warshall, step k',
    what: 'row and column k do not change in step k, and the body says so',
    data: { d: random([N, N], 15) },
    loops: (session, { d }) => {
      let k = 0
      const step = session.loop(session.range(N, N), { d }, ([i, j], { d }) => {
        if (i !== k && j !== k) d.set(i, j, Math.min(d.get(i, j), d.get(i, k) + d.get(k, j)))
      })
      return {
        loops: { step },
        rounds: N,
        before: (round) => {
          k = round
        },
      }
    },
    plain: ({ d }) => {
      for (let k = 0; k < N; k++)
        for (let i = 0; i < N; i++)
          for (let j = 0; j < N; j++) if (i !== k && j !== k) d[i * N + j] = Math.min(d[i * N + j]!, d[i * N + k]! + d[k * N + j]!)
    },
  }),
  entry({
    name: 'LU',
    what: 'without pivots, one loop over k, i, j',
    data: { a: dominant(16) },
    loops: (session, { a }) =>
      session.loop(session.range(N, N, N), { a }, ([k, i, j], { a }) => {
        if (i > k && j > k) a.set(i, j, a.get(i, j) - (a.get(i, k) * a.get(k, j)) / a.get(k, k))
      }),
    plain: ({ a }) => {
      for (let k = 0; k < N; k++)
        for (let i = k + 1; i < N; i++) for (let j = k + 1; j < N; j++) a[i * N + j]! -= (a[i * N + k]! * a[k * N + j]!) / a[k * N + k]!
    },
  }),
  entry({
    name: 'LU, step k',
    what: 'the rows below row k are eliminated, each on its own',
    data: { a: dominant(17) },
    loops: (session, { a }) => {
      let k = 0
      const eliminate = session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i <= k) return
        const factor = a.get(i, k) / a.get(k, k)
        a.set(i, k, factor)
        for (let j = k + 1; j < N; j++) a.set(i, j, a.get(i, j) - factor * a.get(k, j))
      })
      return {
        loops: { eliminate },
        rounds: N,
        before: (round) => {
          k = round
        },
      }
    },
    plain: ({ a }) => {
      for (let k = 0; k < N; k++)
        for (let i = k + 1; i < N; i++) {
          const factor = a[i * N + k]! / a[k * N + k]!
          a[i * N + k] = factor
          for (let j = k + 1; j < N; j++) a[i * N + j]! -= factor * a[k * N + j]!
        }
    },
  }),
  entry({
    name: 'Cholesky, step k',
    what: 'column k is divided by the root of its head, then taken from the columns to its right',
    data: { a: symmetric(18) },
    loops: (session, { a }) => {
      let k = 0
      const head = session.loop(session.range(1), { a }, (_key, { a }) => {
        a.set(k, k, Math.sqrt(a.get(k, k)))
      })
      const column = session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i > k) a.set(i, k, a.get(i, k) / a.get(k, k))
      })
      const rest = session.loop(session.range(N, N), { a }, ([i, j], { a }) => {
        if (j > k && i >= j) a.set(i, j, a.get(i, j) - a.get(i, k) * a.get(j, k))
      })
      return {
        loops: { head, column, rest },
        rounds: N,
        before: (round) => {
          k = round
        },
      }
    },
    plain: ({ a }) => {
      for (let k = 0; k < N; k++) {
        a[k * N + k] = Math.sqrt(a[k * N + k]!)
        for (let i = k + 1; i < N; i++) a[i * N + k]! /= a[k * N + k]!
        for (let j = k + 1; j < N; j++) for (let i = j; i < N; i++) a[i * N + j]! -= a[i * N + k]! * a[j * N + k]!
      }
    },
  }),
  entry({
    name: 'triangular solve',
    what: 'forward substitution: x[i] needs all x before it',
    data: { l: dominant(19), b: random([N], 20), x: zeros([N]) },
    loops: (session, { l, b, x }) =>
      session.loop(session.range(N), { l, b, x }, ([i], { l, b, x }) => {
        let sum = b.get(i)
        for (let j = 0; j < i; j++) sum -= l.get(i, j) * x.get(j)
        x.set(i, sum / l.get(i, i))
      }),
    plain: ({ l, b, x }) => {
      for (let i = 0; i < N; i++) {
        let sum = b[i]!
        for (let j = 0; j < i; j++) sum -= l[i * N + j]! * x[j]!
        x[i] = sum / l[i * N + i]!
      }
    },
  }),
  entry({
    name: 'triangular solve by columns, step j',
    what: 'what x[j] contributes is taken from every later right-hand side',
    data: { l: dominant(21), x: random([N], 22) },
    loops: (session, { l, x }) => {
      let j = 0
      const divide = session.loop(session.range(1), { l, x }, (_key, { l, x }) => {
        x.set(j, x.get(j) / l.get(j, j))
      })
      const subtract = session.loop(session.range(N), { l, x }, ([i], { l, x }) => {
        if (i > j) x.set(i, x.get(i) - l.get(i, j) * x.get(j))
      })
      return {
        loops: { divide, subtract },
        rounds: N,
        before: (round) => {
          j = round
        },
      }
    },
    plain: ({ l, x }) => {
      for (let j = 0; j < N; j++) {
        x[j]! /= l[j * N + j]!
        for (let i = j + 1; i < N; i++) x[i]! -= l[i * N + j]! * x[j]!
      }
    },
  }),
  entry({
    name: 'triangular solve, many right-hand sides',
    what: 'over i and the right-hand sides r: each is a chain of its own',
    data: { l: dominant(23), x: random([N, 16], 24) },
    loops: (session, { l, x }) =>
      session.loop(session.range(N, 16), { l, x }, ([i, r], { l, x }) => {
        let sum = x.get(i, r)
        for (let j = 0; j < i; j++) sum -= l.get(i, j) * x.get(j, r)
        x.set(i, r, sum / l.get(i, i))
      }),
    plain: ({ l, x }) => {
      for (let i = 0; i < N; i++)
        for (let r = 0; r < 16; r++) {
          let sum = x[i * 16 + r]!
          for (let j = 0; j < i; j++) sum -= l[i * N + j]! * x[j * 16 + r]!
          x[i * 16 + r] = sum / l[i * N + i]!
        }
    },
  }),
  entry({
    name: 'identity',
    what: 'ones on the diagonal, written by a loop over i alone',
    data: { a: filled([N, N], () => 7) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        const row = a.row(i)
        for (let j = 0; j < N; j++) row.set(j, 0)
        a.set(i, i, 1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) a[i * N + j] = i === j ? 1 : 0
    },
  }),
]
