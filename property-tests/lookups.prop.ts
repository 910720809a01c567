/**
 * Law: what functions of rows look up in captured Maps, Sets, lists and objects is what plain JavaScript looks up, in keys that lie
 * together or apart, numbers, texts, null, NaN, -0, on several workers and in pieces of rows, over tables with and without nulls, in
 * memory and stored; and what is captured is read anew by each action, whatever became of it since.
 */
import { Bool, Field, Float64, Int32, Schema, Uint8, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const LAW = announcedRun('lookups.prop.ts')
const FEW_RUNS = 500
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
const memory = tableMemory(arena, { fewestRows: 0, coded: true })
afterAll(stop)

interface Row {
  readonly i: number
  readonly u: number
  readonly n: number
  readonly o: number | null
  readonly s: string
  readonly t: string | null
  readonly b: boolean
}

const SCHEMA = new Schema([
  new Field('i', new Int32(), false),
  new Field('u', new Uint8(), false),
  new Field('n', new Float64(), false),
  new Field('o', new Float64(), true),
  new Field('s', new Utf8(), false),
  new Field('t', new Utf8(), true),
  new Field('b', new Bool(), false),
])

const TEXTS = ['', 'a', 'b', 'ab', '1', '-1', '0.5', 'null', 'NaN', 'žluť', 'constructor', '__proto__']
const KEYS = [0, -0, 1, 2, 3, 7, -1, -2, 0.5, 1e9, 2 ** 31, -(2 ** 31), 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, 1e-17]
const key = fc.oneof({ arbitrary: fc.integer({ min: -3, max: 12 }), weight: 2 }, fc.constantFrom(...KEYS))
const name = fc.constantFrom(...TEXTS)
const row: fc.Arbitrary<Row> = fc.record(
  {
    i: fc.oneof({ arbitrary: fc.integer({ min: -3, max: 12 }), weight: 3 }, fc.constantFrom(2 ** 31 - 1, -(2 ** 31), 100)),
    u: fc.integer({ min: 0, max: 12 }),
    n: key,
    o: fc.option(key, { freq: 4 }),
    s: name,
    t: fc.option(name, { freq: 4 }),
    b: fc.boolean(),
  },
  { noNullPrototype: true },
)

const whole = fc.integer({ min: -3, max: 12 })
const number = fc.oneof({ arbitrary: whole, weight: 2 }, fc.constantFrom(-0, Number.NaN, 0.1, -1e300, 2 ** 31, 7.5))
const keys = fc.oneof(
  { arbitrary: fc.uniqueArray(whole, { maxLength: 12 }), weight: 3 },
  {
    arbitrary: fc.uniqueArray(
      key.filter((one) => !Number.isNaN(one)),
      { maxLength: 12 },
    ),
    weight: 3,
  },
  { arbitrary: fc.uniqueArray(fc.oneof(key, name, fc.constantFrom(null, undefined, true)), { maxLength: 10 }), weight: 1 },
)
const mapOf = <T>(from: fc.Arbitrary<unknown[]>, values: fc.Arbitrary<T>): fc.Arbitrary<Map<unknown, T>> =>
  fc.tuple(from, fc.array(values, { minLength: 12, maxLength: 12 })).map(([all, to]) => new Map(all.map((one, i) => [one, to[i] as T])))
const numbers = fc.oneof(
  fc.array(whole, { minLength: 1, maxLength: 13 }),
  fc.array(number, { minLength: 1, maxLength: 13 }),
  fc.array(number, { minLength: 12, maxLength: 40 }),
)
/** Objects with primitives, which may lack a field. */
const info = fc.record(
  { rate: number, name, of: fc.option(whole), on: fc.boolean() },
  { requiredKeys: ['rate', 'name', 'of'], noNullPrototype: true },
)
/** All that functions capture, by name. */
const held = fc.record(
  {
    m: mapOf(keys, fc.oneof(whole)),
    d: mapOf(keys, number),
    flags: mapOf(keys, fc.boolean()),
    labelOf: mapOf(keys, name),
    byName: mapOf(fc.uniqueArray(name), number),
    infos: mapOf(keys, info),
    towns: mapOf(fc.uniqueArray(name), info),
    things: fc.dictionary(fc.constantFrom(...TEXTS.filter((one) => one !== '__proto__')), info, { noNullPrototype: true }),
    bareThings: fc
      .dictionary(fc.constantFrom(...TEXTS.filter((one) => one !== '__proto__')), info)
      .map((one) => Object.assign(Object.create(null), one) as object),
    ids: keys.map((all) => new Set(all)),
    names: fc.uniqueArray(fc.option(name)).map((all) => new Set(all)),
    list: numbers as fc.Arbitrary<unknown>,
    typed: numbers.chain((all) =>
      fc.constantFrom(Float64Array.from(all), Int32Array.from(all), Uint8Array.from(all), Float32Array.from(all)),
    ),
    bools: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    mixed: fc.array(fc.oneof(number, fc.constantFrom(null, undefined, true)), { minLength: 1, maxLength: 12 }),
    labels: fc.array(name, { minLength: 2, maxLength: 12 }),
    long: fc.array(key, { minLength: 33, maxLength: 40 }),
    obj: fc.dictionary(fc.constantFrom(...TEXTS.filter((one) => one !== '__proto__')), number, { noNullPrototype: true }),
    bare: fc
      .dictionary(fc.constantFrom(...TEXTS.filter((one) => one !== '__proto__')), whole)
      .map((one) => Object.assign(Object.create(null), one) as object),
  },
  { noNullPrototype: true },
)
type Held = typeof held extends fc.Arbitrary<infer T> ? T : never
const NAMES = [
  'm',
  'd',
  'flags',
  'labelOf',
  'byName',
  'infos',
  'towns',
  'things',
  'bareThings',
  'ids',
  'names',
  'list',
  'typed',
  'bools',
  'mixed',
  'labels',
  'long',
  'obj',
  'bare',
] as const

const of = (one: fc.Arbitrary<string>, ...forms: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(one, fc.constantFrom(...forms)).map(([inside, form]) => form.replaceAll('#', inside))
const { num, truth, text } = fc.letrec<{ num: string; truth: string; text: string }>((tie) => {
  const [x, b, s] = [tie('num'), tie('truth'), tie('text')]
  return {
    num: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: fc.constantFrom('r.i', 'r.u', 'r.n', 'r.o', 'r.i', '2', 'list.length'), weight: 4 },
      {
        arbitrary: of(x, 'm.get(#)', '(m.get(#) ?? -1)', 'd.get(#)', '(d.get(#) ?? r.i)', 'list[#]', 'typed[#]', '(list[#] ?? 0.5)'),
        weight: 4,
      },
      {
        arbitrary: of(
          x,
          '+mixed[#]',
          '(m.get(#) | 3)',
          '+flags.get(#)',
          '(m.has(#) ? m.get(#) : 1)',
          '-typed[#]',
          'obj[#]',
          'bare[#]',
          '[5, -0, 0.5][#]',
        ),
        weight: 2,
      },
      {
        arbitrary: of(s, 'byName.get(#)', '(byName.get(#) ?? 4)', '(obj[#] * 2)', '(bare[#] ?? 1)', 'm.get(#)', '(#)?.length'),
        weight: 2,
      },
      {
        arbitrary: of(
          s,
          '(byName.get(#) === undefined ? -5 : byName.get(#) * r.i)',
          '(byName.get(#) + r.u)',
          '((v) => (v == null ? r.o : v - r.n))(obj[#])',
        ),
        weight: 2,
      },
      {
        arbitrary: of(
          x,
          'infos.get(#)?.rate',
          '(infos.get(#)?.of ?? -2)',
          '((one) => (one === undefined ? 7 : one.rate * 2))(infos.get(#))',
          '((one) => (one ? one.of : null))(infos.get(#))',
          '(({ rate, of = 3 }) => rate + of)(infos.get(#) ?? { rate: 1, name: "b", of: null })',
          'infos.get(#).rate',
          '(bareThings[#]?.rate ?? 6)',
        ),
        weight: 2,
      },
      {
        arbitrary: of(
          s,
          '(towns.get(#)?.rate ?? 1)',
          'things[#]?.of',
          '(things[#]?.rate ?? 5)',
          'bareThings[#]?.rate',
          'infos.get(#)?.rate',
          'towns.get(#).rate',
          '(things[#] === undefined ? -1 : 1)',
        ),
        weight: 2,
      },
      fc.tuple(x, fc.constantFrom('+', '-', '*', '/', '%'), x).map(([a, operator, c]) => `(${a} ${operator} ${c})`),
      fc.tuple(b, x, x).map(([test, a, c]) => `(${test} ? ${a} : ${c})`),
    ),
    truth: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: of(x, 'm.has(#)', 'ids.has(#)', 'long.includes(#)', 'bools[#]', 'flags.get(#)', 'names.has(#)', 'd.has(#)'), weight: 4 },
      {
        arbitrary: of(
          x,
          'm.get(#) === undefined',
          'd.get(#) == null',
          'm.get(#) === null',
          'm.get(#) > 2',
          'list[#] !== 3',
          'd.get(#) === r.n',
          'list.includes(#)',
        ),
        weight: 3,
      },
      {
        arbitrary: of(
          s,
          'names.has(#)',
          '(# in obj)',
          '(# in bare)',
          'Object.hasOwn(obj, #)',
          'obj.hasOwnProperty(#)',
          'byName.has(#)',
          'ids.has(#)',
          "# === 'ab'",
        ),
        weight: 3,
      },
      of(
        s,
        '(# === undefined)',
        'byName.get(#) === undefined',
        'byName.get(#) == null',
        'obj[#] !== null',
        'flags.get(#)',
        '(byName.get(#) > r.i)',
        'obj[#] === r.n',
      ),
      of(
        x,
        'labelOf.get(#) === undefined',
        'infos.get(#)?.on',
        '!infos.get(#)',
        'infos.get(#) == null',
        '(infos.get(#)?.name === r.s)',
        "'rate' in infos.get(#)",
      ),
      of(s, 'towns.get(#)?.on', '!things[#]', 'bareThings[#] === undefined', '(things[#]?.name !== r.t)', 'towns.get(#) !== undefined'),
      of(x, '(# in bare)', 'Object.hasOwn(obj, #)', '[2, -1, NaN, 7].includes(#)', '[true, 3, null][#] === 3'),
      of(s, '({ a: 3, b: -0 })[#] === 3', "['a', '', 'žluť'].includes(#)", "['a', 'b', null, undefined, 1].includes(#)"),
      b.map((one) => `!${one}`),
      fc.tuple(b, fc.constantFrom('&&', '||'), b).map(([a, operator, c]) => `(${a} ${operator} ${c})`),
    ),
    text: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: fc.constantFrom('r.s', 'r.t', 'r.s'), weight: 2 },
      { arbitrary: of(x, 'labels[#]', 'labelOf.get(#)', "(labelOf.get(#) ?? 'none')", "(labels[#] ?? '')"), weight: 3 },
      of(x, 'infos.get(#)?.name', "(infos.get(#)?.name ?? 'none')", 'String(infos.get(#)?.name)'),
      of(s, 'towns.get(#)?.name', "(things[#]?.name ?? 'none')", "(bareThings[#]?.name ?? '')"),
      {
        arbitrary: fc.constantFrom('labels[r.i]', 'labelOf.get(r.i)', "(labelOf.get(r.n) ?? 'none')", "(labels[r.u] ?? '').concat('!')"),
        weight: 2,
      },
    ),
  }
})

