/**
 * Law: texts that functions choose, of constants, of captured lists and of columns with few texts and with many, are those that
 * JavaScript chooses: as values, after filters, as keys of groups and of orders, and where they are compared or tested.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, max, sum } from '../src/core/plan/aggregates.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('chosenTexts.prop.ts')
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
afterAll(stop)

const FEW_RUNS = 500

interface Row {
  readonly few: string
  readonly some: string | null
  readonly many: string | null
  readonly n: number
  readonly b: boolean
}

const TEXTS = ['', 'a', 'ab', 'žluť', '😀b', 'x'.repeat(20)]
const rows = fc
  .tuple(
    fc.array(
      fc.record(
        {
          few: fc.constantFrom(...TEXTS),
          some: fc.option(fc.constantFrom(...TEXTS), { freq: 4 }),
          many: fc.option(fc.constantFrom('q', 'r', 's', ''), { freq: 4 }),
          n: fc.integer({ min: -3, max: 6 }),
          b: fc.boolean(),
        },
        { noNullPrototype: true },
      ),
      { minLength: 1, maxLength: 30 },
    ),
    // with thirty times as many, their texts numbered, a column has too many for codes
    fc.constantFrom(1, 1, 1, 1, 30),
  )
  .map(([all, times]): readonly Row[] =>
    Array.from({ length: all.length * times }, (_, i) => {
      const one = all[i % all.length] as Row
      return times === 1 || one.many === null ? one : { ...one, many: one.many + i }
    }),
  )

const LIST = ['one', '', 'ab', 'three']
const truth = fc.letrec<{ truth: string }>((tie) => ({
  truth: fc.oneof(
    { depthSize: 'small' },
    {
      arbitrary: fc.constantFrom('r.n > 1', 'r.b', 'r.some !== null', 'r.n % 2 === 0', 'r.few', 'r.some', "r.few === 'ab'", 'list[r.n]'),
      weight: 5,
    },
    fc.tuple(tie('truth'), fc.constantFrom('&&', '||'), tie('truth')).map(([a, operator, b]) => `(${a} ${operator} ${b})`),
    tie('truth').map((x) => `!(${x})`),
  ),
})).truth
const constant = fc.constantFrom("''", "'ab'", "'none'", "'žluť'", 'captured', "(list[r.n] ?? 'else')")
/** Of constants alone: these may be compared. */
const chosen = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small' },
    { arbitrary: constant, weight: 2 },
    fc.tuple(truth, tie('text'), tie('text')).map(([test, yes, no]) => `((${test}) ? ${yes} : ${no})`),
  ),
})).text
const text = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small' },
    { arbitrary: fc.constantFrom('r.few', "(r.some ?? 'none')", '(r.many ?? r.few)', "(r.many || 'empty')"), weight: 3 },
    chosen,
    fc.tuple(truth, tie('text'), tie('text')).map(([test, yes, no]) => `((${test}) ? ${yes} : ${no})`),
  ),
})).text
/** What may be null as well. */
const optional = fc.oneof(
  text,
  fc.constantFrom('r.some', 'r.many', '(list[r.n] ?? null)'),
  fc.tuple(truth, text).map(([test, x]) => `((${test}) ? ${x} : null)`),
  fc.tuple(truth, fc.constantFrom('r.some', 'r.many'), text).map(([test, x, y]) => `((${test}) ? ${x} : ${y})`),
)

type F = (r: Row) => unknown
interface Chain {
  readonly source: string
  readonly of: (array: DistArray<Row>, f: (source: string) => F) => DistArray<unknown>
  readonly plain: (rows: readonly Row[], f: (source: string) => F) => readonly unknown[]
}
const mapped = (body: string): Chain => ({
  source: body,
  of: (array, f) => array.map(f(body) as never),
  plain: (all, f) => all.map(f(body)),
})
const filtered = (body: string, then: Chain): Chain => ({
  source: `filter ${body}, ${then.source}`,
  of: (array, f) => then.of(array.filter(f(body) as never), f),
  plain: (all, f) => then.plain(all.filter(f(body) as (r: Row) => boolean), f),
})
const grouped = (key: string): Chain => ({
  source: `groupBy ${key}`,
  of: (array, f) =>
    array.groupBy(f(key) as never).agg({ rows: count(), total: sum((r: Row) => r.n), last: max((r: Row) => r.n) }) as DistArray<unknown>,
  plain: (all, f) => {
    const groups = new Map<string, { key: unknown; rows: number; total: number; last: number }>()
    const of = f(key)
    for (const one of all) {
      const found = of(one)
      const id = JSON.stringify(found)
      const group = groups.get(id) ?? { key: found, rows: 0, total: 0, last: Number.NEGATIVE_INFINITY }
      groups.set(id, { key: found, rows: group.rows + 1, total: group.total + one.n, last: Math.max(group.last, one.n) })
    }
    return [...groups.values()].map(({ key, ...rest }) =>
      typeof key === 'object' && key !== null ? { ...key, ...rest } : { key, ...rest },
    )
  },
})
const sorted = (key: string): Chain => ({
  source: `sortBy ${key}`,
  of: (array, f) => array.sortBy(f(key) as never) as DistArray<unknown>,
  plain: (all, f) => {
    const keys = all.map(f(key)) as string[]
    const order = all
      .map((_, i) => i)
      .sort((a, b) => Buffer.compare(Buffer.from(keys[a] as string), Buffer.from(keys[b] as string)) || a - b)
    return order.map((i) => all[i])
  },
})

