/**
 * Writes the loop of a column kernel: straight-line SIMD code that computes four rows an iteration, each result in a local.
 *
 *     run(frame, from, to)      from a multiple of 4; addresses and captured numbers lie in the frame, 8 bytes a slot
 *
 * Such code has no effects, and lanes that fail are only collected, so both sides of a condition are computed and one is selected. Rows
 * behind `to`, up to the next multiple of 4, are read and computed too: buffers end at multiples of 64 bytes.
 */
import type { ColumnType } from '../../../core/data/schema.ts'
import { type Code, codeId, type GrowingCode, I, OP, type Plain, SIMD, type ValueType } from '../../kir/instructions.ts'
import type { Import, KernelModule } from '../../kir/kernelModule.ts'
import { withPasses } from '../../kir/pass.ts'
import { LOOP_INVARIANTS } from '../../kir/passes/loopInvariants.ts'
import { UNREAD_LOCALS } from '../../kir/passes/unreadLocals.ts'
import { lanesConst, shuffle32 } from '../../kir/simd.ts'
import { HIGHEST, LOWEST, NotCompiled } from '../expressions/types.ts'
import { LOADS } from './columnLoads.ts'
import type { ColumnValue, FrameSlot, KernelColumn } from './columnTypes.ts'

/** Code that depends on captured numbers and literals alone leaves the loop; then results that nothing reads are removed. */
const PASSES = [LOOP_INVARIANTS, UNREAD_LOCALS] as const

/** Slots that hold a 32-bit number instead of an address. */
const WORDS: ReadonlySet<FrameSlot['kind']> = new Set(['code', 'size', 'firstText', 'listed', 'part'])

/** Slots by which code reads the bytes of texts. */
const BYTES: ReadonlySet<FrameSlot['kind']> = new Set(['values', 'offsets', 'size'])

/** Code around the body: `after` runs when the loop has ended; `skip` leaves 1 where nothing is to be done for 32 rows from a multiple of 32 on. */
interface Around {
  readonly skip?: Code
  readonly after?: Code
}

/** The most locals of a kernel. Both sides of a condition continue with the code after it, so code may grow with every condition. */
const MOST_LOCALS = 5_000

const FRAME = 0

const FROM = 1

const TO = 2

export class ColumnWriter {
  readonly slots: FrameSlot[] = []
  /** Names of locals, for people who read the code. */
  readonly names: Map<number, string> = new Map([
    [FRAME, 'frame'],
    [FROM, 'from'],
    [TO, 'to'],
  ])
  readonly row: number
  /** The mask of lanes whose values are needed, undefined for all: costly code is not computed for others. */
  needed: number | undefined
  /** Masks of lanes in which the function that is lowered throws, if the lane is a row that is kept. */
  readonly thrown: number[] = []
  /** The distinct texts in the code, in order of appearance. */
  readonly textConstants: string[] = []
  private readonly textNumbers = new Map<string, number>()
  /** The columns from which texts are chosen. */
  readonly chosenColumns: Set<number> = new Set()
  /** The number of the source's columns. */
  readonly columnCount: number
  private readonly columns: readonly KernelColumn[]
  private readonly declared: ValueType[] = []
  private readonly imports: Import[] = []
  private readonly prologue: GrowingCode = []
  private readonly body: GrowingCode = []
  private readonly kept = new Map<string, number>()
  private readonly loaded = new Map<number, ColumnValue>()
  private readonly tables = new Map<object, number>()

  constructor(columns: readonly KernelColumn[]) {
    this.columns = columns
    this.columnCount = columns.length
    this.needed = undefined
    this.row = this.declare('i32')
    this.names.set(this.row, 'row')
    this.prologue.push(I.localGet(FROM), I.localSet(this.row))
  }

