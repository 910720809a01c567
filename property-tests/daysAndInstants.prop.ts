/**
 * Columns of dates and of timestamps hold Dates: where both come together a day is its first instant in UTC, whichever side has it.
 * Joins, as-of joins, unions, and what is grouped, sorted and made distinct of those, are as over arrays of Dates.
 */
import { DateDay, Field, Schema, Timestamp, type TimeUnit } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../src/index.ts'
import { spillingAlways } from '../src/session/sessionParts.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('daysAndInstants.prop.ts')
const DAY = 86_400_000

interface Row {
  readonly at: Date | null
}

const sessions: Session[] = []
beforeAll(async () => {
  sessions.push(await Session.start({ workers: 1, progress: false }), await Session.start({ workers: 2, progress: false }))
  sessions.push(await Session.start({ workers: 1, progress: false, ...spillingAlways({ partBytes: 1_000, parts: 3 }) }))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const days = fc.array(
  fc.option(
    fc.integer({ min: -3, max: 5 }).map((day) => new Date(day * DAY)),
    { nil: null, freq: 8 },
  ),
  { maxLength: 25 },
)
const moments = fc.tuple(fc.integer({ min: -3, max: 5 }), fc.constantFrom(0, 0, 1000, -1000)).map(([day, off]) => new Date(day * DAY + off))
const instants = fc.array(fc.option(moments, { nil: null, freq: 8 }), { maxLength: 25 })
const tables = fc.record({
  days,
  instants,
  /** Seconds to nanoseconds. */
  unit: fc.constantFrom<TimeUnit>(0, 1, 2, 3),
  daysFirst: fc.boolean(),
  session: fc.nat(2),
})

interface Both {
  readonly left: readonly Row[]
  readonly right: readonly Row[]
  readonly leftTable: DistArray<Row>
  readonly rightTable: DistArray<Row>
}

function bothOf({ days, instants, unit, daysFirst, session: number }: typeof tables extends fc.Arbitrary<infer T> ? T : never): Both {
  const session = sessions[number] as Session // three
  const sides = [
    { rows: days.map((at) => ({ at })), type: new DateDay() },
    { rows: instants.map((at) => ({ at })), type: new Timestamp(unit, null) },
  ].map(({ rows, type }) => ({ rows, table: session.fromRows<Row>(rows, { schema: new Schema([new Field('at', type, true)]) }) }))
  const [left, right] = (daysFirst ? sides : sides.reverse()) as [(typeof sides)[0], (typeof sides)[0]] // two
  return { left: left.rows, right: right.rows, leftTable: left.table, rightTable: right.table }
}

const time = ({ at }: Row): number | null => at?.getTime() ?? null
const meet = (l: Row, r: Row): boolean => l.at !== null && time(l) === time(r)

test('joins of days and instants', async () => {
  await fc.assert(
    fc.asyncProperty(tables, fc.constantFrom('inner', 'left', 'full', 'semi', 'anti'), fc.boolean(), async (drawn, how, byFunctions) => {
      const { left, right, leftTable, rightTable } = bothOf(drawn)
      const numbered = { left: leftTable.map((r, [a]) => ({ at: r.at, a })), right: rightTable.map((r, [b]) => ({ at: r.at, b })) }
      const on = byFunctions ? { left: (r: Row) => [r.at], right: (r: Row) => [r.at] } : ('at' as const)
      const joined = await numbered.left.join(numbered.right, on, { how }).collect()
      const pairs = left.flatMap((l, a): readonly (readonly [number | null, number | null])[] => {
        const found = right.flatMap((r, b) => (meet(l, r) ? [[a, b] as const] : []))
        if (how === 'semi' || how === 'anti') return found.length > 0 === (how === 'semi') ? [[a, null]] : []
        return found.length === 0 && how !== 'inner' ? [[a, null]] : found
      })
      const rest = how === 'full' ? right.flatMap((r, b) => (left.some((l) => meet(l, r)) ? [] : [[null, b] as const])) : []
      const all = [...pairs, ...rest]
      expect(joined.map((row) => [row.a ?? null, ('b' in row ? row.b : null) ?? null])).toEqual(all)
      const ats = all.map(([a, b]) => (a === null ? (byFunctions ? null : right[b ?? 0]?.at) : left[a]?.at))
      expect(joined.map((row) => row.at)).toEqual(ats)
    }),
    RUN,
  )
})

test('as of days and instants', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (drawn) => {
      const { left, right, leftTable, rightTable } = bothOf(drawn)
      const found = await leftTable
        .joinAsof(
          rightTable.map((r, [b]) => ({ at: r.at, b })),
          { on: 'at' },
        )
        .collect()
      const before = (l: Row): readonly number[] =>
        [...right.keys()].filter((b) => l.at !== null && (time(right[b] as Row) ?? Infinity) <= l.at.getTime())
      const nearest = (l: Row): number | null =>
        before(l).reduce<number | null>(
          (best, b) => (best !== null && (time(right[best] as Row) ?? 0) > (time(right[b] as Row) ?? 0) ? best : b),
          null,
        )
      expect(found.map((row) => row.b ?? null)).toEqual(left.map(nearest))
    }),
    RUN,
  )
})

test('days above instants, and instants above days', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (drawn) => {
      const { left, right, leftTable, rightTable } = bothOf(drawn)
      const union = leftTable.union(rightTable)
      const rows = [...left, ...right]
      expect(await union.collect()).toEqual(rows)
      const firsts = rows.filter((row, i) => rows.findIndex((other) => time(other) === time(row)) === i)
      expect(await union.distinct().collect()).toEqual(firsts)
      const counted = firsts.map(({ at: key }) => ({ key, count: rows.filter((row) => time(row) === (key?.getTime() ?? null)).length }))
      expect(
        await union
          .groupBy((r) => r.at)
          .count()
          .collect(),
      ).toEqual(counted)
      const sorted = [...rows].sort((a, b) => (time(a) ?? Infinity) - (time(b) ?? Infinity) || 0)
      expect(await union.sortBy((r) => r.at).collect()).toEqual(sorted)
      const noon = new Date(DAY / 2)
      expect(await union.filter((r) => r.at !== null && r.at >= noon).count()).toBe(
        rows.filter((r) => r.at !== null && r.at >= noon).length,
      )
    }),
    RUN,
  )
})
