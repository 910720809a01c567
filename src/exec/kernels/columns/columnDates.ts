/**
 * Columns of dates and timestamps in column kernels, converted to the numbers that JavaScript makes of a Date: milliseconds since
 * 1970, NaN where a Date would be invalid, 0 for null.
 *
 *     day >= from        i32 days, times 86,400,000
 *     at - start         i64 counts of the unit; units finer than a millisecond are divided, rounding down
 */
import { MOST_MS, MS_PER_DAY } from '../../../core/data/fixedValues.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { shuffle32 } from '../../kir/simd.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'

type DateType = Extract<ColumnType, { kind: 'date' | 'timestamp' }>
type Doubles = Extract<ColumnValue, { kind: 'f64' | 'i64' }>

/** The type of a column whose values are Dates; undefined for any other value. */
export function dateType(w: ColumnWriter, value: ColumnValue): DateType | undefined {
  const type = value.kind === 'other' ? w.columnType(value.column) : undefined
  return type?.kind === 'date' || type?.kind === 'timestamp' ? type : undefined
}

/** Converts a column of Dates to milliseconds in doubles. */
export function dateNumbers(w: ColumnWriter, column: number, type: DateType): Doubles {
  const ms = type.kind === 'date' ? daysAsMs(w, column) : unitsAsMs(w, column, type)
  const limit = constant(w, MOST_MS)
  const nan = constant(w, Number.NaN)
  const valid = w.validity(column)
  const halves = valid === undefined ? undefined : w.halves(valid)
  const half = (part: 'lo' | 'hi'): number => {
    const isValid = [...I.localGet(ms[part]), SIMD.f64Abs, ...I.localGet(limit), SIMD.f64Le]
    const value = [...I.localGet(ms[part]), ...I.localGet(nan), ...isValid, SIMD.bitSelect]
    return w.keep(halves === undefined ? value : [...value, ...I.localGet(halves[part]), SIMD.and])
  }
  return { kind: 'f64', lo: half('lo'), hi: half('hi') }
}

function daysAsMs(w: ColumnWriter, column: number): Doubles {
  const days = w.keep([...w.place(w.address({ kind: 'values', column }), 2), ...I.memory(SIMD.load)])
  const scale = [SIMD.f64ConvertI32S, ...I.localGet(constant(w, MS_PER_DAY)), SIMD.f64Mul]
  return {
    kind: 'f64',
    lo: w.keep([...I.localGet(days), ...scale]),
    hi: w.keep([...I.localGet(days), ...I.localGet(days), ...shuffle32([2, 3, 2, 3]), ...scale]),
  }
}

const PER_MS = { s: 1, ms: 1, us: 1000, ns: 1_000_000 } as const

function unitsAsMs(w: ColumnWriter, column: number, { unit }: Extract<DateType, { kind: 'timestamp' }>): Doubles {
  const from = w.place(w.address({ kind: 'values', column }), 3)
  const scale = unit === 's' ? [...I.localGet(constant(w, 1000)), SIMD.f64Mul] : []
  const half = (offset: number): number => {
    const lane = (i: number): Code => [...quotient(w, [...from, ...I.memory(OP.i64Load, offset + 8 * i)], PER_MS[unit]), OP.f64ConvertI64S]
    return w.keep([...lane(0), SIMD.f64Splat, ...lane(1), ...I.simdLane(SIMD.f64ReplaceLane, 1), ...scale])
  }
  return { kind: 'f64', lo: half(0), hi: half(16) }
}

/** Divides a 64-bit count, rounding down. */
function quotient(w: ColumnWriter, count: Code, by: number): Code {
  if (by === 1) return count
  const at = w.keep(count, 'i64')
  const divided = w.keep([...I.localGet(at), ...I.i64Const(by), OP.i64DivS], 'i64')
  // the remainder's sign, as 0 or -1
  const rest = [...I.localGet(at), ...I.localGet(divided), ...I.i64Const(by), OP.i64Mul, OP.i64Sub, ...I.i64Const(63), OP.i64ShrS]
  return [...I.localGet(divided), ...rest, OP.i64Add]
}

function constant(w: ColumnWriter, value: number): number {
  return w.constant([...I.f64Const(value), SIMD.f64Splat])
}
