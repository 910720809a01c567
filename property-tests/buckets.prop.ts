/**
 * Buckets of time: in UTC those of DuckDB's `time_bucket`; in zones those of days and longer that DuckDB has (its ICU), where
 * clocks are not set around midnight, and everywhere those of the dullest reference, which asks `Intl` for the clock minute
 * after minute. Instants lie around changes of clocks, starts of buckets and years.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { makeData, makeVector, Table, TimestampMillisecond } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { Expr, FunctionIr } from '../src/core/ir/functionIr.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { bucket } from '../src/core/time/bucket.ts'
import type { Every } from '../src/core/time/every.ts'
import { zoneNamed } from '../src/core/time/zone.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromArrow } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { returnedElement } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { literal, span } from './arbitraries/irNodes.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { shown } from './shownTime.ts'

const run = announcedRun('buckets.prop.ts')
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

const HOUR = 3_600_000
const DAY = 24 * HOUR
const ROWS = 21

/** Clocks are set at 1, 2 or 3 at night. */
const PLAIN_ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Europe/London',
  'Australia/Adelaide',
  'Pacific/Chatham',
  'Asia/Kolkata',
  'Pacific/Auckland',
]
/** They are set around midnight, by a day, in the month of fasting, or by halves of hours. */
const ODD_ZONES = [
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/St_Johns',
  'America/Sao_Paulo',
  'America/Havana',
  'Africa/Cairo',
  'Pacific/Apia',
  'Africa/Casablanca',
  'Asia/Gaza',
  'Asia/Tehran',
  'America/Caracas',
  'Pacific/Kwajalein',
  'Asia/Beirut',
  'Antarctica/Troll',
]

const count = (most: number) => fc.oneof(fc.constant(1), fc.integer({ min: 1, max: most }))
const everyOf = (...units: readonly (readonly [unit: string, most: number])[]): fc.Arbitrary<Every> =>
  fc.constantFrom(...units).chain(([unit, most]) => count(most).map((n) => `${n} ${unit}${n === 1 ? '' : 's'}` as Every))
const clocks = everyOf(['second', 100], ['minute', 100], ['hour', 30])
const days = everyOf(['day', 40], ['week', 6], ['month', 15], ['quarter', 7], ['year', 12])

/** Instants from 1973 on, when clocks were set by whole minutes: around changes, in days and beside them. */
function instantsIn(zone: string | undefined): fc.Arbitrary<number> {
  const any = fc.integer({ min: Date.UTC(1973, 0, 10), max: Date.UTC(2049, 0) })
  const clock = zoneNamed(zone, 'the law')
  const change = clock === undefined ? any : any.map((ms) => clock.at(ms).to)
  return fc.oneof(
    any,
    fc
      .tuple(
        change,
        fc.constantFrom(0, -1, 1, -HOUR, HOUR, HOUR / 2, 2 * HOUR - 1, -3 * HOUR),
        fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
      )
      .map(([at, by, more]) => at + by + (by === 0 || by === 1 || by === -1 ? 0 : more)),
    fc.tuple(change, fc.integer({ min: -30 * HOUR, max: 30 * HOUR })).map(([at, by]) => at + by),
  )
}
const wide = fc.oneof(
  fc.integer({ min: Date.UTC(1500, 0), max: Date.UTC(2500, 0) }),
  fc
    .tuple(fc.integer({ min: 1600, max: 2400 }), fc.integer({ min: 0, max: 11 }), fc.integer({ min: -2, max: 2 }))
    .map(([year, month, off]) => Date.UTC(year, month) + off),
  fc.tuple(fc.integer({ min: -20_000, max: 20_000 }), fc.integer({ min: -2, max: 2 })).map(([week, off]) => week * 7 * DAY + 4 * DAY + off),
)

interface Case {
  readonly zone: string | undefined
  readonly every: Every
  readonly times: readonly number[]
  readonly nulls: readonly boolean[]
}
function casesIn(
  zones: readonly (string | undefined)[],
  every: fc.Arbitrary<Every>,
  times: (zone: string | undefined) => fc.Arbitrary<number>,
): fc.Arbitrary<Case> {
  return fc.constantFrom(...zones).chain((zone) =>
    fc.record({
      zone: fc.constant(zone),
      every,
      times: fc.array(times(zone), { minLength: ROWS, maxLength: ROWS }),
      nulls: fc.array(fc.boolean(), { minLength: ROWS, maxLength: ROWS }),
    }),
  )
}

const column = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })

/** What kernels over columns give, for a column without nulls and one with some. */
async function ofKernels({ zone, every, times, nulls }: Case): Promise<readonly { readonly t: Date; readonly u: Date | null }[]> {
  const nullBitmap = new Uint8Array(64)
  for (const [i, isNull] of nulls.entries()) if (!isNull) nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7))
  const data = BigInt64Array.from(times, BigInt)
  const table = new Table({
    t: makeVector(makeData({ type: new TimestampMillisecond(), data })),
    u: makeVector(makeData({ type: new TimestampMillisecond(), data, nullBitmap })),
  } as never)
  const source = sourceFromArrow(table, { memory: tableMemory(arena, { fewestRows: 0, coded: false }) })
  const columns = fieldsOf(source.element).map(({ name }) => name)
  const scan: LogicalPlan = { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
  const call = (of: string): Expr => ({ kind: 'Call', callee: 'bucket', args: [column(of), literal(every), literal(zone ?? null)], span })
  const value: Expr = { kind: 'ObjectLiteral', fields: ['t', 'u'].map((name) => ({ name, value: call(name) })), span }
  const ir: FunctionIr = { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span }], parameters: [], tables: [], uses: [] }
  const f = { original: () => undefined, text: 'f', span, ir, refusals: [] }
  const element = returnedElement(f, { kind: 'row', method: 'map', inputs: [scan.element] })
  const result = await executor.table({ kind: 'Map', input: scan, f, element, keys: scan.keys })
  if (result === undefined) throw new Error('kernels over columns do not have it')
  const read = rowReader(result)
  const rows = Array.from({ length: ROWS }, (_, i) => read(i) as { readonly t: Date; readonly u: Date | null })
  for (const one of result.columns) freeColumn(one, arena)
  return rows
}

