/**
 * Column programs as WebAssembly: the narrow steps of a pipeline over a table in memory as one pass over its columns,
 * with no column in between.
 *
 *     select     steps -> a bit a row (1: it is kept, and what is asked for is not null), and how many there are in each block
 *     values     steps -> columns of values, a value for each row, kept or not
 *
 * A module holds no address and no captured number, so that the same question about other data compiles nothing.
 */

import { type ColumnType, type ElementType, fieldsOf, VALUE_COLUMN } from '../../../core/data/schema.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import type { Span } from '../../../core/span.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import { lanesConst, SCALAR, shuffle32, simd, V } from '../../wasm/simd.ts'
import { type Code, I, OP } from '../../wasm/wasmEncoder.ts'
import { NotCompiled } from '../loops/wasmTypes.ts'
import { isBucketImport } from './columnBuckets.ts'
import { isTextFunction, lowerColumns } from './columnLower.ts'
import { and, doubles, present, truth, validOf } from './columnValues.ts'
import { type ColumnValue, ColumnWriter, FIRST_ROW, type FrameSlot, type KernelColumn } from './columnWriter.ts'
import { countsOf, invalidAmong, reported } from './madeDates.ts'

/** Rows that are counted, claimed and selected together; as many as a reduction has in a chunk. */
export const BLOCK_ROWS = 4096
const LOG2_BLOCK = 12

export interface ColumnKernel {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly slots: readonly FrameSlot[]
  /** Imported functions by name, as `Math.exp/1`. */
  readonly functions: readonly string[]
  /** Of locals, by their number. */
  readonly names: ReadonlyMap<number, string>
}

export type ComputedType = 'f64' | 'bool' | 'i32' | 'timestamp'

/** The type of a column that a kernel has computed. */
export function computedType(kind: ComputedType): ColumnType {
  return kind === 'timestamp' ? { kind, unit: 'ms' } : { kind }
}

/** What a program's steps make of the source's element. */
export type ProgramOutput =
  /** Computed as doubles, as truth in a byte, or as timestamps in milliseconds; doubles that are `whole` numbers of 32 bits can be had as such, which are half as long. */
  | {
      readonly kind: 'computed'
      readonly name: string
      readonly type: ComputedType
      readonly nullable: boolean
      readonly whole?: true
    }
  /** A column of the source as it is. */
  | { readonly kind: 'column'; readonly name: string; readonly column: number; readonly nullable: boolean }

export interface ProgramShape {
  readonly outputs: readonly ProgramOutput[]
  readonly scalar: boolean
  /** Whether a step drops rows. */
  readonly filters: boolean
  /** Whether steps make Dates, of which none may be invalid: kernels say at `inexact` that there is one. */
  readonly dates?: true
  /** Whether buckets of time zones are found by JavaScript, a row at a time. */
  readonly zones?: true
  /** Where the outputs are hidden columns for a wide operator: one entry each, with the names of its fields where it is an object. */
  readonly hidden?: readonly HiddenFields[]
  /** Where the elements go on beside hidden columns: how many of the outputs, the first, are theirs. */
  readonly payload?: number
}

/** The outputs of a hidden column: one of this name, or one for each field of a key that is an object. */
export type HiddenFields =
  | { readonly kind: 'value'; readonly output: string }
  | { readonly kind: 'object'; readonly fields: readonly { readonly name: string; readonly output: string }[] }

export type NotColumns = { readonly because: string; readonly span: Span | undefined }

/** Runs something that compiles; what it cannot say becomes a reason. */
export function compiled<T>(compile: () => T): T | NotColumns {
  try {
    return compile()
  } catch (error) {
    if (error instanceof NotCompiled) return { because: error.message, span: error.span }
    throw error
  }
}

interface Traced {
  readonly writer: ColumnWriter
  readonly result: ColumnValue
  /** Lanes that every filter keeps; undefined when there is none. */
  readonly kept: number | undefined
  readonly hidden?: readonly HiddenFields[]
  readonly payload?: ColumnValue
  /** Of Dates that steps give the next: lanes in which one is invalid. */
  readonly invalid: readonly number[]
}

