/**
 * What one would write without the library for recommender.bench.ts: a process of its own, as such a program would be. It speaks as
 * programs of bench/native do.
 *
 *     tsx bench/plainFactorization.ts RANK RATINGS [USERS MOVIES]
 */
import { generateRatings, type Ratings } from '../examples/support/generateRatings.ts'
import { answer } from './answers.ts'

const [rank = 0, ratings = 0, users, movies] = process.argv.slice(2).map(Number)
const rate = 0.025
const penalty = 0.08

const extents = users === undefined || movies === undefined ? undefined : { users, movies }
await answer(...plainPass(generateRatings(ratings, extents), rank))

/** Generated ratings come user by user; movies are sorted for key order. */
function plainPass({ user, movie, stars }: Ratings, K: number): readonly [pass: () => number, results: readonly Float32Array[]] {
  const order = Int32Array.from(user.keys()).sort((a, b) => (user[a] ?? 0) - (user[b] ?? 0) || (movie[a] ?? 0) - (movie[b] ?? 0))
  const [us, ms, ss] = [order.map((i) => user[i] ?? 0), order.map((i) => movie[i] ?? 0), Float32Array.from(order, (i) => stars[i] ?? 0)]
  const start = (length: number, seed: number): Float32Array => Float32Array.from({ length }, (_, i) => 0.1 * Math.abs(Math.sin(i * seed)))
  const W = start((us.reduce((a, b) => Math.max(a, b), 0) + 1) * K, 12.9898)
  const H = start((ms.reduce((a, b) => Math.max(a, b), 0) + 1) * K, 78.233)
  return [() => trainPlain(K, { user: us, movie: ms, stars: ss }, W, H), [W, H]]
}

function trainPlain(K: number, { user, movie, stars }: Ratings, W: Float32Array, H: Float32Array): number {
  let loss = 0
  for (let i = 0; i < user.length; i++) {
    const w = user[i]! * K
    const h = movie[i]! * K
    let predicted = 0
    for (let k = 0; k < K; k++) predicted += W[w + k]! * H[h + k]!
    const error = stars[i]! - predicted
    for (let k = 0; k < K; k++) {
      const wk = W[w + k]!
      const hk = H[h + k]!
      W[w + k] = wk + rate * (error * hk - penalty * wk)
      H[h + k] = hk + rate * (error * wk - penalty * hk)
    }
    loss += error * error
  }
  return loss
}
