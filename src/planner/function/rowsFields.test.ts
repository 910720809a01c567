import { expect, test } from 'vitest'
import { fieldsOfRowsNamed } from './rowsFields.ts'
import { unitOf } from './unit.ts'

type Row = Readonly<Record<string, number>>
type OfGroup = (key: unknown, rows: Row[]) => unknown

const named = (f: OfGroup): readonly string[] | undefined => {
  const unit = unitOf(f)
  if (typeof unit === 'string') throw new Error(unit)
  return fieldsOfRowsNamed(unit)
}

test('fields that are named of rows, however they are come by', () => {
  expect(named((_, rows) => rows.map((r) => r.a).sort((x, y) => (x ?? 0) - (y ?? 0)))).toEqual(['a'])
  expect(named((_, rows) => rows.filter((r) => (r.a ?? 0) > 1).reduce((sum, { b }) => sum + (b ?? 0), rows.length))).toEqual(['a', 'b'])
  expect(named((_, rows) => [...rows].sort((x, y) => (x.a ?? 0) - (y.a ?? 0))[0]?.b)).toEqual(['b', 'a'])
  expect(
    named((key, rows) => {
      const latest = () => last?.c
      const last = rows.at(-1)
      let sum = 0
      for (const { a } of rows.slice(1)) sum += a ?? 0
      for (let i = 0; i < rows.length; i++) sum += rows[i]?.b ?? 0
      return [key, sum, latest()]
    }),
  ).toEqual(['c', 'a', 'b'])
  expect(named((key) => key)).toEqual([])
})

test('rows that may be seen whole', () => {
  const whole: readonly OfGroup[] = [
    (_, rows) => rows,
    (_, rows) => rows[0],
    (_, rows) => rows.map((r) => ({ ...r })),
    (_, rows) => rows.map((r, _i, all) => [r.a, all]),
    (_, rows) => rows.reduce((a, b) => ({ a: (a.a ?? 0) + (b.a ?? 0) }) as Row),
    (_, rows) => rows.map(JSON.stringify as never),
    (_, rows) => Object.keys(rows.find((r) => r.a === 1) ?? {}),
    (_, rows) => {
      const first = rows[0]
      return first
    },
    (_, rows) => {
      for (const [, r] of rows.entries()) if (r.a === 1) return r.b
      return 0
    },
    (_, rows) => {
      let r = rows[0]
      r = { a: 1 }
      return r.a
    },
    (key, rows) => rows.map((r) => r[String(key)]),
    (_, rows) => rows.map(({ a, ...rest }) => [a, rest]),
    (_, rows) => rows.map((r) => (r.f as unknown as () => number)()),
    (...both) => both[1].length,
  ]
  for (const f of whole) expect(named(f), f.toString()).toBeUndefined()
})
