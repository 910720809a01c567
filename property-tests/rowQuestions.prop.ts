/**
 * Law: a body that asks texts, dates and nulls of the row that it is given, however it is written, gives the bits of plain JavaScript,
 * and is compiled where these questions are all that it reads of such columns; so do loops over tables that another loop, or the
 * program, has changed since.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('rowQuestions.prop.ts')
const FEW_RUNS = 500
const sessions = await Promise.all([1, 2].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

interface Row {
  readonly kind: string
  readonly note: string | null
  readonly when: Date
  readonly price: number | null
  readonly qty: number
  readonly ok: boolean
}

const TEXTS = ['buy', 'sell', '', 'žluť', 'buyback']
const row: fc.Arbitrary<Row> = fc.record(
  {
    kind: fc.constantFrom(...TEXTS),
    note: fc.option(fc.constantFrom(...TEXTS), { freq: 3 }),
    when: fc.date({ min: new Date('1931-02-03'), max: new Date('2105-05-06'), noInvalidDate: true }),
    price: fc.option(fc.constantFrom(0, -0, 1.5, -7, Number.NaN, 1e300), { freq: 3 }),
    qty: fc.integer({ min: -9, max: 9 }),
    ok: fc.boolean(),
  },
  { noNullPrototype: true },
)

/** What bodies look texts up in; some are texts of no row, some of no collection. */
const FEES = new Map([
  ['buy', 1.5],
  ['sell', -0],
  ['hold', 9],
])
const RATES = { '': 4, žluť: Number.NaN, buy: 0.25 }
const GOOD = new Set(['buy', '', 'x'])