const chain: fc.Arbitrary<Chain> = fc.oneof(
  optional.map((x) => mapped(`return ${x}`)),
  fc.tuple(optional, optional).map(([x, y]) => mapped(`return { x: ${x}, n: r.n, y: ${y} }`)),
  fc.tuple(truth, text, text).map(([test, x, y]) => mapped(`if (${test}) return { k: r.n, x: ${x} }; return { k: 0, x: ${y} }`)),
  fc.tuple(truth, text, text).map(([test, x, y]) => mapped(`let x = ${x}; if (${test}) x = ${y}; return { ...r, x }`)),
  fc.tuple(truth, optional, optional).map(([test, x, y]) => filtered(`return ${test}`, mapped(`return { x: ${x}, s: r.some, y: ${y} }`))),
  fc
    .tuple(chosen, fc.constantFrom('===', '!=='), chosen)
    .map(([x, operator, y]) => filtered(`return ${x} ${operator} ${y}`, mapped('return r'))),
  fc.tuple(chosen, text).map(([x, y]) => filtered(`return ${x}`, mapped(`return ${y}`))),
  optional.map((x) => grouped(`return ${x}`)),
  fc.tuple(chosen, optional).map(([x, y]) => grouped(`return { a: ${x}, b: ${y}, c: r.b }`)),
  fc.tuple(truth, chosen).map(([test, x]) => filtered(`return ${test}`, grouped(`return ${x}`))),
  text.map((x) => sorted(`return ${x}`)),
)

const withNulls = (one: unknown): unknown => {
  if (typeof one !== 'object' || one === null) return one ?? null
  return Object.fromEntries(Object.entries(one).map(([name, field]) => [name, field ?? null]))
}

test('texts that functions choose are those that JavaScript chooses', async () => {
  const counts = { overColumns: 0, groups: 0, coded: 0, stored: 0 }
  await fc.assert(
    fc.asyncProperty(
      rows,
      chain,
      fc.nat(1),
      fc.constantFrom('rows', 'coded', 'stored'),
      async (given, { source, of, plain }, engine, where) => {
        // functions as a program has them, with what they capture
        const f = (body: string): F => new Function('captured', 'list', `return (r) => { ${body} }`)('captured-ß', LIST) as F
        const coded =
          where === 'coded' ? sourceFromRows([...given], { memory: tableMemory(arena, { fewestRows: 0, coded: true }) }) : undefined
        const array = new DistArray<Row>(
          engines[engine] as (typeof engines)[number],
          coded === undefined ? tableOfRows(given) : tableOf(coded),
        )
        const table = (where === 'stored' ? array.materialize() : array) as DistArray<Row>
        const actual = of(table, f)
        expect((await actual.collect()).map(withNulls), source).toEqual(plain(given, f).map(withNulls))
        const ran = await actual.explain({ analyze: true })
        if (ran.includes('SIMD over columns')) counts.overColumns++
        if (ran.includes('groups in the same pass')) counts.groups++
        if (where !== 'rows' && ran.includes('SIMD over columns') && /r\.(few|some|many)/.test(source)) counts[where]++
      },
    ),
    LAW,
  )
  console.log(`chosen texts: ${JSON.stringify(counts)}`)
  if (LAW.numRuns < FEW_RUNS) return
  expect(counts.overColumns).toBeGreaterThan(LAW.numRuns / 3)
  expect(Math.min(counts.groups, counts.coded, counts.stored)).toBeGreaterThan(LAW.numRuns / 100)
}, 300_000)
