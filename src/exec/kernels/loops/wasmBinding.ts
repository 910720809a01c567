/**
 * A compiled kernel in the form that is sent to workers, and its binding in a worker: one module for all, instantiated over the
 * arena's memory with the addresses of its arrays.
 *
 * A call leaves the results of accumulators in a scratch block of the worker's own: a word each, then the values of
 * sums, in the order in which they were added. Kept rows come after them (`keptRows.ts`).
 */

import type { Primitive } from '../../../core/ir/functionIr.ts'
import { madeFromText } from '../../../core/ir/madeFromText.ts'
import type { Arena } from '../../memory/arena.ts'
import { functionOfNumbers } from '../expressions/imported.ts'
import type { KernelBinding, LoopKernel, SumLog } from '../js/loopKernelShape.ts'
import type { ThrownError } from './wasmCode.ts'
import { messageText } from './wasmErrors.ts'
import { LOG_CAPACITY } from './wasmIteration.ts'

/** The kernel as it is sent to workers; structured-cloneable. */
export interface WasmKernelPlan {
  readonly module: WebAssembly.Module
  /** The values of imported numbers by name: addresses, strides, extents. */
  readonly globals: Readonly<Record<string, number>>
  readonly functions: readonly string[]
  readonly errors: readonly ThrownError[]
  /** The number of axes of a box; undefined where places have their keys in memory. */
  readonly boxRank: number | undefined
  readonly forms: readonly ('sum' | 'min' | 'max' | 'count' | 'custom')[]
  readonly scratch: Scratch
}

/** The scratch blocks, one for each worker. */
export interface Scratch {
  /** The address of the first worker's block. */
  readonly address: number
  /** The number of doubles in a block. */
  readonly length: number
  /** Whether a block has room for kept rows. */
  readonly keepsRows: boolean
}

/** The number of values up to which copying them one by one is faster. */
const FEW_VALUES = 64

export interface BoundWasm {
  readonly kernel: LoopKernel
  /** Selects the scratch block of worker `share`. */
  useShare(share: number): void
}

/** Instantiates the module; `binding` has the logs of accumulators and the functions that throw. */
export function bindWasm(plan: WasmKernelPlan, binding: KernelBinding, arena: Arena): BoundWasm {
  const { forms } = plan
  const { length } = plan.scratch
  let { address } = plan.scratch
  let scratch: Float64Array = new Float64Array()
  let words: Uint32Array = new Uint32Array()
  const starts = logStarts(forms)
  const useShare = (share: number): void => {
    address = plan.scratch.address + 8 * length * share
    scratch = arena.view('f64', address, length) as Float64Array
    words = arena.view('u32', address, 2 * length) as Uint32Array
  }
  if (length > 0) useShare(0)
  const handOver = (i: number, count: number): void => {
    const log = binding.accumulators[i] as SumLog // of a sum
    while (log.values.length < log.length + count) log.grow()
    const start = starts[i] ?? 0
    if (count > FEW_VALUES) log.values.set(scratch.subarray(start, start + count), log.length)
    else for (let k = 0; k < count; k++) log.values[log.length + k] = scratch[start + k] as number // inside: the log was grown
    log.length += count
  }
  const imports: Record<string, WebAssembly.ImportValue> = { memory: arena.memory, ...plan.globals }
  const said: number[] = []
  for (const name of plan.functions) imports[name] = importedFunction(name, plan, binding, (i) => handOver(i, LOG_CAPACITY), said)
  const { run } = new WebAssembly.Instance(plan.module, { k: imports }).exports as { run: Run } // what wasmKernel exports
  const rank = plan.boxRank ?? 0
  const args: (number | bigint)[] = []
  let call: Caller | undefined
  let given: readonly Primitive[] | undefined
  const kernel: LoopKernel = (box, from, to, lane, parameters) => {
    args[0] = from
    args[1] = to
    args[2] = address
    args[3] = lane
    if (rank > 0) putBox(args, box, from, rank)
    if (given !== parameters) {
      for (let i = 0; i < parameters.length; i++) args[4 + 3 * rank + i] = argumentOf(parameters[i])
      given = parameters
    }
    call ??= callerOf(args.length)
    for (let i = 0; i < forms.length; i++) {
      if (forms[i] !== 'sum') scratch[i] = (binding.accumulators[i] as { value: number }).value // of min, max, count
    }
    call(run, args)
    for (let i = 0; i < forms.length; i++) {
      if (forms[i] === 'sum') handOver(i, (((words[2 * i] ?? 0) - address) >>> 0) / 8 - (starts[i] ?? 0))
      else (binding.accumulators[i] as { value: number }).value = scratch[i] ?? 0 // as above
    }
  }
  return { kernel, useShare }
}

