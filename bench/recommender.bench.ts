/**
 * How much faster are parallel passes? One question, three runs of the same million ratings:
 *
 *     parallel   the session with all cores
 *     serial     the same session API with one worker
 *     plain      the body's arithmetic as a plain JavaScript loop over typed arrays, in key order
 *
 * Passes are interleaved (one of each, again and again), so that a slow minute of the machine hits all three; medians
 * and the median ratio are printed and kept as JSON in bench/results. Nothing is asserted.
 *
 *     npm run bench -- --rows 1000000 --rank 32 --passes 15 --workers 2
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Loop, Session } from 'distarray'
import { generateRatings, type Ratings } from '../examples/support/generateRatings.ts'
import { median, table } from './statistics.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { rows: text, rank: text, passes: text, workers: text } })
const rows = Number(values.rows ?? 1_000_000)
const K = Number(values.rank ?? 32)
const passes = Number(values.passes ?? 15)
const workers = Number(values.workers ?? availableParallelism())
const rate = 0.025
const penalty = 0.08
/** Passes before the clock counts: kernels are compiled, pages touched. */
const WARM_UP = 2

const ratings = generateRatings(rows)
const parallelSession = await Session.start({ workers, progress: false })
const serialSession = await Session.start({ workers: 1, progress: false })
const contenders: Readonly<Record<'parallel' | 'serial' | 'plain', () => Promise<number>>> = {
  parallel: passOf(await loopIn(parallelSession, ratings)),
  serial: passOf(await loopIn(serialSession, ratings)),
  plain: plainPass(ratings),
}

const times: { readonly [name in keyof typeof contenders]: number[] } = { parallel: [], serial: [], plain: [] }
for (let pass = 0; pass < passes + WARM_UP; pass++) {
  for (const name of ['parallel', 'serial', 'plain'] as const) {
    const milliseconds = await contenders[name]()
    if (pass >= WARM_UP) times[name].push(milliseconds)
  }
}
await parallelSession.stop()
await serialSession.stop()

const ratioToSerial = median(times.parallel.map((time, i) => time / (times.serial[i] ?? Number.NaN)))
const ratioToPlain = median(times.parallel.map((time, i) => time / (times.plain[i] ?? Number.NaN)))
console.log(
  `${rows} ratings, rank ${K}, ${passes} passes each, ${workers} workers, ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}`,
)
console.log(
  table(
    ['', 'median ms', 'fastest ms', 'ns per rating'],
    Object.entries(times).map(([name, list]) => {
      const middle = median(list)
      return [name, middle.toFixed(1), Math.min(...list).toFixed(1), ((middle * 1e6) / rows).toFixed(1)]
    }),
  ),
)
console.log(`parallel / serial  ${ratioToSerial.toFixed(3)}  (median of ${passes} ratios)`)
console.log(`parallel / plain   ${ratioToPlain.toFixed(3)}`)

const folder = join(dirname(fileURLToPath(import.meta.url)), 'results')
mkdirSync(folder, { recursive: true })
const result = { rows, rank: K, passes, workers, node: process.version, milliseconds: times, ratioToSerial, ratioToPlain }
writeFileSync(join(folder, 'recommender.json'), `${JSON.stringify(result, null, 2)}\n`)

async function loopIn(session: Session, { user, movie, stars }: Ratings): Promise<Loop> {
  const matrix = session
    .fromColumns({ user, movie, stars })
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)
  const [users, movies] = await matrix.shape()
  const W = session.random([users, K], { dtype: 'f32', scale: 0.1, seed: 1 })
  const H = session.random([movies, K], { dtype: 'f32', scale: 0.1, seed: 2 })
  const loss = session.accumulator('sum')
  return session.loop(
    matrix,
    { W, H, loss },
    (stars, [u, m], { W, H, loss }) => {
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
      loss.add(error * error)
    },
    { order: 'any' },
  )
}

function passOf(loop: Loop): () => Promise<number> {
  return async () => (await loop.run()).passes[0]?.milliseconds ?? Number.NaN
}

/** What one would write without the library. Generated ratings come user by user; movies are sorted for key order. */
function plainPass({ user, movie, stars }: Ratings): () => Promise<number> {
  const order = Int32Array.from(user.keys()).sort((a, b) => (user[a] ?? 0) - (user[b] ?? 0) || (movie[a] ?? 0) - (movie[b] ?? 0))
  const [us, ms, ss] = [order.map((i) => user[i] ?? 0), order.map((i) => movie[i] ?? 0), Float32Array.from(order, (i) => stars[i] ?? 0)]
  const start = (length: number, seed: number): Float32Array => Float32Array.from({ length }, (_, i) => 0.1 * Math.abs(Math.sin(i * seed)))
  const W = start((us.reduce((a, b) => Math.max(a, b), 0) + 1) * K, 12.9898)
  const H = start((ms.reduce((a, b) => Math.max(a, b), 0) + 1) * K, 78.233)
  return async () => {
    const started = performance.now()
    trainPlain(us, ms, ss, W, H)
    return performance.now() - started
  }
}

function trainPlain(us: Int32Array, ms: Int32Array, ss: Float32Array, W: Float32Array, H: Float32Array): number {
  let loss = 0
  for (let i = 0; i < us.length; i++) {
    const w = us[i]! * K
    const h = ms[i]! * K
    let predicted = 0
    for (let k = 0; k < K; k++) predicted += W[w + k]! * H[h + k]!
    const error = ss[i]! - predicted
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
