/** Keys are found among the boundaries of a sort's parts as a search by the keys themselves finds them, in the order of JavaScript's `<`. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { keysBefore } from '../src/exec/tables/spill/keySearch.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('keySearch.prop.ts')

/** Characters of one to four bytes, of which those of four come before the last of three; many texts begin alike. */
const character = fc.constantFrom('a', 'b', '\0', '\x7f', 'ä', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}', 'aaaaaaa')
const text = fc.array(character, { maxLength: 6 }).map((all) => all.join(''))
const shared = fc.tuple(fc.constantFrom('', 'visitor ', '\u{10000}'), text).map(([first, rest]) => first + rest)
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(-0, Number.NaN, Infinity, -Infinity, 2 ** 53, 0.1))

type Key = string | number | bigint | boolean | Date | null

interface Kind {
  readonly type: ColumnType
  readonly value: fc.Arbitrary<Key>
}

const KINDS: readonly Kind[] = [
  { type: { kind: 'utf8' }, value: shared },
  { type: { kind: 'f64' }, value: number },
  { type: { kind: 'i64' }, value: fc.oneof(fc.bigInt({ min: -3n, max: 3n }), fc.bigInt({ min: 2n ** 62n, max: 2n ** 62n + 3n })) },
  { type: { kind: 'bool' }, value: fc.boolean() },
  { type: { kind: 'timestamp', unit: 'ms' }, value: fc.nat(3).map((time) => new Date(time)) },
]

/** The dullest order there is: null last in both directions. */
function orderOf(a: Key, b: Key, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [x, y] = descending ? [b, a] : [a, b]
  if (x < y) return -1
  if (x > y) return 1
  return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
}

const search = fc.constantFrom(...KINDS).chain(({ type, value }) => {
  const key = fc.option(value, { freq: 6 })
  const row = fc.tuple(key, key)
  return fc.record({
    ...{ type: fc.constant(type), rows: fc.array(row, { maxLength: 12 }), isTuple: fc.boolean() },
    ...{ boundaries: fc.array(fc.tuple(row, fc.nat(1)), { minLength: 1, maxLength: 6 }), descending: fc.tuple(fc.boolean(), fc.boolean()) },
  })
})

test('as many boundaries come before each key as a look at all of them says', () => {
  fc.assert(
    fc.property(search, ({ type, rows, boundaries, isTuple, descending }) => {
      const order = (a: readonly Key[], b: readonly Key[]): number =>
        orderOf(a[0] ?? null, b[0] ?? null, descending[0]) || (isTuple ? orderOf(a[1] ?? null, b[1] ?? null, descending[1]) : 0)
      const sorted = [...boundaries].sort(([a, x], [b, y]) => order(a, b) || y - x)
      const all = [...rows, ...sorted.map(([row]) => row)]
      const item = (i: 0 | 1) =>
        columnFromValues(
          all.map((row) => row[i]),
          type,
        )
      const fields = ['0', '1'].map((name) => ({ name, type, nullable: true }))
      const keys = isTuple ? { type: { kind: 'struct' as const, fields }, length: all.length, children: [item(0), item(1)] } : item(0)
      const before = Uint8Array.from(sorted, ([, first]) => first)
      const found = keysBefore(keys, rows.length, { before, descending: isTuple ? descending : descending[0] })
      const expected = rows.map((row) => sorted.filter(([other, first]) => order(row, other) + first > 0).length)
      expect([...found]).toEqual(expected)
    }),
    RUN,
  )
})
