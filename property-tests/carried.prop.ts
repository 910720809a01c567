/**
 * Law: joins that carry only the columns which something above reads have the rows of the dullest joins, in their order:
 * joins of every kind, below and above each other, filters, limits and other steps, with names that get a suffix, a key
 * column that both sides share, and sides without rows. Below a selection a join carries what is selected, and no more.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('carried.prop.ts')
/** Fewer say nothing of how often something occurs. */
const FEW_RUNS = 500
const { engines, stop } = piecemealEngines([1, 2, 3])
afterAll(stop)

type Fields = Readonly<Record<string, unknown>>
type Handle = DistArray<Fields>
interface Row extends Fields {
  readonly k: number
  readonly s: string
  readonly x: number
  readonly y: number | null
}
/** Rows as a table has them: rows of a join without a match have nulls. */
interface Plain {
  readonly names: readonly string[]
  readonly rows: readonly Fields[]
}

const NAMES = ['k', 's', 'x', 'y'] as const
const HOWS = ['inner', 'inner', 'left', 'right', 'full', 'semi', 'anti', 'cross'] as const
type How = (typeof HOWS)[number]

const row: fc.Arbitrary<Row> = fc.record(
  {
    k: fc.integer({ min: 0, max: 6 }),
    s: fc.constantFrom('a', 'b', 'žluť'),
    x: fc.integer({ min: -9, max: 9 }).map((n) => n / 4),
    y: fc.option(fc.integer({ min: -3, max: 3 })),
  },
  { noNullPrototype: true },
)

const ON = {
  k: { columns: ['k'], of: { left: (r: Row) => r.k, right: (r: Row) => r.k } },
  s: { columns: ['s'], of: { left: (r: Row) => r.s, right: (r: Row) => r.s } },
  both: { columns: ['k', 's'], of: { left: (r: Row) => [r.k, r.s], right: (r: Row) => [r.k, r.s] } },
  /** By name: the column is there once. */
  shared: { columns: ['k'], of: 'k' },
} as const
type On = keyof typeof ON

interface Side {
  readonly rows: readonly Row[]
  readonly stored: boolean
  readonly filtered: boolean
}
const side: fc.Arbitrary<Side> = fc.record({ rows: fc.array(row, { maxLength: 14 }), stored: fc.boolean(), filtered: fc.boolean() })

const isKept = (r: Row): boolean => (r.y ?? 0) >= 0
function sideArray(engine: number, { rows, stored, filtered }: Side): Handle {
  // the types of a table without rows are known as well
  const all = new DistArray<Row>(engines[engine] as (typeof engines)[number], tableOfRows([...rows, { k: 0, s: '', x: 0.5, y: -4 }]))
  const own = all.filter((r) => r.s !== '')
  const table = stored ? own.materialize() : own
  return (filtered ? table.filter((r) => (r.y ?? 0) >= 0) : table) as unknown as Handle
}
const sideRows = ({ rows, filtered }: Side): Plain => ({ names: NAMES, rows: filtered ? rows.filter(isKept) : rows })

function dullJoin(left: Plain, right: Plain, on: On, { how, suffix }: { readonly how: How; readonly suffix: string }): Plain {
  const isMatch = (l: Fields, r: Fields): boolean =>
    how === 'cross' || ON[on].columns.every((name) => l[name] !== null && r[name] !== null && l[name] === r[name])
  if (how === 'semi' || how === 'anti')
    return { ...left, rows: left.rows.filter((l) => right.rows.some((r) => isMatch(l, r)) === (how === 'semi')) }
  const isShared = on === 'shared' && how !== 'cross'
  const ofRight = right.names.filter((name) => !isShared || name !== 'k')
  const asNamed = (name: string): string => (left.names.includes(name) ? name + suffix : name)
  const pair = (l: Fields | undefined, r: Fields | undefined): Fields => ({
    ...Object.fromEntries(left.names.map((name) => [name, l?.[name] ?? (l === undefined && isShared && name === 'k' ? r?.[name] : null)])),
    ...Object.fromEntries(ofRight.map((name) => [asNamed(name), r?.[name] ?? null])),
  })
  const pairs = left.rows.flatMap((l) => {
    const found = right.rows.filter((r) => isMatch(l, r))
    return found.length === 0 && (how === 'left' || how === 'full') ? [pair(l, undefined)] : found.map((r) => pair(l, r))
  })
  const others = how === 'right' || how === 'full' ? right.rows.filter((r) => !left.rows.some((l) => isMatch(l, r))) : []
  return { names: [...left.names, ...ofRight.map(asNamed)], rows: [...pairs, ...others.map((r) => pair(undefined, r))] }
}

function joinArrays(left: Handle, right: Handle, on: On, options: { readonly how: How; readonly suffix: string }): Handle {
  return left.join(right, ON[on].of as never, options as never) as unknown as Handle
}

