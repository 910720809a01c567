/**
 * Each worker's copies of private arrays: the kernel of a worker is bound to its own, and what the serially last iteration
 * leaves in one is brought back.
 *
 *     the array      ──── takeIn, when a pass starts ───>   copy of worker 0, 1, …   ── any blocks, in any order ──
 *                    <─── handBack, by the worker that has just run the last iteration of the serial order ────────
 *
 * Every iteration writes the same elements before it reads any, so what a copy holds of them when an iteration starts does not
 * matter; the others nobody writes, and a copy brings back what it took in. A worker may still take in while another
 * hands back: what it then has of the last iteration is written anew before it is read.
 */
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { Bug } from '../../../core/errors.ts'
import type { ArrayBinding, KernelBinding, LoopKernel } from '../../kernels/js/loopKernelShape.ts'
import type { WasmKernelPlan } from '../../kernels/loops/wasmBinding.ts'
import type { LoopInputs } from '../loopInputs.ts'
import type { ArrayPlan } from '../loopTask.ts'

export interface PrivateCopies {
  takeIn(): void
  handBack(): void
}

/** Copies for so many workers of each private array, by its identity. */
export function copiesOf(
  { analyzed, arrays }: LoopInputs,
  workers: number,
  allocate: (dtype: DType, length: number) => TypedArray,
): Map<number, readonly TypedArray[]> {
  const copies = new Map<number, readonly TypedArray[]>()
  for (const { storage, array } of arrays.values()) {
    if (!analyzed.privateArrays.includes(array) || copies.has(array)) continue
    // The analysis calls no others private: each worker then needs the array itself, and that would be a race.
    if (storage.kind !== 'dense' || storage.dtype === 'object') throw new Bug(`Array ${array} was called private, but holds no numbers.`)
    const { dtype, data } = storage
    copies.set(
      array,
      Array.from({ length: workers }, () => allocate(dtype, data.length)),
    )
  }
  return copies
}

/** A kernel, and what tells it which worker it works for. */
export interface KernelOfShare {
  readonly kernel: LoopKernel
  readonly useShare?: (share: number) => void
}

type Bind = (wasm: WasmKernelPlan | undefined, binding: KernelBinding) => KernelOfShare

/** Binds the kernel to the copies of the share that it is told, anew when that is another than before; undefined without private arrays. */
export function bindCopies(
  arrays: readonly ArrayPlan[],
  wasm: WasmKernelPlan | undefined,
  binding: KernelBinding,
  bind: Bind,
): (Required<KernelOfShare> & { readonly copies: PrivateCopies }) | undefined {
  const copied = arrays.flatMap((array, place) =>
    array.kind === 'dense' && array.copies !== undefined ? [{ place, data: array.data, copies: array.copies }] : [],
  )
  if (copied.length === 0) return undefined
  const boundTo = (share: number) => {
    const own = new Map(copied.map(({ place, data, copies }) => [place, copies[share] ?? data]))
    const kernel = bind(wasm === undefined ? undefined : atAddresses(wasm, own), {
      ...binding,
      arrays: binding.arrays.map((array, place) => withData(array, own.get(place))),
    })
    const pairs = new Map(copied.flatMap(({ data, copies }) => (copies[share] === undefined ? [] : [[data, copies[share]] as const])))
    return { share, kernel, pairs }
  }
  let bound = boundTo(0)
  return {
    kernel: (box, from, to, lane, parameters) => bound.kernel.kernel(box, from, to, lane, parameters),
    useShare(share) {
      if (share !== bound.share) bound = boundTo(share)
      bound.kernel.useShare?.(share)
    },
    copies: {
      takeIn() {
        for (const [shared, own] of bound.pairs) own.set(shared as never) // of one class
      },
      handBack() {
        for (const [shared, own] of bound.pairs) shared.set(own as never) // as above
      },
    },
  }
}

function withData(array: ArrayBinding, data: TypedArray | undefined): ArrayBinding {
  return data === undefined || array.kind === 'keyed' ? array : { ...array, data }
}

/** The module's addresses, with those of the copies. */
function atAddresses(wasm: WasmKernelPlan, own: ReadonlyMap<number, TypedArray>): WasmKernelPlan {
  const globals: Record<string, number> = { ...wasm.globals }
  for (const [place, { byteOffset }] of own) if (globals[`A${place}`] !== undefined) globals[`A${place}`] = byteOffset
  return { ...wasm, globals }
}