type F = (r: Row) => unknown
interface Chain {
  readonly source: string
  readonly of: (array: DistArray<Row>, f: (source: string) => F) => { collect(): Promise<readonly unknown[]>; explain(): string }
  readonly plain: (rows: readonly Row[], f: (source: string) => F) => readonly unknown[]
}
const mapped = (source: string): Chain => ({
  source: `map ${source}`,
  of: (array, f) => array.map(f(source) as never) as DistArray<unknown>,
  plain: (all, f) => all.map(f(source)),
})
const filtered = (test: string, then: Chain): Chain => ({
  source: `filter ${test}, ${then.source}`,
  of: (array, f) => then.of(array.filter(f(test) as never), f),
  plain: (all, f) => then.plain(all.filter(f(test)), f),
})
const grouped = (by: string, value: string): Chain => ({
  source: `groupBy ${by} sum ${value}`,
  of: (array, f) => array.groupBy(f(by) as never).agg({ n: count(), s: sum(f(value) as never) }) as DistArray<unknown>,
  plain: (all, f) => {
    // a Map has 0 for a key that is -0; a group has that of its first row
    const groups = new Map<unknown, { readonly key: unknown; readonly values: number[] }>()
    const [keyOf, summed] = [f(by), f(value)]
    for (const one of all) {
      const key = keyOf(one) ?? null
      const group = groups.get(key) ?? { key, values: [] }
      groups.set(key, group)
      group.values.push(summed(one) as number)
    }
    return [...groups.values()].map(({ key, values }) => ({
      key,
      n: values.length,
      s: values.filter((v) => (v ?? null) !== null).reduce((a, b) => a + b, 0),
    }))
  },
})

