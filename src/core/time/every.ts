/**
 * Lengths of time as they are written: `'15 minutes'`, `'1 hour'`, `'2 weeks'`, `'1 quarter'`. Up to hours they are lengths on a
 * clock, days and weeks are days of the calendar, and all longer ones months.
 */

import { MOST_MS, MS_PER_DAY } from '../data/fixedValues.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { nearestNames } from '../nearestNames.ts'

/** The units of time, in the singular. */
export type TimeUnitName = 'millisecond' | 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

/** A whole number of units, as '15 minutes' or '1 day'. */
export type Every = `${number} ${TimeUnitName | `${TimeUnitName}s`}`

export interface Length {
  readonly kind: 'clock' | 'days' | 'months'
  /** The length in milliseconds, or in months for kind 'months'. */
  readonly count: number
}

const LENGTHS: Readonly<Record<TimeUnitName, Length>> = {
  millisecond: { kind: 'clock', count: 1 },
  second: { kind: 'clock', count: 1000 },
  minute: { kind: 'clock', count: 60_000 },
  hour: { kind: 'clock', count: 3_600_000 },
  day: { kind: 'days', count: MS_PER_DAY },
  week: { kind: 'days', count: 7 * MS_PER_DAY },
  month: { kind: 'months', count: 1 },
  quarter: { kind: 'months', count: 3 },
  year: { kind: 'months', count: 12 },
}

const UNIT_NAMES = Object.keys(LENGTHS)
/** About the number of months between the first Date and the last: those of 550,000 years. */
const MOST_MONTHS = 12 * 550_000

/** The unit of a name, singular or plural; undefined where there is none. */
export function unitNamed(name: string): Length | undefined {
  const singular = name.endsWith('s') ? name.slice(0, -1) : name
  return Object.hasOwn(LENGTHS, singular) ? LENGTHS[singular as TimeUnitName] : undefined // one of its keys
}

/** Lists the units for messages, and the one that is meant by a misspelt name. */
export function unitsText(wanted: string): string {
  const [near] = nearestNames(wanted, [...UNIT_NAMES, ...UNIT_NAMES.map((name) => `${name}s`)])
  return `${near === undefined ? '' : `Did you mean "${near}"? `}The units are ${UNIT_NAMES.join(', ')}, and their plurals.`
}

/** The length of a bucket. Throws PlanError where it is no whole number of units, from 1 on. */
export function bucketLength(every: unknown): Length {
  const [, digits = '', name = ''] = typeof every === 'string' ? (/^(\d+) (\w+)$/.exec(every) ?? []) : []
  if (name === '')
    throw new PlanError(`bucket() takes { every } as a whole number and a unit, as '15 minutes' or '1 day'; this is ${valueText(every)}.`)
  const unit = unitNamed(name)
  if (unit === undefined) throw new PlanError(`bucket() does not know the unit "${name}" of ${valueText(every)}. ${unitsText(name)}`)
  const count = Number(digits) * unit.count
  if (count === 0)
    throw new PlanError(
      `bucket() cannot divide time into buckets of ${valueText(every)}. Give one unit at least, as '1 ${name.replace(/s$/, '')}'.`,
    )
  if (count > (unit.kind === 'months' ? MOST_MONTHS : MOST_MS))
    throw new PlanError(`bucket() is told buckets of ${valueText(every)}, which is more time than Dates reach away from 1970.`)
  return { kind: unit.kind, count }
}