/** The function and the kernels agree; what they give. */
async function found(one: Case): Promise<readonly number[]> {
  const options = { every: one.every, ...(one.zone === undefined ? {} : { zone: one.zone }) }
  const starts = one.times.map((ms) => bucket(new Date(ms), options))
  const rows = await ofKernels(one)
  expect(rows).toEqual(starts.map((start, i) => ({ t: start, u: one.nulls[i] === true ? null : start })))
  return starts.map(Number)
}

async function ofDuckdb({ zone, every, times }: Case): Promise<readonly number[]> {
  const list = times.join(', ')
  const at = zone === undefined ? 'epoch_ms(ms)' : `epoch_ms(ms)::TIMESTAMPTZ, '${zone}'`
  const reader = await duckdb.runAndReadAll(
    `SELECT epoch_ms(time_bucket(INTERVAL '${every}', ${at})) FROM (SELECT unnest([${list}]::BIGINT[]) AS ms)`,
  )
  return reader.getRows().map(([start]) => Number(start))
}

const texts = (times: readonly number[]): readonly string[] => times.map((ms) => new Date(ms).toISOString())

test('buckets in UTC are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(
      casesIn([undefined], fc.oneof(clocks, days, everyOf(['millisecond', 5000])), () => wide),
      async (one) => {
        expect(texts(await found(one))).toEqual(texts(await ofDuckdb(one)))
      },
    ),
    run,
  )
})

test('buckets of days and longer are those of DuckDB where clocks are not set around midnight', async () => {
  await fc.assert(
    fc.asyncProperty(
      casesIn(PLAIN_ZONES, days, (zone) => instantsIn(zone)),
      async (one) => {
        expect(texts(await found(one)), one.zone).toEqual(texts(await ofDuckdb(one)))
      },
    ),
    run,
  )
})

const MONTHS: Readonly<Record<string, number>> = { month: 1, quarter: 3, year: 12 }
const LENGTHS: Readonly<Record<string, number>> = { second: 1000, minute: 60_000, hour: HOUR, day: DAY, week: 7 * DAY }

/** The start of a bucket on a clock that is never set. */
function steadyStart(ms: number, every: Every): number {
  const [digits = '', unit = ''] = every.split(' ')
  const months = MONTHS[unit.replace(/s$/, '')]
  if (months === undefined) {
    const length = Number(digits) * (LENGTHS[unit.replace(/s$/, '')] ?? Number.NaN)
    return Math.floor((ms - Date.UTC(2000, 0, 3)) / length) * length + Date.UTC(2000, 0, 3)
  }
  const [date, length] = [new Date(ms), Number(digits) * months]
  const month = (date.getUTCFullYear() - 2000) * 12 + date.getUTCMonth()
  return Date.UTC(2000, Math.floor(month / length) * length)
}

/** Looks at the clock every quarter of an hour, and then each second, for the first instant that shows a time or a later one. */
function firstShowing(time: number, zone: string): number {
  let at = time - 26 * HOUR
  while (shown(at, zone) < time) at += HOUR / 4
  at -= HOUR / 4
  while (shown(at, zone) < time) at += 60_000
  return at
}

/** Looks at the clock backwards, minute after minute or at smaller steps, for one at which it shows a multiple, or jumps over one. */
function lastMultiple(ms: number, every: Every, zone: string): number {
  const [digits = '', unit = ''] = every.split(' ')
  const step = unit.startsWith('second') ? 1000 : 60_000
  const isFine = unit.startsWith('second') && Number(digits) < 60
  for (let at = Math.floor(ms / step) * step; ; at -= step) {
    const clock = shown(at, zone)
    if (steadyStart(clock, every) === clock) return at
    // seconds are asked one by one, and changes come at full minutes
    if ((!isFine || at % 60_000 === 0) && steadyStart(clock, every) > steadyStart(shown(at - 1, zone), every)) return at
  }
}

test('buckets in time zones begin where their clocks say so', async () => {
  const zones = [...ODD_ZONES, ...PLAIN_ZONES]
  const every = fc.oneof({ weight: 3, arbitrary: clocks }, { weight: 2, arbitrary: days })
  await fc.assert(
    fc.asyncProperty(
      casesIn(zones, every, (zone) => instantsIn(zone)),
      async (one) => {
        const zone = one.zone as string // all have one
        const starts = await found(one)
        for (const [i, ms] of one.times.slice(0, 3).entries()) {
          const isClock = /second|minute|hour/.test(one.every)
          const expected = isClock ? lastMultiple(ms, one.every, zone) : firstShowing(steadyStart(shown(ms, zone), one.every), zone)
          const start = starts[i] as number // one for each
          expect(new Date(start).toISOString(), `${new Date(ms).toISOString()} by ${one.every} in ${zone}`).toBe(
            new Date(expected).toISOString(),
          )
        }
        // later instants are in later buckets, or in the same: by clocks always, by dates unless one comes twice
        if (!/second|minute|hour/.test(one.every)) return
        const ordered = one.times.map((ms, i) => [ms, starts[i] as number] as const).sort((a, b) => a[0] - b[0])
        for (const [i, [, start]] of ordered.entries()) expect(start).toBeGreaterThanOrEqual(ordered[i - 1]?.[1] ?? start)
      },
    ),
    run,
  )
})
