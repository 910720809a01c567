/** The estimate of a pass, for random loops: a time, the same each time, and the longer the more there is to do. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CostedKernel, iterationCost } from '../src/core/cost/iterationCost.ts'
import { costedType } from '../src/core/cost/means.ts'
import type { DType } from '../src/core/data/schema.ts'
import { type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('estimate.prop.ts')

const kernels: fc.Arbitrary<CostedKernel> = fc.record({
  target: fc.constantFrom('wasm-simd' as const, 'wasm' as const, 'js' as const),
  lanes: fc.constantFrom(1, 2, 4),
  nested: fc.boolean(),
  inner: fc.constant(new Map<string, number>()),
})

interface How {
  readonly kernel: CostedKernel
  readonly isRun: boolean
  /** Of the extents of all arrays. */
  readonly scale: number
}
const hows: fc.Arbitrary<How> = fc.record({ kernel: kernels, isRun: fc.boolean(), scale: fc.constantFrom(1, 1_000) })

/** Nanoseconds of a pass over so many times the outermost index. */
function passNs({ ir, spec, arrays }: RandomLoop, { kernel, isRun, scale }: How, times = 1, body = ir.body): number {
  const extents = spec.over.extents.map((extent, axis) => (extent ?? 1) * (axis === 0 ? times : 1))
  const cost = iterationCost({
    ir: { ...ir, body },
    extents,
    isRun,
    kernel,
    arrayOf: (name) => {
      const array = arrays.find(({ names }) => names.includes(name))
      return array && { extents: array.shape.map((extent) => extent * scale), ...costedType(array.dtype as DType) }
    },
  })
  const iterations = extents.reduce((product, extent) => product * extent, 1)
  return iterations * cost.ns + (iterations / Math.max(1, extents[extents.length - 1] ?? 1)) * cost.runNs
}

test('an estimate is a time, and the same each time', () => {
  fc.assert(
    fc.property(fc.oneof(scheduledLoop(), randomLoop({ inside: true })), hows, (loop, how) => {
      const ns = passNs(loop, how)
      expect(ns).toBeGreaterThanOrEqual(0)
      expect(Number.isFinite(ns)).toBe(true)
      expect(passNs(loop, how)).toBe(ns)
    }),
    RUN,
  )
})

test('more iterations cost more', () => {
  fc.assert(
    fc.property(scheduledLoop(), hows, fc.integer({ min: 2, max: 50 }), (loop, how, times) => {
      expect(passNs(loop, how, times)).toBeGreaterThan(passNs(loop, how))
    }),
    RUN,
  )
})

test('a body with more to do costs no less', () => {
  fc.assert(
    fc.property(scheduledLoop(), hows, fc.nat(), (loop, how, at) => {
      const without = loop.ir.body.filter((_, i) => i !== at % loop.ir.body.length)
      expect(passNs(loop, how)).toBeGreaterThanOrEqual(passNs(loop, how, 1, without))
    }),
    RUN,
  )
})
