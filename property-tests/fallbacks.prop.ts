/**
 * What is said of functions that are not compiled is what runs: a run sends an event for each function of which `explain`
 * says that it runs as JavaScript, and none for others; a session that requires compiled functions refuses a chain at the
 * call where `explain` says so, by the action where only that finds it out, and lets all others through.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { DistArray } from '../src/core/arrays/distArray.ts'
import { PlanError } from '../src/core/errors.ts'
import { sum } from '../src/index.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('fallbacks.prop.ts')
const lenient = await Session.start({ workers: 1, progress: false })
const strict = await Session.start({ workers: 1, progress: false, require: 'compiled' })
const events: string[] = []
lenient.events.subscribe((event) => event.kind === 'fallback' && events.push(`${event.what.replace(/^\w+ /, '')} ${event.runs}`))
afterAll(async () => {
  await lenient.stop()
  await strict.stop()
})

interface Row {
  readonly a: number
  readonly s: string
}
const ROWS: readonly Row[] = Array.from({ length: 9 }, (_, i) => ({ a: (i * 7) % 5, s: 'vvxv'.slice(0, 1 + (i % 4)) }))

/** Of a row: numbers, compiled and not. */
const VALUES = [
  'r.a * k',
  'r.a > k ? 1 : r.a',
  'r.s.length + r.a',
  "r.s.startsWith('vv') ? k : 2",
  '/x/.test(r.s) ? 1 : 2',
  '[r.a, k].length',
  "Number(r.s.replace(/v/g, () => '1')) || 0",
  'new Date(r.a).getTime()',
  'c++',
  'tally.push(r.a)',
] as const

type Table = DistArray<Row>
type F = (r: Row) => number

const STEPS = {
  map: (t: Table, f: F) => t.map((r) => ({ a: r.a, s: r.s })).map(named(f)),
  filter: (t: Table, f: F) => t.filter(f as unknown as (r: Row) => boolean),
  withColumns: (t: Table, f: F) => t.withColumns(field(f)),
  sortBy: (t: Table, f: F) => t.sortBy(f),
  grouped: (t: Table, f: F) =>
    t
      .groupBy((r) => r.s)
      .agg({ a: sum(f) })
      .map((r) => ({ a: Number(r.a), s: r.key })),
  keyed: (t: Table, f: F) =>
    t
      .groupBy(f)
      .agg({ a: sum((r) => r.a) })
      .map((r) => ({ a: Number(r.a), s: 'v' })),
  groups: (t: Table, f: F) =>
    t
      .groupBy((r) => r.s)
      .reduce(pair(f))
      .map((r) => ({ a: r.value.a, s: r.key })),
  combined: (t: Table, f: F) => t.index((r) => [r.a], { combine: pair(f) }).map((r) => ({ a: r.a, s: r.s })) as unknown as Table,
}
type Step = keyof typeof STEPS

/** Other forms of a function of a row, in whose text they are; its scope has the variables. */
let forms: { named(f: F): (r: Row) => Row; field(f: F): (r: Row) => { a: number }; pair(f: F): (a: Row, b: Row) => Row }
const named = (f: F) => forms.named(f)
const field = (f: F) => forms.field(f)
const pair = (f: F) => forms.pair(f)

interface Scope {
  readonly f: F
  readonly forms: typeof forms
  /** Gives a captured variable a value that is no constant. */
  change(): void
}

function scopeOf(value: string): Scope {
  return new Function(`let c = 0, k = 3; const tally = []
  const f = (r) => ${value}
  const forms = { named: () => (r) => ({ a: ${value}, s: r.s }), field: () => (r) => ({ a: ${value} }), pair: () => (a, r) => ({ a: ${value}, s: a.s }) }
  return { f, forms, change: () => { k = { valueOf: () => 3 } } }`)() as Scope
}

interface Made {
  readonly at?: 'call' | 'action'
  readonly rows?: readonly unknown[]
  readonly said?: readonly string[]
}

async function run(session: Session, steps: readonly { readonly step: Step; readonly value: string }[], changes: boolean): Promise<Made> {
  const refused = (error: unknown, at: 'call' | 'action'): Made => {
    if (error instanceof PlanError && /the session requires that all are compiled/.test(error.message)) return { at }
    throw error
  }
  const scopes = steps.map(({ value }) => scopeOf(value))
  let table: Table = session.fromRows(ROWS)
  try {
    for (const [i, { step }] of steps.entries()) {
      const scope = scopes[i] as Scope // one each
      forms = scope.forms
      table = STEPS[step](table, scope.f) as Table
    }
  } catch (error) {
    return refused(error, 'call')
  }
  const said = explained(JSON.parse(table.explain({ format: 'json' })).optimized)
  if (changes) for (const scope of scopes) scope.change()
  try {
    return { rows: await table.collect(), said }
  } catch (error) {
    return refused(error, 'action')
  }
}

interface Node {
  readonly functions: readonly { readonly text: string; readonly runs: string }[]
  readonly inputs: readonly Node[]
}

/** The functions that do not run compiled. */
function explained({ functions, inputs }: Node): string[] {
  return [...functions.filter(({ runs }) => runs !== 'compiled').map(({ text, runs }) => `${text} ${runs}`), ...inputs.flatMap(explained)]
}

test('explain, events and sessions that require compiled functions agree', async () => {
  const step = fc.record({ step: fc.constantFrom(...(Object.keys(STEPS) as Step[])), value: fc.constantFrom(...VALUES) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 2 }), fc.boolean(), async (steps, changes) => {
      events.length = 0
      let made: Made
      try {
        made = await run(lenient, steps, changes)
      } catch (error) {
        // another value makes other columns: as good a reason in both sessions
        if (changes && error instanceof PlanError) return
        throw error
      }
      const { rows, said = [] } = made
      const told = [...events]
      if (!changes) expect([...told].sort()).toStrictEqual([...said].sort())
      const other = await run(strict, steps, changes)
      const at = said.length > 0 ? 'call' : told.length > 0 ? 'action' : undefined
      expect(other.at).toBe(at)
      if (at === undefined) expect(other.rows).toStrictEqual(rows)
    }),
    LAW,
  )
})