/** What goes on between two joins, or above both. */
const STEPS = {
  nothing: { on: (t: Handle) => t, of: (p: Plain) => p },
  filter: {
    on: (t: Handle) => (t as unknown as DistArray<Row>).filter((r) => (r.x ?? 0) < 2) as unknown as Handle,
    of: (p: Plain) => ({ ...p, rows: p.rows.filter((r) => ((r.x as number) ?? 0) < 2) }),
  },
  limit: { on: (t: Handle) => t.limit(20), of: (p: Plain) => ({ ...p, rows: p.rows.slice(0, 20) }) },
  withColumns: {
    on: (t: Handle) => (t as unknown as DistArray<Row>).withColumns((r) => ({ x: (r.x ?? 0) + 1, z: r.y })) as unknown as Handle,
    of: (p: Plain) => ({
      names: p.names.includes('z') ? p.names : [...p.names, 'z'],
      rows: p.rows.map((r) => ({ ...r, x: ((r.x as number) ?? 0) + 1, z: r.y })),
    }),
  },
  sort: {
    on: (t: Handle) => (t as unknown as DistArray<Row>).sortBy((r) => r.x ?? 0) as unknown as Handle,
    of: (p: Plain) => ({ ...p, rows: [...p.rows].sort((a, b) => ((a.x as number) ?? 0) - ((b.x as number) ?? 0)) }),
  },
} as const
const steps = fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[]))

const program = fc.record({
  engine: fc.nat(engines.length - 1),
  a: side,
  b: side,
  c: side,
  one: fc.record({ how: fc.constantFrom(...HOWS), on: fc.constantFrom(...(Object.keys(ON) as On[])) }),
  two: fc.option(fc.record({ how: fc.constantFrom(...HOWS), on: fc.constantFrom(...(Object.keys(ON) as On[])), swapped: fc.boolean() })),
  between: steps,
  above: steps,
  top: fc.constantFrom('select', 'select', 'map', 'groups', 'count'),
  picks: fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }),
})

test('joins that carry what is read above them have the rows of the dullest joins', async () => {
  let carrying = 0
  await fc.assert(
    fc.asyncProperty(program, async ({ engine, a, b, c, one, two, between, above, top, picks }) => {
      const first = { how: one.how, suffix: '_b' }
      let table = joinArrays(sideArray(engine, a), sideArray(engine, b), one.on, first)
      let plain = dullJoin(sideRows(a), sideRows(b), one.on, first)
      if (two !== null) {
        const second = { how: two.how, suffix: '_c' }
        table = STEPS[between].on(table)
        plain = STEPS[between].of(plain)
        const other = sideArray(engine, c)
        table = two.swapped ? joinArrays(other, table, two.on, second) : joinArrays(table, other, two.on, second)
        plain = two.swapped ? dullJoin(sideRows(c), plain, two.on, second) : dullJoin(plain, sideRows(c), two.on, second)
      }
      table = STEPS[above].on(table)
      plain = STEPS[above].of(plain)
      const names = [...new Set(picks.map((pick) => plain.names[pick % plain.names.length] as string))]
      const last = two ?? one
      const check = async (result: Handle, expected: readonly unknown[], read?: readonly string[]): Promise<void> => {
        const text = result.explain()
        const carried = text.split('\n').flatMap((line) => /HashJoinExec .*carrying \[(.*?)\]/.exec(line)?.[1]?.split(', ') ?? [])
        if (carried.length > 0) carrying++
        expect(await result.collect(), text).toEqual(expected)
        // what the last join is joined by is not read above it
        if (read === undefined || above !== 'nothing' || ['semi', 'anti', 'cross'].includes(last.how)) return
        if (ON[last.on].columns.some((name) => plain.names.includes(name) && !read.includes(name)))
          expect(text).toContain(`carrying [${plain.names.filter((name) => read.includes(name)).join(', ')}]`)
      }
      const rows = plain.rows as readonly Row[]
      const typed = table as unknown as DistArray<Row>
      if (top === 'select') {
        const selected = plain.rows.map((r) => Object.fromEntries(names.map((name) => [name, r[name]])))
        return await check(table.select(...names) as unknown as Handle, selected, names)
      }
      if (top === 'map')
        return await check(
          typed.map((r) => ({ v: r.x })) as unknown as Handle,
          rows.map(({ x }) => ({ v: x })),
          ['x'],
        )
      if (top === 'count') {
        expect(await table.count()).toBe(rows.length)
        return
      }
      const groups = new Map<string | null, { n: number; total: number }>()
      for (const { s, x } of rows) {
        const { n, total } = groups.get(s) ?? { n: 0, total: 0 }
        groups.set(s, { n: n + 1, total: total + (x ?? 0) })
      }
      const grouped = typed.groupBy((r) => r.s).agg({ n: count(), total: sum((r) => r.x ?? 0) })
      await check(
        grouped as unknown as Handle,
        [...groups].map(([key, of]) => ({ key, ...of })),
        ['s', 'x'],
      )
    }),
    LAW,
  )
  if (LAW.numRuns >= FEW_RUNS) expect(carrying).toBeGreaterThan(LAW.numRuns / 4)
}, 300_000)
