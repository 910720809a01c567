/**
 * Decides whether a loop's kernel is WebAssembly, and makes the module and the values that it imports.
 */

import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { defined } from '../../../core/defined.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { Precision } from '../../../core/loop/loopSpec.ts'
import type { Refusal } from '../../../core/span.ts'
import type { AddressType, KernelModule } from '../../kir/kernelModule.ts'
import { withAddresses } from '../../kir/passes/wideAddresses.ts'
import { kernelText } from '../../kir/text.ts'
import { moduleOf } from '../../wasm/moduleCache.ts'
import { hasRelaxedSimd } from '../../wasm/relaxedSimd.ts'
import { HIGHEST } from '../expressions/types.ts'
import type { KernelShape } from '../js/loopKernelShape.ts'
import type { Scratch, WasmKernelPlan } from './wasmBinding.ts'
import type { LoopFate, WasmTarget } from './wasmCode.ts'
import { type WasmCode, wasmKernel } from './wasmKernel.ts'

/** The buffers to which a kernel is bound. */
export interface WasmMemory {
  readonly arrays: readonly (
    | {
        readonly data: TypedArray
        /** The index of the array's element with which `data` begins. */
        readonly first: number
        readonly lanes?: TypedArray
        readonly laneLength: number
        readonly extents: readonly number[]
        readonly strides: readonly number[]
      }
    | undefined
  )[]
  readonly tables: readonly ArrayLike<unknown>[]
  readonly order: Int32Array | undefined
  readonly keys: readonly Int32Array[]
  readonly element: { readonly data: TypedArray; readonly first: number; readonly strides: readonly number[] } | undefined
  readonly columns: readonly ArrayBufferView[]
  readonly scratch: Scratch
  /** The width of the addresses of the memory that modules see. */
  readonly addresses: AddressType
  /** Whether a buffer lies in that memory. */
  readonly owns: (buffer: ArrayBufferView) => boolean
}

export interface WasmDecision {
  readonly plan: WasmKernelPlan
  readonly target: 'wasm' | 'wasm-simd'
  /** A request that the engine does not support, in words. */
  readonly note?: string
  readonly loops: readonly LoopFate[]
  /** The rows that are prefetched, in words. */
  readonly touched?: string
  /** The identity of the kernel: the module's bytes, one character each. */
  readonly key: string
  readonly kernel: KernelModule
  /** The module in text form, written when it is asked for. */
  readonly text: () => string
}

/** Compiles a loop's body to a kernel; returns the reason where there is none. */
export function planWasm(
  ir: FunctionIr,
  shape: KernelShape,
  memory: WasmMemory,
  columnTypes: readonly (DType | undefined)[],
  asked: Precision,
): WasmDecision | { readonly because: Refusal } {
  const places = new Map<number, number>()
  const isAbsent = asked === 'relaxed' && !hasRelaxedSimd()
  const target: WasmTarget = {
    ir,
    shape,
    precision: isAbsent ? 'fast' : asked,
    columnTypes,
    laneTypes: memory.arrays.map((array) => (array?.lanes === undefined ? undefined : dtypeOf(array.lanes))),
    identities: memory.arrays.map((array, i) => {
      const at = array?.data.byteOffset ?? -1 - i
      if (!places.has(at)) places.set(at, i)
      return places.get(at) ?? i
    }),
    elementIdentity: memory.element === undefined ? undefined : places.get(memory.element.data.byteOffset),
    tableTypes: memory.tables.map((table) => (ArrayBuffer.isView(table) && memory.owns(table) ? dtypeOf(table) : undefined)),
    tableLengths: memory.tables.map((table) => table.length),
    keepsRows: memory.scratch.keepsRows,
  }
  const code = codeOf(target)
  if ('because' in code) return { because: refusal(code.because, code.span) }
  const found = globalsOf(code, memory)
  if (typeof found === 'string') return { because: refusal(found) }
  const { key, module } = moduleOf(code.module, memory.addresses)
  const plan: WasmKernelPlan = {
    module,
    globals: found,
    functions: code.imports.flatMap((entry) => (entry.kind === 'function' ? [entry.name] : [])),
    errors: code.errors,
    boxRank: shape.space === 'box' ? shape.extents.length : undefined,
    forms: [...shape.accumulators.values()],
    scratch: memory.scratch,
  }
  const text = (): string => kernelText(withAddresses(code.module, memory.addresses), code.names())
  const note = isAbsent ? { note: 'Relaxed SIMD is absent from this engine: as fast.' } : {}
  return {
    plan,
    target: code.simd ? 'wasm-simd' : 'wasm',
    ...note,
    loops: code.loops,
    ...defined({ touched: code.touched }),
    key,
    kernel: code.module,
    text,
  }
}