/** The element after the steps, for four rows. */
function trace(element: ElementType, columns: readonly KernelColumn[], steps: readonly Step[]): Traced {
  const writer = new ColumnWriter(columns)
  const columnNames = fieldsOf(element).map((field) => field.name)
  const names = columnNames.filter((name) => !isTextFunction(name))
  let value: ColumnValue =
    element.kind === 'scalar' ? writer.column(0) : { kind: 'row', names, of: (name) => writer.column(columnNames.indexOf(name)) }
  let kept: number | undefined
  let hidden: readonly HiddenFields[] | undefined
  let payload: ColumnValue | undefined
  const invalid: number[] = []
  const stored = (value: ColumnValue): ColumnValue => {
    const dates = partsOf(value).flatMap((part) => (part.kind === 'date' ? [part] : []))
    if (dates.length > 0) invalid.push(invalidAmong(writer, dates, kept))
    return withoutMissing(value)
  }
  for (const step of steps) {
    if (hidden !== undefined) throw new NotCompiled(`${step.kind} takes hidden columns`)
    switch (step.kind) {
      case 'FilterExec':
        kept = and(writer, kept, truth(writer, returned(writer, step.f, value)))
        writer.needed = kept
        break
      case 'MapExec':
        value = stored(returned(writer, step.f, value))
        break
      case 'WithColumnsExec':
        value = extended(value, stored(returned(writer, step.f, value)))
        break
      case 'ProjectExec':
        value = picked(value, step.columns)
        break
      case 'EvaluateExec': {
        if (step.axis !== undefined) throw new NotCompiled('it takes keys of an axis')
        const element = value
        const columns = step.columns.map(({ f, use }) =>
          stored(returned(writer, f, element, { arrays: use === 'match' || use === 'order' })),
        )
        hidden = columns.map(hiddenFields)
        value = flattened(columns, hidden)
        if (step.payload !== false) payload = step.payload === true ? element : picked(element, step.payload)
        break
      }
      default:
        throw new NotCompiled(`${step.kind} is no column program`)
    }
  }
  if (payload !== undefined) value = beside(payload, value)
  return {
    writer,
    result: value,
    kept,
    invalid,
    ...(hidden === undefined ? {} : { hidden }),
    ...(payload === undefined ? {} : { payload }),
  }
}

/** What is undefined is null once it is stored. */
function withoutMissing(value: ColumnValue): ColumnValue {
  return value.kind === 'row' ? { ...value, of: (name) => present(value.of(name)) } : present(value)
}

/** The columns that a value is stored in. */
function partsOf(value: ColumnValue): readonly ColumnValue[] {
  return value.kind === 'row' ? value.names.map((name) => value.of(name)) : [value]
}

function picked(row: ColumnValue, names: readonly string[]): ColumnValue {
  if (row.kind !== 'row') throw new NotCompiled('it takes columns of what is no row')
  return { kind: 'row', names, of: row.of }
}

/** The columns of elements, under names that hidden columns do not have, and those. */
function beside(element: ColumnValue, hidden: ColumnValue): ColumnValue {
  if (hidden.kind !== 'row') return hidden
  const names = namesOf(element)
  const of = (name: string): ColumnValue => {
    if (!name.startsWith(ELEMENT)) return hidden.of(name)
    return element.kind === 'row' ? element.of(name.slice(ELEMENT.length)) : element
  }
  return { kind: 'row', names: [...names.map((name) => ELEMENT + name), ...hidden.names], of }
}

/** Names of hidden columns begin with a digit. */
const ELEMENT = 'element.'

/** The elements' own names of the first outputs of a program, which are theirs. */
export function elementNames(outputs: readonly string[], payload: number): readonly string[] {
  return outputs.slice(0, payload).map((name) => name.slice(ELEMENT.length))
}

