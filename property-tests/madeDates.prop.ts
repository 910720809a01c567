/**
 * Dates that functions of rows make: `new Date(x)` of numbers, dates, null and truth, as what a map returns, as a column
 * that is added, in filters and in steps after one another. The values are JavaScript's own: whole milliseconds within
 * ±8.64e15; and where a step stores an invalid Date, there is an error, whoever ran the step.
 */
import { Bool, Float64, makeData, makeVector, Table, TimestampMicrosecond, TimestampMillisecond } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { Expr, FunctionIr } from '../src/core/ir/functionIr.ts'
import { withFields } from '../src/core/plan/elements.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromArrow } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { returnedElement } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { binary, choice, literal, span } from './arbitraries/irNodes.ts'
import { interpretIr } from './functions/interpretIr.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const run = announcedRun('madeDates.prop.ts')
const arena = lawArena(2 ** 26)
const pool = createPool({
  workers: 1,
  arena,
  handlers: { url: new URL('../src/session/taskHandlers.ts', import.meta.url).href, table: HANDLERS },
})
afterAll(() => pool.stop())

const ROWS = 37
const MOST = 8.64e15

/** What makes a valid Date, and what need not. */
const tame = fc.oneof(
  fc.integer({ min: -(10 ** 15), max: 10 ** 15 }),
  fc.double({ min: -1e15, max: 1e15, noNaN: true }),
  fc.constantFrom(0, -0, -0.5, 0.5, -1.5, 2 ** 32, -(2 ** 32), 2 ** 32 - 1, -1, MOST, -MOST, MOST - 1, 1 - MOST, 2 ** 31, -86_400_000.25),
)
const wild = fc.oneof(
  { weight: 12, arbitrary: tame },
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, MOST + 1, -MOST - 1, MOST + 2 ** -1, 1e300),
)
const times = fc.oneof(
  fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }),
  fc.constantFrom(0n, -1n, 86_400_000n, -86_400_000n, 8_640_000_000_000_000n, -8_640_000_000_000_000n),
)

interface Drawn {
  readonly x: readonly number[]
  readonly n: readonly number[]
  readonly t: readonly bigint[]
  readonly nulls: readonly boolean[]
}
const listOf = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: ROWS, maxLength: ROWS })
const rowsOf = (numbers: fc.Arbitrary<number>): fc.Arbitrary<Drawn> =>
  fc.record({ x: listOf(numbers), n: listOf(numbers), t: listOf(times), nulls: listOf(fc.boolean()) })

/** Numbers x and n, times t and u, truth b; n, u and b may be null. */
function tableOf({ x, n, t, nulls }: Drawn): Table {
  const nullBitmap = new Uint8Array(64)
  for (const [i, isNull] of nulls.entries()) if (!isNull) nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7))
  const truth = new Uint8Array(64).map((_, i) => (i * 37) & 255)
  return new Table({
    x: makeVector(makeData({ type: new Float64(), data: Float64Array.from(x) })),
    n: makeVector(makeData({ type: new Float64(), data: Float64Array.from(n), nullBitmap })),
    t: makeVector(makeData({ type: new TimestampMillisecond(), data: BigInt64Array.from(t) })),
    u: makeVector(
      makeData({ type: new TimestampMicrosecond(), data: BigInt64Array.from(t, (ms) => (ms / 1000n) * 1000n + 999n), nullBitmap }),
    ),
    b: makeVector(makeData({ type: new Bool(), length: ROWS, data: truth, nullBitmap })),
  } as never)
}

const field = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })
const newDate = (of: Expr): Expr => ({ kind: 'Call', callee: 'new Date', args: [of], span })
const method = (name: 'getTime' | 'getUTCFullYear' | 'getUTCDate', object: Expr): Expr => ({
  ...{ kind: 'MethodCall', method: name, object, args: [], optional: false, span },
})
const floorTo = (of: Expr, by: number): Expr =>
  binary('*', { kind: 'Call', callee: 'Math.floor', args: [binary('/', of, literal(by))], span }, literal(by))

