import { setFlagsFromString } from 'node:v8'
import { expect, test } from 'vitest'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { hasRelaxedSimd } from '../../wasm/relaxedSimd.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'
import { type LaneFunction, laneFunction } from './wasmVectorMath.ts'

const COUNT = 2 ** 14

// Before Node 22 the engine has relaxed SIMD behind a flag.
if (Number.parseInt(process.versions.node, 10) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd')
const KINDS = hasRelaxedSimd() ? (['f32', 'relaxed f32'] as const) : (['f32'] as const)
type Kind = (typeof KINDS)[number]
if (KINDS.length === 1) console.log('Skipped for relaxed lanes: this engine has no relaxed SIMD.')

/** The function over f32 at the start of a memory of its own, and as many behind them as second arguments, in place. */
function compiled(name: LaneFunction, kind: Kind): (values: Float32Array, seconds?: Float32Array) => Float32Array {
  const locals: 'v128'[] = []
  const declare = (): number => 2 + locals.push('v128') - 1
  const number = (kind: 'f64' | 'f32' | 'i32', value: number): Code => {
    if (kind === 'f64') return [I.f64Const(value), SIMD.f64Splat]
    return lanesConst(
      kind === 'i32' ? [value, value, value, value] : [...new Int32Array(Float32Array.of(value, value, value, value).buffer)],
    )
  }
  const itself = (_: string, x: Code): Code => [x, I.call(0)]
  const isRelaxed = kind === 'relaxed f32'
  const [x, y] = [0, 4 * COUNT].map((offset): Code => [I.localGet(0), I.memory(SIMD.load, offset)])
  const body = [
    ...[I.loop, I.localGet(0), laneFunction({ number, declare, itself, isRelaxed }, name, x ?? [], y), I.memory(SIMD.store)],
    ...[I.localGet(0), I.i32Const(16), OP.i32Add, I.localTee(0), I.localGet(1), OP.i32LtS, I.brIf(0), OP.end],
  ]
  const memory = new WebAssembly.Memory({ initial: 2, maximum: 65536, shared: true })
  const imports = [{ kind: 'function', name: 'itself', parameters: ['f64'], results: ['f64'] }] as const
  const bytes = moduleBytes({ imports, parameters: ['i32', 'i32'], locals, body })
  const itselfNow = name === 'Math.cos' ? Math.cos : Math.sin
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { k: { memory, itself: itselfNow } }).exports as {
    run: (at: number, end: number) => void
  } // what moduleBytes exports
  const view = new Float32Array(memory.buffer, 0, 2 * COUNT)
  return (values, seconds = new Float32Array()) => {
    view.set(values)
    view.set(seconds, COUNT)
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
    Math.PI,
    -Math.PI / 2,
    2 ** 20,
    -(2 ** 20) + 0.0625,
    16367173 * 2 ** 72, // of all f32 the nearest to a multiple of π/2
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

const FUNCTIONS = [
  ['Math.exp', Math.exp, 1],
  ['Math.log', Math.log, 1],
  ['Math.tanh', Math.tanh, 1.5],
  ['Math.sin', Math.sin, 0.51],
  ['Math.cos', Math.cos, 0.51],
] as const
const ALL = KINDS.flatMap((kind) => FUNCTIONS.map(([name, reference, units]) => [name, kind, reference, units] as const))
test.each(ALL)('%s of %s lanes is within its stated error everywhere', (name, kind, reference, units) => {
  const run = compiled(name, kind)
  let most: Error = { units: 0, at: '' }
  for (const values of samples()) {
    const results = run(values)
    for (let i = 0; i < values.length; i++) {
      const x = values[i] as number
      most = larger(most, results[i] as number, reference(x), () => String(x))
    }
  }
  expect(most.units, `at ${most.at}`).toBeLessThan(units)
})

/** What powers know as bases and exponents of their own, of either sign. */
const SPECIAL = [
  ...[0, 1, Number.POSITIVE_INFINITY, Number.NaN, 2, 3, 4, 5, 0.5, 1 / 3, 2.5, 1.5, 10, 127, 128, 149, 150, 151, 1e-45, 1e-40],
  ...[2 ** -126, 2 ** 23 - 0.5, 2 ** 23 + 1, 2 ** 24 - 1, 2 ** 24, 2 ** 25, 3.4028234663852886e38, 1 - 2 ** -24, 1 + 2 ** -23],
  ...[Math.SQRT1_2, Math.SQRT2, 8388607.5, 1e9, 1e30],
].flatMap((x) => [x, -x])

/** Pairs of all special values, then seeded ones: of any bits, and such whose power is an f32, also near 1. */
function* pairs(): Generator<readonly [Float32Array, Float32Array]> {
  const all = SPECIAL.flatMap((x) => SPECIAL.map((y) => [x, y] as const))
  let state = 1
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0)
  const fraction = (): number => random() / 2 ** 32
  const anyBits = (): number => new Float32Array(Uint32Array.of(random() ^ (random() >>> 16)).buffer)[0] as number // of one
  const forms: readonly (() => readonly [number, number])[] = [
    () => [anyBits(), anyBits()],
    () => [anyBits(), Math.round(20 * fraction() - 10)],
    () => [Math.abs(anyBits()), 2 * fraction() - 1],
    () => [2 ** (8 * fraction() - 4), 80 * fraction() - 40],
    () => [-Math.round(20 * fraction()), Math.round(60 * fraction() - 30)],
    () => [1 + (fraction() - 0.5) * 2 ** -8, (fraction() - 0.5) * 2 ** 14],
    () => [1 + (fraction() - 0.5) * 2 ** -20, (fraction() - 0.5) * 2 ** 28],
    () => [2 ** (300 * fraction() - 149), 3 * fraction() - 1.5],
  ]
  const seeded = Array.from({ length: 24 * COUNT }, (_, i) => (forms[i % forms.length] ?? (() => [0, 0]))())
  for (let from = 0; from < all.length + seeded.length; from += COUNT) {
    const some = [...all.slice(from, from + COUNT), ...seeded.slice(Math.max(0, from - all.length), Math.max(0, from + COUNT - all.length))]
    yield [Float32Array.from(some, ([x]) => x), Float32Array.from(some, ([, y]) => y)]
  }
}

test.each(KINDS)('powers of %s lanes are within their stated error, and special ones JavaScript’s', (kind) => {
  const run = compiled('Math.pow', kind)
  let most: Error = { units: 0, at: '' }
  let compared = 0
  for (const [bases, exponents] of pairs()) {
    const results = run(bases, exponents)
    for (let i = 0; i < bases.length; i++) {
      const [x, y] = [bases[i] as number, exponents[i] as number]
      most = larger(most, results[i] as number, x ** y, () => `${x} ** ${y}`)
      compared++
    }
  }
  expect(compared).toBeGreaterThan(24 * COUNT)
  expect(most.units, `at ${most.at}`).toBeLessThan(0.51)
})

interface Error {
  readonly units: number
  readonly at: string
}

/** The larger error: what was, or of a result whose double is known. Zeros, infinities and NaN have to be the same. */
function larger(most: Error, got: number, want: number, at: () => string): Error {
  if (Object.is(got, Math.fround(want))) return most
  const isSpecial = want === 0 || !Number.isFinite(want) || Number.isNaN(got) || Object.is(got, -0) !== Object.is(Math.fround(want), -0)
  const units = isSpecial ? Number.POSITIVE_INFINITY : Math.abs(got - want) / unitAt(want)
  return units <= most.units ? most : { units, at: at() }
}
