/**
 * Column programs as WebAssembly: the narrow steps of a pipeline over a table in memory, fused into one pass over its columns,
 * without intermediate columns.
 *
 *     select     steps -> a bit a row (1: it is kept, and the value asked for is not null), and the number of set bits in each block
 *     values     steps -> columns of values, a value for each row, kept or not
 *
 * A module contains no address and no captured number, so that the same query over other data compiles nothing.
 */

import type { ColumnType, ElementType } from '../../../core/data/schema.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { lanesConst, shuffle32 } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnValue, FrameSlot, KernelColumn } from './columnTypes.ts'
import { and, doubles, validOf } from './columnValues.ts'
import { type ColumnWriter, FIRST_ROW } from './columnWriter.ts'
import { keptByProgram } from './keptPrograms.ts'
import { countsOf, reported, rowsAsked } from './madeDates.ts'
import { trace } from './programShape.ts'
import { asChoice, entryNumbers } from './textPlaces.ts'

/** The rows of a block, which are counted, claimed and selected together; the same as in a chunk of a reduction. */
export const BLOCK_ROWS = 4096

const LOG2_BLOCK = 12

export interface ColumnKernel {
  readonly module: KernelModule
  readonly slots: readonly FrameSlot[]
  /** The names of imported functions, such as `Math.exp/1`. */
  readonly functions: readonly string[]
  /** The names of locals by index. */
  readonly names: ReadonlyMap<number, string>
}

/** Makes the kernel that writes a bit a row and a count a block. `skipsNulls`: null is dropped; the element is then no row. */
export const selectKernel: typeof makeSelect = keptByProgram(makeSelect)

function makeSelect(
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

/** Makes the kernel that stores outputs for each row. `asDoubles`: truth as doubles, too, and null as 0. `integers`: outputs to be stored as 32-bit integers; where the double of any row is none (-0 included), the word at `inexact` becomes 1. `sparse`: groups of 32 rows without a bit in the bitmap are skipped. */
export const valuesKernel: typeof makeValues = keptByProgram(makeValues)

function makeValues(
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
    if ((value.kind === 'i32' || value.kind === 'f64') && integers.includes(name)) {
      const { at, off } = wholeLanes(writer, value)
      if (off !== undefined) after = [...after, ...reported(writer, off)]
      storeIntegers(writer, at, output)
    } else storeValue(writer, asDoubles ? doubles(writer, value) : value, output)
    const valid = asDoubles ? undefined : validOf(writer, value)
    if (valid === undefined) continue
    const { write, count } = bitWriter(writer, writer.address({ kind: 'outputValidity', output }))
    write(valid)
    after = [...after, ...storeCount(writer.address({ kind: 'outputCounts', output }), count)]
  }
  return kernelOf(writer, { after, ...(sparse ? { skip: isEmptyWord(writer) } : {}) })
}

export function kernelOf(writer: ColumnWriter, parts: { readonly after: Code; readonly skip?: Code }): ColumnKernel {
  return { module: writer.module(parts), slots: writer.slots, functions: writer.functions, names: writer.names }
}

/** Collects the lanes in which a Date is invalid; returns the code after the loop that reports them. */
function reportedInvalid(writer: ColumnWriter, invalid: readonly number[]): Code {
  if (invalid.length === 0) return []
  const off = writer.declare('v128')
  for (const lanes of invalid) writer.write([...I.localGet(off), ...I.localGet(lanes), SIMD.or, ...I.localSet(off)])
  return reported(writer, off)
}

function storeIntegers(writer: ColumnWriter, at: number, output: number): void {
  writer.write(writer.place(writer.address({ kind: 'output', output }), 2), I.localGet(at), I.memory(SIMD.store))
}

/** The lanes of 32-bit integers of a whole number, or of truth; of doubles also the mask that collects, over all rows, where one was no such integer. */
export function wholeLanes(writer: ColumnWriter, value: ColumnValue): { readonly at: number; readonly off?: number } {
  if (value.kind === 'i32') return { at: value.at }
  if (value.kind === 'bool') return { at: writer.keep([...I.localGet(value.at), ...lanesConst([1, 1, 1, 1]), SIMD.and]) }
  if (value.kind !== 'f64') throw new NotCompiled('it is no whole number')
  const { lo, hi } = value
  const [low, high] = [lo, hi].map((half) => writer.keep([...I.localGet(half), SIMD.i32TruncF64S])) as [number, number]
  const off = writer.declare('v128')
  const differs = (half: number, whole: number): Code => [...I.localGet(half), ...I.localGet(whole), SIMD.f64ConvertI32S, SIMD.i64Ne]
  // behind the last row lies what was in memory before
  const asked = [...differs(lo, low), ...differs(hi, high), ...shuffle32([0, 2, 4, 6]), ...I.localGet(rowsAsked(writer)), SIMD.and]
  writer.write(asked, [...I.localGet(off), SIMD.or, ...I.localSet(off)])
  return { at: writer.keep([...I.localGet(low), ...I.localGet(high), ...shuffle32([0, 1, 4, 5])]), off }
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

/** Packs masks into words of a bitmap, shifted in from above, and counts the set bits; bits after the last row are 0. */
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

/** Stores the count for the block of the first row. */
function storeCount(counts: number, count: number): Code {
  const block = [...I.localGet(FIRST_ROW), ...I.i32Const(LOG2_BLOCK), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl]
  return [...I.localGet(counts), ...block, OP.i32Add, ...I.localGet(count), ...I.memory(OP.i32Store)]
}

/** Code that leaves 1 where the 32 rows from the row on have no bit in the bitmap. */
export function isEmptyWord(writer: ColumnWriter): Code {
  const at = [...I.localGet(writer.address({ kind: 'bitmap' })), ...I.localGet(writer.row), ...I.i32Const(3), OP.i32ShrU, OP.i32Add]
  return [...at, ...I.memory(OP.i32Load), OP.i32Eqz]
}

/** Describes the columns of a source for kernels. */
export function kernelColumns(columns: readonly { readonly type: ColumnType; readonly validity?: Uint8Array }[]): readonly KernelColumn[] {
  return columns.map(({ type, validity }) => ({ type, nullable: validity !== undefined }))
}
