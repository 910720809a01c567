/**
 * The proleptic Gregorian calendar in UTC as arithmetic of loop bodies, which has the bits of Date's own methods.
 *
 *     new Date(t).getUTCDay()        floor(time / 864e5) + 4, modulo 7, where time = |t| <= 864e13 ? trunc(t) + 0 : NaN
 *     Date.UTC(y, m, d)              the days of 400 years, of years and of months before, times 864e5
 *
 * Days are counted from the first of March of year 0, so that the leap day is the last of its year. Every step is exact: days are whole
 * numbers below 2 ** 28, and what is not finite makes NaN of all that follows from it.
 */
import type { Expr } from '../../../../core/ir/functionIr.ts'
import type { Span } from '../../../../core/span.ts'
import { binary, literal } from '../build.ts'
import type { Lowering } from '../lowering.ts'

const DAY_MS = 864e5
/** The days from the first of March of year 0 to the first of January of 1970. */
const DAYS_BEFORE_1970 = 719_468
const DAYS_OF_400_YEARS = 146_097
/** The latest time of a Date, and as long before 1970 the earliest. */
const LATEST_MS = 864e13

/** Methods of Dates that are arithmetic of the time. */
export type UtcMethod =
  | 'getUTCFullYear'
  | 'getUTCMonth'
  | 'getUTCDate'
  | 'getUTCDay'
  | 'getUTCHours'
  | 'getUTCMinutes'
  | 'getUTCSeconds'
  | 'getUTCMilliseconds'

/** Builds arithmetic at a place; what is used more than once is kept in a local. */
class Arithmetic {
  readonly #l: Lowering
  readonly #span: Span

  constructor(l: Lowering, span: Span) {
    this.#l = l
    this.#span = span
  }