function namesOf(element: ColumnValue): readonly string[] {
  return element.kind === 'row' ? element.names : [VALUE_COLUMN]
}

function hiddenFields(column: ColumnValue, i: number): HiddenFields {
  if (column.kind !== 'row') return { kind: 'value', output: String(i) }
  return { kind: 'object', fields: column.names.map((name) => ({ name, output: `${i}.${name}` })) }
}

/** Hidden columns as one row, an object's fields each by itself. */
function flattened(columns: readonly ColumnValue[], hidden: readonly HiddenFields[]): ColumnValue {
  const parts = new Map<string, () => ColumnValue>()
  for (const [i, shape] of hidden.entries()) {
    const column = columns[i] as ColumnValue // a shape for each
    if (shape.kind === 'value') parts.set(shape.output, () => column)
    else if (column.kind === 'row') for (const { name, output } of shape.fields) parts.set(output, () => column.of(name))
  }
  return { kind: 'row', names: [...parts.keys()], of: (name) => (parts.get(name) as () => ColumnValue)() } // one of the names
}

function returned(
  writer: ColumnWriter,
  f: Extract<Step, { kind: 'MapExec' }>['f'],
  element: ColumnValue,
  how: { readonly arrays: boolean } = { arrays: false },
): ColumnValue {
  const ir = rowIrOf(f)
  if (ir === undefined) throw new NotCompiled('it could not be analysed', f.span)
  return lowerColumns(writer, ir, element, how)
}

function extended(row: ColumnValue, added: ColumnValue): ColumnValue {
  if (row.kind !== 'row' || added.kind !== 'row') throw new NotCompiled('it adds columns to what is no row')
  const names = [...row.names, ...added.names.filter((name) => !row.names.includes(name))]
  return { kind: 'row', names, of: (name) => (added.names.includes(name) ? added.of(name) : row.of(name)) }
}

/** What the steps yield. Throws NotCompiled when some step is not compiled. */
export function programShape(element: ElementType, columns: readonly KernelColumn[], steps: readonly Step[]): ProgramShape {
  const { writer, result, kept, hidden, payload, invalid } = trace(element, columns, steps)
  const outputs =
    result.kind === 'row' ? result.names.map((name) => outputOf(writer, name, result.of(name))) : [outputOf(writer, VALUE_COLUMN, result)]
  return {
    outputs,
    scalar: (payload ?? result).kind !== 'row',
    filters: kept !== undefined,
    ...(invalid.length === 0 ? {} : { dates: true as const }),
    ...(writer.functions.some(isBucketImport) ? { zones: true as const } : {}),
    ...(hidden === undefined ? {} : { hidden }),
    ...(payload === undefined ? {} : { payload: namesOf(payload).length }),
  }
}

function outputOf(writer: ColumnWriter, name: string, value: ColumnValue): ProgramOutput {
  const nullable = validOf(writer, value) !== undefined
  switch (value.kind) {
    case 'f64':
    case 'i32':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      return { kind: 'computed', name, type: 'f64', nullable, ...(value.kind === 'i32' ? { whole: true as const } : {}) }
    case 'bool':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      return { kind: 'computed', name, type: 'bool', nullable }
    case 'i64':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      throw new NotCompiled('it computes bigints')
    case 'date':
      return { kind: 'computed', name, type: 'timestamp', nullable }
    case 'other':
      return { kind: 'column', name, column: value.column, nullable }
    case 'constant':
      throw new NotCompiled(
        `it returns ${value.value === null || value.value === undefined ? String(value.value) : `a ${typeof value.value}`}`,
      )
    case 'row':
      throw new NotCompiled('it returns an object in an object')
  }
}

