/**
 * Column programs as WebAssembly: the narrow steps of a pipeline over a table in memory as one pass over its columns,
 * with no column in between.
 *
 *     select     steps -> a bit a row (1: it is kept, and what is asked for is not null), and how many there are in each block
 *     values     steps -> columns of values, a value for each row, kept or not
 *
 * A module holds no address and no captured number, so that the same question about other data compiles nothing.
 */

import type { ColumnType, ElementType } from '../../../core/data/schema.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { lanesConst, shuffle32 } from '../../kir/simd.ts'
import type { ColumnValue, FrameSlot, KernelColumn } from './columnTypes.ts'
import { and, doubles, validOf } from './columnValues.ts'
import { type ColumnWriter, FIRST_ROW } from './columnWriter.ts'
import { countsOf, reported } from './madeDates.ts'
import { trace } from './programShape.ts'
import { asChoice, entryNumbers } from './textPlaces.ts'

/** Rows that are counted, claimed and selected together; as many as a reduction has in a chunk. */
export const BLOCK_ROWS = 4096

const LOG2_BLOCK = 12

export interface ColumnKernel {
  readonly module: KernelModule
  readonly slots: readonly FrameSlot[]
  /** Imported functions by name, as `Math.exp/1`. */
  readonly functions: readonly string[]
  /** Of locals, by their number. */
  readonly names: ReadonlyMap<number, string>
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
  return { module: writer.module(parts), slots: writer.slots, functions: writer.functions, names: writer.names }
}

/** Collects lanes in which a Date is invalid; what to do behind the loop. */
function reportedInvalid(writer: ColumnWriter, invalid: readonly number[]): Code {
  if (invalid.length === 0) return []
  const off = writer.declare('v128')
  for (const lanes of invalid) writer.write([...I.localGet(off), ...I.localGet(lanes), SIMD.or, ...I.localSet(off)])
  return reported(writer, off)
}

function storeIntegers(writer: ColumnWriter, at: number, output: number): void {
  writer.write(writer.place(writer.address({ kind: 'output', output }), 2), I.localGet(at), I.memory(SIMD.store))
}

/** Doubles that are hoped to be integers; what to do behind the loop. */
function storeWhole(writer: ColumnWriter, { lo, hi }: { readonly lo: number; readonly hi: number }, output: number): Code {
  const [low, high] = [lo, hi].map((half) => writer.keep([...I.localGet(half), SIMD.i32TruncF64S])) as [number, number]
  const off = writer.declare('v128')
  const differs = (half: number, whole: number): Code => [
    ...[...I.localGet(half), ...I.localGet(whole), SIMD.f64ConvertI32S, SIMD.i64Ne],
    ...[...I.localGet(off), SIMD.or, ...I.localSet(off)],
  ]
  writer.write(differs(lo, low), differs(hi, high))
  storeIntegers(writer, writer.keep([...I.localGet(low), ...I.localGet(high), ...shuffle32([0, 1, 4, 5])]), output)
  return reported(writer, off)
}

function storeValue(writer: ColumnWriter, value: ColumnValue, output: number): void {
  const text = value.kind === 'text' || value.kind === 'constant' ? asChoice(writer, value) : undefined
  if (text !== undefined) {
    storeIntegers(writer, entryNumbers(writer, text), output)
    return
  }
  const base = writer.address({ kind: 'output', output })
  if (value.kind === 'bool') {
    const lanes = I.localGet(value.at)
    const bytes = [...lanes, ...lanes, SIMD.i16Narrow32, ...lanes, ...lanes, SIMD.i16Narrow32, SIMD.i8Narrow16]
    const ones = lanesConst([0x01010101, 0x01010101, 0x01010101, 0x01010101])
    writer.write(writer.place(base, 0), bytes, ones, [SIMD.and], I.memory(SIMD.store32Lane))
    return
  }
  const { lo, hi } = value.kind === 'date' ? countsOf(writer, value) : doubles(writer, value)
  const place = writer.place(base, 3)
  writer.write(place, I.localGet(lo), I.memory(SIMD.store), place, I.localGet(hi), I.memory(SIMD.store, 16))
}

/** Collects bits of lanes into words of a bitmap, from above, and counts those set; bits behind the last row are 0. */
function bitWriter(writer: ColumnWriter, bitmap: number): { write: (mask: number) => void; count: number } {
  const [word, bits, count] = [writer.declare('i32'), writer.declare('i32'), writer.declare('i32')]
  const { row } = writer
  const write = (mask: number): void => {
    const last = writer.constant([...writer.end(), ...I.i32Const(1), OP.i32Sub, ...I.i32Const(-4), OP.i32And], 'i32')
    const inWord = [...I.localGet(row), ...I.i32Const(28), OP.i32And]
    const isFull = [...inWord, ...I.i32Const(28), OP.i32Eq, ...I.localGet(row), ...I.localGet(last), OP.i32Eq, OP.i32Or]
    const isPart = [...writer.rowsLeft(), ...I.i32Const(4), OP.i32LtU]
    const below = [...I.i32Const(1), ...inWord, ...writer.rowsLeft(), OP.i32Add, OP.i32Shl, ...I.i32Const(1), OP.i32Sub]
    const place = [...I.localGet(bitmap), ...I.localGet(row), ...I.i32Const(5), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl, OP.i32Add]
    writer.write(
      [...I.localGet(word), ...I.i32Const(4), OP.i32ShrU, ...I.localGet(mask), SIMD.i32Bitmask, ...I.i32Const(28), OP.i32Shl],
      [OP.i32Or, ...I.localSet(word), ...isFull, ...I.if(), ...I.localGet(word), ...I.i32Const(28), ...inWord, OP.i32Sub, OP.i32ShrU],
      [...I.localSet(bits), ...isPart, ...I.if(), ...I.localGet(bits), ...below, OP.i32And, ...I.localSet(bits), OP.end],
      [...place, ...I.localGet(bits), ...I.memory(OP.i32Store)],
      [...I.localGet(count), ...I.localGet(bits), OP.i32Popcnt, OP.i32Add, ...I.localSet(count), OP.end],
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
