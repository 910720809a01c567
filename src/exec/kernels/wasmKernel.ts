/**
 * IR → WebAssembly for loop bodies that only compute with numbers and truth values: the bytes of a module whose `run`
 * does what the JavaScript kernel does, bit for bit, over the arena's memory.
 *
 *     run(from, to, scratch, lane, [low, high, start of each axis of a box], …captured numbers)
 *
 * Addresses, strides, extents and lengths are imported globals, so that the bytes are the same for other arrays as long
 * as the same subscripts are proved inside. What fails calls an imported function that throws.
 */
import {
  type Builtin,
  type Expr,
  expressionsOf,
  type FunctionIr,
  nestedOf,
  type Stmt,
  visitExpr,
  visitStmts,
} from '../../core/functionIr.ts'
import type { DType } from '../../core/schema.ts'
import type { Span } from '../../core/span.ts'
import {
  type Control,
  type DenseShape,
  type KernelWriter,
  type KnownAddress,
  LOG2_BYTES,
  loadBits,
  loadOf,
  shifted,
  storeOf,
  sumOf,
  type WasmTarget,
} from './wasmCode.ts'
import { type Code, I, type Import, moduleBytes, OP, SATURATE, type ValueType } from './wasmEncoder.ts'
import { fastLoop } from './wasmLoops.ts'
import {
  asBool,
  asF64,
  asInt32,
  BOOL,
  F64,
  HIGHEST,
  integerResult,
  integerType,
  joinTypes,
  LOWEST,
  MAYBE,
  NotCompiled,
  readsIn,
  readUnset,
  type Value,
  type WasmType,
} from './wasmTypes.ts'

export interface WasmCode {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly imports: readonly Import[]
  /** Errors of `throw` statements, by the number they are thrown with. */
  readonly errors: readonly ThrownError[]
  readonly parameters: readonly string[]
  readonly simd: boolean
  /** One line for each innermost loop. */
  readonly loops: readonly string[]
}

export interface ThrownError {
  readonly error: 'Error' | 'RangeError' | 'TypeError'
  readonly message: string | undefined
}

/** Values of a sum that the scratch block holds before they are handed over. */
export const LOG_CAPACITY = 4096

/** The module, or the reason why there is none. */
export function wasmKernel(target: WasmTarget): WasmCode | { readonly because: string; readonly span: Span | undefined } {
  try {
    const locals = new Map<string, WasmType>()
    for (let round = 0; round < 12; round++) {
      const writer = new WasmWriter(target, locals)
      const code = writer.module()
      if (!writer.widened) return code
    }
    return { because: 'the types of its variables do not settle', span: undefined }
  } catch (error) {
    if (error instanceof NotCompiled) return { because: error.message, span: error.span }
    // Lists of instructions are joined as arguments, of which the engine takes some hundred thousand.
    if (error instanceof RangeError) return { because: 'it is too large', span: undefined }
    throw error
  }
}

/** Engines take 50,000 locals in a function. */
const MOST_LOCALS = 40_000

const FROM = 0
const TO = 1
const SCRATCH = 2
const LANE = 3

class WasmWriter implements KernelWriter {
  readonly target: WasmTarget
  readonly locals: Map<string, WasmType>
  /** Whether a local turned out to need a wider type than the code before assumed. */
  widened = false
  simd = false
  readonly loops: string[] = []
  /** Addresses of accesses inside the loop being written, by their node. */
  known: ReadonlyMap<object, KnownAddress> = new Map()
  readonly #arrays: readonly string[]
  readonly #accumulators: readonly string[]
  readonly #imports: Import[] = []
  readonly #importNumbers = new Map<string, number>()
  readonly #declared: ValueType[] = []
  readonly #slots = new Map<string, number>()
  readonly #globals = new Map<string, number>()
  /** Code before the loop over iterations. */
  readonly #prologue: number[] = []
  readonly #rowBases = new Map<string, { readonly slot: number; readonly code: Code }>()
  readonly #columns = new Map<number, { readonly slot: number; readonly value: WasmType }>()
  readonly #errors: ThrownError[] = []
  readonly #control: Control[] = []
  readonly #unset: ReadonlySet<string>
  readonly #changed: ReadonlySet<string>
  readonly #parameterTypes: ValueType[] = ['i32', 'i32', 'i32', 'i32']
  readonly #parameterSlots = new Map<string, number>()
  readonly #integerParameters: ReadonlySet<string>
  readonly #place: number
  readonly #position: number
  readonly #keys: readonly number[]
  readonly #accumulatorSlots: readonly number[]

  constructor(target: WasmTarget, locals: Map<string, WasmType>) {
    this.target = target
    this.locals = locals
    const { ir, shape } = target
    this.#arrays = [...shape.arrays.keys()]
    this.#accumulators = [...shape.accumulators.keys()]
    this.#unset = readUnset(ir)
    this.#changed = assignedIn(ir)
    this.#integerParameters = subscriptParameters(ir)
    if (shape.space === 'box') for (const _ of shape.extents) this.#parameterTypes.push('i32', 'i32', 'i32')
    for (const { name, value } of ir.parameters) {
      this.#parameterSlots.set(name, this.#parameterTypes.length)
      this.#parameterTypes.push(this.#isInteger(name, value) ? 'i32' : typeof value === 'boolean' ? 'i32' : 'f64')
    }
    this.#place = FROM
    this.#position = this.declare('i32')
    this.#keys = shape.space === 'box' ? shape.extents.map((_, axis) => 4 + 3 * axis + 2) : shape.extents.map(() => this.declare('i32'))
    this.#accumulatorSlots = this.#accumulators.map((name) => this.declare(shape.accumulators.get(name) === 'sum' ? 'i32' : 'f64'))
  }

