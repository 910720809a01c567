/**
 * What is kept of a question is for the same question alone: closures of one place that are asked of tables of several types, with other
 * captured values, give of each table what they give of its rows.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { count, type DistArray, Session, sum } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('keptPrograms.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface Row {
  readonly a: number | null
  readonly b: number
  readonly s: string | null
}

const ROWS = 20_000

const shapes = fc.record({
  a: fc.constantFrom('f64', 'i32', 'u8', 'nulls'),
  b: fc.constantFrom('f64', 'f32', 'i16'),
  /** How many different texts there are: their codes have a byte, two, or there are none. */
  texts: fc.constantFrom(3, 300, 9_000),
  noText: fc.boolean(),
})
type Shape = typeof shapes extends fc.Arbitrary<infer S> ? S : never

/** The tables are few, and made once each. */
const tables = new Map<string, { readonly table: DistArray<Row>; readonly rows: readonly Row[] }>()

function tableOf(shape: Shape): { readonly table: DistArray<Row>; readonly rows: readonly Row[] } {
  const key = JSON.stringify(shape)
  let made = tables.get(key)
  if (made === undefined) {
    const each = <T>(of: (i: number) => T): T[] => Array.from({ length: ROWS }, (_, i) => of(i))
    const a = {
      f64: () => Float64Array.from(each((i) => (i % 13) / 2)),
      i32: () => Int32Array.from(each((i) => (i % 13) - 6)),
      u8: () => Uint8Array.from(each((i) => i % 13)),
      nulls: () => each((i) => (i % 5 === 0 ? null : i % 13)),
    }[shape.a]()
    const b = {
      f64: () => Float64Array.from(each((i) => (i % 7) / 4)),
      f32: () => Float32Array.from(each((i) => (i % 7) / 8)),
      i16: () => Int16Array.from(each((i) => (i % 7) - 3)),
    }[shape.b]()
    const s = each((i) => (shape.noText && i % 11 === 0 ? null : `t${(i * 7) % shape.texts}`))
    const rows = each((i): Row => ({ a: a[i] as number | null, b: b[i] as number, s: s[i] as string | null })) // i < ROWS
    tables.set(key, (made = { table: session.fromColumns({ a, b, s }) as unknown as DistArray<Row>, rows }))
  }
  return made
}

const QUESTIONS = {
  kept: async (table: DistArray<Row>, low: number) => table.filter((r) => (r.a ?? 1) > low).count(),
  text: async (table: DistArray<Row>) => table.filter((r) => r.s === 't2').count(),
  sum: async (table: DistArray<Row>, low: number) => table.map((r) => (r.a ?? low) + r.b * low).sum(),
  groups: async (table: DistArray<Row>, low: number) =>
    (
      await table
        .filter((r) => r.b >= 0)
        .groupBy((r) => Math.floor(r.a ?? 9))
        .agg({ x: sum((r) => r.b * low), n: count() })
        .collect()
    ).map(({ key, x, n }) => [key, x, n]),
  textGroups: async (table: DistArray<Row>) =>
    (
      await table
        .groupBy((r) => r.s ?? 'none')
        .agg({ n: count() })
        .collect()
    ).map(({ key, n }) => [key, n]),
}
type Question = keyof typeof QUESTIONS

/** What the rows give; sums are of few binary digits, so that any order of addition has the same bits. */
function expected(question: Question, rows: readonly Row[], low: number): unknown {
  const grouped = (kept: readonly Row[], of: (row: Row) => unknown): [unknown, Row[]][] => {
    const found = new Map<unknown, Row[]>()
    for (const row of kept) {
      const own = found.get(of(row))
      if (own === undefined) found.set(of(row), [row])
      else own.push(row)
    }
    return [...found]
  }
  switch (question) {
    case 'kept':
      return rows.filter((r) => (r.a ?? 1) > low).length
    case 'text':
      return rows.filter((r) => r.s === 't2').length
    case 'sum':
      return rows.reduce((total, r) => total + ((r.a ?? low) + r.b * low), 0)
    case 'groups':
      return grouped(
        rows.filter((r) => r.b >= 0),
        (r) => Math.floor(r.a ?? 9),
      ).map(([key, own]) => [key, own.reduce((total, r) => total + r.b * low, 0), own.length])
    case 'textGroups':
      return grouped(rows, (r) => r.s ?? 'none').map(([key, own]) => [key, own.length])
  }
}

test('a question that was asked before has the answer of the table that it is asked of', async () => {
  const questions = fc.constantFrom(...(Object.keys(QUESTIONS) as Question[]))
  const asked = fc.array(fc.tuple(questions, shapes, fc.constantFrom(0, 1, 2, 0.5)), { minLength: 2, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(asked, async (all) => {
      for (const [question, shape, low] of all) {
        const { table, rows } = tableOf(shape)
        expect(await QUESTIONS[question](table, low), question).toEqual(expected(question, rows, low))
      }
    }),
    RUN,
  )
})
