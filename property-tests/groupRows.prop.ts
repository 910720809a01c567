/**
 * Functions of `groupBy(…).map` are given what they see of the rows of their groups, however they come by them: the result is that
 * of plain arrays of whole rows, and columns that are named nowhere are not read where the functions see no more.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('groupRows.prop.ts')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => await session.stop())

type Row = Readonly<Record<string, number | string | null>>
const COLUMNS = ['k', 'a', 'b', 'c', 'd'] as const
const ROWS: fc.Arbitrary<readonly Row[]> = fc.array(
  fc.record({
    k: fc.nat({ max: 2 }),
    a: fc.nat({ max: 5 }),
    b: fc.option(fc.nat({ max: 5 }), { freq: 4 }),
    c: fc.constantFrom('x', 'y', 'zz'),
    d: fc.nat({ max: 3 }),
  }),
  { minLength: 1, maxLength: 10 },
)

const FIELD = fc.constantFrom('a', 'b', 'c', 'd')
/** A list of rows; most of what is here only names fields. */
const LISTS = fc.oneof(
  { weight: 3, arbitrary: fc.constant('rows') },
  { weight: 1, arbitrary: FIELD.map((f) => `rows.filter((r) => r.${f} !== 1)`) },
  { weight: 1, arbitrary: FIELD.map((f) => `[...rows].sort((p, q) => (p.${f} < q.${f} ? -1 : 1))`) },
  { weight: 1, arbitrary: FIELD.map((f) => `rows.toSorted((p, { ${f} }) => (p.${f} < ${f} ? -1 : 1)).slice(0, 2)`) },
  { weight: 1, arbitrary: fc.constant('kept') },
)
const ONES = fc.oneof(
  LISTS.map((list) => `${list}[0]`),
  LISTS.map((list) => `${list}.at(-1)`),
  fc.tuple(LISTS, FIELD).map(([list, f]) => `${list}.find((r) => r.${f} !== null)`),
  fc.constant('first'),
)
const NAMING = fc.oneof(
  fc.tuple(LISTS, FIELD).map(([list, f]) => `${list}.map((r) => r.${f})`),
  fc.tuple(LISTS, FIELD, FIELD).map(([list, f, g]) => `${list}.map(({ ${f} }, i) => ${f} + i).concat(${list}.flatMap((r) => [r['${g}']]))`),
  fc.tuple(LISTS, FIELD).map(([list, f]) => `${list}.reduce((all, r) => all + r.${f}, '')`),
  fc.tuple(LISTS, FIELD).map(([list, f]) => `(() => { let all = ''; for (const r of ${list}) all += r.${f}; return all })()`),
  fc.tuple(LISTS, FIELD).map(([list, f]) => `(() => { let n = 0; for (const { ${f} } of ${list}) n += String(${f}).length; return n })()`),
  fc
    .tuple(LISTS, FIELD)
    .map(([list, f]) => `(() => { const all = []; for (let i = 0; i < ${list}.length; i++) all.push(${list}[i].${f}); return all })()`),
  fc.tuple(ONES, FIELD).map(([one, f]) => `${one}?.${f}`),
  fc.tuple(ONES, FIELD).map(([one, f]) => `(() => { const one = ${one}; return one && one.${f} })()`.replace('one && one.', 'one?.')),
  fc
    .tuple(LISTS, FIELD)
    .map(([list, f]) => `(() => { let all = ''; ${list}.forEach((r) => { const same = r; all += same.${f} }); return all })()`),
  LISTS.map((list) => `${list}.length`),
)
const LOOKING = fc.oneof(
  LISTS,
  ONES,
  LISTS.map((list) => `${list}.map((r) => ({ ...r }))`),
  LISTS.map((list) => `${list}.map((r) => Object.keys(r).length)`),
  LISTS.map((list) => `${list}.map((r, i, all) => all[i])`),
  LISTS.map((list) => `${list}.map(({ a, ...rest }) => rest)`),
  LISTS.map((list) => `${list}.reduce((p, q) => q)`),
  LISTS.map((list) => `${list}.reduce((p, q) => [p.b ?? p, q.a])`),
  LISTS.map((list) => `(() => { let found; for (const r of ${list}) found = r; return found })()`),
  LISTS.map((list) => `${list}.map((r) => r[['a', 'b'][key % 2]])`),
  LISTS.map((list) => `((list) => list[0])(${list})`),
  LISTS.map((list) => `(() => { let r = ${list}[0]; r = r && { d: 9, ...r }; return r?.d })()`),
  LISTS.map((list) => `[...${list}.entries()].map(([i, r]) => r.c + i)`),
)
const PARTS = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: NAMING.map((text) => ({ text, looks: false })) },
    { weight: 1, arbitrary: LOOKING.map((text) => ({ text, looks: true })) },
  ),
  { minLength: 1, maxLength: 3 },
)

test('functions of groups see of their rows what they see of plain objects', async () => {
  const seen = { programs: 0, looking: 0, narrower: 0 }
  await fc.assert(
    fc.asyncProperty(ROWS, PARTS, async (rows, parts) => {
      const text = `(key, rows) => { const later = () => first?.a; const kept = rows.slice(0, 3); const first = kept[0]; return JSON.stringify([key, later(), ${parts.map((part) => part.text).join(', ')}]) }`
      const f = new Function(`return ${text}`)() as (key: number, rows: Row[]) => string
      const groups = new Map<number, Row[]>()
      for (const row of rows) groups.set(row.k as number, [...(groups.get(row.k as number) ?? []), row])
      const expected = [...groups].map(([key, own]) => f(key, own))
      const mapped = session
        .fromRows(rows)
        .groupBy((r) => r.k as number)
        .map(f as never)
      expect(await mapped.collect()).toEqual(expected)
      seen.programs++
      if (parts.some((part) => part.looks)) seen.looking++
      else {
        const unnamed = COLUMNS.filter((name) => name !== 'k' && !new RegExp(`\\b${name}\\b`).test(text))
        for (const name of unnamed) expect(mapped.explain().split('Optimized plan')[1]).not.toMatch(new RegExp(`Scan .*\\b${name}\\b`))
        if (unnamed.length > 0) seen.narrower++
      }
    }),
    run,
  )
  console.log(`groups of rows: ${JSON.stringify(seen)}`)
  if ((run.numRuns ?? 0) >= 500) expect(Math.min(seen.looking, seen.narrower)).toBeGreaterThan(seen.programs / 10)
}, 300_000)
