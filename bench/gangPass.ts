/**
 * A program of `gang.bench.ts`, alone or as one of the processes of a gang:
 *
 *     distarray run --processes 2 -- node --import tsx bench/gangPass.ts '{"program":"rounds","samples":100000,"workers":1,"passes":6,"folder":"/tmp/x"}'
 *
 * Rank 0 prints what its passes took, and a digest of the arrays that they left.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DistArray, type Loop, Session } from 'distarray'
import { generateRatings } from '../examples/support/generateRatings.ts'

export interface GangPass {
  readonly program: 'factorization' | 'wavefront' | 'stencil' | 'rounds' | 'killed' | 'frozen' | 'kills' | 'served' | 'restored'
  /** Ratings, or clicks. */
  readonly samples: number
  readonly workers: number
  readonly passes: number
  /** Where processes leave their numbers. */
  readonly folder: string
  /** What passes are kept in. */
  readonly checkpoint?: string
  /** Of the moments at which processes are killed. */
  readonly seed?: number
}

export interface GangFigures {
  readonly milliseconds: readonly number[]
  /** From the end of the second pass to that of the last, with all that happens between passes; and processor time in that. */
  readonly totalMs: number
  readonly processorMs: number
  /** Of all processes, by pass. */
  readonly allMs: number
  readonly digest: number
  /** What `explain()` says of processes. */
  readonly processes: string
  /** From a signal to the event that says so, and to the end of the first pass that was begun after it. */
  readonly noticedMs?: number
  readonly againMs?: number
  /** How many processes were killed. */
  readonly kills?: number
  /** On how many the last pass ran. */
  readonly count: number
  /** What `simulate()` says of a pass: on two processes of a thread each, on one of two, and on one of one. */
  readonly foreseenMs?: readonly number[]
  /** What one call of `simulate()` took. */
  readonly simulatingMs?: number
  /** From the start of the passes to the end of the last, without what that pass took. */
  readonly beforeMs: number
  /** What threads waited in each pass, on average. */
  readonly waitingMs: readonly number[]
  /** Of passes that read what another loop has written before each, and of passes between them that read the same once more. */
  readonly served?: Figures
  readonly unwritten?: Figures
}

export interface Figures {
  readonly ms: number[]
  /** Of all processes, by pass. */
  processorMs: number
}

/** How many ratings there are of each movie: iterations for each row that goes round. */
const ROTATED = 500

const given = JSON.parse(process.argv[2] ?? '') as GangPass // of the bench
const { program, samples, workers, passes, folder, checkpoint } = given
writeFileSync(join(folder, `pid${process.env.DA_RANK ?? 0}`), String(process.pid))
const session = await Session.start({ workers, progress: false, checkRaces: false, ...(checkpoint === undefined ? {} : { checkpoint }) })
const { loop, arrays, between, turn } = programOf()

const asked = performance.now()
const times: number[] = []
const waited: number[] = []
let began = { at: performance.now(), cpu: process.cpuUsage(), all: allProcessorMs() }
const lost: { sent?: number; noticed?: number; again?: number } = {}
session.events.subscribe((event) => {
  if (event.kind === 'process' && event.phase === 'lost') lost.noticed ??= performance.now()
})
const stopKilling = program === 'kills' ? killing() : undefined
for await (const { number, milliseconds, waitingMilliseconds = 0 } of loop.passes(passes)) {
  times.push(milliseconds)
  waited.push(waitingMilliseconds)
  turn?.()
  if (number === 2) began = { at: performance.now(), cpu: process.cpuUsage(), all: allProcessorMs() }
  if (lost.sent !== undefined) lost.again ??= performance.now()
  if (number !== 3 || (program !== 'killed' && program !== 'frozen')) continue
  lost.sent = performance.now()
  process.kill(pidOfFirst(), program === 'killed' ? 'SIGKILL' : 'SIGSTOP')
}
const beforeMs = performance.now() - asked - (times.at(-1) ?? 0)
const totalMs = performance.now() - began.at
const { user, system } = process.cpuUsage(began.cpu)
const allMs = (allProcessorMs() - began.all) / (passes - 2)
const kills = stopKilling?.()
const [served, unwritten]: readonly [Figures, Figures] = [
  { ms: [], processorMs: 0 },
  { ms: [], processorMs: 0 },
]
for (let pass = 0; between !== undefined && pass < passes; pass++) {
  await between.run()
  for (const figures of [served, unwritten]) {
    const before = allProcessorMs()
    for await (const { milliseconds } of loop.passes(1)) figures.ms.push(milliseconds)
    if (pass > 1) figures.processorMs += (allProcessorMs() - before) / (passes - 2)
  }
}
const foreseenMs: number[] = []
const simulating = performance.now()
if (process.env.DA_WORLD === undefined && program !== 'served') {
  for (const [nodes, threads] of [
    [2, 1],
    [1, 2],
    [1, 1],
  ] as const) {
    const { milliseconds } = await loop.simulate({ nodes, threads, bandwidth: '10Gbit', latency: 0.05 })
    foreseenMs.push(milliseconds)
  }
}
const simulatingMs = (performance.now() - simulating) / Math.max(1, foreseenMs.length)
let digest = 7
for (const array of arrays) {
  const bytes = new Uint8Array(Float64Array.from((await array.toTypedArray()) as Float64Array).buffer) // numbers
  digest = bytes.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, digest)
}
const { sent = 0, noticed, again } = lost
const figures: GangFigures = {
  milliseconds: times,
  waitingMs: waited,
  totalMs,
  processorMs: (user + system) / 1000,
  allMs,
  digest,
  processes: loop.plan.execution.processes?.because ?? '',
  count: loop.plan.execution.processes?.count ?? 1,
  ...(noticed === undefined ? {} : { noticedMs: noticed - sent }),
  ...(again === undefined ? {} : { againMs: again - sent }),
  ...(kills === undefined ? {} : { kills }),
  ...(between === undefined ? {} : { served, unwritten }),
  foreseenMs,
  simulatingMs,
  beforeMs,
}
console.log(JSON.stringify(figures))
if (program === 'frozen') process.kill(pidOfFirst(), 'SIGKILL') // it would never end
await session.stop()

