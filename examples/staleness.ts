/**
 * What late updates cost: a factorization of ratings, once with its dependences kept, and as data-parallel training, where everybody
 * reads what there was some rounds ago. Prints the error after each pass, and draws it against passes and against time in
 * staleness.svg.
 */
import { type DistArray, type Loop, Session } from 'distarray'
import { generateRatings } from './support/generateRatings.ts'
import { type Line, writeLines } from './support/lineChart.ts'

const K = 16
const rate = 0.008
const penalty = 0.05
const passes = 10

await using session = await Session.start()
const ratings = session
  .fromColumns({ ...generateRatings(200_000) })
  .index((r) => [r.user - 1, r.movie - 1])
  .map((r) => r.stars)
  .materialize()
const [users, movies] = await ratings.shape()
type Matrix = DistArray<number, readonly [number, number]>

/** One pass of stochastic gradient descent; `W` and `H` are the arrays themselves, or buffers of them. */
function training(view: (matrix: Matrix) => Matrix): Loop {
  const [W, H] = [matrixOf(users, 1), matrixOf(movies, 2)]
  return session.loop(
    ratings,
    { W: view(W), H: view(H), loss: session.accumulator('sum') },
    (stars, [u, m], { W, H, loss }) => {
      const [w, h] = [W.row(u), H.row(m)]
      let predicted = 3.5
      for (let k = 0; k < K; k++) predicted += w.get(k) * h.get(k)
      const error = stars - predicted
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        w.add(k, rate * (error * h.get(k) - penalty * wk))
        h.add(k, rate * (error * wk - penalty * h.get(k)))
      }
      loss.add(error * error)
    },
    { order: 'any' },
  )
}

function matrixOf(rows: number, seed: number): Matrix {
  return session.random([rows, K], { distribution: 'normal', scale: 0.2, seed })
}

const late = (options: Parameters<Matrix['buffer']>[0]) => (matrix: Matrix) => matrix.buffer(options) as unknown as Matrix
const programs: Readonly<Record<string, Loop>> = {
  'dependences kept': training((matrix) => matrix),
  'flushed 64 times': training(late({ flushes: 64 })),
  '64 times, 4 late': training(late({ flushes: 64, staleness: 4 })),
  '64 times, 16 late': training(late({ flushes: 64, staleness: 16 })),
  '64 times, 60 kB': training(late({ flushes: 64, budget: 60_000 })),
  'x once': training(late({})),
}

const lines: (Line & { readonly seconds: readonly number[] })[] = []
for (const [name, loop] of Object.entries(programs)) {
  const values: number[] = []
  const seconds: number[] = []
  let delayed = 0
  for await (const pass of loop.passes(passes)) {
    values.push(Math.sqrt((pass.accumulators.loss ?? Number.NaN) / pass.iterations))
    seconds.push((seconds.at(-1) ?? 0) + pass.milliseconds / 1000)
    delayed += pass.delayed ?? 0
  }
  lines.push({ name, values, seconds })
  const { identical } = await loop.verify()
  const told = [
    loop.plan.schedule.kind,
    `bit-identical: ${identical ? 'yes' : 'no'}`,
    ...(delayed > 0 ? [`${delayed} updates waited`] : []),
  ]
  console.log(
    `${name.padEnd(18)} ${values.map((value) => value.toFixed(3)).join(' ')}  ${((1000 * (seconds.at(-1) ?? 0)) / passes).toFixed(0)} ms a pass, ${told.join(', ')}`,
  )
}
