/**
 * Row functions that run as JavaScript mean what plain JavaScript over plain arrays means: helpers that count and number,
 * however they are called, properties of functions, expressions with state, a platform that the program has changed. The
 * same elements, and the same left in the program's variables, in pieces of few rows, on one worker and on several.
 *
 * A captured variable has the value that it has when an action is called, whether the function was compiled, copied, or
 * neither; what becomes of it afterwards is of no matter to what was compiled or copied. So has a value of `env`.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('rowFunctions.prop.ts')
const { engines, stop } = piecemealEngines([1, 2, 3])
afterAll(stop)

interface Row {
  readonly a: number
  readonly s: string
  readonly d: Date
}
const ROWS: readonly Row[] = Array.from({ length: 17 }, (_, i) => ({
  a: (i * 7) % 5,
  s: 'vvxv'.slice(0, 1 + (i % 4)),
  d: new Date(1.6e12 + i * 4e7),
}))
const source = tableOfRows(ROWS)
const tables = engines.map((engine) => new DistArray<Row>(engine, source))
const which = fc.nat(tables.length - 1)

/** Variables of the program around the function; `look` gives what became of them. */
const STATE = `
  let c = 0, last = -1; const seen = [], ids = new Map(), tally = { n: 0, deep: { n: 0 } }, k = 3
  const global = /v/g, sticky = /v/y, plain = /v+/, late = /v/g; late.lastIndex = 1
  function fee(v) { return v * fee.rate } fee.rate = 0.5
  function Point(x) { this.x = x } Point.prototype.twice = function () { return this.x * 2 }
  class Counter { #n = 0; next() { return ++this.#n } static #all = 0; static get drawn() { return Counter.#all++ } }
  const counter = new Counter(), bound = Counter.prototype.next.bind(counter)
  const hidden = Object.defineProperty({ a: 1 }, 'rate', { value: 3 }), behind = { get rate() { return ++c } }
  const list = Object.assign([1, 2], { rate: 4 }), when = Object.assign(new Date(5e8), { rate: 5 }), map = Object.assign(new Map([['x', 1]]), { rate: 6 })
  const typed = Object.assign(Float64Array.of(1, 2), { rate: 7 }), marked = { [Symbol.for('rate')]: 8, a: 2 }, frozen = Object.freeze({ a: 1 })
  const generated = (function* () { for (let i = 0; ; i++) yield i })(), proxied = new Proxy({ k: 1 }, { has: () => true, get: () => 9 })
  const tools = { k: 2, times(v) { return v * this.k }, plus: (v) => v + k }, roll = Math.random, day = new Date(3e8)
  const look = () => JSON.stringify([c, last, seen, [...ids], tally, global.lastIndex, sticky.lastIndex, late.lastIndex, counter.next()])`

/** Helpers of one argument: those that leave something behind, and those that do not. */
const HELPERS = [
  '(v) => c++',
  '(v) => { seen.push(v); return seen.length }',
  '(v) => { if (!ids.has(v)) ids.set(v, ids.size); return ids.get(v) }',
  '(v) => { last = v; return c }',
  '(v) => ++tally.deep.n + tally.n++',
  'function (v) { return last += v }',
  '(v) => last',
  '(v) => counter.next()',
  '(v) => generated.next().value',
  '(v) => bound()',
  '(v) => global.test("vv") ? 1 : 0',
  '(v) => v * k',
  '(v) => fee(v)',
  '(v) => new Point(v).twice()',
  '(v) => (v > 1 ? last : (last = v))',
  '(v, inner = () => c++) => inner() + v',
  '(v) => { Object.assign(tally, { n: v }); return v }',
  '(v) => { for (last of [v, 2]); return 1 }',
  '(v) => { [last] = [v]; return c }',
  '(v) => { const t = tally; t.n += v; return t.n }',
  '(v) => tools.times(v) + tools.plus(v)',
]

/** Ways to call the helper \`h\` with the number \`x\`. */
const CALLS = [
  'h(x)',
  '[x].flatMap(h)[0]',
  '[x].flatMap((v) => h(v))[0]',
  'h.call(null, x)',
  'h.apply(null, [x])',
  'h`$' + '{x}`', // in two, or linters take it for a template that was meant
  '(x > 2 ? h : g)(x)',
  '(x > 2 && h || g)(x)',
  '({ h }).h(x)',
  '((f = h) => f(x))()',
  '((f) => f(x))(h)',
  'Reflect.apply(h, null, [x])',
  'Array.from([x], h)[0]',
  '[x, x].reduce((s, v) => s + Number(h(v)), 0)',
  '[x].forEach(h)',
  "'x'.replace('x', () => h(x))",
  "JSON.parse('[1]', (key, v) => (key === '0' ? h(x) : v))[0]",
  'h.bind(null, x)()',
  '(() => { const other = h; return other(x) })()',
  '(0, h)(x)',
  'h?.(x)',
  '[h, g][x % 2](x)',
  'Object.entries({ x }).map(([, v]) => h(v))[0]',
  '[g(x)].concat([x].filter(h)).length',
]

