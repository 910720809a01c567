/**
 * Plans the kernel of an analysed loop over its storages: its code and what it is bound to, or the reason why the body
 * must run as it stands.
 */

import {
  ARRAY_OF_DTYPE,
  type DenseStorage,
  lyingOf,
  type SparseStorage,
  type Storage,
  type TableStorage,
} from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import { type DType, fieldsOf } from '../../core/data/schema.ts'
import { defined } from '../../core/defined.ts'
import { Bug } from '../../core/errors.ts'
import { type Expr, type FunctionIr, visitStmts } from '../../core/ir/functionIr.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import { once } from '../../core/once.ts'
import type { Refusal } from '../../core/span.ts'
import { loopKernelText } from '../kernels/js/loopKernel.ts'
import { rngNames } from '../kernels/js/loopKernelFrame.ts'
import type { ArrayShape, ColumnShape, ElementShape, KernelShape } from '../kernels/js/loopKernelShape.ts'
import type { Scratch } from '../kernels/loops/wasmBinding.ts'
import { planWasm, type WasmDecision } from '../kernels/loops/wasmPlan.ts'
import type { AddressType } from '../kir/kernelModule.ts'
import type { PlacedElements } from './blocks/placedElements.ts'
import { type BlockSchedule, extentsOf, type IterationSpace } from './blocks/schedule.ts'
import { isWrittenInPlace } from './keyedArray.ts'
import type { AccumulatorInput, LoopInputs } from './loopInputs.ts'
import type { ArrayPlan, BindingPlan, ElementPlan } from './loopTask.ts'
import type { AccumulatorForm } from './reductions/accumulatorLog.ts'
import type { Lanes } from './reductions/reductionCopies.ts'

/** Why no kernel can run the body over these storages; undefined when one can. */
export function whyNoKernel(inputs: LoopInputs): Refusal | undefined {
  if (inputs.asIs !== undefined) return inputs.asIs
  const { ir } = inputs.analyzed
  const { kernel } = inputs.analyzed.plan
  if (ir === undefined || kernel.target === 'as-is') return kernel.because?.[0] ?? refusal('The body runs as it stands.', '')
  for (const { storage, label } of inputs.arrays.values()) {
    if (storage.kind === 'dense' && storage.dtype === 'object') return refusal(`${label} holds objects.`, NUMBERS_CURE)
  }
  const { over } = inputs
  if (over.kind === 'range') return undefined
  if (over.storage.kind === 'dense') return over.storage.dtype === 'object' ? refusal('The elements are objects.', NUMBERS_CURE) : undefined
  if (over.storage.element.kind === 'unknown')
    return refusal('What the elements are is not known.', 'Iterate over numbers, or rows of numbers and strings.')
  return returnsValue(ir) && !isWrittenInPlace(over.storage)
    ? refusal('The value returned replaces elements that are no plain numbers.', 'Write it to an array in env, or use map().')
    : undefined
}

const NUMBERS_CURE = 'Keep numbers in an array with a numeric dtype.'

function refusal(message: string, cure: string): Refusal {
  return { code: 'no-kernel', message, cure }
}

function returnsValue(ir: FunctionIr): boolean {
  let found = false
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) found = true
  })
  return found
}

/** Why the kernel must run on the caller's thread: it may insert keys, or its arrays are not shared. */
export function whyCallerOnly(inputs: LoopInputs, ir: FunctionIr): string | undefined {
  let reason: string | undefined
  visitStmts(ir.body, (stmt) => {
    if ((stmt.kind !== 'Write' && stmt.kind !== 'Add') || reason !== undefined) return
    const input = inputs.arrays.get(stmt.array)
    if (input !== undefined && input.storage.kind !== 'dense' && mayInsert(inputs, input.array, input.storage, stmt)) {
      reason = `the loop may insert keys into ${input.label}`
    }
  })
  const written = new Set(inputs.analyzed.writtenArrays)
  for (const { storage, array, label } of storagesOf(inputs)) {
    if (written.has(array) && !buffersOf(storage).every((buffer) => buffer.buffer instanceof SharedArrayBuffer))
      reason ??= `${label} is not in shared memory`
  }
  return reason
}

