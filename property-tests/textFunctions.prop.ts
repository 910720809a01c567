/**
 * Law: what a chain computes of texts is what plain JavaScript computes, whether once for each text of a column or row by row:
 * values, filters, keys of groups and orders, and what is thrown, over columns with and without nulls, of few and of many texts,
 * over tables in memory and over files, whose texts may stay places in a dictionary.
 *
 * Law: the codes of what is computed once for each text are those that looking at each row's text would give.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { type Column, isValid } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { count } from '../src/core/plan/aggregates.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { shareColumn } from '../src/exec/memory/shareColumns.ts'
import { place } from '../src/exec/tables/columns/loadTask.ts'
import { ResultBlocks } from '../src/exec/tables/columns/resultBlocks.ts'
import { spelled } from '../src/exec/tables/columns/texts/spelledTexts.ts'
import { codesOf, codeTexts, type TextCodes } from '../src/exec/tables/columns/texts/textCodes.ts'
import { madeTextColumns } from '../src/exec/tables/columns/texts/textColumns.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('textFunctions.prop.ts')
const { engines, stop } = piecemealEngines([1, 2], 16)
const folder = mkdtempSync(join(tmpdir(), 'text-functions-'))
afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true })
})

/** The rows in a file of several row groups. */
async function fileOf(rows: readonly Row[]): Promise<ArraySource> {
  const path = join(folder, 'rows.parquet')
  const plan = tableOfRows(rows)
  const { source } = plan as Extract<typeof plan, { kind: 'Scan' }>
  const batches = await readSplit(source, source.splits[0] as ArraySource['splits'][number], ['s', 't', 'n', 'd', 'm', 'yes'], undefined)
  await writeParquet({ batches, element: source.element, path, options: { rowGroupRows: 9 } })
  return await openParquet(path)
}

/** From so many cases on, shares of them are asked for. */
const FEW_RUNS = 500

interface Row {
  readonly s: string
  readonly t: string | null
  readonly n: number
  /** A double that is mostly whole, an integer that may be null, and a truth value. */
  readonly d: number
  readonly m: number | null
  readonly yes: boolean
}

const TEXTS = ['', 'a', 'ab', ' ab ', 'Ab-12', '7', '-0', 'žluť', '😀b', 'aXbXc', 'x'.repeat(20)]
const row: fc.Arbitrary<Row> = fc.record(
  {
    s: fc.constantFrom(...TEXTS),
    t: fc.oneof({ arbitrary: fc.constantFrom(...TEXTS), weight: 5 }, { arbitrary: fc.constant(null), weight: 1 }),
    n: fc.integer({ min: -3, max: 9 }),
    d: fc.oneof(
      { arbitrary: fc.constantFrom(0, 1, 2, 70), weight: 40 },
      { arbitrary: fc.constant(-0), weight: 3 },
      { arbitrary: fc.constantFrom(-0, 0.5, 1e5, Number.NaN), weight: 1 },
    ),
    m: fc.oneof({ arbitrary: fc.integer({ min: 0, max: 2 }), weight: 3 }, { arbitrary: fc.constant(null), weight: 1 }),
    yes: fc.boolean(),
  },
  { noNullPrototype: true },
)
/** Some without a null. */
const rows = fc
  .tuple(fc.array(row, { minLength: 1, maxLength: 40 }), fc.boolean())
  .map(([all, full]) => (full ? all.map((one) => ({ ...one, t: one.t ?? 'a' })) : all))