  module(): WasmCode {
    const { ir } = this.target
    this.#control.push({ kind: 'other' }, { kind: 'other' }, { kind: 'iteration' })
    const body = this.block(ir.body)
    const iteration = [
      ...this.#iterationStart(),
      ...[...this.#rowBases.values()].flatMap(({ slot, code }) => [...code, ...I.localSet(slot)]),
      ...I.block(),
      ...body,
      OP.end,
    ]
    const loop = [
      ...[...I.block(), ...I.loop, ...I.localGet(FROM), ...I.localGet(TO), OP.i32GeS, ...I.brIf(1)],
      ...iteration,
      ...[...increment(FROM), ...this.#nextKey(), ...I.br(0), OP.end, OP.end],
    ]
    if (this.#declared.length > MOST_LOCALS) throw new NotCompiled('it is too large')
    const code = [...this.#prologue, ...this.#accumulatorStart(), ...loop, ...this.#accumulatorEnd()]
    const bytes = moduleBytes({ imports: this.#imports, parameters: this.#parameterTypes, locals: this.#declared, body: code })
    const parameters = ir.parameters.map((parameter) => parameter.name)
    return { bytes, imports: this.#imports, errors: this.#errors, parameters, simd: this.simd, loops: this.loops }
  }

  // ---------------------------------------------------------------- iterations

  #iterationStart(): Code {
    const { shape } = this.target
    const code: number[] = []
    if (shape.space !== 'box') {
      const at = [...I.localGet(FROM), ...I.i32Const(2), OP.i32Shl]
      if (shape.permuted) code.push(...this.global('order'), ...at, OP.i32Add, ...I.memory(OP.i32Load))
      else code.push(...I.localGet(FROM))
      code.push(...I.localSet(this.#position))
      for (const [axis, slot] of this.#keys.entries()) {
        if (shape.space === 'rows') code.push(...I.localGet(this.#position))
        else code.push(...this.global(`K${axis}`), ...at, OP.i32Add, ...I.memory(OP.i32Load))
        code.push(...I.localSet(slot))
      }
    }
    for (const [column, { slot, value }] of this.#columns) {
      const dtype = this.#columnType(column)
      const loaded = loadOf(dtype, [...this.#columnAddress(column)])
      code.push(
        ...(value.kind === 'bool' ? [...loaded.code, ...I.i32Const(0), OP.i32Ne] : value.kind === 'i32' ? loaded.code : asF64(loaded)),
      )
      code.push(...I.localSet(slot))
    }
    return code
  }

  /** The odometer over a box: the last axis runs fastest. */
  #nextKey(): Code {
    const { shape } = this.target
    if (shape.space !== 'box') return []
    let code: Code = []
    for (let axis = 0; axis < shape.extents.length; axis++) {
      const low = 4 + 3 * axis
      const key = low + 2
      code = [
        ...increment(key),
        ...[...I.localGet(key), ...I.localGet(low + 1), OP.i32Eq, ...I.if(), ...I.localGet(low), ...I.localSet(key)],
        ...code,
        OP.end,
      ]
    }
    return code
  }

  #columnType(column: number): DType {
    const { element } = this.target.shape
    if (element.kind === 'dense') return element.dtype
    return this.target.columnTypes[column] ?? 'f64'
  }

  #columnAddress(column: number): Code {
    const { shape } = this.target
    const shift = LOG2_BYTES[this.#columnType(column)]
    if (shape.element.kind !== 'dense') return [...this.global(`E${column}`), ...I.localGet(this.#position), ...shifted(shift), OP.i32Add]
    const terms = this.#keys.map((slot, axis) =>
      axis === this.#keys.length - 1 ? I.localGet(slot) : [...I.localGet(slot), ...this.global(`Xs${axis}`), OP.i32Mul],
    )
    return [...this.global('X'), ...sumOf(terms), ...shifted(shift), OP.i32Add]
  }

  #column(column: number, nullable: boolean, bool: boolean, span: Span): Value {
    const { element } = this.target.shape
    if (nullable) throw new NotCompiled('the elements may be null', span)
    const dtype = element.kind === 'dense' ? element.dtype : this.target.columnTypes[column]
    if (dtype === undefined || dtype === 'i64') throw new NotCompiled('it reads elements that are no plain numbers', span)
    let known = this.#columns.get(column)
    if (known === undefined) {
      const type = bool ? BOOL : loadOf(dtype, []).type
      known = { slot: this.declare(type.kind === 'f64' ? 'f64' : 'i32'), value: type }
      this.#columns.set(column, known)
    }
    return { type: known.value, code: I.localGet(known.slot) }
  }

  #accumulatorStart(): Code {
    let log = 8 * this.#accumulators.length
    return this.#accumulators.flatMap((name, i) => {
      const slot = this.#accumulatorSlots[i] ?? 0
      if (this.target.shape.accumulators.get(name) !== 'sum') {
        return [...I.localGet(SCRATCH), ...I.memory(OP.f64Load, 8 * i), ...I.localSet(slot)]
      }
      const code = [...I.localGet(SCRATCH), ...I.i32Const(log), OP.i32Add, ...I.localSet(slot)]
      log += 8 * LOG_CAPACITY
      return code
    })
  }

  #accumulatorEnd(): Code {
    return this.#accumulators.flatMap((name, i) => {
      const slot = this.#accumulatorSlots[i] ?? 0
      const isSum = this.target.shape.accumulators.get(name) === 'sum'
      return [...I.localGet(SCRATCH), ...I.localGet(slot), ...I.memory(isSum ? OP.i32Store : OP.f64Store, 8 * i)]
    })
  }

  /** Where the log of a sum starts, from the start of the scratch block. */
  #logOffset(accumulator: string): number {
    const before = this.#accumulators.slice(0, this.#accumulators.indexOf(accumulator))
    const sums = before.filter((name) => this.target.shape.accumulators.get(name) === 'sum').length
    return 8 * this.#accumulators.length + 8 * LOG_CAPACITY * sums
  }

  // ---------------------------------------------------------------- names

  declare(type: ValueType): number {
    // Parameters are all known before the first local.
    this.#declared.push(type)
    return this.#firstLocal() + this.#declared.length - 1
  }

  #firstLocal(): number {
    return 4 + (this.target.shape.space === 'box' ? 3 * this.target.shape.extents.length : 0) + this.target.ir.parameters.length
  }

  /** An imported number: read once, before the loop. */
  global(name: string): Code {
    let slot = this.#globals.get(name)
    if (slot === undefined) {
      slot = this.declare('i32')
      this.#globals.set(name, slot)
      this.#prologue.push(...I.globalGet(this.#import({ kind: 'global', name, type: 'i32' })), ...I.localSet(slot))
    }
    return I.localGet(slot)
  }

  #import(entry: Import): number {
    let number = this.#importNumbers.get(entry.name)
    if (number === undefined) {
      number = this.#imports.filter((other) => other.kind === entry.kind).length
      this.#importNumbers.set(entry.name, number)
      this.#imports.push(entry)
    }
    return number
  }

  #function(name: string, parameters: readonly ValueType[], results: readonly ValueType[]): number {
    return this.#import({ kind: 'function', name, parameters, results })
  }

