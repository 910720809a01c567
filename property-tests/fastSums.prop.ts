/**
 * Sums in fast and relaxed precision, and what lanes make of them in the loops after: those of exact precision, but for rounding. Bodies
 * differ in where a sum begins, how often it is added to, and what is computed from it before lanes take it; rows are of any
 * length, so that turns are left when the vectors are done, and checks before a loop hold or do not.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Precision } from '../src/core/loop/loopSpec.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { relaxedSimd } from './relaxedEngine.ts'

const RUN = announcedRun('fastSums.prop.ts')
const PRECISIONS: readonly Precision[] = relaxedSimd('fastSums.prop.ts') ? ['fast', 'relaxed'] : ['fast']
const ROWS = 3
/** Numbers are between 0 and 1: what is lost or added twice shows, what is rounded does not. */
const NEARLY = 1e-4

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface View {
  get(row: number, column: number): number
  set(row: number, column: number, value: number): void
}
type Views = Readonly<Record<'x' | 'y' | 'z' | 'far', View>>
type Body = (key: readonly [number], views: Views) => void
interface Captured {
  readonly n: number
  readonly m: number
  readonly bias: number
  readonly row: number
}

/** The kernel cannot know that rows are inside: it checks before each loop, and iterations are no lanes. */
const PLACES = Int32Array.of(2, 0, 1)

const BODIES: Readonly<Record<string, (captured: Captured) => Body>> = {
  'a row is moved by its error':
    ({ n, m, bias }) =>
    ([key], { x, y, z }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      for (let k = 0; k < n; k++) sum += x.get(i, k) * y.get(i, k)
      const target = z.get(i, 0)
      const error = target - sum
      const more = error * bias
      for (let k = 0; k < m; k++) x.set(i, k, x.get(i, k) + more * y.get(i, k) - 0.1 * error)
      z.set(i, 0, more)
    },
  'a sum begins with a bias':
    ({ n, m, bias }) =>
    ([key], { x, y, z }) => {
      const i = PLACES[key] ?? 0
      let sum = bias
      for (let k = 0; k < n; k++) sum += x.get(i, k) * y.get(i, k)
      const error = z.get(i, 0) - sum
      for (let k = 0; k < m; k++) x.set(i, k, x.get(i, k) + error)
    },
  'two sums in one loop, one of them downwards':
    ({ n, m }) =>
    ([key], { x, y, z }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      let less = 0
      for (let k = 0; k < n; k++) {
        sum += x.get(i, k)
        less -= y.get(i, k)
      }
      const target = z.get(i, 0)
      const part = less / (1 + sum) - target
      for (let k = 0; k < m; k++) x.set(i, k, part * x.get(i, k) + sum)
    },
  'a sum goes on in a second loop':
    ({ n, m }) =>
    ([key], { x, y }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      for (let k = 0; k < n; k++) sum += x.get(i, k)
      for (let k = 0; k < m; k++) sum += y.get(i, k)
      const half = sum / 2
      for (let k = 0; k < m; k++) x.set(i, k, half + y.get(i, k))
    },
  'a sum of several rows':
    ({ n, m }) =>
    ([key], { x, y }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      for (let j = 0; j < 3; j++) for (let k = 0; k < n; k++) sum += y.get(j, k)
      for (let k = 0; k < m; k++) x.set(i, k, sum * x.get(i, k))
    },
  'rows by rows, each with a sum of its own':
    ({ n, m }) =>
    ([key], { x, y, z }) => {
      const i = PLACES[key] ?? 0
      let total = 0
      for (let j = 0; j < 3; j++) {
        let sum = 0
        const before = sum + 1
        for (let k = 0; k < n; k++) sum += y.get(j, k)
        const part = sum * before
        for (let k = 0; k < m; k++) x.set(i, k, x.get(i, k) + part)
        total += part
      }
      z.set(i, 0, total)
    },
  'the first turns are others':
    ({ n, m, bias }) =>
    ([key], { x, y }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      for (let k = 0; k < n; k++) sum += k > 1 ? y.get(i, k - 2) * bias : 1
      for (let k = 0; k < m; k++) x.set(i, k, sum + x.get(i, k))
    },
  'a sum in a branch':
    ({ n, m, bias }) =>
    ([key], { x, y, z }) => {
      const i = PLACES[key] ?? 0
      let result = z.get(i, 0)
      if (result > bias) {
        let sum = 0
        for (let k = 0; k < n; k++) sum += y.get(i, k)
        result = sum
        for (let k = 0; k < m; k++) x.set(i, k, sum - x.get(i, k))
      }
      for (let k = 0; k < m; k++) x.set(i, k, result + x.get(i, k))
    },
  'a row that is not there is not read': ({ n, m, row }) => {
    const turns = row < 2 ? n : 0
    return ([key], { x, z, far }) => {
      const i = PLACES[key] ?? 0
      let sum = 0
      for (let k = 0; k < turns; k++) sum += far.get(row, k)
      const error = z.get(i, 0) - sum
      for (let k = 0; k < m; k++) x.set(i, k, error * x.get(i, k))
    }
  },
}

