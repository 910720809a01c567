import { expect, test } from 'vitest'
import { tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../arrays/distArray.ts'
import { collect, count, mean, median, sum } from './aggregates.ts'
import { elementText } from './elements.ts'
import { firstValue, lag, rank, rowNumber } from './windows.ts'

interface Row {
  user: string
  at: number
  big: bigint
  note: string | null
}
const table = tableOf<Row>('rows', { user: 'utf8', at: 'f64', big: 'i64', note: 'utf8?' })

test('columns are added with the types of their functions', () => {
  const calls = { n: rowNumber<Row>(), before: lag((r: Row) => r.big), mean: mean((r: Row) => r.at), total: sum((r: Row) => r.big) }
  const windowed = table.window({ by: (r) => r.user, orderBy: (r) => r.at }, { ...calls, note: firstValue((r: Row) => r.note), c: count() })
  expect(elementText(planOf(windowed).element)).toBe(
    '{ user: utf8, at: f64, big: i64, note: utf8?, n: f64, before: i64?, mean: f64?, total: i64, c: f64 }',
  )
})

const KINDS = 'rowNumber, rank, denseRank, percentRank, ntile, lag, lead, firstValue, lastValue, sum, mean, min, max, count, any, all'

test.each([
  [{}, {}, 'window() needs at least one window function, as in { n: rowNumber() }.'],
  [{}, { n: 1 }, `window() was given 1 as "n", which is not a window function.\nUse ${KINDS}, as in { n: rowNumber() }.`],
  [{}, { n: collect((r: Row) => r.at) }, `There is no collect() of a window, as "n" asks for. There are ${KINDS}.`],
  [{}, { n: rank() }, 'rank() needs an orderBy, as in window({ orderBy: (row) => row.price }, { n: rank() }).'],
  [
    { partitionBy: (r: Row) => r.user },
    { n: rowNumber() },
    'window() has no option "partitionBy". Did you mean "by"? Its options are by, orderBy, descending, frame, env.',
  ],
  [{ frame: { rows: [2, 1] } }, { n: count() }, 'A frame from 2 to 1 has no rows: its first end lies behind its second. Write [1, 2].'],
  [
    { frame: { rows: [0.5, 1] } },
    { n: count() },
    'The rows of a frame are two whole numbers, or null for all, as in [-6, 0] or [null, 0]; it was given [0.5, 1].',
  ],
  [
    { orderBy: (r: Row) => r.at, frame: { range: [Number.NaN, 0] } },
    { n: count() },
    'The range of a frame is two finite numbers, or null for all, as in [-6, 0] or [null, 0]; it was given [NaN, 0].',
  ],
  [
    { frame: { rows: [0, 1], range: [0, 1] } },
    { n: count() },
    'The frame of window() is { rows: [from, to] } or { range: [from, to] }, as in { rows: [-6, 0] }; it was given { rows: [0, 1], range: [0, 1] }.',
  ],
  [
    { frame: {} },
    { n: count() },
    'The frame of window() is { rows: [from, to] } or { range: [from, to] }, as in { rows: [-6, 0] }; it was given {}.',
  ],
  [{ frame: 3 }, { n: count() }, 'The frame of window() is an object; it was given 3.'],
  [
    { frame: { rows: 3 } },
    { n: count() },
    'The rows of a frame are two whole numbers, or null for all, as in [-6, 0] or [null, 0]; it was given 3.',
  ],
  [
    { orderBy: [{ by: (r: Row) => r.at, nulls: 'first' }], frame: { range: [-1, 0] } },
    { n: count() },
    "A frame by range measures from the values on, and nulls have no distance: they come last, and not first as here: [(r) => r.at]\nTake the nulls: 'first' away, or use a frame by rows, as in frame: { rows: [-6, 0] }.",
  ],
  [{}, { n: median((r: Row) => r.at) }, `There is no median() of a window, as "n" asks for. There are ${KINDS}.`],
  [
    { order: (r: Row) => r.at },
    { n: count() },
    'window() has no option "order". Did you mean "orderBy" or "descending"? Its options are by, orderBy, descending, frame, env.',
  ],
  [
    { frame: { range: [-1, 0] } },
    { n: count() },
    'A frame by range needs an orderBy, whose values it measures, as in window({ orderBy: (row) => row.at, frame: { range: [-60_000, 0] } }, …).',
  ],
  [
    { orderBy: (r: Row) => r.user, frame: { range: [-1, 0] } },
    { n: count() },
    'A frame by range needs an orderBy that returns one number or Date, whose distances it measures: (r) => r.user\nUse a frame by rows, as in frame: { rows: [-6, 0] }.',
  ],
  [
    { orderBy: (r: Row) => r.big, frame: { range: [-1, 0] } },
    { n: count() },
    'A frame by range needs an orderBy that returns one number or Date, whose distances it measures: (r) => r.big\nConvert it, as in Number(row.at), or use a frame by rows, as in frame: { rows: [-6, 0] }.',
  ],
])('what makes no sense is refused at the call: %#', (over, functions, message) => {
  let said = ''
  try {
    table.window(over as never, functions as never)
  } catch (error) {
    said = (error as Error).message
  }
  expect(said.replace(/(: |\[)r =>/, '$1(r) =>')).toBe(message)
})
