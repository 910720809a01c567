/** Times of the program as expressions of Spark: Dates that are made, buckets, texts of ISO 8601. All of UTC. */

import { MOST_MS } from '../../../core/data/fixedValues.ts'
import type { LibraryCall } from '../../../core/ir/builtins.ts'
import type { Span } from '../../../core/span.ts'
import { FIRST_BUCKET_MONTH, FIRST_BUCKET_MS } from '../../../core/time/bucket.ts'
import { bucketLength } from '../../../core/time/every.ts'
import { duration } from '../../../core/time/texts.ts'
import type { Expression } from '../messages.ts'
import type { Scope } from '../scope.ts'
import { sqlTypeOf } from '../sparkTypes.ts'
import { Untranslated } from '../untranslated.ts'
import { and, call, cast, double, int, long, text, when } from './build.ts'
import { asColumn, asLong, asNumber, constantValue, isIntegral, MILLISECONDS, milliseconds, NULL_VALUE, type Value } from './values.ts'

const FIRST_YEAR = FIRST_BUCKET_MONTH / 12

/** `new Date(time)`; the query fails where that is an invalid one, which no column holds. */
export function madeDate([time]: readonly Value[], { span, scope }: { readonly span: Span; readonly scope: Scope }): Value {
  if (time === undefined) throw new Untranslated('makes a Date of now', span, 'Capture one, as in const now = new Date().')
  if (time.type.kind === 'utf8')
    throw new Untranslated('makes a Date of a text', span, 'Compute it behind collect(), or with fallback: "local".')
  if (time.is === 'Date') return { ...time, type: MILLISECONDS, expr: asColumn(time, MILLISECONDS, span) }
  if (isIntegral(time) && !time.nullable) return dateOf(asLong(time))
  const ms = scope.bindExpr(asNumber(time, span))
  const refused = cast(
    call('raise_error', call('concat', text('An invalid Date, which no column holds. Test the number before: '), cast(ms, 'STRING'))),
    'BIGINT',
  )
  // a cast leaves what is behind the point, as JavaScript does
  return dateOf(when([[call('<=', call('abs', ms), double(MOST_MS)), cast(ms, 'BIGINT')]], refused))
}

function dateOf(ms: Expression): Value {
  return { expr: cast(call('timestamp_millis', ms), sqlTypeOf(MILLISECONDS)), is: 'Date', type: MILLISECONDS, nullable: false }
}

/** Functions of the library about times. */
export function ofLibrary(
  callee: LibraryCall,
  args: readonly Value[],
  { span, scope }: { readonly span: Span; readonly scope: Scope },
): Value {
  const [time, every, zone] = args
  if (callee === 'duration' && typeof time?.constant === 'string') return constantValue(duration(time.constant))
  if (callee !== 'bucket')
    throw new Untranslated(`calls ${callee}(), which Spark does not have`, span, 'Compute it behind collect(), or with fallback: "local".')
  if (zone !== undefined && zone.is !== 'null')
    throw new Untranslated('counts buckets by the clock of a time zone', span, 'Use buckets of UTC, or fallback: "local".')
  if (time?.is === 'null') return NULL_VALUE
  if (time?.is !== 'Date' || typeof every?.constant !== 'string')
    throw new Untranslated('takes buckets whose length is not written there', span, 'Write it, as in bucket(row.at, { every: "1 day" }).')
  const { kind, count } = bucketLength(every.constant)
  const start = kind === 'months' ? monthsStart(time, count, scope) : evenStart(time, count, scope)
  return { ...dateOf(start), nullable: time.nullable, ...(time.absent === undefined ? {} : { absent: time.absent }) }
}

/** The start of a time's bucket, where all buckets have one length in milliseconds. */
function evenStart(time: Value, length: number, scope: Scope): Expression {
  const ms = scope.bindExpr(milliseconds(time))
  return call('-', ms, call('pmod', call('-', ms, long(BigInt(FIRST_BUCKET_MS))), long(BigInt(length))))
}

function monthsStart({ expr }: Value, count: number, scope: Scope): Expression {
  const months = call('+', call('*', call('-', call('year', expr), int(FIRST_YEAR)), int(12)), call('-', call('month', expr), int(1)))
  const whole = scope.bindExpr(months)
  const start = scope.bindExpr(call('-', whole, call('pmod', whole, int(count))))
  const month = scope.bindExpr(call('pmod', start, int(12)))
  const year = call('+', call('div', call('-', start, month), int(12)), int(FIRST_YEAR))
  const first = call('make_date', cast(year, 'INT'), call('+', month, int(1)), int(1))
  return milliseconds({ expr: first, type: { kind: 'date' } })
}

/** `toISOString()`, of years that have four digits. */
export function isoText(time: Value, scope: Scope): Expression {
  const at = scope.bindExpr(cast(time.expr, 'TIMESTAMP'))
  const isPlain = and(call('>=', call('year', at), int(0)), call('<=', call('year', at), int(9999)))
  const refused = cast(call('raise_error', text('toISOString() of a year that has no four digits. Compute it behind collect()')), 'STRING')
  return when([[isPlain, call('date_format', at, text("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))]], refused)
}
