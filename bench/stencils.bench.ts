/**
 * Do stencils run faster on more workers, in key order? Two loops, three runs of each:
 *
 *     gauss-seidel     20 sweeps over 2,000 x 2,000 in place, as range(20, n, n): a skewed schedule
 *     smith-waterman   scores of 8,000 x 8,000: a wavefront
 *
 *     parallel   the session with all cores
 *     serial     the same session API with one worker
 *     plain      plain JavaScript over typed arrays, in key order
 *
 * Passes are interleaved, so that a slow minute of the machine hits all three; medians and the median ratio are printed and
 * kept as JSON in bench/results. Nothing is asserted.
 *
 *     npx tsx bench/stencils.bench.ts --side 2000 --sweeps 20 --letters 8000 --passes 7 --workers 2
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Loop, Session } from 'distarray'
import { median, table } from './statistics.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { side: text, sweeps: text, letters: text, passes: text, workers: text } })
const n = Number(values.side ?? 2000)
const sweeps = Number(values.sweeps ?? 20)
const letters = Number(values.letters ?? 8000)
const passes = Number(values.passes ?? 7)
const workers = Number(values.workers ?? availableParallelism())
/** Passes before the clock counts: kernels are compiled, pages touched. */
const WARM_UP = 1

type Contender = 'parallel' | 'serial' | 'plain'
const NAMES: readonly Contender[] = ['parallel', 'serial', 'plain']

const parallelSession = await Session.start({ workers, progress: false })
const serialSession = await Session.start({ workers: 1, progress: false })
const s = Uint8Array.from({ length: letters }, (_, i) => (i * 7919) % 4)
const t = Uint8Array.from({ length: letters }, (_, i) => (i * 104_729 + (i >> 3)) % 4)

console.log(`${workers} workers, ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}`)
const results = {
  'gauss-seidel': await measured({
    parallel: passOf(await gaussSeidel(parallelSession)),
    serial: passOf(await gaussSeidel(serialSession)),
    plain: plainGaussSeidel(),
  }),
  'smith-waterman': await measured({
    parallel: passOf(await smithWaterman(parallelSession)),
    serial: passOf(await smithWaterman(serialSession)),
    plain: plainSmithWaterman(),
  }),
}
await parallelSession.stop()
await serialSession.stop()
for (const [name, { milliseconds, ratioToSerial, ratioToPlain }] of Object.entries(results)) {
  console.log(`\n${name}`)
  console.log(
    table(
      ['', 'median ms', 'fastest ms'],
      NAMES.map((one) => [one, median(milliseconds[one]).toFixed(1), Math.min(...milliseconds[one]).toFixed(1)]),
    ),
  )
  console.log(`parallel / serial  ${ratioToSerial.toFixed(3)}  (median of ${passes} ratios)`)
  console.log(`parallel / plain   ${ratioToPlain.toFixed(3)}`)
}

const folder = join(dirname(fileURLToPath(import.meta.url)), 'results')
mkdirSync(folder, { recursive: true })
const result = { side: n, sweeps, letters, passes, workers, node: process.version, results }
writeFileSync(join(folder, 'stencils.json'), `${JSON.stringify(result, null, 2)}\n`)

interface Measured {
  readonly milliseconds: Readonly<Record<Contender, number[]>>
  readonly ratioToSerial: number
  readonly ratioToPlain: number
}

async function measured(contenders: Readonly<Record<Contender, () => Promise<number>>>): Promise<Measured> {
  const milliseconds: Record<Contender, number[]> = { parallel: [], serial: [], plain: [] }
  for (let pass = 0; pass < passes + WARM_UP; pass++) {
    for (const name of NAMES) {
      const time = await contenders[name]()
      if (pass >= WARM_UP) milliseconds[name].push(time)
    }
  }
  const ratioTo = (other: Contender) => median(milliseconds.parallel.map((time, i) => time / (milliseconds[other][i] ?? Number.NaN)))
  return { milliseconds, ratioToSerial: ratioTo('serial'), ratioToPlain: ratioTo('plain') }
}

function passOf(loop: Loop): () => Promise<number> {
  return async () => (await loop.run()).passes[0]?.milliseconds ?? Number.NaN
}

async function gaussSeidel(session: Session): Promise<Loop> {
  const A = session.random([n + 2, n + 2], { seed: 1 })
  return session.loop(session.range(sweeps, n, n), { A }, ([_sweep, i, j], { A }) => {
    A.set(i + 1, j + 1, 0.25 * (A.get(i, j + 1) + A.get(i + 2, j + 1) + A.get(i + 1, j) + A.get(i + 1, j + 2)))
  })
}

function plainGaussSeidel(): () => Promise<number> {
  const width = n + 2
  const A = Float64Array.from({ length: width * width }, (_, i) => Math.abs(Math.sin(i)))
  return async () => {
    const started = performance.now()
    sweepPlain(A, width)
    return performance.now() - started
  }
}

function sweepPlain(A: Float64Array, width: number): void {
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (let i = 1; i <= n; i++) {
      for (let p = i * width + 1, end = p + n; p < end; p++)
        A[p] = 0.25 * ((A[p - width] as number) + (A[p + width] as number) + (A[p - 1] as number) + (A[p + 1] as number)) // inside
    }
  }
}

async function smithWaterman(session: Session): Promise<Loop> {
  const H = session.zeros([letters + 1, letters + 1], { dtype: 'i32' })
  return session.loop(session.range(letters, letters), { H, s, t }, ([i, j], { H, s, t }) => {
    const match = H.get(i, j) + (s[i] === t[j] ? 3 : -3)
    const gap = Math.max(H.get(i, j + 1), H.get(i + 1, j)) - 2
    H.set(i + 1, j + 1, Math.max(0, match, gap))
  })
}

function plainSmithWaterman(): () => Promise<number> {
  const width = letters + 1
  const H = new Int32Array(width * width)
  return async () => {
    const started = performance.now()
    scorePlain(H, width)
    return performance.now() - started
  }
}

function scorePlain(H: Int32Array, width: number): void {
  for (let i = 0; i < letters; i++) {
    for (let j = 0, p = i * width; j < letters; j++, p++) {
      const match = (H[p] as number) + (s[i] === t[j] ? 3 : -3) // inside, as the next two
      const gap = Math.max(H[p + 1] as number, H[p + width] as number) - 2
      H[p + width + 1] = Math.max(0, match, gap)
    }
  }
}
