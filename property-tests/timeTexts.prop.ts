/**
 * Times as texts: what `formatTime` writes is what DuckDB's `strftime` writes of the clock's time, and what `parseTime` reads is
 * what plain JavaScript makes of the same numbers, with clocks that `Intl` tells: no 30th of February, of two instants that show
 * a time the first, and of a time that is skipped as long behind the jump. Kernels, which ask once for each text, say the same.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { Expr, FunctionIr } from '../src/core/ir/functionIr.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { formatTime, parseTime } from '../src/core/time/texts.ts'
import { zoneNamed } from '../src/core/time/zone.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { returnedElement } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { literal, span } from './arbitraries/irNodes.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { shown } from './shownTime.ts'

const run = announcedRun('timeTexts.prop.ts')
const arena = lawArena(2 ** 26)
const pool = createPool({
  workers: 1,
  arena,
  handlers: { url: new URL('../src/session/taskHandlers.ts', import.meta.url).href, table: HANDLERS },
})
const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
const instance = await DuckDBInstance.create(':memory:')
const duckdb = await instance.connect()
await duckdb.run("SET TimeZone = 'UTC'")
afterAll(async () => {
  duckdb.closeSync()
  instance.closeSync()
  await pool.stop()
})

const ZONES = [
  undefined,
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'America/St_Johns',
]
const zones = fc.constantFrom(...ZONES)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const options = (zone: string | undefined) => (zone === undefined ? {} : { zone })

/** From 1973 on clocks are ahead by quarters of hours. */
function instantsIn(zone: string | undefined): fc.Arbitrary<number> {
  const any = fc.integer({ min: Date.UTC(1973, 0, 10), max: Date.UTC(2049, 0) })
  const clock = zoneNamed(zone, 'the law')
  const change = clock === undefined ? any : any.map((ms) => clock.at(ms).to)
  const near = fc.tuple(change, fc.integer({ min: -2 * HOUR, max: 2 * HOUR })).map(([at, by]) => at + by)
  return clock === undefined ? fc.oneof(any, fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 0) })) : fc.oneof(any, near, near)
}

/** With one directive at least, as formats need. DuckDB has another letter for milliseconds. */
const directives = fc.constantFrom(...'YymbBdjHMSLf'.split('').map((letter) => `%${letter}`))
const written = fc
  .tuple(fc.array(fc.oneof(directives, fc.constantFrom('%%', '-', 'T', ' (x) ', '.*', ' ')), { maxLength: 8 }), directives, fc.nat(8))
  .map(([pieces, one, at]) => pieces.toSpliced(at, 0, one))

test('times are written as DuckDB writes what the clock shows', async () => {
  const cases = zones.chain((zone) =>
    fc.record({ zone: fc.constant(zone), times: fc.array(instantsIn(zone), { minLength: 5, maxLength: 5 }), pieces: written }),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ({ zone, times, pieces }) => {
      const clock = zone === undefined ? 'epoch_ms(ms)' : `timezone('${zone}', epoch_ms(ms)::TIMESTAMPTZ)`
      const format = pieces.map((piece) => (piece === '%L' ? '%g' : piece)).join('')
      const reader = await duckdb.runAndReadAll(
        `SELECT strftime(${clock}, '${format}') FROM (SELECT unnest([${times.join(', ')}]::BIGINT[]) AS ms)`,
      )
      const expected = reader.getRows().map(([text]) => String(text))
      expect(times.map((ms) => formatTime(new Date(ms), pieces.join(''), options(zone)))).toEqual(expected)
    }),
    run,
  )
})

const two = (value: number): string => String(value).padStart(2, '0')

/** Numbers that tell a time, and now and then none; `at` is the time that they begin with. */
function fieldsOfTime(at: number) {
  const date = new Date(at)
  const near = (value: number, odd: readonly number[]) => fc.oneof({ weight: 12, arbitrary: fc.constant(value) }, fc.constantFrom(...odd))
  return fc.record({
    year: fc.constant(date.getUTCFullYear()),
    month: near(date.getUTCMonth() + 1, [0, 2, 13]),
    day: near(date.getUTCDate(), [0, 1, 29, 30, 31, 32]),
    hour: near(date.getUTCHours(), [0, 24]),
    minute: near(date.getUTCMinutes(), [60, 0]),
    second: near(date.getUTCSeconds(), [60]),
    ms: fc.constant(date.getUTCMilliseconds()),
  })
}
type Fields = ReturnType<typeof fieldsOfTime> extends fc.Arbitrary<infer F> ? F : never

const NAMES = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const LONG = 'January February March April May June July August September October November December'.split(' ')
const SENT: readonly { readonly format: string; readonly text: (fields: Fields) => string; readonly has: 'all' | 'minutes' | 'days' }[] = [
  {
    format: '%Y-%m-%dT%H:%M:%S.%L',
    has: 'all',
    text: (f) =>
      `${f.year}-${two(f.month)}-${two(f.day)}T${two(f.hour)}:${two(f.minute)}:${two(f.second)}.${String(f.ms).padStart(3, '0')}`,
  },
  { format: '%d.%m.%y %H:%M', has: 'minutes', text: (f) => `${f.day}.${f.month}.${two(f.year % 100)} ${f.hour}:${f.minute}` },
  { format: '%B %d, %Y', has: 'days', text: (f) => `${(LONG[f.month - 1] ?? 'Brumaire').toUpperCase()} ${f.day}, ${f.year}` },
  {
    format: '%b%%%d %Y %H:%M:%S,%f',
    has: 'all',
    text: (f) =>
      `${NAMES[f.month - 1] ?? 'Jän'}%${two(f.day)} ${f.year} ${two(f.hour)}:${two(f.minute)}:${two(f.second)},${String(f.ms).padStart(3, '0')}987`,
  },
  { format: '%Y%m%d', has: 'days', text: (f) => `${f.year}${two(f.month)}${two(f.day)}` },
  {
    format: '%j/%Y',
    has: 'days',
    text: (f) => `${Math.round((Date.UTC(2000, f.month - 1, f.day) - Date.UTC(2000, 0)) / DAY) + 1}/${f.year}`,
  },
]

