/**
 * Law 5 where the end of an iteration runs beside the beginning of the next one: random bodies of that shape, and near it,
 * leave the bits that the same functions leave when they are called one iteration after another, and fail at the key where
 * they fail, with what was written before in the arrays. The optimizing compiler makes every kernel, as it does of long loops.
 */
import { setFlagsFromString } from 'node:v8'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { type OverlapBody, overlapBody, ROWS } from './arbitraries/overlapBody.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, startMachine } from './loopRuns.ts'
import { kernelOutcome, plainOutcome, type RowDType, type RowIteration, type RowLoop } from './rowLoops.ts'

setFlagsFromString('--no-liftoff')

const RUN = announcedRun('overlap.prop.ts')
/** What `explain` says where the law is about something. */
const OVERLAPPED = 'beside the update of the iteration before'

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

interface Case {
  readonly body: OverlapBody
  readonly dtypes: readonly RowDType[]
  /** Iterations by their rows, where rows are not keys of a range. */
  readonly places: readonly (readonly [u: number, m: number])[]
  /** Of a range. */
  readonly extents: readonly [number, number]
  readonly values: readonly number[]
}

const dtypes = fc.constantFrom<Case['dtypes']>(['f64', 'f64', 'f64'], ['f32', 'f32', 'f32'], ['f64', 'f32', 'i32'], ['f32', 'f64', 'f64'])
const ordinary = fc.double({ min: -2, max: 2, noNaN: true })
const values = fc.oneof(
  fc.array(ordinary, { minLength: 7, maxLength: 40 }),
  fc.array(fc.constantFrom(...SPECIAL_NUMBERS), { minLength: 7 }),
)
const row = fc.nat(ROWS - 1)
const cases: fc.Arbitrary<Case> = overlapBody.chain((body) =>
  fc.record({
    body: fc.constant(body),
    dtypes,
    // A table may name a row that is not there.
    places: fc.array(fc.tuple(row, body.space === 'table' ? fc.oneof({ weight: 40, arbitrary: row }, fc.constantFrom(ROWS, -1)) : row), {
      maxLength: 12,
    }),
    extents: fc.tuple(fc.integer({ min: 1, max: ROWS }), fc.integer({ min: 1, max: ROWS })),
    values,
  }),
)

test('an update beside the sum of the next iteration leaves what the body leaves iteration by iteration', async () => {
  const counts = { overlapped: 0, kept: 0, 'lanes of f64': 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const loop = loopOf(one)
      const plain = plainOutcome(loop)
      const { outcome, text } = await kernelOutcome(loop, machine)
      const isOverlapped = text.includes(OVERLAPPED)
      if (isOverlapped) counts.overlapped++
      if (text.includes('rows kept as doubles')) counts.kept++
      if (isOverlapped && plain.failed !== undefined) counts.failed++
      if (text.includes('lanes of f64')) counts['lanes of f64']++
      const what = `${one.body.source}\n${text}`
      if (outcome.failed !== plain.failed) throw new Error(`failed at ${outcome.failed}, not at ${plain.failed}\n${what}`)
      for (const [name, expected] of Object.entries(plain.numbers)) {
        const got = outcome.numbers[name]
        const i = Array.from(expected).findIndex((value, i) => !Object.is(value, got?.[i]))
        if (i >= 0) throw new Error(`${name}, number ${i}: ${got?.[i]}, not ${expected[i]}\n${what}`)
      }
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns < 500) return
  expect(counts.overlapped).toBeGreaterThan(0.15 * RUN.numRuns)
  expect(counts.kept).toBeGreaterThan(0.05 * RUN.numRuns)
  expect(counts.failed).toBeGreaterThan(0.01 * RUN.numRuns)
})

function loopOf(one: Case): RowLoop {
  const { body, dtypes, values, extents } = one
  const arrays = ['A', 'B', 'D', 'c'].map((name, i) => ({
    name,
    shape: name === 'c' ? [ROWS] : [ROWS, body.width],
    dtype: name === 'c' ? 'f64' : (dtypes[i] ?? 'f64'),
    values: (position: number) => values[(position * 5 + i) % values.length] ?? 0,
    ...(name === 'A' ? { alias: 'T' } : {}),
  }))
  const { source, space } = body
  return { source, space, extents: space === 'range' ? extents : [ROWS, ROWS], iterations: iterationsOf(one), arrays }
}

/** The rows and the number of each iteration, in their order. */
function iterationsOf({ body, places, extents, values }: Case): readonly RowIteration[] {
  const x = (u: number, m: number): number => values[(u * 3 + m) % values.length] ?? 0
  if (body.space === 'table') return places.map(([u, m]) => [u, m, x(Math.abs(u), Math.abs(m))])
  const all = Array.from({ length: ROWS * ROWS }, (_, i) => [Math.floor(i / ROWS), i % ROWS] as const)
  const isThere = ([u, m]: readonly [number, number]): boolean =>
    body.space === 'range' ? u < extents[0] && m < extents[1] : places.some(([a, b]) => a === u && b === m)
  return all.filter(isThere).map(([u, m]) => [u, m, x(u, m)])
}
