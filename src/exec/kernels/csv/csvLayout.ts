/**
 * The memory layout of the kernels over CSV, and the loop over the fields of a column.
 *
 *     result | bounds of fields | present | values | offsets | texts | powers of ten | the piece of the file
 *
 * The piece comes last, since only its size varies. Places in it, which the bounds hold, count from its first byte.
 */

import { type Code, get, I, num, OP, set, tee, type ValueType } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

/** The bounds, two words a field, from which no further record begins; there is room for twice as many, for the record in progress. */
export const MOST_BOUNDS = 32_768
const BOUND_BYTES = 4
/** The most fields of one column in a call. */
export const MOST_FIELDS: number = MOST_BOUNDS / 2 + 1
/** The bytes of texts that one call can write: it ends before a field that does not fit. */
export const TEXT_ROOM: number = 2 ** 20
/** The bytes behind each area that whole vectors may read or write beyond its end. */
export const PADDING = 64

/** The address of a kernel's results: two words. */
export const RESULT = 0
export const BOUNDS = 64
export const PRESENT: number = BOUNDS + 2 * MOST_BOUNDS * BOUND_BYTES
export const VALUES: number = PRESENT + MOST_FIELDS + 63 - ((PRESENT + MOST_FIELDS + 63) % 64)
export const OFFSETS: number = VALUES + 8 * (MOST_FIELDS + 1) + 48
export const TEXTS: number = OFFSETS + 4 * (MOST_FIELDS + 1) + 56
export const POWERS: number = TEXTS + TEXT_ROOM + PADDING
/** The bytes of a power of ten: the leading 128 bits of its power of five, in two words. The table of exact powers follows. */
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

/** Loads the byte at a place of the piece, or `behind` bytes after it. */
export function byteAt(place: number, behind = 0): Code {
  return [get(place), I.memory(OP.i32Load8U, INPUT + behind)]
}

/** Adds a constant to a local. */
export function added(local: number, by: number): Code {
  return [get(local), num(by), OP.i32Add, set(local)]
}

/** The first locals of every column kernel: four parameters, and the state of the loop over fields. */
export const FIELD = { place: 0, step: 1, count: 2, base: 3, row: 4, begin: 5, end: 6, nulls: 7 } as const

/**
 * Runs `plain` for every field that is not empty, with its bounds in locals, and `absent` for empty ones; neither
 * writes RESULT. In `plain`, a branch `ODD` blocks out (from its top level) ends the call: JavaScript reads that field.
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

/** The depth of the block that ends the call, from the top level of `plain`. */
export const ODD = 2

/** Replaces the `begin` of a quoted field, which is stored as its complement, by the place of its first byte; empty quotes are odd. */
export const UNQUOTED: Code = [
  [get(FIELD.begin), num(0), OP.i32LtS, I.if(), get(FIELD.begin), num(-1), OP.i32Xor, tee(FIELD.begin)],
  [get(FIELD.end), OP.i32Eq, I.brIf(ODD + 1), OP.end],
]

/** The module of a kernel over one column, run(place, step, count, base), with these further locals. */
export function columnKernel(body: Code, locals: readonly ValueType[]): KernelModule {
  const own = new Array<'i32'>(Object.keys(FIELD).length - PARAMETERS.length).fill('i32')
  return { imports: [], parameters: PARAMETERS, locals: [...own, ...locals], body, foreign: true }
}

const PARAMETERS = ['i32', 'i32', 'i32', 'i32'] as const

/** The indices of a column kernel's own locals, by name. */
export function localsFrom<const N extends string>(...names: readonly N[]): { readonly [K in N]: number } {
  const first = Object.keys(FIELD).length
  return Object.fromEntries(names.map((name, i) => [name, first + i])) as { readonly [K in N]: number } // every name is there
}

/** The byte offset of the row's value; the store adds the constant VALUES. */
export function valuePlace(log2Bytes: number): Code {
  return [get(FIELD.row), num(log2Bytes), OP.i32Shl]
}