const literal = fc.constantFrom("'buy'", "'sell'", "''", "'žluť'", "'back'")
const truth = fc.letrec<{ truth: string }>((tie) => ({
  truth: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(fc.constantFrom('r.kind', 'r.note', 'kind'), fc.constantFrom('===', '!=='), literal).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(literal, fc.constantFrom('===', '!=='), fc.constantFrom('r.kind', 'r.note')).map((parts) => `(${parts.join(' ')})`),
    fc.constantFrom('good.has(r.kind)', 'good.has(r.note)', 'fees.has(r.note)', '(fees.get(r.kind) === undefined)', '(rates[r.kind] > 1)'),
    fc.constantFrom('(r.note === null)', '(r.note !== null)', '(r.price === null)', '(r.ok)', '(r.qty > 2)', '(r.price !== null)'),
    fc.tuple(fc.constantFrom('startsWith', 'endsWith', 'includes'), literal).map(([method, text]) => `r.kind.${method}(${text})`),
    fc.tuple(tie('truth'), fc.constantFrom('&&', '||'), tie('truth')).map(([a, operator, b]) => `(${a} ${operator} ${b})`),
    tie('truth').map((x) => `!${x}`),
  ),
})).truth
const METHODS = [
  'getTime',
  'getUTCFullYear',
  'getUTCMonth',
  'getUTCDate',
  'getUTCDay',
  'getUTCHours',
  'getUTCMinutes',
  'getUTCSeconds',
  'getUTCMilliseconds',
]
const number = fc.oneof(
  fc.constantFrom(
    'r.qty',
    's',
    'i',
    '3',
    '(r.price ?? -1)',
    '(r.price ?? 0)',
    '(r.price ?? -0)',
    '(r.price ?? NaN)',
    '(r.price ?? Infinity)',
    '(r.price * 2)',
  ),
  fc.constantFrom(
    '(fees.get(r.kind) ?? 1)',
    '(fees.get(r.note) ?? -0)',
    '(rates[r.kind] ?? 7)',
    '(rates[r.note] * 2)',
    '(fees.get(r.kind) - 1)',
  ),
  fc.constantFrom(...METHODS).map((method) => `r.when.${method}()`),
  truth.map((x) => `(${x} ? 1 : 2)`),
)
/** What nothing but the rows themselves can tell. */
const other = fc.constantFrom('r.kind.length', "(r.note ?? 'x').length", "(r.kind < 'c' ? 1 : 0)", '(r.note?.length ?? 7)')
const statement = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(number, number).map(([a, b]) => `s = s * 0.5 + ${a} - ${b}`) },
  { weight: 3, arbitrary: fc.tuple(truth, number, number).map(([test, a, b]) => `if (${test}) s += ${a}; else s -= ${b}`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(literal, number, number)
      .map(([text, a, b]) => `switch (r.kind) { case ${text}: s += ${a}; break; case 'buyback': s -= ${b}; break; default: s *= 2 }`),
  },
  { weight: 2, arbitrary: fc.tuple(truth, number).map(([test, a]) => `for (let k = 0; k < 3; k++) if (${test}) s += k * ${a}`) },
  { weight: 1, arbitrary: fc.tuple(truth).map(([test]) => `if (${test}) return`) },
  { weight: 1, arbitrary: other.map((x) => `s += ${x}`) },
  { weight: 1, arbitrary: truth.map((test) => `if (${test}) kind = 'sell'`) },
)
const body = fc.tuple(fc.array(statement, { minLength: 1, maxLength: 4 }), fc.boolean()).map(([lines, folds]) => ({
  text: `(r, [i], { y, h }) => {\nlet s = i\nlet kind = r.kind\n${lines.join('\n')}\ny.set(i, s)\n${folds ? 'h.add(r.when.getUTCDay(), 1)\n' : ''}}`,
  hasOther: lines.some((line) => /length|< 'c'|kind = '/.test(line)),
}))

type Body = (row: Row, key: readonly number[], env: object) => void
type Env = { readonly y: { set(i: number, v: number): void }; readonly h: { add(i: number, v: number): void } }

test('what bodies ask of texts, dates and nulls of their rows is what plain JavaScript answers', async () => {
  const counts = { compiled: 0, other: 0, neither: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 20 }),
      body,
      fc.nat(1),
      fc.constantFrom('rows', 'stored', 'chain', 'changed'),
      async (rows, { text, hasOther }, which, from) => {
        const session = sessions[which] as Session
        const run = new Function('fees', 'rates', 'good', `return ${text}`)(FEES, RATES, GOOD) as Body
        // a table that is only sometimes without nulls
        const table = session.fromRows<Row>(rows)
        const y = session.zeros([rows.length])
        const h = session.zeros([7])
        const over =
          from === 'rows'
            ? table
            : from === 'chain'
              ? table.filter((r) => r.qty < 8).map((r) => ({ ...r, qty: r.qty + 1 }))
              : table.materialize()
        const loop = session.loop(over as typeof table, { y, h }, run as never)
        let expectedRows = from === 'chain' ? rows.filter((r) => r.qty < 8).map((r) => ({ ...r, qty: r.qty + 1 })) : rows
        const expected = { y: new Float64Array(rows.length), h: new Float64Array(7) }
        const env: Env = {
          y: { set: (i, v) => void (expected.y[i] = v) },
          h: { add: (i, v) => void (expected.h[i] = (expected.h[i] as number) + v) },
        }
        const pass = (): void => expectedRows.forEach((r, i) => void run(r, [i], env))
        pass()
        await loop.run()
        if (from === 'changed') {
          const next: Row = { ...(rows[0] as Row), kind: 'sell', note: rows[0]?.note ?? null, qty: 5 }
          await over.set([0] as never, next)
          expectedRows = [next, ...rows.slice(1)]
        }
        pass()
        await loop.run()
        const isCompiled = loop.plan.kernel?.target.startsWith('wasm') === true
        counts[isCompiled ? 'compiled' : hasOther ? 'other' : 'neither']++
        expect([...((await y.toTypedArray()) as Float64Array)], text).toEqual([...expected.y])
        expect([...((await h.toTypedArray()) as Float64Array)], text).toEqual([...expected.h])
        for (const one of [y, h]) await one.release()
      },
    ),
    RUN,
  )
  console.log(`questions of rows: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= FEW_RUNS) expect(counts.compiled).toBeGreaterThan(RUN.numRuns / 3)
}, 300_000)
