/** Machine learning and simulation. */
import type { Session } from '../../src/index.ts'
import { type Entry, entry, filled, random, whole, zeros } from './entry.ts'

const USERS = 30
const MOVIES = 24
const K = 6
const RATE = 0.05
const PENALTY = 0.02

interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
}
/** About every third cell, in key order. */
const RATINGS: readonly Rating[] = Array.from({ length: USERS * MOVIES }, (_, p) => p)
  .filter((p) => (p * 7919) % 3 === 0)
  .map((p) => ({ user: Math.floor(p / MOVIES), movie: p % MOVIES, stars: 1 + ((p * 31) % 5) }))
const starsOf = new Map(RATINGS.map(({ user, movie, stars }) => [user * MOVIES + movie, stars]))

const ratingsIn = (session: Session) =>
  session
    .fromRows(RATINGS)
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)

/** One rating's step of stochastic gradient descent, in plain JavaScript. */
function sgdStep(w: Float64Array, h: Float64Array, u: number, m: number, stars: number): void {
  let predicted = 0
  for (let k = 0; k < K; k++) predicted += w[u * K + k]! * h[m * K + k]!
  const error = stars - predicted
  for (let k = 0; k < K; k++) {
    const [wk, hk] = [w[u * K + k]!, h[m * K + k]!]
    w[u * K + k]! += RATE * (error * hk - PENALTY * wk)
    h[m * K + k]! += RATE * (error * wk - PENALTY * hk)
  }
}

const POINTS = 200
const CENTRES = 5
const BODIES = 48
const WORDS = 200
const TOPICS = 4

