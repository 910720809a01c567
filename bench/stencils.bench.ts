/**
 * Do stencils and tables run faster on more workers, in key order?
 *
 *     gauss-seidel     20 sweeps over 2,000 x 2,000 in place, as range(20, n, n): a skewed schedule
 *     smith-waterman   scores of 8,000 x 8,000: a wavefront
 *     floyd-warshall   shortest ways between 500 places, as range(500, 500, 500): a step for each place on the way
 *     viterbi          400 observations of 400 states: a step for each observation
 *
 *     parallel   the session with all cores
 *     serial     the same session API with one worker
 *     plain      plain JavaScript over typed arrays, in key order
 *
 * All three must end with the same bits.
 *
 *     npm run bench -- stencils --side 2000 --sweeps 20 --letters 8000 --places 500 --states 400 --workers 2
 */
import { availableParallelism } from 'node:os'
import { type DistArray, type Loop, Session } from 'distarray'
import { assertSame, type Pass, suite, timed } from './harness.ts'

const bench = suite('stencils', { side: 0, sweeps: 0, letters: 0, places: 0, states: 0, workers: availableParallelism() })
const n = bench.options.side || (bench.quick ? 1000 : 2000)
const sweeps = bench.options.sweeps || (bench.quick ? 10 : 20)
const letters = bench.options.letters || (bench.quick ? 3000 : 8000)
const places = bench.options.places || (bench.quick ? 300 : 500)
const states = bench.options.states || (bench.quick ? 300 : 400)

const parallel = await Session.start({ workers: bench.options.workers, progress: false })
const serial = await Session.start({ workers: 1, progress: false })
const s = Uint8Array.from({ length: letters }, (_, i) => (i * 7919) % 4)
const t = Uint8Array.from({ length: letters }, (_, i) => (i * 104_729 + (i >> 3)) % 4)

if (bench.wanted('gauss-seidel')) await compare('gauss-seidel', sweeps * n * n, gaussSeidel, plainGaussSeidel)
if (bench.wanted('smith-waterman')) await compare('smith-waterman', letters * letters, smithWaterman, plainSmithWaterman)
if (bench.wanted('floyd-warshall')) await compare('floyd-warshall', places ** 3, floydWarshall, plainFloydWarshall)
if (bench.wanted('viterbi')) await compare('viterbi', states ** 3, viterbi, plainViterbi)
await parallel.stop()
await serial.stop()
bench.finish()

interface Stencil {
  readonly loop: Loop
  /** What the loop writes. */
  readonly array: DistArray<number, readonly [number, number]>
}

async function compare(
  name: string,
  units: number,
  stencil: (session: Session) => Stencil,
  plain: (array: Float64Array | Int32Array) => void,
) {
  const [many, one] = [stencil(parallel), stencil(serial)]
  const own = (await one.array.toTypedArray()) as Float64Array | Int32Array // the types that the stencils ask for
  const contenders = { parallel: passOf(many.loop), serial: passOf(one.loop), plain: timed(() => plain(own)) }
  await bench.ask({ name, unit: 'element', units, peers: ['serial', 'plain'], contenders, notes: [many.loop.plan.schedule.kind] })
  assertSame(`${name}, parallel against plain`, (await many.array.toTypedArray()) as Float64Array | Int32Array, own)
  assertSame(`${name}, serial against plain`, (await one.array.toTypedArray()) as Float64Array | Int32Array, own)
  await Promise.all([many.array.release(), one.array.release()])
}

function passOf(loop: Loop): Pass {
  return async () => (await loop.run()).passes[0]?.milliseconds ?? Number.NaN
}

function gaussSeidel(session: Session): Stencil {
  const A = session.random([n + 2, n + 2], { seed: 1 })
  const loop = session.loop(session.range(sweeps, n, n), { A }, ([_sweep, i, j], { A }) => {
    A.set(i + 1, j + 1, 0.25 * (A.get(i, j + 1) + A.get(i + 2, j + 1) + A.get(i + 1, j) + A.get(i + 1, j + 2)))
  })
  return { loop, array: A }
}

function plainGaussSeidel(A: Float64Array | Int32Array): void {
  const width = n + 2
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (let i = 1; i <= n; i++) {
      for (let p = i * width + 1, end = p + n; p < end; p++)
        A[p] = 0.25 * ((A[p - width] as number) + (A[p + width] as number) + (A[p - 1] as number) + (A[p + 1] as number)) // inside
    }
  }
}

function smithWaterman(session: Session): Stencil {
  const H = session.zeros([letters + 1, letters + 1], { dtype: 'i32' })
  const loop = session.loop(session.range(letters, letters), { H, s, t }, ([i, j], { H, s, t }) => {
    const match = H.get(i, j) + (s[i] === t[j] ? 3 : -3)
    const gap = Math.max(H.get(i, j + 1), H.get(i + 1, j)) - 2
    H.set(i + 1, j + 1, Math.max(0, match, gap))
  })
  return { loop, array: H }
}

function plainSmithWaterman(H: Float64Array | Int32Array): void {
  const width = letters + 1
  for (let i = 0; i < letters; i++) {
    for (let j = 0, p = i * width; j < letters; j++, p++) {
      const match = (H[p] as number) + (s[i] === t[j] ? 3 : -3) // inside, as the next two
      const gap = Math.max(H[p + 1] as number, H[p + width] as number) - 2
      H[p + width + 1] = Math.max(0, match, gap)
    }
  }
}

function floydWarshall(session: Session): Stencil {
  const D = session.random([places, places], { seed: 2 })
  const loop = session.loop(session.range(places, places, places), { D }, ([k, i, j], { D }) => {
    D.set(i, j, Math.min(D.get(i, j), D.get(i, k) + D.get(k, j)))
  })
  return { loop, array: D }
}

function plainFloydWarshall(D: Float64Array | Int32Array): void {
  for (let k = 0; k < places; k++) {
    for (let i = 0; i < places; i++) {
      for (let j = 0, p = i * places; j < places; j++, p++)
        D[p] = Math.min(D[p] as number, (D[i * places + k] as number) + (D[k * places + j] as number)) // inside
    }
  }
}

/** The cost of the best way to each state at each time: going on from state r costs more, the further away s is. */
function viterbi(session: Session): Stencil {
  const P = session.random([states + 1, states], { seed: 3 })
  const S = states
  const loop = session.loop(session.range(states, states), { P }, ([t, s], { P }) => {
    let best = 1e300
    for (let r = 0; r < S; r++) best = Math.min(best, P.get(t, r) + Math.abs(r - s) / S)
    P.set(t + 1, s, best)
  })
  return { loop, array: P }
}

function plainViterbi(P: Float64Array | Int32Array): void {
  for (let t = 0; t < states; t++) {
    for (let s = 0; s < states; s++) {
      let best = 1e300
      for (let r = 0; r < states; r++) best = Math.min(best, (P[t * states + r] as number) + Math.abs(r - s) / states) // inside
      P[(t + 1) * states + s] = best
    }
  }
}
