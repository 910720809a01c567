/**
 * What does the first use of a loop cost in a program that runs already? A body of 10,000 cheap iterations that the library
 * has not seen before, analysed, compiled and run:
 *
 *     first use   loop(), explain() and run(): the body's text is another one each time
 *     run again   the same loop once more: nothing is compiled
 *     plain       the body as plain JavaScript over typed arrays, as new to the engine as the other
 *
 *     npm run bench -- first
 */
import { type DistArray, Session } from 'distarray'
import { modulesCompiled } from '../src/exec/kernels/wasmPlan.ts'
import { suite, timed } from './harness.ts'

const bench = suite('first', { iterations: 10_000 })
const n = bench.options.iterations
const GOAL_MS = 25

type Views = Readonly<Record<'x' | 'y', { get(i: number): number; set(i: number, value: number): void }>>

const session = await Session.start({ workers: 2, progress: false })
const x = session.random([n], { seed: 1 })
const y = session.zeros([n])
let loop = newLoop(0)
await loop.run()
let bodies = 0
let compiledAgain = 0

const { milliseconds } = await bench.ask({
  name: 'first use',
  unit: 'iteration',
  units: n,
  peers: ['plain'],
  contenders: {
    'first use': timed(async () => {
      loop = newLoop(++bodies)
      loop.explain()
      await loop.run()
    }),
    'run again': timed(async () => {
      const before = modulesCompiled()
      await loop.run()
      compiledAgain += modulesCompiled() - before
    }),
    plain: timed(() => {
      const [from, to] = [new Float64Array(n), new Float64Array(n)]
      const body = new Function('x', 'y', `for (let i = 0; i < y.length; i++) y[i] = x[i] * ${++bodies} + 0.5`) // each text new
      body(from, to)
    }),
  },
})
const first = [...(milliseconds['first use'] ?? [])].sort((a, b) => a - b)
console.log(`  first use: slowest ${first.at(-1)?.toFixed(1)} ms, goal ${GOAL_MS} ms; modules compiled by running again: ${compiledAgain}`)
await session.stop()
bench.finish()

function newLoop(body: number) {
  const env: Readonly<Record<'x' | 'y', DistArray<number>>> = { x, y }
  const text = `return ([i], { x, y }) => { y.set(i, x.get(i) * ${body} + 0.5) }`
  return session.loop(session.range(n), env, new Function(text)() as (key: readonly [number], env: Views) => void) // of the text above
}
