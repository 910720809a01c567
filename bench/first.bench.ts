/**
 * What does the first use of a loop cost in a program that runs already? Bodies of 10,000 cheap iterations that the library
 * has not seen before, analysed, compiled and run:
 *
 *     first use   loop(), explain() and run(): the body's text is another one each time
 *     run again   the same loop once more: nothing is compiled
 *     plain       the body as plain JavaScript over typed arrays, as new to the engine as the other
 *
 *     npm run bench -- first
 */
import { type DistArray, Session } from 'distarray'
import { modulesCompiled } from '../src/exec/wasm/moduleCache.ts'
import { suite, timed } from './harness.ts'

const bench = suite('first', { side: 100 })
const { side } = bench.options
const n = side * side
const GOAL_MS = 25

/** `body` is a loop's over `over`, `plain` that of a function of the same arrays; `N` is another number each time. */
interface Case {
  readonly name: string
  readonly over: readonly number[]
  readonly body: string
  readonly plain: string
}

const CASES: readonly Case[] = [
  {
    name: 'by element',
    over: [n],
    body: '([i], { x, y }) => { y.set(i, x.get(i) * N + 0.5) }',
    plain: 'for (let i = 0; i < y.length; i++) y[i] = x[i] * N + 0.5',
  },
  {
    name: 'a smoothing with tests',
    over: [n],
    body: '([i], { x, y }) => { if (i > 0 && x.get(i) < 0.9) y.set(i, Math.sqrt(x.get(i - 1)) + N * x.get(i)) }',
    plain: 'for (let i = 1; i < y.length; i++) if (x[i] < 0.9) y[i] = Math.sqrt(x[i - 1]) + N * x[i]',
  },
  {
    name: 'a wavefront',
    over: [side, side],
    body: '([i, j], { Y }) => { if (i > 0 && j > 0) Y.set(i, j, (Y.get(i - 1, j) + Y.get(i, j - 1)) * 0.4 + N) }',
    plain: `for (let i = 1; i < ${side}; i++) for (let j = 1; j < ${side}; j++) Y[i * ${side} + j] = (Y[(i - 1) * ${side} + j] + Y[i * ${side} + j - 1]) * 0.4 + N`,
  },
  {
    name: 'rows by their sums',
    over: [side],
    body: `([i], { X, Y }) => {
      let sum = N
      for (let k = 0; k < ${side}; k++) sum += X.get(i, k)
      for (let k = 0; k < ${side}; k++) Y.set(i, k, X.get(i, k) / sum)
    }`,
    plain: `for (let i = 0; i < ${side}; i++) {
      let sum = N
      for (let k = 0; k < ${side}; k++) sum += X[i * ${side} + k]
      for (let k = 0; k < ${side}; k++) Y[i * ${side} + k] = X[i * ${side} + k] / sum
    }`,
  },
]

const session = await Session.start({ workers: 2, progress: false })
const env = {
  x: session.random([n], { seed: 1 }),
  y: session.zeros([n]),
  X: session.random([side, side], { seed: 2 }),
  Y: session.zeros([side, side]),
}
let bodies = 0

for (const one of CASES.filter(({ name }) => bench.wanted(name))) {
  let loop = newLoop(one)
  await loop.run()
  let compiledAgain = 0
  const { milliseconds } = await bench.ask({
    name: one.name,
    unit: 'iteration',
    units: n,
    peers: ['plain'],
    contenders: {
      'first use': timed(async () => {
        loop = newLoop(one)
        loop.explain()
        await loop.run()
      }),
      'run again': timed(async () => {
        const before = modulesCompiled()
        await loop.run()
        compiledAgain += modulesCompiled() - before
      }),
      plain: timed(() => {
        const arrays = [new Float64Array(n), new Float64Array(n), new Float64Array(n), new Float64Array(n)]
        new Function('x', 'y', 'X', 'Y', numbered(one.plain))(...arrays)
      }),
    },
  })
  const first = [...(milliseconds['first use'] ?? [])].sort((a, b) => a - b)
  console.log(
    `  first use: slowest ${first.at(-1)?.toFixed(1)} ms, goal ${GOAL_MS} ms; modules compiled by running again: ${compiledAgain}`,
  )
}
await session.stop()
bench.finish()

function newLoop({ over, body }: Case): ReturnType<typeof session.loop> {
  const f = new Function(`return ${numbered(body)}`)() as (...args: never[]) => void // of the texts above
  const used: Readonly<Record<string, DistArray<number, never>>> = Object.fromEntries(
    Object.entries(env).filter(([name]) => new RegExp(`\\b${name}\\.`).test(body)),
  ) as never // arrays of one axis or two
  return session.loop(session.range(...over), used, f as never)
}

function numbered(text: string): string {
  return text.replaceAll('N', String(++bodies))
}
