/**
 * How fast are whole passes of matrix factorization? A million ratings at rank 32, and 2.7 million ratings of 50,000 users
 * and 5,000 movies at rank 32 and 128; f32, in any order.
 *
 *     exact, fast    the library with one worker, by precision; x2: with two workers
 *     plain          the body's arithmetic as a plain JavaScript loop over typed arrays, in key order: a process of its own
 *     libmf          LIBMF on as many threads, with AdaGrad; absent unless LIBMF names the folder of its mf.h and mf.cpp, as
 *                    `pip download --no-binary :all: libmf` brings them
 *
 * The million is verified before anything is measured: the result has the bits of plain JavaScript in the loop's serial
 * order. After the rounds the matrices of 1 and of all workers must have the same bits.
 *
 *     npm run bench -- recommender --rows 1000000 --rank 32 --workers 2
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DistArray, type Loop, Session } from 'distarray'
import { generateRatings, type Ratings } from '../examples/support/generateRatings.ts'
import { assertSame, type Pass, suite, timed } from './harness.ts'
import { compiled, startNative, startScript } from './native.ts'

const bench = suite('recommender', { rows: 0, rank: 0, workers: availableParallelism() })
const { busy } = bench
const { workers } = bench.options
/** Names of contenders: as many workers or threads as were asked for. */
const [exactAll, fastAll, libmfAll] = [`exact x${workers}`, `fast x${workers}`, `libmf x${workers}`]
const rate = 0.025
const penalty = 0.08
/** Verifying takes longer than all passes together. */
const VERIFIED = 1_000_000

const libmf =
  process.env.LIBMF === undefined
    ? undefined
    : compiled('libmf.cpp', ['-fopenmp', '-pthread', '-DUSEOMP', '-DUSEAVX', `-I${process.env.LIBMF}`])
const folder = mkdtempSync(join(tmpdir(), 'distarray-bench-'))
const parallel = await Session.start({ workers, progress: false })
const serial = await Session.start({ workers: 1, progress: false })

const { rows, rank } = bench.options
if (rows > 0 || rank > 0) await whole(`${rows || 1_000_000} ratings`, [rows || 1_000_000], [rank || 32])
else {
  await whole('1 M ratings', [1_000_000], [32])
  if (!bench.quick) await whole('2.7 M ratings', [2_700_000, 50_000, 5_000], [32, 128])
}
rmSync(folder, { recursive: true })
await parallel.stop()
await serial.stop()
bench.finish()

interface Factorization {
  readonly loop: Loop
  readonly W: DistArray<number, readonly [number, number]>
  readonly H: DistArray<number, readonly [number, number]>
}

type Size = readonly [ratings: number, users?: undefined] | readonly [ratings: number, users: number, movies: number]

/** `size`: ratings, and users and movies where these are not as many as usual. */
async function whole(name: string, size: Size, ranks: readonly number[]): Promise<void> {
  const [count, users, movies] = size
  const ratings = generateRatings(count, users === undefined ? undefined : { users, movies })
  const matrices = { parallel: matrixIn(parallel, ratings), serial: matrixIn(serial, ratings) }
  for (const K of ranks) {
    const question = `${name}, rank ${K}`
    if (!bench.wanted(question)) continue
    const exact = { parallel: await sgd(parallel, matrices.parallel, K, 'exact'), serial: await sgd(serial, matrices.serial, K, 'exact') }
    const fast = { parallel: await sgd(parallel, matrices.parallel, K, 'fast'), serial: await sgd(serial, matrices.serial, K, 'fast') }
    if (ratings.stars.length <= VERIFIED) {
      const checked = await exact.parallel.loop.verify()
      if (!checked.identical) throw new Error(`${question}: ${JSON.stringify(checked.firstDifference)}`)
    }
    const plain = startScript('plainFactorization.ts', [K, ...size.flatMap((extent) => extent ?? [])], busy)
    const peer = busy ? undefined : startNative(libmf, [libmf === undefined ? '' : fileOf(ratings), K], { threads: workers })
    await bench.ask({
      name: question,
      unit: 'rating',
      units: ratings.stars.length,
      contenders: {
        exact: passOf(exact.serial.loop),
        [exactAll]: busy ? undefined : passOf(exact.parallel.loop),
        fast: passOf(fast.serial.loop),
        [fastAll]: busy ? undefined : passOf(fast.parallel.loop),
        plain: plain.pass,
        [libmfAll]: peer?.pass,
      },
      peers: ['exact', 'fast', 'plain', libmfAll],
    })
    plain.stop()
    peer?.stop()
    for (const both of [exact, fast]) {
      for (const array of ['W', 'H'] as const) {
        if (!busy) assertSame(question, await valuesOf(both.parallel[array]), await valuesOf(both.serial[array]))
        await Promise.all([both.parallel[array].release(), both.serial[array].release()])
      }
    }
  }
}

function matrixIn(session: Session, { user, movie, stars }: Ratings) {
  return session
    .fromColumns({ user, movie, stars })
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)
}

async function sgd(session: Session, matrix: ReturnType<typeof matrixIn>, K: number, precision: 'exact' | 'fast'): Promise<Factorization> {
  const [users, movies] = await matrix.shape()
  const W = session.random([users, K], { dtype: 'f32', scale: 0.1, seed: 1 })
  const H = session.random([movies, K], { dtype: 'f32', scale: 0.1, seed: 2 })
  const loss = session.accumulator('sum')
  const loop = session.loop(
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
    { order: 'any', precision },
  )
  return { loop, W, H }
}

function passOf(loop: Loop): Pass {
  return timed(() => loop.run())
}

/** The ratings as LIBMF's program reads them: user, movie and stars of each. */
function fileOf({ user, movie, stars }: Ratings): string {
  const triples = new DataView(new ArrayBuffer(12 * stars.length))
  for (let i = 0; i < stars.length; i++) {
    triples.setInt32(12 * i, user[i] ?? 0, true)
    triples.setInt32(12 * i + 4, movie[i] ?? 0, true)
    triples.setFloat32(12 * i + 8, stars[i] ?? 0, true)
  }
  const file = join(folder, 'ratings.bin')
  writeFileSync(file, triples)
  return file
}

async function valuesOf(array: Factorization['W']): Promise<Float32Array> {
  return (await array.toTypedArray()) as Float32Array // made as f32
}
