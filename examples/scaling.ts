/**
 * A pass against machines: a factorization of ratings, measured with 1, 2, … workers of this one, and foreseen for machines that are
 * not there: Netflix's 480,189 users and 17,770 movies at rank 1000 on up to 8 nodes of 16 threads. Prints two tables, and draws
 * both in scaling.svg.
 */
import { availableParallelism } from 'node:os'
import { type Loop, Session } from 'distarray'
import { generateRatings } from './support/generateRatings.ts'
import { writeLines } from './support/lineChart.ts'

const rows = Number(process.argv[2] ?? 1_000_000)

interface Shape {
  readonly users: number
  readonly movies: number
  readonly rank: number
}

function factorization(session: Session, { users, movies, rank }: Shape): Loop {
  const ratings = session
    .fromColumns({ ...generateRatings(rows, { users, movies }) })
    .index((r) => [r.user - 1, r.movie - 1], { shape: [users, movies] })
    .map((r) => r.stars)
  const W = session.random([users, rank], { dtype: 'f32', scale: 0.1, seed: 1 })
  const H = session.random([movies, rank], { dtype: 'f32', scale: 0.1, seed: 2 })
  return session.loop(
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
}

const measured: number[] = []
const counts = Array.from({ length: availableParallelism() }, (_, i) => i + 1)
for (const workers of counts) {
  await using session = await Session.start({ workers })
  const loop = factorization(session, { users: 6_000, movies: 4_000, rank: 32 })
  const { passes } = await loop.run({ passes: 6 })
  measured.push(Math.min(...passes.map(({ milliseconds }) => milliseconds)))
  console.log(`${workers} of this machine's workers: ${measured.at(-1)?.toFixed(0)} ms a pass`)
}

const foreseen: number[] = []
const nodes = [1, 2, 4, 8]
await using session = await Session.start()
const loop = factorization(session, { users: 480_189, movies: 17_770, rank: 1000 })
for (const count of nodes) {
  const machines = { nodes: count, threads: 16, bandwidth: '10Gbit', latency: 0.05 } as const
  const { milliseconds, waitingMilliseconds, bytes } = await loop.simulate(machines)
  foreseen.push(milliseconds)
  console.log(
    `${count} nodes of 16 threads: ${milliseconds.toFixed(0)} ms a pass, of which threads wait ${waitingMilliseconds.toFixed(0)}; ${(bytes / 1e6).toFixed(0)} MB are sent`,
  )
}
console.log(`(${rows.toLocaleString('en')} ratings; nodes as fast as this machine, 10 Gbit a second, 0.05 ms)`)
writeLines('scaling.svg', { title: 'Milliseconds a pass', along: 'workers, or nodes of 16' }, [
  { name: 'measured here, rank 32', values: measured, at: counts },
  { name: 'foreseen, Netflix at rank 1000', values: foreseen, at: nodes },
])