  /** Returns the kernel without unread results: steps may compute values for later steps that the kernel does not need. */
  module({ skip, after = [] }: Around): KernelModule {
    const isLeft = [...I.localGet(this.row), ...I.localGet(TO), OP.i32LtU]
    const next = [...I.localGet(this.row), ...I.i32Const(4), OP.i32Add, ...I.localSet(this.row)]
    // The loop is tested at its end: V8 hoists out of a loop only code that all of its exits come after.
    const body = [
      ...[this.prologue, isLeft, I.if(), I.loop],
      ...(skip === undefined ? [this.body] : [I.block(), this.skipping(skip), this.body, OP.end]),
      ...[next, isLeft, I.brIf(0), OP.end, OP.end],
      after,
    ]
    return withPasses({ imports: this.imports, parameters: ['address', 'i32', 'i32'], locals: this.declared, body }, PASSES)
  }

  /** Code at the first of 32 rows that moves to their last four, and leaves the block around it, where nothing is to be done for them. */
  private skipping(skip: Code): Code {
    const toLast = [...I.localGet(this.row), ...I.i32Const(28), OP.i32Add, ...I.localSet(this.row)]
    return [
      ...[...I.localGet(this.row), ...I.i32Const(31), OP.i32And, OP.i32Eqz, ...I.if()],
      ...[skip, ...I.if(), ...toLast, ...I.br(2), OP.end, OP.end],
    ]
  }

  /** The names of imported functions, by their number. */
  get functions(): readonly string[] {
    return this.imports.map((entry) => entry.name)
  }

  declare(type: ValueType): number {
    if (this.declared.length === MOST_LOCALS) throw new NotCompiled('it is too large')
    this.declared.push(type)
    return 2 + this.declared.length
  }

  /** Appends code that leaves no value to the body of the loop. */
  write(...code: readonly Code[]): void {
    this.body.push(code)
  }

  /** Keeps the value that the code leaves, in a new local. */
  keep(code: Code, type: ValueType = 'v128'): number {
    const local = this.declare(type)
    this.body.push(code, I.localSet(local))
    return local
  }

  /** Keeps the value that the code leaves in a local that is set before the loop; equal code shares a local. */
  constant(code: Code, type: ValueType = 'v128'): number {
    return this.once(`${type} ${codeId(code)}`, () => {
      const local = this.declare(type)
      this.prologue.push(code, I.localSet(local))
      return local
    })
  }

  private once(key: string, make: () => number): number {
    let local = this.kept.get(key)
    if (local === undefined) this.kept.set(key, (local = make()))
    return local
  }

  /** The local that holds the address, or the 32-bit number, of a slot of the frame. */
  address(slot: Exclude<FrameSlot, { kind: 'number' | 'table' }>): number {
    const key = JSON.stringify(slot)
    if (BYTES.has(slot.kind) && 'column' in slot && this.columns[slot.column]?.unspelled === true)
      throw new NotCompiled('it reads bytes of texts that are places in a dictionary')
    return this.once(key, () => {
      this.slots.push(slot)
      const at = 8 * (this.slots.length - 1)
      const load = WORDS.has(slot.kind) ? I.memory(OP.i32Load, at) : I.addressLoad(at)
      const local = this.constant([...I.localGet(FRAME), ...load], 'i32')
      this.names.set(local, `${slot.kind}${'column' in slot ? slot.column : 'output' in slot ? slot.output : ''}`)
      return local
    })
  }

  /** Code that stores the 32-bit number which other code leaves in a slot of the frame that was asked for before. */
  stored(slot: Exclude<FrameSlot, { kind: 'number' | 'table' }>, number: Code): Code {
    const at = this.slots.findIndex((one) => JSON.stringify(one) === JSON.stringify(slot))
    return [...I.localGet(FRAME), ...number, ...I.memory(OP.i32Store, 8 * at)]
  }

  /** The local that holds the address of a table. */
  table(data: Float64Array | Int32Array): number {
    let local = this.tables.get(data)
    if (local === undefined) {
      this.slots.push({ kind: 'table', data })
      local = this.constant([...I.localGet(FRAME), ...I.addressLoad(8 * (this.slots.length - 1))], 'i32')
      this.names.set(local, `table${this.tables.size}`)
      this.tables.set(data, local)
    }
    return local
  }

