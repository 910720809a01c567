/**
 * Buckets of time in column kernels: by arithmetic in UTC; in a time zone by a call of the library's own function for
 * each row.
 */

import { MS_PER_DAY } from '../../../core/data/fixedValues.ts'
import type { Span } from '../../../core/span.ts'
import { FIRST_BUCKET_MONTH, FIRST_BUCKET_MS } from '../../../core/time/bucket.ts'
import { bucketLength } from '../../../core/time/every.ts'
import { I, SIMD } from '../../kir/instructions.ts'
import { NotCompiled } from '../expressions/types.ts'
import { Calendar } from './columnCalendar.ts'
import { dateNumbers, dateType } from './columnDates.ts'
import type { ColumnNumbers } from './columnNumbers.ts'
import type { ColumnValue } from './columnTypes.ts'
import { type Doubles, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { clipped } from './madeDates.ts'

/** Compiles `bucket(date, { every, zone })`; null gives null. */
export function bucketsOf(numbers: ColumnNumbers, [date, every, zone]: readonly ColumnValue[], span: Span): ColumnValue {
  const { w } = numbers
  if (date === undefined || every?.kind !== 'constant' || zone?.kind !== 'constant')
    throw new NotCompiled('it calls bucket with options that vary', span)
  if (date.kind === 'constant' && date.value === null) return date
  const ms = timesOf(w, date, span)
  const valid = validOf(w, date)
  const start =
    zone.value === null || zone.value === 'UTC'
      ? startInUtc(w, ms, every.value)
      : numbers.called(bucketImport(every.value, zone.value), [ms])
  return clipped(w, valid === undefined ? start : cleared(w, start, valid), valid)
}

function timesOf(w: ColumnWriter, date: ColumnValue, span: Span): Doubles {
  const type = dateType(w, date)
  if (date.kind === 'other' && type !== undefined) return dateNumbers(w, date.column, type)
  if (date.kind === 'date') return { kind: 'f64', lo: date.lo, hi: date.hi }
  throw new NotCompiled('it calls bucket with what is no Date', span)
}

function startInUtc(w: ColumnWriter, ms: Doubles, every: unknown): Doubles {
  const c = new Calendar(w)
  const { kind, count } = bucketLength(every)
  const floorTo = (of: Doubles, length: number, first: number): Doubles =>
    c.plus(c.times(c.quotient(c.plus(of, -first), length), length), first)
  if (kind !== 'months') return floorTo(ms, count, FIRST_BUCKET_MS)
  const { year, month } = c.date(c.quotient(ms, MS_PER_DAY))
  return c.times(c.firstDay(floorTo(c.plus(c.times(year, 12), month), count, FIRST_BUCKET_MONTH)), MS_PER_DAY)
}

/** Clears the lanes of null. */
function cleared(w: ColumnWriter, { lo, hi }: Doubles, valid: number): Doubles {
  const halves = w.halves(valid)
  const half = (at: number, mask: number): number => w.keep([...I.localGet(at), ...I.localGet(mask), SIMD.and])
  return { kind: 'f64', lo: half(lo, halves.lo), hi: half(hi, halves.hi) }
}

/** The name under which a kernel imports the function for such buckets in a time zone. */
function bucketImport(every: unknown, zone: unknown): string {
  return `${BUCKET}${JSON.stringify([every, zone])}`
}

const BUCKET = 'bucket '

/** Whether an imported function computes buckets in a time zone. */
export function isBucketImport(name: string): boolean {
  return name.startsWith(BUCKET)
}

/** Parses `every` and `zone` from the name of such a function; undefined for any other name. */
export function importedBucket(name: string): readonly [every: unknown, zone: unknown] | undefined {
  return isBucketImport(name) ? (JSON.parse(name.slice(BUCKET.length)) as [unknown, unknown]) : undefined // as it was written
}