/** Expressions over the row alone, and over what is captured. */
const VALUES = [
  'x',
  'global.test(r.s) ? 1 : 0',
  'sticky.test(r.s) ? 1 : 0',
  'late.exec(r.s)?.index ?? -1',
  'plain.exec(r.s).index',
  '(r.s.match(/v/g) ?? []).length',
  'r.s.replace(/v/g, (m) => m + x)',
  '[fee.rate].flatMap((v) => v * x)[0]',
  'fee(x) + [x].length',
  'new Point(x).twice()',
  '[hidden.rate][0]',
  'behind.rate',
  '[list.rate].at(0) + list[x % 2]',
  '[when.rate].at(0)',
  '[map.rate].at(0)',
  '[typed.rate].at(0)',
  "[marked[Symbol.for('rate')]].at(0)",
  'Object.isFrozen(frozen)',
  "('q' in proxied) ? [proxied.k][0] : 0",
  'Counter.drawn',
  'counter.next()',
  'bound()',
  '[r.d.getHours(), r.d.getDay()].join()',
  'new Date(r.d.getFullYear(), x).getTime()',
  'day.getHours() * 100 + r.d.getHours() + day.getDay()',
  'String(r.d).length',
  '[day.getTime()].at(0)',
  'Math.random()',
  '[roll()].length',
  'Date.now()',
  'Math.cbrt(x)',
  '[Math.cbrt(x)][0]',
  "r.s.padStart(6, '-')",
  "[r.s].flatMap((s) => s.padStart(6, '-'))[0]",
  'r.s[["repeat"][0]](2)',
  '[x, 1].lastOne?.() ?? -1',
  '[...r.s].join("-")',
  'h.name + h.length',
  'typeof this',
]

/** What the program changes of the platform, each with a state of its own. */
const CHANGES: Readonly<Record<string, () => () => void>> = {
  nothing: () => () => undefined,
  random: () => {
    let seed = 7
    return replaced(Math, 'random', () => (seed = (seed * 16807) % 2147483647) / 2147483647)
  },
  clock: () => {
    let time = 1e12
    return replaced(Date, 'now', () => time++)
  },
  mathematics: () => replaced(Math, 'cbrt', (v: number) => v + 0.5),
  texts: () => replaced(String.prototype, 'padStart', () => 'padded'),
  repeating: () => replaced(String.prototype, 'repeat', () => 'again'),
  polyfill: () => replaced(Array.prototype, 'lastOne', last),
}

function last(this: readonly unknown[]): unknown {
  return this[this.length - 1]
}

function replaced(object: object, name: string, by: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value: by, configurable: true, writable: true, enumerable: false })
  return () => {
    if (own === undefined) Reflect.deleteProperty(object, name)
    else Object.defineProperty(object, name, own)
  }
}

/** What another step of the chain does, which shares the variables. */
const SECONDS = [
  '(r) => r.a * k',
  '(r) => c + r.a',
  '(r) => [c, last].join()',
  '(r) => ids.size + seen.length',
  '(r) => tally.deep.n + tally.n',
  '(r) => c++ + last',
  '(r) => (last = r.a) + c',
]

interface Program {
  readonly f: (r: Row) => unknown
  readonly second: (r: Row) => unknown
  /** A row with a number that other steps may change. */
  readonly third: (r: Row) => Row
  readonly look: () => string
}

function programOf(helper: string, value: string, second: string): Program {
  return new Function(`${STATE}
  const g = (v) => v + 1, h = ${helper}
  const f = (r) => { const x = r.a; return ${value} }
  return { f, second: ${second}, third: (r) => ({ a: r.a + c, s: r.s, d: r.d }), look }`)() as Program // the text is that of a program
}

const value = fc.oneof(
  fc.constantFrom(...VALUES),
  { arbitrary: fc.constantFrom(...CALLS), weight: 2 },
  fc.tuple(fc.constantFrom(...CALLS), fc.constantFrom(...VALUES)).map(([call, other]) => `[${call}, ${other}].join()`),
  fc.tuple(fc.constantFrom(...CALLS), fc.constantFrom(...CALLS)).map(([one, other]) => `String(${one}) + (${other})`),
)

