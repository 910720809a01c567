/**
 * Columns of dates and timestamps in kernels: what a function makes of them, compared, subtracted, taken apart in UTC and in local
 * time, is what it makes of the Dates that JavaScript sees, by Object.is: before 1970, at the ends of days, years and eras, where a
 * Date would be invalid, with digits finer than a millisecond, and null.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ElementType } from '../src/core/data/schema.ts'
import { type Expr, type FunctionIr, METHODS } from '../src/core/ir/functionIr.ts'
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
import { drawnRows, milliseconds, ROWS, tableOf } from './arbitraries/dateColumns.ts'
import { binary, literal, span } from './arbitraries/irNodes.ts'
import { interpretIr } from './functions/interpretIr.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

// a zone whose clocks change, and were not set by whole minutes before 1883; threads are started with it
const zone = process.env.TZ
process.env.TZ = 'America/New_York'
const run = announcedRun('columnDates.prop.ts')
const arena = lawArena(2 ** 26)
const pool = createPool({
  workers: 1,
  arena,
  handlers: { url: new URL('../src/session/taskHandlers.ts', import.meta.url).href, table: HANDLERS },
})
afterAll(async () => {
  await pool.stop()
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

const field = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })
const plain = fc.constantFrom('day', 's', 'ms', 'us', 'ns').map(field)
const anyDate = fc.constantFrom('day', 's', 'ms', 'us', 'ns', 'day0', 's0', 'ms0', 'us0', 'ns0').map(field)
const OF_DATES = METHODS.filter((method) => method.startsWith('get') || method === 'valueOf')
const number: fc.Arbitrary<Expr> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(...OF_DATES), plain)
      .map(([method, object]): Expr => ({ kind: 'MethodCall', method, object, args: [], optional: false, span })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('-', '*', '/', '%'), anyDate, fc.oneof(anyDate, fc.constant(literal(1000))))
      .map(([o, a, b]) => binary(o as '-', a, b)),
  },
  fc.tuple(plain, fc.oneof(plain, fc.constant(literal(1000)))).map(([a, b]) => binary('+', a, b)),
  fc
    .tuple(fc.constantFrom('-', '+'), anyDate)
    .map(([operator, operand]): Expr => ({ kind: 'Unary', operator: operator as '-', operand, span })),
  fc
    .tuple(fc.constantFrom('Math.abs', 'Math.floor', 'Number'), anyDate)
    .map(([callee, of]): Expr => ({ kind: 'Call', callee: callee as 'Number', args: [of], span })),
)
const truth: fc.Arbitrary<Expr> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('<', '<=', '>', '>='), anyDate, fc.oneof(anyDate, fc.constant<Expr>({ kind: 'Parameter', name: 'p', span })))
      .map(([o, a, b]) => binary(o as '<', a, b)),
  },
  fc.tuple(fc.constantFrom('===', '!==', '=='), anyDate).map(([o, a]) => binary(o as '===', a, literal(null))),
  fc.tuple(fc.constantFrom('<', '>='), number, fc.constantFrom(0, 12, 2000).map(literal)).map(([o, a, b]) => binary(o as '<', a, b)),
  fc
    .tuple(fc.constantFrom('isNaN', 'Number.isNaN', 'isFinite', 'Number.isFinite'), anyDate)
    .map(([callee, of]): Expr => ({ kind: 'Call', callee: callee as 'isNaN', args: [of], span })),
)

function functionOf(value: Expr, p: number): FunctionIr {
  const parameters = [{ name: 'p', value: p, origin: 'capture' as const }]
  return { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span }], parameters, tables: [], uses: [] }
}

const cases = fc.record({
  rows: drawnRows,
  filter: fc.option(truth, { nil: undefined }),
  of: fc.oneof({ weight: 2, arbitrary: number }, truth),
  p: milliseconds.map(Number),
})

test('what kernels make of dates is what JavaScript makes of them', async () => {
  const seen = { compiled: 0, filtered: 0 }
  const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
  await fc.assert(
    fc.asyncProperty(cases, async ({ rows, filter, of, p }) => {
      const source = sourceFromArrow(tableOf(rows), { memory: tableMemory(arena, { fewestRows: 0, coded: false }) })
      const scan: LogicalPlan = {
        kind: 'Scan',
        source,
        columns: [...columnNames(source.element)],
        element: source.element,
        keys: { kind: 'rowNumber' },
      }
      const [batch] = await executor.execute(scan)
      const read = rowReader(batch as NonNullable<typeof batch>) // a table has a batch
      const all = Array.from({ length: ROWS }, (_, i) => read(i))
      const isKept = filter === undefined ? undefined : functionOf(filter, p)
      const made = functionOf(of, p)
      const kept = isKept === undefined ? all : all.filter((row) => interpretIr(isKept, { inputs: [row], key: [0] }))
      const expected = kept.map((row) => interpretIr(made, { inputs: [row], key: [0] }) ?? null)
      const input: LogicalPlan = isKept === undefined ? scan : { ...scan, kind: 'Filter', input: scan, f: userFunction(isKept) }
      const element = returnedElement(userFunction(made), { kind: 'row', method: 'map', inputs: [scan.element] })
      const plan: LogicalPlan = { kind: 'Map', input, f: userFunction(made), element, keys: { kind: 'rowNumber' } }
      const check = (what: string, batches: readonly Batch[]): void => {
        const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
        const at = expected.findIndex((one, i) => !Object.is(one, actual[i]))
        if (at < 0 && actual.length === expected.length) return
        const text = `${isKept === undefined ? '' : irListing(isKept)}\n${irListing(made)}`
        throw new Error(`${what}, row ${at}: ${String(actual[at])}, not ${String(expected[at])}\n${text}`)
      }
      check('the JavaScript kernel', await new Executor({ pool, arena, readSplit, lower }).execute(plan))
      const result = await executor.table(plan)
      if (result === undefined) return
      seen.compiled++
      if (isKept !== undefined && kept.length > 0) seen.filtered++
      check('the column kernel', [result])
      for (const column of result.columns) freeColumn(column, arena)
    }),
    run,
  )
  console.log(`dates in kernels: ${JSON.stringify(seen)}`)
  expect(seen.compiled).toBeGreaterThan(run.numRuns * 0.6)
  expect(seen.filtered).toBeGreaterThan(run.numRuns * 0.2)
})

function columnNames(element: ElementType): readonly string[] {
  return element.kind === 'row' ? element.fields.map(({ name }) => name) : []
}

function userFunction(ir: FunctionIr) {
  return { original: () => undefined, text: 'f', span: ir.span, ir, refusals: [] }
}
