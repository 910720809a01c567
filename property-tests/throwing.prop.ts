/**
 * Law: functions of rows that may throw (`throw`, a field of what a captured Map or list does not have) give over columns what plain
 * JavaScript gives of the same rows, and throw where it throws, with the message of a row for which it does: in filters, maps, keys,
 * aggregates and orders, whatever the action looks at, in rows that filters before them leave.
 */
import { Field, Float64, Int32, Schema, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const LAW = announcedRun('throwing.prop.ts')
const FEW_RUNS = 500
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
const memory = tableMemory(arena, { fewestRows: 0, coded: true })
afterAll(stop)

interface Row {
  readonly i: number
  readonly o: number | null
  readonly s: string
}

const SCHEMA = new Schema([new Field('i', new Int32(), false), new Field('o', new Float64(), true), new Field('s', new Utf8(), false)])
const row: fc.Arbitrary<Row> = fc.record(
  { i: fc.integer({ min: 0, max: 9 }), o: fc.option(fc.integer({ min: -3, max: 9 }), { freq: 4 }), s: fc.constantFrom('a', 'b', 'c') },
  { noNullPrototype: true },
)
const info = fc.record({ rate: fc.integer({ min: -2, max: 5 }), name: fc.constantFrom('x', 'y', '') }, { noNullPrototype: true })
const held = fc.record(
  {
    byNumber: fc.array(info, { minLength: 8, maxLength: 11 }).map((all) => new Map(all.map((one, i) => [i, one]))),
    byText: fc.array(info, { minLength: 2, maxLength: 3 }).map((all) => new Map(all.map((one, i) => [['a', 'b', 'c'][i] as string, one]))),
    list: fc.array(info, { minLength: 8, maxLength: 11 }),
    limit: fc.integer({ min: 7, max: 12 }),
  },
  { noNullPrototype: true },
)
const NAMES = ['byNumber', 'byText', 'list', 'limit'] as const

/** Bodies that give a number, and that may throw. */
const number = fc.constantFrom(
  '{ if (r.i > limit) throw new Error("over the limit: " + r.i); return r.i }',
  '{ if (r.i > limit) throw new RangeError("over the limit"); return r.i * 2 - 1 }',
  '{ if (r.o === null) { if (r.i >= limit) throw new Error("no o"); return 0 } return r.o }',
  '{ const one = byNumber.get(r.i); if (!one) throw new Error("no number " + r.i); return one.rate * r.i }',
  '{ if (r.i < 8) { if (r.i === limit - 7) throw new Error("the seventh"); else return 3 } if (r.i > 20) throw new Error("never"); return r.i }',
  '{ let x = r.i; if (x > 8) { x = -x; if (-x > limit) throw new Error("deep"); } else if (r.s === "c" && x === limit) throw new Error("a c"); return x + (r.o ?? 0) }',
  'byNumber.get(r.i).rate',
  'byNumber.get(r.i).rate * r.i + list[r.i].rate',
  'byText.get(r.s).rate - r.i',
  'list[r.i].rate',
  '(r.i > 7 ? byNumber.get(r.i).rate : 1)',
  'r.i',
)
const text = fc.constantFrom('byText.get(r.s).name', 'byNumber.get(r.i).name', 'list[r.i].name', '(byText.get(r.s).name + "!")', 'r.s')
const test$ = fc.constantFrom(
  '{ if (r.i > limit) throw new Error("over"); return r.i % 2 === 0 }',
  '{ const one = byText.get(r.s); if (one === undefined) throw new Error("no text " + r.s); return one.rate > 0 }',
  'byNumber.get(r.i).rate > 0',
  'r.i < 8',
  'byNumber.has(r.i)',
  'r.s !== "c"',
  'r.o !== null',
)

type F = (r: Row) => unknown
type Make = (source: string) => F
interface Chain {
  readonly source: string
  readonly of: (array: DistArray<Row>, f: Make) => Promise<unknown>
  readonly plain: (rows: readonly Row[], f: Make) => unknown
}

const groups = (rows: readonly Row[], by: F, value: F): unknown => {
  const found = new Map<unknown, { n: number; s: number }>()
  const all = rows.map((one) => [by(one), value(one)] as const)
  for (const [key, x] of all) {
    const own = found.get(key) ?? { n: 0, s: 0 }
    found.set(key, { n: own.n + 1, s: own.s + (x as number) })
  }
  return [...found].map(([key, { n, s }]) => ({ key, n, s }))
}

const last: fc.Arbitrary<Chain> = fc.oneof(
  fc.oneof(number, text).map((of) => ({
    source: `map ${of}, collect`,
    of: (array: DistArray<Row>, f: Make) => array.map(f(of) as never).collect(),
    plain: (rows: readonly Row[], f: Make) => rows.map(f(of)),
  })),
  fc.tuple(number, text).map(([x, t]) => ({
    source: `map { ${x}, ${t} }, collect`,
    of: (array: DistArray<Row>, f: Make) =>
      array
        .withColumns(f(`({ x: ${x.startsWith('{') ? 'r.i' : x}, t: ${t} })`) as never)
        .select('x' as never, 't' as never, 'i')
        .collect(),
    plain: (rows: readonly Row[], f: Make) =>
      rows.map((one) => ({ ...(f(`({ x: ${x.startsWith('{') ? 'r.i' : x}, t: ${t} })`)(one) as object), i: one.i })),
  })),
  fc.tuple(number, fc.constantFrom('sum' as const, 'min' as const, 'max' as const)).map(([of, how]) => ({
    source: `map ${of}, ${how}`,
    of: (array: DistArray<Row>, f: Make) => (array.map(f(of) as never) as unknown as DistArray<number>)[how](),
    plain: (rows: readonly Row[], f: Make) => {
      const all = rows.map(f(of)) as number[]
      if (how === 'sum') return all.reduce((a, b) => a + b, 0)
      return all.length === 0 ? undefined : Math[how](...all)
    },
  })),
  test$.map((of) => ({
    source: `filter ${of}, count`,
    of: (array: DistArray<Row>, f: Make) => array.filter(f(of) as never).count(),
    plain: (rows: readonly Row[], f: Make) => rows.filter(f(of)).length,
  })),
  test$.map((of) => ({
    source: `filter ${of}, collect`,
    of: (array: DistArray<Row>, f: Make) => array.filter(f(of) as never).collect(),
    plain: (rows: readonly Row[], f: Make) => rows.filter(f(of)),
  })),
  fc.tuple(fc.oneof(number, text), number).map(([by, value]) => ({
    source: `groupBy ${by} sum ${value}`,
    of: (array: DistArray<Row>, f: Make) =>
      array
        .groupBy(f(by) as never)
        .agg({ n: count(), s: sum(f(value) as never) })
        .collect(),
    plain: (rows: readonly Row[], f: Make) => groups(rows, f(by), f(value)),
  })),
  fc.tuple(number, test$).map(([by, of]) => ({
    source: `filter ${of}, sortBy ${by}`,
    of: (array: DistArray<Row>, f: Make) =>
      array
        .filter(f(of) as never)
        .sortBy(f(by) as never)
        .collect(),
    plain: (rows: readonly Row[], f: Make) => {
      const kept = rows.filter(f(of)).map((one) => ({ one, by: f(by)(one) as number }))
      return kept.sort((a, b) => a.by - b.by).map(({ one }) => one)
    },
  })),
)
const chain: fc.Arbitrary<Chain> = fc.tuple(fc.option(test$), last).map(([before, then]) => {
  if (before === null) return then
  return {
    source: `filter ${before}, ${then.source}`,
    of: (array, f) => then.of(array.filter(f(before) as never), f),
    plain: (rows, f) => then.plain(rows.filter(f(before)), f),
  }
})

test('functions that may throw give what plain JavaScript gives, or throw as it does', async () => {
  const seen = { answers: 0, thrown: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 40 }),
      held,
      chain,
      fc.nat(1),
      fc.boolean(),
      async (rows, captured, { source, of, plain }, engine, isStored) => {
        const f: Make = (body) => new Function(...NAMES, `return (r) => ${body}`)(...NAMES.map((one) => captured[one])) as F
        const array = new DistArray<Row>(
          engines[engine] as (typeof engines)[number],
          tableOf(sourceFromRows(rows as never, { schema: SCHEMA, memory })),
        )
        const asked = of((isStored ? array.materialize() : array) as DistArray<Row>, f)
        let expected: unknown
        try {
          expected = plain(rows, f)
        } catch {
          seen.thrown++
          await expect(asked, source).rejects.toThrow(/: the function threw at row \d+: /)
          return
        }
        seen.answers++
        expect(await asked, source).toEqual(expected)
      },
    ),
    LAW,
  )
  console.log(`functions that may throw: ${JSON.stringify(seen)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(seen.answers, seen.thrown)).toBeGreaterThan(LAW.numRuns / 10)
}, 300_000)