/** Source of expressions: of texts, of numbers, of truth values. */
const { text, number, truth } = fc.letrec<{ text: string; number: string; truth: string }>((tie) => {
  const [s, n, b] = [tie('text'), tie('number'), tie('truth')]
  const of = (one: fc.Arbitrary<string>, ...forms: readonly ((text: string) => string)[]): fc.Arbitrary<string> =>
    fc.tuple(one, fc.constantFrom(...forms)).map(([inside, form]) => form(inside))
  return {
    text: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: fc.constantFrom('r.s', 'r.s', "(r.t ?? 'nö')", 'String(r.t)'), weight: 3 },
      of(
        s,
        (x) => `${x}.trim()`,
        (x) => `${x}.toUpperCase()`,
        (x) => `${x}.slice(1)`,
        (x) => `${x}.slice(-2, 5)`,
        (x) => `${x}.padStart(3, '*')`,
        (x) => `${x}.charAt(1)`,
        (x) => `(${x} + '!')`,
        (x) => `${x}.concat(suffix)`,
        (x) => `${x}.replace('b', '[$&]')`,
        (x) => `${x}.replaceAll('b', suffix)`,
        (x) => `${x}.replace(/[ab]/g, '<$&>')`,
        (x) => `${x}.replaceAll(/b(.)?/gi, '$1')`,
        (x) => `${x}.substr(1, 2)`,
        (x) => `${x}.toLocaleUpperCase()`,
        (x) => `(${x}[1] ?? '?')`,
        (x) => `${x}.split('b').join('-')`,
        (x) => `${x}.split('').sort().reverse().join('')`,
        (x) => `${x}.split(/[-X]|(b)/).map((p) => p ?? '!').slice(1).join('+')`,
        (x) => `(${x}.split('b')[1] ?? r.s)`,
        (x) => `(${x}.match(/a(.)?/)?.[1] ?? 'none')`,
        (x) => `(${x}.match(/[ab]/g)?.join('.') ?? suffix)`,
        (x) => `(/b(.)?/.exec(${x})?.[1] ?? '')`,
        (x) => `(${x}.split('').findLast((p) => p > 'a') ?? '')`,
      ),
      fc.tuple(b, s, s).map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
      // of several columns, or of numbers
      fc.tuple(s, s).map(([x, y]) => `(${x} + ${y})`),
      fc.tuple(s, fc.constantFrom('r.n', 'r.d', '(r.n + 1)', 'r.m')).map(([x, y]) => `\`${'$'}{${x}} ${'$'}{${y}}\``),
      fc.constantFrom(
        'String(r.d)',
        'r.n.toFixed(1)',
        'String(1 / r.n)',
        'String(1 / r.d)',
        "('' + r.t + r.n)",
        '(r.s + labels[r.n])',
        'String(r.m)',
        '(r.s + r.yes)',
        "(r.yes ? r.s + '!' : r.s)",
      ),
    ),
    number: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: fc.constantFrom('r.n', '2', 'r.s.length', '(r.t?.length ?? -1)', '(r.s.codePointAt(1) * r.n)'), weight: 3 },
      of(
        s,
        (x) => `${x}.length`,
        (x) => `${x}.indexOf('b')`,
        (x) => `${x}.charCodeAt(1)`,
        (x) => `Number(${x})`,
        (x) => `parseInt(${x}, 10)`,
        (x) => `${x}.search(/b/)`,
        (x) => `${x}.split('b').length`,
        (x) => `${x}.split(/\\W/).map(Number).reduce((a, b) => a + b, 0)`,
        (x) => `Math.max(...${x}.split('').map((p) => p.charCodeAt(0)))`,
        (x) => `${x}.split('').filter((p, k) => p > 'a' && k !== r.n).length`,
        (x) => `${x}.split('').indexOf(r.s)`,
      ),
      fc.tuple(n, fc.constantFrom('+', '-', '*'), n).map(([a, operator, c]) => `(${a} ${operator} ${c})`),
    ),
    truth: fc.oneof(
      { depthSize: 'small' },
      of(
        s,
        (x) => `${x} === 'ab'`,
        (x) => `${x} < 'b'`,
        (x) => `${x}.includes('b')`,
        (x) => `/^\\w*b/.test(${x})`,
        (x) => `${x}.split('b').includes('a')`,
        (x) => `${x}.split('').some((p) => p === r.s)`,
        (x) => `${x}.match(/^[A-z]/) !== null`,
      ).map((x) => `(${x})`),
      n.map((x) => `(${x} > 1)`),
      fc.constantFrom('(r.t === null)', "(r.t !== null && r.t.slice(0, 1) === 'a')"),
      fc.tuple(b, fc.constantFrom('&&', '||'), b).map(([a, operator, c]) => `(${a} ${operator} ${c})`),
      b.map((x) => `!${x}`),
    ),
  }
})
const value = fc.oneof(text, number, truth)

