/** A pass of stochastic gradient descent over ratings, in any order. */
import type { LoopOptions, Session } from 'distarray'
import { dense, filled, type KernelQuestion, type Program, scattered } from './question.ts'

export interface Size {
  readonly users: number
  readonly movies: number
  /** Ratings by each user. */
  readonly perUser: number
  /** As `KernelQuestion` has it. */
  readonly passes?: number
}

const rate = 0.001
const penalty = 0.08

export function factorization(name: string, dtype: 'f32' | 'f64', K: number, size: Size): KernelQuestion {
  const { users, movies, perUser, passes = 1 } = size
  const ratings = ratingsOf(size)
  return {
    name,
    passes,
    unit: 'rating',
    units: users * perUser,
    native: [`factorization-${dtype}`, K, users, movies, perUser],
    isNativeParallel: true,
    order: 'any',
    program: (session, precision) => sgd(session, { dtype, K, size, ratings, precision }),
    plain: () => {
      const [w, h] = [filled(users * K, 17), filled(movies * K, 13)]
      const [W, H] = dtype === 'f32' ? [Float32Array.from(w), Float32Array.from(h)] : [w, h]
      return { pass: () => trainPlain(ratings, K, W, H), results: [W, H] }
    },
  }
}

interface Ratings {
  readonly user: Int32Array
  readonly movie: Int32Array
  readonly stars: Float64Array
}

function ratingsOf({ users, movies, perUser }: Size): Ratings {
  const count = users * perUser
  const movie = new Int32Array(count)
  for (let u = 0; u < users; u++) {
    const of = movie.subarray(u * perUser, (u + 1) * perUser)
    for (let j = 0; j < perUser; j++) of[j] = perUser === movies ? j : (scattered(u, movies) + j * 77777) % movies
    of.sort()
  }
  const user = Int32Array.from({ length: count }, (_, i) => Math.floor(i / perUser))
  return { user, movie, stars: Float64Array.from({ length: count }, (_, i) => i % 5) }
}

interface Job {
  readonly dtype: 'f32' | 'f64'
  readonly K: number
  readonly size: Size
  readonly ratings: Ratings
  readonly precision: NonNullable<LoopOptions['precision']>
}

async function sgd(session: Session, { dtype, K, size, ratings, precision }: Job): Promise<Program> {
  const matrix = session
    .fromColumns({ user: ratings.user, movie: ratings.movie, stars: ratings.stars })
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)
  const W = await dense(session, [size.users, K], dtype, filled(size.users * K, 17))
  const H = await dense(session, [size.movies, K], dtype, filled(size.movies * K, 13))
  const loop = session.loop(
    matrix,
    { W, H },
    (stars, [u, m], { W, H }) => {
      const w = W.row(u)
      const h = H.row(m)
      let predicted = 0
      for (let k = 0; k < K; k++) predicted += w.get(k) * h.get(k)
      const error = stars - predicted
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        const hk = h.get(k)
        w.set(k, wk + rate * (error * hk - penalty * wk))
        h.set(k, hk + rate * (error * wk - penalty * hk))
      }
    },
    { order: 'any', precision },
  )
  return { loops: [loop], results: [W, H], arrays: [W, H, matrix] }
}

function trainPlain({ user, movie, stars }: Ratings, K: number, W: Float32Array | Float64Array, H: Float32Array | Float64Array): void {
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
  }
}