type Run = (...args: (number | bigint)[]) => void
type Caller = (run: Run, args: readonly (number | bigint)[]) => void

const callers = new Map<number, Caller>()

/** Returns a function that calls with so many arguments, written out: V8 makes calls with a spread array several times slower. */
function callerOf(count: number): Caller {
  const known = callers.get(count)
  if (known !== undefined) return known
  const list = Array.from({ length: count }, (_, i) => `args[${i}]`).join(', ')
  const caller = madeFromText(['run', 'args'], `run(${list})`) as Caller // of the text above
  callers.set(count, caller)
  return caller
}

/** The starts of the logs of sums in the scratch block, in doubles. */
function logStarts(forms: WasmKernelPlan['forms']): number[] {
  let next = forms.length
  return forms.map((form) => {
    const start = next
    if (form === 'sum') next += LOG_CAPACITY
    return start
  })
}

/** Sets the arguments for a box from number 4 on: low, high and first key of each axis. */
function putBox(args: (number | bigint)[], box: ArrayLike<number>, from: number, rank: number): void {
  let rest = from
  for (let axis = rank - 1; axis >= 0; axis--) {
    const low = box[2 * axis] ?? 0
    const high = box[2 * axis + 1] ?? 0
    args[4 + 3 * axis] = low
    args[5 + 3 * axis] = high
    args[6 + 3 * axis] = rest === 0 ? low : low + (rest % (high - low))
    if (rest > 0) rest = Math.floor(rest / (high - low))
  }
}

/** Converts a captured value to an argument; values of other kinds are not used by the kernel. */
function argumentOf(value: Primitive): number | bigint {
  return typeof value === 'number' || typeof value === 'bigint' ? value : typeof value === 'boolean' ? Number(value) : 0
}

function importedFunction(
  name: string,
  plan: WasmKernelPlan,
  { outside, at, rngs }: KernelBinding,
  grow: (accumulator: number) => void,
  said: number[],
): (...args: number[]) => unknown {
  if (name === 'grow') return (accumulator) => grow(accumulator as number)
  if (name === 'bigint') {
    return (value, place) => {
      at.place = place as number
      return BigInt(value as number)
    }
  }
  if (name === 'generator') return (number, which) => rngs[number as number]?.word(which as number)
  if (name === 'said') return (value) => said.push(value as number)
  if (name === 'fail') {
    return (index, place) => {
      at.place = place as number
      const { error, message } = plan.errors[index as number] as ThrownError // the module throws those it lists
      const Class = { Error, RangeError, TypeError }[error]
      const numbers = said.splice(0)
      throw message === undefined ? new Class() : new Class(typeof message === 'string' ? message : messageText(message, numbers))
    }
  }
  if (name.startsWith('outside')) {
    const absent = name.slice('outside'.length) // a sign for each subscript: where it is ?, NaN stands for undefined
    return (array, place, ...key) => {
      at.place = place as number
      const shown = key.map((value, axis) => (absent[axis] === '?' && Number.isNaN(value) ? undefined : value))
      return outside(array as number, shown)
    }
  }
  return functionOfNumbers(name)
}
