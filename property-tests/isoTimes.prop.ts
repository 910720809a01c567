/**
 * Times that functions of rows read off texts are those of JavaScript: `new Date(text)` and `Date.parse(text)`, of texts in ISO 8601, of such
 * with a mistake, and of other texts; of many different ones, and of few, which are read once each; and where a text may be null.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isoTime } from '../src/core/time/isoBytes.ts'
import { Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('isoTimes.prop.ts')

const digits = (below: number, width: number) => fc.nat({ max: below }).map((n) => String(n).padStart(width, '0'))
const day = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1896, max: 2104 }) }, fc.nat({ max: 9999 })), digits(13, 2), digits(32, 2))
  .map(([year, month, of]) => `${String(year).padStart(4, '0')}-${month}-${of}`)
const seconds = fc.oneof(
  fc.constant(''),
  digits(60, 2).map((s) => `:${s}`),
  fc.tuple(digits(60, 2), fc.array(fc.nat({ max: 9 }), { maxLength: 10 })).map(([s, f]) => `:${s}.${f.join('')}`),
)
const zone = fc.oneof(
  { weight: 3, arbitrary: fc.constant('Z') },
  fc.constantFrom('', 'z', '+0200', '+2:00', ' GMT'),
  fc.tuple(fc.constantFrom('+', '-'), digits(24, 2), digits(60, 2)).map(([sign, h, m]) => `${sign}${h}:${m}`),
)
const time = fc
  .tuple(day, fc.constantFrom('T', 'T', 'T', ' ', 't'), digits(24, 2), digits(60, 2), seconds, zone)
  .map(([date, t, h, m, s, z]) => `${date}${t}${h}:${m}${s}${z}`)
const mistaken = fc
  .tuple(fc.oneof(day, time), fc.nat(), fc.constantFrom('', '0', '9', '-', ':', 'T', 'Z', ' ', '.', 'ä'), fc.nat({ max: 1 }))
  .map(([text, at, put, cut]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + cut))
const texts = fc.oneof(
  { weight: 3, arbitrary: day },
  { weight: 5, arbitrary: time },
  { weight: 3, arbitrary: mistaken },
  fc.constantFrom('', '6 May 2024', 'May 6, 2024 07:08', '2024', '2024-05', '+002024-05-06T00:00Z', '1715000000', 'null'),
)

test('what is read off the bytes of a text is what Date.parse gives', () => {
  let read = 0
  fc.assert(
    fc.property(texts, fc.constantFrom('', '0', ':00Z', 'Z', '2'), (text, behind) => {
      const bytes = new TextEncoder().encode(`9${text}${behind}`) // other texts lie around it
      const found = isoTime(bytes, 1, bytes.length - behind.length)
      if (Number.isNaN(found)) {
        expect(FORM.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text), text).toBe(false)
        return
      }
      read++
      expect(found, text).toBe(Date.parse(text))
    }),
    { ...RUN, numRuns: 20 * RUN.numRuns },
  )
  if (RUN.numRuns >= 50) expect(read).toBeGreaterThan(3 * RUN.numRuns)
})

/** The forms that are read without Date.parse. */
const FORM = /^\d{4}-\d\d-\d\d(T([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$/

/** Whether the month has the day: JavaScript takes 30 February for 1 or 2 March. */
function isDay(text: string): boolean {
  const start = new Date(`${text.slice(0, 10)}T00:00Z`)
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text.slice(0, 10))
}

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface Row {
  readonly at: string
  readonly maybe: string | null
  readonly n: number
}

test('functions of rows make of texts the times that JavaScript makes', async () => {
  const counts = { few: 0, invalid: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(texts, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(1, 1, 3, 40),
      fc.constantFrom('memory', 'batches'),
      async (some, times, from) => {
        const rows = Array.from(
          { length: some.length * times },
          (_, i): Row => ({
            at: some[i % some.length] as string,
            maybe: i % 5 === 2 ? null : (some[(i * 7) % some.length] as string),
            n: i,
          }),
        )
        const table = from === 'memory' ? session.fromRows(rows) : session.fromRows(rows).mapPartitions((part) => part)
        const read = (r: Row) => ({
          parsed: Date.parse(r.at),
          year: new Date(r.at).getUTCFullYear(),
          hour: new Date(r.at).getHours(),
          ms: new Date(r.maybe as string).getTime(),
          ofMaybe: Date.parse(r.maybe as string),
        })
        expect(await table.map(read).collect()).toEqual(rows.map(read))
        expect(await table.filter((r) => new Date(r.at) >= new Date('2000-01-01T00:00Z')).collect()).toEqual(
          rows.filter((r) => new Date(r.at) >= new Date('2000-01-01T00:00Z')),
        )
        const values = session.fromRows(rows.map((r) => r.at))
        expect(await values.filter((at) => Date.parse(at) % 2 === 0).collect()).toEqual(
          rows.map((r) => r.at).filter((at) => Date.parse(at) % 2 === 0),
        )
        const isInvalid = rows.some((r) => Number.isNaN(Date.parse(r.at)))
        const dates = table.map((r) => ({ at: new Date(r.at) })).collect()
        if (isInvalid) await expect(dates).rejects.toThrow('invalid')
        else expect(await dates).toEqual(rows.map((r) => ({ at: new Date(r.at) })))
        if (times === 40) counts.few++
        if (isInvalid) counts.invalid++
      },
    ),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 4) },
  )
  if (RUN.numRuns >= 500) expect(Math.min(counts.few, counts.invalid)).toBeGreaterThan(RUN.numRuns / 50)
}, 600_000)