/** Whether a write may add a key. At the iteration's own key of the array iterated over, the element is there. */
function mayInsert(inputs: LoopInputs, array: number, storage: Storage, stmt: { readonly subscripts: readonly Expr[] }): boolean {
  const own = inputs.over.kind === 'storage' && inputs.over.array === array
  const atKey = stmt.subscripts.every((subscript, axis) => subscript.kind === 'Key' && subscript.axis === axis)
  return !(own && atKey && storage.kind !== 'dense' && isWrittenInPlace(storage))
}

function buffersOf(storage: Storage): readonly ArrayBufferView[] {
  if (storage.kind === 'dense') return storage.parts === undefined ? [storage.data] : [] // parts lie in the arena
  return storage.columns.flatMap((column) => column.values ?? [])
}

/** Every storage the loop knows, with its identity; arrays of several names more than once. */
export function storagesOf(inputs: LoopInputs): { readonly storage: Storage; readonly array: number; readonly label: string }[] {
  const over = inputs.over.kind === 'storage' ? [{ ...inputs.over, label: inputs.analyzed.spec.over.label }] : []
  return [...inputs.arrays.values(), ...inputs.buffers.values(), ...over]
}

export function formOf(input: AccumulatorInput): AccumulatorForm {
  return typeof input === 'string' ? input : 'custom'
}

export interface KernelPlan {
  /** The kernel as JavaScript; beside WebAssembly, it is written when it is asked for. */
  readonly text: string
  /** The kernel as WebAssembly, or why it is JavaScript. */
  readonly wasm: WasmDecision | { readonly because: Refusal }
  readonly binding: BindingPlan
  readonly extents: readonly number[]
  /** Names in the order of the binding. */
  readonly arrays: readonly string[]
  readonly accumulators: readonly string[]
}

export interface KernelMemory {
  readonly order: Int32Array | undefined
  /** Key columns in the order of places. */
  readonly keys: readonly Int32Array[]
  /** Copies of the elements in the order of places; undefined where elements are read as they are stored. */
  readonly placed: PlacedElements | undefined
  /** Copies of captured tables, in the IR's order. */
  readonly tables: BindingPlan['tables']
  /** Reduction copies by array identity (add-only arrays) and by name (buffers). */
  readonly reduced: ReadonlyMap<number, Lanes>
  readonly buffered: ReadonlyMap<string, Lanes>
  /** The workers' copies of private arrays, by array identity. */
  readonly copies: ReadonlyMap<number, readonly TypedArray[]>
  /** The scratch memory of WebAssembly kernels; of length 0 where they need none. */
  readonly scratch: Scratch
  readonly addresses: AddressType
  readonly owns: (buffer: ArrayBufferView) => boolean
}

export function planKernel(
  inputs: LoopInputs,
  ir: FunctionIr,
  space: IterationSpace,
  schedule: BlockSchedule,
  memory: KernelMemory,
): KernelPlan {
  const { shape, binding } = kernelShape(
    inputs,
    ir,
    space,
    { permuted: schedule.order !== undefined && memory.placed === undefined, reach: reachOf(inputs, space, schedule) },
    memory,
  )
  const wasm = decideWasm(inputs, ir, shape, binding, memory)
  const { extents, arrays, accumulators } = shape
  const text = once(() => loopKernelText(ir, shape))
  if ('because' in wasm) text() // a body that does not fit its arrays fails here, before any of them is written
  return {
    get text() {
      return text()
    },
    wasm,
    binding,
    extents,
    arrays: [...arrays.keys()],
    accumulators: [...accumulators.keys()],
  }
}

/** The kernel as a loop's plan shows it. */
export function plannedKernel(wasm: KernelPlan['wasm']): LoopPlan['kernel'] {
  return 'because' in wasm ? { target: 'js', because: [wasm.because] } : { target: wasm.target, ...defined({ note: wasm.note }) }
}

/** The outcome of vectorization for innermost loops and for iterations, and of software prefetch, one line each. */
export function innerLoopsOf(wasm: KernelPlan['wasm']): readonly string[] {
  if ('because' in wasm) return []
  return [...wasm.loops.map(({ text }) => text), ...(wasm.touched === undefined ? [] : [`iterations: ${wasm.touched}`])]
}

