/**
 * Functions of Math as WebAssembly, each in a module of its own that kernels import from, instead of the engine's. V8 calls the engine's
 * own from kernels by way of JavaScript, which makes an object of each result; only for some (`sin`, `pow`) it does not.
 *
 *     Math.tanh(x) in a kernel    call $Math.tanh/1    the module of `tanh`, where it has the engine's bits; else Math.tanh
 *
 * The language leaves the last digits of most of these functions to the engine. Whether this engine's are those of the code here is tested
 * at the first use in a thread, with some thousand arguments.
 */
import { type Code, I } from '../../../kir/instructions.ts'
import { moduleBytes } from '../../../wasm/wasmEncoder.ts'
import { type BuiltinName, DoubleCode, type LibraryName } from './doubleCode.ts'
import { cosh, expm1, sinh, tanh } from './exponentials.ts'
import { acosh, asinh, atanh, log1p, log2, log10 } from './logarithms.ts'
import { cbrt, remainder } from './roots.ts'

type Numeric = (...args: number[]) => number

interface Written {
  readonly write: (c: DoubleCode, args: readonly [Code, Code]) => Code
  readonly takes: 1 | 2
  /** Computes the same by the engine. */
  readonly itself: Numeric
  /** The magnitude of the arguments that are compared: around which the function changes most. */
  readonly around: number
}

const one = (write: (c: DoubleCode, args: readonly [Code]) => Code, itself: Numeric, around: number): Written => {
  return { write: (c, [x]) => write(c, [x]), takes: 1, itself, around }
}

const LIBRARY: Readonly<Record<LibraryName, Written>> = {
  '%': { write: remainder, takes: 2, itself: (a: number, b: number): number => a % b, around: 1 },
  'Math.acosh': one(acosh, Math.acosh, 2),
  'Math.asinh': one(asinh, Math.asinh, 1),
  'Math.atanh': one(atanh, Math.atanh, 0.5),
  'Math.cbrt': one(cbrt, Math.cbrt, 1),
  'Math.cosh': one(cosh, Math.cosh, 1),
  'Math.expm1': one(expm1, Math.expm1, 1),
  'Math.log10': one(log10, Math.log10, 1),
  'Math.log1p': one(log1p, Math.log1p, 1),
  'Math.log2': one(log2, Math.log2, 1),
  'Math.sinh': one(sinh, Math.sinh, 1),
  'Math.tanh': one(tanh, Math.tanh, 1),
}

export const LIBRARY_NAMES: readonly LibraryName[] = Object.keys(LIBRARY) as LibraryName[] // its keys

const known = new Map<string, Numeric | undefined>()

/** The function as WebAssembly; undefined where there is none, or where this engine computes it in another way. */
export function libraryFunction(name: string): Numeric | undefined {
  if (!Object.hasOwn(LIBRARY, name)) return undefined
  if (!known.has(name)) known.set(name, sameAs(name as LibraryName, LIBRARY[name as LibraryName].itself)) // a key, as was asked
  return known.get(name)
}

const COMPARED = 2048

/** The function of the library, where it has the bits of this one for arguments around 1 and of all sizes up to 2^40. */
export function sameAs(name: LibraryName, itself: Numeric): Numeric | undefined {
  const { takes, around } = LIBRARY[name]
  const own = instantiated(name)
  const golden = (i: number): number => (Math.imul(i, 0x9e3779b9) >>> 0) / 2 ** 32 - 0.5
  const argument = (i: number): number => (i % 2 === 0 ? 4 * around * golden(i) : golden(i) * 2 ** (80 * golden(i + 7)))
  for (let i = 0; i < COMPARED; i++) {
    const args = [argument(i), argument(2 * i + 1)].slice(0, takes)
    if (!Object.is(own(...args), itself(...args))) return undefined
  }
  return own
}

function instantiated(name: LibraryName): Numeric {
  const { write, takes } = LIBRARY[name]
  const c = new DoubleCode(takes)
  const body = c.finished(write(c, [I.localGet(0), I.localGet(1)]))
  const parameters = Array.from({ length: takes }, () => 'f64' as const)
  const imports = c.imported.map((one) => {
    return {
      kind: 'function',
      name: one.name,
      parameters: Array.from({ length: one.takes }, () => 'f64' as const),
      results: ['f64'],
    } as const
  })
  const bytes = moduleBytes({ imports, parameters, locals: c.locals, body, result: 'f64' })
  const engine = Object.fromEntries(c.imported.map(({ name: of }) => [of, engineOf(of)]))
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { k: engine }).exports as { run: Numeric } // what moduleBytes exports
  return run
}

function engineOf(name: BuiltinName): Numeric {
  return name === 'Math.exp' ? Math.exp : name === 'Math.log' ? Math.log : LIBRARY[name].itself
}
