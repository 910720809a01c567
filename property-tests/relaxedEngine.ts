/** What the engine at hand makes of relaxed multiply-adds, which laws ask for before they say what a loop gives. */
import { setFlagsFromString } from 'node:v8'
import { type Code, I, SIMD } from '../src/exec/kir/instructions.ts'
import { hasRelaxedSimd } from '../src/exec/wasm/relaxedSimd.ts'
import { moduleBytes } from '../src/exec/wasm/wasmEncoder.ts'

/** Whether relaxed SIMD is there; before Node 22 the engine has it behind a flag, which is set. Says so where a law has to be skipped. */
export function relaxedSimd(file: string): boolean {
  if (Number.parseInt(process.versions.node, 10) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd')
  const has = hasRelaxedSimd()
  if (!has) console.log(`${file}: skipped for relaxed precision, since this engine has no relaxed SIMD`)
  return has
}

/** Whether a multiply-add rounds once here. */
export function roundsOnce(kind: 'f64' | 'f32'): boolean {
  const load = (at: number): Code => [I.i32Const(at), I.memory(SIMD.load)]
  const madd = [kind === 'f64' ? SIMD.f64RelaxedMadd : SIMD.f32RelaxedMadd]
  const body = [I.i32Const(0), load(0), load(16), load(32), madd, I.memory(SIMD.store)]
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
  const module = new WebAssembly.Module(moduleBytes({ imports: [], parameters: [], locals: [], body }))
  const { run } = new WebAssembly.Instance(module, { k: { memory } }).exports as { run: () => void } // what moduleBytes exports
  const view = kind === 'f64' ? new Float64Array(memory.buffer) : new Float32Array(memory.buffer)
  const lanes = 16 / view.BYTES_PER_ELEMENT
  const small = kind === 'f64' ? 2 ** -30 : 2 ** -14
  view.set([1 + small], 0)
  view.set([1 - small], lanes)
  view.set([-1], 2 * lanes)
  run()
  return view[0] !== 0
}

/** a * b + c, rounded once to so many bits: exact integers do it. For numbers and results far from the ends of the range. */
export function roundedOnce(a: number, b: number, c: number, bits: 24 | 53): number {
  const [[am, ae], [bm, be], [cm, ce]] = [parts(a), parts(b), parts(c)]
  const exponent = Math.min(ae + be, ce)
  const exact = ((am * bm) << BigInt(ae + be - exponent)) + (cm << BigInt(ce - exponent))
  const size = exact < 0n ? -exact : exact
  const excess = BigInt(Math.max(0, size.toString(2).length - bits))
  const kept = size >> excess
  const twiceRest = 2n * (size - (kept << excess))
  const unit = 1n << excess
  const isUp = twiceRest > unit || (twiceRest === unit && (kept & 1n) === 1n)
  return (exact < 0n ? -1 : 1) * Number(kept + (isUp ? 1n : 0n)) * 2 ** (exponent + Number(excess))
}

/** A whole number and the power of two that it is multiplied by. */
function parts(value: number): readonly [bigint, number] {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0] ?? 0n
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const whole = exponent === 0 ? fraction : fraction | (1n << 52n)
  return [value < 0 ? -whole : whole, Math.max(exponent, 1) - 1075]
}
