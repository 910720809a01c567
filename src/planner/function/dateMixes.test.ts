/** Row functions over columns of texts that a program takes for times, as its types say. */
import { expect, test } from 'vitest'
import { refusalOf, tableOf } from '../../../property-tests/plans.ts'

/** A column whose type says nothing, as that of most programs in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript refuses some of what is tested
type Any = any

interface Row {
  readonly at: Any
  readonly seen: Any
  readonly when: Date
  readonly n: number
}
const table = tableOf<Row>('rows', { at: 'utf8', seen: 'utf8?', when: 'timestamp', n: 'f64' })
const from = new Date('2024-01-01')
const isText = true
const CURE = "Read it as a time, as readCsv(file, { types: { at: 'timestamp' } }) does, or make one of it, as"

test.each<[string, () => unknown, string]>([
  [
    'a captured Date',
    () => table.filter((r) => r.at >= from),
    `filter: r.at >= from compares a text with a Date, and a text that is no number is NaN there.\n  PLACE  r.at >= from\n${CURE} new Date(r.at), or parseTime(r.at, format).`,
  ],
  [
    'one that is written out, on the left',
    () => table.filter((r) => r.n > 1 && new Date('2024-01-01') < r.seen),
    `filter: new Date("2024-01-01") < r.seen compares a text with a Date, and a text that is no number is NaN there.\n  PLACE  new Date("2024-01-01") < r.seen\n${CURE} new Date(r.seen), or parseTime(r.seen, format).`,
  ],
  [
    'a difference',
    () => table.map((r) => ({ days: (r.at - (from as Any)) / 86_400_000 })),
    `map: r.at - from computes with a text and a Date, and a text that is no number is NaN there.\n  PLACE  r.at - from\n${CURE} new Date(r.at), or parseTime(r.at, format).`,
  ],
])('%s', (_, call, message) => {
  expect(refusalOf(call)).toBe(message)
})

test.each<[string, () => unknown]>([
  ['times', () => table.filter((r) => r.when >= from)],
  ['a text as a number', () => table.filter((r) => Number(r.at) >= from.getTime() && r.at > '2024')],
  ['the number of a time', () => table.filter((r) => r.at >= from.getTime())],
  ['equality, which is false in JavaScript too, and no mistake of types', () => table.filter((r) => r.at === from)],
  ['a function that asks for the type', () => table.filter((r) => (typeof r.at === 'string' ? r.at > '2024' : r.at > from))],
  ['a branch that is not taken', () => table.filter((r) => (isText ? r.n > 1 : r.at >= from))],
])('nothing is said of %s', (_, call) => {
  expect(refusalOf(call)).toBeUndefined()
})
