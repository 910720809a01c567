/** Dynamic programming: tables whose cells need cells filled before. */
import { type Entry, entry, filled, random, whole, zeros } from './entry.ts'

const M = 40
const N = 32
/** Alignment and common subsequence fill long tables here, so that several threads take part. */
const LONG = 400

export const dynamicProgramming: readonly Entry[] = [
  entry({
    name: 'longest common subsequence',
    what: 'row and column 0 stay 0',
    data: { s: whole([M], 4, 1), t: whole([N], 4, 2), d: zeros([M + 1, N + 1], 'i32') },
    loops: (session, { s, t, d }) =>
      session.loop(session.range(M + 1, N + 1), { s, t, d }, ([i, j], { s, t, d }) => {
        if (i === 0 || j === 0) return
        if (s.get(i - 1) === t.get(j - 1)) d.set(i, j, d.get(i - 1, j - 1) + 1)
        else d.set(i, j, Math.max(d.get(i - 1, j), d.get(i, j - 1)))
      }),
    plain: ({ s, t, d }) => {
      const w = N + 1
      for (let i = 1; i <= M; i++)
        for (let j = 1; j <= N; j++)
          d[i * w + j] = s[i - 1] === t[j - 1] ? d[(i - 1) * w + j - 1]! + 1 : Math.max(d[(i - 1) * w + j]!, d[i * w + j - 1]!)
    },
  }),
  entry({
    name: 'edit distance',
    what: 'insertions, deletions and replacements, with the borders filled by the same loop',
    data: { s: whole([M], 4, 3), t: whole([N], 4, 4), d: zeros([M + 1, N + 1], 'i32') },
    loops: (session, { s, t, d }) =>
      session.loop(session.range(M + 1, N + 1), { s, t, d }, ([i, j], { s, t, d }) => {
        if (i === 0) d.set(i, j, j)
        else if (j === 0) d.set(i, j, i)
        else {
          const change = s.get(i - 1) === t.get(j - 1) ? 0 : 1
          d.set(i, j, Math.min(d.get(i - 1, j) + 1, d.get(i, j - 1) + 1, d.get(i - 1, j - 1) + change))
        }
      }),
    plain: ({ s, t, d }) => {
      const w = N + 1
      for (let i = 0; i <= M; i++)
        for (let j = 0; j <= N; j++) {
          if (i === 0) d[j] = j
          else if (j === 0) d[i * w] = i
          else {
            const change = s[i - 1] === t[j - 1] ? 0 : 1
            d[i * w + j] = Math.min(d[(i - 1) * w + j]! + 1, d[i * w + j - 1]! + 1, d[(i - 1) * w + j - 1]! + change)
          }
        }
    },
  }),
  entry({
    name: 'Smith–Waterman',
    what: 'local alignment, with the best score in an accumulator',
    data: { s: whole([LONG], 4, 5), t: whole([LONG], 4, 6), h: zeros([LONG + 1, LONG + 1], 'i32') },
    loops: (session, { s, t, h }) => {
      const best = session.accumulator('max')
      return session.loop(session.range(LONG + 1, LONG + 1), { s, t, h, best }, ([i, j], { s, t, h, best }) => {
        if (i === 0 || j === 0) return
        const match = h.get(i - 1, j - 1) + (s.get(i - 1) === t.get(j - 1) ? 3 : -3)
        const score = Math.max(0, match, h.get(i - 1, j) - 2, h.get(i, j - 1) - 2)
        h.set(i, j, score)
        best.add(score)
      })
    },
    plain: ({ s, t, h }) => {
      const w = LONG + 1
      let best = Number.NEGATIVE_INFINITY
      for (let i = 1; i <= LONG; i++)
        for (let j = 1; j <= LONG; j++) {
          const match = h[(i - 1) * w + j - 1]! + (s[i - 1] === t[j - 1] ? 3 : -3)
          const score = Math.max(0, match, h[(i - 1) * w + j]! - 2, h[i * w + j - 1]! - 2)
          h[i * w + j] = score
          best = Math.max(best, score)
        }
      return { best }
    },
  }),
  entry({
    name: 'Needleman–Wunsch',
    what: 'global alignment; the borders are filled by loops of their own',
    data: { s: whole([M], 4, 7), t: whole([N], 4, 8), h: zeros([M + 1, N + 1], 'i32') },
    loops: (session, { s, t, h }) => ({
      loops: {
        top: session.loop(session.range(N + 1), { h }, ([j], { h }) => {
          h.set(0, j, -2 * j)
        }),
        left: session.loop(session.range(M + 1), { h }, ([i], { h }) => {
          h.set(i, 0, -2 * i)
        }),
        fill: session.loop(session.range(M, N), { s, t, h }, ([i, j], { s, t, h }) => {
          const match = s.get(i) === t.get(j) ? 1 : -1
          h.set(i + 1, j + 1, Math.max(h.get(i, j) + match, h.get(i, j + 1) - 2, h.get(i + 1, j) - 2))
        }),
      },
    }),
    plain: ({ s, t, h }) => {
      const w = N + 1
      for (let j = 0; j <= N; j++) h[j] = -2 * j
      for (let i = 0; i <= M; i++) h[i * w] = -2 * i
      for (let i = 0; i < M; i++)
        for (let j = 0; j < N; j++) {
          const match = s[i] === t[j] ? 1 : -1
          h[(i + 1) * w + j + 1] = Math.max(h[i * w + j]! + match, h[i * w + j + 1]! - 2, h[(i + 1) * w + j]! - 2)
        }
    },
  }),
  entry({
    name: 'longest path in a grid',
    what: 'right and down only, with weights; in place',
    data: { a: random([LONG, LONG], 9) },
    loops: (session, { a }) =>
      session.loop(session.range(LONG, LONG), { a }, ([i, j], { a }) => {
        if (i > 0 && j > 0) a.set(i, j, a.get(i, j) + Math.max(a.get(i - 1, j), a.get(i, j - 1)))
        else if (i > 0) a.set(i, j, a.get(i, j) + a.get(i - 1, j))
        else if (j > 0) a.set(i, j, a.get(i, j) + a.get(i, j - 1))
      }),
    plain: ({ a }) => {
      for (let i = 0; i < LONG; i++)
        for (let j = 0; j < LONG; j++) {
          const up = i > 0 ? a[(i - 1) * LONG + j]! : Number.NEGATIVE_INFINITY
          const left = j > 0 ? a[i * LONG + j - 1]! : Number.NEGATIVE_INFINITY
          if (i > 0 || j > 0) a[i * LONG + j]! += Math.max(up, left)
        }
    },
  }),
  entry({
    name: 'cheapest seam',
    what: 'each pixel takes the cheapest of the three above it',
    data: { a: random([M, N], 10) },
    loops: (session, { a }) =>
      session.loop(session.range(M, N), { a }, ([i, j], { a }) => {
        if (i === 0) return
        let least = a.get(i - 1, j)
        if (j > 0) least = Math.min(least, a.get(i - 1, j - 1))
        if (j < N - 1) least = Math.min(least, a.get(i - 1, j + 1))
        a.set(i, j, a.get(i, j) + least)
      }),
    plain: ({ a }) => {
      for (let i = 1; i < M; i++)
        for (let j = 0; j < N; j++) {
          let least = a[(i - 1) * N + j]!
          if (j > 0) least = Math.min(least, a[(i - 1) * N + j - 1]!)
          if (j < N - 1) least = Math.min(least, a[(i - 1) * N + j + 1]!)
          a[i * N + j]! += least
        }
    },
  }),
  entry({
    name: 'knapsack',
    what: 'the whole table: how far back in the row above the data says',
    data: { weight: whole([12], 9, 11), value: random([12], 12), best: zeros([13, 60]) },
    loops: (session, { weight, value, best }) =>
      session.loop(session.range(12, 60), { weight, value, best }, ([i, w], { weight, value, best }) => {
        const without = best.get(i, w)
        const rest = w - weight.get(i)
        best.set(i + 1, w, rest >= 0 ? Math.max(without, best.get(i, rest) + value.get(i)) : without)
      }),
    plain: ({ weight, value, best }) => {
      for (let i = 0; i < 12; i++)
        for (let w = 0; w < 60; w++) {
          const without = best[i * 60 + w]!
          const rest = w - weight[i]!
          best[(i + 1) * 60 + w] = rest >= 0 ? Math.max(without, best[i * 60 + rest]! + value[i]!) : without
        }
    },
  }),
  entry({
    name: 'knapsack, item i',
    what: 'one row from the row above',
    data: { weight: whole([12], 9, 13), value: random([12], 14), best: zeros([13, 60]) },
    loops: (session, { weight, value, best }) => {
      let i = 0
      const item = session.loop(session.range(60), { weight, value, best }, ([w], { weight, value, best }) => {
        const without = best.get(i, w)
        const rest = w - weight.get(i)
        best.set(i + 1, w, rest >= 0 ? Math.max(without, best.get(i, rest) + value.get(i)) : without)
      })
      return {
        loops: { item },
        rounds: 12,
        before: (round) => {
          i = round
        },
      }
    },
    plain: ({ weight, value, best }) => {
      for (let i = 0; i < 12; i++)
        for (let w = 0; w < 60; w++) {
          const without = best[i * 60 + w]!
          const rest = w - weight[i]!
          best[(i + 1) * 60 + w] = rest >= 0 ? Math.max(without, best[i * 60 + rest]! + value[i]!) : without
        }
    },
  }),
  entry({
    name: 'coin change',
    what: 'how many ways there are to pay each sum: one coin after another, in one row',
    data: { coins: filled([4], (i) => [1, 2, 5, 10][i] ?? 0, 'i32'), ways: filled([80], (i) => (i === 0 ? 1 : 0)) },
    loops: (session, { coins, ways }) =>
      session.loop(session.range(4, 80), { coins, ways }, ([c, sum], { coins, ways }) => {
        const rest = sum - coins.get(c)
        if (rest >= 0) ways.set(sum, ways.get(sum) + ways.get(rest))
      }),
    plain: ({ coins, ways }) => {
      for (let c = 0; c < 4; c++) for (let sum = coins[c]!; sum < 80; sum++) ways[sum]! += ways[sum - coins[c]!]!
    },
  }),
  entry({
    name: 'matrix chain',
    what: 'over the length of the chain and its start; all ways to split are tried',
    data: { size: whole([N + 1], 50, 15), cost: zeros([N, N]) },
    loops: (session, { size, cost }) =>
      session.loop(session.range(N, N), { size, cost }, ([length, i], { size, cost }) => {
        const j = i + length
        if (length === 0 || j >= N) return
        let least = Infinity
        for (let k = i; k < j; k++) {
          least = Math.min(least, cost.get(i, k) + cost.get(k + 1, j) + size.get(i) * size.get(k + 1) * size.get(j + 1))
        }
        cost.set(i, j, least)
      }),
    plain: ({ size, cost }) => {
      for (let length = 1; length < N; length++)
        for (let i = 0; i + length < N; i++) {
          const j = i + length
          let least = Infinity
          for (let k = i; k < j; k++) {
            least = Math.min(least, cost[i * N + k]! + cost[(k + 1) * N + j]! + size[i]! * size[k + 1]! * size[j + 1]!)
          }
          cost[i * N + j] = least
        }
    },
  }),
  entry({
    name: 'matrix chain, length by length',
    what: 'chains of one length need shorter ones only; cost is kept by length and start',
    data: { size: whole([N + 1], 50, 16), cost: zeros([N, N]) },
    loops: (session, { size, cost }) => {
      let length = 0
      const chains = session.loop(session.range(N), { size, cost }, ([i], { size, cost }) => {
        if (i + length >= N) return
        let least = Infinity
        for (let k = 0; k < length; k++) {
          const both = cost.get(k, i) + cost.get(length - k - 1, i + k + 1)
          least = Math.min(least, both + size.get(i) * size.get(i + k + 1) * size.get(i + length + 1))
        }
        cost.set(length, i, least)
      })
      return {
        loops: { chains },
        rounds: N - 1,
        before: (round) => {
          length = round + 1
        },
      }
    },
    plain: ({ size, cost }) => {
      for (let length = 1; length < N; length++)
        for (let i = 0; i + length < N; i++) {
          let least = Infinity
          for (let k = 0; k < length; k++) {
            const both = cost[k * N + i]! + cost[(length - k - 1) * N + i + k + 1]!
            least = Math.min(least, both + size[i]! * size[i + k + 1]! * size[i + length + 1]!)
          }
          cost[length * N + i] = least
        }
    },
  }),
  entry({
    name: 'longest increasing subsequence',
    what: 'each element looks at all before it',
    data: { a: random([60], 17), length: zeros([60], 'i32') },
    loops: (session, { a, length }) =>
      session.loop(session.range(60), { a, length }, ([i], { a, length }) => {
        let most = 0
        for (let j = 0; j < i; j++) if (a.get(j) < a.get(i)) most = Math.max(most, length.get(j))
        length.set(i, most + 1)
      }),
    plain: ({ a, length }) => {
      for (let i = 0; i < 60; i++) {
        let most = 0
        for (let j = 0; j < i; j++) if (a[j]! < a[i]!) most = Math.max(most, length[j]!)
        length[i] = most + 1
      }
    },
  }),
  entry({
    name: 'Viterbi',
    what: 'over time and state: every state of a step needs every state of the step before',
    data: { from: random([8, 8], 18), seen: random([30, 8], 19), p: zeros([30, 8]) },
    loops: (session, { from, seen, p }) =>
      session.loop(session.range(30, 8), { from, seen, p }, ([t, s], { from, seen, p }) => {
        if (t === 0) {
          p.set(t, s, seen.get(t, s))
          return
        }
        let best = -Infinity
        for (let r = 0; r < 8; r++) best = Math.max(best, p.get(t - 1, r) + from.get(r, s))
        p.set(t, s, best + seen.get(t, s))
      }),
    plain: ({ from, seen, p }) => {
      for (let s = 0; s < 8; s++) p[s] = seen[s]!
      for (let t = 1; t < 30; t++)
        for (let s = 0; s < 8; s++) {
          let best = -Infinity
          for (let r = 0; r < 8; r++) best = Math.max(best, p[(t - 1) * 8 + r]! + from[r * 8 + s]!)
          p[t * 8 + s] = best + seen[t * 8 + s]!
        }
    },
  }),
]