type F = (r: Row) => unknown
/** Chains of functions, the same of an array of rows. */
interface Chain {
  readonly source: string
  readonly of: (array: DistArray<Row>, f: (source: string) => F) => DistArray<unknown>
  readonly plain: (rows: readonly Row[], f: (source: string) => F) => readonly unknown[]
}
const mapped = (source: string): Chain => ({
  source: `map ${source}`,
  of: (array, f) => array.map(f(source) as never),
  plain: (all, f) => all.map(f(source)),
})
const filtered = (test: string, then: Chain): Chain => ({
  source: `filter ${test}, ${then.source}`,
  of: (array, f) => then.of(array.filter(f(test) as never), f),
  plain: (all, f) => then.plain(all.filter(f(test)), f),
})
/** A chain over what a function gives. */
const within = (source: string, then: Chain): Chain => ({
  source: `map ${source}, ${then.source}`,
  of: (array, f) => then.of(array.map(f(source) as never), f),
  plain: (all, f) => {
    const given = all.map(f(source)) as Row[]
    given.forEach(checkWhole)
    return then.plain(given, f)
  },
})
const grouped = (key: string): Chain => ({
  source: `groupBy ${key}`,
  of: (array, f) => array.groupBy(f(key) as never).agg({ rows: count() }) as DistArray<unknown>,
  plain: (all, f) => {
    const groups = new Map<unknown, number>()
    for (const one of all.map(f(key))) groups.set(one, (groups.get(one) ?? 0) + 1)
    return [...groups].map(([found, n]) => ({ key: found, rows: n }))
  },
})
const sorted = (key: string): Chain => ({
  source: `sortBy ${key}`,
  of: (array, f) => array.sortBy(f(key) as never) as DistArray<unknown>,
  plain: (all, f) => {
    const keys = all.map(f(key)) as string[]
    keys.forEach(checkWhole)
    const order = all.map((_, i) => i).sort((a, b) => compared(keys[a] as string, keys[b] as string) || a - b)
    return order.map((i) => all[i])
  },
})
const HALF = 'half a surrogate pair'
/** No column holds half of a pair. */
const checkWhole = (one: unknown): void => {
  if (typeof one === 'string' && /\p{Surrogate}/u.test(one)) throw new Error(HALF)
  if (typeof one === 'object' && one !== null) Object.values(one).forEach(checkWhole)
}
/** By code points, as texts are ordered. */
const compared = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Several statements, which may be one function of a text as a whole. */
const statements = fc
  .tuple(text, number, fc.constantFrom('r.s', 'r.s', 'x'), number)
  .map(
    ([x, a, y, b]) =>
      `{ const x = ${x}; let sum = ${a}; for (let i = 0; i < ${y}.length; i++) sum = sum * 31 + ${y}.charCodeAt(i); return x === '' ? ${b} : sum }`,
  )
/** Parts of a text that have names. */
const parts = fc
  .tuple(
    text,
    fc.constantFrom(
      "const [a, b = '!', ...rest] = x.split('b')",
      "const [a, b] = x.split(/[-b]/).map((p) => p.trim()), rest = ['x']",
      "const rest = x.split(''), a = rest[0], b = rest.at(-1)",
      'const rest = x.match(/(a)?(.)/), a = rest && rest[1], b = rest?.[2]',
      'const [a, b] = x.match(/(a)?(.)/), rest = [a]',
      "const rest = x.split(''), a = rest.reverse()[0], b = rest[0]",
      "const rest = x.split('b'), same = rest, a = rest[0], b = String(rest === same)",
      'const rest = [], a = x, b = r.t.slice(1)',
    ),
    fc.constantFrom(
      'return b',
      'return { a, n: r.n }',
      'return { a, b, l: rest?.length, n: r.n }',
      'if (a === r.t) return b; return a + `$' + '{b}`',
    ),
  )
  .map(([x, names, then]) => `const x = ${x}; ${names}; ${then}`)
const chain: fc.Arbitrary<Chain> = fc.oneof(
  { arbitrary: parts.map(mapped), weight: 2 },
  text.map((x) => mapped(`return { a: ${x}.split('b').map((p) => p.length), b: ${x}.match(/[^]/gu), n: r.n }`)),
  value.map((x) => mapped(`return ${x}`)),
  fc.tuple(value, value).map(([a, b]) => mapped(`return { a: ${a}, b: ${b}, n: r.n }`)),
  fc.constantFrom('r.s.at(3)', 'r.s.codePointAt(1)', 'r.t?.at(0)').map((x) => mapped(`return { ...r, x: ${x} }`)),
  statements.map((x) => mapped(`return (() => ${x})()`)),
  fc.tuple(text, text, truth).map(([x, y, test]) => mapped(`let x = ${x}; if (${test}) x = ${y}; return { l: x.length + 1, n: r.n }`)),
  fc.tuple(text, text).map(([x, y]) => within(`return { s: ${x}, t: r.s, n: r.n, d: r.d, m: r.m, yes: r.yes }`, grouped(`return ${y}`))),
  fc.tuple(truth, value).map(([test, x]) => filtered(`return ${test}`, mapped(`return [${x}, r.n][0]`))),
  fc.tuple(truth, value).map(([test, x]) => filtered(`return ${test}`, mapped(`return { x: ${x} }`))),
  fc
    .tuple(fc.constantFrom('r.t !== null', 'r.t', "r.t !== null && r.t !== ''"), truth)
    .map(([guard, test]) =>
      filtered(`return ${guard}`, filtered(`return ${test}`, mapped("return { u: r.t.slice(1) + 'z', l: r.t.length, k: r.s.trim() }"))),
    ),
  value.map((x) => mapped(`return { x: ${x}, l: r.t.length }`)),
  text.map((x) => grouped(`return ${x}`)),
  text.map((x) => sorted(`return ${x}`)),
)

function outcome<T>(run: () => T): { readonly value: T } | { readonly message: string } {
  try {
    return { value: run() }
  } catch (error) {
    return { message: (error as Error).message }
  }
}

