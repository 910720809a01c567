/**
 * A program of `gang.bench.ts`, alone or as one of the processes of a gang:
 *
 *     distarray run --processes 2 -- node --import tsx bench/gangPass.ts '{"program":"rounds","samples":100000,"workers":1,"passes":6,"folder":"/tmp/x"}'
 *
 * Rank 0 prints what its passes took, and a digest of the arrays that they left.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DistArray, type Loop, Session } from 'distarray'
import { generateRatings } from '../examples/support/generateRatings.ts'

export interface GangPass {
  readonly program: 'factorization' | 'rounds' | 'killed' | 'frozen'
  /** Ratings, or clicks. */
  readonly samples: number
  readonly workers: number
  readonly passes: number
  /** Where processes leave their numbers. */
  readonly folder: string
}

export interface GangFigures {
  readonly milliseconds: readonly number[]
  readonly digest: number
  /** What `explain()` says of processes. */
  readonly processes: string
  /** From a signal to the event that says so, and to the end of the first pass that was begun after it. */
  readonly noticedMs?: number
  readonly againMs?: number
}

const given = JSON.parse(process.argv[2] ?? '') as GangPass // of the bench
const { program, samples, workers, passes, folder } = given
writeFileSync(join(folder, `pid${process.env.DA_RANK ?? 0}`), String(process.pid))
const session = await Session.start({ workers, progress: false, checkRaces: false })
const { loop, arrays } = program === 'rounds' ? logistic() : factorization()

const times: number[] = []
const lost: { sent?: number; noticed?: number; again?: number } = {}
session.events.subscribe((event) => {
  if (event.kind === 'process' && event.phase === 'lost') lost.noticed ??= performance.now()
})
for await (const { number, milliseconds } of loop.passes(passes)) {
  times.push(milliseconds)
  if (lost.sent !== undefined) lost.again ??= performance.now()
  if (number !== 3 || (program !== 'killed' && program !== 'frozen')) continue
  lost.sent = performance.now()
  process.kill(pidOfFirst(), program === 'killed' ? 'SIGKILL' : 'SIGSTOP')
}
let digest = 7
for (const array of arrays) {
  const bytes = new Uint8Array(Float64Array.from((await array.toTypedArray()) as Float64Array).buffer) // numbers
  digest = bytes.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, digest)
}
const { sent = 0, noticed, again } = lost
const figures: GangFigures = {
  milliseconds: times,
  digest,
  processes: loop.plan.execution.processes?.because ?? '',
  ...(noticed === undefined ? {} : { noticedMs: noticed - sent }),
  ...(again === undefined ? {} : { againMs: again - sent }),
}
console.log(JSON.stringify(figures))
if (program === 'frozen') process.kill(pidOfFirst(), 'SIGKILL') // it would never end
await session.stop()

/** Of rank 1. */
function pidOfFirst(): number {
  return Number(readFileSync(join(folder, 'pid1'), 'utf8'))
}

interface Program {
  readonly loop: Loop
  readonly arrays: readonly DistArray<number, readonly number[]>[]
}

/** Of ratings, at rank 32, with its dependences kept: a 2d schedule, whose columns go round. */
function factorization(): Program {
  const rank = 32
  const [users, movies] = [6_000, 4_000]
  const ratings = session
    .fromColumns({ ...generateRatings(samples, { users, movies }) })
    .index((r) => [r.user - 1, r.movie - 1], { shape: [users, movies] })
    .map((r) => r.stars)
  const W = session.random([users, rank], { scale: 0.1, seed: 1 })
  const H = session.random([movies, rank], { scale: 0.1, seed: 2 })
  const loop = session.loop(
    ratings,
    { W, H },
    (stars, [u, m], { W, H }) => {
      const [w, h] = [W.row(u), H.row(m)]
      let error = stars - 3.5
      for (let k = 0; k < rank; k++) error -= w.get(k) * h.get(k)
      for (let k = 0; k < rank; k++) {
        const wk = w.get(k)
        w.add(k, 0.01 * error * h.get(k))
        h.add(k, 0.01 * error * wk)
      }
    },
    { order: 'any' },
  )
  return { loop, arrays: [W, H] as unknown as Program['arrays'] }
}

/** Sparse logistic regression, data-parallel: weights in a buffer that is flushed sixteen times in a pass. */
function logistic(): Program {
  const [features, each] = [5_000, 20]
  const feature = session.random([samples, each], { seed: 1 }).map((x, [i]) => Math.floor((x + (i % 2)) * (features / 2)))
  const clicked = session.random([samples], { seed: 2 }).map((x, [i]) => (x < 0.1 + 0.8 * (i % 2) ? 1 : 0))
  const weights = session.zeros([features])
  const w = weights.buffer({ flushes: 16 })
  const loop = session.loop(session.range(samples), { feature, clicked, w }, ([i], { feature, clicked, w }) => {
    let margin = 0
    for (let k = 0; k < each; k++) margin += w.get(feature.get(i, k))
    const p = 1 / (1 + Math.exp(-margin))
    for (let k = 0; k < each; k++) w.add(feature.get(i, k), 0.01 * (clicked.get(i) - p))
  })
  return { loop, arrays: [weights] as unknown as Program['arrays'] }
}
