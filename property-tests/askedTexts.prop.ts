/**
 * Laws: texts of files that stand for those which answer the same answer what the file's do, whatever their splits' dictionaries are; and
 * plans over files whose filters ask texts that nothing else reads give what JavaScript's filters give, and leave nothing in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { mapBuffers } from '../src/exec/memory/shareColumns.ts'
import { ResultBlocks } from '../src/exec/tables/columns/resultBlocks.ts'
import { AnsweredTexts, answeredColumn, askedTexts } from '../src/exec/tables/columns/texts/askedTexts.ts'
import { codesOf } from '../src/exec/tables/columns/texts/textCodes.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('askedTexts.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const { engines, arena, stop } = piecemealEngines([1, 2])
const folder = mkdtempSync(join(tmpdir(), 'asked-texts-'))
afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly s: string | null
  readonly z: string
  readonly x: number
}

const TEXTS = ['', 'a', 'ab', ' ab ', 'Ab-12', '7', 'žluť', '😀b', 'aXbXc'] as const
const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<string | null>(...TEXTS) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
)
/** Questions; what the last of them give is no truth value for some texts, or they ask more than one text. */
const QUESTIONS = [
  "r.s === 'ab'",
  "r.s !== 'ab'",
  "r.s === ''",
  'r.s === null',
  "r.s !== null && r.s.startsWith('a')",
  "r.s === 'a' || r.s === 'nowhere' || r.s === '7'",
  "(r.s ?? '').length > 1",
  "!(r.s ?? '').includes('b')",
  "/b/.test(r.s ?? '') && r.s !== ' ab '",
  "r.s !== 'ab' && r.z === 'a'",
  "r.z !== '7'",
  "r.s !== 'a' && r.x > 3",
  'r.x > 3',
  "r.s === 'a' ? 1 : r.s === '7'",
] as const
const filters = fc.array(fc.constantFrom(...QUESTIONS), { minLength: 1, maxLength: 3 })
const testOf = (body: string): ((row: Row) => boolean) => new Function('r', `return ${body}`) as (row: Row) => boolean

const ELEMENT = {
  kind: 'row',
  fields: [
    { name: 's', type: { kind: 'utf8' }, nullable: true },
    { name: 'z', type: { kind: 'utf8' }, nullable: false },
    { name: 'x', type: { kind: 'f64' }, nullable: false },
  ],
} as const

/** Filters of rows of such a file, of which only `x` is read behind them. */
function planOf(asked: readonly string[], scan: LogicalPlan): LogicalPlan {
  const filtered = asked.reduce<LogicalPlan>((input, body) => {
    const { fn } = lowerFunction(testOf(body), { kind: 'row', method: 'filter', inputs: [input.element] })
    return { kind: 'Filter', input, f: fn, element: input.element, keys: scan.keys }
  }, scan)
  const { fields } = ELEMENT
  return { kind: 'Project', input: filtered, columns: ['x'], element: { kind: 'row', fields: [fields[2]] }, keys: scan.keys }
}

const split = fc.record({
  entries: fc.array(text, { minLength: 1, maxLength: 40 }),
  rows: fc.array(fc.nat(45), { minLength: 1, maxLength: 40 }),
  /** How often the rows come again: strides of a kernel end within some splits. */
  times: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(1_700) }),
  /** Places are a byte each, and lie where the numbers go. */
  bytes: fc.boolean(),
  plain: fc.integer({ min: 0, max: 19 }).map((of) => of === 0),
})