/** What the kernel's text depends on, and what it is bound to. */
export function kernelShape(
  inputs: LoopInputs,
  ir: FunctionIr,
  space: IterationSpace,
  { permuted, reach }: Pick<KernelShape, 'permuted' | 'reach'>,
  memory: KernelMemory,
): { readonly shape: KernelShape; readonly binding: BindingPlan } {
  const names = ir.uses.filter((use) => use.kind === 'array' || use.kind === 'buffer').map((use) => use.name)
  const accumulators = ir.uses.filter((use) => use.kind === 'accumulator').map((use) => use.name)
  const arrays = names.map((name) => arrayOf(inputs, name, memory))
  const element = elementOf(inputs.over, memory.placed)
  const extents = extentsOf(space)
  const forms = accumulators.map((name) => formOf(known(inputs.accumulators, name)))
  const shape: KernelShape = {
    space: walkOf(space, permuted),
    extents,
    reach,
    permuted,
    element: element.shape,
    arrays: new Map(names.map((name, i) => [name, (arrays[i] as ArrayOf).shape])),
    accumulators: new Map(accumulators.map((name, i) => [name, forms[i] as AccumulatorForm])),
    parameters: new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value])),
  }
  const binding: BindingPlan = {
    arrays: arrays.map((array) => array.plan),
    accumulators: forms,
    seeds: rngNames(ir).map((name) => known(inputs.rngs, name)),
    tables: memory.tables,
    ...(memory.order === undefined ? {} : { order: memory.order }),
    keys: memory.keys,
    element: element.plan,
  }
  return { shape, binding }
}

/**
 * For each axis, the number of rows among which the iterations of a block take one at a key, for software prefetch. 0 where each
 * row follows the one before it, so that the processor finds them by itself: in a box, and along the axis of sparse keys that
 * runs slowest, where in most blocks most of its keys have an iteration. Where few have one, each of those rows is new.
 */
function reachOf({ analyzed }: LoopInputs, space: IterationSpace, { kind, cuts, iterations }: BlockSchedule): readonly number[] {
  if (space.kind !== 'sparse') return extentsOf(space).map(() => 0)
  const { schedule } = analyzed
  const axes: readonly number[] =
    schedule.kind !== kind ? [] : 'axes' in schedule ? schedule.axes : 'axis' in schedule ? [schedule.axis] : []
  const across = axes.reduce((blocks, axis, i) => (axis === 0 ? blocks : blocks * ((cuts[i]?.length ?? 2) - 1)), 1)
  return space.extents.map((extent, axis) => {
    if (axis === 0 && kind !== 'colored') return iterations >= extent * across ? 0 : extent
    const bounds = cuts[axes.indexOf(axis)] ?? [0, extent]
    return bounds.slice(1).reduce((most, bound, i) => Math.max(most, bound - (bounds[i] ?? 0)), 0)
  })
}

/** A box whose places are in an order of their own is walked place by place: by positions, or by columns of keys. */
function walkOf(space: IterationSpace, permuted: boolean): KernelShape['space'] {
  if (space.kind !== 'box' || !permuted) return space.kind
  return space.extents.length === 1 ? 'rows' : 'sparse'
}

function decideWasm(
  inputs: LoopInputs,
  ir: FunctionIr,
  shape: KernelShape,
  { arrays, tables, order, keys, element }: BindingPlan,
  { scratch, addresses, owns }: KernelMemory,
): KernelPlan['wasm'] {
  const columns = shape.element.kind === 'row' ? shape.element.columns : shape.element.kind === 'scalar' ? [shape.element.column] : []
  const buffers = element.kind === 'columns' ? columns.map((_, i) => element.storage.columns[i]?.values ?? new Uint8Array()) : []
  return planWasm(
    ir,
    shape,
    {
      arrays: arrays.map((array) => (array.kind === 'dense' ? array : undefined)),
      tables,
      order,
      keys,
      element: element.kind === 'dense' ? element : undefined,
      columns: buffers,
      scratch,
      addresses,
      owns,
    },
    columns.map((column) => column.dtype),
    inputs.analyzed.spec.options.precision ?? 'exact',
  )
}

function known<V>(map: ReadonlyMap<string, V>, name: string): V {
  const value = map.get(name)
  if (value === undefined) throw new Bug(`The loop body uses ${name}, which was not handed to the runtime.`)
  return value
}

interface ArrayOf {
  readonly shape: ArrayShape
  readonly plan: ArrayPlan
}