const number: fc.Arbitrary<Expr> = fc.oneof(
  fc.constantFrom('x', 'n', 'b').map(field),
  fc.tuple(fc.constantFrom('t', 'u'), fc.constantFrom(1, 0.5, -86_400_001)).map(([of, by]) => binary('-', field(of), literal(by))),
  fc
    .tuple(fc.constantFrom(method('getTime', field('t')), field('x')), fc.constantFrom(86_400_000, 900_000))
    .map(([of, by]) => floorTo(of, by)),
  fc.constantFrom('t', 'u').map(field),
  fc.constantFrom(newDate(field('t')), newDate(field('x'))).map((of) => method('getUTCFullYear', of)),
  fc.tuple(fc.constantFrom(literal(0), method('getUTCDate', field('t'))), fc.constantFrom(1, 2.5)).map(
    ([month, day]): Expr => ({
      kind: 'Call',
      callee: 'Date.UTC',
      args: [method('getUTCFullYear', field('t')), month, literal(day)],
      span,
    }),
  ),
)
const made = number.map(newDate)
const truth: fc.Arbitrary<Expr> = fc.oneof(
  fc
    .tuple(fc.constantFrom('<', '<=', '>', '>='), made, fc.oneof(made, fc.constantFrom(field('t'), field('u'), literal(0))))
    .map(([o, a, b]) => binary(o as '<', a, b)),
  fc.tuple(fc.constantFrom('===', '!=='), made).map(([o, a]) => binary(o as '===', a, literal(null))),
  fc.constantFrom(field('b'), binary('>', field('x'), literal(0))),
)
const date: fc.Arbitrary<Expr> = fc.oneof(
  { weight: 3, arbitrary: made },
  fc
    .tuple(
      truth,
      fc.oneof(made, fc.constantFrom(field('t'), field('u'))),
      fc.oneof(made, fc.constantFrom(field('t'), field('u'), literal(null))),
    )
    .map(([test, a, b]) => choice(test, a, b)),
  fc
    .tuple(
      fc.constantFrom('&&', '||', '??'),
      fc.oneof(
        fc.constantFrom(field('u'), field('t')),
        made,
        made.map((one) => choice(field('b'), one, literal(null))),
      ),
      made,
    )
    .map(([o, a, b]): Expr => ({ kind: 'Logical', operator: o as '??', left: a, right: b, span })),
)
const object = (fields: Readonly<Record<string, Expr>>): Expr => ({
  ...{ kind: 'ObjectLiteral', fields: Object.entries(fields).map(([name, value]) => ({ name, value })), span },
})

type StepOf = { readonly kind: 'Map' | 'WithColumns' | 'Filter'; readonly ir: FunctionIr }
const step = (kind: StepOf['kind'], value: Expr): StepOf => ({
  kind,
  ir: { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span }], parameters: [], tables: [], uses: [] },
})
const chains: fc.Arbitrary<readonly StepOf[]> = fc
  .tuple(
    fc.option(truth, { nil: undefined }),
    fc.oneof(
      date.map((one) => [step('Map', one)]),
      fc.tuple(date, date).map(([d, e]) => [step('Map', object({ d, e, x: field('x') }))]),
      date.map((d) => [step('WithColumns', object({ d }))]),
      date.map((d) => [step('Map', object({ d, x: field('x') })), step('Map', field('x'))]),
      fc
        .tuple(date, fc.constantFrom('<', '>='))
        .map(([d, o]) => [
          step('WithColumns', object({ d })),
          step('Filter', binary(o as '<', field('d'), literal(10 ** 12))),
          step('Map', object({ x: field('x'), e: newDate(field('d')) })),
        ]),
    ),
  )
  .map(([filter, rest]) => [...(filter === undefined ? [] : [step('Filter', filter)]), ...rest])
