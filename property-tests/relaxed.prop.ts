/**
 * Relaxed precision: a product and the sum that it is part of round once where the CPU can, twice where it cannot, and in
 * all elements alike: on 1, 2, 3 and 8 workers, wherever iterations are cut. What a local keeps, what lies at a border and
 * what is left of an inner loop is rounded as it always is. Where the engine has no relaxed SIMD, `relaxedSimd.test.ts`
 * says what is to be.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LoopOptions } from '../src/core/loop/loopSpec.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { relaxedSimd, roundedOnce, roundsOnce } from './relaxedEngine.ts'

const RUN = announcedRun('relaxed.prop.ts')
const HAS = relaxedSimd('relaxed.prop.ts')
const IS_FUSED = HAS && { f64: roundsOnce('f64'), f32: roundsOnce('f32') }
const WORKERS = [1, 2, 3, 8]

let sessions: readonly Session[] = []
beforeAll(async () => {
  const options = { progress: false, ...shortPassesOnWorkers }
  sessions = await Promise.all(WORKERS.map((workers) => Session.start({ workers, ...options })))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

interface View {
  get(...key: number[]): number
  set(...keyAndValue: number[]): void
  add(...keyAndValue: number[]): void
}
type Views = Readonly<Record<'x' | 'y' | 'z' | 'w', View>>
type Body = (key: readonly [number, number], views: Views) => void

/** Arithmetic of lanes or of scalars. */
interface Arithmetic {
  mul(a: number, b: number): number
  add(a: number, b: number): number
  madd(a: number, b: number, c: number): number
}
type Elements = Readonly<Record<'x' | 'y' | 'z' | 'w', number>> & { readonly before: number; readonly k: number }

interface Shape {
  readonly body: (width: number) => Body
  /** What it leaves in z. */
  readonly expected: (m: Arithmetic, e: Elements) => number
  /** Elements that are computed by scalars, where others are lanes. */
  readonly isScalar?: (k: number, width: number, lanes: number) => boolean
  /** Iterations go along rows only, and the body along a row. */
  readonly isInner?: true
}

/** The turns of an inner loop that fill no vector. */
const isLeft = (k: number, width: number, lanes: number) => k >= width - (width % lanes)

const SHAPES: Readonly<Record<string, Shape>> = {
  'a product is added': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.set(i, k, x.get(i, k) * y.get(i, k) + z.get(i, k)),
    expected: (m, { x, y, z }) => m.madd(x, y, z),
  },
  'to a product is added': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.set(i, k, z.get(i, k) + x.get(i, k) * y.get(i, k)),
    expected: (m, { x, y, z }) => m.madd(x, y, z),
  },
  'a product is subtracted': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.set(i, k, z.get(i, k) - x.get(i, k) * y.get(i, k)),
    expected: (m, { x, y, z }) => m.madd(-x, y, z),
  },
  'from a product is subtracted': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.set(i, k, x.get(i, k) * y.get(i, k) - z.get(i, k)),
    expected: (m, { x, y, z }) => m.madd(x, y, -z),
  },
  'of two products the second is contracted': {
    body:
      () =>
      ([i, k], { x, y, z, w }) =>
        z.set(i, k, x.get(i, k) * y.get(i, k) - z.get(i, k) * w.get(i, k)),
    expected: (m, { x, y, z, w }) => m.madd(-z, w, m.mul(x, y)),
  },
  'a product is added to an element': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.add(i, k, x.get(i, k) * y.get(i, k)),
    expected: (m, { x, y, z }) => m.madd(x, y, z),
  },
  'a square is added': {
    body:
      () =>
      ([i, k], { x, y, z }) =>
        z.set(i, k, z.get(i, k) + (x.get(i, k) - y.get(i, k)) ** 2),
    expected: (m, { x, y, z }) => m.madd(m.add(x, -y), m.add(x, -y), z),
  },
  'a polynomial': {
    body:
      () =>
      ([i, k], { x, y, z, w }) =>
        z.set(i, k, (x.get(i, k) * y.get(i, k) + w.get(i, k)) * y.get(i, k) + z.get(i, k)),
    expected: (m, { x, y, z, w }) => m.madd(m.madd(x, y, w), y, z),
  },
  'a product that a local keeps is rounded': {
    body:
      () =>
      ([i, k], { x, y, z, w }) => {
        const product = x.get(i, k) * y.get(i, k)
        z.set(i, k, product + z.get(i, k) * w.get(i, k))
        w.set(i, k, product)
      },
    expected: (m, { x, y, z, w }) => m.madd(z, w, m.mul(x, y)),
  },
  'in a branch': {
    body:
      () =>
      ([i, k], { x, y, z }) => {
        if (x.get(i, k) > y.get(i, k)) z.set(i, k, x.get(i, k) * y.get(i, k) + z.get(i, k))
      },
    expected: (m, { x, y, z }) => (x > y ? m.madd(x, y, z) : z),
  },
  'borders are scalars': {
    body:
      () =>
      ([i, k], { x, y, z }) => {
        if (k > 0) z.set(i, k, x.get(i, k - 1) * y.get(i, k) + z.get(i, k))
        else z.set(i, k, x.get(i, k) * y.get(i, k) + z.get(i, k))
      },
    expected: (m, { x, y, z, before, k }) => m.madd(k > 0 ? before : x, y, z),
    isScalar: (k) => k === 0,
  },
  'what is checked is scalar or exact': {
    body:
      () =>
      ([i, k], { x, y, z }) => {
        z.set(i, k, x.get(i, k) * y.get(i, k) + (x.get(i, k) > 1 ? z.get(i, k + 1) : x.get(i, k)))
      },
    expected: (m, { x, y }) => m.madd(x, y, x),
  },
  'an inner loop adds a product': {
    body:
      (width) =>
      ([i], { x, y, z }) => {
        for (let k = 0; k < width; k++) z.set(i, k, x.get(i, k) * y.get(i, k) + z.get(i, k))
      },
    expected: (m, { x, y, z }) => m.madd(x, y, z),
    isScalar: isLeft,
    isInner: true,
  },
  'an inner loop subtracts from a product': {
    body:
      (width) =>
      ([i], { x, y, z, w }) => {
        for (let k = 0; k < width; k++) z.set(i, k, x.get(i, k) * y.get(i, k) - w.get(i, k))
      },
    expected: (m, { x, y, w }) => m.madd(x, y, -w),
    isScalar: isLeft,
    isInner: true,
  },
}