  /** A captured number in every lane; its value is read from the frame. */
  parameter(value: number): ColumnValue {
    this.slots.push({ kind: 'number', value })
    const at = [...I.localGet(FRAME), ...I.memory(OP.f64Load, 8 * (this.slots.length - 1))]
    if (isInt32(value)) {
      // the kind of the number is part of the code, its value is not
      const lanes = this.constant([...at, ...TRUNCATE, SIMD.i32Splat])
      return { kind: 'i32', at: lanes, low: LOWEST, high: HIGHEST, equal: true }
    }
    const lanes = this.constant([...at, SIMD.f64Splat])
    return { kind: 'f64', lo: lanes, hi: lanes }
  }

  number(value: number): ColumnValue {
    if (isInt32(value)) {
      const at = this.constant(lanesConst([value, value, value, value]))
      return { kind: 'i32', at, low: value, high: value, equal: true }
    }
    const lanes = this.constant([...I.f64Const(value), SIMD.f64Splat])
    return { kind: 'f64', lo: lanes, hi: lanes }
  }

  /** Returns the number of a text constant, counted down from -1. */
  textConstant(text: string): number {
    let number = this.textNumbers.get(text)
    if (number === undefined) this.textNumbers.set(text, (number = -this.textConstants.push(text)))
    return number
  }

  /** The local of a vector of zeros, which is 0 in every lane of any kind. */
  zeros(): number {
    return this.constant(lanesConst([0, 0, 0, 0]))
  }

  truth(value: boolean): ColumnValue {
    const lane = value ? -1 : 0
    return { kind: 'bool', at: this.constant(lanesConst([lane, lane, lane, lane])) }
  }

  /** The address of row `row` in the buffer at `base`, whose elements have 2 ** log2Bytes bytes. */
  place(base: number, log2Bytes: number): Code {
    if (log2Bytes === 0) return [...I.localGet(base), ...I.localGet(this.row), OP.i32Add]
    const offset = this.once(`row ${log2Bytes}`, () => this.keep([...I.localGet(this.row), ...I.i32Const(log2Bytes), OP.i32Shl], 'i32'))
    return [...I.localGet(base), ...I.localGet(offset), OP.i32Add]
  }

  /** Expands four bits of a bitmap into a mask of four lanes. */
  bits(base: number): number {
    const byte = [...I.localGet(base), ...I.localGet(this.row), ...I.i32Const(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)]
    const nibble = [...byte, ...I.localGet(this.row), ...I.i32Const(4), OP.i32And, OP.i32ShrU]
    const each = this.constant(lanesConst([1, 2, 4, 8]))
    return this.keep([...nibble, SIMD.i32Splat, ...I.localGet(each), SIMD.and, ...I.localGet(each), SIMD.i32Eq])
  }

  column(index: number): ColumnValue {
    let value = this.loaded.get(index)
    if (value === undefined) this.loaded.set(index, (value = this.withMissing(index, this.load(index))))
    return value
  }

  /** The value of a column whose nulls are undefined. It is none of the source that could be handed on as it is. */
  private withMissing(index: number, value: ColumnValue): ColumnValue {
    if (this.columns[index]?.missing !== true) return value
    if (value.kind !== 'f64' && value.kind !== 'bool') throw new NotCompiled('it may be undefined')
    const { column: _, ...computed } = value
    return computed.valid === undefined ? computed : { ...computed, missing: true }
  }

  private load(index: number): ColumnValue {
    const column = this.columns[index]
    if (column === undefined) throw new NotCompiled('it reads a column that is not there')
    const { kind } = column.type
    if (kind === 'null') return { kind: 'constant', value: null, column: index }
    const loads = LOADS.get(kind)
    if (loads === undefined) return { kind: 'other', column: index }
    const valid = this.validity(index)
    const base = this.address({ kind: 'values', column: index })
    const from = this.place(base, loads.log2Bytes)
    const locals = loads.vectors(from).map((code) => this.keep(code))
    const present = valid === undefined ? {} : { valid }
    const [lo = 0, hi = lo] = locals
    const halves = valid === undefined ? undefined : this.halves(valid)
    const clear = (at: number, mask: number | undefined): number =>
      mask === undefined ? at : this.keep([...I.localGet(at), ...I.localGet(mask), SIMD.and])
    switch (loads.as) {
      case 'f64':
      case 'i64':
        return { kind: loads.as, lo: clear(lo, halves?.lo), hi: clear(hi, halves?.hi), ...present, column: index }
      case 'i32':
        return { kind: 'i32', at: clear(lo, valid), low: loads.low, high: loads.high, ...present, column: index }
      case 'bool':
        return { kind: 'bool', at: clear(lo, valid), ...present, column: index }
    }
  }