const chain: fc.Arbitrary<Chain> = fc.oneof(
  { arbitrary: fc.oneof(num, truth, text).map(mapped), weight: 3 },
  { arbitrary: fc.tuple(num, truth, text).map(([a, b, c]) => mapped(`({ a: ${a}, b: ${b}, c: ${c}, i: r.i })`)), weight: 1 },
  { arbitrary: fc.tuple(num, truth).map(([a, b]) => mapped(`({ a: ${a}, b: ${b}, s: r.s })`)), weight: 3 },
  { arbitrary: fc.tuple(truth, num).map(([test, a]) => filtered(test, mapped(`({ a: ${a}, s: r.s })`))), weight: 3 },
  { arbitrary: fc.tuple(num, num).map(([by, value]) => grouped(by, value)), weight: 1 },
  { arbitrary: text.map((by) => grouped(by, 'r.u')), weight: 1 },
)

/** Columns have no undefined. */
const withNulls = (one: unknown): unknown => {
  if (typeof one !== 'object' || one === null) return one ?? null
  return Object.fromEntries(Object.entries(one).map(([field, value]) => [field, value ?? null]))
}
const holdsObject = (one: unknown): boolean =>
  typeof one === 'function' ||
  (typeof one === 'object' &&
    one !== null &&
    (Object.getPrototypeOf(one) === null ||
      Object.values(one).some((value) => typeof value === 'function' || (typeof value === 'object' && value !== null))))

