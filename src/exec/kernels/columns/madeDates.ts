/**
 * Dates that column kernels make: `new Date(x)` of a number, or of any value that converts to one. They are doubles until
 * they are stored, as counts of milliseconds in 64 bits.
 *
 * No column holds an invalid Date, and the row loop in JavaScript reports the row of one; so a kernel only detects
 * that a row that is kept has one, and the row loop then does the work instead.
 */
import { MOST_MS } from '../../../core/data/fixedValues.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { ColumnNumbers } from './columnNumbers.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, both, type Doubles, doubles } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'

type Dates = Extract<ColumnValue, { kind: 'date' }>

/** The value of `new Date(x)`: milliseconds rounded towards 0, without -0, NaN outside the range of a Date. */
export function dateOf(w: ColumnWriter, x: ColumnValue): Dates {
  return clipped(w, doubles(w, x))
}

/** The same for doubles, which are 0 where `valid` says that there is no Date. */
export function clipped(w: ColumnWriter, ms: Doubles, valid?: number): Dates {
  const zero = I.localGet(w.zeros())
  const whole = both(w, [ms], SIMD.f64Trunc, ...zero, SIMD.f64Add)
  const [limit, nan] = [MOST_MS, Number.NaN].map((value) => w.constant([...I.f64Const(value), SIMD.f64Splat])) as [number, number]
  const isValid = (at: number): Code => [...I.localGet(at), SIMD.f64Abs, ...I.localGet(limit), SIMD.f64Le]
  const half = (at: number): number => w.keep([...I.localGet(at), ...I.localGet(nan), ...isValid(at), SIMD.bitSelect])
  return { kind: 'date', lo: half(whole.lo), hi: half(whole.hi), ...(valid === undefined ? {} : { valid }) }
}

/** The mask of rows in which one of the Dates is invalid, among those before the end and, where filters exist, `kept`. */
export function invalidAmong(w: ColumnWriter, dates: readonly Dates[], kept: number | undefined): number {
  const invalid = dates.map(({ lo, hi }) => {
    const value: ColumnValue = { kind: 'f64', lo, hi }
    return new ColumnNumbers(w).compared('!=', value, value).at
  })
  return askedAmong(w, invalid, kept)
}

/** The mask of rows in one of the masks, among those before the end and, where filters exist, `kept`. */
export function askedAmong(w: ColumnWriter, masks: readonly number[], kept: number | undefined): number {
  const some = masks.reduce((a, b) => w.keep([...I.localGet(a), ...I.localGet(b), SIMD.or]))
  return and(w, and(w, some, rowsAsked(w)), kept) as number
}

/** The mask of rows before the end: the last four may have others. */
export function rowsAsked(w: ColumnWriter): number {
  const row = [...I.localGet(w.row), SIMD.i32Splat, ...I.localGet(w.constant(lanesConst([0, 1, 2, 3]))), SIMD.i32Add]
  return w.keep([...w.end(), SIMD.i32Splat, ...row, SIMD.i32Gt])
}

/** Converts Dates to 64-bit counts of milliseconds: adding a magic number moves the parts above and below 2 ** 32 to the lowest bits. */
export function countsOf(w: ColumnWriter, { lo, hi }: Dates): { readonly lo: number; readonly hi: number } {
  const splat = (value: number): Code => I.localGet(w.constant([...I.f64Const(value), SIMD.f64Splat]))
  const inBits = (magic: number): Code => [...splat(magic), SIMD.f64Add, ...splat(magic), SIMD.i64Sub]
  const half = (at: number): number => {
    const high = w.keep([...I.localGet(at), ...splat(2 ** -32), SIMD.f64Mul, SIMD.f64Floor])
    const low = [...I.localGet(at), ...I.localGet(high), ...splat(2 ** 32), SIMD.f64Mul, SIMD.f64Sub, ...inBits(2 ** 52)]
    // above 2 ** 52 doubles are spaced by 1, also those for negative parts
    return w.keep([...I.localGet(high), ...inBits(1.5 * 2 ** 52), ...I.i32Const(32), SIMD.i64Shl, ...low, SIMD.i64Add])
  }
  return { lo: half(lo), hi: half(hi) }
}

/** Code after the loop: sets the word at `inexact` to 1 where a lane of the collected mask `off` is set. */
export function reported(w: ColumnWriter, off: number): Code {
  return [
    ...[...I.localGet(off), SIMD.anyTrue, ...I.if(), ...I.localGet(w.address({ kind: 'inexact' }))],
    ...[...I.i32Const(1), ...I.memory(OP.i32Store), OP.end],
  ]
}