type Compiled = ReturnType<typeof wasmKernel>

/** The last compilation of each body, with its target: a run reuses that of the plan that was shown before it. */
const lastOf = new WeakMap<FunctionIr, { readonly of: string; readonly code: Compiled }>()

function codeOf(target: WasmTarget): Compiled {
  const { ir, shape, ...rest } = target
  // Values of parameters belong to the IR, which is the cache's key. The reach is left out: it decides on software prefetch alone, so that code
  // that was made for other cuts gives the same bits.
  const of = JSON.stringify([
    shape.space,
    shape.extents,
    shape.permuted,
    shape.reach,
    shape.element,
    [...shape.arrays],
    [...shape.accumulators],
    rest,
  ])
  const last = lastOf.get(ir)
  if (last?.of === of) return last.code
  const code = wasmKernel(target)
  lastOf.set(ir, { of, code })
  return code
}

function refusal(message: string, span?: Refusal['span']): Refusal {
  const because = {
    code: 'not-webassembly',
    message: `Its kernel is JavaScript, because ${message}.`,
    cure: 'WebAssembly kernels compute with numbers, truth values and bigints within 64 bits, from dense arrays, columns and ranges.',
  }
  return span === undefined ? because : { ...because, span }
}

function dtypeOf(data: unknown): DType | undefined {
  return (Object.keys(ARRAY_OF_DTYPE) as DType[]).find(
    (dtype) => dtype !== 'bool' && (data as object).constructor === ARRAY_OF_DTYPE[dtype],
  )
}

/** The address of element 0 of the whole array, by which subscripts count; it may lie before `data`, and is then not accessed. */
function addressOf({ data, first }: { readonly data: TypedArray; readonly first: number }): number | ArrayBufferView {
  return first === 0 ? data : data.byteOffset - first * data.BYTES_PER_ELEMENT
}

/** Returns the values of the numbers that a module imports; a reason where one is not in memory that modules can access. */
function globalsOf(code: WasmCode, memory: WasmMemory): Record<string, number> | string {
  const known = new Map<string, number | ArrayBufferView>()
  for (const [i, array] of memory.arrays.entries()) {
    if (array === undefined) continue
    known.set(`A${i}`, addressOf(array))
    if (array.lanes !== undefined) {
      known.set(`D${i}`, array.lanes)
      known.set(`D${i}s`, array.laneLength)
    }
    for (const [axis, extent] of array.extents.entries()) known.set(`A${i}n${axis}`, extent)
    for (const [axis, stride] of array.strides.entries()) known.set(`A${i}s${axis}`, stride)
  }
  for (const [i, table] of memory.tables.entries()) {
    known.set(`T${i}n`, table.length)
    if (ArrayBuffer.isView(table)) known.set(`T${i}`, table)
  }
  if (memory.order !== undefined) known.set('order', memory.order)
  for (const [axis, keys] of memory.keys.entries()) known.set(`K${axis}`, keys)
  if (memory.element !== undefined) known.set('X', addressOf(memory.element))
  for (const [axis, stride] of memory.element?.strides.entries() ?? []) known.set(`Xs${axis}`, stride)
  for (const [i, column] of memory.columns.entries()) known.set(`E${i}`, column)
  const globals: Record<string, number> = {}
  for (const entry of code.imports) {
    if (entry.kind !== 'global') continue
    const value = known.get(entry.name)
    if (value === undefined) return 'it reads values that are not in memory'
    if (entry.type === 'stride' && Number(value) > HIGHEST) return 'rows of an array are farther apart than 2 ** 31 - 1 elements'
    // an empty array has no address, and is never accessed
    if (typeof value !== 'number' && value.byteLength > 0 && !memory.owns(value)) return 'an array is not in shared memory'
    globals[entry.name] = typeof value === 'number' ? value : value.byteOffset
  }
  return globals
}
