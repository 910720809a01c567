import { expectTypeOf } from 'vitest'
import { bucket } from './bucket.ts'
import { duration, formatTime, parseTime } from './texts.ts'

declare const date: Date
declare const late: Date | null
declare const missing: Date | undefined

expectTypeOf(bucket(date, { every: '15 minutes' })).toEqualTypeOf<Date>()
expectTypeOf(bucket(late, { every: '1 day', zone: 'Europe/Berlin' })).toEqualTypeOf<Date | null>()
expectTypeOf(bucket(missing, { every: '2 weeks' })).toEqualTypeOf<Date | null>()
expectTypeOf(bucket(null, { every: '1 quarter' })).toEqualTypeOf<null>()
// @ts-expect-error there is no such unit
bucket(date, { every: '1 fortnight' })
// @ts-expect-error a number is no length of time
bucket(date, { every: 60_000 })
// @ts-expect-error a text is no date
bucket('2024-01-01', { every: '1 day' })
// @ts-expect-error how long buckets are has to be said
bucket(date, {})

declare const text: string | null

expectTypeOf(parseTime(text, '%Y')).toEqualTypeOf<Date | null>()
expectTypeOf(formatTime(date, '%Y')).toEqualTypeOf<string>()
expectTypeOf(formatTime(late, '%Y', { zone: 'Europe/Berlin' })).toEqualTypeOf<string | null>()
expectTypeOf(duration('1 hour')).toEqualTypeOf<number>()
// @ts-expect-error the zone is an option
formatTime(date, '%Y', 'Europe/Berlin')
// @ts-expect-error a time is read by a format
parseTime(text)
