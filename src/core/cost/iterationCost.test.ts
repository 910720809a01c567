import { expect, test } from 'vitest'
import { lowerFunction } from '../../planner/function/userFunction.ts'
import { type CostedKernel, iterationCost } from './iterationCost.ts'
import { costedType } from './means.ts'

const SCALAR: CostedKernel = { target: 'wasm', lanes: 1, nested: false, inner: new Map() }
const LANES: CostedKernel = { ...SCALAR, target: 'wasm-simd', lanes: 2 }
const JS: CostedKernel = { ...SCALAR, target: 'js' }

type A = { get(...key: number[]): number; set(...keyAndValue: number[]): void }
interface How {
  readonly kernel?: CostedKernel
  readonly extents?: readonly number[]
  readonly shape?: readonly number[]
}

/** Of a body over arrays a and b. */
function ns(body: (key: number[], env: { a: A; b: A }) => void, { kernel = SCALAR, extents = [1000], shape = [1000] }: How = {}): number {
  const env = { a: { kind: 'array', dtype: 'f64' }, b: { kind: 'array', dtype: 'f64' } } as const
  const { fn } = lowerFunction(body, { kind: 'loop', isRange: true, rank: extents.length, env, classify: () => undefined })
  if (fn.ir === undefined) throw new Error(fn.refusals[0]?.message)
  const { ns, runNs } = iterationCost({
    ir: fn.ir,
    extents,
    isRun: true,
    kernel,
    arrayOf: () => ({ extents: shape, ...costedType('f64') }),
  })
  return ns + runNs / (extents[extents.length - 1] ?? 1)
}

test('lanes share their instructions, and JavaScript has more of them', () => {
  const scaled = ([i]: number[], { a, b }: { a: A; b: A }) => b.set(i!, a.get(i!) * 2 + 1)
  expect(ns(scaled, { kernel: LANES })).toBeLessThan(ns(scaled) / 1.5)
  expect(ns(scaled, { kernel: JS })).toBeGreaterThan(3 * ns(scaled))
})

test('a turn that waits for the one before costs what it waits for', () => {
  const free = ([i]: number[], { a, b }: { a: A; b: A }) => b.set(i!, a.get(i! - 1) + 1)
  const chain = ([i]: number[], { a }: { a: A; b: A }) => a.set(i!, a.get(i! - 1) + 1)
  const own = ([i]: number[], { a }: { a: A; b: A }) => a.set(i!, a.get(i!) + 1)
  expect(ns(chain)).toBeGreaterThan(2 * ns(free))
  expect(ns(own)).toBe(ns(free))
})

test('of a sum and an update that run side by side the longer one counts, and some of the other', () => {
  const step = ([i]: number[], { a, b }: { a: A; b: A }) => {
    let sum = 0
    for (let k = 0; k < 100; k++) sum += a.get(i!, k)
    for (let k = 0; k < 100; k++) b.set(i!, k, sum)
  }
  const how = { extents: [1000], shape: [1000, 100] }
  const [one, other] = [ns(step, how), ns(step, { ...how, kernel: { ...SCALAR, isOverlapped: true } })]
  expect(other).toBeLessThan(0.95 * one)
  expect(other).toBeGreaterThan(0.5 * one)
})

test('inner loops cost as often as they turn, also where their end moves with a key', () => {
  const turns = (n: number) =>
    ns(([i]: number[], { a, b }: { a: A; b: A }) => {
      for (let k = 0; k < n; k++) b.set(k, a.get(i!))
    })
  expect(turns(200) / turns(100)).toBeCloseTo(2, 0)
  const whole = ns(([i]: number[], { a, b }: { a: A; b: A }) => {
    for (let k = 0; k < 1000; k++) b.set(k, a.get(i!))
  })
  const triangle = ns(([i]: number[], { a, b }: { a: A; b: A }) => {
    for (let k = 0; k < i!; k++) b.set(k, a.get(i!))
  })
  expect(whole / triangle).toBeCloseTo(2, 0)
  const last = 999
  const upTo = ns(([i]: number[], { a, b }: { a: A; b: A }) => {
    for (let k = 0; k <= last; k++) b.set(k, a.get(i!))
  })
  const window = ns(([i]: number[], { a, b }: { a: A; b: A }) => {
    for (let k = Math.max(0, i! - 250); k < Math.min(1000, i! + 250); k++) b.set(k, a.get(i!))
  })
  expect(whole / upTo).toBeCloseTo(1)
  expect(whole / window).toBeCloseTo(2, 0)
})

test('what is in the cache costs nothing more; what streams by costs its bytes; what lies anywhere costs lines', () => {
  const copied = ([i]: number[], { a, b }: { a: A; b: A }) => b.set(i!, a.get(i!))
  const large = { extents: [10_000_000], shape: [10_000_000] }
  expect(ns(copied, large)).toBeGreaterThan(ns(copied) + 0.5)
  const gathered = ([i]: number[], { a, b }: { a: A; b: A }) => b.set(i!, a.get(a.get(i!)))
  expect(ns(gathered, large) - ns(gathered)).toBeGreaterThan(1.5 * (ns(copied, large) - ns(copied)))
  const columns = ([i, j]: number[], { a, b }: { a: A; b: A }) => b.set(i!, j!, a.get(j!, i!))
  const rows = ([i, j]: number[], { a, b }: { a: A; b: A }) => b.set(i!, j!, a.get(i!, j!))
  const tall = { extents: [5_000, 5_000], shape: [5_000, 5_000] }
  expect(ns(columns, tall)).toBeGreaterThan(ns(rows, tall) + 1)
})

test('short rows of a large array are dearer than long ones', () => {
  const copied = ([i, j]: number[], { a, b }: { a: A; b: A }) => b.set(i!, j!, a.get(i!, j!))
  const shape = [4_000, 4_000]
  expect(ns(copied, { extents: [4_000, 40], shape })).toBeGreaterThan(1.5 * ns(copied, { extents: [40, 4_000], shape }))
})
