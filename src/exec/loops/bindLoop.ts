/** Binds a kernel to its arrays, accumulators and generators, once for each worker and loop. */

import { outsideMessage } from '../../core/arrays/indexSpace.ts'
import { IterationRng } from '../../core/arrays/random.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { madeFromText } from '../../core/ir/madeFromText.ts'
import { copyOf } from '../../core/ir/portableCopy.ts'
import type { ArrayBinding, ElementBinding, KernelBinding, LoopKernel } from '../kernels/js/loopKernelShape.ts'
import { bindWasm } from '../kernels/loops/wasmBinding.ts'
import type { Arena } from '../memory/arena.ts'
import { KeyedView } from './keyedArray.ts'
import type { ArrayPlan, BindingPlan, ElementPlan, LoopTask } from './loopTask.ts'
import { type AccumulatorLog, createLog } from './reductions/accumulatorLog.ts'
import { bindCopies, type KernelOfShare, type PrivateCopies } from './reductions/privateCopies.ts'

/** A kernel bound to its arrays, with the logs, generators and views that its calls use besides them. */
export interface BoundLoop {
  readonly kernel: LoopKernel
  readonly logs: readonly AccumulatorLog[]
  readonly rngs: readonly IterationRng[]
  readonly at: { place: number }
  /** Sparse arrays and tables by their place in the binding. */
  readonly keyed: ReadonlyMap<number, KeyedView>
  /** The number of places that one call of the kernel runs; adapted to their time, and kept from pass to pass. */
  readonly slice: { places: number }
  /** Selects the share whose scratch memory and private arrays the kernel uses. */
  readonly useShare?: (share: number) => void
  /** This worker's copies of private arrays; absent where the loop has none. */
  readonly copies?: PrivateCopies
}

/** The number of texts bound so far. It makes each text unique: V8 bakes arrays in only while one closure of a text exists. */
let bound = 0

const FIRST_SLICE = 1

/** Binds a task's kernel. `combines` are the user's own functions by the array's place, given on the thread where they live. */
export function bindLoop(
  { text, wasm, binding: plan }: Pick<LoopTask, 'text' | 'wasm' | 'binding'>,
  arena: Arena,
  combines: ReadonlyMap<number, (a: number, b: number) => number> = new Map(),
): BoundLoop {
  const logs = plan.accumulators.map(createLog)
  const rngs = plan.seeds.map((seed) => new IterationRng(seed))
  const sinks = logs.map((log) => log.sink)
  const { binding, keyed } = kernelBinding(plan, sinks, rngs, combines)
  const { at } = binding
  const slice = { places: FIRST_SLICE }
  const bind = (own: typeof wasm, to: KernelBinding) => (own === undefined ? bindText(text, to) : bindWasm(own, to, arena))
  return { ...(bindCopies(plan.arrays, wasm, binding, bind) ?? bind(wasm, binding)), logs, rngs, at, keyed, slice }
}

function bindText(text: string, binding: KernelBinding): KernelOfShare {
  const factory = madeFromText(['bind'], `${text}\n// ${bound++}`) as (bind: KernelBinding) => LoopKernel // text of loopKernel.ts
  return { kernel: factory(binding) }
}

/** What a kernel is bound to, and its sparse arrays and tables by their place in the binding. */
export function kernelBinding(
  plan: BindingPlan,
  accumulators: KernelBinding['accumulators'],
  rngs: readonly IterationRng[],
  combines: ReadonlyMap<number, (a: number, b: number) => number>,
): { readonly binding: KernelBinding; readonly keyed: ReadonlyMap<number, KeyedView> } {
  const keyed = new Map<number, KeyedView>()
  const arrays = plan.arrays.map((array, i) => bindArray(array, i, keyed, combines.get(i)))
  const binding: KernelBinding = {
    arrays,
    accumulators,
    rngs,
    tables: plan.tables,
    order: plan.order,
    keys: plan.keys,
    element: bindElement(plan.element),
    at: { place: 0 },
    outside(array, key) {
      const { label } = plan.arrays[array] as ArrayPlan
      const shape = (arrays[array] as ArrayBinding).extents
      throw new PlanError(outsideMessage(label, key as readonly number[], shape)) // printed, whatever it is
    },
  }
  return { binding, keyed }
}

function bindArray(
  array: ArrayPlan,
  index: number,
  keyed: Map<number, KeyedView>,
  own: ((a: number, b: number) => number) | undefined,
): ArrayBinding {
  switch (array.kind) {
    case 'dense': {
      const { combine, ...rest } = array
      const joined = own ?? (combine === undefined ? undefined : (copyOf(combine) as never))
      return joined === undefined ? rest : { ...rest, combine: joined }
    }
    case 'keyed': {
      const view = new KeyedView(array.storage, array.label)
      keyed.set(index, view)
      return { kind: 'keyed', keyed: view, extents: array.storage.kind === 'table' ? [array.storage.length] : array.storage.shape }
    }
  }
}

function bindElement(plan: ElementPlan): ElementBinding {
  switch (plan.kind) {
    case 'none':
      return { columns: [] }
    case 'dense':
      return { data: plan.data, strides: plan.strides, columns: [] }
    case 'columns': {
      const { storage } = plan
      const columns = fieldsOf(storage.element).flatMap((_, i) => storage.columns[i] ?? [])
      return {
        columns: columns.map((column) => ({
          ...(column.values === undefined ? {} : { values: column.values }),
          ...(column.validity === undefined ? {} : { validity: column.validity }),
          read: valueReader(column),
        })),
      }
    }
  }
}
