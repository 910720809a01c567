/**
 * Buckets of time: `bucket` returns the first instant of the bucket that a date lies in.
 *
 *     bucket(new Date('2024-05-17T13:47Z'), { every: '15 minutes' })                      2024-05-17T13:45Z
 *     bucket(new Date('2024-05-17T13:47Z'), { every: '1 day', zone: 'Europe/Berlin' })    2024-05-16T22:00Z, midnight in Berlin
 *
 * In UTC all buckets up to weeks are as long as one another and counted from Monday, 2000-01-03; months, quarters and years are
 * counted from January 2000; so does DuckDB's `time_bucket`. In a zone the same is said of its clock:
 *
 * - days and longer: a date lies in the bucket that the date on its clock says, which begins at the first instant that shows a
 *   date of it. That is midnight, unless clocks jump over it.
 * - hours and shorter: a bucket begins where the clock shows a multiple of its length, or jumps over one. Of the two hours from
 *   2 to 3 in the night in which a clock is set back each is one; a bucket of 6 hours around it is 7 hours long.
 */

import { MOST_MS, MS_PER_DAY } from '../data/fixedValues.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { dayOf, dayOfMonth, monthOfDay } from './civil.ts'
import { bucketLength, type Every, type Length } from './every.ts'
import { FARTHEST_MS, type Zone, zoneNamed } from './zone.ts'

export interface BucketOptions {
  /** The length of a bucket: a whole number of units, as '15 minutes', '1 hour', '1 day', '2 weeks', '1 month', '1 quarter' or '10 years'. */
  readonly every: Every
  /** The time zone whose clock counts, by its name, as 'Europe/Berlin'; UTC unless given. */
  readonly zone?: string
}

/** Monday, 2000-01-03, from which buckets up to weeks are counted. */
export const FIRST_BUCKET_MS: number = Date.UTC(2000, 0, 3)
/** January 2000, from which buckets of months are counted, in months since the year 0. */
export const FIRST_BUCKET_MONTH: number = 12 * 2000
/** The most days of a zone whose first instants are cached. */
const MOST_DAYS = 100_000

/**
 * The first instant of the bucket that a date lies in; null of null, and an invalid Date of one. Throws PlanError where `every`
 * is no length of time, or there is no such zone.
 */
export function bucket<D extends Date | null | undefined>(date: D, options: BucketOptions): D extends Date ? Date : null {
  if (typeof options !== 'object' || options === null)
    throw new PlanError(`bucket() takes { every, zone? } behind the date; this is ${valueText(options)}.`)
  return bucketOf(date, options.every, options.zone) as D extends Date ? Date : null // bucketOf gives null only of null and undefined
}

/** `bucket` with its options one by one. */
export function bucketOf(date: unknown, every: unknown, zone?: unknown): Date | null {
  const start = bucketStart(every, zone)
  if (date === null || date === undefined) return null
  if (!(date instanceof Date)) throw new PlanError(`bucket() takes a Date, or null; this is ${valueText(date)}.`)
  return new Date(start(date.getTime()))
}

type Start = (ms: number) => number
const known = new Map<string, Start>()
/** The last function made: row after row asks for the same one. */
let last: { readonly every: unknown; readonly zone: unknown; readonly start: Start } | undefined

/** A function that gives the first millisecond of a time's bucket, NaN for times that no Date has. Throws PlanError where `every` is no length of time or `zone` no zone. */
export function bucketStart(every: unknown, zone: unknown): Start {
  if (last !== undefined && last.every === every && last.zone === zone) return last.start
  const key =
    typeof every === 'string' && (typeof zone === 'string' || zone === undefined || zone === null) ? `${every} ${zone ?? 'UTC'}` : ''
  let start = key === '' ? undefined : known.get(key)
  if (start === undefined) known.set(key, (start = startIn(bucketLength(every), zoneNamed(zone, 'bucket()'))))
  last = { every, zone, start }
  return start
}

function startIn(length: Length, zone: Zone | undefined): Start {
  if (zone !== undefined) return length.kind === 'clock' ? clockStart(length.count, zone) : dayStart(length, zone)
  if (length.kind === 'months') return (ms) => MS_PER_DAY * firstDay(length, dayOf(ms))
  return (ms) => floorTo(ms, length.count)
}

function floorTo(ms: number, length: number): number {
  return Math.floor((ms - FIRST_BUCKET_MS) / length) * length + FIRST_BUCKET_MS
}

/** The first day of the bucket that a day lies in. */
function firstDay({ kind, count }: Length, day: number): number {
  if (kind !== 'months') return floorTo(day * MS_PER_DAY, count) / MS_PER_DAY
  return dayOfMonth(Math.floor((monthOfDay(day) - FIRST_BUCKET_MONTH) / count) * count + FIRST_BUCKET_MONTH)
}

/** The last instant, up to a time, at which the clock shows a multiple of the length, or jumps over one. */
function clockStart(length: number, zone: Zone): Start {
  return (ms) => {
    if (!(Math.abs(ms) <= MOST_MS)) return Number.NaN
    let stretch = zone.at(ms)
    let shown = floorTo(ms + stretch.ahead, length)
    for (;;) {
      const start = shown - stretch.ahead
      if (start >= stretch.from) return start
      const before = zone.at(stretch.from - 1)
      if (before.ahead !== stretch.ahead && shown >= stretch.from + before.ahead) return stretch.from
      // a clock that was set back may have shown a later multiple before
      shown = floorTo(stretch.from - 1 + before.ahead, length)
      stretch = zone.at(Math.min(stretch.from - 1, shown + FARTHEST_MS))
    }
  }
}

/** A function that finds the first instant whose date on the clock is in the bucket, once for each bucket. */
function dayStart(length: Length, zone: Zone): Start {
  const starts = new Map<number, number>()
  return (ms) => {
    if (!(Math.abs(ms) <= MOST_MS)) return Number.NaN
    const day = firstDay(length, dayOf(ms + zone.at(ms).ahead))
    let start = starts.get(day)
    if (start !== undefined) return start
    if (starts.size >= MOST_DAYS) starts.clear()
    starts.set(day, (start = firstInstant(day * MS_PER_DAY, zone)))
    return start
  }
}

/** The first instant at which the clock shows a time, or a later one. */
function firstInstant(shown: number, zone: Zone): number {
  for (let at = shown - FARTHEST_MS; ; ) {
    const { from, to, ahead } = zone.at(at)
    const instant = Math.max(from, shown - ahead)
    if (instant < to) return instant
    at = to
  }
}
