/**
 * The state of a kernel being written: its names, locals, imports and open blocks. Statements, expressions and
 * loops are compiled in files of their own, which write into this.
 */
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, type GrowingCode, I, OP, type ValueType } from '../../kir/instructions.ts'
import type { Import, ParameterType } from '../../kir/kernelModule.ts'
import type { Emitter } from '../expressions/emitter.ts'
import { compiled, condition } from '../expressions/expressions.ts'
import type { ScalarEmitter } from '../expressions/scalars.ts'
import {
  ABSENT,
  asType,
  F64,
  type Facts,
  HIGHEST,
  heldAs,
  isInteger,
  joinTypes,
  NO_FACTS,
  NotCompiled,
  sameType,
  type Value,
  type WasmType,
} from '../expressions/types.ts'
import {
  type Control,
  type DenseShape,
  type Generator,
  type KnownAddress,
  LOG2_BYTES,
  type LoopFate,
  shifted,
  type ThrownError,
  type WasmTarget,
} from './wasmCode.ts'
import { grownCounter } from './wasmCounters.ts'
import { heldShape } from './wasmElements.ts'
import { localFacts, readsIn } from './wasmLocals.ts'
import { changing, note } from './wasmRounds.ts'

/** The first parameters of `run`. */
export const FROM = 0
export const TO = 1
export const SCRATCH = 2
export const LANE = 3

/** Thrown where an expression may fail while the writer may reorder expressions; `wasmKernel` catches it, and writes them in order. */
export class MayFail {}

export type For = Extract<Stmt, { kind: 'For' }>

/** The emitter for expressions of the body, as scalars. */
export type LoopExpressions = ScalarEmitter<KernelWriter> & Emitter<Value>

/** The compilers of a body's parts, passed in since they depend on this file. */
export interface WriterParts {
  readonly block: (w: KernelWriter, stmts: readonly Stmt[]) => Code
  readonly emitter: (w: KernelWriter) => LoopExpressions
}

export class KernelWriter {
  readonly target: WasmTarget
  readonly locals: Map<string, WasmType>
  /** The elements of arrays that the body makes (`wasmElements.ts`). */
  readonly elements: Map<string, WasmType>
  /** Whether a local needed a wider type than the code before it was written for, so that another round is necessary. */
  widened = false
  /** Whether a widened local is still an integer, whose bounds may grow again. */
  grows = false
  /** Whether the code is discarded, and only the types of locals are wanted. */
  readonly isDraft: boolean
  simd = false
  readonly loops: LoopFate[] = []
  /** The rows that are prefetched, in words. */
  touched: string | undefined
  /** Addresses of accesses that were checked before the loop being written, by their node. */
  known: ReadonlyMap<object, KnownAddress> = new Map()
  readonly arrays: readonly string[]
  readonly accumulators: readonly string[]
  readonly imports: Import[] = []
  readonly importNumbers: Map<string, number> = new Map()
  readonly declared: ValueType[] = []
  slots: Map<string, number> = new Map()
  readonly globals: Map<string, number> = new Map()
  /** Code before the loop over iterations. */
  readonly prologue: GrowingCode = []
  readonly rowBases: Map<string, { readonly slot: number; readonly code: Code }> = new Map()
  columns: Map<number, { readonly slot: number; readonly value: WasmType }> = new Map()
  readonly errors: ThrownError[] = []
  readonly control: Control[] = []
  readonly unset: ReadonlySet<string>
  readonly changed: ReadonlySet<string>
  /** Locals that hold what another local held, by name. */
  readonly copies: ReadonlyMap<string, string>
  /** The locals that arrays keep, by array. */
  readonly keeps: ReadonlyMap<string, readonly string[]>
  readonly parameterTypes: ParameterType[] = ['i32', 'i32', 'address', 'i32']
  readonly parameterSlots: Map<string, number> = new Map()
  readonly integerParameters: ReadonlySet<string>
  /** The values of unrolled loops' indices in the copy of the body being written. */
  literals: ReadonlyMap<string, number> = new Map()
  /** The precision of the code being written; exact for the iterations that exact lanes leave over. */
  precision: WasmTarget['precision']
  /** The number of innermost loops for which lanes of their own are best. */
  vectorized = 0
  /** The place of the iteration. */
  place: Code = I.localGet(FROM)
  /** The axis whose key varies within a run of iterations. */
  runAxis: number | undefined
  /** Ranges of keys that are narrower in the code being written than the extents of their axes, by axis. */
  keyRanges: ReadonlyMap<number, { readonly low: number; readonly high: number }> = new Map()
  /** Bounds of locals and keys in the code being written that follow from tests before it. */
  facts: Facts = NO_FACTS
  /** Whether what is written runs in the order in which it is written, so that a subscript that was checked is known to be in bounds. */
  notesChecks = false
  /** Reads of the loop being written whose value is in a local. */
  held: ReadonlyMap<object, Value> = new Map()
  /** Locals for values that the loop's next iteration reads, by the write. */
  carried: ReadonlyMap<object, number> = new Map()
  /** By loop, the sums that are 0 where it begins and change nowhere else. */
  readonly zeroSums: ReadonlyMap<Stmt, ReadonlySet<string>>
  /** Locals that hold a double's value as an f32, for lanes: f32 sums, and values computed from them (`singleSums.ts`). */
  readonly singles: Map<string, number> = new Map()
  /** The position of the iteration's elements in columns. */
  position: number
  /** The locals that hold the key of the iteration being written. */
  keys: readonly number[]
  readonly accumulatorSlots: readonly number[]
  /** The generators from which the body draws. */
  generators: ReadonlyMap<string, Generator> = new Map()

