/**
 * The kernel of a group-by that computes keys or values: in one pass over the columns it computes four rows, and appends to lists
 * what they add to which record (`tables/groupPassKernels.ts` adds it).
 *
 *     lists      for each row that is kept the byte offset of its group's record; for each fold the value that is added
 *
 * Kept rows are compacted four at a time: a shuffle that the four bits of the selection give moves them to the front, all four
 * are stored, and the next four are stored behind those that count. Nothing depends on a branch, and what is computed of the columns is
 * computed while the next ones are fetched.
 */
import type { ElementType } from '../../../core/data/schema.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import { LOADS } from './columnLoads.ts'
import type { ColumnValue, KernelColumn } from './columnTypes.ts'
import { doubles, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { keptByProgram } from './keptPrograms.ts'
import { reported, rowsAsked } from './madeDates.ts'
import { trace } from './programShape.ts'
import { type ColumnKernel, isEmptyWord, kernelOf, wholeLanes } from './wasmColumns.ts'

export interface ListOptions {
  /** The outputs that are the parts of the key, and those whose values are listed. */
  readonly parts: readonly string[]
  readonly copied: readonly string[]
  readonly recordBytes: number
  /** Whether a bitmap tells the rows that are kept. */
  readonly selected: boolean
}

/**
 * Makes the kernel: run(frame, from, to) for rows from a multiple of 32 on. The frame has the number of entries that are listed, which becomes
 * -1 where a part of the key is not within its span; what is no whole number sets the word at `inexact`.
 */
export const listKernel: typeof makeList = keptByProgram(makeList)

function makeList(
  element: ElementType,
  columns: readonly KernelColumn[],
  steps: readonly Step[],
  { parts, copied, recordBytes, selected }: ListOptions,
): ColumnKernel {
  const { writer, result } = trace(element, columns, steps)
  const output = (name: string): ColumnValue => {
    const value = result.kind === 'row' ? result.of(name) : result
    if (validOf(writer, value) !== undefined) throw new NotCompiled('a value that is listed may be null')
    return value
  }
  const listed = writer.address({ kind: 'listed' })
  const listing = new Listing(writer, listed, selected)
  const { at: place, after } = listing.place(parts.map(output), recordBytes)
  listing.integers(place)
  for (const [i, name] of copied.entries()) listing.doubles(doubles(writer, output(name)), i + 1)
  writer.write([...I.localGet(listed), ...listing.count(), OP.i32Add, ...I.localSet(listed)])
  return kernelOf(writer, { after: [...after, ...listing.stored()], ...(selected ? { skip: isEmptyWord(writer) } : {}) })
}

/** The 32-bit integers of a part of a key: of columns whose integers have another meaning to functions, the integers themselves. */
function keyLanes(writer: ColumnWriter, value: ColumnValue): ReturnType<typeof wholeLanes> {
  const column = 'column' in value ? value.column : undefined
  const kind = column === undefined ? undefined : writer.typeOf(column)
  if (column === undefined || (kind !== 'u32' && kind !== 'date')) return wholeLanes(writer, value)
  const [load = []] = LOADS.get('i32')?.vectors(writer.place(writer.address({ kind: 'values', column }), 2)) ?? []
  return { at: writer.keep(load) }
}

/** An index of a shuffle that gives 0. */
const ABSENT = 0x80

/** Shuffles that move the 32-bit lanes of four bits to the front, and behind them those that move the 64-bit lanes of two. */
const SHUFFLES: Int32Array = new Int32Array(Uint8Array.from([...shuffles(4, 4), ...shuffles(2, 8)]).buffer)
const OF_PAIRS = 16 * 16

function shuffles(lanes: number, bytes: number): readonly number[] {
  return Array.from({ length: 2 ** lanes }, (_, bits) => {
    const kept = Array.from({ length: lanes }, (_, lane) => lane).filter((lane) => (bits & (1 << lane)) !== 0)
    return Array.from({ length: 16 }, (_, i) => {
      const lane = kept[Math.floor(i / bytes)]
      return lane === undefined ? ABSENT : lane * bytes + (i % bytes)
    })
  }).flat()
}

class Listing {
  private readonly writer: ColumnWriter
  private readonly listed: number
  /** The four bits of the rows that are kept; undefined where all are. */
  private readonly bits: number | undefined
  private readonly outside: number

  constructor(writer: ColumnWriter, listed: number, selected: boolean) {
    this.writer = writer
    this.listed = listed
    this.outside = writer.declare('v128')
    if (!selected) return
    const bitmap = writer.address({ kind: 'bitmap' })
    const byte = [...I.localGet(bitmap), ...I.localGet(writer.row), ...I.i32Const(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)]
    const nibble = [...I.localGet(writer.row), ...I.i32Const(4), OP.i32And, OP.i32ShrU, ...I.i32Const(15), OP.i32And]
    this.bits = writer.keep([...byte, ...nibble], 'i32')
  }

  /** Computes the offsets of the records, compacted, from the values of the key's parts; `after`: code after the loop. */
  place(values: readonly ColumnValue[], recordBytes: number): { readonly at: number; readonly after: Code } {
    const { writer, outside } = this
    let after: Code = []
    const terms = values.map((value, part): Code => {
      const lanes = keyLanes(writer, value)
      if (lanes.off !== undefined) after = [...after, ...reported(writer, lanes.off)]
      const splat = (what: 'base' | 'span' | 'stride'): Code => {
        const number = writer.address({ kind: 'part', part, what })
        return I.localGet(writer.constant([...I.localGet(number), SIMD.i32Splat]))
      }
      const own = writer.keep([...I.localGet(lanes.at), ...splat('base'), SIMD.i32Sub])
      const packed = this.bits === undefined ? own : this.packed(own, this.bits, 0)
      const isOutside = [...I.localGet(packed), ...splat('span'), SIMD.i32GeU]
      const asked = this.bits === undefined ? [...isOutside, ...I.localGet(rowsAsked(writer)), SIMD.and] : isOutside
      writer.write(I.localGet(outside), asked, [SIMD.or], I.localSet(outside))
      return part === values.length - 1 ? I.localGet(packed) : [...I.localGet(packed), ...splat('stride'), SIMD.i32Mul]
    })
    const slot = terms.flatMap((term, i) => (i === 0 ? term : [...term, SIMD.i32Add]))
    const bytes = writer.constant(lanesConst([recordBytes, recordBytes, recordBytes, recordBytes]))
    return { at: writer.keep([...slot, ...I.localGet(bytes), SIMD.i32Mul]), after }
  }

  /** Appends 32-bit integers that are compacted to the first list. */
  integers(at: number): void {
    this.writer.write(this.end(0, 2), I.localGet(at), I.memory(SIMD.store))
  }

  /** Appends the doubles of the rows to list `list`. */
  doubles({ lo, hi }: { readonly lo: number; readonly hi: number }, list: number): void {
    const { writer, bits } = this
    const end = writer.keep(this.end(list, 3), 'i32')
    if (bits === undefined) {
      writer.write(I.localGet(end), I.localGet(lo), I.memory(SIMD.store), I.localGet(end), I.localGet(hi), I.memory(SIMD.store, 16))
      return
    }
    const low = [...I.localGet(bits), ...I.i32Const(3), OP.i32And]
    const halves = [
      this.packed(lo, writer.keep(low, 'i32'), OF_PAIRS),
      this.packed(hi, writer.keep([...I.localGet(bits), ...I.i32Const(2), OP.i32ShrU], 'i32'), OF_PAIRS),
    ] as const
    const behind = [...low, OP.i32Popcnt, ...I.i32Const(3), OP.i32Shl]
    writer.write(I.localGet(end), I.localGet(halves[0]), I.memory(SIMD.store))
    writer.write(I.localGet(end), behind, [OP.i32Add], I.localGet(halves[1]), I.memory(SIMD.store))
  }

  /** The number of rows that are appended. Behind the last row nothing counts: the number of entries is set when the loop has ended. */
  count(): Code {
    return this.bits === undefined ? I.i32Const(4) : [...I.localGet(this.bits), OP.i32Popcnt]
  }

  /** Code after the loop: stores the number of entries, -1 where a key was outside. */
  stored(): Code {
    const { writer, bits } = this
    const over = [...I.i32Const(0), ...writer.rowsLeft(), OP.i32Sub] // rows behind the end, which the last four have
    const entries = [...I.localGet(this.listed), ...(bits === undefined ? [...over, OP.i32Sub] : [])]
    const number = [...I.i32Const(-1), ...entries, ...I.localGet(this.outside), SIMD.anyTrue, OP.select]
    return writer.stored({ kind: 'listed' }, number)
  }

  private packed(at: number, bits: number, table: number): number {
    const shuffles = this.writer.table(SHUFFLES)
    const place = [...I.localGet(shuffles), ...I.localGet(bits), ...I.i32Const(4), OP.i32Shl, OP.i32Add]
    return this.writer.keep([...I.localGet(at), ...place, ...I.memory(SIMD.load, table), SIMD.i8Swizzle])
  }

  /** The address behind the last entry of a list. */
  private end(list: number, log2Bytes: number): Code {
    const base = this.writer.address({ kind: 'list', list })
    return [...I.localGet(base), ...I.localGet(this.listed), ...I.i32Const(log2Bytes), OP.i32Shl, OP.i32Add]
  }
}