interface Case {
  readonly name: string
  readonly dtype: 'f32' | 'f64'
  readonly precision: Precision
  readonly width: number
  readonly captured: Captured
  readonly seed: number
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    name: fc.constantFrom(...Object.keys(BODIES)),
    dtype: fc.constantFrom('f32' as const, 'f32' as const, 'f64' as const),
    precision: fc.constantFrom(...PRECISIONS),
    width: fc.integer({ min: 1, max: 70 }),
  })
  .chain(({ name, dtype, precision, width }) =>
    fc.record({
      name: fc.constant(name),
      dtype: fc.constant(dtype),
      precision: fc.constant(precision),
      width: fc.constant(width),
      captured: fc.record({
        n: fc.oneof(fc.constant(width), fc.nat(width)),
        m: fc.oneof(fc.constant(width), fc.nat(width)),
        bias: fc.constantFrom(0, -0, 0.25, 0.75),
        row: fc.nat(3),
      }),
      seed: fc.nat(1000),
    }),
  )

test('sums in fast precision, and what follows from them, are nearly those of exact precision', async () => {
  let singles = 0
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { values, expected, lanes } = await outcomeOf(one)
      if (lanes.includes('4 lanes of f32, 4 accumulators')) singles++
      for (const [i, value] of values.entries()) {
        const wanted = expected[i] ?? Number.NaN
        const isNear = Math.abs(value - wanted) <= NEARLY * (1 + Math.max(one.width, Math.abs(wanted)))
        if (!isNear) throw new Error(`${one.name}, number ${i}: ${value}, not ${wanted}\n${lanes}`)
      }
    }),
    { ...RUN, examples: PRECISIONS.flatMap((precision) => Object.keys(BODIES).map((name) => [example(name, precision)])) },
  )
  console.log(`fast: {"sums in lanes of f32":${singles}}`)
  expect(singles).toBeGreaterThan(RUN.numRuns * 0.1)
})

/** Two whole vectors and more, and turns that are left. */
function example(name: string, precision: Precision): Case {
  return { name, dtype: 'f32', precision, width: 39, captured: { n: 39, m: 38, bias: 0.75, row: 3 }, seed: 1 }
}

/** The numbers that the loop leaves, and those that the body leaves in plain arrays. */
async function outcomeOf({ name, dtype, precision, width, captured, seed }: Case) {
  const body = BODIES[name]?.(captured) ?? (() => undefined)
  const array = (rows: number, by: number) => session.random([rows, width], { dtype, seed: seed + by })
  const arrays = { x: array(ROWS, 1), y: array(ROWS, 2), far: array(2, 3), z: session.random([ROWS, 1], { seed: seed + 4 }) }
  const all = Object.values(arrays)
  const plain = await Promise.all(all.map((one) => one.toTypedArray() as Promise<Float64Array>)) // of floats
  const [x, y, far, z] = plain.map((values, i) => viewOf(values, i === 3 ? 1 : width)) as [View, View, View, View] // of four arrays
  for (let i = 0; i < ROWS; i++) body([i], { x, y, far, z })
  const loop = session.loop(session.range(ROWS), arrays, body as never, { precision })
  await loop.run()
  const values = await Promise.all(all.map((one) => one.toTypedArray() as Promise<Float64Array>)) // of floats
  const lanes =
    loop
      .explain({ kernel: true })
      .match(/ {2}for k.*\n/g)
      ?.join('') ?? ''
  for (const one of all) await one.release()
  return { values: values.flatMap((of) => [...of]), expected: plain.flatMap((of) => [...of]), lanes }
}

function viewOf(values: Float64Array, width: number): View {
  return {
    get: (row, column) => values[row * width + column] ?? Number.NaN,
    set: (row, column, value) => void (values[row * width + column] = value),
  }
}
