/**
 * Loops of the kinds that users of parallel loops elsewhere report as silently wrong or as refused without a reason: `prange`
 * that loses updates, `@threads` with shared scratch, `parfor` with a variable that "cannot be classified".
 */
import { type Entry, entry, filled, random, whole, zeros } from './entry.ts'

const N = 100

/** A variable of the module: bodies below count and carry in it. */
let carried = 0

export const reported: readonly Entry[] = [
  entry({
    name: 'w[idx[i]] += 1',
    what: 'two iterations may hit one element: updates get lost where this runs in parallel as it is',
    data: { idx: whole([N], 20, 1), w: zeros([20], 'i32') },
    loops: (session, { idx, w }) =>
      session.loop(session.range(N), { idx, w }, ([i], { idx, w }) => {
        w.set(idx.get(i), w.get(idx.get(i)) + 1)
      }),
    plain: ({ idx, w }) => {
      for (let i = 0; i < N; i++) w[idx[i]!]!++
    },
  }),
  entry({
    name: 'w[idx[i]] += 1 as add',
    what: 'the same, said as an addition',
    data: { idx: whole([N], 20, 2), w: zeros([20], 'i32') },
    loops: (session, { idx, w }) =>
      session.loop(session.range(N), { idx, w }, ([i], { idx, w }) => {
        w.add(idx.get(i), 1)
      }),
    plain: ({ idx, w }) => {
      for (let i = 0; i < N; i++) w[idx[i]!]!++
    },
  }),
  entry({
    name: 'a reduction that is also read',
    what: 'the sum so far decides what is kept: no reduction any more',
    data: { x: random([N], 3), sum: zeros([1]), kept: zeros([N]) },
    loops: (session, { x, sum, kept }) =>
      session.loop(session.range(N), { x, sum, kept }, ([i], { x, sum, kept }) => {
        sum.add(0, x.get(i))
        kept.set(i, sum.get(0))
      }),
    plain: ({ x, sum, kept }) => {
      for (let i = 0; i < N; i++) {
        sum[0]! += x[i]!
        kept[i] = sum[0]!
      }
    },
  }),
  entry({
    name: 'a scalar carried from one iteration to the next',
    what: 'a captured variable is assigned and read',
    data: { x: random([N], 4), y: zeros([N]) },
    loops: (session, { x, y }) => ({
      loops: {
        '': session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
          y.set(i, x.get(i) - carried)
          carried = x.get(i)
        }),
      },
      before: () => {
        carried = 0
      },
    }),
    plain: ({ x, y }) => {
      let previous = 0
      for (let i = 0; i < N; i++) {
        y[i] = x[i]! - previous
        previous = x[i]!
      }
    },
  }),
  entry({
    name: 'a carried scalar, rewritten',
    what: 'the temporary is the element before: nothing is carried',
    data: { x: random([N], 5), y: zeros([N]) },
    loops: (session, { x, y }) =>
      session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
        const previous = i > 0 ? x.get(i - 1) : 0
        y.set(i, x.get(i) - previous)
      }),
    plain: ({ x, y }) => {
      for (let i = 0; i < N; i++) y[i] = x[i]! - (i > 0 ? x[i - 1]! : 0)
    },
  }),
  entry({
    name: 'two names for one array',
    what: 'what looks like two arrays is one: b is a',
    data: { a: random([N], 6) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a, b: a }, ([i], { a, b }) => {
        if (i > 0) a.set(i, b.get(i - 1) * 0.5 + 1)
      }),
    plain: ({ a }) => {
      for (let i = 1; i < N; i++) a[i] = a[i - 1]! * 0.5 + 1
    },
  }),
  entry({
    name: 'writes through a row view',
    what: 'the row above is changed through a view while others read it',
    data: { a: random([20, 8], 7) },
    loops: (session, { a }) =>
      session.loop(session.range(20), { a }, ([i], { a }) => {
        const row = a.row(i)
        const before = a.row(i === 0 ? 0 : i - 1)
        for (let k = 0; k < 8; k++) row.set(k, row.get(k) + before.get(k) * 0.5)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < 20; i++) for (let k = 0; k < 8; k++) a[i * 8 + k]! += a[(i === 0 ? 0 : i - 1) * 8 + k]! * 0.5
    },
  }),
  entry({
    name: 'two slices with other offsets',
    what: '"cannot be classified": A(i) and A(i + 1) are both written',
    data: { a: zeros([N + 1]) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(i, i)
        a.set(i + 1, -i)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) {
        a[i] = i
        a[i + 1] = -i
      }
    },
  }),
  entry({
    name: 'a slice with a row and a column',
    what: '"cannot be classified": A(i, :) is written, A(:, i) read',
    data: { a: random([20, 20], 8) },
    loops: (session, { a }) =>
      session.loop(session.range(20), { a }, ([i], { a }) => {
        let sum = 0
        for (let k = 0; k < 20; k++) sum += a.get(k, i)
        for (let k = 0; k < 20; k++) a.set(i, k, sum / 20 + k)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < 20; i++) {
        let sum = 0
        for (let k = 0; k < 20; k++) sum += a[k * 20 + i]!
        for (let k = 0; k < 20; k++) a[i * 20 + k] = sum / 20 + k
      }
    },
  }),
  entry({
    name: 'a column of the iteration, an index of another axis',
    what: '"cannot be classified": A(i, j) where j is an inner variable of another array',
    data: { which: whole([20], 8, 9), a: zeros([20, 8]) },
    loops: (session, { which, a }) =>
      session.loop(session.range(20), { which, a }, ([i], { which, a }) => {
        a.set(i, which.get(i), 1)
      }),
    plain: ({ which, a }) => {
      for (let i = 0; i < 20; i++) a[i * 8 + which[i]!] = 1
    },
  }),
  entry({
    name: 'shared scratch',
    what: 'every iteration fills and reads one temporary array: threads would see one another’s',
    data: { x: random([30, 8], 10), scratch: zeros([8]), y: zeros([30]) },
    loops: (session, { x, scratch, y }) =>
      session.loop(session.range(30), { x, scratch, y }, ([i], { x, scratch, y }) => {
        for (let k = 0; k < 8; k++) scratch.set(k, x.get(i, k) * x.get(i, k))
        let sum = 0
        for (let k = 0; k < 8; k++) sum += scratch.get(k)
        y.set(i, sum)
      }),
    plain: ({ x, scratch, y }) => {
      for (let i = 0; i < 30; i++) {
        for (let k = 0; k < 8; k++) scratch[k] = x[i * 8 + k]! ** 2
        let sum = 0
        for (let k = 0; k < 8; k++) sum += scratch[k]!
        y[i] = sum
      }
    },
  }),
  entry({
    name: 'scratch of its own for each iteration',
    what: 'a row of the temporary array per iteration',
    data: { x: random([30, 8], 11), scratch: zeros([30, 8]), y: zeros([30]) },
    loops: (session, { x, scratch, y }) =>
      session.loop(session.range(30), { x, scratch, y }, ([i], { x, scratch, y }) => {
        const own = scratch.row(i)
        for (let k = 0; k < 8; k++) own.set(k, x.get(i, k) * x.get(i, k))
        let sum = 0
        for (let k = 0; k < 8; k++) sum += own.get(k)
        y.set(i, sum)
      }),
    plain: ({ x, scratch, y }) => {
      for (let i = 0; i < 30; i++) {
        let sum = 0
        for (let k = 0; k < 8; k++) {
          scratch[i * 8 + k] = x[i * 8 + k]! ** 2
          sum += scratch[i * 8 + k]!
        }
        y[i] = sum
      }
    },
  }),
  entry({
    name: 'compaction with a shared counter',
    what: 'out[n++] = x[i] for those that pass: where it goes depends on all before',
    data: { x: random([N], 12), n: zeros([1], 'i32'), out: zeros([N]) },
    loops: (session, { x, n, out }) =>
      session.loop(session.range(N), { x, n, out }, ([i], { x, n, out }) => {
        if (x.get(i) < 0.5) return
        out.set(n.get(0), x.get(i))
        n.set(0, n.get(0) + 1)
      }),
    plain: ({ x, n, out }) => {
      for (let i = 0; i < N; i++) if (x[i]! >= 0.5) out[n[0]!++] = x[i]!
    },
  }),
  entry({
    name: 'the last one wins',
    what: 'a plain assignment to one place: the greatest index that passes',
    data: { x: random([N], 13), last: zeros([1], 'i32') },
    loops: (session, { x, last }) =>
      session.loop(session.range(N), { x, last }, ([i], { x, last }) => {
        if (x.get(i) > 0.9) last.set(0, i)
      }),
    plain: ({ x, last }) => {
      for (let i = 0; i < N; i++) if (x[i]! > 0.9) last[0] = i
    },
  }),
  entry({
    name: 'a branch that reads its neighbour',
    what: 'only even places are written, only odd ones read',
    data: { a: random([2 * N], 14) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        a.set(2 * i, a.get(2 * i + 1) * 2)
      }),
    plain: ({ a }) => {
      for (let i = 0; i < N; i++) a[2 * i] = a[2 * i + 1]! * 2
    },
  }),
  entry({
    name: 'an array argument that is also the result',
    what: 'a helper writes into the array that another helper reads',
    data: { a: random([N], 15) },
    loops: (session, { a }) => {
      const previous = (view: { get(i: number): number }, i: number) => view.get(i - 1)
      return session.loop(session.range(N), { a }, ([i], { a }) => {
        if (i > 0) a.set(i, previous(a, i) + 1)
      })
    },
    plain: ({ a }) => {
      for (let i = 1; i < N; i++) a[i] = a[i - 1]! + 1
    },
  }),
  entry({
    name: 'a step other than one',
    what: 'every third place, from the one before: the induction variable is 3 i + 1',
    data: { a: random([3 * N + 2], 16) },
    loops: (session, { a }) =>
      session.loop(session.range(N), { a }, ([i], { a }) => {
        const p = 3 * i + 1
        a.set(p, a.get(p - 1) + a.get(p + 1))
      }),
    plain: ({ a }) => {
      for (let p = 1; p < 3 * N; p += 3) a[p] = a[p - 1]! + a[p + 1]!
    },
  }),
  entry({
    name: 'minimum with its place',
    what: 'two variables of one reduction: an element and where it is',
    data: { x: random([N], 17), best: filled([2], (p) => (p === 0 ? Infinity : -1)) },
    loops: (session, { x, best }) =>
      session.loop(session.range(N), { x, best }, ([i], { x, best }) => {
        if (x.get(i) < best.get(0)) {
          best.set(0, x.get(i))
          best.set(1, i)
        }
      }),
    plain: ({ x, best }) => {
      for (let i = 0; i < N; i++)
        if (x[i]! < best[0]!) {
          best[0] = x[i]!
          best[1] = i
        }
    },
  }),
  entry({
    name: 'small integers that wrap',
    what: 'a byte is stored as a byte: 300 becomes 44, whatever the worker',
    data: { x: whole([N], 256, 18, 'u8'), y: zeros([N], 'u8') },
    loops: (session, { x, y }) =>
      session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
        y.set(i, x.get(i) * 2 + 1)
      }),
    plain: ({ x, y }) => {
      for (let i = 0; i < N; i++) y[i] = x[i]! * 2 + 1
    },
  }),
  entry({
    name: 'single precision',
    what: 'computed in double precision, rounded when stored, as JavaScript does',
    data: { x: random([N], 19, 'f32'), y: zeros([N], 'f32') },
    loops: (session, { x, y }) =>
      session.loop(session.range(N), { x, y }, ([i], { x, y }) => {
        y.set(i, x.get(i) * 1.1 + 0.3)
      }),
    plain: ({ x, y }) => {
      for (let i = 0; i < N; i++) y[i] = x[i]! * 1.1 + 0.3
    },
  }),
]