/** Changes what is captured, in place. */
function change(all: Held): void {
  const [first] = all.m.keys()
  if (first !== undefined) all.m.set(first, 99)
  all.m.set(4, 5)
  all.ids.add(2)
  all.names.delete('a')
  all.byName.set('b', -7)
  ;(all.list as number[]).push(3)
  if (all.typed.length > 0) all.typed[0] = 9
  all.labels[1] = 'changed'
  all.obj.ab = 12
  for (const one of [...all.infos.values(), ...all.towns.values(), ...Object.values(all.things)]) one.rate = 8
  all.things.ab = { rate: 4, name: 'a', of: 1 }
  all.long[3] = 6
}

test('what functions of rows look up is what JavaScript looks up', async () => {
  const counts = { compiled: 0, byText: 0, javascript: 0, thrown: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 40 }),
      held,
      chain,
      fc.nat(1),
      fc.boolean(),
      fc.boolean(),
      async (rows, captured, { source, of, plain }, engine, stored, changes) => {
        // functions as a program has them, with what they capture
        const f = (body: string): F => new Function(...NAMES, `return (r) => ${body}`)(...NAMES.map((one) => captured[one])) as F
        const array = new DistArray<Row>(
          engines[engine] as (typeof engines)[number],
          tableOf(sourceFromRows(rows as never, { schema: SCHEMA, memory })),
        )
        const table = (stored ? array.materialize() : array) as DistArray<Row>
        const asked = of(table, f)
        for (const again of changes ? [false, true] : [false]) {
          if (again) change(captured)
          let expected: readonly unknown[] | undefined
          try {
            expected = plain(rows, f).map(withNulls)
          } catch {
            // as what a method is called of that nobody has
          }
          if (expected === undefined || expected.some(holdsObject)) {
            counts.thrown++
            await expect(asked.collect(), source).rejects.toThrow()
            return
          }
          const found = await asked.collect().catch((error: unknown) => {
            if (again && /the columns of the chain would be others/.test(String(error))) return undefined
            throw error
          })
          if (found === undefined) return
          expect(found.map(withNulls), source).toEqual(expected)
        }
        const text = asked.explain()
        if (/WebAssembly over columns, because what/.test(text)) counts.byText++
        else if (/WebAssembly over columns/.test(text)) counts.compiled++
        else counts.javascript++
      },
    ),
    LAW,
  )
  console.log(`lookups: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(counts.compiled, counts.byText)).toBeGreaterThan(LAW.numRuns / 10)
}, 300_000)