  /** The mask of lanes that are not null in a column; undefined where the column has no nulls. */
  validity(index: number): number | undefined {
    if (this.columns[index]?.nullable !== true) return undefined
    return this.once(`valid ${index}`, () => this.bits(this.address({ kind: 'validity', column: index })))
  }

  typeOf(index: number): ColumnType['kind'] {
    return this.columns[index]?.type.kind ?? 'unknown'
  }

  columnType(index: number): ColumnType | undefined {
    return this.columns[index]?.type
  }

  /** The dictionary codes of a column of text; undefined where it has none. */
  codes(index: number): number | undefined {
    const loads = LOADS.get(this.columns[index]?.codes ?? 'unknown')
    const [code] = loads?.vectors(this.place(this.address({ kind: 'codes', column: index }), loads.log2Bytes)) ?? []
    return code === undefined ? undefined : this.keep(code)
  }

  /** Widens a mask of four lanes to masks for the two vectors of doubles. */
  halves(mask: number): { readonly lo: number; readonly hi: number } {
    const half = (opcode: Plain): number =>
      this.once(`half ${opcode.operation.name} ${mask}`, () => this.keep([...I.localGet(mask), opcode]))
    return { lo: half(SIMD.i64ExtendI32S), hi: half(SIMD.i64ExtendHighI32S) }
  }

  /** Narrows two vectors of 64-bit lanes, all ones or zeros, to a mask of four lanes. */
  joined(lo: Code, hi: Code): number {
    return this.keep([...lo, ...hi, ...shuffle32([0, 2, 4, 6])])
  }

  /** Computes a double for each row, one row at a time; `of` gets code that extracts the row's lane of a value. */
  eachDouble(
    of: (lane: (value: { readonly lo: number; readonly hi: number }) => Code) => Code,
  ): Extract<ColumnValue, { kind: 'f64' | 'i64' }> {
    const half = (part: 'lo' | 'hi'): number => {
      const lane = (at: number): Code => of((value) => [...I.localGet(value[part]), ...I.simdLane(SIMD.f64ExtractLane, at)])
      return this.keep([...lane(0), SIMD.f64Splat, ...lane(1), ...I.simdLane(SIMD.f64ReplaceLane, 1)])
    }
    return { kind: 'f64', lo: half('lo'), hi: half('hi') }
  }

  /** Computes a 32-bit integer for each row, one row at a time; `code` gets the lane. */
  eachInteger(code: (lane: number) => Code): number {
    return this.keep([
      ...[...code(0), SIMD.i32Splat],
      ...[1, 2, 3].flatMap((lane) => [...code(lane), ...I.simdLane(SIMD.i32ReplaceLane, lane)]),
    ])
  }

  /** The number of an imported function; its name includes the number of its arguments. */
  function(name: string, parameters: readonly ValueType[], results: readonly ValueType[]): number {
    const known = this.imports.findIndex((entry) => entry.name === name)
    if (known >= 0) return known
    this.imports.push({ kind: 'function', name, parameters, results })
    return this.imports.length - 1
  }

  /** Whether row number `lane` of the iteration is before the end. */
  isRow(lane: number): Code {
    return [...I.localGet(this.row), ...I.i32Const(lane), OP.i32Add, ...I.localGet(TO), OP.i32LtU]
  }

  /** The row after the last one. */
  end(): Code {
    return I.localGet(TO)
  }

  /** The number of rows left, those of this iteration included. */
  rowsLeft(): Code {
    return [...I.localGet(TO), ...I.localGet(this.row), OP.i32Sub]
  }
}

/** The local that holds the first row of the call, for code after the loop. */
export const FIRST_ROW: number = FROM

/** Converts a double that is a 32-bit integer to one. */
const TRUNCATE: Code = [OP.i32TruncF64S]

function isInt32(value: number): boolean {
  return Number.isInteger(value) && !Object.is(value, -0) && value >= LOWEST && value <= HIGHEST
}