/** The time that the fields tell, as if it were one in UTC, by JavaScript; undefined where they are not those of the Date that it makes. */
function civil(fields: Fields, { has, format }: (typeof SENT)[number]): number | undefined {
  const [hour, minute] = has === 'days' ? [0, 0] : [fields.hour, fields.minute]
  const [second, ms] = has === 'all' ? [fields.second, fields.ms] : [0, 0]
  if (format === '%j/%Y') {
    const day = Math.round((Date.UTC(2000, fields.month - 1, fields.day) - Date.UTC(2000, 0)) / DAY) + 1
    const found = new Date(Date.UTC(fields.year, 0, day))
    return day >= 1 && found.getUTCFullYear() === fields.year ? found.getTime() : undefined
  }
  const date = new Date(Date.UTC(fields.year, fields.month - 1, fields.day, hour, minute, second, ms))
  const isSame = date.getUTCMonth() === fields.month - 1 && date.getUTCDate() === fields.day && date.getUTCHours() === hour
  return isSame && date.getUTCMinutes() === minute && date.getUTCSeconds() === second ? date.getTime() : undefined
}

/** The first instant that shows the time; of one that is skipped what the clock before the jump would have said. */
function instant(time: number, zone: string): number {
  for (let ahead = 26 * HOUR; ahead >= -26 * HOUR; ahead -= 15 * MINUTE) if (shown(time - ahead, zone) === time) return time - ahead
  const before = time - 26 * HOUR
  return time - (shown(before, zone) - before)
}

const ROWS = 8

/** What kernels over columns make of texts, some of them null. */
async function ofKernels(texts: readonly (string | null)[], format: string, zone: string | undefined): Promise<readonly (Date | null)[]> {
  const source = sourceFromRows(
    texts.map((text) => ({ text })),
    { memory: tableMemory(arena, { fewestRows: 0, coded: true }) },
  )
  const columns = fieldsOf(source.element).map(({ name }) => name)
  const scan: LogicalPlan = { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
  const of: Expr = { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name: 'text', optional: false, span }
  const value: Expr = { kind: 'Call', callee: 'parseTime', args: [of, literal(format), literal(zone ?? null)], span }
  const ir: FunctionIr = { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span }], parameters: [], tables: [], uses: [] }
  const f = { original: () => undefined, text: 'f', span, ir, refusals: [] }
  const element = returnedElement(f, { kind: 'row', method: 'map', inputs: [scan.element] })
  const plan: LogicalPlan = { kind: 'Map', input: scan, f, element, keys: scan.keys }
  const result = await executor.table(plan)
  const batches = result === undefined ? await executor.execute(plan) : [result]
  if (result !== undefined) compiled++
  const values = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i) as Date | null))
  for (const one of result?.columns ?? []) freeColumn(one, arena)
  return values
}
let compiled = 0

test('times are read as JavaScript has them, by the clock of their zone', async () => {
  compiled = 0
  const cases = zones.chain((zone) =>
    fc.record({
      zone: fc.constant(zone),
      how: fc.constantFrom(...SENT),
      // what a clock shows, or would if it were not set
      rows: fc.array(
        fc
          .tuple(
            instantsIn(zone).filter((ms) => ms > Date.UTC(1973, 0, 10) && ms < Date.UTC(2049, 0)),
            fc.boolean(),
            fc.constantFrom(0, HOUR),
          )
          .chain(([ms, isNull, by]) =>
            fieldsOfTime((zone === undefined ? ms : shown(ms, zone)) + by).map((fields) => ({ fields, isNull })),
          ),
        { minLength: ROWS, maxLength: ROWS },
      ),
    }),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ({ zone, how, rows }) => {
      const expected = rows.map(({ fields }) => {
        const time = civil(fields, how)
        return time === undefined ? null : new Date(zone === undefined ? time : instant(time, zone))
      })
      const texts = rows.map(({ fields }) => how.text(fields))
      expect(
        texts.map((text) => parseTime(text, how.format, options(zone))),
        `${zone}: ${texts.join(' | ')}`,
      ).toEqual(expected)
      const some = texts.map((text, i) => (rows[i]?.isNull === true && i > 0 ? null : text))
      expect(await ofKernels(some, how.format, zone)).toEqual(some.map((text, i) => (text === null ? null : expected[i])))
    }),
    run,
  )
  console.log(`times of texts in kernels: ${compiled}`)
  expect(compiled).toBeGreaterThan(run.numRuns * 0.5)
})

test('what is written with an offset is read as the same instant', () => {
  const cases = zones.chain((zone) => fc.tuple(fc.constant(zone), instantsIn(zone), fc.constantFrom(...ZONES)))
  fc.assert(
    fc.property(cases, ([zone, ms, other]) => {
      const format = '%H:%M:%S.%f %z, %d %B %Y'
      const text = formatTime(new Date(ms), format, options(zone))
      expect(parseTime(text, format, options(other))?.toISOString(), text).toBe(new Date(ms).toISOString())
    }),
    run,
  )
})
