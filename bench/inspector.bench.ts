/**
 * What do loops gain whose schedule an inspector finds in the data, and what does the inspector cost?
 *
 *     triangular solve       forward substitution with the lower half of a five-point matrix over a grid of 1,000 x 1,000, rows
 *                            compressed: levels in tiles, in key order
 *     logistic regression    a step of sparse logistic regression for each of 400,000 samples of 8 features among a million:
 *                            colors, in some order
 *
 *     parallel    the session with all cores          serial     the same session API with one worker
 *     plain       plain JavaScript over typed arrays, in the same serial order
 *     inspector   what a run takes besides its pass after an index array was written: the slice over all iterations, the
 *                 schedule, the blocks. The first run does that, and later ones only then
 *
 * The first three must end with the same bits.
 *
 *     npm run bench -- inspector --side 1000 --samples 400000 --workers 2
 */
import { availableParallelism } from 'node:os'
import { type DistArray, type DType, type Loop, Session } from 'distarray'
import { assertSame, type Pass, suite, timed } from './harness.ts'

const bench = suite('inspector', { side: 0, samples: 0, workers: availableParallelism() })
const side = bench.options.side || (bench.quick ? 500 : 1000)
const samples = bench.options.samples || (bench.quick ? 100_000 : 400_000)
const WIDTH = 8
const RATE = 0.1

const parallel = await Session.start({ workers: bench.options.workers, progress: false })
const serial = await Session.start({ workers: 1, progress: false })
if (bench.wanted('triangular solve')) await compare('triangular solve', 'row', side * side, triangularSolve)
if (bench.wanted('logistic regression')) await compare('logistic regression', 'sample', samples, logisticRegression)
await parallel.stop()
await serial.stop()
bench.finish()

interface Subject {
  readonly loop: Loop
  /** What the loop writes. */
  readonly result: DistArray<number, readonly [number]>
  /** What its slice reads: a write of it lets the next run inspect anew. */
  readonly index: DistArray<number, readonly [number]>
  /** A pass over a copy of the result, in the serial order. */
  readonly plain: (result: Float64Array, order: Int32Array) => void
}

async function compare(name: string, unit: string, units: number, make: (session: Session) => Promise<Subject>): Promise<void> {
  const [many, one, inspected] = [await make(parallel), await make(serial), await make(serial)]
  const own = (await one.result.toTypedArray()) as Float64Array // f64
  const order = await one.loop.serialOrder()
  const contenders = {
    parallel: passOf(many.loop),
    serial: passOf(one.loop),
    plain: timed(() => one.plain(own, order)),
    inspector: async () => {
      await inspected.index.set([0], (await inspected.index.at(0)) ?? 0)
      const { milliseconds, passes } = await inspected.loop.run()
      return milliseconds - (passes[0]?.milliseconds ?? 0)
    },
  }
  const notes = [
    () => many.loop.plan.schedule.reason,
    () => `blocks ${many.loop.plan.schedule.blocks.join(' x ')}, ${many.loop.plan.kernel.target}`,
  ]
  await many.loop.serialOrder()
  await bench.ask({ name, unit, units, peers: ['serial', 'plain'], contenders, notes: notes.map((note) => note()) })
  assertSame(`${name}, parallel against plain`, (await many.result.toTypedArray()) as Float64Array, own)
  assertSame(`${name}, serial against plain`, (await one.result.toTypedArray()) as Float64Array, own)
}

function passOf(loop: Loop): Pass {
  return async () => (await loop.run()).passes[0]?.milliseconds ?? Number.NaN
}

async function arrayOf(
  session: Session,
  data: Float64Array | Int32Array,
  dtype: Exclude<DType, 'i64'>,
): Promise<DistArray<number, readonly [number]>> {
  const array = session.zeros([data.length], { dtype })
  await array.assign([null], data)
  return array
}

/** Row i of the matrix has its neighbours above and to the left, then its diagonal. */
async function triangularSolve(session: Session): Promise<Subject> {
  const n = side * side
  const starts = new Int32Array(n + 1)
  const columns = new Int32Array(3 * n)
  let entries = 0
  for (let i = 0; i < n; i++) {
    if (i >= side) columns[entries++] = i - side
    if (i % side > 0) columns[entries++] = i - 1
    columns[entries++] = i
    starts[i + 1] = entries
  }
  const values = Float64Array.from({ length: entries }, (_, e) => (columns[e] === rowOf(e) ? 4 : -1))
  function rowOf(e: number): number {
    let [low, high] = [0, n]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= e) low = middle
      else high = middle
    }
    return low
  }
  const right = Float64Array.from({ length: n }, (_, i) => Math.sin(i))
  const first = await arrayOf(session, starts, 'i32')
  const column = await arrayOf(session, columns.slice(0, entries), 'i32')
  const a = await arrayOf(session, values, 'f64')
  const b = await arrayOf(session, right, 'f64')
  const x = session.zeros([n])
  const loop = session.loop(session.range(n), { first, column, a, b, x }, ([i], { first, column, a, b, x }) => {
    const last = first.get(i + 1) - 1
    let sum = b.get(i)
    for (let e = first.get(i); e < last; e++) sum -= a.get(e) * x.get(column.get(e))
    x.set(i, sum / a.get(last))
  })
  return {
    loop,
    result: x,
    index: column,
    plain: (x) => {
      for (let i = 0; i < n; i++) {
        const last = (starts[i + 1] as number) - 1
        let sum = right[i] as number
        for (let e = starts[i] as number; e < last; e++) sum -= (values[e] as number) * (x[columns[e] as number] as number)
        x[i] = sum / (values[last] as number)
      }
    },
  }
}

async function logisticRegression(session: Session): Promise<Subject> {
  const features = 2 ** 20
  let state = 1
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0)
  const names = Int32Array.from({ length: samples * WIDTH }, () => next() >>> 12)
  const labels = Float64Array.from({ length: samples }, () => next() >>> 31)
  const feature = await arrayOf(session, names, 'i32')
  const label = await arrayOf(session, labels, 'f64')
  const weight = session.zeros([features])
  const loop = session.loop(
    session.range(samples),
    { feature, label, weight },
    ([s], { feature, label, weight }) => {
      let z = 0
      for (let k = 0; k < WIDTH; k++) z += weight.get(feature.get(s * WIDTH + k))
      const step = RATE * (label.get(s) - 1 / (1 + Math.exp(-z)))
      for (let k = 0; k < WIDTH; k++) weight.set(feature.get(s * WIDTH + k), weight.get(feature.get(s * WIDTH + k)) + step)
    },
    { order: 'any' },
  )
  return {
    loop,
    result: weight,
    index: feature,
    plain: (weight, order) => {
      for (let at = 0; at < order.length; at++) {
        const s = (order[at] as number) * WIDTH
        let z = 0
        for (let k = 0; k < WIDTH; k++) z += weight[names[s + k] as number] as number
        const step = RATE * ((labels[order[at] as number] as number) - 1 / (1 + Math.exp(-z)))
        for (let k = 0; k < WIDTH; k++) weight[names[s + k] as number]! += step
      }
    },
  }
}
