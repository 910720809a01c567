/**
 * What Spark makes of a function of rows is what the function gives, by Object.is: nulls, NaN, -0, infinities, extremes of
 * every type, texts beyond U+FFFF. Functions that are refused are counted, and are none of what they might be.
 *
 * Exponentials and their like are compared within 1e-9 where nothing else is computed of them, as last bits decide
 * comparisons. A query may fail where the function throws, or where a character is cut in two; it is never another answer.
 */
import { Bool, Field, Float32, Float64, Int8, Int16, Int32, Int64, Null, Schema, Uint8, Uint16, Uint32, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { type ElementType, fieldsOf } from '../src/core/data/schema.ts'
import { type Expr, type FunctionIr, type UserFunction, visitExpr } from '../src/core/ir/functionIr.ts'
import { isKnown } from '../src/core/plan/elements.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { sparkAddress } from '../src/io/spark/address.ts'
import { type SparkClient, sparkClient } from '../src/io/spark/client.ts'
import type { Relation } from '../src/io/spark/messages.ts'
import { translate } from '../src/io/spark/plan.ts'
import { arrowOf, batchesOf } from '../src/io/spark/rows.ts'
import { Untranslated } from '../src/io/spark/untranslated.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { returnedElement } from '../src/planner/function/userFunction.ts'
import { COLUMN_TYPES, TEXTS } from './arbitraries/columnFunction.ts'
import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { sparkFunction } from './arbitraries/sparkFunction.ts'
import { interpretIr } from './functions/interpretIr.ts'
import { announcedRun } from './lawRuns.ts'
import { startSail, startSpark } from './sparkServers.ts'

const run = announcedRun('sparkExpressions.prop.ts')
const servers = (await Promise.all([startSail(), startSpark()])).filter((one) => one !== undefined)
const clients = new Map<string, SparkClient>()
for (const { name, address } of servers) {
  const client = sparkClient(sparkAddress(address))
  await client.start()
  clients.set(name, client)
}
afterAll(async () => {
  for (const client of clients.values()) await client.release()
  for (const server of servers) await server.stop()
})

type Row = Readonly<Record<string, unknown>>
const ARROW = {
  ...{ f64: new Float64(), f32: new Float32(), i32: new Int32(), u32: new Uint32(), i16: new Int16(), u16: new Uint16() },
  ...{ i8: new Int8(), u8: new Uint8(), bool: new Bool(), i64: new Int64(), utf8: new Utf8(), null: new Null() },
}
const LIMITS: Readonly<Record<string, readonly unknown[]>> = {
  ...{ i32: [0, 1, -1, 7, 2 ** 31 - 1, -(2 ** 31)], u32: [0, 1, 2 ** 31, 2 ** 32 - 1], i16: [0, 5, 3, -2, -(2 ** 15), 2 ** 15 - 1] },
  ...{ u16: [0, 3, 2 ** 16 - 1], i8: [0, 2, 4, -1, -128, 127], u8: [0, 9, 255], bool: [true, false], null: [null] },
  ...{
    i64: [0n, 5n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n],
    utf8: [...TEXTS, ' \u00a0by\ufeff', '\ue000', '\u{10ffff}b', 'é'],
  },
}
const names = Object.entries(COLUMN_TYPES)
const rows = Array.from({ length: 48 }, (_, i): Row => {
  const cells = names.map(([name, type], c) => {
    const pick = (Math.imul(i * 31 + c * 17 + 5, 0x9e3779b1) >>> 7) % 100_003
    const values = LIMITS[type] ?? [...SPECIAL_NUMBERS, pick / 7 - 50, (pick % 41) - 20.5]
    const value = values[pick % values.length]
    return [name, name.endsWith('0') && pick % 4 === 1 ? null : type === 'f32' ? Math.fround(value as number) : value] as const
  })
  return Object.fromEntries(cells)
})
const schema = new Schema(names.map(([name, type]) => new Field(name, ARROW[type], name.endsWith('0') || type === 'null')))
const source = sourceFromRows(rows, { schema })
const element: ElementType = source.element
const columns = fieldsOf(element).map(({ name }) => name)
const [split] = source.splits
if (split === undefined) throw new Error('The table has no rows.')
const data = arrowOf(element, await readSplit(source, split, columns))
const relation: Relation = { localRelation: { data } }
const scan: LogicalPlan = {
  kind: 'Scan',
  source: { kind: 'spark', name: 'rows', element, splits: [], remote: { kind: 'table', detail: relation } },
  columns,
  element,
  keys: { kind: 'rowNumber' },
}

const INEXACT = /^Math\.(exp|expm1|log|log10|log1p|log2|cbrt|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh)$/
const isInexact = (expr: Expr): boolean =>
  (expr.kind === 'Call' && INEXACT.test(expr.callee)) || (expr.kind === 'Binary' && expr.operator === '**')

/** How results are compared, as far as functions with last bits of their own decide it. */
function exactness({ body }: FunctionIr): 'exact' | 'near' | 'unknown' {
  let found = 0
  for (const stmt of body) {
    const exprs = stmt.kind === 'Return' && stmt.value !== undefined ? [stmt.value] : []
    for (const expr of exprs) visitExpr(expr, (one) => (found += Number(isInexact(one))))
    if (stmt.kind !== 'Return') found += irText(stmt).match(/Math\.(exp|log|cbrt|pow)|"\*\*"/g)?.length ?? 0
  }
  if (found === 0) return 'exact'
  const [first] = body
  return found === 1 && first?.kind === 'Return' && first.value !== undefined && isInexact(first.value) ? 'near' : 'unknown'
}

function irText(stmt: unknown): string {
  return JSON.stringify(stmt, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

function agrees(expected: unknown, actual: unknown, how: 'exact' | 'near' | 'unknown'): boolean {
  if (Object.is(expected, actual)) return true
  if (how === 'exact' || typeof expected !== 'number' || typeof actual !== 'number') return false
  return Math.abs(expected - actual) <= 1e-9 * Math.max(Math.abs(expected), Math.abs(actual))
}

function outcome(f: FunctionIr, row: Row): unknown {
  try {
    const value = interpretIr(f, { inputs: [row], key: [0] }) ?? null
    return typeof value === 'bigint' && value !== BigInt.asIntN(64, value) ? THROWS : value
  } catch {
    return THROWS
  }
}
const THROWS = Symbol('throws')
/** A character cut in two is none for a server, and half of one here. */
/** A bigint may have more bits on the way to a result than a server has. */
const BEYOND = /more than 64 bits/
const CUT = /MALFORMED_CHARACTER_CODING|utf-?16|surrogate/i

if (servers.length === 0) test.skip('neither Sail nor Spark is here: expressions are not compared', () => {})

describe.each(servers)('on $name', ({ name }) => {
  test('a function of rows gives there what it gives here', async () => {
    const client = clients.get(name) as SparkClient
    const counts = { compared: 0, refused: 0, unknown: 0, failed: 0 }
    const because = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(sparkFunction, async (ir) => {
        const f: UserFunction = { original: () => undefined, text: 'f', span: ir.span, ir, refusals: [] }
        const returned = returnedElement(f, { kind: 'row', method: 'map', inputs: [element] })
        const how = exactness(ir)
        if (!isKnown(returned) || how === 'unknown') {
          counts.unknown++
          return
        }
        const plan: LogicalPlan = { kind: 'Map', input: scan, f, element: returned, keys: { kind: 'rowNumber' } }
        let query: Relation
        try {
          query = translate(plan, () => relation).relation
        } catch (error) {
          if (!(error instanceof Untranslated)) throw error
          counts.refused++
          because.set(error.message, (because.get(error.message) ?? 0) + 1)
          return
        }
        const expected = rows.map((row) => outcome(ir, row))
        const actual: unknown[] = []
        try {
          for await (const message of client.execute(query)) {
            for (const batch of batchesOf(message, returned, { at: name, firstRow: actual.length })) {
              const read = rowReader(batch)
              for (let i = 0; i < batch.length; i++) actual.push(read(i))
            }
          }
        } catch (error) {
          counts.failed++
          if (expected.includes(THROWS) || CUT.test(String(error)) || BEYOND.test(String(error))) return
          throw new Error(`${String(error)}\n${irListing(ir)}`)
        }
        counts.compared++
        const at = expected.findIndex((value, i) => !agrees(value, actual[i], how))
        if (at < 0 && actual.length === rows.length) return
        const shown = (value: unknown): string =>
          Object.is(value, -0) ? '-0' : JSON.stringify(value) === 'null' ? String(value) : String(value)
        throw new Error(
          `row ${at} is ${shown(actual[at])}, not ${shown(expected[at])}\n${irListing(ir)}\n${JSON.stringify(rows[at], (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : typeof v === 'number' ? shown(v) : v))}`,
        )
      }),
      run,
    )
    console.log(
      `${name}: ${JSON.stringify(counts)}\n${[...because]
        .sort((a, b) => b[1] - a[1])
        .slice(0, 25)
        .map(([why, n]) => `${n} ${why}`)
        .join('\n')}`,
    )
    if (run.numRuns >= 500) expect(counts.compared).toBeGreaterThan(run.numRuns * 0.3)
  })
})