  #isInteger(name: string, value: unknown): boolean {
    return this.#integerParameters.has(name) && Number.isInteger(value) && !Object.is(value, -0) && Math.abs(value as number) <= HIGHEST
  }

  /** The wasm local of a variable, whose type must hold the value. */
  #slotFor(name: string, type: WasmType, span: Span): number {
    const before = this.locals.get(name)
    const wanted = this.#unset.has(name) ? joinTypes(type, MAYBE) : type
    const joined = wanted === undefined || before === undefined ? wanted : joinTypes(before, wanted)
    if (joined === undefined) throw new NotCompiled(`${name} holds numbers and truth values, or truth values and undefined`, span)
    if (before === undefined || !sameType(before, joined)) {
      if (before !== undefined) this.widened = true
      this.locals.set(name, joined)
    }
    let slot = this.#slots.get(name)
    if (slot === undefined) {
      slot = this.declare(joined.kind === 'f64' ? 'f64' : 'i32')
      this.#slots.set(name, slot)
    }
    return slot
  }

  assign(name: string, value: Value, span: Span): Code {
    // An integer that changes has no bounds that could be told here.
    const type = this.#changed.has(name) && value.type.kind === 'i32' ? F64 : value.type
    const slot = this.#slotFor(name, type, span)
    return [...this.#as(value, this.locals.get(name) ?? type), ...I.localSet(slot)]
  }

  #as(value: Value, type: WasmType): Code {
    return type.kind === 'f64' ? asF64(value) : value.code
  }

  slotOf(name: string): number {
    const slot = this.#slots.get(name)
    if (slot === undefined) throw new NotCompiled(`${name} is read before it is declared`)
    return slot
  }

  /** Whether a local is given a value in more than one place, but for the index of a counted loop. */
  isChanged(name: string): boolean {
    return this.#changed.has(name)
  }

  readsOf(name: string): number {
    return readsIn(this.target.ir.body, name)
  }

  array(name: string): { readonly number: number; readonly shape: DenseShape } {
    const number = this.#arrays.indexOf(name)
    const shape = this.target.shape.arrays.get(name)
    if (shape?.kind !== 'dense') throw new NotCompiled(`${name} is not a dense array`)
    if (shape.dtype === 'i64') throw new NotCompiled(`${name} holds 64-bit integers`)
    return { number, shape }
  }

  // ---------------------------------------------------------------- statements

  block(stmts: readonly Stmt[]): Code {
    return stmts.flatMap((stmt) => this.#stmt(stmt))
  }

  #stmt(stmt: Stmt): Code {
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init !== undefined) return this.assign(stmt.local, this.expr(stmt.init), stmt.span)
        return this.#unset.has(stmt.local) ? this.assign(stmt.local, { type: MAYBE, code: I.f64Const(Number.NaN) }, stmt.span) : []
      case 'Assign':
        return this.assign(stmt.local, this.expr(stmt.value), stmt.span)
      case 'Write':
        return this.#write(stmt)
      case 'Add':
        return this.#add(stmt)
      case 'Accumulate':
        return this.#accumulate(stmt.accumulator, this.expr(stmt.value), stmt.span)
      case 'If': {
        const test = this.condition(stmt.test)
        this.#control.push({ kind: 'other' })
        const then = this.block(stmt.then)
        const otherwise = this.block(stmt.else)
        this.#control.pop()
        return [...test, ...I.if(), ...then, ...(otherwise.length === 0 ? [] : [OP.else, ...otherwise]), OP.end]
      }
      case 'For':
        return this.#for(stmt)
      case 'Labeled': {
        const body = this.within({ kind: 'label', label: stmt.label }, () => this.block(stmt.body))
        return [...I.block(), ...body, OP.end]
      }
      case 'Break': {
        const { label } = stmt
        return this.#leave((c) => (label === undefined ? c.kind === 'exit' : c.label === label && c.kind !== 'next'), stmt.span)
      }
      case 'Continue': {
        const { label } = stmt
        return this.#leave((c) => c.kind === 'next' && (label === undefined || c.label === label), stmt.span)
      }
      case 'Return':
        return this.#return(stmt.value, stmt.span)
      case 'Throw':
        return this.#throw(stmt)
      case 'Evaluate':
        return [...this.expr(stmt.value).code, OP.drop]
    }
  }

  within(control: Control, write: () => Code): Code {
    this.#control.push(control)
    const code = write()
    this.#control.pop()
    return code
  }

  #leave(isTarget: (control: Control) => boolean, span: Span): Code {
    const at = this.#control.findLastIndex(isTarget)
    if (at < 0) throw new NotCompiled('it leaves a block that does not enclose it', span)
    return I.br(this.#control.length - 1 - at)
  }

  #throw(stmt: Extract<Stmt, { kind: 'Throw' }>): Code {
    const { message } = stmt
    if (message !== undefined && (message.kind !== 'Literal' || typeof message.value !== 'string')) {
      throw new NotCompiled('it throws a message that is computed', stmt.span)
    }
    this.#errors.push({ error: stmt.error, message: message === undefined ? undefined : String(message.value) })
    const fail = this.#function('fail', ['i32', 'i32'], [])
    return [...I.i32Const(this.#errors.length - 1), ...I.localGet(this.#place), ...I.call(fail), OP.unreachable]
  }

  #for(stmt: Extract<Stmt, { kind: 'For' }>): Code {
    const { counted } = stmt
    const init = this.block(stmt.init)
    if (counted === undefined || stmt.doWhile) return [...init, ...this.plainLoop(stmt)]
    const range = this.#countedRange(counted)
    // The index is an integer where its bounds are: its local holds one value more than the body sees.
    const slot = this.#slotFor(counted.local, range?.held ?? F64, stmt.span)
    if (range === undefined || this.locals.get(counted.local)?.kind !== 'i32') return [...init, ...this.plainLoop(stmt)]
    return [...init, ...(fastLoop(this, stmt, { slot, ...range }) ?? this.plainLoop(stmt, range.seen))]
  }

  /** Types of a counted loop's index: in the body, and with the value that ends the loop. */
  #countedRange(
    counted: NonNullable<Extract<Stmt, { kind: 'For' }>['counted']>,
  ): { readonly seen: WasmType; readonly held: WasmType } | undefined {
    const from = this.expr(counted.from).type
    const to = this.expr(counted.to).type
    if (from.kind !== 'i32' || to.kind !== 'i32' || !Number.isInteger(counted.step)) return undefined
    const { step } = counted
    const [low, high] = step > 0 ? [from.low, to.high - 1] : [to.low + 1, from.high]
    const held = step > 0 ? integerType(from.low, Math.max(from.high, high + step)) : integerType(Math.min(from.low, low + step), from.high)
    const seen = integerType(Math.max(low, LOWEST), Math.min(high, HIGHEST))
    return held === undefined || seen === undefined ? undefined : { seen, held }
  }

  /** A loop as the source has it. `seen`: what the body sees of a counted loop's integer index; `known`: its test. */
  plainLoop(stmt: Extract<Stmt, { kind: 'For' }>, seen?: WasmType, known?: Code): Code {
    const { label, counted } = stmt
    const test = (): Code => known ?? (stmt.test === undefined ? I.i32Const(1) : this.condition(stmt.test))
    const index = counted?.local
    const isInteger = index !== undefined && seen !== undefined
    return this.within({ kind: 'exit', label }, () => {
      const first: Code = stmt.doWhile || stmt.test === undefined ? [] : [...test(), OP.i32Eqz, ...I.brIf(0)]
      const inner = this.within({ kind: 'other' }, () => {
        const held = index === undefined ? undefined : this.locals.get(index)
        if (isInteger) this.locals.set(index, seen)
        const body = this.within({ kind: 'next', label }, () => this.block(stmt.body))
        if (isInteger && held !== undefined) this.locals.set(index, held)
        const update =
          isInteger && counted !== undefined
            ? [...I.localGet(this.slotOf(index)), ...I.i32Const(counted.step), OP.i32Add, ...I.localSet(this.slotOf(index))]
            : this.block(stmt.update)
        return [...I.block(), ...body, OP.end, ...update, ...test(), ...I.brIf(0)]
      })
      return [...I.block(), ...first, ...I.loop, ...inner, OP.end, OP.end]
    })
  }

  #write(stmt: Extract<Stmt, { kind: 'Write' }>): Code {
    const { number, shape } = this.array(stmt.array)
    const place = this.#access(stmt, stmt.array, stmt.subscripts, `A${number}`, shape.dtype)
    const value = this.expr(stmt.value)
    const stored = this.declare(shape.dtype === 'f64' || shape.dtype === 'f32' ? 'f64' : 'i32')
    return [
      ...[...place.evaluate, ...this.#converted(value, shape.dtype), ...I.localSet(stored), ...place.check],
      ...[...place.address, ...I.localGet(stored), ...storeOf(shape.dtype, place.offset)],
    ]
  }

  #converted(value: Value, dtype: DType): Code {
    if (dtype === 'f64' || dtype === 'f32') return asF64(value)
    return dtype === 'bool' ? asBool(value) : this.int32(value)
  }

  int32(value: Value): Code {
    return asInt32(
      value,
      () => this.declare('f64'),
      () => this.#function('int32', ['f64'], ['i32']),
    )
  }

  #add(stmt: Extract<Stmt, { kind: 'Add' }>): Code {
    const { number, shape } = this.array(stmt.array)
    const { adds } = shape
    if (adds !== 'direct' && adds !== 'lane') throw new NotCompiled('an update buffer has a function of its own', stmt.span)
    const dtype = adds === 'direct' ? shape.dtype : this.target.laneTypes[number]
    if (dtype === undefined || dtype === 'i64') throw new NotCompiled(`${stmt.array} holds 64-bit integers`, stmt.span)
    const base = adds === 'direct' ? `A${number}` : `D${number}`
    const place = this.#access(stmt, stmt.array, stmt.subscripts, base, dtype)
    const delta = this.expr(stmt.value)
    const isInteger = delta.type.kind !== 'f64' && dtype !== 'f64' && dtype !== 'f32' && dtype !== 'bool'
    const kept = this.declare(isInteger ? 'i32' : 'f64')
    const address = this.declare('i32')
    const before = loadOf(dtype, I.localGet(address), place.offset)
    const sum: Value = isInteger
      ? {
          type: { kind: 'i32', low: LOWEST, high: HIGHEST },
          code: [...loadBits(dtype, I.localGet(address), place.offset), ...I.localGet(kept), OP.i32Add],
        }
      : { type: F64, code: [...asF64(before), ...I.localGet(kept), OP.f64Add] }
    return [
      ...[...place.evaluate, ...(isInteger ? delta.code : asF64(delta)), ...I.localSet(kept), ...place.check],
      ...[...place.address, ...I.localTee(address), ...this.#converted(sum, dtype), ...storeOf(dtype, place.offset)],
    ]
  }

  #accumulate(accumulator: string, value: Value, span: Span): Code {
    const i = this.#accumulators.indexOf(accumulator)
    const slot = this.#accumulatorSlots[i] ?? 0
    const form = this.target.shape.accumulators.get(accumulator)
    switch (form) {
      case 'sum': {
        const base = this.#logOffset(accumulator)
        const start = [...I.localGet(SCRATCH), ...I.i32Const(base), OP.i32Add]
        const kept = this.declare('f64')
        return [
          ...[...asF64(value), ...I.localSet(kept), ...I.localGet(slot), ...I.localGet(kept), ...I.memory(OP.f64Store)],
          ...[...I.localGet(slot), ...I.i32Const(8), OP.i32Add, ...I.localTee(slot)],
          ...[...I.localGet(SCRATCH), ...I.i32Const(base + 8 * LOG_CAPACITY), OP.i32Add, OP.i32Eq, ...I.if()],
          ...[...I.i32Const(i), ...I.call(this.#function('grow', ['i32'], [])), ...start, ...I.localSet(slot), OP.end],
        ]
      }
      case 'min':
      case 'max':
        return [...I.localGet(slot), ...asF64(value), form === 'min' ? OP.f64Min : OP.f64Max, ...I.localSet(slot)]
      case 'count':
        return [...value.code, OP.drop, ...I.localGet(slot), ...I.f64Const(1), OP.f64Add, ...I.localSet(slot)]
      case 'custom':
      case undefined:
        throw new NotCompiled(`${accumulator} combines with a function of the program`, span)
    }
  }

  #return(value: Expr | undefined, span: Span): Code {
    const leave = this.#leave((control) => control.kind === 'iteration', span)
    if (value === undefined) return leave
    const { element } = this.target.shape
    const result = this.expr(value)
    if (result.type.kind === 'f64' && result.type.maybe) throw new NotCompiled('what it returns may be undefined', span)
    if (element.kind === 'none') return [...result.code, OP.drop, ...leave]
    if (element.kind === 'row') throw new NotCompiled('it replaces rows', span)
    if (element.kind === 'scalar' && element.column.nullable) throw new NotCompiled('the elements may be null', span)
    const dtype = element.kind === 'dense' ? element.dtype : this.target.columnTypes[0]
    if (dtype === undefined || dtype === 'i64') throw new NotCompiled('the elements are no plain numbers', span)
    return [...this.#columnAddress(0), ...this.#converted(result, dtype), ...storeOf(dtype), ...leave]
  }

  // ---------------------------------------------------------------- accesses

  /** Code that evaluates the subscripts, throws unless they are inside, and leaves the address. */
  #access(
    node: object,
    array: string,
    subscripts: readonly Expr[],
    base: string,
    dtype: DType,
  ): { readonly evaluate: Code; readonly check: Code; readonly address: Code; readonly offset: number } {
    const known = this.known.get(node)
    if (known !== undefined) return { evaluate: [], check: [], address: known.code(), offset: known.offset }
    const { number, shape } = this.array(array)
    const evaluate: number[] = []
    const inside: Code[] = []
    const shown: Code[] = []
    const terms: { readonly code: Code; readonly steady: boolean }[] = []
    for (const [axis, subscript] of subscripts.entries()) {
      const value = this.expr(subscript)
      const extent = shape.extents[axis] ?? 0
      if (value.type.kind === 'bool') throw new NotCompiled('a subscript is a truth value', subscript.span)
      if (value.type.kind === 'f64' && value.type.maybe) throw new NotCompiled('a subscript may be undefined', subscript.span)
      let code = value.code
      if (!isSteady(subscript)) {
        const slot = this.declare(value.type.kind)
        evaluate.push(...code, ...I.localSet(slot))
        code = I.localGet(slot)
      }
      const held: Value = { type: value.type, code }
      shown.push(asF64(value.literal === undefined ? held : value))
      if (value.type.kind === 'f64') {
        const whole = this.declare('i32')
        const converted = [...code, ...SATURATE.i32U, ...I.localTee(whole), OP.f64ConvertI32U, ...code, OP.f64Eq]
        inside.push([...converted, ...I.localGet(whole), ...this.global(`A${number}n${axis}`), OP.i32LtU, OP.i32And])
        code = I.localGet(whole)
      } else if (!(value.type.low >= 0 && value.type.high < extent)) {
        inside.push([...code, ...this.global(`A${number}n${axis}`), OP.i32LtU])
      }
      terms.push({ code, steady: inside.length === 0 && (subscript.kind === 'Key' || subscript.kind === 'Literal') })
    }
    const check =
      inside.length === 0
        ? []
        : [
            ...inside.flat(),
            ...inside.slice(1).map(() => OP.i32And),
            OP.i32Eqz,
            ...I.if(),
            ...[...I.i32Const(number), ...I.localGet(this.#place), ...shown.flat()],
            ...I.call(this.#function(`outside${shown.length}`, ['i32', 'i32', ...shown.map(() => 'f64' as const)], [])),
            ...[OP.unreachable, OP.end],
          ]
    return { evaluate, check, address: this.#address(number, base, terms, LOG2_BYTES[dtype]), offset: 0 }
  }

  /** The part of an address that only keys decide is computed once an iteration. */
  #address(number: number, base: string, terms: readonly { readonly code: Code; readonly steady: boolean }[], shift: number): Code {
    const strided = terms.map(({ code }, axis) => this.scaled(number, axis, code, terms.length))
    const row = [...this.base(base), ...(terms.length > 1 ? [...sumOf(strided.slice(0, -1)), ...shifted(shift), OP.i32Add] : [])]
    const last = [...(strided[strided.length - 1] ?? I.i32Const(0)), ...shifted(shift), OP.i32Add]
    if (terms.length < 2 || !terms.slice(0, -1).every((term) => term.steady)) return [...row, ...last]
    const key = row.join()
    let kept = this.#rowBases.get(key)
    if (kept === undefined) {
      kept = { slot: this.declare('i32'), code: row }
      this.#rowBases.set(key, kept)
    }
    return [...I.localGet(kept.slot), ...last]
  }

  /** A subscript times its axis' stride, in elements. */
  scaled(number: number, axis: number, code: Code, rank: number): Code {
    return axis === rank - 1 ? code : [...code, ...this.global(`A${number}s${axis}`), OP.i32Mul]
  }

  /** The address of an array, or of this lane's private copy. */
  base(name: string): Code {
    if (!name.startsWith('D')) return this.global(name)
    let slot = this.#globals.get(`lane ${name}`)
    if (slot === undefined) {
      const start = [...this.global(name), ...this.global(`${name}n`), ...I.localGet(LANE), OP.i32Mul, OP.i32Add]
      slot = this.declare('i32')
      this.#globals.set(`lane ${name}`, slot)
      this.#prologue.push(...start, ...I.localSet(slot))
    }
    return I.localGet(slot)
  }

  // ---------------------------------------------------------------- expressions

  /** Truth of an expression, as 0 or 1. */
  condition(expr: Expr): Code {
    switch (expr.kind) {
      case 'Logical':
        if (expr.operator === '??') return asBool(this.expr(expr))
        return expr.operator === '&&'
          ? [...this.condition(expr.left), ...I.if('i32'), ...this.condition(expr.right), OP.else, ...I.i32Const(0), OP.end]
          : [...this.condition(expr.left), ...I.if('i32'), ...I.i32Const(1), OP.else, ...this.condition(expr.right), OP.end]
      case 'Unary':
        if (expr.operator === '!') return [...this.condition(expr.operand), OP.i32Eqz]
        return asBool(this.expr(expr))
      case 'Conditional': {
        const [then, otherwise] = [this.condition(expr.then), this.condition(expr.else)]
        return [...this.condition(expr.test), ...I.if('i32'), ...then, OP.else, ...otherwise, OP.end]
      }
      case 'Literal':
        return I.i32Const(expr.value ? 1 : 0)
      default:
        return asBool(this.expr(expr))
    }
  }

  expr(expr: Expr): Value {
    switch (expr.kind) {
      case 'Literal':
        return literalValue(expr.value, expr.span)
      case 'Local': {
        const type = this.locals.get(expr.name)
        if (type === undefined) throw new NotCompiled(`${expr.name} is read before it is declared`, expr.span)
        return { type, code: I.localGet(this.slotOf(expr.name)) }
      }
      case 'Parameter':
        return this.#parameter(expr.name, expr.span)
      case 'Input':
        return this.#input(expr.span)
      case 'Field':
        return this.#field(expr)
      case 'Key': {
        const extent = this.target.shape.extents[expr.axis]
        const slot = this.#keys[expr.axis]
        if (extent === undefined || slot === undefined) throw new NotCompiled('it reads a key that is not there', expr.span)
        return { type: { kind: 'i32', low: 0, high: Math.max(0, extent - 1) }, code: I.localGet(slot) }
      }
      case 'Unary':
        return this.#unary(expr)
      case 'Binary':
        return this.#binary(expr)
      case 'Logical':
        return this.#logical(expr)
      case 'Conditional': {
        const [then, otherwise] = [this.expr(expr.then), this.expr(expr.else)]
        return this.#choice(this.condition(expr.test), then, otherwise, expr.span)
      }
      case 'Call':
        return this.#call(expr.callee, expr.args, expr.span)
      case 'Read': {
        const { number, shape } = this.array(expr.array)
        const place = this.#access(expr, expr.array, expr.subscripts, `A${number}`, shape.dtype)
        const loaded = loadOf(shape.dtype, [...place.evaluate, ...place.check, ...place.address], place.offset)
        return loaded
      }
      case 'Extent': {
        const { number, shape } = this.array(expr.array)
        const extent = shape.extents[expr.axis]
        if (extent === undefined) throw new NotCompiled('it asks for an axis that is not there', expr.span)
        return { type: { kind: 'i32', low: extent, high: extent }, code: this.global(`A${number}n${expr.axis}`) }
      }
      case 'Lookup':
        return this.#lookup(expr)
      case 'LookupLength': {
        const length = this.target.tableLengths[this.#table(expr.table)] ?? 0
        return { type: { kind: 'i32', low: length, high: length }, code: this.global(`T${this.#table(expr.table)}n`) }
      }
      case 'Has':
        throw new NotCompiled('it asks which keys are present', expr.span)
      case 'Draw':
        throw new NotCompiled('it draws random numbers', expr.span)
      case 'MethodCall':
        throw new NotCompiled(`it calls ${expr.method}`, expr.span)
      case 'ArrayLiteral':
      case 'ObjectLiteral':
        throw new NotCompiled('it makes arrays or objects', expr.span)
    }
  }

  #parameter(name: string, span: Span): Value {
    const slot = this.#parameterSlots.get(name)
    const value = this.target.shape.parameters.get(name)
    if (slot === undefined) throw new NotCompiled(`${name} is not known`, span)
    if (typeof value === 'boolean') return { type: BOOL, code: I.localGet(slot) }
    if (typeof value !== 'number') throw new NotCompiled(`${name} is no number`, span)
    if (!this.#isInteger(name, value)) return { type: F64, code: I.localGet(slot) }
    return { type: { kind: 'i32', low: value, high: value }, code: I.localGet(slot) }
  }

  #input(span: Span): Value {
    const { element } = this.target.shape
    if (element.kind === 'dense') return this.#column(0, false, false, span)
    if (element.kind === 'scalar') return this.#column(0, element.column.nullable, element.column.form === 'bool', span)
    throw new NotCompiled('it uses the whole row', span)
  }

  #field(expr: Extract<Expr, { kind: 'Field' }>): Value {
    const { element } = this.target.shape
    if (expr.of.kind !== 'Input' || element.kind !== 'row')
      throw new NotCompiled('it reads a field of something else than its row', expr.span)
    const i = element.columns.findIndex((column) => column.name === expr.name)
    const column = element.columns[i]
    if (column === undefined) throw new NotCompiled(`the rows have no column ${expr.name}`, expr.span)
    return this.#column(i, column.nullable, column.form === 'bool', expr.span)
  }

  #unary(expr: Extract<Expr, { kind: 'Unary' }>): Value {
    switch (expr.operator) {
      case '!':
        return { type: BOOL, code: this.condition(expr) }
      case '+': {
        const value = this.expr(expr.operand)
        return value.type.kind === 'bool' ? { type: { kind: 'i32', low: 0, high: 1 }, code: value.code } : known(value)
      }
      case '-': {
        const value = this.expr(expr.operand)
        const type =
          value.type.kind === 'i32' && (value.type.low > 0 || value.type.high < 0)
            ? integerType(-value.type.high, -value.type.low)
            : undefined
        if (type !== undefined) return { type, code: [...I.i32Const(0), ...value.code, OP.i32Sub] }
        return { type: F64, code: [...asF64(value), OP.f64Neg] }
      }
      case '~':
        return {
          type: { kind: 'i32', low: LOWEST, high: HIGHEST },
          code: [...this.int32(this.expr(expr.operand)), ...I.i32Const(-1), OP.i32Xor],
        }
      case 'typeof':
        throw new NotCompiled('it asks for a type', expr.span)
    }
  }

  #binary(expr: Extract<Expr, { kind: 'Binary' }>): Value {
    const { operator } = expr
    const left = number(this.expr(expr.left))
    const right = number(this.expr(expr.right))
    switch (operator) {
      case '+':
      case '-':
      case '*':
      case '%': {
        const type = integerResult(operator, left.type, right.type)
        if (type !== undefined) return { type, code: [...left.code, ...right.code, INTEGER[operator]] }
        if (operator !== '%') return { type: F64, code: [...asF64(left), ...asF64(right), DOUBLE[operator]] }
        return this.#imported('%', [left, right])
      }
      case '/':
        return { type: F64, code: [...asF64(left), ...asF64(right), OP.f64Div] }
      case '**':
        // x ** 2 is x * x to the last bit in every tier of the engine.
        if (right.literal === 2) {
          const base = this.declare('f64')
          return { type: F64, code: [...asF64(left), ...I.localTee(base), ...I.localGet(base), OP.f64Mul] }
        }
        return this.#imported('Math.pow', [left, right])
      case '&':
      case '|':
      case '^':
      case '<<':
      case '>>':
        return { type: bitRange(operator, left, right), code: [...this.int32(left), ...this.int32(right), BITS[operator]] }
      case '>>>': {
        const code = [...this.int32(left), ...this.int32(right), OP.i32ShrU]
        if (right.literal !== undefined && (right.literal & 31) > 0) return { type: { kind: 'i32', low: 0, high: HIGHEST }, code }
        return { type: F64, code: [...code, OP.f64ConvertI32U] }
      }
      case '<':
      case '<=':
      case '>':
      case '>=':
        return { type: BOOL, code: compared(left, right, operator) }
      case '==':
      case '!=':
      case '===':
      case '!==':
        return this.#equal(expr)
    }
  }

  #equal(expr: Extract<Expr, { kind: 'Binary' }>): Value {
    const [left, right] = [this.expr(expr.left), this.expr(expr.right)]
    for (const { type } of [left, right]) {
      if (type.kind === 'f64' && type.maybe) throw new NotCompiled('it compares what may be undefined', expr.span)
    }
    const negated = expr.operator === '!=' || expr.operator === '!=='
    const strict = expr.operator === '===' || expr.operator === '!=='
    if (strict && (left.type.kind === 'bool') !== (right.type.kind === 'bool')) {
      return { type: BOOL, code: [...left.code, OP.drop, ...right.code, OP.drop, ...I.i32Const(negated ? 1 : 0)] }
    }
    return { type: BOOL, code: compared(number(left), number(right), negated ? '!=' : '==') }
  }

  #logical(expr: Extract<Expr, { kind: 'Logical' }>): Value {
    const left = this.expr(expr.left)
    if (expr.operator === '??') {
      if (left.type.kind === 'f64' && left.type.maybe) throw new NotCompiled('it asks whether a value is undefined', expr.span)
      return left
    }
    const right = this.expr(expr.right)
    const type = joinTypes(left.type, right.type)
    if (type === undefined) {
      throw new NotCompiled('a value is a number or a truth value', expr.span)
    }
    const kept = this.declare(type.kind === 'f64' ? 'f64' : 'i32')
    const held: Value = { type: type.kind === 'f64' ? F64 : type, code: I.localGet(kept) }
    const test = [...this.#as(left, type), ...I.localSet(kept), ...asBool(held)]
    const other = this.#as(right, type)
    const [then, otherwise] = expr.operator === '&&' ? [other, held.code] : [held.code, other]
    return { type, code: [...test, ...I.if(type.kind === 'f64' ? 'f64' : 'i32'), ...then, OP.else, ...otherwise, OP.end] }
  }

  #choice(test: Code, then: Value, otherwise: Value, span: Span): Value {
    const type = joinTypes(then.type, otherwise.type)
    if (type === undefined) throw new NotCompiled('a value is a number or a truth value', span)
    const result = type.kind === 'f64' ? 'f64' : 'i32'
    return { type, code: [...test, ...I.if(result), ...this.#as(then, type), OP.else, ...this.#as(otherwise, type), OP.end] }
  }

  #table(name: string): number {
    return this.target.ir.tables.findIndex((table) => table.name === name)
  }

  #lookup(expr: Extract<Expr, { kind: 'Lookup' }>): Value {
    const table = this.#table(expr.table)
    const dtype = this.target.tableTypes[table]
    const length = this.target.tableLengths[table] ?? 0
    if (dtype === undefined || dtype === 'i64') throw new NotCompiled(`${expr.table} holds more than numbers`, expr.span)
    const index = this.expr(expr.index)
    if (index.type.kind === 'bool') throw new NotCompiled('an index is a truth value', expr.span)
    const load = (code: Code): Value => loadOf(dtype, [...this.global(`T${table}`), ...code, ...shifted(LOG2_BYTES[dtype]), OP.i32Add])
    if (index.type.kind === 'i32' && index.type.low >= 0 && index.type.high < length) return load(index.code)
    const whole = this.declare('i32')
    const isInside = [...I.localGet(whole), ...this.global(`T${table}n`), OP.i32LtU]
    let test: Code
    if (index.type.kind === 'i32') test = [...index.code, ...I.localSet(whole), ...isInside]
    else {
      const given = this.declare('f64')
      const isWhole = [...SATURATE.i32U, ...I.localTee(whole), OP.f64ConvertI32U, ...I.localGet(given), OP.f64Eq]
      test = [...index.code, ...I.localTee(given), ...isWhole, ...isInside, OP.i32And]
    }
    const loaded = asF64(load(I.localGet(whole)))
    return { type: MAYBE, code: [...test, ...I.if('f64'), ...loaded, OP.else, ...I.f64Const(Number.NaN), OP.end] }
  }

  #imported(name: string, args: readonly Value[], result: 'number' | 'truth' = 'number'): Value {
    const called = this.#function(
      `${name}/${args.length}`,
      args.map(() => 'f64'),
      [result === 'number' ? 'f64' : 'i32'],
    )
    return { type: result === 'number' ? F64 : BOOL, code: [...args.flatMap(asF64), ...I.call(called)] }
  }

  #call(callee: Builtin, given: readonly Expr[], span: Span): Value {
    const raw = given.map((arg) => this.expr(arg))
    const args = raw.map(number)
    const [x, y] = args
    const one = (...code: Code): Value => ({ type: F64, code: [...asF64(first()), ...code] })
    const first = (): Value => {
      if (x === undefined) throw new NotCompiled(`${callee} is called without an argument`, span)
      return x
    }
    switch (callee) {
      case 'Math.abs':
        return one(OP.f64Abs)
      case 'Math.ceil':
        return x?.type.kind === 'i32' ? x : one(OP.f64Ceil)
      case 'Math.floor':
        return x?.type.kind === 'i32' ? x : one(OP.f64Floor)
      case 'Math.trunc':
        return x?.type.kind === 'i32' ? x : one(OP.f64Trunc)
      case 'Math.sqrt':
        return one(OP.f64Sqrt)
      case 'Math.fround':
        return one(OP.f32DemoteF64, OP.f64PromoteF32)
      case 'Math.round': {
        if (x?.type.kind === 'i32') return x
        const [given1, up] = [this.declare('f64'), this.declare('f64')]
        const whole = one(...I.localTee(given1), OP.f64Ceil, ...I.localTee(up)).code
        const below = [...I.localGet(up), ...I.f64Const(1), OP.f64Sub]
        const isAbove = [...I.localGet(up), ...I.f64Const(0.5), OP.f64Sub, ...I.localGet(given1), OP.f64Gt]
        return { type: F64, code: [...whole, OP.drop, ...below, ...I.localGet(up), ...isAbove, OP.select] }
      }
      case 'Math.min':
      case 'Math.max': {
        const start = callee === 'Math.min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
        if (x === undefined) return { type: F64, code: I.f64Const(start) }
        const operation = callee === 'Math.min' ? OP.f64Min : OP.f64Max
        return { type: F64, code: [...asF64(x), ...args.slice(1).flatMap((arg) => [...asF64(arg), operation])] }
      }
      case 'Math.imul':
        if (x === undefined || y === undefined) throw new NotCompiled('Math.imul needs two arguments', span)
        return { type: { kind: 'i32', low: LOWEST, high: HIGHEST }, code: [...this.int32(x), ...this.int32(y), OP.i32Mul] }
      case 'Math.clz32':
        return { type: { kind: 'i32', low: 0, high: 32 }, code: [...this.int32(first()), OP.i32Clz] }
      case 'Number':
        return raw[0] === undefined ? literalValue(0, span) : known(first())
      case 'Boolean':
        return given[0] === undefined ? literalValue(false, span) : { type: BOOL, code: this.condition(given[0]) }
      case 'Number.isNaN':
      case 'isNaN': {
        const [value] = raw
        if (value === undefined || (callee === 'Number.isNaN' && value.type.kind === 'f64' && value.type.maybe)) break
        const kept = this.declare('f64')
        return { type: BOOL, code: [...asF64(number(value)), ...I.localTee(kept), ...I.localGet(kept), OP.f64Ne] }
      }
      case 'Number.isFinite':
      case 'isFinite':
        if (raw[0] === undefined || (callee === 'Number.isFinite' && raw[0].type.kind === 'bool')) break
        return { type: BOOL, code: [...asF64(first()), OP.f64Abs, ...I.f64Const(Number.POSITIVE_INFINITY), OP.f64Lt] }
      case 'Number.isInteger':
      case 'Number.isSafeInteger':
        if (raw[0] === undefined || raw[0].type.kind === 'bool') break
        return this.#imported(callee, [raw[0]], 'truth')
      case 'Object.is':
        if (raw.length !== 2 || raw.some(({ type }) => type.kind === 'bool' || (type.kind === 'f64' && type.maybe))) break
        return this.#imported(callee, raw, 'truth')
      case 'Math.acos':
      case 'Math.acosh':
      case 'Math.asin':
      case 'Math.asinh':
      case 'Math.atan':
      case 'Math.atan2':
      case 'Math.atanh':
      case 'Math.cbrt':
      case 'Math.cos':
      case 'Math.cosh':
      case 'Math.exp':
      case 'Math.expm1':
      case 'Math.hypot':
      case 'Math.log':
      case 'Math.log10':
      case 'Math.log1p':
      case 'Math.log2':
      case 'Math.pow':
      case 'Math.sign':
      case 'Math.sin':
      case 'Math.sinh':
      case 'Math.tan':
      case 'Math.tanh':
        return this.#imported(callee, args)
      case 'String':
      case 'BigInt':
      case 'BigInt.asIntN':
      case 'BigInt.asUintN':
      case 'Number.parseFloat':
      case 'Number.parseInt':
      case 'parseFloat':
      case 'parseInt':
      case 'Date.UTC':
        break
    }
    throw new NotCompiled(`it calls ${callee}`, span)
  }
}

