/**
 * Law 5 for questions about texts: kernels over bytes answer `includes`, `startsWith`, `endsWith` and regular expressions as
 * JavaScript does, for texts of few characters that come close to what is asked for, with ends of lines, characters of one to
 * four bytes, NUL, and in what is asked for halves of pairs, which no column can hold.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { Expr, UserFunction } from '../src/core/ir/functionIr.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn } from '../src/exec/memory/shareColumns.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { irListing } from '../src/planner/function/irText.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { interpretIr } from './functions/interpretIr.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const run = announcedRun('columnTexts.prop.ts')
const FEW_RUNS = 500
const arena = lawArena(2 ** 28)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
afterAll(() => pool.stop())

const PIECES = [
  'a',
  'b',
  'ab',
  'aab',
  'é',
  '—',
  '😀',
  '\u{1f601}',

  '\ufffd',
  '\u0000',
  '.',
  '\n',
  '\r',
  '\u2028',
  '\u2029',
  ' ',
]
const piece = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('a', 'b', 'ab', '\n') }, fc.constantFrom(...PIECES))
const joined = (maxLength: number, minLength = 0) => fc.array(piece, { minLength, maxLength }).map((parts) => parts.join(''))
/** What is asked for: now and then with half of a pair. */
const needle = (maxLength: number, minLength = 0) =>
  fc.oneof({ weight: 15, arbitrary: joined(maxLength, minLength) }, fc.constantFrom('\ud83d', 'a\ude00', '\ude00'))
const text = fc.oneof(
  { weight: 6, arbitrary: joined(12) },
  { weight: 1, arbitrary: joined(60, 15) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom('x', 'a', 'é'), fc.nat(90), joined(6)).map(([filler, n, end]) => filler.repeat(n) + end),
  },
)
/** Rows: texts, some of them null. */
const rows = fc
  .tuple(fc.array(fc.tuple(text, fc.boolean()), { minLength: 1, maxLength: 40 }), fc.constantFrom(1, 1, 1, 120))
  .map(([some, times]) =>
    Array.from({ length: times }, () => some)
      .flat()
      .map(([s, absent]) => ({ s, t: absent ? null : s })),
  )

const span = { line: 1, column: 1, text: '' }
const columns = ['s', 't'] as const
const column = (name: (typeof columns)[number]): Expr => ({
  kind: 'Field',
  of: { kind: 'Input', argument: 0, span },
  name,
  optional: false,
  span,
})
const literal = (value: string): Expr => ({ kind: 'Literal', value, span })

const escaped = (s: string): string =>
  s
    .replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')
    .replace(/\n/g, '\\n')
    .replace(/\r/g, '\\r')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029')
const sequence = fc
  .tuple(
    fc.constantFrom('', '', '', '^', '^.*'),
    fc.array(needle(3, 1).map(escaped), { maxLength: 3 }),
    fc.constantFrom('.*', '.*', '.*?', '.'),
    fc.constantFrom('', '', '', '$', '.*$'),
  )
  .map(([start, needles, gap, end]) => start + needles.join(gap) + end)
const pattern = fc.array(sequence, { minLength: 1, maxLength: 2 }).map((alternatives) => alternatives.join('|') || '(?:)')

const question: fc.Arbitrary<Expr> = fc.oneof(
  fc.tuple(fc.constantFrom(...columns), fc.constantFrom('includes', 'startsWith', 'endsWith'), needle(4)).map(
    ([name, method, wanted]): Expr => ({
      ...{ kind: 'MethodCall', method: method as 'includes', object: column(name), args: [literal(wanted)], span },
      optional: name === 't',
    }),
  ),
  fc
    .tuple(fc.constantFrom(...columns), pattern, fc.constantFrom('', '', 's', 'u', 'm', 'i'))
    .filter(([, source, flags]) => isRegex(source, flags))
    .map(([name, source, flags]): Expr => ({ kind: 'Matches', pattern: source, flags, of: column(name), span })),
)
const asked = fc.oneof(
  { weight: 3, arbitrary: question },
  fc
    .tuple(fc.constantFrom('&&', '||'), question, question)
    .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator: operator as '&&', left, right, span })),
  question.map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })),
)

function isRegex(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) !== undefined
  } catch {
    return false // half of a pair under the flag u, say
  }
}

test('kernels ask of the bytes of texts what JavaScript asks of texts', async () => {
  const counts = { compiled: 0, some: 0 }
  await fc.assert(
    fc.asyncProperty(rows, asked, async (table, value) => {
      const source = sourceFromRows(table, { memory: tableMemory(arena, { fewestRows: 0, coded: false }) })
      const keys = { kind: 'rowNumber' } as const
      const scan: LogicalPlan = { kind: 'Scan', source, columns: [...columns], element: source.element, keys }
      const ir = { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span } as const], parameters: [], tables: [], uses: [] }
      const f: UserFunction = { original: () => undefined, text: 'f', span, ir, refusals: [] }
      const plan: LogicalPlan = { ...scan, kind: 'Filter', input: scan, f }
      const expected = table.filter((row) => interpretIr(ir, { inputs: [row], key: [0] }))
      const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
      const counted = await executor.fold(plan, 'count')
      if (counted !== undefined) {
        counts.compiled++
        expect(counted.count, irListing(ir)).toBe(expected.length)
      }
      const made = await executor.table(plan)
      if (made !== undefined) {
        if (expected.length > 0) counts.some++
        const read = rowReader(made)
        expect(
          Array.from({ length: made.length }, (_, i) => read(i)),
          irListing(ir),
        ).toEqual(expected)
        for (const one of made.columns) freeColumn(one, arena)
      }
      const batches = await executor.execute(plan)
      const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
      expect(actual, irListing(ir)).toEqual(expected)
    }),
    {
      ...run,
      // what is at the start and what is at the end must not be the same characters
      examples: [[[{ s: 'aba', t: 'abba' }], { kind: 'Matches', pattern: '^ab.*ba$', flags: '', of: column('s'), span }]],
    },
  )
  console.log(`questions about texts: ${JSON.stringify(counts)}`)
  if (run.numRuns >= FEW_RUNS) expect(counts.compiled).toBeGreaterThan(run.numRuns * 0.3)
  if (run.numRuns >= FEW_RUNS) expect(counts.some).toBeGreaterThan(run.numRuns * 0.1)
})