/** What can be asked of the function, of arrays and of tables. */
const METHODS = {
  map: [(rows: readonly Row[], { f }: Program) => rows.map(f), (t: DistArray<Row>, { f }: Program) => t.map(f).collect()],
  filter: [
    (rows: readonly Row[], { f }: Program) => rows.filter(f),
    (t: DistArray<Row>, { f }: Program) => t.filter(f as (r: Row) => boolean).collect(),
  ],
  flatMap: [
    (rows: readonly Row[], { f }: Program) => rows.flatMap((r) => [String(f(r))]),
    (t: DistArray<Row>, { f }: Program) => t.flatMap((r) => [String(f(r))]).collect(),
  ],
  before: [
    (rows: readonly Row[], { f, second }: Program) => rows.filter(f).map(second),
    (t: DistArray<Row>, { f, second }: Program) =>
      t
        .filter(f as (r: Row) => boolean)
        .map(second)
        .collect(),
  ],
  above: [
    (rows: readonly Row[], { f, third }: Program) => rows.map(third).filter(f),
    (t: DistArray<Row>, { f, third }: Program) =>
      t
        .map(third)
        .filter(f as (r: Row) => boolean)
        .collect(),
  ],
  after: [
    (rows: readonly Row[], { f, second }: Program) => rows.filter(second).map(f),
    (t: DistArray<Row>, { f, second }: Program) =>
      t
        .filter(second as (r: Row) => boolean)
        .map(f)
        .collect(),
  ],
} as const
type Method = keyof typeof METHODS

function plainly(value: unknown): unknown {
  return value === undefined ? null : value
}

/** What a run gives, or the kind of error it ends with. */
async function outcome(run: () => unknown): Promise<unknown> {
  try {
    return ((await run()) as unknown[]).map(plainly)
  } catch (error) {
    const thrown = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return { threw: thrown instanceof Error ? thrown.constructor.name : thrown }
  }
}

test('a row function has the values and the effects that it has over a plain array', async () => {
  const made = fc.record({
    which,
    helper: fc.constantFrom(...HELPERS),
    value,
    second: fc.constantFrom(...SECONDS),
    change: fc.oneof({ arbitrary: fc.constant('nothing'), weight: 3 }, fc.constantFrom(...Object.keys(CHANGES))),
    method: fc.constantFrom(...(Object.keys(METHODS) as Method[])),
  })
  await fc.assert(
    fc.asyncProperty(made, async ({ which, helper, value, second, change, method }) => {
      const [plain, ours] = METHODS[method]
      const here = programOf(helper, value, second)
      const there = programOf(helper, value, second)
      const changed = CHANGES[change] as () => () => void // one of its keys
      fc.pre((change === 'random' || !value.includes('Math.random')) && (change === 'clock' || !value.includes('Date.now'))) // no two runs are the same
      let undo = changed()
      const expected = await outcome(() => plain(ROWS, here)).finally(() => undo())
      undo = changed()
      const got = await outcome(() => ours(tables[which] as DistArray<Row>, there)).finally(() => undo())
      expect(got).toEqual(expected)
      if (Array.isArray(got)) expect(there.look()).toBe(here.look())
    }),
    LAW,
  )
})

/** Variables that change, how functions read a number of each, and what changes them to a number. */
const CAPTURES = {
  'a number': { state: 'let n = at', read: 'n', set: 'n = v' },
  'a property': { state: 'const o = { n: at }', read: 'o.n', set: 'o.n = v' },
  'another object': { state: 'let o = { n: at }', read: 'o.n', set: 'o = { n: v }' },
  'a property of a property': { state: 'const o = { in: { n: at } }', read: 'o.in.n', set: 'o.in.n = v' },
  'an element': { state: 'const l = [0, at]', read: 'l[1]', set: 'l[1] = v' },
  'another list': { state: 'let l = [0, at]', read: 'l[1]', set: 'l = [v, v]' },
  'an element of a typed array': { state: 'const t = Float64Array.of(at)', read: 't[0]', set: 't[0] = v' },
  'another typed array': { state: 'let t = Float64Array.of(at)', read: 't[0]', set: 't = Float64Array.of(v, 1)' },
  'an entry': { state: "const m = new Map([['n', at]])", read: "m.get('n')", set: "m.set('n', v)" },
  'a field of an instance': { state: 'class Box { n = at }; const b = new Box()', read: 'b.n', set: 'b.n = v' },
  'a date': { state: 'const d = new Date(at)', read: 'd.getTime()', set: 'd.setTime(v)' },
  'what a helper captures': { state: 'let n = at; const h = () => n', read: 'h()', set: 'n = v' },
  "what a helper's helper captures": { state: 'let n = at; const i = () => n, h = () => i()', read: 'h()', set: 'n = v' },
  'another helper': { state: 'let h = () => at', read: 'h()', set: 'h = () => v' },
  'a method': { state: 'const o = { h: () => at }', read: 'o.h()', set: 'o.h = () => v' },
  'a property of a helper': { state: 'const h = (w) => w; h.n = at', read: 'h(h.n)', set: 'h.n = v' },
} as const
type Capture = keyof typeof CAPTURES

