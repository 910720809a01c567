import { expect, test } from 'vitest'
import { I, moduleBytes, SIMD } from './wasmEncoder.ts'
import { type LaneFunction, laneFunction } from './wasmVectorMath.ts'

const COUNT = 2 ** 14

/** The function over f32 at the start of a memory of its own, four at a time, in place. */
function compiled(name: LaneFunction): (values: Float32Array) => Float32Array {
  const locals: 'v128'[] = []
  const declare = (): number => 2 + locals.push('v128') - 1
  const number = (kind: 'f32' | 'i32', value: number) =>
    kind === 'i32'
      ? I.lanes([value, value, value, value])
      : I.lanes([...new Int32Array(Float32Array.of(value, value, value, value).buffer)])
  const x = [...I.localGet(0), ...I.simdMemory(SIMD.load)]
  const body = [
    ...[...I.loop, ...I.localGet(0), ...laneFunction({ number, declare }, name, x), ...I.simdMemory(SIMD.store)],
    ...[...I.localGet(0), ...I.i32Const(16), 0x6a, ...I.localTee(0), ...I.localGet(1), 0x48, ...I.brIf(0), 0x0b],
  ]
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
  const bytes = moduleBytes({ imports: [], parameters: ['i32', 'i32'], locals, body })
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { k: { memory } }).exports as {
    run: (at: number, end: number) => void
  } // what moduleBytes exports
  const view = new Float32Array(memory.buffer, 0, COUNT)
  return (values) => {
    view.set(values)
    run(0, 4 * COUNT)
    return view.slice(0, values.length)
  }
}

/** Every 509th f32 of both signs, NaN among them, and what lies at edges. */
function* samples(): Generator<Float32Array> {
  const bits = new Uint32Array(COUNT)
  let used = 0
  const edges = Float32Array.of(
    0,
    -0,
    1,
    -1,
    0.5,
    88.72283,
    88.72284,
    -87.33655,
    -103.97208,
    -104,
    0.625,
    -0.625,
    9,
    -9,
    1.1754944e-38,
    1e-45,
    3.4028235e38,
    Infinity,
    -Infinity,
  )
  for (const edge of new Uint32Array(edges.buffer)) bits[used++] = edge
  for (let b = 0; b < 2 ** 32; b += 509) {
    bits[used++] = b
    if (used === COUNT) {
      yield new Float32Array(bits.buffer.slice(0))
      used = 0
    }
  }
}

/** The distance between neighbours of f32 around a double. */
function unitAt(value: number): number {
  return 2 ** Math.max(-149, Math.floor(Math.log2(Math.abs(value))) - 23)
}

test.each([
  ['Math.exp', Math.exp, 1],
  ['Math.log', Math.log, 1],
  ['Math.tanh', Math.tanh, 1.5],
] as const)('%s of f32 lanes is within its stated error everywhere', (name, reference, units) => {
  const run = compiled(name)
  let most = 0
  let at = 0
  for (const values of samples()) {
    const results = run(values)
    for (let i = 0; i < values.length; i++) {
      const x = values[i] as number
      const [got, want] = [results[i] as number, reference(x)]
      if (Object.is(got, Math.fround(want))) continue
      const error = Math.abs(got - want) / unitAt(want)
      if (!(error <= most)) [most, at] = [error, x]
    }
  }
  expect(most, `at ${at}`).toBeLessThan(units)
})
