/** The time of a pass over these arrays on one thread, estimated from the body and the kernel that it was compiled to. */
import { type CostedKernel, type IterationCost, iterationCost } from '../../core/cost/iterationCost.ts'
import { type CostedArray, costedType } from '../../core/cost/means.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import { sameItems } from '../../core/sameItems.ts'
import type { LoopFate } from '../kernels/loops/wasmCode.ts'
import { extentsOf, type IterationSpace, iterationsOf } from './blocks/schedule.ts'
import type { KernelPlan } from './kernelPlan.ts'
import type { LoopInputs } from './loopInputs.ts'

export interface EstimatedLoop {
  readonly inputs: LoopInputs
  readonly ir: FunctionIr
  readonly space: IterationSpace
  /** The WebAssembly kernel, or why there is none; undefined where JavaScript was asked for. */
  readonly wasm: KernelPlan['wasm'] | undefined
  /** Whether places are listed in an order other than that of keys, so that neighbours need not follow one another. */
  readonly isPermuted: boolean
}

/** Milliseconds of all iterations on one thread. */
export function estimatedPassMs(loop: EstimatedLoop, iterations: number = iterationsOf(loop.space)): number {
  const extents = extentsOf(loop.space)
  const { ns, runNs } = estimatedIteration(loop)
  const runs = iterations / Math.max(1, extents[extents.length - 1] ?? 1)
  return (iterations * ns + runs * runNs) / 1e6
}

/** What an estimate depends on beside the body, and the estimate. */
interface Estimate {
  readonly extents: readonly number[]
  readonly isRun: boolean
  readonly target: CostedKernel['target']
  readonly loops: readonly LoopFate[]
  readonly arrays: ReadonlyMap<string, CostedArray | undefined>
  readonly cost: IterationCost
}

const NO_LOOPS: readonly LoopFate[] = []

/** The last estimate of each body: the plan that is shown, the layout and the report of a run ask for the same one. */
const lastOf = new WeakMap<FunctionIr, Estimate>()

function estimatedIteration({ inputs, ir, space, wasm, isPermuted }: EstimatedLoop): IterationCost {
  const extents = extentsOf(space)
  const isRun = space.kind !== 'sparse' && !isPermuted
  const [target, loops] = wasm === undefined || 'because' in wasm ? (['js', NO_LOOPS] as const) : [wasm.target, wasm.loops]
  const last = lastOf.get(ir)
  if (last !== undefined && last.isRun === isRun && last.target === target && last.loops === loops && sameItems(last.extents, extents)) {
    if ([...last.arrays].every(([name, array]) => sameArray(array, costedArray(inputs, name)))) return last.cost
  }
  const arrays = new Map<string, CostedArray | undefined>()
  const arrayOf = (name: string): CostedArray | undefined => {
    if (!arrays.has(name)) arrays.set(name, costedArray(inputs, name))
    return arrays.get(name)
  }
  const cost = iterationCost({ ir, extents, isRun, kernel: costedKernel(wasm), arrayOf })
  lastOf.set(ir, { extents, isRun, target, loops, arrays, cost })
  return cost
}

function sameArray(a: CostedArray | undefined, b: CostedArray | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.elementBytes === b.elementBytes && a.isInteger === b.isInteger && sameItems(a.extents, b.extents)
}

function costedKernel(wasm: EstimatedLoop['wasm']): CostedKernel {
  if (wasm === undefined || 'because' in wasm) return { target: 'js', lanes: 1, nested: false, inner: new Map() }
  const iterations = wasm.loops.find(({ place }) => place === undefined)
  const inner = wasm.loops.flatMap(({ place, lanes }) => (place === undefined ? [] : [[place, lanes] as const]))
  const isOverlapped = wasm.loops.some(({ isBeside }) => isBeside === true)
  const { lanes = 1, nested = false } = iterations ?? {}
  return { target: wasm.target, lanes, nested, isOverlapped, inner: new Map(inner) }
}

function costedArray(inputs: LoopInputs, name: string): CostedArray | undefined {
  const storage = inputs.arrays.get(name)?.storage ?? inputs.buffers.get(name)?.storage
  if (storage === undefined) return undefined
  if (storage.kind !== 'dense') {
    return { extents: storage.kind === 'table' ? [storage.length] : storage.shape, elementBytes: 8, isInteger: false }
  }
  const { dtype, shape } = storage
  return dtype === 'object' ? { extents: shape, elementBytes: 8, isInteger: false } : { extents: shape, ...costedType(dtype) }
}