const INTEGER = { '+': OP.i32Add, '-': OP.i32Sub, '*': OP.i32Mul, '%': OP.i32RemU } as const
const DOUBLE = { '+': OP.f64Add, '-': OP.f64Sub, '*': OP.f64Mul } as const
const BITS = { '&': OP.i32And, '|': OP.i32Or, '^': OP.i32Xor, '<<': OP.i32Shl, '>>': OP.i32ShrS } as const
const COMPARE = {
  '<': [OP.i32LtS, OP.f64Lt],
  '<=': [OP.i32LeS, OP.f64Le],
  '>': [OP.i32GtS, OP.f64Gt],
  '>=': [OP.i32GeS, OP.f64Ge],
  '==': [OP.i32Eq, OP.f64Eq],
  '!=': [OP.i32Ne, OP.f64Ne],
} as const

function compared(left: Value, right: Value, operator: keyof typeof COMPARE): Code {
  const [integers, doubles] = COMPARE[operator]
  if (left.type.kind === 'f64' || right.type.kind === 'f64') return [...asF64(left), ...asF64(right), doubles]
  return [...left.code, ...right.code, integers]
}

function bitRange(operator: keyof typeof BITS, left: Value, right: Value): WasmType {
  if (operator === '&') {
    const highs = [left, right].flatMap(({ type }) => (type.kind === 'i32' && type.low >= 0 ? [type.high] : []))
    if (highs.length > 0) return { kind: 'i32', low: 0, high: Math.min(...highs) }
  }
  if (operator === '>>' && left.type.kind === 'i32' && left.type.low >= 0) return { kind: 'i32', low: 0, high: left.type.high }
  return { kind: 'i32', low: LOWEST, high: HIGHEST }
}