  readonly parts: WriterParts
  readonly emitter: LoopExpressions

  readonly round: number
  /** Whether an expression of the body may fail, so that everything is written in order, and no loop is transformed. */
  readonly isPlain: boolean

  constructor(
    target: WasmTarget,
    locals: Map<string, WasmType>,
    elements: Map<string, WasmType>,
    parts: WriterParts,
    { round, isDraft, isPlain }: { readonly round: number; readonly isDraft: boolean; readonly isPlain: boolean },
  ) {
    this.elements = elements
    this.round = round
    this.isPlain = isPlain
    this.isDraft = isDraft
    this.parts = parts
    this.emitter = parts.emitter(this)
    this.target = target
    this.precision = target.precision
    this.locals = locals
    const { ir, shape } = target
    this.arrays = [...shape.arrays.keys()]
    this.accumulators = [...shape.accumulators.keys()]
    const { unset, changed, copies, keeps, subscriptParameters, zeroSums } = localFacts(ir)
    this.unset = unset
    this.changed = changed
    this.copies = copies
    this.keeps = keeps
    this.integerParameters = subscriptParameters
    this.zeroSums = zeroSums
    if (shape.space === 'box') for (const _ of shape.extents) this.parameterTypes.push('i32', 'i32', 'i32')
    for (const { name, value } of ir.parameters) {
      this.parameterSlots.set(name, this.parameterTypes.length)
      const isNarrow = typeof value === 'boolean' || this.isIntegerParameter(name, value)
      this.parameterTypes.push(isNarrow ? 'i32' : typeof value === 'bigint' ? 'i64' : 'f64')
    }
    this.position = this.declare('i32')
    this.keys = shape.space === 'box' ? shape.extents.map((_, axis) => 4 + 3 * axis + 2) : shape.extents.map(() => this.declare('i32'))
    this.accumulatorSlots = this.accumulators.map((name) => this.declare(shape.accumulators.get(name) === 'sum' ? 'i32' : 'f64'))
  }

  declare(type: ValueType): number {
    // the number of parameters is known before the first local is declared
    this.declared.push(type)
    return this.firstLocal() + this.declared.length - 1
  }

  firstLocal(): number {
    return 4 + (this.target.shape.space === 'box' ? 3 * this.target.shape.extents.length : 0) + this.target.ir.parameters.length
  }