test('a text of a number answers what the texts of its rows answer', () => {
  const counts = { asked: 0, refused: 0, nulls: 0, several: 0 }
  const source = { kind: 'parquet', name: 'law', element: ELEMENT, rows: 1, splits: [] } as const
  const scan: LogicalPlan = { kind: 'Scan', source, columns: ['s', 'z', 'x'], element: ELEMENT, keys: { kind: 'rowNumber' } }
  fc.assert(
    fc.property(filters, fc.array(split, { minLength: 1, maxLength: 3 }), (bodies, splits) => {
      const asked = askedTexts(lower(planOf(bodies, scan))).get('s')
      const own = bodies.filter((body) => body.includes('r.s'))
      const tests = own.flatMap((body) => body.split(' && r.z')[0] ?? [])
      if (own.some((body) => body.includes('r.x'))) expect(asked).toBe(undefined)
      if (asked === undefined) return
      const held = arena.usedBytes
      const blocks = new ResultBlocks(arena, 'law')
      const inArena = (column: Column): Column => mapBuffers(column, (buffer) => blocks.copyOf(buffer))
      const parts = splits.map(({ entries, rows, times, bytes, plain }) => {
        const texts = entries.map((one) => one ?? '')
        // beside the entries there are nulls, but not among bytes
        const places = Array.from(
          { length: rows.length * times },
          (_, i) => (rows[i % rows.length] as number) % (texts.length + (bytes ? 0 : 3)),
        )
        const values = places.map((place) => texts[place] ?? null)
        const column = columnFromValues(values, { kind: 'utf8' })
        if (plain) return { values, column, bytes: false }
        const { validity } = column
        const dictionary = columnFromValues(texts, { kind: 'utf8' })
        const indices = bytes ? Uint8Array.from(places) : Int32Array.from(places) // of nulls behind the entries
        return {
          values,
          bytes,
          column: { type: column.type, length: values.length, values: indices, dictionary, ...(validity && { validity }) },
        }
      })
      const all = parts.flatMap(({ values }) => values)
      const whole: Column = { type: { kind: 'utf8' }, length: all.length, values: blocks.like(new Uint8Array(), all.length) }
      const numbers = whole.values as Uint8Array
      const texts = new AnsweredTexts(asked)
      let firstRow = 0
      let isAnswered = true
      for (const { column, bytes } of parts) {
        const { length, dictionary } = column as Column
        const there = numbers.subarray(firstRow, firstRow + length)
        if (bytes) there.set(column.values as Uint8Array)
        const values = bytes ? there : inArena({ type: { kind: 'i32' }, length, values: column.values as Int32Array }).values
        const part: Column = dictionary === undefined ? column : { ...column, ...(values && { values }) }
        isAnswered &&= texts.write(part, numbers, { firstRow, arena })
        firstRow += length
      }
      const isOdd = tests.some((body) => body.includes('? 1 :'))
      const isPlain = splits.some(({ plain }) => plain)
      if (!isOdd) expect(isAnswered).toBe(!isPlain)
      if (isAnswered) {
        const made = answeredColumn(whole, asked, [[], texts.texts], blocks)
        const codes = codesOf(made)?.codes
        const read = valueReader(made.dictionary as Column)
        for (const body of tests) {
          const ask = testOf(body)
          const of = (s: unknown): boolean => ask({ s: s as string | null, z: '', x: 0 })
          expect(Array.from(numbers, (number) => of(read(number)))).toStrictEqual(all.map(of))
        }
        expect(codes).toBe(numbers)
        counts.asked++
        if (all.includes(null)) counts.nulls++
        if (new Set(numbers).size > 2) counts.several++
      } else counts.refused++
      blocks.freeAll()
      expect(arena.usedBytes).toBe(held)
    }),
    LAW,
  )
  console.log(`asked texts: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS)
    expect(Math.min(counts.asked / 4, counts.refused * 2, counts.nulls, counts.several * 2)).toBeGreaterThan(LAW.numRuns / 20)
})

/** What is made of the rows that are kept. */
const ENDS = {
  count: { of: (a: DistArray<Row>) => a.count(), plain: (rows: readonly Row[]) => rows.length },
  sum: { of: (a: DistArray<Row>) => a.map((r) => r.x).sum(), plain: (rows: readonly Row[]) => rows.reduce((all, r) => all + r.x, 0) },
  rows: { of: (a: DistArray<Row>) => a.map((r) => r.x * 2).collect(), plain: (rows: readonly Row[]) => rows.map((r) => r.x * 2) },
  texts: { of: (a: DistArray<Row>) => a.map((r) => r.s).collect(), plain: (rows: readonly Row[]) => rows.map((r) => r.s) },
  whole: { of: (a: DistArray<Row>) => a.collect(), plain: (rows: readonly Row[]) => rows },
  others: {
    of: (a: DistArray<Row>) => a.withColumns((r) => ({ y: r.x + 1 })).collect(),
    plain: (rows: readonly Row[]) => rows.map((r) => ({ ...r, y: r.x + 1 })),
  },
  groups: {
    of: (a: DistArray<Row>) =>
      a
        .groupBy((r) => r.z)
        .agg({ n: count(), x: sum((r) => r.x) })
        .collect(),
    plain: (rows: readonly Row[]) => groupsOf(rows, ({ z }) => z),
  },
  own: {
    of: (a: DistArray<Row>) =>
      a
        .groupBy((r) => r.s)
        .agg({ n: count(), x: sum((r) => r.x) })
        .collect(),
    plain: (rows: readonly Row[]) => groupsOf(rows, ({ s }) => s),
  },
  sorted: {
    of: (a: DistArray<Row>) =>
      a
        .map((r) => ({ x: r.x, z: r.z }))
        .sortBy((r) => r.x)
        .collect(),
    plain: (rows: readonly Row[]) => rows.map(({ x, z }) => ({ x, z })).sort((a, b) => a.x - b.x),
  },
} as const

function groupsOf(rows: readonly Row[], keyOf: (row: Row) => string | null): readonly object[] {
  const groups = new Map<string | null, { readonly n: number; readonly x: number }>()
  for (const row of rows) {
    const { n = 0, x = 0 } = groups.get(keyOf(row)) ?? {}
    groups.set(keyOf(row), { n: n + 1, x: x + row.x })
  }
  return [...groups].map(([key, group]) => ({ key, ...group }))
}

async function fileOf(rows: readonly Row[], rowGroupRows: number): Promise<LogicalPlan> {
  const path = join(folder, 'rows.parquet')
  const plan = tableOfRows(rows) as Extract<LogicalPlan, { kind: 'Scan' }>
  const [split] = plan.source.splits
  const batches = split === undefined ? [] : await readSplit(plan.source, split, ['s', 'z', 'x'])
  await writeParquet({ batches, element: plan.source.element, path, options: { rowGroupRows } })
  return tableOf(await openParquet(path))
}

const rowsOf = fc.array(
  fc.record({ s: text, z: fc.constantFrom('', 'a', '7', 'žluť'), x: fc.integer({ min: 0, max: 9 }) }, { noNullPrototype: true }),
  { minLength: 1, maxLength: 30 },
)

test('plans over files whose filters ask texts give what JavaScript gives', async () => {
  const counts = { asked: 0, kept: 0, none: 0 }
  const end = fc.constantFrom<keyof typeof ENDS>(...(Object.keys(ENDS) as (keyof typeof ENDS)[]))
  await fc.assert(
    fc.asyncProperty(rowsOf, filters, end, fc.constantFrom(2, 7, 100), fc.nat(1), async (rows, bodies, wanted, groupRows, engine) => {
      const plan = await fileOf(rows, groupRows)
      const before = arena.usedBytes
      const tests = bodies.map(testOf)
      const file = new DistArray<Row>(engines[engine] as (typeof engines)[number], plan)
      const kept = tests.reduce((array, ask) => array.filter(ask), file)
      const expected = tests.reduce<readonly Row[]>((left, ask) => left.filter(ask), rows)
      const { of, plain } = ENDS[wanted]
      expect(await of(kept)).toEqual(plain(expected))
      expect(arena.usedBytes).toBe(before)
      const isWhole = fieldsOf(plan.element).length === ELEMENT.fields.length
      if (isWhole && askedTexts(lower(planOf(bodies, plan))).size > 0) counts.asked++
      if (expected.length > 0) counts.kept++
      else counts.none++
    }),
    LAW,
  )
  console.log(`plans that ask texts: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) expect(Math.min(counts.asked, counts.kept, counts.none * 2)).toBeGreaterThan(LAW.numRuns / 5)
}, 300_000)