interface Case {
  readonly name: string
  readonly dtype: 'f32' | 'f64'
  readonly rows: number
  readonly width: number
  readonly seed: number
  readonly workers: number
  readonly partitions: NonNullable<LoopOptions['partitions']>
}

function casesOf(names: readonly string[]): fc.Arbitrary<Case> {
  return fc.record({
    name: fc.constantFrom(...names),
    dtype: fc.constantFrom('f32' as const, 'f64' as const),
    rows: fc.integer({ min: 1, max: 4 }),
    // Sums of fewer than 64 turns have lanes of iterations instead.
    width: fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 1, max: 45 }) }, { weight: 1, arbitrary: fc.integer({ min: 64, max: 90 }) }),
    seed: fc.nat(1000),
    workers: fc.constantFrom(1, ...WORKERS),
    partitions: fc.integer({ min: 1, max: 9 }),
  })
}

function examplesOf(names: readonly string[]): [Case][] {
  const all = names.flatMap((name) => (['f32', 'f64'] as const).map((dtype) => ({ name, dtype })))
  return all.map((one) => [{ ...one, rows: 3, width: 71, seed: 1, workers: 3, partitions: 7 }])
}

test.skipIf(!HAS)('in relaxed precision a product and its sum round once, where the CPU can, in all elements alike', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(casesOf(Object.keys(SHAPES)), async (one) => {
      const { name, dtype, rows, width } = one
      const shape = SHAPES[name]
      if (shape === undefined) throw new Error(`No shape ${name}.`)
      const space = shape.isInner === true ? [rows] : [rows, width]
      const { before, after, line } = await outcomeOf(one, space, shape.body(width))
      const lanes = /(\d) lanes of (f64|f32)(, contracted)?/.exec(line)
      const counted = lanes === null ? 'scalar' : `${lanes[0]}`
      counts[counted] = (counts[counted] ?? 0) + 1
      const arithmetic = arithmeticOf(lanes?.[2], lanes?.[3] !== undefined)
      for (let at = 0; at < rows * width; at++) {
        const k = at % width
        const [x = 0, y = 0, z = 0, w = 0] = before.map((values) => values[at])
        const isScalar = shape.isScalar?.(k, width, Number(lanes?.[1] ?? 1)) === true
        const wanted = shape.expected(isScalar ? SCALARS : arithmetic, { x, y, z, w, before: before[0]?.[at - 1] ?? 0, k })
        const value = after[at]
        if (!Object.is(value, dtype === 'f32' ? Math.fround(wanted) : wanted))
          throw new Error(`element ${at}: ${value}, not ${wanted}\n${line}`)
      }
    }),
    { ...RUN, examples: examplesOf(Object.keys(SHAPES)) },
  )
  console.log(`relaxed.prop.ts: ${JSON.stringify({ IS_FUSED, ...counts })}`)
  for (const lanes of ['2 lanes of f64, contracted', '4 lanes of f32, contracted'])
    expect([lanes, (counts[lanes] ?? 0) > 0.1 * RUN.numRuns]).toEqual([lanes, true])
})

