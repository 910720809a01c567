/** Graphs and sparse matrices, in compressed rows: the neighbours of v are `to[first[v]]` … `to[first[v + 1] - 1]`. */
import { type Entry, entry, filled, random, whole, zeros } from './entry.ts'

const V = 60
const DEGREE = 4
const E = V * DEGREE

const first = filled([V + 1], (v) => v * DEGREE, 'i32')
const to = whole([E], V, 1)
const weight = random([E], 2)
/** Row i of a lower triangular matrix has its entries at columns before i, and its diagonal last. */
const below = filled(
  [E],
  (e) => (e % DEGREE === DEGREE - 1 ? Math.floor(e / DEGREE) : (e * 7919) % Math.max(1, Math.floor(e / DEGREE))),
  'i32',
)

export const graphs: readonly Entry[] = [
  entry({
    name: 'sparse matrix–vector product',
    what: 'y = A x, rows compressed',
    data: { first, to, weight, x: random([V], 3), y: zeros([V]) },
    loops: (session, { first, to, weight, x, y }) =>
      session.loop(session.range(V), { first, to, weight, x, y }, ([v], { first, to, weight, x, y }) => {
        let sum = 0
        for (let e = first.get(v); e < first.get(v + 1); e++) sum += weight.get(e) * x.get(to.get(e))
        y.set(v, sum)
      }),
    plain: ({ first, to, weight, x, y }) => {
      for (let v = 0; v < V; v++) {
        let sum = 0
        for (let e = first[v]!; e < first[v + 1]!; e++) sum += weight[e]! * x[to[e]!]!
        y[v] = sum
      }
    },
  }),
  entry({
    name: 'sparse matrix–vector product, by entries',
    what: 'y[row[e]] += a[e] x[to[e]], as a list of entries has it; whole numbers',
    data: { row: whole([E], V, 4), to, a: whole([E], 9, 5), x: whole([V], 9, 6), y: zeros([V], 'i32') },
    loops: (session, { row, to, a, x, y }) =>
      session.loop(session.range(E), { row, to, a, x, y }, ([e], { row, to, a, x, y }) => {
        y.add(row.get(e), a.get(e) * x.get(to.get(e)))
      }),
    plain: ({ row, to, a, x, y }) => {
      for (let e = 0; e < E; e++) y[row[e]!]! += a[e]! * x[to[e]!]!
    },
  }),
  entry({
    name: 'sparse triangular solve',
    what: 'which x a row needs, its columns say',
    data: { first, below, a: random([E], 7), b: random([V], 8), x: zeros([V]) },
    loops: (session, { first, below, a, b, x }) =>
      session.loop(session.range(V), { first, below, a, b, x }, ([i], { first, below, a, b, x }) => {
        let sum = b.get(i)
        const last = first.get(i + 1) - 1
        for (let e = first.get(i); e < last; e++) sum -= a.get(e) * x.get(below.get(e))
        x.set(i, sum / (1 + a.get(last)))
      }),
    plain: ({ first, below, a, b, x }) => {
      for (let i = 0; i < V; i++) {
        let sum = b[i]!
        const last = first[i + 1]! - 1
        for (let e = first[i]!; e < last; e++) sum -= a[e]! * x[below[e]!]!
        x[i] = sum / (1 + a[last]!)
      }
    },
  }),
  entry({
    name: 'PageRank, pull',
    what: 'each page collects from those that link to it, from one array into another',
    data: { first, to, rank: filled([V], () => 1 / V), next: zeros([V]) },
    loops: (session, { first, to, rank, next }) => ({
      loops: {
        collect: session.loop(session.range(V), { first, to, rank, next }, ([v], { first, to, rank, next }) => {
          let sum = 0
          for (let e = first.get(v); e < first.get(v + 1); e++) sum += rank.get(to.get(e)) / DEGREE
          next.set(v, 0.15 / V + 0.85 * sum)
        }),
        copy: session.loop(session.range(V), { rank, next }, ([v], { rank, next }) => {
          rank.set(v, next.get(v))
        }),
      },
      rounds: 3,
    }),
    plain: ({ first, to, rank, next }) => {
      for (let round = 0; round < 3; round++) {
        for (let v = 0; v < V; v++) {
          let sum = 0
          for (let e = first[v]!; e < first[v + 1]!; e++) sum += rank[to[e]!]! / DEGREE
          next[v] = 0.15 / V + 0.85 * sum
        }
        rank.set(next)
      }
    },
  }),
  entry({
    name: 'PageRank, push',
    what: 'each page adds its share to those it links to',
    data: { first, to, rank: filled([V], () => 1 / V), next: zeros([V]) },
    loops: (session, { first, to, rank, next }) =>
      session.loop(session.range(V), { first, to, rank, next }, ([v], { first, to, rank, next }) => {
        const share = rank.get(v) / DEGREE
        for (let e = first.get(v); e < first.get(v + 1); e++) next.add(to.get(e), share)
      }),
    plain: ({ first, to, rank, next }) => {
      for (let v = 0; v < V; v++) for (let e = first[v]!; e < first[v + 1]!; e++) next[to[e]!]! += rank[v]! / DEGREE
    },
  }),
  entry({
    name: 'connected components',
    what: 'the least label around, from one array into another',
    data: { first, to, label: filled([V], (v) => v, 'i32'), next: zeros([V], 'i32') },
    loops: (session, { first, to, label, next }) => ({
      loops: {
        least: session.loop(session.range(V), { first, to, label, next }, ([v], { first, to, label, next }) => {
          let least = label.get(v)
          for (let e = first.get(v); e < first.get(v + 1); e++) least = Math.min(least, label.get(to.get(e)))
          next.set(v, least)
        }),
        copy: session.loop(session.range(V), { label, next }, ([v], { label, next }) => {
          label.set(v, next.get(v))
        }),
      },
      rounds: 4,
    }),
    plain: ({ first, to, label, next }) => {
      for (let round = 0; round < 4; round++) {
        for (let v = 0; v < V; v++) {
          let least = label[v]!
          for (let e = first[v]!; e < first[v + 1]!; e++) least = Math.min(least, label[to[e]!]!)
          next[v] = least
        }
        label.set(next)
      }
    },
  }),
  entry({
    name: 'connected components, in place',
    what: 'labels spread within a sweep',
    data: { first, to, label: filled([V], (v) => v, 'i32') },
    loops: (session, { first, to, label }) =>
      session.loop(session.range(V), { first, to, label }, ([v], { first, to, label }) => {
        let least = label.get(v)
        for (let e = first.get(v); e < first.get(v + 1); e++) least = Math.min(least, label.get(to.get(e)))
        label.set(v, least)
      }),
    plain: ({ first, to, label }) => {
      for (let v = 0; v < V; v++) {
        let least = label[v]!
        for (let e = first[v]!; e < first[v + 1]!; e++) least = Math.min(least, label[to[e]!]!)
        label[v] = least
      }
    },
  }),
  entry({
    name: 'breadth-first search, step',
    what: 'a vertex not reached looks for a neighbour on the level before',
    data: { first, to, level: filled([V], (v) => (v === 0 ? 0 : -1), 'i32'), next: filled([V], (v) => (v === 0 ? 0 : -1), 'i32') },
    loops: (session, { first, to, level, next }) => {
      let depth = 0
      const reach = session.loop(session.range(V), { first, to, level, next }, ([v], { first, to, level, next }) => {
        if (level.get(v) >= 0) return
        for (let e = first.get(v); e < first.get(v + 1); e++) {
          if (level.get(to.get(e)) === depth) next.set(v, depth + 1)
        }
      })
      const copy = session.loop(session.range(V), { level, next }, ([v], { level, next }) => {
        level.set(v, next.get(v))
      })
      return {
        loops: { reach, copy },
        rounds: 5,
        before: (round) => {
          depth = round
        },
      }
    },
    plain: ({ first, to, level, next }) => {
      for (let depth = 0; depth < 5; depth++) {
        for (let v = 0; v < V; v++) {
          if (level[v]! >= 0) continue
          for (let e = first[v]!; e < first[v + 1]!; e++) if (level[to[e]!] === depth) next[v] = depth + 1
        }
        level.set(next)
      }
    },
  }),
  entry({
    name: 'triangles',
    what: 'paths of two edges that an edge closes, counted',
    data: { first, to },
    loops: (session, { first, to }) => {
      const triangles = session.accumulator('sum')
      return session.loop(session.range(V), { first, to, triangles }, ([v], { first, to, triangles }) => {
        for (let e = first.get(v); e < first.get(v + 1); e++) {
          const u = to.get(e)
          for (let f = first.get(u); f < first.get(u + 1); f++) {
            const w = to.get(f)
            for (let g = first.get(w); g < first.get(w + 1); g++) if (to.get(g) === v) triangles.add(1)
          }
        }
      })
    },
    plain: ({ first, to }) => {
      let triangles = 0
      for (let v = 0; v < V; v++)
        for (let e = first[v]!; e < first[v + 1]!; e++)
          for (let f = first[to[e]!]!; f < first[to[e]! + 1]!; f++)
            for (let g = first[to[f]!]!; g < first[to[f]! + 1]!; g++) if (to[g] === v) triangles++
      return { triangles }
    },
  }),
]
