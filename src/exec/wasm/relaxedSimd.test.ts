import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Precision } from '../../core/loop/loopSpec.ts'
import { Session } from '../../session/session.ts'

/** A module of three constants and f32x4.relaxed_madd, written by hand: the question is not left to what is tested. */
const CONSTANT = [0xfd, 0x0c, ...new Uint8Array(16)]
const BODY = [0, ...CONSTANT, ...CONSTANT, ...CONSTANT, 0xfd, 0x85, 0x02, 0x0b]
const HEAD = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0]
const HAS = WebAssembly.validate(Uint8Array.of(...HEAD, 10, BODY.length + 2, 1, BODY.length, ...BODY))
console.log(`relaxedSimd.test.ts: skipped what is of engines ${HAS ? 'without' : 'with'} relaxed SIMD`)
const ABSENT = 'kernel wasm-simd: Relaxed SIMD is absent from this engine: as fast.'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

/** A dot product, a row that is moved by it, and a function. */
async function outcomeOf(precision: Precision) {
  const [x, y] = [1, 2].map((seed) => session.random([50, 75], { dtype: 'f32', seed })) as [Rows, Rows]
  const loop = session.loop(
    session.range(50),
    { x, y },
    ([i], { x, y }) => {
      let sum = 0
      for (let k = 0; k < 75; k++) sum += x.get(i, k) * y.get(i, k)
      for (let k = 0; k < 75; k++) x.set(i, k, x.get(i, k) + sum * Math.exp(y.get(i, k)))
    },
    { precision },
  )
  const before = loop.explain({ kernel: true })
  await loop.run()
  return { bits: await x.toTypedArray(), before, after: loop.explain({ kernel: true }), kernel: loop.plan.kernel }
}
type Rows = ReturnType<typeof session.random<[number, number]>>

test.skipIf(HAS)('where the engine has no relaxed SIMD, relaxed precision is fast precision, and the plan says so', async () => {
  const [fast, relaxed] = [await outcomeOf('fast'), await outcomeOf('relaxed')]
  expect(relaxed.bits).toEqual(fast.bits)
  expect(relaxed.kernel).toEqual({ target: 'wasm-simd', note: 'Relaxed SIMD is absent from this engine: as fast.' })
  for (const text of [relaxed.before, relaxed.after]) {
    expect(text).toContain(ABSENT)
    expect(text).not.toContain('contracted')
  }
  expect(fast.kernel).toEqual({ target: 'wasm-simd' })
})

test.skipIf(!HAS)('where the engine has relaxed SIMD, a relaxed kernel uses it, and the plan says where', async () => {
  const { before, after, kernel } = await outcomeOf('relaxed')
  expect(kernel).toEqual({ target: 'wasm-simd' })
  for (const text of [before, after]) {
    expect(text).toContain('4 lanes of f32, 4 accumulators, contracted')
    expect(text).toContain('f32x4.relaxed_madd')
  }
})

test('exact and fast kernels have nothing that depends on the CPU', async () => {
  for (const precision of ['exact', 'fast'] as const) {
    const { after, kernel } = await outcomeOf(precision)
    expect(after).not.toMatch(/\.relaxed_|contracted/)
    expect(kernel.note).toBeUndefined()
  }
})

test('a precision that there is not', () => {
  const loop = () => session.loop(session.range(2), {}, () => undefined, { precision: 'loose' as never })
  expect(loop).toThrowErrorMatchingInlineSnapshot(
    `[PlanError: The precision of loop() is one of 'exact', 'fast', 'relaxed'; it was given "loose".]`,
  )
})
