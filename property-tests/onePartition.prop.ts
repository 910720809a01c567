/**
 * Windows and as-of joins without `by`, which no hash cuts into parts, and windows with few and large partitions, give by way of disk what they give in memory, to the bit, whatever
 * types, nulls, NaN and ties are in the rows, and however small the parts are.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  all,
  any,
  count,
  type DistArray,
  denseRank,
  firstValue,
  lag,
  lastValue,
  lead,
  max,
  mean,
  min,
  ntile,
  percentRank,
  rank,
  rowNumber,
  Session,
  sum,
  type WindowFunction,
} from '../src/index.ts'
import { spillingAlways } from '../src/session/sessionParts.ts'
import { type Row, rows, rowsOrNone, type TypedRow, typedTableOf } from './duckdbRows.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('onePartition.prop.ts')

let inMemory: Session
const spilling: Session[] = []
/** How often what goes by way of disk did. */
const spilled: Record<string, number> = {}
beforeAll(async () => {
  inMemory = await Session.start({ workers: 1, progress: false })
  // of a byte, so that whatever can be cut is; of some rows; and of all
  for (const [partBytes, parts] of [[1, 4] as const, [1000, 3] as const, [10 ** 9, 2] as const])
    spilling.push(await Session.start({ workers: 1, progress: false, ...spillingAlways({ partBytes, parts }) }))
  for (const session of spilling)
    session.events.subscribe((event) => {
      if (event.kind === 'spill') spilled[event.operator] = (spilled[event.operator] ?? 0) + 1
    })
})
afterAll(async () => {
  for (const session of [inMemory, ...spilling]) await session.stop()
})

/** Very different sizes, so that sums in another order have other bits. */
const rough = (r: TypedRow): number | null => (r.v === null ? null : r.v * 10 ** (r.id % 9))
const ORDERS = {
  ...{ o: (r: TypedRow) => r.o, ts: (r: TypedRow) => r.ts, s: (r: TypedRow) => r.s, n: (r: TypedRow) => r.n, b: (r: TypedRow) => r.b },
  ...{ day: (r: TypedRow) => r.day, v: (r: TypedRow) => r.v, gk: (r: TypedRow) => [r.g, r.k], l: (r: TypedRow) => r.l, none: undefined },
}
const UNITS: Readonly<Record<string, number>> = { o: 1, ts: 3_600_000, day: 86_400_000, v: 0.5 }

const PLACED: Readonly<Record<string, WindowFunction<TypedRow, unknown>>> = {
  ...{ number: rowNumber(), tile: ntile(3), lag: lag((r: TypedRow) => r.l, 2), lead: lead((r: TypedRow) => r.s) },
}
const RANKS: typeof PLACED = { rank: rank(), dense: denseRank(), percent: percentRank() }
const FRAMED: typeof PLACED = {
  ...{ sum: sum(rough), mean: mean(rough), least: min((r: TypedRow) => r.v), most: max((r: TypedRow) => r.s), all: count() },
  ...{ known: count((r: TypedRow) => r.o), first: firstValue((r: TypedRow) => r.l), last: lastValue((r: TypedRow) => r.n) },
  ...{ early: firstValue((r: TypedRow) => r.ts, { ignoreNulls: true }), late: lastValue((r: TypedRow) => r.m, { ignoreNulls: true }) },
  ...{ some: any((r: TypedRow) => r.b), every: all((r: TypedRow) => r.b), day: max((r: TypedRow) => r.day) },
  ...{ whole: sum((r: TypedRow) => (r.n === null ? null : r.n / 1024n)), truth: sum((r: TypedRow) => r.u) },
}

const end = fc.option(fc.integer({ min: -4, max: 4 }))
const KEYS = {
  ...{
    none: undefined,
    g: (r: TypedRow) => r.g,
    b: (r: TypedRow) => r.b,
    bu: (r: TypedRow) => [r.b, r.u],
    one: () => 1,
    l: (r: TypedRow) => r.l,
  },
}

const over = fc.record({
  by: fc.constantFrom('none', 'none', ...(Object.keys(KEYS) as (keyof typeof KEYS)[])),
  order: fc.constantFrom(...(Object.keys(ORDERS) as (keyof typeof ORDERS)[])),
  descending: fc.boolean(),
  frame: fc.constantFrom('rows' as const, 'range' as const, undefined),
  ends: fc.tuple(end, end).map(([a, b]) => (a !== null && b !== null && a > b ? [b, a] : [a, b])),
  isKeyed: fc.boolean(),
})

/** Values, and the keys that they have. */
async function outcome(table: DistArray<unknown>): Promise<unknown> {
  const found: unknown[] = []
  return await table.forEach((value, key) => void found.push([key, value])).then(() => found, String)
}

test('windows that are one partition, or a few', async () => {
  await fc.assert(
    fc.asyncProperty(rows, over, fc.nat(2), async (given, { by, order, descending, frame: kind, ends, isKeyed }, which) => {
      const unit = UNITS[order]
      const scaled = kind === 'range' ? ends.map((one) => (one === null ? null : one * (unit ?? 0))) : ends
      const frame = kind === undefined || (kind === 'range' && order === 'none') ? {} : { frame: { [kind]: scaled } }
      const calls = { ...PLACED, ...(order === 'none' ? {} : RANKS), ...FRAMED }
      const windowOf = (session: Session): DistArray<unknown> => {
        const orderBy = ORDERS[order]
        const table = typedTableOf(session, given)
        const keyed = isKeyed ? (table.index((r) => [99 - r.id]) as unknown as typeof table) : table
        return keyed.window(
          { ...(KEYS[by] && { by: KEYS[by] }), ...(orderBy === undefined ? {} : { orderBy, descending }), ...frame } as never,
          calls as Record<string, WindowFunction<TypedRow, unknown>>,
        )
      }
      expect(await outcome(windowOf(spilling[which] as Session))).toStrictEqual(await outcome(windowOf(inMemory)))
    }),
    LAW,
  )
  expect(spilled.WindowExec).toBeGreaterThan(LAW.numRuns / 2)
})

test('as-of joins by an order alone', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...[rowsOrNone, rowsOrNone],
      fc.record({
        on: fc.constantFrom('o', 'ts', 'day', 'v', 'n', 'u', 's', 'm'),
        direction: fc.constantFrom('backward' as const, 'forward' as const, 'nearest' as const),
        tolerance: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
        which: fc.nat(2),
      }),
      async (left, right, { on, direction, tolerance, which }) => {
        const isMeasured = on !== 's'
        const options = {
          ...{ on, direction: direction === 'nearest' && !isMeasured ? 'backward' : direction },
          ...(tolerance === undefined || !isMeasured ? {} : { tolerance: tolerance * (UNITS[on] ?? 1) }),
        }
        const joined = (session: Session): DistArray<unknown> =>
          typedTableOf(session, left).joinAsof(typedTableOf(session, right as readonly Row[]), options as { readonly on: 'o' })
        expect(await outcome(joined(spilling[which] as Session))).toStrictEqual(await outcome(joined(inMemory)))
      },
    ),
    LAW,
  )
  expect(spilled.AsofJoinExec).toBeGreaterThan(LAW.numRuns / 2)
})