  /** An imported number, read once before the loop. */
  global(name: string): Code {
    return this.#global(name, 'i32')
  }

  /** An imported address, read once before the loop. */
  address(name: string): Code {
    return this.#global(name, 'address')
  }

  /** An imported number of elements between rows, read once before the loop. */
  stride(name: string): Code {
    return this.#global(name, 'stride')
  }

  #global(name: string, type: 'i32' | 'address' | 'stride'): Code {
    let slot = this.globals.get(name)
    if (slot === undefined) {
      slot = this.declare('i32')
      this.globals.set(name, slot)
      this.prologue.push(I.globalGet(this.import({ kind: 'global', name, type })), I.localSet(slot))
    }
    return I.localGet(slot)
  }

  import(entry: Import): number {
    let number = this.importNumbers.get(entry.name)
    if (number === undefined) {
      number = this.imports.filter((other) => other.kind === entry.kind).length
      this.importNumbers.set(entry.name, number)
      this.imports.push(entry)
    }
    return number
  }

  function(name: string, parameters: readonly ValueType[], results: readonly ValueType[]): number {
    return this.import({ kind: 'function', name, parameters, results })
  }

  isIntegerParameter(name: string, value: unknown): boolean {
    return this.integerParameters.has(name) && Number.isInteger(value) && !Object.is(value, -0) && Math.abs(value as number) <= HIGHEST
  }

  /** Returns the wasm local of a variable, whose type is widened to hold the value. */
  slotFor(name: string, type: WasmType, span: Span): number {
    const before = this.locals.get(name)
    const wanted = this.unset.has(name) ? joinTypes(type, ABSENT) : type
    const joined = wanted === undefined || before === undefined ? wanted : joinTypes(before, wanted)
    if (joined === undefined) {
      throw new NotCompiled(`${name} holds values of two kinds: numbers, truth values, bigints; or undefined where numbers are not`, span)
    }
    if (before === undefined || !sameType(before, joined)) {
      if (before !== undefined) {
        this.widened = true
        if (isInteger(joined) || joined.kind === 'bigint') this.grows = true
      }
      this.locals.set(name, joined)
    }
    let slot = this.slots.get(name)
    if (slot === undefined) {
      slot = this.declare(heldAs(joined))
      this.slots.set(name, slot)
    }
    return slot
  }

  assign(name: string, given: Value, span: Span): Code {
    const value = given.type.kind === 'f64' && given.type.whole !== undefined ? { ...given, type: F64 } : given
    // the bounds of a changing integer may settle after a few rounds: those of a maximum do, those of a sum do not
    const before = this.locals.get(name)
    const isSettled = before !== undefined && sameType(joinTypes(before, value.type) ?? value.type, before)
    const type = this.changed.has(name) && !isSettled ? changing(value.type, before, this.round) : value.type
    note(this.given, name, value.type)
    note(this.others, name, value.type)
    const slot = this.slotFor(name, type, span)
    return [asType(value, this.locals.get(name) ?? type), I.localSet(slot)]
  }

  /** Assigns a counter its own value and a step; its type is decided at the end of the round (`settle`). */
  step(name: string, value: Value, span: Span): Code {
    const held = this.locals.get(name)
    if (held === undefined || !isInteger(held) || !isInteger(value.type)) return this.assign(name, value, span)
    note(this.given, name, value.type)
    note(this.steps, name, value.type)
    return [asType(value, held), I.localSet(this.slotOf(name))]
  }

  /** Widens the types of counters whose steps led out of their bounds. */
  settle(): void {
    for (const [name, steps] of this.steps) {
      const held = this.locals.get(name)
      const type = held && grownCounter(held, steps, this.others.get(name), this.round)
      if (type === undefined) continue
      this.locals.set(name, type)
      this.widened = true
      if (isInteger(type)) this.grows = true
    }
  }

  /** The joined types of all values that each local is assigned. */
  readonly given: Map<string, WasmType> = new Map()
  /** Those of the steps of counters, and those of all other values. */
  readonly steps: Map<string, WasmType> = new Map()
  readonly others: Map<string, WasmType> = new Map()

  slotOf(name: string): number {
    const slot = this.slots.get(name)
    if (slot === undefined) throw new NotCompiled(`${name} is read before it is declared`)
    return slot
  }

  /** Whether a local is assigned after its declaration; the index of a counted loop does not count. */
  isChanged(name: string): boolean {
    return this.changed.has(name)
  }

  readsOf(name: string): number {
    return readsIn(this.target.ir.body, name)
  }

  array(name: string): { readonly number: number; readonly shape: DenseShape } {
    const number = this.arrays.indexOf(name)
    const shape = this.target.shape.arrays.get(name)
    if (shape?.kind !== 'dense') throw new NotCompiled(`${name} is not a dense array`)
    return { number, shape: heldShape(shape, this.elements.get(name)) }
  }

  within(control: Control, write: () => Code): Code {
    this.control.push(control)
    const code = write()
    this.control.pop()
    return code
  }

  /** Runs `write`, whose code does not change these keys and locals, with their narrower ranges. */
  knowing<T>(
    keys: ReadonlyMap<number, { readonly low: number; readonly high: number }>,
    locals: ReadonlyMap<string, WasmType>,
    write: () => T,
  ): T {
    const outer = [...locals.keys()].map((name) => [name, this.locals.get(name)] as const)
    const ranges = this.keyRanges
    for (const [name, type] of locals) this.locals.set(name, type)
    this.keyRanges = new Map([...ranges, ...keys])
    const written = write()
    for (const [name, type] of outer) if (type !== undefined) this.locals.set(name, type)
    this.keyRanges = ranges
    return written
  }

  leave(isTarget: (control: Control) => boolean, span: Span): Code {
    const at = this.control.findLastIndex(isTarget)
    if (at < 0) throw new NotCompiled('it leaves a block that does not enclose it', span)
    return I.br(this.control.length - 1 - at)
  }

  /** Multiplies a subscript by its axis' stride, in elements. */
  scaled(number: number, axis: number, code: Code, rank: number): Code {
    return axis === rank - 1 ? code : [code, ...this.stride(`A${number}s${axis}`), OP.i32Mul]
  }

  /** The address of an array, or of this lane's privatized copy. */
  base(name: string): Code {
    if (!name.startsWith('D')) return this.address(name)
    let slot = this.globals.get(`lane ${name}`)
    if (slot === undefined) {
      const dtype = this.target.laneTypes[Number(name.slice(1))] ?? 'f64'
      const elements = [...this.stride(`${name}s`), I.localGet(LANE), OP.i32Mul]
      const start = [...this.address(name), ...elements, ...shifted(LOG2_BYTES[dtype]), OP.i32Add]
      slot = this.declare('i32')
      this.globals.set(`lane ${name}`, slot)
      this.prologue.push(start, I.localSet(slot))
    }
    return I.localGet(slot)
  }

  /** Whether the order of iterations and statements must be kept: an expression may fail, or advances a generator. */
  get keepsOrder(): boolean {
    return this.isPlain || this.generators.size > 0
  }

  /** Throws an error of the source, at the place of the iteration. */
  thrown(error: ThrownError): Code {
    this.errors.push(error)
    return [I.i32Const(this.errors.length - 1), this.place, I.call(this.function('fail', ['i32', 'i32'], [])), OP.unreachable]
  }

  /** Records that an expression may fail: restarts with a writer that keeps the order, unless this is one. */
  mayFail(): void {
    if (!this.isPlain) throw new MayFail()
  }

  block(stmts: readonly Stmt[]): Code {
    return this.parts.block(this, stmts)
  }

  expr(expr: Expr): Value {
    return compiled(this.emitter, expr)
  }

  /** The truth of an expression as 0 or 1. */
  condition(expr: Expr): Code {
    return condition(this.emitter, expr).code
  }

  isRunKey(expr: Expr): boolean {
    return expr.kind === 'Key' && expr.axis === this.runAxis
  }
}
