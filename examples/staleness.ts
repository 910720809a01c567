/**
 * What late updates cost: a factorization of ratings, once with its dependences kept, and as data-parallel training, where everybody
 * reads what there was some rounds ago. Prints the error (RMSE) after every third pass, and draws it against passes and against time.
 */
import { type DistArray, type Loop, Session } from 'distarray'
import { generateRatings } from './support/generateRatings.ts'
import { type Line, writeLines } from './support/lineChart.ts'

const K = 8
const rate = 0.03
const penalty = 0.05
const passes = 12

await using session = await Session.start()
const ratings = session
  .fromColumns({ ...generateRatings(50_000) })
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
  'flushed 32 times': training(late({ flushes: 32 })),
  '32 times, 4 late': training(late({ flushes: 32, staleness: 4 })),
  '32 times, 16 late': training(late({ flushes: 32, staleness: 16 })),
  '32 times, 12 kB': training(late({ flushes: 32, budget: 12_000 })),
  'flushed once': training(late({})),
}

const lines: (Line & { readonly at: readonly number[] })[] = []
for (const [name, loop] of Object.entries(programs)) {
  const values: number[] = []
  const at: number[] = []
  let waited = 0
  for await (const pass of loop.passes(passes)) {
    values.push(Math.sqrt((pass.accumulators.loss ?? Number.NaN) / pass.iterations))
    at.push((at.at(-1) ?? 0) + pass.milliseconds / 1000)
    waited += pass.delayed ?? 0
  }
  lines.push({ name, values, at })
  const { identical } = await loop.verify()
  const errors = values.filter((_, i) => i % 3 === 2).map((value) => (value < 10 ? value.toFixed(3) : 'lost!'))
  const told = `${loop.plan.schedule.kind}, ${identical ? 'the bits of its serial program' : 'OTHER BITS'}`
  console.log(`${name.padEnd(18)} ${errors.join('  ')}   ${told}${waited > 0 ? `, ${waited} waits` : ''}`)
}
writeLines(
  'staleness-passes.svg',
  { title: 'Error against passes', along: 'pass' },
  lines.map(({ name, values }) => ({ name, values })),
)
writeLines('staleness-seconds.svg', { title: 'Error against time', along: 'seconds' }, lines)

// prints:
// dependences kept   1.116  0.947  0.827  0.766   2d, the bits of its serial program
// flushed 32 times   1.127  0.965  0.828  0.807   independent, the bits of its serial program
// 32 times, 4 late   1.128  0.973  0.832  1.081   independent, the bits of its serial program
// 32 times, 16 late  1.131  0.989  0.841  0.875   independent, the bits of its serial program
// 32 times, 12 kB    1.127  0.968  0.829  0.871   independent, the bits of its serial program, 2049393 waits
// flushed once       1.133  1.002  3.176  lost!   independent, the bits of its serial program
