/**
 * What the kernels over CSV share: where things lie in a memory of theirs, and how a field is gone through.
 *
 *     result | bounds of fields | present | values | offsets | texts | powers of ten | the piece of the file
 *
 * The piece comes last, since it is what pieces differ in. Places in it, as bounds have them, count from its first byte.
 */

import { type Code, get, I, num, OP, set, tee, type ValueType } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

/** Two words a field, of as many records as are kept before their columns are read, and of one more. */
export const MOST_BOUNDS = 32_768
const BOUND_BYTES = 4
/** Fields of one column, of which each has two bounds. */
export const MOST_FIELDS: number = MOST_BOUNDS / 2 + 1
/** Bytes of texts that are put together at a time; a longer text is no plain field. */
export const TEXT_ROOM: number = 2 ** 20
/** Vectors are read and written whole, over the end. */
export const PADDING = 64

/** What kernels tell: two words. */
export const RESULT = 0
export const BOUNDS = 64
export const PRESENT: number = BOUNDS + 2 * MOST_BOUNDS * BOUND_BYTES
export const VALUES: number = PRESENT + MOST_FIELDS + 63 - ((PRESENT + MOST_FIELDS + 63) % 64)
export const OFFSETS: number = VALUES + 8 * (MOST_FIELDS + 1) + 48
export const TEXTS: number = OFFSETS + 4 * (MOST_FIELDS + 1) + 56
export const POWERS: number = TEXTS + TEXT_ROOM + PADDING
/** A power of ten is two words of 64 bits of its five's digits; exact powers lie behind. */
export const POWER_BYTES = 16
export const LEAST_POWER = -342
export const MOST_POWER = 308
export const EXACT_POWERS: number = POWERS + POWER_BYTES * (MOST_POWER - LEAST_POWER + 1)
export const MOST_EXACT_POWER = 22
export const INPUT: number = EXACT_POWERS + 8 * (MOST_EXACT_POWER + 1) + 56

export const QUOTE = 34
export const NEWLINE = 10
export const RETURN = 13
export const MINUS = 45
export const POINT = 46
export const ZERO = 48

/** The byte at a place of the piece. */
export function byteAt(place: number, behind = 0): Code {
  return [get(place), I.memory(OP.i32Load8U, INPUT + behind)]
}

/** A local that grows by a constant. */
export function added(local: number, by: number): Code {
  return [get(local), num(by), OP.i32Add, set(local)]
}

/** Locals of every kernel over one column: four parameters, and what goes along with the fields. */
export const FIELD = { place: 0, step: 1, count: 2, base: 3, row: 4, begin: 5, end: 6, nulls: 7 } as const

/**
 * `plain` for every field of a column that is there, with its bounds in locals, and `absent` for those that are not; both
 * without RESULT's. In `plain`, branching `ODD` blocks out (from where it begins) ends all: the field is left to others.
 */
export function eachField({ plain, absent }: { readonly plain: Code; readonly absent: Code }): Code {
  const { place, step, count, row, begin, end, nulls } = FIELD
  return [
    [I.block(), I.loop, get(row), get(count), OP.i32GeS, I.brIf(1)],
    [get(place), I.memory(OP.i32Load), set(begin), get(place), I.memory(OP.i32Load, 4), set(end)],
    [get(begin), get(end), OP.i32Eq, I.if()],
    [get(row), num(0), I.memory(OP.i32Store8, PRESENT), added(nulls, 1), absent],
    [OP.else, plain, get(row), num(1), I.memory(OP.i32Store8, PRESENT), OP.end],
    [get(place), get(step), OP.i32Add, set(place), added(row, 1), I.br(0), OP.end, OP.end],
    [num(0), get(row), I.memory(OP.i32Store, RESULT), num(0), get(nulls), I.memory(OP.i32Store, RESULT + 4)],
  ]
}

/** From where `plain` begins. */
export const ODD = 2

/** A field in quotes has the complement of where it begins; what is left is where its first byte is. */
export const UNQUOTED: Code = [
  [get(FIELD.begin), num(0), OP.i32LtS, I.if(), get(FIELD.begin), num(-1), OP.i32Xor, tee(FIELD.begin)],
  [get(FIELD.end), OP.i32Eq, I.brIf(ODD + 1), OP.end],
]

/** The module of a kernel over one column, run(place, step, count, base), with more locals. */
export function columnKernel(body: Code, locals: readonly ValueType[]): KernelModule {
  const own = new Array<'i32'>(Object.keys(FIELD).length - PARAMETERS.length).fill('i32')
  return { imports: [], parameters: PARAMETERS, locals: [...own, ...locals], body, foreign: true }
}

const PARAMETERS = ['i32', 'i32', 'i32', 'i32'] as const

/** The numbers of a column kernel's own locals. */
export function localsFrom<const N extends string>(...names: readonly N[]): { readonly [K in N]: number } {
  const first = Object.keys(FIELD).length
  return Object.fromEntries(names.map((name, i) => [name, first + i])) as { readonly [K in N]: number } // every name is there
}

/** Where a value of the row goes, less the constant that a store adds. */
export function valuePlace(log2Bytes: number): Code {
  return [get(FIELD.row), num(log2Bytes), OP.i32Shl]
}
