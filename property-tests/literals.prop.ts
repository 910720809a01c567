/**
 * Functions made anew at one place of a program, with what they capture, their tables and the platform changing in between: each
 * chain gives what its functions give as plain JavaScript, whatever those before it were lowered to.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, PlanError, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('literals.prop.ts')

let session: Session
let tables: readonly { readonly table: DistArray<Row>; readonly rows: readonly Row[] }[]
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
  tables = ROWS.map((rows) => ({ rows, table: session.fromRows(rows as never) as unknown as DistArray<Row> }))
})
afterAll(() => session.stop())

interface Row {
  readonly a: never
  readonly b: number
}

/** Columns of one name and other types. */
const ROWS = [
  [3, 1, -2, 0.5].map((a, b) => ({ a, b })),
  ['3', '1', 'x', ''].map((a, b) => ({ a, b })),
  [true, false, true, true].map((a, b) => ({ a, b })),
  [3, null, -2, null].map((a, b) => ({ a, b })),
  [0, 86_400_000, 5, 7].map((ms, b) => ({ a: new Date(ms), b })),
  [{ b: 0 }, { b: 1 }],
] as unknown as readonly (readonly Row[])[]

type Chain = (table: DistArray<Row>) => DistArray<unknown>
type Plain = (rows: readonly Row[]) => unknown[]

/** A chain over functions that capture `v`, made anew at each call, and the same in plain JavaScript. */
const MAKERS: readonly ((v: never) => { readonly chain: Chain; readonly plain: Plain; readonly reads: 'a' | 'b' })[] = [
  (v) => {
    const f = (r: Row) => r.a > v
    return { chain: (t) => t.filter(f).map((r) => r.b), plain: (rows) => rows.filter(f).map((r) => r.b), reads: 'a' }
  },
  (v) => {
    const f = (r: Row) => (r.a === v ? 1 : r.a == null ? 2 : 3)
    return { chain: (t) => t.map(f), plain: (rows) => rows.map(f), reads: 'a' }
  },
  (v) => {
    const f = (r: Row) => String(r.a) + String(typeof v === 'number' ? v + 1 : r.b)
    return { chain: (t) => t.map(f), plain: (rows) => rows.map(f), reads: 'a' }
  },
  (v) => {
    const f = (r: Row) => Math.abs(r.b - 2) * (v === null ? 2 : 1)
    return { chain: (t) => t.map(f), plain: (rows) => rows.map(f), reads: 'b' }
  },
  (v) => {
    const f = (r: Row) => (Array.isArray(v) ? Number(v[r.b] ?? -1) : r.b)
    return { chain: (t) => t.map(f), plain: (rows) => rows.map(f), reads: 'b' }
  },
  (v) => {
    const f = (r: Row) => +r.a < Number(v)
    const g = (r: Row) => (f(r) ? 1 : 0)
    return { chain: (t) => t.map(g), plain: (rows) => rows.map(g), reads: 'a' }
  },
]

const list = [5, 6]
const helper = Object.assign((x: number): number => x, { size: 0 })
const at = new Date(5)
const value = fc.oneof(
  fc.constantFrom<unknown>(0, -0, 1, 3, Number.NaN, '3', '', true, null, undefined),
  fc.constantFrom<unknown>(list, list, helper, at, new Date(5)),
)
const step = fc.record({
  maker: fc.nat(MAKERS.length - 1),
  table: fc.nat(ROWS.length - 1),
  value,
  /** What changes when the chain has been made, before its action. */
  change: fc.constantFrom('nothing', 'nothing', 'nothing', 'date', 'list'),
  isAbsChanged: fc.constantFrom(false, false, false, true),
})

/** Undefined where the chain reads a column that is not there, or compares one of texts with a Date. Not called by `expect`, whose scripts would be on the stack. */
function madeOf(chain: Chain, table: DistArray<Row>): DistArray<unknown> | undefined {
  try {
    return chain(table)
  } catch (error) {
    if (error instanceof PlanError && /^There is no column "a"| compares a text with a Date/.test(error.message)) return undefined
    throw error
  }
}

test('a function made anew at its place is the function that it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      for (const { maker, table: which, value, change, isAbsChanged } of steps) {
        const { table, rows } = tables[which] as (typeof tables)[number] // within their number
        const make = MAKERS[maker] as (typeof MAKERS)[number] // as well
        const { abs } = Math
        if (isAbsChanged) Math.abs = (x) => abs(x) + 1
        try {
          const { chain, plain, reads } = make(value as never)
          const made = madeOf(chain, table)
          const isOfTexts = maker === 0 && typeof (rows[0] as Row).a === 'string' && value instanceof Date
          expect(made === undefined).toBe(isOfTexts || (reads === 'a' && !('a' in (rows[0] as Row))))
          if (made === undefined) continue
          if (change === 'date') at.setTime((at.getTime() + 86_400_000) % 400_000_000)
          if (change === 'list') list[0] = (list[0] as number) + 1
          expect(await made.collect()).toEqual(plain(rows))
        } finally {
          Math.abs = abs
        }
      }
    }),
    RUN,
  )
})
