/**
 * Methods of Dates in column kernels: in UTC by arithmetic, in local time by the same of what clocks show, which
 * JavaScript is asked for each row.
 *
 * The civil calendar is that of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": days from March, in eras of
 * 400 years. It is computed in doubles: quotients of integers below 2 ** 53 have the same floor as the exact ones, and NaN
 * propagates, as in JavaScript.
 */

import { MS_PER_DAY } from '../../../core/data/fixedValues.ts'
import { typeText } from '../../../core/data/schema.ts'
import type { Method } from '../../../core/ir/functionIr.ts'
import { NotCompiled } from '../expressions/types.ts'
import { dateNumbers, dateType } from './columnDates.ts'
import { ColumnNumbers } from './columnNumbers.ts'
import { presenceOf } from './columnPresence.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { Doubles } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'

/** Computes a method of Date; undefined for methods that kernels do not have. `present` names the values known to be not null. */
export function dateMethod(w: ColumnWriter, method: Method, value: ColumnValue, present: ReadonlySet<string>): ColumnValue | undefined {
  const instant = millisecondsOf(w, method, value, present)
  if (instant === undefined) return undefined
  if (method === 'getTime' || method === 'valueOf') return instant
  if (!method.startsWith('get')) return undefined
  const ms = method.startsWith('getUTC') ? instant : new ColumnNumbers(w).called(LOCAL_TIME, [instant])
  const c = new Calendar(w)
  const days = c.floor(c.divided(ms, MS_PER_DAY))
  const time = c.minus(ms, c.times(days, MS_PER_DAY))
  switch (method) {
    case 'getFullYear':
    case 'getUTCFullYear':
      return c.date(days).year
    case 'getMonth':
    case 'getUTCMonth':
      return c.date(days).month
    case 'getDate':
    case 'getUTCDate':
      return c.date(days).day
    case 'getDay':
    case 'getUTCDay':
      return c.rest(c.plus(days, 4), 7)
    case 'getHours':
    case 'getUTCHours':
      return c.floor(c.divided(time, 3_600_000))
    case 'getMinutes':
    case 'getUTCMinutes':
      return c.rest(c.floor(c.divided(time, 60_000)), 60)
    case 'getSeconds':
    case 'getUTCSeconds':
      return c.rest(c.floor(c.divided(time, 1000)), 60)
    case 'getMilliseconds':
    case 'getUTCMilliseconds':
      return c.rest(time, 1000)
    default:
      return undefined
  }
}

/** The name of an import that gives the milliseconds of the clock in UTC that shows what clocks show in local time. */
const LOCAL_TIME = 'local time'

/** Whether an imported function asks what clocks show in local time. */
export function isLocalImport(name: string): boolean {
  return name.startsWith(LOCAL_TIME)
}

function millisecondsOf(w: ColumnWriter, method: Method, value: ColumnValue, present: ReadonlySet<string>): Doubles | undefined {
  const isThere = present.has(presenceOf(value) ?? '')
  if (value.kind === 'date') {
    if (value.valid !== undefined && !isThere) throw new NotCompiled(`it calls ${method} of a Date that may be null`)
    return { kind: 'f64', lo: value.lo, hi: value.hi }
  }
  const type = dateType(w, value)
  if (value.kind !== 'other' || type === undefined) return undefined
  if (w.validity(value.column) !== undefined && !isThere)
    throw new NotCompiled(`it calls ${method} of a column of ${typeText(type)} that may be null`)
  return dateNumbers(w, value.column, type)
}

/** Arithmetic on integers in doubles. */
export class Calendar {
  readonly #numbers: ColumnNumbers

  constructor(w: ColumnWriter) {
    this.#numbers = new ColumnNumbers(w)
  }

  /** Converts days since 1970 to year, month from 0, day from 1. */
  date(days: Doubles): { readonly year: Doubles; readonly month: Doubles; readonly day: Doubles } {
    const fromMarch = this.plus(days, 719_468)
    const era = this.quotient(fromMarch, 146_097)
    const dayOfEra = this.minus(fromMarch, this.times(era, 146_097))
    const leaps = this.minus(this.quotient(dayOfEra, 1460), this.quotient(dayOfEra, 36_524))
    const yearOfEra = this.quotient(this.minus(dayOfEra, this.plus(leaps, this.quotient(dayOfEra, 146_096))), 365)
    const inYear = this.minus(this.plus(this.times(yearOfEra, 365), this.quotient(yearOfEra, 4)), this.quotient(yearOfEra, 100))
    const dayOfYear = this.minus(dayOfEra, inYear)
    const monthFromMarch = this.quotient(this.plus(this.times(dayOfYear, 5), 2), 153)
    const day = this.plus(this.minus(dayOfYear, this.quotient(this.plus(this.times(monthFromMarch, 153), 2), 5)), 1)
    const isNextYear = this.#numbers.compared('>=', monthFromMarch, this.#constant(10))
    const carried = (yes: number, no: number): ColumnValue => this.#numbers.selected(isNextYear, this.#constant(yes), this.#constant(no))
    const year = this.plus(this.plus(yearOfEra, this.times(era, 400)), carried(1, 0))
    return { year, month: this.plus(monthFromMarch, carried(-10, 2)), day }
  }

  /** The first day of a month, in days since 1970; months are counted from January of the year 0. */
  firstDay(month: Doubles): Doubles {
    const fromMarch = this.plus(month, -2)
    const year = this.quotient(fromMarch, 12)
    const era = this.quotient(year, 400)
    const yearOfEra = this.minus(year, this.times(era, 400))
    const days = this.quotient(this.plus(this.times(this.minus(fromMarch, this.times(year, 12)), 153), 2), 5)
    const leaps = this.minus(this.quotient(yearOfEra, 4), this.quotient(yearOfEra, 100))
    const dayOfEra = this.plus(this.plus(this.times(yearOfEra, 365), leaps), days)
    return this.plus(this.plus(dayOfEra, this.times(era, 146_097)), -719_468)
  }

  plus(a: Doubles, by: ColumnValue | number): Doubles {
    return this.#numbers.float('+', a, typeof by === 'number' ? this.#constant(by) : by)
  }

  minus(a: Doubles, b: Doubles): Doubles {
    return this.#numbers.float('-', a, b)
  }

  times(a: Doubles, by: number): Doubles {
    return this.#numbers.float('*', a, this.#constant(by))
  }

  divided(a: Doubles, by: number): Doubles {
    return this.#numbers.float('/', a, this.#constant(by))
  }

  floor(a: Doubles): Doubles {
    return this.#numbers.float('floor', a)
  }

  quotient(a: Doubles, by: number): Doubles {
    return this.floor(this.divided(a, by))
  }

  /** The remainder, from 0 to below `by`, also for negative `a`. */
  rest(a: Doubles, by: number): Doubles {
    return this.minus(a, this.times(this.quotient(a, by), by))
  }

  #constant(value: number): Doubles {
    return this.#numbers.toFloat(this.#numbers.constant(value))
  }
}
