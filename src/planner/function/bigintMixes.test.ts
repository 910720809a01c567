/** Row functions over bigint columns that a program takes for numbers, as its types say. */
import { expect, test } from 'vitest'
import { refusalOf, tableOf } from '../../../property-tests/plans.ts'

interface Row {
  readonly id: number
  readonly big: number | null
  readonly at: number
  readonly x: number
  readonly n: number | null
  readonly s: string
}
const table = tableOf<Row>('rows', { id: 'u64', big: 'i64?', at: 'i64', x: 'f64', n: 'i32?', s: 'utf8' })
const READ = "or if it is of a file, read it with { int64: 'bigint' }."
const FILE = "or if it is of a file, read it without { int64: 'bigint' }."

const five = 5
const thousand = 1000n
const isBigint = true
const close = (a: number, b: number): boolean => a === b

test.each<[string, () => unknown, string]>([
  [
    'equality with a literal',
    () => table.filter((r) => r.id === 5),
    `filter: r.id === 5 compares a bigint and a number, which are never equal.\n  PLACE  r.id === 5\nWrite 5n, convert with Number(r.id), ${FILE}`,
  ],
  [
    'inequality with a column',
    () => table.filter((r) => r.x > 1 && r.n !== r.id),
    `filter: r.n !== r.id compares a bigint and a number, which always differ.\n  PLACE  r.n !== r.id\nConvert with Number(r.id), ${FILE}`,
  ],
  [
    'a sum',
    () => table.map((r) => ({ next: (r.big ?? r.at) + 1 })),
    `map: (r.big ?? r.at) + 1 computes with a bigint and a number, which throws in JavaScript.\n  PLACE  (r.big ?? r.at) + 1\nWrite 1n, convert with Number(r.big ?? r.at), ${FILE}`,
  ],
  [
    'a captured number',
    () => table.sortBy((r) => five * r.id),
    `sortBy: five * r.id computes with a bigint and a number, which throws in JavaScript.\n  PLACE  five * r.id\nConvert with Number(r.id), ${FILE}`,
  ],
  [
    'a plus',
    () => table.groupBy((r) => +r.id),
    `groupBy: +r.id takes numbers, and r.id is a bigint, which throws in JavaScript.\n  PLACE  +r.id\nConvert with Number(r.id), ${FILE}`,
  ],
  [
    'a function of Math',
    () => table.withColumns((r) => ({ y: Math.max(r.x, r.id) })),
    `withColumns: Math.max(r.x, r.id) takes numbers, and r.id is a bigint, which throws in JavaScript.\n  PLACE  Math.max(r.x, r.id)\nConvert with Number(r.id), ${FILE}`,
  ],
  [
    'a case',
    () =>
      table.map((r) => {
        switch (r.id) {
          case 1:
            return 'one'
          default:
            return 'many'
        }
      }),
    `map: r.id === 1 compares a bigint and a number, which are never equal.\n  PLACE  1\nWrite 1n, convert with Number(r.id), ${FILE}`,
  ],
  [
    'a helper',
    () => table.filter((r) => close(r.id, 5)),
    `filter: r.id === 5 compares a bigint and a number, which are never equal.\n  PLACE  a === b\nWrite 5n, convert with Number(r.id), ${FILE}`,
  ],
  [
    'a literal beside a column of numbers',
    () => table.filter((r) => (r.x as unknown) === 5n),
    `filter: r.x === 5n compares a bigint and a number, which are never equal.\n  PLACE  r.x === 5n\nWrite 5, convert with BigInt(r.x), ${READ}`,
  ],
  [
    'a captured bigint beside a column of numbers',
    () => table.map((r) => (r.x as unknown as bigint) % thousand),
    `map: r.x % thousand computes with a bigint and a number, which throws in JavaScript.\n  PLACE  r.x % thousand\nConvert with BigInt(r.x), ${READ}`,
  ],
])('%s is refused at the call', (_, call, message) => {
  expect(refusalOf(call)).toBe(message)
})

test('what has a meaning keeps it', () => {
  // biome-ignore lint/suspicious/noDoubleEquals: what is tested
  const equal = (r: Row) => r.id == five
  table.filter((r) => r.id > 5 && r.id <= r.x)
  table.filter(equal)
  table.filter((r) => r.big === r.n) // of rows where both are null
  table.filter((r) => r.big === null)
  table.map((r) => `${r.id} ${r.s + r.id}`)
  table.map((r) => Number(r.id) + 1)
  table.map((r) => (isBigint ? Number(r.id) : r.id + 1))
  table.filter((r) => isBigint || r.id === 5)
  table.map((r) => (typeof r.id === 'number' ? r.id + 1 : 0))
})