/** ToNumber of truth values; numbers are what they are. */
function number(value: Value): Value {
  return value.type.kind === 'bool' ? { ...value, type: { kind: 'i32', low: 0, high: 1 } } : value
}

/** What came out of ToNumber is never undefined. */
function known(value: Value): Value {
  return value.type.kind === 'f64' ? { ...value, type: F64 } : value
}

function literalValue(value: unknown, span: Span): Value {
  if (typeof value === 'boolean') return { type: BOOL, code: I.i32Const(value ? 1 : 0) }
  if (value === undefined) return { type: MAYBE, code: I.f64Const(Number.NaN) }
  if (typeof value !== 'number') throw new NotCompiled(`it uses ${value === null ? 'null' : `a ${typeof value}`}`, span)
  const type = Number.isInteger(value) && !Object.is(value, -0) ? integerType(value, value) : undefined
  if (type === undefined) return { type: F64, code: I.f64Const(value), literal: value }
  return { type, code: I.i32Const(value), literal: value }
}

function increment(slot: number): Code {
  return [...I.localGet(slot), ...I.i32Const(1), OP.i32Add, ...I.localSet(slot)]
}

function isSteady(expr: Expr): boolean {
  return expr.kind === 'Key' || expr.kind === 'Local' || expr.kind === 'Parameter' || expr.kind === 'Literal'
}