  number(value: number): Expr {
    return literal(value, this.#span)
  }

  plus(a: Expr, b: Expr | number): Expr {
    return binary('+', a, this.#of(b), this.#span)
  }

  minus(a: Expr, b: Expr | number): Expr {
    return binary('-', a, this.#of(b), this.#span)
  }

  times(a: Expr, b: number): Expr {
    return binary('*', a, this.number(b), this.#span)
  }

  /** The whole number of times that b is in a, rounded down. */
  quotient(a: Expr, b: number): Expr {
    return this.#call('Math.floor', [binary('/', a, this.number(b), this.#span)])
  }

  /** What is left of a by b, from 0 on; `a` is used twice. */
  rest(a: Expr, b: number): Expr {
    return this.minus(a, this.times(this.quotient(a, b), b))
  }

  /** The whole part, of which there is no negative zero. */
  whole(a: Expr): Expr {
    return this.plus(this.#call('Math.trunc', [a]), 0)
  }

  /** `a <= b ? yes : no`, where NaN is not. */
  upTo(a: Expr, b: number, yes: Expr, no: Expr): Expr {
    // biome-ignore lint/suspicious/noThenProperty: the IR's own word
    return { kind: 'Conditional', test: binary('<=', a, this.number(b), this.#span), then: yes, else: no, span: this.#span }
  }

  magnitude(a: Expr): Expr {
    return this.#call('Math.abs', [a])
  }

  kept(a: Expr, name: string): Expr {
    return this.#l.temporary(a, name)
  }

  #of(value: Expr | number): Expr {
    return typeof value === 'number' ? this.number(value) : value
  }

  #call(callee: 'Math.floor' | 'Math.trunc' | 'Math.abs', args: readonly Expr[]): Expr {
    return { kind: 'Call', callee, args, span: this.#span }
  }
}

/** The time of a Date that is made of a number: its whole part, or NaN where it is too far away. */
export function clippedTime(l: Lowering, of: Expr, span: Span): Expr {
  const on = new Arithmetic(l, span)
  const given = on.kept(of, 'time')
  return on.kept(on.upTo(on.magnitude(given), LATEST_MS, on.whole(given), on.number(Number.NaN)), 'time')
}

/** What a method of a Date with this time returns. */
export function utcPart(l: Lowering, time: Expr, method: UtcMethod, span: Span): Expr {
  const on = new Arithmetic(l, span)
  const unit = UNITS[method]
  if (unit !== undefined) {
    const units = on.kept(on.quotient(time, unit.ms), 'units')
    return unit.most === undefined ? on.minus(time, on.times(units, 1000)) : on.rest(units, unit.most)
  }
  const days = on.quotient(time, DAY_MS)
  if (method === 'getUTCDay') return on.rest(on.kept(on.plus(days, 4), 'days'), 7)
  const day = on.kept(on.plus(days, DAYS_BEFORE_1970), 'days')
  const era = on.kept(on.quotient(day, DAYS_OF_400_YEARS), 'era')
  const dayOfEra = on.kept(on.minus(day, on.times(era, DAYS_OF_400_YEARS)), 'days')
  // 1,460 days are four years without their leap day, 36,524 a hundred, 146,096 four hundred
  const leapDays = on.minus(
    on.plus(on.minus(dayOfEra, on.quotient(dayOfEra, 1460)), on.quotient(dayOfEra, 36_524)),
    on.quotient(dayOfEra, 146_096),
  )
  const year = on.kept(on.quotient(leapDays, 365), 'years')
  const ofYears = on.minus(on.plus(on.times(year, 365), on.quotient(year, 4)), on.quotient(year, 100))
  const dayOfYear = on.kept(on.minus(dayOfEra, ofYears), 'days')
  // months from March on have 153 days to five of them
  const month = on.kept(on.quotient(on.plus(on.times(dayOfYear, 5), 2), 153), 'months')
  if (method === 'getUTCDate') return on.plus(on.minus(dayOfYear, on.quotient(on.plus(on.times(month, 153), 2), 5)), 1)
  if (method === 'getUTCMonth') return on.upTo(month, 9, on.plus(month, 2), on.minus(month, 10))
  const from = on.kept(on.plus(on.times(era, 400), year), 'years')
  return on.upTo(month, 9, from, on.plus(from, 1))
}

/** Methods that give a part of the day: how long a unit is, and how many of them are in the next longer one. */
const UNITS: Readonly<Partial<Record<UtcMethod, { readonly ms: number; readonly most?: number }>>> = {
  getUTCHours: { ms: 36e5, most: 24 },
  getUTCMinutes: { ms: 6e4, most: 60 },
  getUTCSeconds: { ms: 1000, most: 60 },
  getUTCMilliseconds: { ms: 1000 },
}

/** Years and months beyond these have no time. */
const MOST_YEARS = 1e6
const MOST_MONTHS = 1e7

/** Lowers `Date.UTC(year, month, day, hours, minutes, seconds, milliseconds)`, of which any may be left out but the first. */
export function timeInUtc(l: Lowering, args: readonly Expr[], span: Span): Expr {
  const on = new Arithmetic(l, span)
  const given = args.map((arg) => on.kept(arg, 'part'))
  const [year0 = on.number(Number.NaN), months = on.number(0), date = on.number(1), ...clock] = given.map((arg) =>
    on.kept(on.whole(arg), 'part'),
  )
  const nan = on.number(Number.NaN)
  // years from 0 to 99 are those of the twentieth century
  const full = on.kept(on.upTo(on.magnitude(on.minus(year0, 49.5)), 49.5, on.plus(year0, 1900), year0), 'years')
  const inReach = on.upTo(on.magnitude(full), MOST_YEARS, on.upTo(on.magnitude(given[1] ?? months), MOST_MONTHS, full, nan), nan)
  const month = on.kept(on.rest(months, 12), 'months')
  const year = on.kept(on.plus(inReach, on.quotient(months, 12)), 'years')
  const years = on.kept(on.upTo(month, 1, on.minus(year, 1), year), 'years')
  const monthFromMarch = on.upTo(month, 1, on.plus(month, 10), on.minus(month, 2))
  const leapDays = on.plus(on.minus(on.quotient(years, 4), on.quotient(years, 100)), on.quotient(years, 400))
  const ofMonths = on.quotient(on.plus(on.times(monthFromMarch, 153), 2), 5)
  const first = on.minus(on.plus(on.plus(on.times(years, 365), leapDays), ofMonths), DAYS_BEFORE_1970 + 1)
  const days = on.plus(first, date)
  const ofDay = clock.reduce<Expr | undefined>((sum, part, i) => {
    const ms = on.times(part, CLOCK_MS[i] ?? 1)
    return sum === undefined ? ms : on.plus(sum, ms)
  }, undefined)
  const time = on.times(days, DAY_MS)
  return clippedTime(l, ofDay === undefined ? time : on.plus(ofDay, time), span)
}

/** Milliseconds of hours, minutes, seconds and themselves. */
const CLOCK_MS = [36e5, 6e4, 1000, 1] as const
