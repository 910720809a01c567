/** The time of a pass over these arrays on one thread, estimated from the body and the kernel that it was compiled to. */
import { type CostedKernel, type IterationCost, iterationCost } from '../../core/cost/iterationCost.ts'
import { type CostedArray, costedType } from '../../core/cost/means.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
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

function estimatedIteration({ inputs, ir, space, wasm, isPermuted }: EstimatedLoop): IterationCost {
  return iterationCost({
    ir,
    extents: extentsOf(space),
    isRun: space.kind !== 'sparse' && !isPermuted,
    kernel: costedKernel(wasm),
    arrayOf: (name) => costedArray(inputs, name),
  })
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
