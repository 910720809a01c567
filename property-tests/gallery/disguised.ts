/** Dependences in disguise: subscripts that go through arithmetic, locals, helpers, views and conditions. */
import { type Entry, entry, filled, permutation, random, whole, zeros } from './entry.ts'

const N = 96
const TABLE = permutation(N, 99).data

export const disguised: readonly Entry[] = [
  entry({
    name: 'i % 4',
    what: 'iterations four apart share an element',
    data: { x: random([N], 1), a: zeros([4]) },
    loops: (session, { x, a }) =>
      session.loop(session.range(N), { x, a }, ([i], { x, a }) => {
        a.set(i % 4, a.get(i % 4) * 0.5 + x.get(i))
      }),
    plain: ({ x, a }) => {
      for (let i = 0; i < N; i++) a[i % 4] = a[i % 4]! * 0.5 + x[i]!
    },
  }),
  entry({
    name: 'i >> 1 and Math.floor(i / 2)',
    what: 'two ways to say that neighbours share an element',
    data: { x: random([N], 2), a: zeros([N / 2]) },
    loops: (session, { x, a }) =>
      session.loop(session.range(N), { x, a }, ([i], { x, a }) => {
        a.set(i >> 1, a.get(Math.floor(i / 2)) * 0.5 + x.get(i))
      }),
    plain: ({ x, a }) => {
      for (let i = 0; i < N; i++) a[i >> 1] = a[i >> 1]! * 0.5 + x[i]!
    },
  }),
  entry({
    name: 'i * i modulo n',
    what: 'a product of indices',
    data: { a: random([N], 3) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set((i * i) % N, a.get(i) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[(i * i) % N] = a[i]! + 1
    },
  }),
  entry({
    name: 'a negative coefficient',
    what: 'a[n - 1 - 2 i] is written, a[i] read',
    data: { a: random([2 * N], 4) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(2 * N - 1 - 2 * i, a.get(i) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[2 * N - 1 - 2 * i] = a[i]! + 1
    },
  }),
  entry({
    name: 'a local that moves in an inner loop',
    what: 'p walks back from i: the elements before i are read',
    data: { a: random([N], 5) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        let p = i
        let sum = 0
        while (p > 0 && i - p < 3) {
          p--
          sum += a.get(p)
        }
        a.set(i, a.get(i) + sum * 0.25)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) {
        let sum = 0
        for (let p = i - 1; p >= 0 && i - p <= 3; p--) sum += a[p]!
        a[i]! += sum * 0.25
      }
    },
  }),
  entry({
    name: 'an inner loop that counts down',
    what: 'from i - 1 to i - 3',
    data: { a: random([N], 6) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i < 3) return
        let sum = 0
        for (let k = 3; k > 0; k--) sum += a.get(i - k)
        a.set(i, sum / 3)
      }),
    plain: ({ a }) => {
      for (let i = 3; i < N; i++) {
        let sum = 0
        for (let k = 3; k > 0; k--) sum += a[i - k]!
        a[i] = sum / 3
      }
    },
  }),
  entry({
    name: 'an inner loop with a stride',
    what: 'iterations i and i + 8 write every eighth element from i on',
    data: { a: zeros([N], 'i32') },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        for (let p = i; p < N; p += 8) a.set(p, a.get(p) * 3 + i)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) for (let p = i; p < N; p += 8) a[p] = a[p]! * 3 + i
    },
  }),
  entry({
    name: 'sieve',
    what: 'multiples are crossed out: the same value by whoever comes, but the test reads what others wrote',
    data: { crossed: zeros([N], 'u8') },
    loops: (session, { crossed }) =>
      session.loop(session.range(N), { crossed }, ([i], { crossed }) => {
        if (i < 2 || crossed.get(i) === 1) return
        for (let p = i * i; p < N; p += i) crossed.set(p, 1)
      }),
    plain: ({ crossed }) => {
      for (let i = 2; i < N; i++) if (crossed[i] === 0) for (let p = i * i; p < N; p += i) crossed[p] = 1
    },
  }),
  entry({
    name: 'a captured table as subscript',
    what: 'a permutation that is a constant of the program',
    data: { a: random([N], 7) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(TABLE[i]!, a.get(i) + 1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[TABLE[i]!] = a[i]! + 1
    },
  }),
  entry({
    name: 'a view chosen by a condition',
    what: 'even iterations write one array, odd ones the other; all read both',
    data: { a: random([N], 8), b: random([N], 9) },
    loops: (session, { a, b }) =>
      session.loop(session.range(N), { a, b }, ([i], { a, b }) => {
        const target = i % 2 === 0 ? a : b
        if (i > 0) target.set(i, a.get(i - 1) + b.get(i - 1))
      }),
    plain: ({ a, b }) => {
      for (let i = 1; i < N; i++) (i % 2 === 0 ? a : b)[i] = a[i - 1]! + b[i - 1]!
    },
  }),
  entry({
    name: 'a row chosen by a condition',
    what: 'row i, or the row above it',
    data: { a: random([24, 8], 10) },
    loops: (session, { a }) =>
      session.loop(session.range(24), { a }, ([i], { a }) => {
        const source = i % 3 === 0 ? a.row(i) : a.row(i - 1)
        for (let k = 0; k < 8; k++) a.set(i, k, source.get(k) * 0.5 + a.get(i, k))
      }),
    plain: ({ a }) => {
      for (let i = 0; i < 24; i++) {
        const source = i % 3 === 0 ? i : i - 1
        for (let k = 0; k < 8; k++) a[i * 8 + k] = a[source * 8 + k]! * 0.5 + a[i * 8 + k]!
      }
    },
  }),
  entry({
    name: 'a helper that writes',
    what: 'the write is in a function of its own, one element further on',
    data: { a: random([N + 1], 11) },
    loops: (session, { a }) => {
      const put = (view: { set(i: number, value: number): void }, at: number, value: number) => {
        view.set(at + 1, value)
      }
      return session.loop(session.range(N), { a }, ([i], { a }) => {
        put(a, i, a.get(i) * 0.5)
      })
    },
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[i + 1] = a[i]! * 0.5
    },
  }),
  entry({
    name: 'an inner index that shadows the outer',
    what: 'two variables called i',
    data: { a: random([20, 20], 12) },
    loops: (session, { a }) =>
      session.loop(session.range(20), { a }, ([i], { a }) => {
        const outer = i
        let sum = 0
        for (let i = 0; i < 20; i++) sum += a.get(outer, i)
        for (let i = 0; i < outer; i++) a.set(outer, i, sum)
      }),
    plain: ({ a }) => {
      for (let r = 0; r < 20; r++) {
        let sum = 0
        for (let i = 0; i < 20; i++) sum += a[r * 20 + i]!
        for (let i = 0; i < r; i++) a[r * 20 + i] = sum
      }
    },
  }),
  entry({
    name: 'triangular inner loop',
    what: 'row i reads all rows above it in its own column range',
    data: { a: random([20, 20], 13) },
    loops: (session, { a }) =>
      session.loop(session.range(20, 20), { a }, ([i, j], { a }) => {
        if (j > i) return
        let sum = 0
        for (let k = j; k < i; k++) sum += a.get(k, j)
        a.set(i, j, a.get(i, j) + sum * 0.1)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < 20; i++)
        for (let j = 0; j <= i; j++) {
          let sum = 0
          for (let k = j; k < i; k++) sum += a[k * 20 + j]!
          a[i * 20 + j]! += sum * 0.1
        }
    },
  }),
  entry({
    name: 'a guard that is never true',
    what: 'i > n does not happen: the write to one place goes away',
    data: { a: random([N], 14) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i > N) a.set(0, 1)
        else a.set(i, a.get(i) * 2)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[i]! *= 2
    },
  }),
  entry({
    name: 'a guard on another axis',
    what: 'only column 0 writes, all columns read what is to their left',
    data: { a: random([20, 12], 15), b: zeros([20, 12]) },
    loops: (session, { a, b }) =>
      session.loop(session.range(20, 12), { a, b }, ([i, j], { a, b }) => {
        if (j === 0) a.set(i, 0, a.get(i, 0) + 1)
        else b.set(i, j, a.get(i, 0) + a.get(i, j))
      }),
    plain: ({ a, b }) => {
      for (let i = 0; i < 20; i++) {
        a[i * 12]! += 1
        for (let j = 1; j < 12; j++) b[i * 12 + j] = a[i * 12]! + a[i * 12 + j]!
      }
    },
  }),
  entry({
    name: 'three axes, one of them back',
    what: 'a[t, i, j] needs a[t - 1, i + 1, j - 1]',
    data: { a: random([6, 10, 10], 16) },
    loops: (session, { a }) =>
      session.loop(session.range(6, 10, 10), { a }, ([t, i, j], { a }) => {
        if (t > 0 && i < 9 && j > 0) a.set(t, i, j, a.get(t - 1, i + 1, j - 1) * 0.5 + a.get(t, i, j))
      }),
    plain: ({ a }) => {
      for (let t = 1; t < 6; t++)
        for (let i = 0; i < 9; i++) for (let j = 1; j < 10; j++) a[t * 100 + i * 10 + j]! += a[(t - 1) * 100 + (i + 1) * 10 + j - 1]! * 0.5
    },
  }),
  entry({
    name: 'diagonal writes, triangular reads',
    what: 'a[i + j, i - j + n] is set: two forms that meet in no two iterations',
    data: { a: zeros([40, 40]), x: random([20, 20], 17) },
    loops: (session, { a, x }) =>
      session.loop(session.range(20, 20), { a, x }, ([i, j], { a, x }) => {
        a.set(i + j, i - j + 19, a.get(i + j, i - j + 19) + x.get(i, j))
      }),
    plain: ({ a, x }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) a[(i + j) * 40 + i - j + 19]! += x[i * 20 + j]!
    },
  }),
  entry({
    name: '2 i + 3 j',
    what: 'iterations (3, -2) apart share an element',
    data: { a: zeros([5 * 20]), x: random([20, 20], 18) },
    loops: (session, { a, x }) =>
      session.loop(session.range(20, 20), { a, x }, ([i, j], { a, x }) => {
        a.set(2 * i + 3 * j, a.get(2 * i + 3 * j) * 0.5 + x.get(i, j))
      }),
    plain: ({ a, x }) => {
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) a[2 * i + 3 * j] = a[2 * i + 3 * j]! * 0.5 + x[i * 20 + j]!
    },
  }),
  entry({
    name: 'a chain of subscripts',
    what: 'y[a[b[i]]]: which element, two arrays decide',
    data: { a: permutation(N, 19), b: whole([N], N, 20), y: filled([N], (i) => i) },
    loops: (session, { a, b, y }) =>
      session.loop(session.range(N), { a, b, y }, ([i], { a, b, y }) => {
        y.set(a.get(b.get(i)), y.get(i) + 1)
      }),
    plain: ({ a, b, y }) => {
      for (let i = 0; i < N; i++) y[a[b[i]!]!] = y[i]! + 1
    },
  }),
  entry({
    name: 'the index array changes under way',
    what: 'next[i] is read as a subscript and written by the loop: a promise about it counts for nothing',
    data: { next: permutation(N, 21), y: zeros([N], 'i32') },
    loops: (session, { next, y }) =>
      session.loop(session.range(N), { next, y }, ([i], { next, y }) => {
        y.set(next.get(i), i)
        if (i + 1 < N) next.set(i + 1, next.get(i))
      }),
    plain: ({ next, y }) => {
      for (let i = 0; i < N; i++) {
        y[next[i]!] = i
        if (i + 1 < N) next[i + 1] = next[i]!
      }
    },
  }),
]