/** A bit a row and a count a block. `skipsNulls`: only rows whose value is not null; the element is then no row. */
export function selectKernel(
  element: ElementType,
  columns: readonly KernelColumn[],
  steps: readonly Step[],
  { skipsNulls }: { readonly skipsNulls: boolean },
): ColumnKernel {
  const { writer, result, kept, invalid } = trace(element, columns, steps)
  const mask = and(writer, kept, skipsNulls ? validOf(writer, result) : undefined) ?? writer.constant(lanesConst([-1, -1, -1, -1]))
  const { write, count } = bitWriter(writer, writer.address({ kind: 'bitmap' }))
  write(mask)
  return kernelOf(writer, { after: [...storeCount(writer.address({ kind: 'counts' }), count), ...reportedInvalid(writer, invalid)] })
}

/** Values of outputs for each row. `asDoubles`: truth too, and 0 for null; `integers`: outputs as integers of 32 bits; where a double of a row, kept or not, is none, not even -0, the word at `inexact` becomes 1. `sparse`: the rows of 32 without a bit in the bitmap are left out. */
export function valuesKernel(
  element: ElementType,
  columns: readonly KernelColumn[],
  steps: readonly Step[],
  {
    outputs,
    asDoubles,
    sparse,
    integers = [],
  }: { readonly outputs: readonly string[]; readonly asDoubles: boolean; readonly sparse: boolean; readonly integers?: readonly string[] },
): ColumnKernel {
  const { writer, result, invalid } = trace(element, columns, steps)
  let after: Code = reportedInvalid(writer, invalid)
  for (const [output, name] of outputs.entries()) {
    const value = result.kind === 'row' ? result.of(name) : result
    if (value.kind === 'i32' && integers.includes(name)) storeIntegers(writer, value.at, output)
    else if (value.kind === 'f64' && integers.includes(name)) after = [...after, ...storeWhole(writer, value, output)]
    else storeValue(writer, asDoubles ? doubles(writer, value) : value, output)
    const valid = asDoubles ? undefined : validOf(writer, value)
    if (valid === undefined) continue
    const { write, count } = bitWriter(writer, writer.address({ kind: 'outputValidity', output }))
    write(valid)
    after = [...after, ...storeCount(writer.address({ kind: 'outputCounts', output }), count)]
  }
  return kernelOf(writer, { after, ...(sparse ? { skip: skipEmpty(writer) } : {}) })
}

function kernelOf(writer: ColumnWriter, parts: { readonly after: Code; readonly skip?: Code }): ColumnKernel {
  return { bytes: writer.module(parts), slots: writer.slots, functions: writer.functions, names: writer.names }
}

/** Collects lanes in which a Date is invalid; what to do behind the loop. */
function reportedInvalid(writer: ColumnWriter, invalid: readonly number[]): Code {
  if (invalid.length === 0) return []
  const off = writer.declare('v128')
  for (const lanes of invalid) writer.write([...I.localGet(off), ...I.localGet(lanes), ...simd(V.or), ...I.localSet(off)])
  return reported(writer, off)
}

function storeIntegers(writer: ColumnWriter, at: number, output: number): void {
  writer.write(writer.place(writer.address({ kind: 'output', output }), 2), I.localGet(at), I.simdMemory(V.store))
}

/** Doubles that are hoped to be integers; what to do behind the loop. */
function storeWhole(writer: ColumnWriter, { lo, hi }: { readonly lo: number; readonly hi: number }, output: number): Code {
  const [low, high] = [lo, hi].map((half) => writer.keep([...I.localGet(half), ...simd(V.i32FromF64)])) as [number, number]
  const off = writer.declare('v128')
  const differs = (half: number, whole: number): Code => [
    ...[...I.localGet(half), ...I.localGet(whole), ...simd(V.f64FromI32S), ...simd(V.i64Ne)],
    ...[...I.localGet(off), ...simd(V.or), ...I.localSet(off)],
  ]
  writer.write(differs(lo, low), differs(hi, high))
  storeIntegers(writer, writer.keep([...I.localGet(low), ...I.localGet(high), ...shuffle32([0, 1, 4, 5])]), output)
  return reported(writer, off)
}