/** The number in a row function: as it stands, where the function is not compiled, and where it cannot leave its thread. */
const PLACES = {
  compiled: (read: string) => read,
  copied: (read: string) => `[${read}].flatMap((w) => w)[0]`,
  'as it stands': (read: string) => `(calls++, ${read})`,
} as const
type Place = keyof typeof PLACES

interface Changing {
  readonly keep: (r: Row, key: readonly [number], env: object) => boolean
  readonly add: (r: Row, key: readonly [number], env: object) => number
  readonly env: object
  readonly set: (v: number) => void
}

/** The functions capture the variable, or are given it. */
function changing(capture: Capture, place: Place, first: number, isGiven: boolean): Changing {
  const { state, read, set } = CAPTURES[capture]
  const now = PLACES[place](read)
  const variable = /^\w+/.exec(read)?.[0] ?? ''
  const parameters = isGiven ? `(r, _, { ${variable} })` : '(r)'
  return new Function(
    'at',
    `let calls = 0; ${state}; const env = { ${variable} }
    return { keep: ${parameters} => r.a > ${now}, add: ${parameters} => r.a + ${now}, env, set: (v) => { ${set}; env.${variable} = ${variable} } }`,
  )(first) as Changing // the text is that of a program
}

const ACTIONS = {
  collect: { of: (rows: readonly number[]) => rows, ask: (t: DistArray<number>) => t.collect() },
  count: { of: (rows: readonly number[]) => rows.length, ask: (t: DistArray<number>) => t.count() },
  sum: { of: (rows: readonly number[]) => rows.reduce((s, v) => s + v, 0), ask: (t: DistArray<number>) => t.sum() },
  max: { of: (rows: readonly number[]) => (rows.length === 0 ? undefined : Math.max(...rows)), ask: (t: DistArray<number>) => t.max() },
  // from an index, which is kept
  at: { of: (rows: readonly number[]) => rows[0] ?? 0, ask: async (t: DistArray<number>) => (await t.at(0)) ?? 0 },
  materialize: { of: (rows: readonly number[]) => rows, ask: (t: DistArray<number>) => t.materialize().collect() },
} as const
type Action = keyof typeof ACTIONS

test('captured variables have the values of the call of an action', async () => {
  const made = fc.record({
    which,
    capture: fc.constantFrom(...(Object.keys(CAPTURES) as Capture[])),
    place: fc.constantFrom(...(Object.keys(PLACES) as Place[])),
    isGiven: fc.boolean(),
    first: fc.nat(3),
    asked: fc.array(fc.record({ to: fc.nat(3), action: fc.constantFrom(...(Object.keys(ACTIONS) as Action[])), meanwhile: fc.nat(9) }), {
      minLength: 1,
      maxLength: 4,
    }),
  })
  await fc.assert(
    fc.asyncProperty(made, async ({ which, capture, place, isGiven, first, asked }) => {
      const { keep, add, env, set } = changing(capture, place, first, isGiven)
      const table = tables[which] as DistArray<Row>
      const chain = isGiven
        ? table.filter(keep, { env }).map(add, { env })
        : table.filter(keep as (r: Row) => boolean).map(add as (r: Row) => number)
      const stored = chain.materialize()
      let kept: number[] | undefined
      const isCaller = capture === 'a method' || capture.includes('helper')
      const ownClosure =
        place === 'as it stands' ||
        capture === 'a property of a helper' ||
        (place === 'copied' && (capture === 'a field of an instance' || (isGiven && isCaller))) // no functions in what is sent
      for (const { to, action, meanwhile } of asked) {
        set(to)
        const expected = ROWS.filter((r, k) => keep(r, [k], env)).map((r, k) => add(r, [k], env))
        const { of, ask } = ACTIONS[action]
        const answer = ask(chain)
        kept ??= expected
        const still = stored.collect()
        if (!ownClosure) set(meanwhile)
        expect(await answer).toEqual(of(expected as never))
        expect(await still).toEqual(kept)
      }
    }),
    LAW,
  )
})
