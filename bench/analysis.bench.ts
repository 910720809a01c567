/**
 * How long does the analysis of a loop take? Bodies of about 30 lines with 10 accesses and more, analysed again and
 * again: the median and the worst of the warm runs, the median of the dependence test in them, and that of an analysis whose
 * plan is read, with the advice that is looked for then. All in processor time, which other programs on the machine change
 * little. The worst run has a collection of garbage in it.
 *
 *     tsx bench/analysis.bench.ts
 */
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../property-tests/arbitraries/parseBody.ts'
import { accessesOf } from '../src/planner/loop/accesses/accesses.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { conflictsOf } from '../src/planner/loop/dependence/dependence.ts'
import { median, table } from './statistics.ts'

const RUNS = 300
/** Runs before the clock counts. */
const WARM_UP = 500

const n = 1_000
const plane: TestLoop = { over: rangeOver(n, n), env: { a: denseArray('a', n, n), b: denseArray('b', n, n), x: denseArray('x', n) } }
const space: TestLoop = { over: rangeOver(n, n, n), env: { ...plane.env, c: denseArray('c', n, n) } }

const BODIES: readonly (readonly [string, TestLoop, string])[] = [
  [
    'a stencil of 10 accesses',
    plane,
    `([i, j], { a, b }) => {
      if (i > 0 && j > 0 && i < 999 && j < 999) {
        const up = a.get(i - 1, j)
        const down = a.get(i + 1, j)
        const left = a.get(i, j - 1)
        const right = a.get(i, j + 1)
        const corners = a.get(i - 1, j - 1) + a.get(i + 1, j + 1) + a.get(i - 1, j + 1) + a.get(i + 1, j - 1)
        let sum = up + down
        sum = sum + left
        sum = sum + right
        sum = sum * 2
        sum = sum + corners
        const old = a.get(i, j)
        const delta = sum / 12 - old
        const weight = b.get(i, j)
        a.set(i, j, old + weight * delta)
      }
    }`,
  ],
  [
    'affine subscripts, inner loops, guards',
    plane,
    `([i, j], { a, b, x }) => {
      let s = 0
      let t = 0
      for (let k = 0; k < i; k++) {
        s = s + a.get(i, k) * a.get(k, j)
      }
      for (let k = i + 1; k < 1000; k += 2) {
        t = t + b.get(k, j) * x.get(k)
      }
      if (j > i) {
        const up = a.get(j, i)
        const half = a.get(i, 999 - j)
        a.set(i, j, up - s + half)
      } else if (i + j < 500) {
        const far = b.get(2 * i, 2 * j + 1)
        b.set(i, j, far + t)
      } else {
        const near = x.get(Math.max(0, i - 1))
        const other = x.get(Math.min(i + j, 999))
        x.set(i, near + other - s)
      }
      b.set(i, j, b.get(j, i) + s)
    }`,
  ],
  [
    'three axes',
    space,
    `([k, i, j], { a, b, c }) => {
      const d = a.get(i, k) + a.get(k, j)
      if (d < a.get(i, j)) {
        a.set(i, j, d)
      }
      if (i !== j) {
        const e = b.get(i, j) - b.get(i, k) * b.get(k, j)
        b.set(i, j, e)
      }
      if (i > k && j > k) {
        c.set(i, j, c.get(i, j) - c.get(i, k) * c.get(k, j))
      }
    }`,
  ],
]

const rows = BODIES.map(([name, loop, source]) => {
  const spec = parseLoop(source, loop)
  const { ir } = spec.body
  if (ir === undefined) throw new Error(`${name} was refused.`)
  const accesses = accessesOf(spec, ir)
  const all = timed(() => analyzeLoop(spec))
  const tests = timed(() => conflictsOf(spec, accesses))
  const read = timed(() => analyzeLoop(spec).plan.rejected)
  const milliseconds = [median(all), Math.max(...all), median(tests), median(read)].map((value) => value.toFixed(2))
  return [name, String(accesses.length), String(analyzeLoop(spec).plan.dependences.length), ...milliseconds]
})
console.log(table(['body', 'accesses', 'dependences', 'median ms', 'worst ms', 'dependence test ms', 'with advice ms'], rows))

function timed(work: () => unknown): number[] {
  for (let run = 0; run < WARM_UP; run++) work()
  return Array.from({ length: RUNS }, () => {
    const start = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  })
}