function arrayOf(inputs: LoopInputs, name: string, memory: KernelMemory): ArrayOf {
  const buffer = inputs.buffers.get(name)
  if (buffer !== undefined) {
    const lanes = memory.buffered.get(name)
    const combined = buffer.combine !== 'sum'
    const adds = combined ? 'lane-combined' : lanes?.touched === undefined ? 'lane' : 'lane-touched'
    return denseArray(buffer.storage, buffer.label, adds, lanes, buffer.combine === 'sum' ? undefined : buffer.combine.portable)
  }
  const { storage, array, label } = known(inputs.arrays, name)
  if (storage.kind === 'dense') {
    const lanes = memory.reduced.get(array)
    const { shape: given, plan } = denseArray(storage, label, lanes === undefined ? 'direct' : 'lane', lanes)
    const binding = inputs.analyzed.spec.env[name]
    const shape = binding?.kind === 'array' && binding.isLocal === true ? { ...given, isLocal: true as const } : given
    const copies = memory.copies.get(array)
    return { shape, plan: copies === undefined ? plan : { ...plan, copies } }
  }
  const extents = storage.kind === 'table' ? [storage.length] : storage.shape
  return { shape: { kind: 'keyed', extents }, plan: { kind: 'keyed', label, storage } }
}

function denseArray(
  storage: DenseStorage,
  label: string,
  adds: Extract<ArrayShape, { kind: 'dense' }>['adds'],
  lanes: Lanes | undefined,
  combine?: Extract<ArrayPlan, { kind: 'dense' }>['combine'],
): { readonly shape: ArrayShape; readonly plan: Extract<ArrayPlan, { kind: 'dense' }> } {
  const { shape: extents, strides, dtype } = storage
  const { data, first } = lyingOf(storage)
  if (dtype === 'object') throw new Bug(`A kernel was to reach the objects of ${label}.`)
  return {
    shape: { kind: 'dense', dtype, extents, strides, adds },
    plan: {
      kind: 'dense',
      label,
      data,
      first,
      extents,
      strides,
      laneLength: lanes?.length ?? 0,
      ...(lanes === undefined ? {} : { lanes: lanes.data }),
      ...(lanes?.touched === undefined ? {} : { touched: lanes.touched }),
      ...(combine === undefined ? {} : { combine }),
    },
  }
}

function elementOf(
  over: LoopInputs['over'],
  placed: PlacedElements | undefined,
): { readonly shape: ElementShape; readonly plan: ElementPlan } {
  if (over.kind === 'range') return { shape: { kind: 'none' }, plan: { kind: 'none' } }
  const { storage } = over
  if (storage.kind === 'dense') {
    if (storage.dtype === 'object') throw new Bug('A kernel was to iterate over objects.')
    const { data, first } = lyingOf(storage)
    return {
      shape: { kind: 'dense', dtype: storage.dtype, rank: storage.shape.length },
      plan: { kind: 'dense', data, first, strides: storage.strides },
    }
  }
  return { shape: columnsShape(storage), plan: { kind: 'columns', storage: placed?.storage ?? storage } }
}

const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'u64', 'time'])

function dtypeOfKind(kind: string | undefined): DType | undefined {
  return kind !== undefined && kind in ARRAY_OF_DTYPE ? (kind as DType) : undefined // just asked for
}

function columnsShape(storage: SparseStorage | TableStorage): ElementShape {
  const columns = fieldsOf(storage.element).map((field, i): ColumnShape => {
    const column = storage.columns[i]
    const form =
      column?.values === undefined ? 'reader' : NUMBERS.has(column.type.kind) ? 'number' : column.type.kind === 'bool' ? 'bool' : 'reader'
    const dtype = form === 'bool' ? 'bool' : form === 'number' ? dtypeOfKind(column?.type.kind) : undefined
    return { name: field.name, form, nullable: column?.validity !== undefined, ...(dtype === undefined ? {} : { dtype }) }
  })
  const [first] = columns
  return storage.element.kind === 'scalar' && first !== undefined ? { kind: 'scalar', column: first } : { kind: 'row', columns }
}

/** The key that tells WebAssembly kernels apart; undefined for a JavaScript kernel. */
export function wasmKey({ wasm }: KernelPlan): string | undefined {
  return 'because' in wasm ? undefined : wasm.key
}