export const learning: readonly Entry[] = [
  entry({
    name: 'matrix factorization',
    what: 'stochastic gradient descent over ratings, in any order: a row of each matrix per rating',
    data: { w: random([USERS, K], 1), h: random([MOVIES, K], 2) },
    loops: (session, { w, h }) => ({
      loops: {
        sgd: session.loop(
          ratingsIn(session),
          { w, h },
          (stars, [u, m], { w, h }) => {
            const wu = w.row(u)
            const hm = h.row(m)
            let predicted = 0
            for (let k = 0; k < K; k++) predicted += wu.get(k) * hm.get(k)
            const error = stars - predicted
            for (let k = 0; k < K; k++) {
              const wk = wu.get(k)
              const hk = hm.get(k)
              wu.set(k, wk + RATE * (error * hk - PENALTY * wk))
              hm.set(k, hk + RATE * (error * wk - PENALTY * hk))
            }
          },
          { order: 'any', partitions: 3 },
        ),
      },
    }),
    plain: ({ w, h }, { sgd = [] }) => {
      for (const [u = 0, m = 0] of sgd) sgdStep(w, h, u, m, starsOf.get(u * MOVIES + m) ?? Number.NaN)
    },
  }),
  entry({
    name: 'matrix factorization, in order',
    what: 'the same in the order of the keys',
    data: { w: random([USERS, K], 3), h: random([MOVIES, K], 4) },
    loops: (session, { w, h }) =>
      session.loop(ratingsIn(session), { w, h }, (stars, [u, m], { w, h }) => {
        const wu = w.row(u)
        const hm = h.row(m)
        let predicted = 0
        for (let k = 0; k < K; k++) predicted += wu.get(k) * hm.get(k)
        const error = stars - predicted
        for (let k = 0; k < K; k++) {
          const wk = wu.get(k)
          const hk = hm.get(k)
          wu.set(k, wk + RATE * (error * hk - PENALTY * wk))
          hm.set(k, hk + RATE * (error * wk - PENALTY * hk))
        }
      }),
    plain: ({ w, h }) => {
      for (const { user, movie, stars } of RATINGS) sgdStep(w, h, user, movie, stars)
    },
  }),
  entry({
    name: 'matrix factorization, AdaGrad',
    what: 'with the sum of squared gradients of each factor',
    data: { w: random([USERS, K], 5), h: random([MOVIES, K], 6), w2: filled([USERS, K], () => 1e-6), h2: filled([MOVIES, K], () => 1e-6) },
    loops: (session, { w, h, w2, h2 }) => ({
      loops: {
        adagrad: session.loop(
          ratingsIn(session),
          { w, h, w2, h2 },
          (stars, [u, m], { w, h, w2, h2 }) => {
            let predicted = 0
            for (let k = 0; k < K; k++) predicted += w.get(u, k) * h.get(m, k)
            const error = stars - predicted
            for (let k = 0; k < K; k++) {
              const gw = -error * h.get(m, k)
              const gh = -error * w.get(u, k)
              w2.set(u, k, w2.get(u, k) + gw * gw)
              h2.set(m, k, h2.get(m, k) + gh * gh)
              w.set(u, k, w.get(u, k) - (RATE * gw) / Math.sqrt(w2.get(u, k)))
              h.set(m, k, h.get(m, k) - (RATE * gh) / Math.sqrt(h2.get(m, k)))
            }
          },
          { order: 'any' },
        ),
      },
    }),
    plain: ({ w, h, w2, h2 }, { adagrad = [] }) => {
      for (const [u = 0, m = 0] of adagrad) {
        let predicted = 0
        for (let k = 0; k < K; k++) predicted += w[u * K + k]! * h[m * K + k]!
        const error = starsOf.get(u * MOVIES + m)! - predicted
        for (let k = 0; k < K; k++) {
          const [p, q] = [u * K + k, m * K + k]
          const gw = -error * h[q]!
          const gh = -error * w[p]!
          w2[p]! += gw * gw
          h2[q]! += gh * gh
          w[p]! -= (RATE * gw) / Math.sqrt(w2[p]!)
          h[q]! -= (RATE * gh) / Math.sqrt(h2[q]!)
        }
      }
    },
  }),
  entry({
    name: 'sparse logistic regression',
    what: 'each sample reads and changes the weights of its features, which the data names',
    data: { feature: whole([80, 5], 40, 7), label: whole([80], 2, 8), weight: random([40], 9) },
    loops: (session, { feature, label, weight }) =>
      session.loop(
        session.range(80),
        { feature, label, weight },
        ([s], { feature, label, weight }) => {
          let margin = 0
          for (let k = 0; k < 5; k++) margin += weight.get(feature.get(s, k))
          const error = label.get(s) - 1 / (1 + Math.exp(-margin))
          for (let k = 0; k < 5; k++) weight.set(feature.get(s, k), weight.get(feature.get(s, k)) + RATE * error)
        },
        { order: 'serial' },
      ),
    plain: ({ feature, label, weight }) => {
      for (let s = 0; s < 80; s++) {
        let margin = 0
        for (let k = 0; k < 5; k++) margin += weight[feature[s * 5 + k]!]!
        const error = label[s]! - 1 / (1 + Math.exp(-margin))
        for (let k = 0; k < 5; k++) weight[feature[s * 5 + k]!]! += RATE * error
      }
    },
  }),
  entry({
    name: 'sparse logistic regression, buffered',
    what: 'weights as they were before the pass; changes are added at its end',
    data: { feature: whole([80, 5], 40, 10), label: whole([80], 2, 11), weight: zeros([40]) },
    loops: (session, { feature, label, weight }) =>
      session.loop(session.range(80), { feature, label, weight: weight.buffer() }, ([s], { feature, label, weight }) => {
        let margin = 0
        for (let k = 0; k < 5; k++) margin += weight.get(feature.get(s, k))
        // the weights are 0, so every probability is a half and every change a multiple of 1/8: exact in any order
        const error = label.get(s) - 1 / (1 + Math.exp(-margin))
        for (let k = 0; k < 5; k++) weight.add(feature.get(s, k), error / 4)
      }),
    plain: ({ feature, label, weight }) => {
      for (let s = 0; s < 80; s++) for (let k = 0; k < 5; k++) weight[feature[s * 5 + k]!]! += (label[s]! - 0.5) / 4
    },
  }),
  entry({
    name: 'LDA, Gibbs step',
    what: 'each word leaves its topic and draws another; the totals of topics are shared by all',
    data: {
      doc: filled([WORDS], (p) => Math.floor(p / 10), 'i32'),
      word: whole([WORDS], 30, 12),
      topic: filled([WORDS], (p) => p % TOPICS, 'i32'),
      draw: random([WORDS], 13),
      ofDoc: filled([WORDS / 10, TOPICS], () => 3, 'i32'),
      ofWord: filled([30, TOPICS], () => 20, 'i32'),
      total: filled([TOPICS], () => 200, 'i32'),
    },
    loops: (session, env) =>
      session.loop(session.range(WORDS), env, ([p], { doc, word, topic, draw, ofDoc, ofWord, total }) => {
        const d = doc.get(p)
        const v = word.get(p)
        const old = topic.get(p)
        ofDoc.set(d, old, ofDoc.get(d, old) - 1)
        ofWord.set(v, old, ofWord.get(v, old) - 1)
        total.set(old, total.get(old) - 1)
        let sum = 0
        for (let t = 0; t < TOPICS; t++) sum += ((ofDoc.get(d, t) + 0.1) * (ofWord.get(v, t) + 0.01)) / (total.get(t) + 0.3)
        let rest = draw.get(p) * sum
        let chosen = TOPICS - 1
        for (let t = 0; t < TOPICS; t++) {
          rest -= ((ofDoc.get(d, t) + 0.1) * (ofWord.get(v, t) + 0.01)) / (total.get(t) + 0.3)
          if (rest <= 0) {
            chosen = t
            break
          }
        }
        topic.set(p, chosen)
        ofDoc.set(d, chosen, ofDoc.get(d, chosen) + 1)
        ofWord.set(v, chosen, ofWord.get(v, chosen) + 1)
        total.set(chosen, total.get(chosen) + 1)
      }),
    plain: ({ doc, word, topic, draw, ofDoc, ofWord, total }) => {
      for (let p = 0; p < WORDS; p++) {
        const [d, v] = [doc[p]! * TOPICS, word[p]! * TOPICS]
        const old = topic[p]!
        ofDoc[d + old]!--
        ofWord[v + old]!--
        total[old]!--
        const weightOf = (t: number) => ((ofDoc[d + t]! + 0.1) * (ofWord[v + t]! + 0.01)) / (total[t]! + 0.3)
        let sum = 0
        for (let t = 0; t < TOPICS; t++) sum += weightOf(t)
        let rest = draw[p]! * sum
        let chosen = TOPICS - 1
        for (let t = 0; t < TOPICS; t++) {
          rest -= weightOf(t)
          if (rest <= 0) {
            chosen = t
            break
          }
        }
        topic[p] = chosen
        ofDoc[d + chosen]!++
        ofWord[v + chosen]!++
        total[chosen]!++
      }
    },
  }),
  entry({
    name: 'k-means',
    what: 'points choose their nearest centre, sums and counts are added up, centres move; coordinates are whole',
    data: {
      point: whole([POINTS, 2], 100, 14),
      centre: random([CENTRES, 2], 15),
      nearest: zeros([POINTS], 'i32'),
      sum: zeros([CENTRES, 2], 'i32'),
      count: zeros([CENTRES], 'i32'),
    },
    loops: (session, { point, centre, nearest, sum, count }) => ({
      loops: {
        assign: session.loop(session.range(POINTS), { point, centre, nearest }, ([p], { point, centre, nearest }) => {
          let best = 0
          let least = Infinity
          for (let c = 0; c < CENTRES; c++) {
            const dx = point.get(p, 0) - centre.get(c, 0) * 100
            const dy = point.get(p, 1) - centre.get(c, 1) * 100
            if (dx * dx + dy * dy < least) {
              least = dx * dx + dy * dy
              best = c
            }
          }
          nearest.set(p, best)
        }),
        'add up': session.loop(session.range(POINTS), { point, nearest, sum, count }, ([p], { point, nearest, sum, count }) => {
          const c = nearest.get(p)
          sum.add(c, 0, point.get(p, 0))
          sum.add(c, 1, point.get(p, 1))
          count.add(c, 1)
        }),
        move: session.loop(session.range(CENTRES, 2), { centre, sum, count }, ([c, axis], { centre, sum, count }) => {
          if (count.get(c) > 0) centre.set(c, axis, sum.get(c, axis) / count.get(c) / 100)
        }),
      },
    }),
    plain: ({ point, centre, nearest, sum, count }) => {
      for (let p = 0; p < POINTS; p++) {
        let least = Infinity
        for (let c = 0; c < CENTRES; c++) {
          const dx = point[2 * p]! - centre[2 * c]! * 100
          const dy = point[2 * p + 1]! - centre[2 * c + 1]! * 100
          if (dx * dx + dy * dy < least) {
            least = dx * dx + dy * dy
            nearest[p] = c
          }
        }
      }
      for (let p = 0; p < POINTS; p++) {
        const c = nearest[p]!
        sum[2 * c]! += point[2 * p]!
        sum[2 * c + 1]! += point[2 * p + 1]!
        count[c]!++
      }
      for (let c = 0; c < CENTRES; c++)
        for (let axis = 0; axis < 2; axis++) if (count[c]! > 0) centre[2 * c + axis] = sum[2 * c + axis]! / count[c]! / 100
    },
  }),
  entry({
    name: 'gradient of a linear model',
    what: 'one loop over samples and features; each feature has a sum of its own',
    data: { x: random([60, 8], 16), error: random([60], 17), gradient: zeros([8]) },
    loops: (session, { x, error, gradient }) =>
      session.loop(session.range(60, 8), { x, error, gradient }, ([s, k], { x, error, gradient }) => {
        gradient.set(k, gradient.get(k) + x.get(s, k) * error.get(s))
      }),
    plain: ({ x, error, gradient }) => {
      for (let s = 0; s < 60; s++) for (let k = 0; k < 8; k++) gradient[k]! += x[s * 8 + k]! * error[s]!
    },
  }),
  entry({
    name: 'N-body',
    what: 'all forces on a body, then all moves',
    data: { place: random([BODIES, 3], 18), speed: zeros([BODIES, 3]) },
    loops: (session, { place, speed }) => ({
      loops: {
        forces: session.loop(session.range(BODIES), { place, speed }, ([b], { place, speed }) => {
          for (let c = 0; c < BODIES; c++) {
            if (c === b) continue
            const dx = place.get(c, 0) - place.get(b, 0)
            const dy = place.get(c, 1) - place.get(b, 1)
            const dz = place.get(c, 2) - place.get(b, 2)
            const square = dx * dx + dy * dy + dz * dz + 0.01
            const pull = 0.001 / (square * Math.sqrt(square))
            speed.set(b, 0, speed.get(b, 0) + pull * dx)
            speed.set(b, 1, speed.get(b, 1) + pull * dy)
            speed.set(b, 2, speed.get(b, 2) + pull * dz)
          }
        }),
        moves: session.loop(session.range(BODIES, 3), { place, speed }, ([b, axis], { place, speed }) => {
          place.set(b, axis, place.get(b, axis) + 0.1 * speed.get(b, axis))
        }),
      },
      rounds: 3,
    }),
    plain: ({ place, speed }) => {
      for (let round = 0; round < 3; round++) {
        for (let b = 0; b < BODIES; b++)
          for (let c = 0; c < BODIES; c++) {
            if (c === b) continue
            const d = [0, 1, 2].map((axis) => place[3 * c + axis]! - place[3 * b + axis]!)
            const square = d[0]! * d[0]! + d[1]! * d[1]! + d[2]! * d[2]! + 0.01
            const pull = 0.001 / (square * Math.sqrt(square))
            for (let axis = 0; axis < 3; axis++) speed[3 * b + axis]! += pull * d[axis]!
          }
        for (let p = 0; p < BODIES * 3; p++) place[p]! += 0.1 * speed[p]!
      }
    },
  }),
  entry({
    name: 'N-body by pairs',
    what: 'a pair of bodies an iteration: both feel the force',
    data: { place: random([BODIES], 19), speed: zeros([BODIES]) },
    loops: (session, { place, speed }) => ({
      loops: {
        pairs: session.loop(
          session.range(BODIES, BODIES),
          { place, speed },
          ([b, c], { place, speed }) => {
            if (b >= c) return
            const pull = 0.001 * (place.get(c) - place.get(b))
            speed.set(b, speed.get(b) + pull)
            speed.set(c, speed.get(c) - pull)
          },
          { order: 'any' },
        ),
      },
    }),
    plain: ({ place, speed }, { pairs = [] }) => {
      for (const [b = 0, c = 0] of pairs) {
        if (b >= c) continue
        const pull = 0.001 * (place[c]! - place[b]!)
        speed[b]! += pull
        speed[c]! -= pull
      }
    },
  }),
]
