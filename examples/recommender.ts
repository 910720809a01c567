/**
 * A recommender: matrix factorization of movie ratings by stochastic gradient descent, in parallel and with the bits of
 * the serial program. `npm start` makes up a million ratings; `npm start -- --ratings FILE` takes yours.
 */
import type { DistArray, RowView, Session } from 'distarray'
import { compareRuns } from './support/compareRuns.ts'
import { type Rating, readRatings } from './support/readRatings.ts'
import type { Recommender } from './support/training.ts'

const rate = 0.025
const penalty = 0.08

await compareRuns(recommender)

async function recommender(session: Session, file: string, K: number): Promise<Recommender> {
  // Load: users and movies become keys; every tenth row is held out.
  const rows = await readRatings(session, file)
  const matrix = (part: DistArray<Rating>) => part.index((r) => [r.user, r.movie], { combine: (_, last) => last }).map((r) => r.stars)
  const [users, movies] = await matrix(rows).shape()
  const ratings = matrix(rows.filter((_, [row]) => row % 10 !== 9))
  const heldOut = matrix(rows.filter((_, [row]) => row % 10 === 9))
  const average = (await ratings.mean()) ?? 0

  // Model: a bias and K numbers for each user and each movie.
  const W = session.random([users, K], { dtype: 'f32', distribution: 'normal', scale: 0.1, seed: 1 })
  const H = session.random([movies, K], { dtype: 'f32', distribution: 'normal', scale: 0.1, seed: 2 })
  const U = session.zeros([users], { dtype: 'f32' })
  const M = session.zeros([movies], { dtype: 'f32' })
  const env = { W, H, U, M, loss: session.accumulator('sum') }
  const predict = (w: RowView, h: RowView, bias: number): number => {
    let sum = average + bias
    for (let k = 0; k < K; k++) sum += w.get(k) * h.get(k)
    return sum
  }

  // Loop: one step of gradient descent for each rating; and the same without the step.
  const sgd = session.loop(
    ratings,
    env,
    (stars, [u, m], { W, H, U, M, loss }) => {
      const w = W.row(u)
      const h = H.row(m)
      const error = stars - predict(w, h, U.get(u) + M.get(m))
      U.add(u, rate * (error - penalty * U.get(u)))
      M.add(m, rate * (error - penalty * M.get(m)))
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        w.add(k, rate * (error * h.get(k) - penalty * wk))
        h.add(k, rate * (error * wk - penalty * h.get(k)))
      }
      loss.add(error * error)
    },
    { order: 'any', name: 'sgd' },
  )
  const test = session.loop(heldOut, env, (stars, [u, m], { W, H, U, M, loss }) => {
    loss.add((stars - predict(W.row(u), H.row(m), U.get(u) + M.get(m))) ** 2)
  })
  return { ratings, sgd, test, model: [W, H, U, M] }
}
