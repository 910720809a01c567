/**
 * Kernels that parse dates and times from the bytes of CSV fields: `2024-03-01`, and for times also `2024-03-01T12:34:56`, with a space
 * for the T, with as many digits of a fraction as the unit holds, with a Z. All other forms are left to JavaScript.
 */

import { type Code, get, I, long, num, OP, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

import {
  added,
  byteAt,
  columnKernel,
  eachField,
  FIELD,
  INPUT,
  localsFrom,
  ODD,
  POINT,
  UNQUOTED,
  VALUES,
  valuePlace,
  ZERO,
} from './csvLayout.ts'

const { begin, end } = FIELD
const L = localsFrom('year', 'month', 'day', 'part', 'digit', 'eight', 'time')
const TYPES = [...new Array<'i32'>(5).fill('i32'), 'i64', 'i64'] as const
const odd = (deeper = 0): Code => I.brIf(ODD + deeper)

const word = (text: string): bigint => Buffer.from(text, 'latin1').readBigUInt64LE(0)

/** Checks eight bytes against a form (0: a digit, else this character) and sets `eight` to the digits, 0 elsewhere; or the field is odd. */
function formed(form: string, behind: number, deeper = 0): Code {
  // 6 more than a digit stays below 16, and so does 15 more than 0
  const room = BigInt(
    `0x${[...form]
      .map((one) => (one === '0' ? '06' : '0f'))
      .reverse()
      .join('')}`,
  )
  return [
    [get(begin), I.memory(OP.i64Load, INPUT + behind), long(word(form)), OP.i64Xor, set(L.eight)],
    [get(L.eight), long(room), OP.i64Add, get(L.eight), OP.i64Or, long(0xf0f0f0f0f0f0f0f0n), OP.i64And, long(0n), OP.i64Ne, odd(deeper)],
  ]
}

/** The number that two digits of `eight` make. */
function two(at: number): Code {
  const digit = (byte: number): Code => [get(L.eight), long(BigInt(8 * byte)), OP.i64ShrU, OP.i32WrapI64, num(15), OP.i32And]
  return [digit(at), num(10), OP.i32Mul, digit(at + 1), OP.i32Add]
}

const isOver = (most: number, deeper = 0): Code => [num(most), OP.i32GtU, odd(deeper)]
const over = (by: number): Code => [num(by), OP.i32DivU]

/** Whether 29 February exists: years that 4 divides, but of those that 25 divides only those that 16 does. */
const IS_LEAP: Code = [
  [get(L.year), num(3), OP.i32And, OP.i32Eqz, get(L.year), num(25), OP.i32RemU, num(0), OP.i32Ne],
  [get(L.year), num(15), OP.i32And, OP.i32Eqz, OP.i32Or, OP.i32And],
]
const IS_FEBRUARY: Code = [get(L.month), num(2), OP.i32Eq]
/** The last day of the month. 31 days have January, March, May, July, and then August, October, December. */
const LAST_DAY: Code = [
  [
    [num(28), IS_LEAP, OP.i32Add],
    [num(30), get(L.month), get(L.month), num(3), OP.i32ShrU, OP.i32Add, num(1), OP.i32And, OP.i32Add],
  ],
  [IS_FEBRUARY, OP.select],
]

/** The days from 0000-03-01 to 1970-01-01, and those of 400 years, which are added so that no year is negative. */
const [DAYS_BEFORE_EPOCH, ERA_DAYS] = [719_468, 146_097]

/** Sets `part` to the number of the day since 1970; years begin in March (Hinnant, 2013: days_from_civil). */
const DATE: Code = [
  [formed('0000-00-', 0), two(0), num(100), OP.i32Mul, two(2), OP.i32Add, set(L.year), two(5), tee(L.month), num(1), OP.i32Sub, isOver(11)],
  [byteAt(begin, 8), num(ZERO), OP.i32Sub, tee(L.day), isOver(9), byteAt(begin, 9), num(ZERO), OP.i32Sub, tee(L.digit), isOver(9)],
  [get(L.day), num(10), OP.i32Mul, get(L.digit), OP.i32Add, tee(L.day), num(1), OP.i32Sub, LAST_DAY, OP.i32GeU, odd()],
  [get(L.year), num(400), OP.i32Add, get(L.month), num(2), OP.i32LeS, OP.i32Sub, set(L.year)],
  [get(L.month), num(9), OP.i32Add, num(12), OP.i32RemU, num(153), OP.i32Mul, num(2), OP.i32Add, over(5), get(L.day), OP.i32Add],
  [get(L.year), num(365), OP.i32Mul, OP.i32Add, get(L.year), over(4), OP.i32Add, get(L.year), over(100), OP.i32Sub],
  [get(L.year), over(400), OP.i32Add, num(1 + DAYS_BEFORE_EPOCH + ERA_DAYS), OP.i32Sub, set(L.part)],
]

const LENGTH: Code = [get(end), get(begin), OP.i32Sub]
const DAY_CHARACTERS = 10
const SECOND_CHARACTERS = 19
const [LETTER_T, LETTER_Z, SPACE] = [84, 90, 32]

export function csvDateKernel(): KernelModule {
  const plain = [UNQUOTED, LENGTH, num(DAY_CHARACTERS), OP.i32Ne, odd(), DATE, valuePlace(2), get(L.part), I.memory(OP.i32Store, VALUES)]
  return columnKernel([eachField({ plain, absent: [valuePlace(2), num(0), I.memory(OP.i32Store, VALUES)] })], TYPES)
}

/** The units of a second that times are counted in, each with what a millisecond has of them. */
const PER_MS = { ms: 1, us: 1000, ns: 1_000_000 } as const
/** Days of which a count of nanoseconds surely fits 64 bits: those of 1678 to 2261. */
const [NANO_FIRST, NANO_DAYS] = [-106_000, 212_000]

/** Adds the digits of a fraction, as many as the unit holds, to `time`; `begin` is left behind them. One block deep in a field's code. */
const fraction = (first: number): Code => [
  [get(begin), get(end), OP.i32LtS, byteAt(begin), num(POINT), OP.i32Eq, OP.i32And, I.if(), added(begin, 1), num(first), set(L.day)],
  [I.block(), I.loop, get(begin), get(end), OP.i32GeS, I.brIf(1)],
  [byteAt(begin), num(ZERO), OP.i32Sub, tee(L.digit), num(9), OP.i32GtU, I.brIf(1), get(L.day), OP.i32Eqz, odd(4)],
  [get(L.time), get(L.digit), get(L.day), OP.i32Mul, OP.i64ExtendI32U, OP.i64Add, set(L.time)],
  [get(L.day), over(10), set(L.day), added(begin, 1), I.br(0), OP.end, OP.end, get(L.day), num(first), OP.i32Eq, odd(2), OP.end],
]

const CLOCK: Code = [
  [LENGTH, num(SECOND_CHARACTERS), OP.i32LtS, odd(1)],
  [byteAt(begin, DAY_CHARACTERS), tee(L.digit), num(LETTER_T), OP.i32Ne, get(L.digit), num(SPACE), OP.i32Ne, OP.i32And, odd(1)],
]

/** Parses times as counts of a unit since 1970 in UTC, which is also the zone of texts without one. */
export function csvTimeKernel(unit: keyof typeof PER_MS): KernelModule {
  const perMs = PER_MS[unit]
  const inUnit: Code = unit === 'ms' ? [] : [get(L.time), long(BigInt(perMs)), OP.i64Mul, set(L.time)]
  const inRange: Code = unit === 'ns' ? [get(L.part), num(NANO_FIRST), OP.i32Sub, num(NANO_DAYS), OP.i32GtU, odd()] : []
  const clock = (at: number, most: number, scale: number): Code => [
    [two(at), tee(L.digit), isOver(most, 1), get(L.time), get(L.digit), num(scale), OP.i32Mul, OP.i64ExtendI32U, OP.i64Add, set(L.time)],
  ]
  const isDay: Code = [LENGTH, num(DAY_CHARACTERS), OP.i32Eq]
  const time: Code = [
    [CLOCK, formed('00:00:00', DAY_CHARACTERS + 1, 1), clock(0, 23, 3_600_000), clock(3, 59, 60_000), clock(6, 59, 1000)],
    [added(begin, SECOND_CHARACTERS), inUnit, fraction(100 * perMs)],
    [get(begin), get(end), OP.i32LtS, byteAt(begin), num(LETTER_Z), OP.i32Eq, OP.i32And, get(begin), OP.i32Add, get(end), OP.i32Ne, odd(1)],
  ]
  const plain: Code = [
    [UNQUOTED, LENGTH, num(DAY_CHARACTERS), OP.i32LtS, odd(), DATE, inRange],
    [get(L.part), OP.i64ExtendI32S, long(86_400_000n), OP.i64Mul, set(L.time), isDay, I.if(), inUnit, OP.else, time, OP.end],
    [valuePlace(3), get(L.time), I.memory(OP.i64Store, VALUES)],
  ]
  return columnKernel([eachField({ plain, absent: [valuePlace(3), long(0n), I.memory(OP.i64Store, VALUES)] })], TYPES)
}