const cases = fc.record({ rows: fc.oneof({ weight: 3, arbitrary: rowsOf(tame) }, rowsOf(wild)), chain: chains })

/** The rows, one step after the other; 'invalid' where an invalid Date is stored. */
function reference(rows: readonly unknown[], chain: readonly StepOf[]): readonly unknown[] | 'invalid' {
  let now = rows
  for (const { kind, ir } of chain) {
    const values = now.map((row) => interpretIr(ir, { inputs: [row], key: [0] }))
    if (kind === 'Filter') {
      now = now.filter((_, i) => Boolean(values[i]))
      continue
    }
    if (values.some(holdsInvalid)) return 'invalid'
    now = kind === 'Map' ? values : now.map((row, i) => ({ ...(row as object), ...(values[i] as object) }))
  }
  return now
}

function holdsInvalid(value: unknown): boolean {
  if (value instanceof Date) return Number.isNaN(value.getTime())
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInvalid)
}

function planOf(scan: LogicalPlan, chain: readonly StepOf[]): LogicalPlan {
  return chain.reduce((input, { kind, ir }): LogicalPlan => {
    const f = { original: () => undefined, text: 'f', span: ir.span, ir, refusals: [] }
    const { element: before, keys } = input
    if (kind === 'Filter') return { kind, input, f, element: before, keys }
    const returned = returnedElement(f, { kind: 'row', method: 'map', inputs: [before] })
    const element = kind === 'Map' ? returned : withFields(before, fieldsOf(returned))
    return { kind, input, f, element, keys }
  }, scan)
}

/** Whole numbers of milliseconds stand for Dates: -0 is none. */
function comparable(value: unknown): unknown {
  if (value instanceof Date) return `Date ${value.getTime()}`
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, comparable(one)]))
}

test('what kernels make of new Date is what JavaScript makes of it', async () => {
  const seen = { compiled: 0, invalid: 0, tables: 0 }
  const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
  await fc.assert(
    fc.asyncProperty(cases, async ({ rows, chain }) => {
      const source = sourceFromArrow(tableOf(rows), { memory: tableMemory(arena, { fewestRows: 0, coded: false }) })
      const columns = fieldsOf(source.element).map(({ name }) => name)
      const scan: LogicalPlan = { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
      const [batch] = await executor.execute(scan)
      const read = rowReader(batch as NonNullable<typeof batch>) // a table has a batch
      const expected = reference(
        Array.from({ length: ROWS }, (_, i) => read(i)),
        chain,
      )
      const plan = planOf(scan, chain)
      const listing = chain.map(({ kind, ir }) => `${kind} ${irListing(ir)}`).join('\n')
      const check = (what: string, batches: readonly Batch[]): void => {
        const actual = batches.flatMap((one) => Array.from({ length: one.length }, (_, i) => comparable(rowReader(one)(i))))
        expect(actual, `${what}\n${listing}`).toEqual(expected === 'invalid' ? 'an error' : expected.map(comparable))
      }
      for (const [what, one] of [
        ['JavaScript', new Executor({ pool, arena, readSplit, lower })],
        ['kernels', executor],
      ] as const) {
        try {
          check(what, await one.execute(plan))
        } catch (error) {
          if (expected !== 'invalid') throw error
          expect(String(error), `${what}\n${listing}`).toMatch(/^PlanError: .*and the value an invalid Date at row \d+ does not fit it\.$/)
        }
      }
      if (expected === 'invalid') seen.invalid++
      const result = await executor.table(plan)
      if (result === undefined) return
      seen.compiled++
      if (chain.length > 1) seen.tables++
      check('a table', [result])
      for (const column of result.columns) freeColumn(column, arena)
    }),
    run,
  )
  console.log(`dates that are made: ${JSON.stringify(seen)}`)
  expect(seen.compiled).toBeGreaterThan(run.numRuns * 0.4)
  expect(seen.invalid).toBeGreaterThan(run.numRuns * 0.1)
})