function sameType(a: WasmType, b: WasmType): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Locals that are assigned after their declaration, but for the indices of counted loops. */
function assignedIn(ir: FunctionIr): Set<string> {
  const found = new Set<string>()
  const visit = (stmt: Stmt, counted: ReadonlySet<string>): void => {
    if (stmt.kind === 'Assign' && !counted.has(stmt.local)) found.add(stmt.local)
    if (stmt.kind === 'For' && stmt.counted !== undefined && !stmt.doWhile) {
      const own = new Set([...counted, stmt.counted.local])
      for (const inner of stmt.update) visit(inner, own)
      for (const inner of [...stmt.init, ...stmt.body]) visit(inner, counted)
    } else for (const inner of nestedOf(stmt)) visit(inner, counted)
  }
  for (const stmt of ir.body) visit(stmt, new Set())
  return found
}

/** Captured values that decide where accesses go: as integers, they prove subscripts inside. */
function subscriptParameters(ir: FunctionIr): Set<string> {
  const found = new Set<string>()
  const note = (expr: Expr): void =>
    visitExpr(expr, (e) => {
      if (e.kind === 'Parameter') found.add(e.name)
    })
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach(note)
    if (stmt.kind === 'Write' || stmt.kind === 'Add') stmt.subscripts.forEach(note)
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') e.subscripts.forEach(note)
        if (e.kind === 'Lookup') note(e.index)
      })
    }
  })
  return found
}