function storeValue(writer: ColumnWriter, value: ColumnValue, output: number): void {
  const base = writer.address({ kind: 'output', output })
  if (value.kind === 'bool') {
    const lanes = I.localGet(value.at)
    const bytes = [...lanes, ...lanes, ...simd(V.i16Narrow32), ...lanes, ...lanes, ...simd(V.i16Narrow32), ...simd(V.i8Narrow16)]
    const ones = lanesConst([0x01010101, 0x01010101, 0x01010101, 0x01010101])
    writer.write(writer.place(base, 0), bytes, ones, simd(V.and), [...I.simdMemory(V.store32Lane), 0])
    return
  }
  const { lo, hi } = value.kind === 'date' ? countsOf(writer, value) : doubles(writer, value)
  const place = writer.place(base, 3)
  writer.write(place, I.localGet(lo), I.simdMemory(V.store), place, I.localGet(hi), I.simdMemory(V.store, 16))
}

/** Collects bits of lanes into words of a bitmap, and counts those set; bits behind the last row are 0. */
function bitWriter(writer: ColumnWriter, bitmap: number): { write: (mask: number) => void; count: number } {
  const [word, bits, count] = [writer.declare('i32'), writer.declare('i32'), writer.declare('i32')]
  const { row } = writer
  const write = (mask: number): void => {
    const inWord = [...I.localGet(row), ...I.i32Const(31), OP.i32And]
    const left = writer.rowsLeft()
    const tail = [...left, ...I.i32Const(4), OP.i32LtU, ...I.if(), ...I.localGet(bits)]
    const below = [...I.i32Const(1), ...left, OP.i32Shl, ...I.i32Const(1), OP.i32Sub, OP.i32And, ...I.localSet(bits), OP.end]
    const isFull = [...inWord, ...I.i32Const(28), OP.i32Eq, ...left, ...I.i32Const(5), OP.i32LtU, OP.i32Or]
    const place = [...I.localGet(bitmap), ...I.localGet(row), ...I.i32Const(5), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl, OP.i32Add]
    writer.write(
      [...I.localGet(mask), ...simd(V.i32Bitmask), ...I.localSet(bits), ...tail, ...below],
      [...I.localGet(word), ...I.localGet(bits), ...inWord, OP.i32Shl, OP.i32Or, ...I.localSet(word)],
      [...isFull, ...I.if(), ...place, ...I.localGet(word), ...I.memory(OP.i32Store)],
      [
        ...I.localGet(count),
        ...I.localGet(word),
        SCALAR.i32Popcnt,
        OP.i32Add,
        ...I.localSet(count),
        ...I.i32Const(0),
        ...I.localSet(word),
        OP.end,
      ],
    )
  }
  return { write, count }
}

/** The count goes to the block of the first row. */
function storeCount(counts: number, count: number): Code {
  const block = [...I.localGet(FIRST_ROW), ...I.i32Const(LOG2_BLOCK), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl]
  return [...I.localGet(counts), ...block, OP.i32Add, ...I.localGet(count), ...I.memory(OP.i32Store)]
}

/** Before a turn: where the next 32 rows have no bit, it is the last of their turns, and computes nothing. */
function skipEmpty(writer: ColumnWriter): Code {
  const bitmap = writer.address({ kind: 'bitmap' })
  const { row } = writer
  const word = [...I.localGet(bitmap), ...I.localGet(row), ...I.i32Const(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load)]
  return [
    ...[...I.localGet(row), ...I.i32Const(31), OP.i32And, OP.i32Eqz, ...I.if()],
    ...[...word, OP.i32Eqz, ...I.if(), ...I.localGet(row), ...I.i32Const(28), OP.i32Add, ...I.localSet(row), ...I.br(2), OP.end, OP.end],
  ]
}

/** Columns of a source as kernels see them. */
export function kernelColumns(columns: readonly { readonly type: ColumnType; readonly validity?: Uint8Array }[]): readonly KernelColumn[] {
  return columns.map(({ type, validity }) => ({ type, nullable: validity !== undefined }))
}