/** Of all processes since they began, as Linux counts it; NaN elsewhere. */
function allProcessorMs(): number {
  try {
    return readdirSync(folder).reduce((sum, name) => {
      const [, rest = ''] = readFileSync(`/proc/${readFileSync(join(folder, name), 'utf8')}/stat`, 'utf8').split(') ')
      const [user, system] = rest.split(' ').slice(11, 13).map(Number) // in hundredths of a second
      return sum + 10 * ((user as number) + (system as number))
    }, 0)
  } catch {
    return Number.NaN
  }
}

/** Of rank 1. */
function pidOfFirst(): number {
  return Number(readFileSync(join(folder, 'pid1'), 'utf8'))
}

/** Kills others at random moments, each as soon as it is there again, until it is stopped; says how many. */
function killing(): () => number {
  let [state, count] = [given.seed ?? 1, 0]
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 2 ** 31
  }
  const there = new Set([1, 2])
  session.events.subscribe((event) => {
    if (event.kind !== 'process') return
    if (event.phase === 'joined') there.add(event.rank)
    else there.delete(event.rank)
  })
  let timer: NodeJS.Timeout
  const next = (): void => {
    timer = setTimeout(
      () => {
        const ranks = [...there]
        const rank = ranks[Math.floor(random() * ranks.length)]
        if (rank !== undefined) {
          process.kill(Number(readFileSync(join(folder, `pid${rank}`), 'utf8')), 'SIGKILL')
          there.delete(rank)
          count++
        }
        next()
      },
      20 + random() * 400,
    )
  }
  next()
  return () => {
    clearTimeout(timer)
    return count
  }
}

interface Program {
  readonly loop: Loop
  /** Runs before every second pass of the second half. */
  readonly between?: Loop
  readonly arrays: readonly DistArray<number, readonly number[]>[]
  /** Called between two passes. */
  turn?(): void
}

function programOf(): Program {
  if (program === 'rounds') return logistic()
  if (program === 'wavefront') return recurrence()
  if (program === 'stencil') return relaxation()
  if (program === 'restored') return decay()
  return program === 'served' ? readings() : factorization()
}

/** Each element of a grid from those above and before it. */
function recurrence(): Program {
  const side = Math.round(Math.sqrt(samples))
  const grid = session.random([side, side], { seed: 1 })
  const loop = session.loop(session.range(side - 1, side - 1), { grid }, ([i, j], { grid }) => {
    let value = grid.get(i, j + 1) * 0.5 + grid.get(i + 1, j) * 0.5
    for (let k = 0; k < 20; k++) value = Math.sqrt(value + grid.get(i + 1, j + 1))
    grid.set(i + 1, j + 1, value / 2)
  })
  return { loop, arrays: [grid] as unknown as Program['arrays'] }
}

/** Each element of one large array from itself. */
function decay(): Program {
  const x = session.random([samples], { seed: 1 })
  return { loop: session.loop(session.range(samples), { x }, ([i], { x }) => void x.set(i, x.get(i) * 0.5 + 1)), arrays: [] }
}

/** The points of one colour of a grid from those of the other, the colours in turn. */
function relaxation(): Program {
  const side = Math.round(Math.sqrt(samples))
  const grid = session.random([side, side], { seed: 1 })
  let colour = 0
  const loop = session.loop(session.range(side, side), { grid }, ([i, j], { grid }) => {
    if (i === 0 || j === 0 || i === side - 1 || j === side - 1 || (i + j) % 2 !== colour) return
    let value = (grid.get(i - 1, j) + grid.get(i + 1, j) + grid.get(i, j - 1) + grid.get(i, j + 1)) / 4
    for (let k = 0; k < 20; k++) value = Math.sqrt(value + 0.5)
    grid.set(i, j, value)
  })
  return { loop, turn: () => void (colour = 1 - colour), arrays: [grid] as unknown as Program['arrays'] }
}

/** Of ratings, at rank 32, with its dependences kept: a 2d schedule, whose columns go round. */
function factorization(): Program {
  const rank = 32
  const movies = Math.ceil(samples / ROTATED)
  const users = movies + (movies >> 1)
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

/** Sums of twenty of a million numbers each, which another loop writes. */
function readings(): Program {
  const [numbers, each] = [2 ** 20, 20]
  const where = session.random([samples, each], { seed: 1 }).map((x) => Math.floor(numbers ** x))
  const w = session.random([numbers], { seed: 2 })
  const sums = session.zeros([samples])
  const between = session.loop(session.range(numbers), { w }, ([k], { w }) => void w.set(k, w.get(k) * 0.999))
  const loop = session.loop(session.range(samples), { where, w, sums }, ([i], { where, w, sums }) => {
    let sum = 0
    for (let k = 0; k < each; k++) sum += w.get(where.get(i, k))
    sums.set(i, Math.tanh(sum))
  })
  return { loop, between, arrays: [sums] as unknown as Program['arrays'] }
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