const SCALARS: Arithmetic = { mul: (a, b) => a * b, add: (a, b) => a + b, madd: (a, b, c) => a * b + c }

function arithmeticOf(kind: string | undefined, isContracted: boolean): Arithmetic {
  if (kind !== 'f32' && kind !== 'f64') return SCALARS
  const rounded = kind === 'f32' ? Math.fround : (value: number) => value
  const isOnce = isContracted && IS_FUSED !== false && IS_FUSED[kind]
  return {
    mul: (a, b) => rounded(a * b),
    add: (a, b) => rounded(a + b),
    madd: (a, b, c) => (isOnce ? roundedOnce(a, b, c, kind === 'f32' ? 24 : 53) : rounded(rounded(a * b) + c)),
  }
}

/** What is more than one multiply-add an element: the order of additions is the library's own. */
const LONGER: Readonly<Record<string, (width: number) => Body>> = {
  'a row is moved by its error':
    (width) =>
    ([i], { x, y, z }) => {
      let sum = 0
      let less = 0
      for (let k = 0; k < width; k++) {
        sum += x.get(i, k) * y.get(i, k)
        less -= x.get(i, k) * x.get(i, k)
      }
      const error = z.get(i, 0) - sum
      for (let k = 0; k < width; k++) z.set(i, k, z.get(i, k) + 0.1 * (error * y.get(i, k) - less * x.get(i, k)))
    },
  'iterations with loops inside':
    (width) =>
    ([i], { x, y, z }) => {
      let least = Number.POSITIVE_INFINITY
      for (let c = 0; c < 3; c++) {
        let square = 0
        for (let a = 0; a < 3; a++) square += (x.get(i, a % width) - y.get(0, c % width)) * z.get(i, 0)
        least = Math.min(least, square * 0.3 + 0.7)
      }
      z.set(i, 0, least)
    },
  'sums by iterations as lanes':
    (width) =>
    ([i], { x, y, z }) => {
      let sum = 0
      for (let k = 0; k < width; k++) sum += y.get(0, k) * x.get(i, 0)
      z.set(i, 0, sum)
    },
  functions:
    (width) =>
    ([i], { x, y, z }) => {
      for (let k = 0; k < width; k++) z.set(i, k, Math.exp(x.get(i, k)) * Math.sin(y.get(i, k)) + Math.tanh(z.get(i, k)))
    },
}

test.skipIf(!HAS)('in relaxed precision the bits are those of one worker', async () => {
  let contracted = 0
  const cases = casesOf(Object.keys(LONGER)).map((one) => ({ ...one, rows: one.rows * 7 }))
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const body = LONGER[one.name]?.(one.width) ?? (() => undefined)
      const alone = await outcomeOf({ ...one, workers: 1, partitions: 1 }, [one.rows], body)
      if (alone.line.includes('contracted')) contracted++
      const { after } = await outcomeOf(one, [one.rows], body)
      const at = after.findIndex((value, i) => !Object.is(value, alone.after[i]))
      if (at >= 0) throw new Error(`${one.workers} workers, element ${at}: ${after[at]}, not ${alone.after[at]}\n${alone.line}`)
    }),
    { ...RUN, examples: examplesOf(Object.keys(LONGER)) },
  )
  console.log(`relaxed.prop.ts: {"longer, contracted":${contracted}}`)
  expect(contracted).toBeGreaterThan(0.1 * RUN.numRuns)
})

async function outcomeOf({ dtype, rows, width, seed, workers, partitions }: Case, space: readonly number[], body: Body) {
  const session = sessions[WORKERS.indexOf(workers)]
  if (session === undefined) throw new Error(`No session of ${workers}.`)
  const random = (by: number) => session.random([rows, width], { dtype, seed: seed + by })
  const arrays = { x: random(1), y: random(2), z: random(3), w: random(4) }
  const all = Object.values(arrays)
  const before = await Promise.all(all.map((array) => array.toTypedArray() as Promise<Float64Array>)) // of floats
  const loop = session.loop(session.range(...space), arrays, body as never, { precision: 'relaxed', partitions })
  await loop.run()
  const after = (await arrays.z.toTypedArray()) as Float64Array // of floats
  const line =
    loop
      .explain({ kernel: true })
      .match(/^ *(?:iterations|for \w+ at).*$/gm)
      ?.join('\n') ?? ''
  for (const array of all) await array.release()
  return { before, after, line }
}