/** Columns have no undefined. */
const withNulls = (one: unknown): unknown => {
  if (typeof one !== 'object' || one === null) return one ?? null
  return Object.fromEntries(Object.entries(one).map(([name, field]) => [name, field ?? null]))
}

test('what is computed of texts, once for each or row by row, is what JavaScript computes', async () => {
  const counts = { planned: 0, thrown: 0, overColumns: 0, files: 0 }
  await fc.assert(
    fc.asyncProperty(
      rows,
      chain,
      fc.nat(1),
      fc.constantFrom('rows', 'stored', 'file'),
      async (given, { source, of, plain }, engine, where) => {
        const suffix = '-ß'
        // functions as a program has them, with the text that they capture
        const f = (body: string): F => new Function('suffix', `const labels = ['nö', 'b', '']; return (r) => { ${body} }`)(suffix) as F
        const plan = where === 'file' ? tableOf(await fileOf(given)) : tableOfRows(given)
        const array = new DistArray<Row>(engines[engine] as (typeof engines)[number], plan)
        const stored = where === 'stored'
        const table = stored ? array.materialize() : array
        const expected = outcome(() => {
          const found = plain(given, f).map(withNulls)
          found.forEach(checkWhole)
          return found
        })
        const actual = of(table as DistArray<Row>, f)
        if ('message' in expected) {
          counts.thrown++
          if (expected.message === HALF) return // a column that nobody reads is not made
          const { message } = (await actual.collect().catch((error: unknown) => error)) as Error
          // which of two comes first is not said
          const isOfNull = expected.message.includes('not iterable') && message.includes('Cannot read properties of null')
          expect(message.includes(expected.message) || message.includes(HALF) || isOfNull, `${source}: ${message}`).toBe(true)
          return
        }
        expect((await actual.collect()).map(withNulls), source).toEqual(expected.value)
        if (
          where === 'file' &&
          /(SIMD over columns|once for each value of a column|handed on as they are)[^\n]*\n/.test(await actual.explain({ analyze: true }))
        )
          counts.files++
        if (!stored || !actual.explain().includes('once for each of the values')) return
        counts.planned++
        const ran = await actual.explain({ analyze: true })
        if (/(SIMD over columns|once for each value of a column|handed on as they are)[^\n]*\n/.test(ran)) counts.overColumns++
      },
    ),
    LAW,
  )
  console.log(`functions of texts: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) {
    expect(counts.thrown).toBeGreaterThan(LAW.numRuns / 100)
    expect(Math.min(counts.overColumns, counts.files)).toBeGreaterThan(LAW.numRuns / 25)
  }
}, 300_000)

test('what is computed of texts has the codes that its texts would get', async () => {
  const counts = { made: 0, coded: 0, nulls: 0 }
  const texts = fc.array(fc.option(fc.constantFrom(...TEXTS), { freq: 6 }), { minLength: 1, maxLength: 30 })
  const functions = fc.constantFrom(
    'r.s?.slice(0, 1)',
    "r.s ?? 'a'",
    "r.s?.trim() ?? 'ab'",
    "r.s === '' ? null : String(r.s)",
    'r.s.length',
  )
  await fc.assert(
    fc.asyncProperty(texts, functions, async (given, source) => {
      const arena = lawArena(2 ** 24)
      const column = shareColumn(columnFromValues(given, { kind: 'utf8' }), arena, 'law')
      codeTexts(column, arena)
      const element = { kind: 'row', fields: [{ name: 's', type: column.type, nullable: true }] } as const
      const { fn } = lowerFunction(new Function('r', `return ${source}`) as F, { kind: 'row', method: 'map', inputs: [element] })
      const step = { kind: 'MapExec', f: fn, element: { kind: 'unknown' } } as const
      const table = { name: 'law', element, columns: [column], rows: given.length }
      const found = madeTextColumns(arena, () => undefined)(table, [step])
      if (found === undefined) return
      counts.made++
      const made = found.columns[1] as Column
      const codes = codesOf(made)
      expect(codes !== undefined, source).toBe(made.type.kind === 'utf8')
      if (codes === undefined) return
      counts.coded++
      const copy = await spelled(made, new ResultBlocks(arena, 'law'), async (all) => all.forEach((one) => void place(one, arena)))
      codeTexts(copy, arena)
      const looked = codesOf(copy) as TextCodes
      if (made.validity !== undefined) counts.nulls++
      expect([...codes.firsts], source).toEqual([...looked.firsts])
      expect(
        [...codes.codes].map((code, i) => (isValid(made, i) ? code : 0)),
        source,
      ).toEqual([...looked.codes])
    }),
    LAW,
  )
  console.log(`codes of what is computed: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(counts.coded, counts.nulls)).toBeGreaterThan(LAW.numRuns / 20)
})
